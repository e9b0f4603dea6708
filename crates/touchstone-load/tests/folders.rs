//! What the verbs leave in folders, and that a page is written anew from what lies beside it.

mod made;

use made::{outcome, searched};
use serde::Serialize;
use std::path::Path;
use std::process::{Command, Output};
use touchstone_load::failure::Failure;

fn touchstone_load(arguments: &[&str], within: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone-load"));
    command.args(arguments).current_dir(within).output().expect("it starts")
}

fn write(folder: &Path, name: &str, value: &impl Serialize) {
    std::fs::create_dir_all(folder).expect("there is room");
    let text = serde_json::to_string(value).expect("it is data");
    std::fs::write(folder.join(name), text).expect("there is room");
}

fn page(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("report.html")).expect("the page was written")
}

#[test]
fn a_report_writes_the_page_of_a_folder_and_still_tells() {
    let room = tempfile::tempdir().expect("there is room");
    write(&room.path().join("record"), "outcome.json", &outcome());
    let told = touchstone_load(&["report", "record"], room.path());
    // Stopped by hand, as the outcome says.
    assert_eq!(told.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&told.stdout).contains("INVALID"), "{told:?}");
    assert!(page(&room.path().join("record")).contains("PARTIAL"));
}

/// A run of nothing but failures was told as one that held, where its limits named times alone and where it had none.
#[test]
fn a_run_of_failures_holds_nothing_unless_failures_are_asked_for() {
    let room = tempfile::tempdir().expect("there is room");
    let mut failed = outcome();
    (failed.stopped, failed.doubts) = (None, Vec::new());
    for row in &mut failed.rows {
        row.failures = [(Failure::Status, row.ended())].into();
    }
    for (limits, expected, part) in [
        (None, 1, "NO REQUEST WAS ANSWERED AS IT SHOULD BE"),
        (Some("max < 1h"), 1, "failures < 1% (implied) DOES NOT HOLD (100 %)"),
        (Some("max < 1h, failures < 2%"), 1, "failures < 2% DOES NOT HOLD (100 %)"),
        (Some("max < 1h, failures <= 100%"), 0, "failures <= 100% holds (100 %)"),
    ] {
        failed.scenario.limits = limits.map(str::to_owned);
        write(&room.path().join("record"), "outcome.json", &failed);
        let told = touchstone_load(&["report", "record"], room.path());
        let text = String::from_utf8_lossy(&told.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.status.code() == Some(expected) && text.contains(part), "{limits:?}: {told:?}");
    }
}

#[test]
fn a_sum_has_a_page_of_its_own() {
    let room = tempfile::tempdir().expect("there is room");
    let (mut one, mut other) = (outcome(), outcome());
    (one.shards[0].number, other.shards[0].number) = (1, 3);
    write(&room.path().join("one"), "outcome.json", &one);
    write(&room.path().join("other"), "outcome.json", &other);
    let told = touchstone_load(&["merge", "one", "other", "--out", "both"], room.path());
    let both = room.path().join("both");
    assert!(page(&both).contains("1 of 3 shards of the plan are not in it: 2"), "{told:?}");
    assert!(both.join("outcome.json").exists() && both.join("latencies.hlog").exists());
}

#[test]
fn a_search_is_told_again_with_or_without_an_outcome() {
    let room = tempfile::tempdir().expect("there is room");
    let folder = room.path().join("search");
    write(&folder, "capacity.json", &searched());
    let told = touchstone_load(&["report", "search"], room.path());
    assert_eq!(told.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&told.stdout).starts_with("Capacity: 367"), "{told:?}");
    assert!(!page(&folder).contains("The step that confirmed it"));
    write(&folder, "outcome.json", &outcome());
    touchstone_load(&["report", "search"], room.path());
    assert!(page(&folder).contains("The step that confirmed it"));
}
