//! What was published: every figure of a page has its source, and every bound follows from a figure, so that none can be
//! fitted to what a machine said.

use xtask::markdown::regions;
use xtask::published::{check, pinned};
use xtask::{Tree, assert_none};

const SOUND: &str = r#"
name = "sound"
title = "t"
source = "s"
device = "d"
[[reference]]
id = "page"
kind = "page"
title = "its table"
[[stand_in]]
library = "One"
subject = "one"
why = "w"
[[stand_in]]
library = "Two"
subject = "two"
why = "w"
[[dataset]]
name = "rows"
record = "row"
records = 10
value_bytes = 10
[[case]]
id = "read"
title = "Read"
dataset = "rows"
lanes = [{ verb = "read-all" }]
baseline = "one@plain"
arms = ["one@plain", "two@plain"]
[[claim]]
id = "reads"
statement = "Two reads more"
figure = [{ source = "page", value = 3.0, against = 1.0, unit = "rows/s" }]
pairs = [{ arm = "two@plain", against = "one@plain" }]
[[claim.test]]
measure = "rate"
case = "read"
rule = "advantage"
"#;

#[test]
fn every_figure_has_a_source_and_every_bound_follows_from_one() {
    let tree = Tree::read();
    let suites: Vec<_> = tree.ending(&[".toml"]).filter(|(path, _)| path.starts_with("suites/")).collect();
    assert!(suites.len() >= 7, "{}", suites.len());
    let findings: Vec<String> = suites.into_iter().flat_map(|(path, text)| check(path, text)).collect();
    assert_none("published figures and bounds", &findings);
}

/// What the suites say of their pages, held against the pages by readers who did not write the suites: devices, places of
/// libraries, words, figures, rules, the contenders that are asked, in their order, and the rows of the pages' tables of loads. A
/// change of any of them is made here as well, with the place of the page that says so.
const PINNED: &str = include_str!("published.txt");

#[test]
fn figures_and_rules_are_those_that_were_read_from_the_pages() {
    let tree = Tree::read();
    let suites = tree.ending(&[".toml"]).filter_map(|(path, text)| {
        Some((path.strip_prefix("suites/")?.strip_suffix(".toml")?.to_owned(), text))
    });
    let found: Vec<String> = suites.flat_map(|(name, text)| pinned(&name, text)).collect();
    let known: Vec<&str> = PINNED.lines().collect();
    let changed = found
        .iter()
        .filter(|line| !known.contains(&line.as_str()))
        .map(|line| format!("not read so: {line}"));
    let gone =
        known.iter().filter(|line| !found.iter().any(|now| now == *line)).map(|line| format!("gone: {line}"));
    assert_none("figures and rules of the pages' claims", &changed.chain(gone).collect::<Vec<String>>());
}

/// A suite that speaks for a page has its claims, and its rows of loads, on the page of what was published.
#[test]
fn every_suite_of_a_page_stands_among_what_was_published() {
    let tree = Tree::read();
    let regions = regions(tree.text("docs/published.md"));
    let suites = tree
        .ending(&[".toml"])
        .filter_map(|(path, text)| Some((path.strip_prefix("suites/")?.strip_suffix(".toml")?, text)));
    let mut findings = Vec::new();
    for (name, text) in suites.filter(|(name, text)| !pinned(name, text).is_empty()) {
        let loads = text.contains("[[published_load]]").then_some("loads");
        for what in ["sources", "claims", "ours"].into_iter().chain(loads) {
            let region = format!("{what} of {name}");
            if !regions.contains(&region) {
                findings.push(format!("docs/published.md has no region `{region}`"));
            }
        }
    }
    assert_none("what was published", &findings);
}

#[test]
fn a_bound_that_is_moved_by_hand_is_found() {
    assert_eq!(check("sound.toml", SOUND), Vec::<String>::new());
    let moved = check("moved.toml", &SOUND.replace("rule = \"advantage\"", "at_least = 1.05"));
    assert!(moved[0].contains("claim `reads`") && moved[0].contains("set by hand"), "{moved:?}");
    let both =
        check("both.toml", &SOUND.replace("rule = \"advantage\"", "rule = \"advantage\"\nat_least = 1.05"));
    assert!(both[0].contains("set by hand"), "{both:?}");
}

#[test]
fn a_figure_without_a_source_is_found() {
    let bare = check("bare.toml", &SOUND.replace("source = \"page\", ", ""));
    assert!(bare[0].contains("the figure 3 has no source"), "{bare:?}");
    let unknown = check("unknown.toml", &SOUND.replace("source = \"page\", ", "source = \"hearsay\", "));
    assert!(unknown[0].contains("`hearsay`"), "{unknown:?}");
}

/// A row of a page's table of loads bears no claim, so nothing else would notice a slip of the pen in it.
const ROW: &str = r#"
[[published_load]]
case = "read"
of = "before"
endpoint = "GET /rows"
requests = 18027
average_ms = 78.14
max_ms = 272.81
"#;

#[test]
fn every_figure_of_a_row_of_loads_is_pinned() {
    let lines = |row: &str| pinned("sound", &format!("{SOUND}{row}"));
    let line = "sound/read before, GET /rows: requests 18027, average_ms 78.14, max_ms 272.81";
    assert_eq!(lines(ROW).last().map(String::as_str), Some(line));
    for (figure, slip) in [("18027", "18072"), ("78.14", "78.41"), ("272.81", "27.81"), ("before", "after")] {
        assert_ne!(lines(&ROW.replace(figure, slip)), lines(ROW), "{figure}");
    }
}
