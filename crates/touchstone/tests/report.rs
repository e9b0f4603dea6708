//! The report on a made-up record: the terminal's summary against a golden file, the page's contents and
//! limits.

mod report_fixture;

use expect_test::expect_file;
use report_fixture::Fixture;
use touchstone::report;
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
fn the_table_to_paste_reads_as_agreed() {
    let fixture = Fixture::new();
    let table = report::markdown(&fixture.findings());
    expect_file!["golden/report-markdown.txt"].assert_eq(&table);
    let mut hostile = Fixture::new();
    hostile.judgement.claims[0].statement = "a | <b>\nc".into();
    let table = report::markdown(&hostile.findings());
    assert!(table.contains("| a \\| &lt;b> c |"), "{table}");
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
    for status in ["holds", "refuted", "inconclusive", "untested"] {
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
        .map(|word| word.trim_matches(['(', ')', ',', ';']))
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
