//! The report on a made-up record: the terminal's summary against a golden file, the page's contents and limits.

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
fn colour_changes_nothing_but_colour() {
    let fixture = Fixture::new();
    let plain = report::terminal(&fixture.findings(), false);
    let coloured = report::terminal(&fixture.findings(), true);
    assert!(!plain.contains('\u{1b}') && coloured.contains('\u{1b}'));
    assert_eq!(without_escapes(&coloured), plain);
}

#[test]
fn the_page_says_what_the_summary_says() {
    let fixture = Fixture::new();
    let page = report::html(&fixture.findings()).unwrap();
    for word in ["better", "worse", "equivalent", "inconclusive", "incomparable", "baseline", "not run"] {
        assert!(page.contains(&format!("</span> {word}</span>")) || page.contains(word), "no {word}");
    }
    for status in ["holds", "refuted", "inconclusive", "untested"] {
        assert!(page.contains(&format!("<span class=\"status {status}\">")), "no claim is {status}");
    }
    for figure in ["1.280", "1.267–1.294", "96.2 k/s", "40,160", "asked for 268,435,456", "Partial record"]
    {
        assert!(page.contains(figure), "the page lacks {figure}");
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
        assert!(!page.contains("@import") && !page.contains("url("));
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
