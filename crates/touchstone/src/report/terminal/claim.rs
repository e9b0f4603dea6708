//! The claims of a suite for a terminal: a few short lines each, the page's first, then ours.

use super::text::{Sheet, Tone};
use crate::report::view::{ClaimView, PairView, SuiteView};

/// Width of a claim's status, with the gap behind it.
const STATUS_WIDTH: usize = 14;

/// The claims with their tallies, and how many the run was not about.
pub(super) fn lines(suite: &SuiteView, sheet: &Sheet) -> Vec<String> {
    let mut lines = Vec::new();
    for group in &suite.groups {
        lines.push(String::new());
        lines.extend(sheet.all(sheet.wrapped(&group.tally, 0, 2), Tone::Strong));
        lines.extend(group.claims.iter().flat_map(|claim| claim_lines(claim, sheet)));
    }
    if let Some(left_out) = &suite.left_out {
        lines.push(String::new());
        lines.extend(sheet.all(sheet.wrapped(&format!("{left_out}."), 0, 0), Tone::Faint));
    }
    lines
}

/// The status and the statement: side by side, or one beneath the other where there is no room.
pub(super) fn head_lines(claim: &ClaimView, sheet: &Sheet) -> Vec<String> {
    let indent = sheet.indent();
    let mut lines = sheet.wrapped(&claim.statement, indent, indent);
    let tone = Tone::of_claim(claim.status);
    let status = claim.status.to_string();
    if indent < STATUS_WIDTH {
        lines.insert(0, format!("  {}", sheet.one(&status, tone)));
    } else if let Some(first) = lines.first_mut() {
        let status = sheet.one(&format!("{status:STATUS_WIDTH$}"), tone);
        *first = format!("  {status}{}", first.trim_start());
    }
    lines
}

fn claim_lines(claim: &ClaimView, sheet: &Sheet) -> Vec<String> {
    let mut lines = head_lines(claim, sheet);
    let indent = sheet.indent();
    let deciding = claim.deciding();
    let size = deciding.and_then(PairView::size_said).map_or(String::new(), |size| format!("; size: {size}"));
    let here = if deciding.is_some() { format!("here: {}{size}", claim.here()) } else { claim.here() };
    let mut said = vec![here];
    said.extend(claim.published.brief().map(|brief| format!("{}: {brief}", claim.published_label())));
    said.extend(deciding.map(|pair| format!("asked: {}", pair.asked_what())));
    said.extend(claim.absent_said());
    said.extend(claim.reduced_said());
    said.extend(deciding.into_iter().flat_map(PairView::notes).map(|note| format!("note: {note}")));
    said.extend(deciding.and_then(PairView::doubts_said));
    said.extend(claim.others().iter().map(|pair| format!("also {}", pair.line())));
    lines.extend(said.iter().flat_map(|text| sheet.wrapped(text, indent, indent + 2)));
    lines
}
