//! What the lab itself saw of an arm, beside what its kit says: medians over its slices, and the most over its launches.

use super::{commits_per_operation, quantile_of};
use crate::plan::PlannedArm;
use crate::sample::{Launch, Probe, Slice, Witness};
use serde::{Deserialize, Serialize};
use touchstone_protocol::Verb;

/// Of fewer slices no quartile is told: whether it is of times or of the whole machine's tasks, in each of a few slices a neighbour
/// may have a part by chance.
pub(super) const SLICES_LEAST: usize = 8;

/// Of fewer slices the least time beside the clock is not told: a busy machine may delay each of a few.
const SLICES_LEAST_BESIDE: usize = 16;

/// What the lab itself saw of an arm. What the system does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Witnessed {
    /// How long the lab waited for a slice beyond the time that the kit says it took: the lower quartile, for a busy machine makes
    /// the lab wait longer, and never shorter. Only of slices whose operations are all in that time, and none of fewer than eight.
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
    /// Bytes that it wrote for each commit of its slices: the mean.
    pub commit_written_bytes: Option<f64>,
    /// Flushes that the disks completed for each commit of its slices, in those of the flush probe: the mean. None where they
    /// cannot be counted, and for arms that do not promise one.
    pub commit_flushes: Option<f64>,
    /// Processes and threads that were made in a slice, by whomever: the lower quartile. None of fewer than eight slices.
    pub tasks_made_low: Option<f64>,
    /// The upper quartile of the same.
    pub tasks_made_high: Option<f64>,
    /// The most processes that it had started and not ended.
    pub children: Option<u64>,
    /// Processors that it allowed itself although it was confined to one.
    pub strayed: Option<String>,
}

impl Witnessed {
    /// Of an arm's compared slices and its launches, beside the flush probes of its case.
    pub(super) fn of(arm: &PlannedArm, slices: &[&Slice], parts: &[&Launch], probes: &[&Probe]) -> Witnessed {
        let seen = || slices.iter().filter_map(|slice| Some((*slice, slice.witness.as_ref()?)));
        let values = |part: fn(&Witness) -> Option<u64>| -> Vec<f64> {
            seen().filter_map(|(_, witness)| part(witness)).map(|value| value as f64).collect()
        };
        let median = |part| quantile_of(&values(part), 0.5);
        let mut tasks_made = values(|witness| witness.tasks_made);
        if tasks_made.len() < SLICES_LEAST {
            tasks_made.clear();
        }
        let is_whole =
            |slice: &Slice| slice.lanes.len() == 1 && arm.lanes.iter().all(|lane| is_whole(lane.verb));
        let beside: Vec<f64> = seen()
            .filter(|(slice, _)| is_whole(slice))
            .filter_map(|(slice, witness)| Some(witness.waited_ns.checked_sub(slice.wall_ns)? as f64))
            .collect();
        // A disk under others may count one flush as several.
        let probed =
            probes.iter().map(|probe| probe.flushes.unwrap_or(0)).min().filter(|flushes| *flushes > 0);
        let flushes = |probed: u64| Some(per_commit(arm, slices, |witness| witness.flushes)? / probed as f64);
        Witnessed {
            beside_ns_low: quantile_of(&beside, 0.25).filter(|_| beside.len() >= SLICES_LEAST),
            beside_ns_high: quantile_of(&beside, 0.75).filter(|_| beside.len() >= SLICES_LEAST),
            beside_ns_least: quantile_of(&beside, 0.0).filter(|_| beside.len() >= SLICES_LEAST_BESIDE),
            opening_ns: median(|witness| witness.opening_ns),
            opening_read_bytes: median(|witness| witness.opening_read_bytes),
            read_bytes: median(|witness| witness.read_bytes),
            commit_written_bytes: per_commit(arm, slices, |witness| witness.written_bytes),
            commit_flushes: probed.filter(|_| arm.awaits_disk()).and_then(flushes),
            tasks_made_low: quantile_of(&tasks_made, 0.25),
            tasks_made_high: quantile_of(&tasks_made, 0.75),
            children: parts.iter().filter_map(|part| part.children).max(),
            strayed: parts.iter().find_map(|part| part.strayed.clone()),
        }
    }
}

/// Whether all that is done for an operation of that verb is in the time that the kit tells, but for what the kit does with
/// the answers: handles are closed beside it, and what was delivered is compared.
fn is_whole(verb: Verb) -> bool {
    !matches!(verb, Verb::Open | Verb::Deliver | Verb::Subscribe)
}

/// What was counted over the slices of an arm, for each of their commits.
fn per_commit(arm: &PlannedArm, slices: &[&Slice], part: fn(&Witness) -> Option<u64>) -> Option<f64> {
    let mut counted = 0;
    for slice in slices {
        counted += part(slice.witness.as_ref()?)?;
    }
    let operations: u64 = slices.iter().map(|slice| slice.operations).sum();
    let commits = operations as f64 * commits_per_operation(arm, slices)?;
    (commits > 0.0).then(|| counted as f64 / commits)
}
