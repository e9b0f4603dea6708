//! Samples become statistics: what each arm of each case did, per launch and over all launches.
//!
//! Nothing is decided here. Void slices are left out; an arm that did not complete a launch has no value for it.

mod clock;
mod latency;
mod load;
mod settings;
mod witnessed;

pub use crate::sample::{LEVELS_OF_TEN, SeriesStatistics, StretchStatistics};
use latency::{Counted, mean, mean_of_longest_thousandth};
pub use load::{AskedStatistics, EndpointStatistics, LoadStatistics};
pub use settings::SettingStatistics;
use settings::settings;
use witnessed::SLICES_LEAST;
pub use witnessed::Witnessed;

use crate::plan::{PlannedArm, PlannedCase};
use crate::record::Record;
use crate::sample::{Launch, LoadWindow, Noise, Outcome, Phase, Probe, Slice, SyncCount};
use crate::statistics::{
    CurvePoint, Estimate, Kinds, LatencyPercentile, PERCENTILES, launch_percentiles, quantile,
};
use crate::suite::Part;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use touchstone_protocol::{Delivery, Verb};

/// Points kept of an arm's writes over time, for the drawing.
const TIMELINE_POINTS: usize = 400;

/// The shortest slice of which the processor's time is told: its clock is a system call.
const CPU_SHARE_NS_MIN: u64 = 100_000;

/// The version of the statistics' format.
pub const STATISTICS_VERSION: u32 = 1;

/// What the samples of a record say. The file `statistics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// [`STATISTICS_VERSION`].
    pub statistics_version: u32,
    /// The planned cases, in order.
    pub cases: Vec<CaseStatistics>,
}

/// What the samples of a case say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseStatistics {
    /// The case.
    pub case: String,
    /// Its arms, in plan order.
    pub arms: Vec<ArmStatistics>,
    /// One 4 KiB write and flush of the same directory, median over the run, where the case has a probe.
    pub flush_ns: Option<f64>,
    /// The machine's noise while this case ran, medians over blocks.
    pub noise: Noise,
}

impl CaseStatistics {
    /// The statistics of an arm.
    pub fn arm(&self, name: &str) -> Option<&ArmStatistics> {
        self.arms.iter().find(|known| known.arm == name)
    }

    /// An arm's time over the baseline's.
    pub fn against_baseline(&self, arm: &str) -> Option<Estimate> {
        self.arm(arm)?.against_baseline
    }
}

/// What the samples of an arm say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmStatistics {
    /// The arm.
    pub arm: String,
    /// How its launches ended.
    pub outcomes: BTreeMap<Outcome, usize>,
    /// The first error met, in the subject's or the lab's words.
    pub error: Option<String>,
    /// One value a launch.
    pub launches: Vec<LaunchValue>,
    /// Time of one operation: the median launch.
    pub operation_ns: Option<f64>,
    /// The parts of one transaction with subscribers: the median of each over the launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
    /// How long its slices took: the median.
    pub slice_ns: Option<f64>,
    /// The step that the kit's clock must have, in nanoseconds: all its slices took whole multiples of it. None of few slices, or
    /// where no two differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ns: Option<u64>,
    /// Operations in a slice: the median.
    pub slice_operations: Option<f64>,
    /// Processor time over wall time, median slice: above 1 with several threads, near 0 for one that sleeps. None
    /// where slices are shorter than 0.1 ms, for reading the processor's clock would be a part of them.
    pub cpu_share: Option<f64>,
    /// Times the process gave up the processor, median slice: 0 for one that never waited.
    pub waits: Option<f64>,
    /// Share of slices in which the process neither ran nor asked the operating system for anything.
    pub idle_share: Option<f64>,
    /// The most threads that its process had.
    pub threads: Option<u64>,
    /// Time of the last third of its slices over time of the first third: 1 where it is steady.
    pub drift: Option<Estimate>,
    /// The two groups that its launches fall into, in nanoseconds an operation; none where they are of one kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Kinds>,
    /// Time of this arm over time of the baseline.
    pub against_baseline: Option<Estimate>,
    /// Time of the floor over time of this arm: 1 is the floor itself.
    pub floor_share: Option<f64>,
    /// Percentiles over all launches, where latencies were kept.
    pub latency: Option<LatencyStatistics>,
    /// The first launch's operations in order, thinned to their worst: (operation, ns).
    pub timeline: Vec<(u64, u64)>,
    /// The first launch over its time, where it was by the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesStatistics>,
    /// Operations that failed, by kind.
    pub errors: BTreeMap<String, u64>,
    /// With what the first of them failed, as its kit told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_with: Option<String>,
    /// Records handed over to be stored, less those found in the end.
    pub missing: u64,
    /// Records found in the end, over all launches.
    pub found: u64,
    /// What was asked for and what took effect.
    pub settings: Vec<SettingStatistics>,
    /// The query plan.
    pub plan: Vec<String>,
    /// The engine's counters over one slice, of the launch that asked the engine for the least.
    pub counters: BTreeMap<String, i64>,
    /// Hits of the best possible pool of as many pages, over one slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_hits: Option<u64>,
    /// Bytes of the database's files after the first launch, by their paths in its directory.
    pub file_bytes: BTreeMap<String, u64>,
    /// Syncs and bytes per commit.
    pub syncs: Option<SyncCount>,
    /// Time of one commit over that of the flush probe beside it: the median.
    pub flush_equivalents: Option<f64>,
    /// The upper quartile of the same.
    pub flush_equivalents_high: Option<f64>,
    /// What users met who loaded it, where it is a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadStatistics>,
    /// What the lab itself saw.
    pub witnessed: Witnessed,
}

/// Latencies of an arm over all launches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyStatistics {
    /// Operations behind it.
    pub operations: u64,
    /// The percentiles of a summary, with intervals over launches.
    pub percentiles: Vec<LatencyPercentile>,
    /// The percentile curve, its tail as fine as its middle.
    pub curve: Vec<CurvePoint>,
    /// Share of the operations that took whole milliseconds, within 0.12 ms, as those do that wait for a timer.
    pub tick_share: f64,
}

impl ArmStatistics {
    /// Of the pages that a slice asked the engine's cache for, how many percent were there, where the engine counts them.
    pub fn hit_percent(&self) -> Option<f64> {
        let count = |name: &str| self.counters.get(name).map(|count| *count as f64);
        let hits = count("cache_hits")?;
        let asked = hits + count("cache_misses")?;
        (asked > 0.0).then(|| 100.0 * hits / asked)
    }

    /// How many percent of the gets of a slice no pool of as many pages could better.
    pub fn best_hit_percent(&self) -> Option<f64> {
        Some(100.0 * self.best_hits? as f64 / self.slice_operations?)
    }
}

impl LatencyStatistics {
    /// The latency at one of the summary's percentiles.
    pub fn latency_ns(&self, percentile: f64) -> Option<u64> {
        self.percentiles.iter().find(|known| known.percentile == percentile).map(|known| known.latency_ns)
    }
}

/// An arm in one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchValue {
    /// The launch.
    pub launch: usize,
    /// Median over its slices of wall time per operation.
    pub operation_ns: f64,
    /// The mean time of an operation while latencies were kept.
    pub latency_ns_mean: Option<f64>,
    /// The mean of the longest thousandth of its operations, where latencies were kept: one disturbed operation
    /// moves it less than it moves the maximum.
    pub stall_ns: Option<f64>,
    /// The percentiles of a summary, of this launch alone, where latencies were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles_ns: Vec<u64>,
    /// The parts of a transaction with subscribers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
    /// The time of its last third over that of its first third: medians of wall time per operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
}

impl LaunchValue {
    /// One of the percentiles of a summary.
    pub fn percentile_ns(&self, percentile: f64) -> Option<f64> {
        let place = PERCENTILES.iter().position(|known| *known == percentile)?;
        self.percentiles_ns.get(place).map(|ns| *ns as f64)
    }

    /// The time of an operation, or of a part of it.
    pub fn of(&self, part: Option<Part>) -> Option<f64> {
        let Some(part) = part else { return Some(self.operation_ns) };
        self.parts.map(|parts| match part {
            Part::Write => parts.write_ns,
            Part::Commit => parts.commit_ns,
            Part::Delivery => parts.delivery_ns,
            Part::Depth => parts.depth_ns,
        })
    }
}

/// The parts of one transaction with subscribers, each the median over slices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// Its statements.
    pub write_ns: f64,
    /// The commit.
    pub commit_ns: f64,
    /// From there until the last subscriber had its update in its hand.
    pub delivery_ns: f64,
    /// From there until all had done with it what the lane's depth says.
    pub depth_ns: f64,
}

impl Parts {
    /// Of slices with one lane each; none where they have no subscribers.
    fn of(slices: &[&Slice]) -> Option<Parts> {
        let part = |of: fn(&Delivery) -> u64| {
            let deliveries = slices.iter().filter_map(|slice| {
                let [lane] = slice.lanes.as_slice() else { return None };
                Some(of(lane.delivery.as_ref()?) as f64 / slice.operations as f64)
            });
            median_of(deliveries)
        };
        Some(Parts {
            write_ns: part(|delivery| delivery.write_ns)?,
            commit_ns: part(|delivery| delivery.commit_ns)?,
            delivery_ns: part(|delivery| delivery.delivery_ns)?,
            depth_ns: part(|delivery| delivery.depth_ns)?,
        })
    }
}

/// Computes the statistics of every planned case.
pub fn estimate(record: &Record) -> Statistics {
    let cases = record.plan.cases.iter().map(|case| CaseSamples::gather(record, case).statistics());
    Statistics { statistics_version: STATISTICS_VERSION, cases: cases.collect() }
}

/// A case's lines of the record, by arm.
struct CaseSamples<'r> {
    record: &'r Record,
    case: &'r PlannedCase,
    slices: BTreeMap<&'r str, Vec<&'r Slice>>,
    /// Those in which latencies were kept.
    stretches: BTreeMap<&'r str, Vec<&'r Slice>>,
    launches: BTreeMap<&'r str, Vec<&'r Launch>>,
}

impl<'r> CaseSamples<'r> {
    fn gather(record: &'r Record, case: &'r PlannedCase) -> CaseSamples<'r> {
        let of_phase = |phase: Phase| {
            let mut by_arm: BTreeMap<&str, Vec<&Slice>> = BTreeMap::new();
            for slice in record.slices.iter().filter(|slice| slice.case == case.id && slice.phase == phase) {
                by_arm.entry(&slice.arm).or_default().push(slice);
            }
            by_arm
        };
        let (slices, stretches) = (of_phase(Phase::Measure), of_phase(Phase::Latency));
        let mut samples = CaseSamples { record, case, slices, stretches, launches: BTreeMap::new() };
        for launch in record.launches.iter().filter(|launch| launch.case == case.id) {
            samples.launches.entry(&launch.arm).or_default().push(launch);
        }
        samples
    }

    fn statistics(&self) -> CaseStatistics {
        let probes: Vec<&Probe> =
            self.record.probes.iter().filter(|probe| probe.case == self.case.id).collect();
        let flush_ns = median_of(probes.iter().map(|probe| probe.flush_ns as f64));
        let mut arms: Vec<ArmStatistics> = self.case.arms.iter().map(|arm| self.arm(arm, &probes)).collect();
        let values: BTreeMap<String, Vec<LaunchValue>> =
            arms.iter().map(|arm| (arm.arm.clone(), arm.launches.clone())).collect();
        for arm in &mut arms {
            if let Some(baseline) = values.get(&self.case.baseline).filter(|_| arm.arm != self.case.baseline)
            {
                arm.against_baseline = paired(&arm.launches, baseline, |value| Some(value.operation_ns));
            }
            if let Some(floor) = self.case.floor.as_ref().and_then(|floor| values.get(floor)) {
                arm.floor_share = paired(floor, &arm.launches, |value| Some(value.operation_ns))
                    .map(|estimate| estimate.ratio());
            }
        }
        CaseStatistics { case: self.case.id.clone(), arms, flush_ns, noise: self.noise() }
    }

    fn arm(&self, arm: &PlannedArm, probes: &[&Probe]) -> ArmStatistics {
        let slices = self.slices.get(arm.name.as_str()).map_or(&[][..], Vec::as_slice);
        let stretches = self.stretches.get(arm.name.as_str()).map_or(&[][..], Vec::as_slice);
        let arm_launches = self.launches.get(arm.name.as_str()).map_or(&[][..], Vec::as_slice);
        let latencies = latency::of_arm(self.record, &self.case.id, &arm.name);
        let launches = self.launch_values(slices, arm_launches, &latencies);
        let operation_ns = median_of(launches.iter().map(|value| value.operation_ns));
        let drifts: Vec<f64> = launches.iter().filter_map(|value| value.drift).map(f64::ln).collect();
        let latency =
            if launches.is_empty() { None } else { latency::together(&latencies, self.record.plan.seed) };
        let right = slices.iter().filter(|slice| slice.wrong.is_none());
        let flush_equivalents = flush_equivalents(self.case, arm, slices, probes);
        let syncs = self.record.syncs.iter().find(|s| s.case == self.case.id && s.arm == arm.name).cloned();
        ArmStatistics {
            arm: arm.name.clone(),
            outcomes: count(arm_launches.iter().map(|launch| launch.outcome)),
            error: arm_launches.iter().find_map(|launch| launch.error.clone()),
            slice_ns: median_of(right.clone().map(|slice| slice.wall_ns as f64)),
            step_ns: clock::step_ns(right.clone().map(|slice| slice.wall_ns)),
            slice_operations: median_of(right.clone().map(|slice| slice.operations as f64)),
            cpu_share: median_of(
                right
                    .clone()
                    .filter(|slice| slice.wall_ns >= CPU_SHARE_NS_MIN)
                    .map(|slice| slice.cpu_ns as f64 / slice.wall_ns as f64),
            ),
            waits: median_of(right.map(|slice| slice.usage.voluntary_switches as f64)),
            idle_share: idle_share(slices),
            threads: arm_launches.iter().filter_map(|launch| launch.threads).max(),
            operation_ns,
            parts: median_parts(&launches),
            drift: Estimate::from_launches(&drifts),
            kinds: Kinds::of(&launches.iter().map(|value| value.operation_ns).collect::<Vec<_>>()),
            against_baseline: None,
            floor_share: None,
            latency,
            timeline: self.timeline(&arm.name),
            series: self.series(&arm.name),
            errors: self.errors(&arm.name),
            failed_with: arm_launches.iter().find_map(|launch| launch.failed_with.clone()),
            missing: added(arm_launches.iter().map(|launch| launch.expected.saturating_sub(launch.found))),
            found: added(arm_launches.iter().map(|launch| launch.found)),
            settings: settings(arm, arm_launches, syncs.as_ref()),
            plan: arm_launches
                .iter()
                .map(|launch| launch.plan.clone())
                .find(|plan| !plan.is_empty())
                .unwrap_or_default(),
            counters: arm_launches
                .iter()
                .rev()
                .map(|launch| &launch.counters)
                .filter(|counters| !counters.is_empty())
                .min_by_key(|counters| asked_of_engine(counters))
                .cloned()
                .unwrap_or_default(),
            best_hits: arm_launches.iter().find_map(|launch| launch.best_hits),
            file_bytes: arm_launches.first().map(|launch| launch.file_bytes.clone()).unwrap_or_default(),
            syncs,
            flush_equivalents: quantile_of(&flush_equivalents, 0.5),
            flush_equivalents_high: quantile_of(&flush_equivalents, 0.75)
                .filter(|_| flush_equivalents.len() >= SLICES_LEAST),
            load: LoadStatistics::of(&self.windows(&arm.name)),
            witnessed: Witnessed::of(self.case, arm, slices, stretches, arm_launches, probes),
            launches,
        }
    }

    fn windows(&self, arm: &str) -> Vec<&LoadWindow> {
        let mine = |window: &&LoadWindow| window.case == self.case.id && window.arm == arm;
        self.record.loads.iter().filter(mine).collect()
    }

    fn launch_values(
        &self,
        slices: &[&Slice],
        arm_launches: &[&Launch],
        latencies: &BTreeMap<usize, Counted>,
    ) -> Vec<LaunchValue> {
        let completed: BTreeSet<usize> = arm_launches
            .iter()
            .filter(|launch| launch.outcome == Outcome::Completed)
            .map(|launch| launch.launch)
            .collect();
        let value = |launch: &usize| {
            let all: Vec<&Slice> = slices.iter().copied().filter(|slice| slice.launch == *launch).collect();
            let times = all.iter().copied().filter(|slice| slice.wrong.is_none() && slice.operations > 0);
            let times: Vec<&Slice> = times.collect();
            let each = times.iter().map(|slice| slice.wall_ns as f64 / slice.operations as f64);
            let operation_ns = median_of(each)?;
            let parts = Parts::of(&times);
            let latencies = latencies.get(launch);
            let stall_ns = latencies.and_then(mean_of_longest_thousandth);
            let latency_ns_mean = latencies.and_then(mean);
            let percentiles_ns = latencies.map_or(Vec::new(), |latencies| launch_percentiles(latencies));
            Some(LaunchValue {
                launch: *launch,
                operation_ns,
                latency_ns_mean,
                stall_ns,
                percentiles_ns,
                parts,
                drift: self.drift(&all),
            })
        };
        completed.iter().filter_map(value).collect()
    }

    /// Of the slices of one launch.
    fn drift(&self, slices: &[&Slice]) -> Option<f64> {
        let third = self.case.blocks / 3;
        let time = |in_third: &dyn Fn(u32) -> bool| {
            let mine = slices.iter().filter(|slice| in_third(slice.block) && slice.operations > 0);
            median_of(mine.map(|slice| slice.wall_ns as f64 / slice.operations as f64))
        };
        let first = time(&|block| block < third)?;
        let last = time(&|block| block >= self.case.blocks - third)?;
        Some(last / first).filter(|drift| drift.is_finite() && *drift > 0.0)
    }

    fn series(&self, arm: &str) -> Option<SeriesStatistics> {
        let mine = |(case, of, _): &(String, String, usize)| *case == self.case.id && of == arm;
        let first = self.record.series.iter().find(|(key, _)| mine(key))?;
        first.1.over_time.clone()
    }

    fn timeline(&self, arm: &str) -> Vec<(u64, u64)> {
        let mine = |(case, of, _): &(String, String, usize)| *case == self.case.id && of == arm;
        let first = self.record.latencies.iter().find(|(key, _)| mine(key));
        let first = first.map_or(&[][..], |(_, latencies)| latencies.as_slice());
        let chunk = first.len().div_ceil(TIMELINE_POINTS).max(1);
        let worst = |(index, chunk_ns): (usize, &[u64])| {
            let (place, ns) = chunk_ns.iter().enumerate().max_by_key(|(_, ns)| **ns)?;
            Some(((index * chunk + place) as u64, *ns))
        };
        first.chunks(chunk).enumerate().filter_map(worst).collect()
    }

    /// Of all its slices, those too that are not compared: what fails while it warms up has failed.
    fn errors(&self, arm: &str) -> BTreeMap<String, u64> {
        let slices = self.record.slices.iter().filter(|slice| slice.case == self.case.id && slice.arm == arm);
        let mut errors = BTreeMap::new();
        for (kind, number) in slices.flat_map(|slice| &slice.lanes).flat_map(|lane| &lane.errors) {
            let all: &mut u64 = errors.entry(kind.clone()).or_default();
            *all = all.saturating_add(*number);
        }
        errors
    }

    fn noise(&self) -> Noise {
        let lines: Vec<&Noise> =
            self.record.noise.iter().filter(|noise| noise.case == self.case.id).collect();
        Noise {
            case: self.case.id.clone(),
            launch: 0,
            block: 0,
            cpu_pressure: median_of(lines.iter().filter_map(|noise| noise.cpu_pressure)),
            io_pressure: median_of(lines.iter().filter_map(|noise| noise.io_pressure)),
            steal: median_of(lines.iter().filter_map(|noise| noise.steal)),
        }
    }
}

/// The estimate of `value` of `arm` over `value` of `against`, launches paired by their number.
pub fn paired(
    arm: &[LaunchValue],
    against: &[LaunchValue],
    value: impl Fn(&LaunchValue) -> Option<f64>,
) -> Option<Estimate> {
    Estimate::from_launches(&log_ratios(arm, against, value))
}

/// x of every launch that both completed, in the order of launches.
pub(crate) fn log_ratios(
    arm: &[LaunchValue],
    against: &[LaunchValue],
    value: impl Fn(&LaunchValue) -> Option<f64>,
) -> Vec<f64> {
    let partner = |launch: usize| against.iter().find(|other| other.launch == launch);
    arm.iter()
        .filter_map(|mine| {
            let theirs = partner(mine.launch)?;
            let log_ratio = (value(mine)? / value(theirs)?).ln();
            // An operation of zero nanoseconds has no ratio: its launch is left out rather than the estimate.
            log_ratio.is_finite().then_some(log_ratio)
        })
        .collect()
}

fn median_parts(launches: &[LaunchValue]) -> Option<Parts> {
    let part = |part: Part| {
        let values = launches.iter().filter(|launch| launch.parts.is_some());
        median_of(values.filter_map(|launch| launch.of(Some(part))))
    };
    Some(Parts {
        write_ns: part(Part::Write)?,
        commit_ns: part(Part::Commit)?,
        delivery_ns: part(Part::Delivery)?,
        depth_ns: part(Part::Depth)?,
    })
}

/// Whoever edits a record may write down more than can be counted.
fn added(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    quantile_of(&values.collect::<Vec<f64>>(), 0.5)
}

fn quantile_of(values: &[f64], share: f64) -> Option<f64> {
    (!values.is_empty()).then(|| quantile(values, share))
}

fn count<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// The time of a commit in each slice over that of the flush probe in the same block, so that a disk which others keep busy for a
/// while does so for both.
fn flush_equivalents(case: &PlannedCase, arm: &PlannedArm, slices: &[&Slice], probes: &[&Probe]) -> Vec<f64> {
    let Some(commits) = commits_per_operation(case, arm, slices) else { return Vec::new() };
    let flush_ns: BTreeMap<(usize, u32), u64> =
        probes.iter().map(|probe| ((probe.launch, probe.block), probe.flush_ns)).collect();
    let right = slices.iter().filter(|slice| slice.wrong.is_none() && slice.operations > 0);
    let equivalents = right.filter_map(|slice| {
        let commits = commits_of(slice, commits);
        let flush_ns = *flush_ns.get(&(slice.launch, slice.block))? as f64;
        (commits > 0.0).then(|| slice.wall_ns as f64 / commits / flush_ns)
    });
    equivalents.collect()
}

/// How much a slice asked its engine for: statements, then pages of its cache. A launch that does not tell comes last.
fn asked_of_engine(counters: &BTreeMap<String, i64>) -> (bool, i64, i64) {
    let count = |name: &str| counters.get(name).copied();
    let pages =
        ["cache_hits", "cache_misses"].iter().filter_map(|name| count(name)).fold(0, i64::saturating_add);
    (count("statements").is_none(), count("statements").unwrap_or_default(), pages)
}

/// Commits of a slice: as many as were counted, or behind each operation as many as there are on average.
fn commits_of(slice: &Slice, per_operation: f64) -> f64 {
    slice.commits.map_or(slice.operations as f64 * per_operation, |commits| commits as f64)
}

/// Commits behind one operation of the arm; none for an arm that does not commit.
fn commits_per_operation(case: &PlannedCase, arm: &PlannedArm, slices: &[&Slice]) -> Option<f64> {
    if let Some(load) = &case.load {
        return Some(load.commits_per_request());
    }
    let [lane] = arm.lanes.as_slice() else { return None };
    match lane.verb {
        Verb::InsertOne | Verb::UpdateOne => Some(1.0),
        Verb::Mix => Some(lane.writing_transactions()),
        Verb::InsertMany | Verb::UpdateMany | Verb::DeleteMany => {
            slices.first().map(|slice| 1.0 / slice.operations.max(1) as f64)
        }
        _ => None,
    }
}

/// A slice is idle when the process was off the processor for most of it and neither read nor wrote.
fn idle_share(slices: &[&Slice]) -> Option<f64> {
    if slices.is_empty() {
        return None;
    }
    let idle = |slice: &&&Slice| {
        let off_cpu = slice.cpu_ns.saturating_mul(2) < slice.wall_ns;
        off_cpu
            && slice.usage.read_bytes + slice.usage.written_bytes == 0
            && slice.usage.voluntary_switches > 0
    };
    Some(slices.iter().filter(idle).count() as f64 / slices.len() as f64)
}
