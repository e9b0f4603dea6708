//! The program of a gate's null arm, in a file of its own.
//!
//! The memory of a program's file is shared by all processes that run it, and stays in the processor's caches from one launch to the next.
//! Where the baseline and its null arm run one file and the candidate another, the baseline's code is run twice as often: a byte for byte
//! copy of the baseline took 1 to 6 % more time in slices of a millisecond, as a candidate, and the null arm did not show it.

use super::Project;
use crate::error::{Error, Result};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use touchstone::plan::{Plan, PlannedArm};

/// How a program of the system begins.
const ELF: &[u8] = b"\x7fELF";
/// What stands in a program that looks for its libraries from its own folder on.
const FROM_ITS_FOLDER: [&[u8]; 2] = [b"$ORIGIN", b"${ORIGIN}"];

/// A copy of a program.
#[derive(Clone, Debug)]
pub(super) struct Apart {
    /// The program.
    pub(super) of: PathBuf,
    /// Its copy.
    pub(super) copy: PathBuf,
}

impl Project {
    /// This project, in which the null arm of a gate between two programs runs a copy of the baseline's, which is made in `folder`. Nothing
    /// is copied where all arms run one program, or where the program may not run elsewhere: a script, or one that looks for libraries from
    /// its own folder on. `answers` starts a copy and says whether it speaks; one that does not is not used.
    ///
    /// # Errors
    /// When the copy cannot be made.
    pub fn with_null_apart(
        &self,
        plan: &Plan,
        folder: &Path,
        answers: impl FnOnce(Command) -> bool,
    ) -> Result<Project> {
        let mut gates = plan.cases.iter().filter_map(|case| {
            let candidate = case.arms.iter().find(|arm| arm.name != case.baseline && !arm.null_arm)?;
            Some((case.arms.iter().find(|arm| arm.null_arm)?, candidate))
        });
        // All cases of a gate have the same programs.
        let Some((null, candidate)) = gates.next() else { return Ok(self.clone()) };
        let (program, other) = (self.program(null)?, self.program(candidate)?);
        if is_one_file(&program, &other) || !self.is_whole(null, &program)? {
            return Ok(self.clone());
        }
        let copy = copied(&program, folder)
            .map_err(|error| Error::io(format_args!("cannot copy {}", program.display()), &error))?;
        let project = Project { null_program: Some(Apart { of: program, copy }), ..self.clone() };
        Ok(if answers(project.command(null)?) { project } else { self.clone() })
    }

    /// The file that is started for an arm: its program, or that one's copy.
    pub(super) fn started(&self, arm: &PlannedArm) -> Result<PathBuf> {
        let program = self.program(arm)?;
        // Cases of a plan that was put together may have other programs.
        let apart = self.null_program.as_ref().filter(|apart| arm.null_arm && apart.of == program);
        Ok(apart.map_or(program, |apart| apart.copy.clone()))
    }

    /// Whether an arm's program is the driver, and has all that it needs in itself.
    fn is_whole(&self, arm: &PlannedArm, program: &Path) -> Result<bool> {
        let (folder, subject) = self.subject(&arm.contender.subject)?;
        let has_script = subject.run[1..].iter().any(|argument| folder.join(argument).is_file());
        Ok(!has_script && is_whole(&fs::read(program).unwrap_or_default()))
    }
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
        fs::write(kit.join("script.py"), "").unwrap();
        fs::write(folder.join("kits/share"), "").unwrap();
        let kits = Kits { kits: vec![Kit::parse(KIT, "kit.toml").unwrap()] };
        Project { root: folder.to_owned(), kits, null_program: None }
    }

    fn write_program(path: &Path, content: &[u8]) {
        fs::write(path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What baseline, candidate and null arm of a gate run, the candidate with a program of its own.
    fn programs(content: &[u8], subject: &str, candidate: Option<&str>) -> [PathBuf; 3] {
        programs_of(content, subject, candidate, true)
    }

    fn programs_of(content: &[u8], subject: &str, candidate: Option<&str>, speaks: bool) -> [PathBuf; 3] {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path(), content);
        let name = format!("{subject}@p");
        let varied = |variant: &str| format!("{{ contender = \"{name}\", variant = \"{variant}\" }}");
        let arms = format!("\"{name}\", {}, {}", varied("candidate"), varied("null"));
        let mut plan = planned(&project.kits, &name, &arms);
        let arms = &mut plan.cases[0].arms;
        arms[1].program = candidate.map(str::to_owned);
        arms[2].null_arm = true;
        let project = project.with_null_apart(&plan, folder.path(), |_| speaks).unwrap();
        let run = [0, 1, 2]
            .map(|place| PathBuf::from(project.command(&plan.cases[0].arms[place]).unwrap().get_program()));
        if run[2] != run[0] {
            assert_eq!(fs::read(&run[2]).unwrap(), fs::read(&run[0]).unwrap());
            assert!(run[2].starts_with(folder.path()) && run[2].file_name() == run[0].file_name());
            assert!(run[2].with_file_name("script.py").is_file(), "its neighbours are there");
            // A driver that read `../share` from its own file on found nothing, as the null arm, and did something else.
            assert!(run[2].parent().unwrap().with_file_name("share").is_file(), "its folder's too");
        }
        run
    }

    #[test]
    fn each_arm_of_a_gate_between_two_programs_runs_a_file_of_its_own() {
        let [baseline, candidate, null] = programs(b"\x7fELF whole", "plain", Some("/other"));
        assert!(baseline.ends_with("kits/a/plain") && candidate == Path::new("/other"));
        assert!(null != baseline && null != candidate, "{null:?}");
    }

    #[test]
    fn a_copy_that_does_not_speak_is_not_used() {
        let [baseline, _, null] = programs_of(b"\x7fELF whole", "plain", Some("/other"), false);
        assert_eq!(baseline, null);
    }

    #[test]
    fn arms_of_one_program_share_its_file() {
        let [baseline, candidate, null] = programs(b"\x7fELF whole", "plain", None);
        assert!(baseline == candidate && candidate == null);
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
    fn a_program_that_needs_its_place_stays_there() {
        for (content, subject) in [
            (&b"\x7fELF $ORIGIN/lib"[..], "plain"),
            (b"\x7fELF ${ORIGIN}/lib", "plain"),
            (b"#!/bin/sh", "plain"),
            (b"\x7fELF whole", "script"),
        ] {
            let [baseline, _, null] = programs(content, subject, Some("/other"));
            assert_eq!(baseline, null, "{subject} {content:?}");
        }
    }
}
