//! Findings become something to read: a summary for the terminal, one self-contained page for the
//! browser, and a table to paste.
//!
//! Renderers decide nothing. `view` turns findings into ordered rows of text once, and all renderers print
//! those rows, so they cannot disagree; `detail` and `chart` hold what only the page shows. `page` is what other pages of the
//! project are made of too.

mod chart;
mod detail;
pub mod format;
mod html;
mod markdown;
pub mod page;
mod prose;
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

/// How text is written for a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// With ANSI colours.
    pub colour: bool,
    /// The columns there are; of more than 100 no more are used, and of fewer than 30 nothing is made narrower.
    pub width: usize,
}

impl Style {
    /// No line is wider, on a terminal or in a file.
    pub const WIDTH_MAX: usize = 100;
}

/// Everything, for a terminal that is wide enough: 100 columns, with ANSI colours only if asked for.
pub fn terminal(findings: &Findings<'_>, colour: bool) -> String {
    full_text(findings, Style { colour, width: Style::WIDTH_MAX })
}

/// Everything, as text.
pub fn full_text(findings: &Findings<'_>, style: Style) -> String {
    terminal::render(&view::View::new(findings), style)
}

/// The summary of a run: its claims in a few lines each, its cases in one or two.
pub fn summary(findings: &Findings<'_>, style: Style) -> String {
    terminal::render_brief(&view::View::new(findings), style)
}

/// The end of a run whose suites were told of one by one: the tallies. No verdict rests on another suite's.
pub fn conclusion(findings: &Findings<'_>, style: Style) -> String {
    terminal::render_conclusion(&view::View::new(findings), style)
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
