//! The generator's pages in a real browser: every chart is drawn, nothing is complained of, and nothing is loaded.
//!
//! Needs Chromium, at `/usr/bin/chromium` or where `$CHROMIUM` says.

#[path = "../../touchstone/tests/browser/mod.rs"]
mod browser;
mod made;

use browser::Page;
use made::{outcome, searched};
use serde_json::Value;
use touchstone_load::outcome::Outcome;
use touchstone_load::page;
use touchstone_load::series::Series;

fn page_of(outcome: &Outcome) -> String {
    page::of_outcome(outcome).expect("it is written")
}

fn drawn(page: &Page) -> Vec<Value> {
    let charts = page.ask(
        "[...document.querySelectorAll('[data-chart]')].map((figure) => ({ kind: figure.dataset.chart, \
         drawn: figure.dataset.drawn, svg: figure.querySelectorAll('svg').length, \
         marks: figure.querySelectorAll('svg :is(circle, path, line, rect)').length, \
         wrong: figure.innerHTML.includes('NaN'), \
         named: Boolean(figure.querySelector('svg')?.getAttribute('aria-label')) }))",
    );
    charts.as_array().expect("it is a list").clone()
}

fn assert_drawn(page: &Page, kinds: &[&str]) {
    let charts = drawn(page);
    for kind in kinds {
        assert!(charts.iter().any(|chart| chart["kind"] == *kind), "no {kind} chart in {charts:?}");
    }
    for chart in &charts {
        assert_eq!(chart["drawn"], "true", "{chart}");
        assert!(chart["svg"].as_u64() == Some(1) && chart["marks"].as_u64() > Some(3), "{chart}");
        assert!(chart["named"] == true && chart["wrong"] == false, "{chart}");
    }
    page.assert_no_complaints();
}

const KINDS: [&str; 4] = ["throughput", "latencies", "heat", "percentiles"];

#[test]
fn every_chart_of_an_outcome_is_drawn_in_light_and_in_dark() {
    let html = page_of(&outcome());
    let mut papers = Vec::new();
    for scheme in ["light", "dark"] {
        let page = Page::open(&html, scheme);
        assert_drawn(&page, &KINDS);
        papers.push(page.ask("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(papers[0], papers[1], "light and dark look the same");
}

#[test]
fn a_search_is_drawn_with_the_outcome_that_confirmed_it() {
    let searched = searched();
    let html = page::of_search(&searched, Some(&outcome())).expect("it is written");
    let page = Page::open(&html, "light");
    assert_drawn(&page, &["steps", "throughput", "latencies", "heat", "percentiles"]);
    let marks = "document.querySelectorAll('[data-chart=steps] svg [aria-label=dot] > *').length";
    assert_eq!(page.ask(marks), searched.steps.len(), "each step has a mark");
    assert_eq!(page.ask(&dashed()), 0);
}

/// Steps of a search that was invalid looked like those of one that was not.
#[test]
fn a_step_that_does_not_count_is_drawn_as_an_outline_and_the_legend_says_so() {
    let mut searched = searched();
    for step in [1, 12] {
        searched.steps[step].doubts = vec!["the generator sent late: by far".into()];
    }
    for scheme in ["light", "dark"] {
        let page = Page::open(&page::of_search(&searched, None).expect("it is written"), scheme);
        assert_drawn(&page, &["steps"]);
        assert_eq!(page.ask(&dashed()), 2);
        let words = page.ask("document.querySelector('[data-chart=steps] svg').textContent");
        assert!(words.as_str().is_some_and(|words| words.contains("does not count")), "{words}");
    }
}

/// How many marks of steps are outlines.
fn dashed() -> String {
    "[...document.querySelectorAll('[data-chart=steps] svg [aria-label=dot]')].filter((marks) => marks.getAttribute('stroke-dasharray'))\
     .reduce((all, marks) => all + marks.childElementCount, 0)".into()
}

#[test]
fn outcomes_with_hardly_anything_in_them_are_drawn_too() {
    let mut one = outcome();
    one.series = Series::default();
    one.series.record(0, 5_000_000, false);
    one.rows.truncate(2);
    assert_drawn(&Page::open(&page_of(&one), "light"), &KINDS);
    let mut all_failed = outcome();
    all_failed.series = Series::default();
    all_failed.series.record(0, 5_000_000, true);
    all_failed.series.record(900_000_000, 5_000_000, true);
    assert_drawn(&Page::open(&page_of(&all_failed), "light"), &["throughput", "percentiles"]);
    let mut nothing = outcome();
    (nothing.series, nothing.rows) = (Series::default(), Vec::new());
    let page = Page::open(&page_of(&nothing), "light");
    assert_eq!(drawn(&page), Vec::<Value>::new());
    page.assert_no_complaints();
}

#[test]
fn a_narrow_window_scrolls_tables_and_not_the_page() {
    let page = Page::open_in(&page_of(&outcome()), "light", 600);
    let [page_px, window_px] =
        ["document.documentElement.scrollWidth", "window.innerWidth"].map(|width| page.ask(width).as_u64());
    assert!(window_px < Some(700) && page_px <= window_px, "{page_px:?} in {window_px:?}");
}
