//! The programs of a gate between two programs, for each arm in a file of its own: a copy.
//!
//! The memory of a program's file is shared by all processes that run it, and stays in the processor's caches from one launch to the next.
//! Where the baseline and its null arm run one file and the candidate another, the baseline's code is run twice as often: a byte for byte
//! copy of the baseline took 1 to 6 % more time in slices of a millisecond, as a candidate, and the null arm did not show it. And the
//! memory of a file that a linker wrote lies in smaller pieces than that of a copy: where the null arm alone ran a copy, the null arm took 1
//! to 6 % less time than the baseline.

use super::Project;
use crate::error::{Error, Result};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use touchstone::plan::{Plan, PlannedArm, PlannedCase};

/// How a program of the system begins.
const ELF: &[u8] = b"\x7fELF";
/// What stands in a program that looks for its libraries from its own folder on.
const FROM_ITS_FOLDER: [&[u8]; 2] = [b"$ORIGIN", b"${ORIGIN}"];

/// An arm's copy of a program.
#[derive(Clone, Debug)]
pub(super) struct Apart {
    /// Whether the null arm runs it.
    null_arm: bool,
    /// The program.
    of: PathBuf,
    /// Its copy.
    copy: PathBuf,
}

impl Project {
    /// This project, in which each arm of a gate between two programs runs a copy of its program, which is made in `folder`; and why it is
    /// this one as it is, if such a program may not run elsewhere. `answers` starts a copy, and fails with the reason if that does not speak.
    ///
    /// # Errors
    /// When a copy cannot be made.
    pub fn with_programs_apart(
        &self,
        plan: &Plan,
        folder: &Path,
        answers: impl Fn(Command) -> std::result::Result<(), String>,
    ) -> Result<(Project, Option<String>)> {
        let mut project = self.clone();
        for arms in plan.cases.iter().filter_map(arms_of_gate) {
            let [baseline, candidate, _] = arms.map(|arm| self.program(arm));
            if is_one_file(&baseline?, &candidate?) {
                continue;
            }
            for arm in arms {
                let of = self.program(arm)?;
                if project.copy_of(arm, &of).is_some() {
                    continue;
                }
                if let Some(why) = self.needs_its_place(arm)? {
                    return Ok((self.clone(), Some(format!("{} {why}", of.display()))));
                }
                let copy = copied(&of, folder)
                    .map_err(|error| Error::io(format_args!("cannot copy {}", of.display()), &error))?;
                project.apart.push(Apart { null_arm: arm.null_arm, of: of.clone(), copy });
                if let Err(why) = answers(project.command(arm)?) {
                    return Ok((
                        self.clone(),
                        Some(format!("a copy of {} does not answer: {why}", of.display())),
                    ));
                }
            }
        }
        Ok((project, None))
    }

    /// The file that is started for an arm: its program, or that one's copy.
    pub(super) fn started(&self, arm: &PlannedArm) -> Result<PathBuf> {
        let program = self.program(arm)?;
        Ok(self.copy_of(arm, &program).cloned().unwrap_or(program))
    }

    fn copy_of(&self, arm: &PlannedArm, program: &Path) -> Option<&PathBuf> {
        let is_its = |apart: &&Apart| apart.null_arm == arm.null_arm && apart.of == program;
        self.apart.iter().find(is_its).map(|apart| &apart.copy)
    }

    /// Why an arm's program may not run elsewhere, if so: not all that it needs is in its file.
    fn needs_its_place(&self, arm: &PlannedArm) -> Result<Option<&'static str>> {
        let (folder, subject) = self.subject(&arm.contender.subject)?;
        let program = self.program(arm)?;
        let has_script = subject.run[1..].iter().any(|argument| folder.join(argument).is_file());
        let has_owners_rights = fs::metadata(&program).is_ok_and(|found| found.mode() & 0o6000 != 0);
        let content = fs::read(&program).unwrap_or_default();
        let has = |word: &&[u8]| content.windows(word.len()).any(|bytes| bytes == *word);
        Ok(if has_script {
            Some("runs a script")
        } else if !content.starts_with(ELF) {
            Some("is no program of Linux, but perhaps a script")
        } else if FROM_ITS_FOLDER.iter().any(has) {
            Some("looks for libraries from its own folder on")
        } else {
            has_owners_rights.then_some("runs with the rights of its file's owner")
        })
    }
}

/// The baseline, the candidate and the null arm of a gate's case.
fn arms_of_gate(case: &PlannedCase) -> Option<[&PlannedArm; 3]> {
    let null = case.arms.iter().find(|arm| arm.null_arm)?;
    let candidate = case.arms.iter().find(|arm| arm.name != case.baseline && !arm.null_arm)?;
    Some([case.arm(&case.baseline)?, candidate, null])
}

/// Copies a program into a new folder below `folder`, under its own name and its folder's, and beside links to all that lies beside both:
/// it may ask for these.
fn copied(program: &Path, folder: &Path) -> std::io::Result<PathBuf> {
    // A folder's name would tell the driver which arm it is.
    let mut beside = tempfile::Builder::new().prefix("").tempdir_in(folder)?.keep();
    if let Some((own, name)) = program.parent().and_then(|own| Some((own, own.file_name()?))) {
        link_neighbours(own, &beside)?;
        beside.push(name);
        fs::create_dir(&beside)?;
    }
    link_neighbours(program, &beside)?;
    let copy = beside.join(program.file_name().unwrap_or_default());
    // Written, and not by `fs::copy`: a file system that lets both share their blocks would keep it in smaller pieces of memory.
    fs::write(&copy, fs::read(program)?)?;
    fs::set_permissions(&copy, fs::metadata(program)?.permissions())?;
    // Nothing of it is written to the disk while others are measured.
    fs::File::open(&copy)?.sync_all()?;
    Ok(copy)
}

/// Links all that lies beside a path into a folder.
fn link_neighbours(path: &Path, into: &Path) -> std::io::Result<()> {
    for neighbour in path.parent().into_iter().flat_map(Path::read_dir).flatten().flatten() {
        if Some(&*neighbour.file_name()) != path.file_name() {
            let link = into.join(neighbour.file_name());
            symlink(neighbour.path(), &link).map_err(|error| {
                std::io::Error::other(format!("cannot make the link {}: {error}", link.display()))
            })?;
        }
    }
    Ok(())
}

/// Whether two paths lead to one file: by links too they share its memory.
fn is_one_file(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    one == other || file(one).is_some_and(|found| file(other) == Some(found))
}

#[cfg(test)]
mod tests {
    use super::super::tests::planned;
    use super::*;
    use std::cell::Cell;
    use std::os::unix::fs::PermissionsExt;
    use touchstone::kit::{Kit, Kits};

    const KIT: &str = r#"
        [kit]
        language = "a"
        [[subject]]
        name = "plain"
        summary = "s"
        build = ["b"]
        run = ["./plain", "wrong"]
        profile = [{ name = "p", class = "strict" }]
        [[subject]]
        name = "script"
        summary = "s"
        build = ["b"]
        run = ["./plain", "script.py"]
        profile = [{ name = "p", class = "strict" }]
    "#;

    /// A project in a folder, with a program of this content.
    fn project(folder: &Path, content: &[u8]) -> Project {
        let kit = folder.join("kits/a");
        fs::create_dir_all(&kit).unwrap();
        write_program(&kit.join("plain"), content);
        write_program(&kit.join("other"), b"\x7fELF other");
        write_program(&kit.join("owners"), b"\x7fELF other");
        fs::set_permissions(kit.join("owners"), fs::Permissions::from_mode(0o4755)).unwrap();
        fs::write(kit.join("script.py"), "").unwrap();
        fs::write(folder.join("kits/share"), "").unwrap();
        let kits = Kits { kits: vec![Kit::parse(KIT, "kit.toml").unwrap()] };
        Project { root: folder.to_owned(), kits, apart: Vec::new() }
    }

    fn write_program(path: &Path, content: &[u8]) {
        fs::write(path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What baseline, candidate and null arm of a gate run, the candidate with a program of its own.
    fn programs(content: &[u8], subject: &str, candidate: Option<&str>) -> [PathBuf; 3] {
        let (run, why) = programs_of(content, subject, candidate, |_| Ok(()));
        assert_eq!(why.is_some(), candidate.is_some() && run.iter().any(|path| is_own(path)), "{why:?}");
        run
    }

    fn programs_of(
        content: &[u8],
        subject: &str,
        candidate: Option<&str>,
        answers: impl Fn(Command) -> std::result::Result<(), String>,
    ) -> ([PathBuf; 3], Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path(), content);
        let name = format!("{subject}@p");
        let varied = |variant: &str| format!("{{ contender = \"{name}\", variant = \"{variant}\" }}");
        let arms = format!("\"{name}\", {}, {}", varied("candidate"), varied("null"));
        let mut plan = planned(&project.kits, &name, &arms);
        let arms = &mut plan.cases[0].arms;
        arms[1].program = candidate.map(|name| folder.path().join("kits/a").join(name).display().to_string());
        arms[2].null_arm = true;
        let arms = &plan.cases[0].arms;
        let own = |arm: &PlannedArm| project.program(arm).unwrap();
        let (apart, why) = project
            .with_programs_apart(&plan, folder.path(), |command| {
                assert!(arms.iter().all(|arm| own(arm) != command.get_program()), "a copy is asked");
                answers(command)
            })
            .unwrap();
        let run = |place: usize| PathBuf::from(apart.command(&arms[place]).unwrap().get_program());
        let run = [0, 1, 2].map(|place| {
            let (run, program) = (run(place), own(&arms[place]));
            assert_eq!(fs::read(&run).ok(), fs::read(&program).ok());
            if run != program {
                assert_eq!(run.file_name(), program.file_name());
                assert!(run.with_file_name("script.py").is_file(), "its neighbours are there");
                // A driver that read `../share` from its own file on found nothing, as the null arm, and did something else.
                assert!(run.parent().unwrap().with_file_name("share").is_file(), "its folder's too");
            }
            run.strip_prefix(folder.path()).unwrap().to_owned()
        });
        (run, why)
    }

    /// Whether a path is that of no copy.
    fn is_own(path: &Path) -> bool {
        path.starts_with("kits/a")
    }

    #[test]
    fn each_arm_of_a_gate_between_two_programs_runs_a_copy_of_its_own() {
        let [baseline, candidate, null] = programs(b"\x7fELF whole", "plain", Some("other"));
        assert!([&baseline, &candidate, &null].iter().all(|path| !is_own(path)), "all were written alike");
        assert!(baseline != candidate && candidate != null && null != baseline, "{null:?}");
    }

    #[test]
    fn where_a_copy_does_not_speak_none_is_used() {
        for silent in 1..=3 {
            let asked = Cell::new(0);
            let answers = |_| {
                asked.set(asked.get() + 1);
                if asked.get() == silent { Err("it is shy".to_owned()) } else { Ok(()) }
            };
            let (run, why) = programs_of(b"\x7fELF whole", "plain", Some("other"), answers);
            assert!(run.iter().all(|path| is_own(path)), "{silent}: {run:?}");
            assert!(why.is_some_and(|why| why.ends_with("does not answer: it is shy")));
        }
    }

    #[test]
    fn arms_of_one_program_share_its_file() {
        let [baseline, candidate, null] = programs(b"\x7fELF whole", "plain", None);
        assert!(is_own(&baseline) && baseline == candidate && candidate == null);
    }

    #[test]
    fn arms_whose_programs_are_links_to_one_file_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let [program, link, other] = ["a", "b", "c"].map(|name| folder.path().join(name));
        write_program(&program, b"x");
        write_program(&other, b"x");
        fs::hard_link(&program, &link).unwrap();
        assert!(is_one_file(&program, &link) && !is_one_file(&program, &other));
    }

    #[test]
    fn where_a_program_needs_its_place_all_stay_there() {
        for (content, subject, candidate) in [
            (&b"\x7fELF $ORIGIN/lib"[..], "plain", "other"),
            (b"\x7fELF ${ORIGIN}/lib", "plain", "other"),
            (b"#!/bin/sh", "plain", "other"),
            (b"\x7fELF whole", "script", "other"),
            (b"\x7fELF whole", "plain", "script.py"),
            (b"\x7fELF whole", "plain", "owners"),
        ] {
            let run = programs(content, subject, Some(candidate));
            assert!(run.iter().all(|path| is_own(path)), "{subject} {candidate} {content:?}");
        }
    }
}
