//! The report in a real browser: it draws every chart, sorts its tables, complains of nothing and loads
//! nothing.
//!
//! Needs Chromium, at `/usr/bin/chromium` or where `$CHROMIUM` says. Without one the tests fail and say so: a
//! page that nobody has opened is not tested.

mod report_fixture;

use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Emulation, Network};
use headless_chrome::{Browser, LaunchOptions, Tab};
use report_fixture::Fixture;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone::report;

const PAGE_BYTES_MAX: u64 = 2_000_000;

/// The page in a browser of its own.
struct Page {
    tab: Arc<Tab>,
    /// Console messages, exceptions, and requests that leave the file.
    complaints: Arc<Mutex<Vec<String>>>,
    _browser: Browser,
    _folder: tempfile::TempDir,
}

impl Page {
    fn open(html: &str, scheme: &str) -> Page {
        Page::open_in(html, scheme, 1180)
    }

    fn open_in(html: &str, scheme: &str, width_px: u32) -> Page {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        std::fs::write(&path, html).unwrap();
        assert!(path.metadata().unwrap().len() < PAGE_BYTES_MAX);
        let browser = launch(width_px);
        let tab = browser.new_tab().unwrap();
        tab.set_default_timeout(Duration::from_secs(30));
        let complaints = listen(&tab);
        prefer(&tab, scheme);
        tab.navigate_to(&format!("file://{}", path.display())).unwrap().wait_until_navigated().unwrap();
        Page { tab, complaints, _browser: browser, _folder: folder }
    }

    /// What an expression yields, as JSON.
    fn ask(&self, expression: &str) -> Value {
        let asked = self.tab.evaluate(&format!("JSON.stringify({expression})"), false).unwrap();
        let text = asked.value.as_ref().and_then(Value::as_str);
        serde_json::from_str(text.unwrap_or_else(|| panic!("{expression} yields {asked:?}"))).unwrap()
    }

    fn assert_no_complaints(&self) {
        let complaints = self.complaints.lock().unwrap();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}

fn chromium() -> PathBuf {
    let path = std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("/usr/bin/chromium"), PathBuf::from);
    assert!(
        path.exists(),
        "{}: there is no Chromium to open the report with; install one (`apt-get install chromium`) or name \
         one in $CHROMIUM",
        path.display()
    );
    path
}

fn launch(width_px: u32) -> Browser {
    let arguments = [
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ];
    let options = LaunchOptions::default_builder()
        .path(Some(chromium()))
        .headless(true)
        .sandbox(false)
        .window_size(Some((width_px, 900)))
        .args(arguments.map(OsStr::new).to_vec())
        .build()
        .unwrap();
    Browser::new(options).expect("Chromium starts")
}

fn listen(tab: &Arc<Tab>) -> Arc<Mutex<Vec<String>>> {
    let complaints = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&complaints);
    let listener = move |event: &Event| {
        let complaint = match event {
            Event::LogEntryAdded(entry) => Some(format!("log: {}", entry.params.entry.text)),
            Event::RuntimeExceptionThrown(thrown) => {
                Some(format!("exception: {:?}", thrown.params.exception_details))
            }
            Event::RuntimeConsoleAPICalled(called) => Some(format!("console: {:?}", called.params.args)),
            Event::NetworkRequestWillBeSent(sent) => Some(sent.params.request.url.clone())
                .filter(|url| !url.starts_with("file:") && !url.starts_with("data:"))
                .map(|url| format!("request: {url}")),
            _ => None,
        };
        heard.lock().unwrap().extend(complaint);
    };
    tab.add_event_listener(Arc::new(listener)).unwrap();
    tab.enable_log().unwrap();
    tab.enable_runtime().unwrap();
    let network = Network::Enable {
        max_total_buffer_size: None,
        max_resource_buffer_size: None,
        max_post_data_size: None,
        report_direct_socket_traffic: None,
        enable_durable_messages: None,
    };
    tab.call_method(network).unwrap();
    complaints
}

fn prefer(tab: &Tab, scheme: &str) {
    let feature = Emulation::MediaFeature { name: "prefers-color-scheme".into(), value: scheme.into() };
    tab.call_method(Emulation::SetEmulatedMedia { media: None, features: Some(vec![feature]) }).unwrap();
}

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
        for kind in ["claims", "forest", "launches", "latency", "stalls", "scaling", "scales"] {
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
