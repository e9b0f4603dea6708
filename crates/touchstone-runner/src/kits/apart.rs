//! The programs of a gate between two programs, for each arm in a file of its own: a copy.
//!
//! The memory of a program's file is shared by all processes that run it, and stays in the processor's caches from one launch to the next.
//! Where the baseline and its null arm run one file and the candidate another, the baseline's code is run twice as often: a byte for byte
//! copy of the baseline took 1 to 6 % more time in slices of a millisecond, as a candidate, and the null arm did not show it. And memory of
//! a file that a linker wrote lies in smaller pieces than that of a copy: with the null arm alone as a copy, it took 1 to 6 % less time than
//! the same program as the linker had left it.

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
    /// This project, in which each arm of a gate between two programs runs a copy of its program, which is made in `folder`. Nothing
    /// is copied where all arms run one program, or where one of them may not run elsewhere: a script, or one that looks for libraries from
    /// its own folder on. `answers` starts a copy and says whether it speaks; where one does not, no copy is used.
    ///
    /// # Errors
    /// When a copy cannot be made.
    pub fn with_programs_apart(
        &self,
        plan: &Plan,
        folder: &Path,
        answers: impl Fn(Command) -> bool,
    ) -> Result<Project> {
        // All cases of a gate have the same programs.
        let Some(arms) = plan.cases.iter().find_map(arms_of_gate) else { return Ok(self.clone()) };
        let [baseline, candidate, _] = arms.map(|arm| self.program(arm));
        if is_one_file(&baseline?, &candidate?) {
            return Ok(self.clone());
        }
        for arm in arms {
            if !self.is_whole(arm)? {
                return Ok(self.clone());
            }
        }
        let mut project = self.clone();
        for arm in arms {
            let of = self.program(arm)?;
            let copy = copied(&of, folder)
                .map_err(|error| Error::io(format_args!("cannot copy {}", of.display()), &error))?;
            project.apart.push(Apart { null_arm: arm.null_arm, of, copy });
            if !answers(project.command(arm)?) {
                return Ok(self.clone());
            }
        }
        Ok(project)
    }

    /// The file that is started for an arm: its program, or that one's copy.
    pub(super) fn started(&self, arm: &PlannedArm) -> Result<PathBuf> {
        let program = self.program(arm)?;
        // Cases of a plan that was put together may have other programs.
        let is_its = |apart: &&Apart| apart.null_arm == arm.null_arm && apart.of == program;
        let apart = self.apart.iter().find(is_its).map(|apart| apart.copy.clone());
        Ok(apart.unwrap_or(program))
    }

    /// Whether an arm's program is the driver, and has all that it needs in itself.
    fn is_whole(&self, arm: &PlannedArm) -> Result<bool> {
        let (folder, subject) = self.subject(&arm.contender.subject)?;
        let has_script = subject.run[1..].iter().any(|argument| folder.join(argument).is_file());
        Ok(!has_script && is_whole(&fs::read(self.program(arm)?).unwrap_or_default()))
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
    fs::copy(program, &copy)?;
    // Nothing of it is written to the disk while others are measured.
    fs::File::open(&copy)?.sync_all()?;
    Ok(copy)
}

/// Links all that lies beside a path into a folder.
fn link_neighbours(path: &Path, into: &Path) -> std::io::Result<()> {
    for neighbour in path.parent().into_iter().flat_map(Path::read_dir).flatten().flatten() {
        if Some(&*neighbour.file_name()) != path.file_name() {
            symlink(neighbour.path(), into.join(neighbour.file_name()))?;
        }
    }
    Ok(())
}

/// Whether two paths lead to one file: by links too they share its memory.
fn is_one_file(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    one == other || file(one).is_some_and(|found| file(other) == Some(found))
}

fn is_whole(content: &[u8]) -> bool {
    let has = |word: &&[u8]| content.windows(word.len()).any(|bytes| bytes == *word);
    content.starts_with(ELF) && !FROM_ITS_FOLDER.iter().any(has)
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
        programs_of(content, subject, candidate, |_| true)
    }

    fn programs_of(
        content: &[u8],
        subject: &str,
        candidate: Option<&str>,
        answers: impl Fn(Command) -> bool,
    ) -> [PathBuf; 3] {
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
        let apart = project.with_programs_apart(&plan, folder.path(), answers).unwrap();
        let run = |place: usize| PathBuf::from(apart.command(&arms[place]).unwrap().get_program());
        [0, 1, 2].map(|place| {
            let (run, program) = (run(place), project.program(&arms[place]).unwrap());
            assert_eq!(fs::read(&run).ok(), fs::read(&program).ok());
            if run != program {
                assert_eq!(run.file_name(), program.file_name());
                assert!(run.with_file_name("script.py").is_file(), "its neighbours are there");
                // A driver that read `../share` from its own file on found nothing, as the null arm, and did something else.
                assert!(run.parent().unwrap().with_file_name("share").is_file(), "its folder's too");
            }
            run.strip_prefix(folder.path()).map(Path::to_owned).unwrap_or(run)
        })
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
            let answers = |_| asked.replace(asked.get() + 1) + 1 != silent;
            let run = programs_of(b"\x7fELF whole", "plain", Some("other"), answers);
            assert!(run.iter().all(|path| is_own(path)), "{silent}: {run:?}");
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
        ] {
            let run = programs(content, subject, Some(candidate));
            assert!(run.iter().all(|path| is_own(path)), "{subject} {candidate} {content:?}");
        }
    }
}
