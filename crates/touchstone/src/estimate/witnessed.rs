//! What the lab itself saw of an arm, beside what its kit says: medians over its slices, and the most over its launches. What an
//! arm must do in each slice is asked of the quicker half of each launch's slices. The time that is compared is theirs or longer, so
//! that the slower half cannot do it for them.

use super::{commits_of, commits_per_operation, quantile_of};
use crate::kit::DurabilityClass;
use crate::plan::{PlannedArm, PlannedCase};
use crate::sample::{Launch, Probe, Slice, Witness};
use crate::statistics::{Kinds, LOOKS};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use touchstone_protocol::Verb;

/// Of fewer slices no quartile is told: whether it is of times or of the whole machine's tasks, in each of a few slices a neighbour
/// may have a part by chance.
pub(super) const SLICES_LEAST: usize = 8;

/// Of fewer slices the least time beside the clock is not told: a busy machine may delay each of a few.
const SLICES_LEAST_BESIDE: usize = 16;

/// The share of launches that moves the estimate over all of them wherever they lie.
const MOVING_SHARE: f64 = 0.29;

/// Slices of one launch are told to be of two kinds where the one kind takes this many times the other's time: pages that lie badly
/// make less.
const KINDS_FAR_APART: f64 = 1.5;

/// What the lab itself saw of an arm. What the system does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Witnessed {
    /// How long the lab waited for a slice beyond the time that the kit says it took: the lower quartile, for a busy machine makes
    /// the lab wait longer, and never shorter. Of the quicker half of each launch's slices, where all operations are in that time,
    /// and none of fewer than eight. Of the launch that 29 % reach, where each has as many.
    pub beside_ns_low: Option<f64>,
    /// The upper quartile of the same.
    pub beside_ns_high: Option<f64>,
    /// The least of the same. None of fewer than sixteen slices.
    pub beside_ns_least: Option<f64>,
    /// How long the database took to open for a slice: the median.
    pub opening_ns: Option<f64>,
    /// Bytes that the process read meanwhile: the median.
    pub opening_read_bytes: Option<f64>,
    /// Bytes that it read in a slice: the median.
    pub read_bytes: Option<f64>,
    /// The same of a low launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes_low: Option<f64>,
    /// Bytes that it wrote for each commit, in the quicker half of each launch's slices; of class `none`, which may gather writes, in
    /// all of them. Of a low launch.
    pub commit_written_bytes: Option<f64>,
    /// Flushes that the disks completed for each commit in the quicker half of each launch's slices, in those of the flush probe: the
    /// launch that 29 % do not reach. None where they cannot be counted, and for arms that do not promise one.
    pub commit_flushes: Option<f64>,
    /// The same for the commits whose latencies were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_commit_flushes: Option<f64>,
    /// The share of its launches whose slices are of two kinds, the one kind taking 1.5 times the other's time or more. None of
    /// fewer than eight launches with eight slices each, and for arms that store something: checkpoints make two kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub two_kinds_share: Option<f64>,
    /// Processes and threads that were made in a slice, by whomever: the lower quartile. None of fewer than eight slices.
    pub tasks_made_low: Option<f64>,
    /// The upper quartile of the same.
    pub tasks_made_high: Option<f64>,
    /// The most processes that it had started and not ended.
    pub children: Option<u64>,
    /// Processors that it allowed itself although it was confined to one.
    pub strayed: Option<String>,
    /// The share of a processor that a service used while other arms were asked: of the middle launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_cpu: Option<f64>,
}

impl Witnessed {
    /// Of an arm's compared slices, those in which latencies were kept, and its launches, beside the flush probes of its case.
    pub(super) fn of(
        case: &PlannedCase,
        arm: &PlannedArm,
        slices: &[&Slice],
        stretches: &[&Slice],
        arm_launches: &[&Launch],
        probes: &[&Probe],
    ) -> Witnessed {
        let values = |part: fn(&Witness) -> Option<u64>| -> Vec<f64> {
            let seen = slices.iter().filter_map(|slice| part(slice.witness.as_ref()?));
            seen.map(|value| value as f64).collect()
        };
        let median = |part| quantile_of(&values(part), 0.5);
        let mut tasks_made = values(|witness| witness.tasks_made);
        if tasks_made.len() < SLICES_LEAST {
            tasks_made.clear();
        }
        let launches = by_launch(slices);
        let quicker: Vec<Vec<&Slice>> = launches.iter().map(|slices| quicker_half(slices)).collect();
        let beside = Beside::of(arm, &quicker);
        let probed = flushes_probed(probes).filter(|_| arm.awaits_disk());
        let flushes = |launches: &[Vec<&Slice>]| {
            Some(per_commit(case, arm, launches, |witness| witness.flushes)? / probed? as f64)
        };
        let kept_at_once = arm.class != DurabilityClass::None;
        let writing = if kept_at_once { &quicker } else { &launches };
        Witnessed {
            beside_ns_low: beside.low,
            beside_ns_high: beside.high,
            beside_ns_least: beside.least,
            opening_ns: median(|witness| witness.opening_ns),
            opening_read_bytes: median(|witness| witness.opening_read_bytes),
            read_bytes: median(|witness| witness.read_bytes),
            read_bytes_low: low(launches.iter().filter_map(|slices| read_bytes(slices)).collect()),
            commit_written_bytes: per_commit(case, arm, writing, |witness| witness.written_bytes),
            commit_flushes: flushes(&quicker),
            latency_commit_flushes: flushes(&by_launch(stretches)),
            two_kinds_share: two_kinds_share(&launches).filter(|_| !arm.writes()),
            tasks_made_low: quantile_of(&tasks_made, 0.25),
            tasks_made_high: quantile_of(&tasks_made, 0.75),
            children: arm_launches.iter().filter_map(|launch| launch.children).max(),
            strayed: arm_launches.iter().find_map(|launch| launch.strayed.clone()),
            rest_cpu: high(arm_launches.iter().filter_map(|launch| launch.rest_cpu).collect()),
        }
    }
}

fn by_launch<'s>(slices: &[&'s Slice]) -> Vec<Vec<&'s Slice>> {
    let mut launches: BTreeMap<usize, Vec<&Slice>> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| slice.operations > 0) {
        launches.entry(slice.launch).or_default().push(slice);
    }
    launches.into_values().collect()
}

fn operation_ns(slice: &Slice) -> f64 {
    slice.wall_ns as f64 / slice.operations as f64
}

/// The quicker half of a launch's slices, the one in the middle with them.
fn quicker_half<'s>(slices: &[&'s Slice]) -> Vec<&'s Slice> {
    let mut sorted = slices.to_vec();
    sorted.sort_by(|one, other| operation_ns(one).total_cmp(&operation_ns(other)));
    sorted.truncate(sorted.len().div_ceil(2));
    sorted
}

/// How many flushes the disks complete at least for one that is asked of them; none where most probes say that flushes are not told
/// apart. Others' flushes come on top, so that the least counts; a system may also spare one of a row, and that row says nothing.
fn flushes_probed(probes: &[&Probe]) -> Option<u64> {
    let told: Vec<u64> =
        probes.iter().filter_map(|probe| probe.flushes).filter(|flushes| *flushes > 0).collect();
    told.iter().min().copied().filter(|_| told.len() * 2 > probes.len())
}

/// Bytes that it read in a slice of a launch: the median.
fn read_bytes(slices: &Vec<&Slice>) -> Option<f64> {
    let read = slices.iter().filter_map(|slice| slice.witness.as_ref()?.read_bytes);
    quantile_of(&read.map(|bytes| bytes as f64).collect::<Vec<_>>(), 0.5)
}

/// The quartiles of the time beside the clock, and the least of it.
struct Beside {
    low: Option<f64>,
    high: Option<f64>,
    least: Option<f64>,
}

impl Beside {
    /// Of as many launches as can move a difference, where each has slices enough: a clock that goes wrong in some of them hides
    /// behind the others. Of all slices together otherwise.
    fn of(arm: &PlannedArm, quicker: &[Vec<&Slice>]) -> Beside {
        let each: Vec<Vec<f64>> = quicker.iter().map(|slices| beside_ns(arm, slices)).collect();
        if each.len() >= LOOKS[0] && each.iter().all(|beside| beside.len() >= SLICES_LEAST) {
            let of_launches =
                |share| high(each.iter().filter_map(|beside| quantile_of(beside, share)).collect());
            return Beside { low: of_launches(0.25), high: of_launches(0.75), least: of_launches(0.0) };
        }
        let beside = each.concat();
        let of_all = |share, least| quantile_of(&beside, share).filter(|_| beside.len() >= least);
        Beside {
            low: of_all(0.25, SLICES_LEAST),
            high: of_all(0.75, SLICES_LEAST),
            least: of_all(0.0, SLICES_LEAST_BESIDE),
        }
    }
}

/// How long the lab waited for each slice beyond the time that the kit says, where all operations are in that time.
fn beside_ns(arm: &PlannedArm, slices: &[&Slice]) -> Vec<f64> {
    if !arm.lanes.iter().all(|lane| is_whole(lane.verb)) {
        return Vec::new();
    }
    let beside = |slice: &&Slice| Some(slice.witness.as_ref()?.waited_ns.checked_sub(slice.wall_ns)? as f64);
    slices.iter().filter_map(beside).collect()
}

/// Of the launches with enough slices to tell, the share whose slices are of two kinds that lie far apart.
fn two_kinds_share(launches: &[Vec<&Slice>]) -> Option<f64> {
    let known: Vec<Vec<f64>> = launches
        .iter()
        .filter(|slices| slices.len() >= SLICES_LEAST)
        .map(|slices| slices.iter().map(|slice| operation_ns(slice)).collect())
        .collect();
    let is_of_two =
        |times: &&Vec<f64>| Kinds::of(times).is_some_and(|kinds| kinds.high / kinds.low >= KINDS_FAR_APART);
    (known.len() >= LOOKS[0]).then(|| known.iter().filter(is_of_two).count() as f64 / known.len() as f64)
}

/// Whether all that is done for an operation of that verb is in the time that the kit tells, but for what the kit does with
/// the answers: handles are closed beside it, and what was delivered is compared.
fn is_whole(verb: Verb) -> bool {
    !matches!(verb, Verb::Open | Verb::Deliver | Verb::Subscribe)
}

/// What was counted over slices for each of their commits, in a low launch: see [`low`].
fn per_commit(
    case: &PlannedCase,
    arm: &PlannedArm,
    launches: &[Vec<&Slice>],
    part: fn(&Witness) -> Option<u64>,
) -> Option<f64> {
    let in_launch = |slices: &Vec<&Slice>| {
        let counted: Option<f64> =
            slices.iter().map(|slice| Some(part(slice.witness.as_ref()?)? as f64)).sum();
        let each = commits_per_operation(case, arm, slices)?;
        let commits: f64 = slices.iter().map(|slice| commits_of(slice, each)).sum();
        Some((counted?, commits))
    };
    // A launch whose slices happened to write nothing says nothing of commits.
    let each: Option<Vec<(f64, f64)>> = launches.iter().map(in_launch).collect();
    let writing = each?.into_iter().filter(|(_, commits)| *commits > 0.0);
    low(writing.map(|(counted, commits)| counted / commits).collect())
}

/// The value that so many launches do not reach as can move a difference: Hodges and Lehmann's estimate follows 29 % of them. The
/// median of fewer launches than a first look has, for the system may count in one what was done in another.
fn low(mut launches: Vec<f64>) -> Option<f64> {
    launches.sort_by(f64::total_cmp);
    if launches.len() < LOOKS[0] {
        return quantile_of(&launches, 0.5);
    }
    launches.get((launches.len() as f64 * MOVING_SHARE) as usize).copied()
}

/// The same from above: the value that so many launches reach.
fn high(launches: Vec<f64>) -> Option<f64> {
    low(launches.into_iter().map(|value| -value).collect()).map(|value| -value)
}
