//! The claims as Markdown, to paste where a page, a README or a discussion speaks of them.

use super::format::{self, NONE};
use super::view::{ClaimView, View};
use crate::statistics::P_LOOK;

pub(super) fn render(view: &View) -> String {
    let header = &view.header;
    let mut paragraphs = vec![
        format!("`{}`, {}, took {}; {}.", header.command, header.started, header.elapsed, header.plan),
        format!("On {}.", header.machine),
    ];
    if let Some(partial) = &header.partial {
        paragraphs.push(format!("**Partial record**, {partial}."));
    }
    for suite in view.suites.iter().filter(|suite| !suite.claims.is_empty()) {
        paragraphs.push(format!("`{}`: {}.", suite.name, suite.tally));
    }
    let level = format::percent(1.0 - P_LOOK);
    paragraphs
        .push(format!("Ratios are of rates, or of what the claim names; {level} intervals in brackets."));
    let mut lines = vec![
        paragraphs.join("\n"),
        String::new(),
        "| suite | claim | published | here | wanted | outcome |".into(),
        "|---|---|---|---|---|---|".into(),
    ];
    for suite in &view.suites {
        lines.extend(suite.claims.iter().map(|claim| row(&suite.name, claim)));
    }
    lines.join("\n") + "\n"
}

fn row(suite: &str, claim: &ClaimView) -> String {
    let (here, wanted) =
        claim.deciding().map_or((NONE.into(), String::new()), |test| (test.found(), test.bound.clone()));
    let cells = [&claim.statement, &claim.published, &here, &wanted].map(|text| escaped(text));
    format!("| `{suite}` | {} | {} |", cells.join(" | "), claim.status)
}

/// Text that ends no cell and begins no element.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}
