//! The claims of a suite for a terminal: a few short lines each, the page's first, then ours.

use super::text::{Paint, Tone, wrapped};
use crate::report::view::{ClaimView, PairView, SuiteView};

/// Width of a claim's status, with the gap behind it.
const STATUS_WIDTH: usize = 14;

/// Where what is said of a claim begins.
const INDENT: usize = STATUS_WIDTH + 2;

/// The claims with their tallies, and how many the run was not about.
pub(super) fn lines(suite: &SuiteView, paint: &Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for group in &suite.groups {
        lines.push(String::new());
        lines.extend(paint.all(wrapped(&group.tally, 0, 2), Tone::Strong));
        lines.extend(group.claims.iter().flat_map(|claim| claim_lines(claim, paint)));
    }
    if let Some(left_out) = &suite.left_out {
        lines.push(String::new());
        lines.extend(paint.all(wrapped(&format!("{left_out}."), 0, 0), Tone::Faint));
    }
    lines
}

fn claim_lines(claim: &ClaimView, paint: &Paint) -> Vec<String> {
    let mut lines = wrapped(&claim.statement, INDENT, INDENT);
    let status =
        paint.one(&format!("{:STATUS_WIDTH$}", claim.status.to_string()), Tone::of_claim(claim.status));
    if let Some(first) = lines.first_mut() {
        *first = format!("  {status}{}", first.trim_start());
    }
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
    lines.extend(said.iter().flat_map(|text| wrapped(text, INDENT, INDENT + 2)));
    lines
}
