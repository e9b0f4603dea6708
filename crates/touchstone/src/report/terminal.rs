//! The summary for a terminal: claims first, then each case's contenders, then doubts. Never wider than 100
//! columns.

mod brief;
mod claim;
mod load;
mod table;
mod text;

use super::Style;
use super::format::{self, NONE};
use super::view::{ArmView, CaseView, FlagGroup, FlagView, Note, SuiteView, View, counted};
use crate::statistics::P_LOOK;
use table::{Cell, Table};
use text::{Sheet, Tone};

/// Red flags shown in full; the rest is counted.
const FLAGS_SHOWN: usize = 8;

/// Everything: claims with all that is said of them, every contender, notes, flags with their evidence.
pub(super) fn render(view: &View, style: Style) -> String {
    let sheet = Sheet::new(style);
    let mut lines = header(view, &sheet);
    let table = Table::fitting(view.suites.iter().flat_map(|suite| &suite.cases).flat_map(rows), sheet.width);
    for suite in &view.suites {
        lines.push(String::new());
        lines.extend(suite_lines(suite, &table, &sheet));
    }
    lines.push(String::new());
    lines.extend(flag_lines(&view.flags, &sheet));
    lines.extend(tally_lines(&view.suites, &sheet));
    lines.join("\n") + "\n"
}

/// What a run found, in short.
pub(super) fn render_brief(view: &View, style: Style) -> String {
    let sheet = Sheet::new(style);
    let mut lines = header(view, &sheet);
    for suite in &view.suites {
        lines.push(String::new());
        lines.extend(brief::suite_lines(suite, &sheet));
    }
    lines.push(String::new());
    lines.extend(brief::flag_line(&view.flags, &sheet));
    lines.join("\n") + "\n"
}

/// The gist of all suites, which were told of before.
pub(super) fn render_conclusion(view: &View, style: Style) -> String {
    let sheet = Sheet::new(style);
    let mut lines = header(view, &sheet);
    lines.extend(tally_lines(&view.suites, &sheet));
    lines.extend(brief::flag_line(&view.flags, &sheet));
    lines.join("\n") + "\n"
}

fn header(view: &View, sheet: &Sheet) -> Vec<String> {
    let header = &view.header;
    let mut lines = sheet.all(sheet.wrapped(&format!("Touchstone: {}", header.title), 0, 0), Tone::Strong);
    lines.extend(sheet.wrapped(
        &format!("{}, took {}; {}", header.started, header.elapsed, header.plan),
        0,
        0,
    ));
    lines.extend(sheet.wrapped(&header.machine, 0, 0));
    lines.extend(
        header.left_out.iter().flat_map(|left_out| sheet.wrapped(&format!("Left out: {left_out}"), 0, 2)),
    );
    if let Some(partial) = &header.partial {
        let warning = format!("PARTIAL RECORD, {partial}. What follows rests on what was run until then.");
        lines.extend(sheet.all(sheet.wrapped(&warning, 0, 0), Tone::Worse));
    }
    for caution in &header.cautions {
        lines.extend(sheet.all(sheet.wrapped(&format!("CAUTION: {caution}."), 0, 2), Tone::Worse));
    }
    lines
}

fn suite_lines(suite: &SuiteView, table: &Table, sheet: &Sheet) -> Vec<String> {
    let mut lines = sheet.all(sheet.wrapped(&format!("{}: {}", suite.name, suite.title), 0, 0), Tone::Strong);
    lines.extend(sheet.wrapped(
        &format!("Published: {}; measured there on {}.", suite.source, suite.device),
        0,
        0,
    ));
    lines.extend(claim::lines(suite, sheet));
    if suite.cases.is_empty() {
        return lines;
    }
    if suite.cases.iter().any(CaseView::was_run) {
        lines.push(String::new());
        lines.extend(sheet.all(legend(table, sheet), Tone::Faint));
        lines.push(sheet.one(&table.header(), Tone::Faint));
    }
    for case in &suite.cases {
        lines.extend(case_lines(case, table, sheet));
    }
    lines
}

fn legend(table: &Table, sheet: &Sheet) -> Vec<String> {
    let level = format::percent(1.0 - P_LOOK);
    let left_out = match table.left_out() {
        [] => String::new(),
        titles => format!(" No room here for: {}.", titles.join(", ")),
    };
    let text = format!(
        "Ratio: rate over the baseline's, above 1 is better ({level} interval). Class: durability \
         (* unlike the baseline's: not ranked). Floor: time of the least work possible, as a share. \
         Syncs: per commit. Flagged: a red flag is about it.{left_out}"
    );
    sheet.wrapped(&text, 0, 0)
}

fn case_lines(case: &CaseView, table: &Table, sheet: &Sheet) -> Vec<String> {
    let mut lines = vec![String::new()];
    lines.extend(sheet.all(sheet.wrapped(&format!("{}: {}", case.name, case.title), 0, 2), Tone::Strong));
    if !case.was_run() {
        lines.push("  not run".into());
        return lines;
    }
    lines.extend(rows(case).flat_map(|row| table.lines(&row, sheet)));
    lines.extend(case.load.iter().flat_map(|tables| load::lines(tables, sheet)));
    let shown = |note: &&Note| !note.canary || case.only_canaries();
    for note in case.notes.iter().filter(shown) {
        lines.extend(sheet.wrapped(&format!("- {}", note.text), 2, 4));
    }
    lines
}

/// A row for each arm of interest.
fn rows(case: &CaseView) -> impl Iterator<Item = table::Row> {
    case.arms_of_interest().into_iter().map(row)
}

fn row(arm: &ArmView) -> table::Row {
    let plain = |text: Option<String>| Cell::plain(text.unwrap_or_else(|| NONE.into()));
    let tone = arm.verdict().map_or(Tone::Faint, Tone::of_verdict);
    let flagged = if arm.flagged { ", flagged" } else { "" };
    let class = if arm.other_class() { format!("{}*", arm.class) } else { arm.class.to_string() };
    [
        Cell::plain(arm.name.clone()),
        plain(arm.rate.clone()),
        plain(arm.ratio_said()),
        Cell::toned(format!("{}{flagged}", arm.word()), tone),
        Cell::plain(class),
        plain(arm.floor_share.map(format::percent)),
        plain(arm.syncs_per_commit.map(format::count)),
    ]
}

fn flag_lines(groups: &[FlagGroup], sheet: &Sheet) -> Vec<String> {
    let (others, canaries) = counted(groups);
    let said = if others == 0 { "none".into() } else { others.to_string() };
    let title = format!("Red flags: {said}{canaries}");
    let tone = if others == 0 { Tone::Strong } else { Tone::Worse };
    let mut lines = sheet.all(sheet.wrapped(&title, 0, 0), tone);
    let mut shown = 0;
    for group in groups {
        let Some((first, rest)) = split_canaries(group) else { continue };
        if shown == FLAGS_SHOWN {
            break;
        }
        shown += 1;
        let more = if rest == 0 { String::new() } else { format!(" (and {rest} more)") };
        let line = format!("- {}: {}: {}{more}", group.kind, first.about, first.evidence);
        lines.extend(sheet.wrapped(&line, 2, 4));
    }
    lines
}

/// The gist once more, where a long summary leaves the reader.
fn tally_lines(suites: &[SuiteView], sheet: &Sheet) -> Vec<String> {
    let tallies = suites.iter().flat_map(|suite| suite.groups.iter().map(move |group| (suite, group)));
    let tally: Vec<String> = tallies
        .flat_map(|(suite, group)| sheet.wrapped(&format!("{}: {}", suite.name, group.tally), 0, 2))
        .collect();
    let gap = (!tally.is_empty()).then(String::new);
    gap.into_iter().chain(sheet.all(tally, Tone::Strong)).collect()
}

/// A group's first flag that is not about a canary, and how many more there are.
fn split_canaries(group: &FlagGroup) -> Option<(&FlagView, usize)> {
    let mut flags = group.honest();
    Some((flags.next()?, flags.count()))
}
