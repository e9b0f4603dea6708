//! Subjects that lie: what each says and answers is what an honest one would, and the lab tells all the same.

mod support;

use std::sync::LazyLock;
use support::{Judged, plan, run_plan, shared_folder};
use touchstone::sample::Outcome;
use touchstone::verdict::{FlagKind, Verdict};

/// The suite, run once for all tests.
static LIARS: LazyLock<Judged> = LazyLock::new(|| {
    let (ended, record) = run_plan(&shared_folder(), &plan("liars", &[], 1), &[]);
    ended.succeeded();
    Judged::read(&record)
});

/// What an arm is suspected of, but for what the whole machine is.
fn suspicions(case: &str, arm: &str) -> Vec<FlagKind> {
    let mine = LIARS.judgement.flags.iter().filter(|flag| flag.case == case && flag.arm == arm);
    mine.map(|flag| flag.kind).collect()
}

fn is_contended(case: &str) -> bool {
    LIARS.judgement.flags.iter().any(|flag| flag.kind == FlagKind::Contended && flag.case == case)
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
fn who_does_not_sync_before_the_reply_breaks_the_promise() {
    let case = "liars/commits";
    for mischief in ["later", "at-close", "clean", "empty", "byte", "range", "elsewhere"] {
        let arm = format!("canary-liar@{mischief}");
        assert_incomparable(case, &arm, "of 41 recorded commits ");
        assert!(suspicions(case, &arm).contains(&FlagKind::BrokenPromise), "{arm}");
    }
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
fn who_syncs_only_while_it_is_recorded_is_told_by_the_disks_flushes() {
    let (case, arm) = ("liars/commits", "canary-liar@traced");
    assert_eq!(LIARS.syncs(case, arm).durable_commits, Some(41), "the recorder sees no fault");
    let probes = LIARS.record.probes.iter().filter(|probe| probe.case == case);
    if probes.map(|probe| probe.flushes).all(|flushes| flushes.is_some_and(|flushes| flushes > 0)) {
        assert_incomparable(case, arm, "while it was timed all disks together completed ");
    } else {
        eprintln!("not tested: this machine's disks do not count their flushes");
    }
}

#[test]
fn who_keeps_records_in_memory_has_lost_them_when_it_is_killed() {
    for mischief in ["never", "writes-at-close"] {
        let arm = format!("canary-liar@{mischief}");
        let part = LIARS.launches("liars/commits", &arm)[0];
        assert_eq!((part.outcome, part.found), (Outcome::Void, 100), "{part:?}");
        assert_incomparable("liars/commits", &arm, "100 records are there, ");
    }
}

#[test]
fn honest_commits_are_spared() {
    let honest = ["rusqlite@wal-full", "rusqlite@delete-full", "canary-liar@honest"];
    // One writes and removes a file in each commit, the other's pages wait for a checkpoint.
    assert_spared("liars/commits", &[&honest[..], &["canary-liar@spills", "canary-liar@redo"]].concat());
}

#[test]
fn who_answers_from_memory_has_an_engine_that_did_nothing() {
    assert!(suspicions("liars/memo", "canary-liar@memo").contains(&FlagKind::EngineIdle));
    assert_spared("liars/memo", &["rusqlite@wal-full", "canary-liar@honest"]);
}

#[test]
fn who_reads_while_it_is_opened_is_ready_before_it_is_asked() {
    assert!(suspicions("liars/reopened", "canary-liar@preload").contains(&FlagKind::ReadyBefore));
    assert_spared("liars/reopened", &["rusqlite@wal-full", "canary-liar@honest"]);
}

#[test]
fn who_does_not_stay_alone_on_its_processor_is_seen() {
    let case = "liars/confined";
    assert!(suspicions(case, "canary-liar@child").contains(&FlagKind::OtherProcesses));
    assert!(suspicions(case, "canary-liar@strays").contains(&FlagKind::LeftProcessor));
    let made = LIARS.arm(case, "canary-liar@threads").witnessed.tasks_made_low;
    assert!(made.is_none_or(|made| made >= 5.0), "a thread in every hundred gets: {made:?}");
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

#[test]
fn a_clock_that_counts_half_of_the_time_leaves_the_other_half_to_the_labs() {
    let (case, arm) = ("liars/clock", "canary-clock@halves");
    let slices = LIARS.record.slices.iter().filter(|slice| slice.case == case && slice.arm == arm);
    let waited = slices.map(|slice| (slice.witness.expect("the lab looked").waited_ns, slice.wall_ns));
    assert!(waited.into_iter().all(|(waited, said)| waited >= said * 2), "half of it is not told");
    if is_contended(case) {
        eprintln!("not tested: on a machine this busy the lab waits for its neighbours too");
    } else {
        assert!(suspicions(case, arm).contains(&FlagKind::BesideTheClock));
    }
    assert!(!suspicions(case, "canary-clock@honest").contains(&FlagKind::BesideTheClock));
    assert_spared(case, &["rusqlite@wal-normal"]);
}
