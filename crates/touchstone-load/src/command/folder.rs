//! The folder that a run, a sum or a search is written to, and read from again.

use super::say;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::search::Searched;
use crate::{page, report};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The outcome's file.
pub(super) const OUTCOME: &str = "outcome.json";
/// The search's file, where the folder is one of a search.
pub(super) const CAPACITY: &str = "capacity.json";
/// The page.
const PAGE: &str = "report.html";

/// A folder that is written to. It is made before the run: a run of an hour does not end without a place for what it found.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes it.
    pub(super) fn make(path: &Path) -> Result<Folder, Error> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|error| Error::io(format_args!("making the folder {}", parent.display()), &error))?;
        }
        std::fs::create_dir(path).map_err(|error| {
            let folder = path.display();
            if error.kind() == ErrorKind::AlreadyExists {
                let remedy = "remove it, or name another with --out";
                return Error::input(format!(
                    "{folder} is there already, and nothing is written over: {remedy}"
                ));
            }
            Error::io(format_args!("making the folder {folder} (--out)"), &error)
        })?;
        Ok(Folder(path.to_owned()))
    }

    /// One that is there.
    pub(super) fn of(path: &Path) -> Folder {
        Folder(path.to_owned())
    }

    /// Writes an outcome: its file, its log of latencies, its page.
    pub(super) fn fill(&self, outcome: &Outcome) -> anyhow::Result<()> {
        self.write_outcome(outcome)?;
        self.write_page(Some(outcome), None)?;
        say::note(&format!("the outcome is in {}", self.0.display()));
        Ok(())
    }

    /// Writes a search, and the outcome that confirmed its answer.
    pub(super) fn fill_with_search(
        &self,
        searched: &Searched,
        confirmed: Option<&Outcome>,
    ) -> anyhow::Result<()> {
        self.write(CAPACITY, format!("{}\n", serde_json::to_string_pretty(searched)?).as_bytes())?;
        if let Some(outcome) = confirmed {
            self.write_outcome(outcome)?;
        }
        self.write_page(confirmed, Some(searched))?;
        say::note(&format!("the search is in {}", self.0.display()));
        Ok(())
    }

    /// Writes the page alone.
    pub(super) fn write_page(
        &self,
        outcome: Option<&Outcome>,
        searched: Option<&Searched>,
    ) -> anyhow::Result<()> {
        let html = match (searched, outcome) {
            (Some(searched), confirmed) => page::of_search(searched, confirmed)?,
            (None, Some(outcome)) => page::of_outcome(outcome)?,
            (None, None) => return Ok(()),
        };
        self.write(PAGE, html.as_bytes())?;
        Ok(())
    }

    fn write_outcome(&self, outcome: &Outcome) -> anyhow::Result<()> {
        self.write(OUTCOME, format!("{}\n", serde_json::to_string_pretty(outcome)?).as_bytes())?;
        self.write("latencies.hlog", &report::histogram_log(outcome)?)?;
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.0.join(name);
        std::fs::write(&path, bytes)
            .map_err(|error| Error::io(format_args!("writing {}", path.display()), &error))
    }
}
