//! `touchstone report`: a judged record becomes a page.

use super::measure::Judged;
use crate::{Context, say};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use touchstone::report::{full_text, markdown};

/// Renders a judged record: a self-contained page, all of it as text for a terminal, or a table to paste
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  touchstone report runs/20260102T030405Z-couch-quick\n  touchstone report record --text\n  \
    touchstone report record --markdown\n  touchstone report record --markdown --claim wcdb/read --claim couch/wal-doubles"
)]
pub struct Report {
    /// The record's folder
    record: PathBuf,
    /// Print everything as text instead of writing the page: each contender, note and red flag
    #[arg(long)]
    text: bool,
    /// Print the claims as Markdown tables instead of writing the page
    #[arg(long, conflicts_with = "text")]
    markdown: bool,
    /// Of the claims, only this one; may be given more than once
    #[arg(long = "claim", value_name = "SUITE/ID", requires = "markdown")]
    claims: Vec<String>,
}

impl Report {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let judged = Judged::read(&self.record)?;
        if context.json {
            say::json(&judged.judgement)?;
        } else if self.text {
            say::text(&full_text(&judged.findings(), say::style()))?;
        } else if self.markdown {
            say::text(&markdown(&judged.findings(), &self.claims)?)?;
        } else {
            say::text(&format!("{}\n", judged.write_report()?.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
