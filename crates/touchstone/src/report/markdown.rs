//! The claims as Markdown, to paste where a page, a README or a discussion speaks of them: the page's in one table, ours
//! in another.

use super::format::{self, NONE};
use super::view::{ClaimGroup, ClaimView, PairView, PrintedRow, PrintedTable, View};
use crate::error::{Error, Result};
use crate::name::{is_unreadable, there_are};
use crate::statistics::P_LOOK;
use crate::suite::By;

/// All claims, or those of `chosen`, each named as `suite/claim`.
pub(super) fn render(view: &View, chosen: &[String]) -> Result<String> {
    check(view, chosen)?;
    let header = &view.header;
    let mut paragraphs = vec![
        format!("`{}`, {}, took {}; {}.", code(&header.command), header.started, header.elapsed, header.plan),
        format!("On {}.", escaped(&header.machine)),
    ];
    paragraphs.extend(header.left_out.iter().map(|left_out| format!("Left out: {}.", escaped(left_out))));
    if let Some(partial) = &header.partial {
        paragraphs.push(format!("**Partial record**, {partial}."));
    }
    paragraphs.extend(header.cautions.iter().map(|caution| format!("**Caution**: {}.", escaped(caution))));
    for suite in &view.suites {
        paragraphs.extend(suite.groups.iter().map(|group| format!("`{}`: {}.", suite.name, group.tally)));
        paragraphs.extend(suite.left_out.iter().map(|left_out| format!("`{}`: {left_out}.", suite.name)));
    }
    let level = format::percent(1.0 - P_LOOK);
    paragraphs.push(match claims(view).next() {
        Some(_) => format!("Ratios are of rates, or of what the claim names; {level} intervals in brackets."),
        None => "There are no claims; `touchstone report RECORD --text` prints the cases.".into(),
    });
    if !chosen.is_empty() {
        let all = claims(view).count() as u64;
        let shown = claims(view).filter(|claim| is_chosen(claim, chosen)).count() as u64;
        paragraphs.push(format!("Here stand {} of the {} claims.", format::count(shown), format::count(all)));
    }
    let mut text = paragraphs.join("\n") + "\n";
    for by in [By::Page, By::Ours] {
        text += &table(view, by, chosen);
    }
    if chosen.is_empty() {
        let tables =
            view.suites.iter().flat_map(|suite| suite.printed.iter().map(move |table| (&suite.name, table)));
        tables.for_each(|(suite, table)| text += &printed_table(suite, table));
    }
    Ok(text)
}

/// One of the page's own tables: what it prints, the doubts that follow from that, and what was found here.
fn printed_table(suite: &str, table: &PrintedTable) -> String {
    let row = |row: &PrintedRow| {
        let flags: Vec<String> =
            row.flags.iter().map(|flag| escaped(&format!("{}: {}", flag.kind, flag.arithmetic))).collect();
        let here = match (&row.here, &row.asked) {
            (Some(here), Some(asked)) => format!("{} (`{}`)", escaped(here), code(asked)),
            (_, Some(asked)) => format!("not in this run (`{}`)", code(asked)),
            _ => NONE.into(),
        };
        let printed = row.printed.iter().map(|cell| escaped(cell)).collect::<Vec<_>>().join(" | ");
        format!("| {} | {printed} | {here} | {} |", escaped(&row.of), flags.join("<br>"))
    };
    let rows: Vec<String> = table.rows.iter().map(row).collect();
    let lines = "---|".repeat(table.heads.len() + 3);
    format!(
        "\nThe page's own table {}, of `{suite}`, as it is printed, and here:\n\n| row | {} | here | doubts about what is printed |\n|{lines}\n{}\n",
        escaped(&table.title),
        table.heads.join(" | "),
        rows.join("\n")
    )
}

fn groups(view: &View) -> impl Iterator<Item = (&str, &ClaimGroup)> {
    view.suites.iter().flat_map(|suite| suite.groups.iter().map(|group| (suite.name.as_str(), group)))
}

fn claims(view: &View) -> impl Iterator<Item = &ClaimView> {
    groups(view).flat_map(|(_, group)| &group.claims)
}

fn is_chosen(claim: &ClaimView, chosen: &[String]) -> bool {
    chosen.is_empty() || chosen.contains(&claim.id)
}

fn check(view: &View, chosen: &[String]) -> Result<()> {
    let known: Vec<&str> = claims(view).map(|claim| claim.id.as_str()).collect();
    let Some(unknown) = chosen.iter().find(|chosen| !known.contains(&chosen.as_str())) else { return Ok(()) };
    let there = if known.is_empty() { "there are none at all".into() } else { there_are(unknown, known) };
    Err(Error::input(format!("the record has nothing of a claim `{unknown}`; {there}")))
}

/// Those of the page, or ours; empty where there are none.
fn table(view: &View, by: By, chosen: &[String]) -> String {
    let mut rows = Vec::new();
    let mut title = "";
    for (suite, group) in groups(view).filter(|(_, group)| group.by == by) {
        title = group.title;
        let claims = group.claims.iter().filter(|claim| is_chosen(claim, chosen));
        rows.extend(claims.map(|claim| row(suite, claim)));
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "\n{title}:\n\n| suite | claim | published, source | asked here | here | outcome | size |\n\
         |---|---|---|---|---|---|---|\n{}\n",
        rows.join("\n")
    )
}

fn row(suite: &str, claim: &ClaimView) -> String {
    let deciding = claim.deciding();
    let absent = claim.absent_said().map_or(String::new(), |absent| format!("; {absent}"));
    let asked = deciding.map(|pair| format!("{}{absent}", pair.asked_what()));
    let mut here = vec![claim.here()];
    here.extend(deciding.into_iter().flat_map(PairView::notes).cloned());
    here.extend(claim.reduced_said());
    here.extend(deciding.and_then(PairView::doubts_said));
    here.extend(claim.others().iter().map(|pair| format!("also {}", pair.line())));
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.into());
    let cells = [
        escaped(&claim.statement),
        escaped(&or_none(claim.published.brief())),
        escaped(&or_none(asked)),
        here.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("<br>"),
        escaped(&claim.outcome()),
        escaped(&or_none(deciding.and_then(PairView::size_said))),
    ];
    format!("| `{suite}` | {} |", cells.join(" | "))
}

/// Text that ends no cell, and begins no element, link or picture.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('|', "\\|").replace('&', "&amp;").replace('<', "&lt;");
    plain(&text.replace("](", "]\\("))
}

/// Text that stays between its marks of code.
fn code(text: &str) -> String {
    plain(&text.replace('`', "'"))
}

fn plain(text: &str) -> String {
    text.replace(is_unreadable, " ")
}
