//! The program of a gate's null arm, in a file of its own.
//!
//! The memory of a program's file is shared by all processes that run it, and stays in the processor's caches from one launch to the next.
//! Where the baseline and its null arm run one file and the candidate another, that file's code is run twice as often: a byte for byte
//! copy of the baseline took 1 to 6 % more time in slices of a millisecond, as a candidate, and the null arm did not show it.

use super::Project;
use crate::error::{Error, Result};
use rustix::fs::{Access, access};
use std::fs;
use std::path::{Path, PathBuf};
use touchstone::plan::{Plan, PlannedArm};

/// What begins a program of the system.
const ELF: &[u8] = b"\x7fELF";
/// What stands in a program that looks for its libraries beside itself.
const BESIDE_ITSELF: &[u8] = b"$ORIGIN";

impl Project {
    /// This project, in which the null arm of a gate between two programs runs a copy of the baseline's, which is made in `folder`. A plan
    /// whose arms all run one program, or a program that could not be run from elsewhere, is left as it is: scripts, and what looks for
    /// files beside itself.
    ///
    /// # Errors
    /// When the copy cannot be made.
    pub fn with_null_apart(&self, plan: &Plan, folder: &Path) -> Result<Project> {
        let mut project = self.clone();
        let gates = plan.cases.iter().filter_map(|case| {
            let candidate = case.arms.iter().find(|arm| arm.name != case.baseline && !arm.null_arm)?;
            Some((case.arms.iter().find(|arm| arm.null_arm)?, candidate))
        });
        // All cases of a gate have the same programs.
        let Some((null, candidate)) = gates.into_iter().next() else { return Ok(project) };
        let (program, other) = (self.program(null)?, self.program(candidate)?);
        if program == other || !self.is_whole(null, &program)? {
            return Ok(project);
        }
        let copy = folder.join("program");
        let failed = |error| {
            Error::io(format_args!("cannot copy {} to {}", program.display(), copy.display()), &error)
        };
        fs::copy(&program, &copy).map_err(failed)?;
        // No program runs from a file system that is mounted so.
        if access(&copy, Access::EXEC_OK).is_ok() {
            project.null_program = Some(copy);
        }
        Ok(project)
    }

    /// Whether an arm's program is the driver, and has all that it needs in itself.
    fn is_whole(&self, arm: &PlannedArm, program: &Path) -> Result<bool> {
        let (folder, subject) = self.subject(&arm.contender.subject)?;
        let has_script = subject.run[1..].iter().any(|argument| folder.join(argument).is_file());
        let content = || fs::read(program).unwrap_or_default();
        Ok(!has_script && is_whole(&content()))
    }
}

fn is_whole(content: &[u8]) -> bool {
    content.starts_with(ELF) && !content.windows(BESIDE_ITSELF.len()).any(|bytes| bytes == BESIDE_ITSELF)
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
        let kits = Kits { kits: vec![Kit::parse(KIT, "kit.toml").unwrap()] };
        Project { root: folder.to_owned(), kits, null_program: None }
    }

    fn write_program(path: &Path, content: &[u8]) {
        fs::write(path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What baseline, candidate and null arm of a gate run, the candidate with a program of its own.
    fn programs(content: &[u8], subject: &str, candidate: Option<&str>) -> [PathBuf; 3] {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path(), content);
        let name = format!("{subject}@p");
        let varied = |variant: &str| format!("{{ contender = \"{name}\", variant = \"{variant}\" }}");
        let arms = format!("\"{name}\", {}, {}", varied("candidate"), varied("null"));
        let mut plan = planned(&project.kits, &name, &arms);
        let arms = &mut plan.cases[0].arms;
        arms[1].program = candidate.map(str::to_owned);
        arms[2].null_arm = true;
        let project = project.with_null_apart(&plan, folder.path()).unwrap();
        let run = [0, 1, 2]
            .map(|place| PathBuf::from(project.command(&plan.cases[0].arms[place]).unwrap().get_program()));
        if run[2] != run[0] {
            assert_eq!(fs::read(&run[2]).unwrap(), fs::read(&run[0]).unwrap());
            assert_eq!(run[2].parent(), Some(folder.path()));
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
    fn arms_of_one_program_share_its_file() {
        let [baseline, candidate, null] = programs(b"\x7fELF whole", "plain", None);
        assert!(baseline == candidate && candidate == null);
    }

    #[test]
    fn a_program_that_needs_its_place_stays_there() {
        for (content, subject) in
            [(&b"\x7fELF $ORIGIN/lib"[..], "plain"), (b"#!/bin/sh", "plain"), (b"\x7fELF whole", "script")]
        {
            let [baseline, _, null] = programs(content, subject, Some("/other"));
            assert_eq!(baseline, null, "{subject} {content:?}");
        }
    }
}
