//! The whole suite on the page of the suite format, with the claim that stands further down the page: run as a reader
//! would run it, and its claims are such as the page says. Nothing is asserted of its times.

mod support;

use std::fs;
use support::{Judged, folder, plan, root, run_plan};
use touchstone::sample::Outcome;
use touchstone::statistics::LOOKS;
use touchstone::verdict::{ClaimStatus, FlagKind};

/// What the page writes before the claim that follows its whole suite.
const CLAIM: &str = "id = \"uses-the-key\"";

/// The page's snippets in TOML, in order.
fn snippets(page: &str) -> Vec<&str> {
    page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// A case of the page's dataset and arms that needs no key, to stand before the one that gets.
const READ: &str = r#"
[[case]]
id = "read"
title = "Read all rows"
dataset = "rows"
lanes = [{ verb = "read-all", count = 1 }]
blocks = 1
baseline = "rusqlite@wal-normal"
arms = ["rusqlite@wal-normal"]

"#;

/// Both cases have the same records at the start, and a database without a key was once made for both.
#[test]
fn a_case_that_only_reads_leaves_the_next_its_key() {
    let page = fs::read_to_string(root().join("docs/suite-format.md")).unwrap();
    let folder = folder();
    let suite = folder.path().join("example.toml");
    fs::write(&suite, snippets(&page)[0].replacen("[[case]]", &format!("{READ}[[case]]"), 1)).unwrap();
    let (ended, record) = run_plan(folder.path(), &plan(suite.to_str().unwrap(), &[], 1), &[]);
    ended.succeeded();
    let judged = Judged::read(&record);
    assert!(judged.arm("example/read", "rusqlite@wal-normal").plan.concat().contains("SCAN"));
    let plan = &judged.arm("example/get", "rusqlite@wal-normal").plan;
    assert!(plan.concat().contains("SEARCH"), "{plan:?}");
}

#[test]
fn the_pages_example_runs_and_its_claims_are_tested() {
    let page = fs::read_to_string(root().join("docs/suite-format.md")).unwrap();
    let snippets = snippets(&page);
    let claim = snippets.iter().find(|snippet| snippet.contains(CLAIM)).expect("the page has this claim");
    let folder = folder();
    let suite = folder.path().join("example.toml");
    fs::write(&suite, format!("{}\n{claim}", snippets[0])).unwrap();
    let (ended, record) = run_plan(folder.path(), &plan(suite.to_str().unwrap(), &[], LOOKS[0]), &[]);
    ended.succeeded();

    let judged = Judged::read(&record);
    assert_eq!(judged.record.launches.len(), 3 * LOOKS[0], "three arms play every launch");
    for part in &judged.record.launches {
        assert_eq!((part.outcome, &part.error), (Outcome::Completed, &None), "{part:?}");
    }
    let doubts: Vec<_> = judged.judgement.flags.iter().map(|flag| flag.kind).collect();
    assert!(!doubts.contains(&FlagKind::GetsByScanning), "{:?}", judged.judgement.flags);
    let of = |id: &str| judged.judgement.claims.iter().find(|claim| claim.id == id).expect("it is judged");
    let uses_the_key = of("uses-the-key");
    assert_eq!(uses_the_key.status, ClaimStatus::Holds, "{uses_the_key:?}");
    assert_eq!(uses_the_key.pairs[0].tests.len(), 2, "the plan, and no errors: {uses_the_key:?}");
    let rate = &of("wal-is-better").pairs[0].tests[0];
    assert_ne!(rate.status, ClaimStatus::Untested, "{rate:?}");
    let (value, low, high) = (rate.value.unwrap(), rate.low.unwrap(), rate.high.unwrap());
    assert!(0.0 < low && low <= value && value <= high, "{rate:?}");
}
