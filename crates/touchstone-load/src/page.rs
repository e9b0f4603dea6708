//! The page: an outcome, or a search with the outcome that confirmed it, as one HTML file that loads nothing.
//!
//! Style, scripts and figures are those of the lab's page. Everything here is worked out from the outcome, and nothing is decided.

mod charts;
mod failed;
mod generator;
mod heading;
mod heat;
mod over_time;
mod percentiles;
mod search;
mod streams;
mod table;

use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::search::Searched;
use askama::Template;
use heading::{Heading, Verdict};
use search::SearchView;
use touchstone::report::page::{self, Chart};

/// What draws the charts of a load, and the page's own.
const SCRIPT: &str = include_str!("../assets/load-charts.js");
/// The little that the lab's page does not need.
const STYLE: &str = include_str!("../assets/load.css");

/// What `templates/page.html` is filled from.
#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    heading: Heading,
    search: Option<SearchView>,
    found: Option<Found>,
    files: Vec<(&'static str, &'static str)>,
    style: [&'static str; 2],
    scripts: Vec<&'static str>,
}

impl Page {
    /// Whether the outcome is of a run that confirmed an answer: what is doubted of it can only lengthen its times.
    fn is_confirmation(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.has_answer)
    }

    /// Whether the answer of a search, at the top, says why the page cannot be believed.
    fn is_doubted_above(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_doubted)
    }
}

/// What is shown of an outcome.
struct Found {
    verdict: Verdict,
    limits: Vec<table::LimitRow>,
    table: table::Table,
    streams: streams::Streams,
    percentiles: percentiles::Curves,
    over_time: Vec<Chart>,
    statuses: Vec<failed::Statuses>,
    failures: Vec<failed::Failed>,
    generator: Vec<(&'static str, String)>,
    scenario: Option<String>,
}

impl Found {
    /// The limits that do not hold.
    fn broken(&self) -> Vec<&table::LimitRow> {
        self.limits.iter().filter(|limit| !limit.holds).collect()
    }
}

/// The page of a run.
///
/// # Errors
/// When the page cannot be written out, which is a fault of its template.
pub fn of_outcome(outcome: &Outcome) -> Result<String> {
    render(Heading::of_outcome(outcome), None, Some(found(outcome)))
}

/// The page of a search, with the outcome of the step that confirmed its answer.
///
/// # Errors
/// When the page cannot be written out, which is a fault of its template.
pub fn of_search(searched: &Searched, confirmed: Option<&Outcome>) -> Result<String> {
    // A search has a limit of failures also where its scenario names none.
    let with_limits =
        |outcome| Found { limits: table::held_against(outcome, &searched.limits), ..found(outcome) };
    render(Heading::of_search(searched), Some(SearchView::new(searched)), confirmed.map(with_limits))
}

fn render(heading: Heading, search: Option<SearchView>, found: Option<Found>) -> Result<String> {
    let of_search = search.iter().map(|_| ("capacity.json", "the steps of the search, and what it found"));
    let of_outcome = found.iter().flat_map(|_| {
        [
            ("outcome.json", "everything that was counted; merge adds it to others of its plan"),
            ("latencies.hlog", "the latencies as a log that the viewers of HdrHistogram read"),
        ]
    });
    let files = of_search.chain(of_outcome).collect();
    let scripts = page::SCRIPTS.into_iter().chain([SCRIPT]).collect();
    let page = Page { heading, search, found, files, style: [page::STYLE, STYLE], scripts };
    page.render().map_err(|error| Error::input(format!("the page could not be written: {error}")))
}

fn found(outcome: &Outcome) -> Found {
    Found {
        verdict: Verdict::new(outcome),
        limits: table::limits(outcome),
        table: table::Table::new(outcome),
        streams: streams::Streams::new(outcome),
        percentiles: percentiles::Curves::new(outcome),
        over_time: charts::over_time(outcome),
        statuses: failed::statuses(outcome),
        failures: failed::failures(outcome),
        generator: generator::facts(outcome),
        scenario: heading::scenario(&outcome.scenario),
    }
}
