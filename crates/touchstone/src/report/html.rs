//! The page: one HTML file with its style, its charts' data and its scripts inside, which loads nothing.

use super::Findings;
use super::chart::{self, Chart};
use super::detail::{self, Build, Detail, SubjectDetail};
use super::format::{self, NONE};
use super::page;
use super::prose;
use super::view::{ArmView, CaseView, ClaimGroup, Standing, SuiteView, View, counted};
use crate::error::{Error, Result};
use crate::record::{Environment, file};
use crate::statistics::P_LOOK;
use crate::verdict::{ClaimStatus, Verdict};
use askama::Template;

/// Points of all timelines of a page together: what keeps a page of many cases small.
const TIMELINE_POINTS_PER_PAGE: usize = 24_000;
/// Points a timeline keeps at the most; more than a chart is wide shows nothing more.
const TIMELINE_POINTS_MOST: usize = 400;

/// What `templates/report.html` is filled from.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'p> {
    view: &'p View,
    suites: Vec<PageSuite<'p>>,
    subjects: Vec<SubjectDetail>,
    builds: Vec<Build>,
    environment: &'p Environment,
    interval_level: String,
    record_files: [(&'static str, &'static str); 7],
    style: &'static str,
    scripts: Vec<&'static str>,
}

struct PageSuite<'p> {
    view: &'p SuiteView,
    claims: Vec<PageClaims<'p>>,
    scaling_chart: Option<Chart>,
    scales_charts: Vec<Chart>,
    curves: Vec<Chart>,
    cases: Vec<PageCase<'p>>,
}

struct PageClaims<'p> {
    view: &'p ClaimGroup,
    chart: Option<Chart>,
}

struct PageCase<'p> {
    view: &'p CaseView,
    charts: Vec<Chart>,
    details: Vec<Detail>,
}

pub(super) fn render(findings: &Findings<'_>, view: &View) -> Result<String> {
    let points = timeline_points(findings);
    let page = Page {
        view,
        suites: view.suites.iter().map(|suite| page_suite(findings, suite, points)).collect(),
        subjects: detail::subjects(&findings.record.subjects),
        builds: detail::builds(&findings.record.subjects),
        environment: &findings.record.environment,
        interval_level: format::percent(1.0 - P_LOOK),
        record_files: RECORD_FILES,
        style: page::STYLE,
        scripts: page::SCRIPTS.into_iter().chain(OWN_SCRIPTS).collect(),
    };
    page.render().map_err(|error| Error::record(format!("the report's page could not be written: {error}")))
}

/// What draws the charts of a record, and the page's own.
const OWN_SCRIPTS: [&str; 3] = [
    include_str!("../../assets/case-charts.js"),
    include_str!("../../assets/suite-charts.js"),
    include_str!("../../assets/report.js"),
];

const RECORD_FILES: [(&str, &str); 7] = [
    (file::PLAN, "what was run, every random choice settled"),
    (file::SAMPLES, "every timed stretch, as measured"),
    (file::LAUNCHES, "how every contender's part in every launch ended"),
    (file::LATENCY, "nanoseconds of single operations"),
    (file::ENVIRONMENT, "machine, kernel, filesystem and toolchain"),
    (file::STATISTICS, "what the samples say, computed from the files above"),
    (file::VERDICT, "what was decided from that"),
];

fn page_suite<'p>(findings: &Findings<'_>, suite: &'p SuiteView, points: usize) -> PageSuite<'p> {
    let page_case = |case: &'p CaseView| {
        let statistics = findings.statistics.iter().find(|statistics| statistics.case == case.id)?;
        let charts = chart::of_case(case, statistics, findings.record, points);
        Some(PageCase { view: case, charts, details: detail::of_case(case, statistics) })
    };
    let page_claims =
        |group: &'p ClaimGroup| PageClaims { view: group, chart: chart::claims(findings, suite, group) };
    PageSuite {
        view: suite,
        claims: suite.groups.iter().map(page_claims).collect(),
        scaling_chart: chart::scaling(findings, &suite.name),
        scales_charts: chart::scales(findings, &suite.name),
        curves: chart::curves(findings, &suite.name),
        cases: suite.cases.iter().filter_map(page_case).collect(),
    }
}

/// An equal share of the page's points for each timeline.
fn timeline_points(findings: &Findings<'_>) -> usize {
    let cases = findings.record.plan.cases.iter().zip(findings.statistics);
    let arms = cases.filter(|(case, _)| case.writes()).flat_map(|(_, statistics)| &statistics.arms);
    let timelines = arms.filter(|arm| !arm.timeline.is_empty()).count().max(1);
    (TIMELINE_POINTS_PER_PAGE / timelines).clamp(20, TIMELINE_POINTS_MOST)
}

/// What only the page says of a run as a whole.
impl View {
    fn flags_said(&self) -> String {
        match counted(&self.flags) {
            (0, canaries) => format!("No red flags{canaries}."),
            (flags, canaries) => {
                format!("{}{canaries}.", format::counted(flags as u64, "red flag", "red flags"))
            }
        }
    }
}

impl SuiteView {
    fn anchor(&self) -> String {
        anchor(&format!("suite-{}", self.name))
    }
}

impl CaseView {
    fn anchor(&self) -> String {
        anchor(&format!("case-{}", self.id))
    }
}

/// Read with the word beside it, never alone.
fn mark(status: &ClaimStatus) -> &'static str {
    match status {
        ClaimStatus::Elsewhere => "–",
        ClaimStatus::Holds => "✓",
        ClaimStatus::Refuted => "✗",
        ClaimStatus::Inconclusive => "?",
        ClaimStatus::Untested => "○",
    }
}

/// How a row's cells are worded and what they are sorted by; a cell without a key sorts last.
impl ArmView {
    fn mark(&self) -> &'static str {
        match self.verdict() {
            Some(Verdict::Better) => "▲",
            Some(Verdict::Worse) => "▼",
            Some(Verdict::Equivalent) => "=",
            Some(Verdict::Inconclusive) => "?",
            Some(Verdict::Untrusted) => "!",
            Some(Verdict::Incomparable) => "✗",
            None => "",
        }
    }

    fn role(&self) -> Option<&'static str> {
        match self {
            ArmView { canary: true, .. } => Some("canary"),
            ArmView { null_arm: true, .. } => Some("null arm"),
            ArmView { floor: true, .. } => Some("floor"),
            _ => None,
        }
    }

    fn rate_said(&self) -> &str {
        self.rate.as_deref().unwrap_or(NONE)
    }

    fn rate_key(&self) -> String {
        sort_key(self.operation_ns.map(|ns| 1e9 / ns))
    }

    fn ratio_key(&self) -> String {
        let base = (self.standing == Standing::Baseline).then_some(1.0);
        sort_key(self.ratio.map(|ratio| ratio.value).or(base))
    }

    /// What stands where there is no ratio.
    fn no_ratio(&self) -> &'static str {
        if self.standing == Standing::Baseline { "1" } else { NONE }
    }

    fn class_key(&self) -> u8 {
        self.class as u8
    }

    fn floor_said(&self) -> String {
        self.floor_share.map_or(NONE.into(), format::percent)
    }

    fn floor_key(&self) -> String {
        sort_key(self.floor_share)
    }

    fn syncs_said(&self) -> String {
        self.syncs_per_commit.map_or(NONE.into(), format::count)
    }

    fn syncs_key(&self) -> String {
        sort_key(self.syncs_per_commit.map(|syncs| syncs as f64))
    }

    fn launches_said(&self) -> String {
        match (self.launches_completed, self.launches) {
            (_, 0) => NONE.into(),
            (completed, all) if completed == all => all.to_string(),
            (completed, all) => format!("{completed} of {all}"),
        }
    }
}

fn sort_key(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:e}"))
}

/// A text as the id of a heading.
fn anchor(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
