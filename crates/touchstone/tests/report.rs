//! The report on a made-up record: the terminal's summary against a golden file, the page's contents and
//! limits.

mod report_fixture;

use expect_test::expect_file;
use report_fixture::Fixture;
use touchstone::plan::{Overridden, PlannedLoad};
use touchstone::report::{self, Style};
use touchstone::suite::Scenario;
use unicode_width::UnicodeWidthStr;

/// A page must travel by mail.
const PAGE_BYTES_MAX: usize = 2_000_000;

#[test]
fn the_summary_reads_as_agreed_and_fits_100_columns() {
    let summary = report::terminal(&Fixture::new().findings(), false);
    assert_fits(&summary);
    expect_file!["golden/report.txt"].assert_eq(&summary);
}

#[test]
fn the_summary_of_a_plan_that_was_not_run_says_so() {
    let summary = report::terminal(&Fixture::empty().findings(), false);
    assert_fits(&summary);
    expect_file!["golden/report-empty.txt"].assert_eq(&summary);
}

#[test]
fn what_a_run_found_is_told_in_short() {
    let plain = |width| Style { colour: false, width };
    let fixture = Fixture::new();
    let summary = report::summary(&fixture.findings(), plain(100));
    assert_fits(&summary);
    expect_file!["golden/summary.txt"].assert_eq(&summary);
    let full = report::terminal(&fixture.findings(), false);
    assert!(summary.lines().count() * 3 < full.lines().count() * 2, "it is shorter by a third at least");
    let summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["for WCDB", "red flag: contended machine", "PARTIAL RECORD", "not run"] {
        assert!(summary.contains(said), "{said}: {summary}");
    }
    let empty = report::summary(&Fixture::empty().findings(), plain(100));
    assert!(empty.contains("not run"), "{empty}");
}

#[test]
fn a_claim_says_that_a_number_of_its_case_was_set_otherwise() {
    let mut fixture = Fixture::new();
    let case = fixture.record.plan.cases.iter_mut().find(|case| case.id == "couch/get").unwrap();
    case.overridden = vec![Overridden { number: "blocks".into(), here: 40, suite: None }];
    let said = "set otherwise than the suite does: blocks 40 (its suite: left open) in get";
    let findings = fixture.findings();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let claims = findings.judgement.claims.iter().filter(|claim| claim.suite == "couch").count();
    for text in [
        report::terminal(&findings, false),
        report::markdown(&findings, &[]).unwrap(),
        report::html(&findings).unwrap(),
    ] {
        let found = words(&text).matches(said).count();
        assert_eq!(found, claims, "each claim about it, and no other");
    }
}

#[test]
fn a_narrow_terminal_breaks_no_line_itself_and_keeps_every_verdict() {
    let fixture = Fixture::new();
    let findings = fixture.findings();
    for width in [30, 37, 40, 50, 59, 60, 80, 99] {
        let style = Style { colour: false, width };
        let full = report::full_text(&findings, style);
        for text in [&full, &report::summary(&findings, style)] {
            let wide = text.lines().find(|line| line.width() > width);
            assert_eq!(wide, None, "{width} columns");
        }
        let worse = full
            .lines()
            .filter(|line| line.trim_end().ends_with("worse") || line.contains(" worse "))
            .count();
        assert!(worse >= 8, "{width} columns: {full}");
    }
    let narrow = report::full_text(&findings, Style { colour: false, width: 40 });
    expect_file!["golden/report-40-columns.txt"].assert_eq(&narrow);
}

#[test]
fn the_table_to_paste_reads_as_agreed() {
    let fixture = Fixture::new();
    let table = report::markdown(&fixture.findings(), &[]).unwrap();
    expect_file!["golden/report-markdown.txt"].assert_eq(&table);
    let mut hostile = Fixture::new();
    hostile.judgement.claims[0].statement = "a | <b>\nc".into();
    let table = report::markdown(&hostile.findings(), &[]).unwrap();
    assert!(table.contains("| a \\| &lt;b> c |"), "{table}");
}

#[test]
fn only_the_chosen_claims_are_pasted_and_an_unknown_one_is_refused() {
    let fixture = Fixture::new();
    let chosen = ["wcdb/write", "wcdb/batch-beats-one-by-one", "couch/wal-doubles"].map(str::to_owned);
    let table = report::markdown(&fixture.findings(), &chosen).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, 3, "{table}");
    assert!(table.contains("Here stand 3 of the 17 claims."), "{table}");
    assert!(table.contains("28 % better") && table.contains("an order of magnitude"), "{table}");
    let page_only = report::markdown(&fixture.findings(), &chosen[..1]).unwrap();
    assert!(!page_only.contains("Claims of ours:"), "{page_only}");
    let unknown = ["wcdb/write", "wcdb/right"].map(str::to_owned);
    let error = report::markdown(&fixture.findings(), &unknown).unwrap_err().to_string();
    for said in ["`wcdb/right`", "wcdb/write, ", "dflat/find-scales"] {
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn the_claims_of_the_page_stand_before_ours_and_apart_everywhere() {
    let fixture = Fixture::new();
    let first_and_ours = |text: &str, page: &str, ours: &str| {
        let at = |wanted: &str| text.find(wanted).unwrap_or_else(|| panic!("{wanted} is not there: {text}"));
        (at(page), at("28 % better"), at(ours), at("A batch beats one by one"))
    };
    let summary = report::terminal(&fixture.findings(), false);
    let page = report::html(&fixture.findings()).unwrap();
    let table = report::markdown(&fixture.findings(), &[]).unwrap();
    for (page, claim, ours, own) in [
        first_and_ours(&summary, "9 claims of the page: ", "2 claims of ours: "),
        first_and_ours(&page, "<h4>Claims of the page</h4>", "<h4>Claims of ours</h4>"),
        first_and_ours(&table, "Claims of the page:", "Claims of ours:"),
    ] {
        assert!(page < claim && claim < ours && ours < own);
    }
}

#[test]
fn who_would_have_decided_is_named_everywhere() {
    let mut fixture = Fixture::new();
    fixture.judgement.claims[0].absent = vec!["fmdb@wal-normal".into()];
    let said = "fmdb@wal-normal was not in this run, so another pair decides";
    let summary = report::terminal(&fixture.findings(), false);
    assert_fits(&summary);
    assert!(summary.contains(said), "{summary}");
    assert!(report::html(&fixture.findings()).unwrap().contains(said));
    assert!(report::markdown(&fixture.findings(), &[]).unwrap().contains(said));
}

/// The page told of services that their latencies were from a pass in which the clock is read after each operation.
#[test]
fn latencies_of_services_are_said_to_be_of_their_windows() {
    let mut fixture = Fixture::new();
    let page = |fixture: &Fixture| flowing(&report::html(&fixture.findings()).unwrap());
    let (of_a_pass, of_windows) =
        ("a pass in which the clock is read", "the windows of load that rates are of");
    assert!(page(&fixture).contains(of_a_pass) && !page(&fixture).contains(of_windows));
    let axes = [r#""time":"time from answer to answer""#, r#""time":"response time of one request""#];
    let names = |fixture: &Fixture| axes.map(|axis| page(fixture).contains(axis));
    assert_eq!(names(&fixture), [false, false]);
    for case in &mut fixture.record.plan.cases {
        let scenario = Scenario { name: "s".into(), asks: serde_json::Map::new() };
        case.load = Some(PlannedLoad { scenario, users: 2, window_ms: 100, warm_ms: 100 });
    }
    assert!(!page(&fixture).contains(of_a_pass) && page(&fixture).contains(of_windows));
    assert_eq!(names(&fixture), [true, true]);
}

#[test]
fn a_difference_in_the_right_direction_is_told_from_its_size() {
    let fixture = Fixture::new();
    let summary = report::terminal(&fixture.findings(), false);
    let batch = claim_of(&summary, "Inserting a batch, WCDB is far better (180 %)");
    assert!(batch.starts_with("  holds "), "{batch}");
    assert!(batch.contains("size: at least 1.922×: refuted"), "{batch}");
    assert!(batch.contains("also diesel@wal-normal, 0.596× (0.579–0.607): refuted, size refuted"), "{batch}");
    assert!(
        flowing(&summary).contains("of 5 published sizes 3 are found, 1 is not found and 1 is untested"),
        "{summary}"
    );
}

#[test]
fn what_bears_on_a_claim_stands_beside_it() {
    let fixture = Fixture::new();
    let summary = report::terminal(&fixture.findings(), false);
    let page = flowing(&report::html(&fixture.findings()).unwrap());
    let table = report::markdown(&fixture.findings(), &[]).unwrap();
    for (statement, beside) in [
        ("Two writers: FMDB loses", "red flag: contended machine (wcdb/write-write)"),
        ("A tree of its own inserts", "classes differ: redb@immediate is strict"),
        (
            "Commits that reach the disk lower the rate of writes",
            "the difference is greater here than published",
        ),
        (
            "Reading everything, WCDB",
            "rusqlite@wal-normal for WCDB, against rusqlite-plain@wal-normal for FMDB",
        ),
        ("Reading everything, WCDB", "an iMac of 2013, 2,000,000 rows: 0.916×"),
        ("Commits that reach the disk lower the rate of damaged", "nothing here cuts the power"),
        ("In WAL about 70,000", "a 2013 MacBook Air: 70,000 fetches/s"),
    ] {
        assert!(claim_of(&summary, statement).contains(beside), "the summary: {statement}: {beside}");
        let row = table.lines().find(|line| line.contains(statement)).unwrap();
        assert!(row.contains(beside), "the table: {row}");
    }
    for said in [
        "some task waited for a processor 62 % of the time",
        "the simplest wrapping: a statement is prepared for every call",
        "959,317 against 376,148 rows/s (2.55×)",
        "raw data: the results beside the page",
        "not on the page",
    ] {
        assert!(page.contains(said), "the page lacks {said}");
    }
}

#[test]
fn a_run_of_one_case_lists_what_it_touches_and_counts_the_rest() {
    let fixture = Fixture::one_case();
    let summary = report::terminal(&fixture.findings(), false);
    assert!(summary.contains("1 claim of the page: 1 holds; the one published size is found;"), "{summary}");
    assert!(!summary.contains("Inserting"), "{summary}");
    let others = "All 4 claims of this suite are about what was not in this run.";
    let left_out = "10 more claims of this suite are about what was not in this run.";
    let page = report::html(&fixture.findings()).unwrap();
    let table = report::markdown(&fixture.findings(), &[]).unwrap();
    for (name, text) in [("summary", &summary), ("page", &page), ("table", &table)] {
        assert!(text.contains(left_out) && text.contains(others), "the {name}: {text}");
    }
}

/// Everything the summary says of a claim, in one line.
fn claim_of(summary: &str, statement: &str) -> String {
    let mut lines = summary.lines().skip_while(|line| !line.contains(statement));
    let first = lines.next().unwrap_or_else(|| panic!("{statement} is not in {summary}"));
    let rest = lines.take_while(|line| line.starts_with("                "));
    let rest: Vec<&str> = rest.map(str::trim).collect();
    format!("{first} {}", rest.join(" "))
}

/// A page's text without its line ends.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn colour_changes_nothing_but_colour() {
    let fixture = Fixture::new();
    let plain = report::terminal(&fixture.findings(), false);
    let coloured = report::terminal(&fixture.findings(), true);
    assert!(!plain.contains('\u{1b}') && coloured.contains('\u{1b}'));
    assert_eq!(without_escapes(&coloured), plain);
}

#[test]
fn every_verdict_and_every_status_is_shown() {
    let fixture = Fixture::new();
    let summary = report::terminal(&fixture.findings(), false);
    let page = report::html(&fixture.findings()).unwrap();
    for verdict in ["better", "worse", "equivalent", "inconclusive", "incomparable", "baseline"] {
        assert!(summary.contains(verdict), "the summary has no {verdict}");
        assert!(page.contains(&format!("<span class=\"verdict {verdict}\">")), "the page has no {verdict}");
    }
    for status in ["holds", "refuted", "inconclusive", "untested", "elsewhere"] {
        assert!(summary.contains(&format!("  {status}")), "no claim of the summary is {status}");
        assert!(
            page.contains(&format!("<span class=\"status {status}\">")),
            "no claim of the page is {status}"
        );
    }
    for found in
        ["40,160", "asked for 268,435,456", "Partial record", "624 busy", "canary-hung@plain timed out"]
    {
        assert!(page.contains(found), "the page lacks {found}");
    }
}

#[test]
fn every_interval_of_the_summary_stands_on_the_page() {
    let fixture = Fixture::new();
    let page = report::html(&fixture.findings()).unwrap();
    let summary = report::terminal(&fixture.findings(), false);
    let intervals: Vec<&str> = summary
        .split_whitespace()
        .map(|word| word.trim_matches(['(', ')', ',', ';', ':']))
        .filter(|word| word.contains('–') && word.len() > "–".len())
        .collect();
    assert!(intervals.len() > 30, "{intervals:?}");
    for interval in intervals {
        assert!(page.contains(interval), "the page lacks {interval}");
    }
}

#[test]
fn the_page_is_one_file_that_loads_nothing_and_is_small_enough() {
    for fixture in [Fixture::new(), Fixture::empty()] {
        let page = report::html(&fixture.findings()).unwrap();
        assert!(page.len() < PAGE_BYTES_MAX, "{} bytes", page.len());
        for attribute in ["src=", "href="] {
            for (place, _) in page.match_indices(attribute) {
                let value = &page[place + attribute.len()..][..12];
                let inside = ["\"#", "\"data:"].iter().any(|start| value.starts_with(start));
                assert!(inside || !value.starts_with('"'), "{attribute}{value} leads out of the page");
            }
        }
        let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
        assert!(!style.contains("@import") && !style.contains("url("));
    }
}

#[test]
fn names_from_outside_cannot_break_out_of_the_page() {
    let mut fixture = Fixture::new();
    let hostile = "</script><script>alert(1)</script><!--";
    for claim in &mut fixture.judgement.claims {
        claim.statement = hostile.into();
    }
    fixture.record.manifest.reason = Some(hostile.into());
    let page = report::html(&fixture.findings()).unwrap();
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("<!--"));
}

/// Backticks and stars of notes stood in the page as they are typed.
#[test]
fn code_and_strong_words_are_set_as_such_on_the_page() {
    let mut fixture = Fixture::new();
    let marked = "**never** `pool = <0>`";
    for claim in &mut fixture.judgement.claims {
        claim.statement = marked.into();
        claim.words = Some(marked.into());
        claim.reason = claim.reason.as_ref().map(|_| marked.into());
        for pair in &mut claim.pairs {
            pair.flags.iter_mut().for_each(|flag| flag.evidence = marked.into());
            pair.tests.iter_mut().for_each(|test| test.note = Some(marked.into()));
        }
    }
    fixture.judgement.flags.iter_mut().for_each(|flag| flag.evidence = marked.into());
    fixture.judgement.comparisons.iter_mut().for_each(|known| known.reasons = vec![marked.into()]);
    let page = report::html(&fixture.findings()).unwrap();
    let set = "<strong>never</strong> <code>pool = &#60;0&#62;</code>";
    let asked = fixture.judgement.claims.len() + fixture.judgement.flags.len();
    assert!(page.matches(set).count() > asked, "claims, flags and cases say it");
    assert!(
        page.contains("\"statement\":\"never pool = \\u003c0>\""),
        "a chart names no claim, or with marks"
    );
    // What is left without the scripts and their data.
    let shown = page.split("<script").map(|part| part.split_once("</script>").map_or(part, |(_, rest)| rest));
    let typed = shown.filter(|part| part.contains("**never") || part.contains("`pool"));
    assert_eq!(typed.collect::<Vec<_>>(), [""; 0]);
}

fn assert_fits(summary: &str) {
    for line in summary.lines() {
        assert!(line.width() <= 100, "{} columns: {line}", line.width());
    }
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// A page's table stands as it is printed, with its doubts and what was measured here; where the case was not run, that is said.
#[test]
fn the_tables_of_a_page_stand_beside_what_was_found_with_their_doubts() {
    let fixture = Fixture::new();
    let found = fixture.statistics.iter().find(|case| case.case == "couch/get").unwrap();
    assert!(found.arm("rusqlite@delete-full").unwrap().operation_ns.is_some());
    let (html, markdown) =
        (report::html(&fixture.findings()).unwrap(), report::markdown(&fixture.findings(), &[]).unwrap());
    for text in [&html, &markdown] {
        for said in
            ["1 page", "250,000/s", "976.56 MiB/s", "average of 0: 0 ms, where 250,000/s leave 0.0040 ms"]
        {
            let said =
                if std::ptr::eq(text, &html) { said.replace("average of 0: ", "") } else { said.into() };
            assert!(text.contains(&said), "{said}");
        }
        assert!(text.contains("rusqlite@delete-full in get"));
        assert!(!text.contains("beyond memory"), "9.5 GiB/s are copied here");
    }
    let unrun = report::markdown(&Fixture::empty().findings(), &[]).unwrap();
    let row = unrun.lines().find(|line| line.starts_with("| 1 page |")).unwrap();
    assert!(row.contains("| – |") || row.contains("not in this run"), "{row}");
    let mut narrow = Fixture::new();
    narrow.record.ceilings[0].copies_per_second = Some(200_000.0);
    let markdown = report::markdown(&narrow.findings(), &[]).unwrap();
    assert!(
        markdown.contains("beyond memory: 976.56 MiB/s, where this machine copies 781 MiB/s"),
        "{markdown}"
    );
}

/// A limit is what this run's record has of the machine, and none is drawn where it has none.
#[test]
fn limits_are_those_of_the_record() {
    let mut fixture = Fixture::new();
    let html = report::html(&fixture.findings()).unwrap();
    assert_eq!(
        html.matches("data-chart=\"limits\"").count(),
        1,
        "one case says how many bytes an operation has"
    );
    assert!(html.contains("\"name\":\"memory copies\",\"per_second\":2500000"), "no line of memory copies");
    assert!(html.contains("\"name\":\"device\",\"per_second\":12000"), "no line of the device");
    fixture.record.ceilings.clear();
    let html = report::html(&fixture.findings()).unwrap();
    assert!(!html.contains("data-chart=\"limits\""), "a limit from nowhere");
}
