//! `touchstone list --check`: whether suites can be planned, and what their published figures give cause to doubt, before anything
//! runs.

use crate::{Context, say};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::slice;
use touchstone::kit::Kits;
use touchstone::plan::{Choice, Plan};
use touchstone::statistics::LOOKS;
use touchstone::suite::{FlaggedRow, PublishedFlag, Size, Suite};
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
        let project = context.project()?;
        let suites = project.suites(names)?;
        suites.iter().try_for_each(|suite| plan(suite, &project.kits))?;
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

    /// Suites of which there is nothing to say in a line, then each of the others, what it comes to at its end.
    fn text(&self) -> String {
        let (without, with): (Vec<&CheckedSuite>, Vec<&CheckedSuite>) =
            self.suites.iter().partition(|suite| suite.rows == 0);
        let names: Vec<&str> = without.iter().map(|suite| suite.name.as_str()).collect();
        let without = (!names.is_empty())
            .then(|| format!("No rows of a page's tables, and so nothing to doubt: {}\n", names.join(", ")));
        without.into_iter().chain(with.iter().map(|suite| suite.text())).collect::<Vec<_>>().join("\n")
    }
}

/// Plans all of a suite in both of its sizes, as `touchstone plan` would.
fn plan(suite: &Suite, kits: &Kits) -> touchstone::Result<()> {
    [Size::Quick, Size::Full].into_iter().try_for_each(|size| {
        let choice =
            Choice { cases: Vec::new(), contenders: Vec::new(), size, seed: 42, looks: LOOKS.to_vec() };
        Plan::new(slice::from_ref(suite), kits, &choice).map(|_| ())
    })
}

impl CheckedSuite {
    fn text(&self) -> String {
        let mut text = format!("Suite {}: {}\n", self.name, self.title);
        for flag in &self.flags {
            let _ = writeln!(text, "\n  {}, {}: {}", flag.kind, rows(flag.rows.len()), flag.meaning);
            let name = |row: &FlaggedRow| format!("{}: {}", row.table, row.of);
            let width = flag.rows.iter().map(|row| name(row).chars().count()).max().unwrap_or_default();
            for row in &flag.rows {
                let _ = writeln!(text, "    {:<width$}  {}", name(row), row.arithmetic);
            }
        }
        let doubtful: BTreeSet<(&str, &str)> =
            self.flags.iter().flat_map(|flag| &flag.rows).map(|row| (&*row.table, &*row.of)).collect();
        let (some, give) = match doubtful.len() {
            0 => ("none".to_owned(), "gives"),
            1 => ("1".to_owned(), "gives"),
            many => (many.to_string(), "give"),
        };
        let all = rows(self.rows);
        let _ = writeln!(text, "\n  In all, {some} of {all} of its page's tables {give} cause for doubt.");
        text
    }
}

fn rows(number: usize) -> String {
    if number == 1 { "1 row".into() } else { format!("{number} rows") }
}
