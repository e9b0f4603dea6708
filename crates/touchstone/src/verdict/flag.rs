//! Red flags: what makes a number doubtful, each with its evidence.

mod two_kinds;
mod witnessed;

use super::durability::broken_promise;
use crate::estimate::{ArmStatistics, CaseStatistics};
use crate::name::subject_of;
use crate::plan::{Plan, PlannedArm, PlannedCase};
use crate::sample::{Introduction, Outcome};
use crate::statistics::{P_LOOK, median};
use crate::suite::{Cache, Measure};
use serde::{Deserialize, Serialize};
use std::fmt;
use touchstone_protocol::Verb;
use two_kinds::{Pairs, two_kinds};
use witnessed::{Suspect, engine_idle};

/// A doubt about an arm in a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flag {
    /// What kind of doubt.
    pub kind: FlagKind,
    /// The case, or empty for the whole run.
    pub case: String,
    /// The arm, or empty for the whole case.
    pub arm: String,
    /// The figures behind it.
    pub evidence: String,
}

impl Flag {
    /// Whether it casts doubt on that arm in that case: it names both, or leaves one open.
    pub(super) fn is_about(&self, case: &str, arm: &str) -> bool {
        let is_case = self.case.is_empty() || self.case == case;
        let is_arm = self.arm.is_empty() || self.arm == arm || self.arm == subject_of(arm);
        is_case && is_arm && !(self.case.is_empty() && self.arm.is_empty())
    }
}

/// The doubts the lab knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlagKind {
    /// Its commits did not await the disk as its class promises, or did less while they were timed.
    BrokenPromise,
    /// Its commits could not be recorded where others' could, so that nobody knows what they do.
    Unrecorded,
    /// Time went by for which the lab waited, and which the kit did not count.
    BesideTheClock,
    /// What a slice was to read had been read before it began.
    ReadyBefore,
    /// The answers did not come from the engine.
    EngineIdle,
    /// It reads less than a cache of the size that it tells of must miss.
    LargerCache,
    /// More than the engine's own interface can do.
    BeyondFloor,
    /// It allowed itself other processors than the case's one.
    LeftProcessor,
    /// It had other processes work for it.
    OtherProcesses,
    /// It worked while other arms were asked.
    BusyAtRest,
    /// The subject mostly slept: off the processor, without input or output.
    Slept,
    /// More processors busy than the case has lanes.
    BeyondCores,
    /// Threads of its own on the one processor of a case, which its profile did not tell of.
    UntoldThreads,
    /// An operation shorter than the clock can tell.
    BelowResolution,
    /// Slices that all took whole multiples of a step which is a large part of them.
    CoarseClock,
    /// Latencies that are all multiples of a timer's tick.
    TimerTick,
    /// Reads without disk: the page cache answered a case that was meant to be cold.
    PageCache,
    /// A commit that promises durability and is quicker than a flush.
    QuickerThanFlush,
    /// A flush that was to take as long as it is told took as long as the disk needs.
    FlushNotReplaced,
    /// The query plan of a get by key scans the table.
    GetsByScanning,
    /// Slices of a given count that are over before the processor's caches are warm.
    ShortSlices,
    /// Its times still rose or fell over the launch.
    NoSteadyState,
    /// Some of its slices are much quicker than the others of the same launch.
    TwoKinds,
    /// Its operations were much quicker while their latencies were kept than in slices.
    OtherPace,
    /// The machine was busy with something else.
    Contended,
    /// The linked SQLite can damage a log that two connections checkpoint at once (before 3.51.3).
    WalReset,
}

impl FlagKind {
    /// Whether it casts doubt on such a figure. Most are doubts about times; a bug that damages a file is one about counts of
    /// failures and of missing records, and a busy machine, on which threads wait for each other, is one about both.
    pub(super) fn bears_on(self, measure: Measure) -> bool {
        match measure {
            Measure::Plan => false,
            Measure::Hits => self == FlagKind::EngineIdle,
            Measure::Errors | Measure::Missing => matches!(self, FlagKind::Contended | FlagKind::WalReset),
            _ => self != FlagKind::WalReset,
        }
    }
}

impl fmt::Display for FlagKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            FlagKind::BrokenPromise => "promise not kept",
            FlagKind::Unrecorded => "not recorded",
            FlagKind::BesideTheClock => "beside the clock",
            FlagKind::ReadyBefore => "ready before it was asked",
            FlagKind::EngineIdle => "engine did nothing",
            FlagKind::LargerCache => "larger cache than told",
            FlagKind::BeyondFloor => "beyond the floor",
            FlagKind::LeftProcessor => "left its processor",
            FlagKind::OtherProcesses => "processes of its own",
            FlagKind::BusyAtRest => "busy at rest",
            FlagKind::Slept => "slept",
            FlagKind::BeyondCores => "beyond the cores",
            FlagKind::UntoldThreads => "untold threads",
            FlagKind::BelowResolution => "below resolution",
            FlagKind::CoarseClock => "coarse clock",
            FlagKind::TimerTick => "timer tick",
            FlagKind::PageCache => "page cache",
            FlagKind::QuickerThanFlush => "quicker than a flush",
            FlagKind::FlushNotReplaced => "flush not replaced",
            FlagKind::GetsByScanning => "gets by scanning",
            FlagKind::ShortSlices => "short slices",
            FlagKind::NoSteadyState => "no steady state",
            FlagKind::TwoKinds => "slices of two kinds",
            FlagKind::OtherPace => "another pace for latencies",
            FlagKind::Contended => "contended machine",
            FlagKind::WalReset => "WAL-reset bug",
        })
    }
}

/// Raises every flag the statistics give cause for.
pub(super) fn flags(plan: &Plan, statistics: &[CaseStatistics], subjects: &[Introduction]) -> Vec<Flag> {
    let mut flags = Vec::new();
    let pairs = Pairs::of(plan, statistics);
    let recorder_works = statistics.iter().flat_map(|case| &case.arms).any(is_recorded);
    for (case, measured) in plan.cases.iter().zip(statistics) {
        for arm in &measured.arms {
            let Some(planned) = case.arm(&arm.arm) else { continue };
            let suspect = Suspect { case, measured, planned, arm };
            let raised = [
                broken_promise(case, planned, arm).map(|evidence| (FlagKind::BrokenPromise, evidence)),
                unrecorded(arm).filter(|_| recorder_works),
                suspect.beside_the_clock(),
                suspect.ready_before(),
                engine_idle(planned, arm),
                suspect.larger_cache(),
                suspect.beyond_floor(subjects),
                suspect.left_processor(),
                suspect.other_processes(),
                suspect.busy_at_rest(),
                slept(arm),
                below_resolution(arm, subjects, planned),
                coarse_clock(arm),
                timer_tick(arm),
                page_cache(case, arm),
                quicker_than_flush(case, planned, arm, measured.flush_ns),
                flush_not_replaced(planned, arm),
                gets_by_scanning(planned, arm),
                short_slices(planned, arm),
                beyond_cores(planned, arm),
                suspect.untold_threads(),
                no_steady_state(arm),
                two_kinds(plan, &pairs, measured, arm),
                other_pace(case, arm),
            ];
            let raised = raised.into_iter().flatten();
            flags.extend(raised.map(|(kind, evidence)| Flag {
                kind,
                case: case.id.clone(),
                arm: arm.arm.clone(),
                evidence,
            }));
        }
        flags.extend(contended(measured));
    }
    // A subject is met once in each of its profiles.
    for flag in subjects.iter().filter_map(wal_reset) {
        if !flags.contains(&flag) {
            flags.push(flag);
        }
    }
    flags
}

type Raised = Option<(FlagKind, String)>;

fn is_recorded(arm: &ArmStatistics) -> bool {
    arm.syncs.as_ref().is_some_and(|syncs| syncs.unavailable.is_none())
}

/// A driver may refuse to be recorded, and do in its timed commits what the recorder would have told. One that did not complete
/// its launches is not recorded, and compared with nothing.
fn unrecorded(arm: &ArmStatistics) -> Raised {
    let why = arm.syncs.as_ref()?.unavailable.as_ref()?;
    let completed = arm.outcomes.keys().all(|outcome| *outcome == Outcome::Completed);
    completed.then(|| {
        let evidence = format!("its commits could not be recorded, and others' could: {why}");
        (FlagKind::Unrecorded, evidence)
    })
}

fn slept(arm: &ArmStatistics) -> Raised {
    let idle = arm.idle_share.filter(|idle| *idle > 0.5)?;
    let cpu = arm.cpu_share? * 100.0;
    let evidence = format!(
        "on the processor for {cpu:.1} % of the time, and in {:.0} % of its slices it neither read nor wrote",
        idle * 100.0
    );
    Some((FlagKind::Slept, evidence))
}

fn beyond_cores(planned: &PlannedArm, arm: &ArmStatistics) -> Raised {
    // A service has no lanes, and works for all of its users at once.
    let lanes = Some(planned.lanes.len()).filter(|lanes| *lanes > 0)? as f64;
    let share = arm.cpu_share.filter(|share| *share > lanes + 0.5)?;
    let evidence =
        format!("{share:.1} processors busy for {lanes} lanes: the subject works in threads of its own");
    Some((FlagKind::BeyondCores, evidence))
}

/// A drift that is beyond chance and above a twentieth: less moves no verdict, for all arms of a block share it.
fn no_steady_state(arm: &ArmStatistics) -> Raised {
    let drift = arm.drift.filter(|drift| drift.p < P_LOOK && drift.log_ratio.abs() > f64::ln(1.05))?;
    let percent = (drift.ratio() - 1.0) * 100.0;
    let than = if percent < 0.0 { "less" } else { "more" };
    let evidence = format!(
        "the last third of its slices took {:.0} % {than} time than the first third (p = {:.3})",
        percent.abs(),
        drift.p
    );
    Some((FlagKind::NoSteadyState, evidence))
}

/// An operation takes this share of its time in slices at least while latencies are kept, where the clock is read more often.
const PACE_MIN: f64 = 0.5;

/// Where each slice finds caches cold, only the first operations of a stretch do; and very short slices find them cold too.
fn other_pace(case: &PlannedCase, arm: &ArmStatistics) -> Raised {
    if case.cache != Cache::Warm || arm.slice_ns? < SLICE_NS_MIN {
        return None;
    }
    let paces = arm.launches.iter().filter_map(|launch| Some(launch.latency_ns_mean? / launch.operation_ns));
    let paces: Vec<f64> = paces.collect();
    let pace = (!paces.is_empty()).then(|| median(&paces)).filter(|pace| *pace < PACE_MIN)?;
    let evidence = format!(
        "an operation took {:.0} % of its time in slices while latencies were kept, in the median launch",
        pace * 100.0
    );
    Some((FlagKind::OtherPace, evidence))
}

fn below_resolution(arm: &ArmStatistics, subjects: &[Introduction], planned: &PlannedArm) -> Raised {
    let clock = &subjects.iter().find(|met| met.contender.subject == planned.contender.subject)?.hello.clock;
    let p50 = arm.latency.as_ref()?.latency_ns(50.0)?;
    let evidence = format!("p50 {p50} ns where one reading of the clock costs {:.0} ns", clock.cost_ns);
    ((p50 as f64) < 2.0 * clock.cost_ns).then_some((FlagKind::BelowResolution, evidence))
}

/// The share of a slice from which the step of its clock is too coarse.
const STEP_SHARE_MAX: f64 = 0.01;

/// Whoever reads whole milliseconds cannot tell what a slice of a few of them took.
fn coarse_clock(arm: &ArmStatistics) -> Raised {
    let (step, slice) = (arm.step_ns? as f64, arm.slice_ns?);
    let evidence = format!(
        "all its slices took whole multiples of {} ms, of which the median has {:.0}: its clock tells no less",
        step / 1e6,
        slice / step
    );
    (step > STEP_SHARE_MAX * slice).then_some((FlagKind::CoarseClock, evidence))
}

/// The share of operations on a timer's tick from which a subject waits for one: of a disk that others keep busy a quarter are
/// there by chance.
const TICK_SHARE_MIN: f64 = 0.85;

/// Sleeping subjects show whole milliseconds, give or take the 0.12 ms of waking up.
fn timer_tick(arm: &ArmStatistics) -> Raised {
    let latency = arm.latency.as_ref()?;
    let off_cpu = arm.cpu_share.is_some_and(|share| share < 0.5);
    if !off_cpu || latency.tick_share < TICK_SHARE_MIN {
        return None;
    }
    let ms = |percentile| Some(latency.latency_ns(percentile)? as f64 / 1e6);
    let (p50, p90, p95) = (ms(50.0)?, ms(90.0)?, ms(95.0)?);
    let evidence = format!(
        "{:.0} % of the operations took whole milliseconds off the processor: p50 {p50:.2} ms, p90 {p90:.2} ms, p95 {p95:.2} ms",
        latency.tick_share * 100.0
    );
    Some((FlagKind::TimerTick, evidence))
}

fn page_cache(case: &PlannedCase, arm: &ArmStatistics) -> Raised {
    let waits = arm.waits.filter(|waits| *waits == 0.0)?;
    (case.cache == Cache::Evicted).then(|| {
        let evidence = format!(
            "the files' pages were dropped, yet the typical slice waited for nothing ({waits} times)"
        );
        (FlagKind::PageCache, evidence)
    })
}

fn quicker_than_flush(
    case: &PlannedCase,
    planned: &PlannedArm,
    arm: &ArmStatistics,
    flush_ns: Option<f64>,
) -> Raised {
    if case.load.as_ref().is_some_and(|load| !load.uploads()) || planned.flush_us.is_some() {
        return None;
    }
    let high = arm.flush_equivalents_high.filter(|flushes| *flushes < 0.8 / case.sharers())?;
    let equivalents = arm.flush_equivalents?;
    let flush_ns = flush_ns?;
    planned.class.reaches_disk().then(|| {
        let evidence = format!(
            "class {} promises a flush, but a commit takes {equivalents:.2} of the {:.2} ms a flush takes here, and three of four \
             less than {high:.2}",
            planned.class,
            flush_ns / 1e6
        );
        (FlagKind::QuickerThanFlush, evidence)
    })
}

/// The library that takes the place of a flush asks no disk, so what the recorder counts was asked for past it.
fn flush_not_replaced(planned: &PlannedArm, arm: &ArmStatistics) -> Raised {
    let flush_us = planned.flush_us?;
    let recorded = arm.syncs.as_ref().filter(|recorded| recorded.unavailable.is_none())?;
    let flushed = recorded.syncs + recorded.synchronous_writes;
    (flushed > 0).then(|| {
        let evidence = format!(
            "a flush was to take {flush_us} µs and ask no disk, and {} recorded commits flushed {flushed} times: not by `fsync` or \
             `fdatasync` of the C library, as programs in Go; those flushes took as long as this disk's do",
            recorded.commits
        );
        (FlagKind::FlushNotReplaced, evidence)
    })
}

/// Where another lane may scan rightly, the plan does not tell whose scan it was.
fn gets_by_scanning(planned: &PlannedArm, arm: &ArmStatistics) -> Raised {
    let by_key = |verb: Verb| matches!(verb, Verb::Get | Verb::UpdateOne | Verb::Mix) || verb.inserts();
    let gets = planned.lanes.iter().any(|lane| matches!(lane.verb, Verb::Get | Verb::Mix));
    if !gets || !planned.lanes.iter().all(|lane| by_key(lane.verb)) {
        return None;
    }
    let scan = arm.plan.iter().find(|line| scans(line))?;
    let evidence = format!(
        "its query plan says `{}`: a get reads the table until it meets the key; give the table a key or an index",
        scan.trim()
    );
    Some((FlagKind::GetsByScanning, evidence))
}

/// Whether a line of SQLite's query plan is a scan of a table or of a covering index. Constant rows are no table, and of
/// virtual tables SQLite says `SCAN` whatever they do.
fn scans(line: &str) -> bool {
    let others = [" CONSTANT ROW", " VIRTUAL TABLE"];
    line.trim_start().starts_with("SCAN ") && !others.iter().any(|other| line.contains(other))
}

/// A count that the lab calibrates makes slices of this length of all arms but one that is beyond measure quicker.
const SLICE_NS_MIN: f64 = 1e5;

/// Of transactions with subscribers the clock times a stretch: they last longer than it says.
fn short_slices(planned: &PlannedArm, arm: &ArmStatistics) -> Raised {
    let slice_ns = arm.slice_ns.filter(|slice_ns| *slice_ns < SLICE_NS_MIN)?;
    let operations = arm.slice_operations?;
    if planned.lanes.iter().any(|lane| lane.verb == Verb::Deliver) {
        return None;
    }
    let counted = planned.lanes.iter().all(|lane| lane.count.is_some());
    let remedy = if counted {
        "raise `count`, or leave it out, so that it is calibrated"
    } else {
        "it is so much quicker than the slowest contender of its case that no count suits both"
    };
    let evidence = format!(
        "the median slice took {:.3} ms (operations: {operations}), too short for warm caches; {remedy}",
        slice_ns / 1e6
    );
    Some((FlagKind::ShortSlices, evidence))
}

/// Rule 11 of the duel: above this the wall clock tells more of the neighbours than of the subject.
fn contended(case: &CaseStatistics) -> Option<Flag> {
    let pressure = case.noise.cpu_pressure.filter(|pressure| *pressure > 0.5);
    let steal = case.noise.steal.filter(|steal| *steal > 0.1);
    let evidence = match (pressure, steal) {
        (Some(pressure), _) => {
            format!("some task waited for a processor {:.0} % of the time", pressure * 100.0)
        }
        (_, Some(steal)) => format!("the host took {:.0} % of the processor time for others", steal * 100.0),
        _ => return None,
    };
    Some(Flag { kind: FlagKind::Contended, case: case.case.clone(), arm: String::new(), evidence })
}

fn wal_reset(met: &Introduction) -> Option<Flag> {
    let (_, version) = met.hello.engine.rsplit_once("SQLite ")?;
    let carries = carries_wal_reset_fix(version.split_whitespace().next()?)?;
    (!carries).then(|| Flag {
        kind: FlagKind::WalReset,
        case: String::new(),
        arm: met.contender.subject.clone(),
        evidence: format!("{} is linked; the fix came with 3.51.3", met.hello.engine),
    })
}

/// Whether a SQLite version carries the WAL-reset fix of 3.51.3, or its backports; none for what is not a version.
pub fn carries_wal_reset_fix(version: &str) -> Option<bool> {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let version = (parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0));
    let backport = matches!(version, (3, 50, 7..) | (3, 44, 6..));
    Some(version >= (3, 51, 3) || backport)
}

#[cfg(test)]
mod tests {
    use super::{carries_wal_reset_fix, scans};

    #[test]
    fn a_scan_is_told_from_a_search() {
        for scan in ["SCAN benchmark", "SCAN TABLE benchmark", "  SCAN benchmark USING COVERING INDEX by_key"]
        {
            assert!(scans(scan), "{scan}");
        }
        let others = [
            "SEARCH benchmark USING INTEGER PRIMARY KEY (rowid=?)",
            "SEARCH scan USING INDEX SCAN (key=?)",
            "SCAN CONSTANT ROW",
            "SCAN 2 CONSTANT ROWS",
            "SCAN feed VIRTUAL TABLE INDEX 1:",
            "USE TEMP B-TREE FOR ORDER BY",
        ];
        for other in others {
            assert!(!scans(other), "{other}");
        }
    }

    #[test]
    fn the_wal_reset_fix_is_told_by_the_version() {
        let carries = |version| carries_wal_reset_fix(version);
        assert_eq!(["3.51.3", "3.53.2", "3.50.7", "3.44.6", "4.0"].map(carries), [Some(true); 5]);
        assert_eq!(["3.51.2", "3.50.6", "3.40.1", "3.45.9"].map(carries), [Some(false); 4]);
        assert_eq!(carries("community"), None);
    }
}
