//! Findings as ordered rows of text, prepared once for both renderers so that they never disagree.
//!
//! What stands here was decided elsewhere; this module words it, sorts it and leaves nothing to a renderer
//! but layout.

mod case;
mod caution;
mod claim;
mod facts;
mod flag;
mod load;
mod measured;
mod note;
mod pair;
mod printed;
mod published;
mod tally;

pub(super) use case::{ArmView, CaseView, Standing};
pub(super) use claim::{ClaimGroup, ClaimView, StandInView};
pub(super) use flag::{FlagGroup, FlagView, counted};
pub(super) use load::{COLUMNS, ENDPOINT_COLUMNS, LoadRow, LoadTables};
pub(super) use note::Note;
pub(super) use pair::PairView;
pub(super) use printed::{PrintedRow, PrintedTable};

use super::Findings;
use super::format;
use crate::record::{Environment, Record, Status};
use crate::suite::By;
use crate::verdict::ClaimOutcome;
use std::collections::BTreeSet;
use tally::tally;

/// A whole record.
pub(super) struct View {
    pub header: Header,
    pub suites: Vec<SuiteView>,
    pub flags: Vec<FlagGroup>,
}

/// What was run, when, where and how.
pub(super) struct Header {
    pub title: String,
    /// Why the record must be read with care, where it did not reach its end.
    pub partial: Option<String>,
    /// What was not done as the methodology says.
    pub cautions: Vec<String>,
    pub touchstone: String,
    pub started: String,
    pub elapsed: String,
    /// Size, seed and looks.
    pub plan: String,
    /// The machine in one line.
    pub machine: String,
    /// Contenders that could not be had, with the reason.
    pub left_out: Vec<String>,
    pub command: String,
    /// How many claims of the pages hold, are refuted and so on; then how many of ours.
    pub tallies: Vec<String>,
}

/// A suite with what was found about it.
pub(super) struct SuiteView {
    pub name: String,
    pub title: String,
    pub source: String,
    pub device: String,
    /// The page's claims, then ours.
    pub groups: Vec<ClaimGroup>,
    /// How many claims of the suite the run was not about.
    pub left_out: Option<String>,
    /// Who takes the places of the page's libraries.
    pub stand_ins: Vec<StandInView>,
    /// The page's own tables.
    pub printed: Vec<PrintedTable>,
    pub cases: Vec<CaseView>,
}

impl View {
    /// Whether its suites claim anything, of this run or not: a suite of a library's own may have no claim at all.
    pub(super) fn has_claims(&self) -> bool {
        self.suites.iter().any(|suite| !suite.groups.is_empty() || suite.left_out.is_some())
    }

    pub(super) fn new(findings: &Findings<'_>) -> View {
        let plan = &findings.record.plan;
        let claims = &findings.judgement.claims;
        let suites = plan.suites.iter().map(|suite| SuiteView {
            name: suite.name.clone(),
            title: suite.title.clone(),
            source: suite.source.clone(),
            device: suite.device.clone(),
            groups: claim::groups(plan, suite, claims),
            left_out: claim::left_out(suite, claims),
            stand_ins: claim::stand_ins(suite, claims),
            printed: printed::tables(findings, suite),
            cases: CaseView::of_suite(findings, &suite.name),
        });
        let suites = suites.collect();
        View { header: header(findings), suites, flags: flag::groups(findings) }
    }
}

fn header(findings: &Findings<'_>) -> Header {
    let Record { manifest, plan, environment, .. } = findings.record;
    let names: Vec<&str> = plan.suites.iter().map(|suite| suite.name.as_str()).collect();
    let reason = manifest.reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
    let there = there(findings.record);
    Header {
        title: format::listed(&names),
        partial: match manifest.status {
            Status::Complete => None,
            Status::Partial => Some(format!("cut short{reason}; {there}")),
            Status::Running => Some(format!("still running, or killed{reason}; {there}")),
        },
        cautions: caution::cautions(findings.record),
        touchstone: manifest.touchstone.clone(),
        started: spaced_time(&manifest.started),
        elapsed: format::elapsed(manifest.elapsed_s),
        plan: format!("{} size, seed {}, {}", plan.size, plan.seed, looks(&plan.looks)),
        machine: machine(environment),
        left_out: plan.left_out.clone(),
        command: manifest.command.clone(),
        tallies: tallies(&findings.judgement.claims),
    }
}

/// `it has 3 of at most 24 launches, of 2 of 4 cases`.
fn there(record: &Record) -> String {
    let launches: BTreeSet<(&str, usize)> =
        record.launches.iter().map(|launch| (launch.case.as_str(), launch.launch)).collect();
    let cases: BTreeSet<&str> = launches.iter().map(|(case, _)| *case).collect();
    let planned = record.plan.cases.len();
    format!(
        "it has {} of at most {}, of {} of {}",
        format::count(launches.len() as u64),
        format::counted((planned * record.plan.looks.last().unwrap_or(&0)) as u64, "launch", "launches"),
        format::count(cases.len() as u64),
        format::counted(planned as u64, "case", "cases")
    )
}

fn looks(looks: &[usize]) -> String {
    let looks: Vec<String> = looks.iter().map(usize::to_string).collect();
    if looks.is_empty() {
        "no looks".into()
    } else {
        let noun = if looks == ["1"] { "launch" } else { "launches" };
        format!("looked at after {} {noun}", format::listed(&looks))
    }
}

/// `2026-10-03T10:00:00Z` as `2026-10-03 10:00:00 UTC`; anything else as it is.
fn spaced_time(time: &str) -> String {
    match time.strip_suffix('Z').and_then(|time| time.split_once('T')) {
        Some((date, time)) => format!("{date} {} UTC", time.split('.').next().unwrap_or(time)),
        None => time.to_owned(),
    }
}

/// The facts that tell one machine from another, as far as the environment has them.
fn machine(environment: &Environment) -> String {
    const TELLING: [&str; 8] = ["model", "cpu", "cores", "memory", "kernel", "os", "filesystem", "storage"];
    let facts = || environment.values().flatten();
    let told: Vec<&str> = TELLING
        .iter()
        .filter_map(|name| facts().find(|(known, _)| known == name))
        .map(|(_, fact)| fact.as_str())
        .collect();
    if told.is_empty() {
        facts().map(|(_, fact)| fact.as_str()).take(4).collect::<Vec<_>>().join(", ")
    } else {
        told.join(", ")
    }
}

/// The tallies of all suites together.
fn tallies(claims: &[ClaimOutcome]) -> Vec<String> {
    let tallies: Vec<String> =
        [By::Page, By::Ours].into_iter().filter_map(|by| tally(by, claims.iter())).collect();
    if tallies.is_empty() { vec!["No claims".into()] } else { tallies }
}
