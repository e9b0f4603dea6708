//! Services through the whole pipeline: real servers, real load, killed for real. The suite `services` as a user would run it.

mod support;

use std::sync::LazyLock;
use support::{Judged, finish, folder, plan, run, run_plan, shared_folder, touchstone};
use touchstone::sample::{Launch, LoadWindow, Outcome, Phase};
use touchstone::verdict::FlagKind;

/// Launches of each case: a canary leaves with its first.
const LAUNCHES: usize = 2;

static RUN: LazyLock<Judged> = LazyLock::new(|| {
    let (ended, record) = run_plan(&shared_folder(), &plan("services", &[], LAUNCHES), &[]);
    ended.succeeded();
    Judged::read(&record)
});

fn launches(case: &str, arm: &str) -> Vec<&'static Launch> {
    RUN.launches(&format!("services/{case}"), arm)
}

/// Why a canary's last launch is void: it leaves with that one. In the first launch a process is killed while users upload, and in the
/// second one behind uploads of the lab's own.
fn caught(canary: &str) -> &'static str {
    let launches = launches("canaries", &format!("{canary}@wal-normal"));
    let last = launches.last().unwrap_or_else(|| panic!("{canary} had no launch"));
    assert_eq!(last.outcome, Outcome::Void, "{canary}: {:?}", last.error);
    last.error.as_deref().expect("what is wrong is told")
}

#[test]
fn an_honest_service_keeps_everything_that_it_acknowledged() {
    let honest = launches("canaries", "fastapi-sqlalchemy@wal-normal");
    assert_eq!(honest.len(), LAUNCHES);
    for launch in honest {
        assert_eq!((launch.outcome, &launch.error), (Outcome::Completed, &None));
        assert!(launch.expected > 0 && launch.found == launch.expected, "{launch:?}");
        // A log is there as long as the service is.
        for file in ["sync.db", "sync.db-wal", "sync.db-shm"] {
            assert!(launch.file_bytes.contains_key(file), "{file}: {:?}", launch.file_bytes);
        }
    }
}

#[test]
fn revisions_of_the_wall_clock_are_caught() {
    let why = caught("canary-clock-cursor");
    assert!(why.contains("do not rise") || why.contains("are in no download"), "{why}");
}

#[test]
fn downloads_from_a_cache_are_caught() {
    let why = caught("canary-cached-download");
    assert!(why.contains("before and after an upload"), "{why}");
}

#[test]
fn an_acknowledgement_before_the_storing_is_caught() {
    let why = caught("canary-early-acknowledge");
    assert!(why.contains("acknowledged changes of user-"), "{why}");
    // All users' changes are looked for: those of the users behind the first that lacked some counted as lost.
    let last = launches("canaries", "canary-early-acknowledge@wal-normal").pop().expect("it had a launch");
    assert!(
        last.found < last.expected && last.found > last.expected / 2,
        "{} of {}",
        last.found,
        last.expected
    );
}

#[test]
fn an_acknowledgement_before_the_storing_is_caught_where_only_many_are_served_so() {
    let why = caught("canary-busy-acknowledge");
    assert!(why.contains("acknowledged changes of user-") && why.contains("the first of them `w"), "{why}");
}

#[test]
fn changes_of_long_before_that_are_given_no_more_are_caught() {
    let why = caught("canary-forgets-early");
    assert!(why.contains("seed-0-0"), "{why}");
}

#[test]
fn other_data_are_caught() {
    let why = caught("canary-other-data");
    assert!(why.contains("has other data than was uploaded"), "{why}");
}

#[test]
fn revisions_that_a_killed_process_had_given_before_are_caught() {
    let why = caught("canary-reuses-revisions");
    assert!(why.contains("after its process was started again"), "{why}");
}

#[test]
fn pages_without_end_are_caught() {
    let why = caught("canary-endless-pages");
    assert!(
        why.contains("was given") && (why.contains("more than") || why.contains("never uploaded")),
        "{why}"
    );
}

/// It is killed as a process, not with its machine, so that nothing is lost: the disk alone tells.
#[test]
fn commits_that_await_no_disk_while_they_are_timed_are_caught() {
    let honest = RUN.arm("services/unsynced", "fastapi-sqlalchemy@wal");
    let Some(flushes) = honest.witnessed.commit_flushes else {
        println!("not tested: the flushes of this machine's disk cannot be counted");
        return;
    };
    assert!(flushes > 0.5, "{flushes} flushes a commit");
    // One commit may serve as many uploads as there are users. The canary makes no flush: all that are seen are of other programs.
    let others = RUN.arm("services/unsynced", "canary-unsynced@wal").witnessed.commit_flushes;
    if others.is_none_or(|others| others >= 0.9 / 4.0) {
        println!("not tested: other programs flush this machine's disk: {others:?} flushes a commit");
        return;
    }
    let reasons = &RUN.comparison("services/unsynced", "canary-unsynced@wal").reasons;
    let promises: Vec<&String> = reasons.iter().filter(|why| why.contains("promises that")).collect();
    let [why] = promises[..] else { panic!("{reasons:?}") };
    assert!(why.contains("canary-unsynced@wal: class strict") && why.contains("while it was timed"), "{why}");
}

#[test]
fn work_while_others_are_asked_is_told() {
    let busy = RUN.judgement.flags.iter().filter(|flag| flag.kind == FlagKind::BusyAtRest);
    let arms: Vec<&str> = busy.map(|flag| flag.arm.as_str()).collect();
    assert!(arms.contains(&"canary-busy-at-rest@wal"), "{arms:?}");
    assert!(arms.iter().all(|arm| !arm.starts_with("fastapi")), "{arms:?}");
}

#[test]
fn what_users_met_is_in_the_record_by_endpoint() {
    let is_honest = |arm: &str| arm.starts_with("fastapi-sqlalchemy@");
    let measured = RUN.record.loads.iter().filter(|window| window.phase == Phase::Measure);
    let windows = measured.filter(|window| is_honest(&window.arm));
    for window in windows.clone() {
        let asked: Vec<&str> = window
            .endpoints
            .iter()
            .filter(|endpoint| !endpoint.is_setup)
            .map(|row| row.label.as_str())
            .collect();
        assert_eq!(asked, ["POST /v1/sync/delta", "GET /v1/sync/delta"], "{window:?}");
        assert!(window.endpoints.iter().all(|row| row.failures == 0), "{window:?}");
        assert!(window.endpoints.iter().all(|row| row.histogram().is_some_and(|times| !times.is_empty())));
    }
    assert!(windows.count() >= 2 * LAUNCHES);
}

/// DELETE and FULL flush four times for each of the two requests, one after the other: none can be quicker than that.
#[test]
fn a_flush_lasts_as_long_as_the_case_says() {
    let arm = "fastapi-sqlalchemy@as-found#flush-20ms";
    let is_measured = |window: &&LoadWindow| window.arm == arm && window.phase == Phase::Measure;
    let windows: Vec<&LoadWindow> = RUN.record.loads.iter().filter(is_measured).collect();
    assert!(windows.len() >= 2 * LAUNCHES, "{} windows", windows.len());
    for window in windows {
        for endpoint in window.endpoints.iter().filter(|endpoint| !endpoint.is_setup) {
            let shortest_ns = endpoint.histogram().expect("it is one").min();
            assert!(shortest_ns >= 80_000_000, "{}: {shortest_ns} ns", endpoint.label);
        }
    }
    assert!(launches("flushes", arm).iter().all(|launch| launch.outcome == Outcome::Completed));
}

#[test]
fn syncs_are_counted_an_iteration() {
    let of = |arm: &str| RUN.record.syncs.iter().find(|count| count.arm == arm).expect("it was recorded");
    let (wal, found) = (of("fastapi-sqlalchemy@wal-normal"), of("fastapi-sqlalchemy@as-found"));
    if let Some(why) = &wal.unavailable {
        println!("not tested: the recorder cannot run here: {why}");
        return;
    }
    assert_eq!(wal.syncs_per_commit, 0, "{wal:?}");
    assert_eq!(found.syncs_per_commit, 8, "{found:?}");
}

#[test]
fn a_search_for_a_capacity_is_of_services_that_there_are() {
    run(&["capacity", "couch/get"]).refused(64, &["`couch/get` has no load", "no services"]);
    run(&["capacity", "plantodo/nothing"]).refused(64, &["no case `plantodo/nothing`", "plantodo/oo_cross"]);
    run(&["capacity", "oo_cross"]).refused(64, &["not a case", "suite/case"]);
    let nobody = ["capacity", "plantodo/oo_cross", "--contender", "nobody@x"];
    run(&nobody).refused(64, &["nobody@x", "fastapi-sqlalchemy@wal"]);
}

/// Services of an internal suite were looked for among the cases of all others, and those were listed.
#[test]
fn a_case_with_its_suite_is_looked_for_in_that_suite() {
    let planned = run(&["plan", "--case", "services/canaries"]).succeeded().json();
    assert_eq!(planned["cases"][0]["id"], "services/canaries");
    let wrong = run(&["plan", "--case", "services/nothing"]);
    wrong.refused(64, &["no case `services/nothing`", "services/canaries, services/unsynced"]);
    assert!(!wrong.stderr.contains("couch/"), "{}", wrong.told());
    run(&["plan", "--case", "service/canaries"]).refused(64, &["no suite `service`", "services"]);
}

/// The generator was looked for at or above the current folder alone.
#[test]
fn load_is_offered_from_any_folder() {
    let elsewhere = folder();
    let ended = finish(touchstone().current_dir(elsewhere.path()).args(["load", "--help"])).succeeded();
    assert!(ended.stdout.contains("touchstone-load"), "{}", ended.told());
}
