//! The driver programs that a gate is given: asked who they are before anything is measured.

use super::super::measure::HELLO_LIMIT;
use crate::say;
use anyhow::bail;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use touchstone::plan::{Plan, PlannedArm};
use touchstone_runner::kits::Project;
use touchstone_runner::session::{Manners, Session, Stop};
use touchstone_runner::strays;

/// A program that was given can be found from any folder.
pub(super) fn absolute(program: &Path) -> anyhow::Result<String> {
    let path = program.canonicalize().and_then(|path| Ok((fs::metadata(&path)?, path)));
    let why = match path {
        Ok((file, path)) if file.is_file() && file.permissions().mode() & 0o111 != 0 => {
            return Ok(path.display().to_string());
        }
        Ok((file, _)) if file.is_file() => "it is no program: nobody may run it".to_owned(),
        Ok(_) => "it is no file".to_owned(),
        Err(error) => error.to_string(),
    };
    bail!(touchstone::Error::input(format!("no driver program {}: {why}", program.display())))
}

/// Refuses a program that is another subject's driver, and warns where both sides were given the same. All cases have the same
/// programs.
pub(super) fn look_at(project: &Project, plan: &Plan) -> anyhow::Result<()> {
    // A process that a program leaves behind would outlive the gate.
    let _adoption = strays::adopt();
    let Some(case) = plan.cases.first() else { return Ok(()) };
    let Some(baseline) = case.arm(&case.baseline) else { return Ok(()) };
    let candidate = case.arms.iter().find(|arm| arm.name != baseline.name && !arm.null_arm);
    refuse_another_subject(project, baseline, "--baseline-program")?;
    let Some(candidate) = candidate else { return Ok(()) };
    refuse_another_subject(project, candidate, "--candidate-program")?;
    if baseline.contender == candidate.contender && are_same(baseline, candidate) {
        say::note(
            "warning: --baseline-program and --candidate-program are the same program: was the change built, and are the \
             paths those that were meant?",
        );
    }
    Ok(())
}

/// A program that does not say who it is fails in the run, which tells how.
fn refuse_another_subject(project: &Project, arm: &PlannedArm, option: &str) -> anyhow::Result<()> {
    let Some(program) = &arm.program else { return Ok(()) };
    let manners = Manners { limit: HELLO_LIMIT, stop: Stop::default() };
    let hello = Session::start(project.command(arm)?, manners).and_then(|mut session| session.hello());
    let wanted = &arm.contender.subject;
    match hello {
        Ok(hello) if hello.subject != *wanted => bail!(touchstone::Error::input(format!(
            "{option} {program} is the driver of `{}`, and `{wanted}` was asked for: give a program of `{wanted}`, or a \
             contender of `{}`",
            hello.subject, hello.subject
        ))),
        _ => Ok(()),
    }
}

/// What a kit has yet to build is compared in the record.
fn are_same(baseline: &PlannedArm, candidate: &PlannedArm) -> bool {
    let content = |arm: &PlannedArm| fs::read(arm.program.as_ref()?).ok();
    content(baseline).is_some_and(|known| content(candidate) == Some(known))
}
