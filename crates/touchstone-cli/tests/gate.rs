//! A gate's five answers and their exit statuses, on real drivers. Times decide only where one side takes twice as
//! long; everything finer is the statistics' own tests.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::{Ended, Judged, finish, folder, root, run, touchstone};
use touchstone::sample::Outcome;
use touchstone::verdict::{Count, FlagKind, Gate, GateStatus, Verdict};

const BASELINE: &str = "rusqlite@wal-normal";

/// A gate that ran: what it said, and its record.
struct Decided {
    status: i32,
    gate: Gate,
    judged: Judged,
    ended: Ended,
}

/// Runs a gate with `--json` over one case.
#[track_caller]
fn gate(folder: &Path, case: &str, baseline: &str, more: &[&str]) -> Decided {
    let record = folder.join("record");
    let mut command = touchstone();
    command
        .args(["--json", "gate", "--case", case, "--baseline", baseline])
        .args(more)
        .arg("--out")
        .arg(&record);
    let ended = finish(&mut command);
    ended.assert_calm();
    assert!(ended.status.is_some_and(|status| (0..=4).contains(&status)), "{}", ended.told());
    let gate: Gate = serde_json::from_value(ended.json()).expect("it is a gate");
    let status = ended.status.unwrap();
    let said = ["pass", "worse", "inconclusive", "untrusted", "incomparable"][status as usize];
    assert_eq!(gate.status.to_string(), said, "{}", ended.told());
    Decided { status, gate, judged: Judged::read(&record), ended }
}

/// The driver as it was built, under another name.
fn copied_driver(folder: &Path) -> PathBuf {
    let copy = folder.join("candidate");
    fs::copy(root().join("kits/rust/target/release/rusqlite"), &copy).expect("a gate before built it");
    copy
}

/// A program that is a script of the shell.
fn script(folder: &Path, text: &str) -> PathBuf {
    let program = folder.join("candidate");
    fs::write(&program, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn identical_contenders_are_never_worse() {
    let folder = folder();
    let decided = gate(folder.path(), "smoke/get", BASELINE, &["--candidate", BASELINE, "--margin", "0.5"]);
    assert_ne!(decided.gate.status, GateStatus::Worse, "{}", decided.ended.told());
    assert_ne!(decided.gate.status, GateStatus::Incomparable, "{}", decided.ended.told());
    assert_eq!(decided.gate.counts, []);
    assert!(decided.gate.same_program, "and they are told to be");
    let arms: Vec<&str> =
        decided.judged.statistics.cases[0].arms.iter().map(|arm| arm.arm.as_str()).collect();
    assert_eq!(arms, [BASELINE, "rusqlite@wal-normal#candidate", "rusqlite@wal-normal#null"]);
}

#[test]
fn a_candidate_that_takes_twice_as_long_is_worse_and_the_other_way_round_passes() {
    // Locking files for every read, as without a log, takes about as long again as the read itself.
    let locking = "rusqlite@delete-full";
    for (baseline, candidate, status, verdict) in
        [(BASELINE, locking, 1, Verdict::Worse), (locking, BASELINE, 0, Verdict::Better)]
    {
        let decided = trusted_gate("smoke/get", baseline, candidate);
        let comparison = &decided.gate.comparisons[0];
        if [2, 3].contains(&decided.status) {
            // This machine, now, cannot tell, or tells identical arms apart; then to say so is the right answer.
            let reasons = comparison.reasons.join("\n");
            let said = ["null arm", "resemble their neighbours"].iter().any(|why| reasons.contains(why));
            assert!(said, "{}", decided.ended.told());
            continue;
        }
        assert_eq!((decided.status, comparison.verdict), (status, verdict), "{}", decided.ended.told());
        assert!(comparison.launches >= 8, "{comparison:?}");
    }
}

/// As often as it takes on a busy machine, within reason, until the null arm stands still.
fn trusted_gate(case: &str, baseline: &str, candidate: &str) -> Decided {
    let decide = |seed: u32| {
        let folder = folder();
        let more = ["--candidate", candidate, "--margin", "0.3", "--seed", &seed.to_string()];
        gate(folder.path(), case, baseline, &more)
    };
    let mut decided = decide(1);
    for seed in 2..=5 {
        if [2, 3].contains(&decided.status) {
            decided = decide(seed);
        }
    }
    decided
}

#[test]
fn a_setting_that_was_not_kept_is_incomparable_and_named() {
    let folder = folder();
    let candidate = ["--candidate", "canary-forgetful@wal-full"];
    let decided = gate(folder.path(), "smoke/get", "rusqlite@wal-full", &candidate);
    assert_eq!(decided.status, 4, "{}", decided.ended.told());
    let reasons = decided.gate.comparisons[0].reasons.join("\n");
    assert!(reasons.contains("synchronous was asked for as full, normal took effect"), "{reasons}");
}

#[test]
fn a_candidate_that_crashes_is_incomparable_and_no_failure_of_the_gate() {
    let folder = folder();
    let program = script(folder.path(), "echo 'the widget is upside down' >&2\nexit 3\n");
    let candidate = ["--candidate-program", program.to_str().unwrap()];
    let decided = gate(folder.path(), "smoke/get", BASELINE, &candidate);
    assert_eq!(decided.status, 4, "{}", decided.ended.told());
    let part = decided.judged.launches("smoke/get", "rusqlite@wal-normal#candidate")[0];
    assert_eq!(part.outcome, Outcome::Crashed, "{part:?}");
    let reasons = decided.gate.comparisons[0].reasons.join("\n");
    assert!(reasons.contains("exit status 3, last saying: the widget is upside down"), "{reasons}");
    assert!(!decided.gate.same_program, "of what never said who it is nothing is known");
}

#[test]
fn another_build_of_a_driver_can_be_the_candidate() {
    let (first, second) = (folder(), folder());
    // The first gate has the driver built, so that there is one to copy.
    gate(first.path(), "smoke/get-held", BASELINE, &["--candidate", "rusqlite@wal-full", "--margin", "0.9"]);
    let program = copied_driver(second.path());
    let candidate = ["--candidate-program", program.to_str().unwrap(), "--margin", "0.5"];
    let decided = gate(second.path(), "smoke/get", BASELINE, &candidate);
    assert_ne!(decided.gate.status, GateStatus::Worse, "it is the same program: {}", decided.ended.told());
    assert_ne!(decided.gate.status, GateStatus::Incomparable, "{}", decided.ended.told());
    let arms = &decided.judged.record.plan.cases[0].arms;
    let programs: Vec<Option<&str>> = arms.iter().map(|arm| arm.program.as_deref()).collect();
    assert_eq!(programs, [None, Some(program.canonicalize().unwrap().to_str().unwrap()), None]);
    let checksums: Vec<&str> =
        decided.judged.record.subjects.iter().map(|met| met.program_crc32.as_str()).collect();
    assert!(checksums.windows(2).all(|pair| pair[0] == pair[1]), "a copy is told to be one: {checksums:?}");
    assert!(decided.gate.same_program, "{}", decided.ended.told());
}

/// The script of the page that lets each launch start another link of a driver.
fn script_of_links() -> String {
    let page = fs::read_to_string(root().join("docs/commands.md")).unwrap();
    let (_, script) = page.split_once("```text\n#!/bin/sh\n").expect("the page has the script");
    script.split_once("```").expect("it has an end").0.to_owned()
}

#[test]
fn the_script_of_the_page_starts_other_links() {
    let (first, second) = (folder(), folder());
    gate(first.path(), "smoke/get-held", BASELINE, &["--candidate", "rusqlite@wal-full", "--margin", "0.9"]);
    let driver = copied_driver(second.path());
    fs::rename(&driver, second.path().join("driver")).unwrap();
    let link = "echo >> \"$0.starts\"\nexec \"${0%/*}/driver\"\n";
    let links: Vec<PathBuf> = (1..=24).map(|number| second.path().join(format!("link-{number}"))).collect();
    for place in &links {
        fs::rename(script(second.path(), link), place).unwrap();
    }
    let program = script(second.path(), &script_of_links());
    let sides = ["--candidate-program", program.to_str().unwrap(), "--margin", "0.5"];
    let decided = gate(second.path(), "smoke/get", BASELINE, &sides);
    assert_ne!(decided.gate.status, GateStatus::Incomparable, "{}", decided.ended.told());
    assert!(decided.ended.told().contains("runs its program where it lies"), "a script is not copied");
    let started = links.iter().filter(|link| link.with_extension("starts").exists()).count();
    assert!(started > 4, "{started} of 24 links were started");
}

#[test]
fn a_margin_finer_than_the_noise_lets_nothing_be_said_because_the_null_arm_lies_beyond_it() {
    let folder = folder();
    let candidate = ["--candidate", "rusqlite@delete-full", "--margin", "0.0000001"];
    let decided = gate(folder.path(), "smoke/get", BASELINE, &candidate);
    // Untrusted only where that is beyond chance.
    assert!([2, 3].contains(&decided.status), "{}", decided.ended.told());
    let comparison = &decided.gate.comparisons[0];
    assert!(matches!(comparison.verdict, Verdict::Inconclusive | Verdict::Untrusted), "{comparison:?}");
    let reasons = comparison.reasons.join("\n");
    assert!(reasons.contains("the null arm, which is the baseline once more, moved by"), "{reasons}");
}

#[test]
fn a_sync_more_for_each_commit_is_worse_however_little_time_it_takes() {
    let folder = folder();
    // In memory a sync takes no time at all, so that only its count can tell.
    let more = ["--candidate", "rusqlite@wal-full", "--margin", "0.99", "--scratch", "/dev/shm"];
    let decided = gate(folder.path(), "smoke/write", BASELINE, &more);
    assert_eq!(decided.status, 1, "{}", decided.ended.told());
    assert_ne!(
        decided.gate.comparisons[0].verdict,
        Verdict::Worse,
        "its time is not: {}",
        decided.ended.told()
    );
    let grown: Vec<_> = decided.gate.counts.iter().filter(|count| count.candidate > count.baseline).collect();
    assert_eq!(grown.len(), 2, "{:?}", decided.gate.counts);
    assert_eq!((grown[0].what, grown[0].baseline, grown[0].candidate), (Count::SyncsPerCommit, 0, 1));
    assert_eq!(grown[1].what, Count::AllSyncs);
}

#[test]
fn a_sync_less_for_each_commit_never_passes() {
    let folder = folder();
    let less = ["--candidate", BASELINE, "--margin", "0.99", "--scratch", "/dev/shm"];
    let decided = gate(folder.path(), "smoke/write", "rusqlite@wal-full", &less);
    assert_eq!(decided.status, 4, "{}", decided.ended.told());
    let shrunk = decided.gate.counts.iter().find(|count| count.what == Count::SyncsPerCommit).unwrap();
    assert_eq!((shrunk.baseline, shrunk.candidate), (1, 0));
}

#[test]
fn answers_that_are_not_the_engines_never_pass_and_the_flag_is_told() {
    let folder = folder();
    let memo = ["--candidate", "canary-liar@memo"];
    let decided = gate(folder.path(), "liars/memo", "canary-liar@honest", &memo);
    assert_eq!(decided.status, 4, "{}", decided.ended.told());
    let reasons = decided.gate.comparisons[0].reasons.join("\n");
    assert!(reasons.contains("canary-liar@memo is flagged, engine did nothing"), "{reasons}");
    let idle = |flag: &&touchstone::verdict::Flag| flag.kind == FlagKind::EngineIdle;
    let told: Vec<&str> = decided.gate.flags.iter().filter(idle).map(|flag| flag.arm.as_str()).collect();
    assert_eq!(told, ["canary-liar@memo"]);
}

#[test]
fn a_weaker_class_is_another_promise_however_few_syncs_the_median_commit_has() {
    let folder = folder();
    let off = ["--candidate", "rusqlite@wal-off", "--margin", "0.99", "--scratch", "/dev/shm"];
    let decided = gate(folder.path(), "smoke/write", BASELINE, &off);
    assert_eq!(decided.status, 4, "{}", decided.ended.told());
    let reasons = decided.gate.comparisons[0].reasons.join("\n");
    for wanted in ["its class is process, and that of rusqlite@wal-normal is consistent", "over all commits"]
    {
        assert!(reasons.contains(wanted), "it must say `{wanted}`: {reasons}");
    }
    let fewer: Vec<_> = decided.gate.counts.iter().map(|count| (count.what, count.candidate)).collect();
    assert_eq!(fewer, [(Count::AllSyncs, 0)]);
}

#[test]
fn a_candidate_that_ends_when_it_is_recorded_never_passes() {
    let folder = folder();
    let more = ["--candidate", "rusqlite@wal-full", "--margin", "0.9"];
    gate(folder.path(), "smoke/get-held", BASELINE, &more);
    let driver = copied_driver(folder.path());
    fs::rename(&driver, folder.path().join("driver")).unwrap();
    let untraced = "while read -r name value <&3; do\n  [ \"$name $value\" = \"TracerPid: 0\" ] && exec \"${0%/*}/driver\" 3<&-\n\
                    done 3</proc/$$/status\nexit 7\n";
    let program = script(folder.path(), untraced);
    let record = folder.path().join("second");
    fs::create_dir(&record).unwrap();
    let more =
        ["--candidate-program", program.to_str().unwrap(), "--margin", "0.99", "--scratch", "/dev/shm"];
    let decided = gate(&record, "smoke/write", BASELINE, &more);
    assert_eq!(decided.status, 4, "{}", decided.ended.told());
    let reasons = decided.gate.comparisons[0].reasons.join("\n");
    let wanted = "the commits of rusqlite@wal-normal#candidate could not be recorded";
    assert!(reasons.contains(wanted), "{reasons}");
}

#[test]
fn a_program_that_is_another_subjects_is_refused_before_anything_is_measured() {
    let folder = folder();
    let hello = r#"{"reply":"hello","protocol":1,"kit":"k","subject":"another","version":"1","engine":"e",
        "capabilities":[],"clock":{"name":"c","cost_ns":1,"resolution_ns":1}}"#;
    let hello = hello.split_whitespace().collect::<String>();
    let program = script(folder.path(), &format!("read -r asked\necho '{hello}'\n"));
    for side in ["--candidate-program", "--baseline-program"] {
        let record = folder.path().join("record");
        let gate =
            ["gate", "--case", "smoke/get", "--baseline", BASELINE, "--candidate", "rusqlite@wal-full"];
        let ended = finish(touchstone().args(gate).arg(side).arg(&program).arg("--out").arg(&record));
        ended.refused(64, &[side, "is the driver of `another`", "`rusqlite` was asked for"]);
        assert!(!record.exists());
    }
}

#[test]
fn one_program_on_both_sides_is_warned_of_before_and_after() {
    let (first, second) = (folder(), folder());
    let full = ["--candidate", "rusqlite@wal-full", "--margin", "0.9"];
    gate(first.path(), "smoke/get-held", BASELINE, &full);
    let program = copied_driver(second.path());
    let ended = finish(
        touchstone()
            .args(["gate", "--case", "smoke/get-held", "--baseline", BASELINE, "--margin", "0.9"])
            .arg("--baseline-program")
            .arg(root().join("kits/rust/target/release/rusqlite"))
            .arg("--candidate-program")
            .arg(&program)
            .arg("--out")
            .arg(second.path().join("record")),
    );
    ended.assert_calm();
    let before = "--baseline-program and --candidate-program are the same program";
    assert!(ended.stderr.contains(before), "{}", ended.told());
    let after = "warning: the candidate is the baseline's own program in the same profile";
    assert!(ended.unwrapped().contains(after), "{}", ended.told());
}

#[test]
fn a_gate_says_in_words_what_it_found_and_writes_the_page() {
    let folder = folder();
    let record = folder.path().join("record");
    let gate = ["gate", "--case", "smoke/write", "--case", "smoke/get-held", "--baseline", BASELINE];
    let more = ["--candidate", "rusqlite@wal-full", "--margin", "0.99", "--scratch", "/dev/shm", "--out"];
    let ended = finish(touchstone().args(gate).args(more).arg(&record));
    assert_eq!(ended.status, Some(1), "{}", ended.told());
    ended.assert_calm();
    for wanted in [
        "smoke/write: rusqlite@wal-full is ",
        "smoke/get-held: rusqlite@wal-full is ",
        "smoke/write: syncs per commit: 0 before, 1 now",
        "gate: worse",
        "margin 99 %",
    ] {
        assert!(ended.stdout.contains(wanted), "it must say `{wanted}`: {}", ended.told());
    }
    assert!(record.join("report.html").exists());
    assert_eq!(Judged::read(&record).record.plan.family, 2, "both are corrected for their number");
}

#[test]
fn a_gate_says_in_words_that_a_dropped_sync_is_another_promise() {
    let folder = folder();
    let gate = ["gate", "--case", "smoke/write", "--baseline", "rusqlite@wal-full", "--candidate", BASELINE];
    let more = ["--margin", "0.99", "--scratch", "/dev/shm", "--out"];
    let ended = finish(touchstone().args(gate).args(more).arg(folder.path().join("record")));
    assert_eq!(ended.status, Some(4), "{}", ended.told());
    let told = "its commits await the disk less often than before, which is another promise";
    assert!(ended.unwrapped().contains(told), "{}", ended.told());
}

#[test]
fn a_gate_that_is_misused_does_not_answer() {
    for (arguments, status) in [(&["gate"][..], 64), (&["gate", "--case", "smoke/get"], 64)] {
        let ended = run(arguments);
        ended.refused(status, &["--baseline"]);
        assert!(!(0..=4).contains(&ended.status.unwrap()), "no answer of a gate's");
    }
}
