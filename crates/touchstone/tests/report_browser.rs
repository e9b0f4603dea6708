//! The report in a real browser: it draws every chart, sorts its tables, complains of nothing and loads
//! nothing.
//!
//! Needs Chromium, at `/usr/bin/chromium` or where `$CHROMIUM` says. Without one the tests fail and say so: a
//! page that nobody has opened is not tested.

mod browser;
mod report_fixture;

use browser::Page;
use report_fixture::Fixture;
use serde_json::Value;
use touchstone::report;

fn page() -> String {
    report::html(&Fixture::new().findings()).unwrap()
}

#[test]
fn every_chart_is_drawn_in_light_and_in_dark_without_a_complaint() {
    let html = page();
    let mut papers = Vec::new();
    for scheme in ["light", "dark"] {
        let page = Page::open(&html, scheme);
        let charts = page.ask(
            "[...document.querySelectorAll('[data-chart]')].map((figure) => ({ kind: figure.dataset.chart, \
             drawn: figure.dataset.drawn, svg: figure.querySelectorAll('svg').length, \
             marks: figure.querySelectorAll('svg :is(circle, path, line, rect)').length, \
             named: Boolean(figure.querySelector('svg')?.getAttribute('aria-label')), \
             read: figure.querySelector('figcaption').textContent.length }))",
        );
        let charts = charts.as_array().unwrap();
        for kind in [
            "claims", "curve", "forest", "hits", "launches", "latency", "limits", "stalls", "pace", "heat",
            "scaling", "scales",
        ] {
            assert!(charts.iter().any(|chart| chart["kind"] == kind), "no {kind} chart");
        }
        for chart in charts {
            assert_eq!(chart["drawn"], "true", "{chart}");
            assert!(chart["svg"].as_u64() == Some(1) && chart["marks"].as_u64() > Some(3), "{chart}");
            assert!(chart["named"] == true && chart["read"].as_u64() > Some(40), "{chart}");
        }
        papers.push(page.ask("getComputedStyle(document.body).backgroundColor"));
        page.assert_no_complaints();
    }
    assert_ne!(papers[0], papers[1], "light and dark look the same");
}

#[test]
fn a_click_on_a_heading_sorts_the_contenders_of_every_case() {
    let page = Page::open(&page(), "light");
    let names = "[...document.querySelectorAll('table.cases tbody')].map((body) => \
                 [...body.querySelectorAll('tr:not(.title) th')].map((cell) => cell.dataset.value))";
    let rates = "[...document.querySelectorAll('table.cases tbody')].map((body) => \
                 [...body.querySelectorAll('tr:not(.title) td:nth-child(2)')].map((c) => c.dataset.value)\
                 .filter((value) => value !== '').map(Number))";
    let sorts = "[...document.querySelectorAll('table.cases')].map((table) => \
                 table.tHead.rows[0].cells[1].getAttribute('aria-sort'))";
    let before = page.ask(names);
    assert_eq!(page.ask(sorts)[0], "none");
    let heading = || page.tab.wait_for_element("table.cases thead th:nth-child(2) [role=button]").unwrap();
    heading().click().unwrap();
    assert_eq!(page.ask(sorts)[0], "descending");
    let first_suite =
        page.ask("document.querySelector('table.cases').tBodies.length").as_u64().unwrap() as usize;
    let down = rates_of(&page.ask(rates), first_suite);
    assert!(down.iter().all(|rates| rates.is_sorted_by(|one, other| one >= other)), "{down:?}");
    assert_ne!(page.ask(names), before, "the order did not change");
    heading().click().unwrap();
    assert_eq!(page.ask(sorts)[0], "ascending");
    let up = rates_of(&page.ask(rates), first_suite);
    assert!(up.iter().all(|rates| rates.is_sorted()), "{up:?}");
    let titles = page.ask(
        "[...document.querySelectorAll('table.cases tbody')].every((b) => b.rows[0].className === 'title')",
    );
    assert_eq!(titles, true, "a case's title left its place");
    page.assert_no_complaints();
}

fn rates_of(asked: &Value, cases: usize) -> Vec<Vec<f64>> {
    serde_json::from_value::<Vec<Vec<f64>>>(asked.clone()).unwrap().into_iter().take(cases).collect()
}

#[test]
fn a_chart_that_cannot_be_drawn_says_so_and_stops_no_other() {
    let broken = page().replacen("\"rows\":[", "\"rows\":7,\"lost\":[", 1);
    let page = Page::open(&broken, "light");
    let drawn =
        page.ask("[...document.querySelectorAll('[data-chart]')].map((figure) => figure.dataset.drawn)");
    let drawn: Vec<String> = serde_json::from_value(drawn).unwrap();
    assert!(
        drawn.iter().any(|drawn| drawn == "error") && drawn.iter().any(|drawn| drawn == "true"),
        "{drawn:?}"
    );
    let said = page.ask("document.querySelector('[data-drawn=error] .error').textContent");
    assert!(said.as_str().unwrap().contains("could not be drawn"), "{said}");
}

#[test]
fn no_axis_from_left_to_right_says_the_same_at_two_places() {
    let mut fixture = Fixture::new();
    for claim in &mut fixture.judgement.claims {
        claim.figures.iter_mut().for_each(|figure| figure.ratio = Some(1.0));
        let tests = claim.pairs.iter_mut().flat_map(|pair| &mut pair.tests);
        for test in tests.filter(|test| test.unit == "x") {
            (test.value, test.low, test.high) = (Some(1.001), Some(0.992), Some(1.014));
            (test.at_least, test.at_most) = (Some(0.99), None);
        }
    }
    let page = Page::open(&report::html(&fixture.findings()).unwrap(), "light");
    let axes = page.ask(
        "[...document.querySelectorAll('[data-chart] svg [aria-label=\"x-axis tick label\"]')].map((axis) => \
         [...axis.querySelectorAll('text')].map((label) => label.textContent))",
    );
    let axes = axes.as_array().unwrap();
    assert!(axes.len() >= 6, "{axes:?}");
    assert!(
        axes.iter().any(|labels| labels.to_string().contains("1.005")),
        "a narrow one is among them: {axes:?}"
    );
    for labels in axes {
        let labels: Vec<&str> =
            labels.as_array().unwrap().iter().filter_map(|label| label.as_str()).collect();
        let different: std::collections::BTreeSet<&&str> = labels.iter().collect();
        assert_eq!(different.len(), labels.len(), "{labels:?}");
    }
}

/// A chart of rates had its last tick at 1 M/s, and lines that went far beyond.
#[test]
fn what_lines_show_lies_between_the_first_and_the_last_tick() {
    let page = Page::open(&page(), "light");
    let charts = page.ask(
        "[...document.querySelectorAll('[data-chart]:is([data-chart=curve], [data-chart=latency], [data-chart=pace], \
         [data-chart=scaling], [data-chart=scales])')].map((figure) => { \
         const places = (what) => [...figure.querySelectorAll(`svg ${what}`)].map((it) => it.getBoundingClientRect()); \
         const ticks = places('[aria-label=\"y-axis tick\"] > *').map((it) => it.top); \
         const dots = places('[aria-label=dot] > circle').map((it) => (it.top + it.bottom) / 2); \
         const lines = places('[aria-label=line] > path').flatMap((it) => [it.top, it.bottom]); \
         return { kind: figure.dataset.chart, ticks: d3.extent(ticks), shown: d3.extent([...dots, ...lines]) }; })",
    );
    let ends = |value: &Value| serde_json::from_value::<[f64; 2]>(value.clone()).unwrap();
    let charts = charts.as_array().unwrap();
    assert!(charts.iter().any(|chart| chart["kind"] == "curve") && charts.len() > 5, "{charts:?}");
    for chart in charts {
        let ([top, bottom], [highest, lowest]) = (ends(&chart["ticks"]), ends(&chart["shown"]));
        // Half of a pixel is what drawing rounds.
        assert!(top <= highest + 0.5 && lowest <= bottom + 0.5, "{chart}");
    }
}

#[test]
fn the_page_of_a_plan_that_was_run_in_part_or_not_at_all_opens_too() {
    for (fixture, said) in
        [(Fixture::empty(), "This case was not run."), (Fixture::one_case(), "what was not in this run.")]
    {
        let page = Page::open(&report::html(&fixture.findings()).unwrap(), "light");
        assert!(page.ask("document.body.textContent").as_str().unwrap().contains(said), "{said}");
        page.assert_no_complaints();
    }
}

#[test]
fn a_narrow_window_scrolls_tables_and_not_the_page() {
    let page = Page::open_in(&page(), "light", 600);
    let [page_px, window_px] =
        ["document.documentElement.scrollWidth", "window.innerWidth"].map(|width| page.ask(width).as_u64());
    assert!(window_px < Some(700) && page_px <= window_px, "{page_px:?} in {window_px:?}");
}

#[test]
fn the_claims_chart_shows_every_pair_and_every_published_figure() {
    let page = Page::open(&page(), "light");
    let drawn = page.ask(
        "[...document.querySelectorAll('[data-chart=claims]')].map((figure) => ({ \
         data: JSON.parse(figure.querySelector('script').textContent).rows, \
         dots: figure.querySelectorAll('svg [aria-label=dot] > *').length, \
         bands: figure.querySelectorAll('svg [aria-label=rect] > *').length }))",
    );
    let length = |value: &Value| value.as_array().unwrap().len();
    let charts = drawn.as_array().unwrap();
    assert_eq!(charts.len(), 4, "the page's and ours of wcdb, the page's of couch and of dflat");
    for chart in charts {
        let rows = chart["data"].as_array().unwrap();
        let diamonds = |row: &Value| usize::from(!row["published"].is_null()) + length(&row["beside"]);
        let dots: usize = rows.iter().map(|row| length(&row["pairs"]) + diamonds(row)).sum();
        let bands: usize = rows.iter().map(|row| 1 + usize::from(!row["size"].is_null())).sum();
        assert_eq!(chart["dots"], dots, "{chart}");
        assert_eq!(chart["bands"], bands, "{chart}");
    }
    // The least step here need not be the one whose figure stands first.
    let mut rows = charts.iter().flat_map(|chart| chart["data"].as_array().unwrap());
    let steps = rows.find(|row| row["statement"].as_str().unwrap().starts_with("Finding")).unwrap();
    assert!(steps["published"].is_null() && length(&steps["beside"]) == 1, "{steps}");
    let most = charts.iter().flat_map(|chart| chart["data"].as_array().unwrap());
    assert_eq!(most.map(|row| length(&row["pairs"])).max(), Some(2), "a claim with two pairs is among them");
    page.assert_no_complaints();
}
