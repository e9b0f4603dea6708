//! The summary of a run: each claim in a few lines, each case in one or two and why arms of it were not compared. All
//! contenders with their figures, the other notes and the evidence of red flags stand in the full text and on the page.

use super::text::{Sheet, Tone};
use crate::report::view::{ArmView, CaseView, ClaimView, FlagGroup, Note, PairView, SuiteView, counted};
use crate::verdict::Verdict;

/// Verdicts in the order in which a case tells of them.
const TOLD: [Verdict; 6] = [
    Verdict::Better,
    Verdict::Equivalent,
    Verdict::Worse,
    Verdict::Inconclusive,
    Verdict::Untrusted,
    Verdict::Incomparable,
];

/// So many reasons why arms were not compared are told of a case; the rest stand in the full text.
const OBSTACLES_SHOWN: usize = 2;

/// A suite: its claims, then its cases.
pub(super) fn suite_lines(suite: &SuiteView, sheet: &Sheet) -> Vec<String> {
    let mut lines = sheet.all(sheet.wrapped(&format!("{}: {}", suite.name, suite.title), 0, 0), Tone::Strong);
    for group in &suite.groups {
        lines.extend(sheet.all(sheet.wrapped(&group.tally, 0, 2), Tone::Strong));
        lines.extend(group.claims.iter().flat_map(|claim| claim_lines(claim, sheet)));
    }
    if let Some(left_out) = &suite.left_out {
        lines.extend(sheet.all(sheet.wrapped(&format!("{left_out}."), 0, 2), Tone::Faint));
    }
    if !suite.cases.is_empty() {
        let title = "Cases: how many contenders have each verdict; the best and the worst with its rate over the \
                     baseline's (* promises something else of a commit)";
        lines.extend(sheet.all(sheet.wrapped(title, 0, 2), Tone::Faint));
        lines.extend(suite.cases.iter().flat_map(|case| case_lines(case, sheet)));
    }
    lines
}

fn claim_lines(claim: &ClaimView, sheet: &Sheet) -> Vec<String> {
    let mut lines = super::claim::head_lines(claim, sheet);
    let deciding = claim.deciding();
    let mut said = vec![claim.here()];
    said.extend(deciding.and_then(PairView::size_said).map(|size| format!("size {size}")));
    said.extend(deciding.map(|pair| pair.asked.clone()));
    said.extend(deciding.and_then(PairView::doubts_said));
    said.extend(claim.overridden.first().map(|_| "set otherwise than the suite does".to_owned()));
    let indent = sheet.indent();
    lines.extend(sheet.wrapped(&said.join("; "), indent, indent));
    lines
}

fn case_lines(case: &CaseView, sheet: &Sheet) -> Vec<String> {
    let mut said = match case.was_run() {
        true => format!("against {}: {}", case.baseline, verdicts_said(case)),
        false => "not run".into(),
    };
    if !case.flags.is_empty() {
        let kinds: Vec<String> = case.flags.iter().map(ToString::to_string).collect();
        said += &format!("; red flags: {}", kinds.join(", "));
    }
    let mut lines = sheet.wrapped(&format!("{}, {said}", case.name), 2, 4);
    // The name is coloured once the lines are broken, for what colours it has no width.
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(&case.name, &sheet.one(&case.name, Tone::Strong), 1);
    }
    lines.extend(obstacle_lines(case, sheet));
    lines
}

/// Why arms were not compared: without it a driver that did not even start is no more than a number here.
fn obstacle_lines(case: &CaseView, sheet: &Sheet) -> Vec<String> {
    let told = |note: &&Note| note.obstacle && (!note.canary || case.only_canaries());
    let obstacles: Vec<&Note> = case.notes.iter().filter(told).collect();
    let rest = obstacles.len().saturating_sub(OBSTACLES_SHOWN);
    let last = obstacles.len().min(OBSTACLES_SHOWN);
    let lines = obstacles.iter().take(OBSTACLES_SHOWN).enumerate().flat_map(|(number, note)| {
        let more = if rest > 0 && number + 1 == last { format!(" (and {rest} more)") } else { String::new() };
        sheet.wrapped(&format!("- {}{more}", note.text), 4, 6)
    });
    lines.collect()
}

/// `2 better (redb@immediate 2.75), 1 equivalent, 1 worse (rusqlite@wal-normal 0.953)`.
fn verdicts_said(case: &CaseView) -> String {
    let said: Vec<String> = TOLD.into_iter().filter_map(|verdict| verdict_said(case, verdict)).collect();
    if said.is_empty() { "nothing compared".into() } else { said.join(", ") }
}

/// How many have a verdict, with the best or the worst of them; none where no arm has it. Arms are in the order of reading,
/// the best of each class first.
fn verdict_said(case: &CaseView, verdict: Verdict) -> Option<String> {
    let arms: Vec<&ArmView> =
        case.arms_of_interest().into_iter().filter(|arm| arm.verdict() == Some(verdict)).collect();
    let value = |arm: &&ArmView| arm.ratio.map_or(1.0, |ratio| ratio.value);
    let named = match verdict {
        Verdict::Better => arms.iter().copied().max_by(|one, other| value(one).total_cmp(&value(other))),
        Verdict::Worse => arms.iter().copied().min_by(|one, other| value(one).total_cmp(&value(other))),
        _ => None,
    };
    let named = named.map_or(String::new(), |arm| format!(" ({})", arm_said(arm)));
    (!arms.is_empty()).then(|| format!("{} {verdict}{named}", arms.len()))
}

fn arm_said(arm: &ArmView) -> String {
    let class = if arm.other_class() { "*" } else { "" };
    let ratio = arm.ratio.map_or(String::new(), |ratio| format!(" {}", ratio.figure()));
    let flagged = if arm.flagged { ", flagged" } else { "" };
    format!("{}{class}{ratio}{flagged}", arm.name)
}

/// `Red flags: 3, contended machine 2, page cache 1 (and 4 on canaries, which are built to raise them)`.
pub(super) fn flag_line(groups: &[FlagGroup], sheet: &Sheet) -> Vec<String> {
    let (honest, canaries) = counted(groups);
    if honest == 0 {
        return sheet.all(sheet.wrapped(&format!("Red flags: none{canaries}"), 0, 2), Tone::Strong);
    }
    let of_kind = |group: &FlagGroup| {
        let number = group.honest().count();
        (number > 0).then(|| format!("{} {number}", group.kind))
    };
    let kinds: Vec<String> = groups.iter().filter_map(of_kind).collect();
    sheet.all(
        sheet.wrapped(&format!("Red flags: {honest}, {}{canaries}", kinds.join(", ")), 0, 2),
        Tone::Worse,
    )
}
