//! What the lab itself saw over made-up samples: promises of durability that were not kept, and the flags that rest on it.

mod made;

use made::{blank, part, slice};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use touchstone::estimate::estimate;
use touchstone::kit::{Contender, DurabilityClass};
use touchstone::plan::PlannedLoad;
use touchstone::record::Record;
use touchstone::sample::{Introduction, LoadWindow, Phase, Probe, Slice, SyncCount, Witness};
use touchstone::suite::{Cache, DELTA, Scenario};
use touchstone::verdict::{Comparison, FlagKind, Judgement, Verdict, judge};
use touchstone_protocol::{Clock, Hello, Setting, Verb};

const CASE: &str = "made/c0";
const ARM: &str = "s@candidate";
const OTHER: &str = "s@baseline";
const LAUNCHES: usize = 8;
const SLICE_NS: f64 = 2e6;

/// Two honest arms; each launch has two slices of 2 ms, in which `verb` is played 10 times.
fn honest(verb: Verb) -> Record {
    let mut record = blank(made::plan(1));
    let case = &mut record.plan.cases[0];
    case.blocks = 2;
    case.arms.truncate(2);
    case.arms.iter_mut().for_each(|arm| arm.lanes[0].verb = verb);
    for (launch, arm) in (0..LAUNCHES).flat_map(|launch| [(launch, OTHER), (launch, ARM)]) {
        record.launches.push(part(CASE, launch, arm));
        for block in 0..2 {
            let mut slice = slice(CASE, launch, arm, SLICE_NS);
            (slice.block, slice.operations) = (block, 10);
            slice.usage.voluntary_switches = 1;
            slice.usage.written_bytes = 1;
            slice.lanes = vec![Default::default()];
            slice.witness = Some(Witness {
                waited_ns: 2_200_000,
                read_bytes: Some(300),
                written_bytes: Some(41_200),
                flushes: Some(10),
                tasks_made: Some(0),
                ..Witness::default()
            });
            record.slices.push(slice);
        }
    }
    for (launch, block) in (0..LAUNCHES).flat_map(|launch| [(launch, 0), (launch, 1)]) {
        let flush_ns = 150_000;
        record.probes.push(Probe { case: CASE.into(), launch, block, flush_ns, flushes: Some(1) });
    }
    record.syncs = [OTHER, ARM].map(recorded).to_vec();
    record
}

/// What the recorder counts of an arm that keeps its promise.
fn recorded(arm: &str) -> SyncCount {
    let none = SyncCount::unavailable(CASE, arm, "");
    SyncCount {
        unavailable: None,
        commits: 41,
        syncs_per_commit: 1,
        syncs: 41,
        durable_commits: Some(41),
        bytes_written: 41 * 4120,
        ..none
    }
}

fn judged(verb: Verb, change: impl Fn(&mut Record)) -> Judgement {
    let mut record = honest(verb);
    change(&mut record);
    judge(&record.plan, &estimate(&record).cases, &record.subjects)
}

fn kinds(judgement: &Judgement) -> Vec<FlagKind> {
    judgement.flags.iter().map(|flag| flag.kind).collect()
}

/// What is said of the arm when something about its commits is changed.
fn commits(change: impl Fn(&mut Record)) -> (Comparison, Vec<FlagKind>) {
    let judgement = judged(Verb::InsertOne, change);
    (judgement.comparisons[0].clone(), kinds(&judgement))
}

fn each_witness(record: &mut Record, change: impl Fn(&mut Witness)) {
    let slices = record.slices.iter_mut().filter(|slice| slice.arm == ARM);
    slices.filter_map(|slice| slice.witness.as_mut()).for_each(change);
}

#[track_caller]
fn assert_broken(change: impl Fn(&mut Record), why: &str) {
    let (comparison, kinds) = commits(change);
    assert_eq!(comparison.verdict, Verdict::Incomparable, "{comparison:?}");
    assert!(comparison.reasons.join("\n").contains(why), "{comparison:?}");
    assert_eq!(kinds, [FlagKind::BrokenPromise]);
}

#[track_caller]
fn assert_kept(change: impl Fn(&mut Record)) {
    let (comparison, kinds) = commits(change);
    assert_ne!(comparison.verdict, Verdict::Incomparable, "{comparison:?}");
    assert_eq!(kinds, []);
}

#[test]
fn a_promise_that_is_kept_is_believed() {
    assert_kept(|_| ());
}

/// Found by an adversary: that operations failed was told, and with what in no file of the record.
#[test]
fn the_reason_names_with_what_the_first_operation_failed() {
    let reasons = |failed_with: Option<&str>| {
        let (comparison, _) = commits(|record| {
            record.slices.iter_mut().rfind(|slice| slice.arm == ARM).unwrap().lanes[0].errors =
                [("other".to_owned(), 280)].into();
            let part = record.launches.iter_mut().rfind(|part| part.arm == ARM).unwrap();
            part.failed_with = failed_with.map(str::to_owned);
        });
        comparison.reasons.join("\n")
    };
    let told = reasons(Some("no such row: 7"));
    assert!(told.contains(": operations failed (280 other), the first with: no such row: 7"), "{told}");
    assert!(reasons(None).ends_with(": operations failed (280 other)"), "an old record does not say");
}

/// The arms as services that bear a load: they have no lanes.
fn served(record: &mut Record) {
    for arm in &mut record.plan.cases[0].arms {
        (arm.serves, arm.lanes) = (true, Vec::new());
    }
}

/// Found on reading: a service has no lane that writes, and was asked for no promise.
#[test]
fn a_service_keeps_the_promise_of_its_class_like_any_other() {
    assert_kept(served);
    let unkept = |record: &mut Record| {
        served(record);
        record.syncs[1].durable_commits = Some(0);
    };
    assert_broken(unkept, "of 41 recorded commits 0 had been kept");
    // A flush of a length of the case's own asks no disk.
    assert_kept(|record| {
        unkept(record);
        record.syncs[1].syncs = 0;
        record.plan.cases[0].arms[1].flush_us = Some(500);
    });
}

/// Found by a full run: two services that were asked to store nothing on a download were told to have broken their promise, of
/// commits that there were none of.
#[test]
fn a_service_that_is_asked_to_store_nothing_has_no_commits_to_keep() {
    let downloads = |record: &mut Record, uploads: bool, word: &str| {
        served(record);
        let case = &mut record.plan.cases[0];
        let step = if uploads { "up" } else { "down" };
        let asks = json!({
            "request": [
                { "name": "up", "path": DELTA, "body": "{}" },
                { "name": "down", "path": format!("{DELTA}?cursor=0") },
            ],
            "flow": [{ "steps": [step] }],
        });
        let Value::Object(asks) = asks else { unreachable!("it is an object") };
        let scenario = Scenario { name: "s".into(), asks };
        case.load = Some(PlannedLoad { scenario, users: 1, window_ms: 1, warm_ms: 1 });
        case.arms
            .iter_mut()
            .for_each(|arm| drop(arm.settings.insert("download".into(), Setting::from(word))));
        record.syncs[1].durable_commits = Some(0);
        record.syncs[1].written_commits = Some(0);
    };
    assert_kept(|record| downloads(record, false, "reads"));
    assert_broken(|record| downloads(record, false, "writes"), "of 41 recorded commits 0 had been kept");
    assert_broken(|record| downloads(record, true, "reads"), "of 41 recorded commits 0 had been kept");
}

#[test]
fn a_load_that_its_generator_doubts_is_compared_with_nothing() {
    let windows = |doubted: usize| {
        move |record: &mut Record| {
            served(record);
            let window = |position: usize| LoadWindow {
                case: CASE.into(),
                launch: 0,
                arm: ARM.into(),
                phase: Phase::Measure,
                block: 0,
                position: position as u32,
                seconds: 1.0,
                users: 8,
                endpoints: Vec::new(),
                generator_busy: 0.9,
                doubts: if position < doubted { vec!["it was busy".into()] } else { Vec::new() },
            };
            record.loads = (0..8).map(window).collect();
        }
    };
    assert_kept(windows(2));
    let (comparison, _) = commits(windows(3));
    let told = comparison.reasons.join("\n");
    assert_eq!(comparison.verdict, Verdict::Incomparable, "{told}");
    assert!(told.contains("the load generator doubts 3 of 8 windows: it was busy"), "{told}");
}

#[test]
fn commits_that_were_not_kept_before_the_reply_break_the_promise() {
    assert_broken(
        |record| record.syncs[1].durable_commits = Some(0),
        "of 41 recorded commits 0 had been kept",
    );
    assert_kept(|record| record.syncs[1].durable_commits = Some(38));
    assert_kept(|record| {
        record.syncs[1].durable_commits = Some(0);
        record.plan.cases[0].arms[1].class = DurabilityClass::Consistent;
    });
    // A record from before they were counted.
    assert_kept(|record| record.syncs[1].durable_commits = None);
    let idle = "syncs of files that had not changed, over all of them: 41";
    assert_broken(
        |record| (record.syncs[1].durable_commits, record.syncs[1].idle_syncs) = (Some(0), 41),
        idle,
    );
}

#[test]
fn commits_that_await_the_disk_only_while_they_are_recorded_break_the_promise() {
    let unflushed = |record: &mut Record| each_witness(record, |witness| witness.flushes = Some(0));
    assert_broken(unflushed, "completed 0.00 flushes for each of its commits");
    let half_flushed = |record: &mut Record| {
        each_witness(record, |witness| witness.flushes = Some(10));
        (record.syncs[1].syncs, record.syncs[1].syncs_per_commit) = (41 * 5, 5);
    };
    assert_broken(half_flushed, "completed 1.00 flushes for each of its commits");
    // A neighbour's flushes come on top.
    assert_kept(|record| each_witness(record, |witness| witness.flushes = Some(30)));
}

/// Found by an adversary: an engine that had kept 49 of 50 commits in memory was better in a class that survives a kill.
#[test]
fn commits_that_were_not_written_before_the_reply_break_the_promise_of_every_class() {
    for class in [DurabilityClass::Process, DurabilityClass::Consistent, DurabilityClass::Fragile] {
        let written = |commits: u64| {
            move |record: &mut Record| {
                record.plan.cases[0].arms[1].class = class;
                record.syncs[1].written_commits = Some(commits);
            }
        };
        assert_broken(written(1), "of 41 recorded commits 1 had been written before they were acknowledged");
        assert_kept(written(38));
        // What is stored through a mapping is not seen, but no record is in SQLite's shared memory.
        let mapped = |file: &str| {
            let file = file.to_owned();
            move |record: &mut Record| {
                written(1)(record);
                record.syncs[1].mapped = vec![file.clone()];
            }
        };
        assert_kept(mapped("data.mdb"));
        assert_broken(mapped("data.db-shm"), "of 41 recorded commits 1 had been written");
    }
}

/// Found by an adversary: a driver that would not be recorded gathered its writes, and nothing was said of it.
#[test]
fn commits_that_alone_could_not_be_recorded_are_told() {
    let told = |refuses: &[usize]| {
        let judgement = judged(Verb::InsertOne, |record| {
            for arm in refuses {
                let name = record.syncs[*arm].arm.clone();
                record.syncs[*arm] = SyncCount::unavailable(CASE, &name, "its pipe closed");
            }
        });
        judgement.flags.iter().map(|flag| (flag.kind, flag.evidence.clone())).collect::<Vec<_>>()
    };
    let evidence = "its commits could not be recorded, and others' could: its pipe closed".to_owned();
    assert_eq!(told(&[1]), [(FlagKind::Unrecorded, evidence)]);
    assert_eq!(told(&[0, 1]), [], "this machine records nobody");
}

/// Found by an adversary: an engine that makes its log larger in one commit of many, or syncs many files, was held to that one.
#[test]
fn one_costly_commit_is_not_asked_of_all() {
    assert_kept(|record| {
        let recorded = &mut record.syncs[1];
        (recorded.bytes_written, recorded.bytes_of_median) = (41 * 4120 + (1 << 20), Some(4120));
        (recorded.syncs, recorded.syncs_most) = (41 + 64, 65);
    });
}

/// Adds a third slice to each launch of the arm, which takes three times as long, and does for all three what they must do.
fn with_an_honest_third(record: &mut Record, change: impl Fn(&mut Witness)) {
    each_witness(record, change);
    let thirds = record.slices.iter().filter(|slice| slice.arm == ARM && slice.block == 0).cloned();
    let thirds: Vec<Slice> = thirds
        .map(|mut slice| {
            slice.block = 2;
            (slice.wall_ns, slice.cpu_ns) = (3 * slice.wall_ns + 7, 3 * slice.cpu_ns);
            let seen = slice.witness.as_mut().unwrap();
            (seen.flushes, seen.written_bytes, seen.waited_ns) =
                (Some(30), Some(123_600), slice.wall_ns + 200_000);
            slice
        })
        .collect();
    record.slices.extend(thirds);
}

#[test]
fn what_two_slices_of_three_do_not_do_is_not_done_by_the_third() {
    let unflushed = |record: &mut Record| with_an_honest_third(record, |witness| witness.flushes = Some(0));
    assert_broken(unflushed, "while it was timed all disks together completed 0.00 flushes");
    let dry = |record: &mut Record| with_an_honest_third(record, |witness| witness.written_bytes = Some(0));
    assert_broken(dry, "it wrote 0 bytes a commit");
    let beside = flags(|record| with_an_honest_third(record, |witness| witness.waited_ns = 7_200_000));
    assert_eq!(beside, [FlagKind::BesideTheClock]);
    assert_kept(|record| with_an_honest_third(record, |_| ()));
}

/// The launches that a difference follows are not kept by what others do. Found by an adversary: a third of them moves it.
#[test]
fn what_some_launches_do_not_do_is_not_done_by_the_others() {
    let unflushed = |is_unflushed: fn(usize) -> bool| {
        move |record: &mut Record| {
            for slice in record.slices.iter_mut().filter(|slice| slice.arm == ARM) {
                let flushes = if is_unflushed(slice.launch) { 0 } else { 40 };
                slice.witness.as_mut().unwrap().flushes = Some(flushes);
            }
        }
    };
    let why = "while it was timed all disks together completed 0.00 flushes";
    assert_broken(unflushed(|launch| launch % 3 != 0), why);
    assert_broken(unflushed(|launch| launch % 3 == 0), why);
    // A kernel may count a flush in the slice after its own: two of eight move no difference, and one of a few may be chance.
    assert_kept(unflushed(|launch| launch == 3 || launch == 5));
    let few = |record: &mut Record| {
        unflushed(|launch| launch == 1)(record);
        record.slices.retain(|slice| slice.launch < 3);
        record.launches.retain(|part| part.launch < 3);
    };
    assert_kept(few);
}

/// Found on reading: a slice of a mixed load in which no transaction wrote was held to the average's flushes and time, and an
/// honest strict arm was told that it was quicker than a flush.
#[test]
fn a_slice_of_a_mixed_load_owes_the_commits_that_it_counted() {
    let mixed = |writes: fn(usize) -> bool, writes_flush: bool| {
        move |record: &mut Record| {
            for lane in record.plan.cases[0].arms.iter_mut().flat_map(|arm| &mut arm.lanes) {
                (lane.verb, lane.reads) = (Verb::Mix, Some(90));
            }
            for slice in &mut record.slices {
                let writes = writes(slice.launch);
                slice.commits = Some(if writes { 2 } else { 0 });
                slice.operations = 100;
                slice.wall_ns /= if writes { 1 } else { 2 };
                slice.wall_ns += 37 * slice.launch as u64 + 11 * u64::from(slice.block);
                slice.cpu_ns = slice.wall_ns.min(slice.cpu_ns);
                let seen = slice.witness.as_mut().unwrap();
                let is_kept = slice.arm == OTHER || writes_flush;
                seen.flushes = Some(if writes && is_kept { 2 } else { 0 });
                seen.waited_ns = slice.wall_ns + 200_000;
                if !writes {
                    seen.written_bytes = Some(0);
                }
            }
        }
    };
    let mostly_reads = |launch: usize| launch == 7;
    assert_kept(mixed(mostly_reads, true));
    let half_writes = |launch: usize| launch % 2 == 1;
    assert_kept(mixed(half_writes, true));
    assert_broken(mixed(half_writes, false), "completed 0.00 flushes for each of its commits");
}

/// A class that promises nothing may gather what it writes, so that most slices write nothing.
#[test]
fn writes_may_be_gathered_where_nothing_is_promised() {
    let gathered = |class: DurabilityClass| {
        let (comparison, _) = commits(|record| {
            record.plan.cases[0].arms[1].class = class;
            for slice in record.slices.iter_mut().filter(|slice| slice.arm == ARM) {
                let is_quick = slice.block == 0;
                slice.wall_ns -= u64::from(is_quick);
                slice.witness.as_mut().unwrap().written_bytes = Some(if is_quick { 0 } else { 82_400 });
            }
        });
        comparison.reasons.join("\n").contains("it wrote 0 bytes a commit")
    };
    assert!(!gathered(DurabilityClass::None));
    assert!(gathered(DurabilityClass::Process), "each commit must have left the process");
}

#[test]
fn commits_that_do_not_await_the_disk_while_latencies_are_kept_break_the_promise() {
    let stretch = |flushes: u64| {
        move |record: &mut Record| {
            let first = record.slices.iter().filter(|slice| slice.arm == ARM && slice.block == 0).cloned();
            let mut stretches: Vec<Slice> = first.collect();
            for slice in &mut stretches {
                slice.phase = Phase::Latency;
                slice.witness.as_mut().unwrap().flushes = Some(flushes);
            }
            record.slices.extend(stretches);
        }
    };
    assert_broken(stretch(0), "while its latencies were kept all disks together completed 0.00 flushes");
    assert_kept(stretch(10));
}

#[test]
fn flushes_are_not_asked_for_where_they_cannot_be_counted() {
    let unflushed = |record: &mut Record| each_witness(record, |witness| witness.flushes = Some(0));
    assert_kept(|record| {
        unflushed(record);
        record.probes.iter_mut().for_each(|probe| probe.flushes = Some(0));
    });
    assert_kept(|record| {
        unflushed(record);
        record.probes.iter_mut().for_each(|probe| probe.flushes = None);
    });
    let spared = |every: usize| {
        move |record: &mut Record| {
            unflushed(record);
            record.probes.iter_mut().step_by(every).for_each(|probe| probe.flushes = Some(0));
        }
    };
    assert_broken(spared(4), "completed 0.00 flushes");
    assert_kept(spared(2));
    assert_kept(|record| {
        unflushed(record);
        record.syncs[1].synchronous_writes = 41;
    });
    // One such write among many syncs excuses nothing.
    assert_broken(
        |record| {
            unflushed(record);
            record.syncs[1].synchronous_writes = 1;
        },
        "completed 0.00 flushes",
    );
    // Where nothing can be recorded the disks are asked all the same.
    assert_broken(
        |record| {
            unflushed(record);
            record.syncs.clear();
        },
        "completed 0.00 flushes",
    );
}

#[test]
fn whatever_the_class_a_commit_writes_what_it_wrote_while_it_was_recorded() {
    let dry = |record: &mut Record| each_witness(record, |witness| witness.written_bytes = Some(200));
    assert_broken(dry, "it wrote 20 bytes a commit while it was timed, and 4120 while it was recorded");
    assert_broken(
        |record| {
            dry(record);
            record.plan.cases[0].arms[1].class = DurabilityClass::Process;
        },
        "it wrote 20 bytes a commit",
    );
    assert_kept(|record| {
        dry(record);
        record.syncs[1].refused = vec!["io_uring".into()];
    });
    // Another process writes for it, whose bytes are not seen.
    let (comparison, kinds) = commits(|record| {
        dry(record);
        record.launches[1].children = Some(1);
    });
    assert_ne!(comparison.verdict, Verdict::Incomparable, "{comparison:?}");
    assert_eq!(kinds, [FlagKind::OtherProcesses]);
    // In the recorded pass it made a checkpoint, which writes everything twice.
    assert_kept(|record| each_witness(record, |witness| witness.written_bytes = Some(20_600)));
}

#[test]
fn who_reads_promises_nothing() {
    let judgement = judged(Verb::Get, |record| {
        record.syncs[1].durable_commits = Some(0);
        each_witness(record, |witness| witness.flushes = Some(0));
    });
    assert_eq!(kinds(&judgement), []);
}

/// The flags of two arms that get, when something is changed.
fn flags(change: impl Fn(&mut Record)) -> Vec<FlagKind> {
    kinds(&judged(Verb::Get, change))
}

#[test]
fn time_that_the_kit_does_not_count_is_told() {
    let waited =
        |waited_ns: u64| flags(|record| each_witness(record, |witness| witness.waited_ns = waited_ns));
    assert_eq!(waited(4_200_000), [FlagKind::BesideTheClock]);
    assert_eq!(waited(2_500_000), []);
    let other_language = |record: &mut Record| {
        each_witness(record, |witness| witness.waited_ns = 4_200_000);
        record.plan.cases[0].arms[1].language = "python".into();
    };
    assert_eq!(flags(other_language), [], "its kit takes its own time for the answers");
}

/// The flags of two arms with four slices a launch, each of which had the lab wait beside the clock as `beside_ns` says of its arm
/// and its number among the arm's.
fn flags_beside(beside_ns: impl Fn(&str, u64) -> u64) -> Vec<FlagKind> {
    flags(|record| {
        let again = record.slices.clone().into_iter().map(|slice| Slice { block: slice.block + 2, ..slice });
        record.slices.extend(again.collect::<Vec<_>>());
        let mut played = BTreeMap::<String, u64>::new();
        for slice in &mut record.slices {
            let number = played.entry(slice.arm.clone()).or_default();
            *number += 1;
            slice.witness.as_mut().unwrap().waited_ns = slice.wall_ns + beside_ns(&slice.arm, *number);
        }
    })
}

/// Others make the lab wait for a slice by chance, up to 34 ms; not for each.
#[test]
fn time_that_the_kit_does_not_count_is_told_on_a_busy_machine_too() {
    let waited = |hidden_ns: u64| {
        flags_beside(|arm, number| {
            let delayed_ns = (number * 7 % 16).pow(3) * 10_000;
            delayed_ns + if arm == ARM { hidden_ns } else { 0 }
        })
    };
    assert_eq!(waited(2_000_000), [FlagKind::BesideTheClock]);
    assert_eq!(waited(300_000), []);
}

/// Found by an adversary: of four equal arms in Java one was told in each of three runs. What a runtime that still compiles adds
/// falls from slice to slice, and how far it falls is chance.
#[test]
fn a_runtime_that_still_compiles_hides_nothing() {
    let waited = |hidden_ns: u64| {
        flags_beside(|arm, number| {
            let compiling_ns = (number * 7 % 16) * 700_000;
            if arm == ARM { hidden_ns + compiling_ns.max(2_092_000) } else { compiling_ns.max(1_165_000) }
        })
    };
    assert_eq!(waited(0), []);
    assert_eq!(waited(2_000_000), [FlagKind::BesideTheClock]);
}

#[test]
fn what_is_read_while_it_is_opened_is_ready_before_it_is_asked() {
    let opened = |cache: Cache, opening: u64, slice: u64| {
        flags(|record| {
            record.plan.cases[0].cache = cache;
            record.launches.iter_mut().for_each(|part| part.file_bytes = [("data".into(), 400_000)].into());
            each_witness(record, |witness| {
                (witness.opening_read_bytes, witness.read_bytes) = (Some(opening), Some(slice));
            });
        })
    };
    assert_eq!(opened(Cache::Reopened, 400_000, 300), [FlagKind::ReadyBefore]);
    assert_eq!(opened(Cache::Reopened, 8_000, 340_000), []);
    assert_eq!(opened(Cache::Reopened, 400_000, 400_000), [], "it reads everything twice");
    let evicted = opened(Cache::Evicted, 400_000, 400_000);
    assert_eq!(evicted, [FlagKind::ReadyBefore], "the second time from the page cache");
    assert_eq!(opened(Cache::Warm, 400_000, 300), [], "it is not opened for each slice");
}

#[test]
fn an_engine_that_was_not_asked_did_nothing() {
    let counted = |statements: i64, hits: i64| {
        flags(|record| {
            let counters = [("statements", statements), ("cache_hits", hits), ("cache_misses", 0)];
            record.launches[1].counters =
                counters.map(|(name, count)| (name.to_owned(), count)).into_iter().collect();
        })
    };
    assert_eq!(counted(0, 0), [FlagKind::EngineIdle]);
    assert_eq!(counted(0, 7), [], "it read pages without a statement");
    assert_eq!(counted(10, 0), []);
    assert_eq!(counted(1, 7), [FlagKind::EngineIdle], "of 10 gets");
    assert_eq!(counted(6, 7), [FlagKind::EngineIdle], "four of ten came from elsewhere");
    assert_eq!(counted(9, 7), []);
}

/// Found by an adversary: gets of a mixed load that were answered from the driver's own memory were better, and not flagged.
#[test]
fn the_gets_of_a_mixed_load_are_asked_of_the_engine_too() {
    let counted = |reads: u32, statements: i64| {
        flags(|record| {
            for lane in record.plan.cases[0].arms.iter_mut().flat_map(|arm| &mut arm.lanes) {
                (lane.verb, lane.reads) = (Verb::Mix, Some(reads));
            }
            record.slices.iter_mut().for_each(|slice| slice.operations = 1_000);
            let counters = [("statements", statements), ("cache_hits", 7), ("cache_misses", 0)];
            record.launches[1].counters =
                counters.map(|(name, count)| (name.to_owned(), count)).into_iter().collect();
        })
    };
    for (reads, updates_alone) in [(90, 100), (70, 300), (30, 700), (10, 900)] {
        assert!(counted(reads, updates_alone).contains(&FlagKind::EngineIdle), "{reads} of 100 read");
        assert!(!counted(reads, 1_000).contains(&FlagKind::EngineIdle), "{reads} of 100 read");
    }
    // Found by a user: a lane by the clock explains 256 operations, whatever it plays in its time.
    let by_the_clock = |statements: i64| {
        flags(|record| {
            for lane in record.plan.cases[0].arms.iter_mut().flat_map(|arm| &mut arm.lanes) {
                (lane.verb, lane.reads, lane.lasts_ms) = (Verb::Mix, Some(70), Some(2));
            }
            record.slices.iter_mut().for_each(|slice| slice.operations = 100_000);
            let counters = [("statements", statements), ("cache_hits", 7), ("cache_misses", 0)];
            record.launches[1].counters =
                counters.map(|(name, count)| (name.to_owned(), count)).into_iter().collect();
        })
    };
    assert!(!by_the_clock(256).contains(&FlagKind::EngineIdle));
    assert!(by_the_clock(77).contains(&FlagKind::EngineIdle), "it has 77 updates");
}

/// Bytes of the records that are got, and what a slice of 1,000 gets reads of a cache that is told as 2 MB.
fn with_a_cache(data: u64, read_bytes: u64, change: impl Fn(&mut Record)) -> Vec<FlagKind> {
    flags(|record| {
        record.plan.cases[0].cache = Cache::Warm;
        record.plan.cases[0].dataset.value_bytes = 100;
        record.plan.cases[0].filled = data / 100;
        for part in &mut record.launches {
            part.settings.insert("cache_size_bytes".into(), Setting::Number(2_000_000));
        }
        for slice in &mut record.slices {
            slice.operations = 1000;
            let read = if slice.arm == ARM { read_bytes } else { 4_000_000 };
            slice.witness.as_mut().unwrap().read_bytes = Some(read);
        }
        change(record);
    })
}

/// Found by an adversary: a cache of 64 MB that was told as one of 2 MB was better where the data fitted the one alone.
#[test]
fn a_cache_that_hardly_misses_is_larger_than_it_is_told() {
    let larger = [FlagKind::LargerCache];
    // 800 of 1,000 gets must miss, and half of what they get is 40 kB; of pages it is 1.6 MB.
    assert_eq!(with_a_cache(10_000_000, 300, |_| ()), larger);
    assert_eq!(with_a_cache(10_000_000, 39_000, |_| ()), larger);
    assert_eq!(with_a_cache(10_000_000, 41_000, |_| ()), []);
    assert_eq!(with_a_cache(4_000_000, 300, |_| ()), [], "such a cache may hold half of it");
    let paged = |record: &mut Record| {
        for part in &mut record.launches {
            part.settings.insert("page_size_bytes".into(), Setting::Number(4096));
        }
    };
    assert_eq!(with_a_cache(10_000_000, 1_600_000, paged), larger, "it holds half of the data");
    assert_eq!(with_a_cache(10_000_000, 1_700_000, paged), []);
    let mapped = |record: &mut Record| {
        for part in &mut record.launches {
            part.settings.insert("mmap_size_bytes".into(), Setting::Number(1 << 28));
        }
    };
    assert_eq!(with_a_cache(10_000_000, 300, mapped), [], "what is mapped is read without a call");
    assert_eq!(
        with_a_cache(10_000_000, 300, |record| record.plan.cases[0].get_record = Some(1)),
        [],
        "one record is held by every cache"
    );
    let untold = |record: &mut Record| record.launches.iter_mut().for_each(|part| part.settings.clear());
    assert_eq!(with_a_cache(10_000_000, 300, untold), []);
}

/// Found by an adversary: a cache that was larger in two launches of five moved the ratio, and not the median of what was read.
#[test]
fn a_cache_that_is_larger_in_some_launches_is_larger_than_it_is_told() {
    let in_launches = |number: usize| {
        with_a_cache(10_000_000, 4_000_000, |record| {
            for slice in record.slices.iter_mut().filter(|slice| slice.arm == ARM && slice.launch < number) {
                slice.witness.as_mut().unwrap().read_bytes = Some(300);
            }
        })
    };
    assert_eq!(in_launches(3), [FlagKind::LargerCache]);
    assert_eq!(in_launches(2), [], "so few move no difference");
}

/// Found by an adversary: a clock of half the pace in two launches of three was better, and passed a gate.
#[test]
fn a_clock_that_goes_wrong_in_some_launches_is_told() {
    let in_launches = |number: usize| {
        flags(|record| {
            let one = record.slices.clone();
            record.slices = (0..16).flat_map(|_| one.clone()).collect();
            for slice in record.slices.iter_mut().filter(|slice| slice.arm == ARM && slice.launch < number) {
                slice.wall_ns /= 2;
            }
        })
    };
    assert!(in_launches(3).contains(&FlagKind::BesideTheClock));
    assert!(!in_launches(2).contains(&FlagKind::BesideTheClock), "so few move no difference");
}

#[test]
fn an_engine_that_only_one_launch_asked_did_nothing() {
    let counted = |first: i64, second: i64| {
        flags(|record| {
            let parts = record.launches.iter_mut().filter(|part| part.arm == ARM);
            for (part, statements) in parts.zip([first, second]) {
                let counters = [("statements", statements), ("cache_hits", 0), ("cache_misses", 0)];
                part.counters = counters.map(|(name, count)| (name.to_owned(), count)).into();
            }
        })
    };
    assert_eq!(counted(10, 0), [FlagKind::EngineIdle], "an earlier process kept the answers");
    assert_eq!(counted(0, 10), [FlagKind::EngineIdle], "the first had them already");
    assert_eq!(counted(10, 10), []);
}

#[test]
fn nobody_is_better_than_the_same_engines_own_interface() {
    let beyond = |wall_ns: u64, engine: &str| beyond_with(wall_ns, engine, "commit");
    assert_eq!(beyond(1_000_000, "an engine 1.0"), [FlagKind::BeyondFloor]);
    assert_eq!(beyond(1_960_000, "an engine 1.0"), [], "as near as two programs are");
    assert_eq!(beyond(1_000_000, "another 2.0"), [], "another engine has another floor");
    assert_eq!(beyond_with(1_000_000, "an engine 1.0", "background"), [], "another thread does some of it");
}

fn beyond_with(wall_ns: u64, engine: &str, checkpoint: &str) -> Vec<FlagKind> {
    flags(|record| {
        for part in &mut record.launches {
            let checkpoint = if part.arm == ARM { checkpoint } else { "commit" };
            part.settings.insert("checkpoint".into(), Setting::from(checkpoint));
        }
        record.plan.cases[0].floor = Some(OTHER.into());
        let (own, other) = (introduction(OTHER, "an engine 1.0"), introduction(ARM, engine));
        record.plan.cases[0].arms[1].contender = other.contender.clone();
        record.subjects = vec![own, other];
        for (number, slice) in record.slices.iter_mut().filter(|slice| slice.arm == ARM).enumerate() {
            // No two launches alike, so that ranks have no ties.
            slice.wall_ns = wall_ns + number as u64;
            slice.cpu_ns = slice.wall_ns;
            slice.witness = None;
        }
    })
}

fn introduction(arm: &str, engine: &str) -> Introduction {
    let subject = if arm == ARM { "t@candidate" } else { arm };
    Introduction {
        contender: Contender::try_from(subject.to_owned()).unwrap(),
        hello: Hello {
            protocol: 1,
            kit: "rust 0.1.0".into(),
            subject: subject.into(),
            version: "1".into(),
            engine: engine.into(),
            engine_source: String::new(),
            compile_options: Vec::new(),
            capabilities: Vec::new(),
            clock: Clock { name: "made up".into(), cost_ns: 24.0, resolution_ns: 1 },
        },
        program_crc32: String::new(),
    }
}

#[test]
fn threads_that_end_before_anybody_looks_are_seen_being_made() {
    let made = |mine: u64, others: u64| {
        flags(|record| {
            for slice in &mut record.slices {
                let tasks = if slice.arm == ARM { mine } else { others };
                slice.witness.as_mut().unwrap().tasks_made = Some(tasks);
            }
        })
    };
    assert_eq!(made(5, 0), [FlagKind::UntoldThreads]);
    assert_eq!(made(5, 3), [], "somebody else makes them all the time");
    assert_eq!(made(0, 0), []);
    let of_few = flags(|record| {
        let mut kept = BTreeMap::<String, usize>::new();
        record.slices.retain(|slice| {
            let kept = kept.entry(slice.arm.clone()).or_default();
            *kept += 1;
            *kept < 8
        });
        for slice in &mut record.slices {
            slice.witness.as_mut().unwrap().tasks_made = Some(u64::from(slice.arm == ARM));
        }
    });
    assert_eq!(of_few, [], "the system makes a task meanwhile, and few slices meet it by chance");
}

#[test]
fn other_processes_and_other_processors_are_told() {
    let children = |children: u64| flags(|record| record.launches[1].children = Some(children));
    assert_eq!(children(1), [FlagKind::OtherProcesses]);
    assert_eq!(children(0), []);
    let strayed = flags(|record| record.launches[1].strayed = Some("0-1".into()));
    assert_eq!(strayed, [FlagKind::LeftProcessor]);
    let at_rest = |share: f64, launches: usize| {
        flags(|record| {
            let rested = record.launches.iter_mut().filter(|part| part.arm == ARM);
            rested.for_each(|part| part.rest_cpu = Some(if part.launch < launches { share } else { 0.0 }));
        })
    };
    assert_eq!(at_rest(0.5, LAUNCHES), [FlagKind::BusyAtRest]);
    assert_eq!(at_rest(0.05, LAUNCHES), []);
    assert_eq!(at_rest(0.5, 3), [FlagKind::BusyAtRest], "of so few launches the estimate is moved");
    assert_eq!(at_rest(0.5, 1), [], "one launch moves nothing");
}
