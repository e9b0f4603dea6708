//! `touchstone list --check`: what the published figures of suites give cause to doubt, before anything runs.

use crate::{Context, say};
use serde::Serialize;
use std::fmt::Write as _;
use std::process::ExitCode;
use touchstone::suite::{FlaggedRow, PublishedFlag, Suite};
use touchstone_runner::doctor::copied_per_second;

/// What the figures of suites give cause to doubt.
#[derive(Serialize)]
pub(super) struct Checked {
    suites: Vec<CheckedSuite>,
}

#[derive(Serialize)]
struct CheckedSuite {
    name: String,
    title: String,
    /// How many rows of the page's tables the suite holds.
    rows: usize,
    flags: Vec<PublishedFlag>,
}

impl Checked {
    /// Checks the suites of these names; all, where there are none.
    pub(super) fn read(context: &Context, names: &[String]) -> anyhow::Result<Checked> {
        let suites = context.project()?.suites(names)?;
        // Only what was read or written at some speed is held against it.
        let is_of_bytes = |suite: &Suite| suite.published_rows.iter().any(|row| row.mib_per_second.is_some());
        let memory = suites.iter().any(is_of_bytes).then(copied_per_second).flatten();
        let checked = suites.into_iter().map(|suite| CheckedSuite {
            rows: suite.published_rows.len() + suite.published_loads.len(),
            flags: suite.published_flags(memory),
            name: suite.name,
            title: suite.title,
        });
        Ok(Checked { suites: checked.collect() })
    }

    pub(super) fn print(&self, context: &Context) -> anyhow::Result<ExitCode> {
        if context.json {
            say::json(self)?;
        } else {
            say::text(&self.text())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn text(&self) -> String {
        let suites: Vec<String> = self.suites.iter().map(CheckedSuite::text).collect();
        suites.join("\n")
    }
}

impl CheckedSuite {
    fn text(&self) -> String {
        let mut text = format!("Suite {}: {}\n", self.name, self.title);
        let rows = match self.rows {
            0 => "  It holds no rows of its page's tables, so there is nothing to check.\n".to_owned(),
            rows if self.flags.is_empty() => {
                format!("  {rows} rows of its page's tables give no cause to doubt them.\n")
            }
            rows => format!("  {rows} rows of its page's tables, by their own arithmetic:\n"),
        };
        text.push_str(&rows);
        for flag in &self.flags {
            let rows = match flag.rows.len() {
                1 => "1 row".to_owned(),
                many => format!("{many} rows"),
            };
            let _ = writeln!(text, "\n  {}, {rows}: {}", flag.kind, flag.meaning);
            let name = |row: &FlaggedRow| format!("{}: {}", row.table, row.of);
            let width = flag.rows.iter().map(|row| name(row).chars().count()).max().unwrap_or_default();
            for row in &flag.rows {
                let _ = writeln!(text, "    {:<width$}  {}", name(row), row.arithmetic);
            }
        }
        text
    }
}
