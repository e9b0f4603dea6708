//! A record that says it is complete and is not is refused by every command that reads it, and is left alone. What an
//! honest run leaves is never refused: the canaries' tests read runs of arms that fail on their way.

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use support::{arms, contents, copy, finish, folder, plan, run_plan, shared_folder, touchstone};
use touchstone::record::file;

const USAGE: i32 = 64;

/// A case of which single operations are timed.
const TIMED: &str = "smoke/get-held";

const ARM: &str = "rusqlite@wal-normal";

/// Two launches of a case whose operations are timed one by one, and of another that commits; run and judged once for all
/// tests.
static RECORD: LazyLock<PathBuf> = LazyLock::new(|| {
    let mut plan = plan("smoke", &["get-held", "write"], 2);
    for case in [TIMED, "smoke/write"] {
        arms(&mut plan, case)
            .retain(|arm| [ARM, "sqlite-c@wal-normal"].contains(&arm["name"].as_str().unwrap()));
    }
    for arm in arms(&mut plan, TIMED) {
        arm["lanes"][0]["count"] = Value::Null;
    }
    let (ended, record) = run_plan(&shared_folder(), &plan, &[]);
    ended.succeeded();
    record
});

fn record(folder: &Path) -> PathBuf {
    let record = folder.join("record");
    copy(&RECORD, &record);
    record
}

/// Keeps those lines of a file of the record that `keep` wants.
fn keep_lines(record: &Path, name: &str, keep: impl Fn(usize, &Value) -> bool) {
    let text = fs::read_to_string(record.join(name)).unwrap();
    let kept = |(number, line): (usize, &str)| {
        keep(number, &serde_json::from_str(line).unwrap()).then(|| format!("{line}\n"))
    };
    let left: String = text.lines().enumerate().filter_map(kept).collect();
    assert_ne!(left, text, "nothing was taken away");
    fs::write(record.join(name), left).unwrap();
}

#[track_caller]
fn assert_damaged(record: &Path, words: &[&str]) {
    let before = contents(record);
    for verb in ["judge", "report"] {
        let ended = finish(touchstone().arg(verb).arg(record));
        ended.refused(USAGE, &[&["damaged record"], words].concat());
    }
    assert!(contents(record) == before, "it is left alone");
}

fn is(line: &Value, case: &str, arm: &str, launch: usize) -> bool {
    line["case"] == case && line["arm"] == arm && line["launch"] == launch
}

#[test]
fn a_record_of_a_whole_run_is_read() {
    finish(touchstone().arg("judge").arg(&*RECORD)).succeeded();
    finish(touchstone().arg("report").arg(&*RECORD)).succeeded();
}

#[test]
fn launches_that_are_missing_are_damage() {
    let folder = folder();
    let record = record(folder.path());
    fs::remove_file(record.join(file::LAUNCHES)).unwrap();
    assert_damaged(&record, &["launches.jsonl", "smoke/write", "complete", "run it again", "partial"]);
    let again = support::folder();
    let record = self::record(again.path());
    keep_lines(&record, file::LAUNCHES, |_, line| !is(line, "smoke/write", ARM, 1));
    assert_damaged(&record, &["launches.jsonl", "smoke/write", ARM, "launch 1"]);
    let again = support::folder();
    let record = self::record(again.path());
    keep_lines(&record, file::LAUNCHES, |_, line| !is(line, "smoke/write", ARM, 0));
    assert_damaged(&record, &["launches.jsonl", "smoke/write", ARM, "launch 0"]);
    let again = support::folder();
    let record = self::record(again.path());
    keep_lines(&record, file::LAUNCHES, |_, line| line["launch"] == 0);
    assert_damaged(&record, &["launches.jsonl", "smoke/write", "launch 1", "after 1 launches"]);
}

#[test]
fn slices_that_are_missing_are_damage() {
    let folder = folder();
    let record = record(folder.path());
    let slow =
        |line: &Value| is(line, "smoke/write", ARM, 1) && line["phase"] == "measure" && line["block"] == 0;
    keep_lines(&record, file::SAMPLES, |_, line| !slow(line));
    assert_damaged(&record, &["samples.jsonl", "smoke/write", ARM, "launch 1", "measured slices"]);
    let again = support::folder();
    let record = self::record(again.path());
    let half = fs::read_to_string(record.join(file::SAMPLES)).unwrap().lines().count() / 2;
    keep_lines(&record, file::SAMPLES, |number, _| number < half);
    assert_damaged(&record, &["samples.jsonl", "measured slices"]);
}

#[test]
fn times_of_single_operations_that_are_missing_are_damage() {
    let name = format!("latency/smoke.get-held.{ARM}.1.u64");
    let folder = folder();
    let record = record(folder.path());
    let times = fs::read(record.join(&name)).unwrap();
    for (left, wanted) in [(13, "13 bytes"), (times.len() / 16 * 8, "operations of"), (0, "0 operations of")]
    {
        fs::write(record.join(&name), &times[..left]).unwrap();
        assert_damaged(&record, &[&name, wanted]);
    }
    fs::remove_file(record.join(&name)).unwrap();
    assert_damaged(&record, &[&name, TIMED, "launch 1", "0 operations of"]);
}

#[test]
fn the_machines_own_noise_is_damage_where_it_is_missing() {
    let folder = folder();
    let record = record(folder.path());
    fs::remove_file(record.join(file::NOISE)).unwrap();
    assert_damaged(&record, &["noise.jsonl", "launch 0", "0 lines for 2 blocks"]);
}

#[test]
fn counts_and_introductions_that_are_missing_are_damage() {
    for (name, word) in [(file::SYNCS, "syncs"), (file::SUBJECTS, "introduce")] {
        let folder = folder();
        let record = record(folder.path());
        fs::remove_file(record.join(name)).unwrap();
        assert_damaged(&record, &[name, word]);
    }
}

/// Replaces a part of a file of the record.
fn edit(record: &Path, name: &str, from: &str, to: &str) {
    let text = fs::read_to_string(record.join(name)).unwrap();
    assert!(text.contains(from), "{name} has no `{from}`: {text}");
    fs::write(record.join(name), text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_verdict_that_its_samples_do_not_give_is_never_reported() {
    for (name, from, to) in [
        (file::VERDICT, "\"verdict\": \"inconclusive\"", "\"verdict\": \"better\""),
        (file::STATISTICS, "\"found\": ", "\"found\": 1"),
    ] {
        let folder = folder();
        let record = record(folder.path());
        edit(&record, name, from, to);
        for how in [&[][..], &["--text"], &["--markdown"], &["--json"]] {
            let ended = finish(touchstone().arg("report").arg(&record).args(how));
            assert_eq!(ended.status, Some(USAGE), "{}", ended.told());
            let words = [name, "not what the record's samples say", "touchstone judge", "edited"];
            assert!(words.iter().all(|word| ended.stderr.contains(word)), "{}", ended.told());
        }
        finish(touchstone().arg("judge").arg(&record)).succeeded();
        finish(touchstone().arg("report").arg(&record)).succeeded();
    }
}

#[test]
fn looks_that_are_not_the_procedures_are_told_on_every_report() {
    let folder = folder();
    let record = record(folder.path());
    let words = ["after 2, are not the procedure's", "8, 12, 16 and 24", "more false verdicts"];
    finish(touchstone().arg("report").arg(&record)).succeeded();
    let page = fs::read_to_string(record.join(file::REPORT)).unwrap();
    let told = ["--text", "--markdown"]
        .map(|how| finish(touchstone().arg("report").arg(&record).arg(how)).succeeded().unwrapped());
    for said in told.iter().chain([&page]) {
        assert!(words.iter().all(|word| said.replace("&#39;", "'").contains(word)), "{said}");
    }
}

#[test]
fn what_is_left_of_a_damaged_record_can_be_judged_as_partial() {
    let folder = folder();
    let record = record(folder.path());
    keep_lines(&record, file::LAUNCHES, |_, line| line["launch"] == 0);
    keep_lines(&record, file::SAMPLES, |_, line| line["launch"] == 0);
    support::call_partial(&record);
    let told = finish(touchstone().arg("judge").arg(&record)).succeeded().unwrapped();
    assert!(told.contains("PARTIAL RECORD") && told.contains("2 of at most 4 launches"), "{told}");
}
