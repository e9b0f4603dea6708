//! Every red flag over made-up samples: raised by what it is about, and not by what lies just beside it.

mod made;

use made::{blank, part, slice};
use touchstone::estimate::estimate;
use touchstone::kit::{Contender, DurabilityClass};
use touchstone::record::Record;
use touchstone::sample::{Introduction, Noise, Probe, SyncCount};
use touchstone::suite::Cache;
use touchstone::verdict::{FlagKind, judge};
use touchstone_protocol::{Clock, Hello, Verb};

const CASE: &str = "made/c0";
const ARM: &str = "s@baseline";
const OTHER: &str = "s@candidate";
const LAUNCHES: usize = 8;
const BLOCKS: u32 = 6;

/// A record of one honest arm, with slices of 1 ms on the processor all the time.
fn honest() -> Record {
    let mut record = blank(made::plan(1));
    record.plan.cases[0].blocks = BLOCKS;
    for launch in 0..LAUNCHES {
        record.launches.push(part(CASE, launch, ARM));
        for block in 0..BLOCKS {
            let mut slice = slice(CASE, launch, ARM, 1e6);
            slice.block = block;
            slice.usage.voluntary_switches = 1;
            record.slices.push(slice);
        }
    }
    record.subjects.push(Introduction {
        contender: Contender::try_from(ARM.to_owned()).unwrap(),
        hello: Hello {
            protocol: 1,
            kit: "rust 0.1.0".into(),
            subject: "s".into(),
            version: "1".into(),
            engine: "SQLite 3.53.2".into(),
            engine_source: String::new(),
            compile_options: Vec::new(),
            capabilities: Vec::new(),
            clock: Clock { name: "made up".into(), cost_ns: 24.0, resolution_ns: 1 },
        },
        program_crc32: String::new(),
    });
    record
}

/// The flags of an honest record with something changed.
fn flags(change: impl Fn(&mut Record)) -> Vec<FlagKind> {
    let mut record = honest();
    change(&mut record);
    let judgement = judge(&record.plan, &estimate(&record).cases, &record.subjects);
    judgement.flags.into_iter().map(|flag| flag.kind).collect()
}

fn latencies(record: &mut Record, ns: u64) {
    for launch in 0..LAUNCHES {
        record.latencies.insert((CASE.into(), ARM.into(), launch), vec![ns; 1000]);
    }
}

#[test]
fn an_honest_record_has_none() {
    assert_eq!(flags(|_| ()), []);
}

#[test]
fn a_subject_off_the_processor_that_asks_for_nothing_slept() {
    let off = |read_bytes: u64| {
        flags(|record| {
            for slice in &mut record.slices {
                slice.cpu_ns = 10_000;
                slice.usage.read_bytes = read_bytes;
            }
        })
    };
    assert_eq!(off(0), [FlagKind::Slept]);
    assert_eq!(off(4096), [], "it waited for what it read");
}

#[test]
fn more_processors_than_lanes_are_beyond_the_cores() {
    let busy = |wall_ns: u64, processors: f64| {
        flags(|record| {
            for slice in &mut record.slices {
                slice.wall_ns = wall_ns;
                slice.cpu_ns = (wall_ns as f64 * processors) as u64;
            }
        })
    };
    assert_eq!(busy(1_000_000, 1.9), [FlagKind::BeyondCores]);
    assert_eq!(busy(1_000_000, 1.4), [], "reading the clock and the kernel's own work");
    assert_eq!(busy(50_000, 1.9), [FlagKind::ShortSlices], "too short to tell");
}

#[test]
fn threads_that_no_profile_tells_of_are_flagged_where_they_share_a_processor() {
    let threaded = |threads: u64, told: bool| {
        flags(|record| {
            record.launches[3].threads = Some(threads);
            record.plan.cases[0].arms[1].threads = told;
        })
    };
    assert_eq!(threaded(2, false), [FlagKind::UntoldThreads]);
    assert_eq!(threaded(1, false), []);
    assert_eq!(threaded(2, true), [], "the case has all processors then");
}

#[test]
fn an_operation_of_a_few_readings_of_the_clock_is_below_its_resolution() {
    let quick = |ns: u64| {
        flags(|record| {
            record.slices.iter_mut().for_each(|slice| slice.operations = slice.wall_ns / 30);
            latencies(record, ns);
        })
    };
    assert_eq!(quick(30), [FlagKind::BelowResolution]);
    assert_eq!(quick(60), []);
}

#[test]
fn operations_that_are_quicker_while_latencies_are_kept_are_told() {
    let kept = |ns: u64, cache: Cache| {
        flags(|record| {
            record.plan.cases[0].cache = cache;
            for slice in &mut record.slices {
                (slice.operations, slice.usage.voluntary_switches) = (slice.wall_ns / 1000, 1);
            }
            latencies(record, ns);
        })
    };
    assert_eq!(kept(490, Cache::Warm), [FlagKind::OtherPace]);
    assert_eq!(kept(510, Cache::Warm), []);
    assert_eq!(kept(3000, Cache::Warm), [], "what reads the clock more often may be slower");
    for cache in [Cache::Evicted, Cache::Reopened] {
        assert_eq!(kept(490, cache), [], "the first operations bring the pages for the others");
    }
}

#[test]
fn a_clock_with_steps_of_a_large_part_of_a_slice_is_told() {
    let stepping = |step_ns: u64, odd_ns: u64| {
        flags(|record| {
            for (number, slice) in record.slices.iter_mut().enumerate() {
                slice.wall_ns = (20 + number as u64 % 2) * step_ns + odd_ns * (number as u64 % 3);
                (slice.cpu_ns, slice.operations) = (slice.wall_ns, 1000);
            }
        })
    };
    assert!(stepping(1_000_000, 0).contains(&FlagKind::CoarseClock));
    assert!(!stepping(1_000_000, 1).contains(&FlagKind::CoarseClock), "it counts nanoseconds");
}

#[test]
fn slices_of_two_kinds_in_a_launch_are_told() {
    let quick = |is_quick: fn(u32) -> bool, ratio: f64| quick_of(Verb::Get, is_quick, ratio);
    assert_eq!(quick(|block| block % 3 < 2, 1.6), [FlagKind::TwoKinds]);
    assert_eq!(quick(|block| block % 3 == 2, 1.6), [FlagKind::TwoKinds]);
    assert_eq!(quick(|block| block % 3 < 2, 1.4), [], "pages that lie badly make as much");
    assert_eq!(quick(|block| block == 4, 1.6), [], "one of nine is no kind");
    assert_eq!(quick_beside(4, 1e6), [FlagKind::TwoKinds]);
    assert_eq!(quick_beside(5, 1e6), [], "the machine was of two kinds");
    assert_eq!(quick_beside(0, 0.6e6), [FlagKind::TwoKinds]);
    assert_eq!(quick_beside(0, 0.5e6), [], "a neighbour spares slices that are shorter");
    let stored = quick_of(Verb::InsertOne, |block| block % 3 == 2, 1.6);
    assert!(!stored.contains(&FlagKind::TwoKinds), "checkpoints make two kinds: {stored:?}");
}

/// The flags where the arm's slices in some of nine blocks take that much less time.
fn quick_of(verb: Verb, is_quick: fn(u32) -> bool, ratio: f64) -> Vec<FlagKind> {
    flags(|record| quicken(record, verb, is_quick, ratio))
}

fn quicken(record: &mut Record, verb: Verb, is_quick: fn(u32) -> bool, ratio: f64) {
    record.plan.cases[0].arms.iter_mut().for_each(|arm| arm.lanes[0].verb = verb);
    record.plan.cases[0].blocks = 9;
    let honest = std::mem::take(&mut record.slices);
    for block in 0..9 {
        record.slices.extend(honest.iter().cloned().map(|mut slice| {
            slice.block = block;
            // An honest clock counts nanoseconds.
            slice.wall_ns += u64::from(block);
            if is_quick(block) {
                slice.wall_ns = (slice.wall_ns as f64 / ratio) as u64;
                slice.cpu_ns = slice.wall_ns;
            }
            slice
        }));
    }
}

/// The same where as many of another arm's launches are of two kinds, and its slices of the others take so long.
fn quick_beside(launches: usize, other_ns: f64) -> Vec<FlagKind> {
    flags(|record| {
        quicken(record, Verb::Get, |block| block % 3 < 2, 1.6);
        let mut others = record.slices.clone();
        for slice in &mut others {
            slice.arm = OTHER.into();
            if slice.launch >= launches {
                (slice.wall_ns, slice.cpu_ns) = (other_ns as u64, other_ns as u64);
            }
        }
        record.slices.extend(others);
        record.launches.extend((0..LAUNCHES).map(|launch| part(CASE, launch, OTHER)));
    })
}

#[test]
fn whole_milliseconds_off_the_processor_are_a_timers() {
    let waiting = |latency_ns: u64, cpu_ns: u64| {
        flags(|record| {
            latencies(record, latency_ns);
            for slice in &mut record.slices {
                slice.cpu_ns = cpu_ns;
                slice.usage.written_bytes = 100;
            }
        })
    };
    assert_eq!(waiting(2_060_000, 100_000), [FlagKind::TimerTick]);
    assert_eq!(waiting(2_060_000, 900_000), [], "it worked all the time");
    assert_eq!(waiting(1_500_000, 100_000), [], "no timer ticks so");
}

/// p50 1.09 ms, p90 12.02 ms and p95 15.97 ms were those of an honest contender on a busy disk.
#[test]
fn percentiles_that_are_whole_milliseconds_by_chance_are_no_timers() {
    let spread: Vec<u64> = (0..1000).map(|number| 600_000 + number * 16_100).collect();
    let mut by_chance = spread.clone();
    (by_chance[500], by_chance[900], by_chance[950]) = (8_020_000, 15_010_000, 16_000_000);
    by_chance.sort_unstable();
    let flagged = flags(|record| {
        for launch in 0..LAUNCHES {
            record.latencies.insert((CASE.into(), ARM.into(), launch), by_chance.clone());
        }
        for slice in &mut record.slices {
            slice.cpu_ns = 100_000;
            slice.usage.written_bytes = 100;
        }
    });
    assert_eq!(flagged, []);
}

#[test]
fn an_evicted_case_that_waits_for_nothing_was_answered_by_the_page_cache() {
    let evicted = |cache: Cache, waits: u64| {
        flags(|record| {
            record.plan.cases[0].cache = cache;
            record.slices.iter_mut().for_each(|slice| slice.usage.voluntary_switches = waits);
        })
    };
    assert_eq!(evicted(Cache::Evicted, 0), [FlagKind::PageCache]);
    assert_eq!(evicted(Cache::Evicted, 3), []);
    assert_eq!(evicted(Cache::Warm, 0), []);
}

#[test]
fn a_durable_commit_quicker_than_a_flush_is_doubted() {
    let commit = |class: DurabilityClass, flush_ns: u64| {
        flags(|record| {
            let arm = &mut record.plan.cases[0].arms[0];
            arm.class = class;
            arm.lanes[0].verb = Verb::InsertOne;
            for launch in 0..LAUNCHES {
                record.probes.push(Probe { case: CASE.into(), launch, block: 0, flush_ns, flushes: None });
            }
        })
    };
    assert_eq!(commit(DurabilityClass::Strict, 2_000_000), [FlagKind::QuickerThanFlush]);
    assert_eq!(commit(DurabilityClass::Strict, 1_100_000), []);
    assert_eq!(commit(DurabilityClass::Consistent, 2_000_000), [], "it promises no flush");
}

/// As PocketBase does, which is written in Go: its flushes took a tenth of a millisecond, and were to take two.
#[test]
fn a_flush_that_was_to_be_replaced_and_reached_the_disk_is_told() {
    let told = |flush_us: Option<u64>, recorded: fn(&mut SyncCount)| {
        flags(|record| {
            record.plan.cases[0].arms[0].flush_us = flush_us;
            let mut count =
                SyncCount { unavailable: None, commits: 41, ..SyncCount::unavailable(CASE, ARM, "") };
            recorded(&mut count);
            record.syncs.push(count);
        })
    };
    let told_of = [FlagKind::FlushNotReplaced];
    assert_eq!(told(Some(2000), |count| count.syncs = 41), told_of);
    assert_eq!(told(Some(2000), |count| count.synchronous_writes = 41), told_of);
    assert_eq!(told(Some(2000), |_| ()), []);
    assert_eq!(told(None, |count| count.syncs = 41), [], "it flushes as it should");
}

#[test]
fn a_get_whose_plan_scans_is_told() {
    let planned = |plan: &str, verbs: &[Verb]| {
        flags(|record| {
            record.launches[0].plan = vec![plan.into()];
            let arm = &mut record.plan.cases[0].arms[0];
            arm.lanes = vec![arm.lanes[0].clone(); verbs.len()];
            arm.lanes.iter_mut().zip(verbs).for_each(|(lane, verb)| lane.verb = *verb);
        })
    };
    let scan = "SCAN benchmark";
    assert_eq!(planned(scan, &[Verb::Get]), [FlagKind::GetsByScanning]);
    assert_eq!(
        planned("SCAN benchmark USING COVERING INDEX by_key", &[Verb::Get]),
        [FlagKind::GetsByScanning]
    );
    assert_eq!(
        planned(scan, &[Verb::InsertMany, Verb::Get]),
        [FlagKind::GetsByScanning],
        "inserts have no plan"
    );
    assert_eq!(planned("SEARCH benchmark USING INTEGER PRIMARY KEY (rowid=?)", &[Verb::Get]), []);
    assert_eq!(planned(scan, &[Verb::ReadAll]), [], "who reads everything scans");
    assert_eq!(planned(scan, &[Verb::Get, Verb::ReadAll]), [], "the plan does not say whose scan it is");
    let evidence = {
        let mut record = honest();
        record.launches[0].plan = vec!["SEARCH other".into(), scan.into()];
        judge(&record.plan, &estimate(&record).cases, &record.subjects).flags.remove(0).evidence
    };
    assert!(evidence.contains("`SCAN benchmark`"), "{evidence}");
}

#[test]
fn slices_that_a_given_count_makes_short_are_told() {
    let short_of = |verb: Verb, wall_ns: u64, count: Option<u64>| {
        flags(|record| {
            let lane = &mut record.plan.cases[0].arms[0].lanes[0];
            (lane.verb, lane.count) = (verb, count);
            for slice in &mut record.slices {
                (slice.wall_ns, slice.cpu_ns) = (wall_ns, wall_ns);
            }
        })
    };
    let short = |wall_ns: u64, count: Option<u64>| short_of(Verb::Get, wall_ns, count);
    assert_eq!(short(30_000, Some(1)), [FlagKind::ShortSlices]);
    assert_eq!(short_of(Verb::Deliver, 30_000, Some(1)), [], "only a stretch of it is timed");
    assert_eq!(short(100_000, Some(1)), []);
    assert_eq!(short(30_000, None), [FlagKind::ShortSlices], "no count suits it and the others");
}

#[test]
fn times_that_still_rise_have_no_steady_state() {
    let rising = |most: f64| {
        flags(|record| {
            for (number, slice) in record.slices.iter_mut().enumerate() {
                let share = f64::from(slice.block) / f64::from(BLOCKS - 1);
                // No two launches alike, so that ranks have no ties.
                let own = 1.0 + number as f64 * 1e-6;
                slice.wall_ns = (1e6 * (1.0 + most * share) * own) as u64;
            }
        })
    };
    assert_eq!(rising(0.2), [FlagKind::NoSteadyState]);
    assert_eq!(rising(-0.2), [FlagKind::NoSteadyState]);
    assert_eq!(rising(0.02), []);
}

fn disturb(record: &mut Record, cpu_pressure: Option<f64>, steal: Option<f64>) {
    let noise = Noise { case: CASE.into(), launch: 0, block: 0, cpu_pressure, io_pressure: None, steal };
    record.noise.push(noise);
}

#[test]
fn a_machine_that_is_busy_with_something_else_is_contended() {
    let noisy =
        |cpu_pressure: Option<f64>, steal: Option<f64>| flags(|record| disturb(record, cpu_pressure, steal));
    assert_eq!(noisy(Some(0.6), None), [FlagKind::Contended]);
    assert_eq!(noisy(None, Some(0.2)), [FlagKind::Contended]);
    assert_eq!(noisy(Some(0.4), Some(0.05)), []);
}

#[test]
fn a_sqlite_from_before_the_fix_has_the_wal_reset_bug() {
    let linked = |engine: &str| flags(|record| record.subjects[0].hello.engine = engine.into());
    assert_eq!(linked("SQLite 3.50.4"), [FlagKind::WalReset]);
    assert_eq!(linked("SQLite 3.51.3"), []);
    assert_eq!(linked("another 1.0"), []);
}
