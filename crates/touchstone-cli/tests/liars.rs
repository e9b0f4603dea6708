//! Subjects that lie: what each says and answers is what an honest one would, and the lab tells all the same.

mod support;

use std::fs;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use support::{Judged, folder, plan, root, run_plan, shared_folder};
use touchstone::sample::Outcome;
use touchstone::verdict::{ClaimStatus, FlagKind, Verdict};

/// Cases of which one launch tells, run once for all tests.
static LIARS: LazyLock<Judged> = LazyLock::new(|| {
    let cases = [
        "commits", "told", "restored", "gathered", "memo", "reopened", "evicted", "unequal", "confined",
        "clock",
    ];
    played(&shared_folder(), &cases, 1)
});

/// Cases of which only the launches of a first look tell.
static LAUNCHES: LazyLock<Judged> =
    LazyLock::new(|| played(&shared_folder(), &["early", "kinds", "kinds-baseline"], 8));

/// Runs beside each other would be each other's noise.
static ALONE: Mutex<()> = Mutex::new(());

fn played(folder: &Path, cases: &[&str], launches: usize) -> Judged {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (ended, record) = run_plan(folder, &plan("liars", cases, launches), &[]);
    ended.succeeded();
    Judged::read(&record)
}

/// What an arm is suspected of, but for what the whole machine is, and for another pace, which is a neighbour's in one launch.
fn suspicions(case: &str, arm: &str) -> Vec<FlagKind> {
    suspicions_in(&LIARS, case, arm)
}

fn suspicions_in(judged: &Judged, case: &str, arm: &str) -> Vec<FlagKind> {
    let mine = judged.judgement.flags.iter().filter(|flag| flag.case == case && flag.arm == arm);
    mine.map(|flag| flag.kind).filter(|kind| *kind != FlagKind::OtherPace).collect()
}

fn is_contended(case: &str) -> bool {
    is_contended_in(&LIARS, case)
}

fn is_contended_in(judged: &Judged, case: &str) -> bool {
    judged.judgement.flags.iter().any(|flag| flag.kind == FlagKind::Contended && flag.case == case)
}

#[track_caller]
fn assert_spared(case: &str, arms: &[&str]) {
    for arm in arms {
        assert_eq!(suspicions(case, arm), [], "{arm} in {case}: {:#?}", LIARS.judgement.flags);
        let part = LIARS.launches(case, arm)[0];
        assert_eq!((part.outcome, &part.error), (Outcome::Completed, &None), "{part:?}");
    }
}

/// It is compared with nothing, and the reason says why.
#[track_caller]
fn assert_incomparable(case: &str, arm: &str, why: &str) {
    let comparison = LIARS.comparison(case, arm);
    assert_eq!(comparison.verdict, Verdict::Incomparable, "{comparison:?}");
    assert!(comparison.reasons.join("\n").contains(why), "`{why}` in {comparison:?}");
}

#[test]
fn a_driver_that_does_not_sync_before_the_reply_breaks_the_promise() {
    // Its environment is padded in every pass, so that `padded` never syncs.
    let mischiefs = ["later", "at-close", "clean", "empty", "byte", "range", "elsewhere", "padded"];
    let in_commits = mischiefs.map(|mischief| ("liars/commits", mischief));
    for (case, mischief) in in_commits.into_iter().chain([("liars/told", "later-told")]) {
        let arm = format!("canary-liar@{mischief}");
        assert_incomparable(case, &arm, "of 41 recorded commits ");
        assert!(suspicions(case, &arm).contains(&FlagKind::BrokenPromise), "{arm}");
    }
}

#[test]
fn a_driver_that_syncs_when_it_is_closed_breaks_the_promise_where_each_slice_is() {
    let (case, arm) = ("liars/restored", "canary-liar@at-close");
    assert_incomparable(case, arm, "of 1 recorded commits 0 had been kept before they were acknowledged");
    assert_eq!(suspicions(case, arm)[0], FlagKind::BrokenPromise);
    assert_spared(case, &["rusqlite@wal-full", "canary-liar@honest"]);
}

/// Whether commits await the disk or not: what is written while it is timed is what was written while it was recorded.
#[test]
fn a_driver_that_writes_less_while_it_is_timed_does_not_do_what_was_recorded() {
    let case = "liars/gathered";
    assert_incomparable(case, "canary-liar@gathers", "bytes a commit while it was timed, and ");
    assert!(suspicions(case, "canary-liar@gathers").contains(&FlagKind::BrokenPromise));
    assert_spared(case, &["rusqlite@wal-normal", "canary-liar@consistent"]);
}

/// Its log becomes part of the file when it is closed, and awaits no disk then either.
#[test]
fn a_driver_that_never_syncs_has_it_off_whatever_it_tells() {
    let why = "synchronous was asked for as normal, off (as no sync in 41 recorded commits and after them says) took effect";
    assert_incomparable("liars/gathered", "canary-liar@never-syncs", why);
}

/// It does so while it is recorded too.
#[test]
fn a_driver_that_writes_behind_the_reply_breaks_the_promise_of_every_class() {
    let (case, arm) = ("liars/gathered", "canary-liar@behind");
    let why = "of 41 recorded commits 2 had been written before they were acknowledged";
    assert_incomparable(case, arm, why);
    assert!(suspicions(case, arm).contains(&FlagKind::BrokenPromise));
    let honest = ["rusqlite@wal-normal", "canary-liar@consistent"];
    assert!(honest.iter().all(|arm| LIARS.syncs(case, arm).written_commits == Some(41)));
}

/// Found in a review: a claim on a liar held, and nothing marked it.
#[test]
fn a_claim_on_who_breaks_the_promise_is_untested() {
    let claim = &LIARS.judgement.claims[0];
    assert_eq!(claim.status, ClaimStatus::Untested, "{claim:?}");
    let pair = &claim.pairs[0];
    let note = pair.tests[0].note.as_deref().unwrap_or_default();
    assert!(
        note.contains("synchronous was asked for as full, off (as no sync in 41 recorded commits"),
        "{claim:?}"
    );
    assert!(pair.flags.iter().any(|flag| flag.kind == FlagKind::BrokenPromise), "{claim:?}");
}

#[test]
fn a_sync_of_a_file_that_did_not_change_is_none() {
    let counted = |arm: &str| LIARS.syncs("liars/commits", arm);
    for mischief in ["clean", "empty"] {
        let syncs = counted(&format!("canary-liar@{mischief}"));
        assert_eq!((syncs.syncs, syncs.idle_syncs, syncs.durable_commits), (0, 41, Some(0)), "{syncs:?}");
    }
    let byte = counted("canary-liar@byte");
    assert_eq!((byte.syncs, byte.durable_commits), (41, Some(0)), "it kept another file's byte: {byte:?}");
    for honest in ["rusqlite@wal-full", "rusqlite@delete-full", "canary-liar@honest"] {
        let syncs = counted(honest);
        assert_eq!((syncs.idle_syncs, syncs.durable_commits), (0, Some(41)), "{syncs:?}");
    }
}

#[test]
fn a_driver_that_syncs_only_while_it_is_recorded_is_told_by_the_disks_flushes() {
    let (case, arm) = ("liars/commits", "canary-liar@traced");
    assert_eq!(LIARS.syncs(case, arm).durable_commits, Some(41), "the recorder sees no fault");
    let probes = LIARS.record.probes.iter().filter(|probe| probe.case == case);
    if probes.map(|probe| probe.flushes).all(|flushes| flushes.is_some_and(|flushes| flushes > 0)) {
        assert_incomparable(case, arm, "while it was timed all disks together completed ");
    } else {
        eprintln!("not tested: this machine's disks do not count their flushes");
    }
}

/// Two slices of three make the median, and their commits await nothing.
#[test]
fn a_driver_that_keeps_its_promise_in_each_third_slice_breaks_it() {
    let arm = "canary-liar@thirds";
    if LIARS.arm("liars/commits", arm).witnessed.commit_flushes.is_none() {
        eprintln!("not tested: this system does not count what its disks flush");
        return;
    }
    assert_incomparable("liars/commits", arm, "while it was timed all disks together completed 0.");
}

#[test]
fn a_driver_that_keeps_records_in_memory_has_lost_them_when_it_is_killed() {
    for mischief in ["never", "writes-at-close"] {
        let arm = format!("canary-liar@{mischief}");
        let part = LIARS.launches("liars/commits", &arm)[0];
        assert_eq!((part.outcome, part.found), (Outcome::Void, 100), "{part:?}");
        assert_incomparable("liars/commits", &arm, "100 records are there, ");
        let part = LIARS.launches("liars/restored", &arm)[0];
        assert_eq!((part.outcome, part.found), (Outcome::Void, 100), "{part:?}");
        assert_incomparable("liars/restored", &arm, "100 records are there, 600 were acknowledged");
    }
}

#[test]
fn a_scribe_is_seen_and_killed_before_it_writes_what_the_driver_acknowledged() {
    let (case, arm) = ("liars/commits", "canary-scribe@wal-full");
    let part = LIARS.launches(case, arm)[0];
    assert_eq!((part.outcome, part.found), (Outcome::Void, 100), "{part:?}");
    assert!(suspicions(case, arm).contains(&FlagKind::OtherProcesses));
}

#[test]
fn honest_commits_are_spared() {
    let honest = ["rusqlite@wal-full", "rusqlite@delete-full", "canary-liar@honest"];
    // They write and remove a file in each commit, have pages that wait for a checkpoint, make a log larger in one commit, and sync
    // many files in one of many.
    let unlike = ["spills", "redo", "preallocates", "shards"].map(|way| format!("canary-liar@{way}"));
    assert_spared("liars/commits", &honest);
    assert_spared("liars/commits", &unlike.each_ref().map(String::as_str));
}

#[test]
fn a_driver_that_answers_from_memory_has_an_engine_that_did_nothing() {
    for mischief in ["memo", "memo-some"] {
        let arm = format!("canary-liar@{mischief}");
        assert!(suspicions("liars/memo", &arm).contains(&FlagKind::EngineIdle), "{arm}");
    }
    assert_spared("liars/memo", &["rusqlite@wal-full", "canary-liar@honest"]);
}

#[test]
fn a_driver_that_answers_from_memory_in_two_slices_of_three_has_slices_of_two_kinds() {
    let case = "liars/early";
    let flagged = |arm: &str| suspicions_in(&LAUNCHES, case, arm).contains(&FlagKind::TwoKinds);
    if is_contended_in(&LAUNCHES, case) {
        eprintln!("not tested: on a machine this busy slices are of many kinds");
        return;
    }
    assert!(flagged("canary-liar@memo-thirds"));
    assert!(!flagged("canary-liar@honest") && !flagged("rusqlite@wal-full"));
}

#[test]
fn a_driver_that_has_its_file_read_while_it_is_opened_is_ready_before_it_is_asked() {
    assert!(suspicions("liars/evicted", "canary-liar@ahead").contains(&FlagKind::ReadyBefore));
}

#[test]
fn a_driver_that_reads_while_it_is_opened_is_ready_before_it_is_asked() {
    for case in ["liars/reopened", "liars/evicted"] {
        assert!(suspicions(case, "canary-liar@preload").contains(&FlagKind::ReadyBefore), "{case}");
    }
    assert_spared("liars/reopened", &["rusqlite@wal-full", "canary-liar@honest"]);
    assert_awake("liars/evicted", &["rusqlite@wal-full", "canary-liar@honest"]);
}

#[test]
fn a_driver_that_keeps_in_its_process_what_it_read_before_it_was_closed_has_an_engine_that_did_nothing() {
    for case in ["liars/reopened", "liars/evicted"] {
        assert!(suspicions(case, "canary-recall@process").contains(&FlagKind::EngineIdle), "{case}");
    }
    assert_spared("liars/reopened", &["canary-recall@honest"]);
    assert_awake("liars/evicted", &["canary-recall@honest"]);
}

/// Whether a slice waits for the disk is a matter of the disk: its own cache may be as quick as the system's.
#[track_caller]
fn assert_awake(case: &str, arms: &[&str]) {
    for arm in arms {
        let suspicions = suspicions(case, arm);
        assert!(suspicions.iter().all(|kind| *kind == FlagKind::PageCache), "{arm}: {suspicions:?}");
    }
}

/// A temporary folder is each process's own. What is kept elsewhere tells in the second launch that the engine was not asked,
/// and is wrong in the next run, whose values are others.
#[test]
fn a_driver_that_keeps_answers_for_its_next_process_has_none_an_idle_engine_or_wrong_ones() {
    let (case, arm) = ("liars/kept", "canary-recall@program");
    let kept = root().join("kits/rust/target/release/canary-recall.kept");
    // There is none unless this test was stopped.
    let _ = fs::remove_file(&kept);
    let once = folder();
    let first = played(once.path(), &["kept"], 2);
    assert!(kept.exists(), "it kept them");
    assert!(suspicions_in(&first, case, arm).contains(&FlagKind::EngineIdle), "{:#?}", first.judgement.flags);
    for honest in ["rusqlite@wal-full", "canary-recall@honest", "canary-recall@temporary"] {
        assert_eq!(suspicions_in(&first, case, honest), [], "{honest}");
    }
    let again = folder();
    let second = played(again.path(), &["kept"], 1);
    fs::remove_file(&kept).unwrap();
    let part = second.launches(case, arm)[0];
    assert_eq!(part.outcome, Outcome::Void, "{part:?}");
    assert_eq!(second.launches(case, "canary-recall@temporary")[0].outcome, Outcome::Completed);
}

#[test]
fn a_driver_that_is_quick_at_first_has_no_verdict() {
    let case = "liars/early";
    if is_contended_in(&LAUNCHES, case) {
        eprintln!("not tested: on a machine this busy others drift too");
        return;
    }
    let comparison = LAUNCHES.comparison(case, "canary-recall@early");
    assert_eq!(comparison.verdict, Verdict::Inconclusive, "{comparison:?}");
    let reasons = comparison.reasons.join("\n");
    assert!(
        reasons.contains("better is withheld: from the first to the last third of a launch"),
        "{reasons}"
    );
    assert!(suspicions_in(&LAUNCHES, case, "canary-recall@early").contains(&FlagKind::NoSteadyState));
    let honest = LAUNCHES.comparison(case, "canary-recall@honest").reasons.join("\n");
    assert!(!honest.contains("depends on how long they run"), "{honest}");
}

#[test]
fn launches_of_two_kinds_are_told_of_an_arm_and_of_a_baseline() {
    for (case, arm) in
        [("liars/kinds", "canary-slow@odd-launches"), ("liars/kinds-baseline", "canary-slow@twin")]
    {
        if is_contended_in(&LAUNCHES, case) {
            eprintln!("not tested: on a machine this busy launches are of many kinds");
            continue;
        }
        // Its slow launches may slow the other's, which run between their slices: then it is told of the ratio.
        let reasons = LAUNCHES.comparison(case, arm).reasons.join("\n");
        assert!(reasons.contains(" of two kinds: "), "{arm}: {reasons}");
        assert!(reasons.contains("canary-slow@odd-launches"), "{arm}: {reasons}");
    }
}

/// Found in a review: a very quick arm made the others' slices longer by as much as it was quicker.
#[test]
fn a_very_quick_arm_does_not_lengthen_the_others_slices() {
    let case = "liars/unequal";
    let calibrated = LIARS.launches(case, "canary-sleep@default")[0].calibrated;
    // Two of its gets take 2 ms, and no slice becomes longer than twice that.
    assert!(calibrated <= 4, "{calibrated}");
    // A machine that takes a tenth of a millisecond for four gets is so busy that its slices are not short.
    let slice_ns = LIARS.arm(case, "rusqlite@wal-normal").slice_ns.expect("it was measured");
    if slice_ns < 1e5 {
        assert_eq!(suspicions(case, "rusqlite@wal-normal"), [FlagKind::ShortSlices]);
    } else {
        eprintln!("not tested: on a machine this busy four gets take {slice_ns} ns");
    }
}

#[test]
fn a_driver_that_does_not_stay_alone_on_its_processor_is_seen() {
    let case = "liars/confined";
    assert!(suspicions(case, "canary-liar@child").contains(&FlagKind::OtherProcesses));
    if thread::available_parallelism().is_ok_and(|processors| processors.get() > 1) {
        assert!(suspicions(case, "canary-liar@strays").contains(&FlagKind::LeftProcessor));
    } else {
        eprintln!("not tested: there is no other processor to allow itself");
    }
    let made = LIARS.arm(case, "canary-liar@threads").witnessed.tasks_made_low;
    assert!(made.is_none_or(|made| made >= 2.0), "a thread in every 250 gets: {made:?}");
    if is_contended(case) {
        eprintln!("not tested: on a machine this busy others make threads all the time");
    } else {
        assert_eq!(suspicions(case, "canary-liar@threads"), [FlagKind::UntoldThreads]);
    }
    assert_spared(case, &["rusqlite@wal-full", "canary-liar@honest"]);
}

#[test]
fn a_clock_that_says_what_cannot_be_ends_its_part() {
    let ways = [
        ("thousandfold", "it says that a slice took "),
        ("stands-still", "it says that its operations took no time"),
    ];
    for (mischief, why) in ways {
        let arm = format!("canary-clock@{mischief}");
        let part = LIARS.launches("liars/clock", &arm)[0];
        assert_eq!(part.outcome, Outcome::Crashed, "{part:?}");
        assert_incomparable("liars/clock", &arm, why);
    }
}

/// A published benchmark counted whole milliseconds, and its rates are counts over these.
#[test]
fn a_clock_of_whole_milliseconds_is_told_by_its_times() {
    let (case, arm) = ("liars/clock", "canary-clock@milliseconds");
    let measured = LIARS.arm(case, arm);
    // All its slices may have lasted as many milliseconds.
    let Some(step) = measured.step_ns else { return };
    assert!(step.is_multiple_of(1_000_000), "{step}");
    // A machine so busy that slices last longer hides a step of a millisecond.
    if measured.slice_ns.expect("it was measured") < 1e8 {
        assert!(suspicions(case, arm).contains(&FlagKind::CoarseClock));
    }
    for honest in ["rusqlite@wal-normal", "canary-clock@honest"] {
        assert!(!suspicions(case, honest).contains(&FlagKind::CoarseClock));
    }
}

/// How far the waiting beside the clock differs between the slices of the case's most disturbed arm.
fn widest_beside_ns(case: &str) -> f64 {
    let case = LIARS.statistics.cases.iter().find(|known| known.case == case).expect("it was measured");
    let spreads = case.arms.iter().map(|arm| &arm.witnessed);
    let spreads = spreads.filter_map(|seen| Some(seen.beside_ns_high? - seen.beside_ns_low?));
    spreads.fold(0.0, f64::max)
}

#[test]
fn a_clock_that_counts_half_of_the_time_leaves_the_other_half_to_the_labs() {
    let (case, arm) = ("liars/clock", "canary-clock@halves");
    let slices = LIARS.record.slices.iter().filter(|slice| slice.case == case && slice.arm == arm);
    let waited = slices.map(|slice| (slice.witness.expect("the lab looked").waited_ns, slice.wall_ns));
    assert!(waited.into_iter().all(|(waited, said)| waited >= said * 2), "half of it is not told");
    if is_contended(case) || 3.0 * widest_beside_ns(case) >= LIARS.arm(case, arm).slice_ns.unwrap_or(0.0) {
        eprintln!("not tested: on a machine this busy the lab waits for its neighbours too");
    } else {
        assert!(suspicions(case, arm).contains(&FlagKind::BesideTheClock));
    }
    assert!(!suspicions(case, "canary-clock@honest").contains(&FlagKind::BesideTheClock));
    assert_spared(case, &["rusqlite@wal-normal"]);
}
