//! Where a run goes: its record and its scratch folder, refused where they cannot be, and what killed runs left beside them.

use super::MeasureArguments;
use crate::say;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use touchstone::plan::Plan;
use touchstone_runner::environment::reaches_disk;
use touchstone_runner::kits::Project;
use touchstone_runner::scratch;
use touchstone_runner::target::refuse_unwritable;
use touchstone_runner::writer::refuse_occupied;
use touchstone_runner::{Error, ErrorKind};

/// The folders of a run.
pub struct Place {
    /// For the record.
    pub record: PathBuf,
    /// For the databases.
    pub scratch: PathBuf,
}

impl Place {
    /// Settles the folders. What can be refused is refused here, before minutes are spent on building.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub fn new(project: &Project, plan: &Plan, arguments: &MeasureArguments) -> anyhow::Result<Place> {
        let suites: Vec<&str> = plan.suites.iter().map(|suite| suite.name.as_str()).collect();
        let called = format!("{}-{}", suites.join("-"), plan.size);
        Place::at(project, plan, arguments.out.as_deref(), arguments.scratch.as_deref(), &called)
    }

    /// The same for a run that is `called` so, where no folder is given for its record.
    ///
    /// # Errors
    /// As [`Place::new`].
    pub fn at(
        project: &Project,
        plan: &Plan,
        out: Option<&Path>,
        given: Option<&Path>,
        called: &str,
    ) -> anyhow::Result<Place> {
        let record = out.map_or_else(|| default_folder(project, called), Path::to_owned);
        let scratch = std::path::absolute(scratch::folder(given, &record))?;
        refuse_occupied(&record)?;
        refuse_memory_disk(plan, &scratch)?;
        refuse_unwritable(&record, "the record", "--out")?;
        if given.is_some() {
            refuse_unwritable(&scratch, "databases", "--scratch")?;
        }
        remove_abandoned(project, given, &record);
        Ok(Place { record, scratch })
    }
}

/// Killed runs could not remove their scratch folders: those that would lie beside this run's are removed now.
fn remove_abandoned(project: &Project, given: Option<&Path>, record: &Path) {
    let (runs, record) = (project.root.join("runs"), std::path::absolute(record).unwrap_or_default());
    let of_records = [record.parent().unwrap_or(&runs), &runs];
    for folder in scratch::remove_abandoned(given, &of_records) {
        say::note(&format!("removed the scratch folder of a run that was killed: {}", folder.display()));
    }
}

/// A commit cannot reach a disk that is memory: its time would say nothing.
fn refuse_memory_disk(plan: &Plan, scratch: &Path) -> anyhow::Result<()> {
    match plan.cases.iter().find(|case| case.flushes) {
        Some(case) if !reaches_disk(scratch) => Err(Error::new(
            ErrorKind::Input,
            format!(
                "{} is memory, not a disk, and case {} measures commits that reach one: give a folder on a disk \
                 with --scratch",
                scratch.display(),
                case.id
            ),
        )
        .into()),
        _ => Ok(()),
    }
}

fn default_folder(project: &Project, called: &str) -> PathBuf {
    let name = format!("{}-{called}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    project.root.join("runs").join(name)
}
