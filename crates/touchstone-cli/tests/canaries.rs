//! Subjects that misbehave: the lab notices each, keeps why, goes on with the others, and suspects no honest one.

mod support;

use std::fs;
use std::sync::LazyLock;
use support::{Judged, finish, folder, plan, run_plan, shared_folder, touchstone};
use touchstone::record::Status;
use touchstone::sample::{Launch, Outcome};
use touchstone::verdict::{ClaimStatus, FlagKind, Verdict};

/// Seconds a driver may take for a reply: long enough for every honest one.
const LIMIT: &str = "2";

/// The suite, run once for all tests.
static CANARIES: LazyLock<Judged> = LazyLock::new(|| {
    let (ended, record) = run_plan(&shared_folder(), &plan("canaries", &[], 1), &["--limit", LIMIT]);
    ended.succeeded();
    Judged::read(&record)
});

/// The contender beside every canary.
const HONEST: &str = "rusqlite@wal-normal";

fn part(case: &str, arm: &str) -> &'static Launch {
    CANARIES.launches(case, arm)[0]
}

/// The arm cannot be compared, has no number, and everyone is told why.
#[track_caller]
fn assert_condemned(case: &str, arm: &str, outcome: Outcome, why: &[&str]) {
    let part = part(case, arm);
    assert_eq!(part.outcome, outcome, "{part:?}");
    let comparison = CANARIES.comparison(case, arm);
    assert_eq!(comparison.verdict, Verdict::Incomparable, "{comparison:?}");
    assert_eq!((comparison.time_ratio, comparison.launches), (None, 0), "{comparison:?}");
    assert_eq!(CANARIES.arm(case, arm).operation_ns, None);
    let error = part.error.as_deref().unwrap_or_default();
    let reasons = comparison.reasons.join("\n");
    assert!(reasons.contains(arm), "{reasons}");
    for wanted in why {
        assert!(
            error.contains(wanted) && reasons.contains(wanted),
            "`{wanted}` in {error:?} and {reasons:?}"
        );
    }
    assert_honest(case, HONEST);
}

/// The arm was not suspected of anything.
#[track_caller]
fn assert_honest(case: &str, arm: &str) {
    let part = part(case, arm);
    assert_eq!((part.outcome, &part.error), (Outcome::Completed, &None), "{part:?}");
    assert!(CANARIES.arm(case, arm).operation_ns.is_some(), "its number is kept");
    for comparison in CANARIES.judgement.comparisons.iter().filter(|c| c.case == case && c.arm == arm) {
        assert_eq!(comparison.verdict, Verdict::Inconclusive, "of one launch: {comparison:?}");
        assert!(comparison.time_ratio.is_some(), "{comparison:?}");
        assert!(!comparison.reasons.join("\n").contains(arm), "{comparison:?}");
    }
}

#[test]
fn a_wrong_answer_is_void_and_has_no_number() {
    let why = ["get answered 100 records with digest", "the right answer is 100 with"];
    assert_condemned("canaries/wrong", "canary-wrong@default", Outcome::Void, &why);
    let slices = CANARIES.record.slices.iter().filter(|slice| slice.case == "canaries/wrong");
    let wrong = slices.filter(|slice| slice.wrong.is_some());
    let arms: Vec<&str> = wrong.map(|slice| slice.arm.as_str()).collect();
    assert_eq!(arms, ["canary-wrong@default"], "one slice is void, and ends its part");
}

#[test]
fn the_same_canary_is_right_where_it_never_gets_to_its_wrong_answer() {
    assert_honest("canaries/wrong-spared", "canary-wrong@default");
    assert_honest("canaries/wrong-spared", HONEST);
}

#[test]
fn records_acknowledged_and_not_kept_void_the_launch() {
    let honest = part("canaries/lost", HONEST);
    assert!(honest.found > 0 && honest.found == honest.expected, "{honest:?}");
    let why = format!("0 records are there, {} were acknowledged", honest.found);
    assert_condemned("canaries/lost", "canary-nothing@default", Outcome::Void, &[&why]);
    let syncs = CANARIES.syncs("canaries/lost", "canary-nothing@default");
    assert_eq!(syncs.unavailable.as_deref(), Some("it did not complete its launches"), "not worth counting");
}

#[test]
fn updates_that_are_not_what_subscribers_are_owed_void_the_launch() {
    let case = "canaries/deliver";
    let counted = "the right answer is";
    let differing = "updates are not what a fresh fetch, or their own result, says";
    let ways = [
        // What was left out in a transaction is missed in the next.
        ("few", "updates"),
        ("many", counted),
        ("twice", counted),
        ("stale", differing),
        ("order", differing),
        ("copy#copied", differing),
        ("diff#diff", differing),
        ("conspire", counted),
    ];
    for (mischief, why) in ways {
        let arm = format!("canary-deliver@{mischief}");
        let part = part(case, &arm);
        assert_eq!(part.outcome, Outcome::Void, "{part:?}");
        assert!(part.error.as_deref().unwrap_or_default().contains(why), "{part:?}");
        assert_eq!(CANARIES.comparison(case, &arm).verdict, Verdict::Incomparable);
        assert_eq!(CANARIES.arm(case, &arm).operation_ns, None);
    }
    let honest = ["refetch@wal-normal", "naive@wal-normal", "naive@wal-normal-scan", "canary-deliver@none"];
    for arm in honest.into_iter().chain(["refetch@wal-normal#copied", "refetch@wal-normal#diff"]) {
        assert_honest(case, arm);
    }
}

#[test]
fn who_begins_with_another_result_than_the_right_one_is_caught() {
    let case = "canaries/subscribe";
    for mischief in ["few", "twice", "order"] {
        let arm = format!("canary-deliver@{mischief}");
        let part = part(case, &arm);
        assert_eq!(part.outcome, Outcome::Void, "{part:?}");
        assert!(part.error.as_deref().unwrap_or_default().contains("30 first results with"), "{part:?}");
        assert_eq!(CANARIES.arm(case, &arm).operation_ns, None);
    }
    for arm in ["refetch@wal-normal", "naive@wal-normal", "canary-deliver@none"] {
        assert_honest(case, arm);
    }
}

#[test]
fn who_opens_without_answering_a_first_query_is_void() {
    let why = ["open answered 0 records", "the right answer is 3 times the same record"];
    assert_condemned("canaries/open", "canary-lazy@default", Outcome::Void, &why);
    assert_honest("canaries/open", "canary-wrong@default");
}

/// Found in a review: the answers that a driver had kept from an earlier run were right ones, for the seed is always 42.
#[test]
fn no_answer_of_an_earlier_run_is_right_unless_its_salt_is_played_again() {
    let plan = plan("canaries", &["wrong-spared"], 1);
    let played = |options: &[&str]| {
        let folder = folder();
        let (ended, record) = run_plan(folder.path(), &plan, options);
        ended.succeeded();
        let judged = Judged::read(&record);
        let answers = judged.record.slices.iter().map(|slice| slice.lanes[0].digest.clone());
        (judged.record.manifest.salt, answers.collect::<Vec<_>>())
    };
    let (salt, answers) = played(&[]);
    assert!(salt > 0 && !answers.is_empty());
    assert_ne!(answers, played(&[]).1);
    assert_eq!((salt, answers), played(&["--salt", &salt.to_string()]));
}

#[test]
fn a_sleeper_is_flagged_and_keeps_its_number() {
    let case = "canaries/sleep";
    assert_honest(case, "canary-sleep@default");
    let slept = |case: &str| -> Vec<&str> {
        let flags = CANARIES.judgement.flags.iter();
        flags.filter(|f| f.kind == FlagKind::Slept && f.case == case).map(|flag| flag.arm.as_str()).collect()
    };
    assert_eq!(slept(case), ["canary-sleep@default"]);
    assert_eq!(slept("canaries/innocent"), [""; 0], "awake it is not flagged");
    let flag = CANARIES.judgement.flags.iter().find(|flag| flag.kind == FlagKind::Slept).unwrap();
    assert!(flag.evidence.contains("on the processor for"), "{flag:?}");
}

/// The page whose load this is gave 296, 258, 232 and 212 operations a second, and 7.8 times as many with eight threads. A sleep is
/// never shorter than it is asked to be, whatever else the machine does.
#[test]
fn mixed_load_that_sleeps_is_flagged_in_every_mix_and_its_pace_is_that_of_its_sleeps() {
    let suspected = |case: &str, arm: &str| -> Vec<FlagKind> {
        let flags = CANARIES.judgement.flags.iter().filter(|flag| flag.case == case && flag.arm == arm);
        flags.map(|flag| flag.kind).collect()
    };
    for mix in ["90", "70", "50", "30", "20", "threads"] {
        let case = format!("canaries/sleeper-{mix}");
        assert_honest(&case, "canary-sleeper@default");
        assert!(suspected(&case, "canary-sleeper@default").contains(&FlagKind::Slept), "{case}");
        assert!(!suspected(&case, HONEST).contains(&FlagKind::Slept), "{case}");
    }
    assert!(!suspected("canaries/sleeper-70", "canary-slow@slow").contains(&FlagKind::Slept));
    let slices = |case: &'static str| {
        let of = move |of_case: &str, arm: &str| of_case == case && arm == "canary-sleeper@default";
        CANARIES.record.slices.iter().filter(move |slice| of(&slice.case, &slice.arm))
    };
    for slice in slices("canaries/sleeper-20") {
        assert!(
            slice.wall_ns >= slice.operations * 1_000_000,
            "each sleeps, in whatever transaction: {slice:?}"
        );
    }
    let threads: Vec<_> = slices("canaries/sleeper-threads").flat_map(|slice| &slice.lanes).collect();
    assert_eq!(threads.len(), 8);
    // All eight sleep at once: whatever each did, it is more than one could do after the other.
    let played: u64 = threads.iter().filter_map(|lane| lane.played).sum();
    let longest = threads.iter().map(|lane| lane.wall_ns).max().expect("there are lanes");
    assert!(played * 1_000_000 > longest, "{played} operations in {longest} ns");
}

#[test]
fn a_get_by_scanning_is_flagged_and_a_get_by_an_index_is_not() {
    let case = "canaries/scan";
    assert_honest(case, "canary-scan@wal-normal");
    let flags = CANARIES.judgement.flags.iter().filter(|flag| flag.kind == FlagKind::GetsByScanning);
    let flags: Vec<_> = flags.filter(|flag| flag.case == case).collect();
    let arms: Vec<&str> = flags.iter().map(|flag| flag.arm.as_str()).collect();
    assert_eq!(arms, ["canary-scan@wal-normal"]);
    assert!(flags[0].evidence.contains("`SCAN documents"), "{flags:?}");
}

#[test]
fn an_ignored_setting_is_named_and_makes_it_incomparable() {
    let case = "canaries/forgetful";
    let liar = CANARIES.comparison(case, "canary-forgetful@wal-full");
    assert_eq!(liar.verdict, Verdict::Incomparable, "{liar:?}");
    let reason = "canary-forgetful@wal-full: synchronous was asked for as full, normal took effect";
    assert_eq!(liar.reasons, [reason]);
    // It ran well; what it ran is not what was asked for.
    assert_eq!(part(case, "canary-forgetful@wal-full").outcome, Outcome::Completed);
}

/// Found in a review: a driver that repeated what it was asked for was compared as if that had taken effect.
#[test]
fn settings_that_the_file_contradicts_did_not_take_effect() {
    let case = "canaries/echo";
    let reasons = |arm: &str| {
        let comparison = CANARIES.comparison(case, arm);
        assert_eq!(comparison.verdict, Verdict::Incomparable, "{comparison:?}");
        comparison.reasons.join("\n")
    };
    let journal = "canary-echo@wal-normal: journal_mode was asked for as wal, a rollback journal or none (as its file's \
                   header says) took effect";
    assert_eq!(reasons("canary-echo@wal-normal"), journal);
    let page = "canary-echo@page-16k: page_size_bytes was asked for as 16384, 4096 (as its file's header says) took effect";
    assert_eq!(reasons("canary-echo@page-16k"), page);
    let cipher = "canary-echo@cipher: cipher was asked for as sqlcipher-4, none (as its file's header says) took effect";
    assert_eq!(reasons("canary-echo@cipher"), cipher);
    for honest in ["canary-echo@delete-full", HONEST] {
        assert_honest(case, honest);
    }
}

/// Found by an adversary: SQLite's setting was believed of a driver that had it off.
#[test]
fn a_setting_that_the_recorded_pass_contradicts_did_not_take_effect() {
    let comparison = CANARIES.comparison("canaries/echo-syncs", "canary-echo@no-sync");
    assert_eq!(comparison.verdict, Verdict::Incomparable, "{comparison:?}");
    let reason = "canary-echo@no-sync: synchronous was asked for as normal, off (as no sync in 20 recorded commits and after them \
                  says) took effect";
    assert_eq!(comparison.reasons, [reason]);
    assert!(CANARIES.syncs("canaries/echo-syncs", "rusqlite@delete-normal").syncs > 0);
}

#[test]
fn a_cache_that_is_larger_than_it_was_told_is_flagged() {
    let flags = CANARIES.judgement.flags.iter().filter(|flag| flag.kind == FlagKind::LargerCache);
    let about: Vec<(&str, &str)> = flags.map(|flag| (flag.case.as_str(), flag.arm.as_str())).collect();
    assert_eq!(about, [("canaries/echo-cache", "canary-echo@cache")]);
}

#[test]
fn the_same_canary_is_compared_where_it_is_asked_for_what_it_does() {
    for honest in ["canary-forgetful@wal-normal", "rusqlite@wal-normal", "rusqlite@wal-full"] {
        assert_honest("canaries/forgetful", honest);
    }
}

#[test]
fn a_canary_that_hangs_is_timed_out_at_the_limit() {
    assert_condemned("canaries/hang", "canary-hang@default", Outcome::TimedOut, &["no reply within 2 s"]);
}

#[test]
fn a_canary_that_crashes_has_its_signal_and_its_last_words_kept() {
    let why = ["killed by signal 6", "last saying: this canary crashes"];
    assert_condemned("canaries/crash", "canary-crash@default", Outcome::Crashed, &why);
}

#[test]
fn canaries_asked_for_what_they_do_rightly_are_honest() {
    for canary in ["wrong", "sleep", "hang", "crash"] {
        assert_honest("canaries/innocent", &format!("canary-{canary}@default"));
    }
    assert_honest("canaries/innocent", HONEST);
}

#[test]
fn every_way_to_break_the_protocol_is_a_crash_with_a_reason_of_its_own() {
    let ways: [(&str, &[&str]); 4] = [
        ("rubbish", &["broke the protocol", "Segmentation fault (core not dumped)", "not a reply"]),
        ("stops", &["broke the protocol", "stopped in the middle of a line", "{\"reply\":\"hello\",\"proto"]),
        ("version", &["protocol version 2", "the lab speaks 1", "build the kit again"]),
        ("floods", &["broke the protocol", "floods its output", "1048576 bytes"]),
    ];
    for (canary, why) in ways {
        let arm = format!("canary-{canary}@default");
        assert_condemned("canaries/protocol", &arm, Outcome::Crashed, why);
    }
}

#[test]
fn what_a_driver_cannot_do_is_unsupported_and_no_crash() {
    let why = ["canary-hand stores no row"];
    assert_condemned("canaries/unsupported", "canary-hand@wal-normal", Outcome::Unsupported, &why);
}

#[test]
fn a_database_may_be_a_tree_of_folders() {
    for case in ["canaries/tree", "canaries/tree-restored", "canaries/tree-empty"] {
        assert_honest(case, "canary-tree@default");
        let files: Vec<&String> = part(case, "canary-tree@default").file_bytes.keys().collect();
        assert_eq!(files.len(), 3, "each folder has a file in the end: {files:?}");
        assert!(files.iter().all(|file| file.starts_with("shelves/")), "{files:?}");
    }
    let recorded = CANARIES.syncs("canaries/tree-restored", "canary-tree@default");
    assert_eq!((recorded.unavailable.as_deref(), recorded.commits), (None, 1), "it played on a whole copy");
}

#[test]
fn a_database_with_a_symbolic_link_is_not_copied_and_says_why() {
    let why = ["`shelves/current` in its database cannot be copied", "it is a symbolic link"];
    assert_condemned("canaries/tree", "canary-link@default", Outcome::Unsupported, &why);
}

#[test]
fn every_promise_costs_the_syncs_that_sqlite_documents() {
    let known = [
        ("wal-full", 1),
        ("wal-normal", 0),
        ("wal-off", 0),
        ("delete-full", 4),
        ("delete-normal", 3),
        ("delete-off", 0),
    ];
    for (profile, syncs) in known {
        let counted = CANARIES.syncs("canaries/syncs", &format!("rusqlite@{profile}"));
        assert_eq!(counted.unavailable, None, "{counted:?}");
        assert_eq!((counted.syncs_per_commit, counted.commits), (syncs, 41), "{counted:?}");
        assert!(counted.bytes_written > 0, "{counted:?}");
    }
}

#[test]
fn a_promise_that_is_not_kept_shows_in_the_syncs() {
    let honest = CANARIES.syncs("canaries/syncs", "rusqlite@wal-full");
    let forgetful = CANARIES.syncs("canaries/syncs", "canary-forgetful@wal-full");
    assert_eq!((honest.syncs_per_commit, forgetful.syncs_per_commit), (1, 0));
}

#[test]
fn claims_on_misbehaving_contenders_are_untested_and_say_why() {
    let claim = |id: &str| CANARIES.judgement.claims.iter().find(|claim| claim.id == id).unwrap();
    assert_eq!(claim("an-honest-get").status, ClaimStatus::Holds);
    for (id, why) in
        [("a-wrong-get", "answered wrongly"), ("a-crashed-get", "crashed"), ("a-hanging-get", "timed out")]
    {
        let claim = claim(id);
        assert_eq!(claim.status, ClaimStatus::Untested, "{claim:?}");
        let note = claim.pairs[0].tests[0].note.as_deref().unwrap_or_default();
        assert!(note.contains(why), "{claim:?}");
    }
}

#[test]
fn the_run_is_complete_and_the_page_tells_every_reason() {
    assert_eq!(CANARIES.record.manifest.status, Status::Complete);
    let told = finish(touchstone().arg("report").arg(&CANARIES.folder)).succeeded();
    let page = fs::read_to_string(told.stdout.trim_end()).unwrap();
    for comparison in &CANARIES.judgement.comparisons {
        assert!(page.contains(&comparison.arm), "{} is not in the page", comparison.arm);
    }
    for reason in ["killed by signal 6", "no reply within 2 s", "synchronous was asked for as full", "slept"]
    {
        assert!(page.contains(reason), "the page must say `{reason}`");
    }
}

#[test]
fn one_canary_in_a_case_is_dropped_and_the_others_play_every_launch() {
    let folder = folder();
    let (ended, record) = run_plan(folder.path(), &plan("canaries", &["crash"], 3), &["--limit", LIMIT]);
    ended.succeeded();
    let judged = Judged::read(&record);
    assert_eq!(judged.launches("canaries/crash", HONEST).len(), 3);
    let crashed = judged.launches("canaries/crash", "canary-crash@default");
    assert_eq!(crashed.len(), 1, "once is enough to know: {crashed:?}");
}
