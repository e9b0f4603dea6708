//! Findings become something to read: a summary for the terminal, one self-contained page for the
//! browser, and a table to paste.
//!
//! Renderers decide nothing. `view` turns findings into ordered rows of text once, and all renderers print
//! those rows, so they cannot disagree; `detail` and `chart` hold what only the page shows.

mod chart;
mod detail;
pub mod format;
mod html;
mod markdown;
mod terminal;
mod view;

use crate::error::Result;
use crate::estimate::CaseStatistics;
use crate::record::Record;
use crate::verdict::Judgement;

/// What a run found: the record, what was computed from it, and what was decided.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'f> {
    /// What was run, where, and what it left.
    pub record: &'f Record,
    /// One entry for each planned case, in plan order.
    pub statistics: &'f [CaseStatistics],
    /// Verdicts, claims and red flags.
    pub judgement: &'f Judgement,
}

/// The summary for a terminal: never wider than 100 columns, with ANSI colours only if asked for.
pub fn terminal(findings: &Findings<'_>, colour: bool) -> String {
    terminal::render(&view::View::new(findings), colour)
}

/// The claims with what was found, as tables in Markdown: all of them, or those of `chosen`, each named as
/// `suite/claim`.
///
/// # Errors
/// When a chosen claim is not among those the record is about.
pub fn markdown(findings: &Findings<'_>, chosen: &[String]) -> Result<String> {
    markdown::render(&view::View::new(findings), chosen)
}

/// The report as one HTML file that loads nothing from anywhere.
///
/// # Errors
/// When the page cannot be written out, which is a fault of its template.
pub fn html(findings: &Findings<'_>) -> Result<String> {
    html::render(findings, &view::View::new(findings))
}
