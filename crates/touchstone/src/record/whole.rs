//! Whether a record that says it is complete has every line and file that its plan makes a run leave. What is missing would
//! change a verdict without a word. A record that says it is partial is not asked.
//!
//! It finds damage, and is no seal: whoever edits all files of a launch alike is not found out here.

use super::{Record, damaged, file, latency_path};
use crate::error::{Error, Result};
use crate::plan::{PlannedArm, PlannedCase};
use crate::sample::{Launch, Outcome, Phase};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What can be done about a record of which something is missing.
const REMEDY: &str = "put back what is missing or run it again; to judge what is left, write \"partial\" for its status \
                      in record.json";

/// Refuses a complete record of which something is missing; the message names file, case, arm and launch.
pub(super) fn check(folder: &Path, record: &Record) -> Result<()> {
    let left = Left::of(record);
    for case in &record.plan.cases {
        let mut completed = Vec::new();
        for arm in &case.arms {
            completed.extend(left.check_arm(folder, case, arm)?.map(|launches| (arm, launches)));
        }
        check_end(folder, record, case, &completed)?;
        check_blocks(folder, record, case, &completed)?;
    }
    left.check_orphans(folder)
}

/// The arms that completed their launches did so together, at a look.
fn check_end(
    folder: &Path,
    record: &Record,
    case: &PlannedCase,
    completed: &[(&PlannedArm, usize)],
) -> Result<()> {
    let path = folder.join(file::LAUNCHES);
    let Some(most) = completed.iter().map(|(_, launches)| *launches).max() else { return Ok(()) };
    if let Some((arm, launches)) = completed.iter().find(|(_, launches)| *launches < most) {
        return Err(missing(&path, case, arm, Some(*launches), "it has no line, and other arms have one"));
    }
    if record.plan.looks.contains(&most) {
        return Ok(());
    }
    let what = format!("a case ends at a look, and plan.json has none after {most} launches");
    Err(missing(&path, case, completed[0].0, Some(most), what))
}

/// Beside each block of a launch that an arm completed stands the machine's noise, and a flush probe where commits await the
/// disk. A record from before the lab looked for itself has no such probe but where its suite asked for it.
fn check_blocks(
    folder: &Path,
    record: &Record,
    case: &PlannedCase,
    completed: &[(&PlannedArm, usize)],
) -> Result<()> {
    let Some((arm, launches)) = completed.first() else { return Ok(()) };
    let witnessed = record.slices.iter().any(|slice| slice.case == case.id && slice.witness.is_some());
    let probed = case.flushes || (witnessed && case.awaits_disk());
    let of_noise = record.noise.iter().filter(|line| line.case == case.id).map(|line| line.launch);
    let of_probes = record.probes.iter().filter(|line| line.case == case.id).map(|line| line.launch);
    let (noise, probes) = (count_each(of_noise), count_each(of_probes));
    for launch in 0..*launches {
        let there = |counts: &BTreeMap<usize, u32>| counts.get(&launch).copied().unwrap_or(0);
        for (name, there, wanted) in
            [(file::NOISE, there(&noise), true), (file::PROBES, there(&probes), probed)]
        {
            if wanted && there < case.blocks {
                let what = format!("it has {there} lines for {} blocks", case.blocks);
                return Err(missing(&folder.join(name), case, arm, Some(launch), what));
            }
        }
    }
    Ok(())
}

fn count_each(launches: impl Iterator<Item = usize>) -> BTreeMap<usize, u32> {
    let mut counts = BTreeMap::new();
    launches.for_each(|launch| *counts.entry(launch).or_default() += 1);
    counts
}

/// What a record holds, by case, arm and launch.
struct Left<'r> {
    record: &'r Record,
    launches: BTreeMap<(&'r str, &'r str), Vec<&'r Launch>>,
    /// Measured slices of each block.
    slices: BTreeMap<Part<'r>, BTreeMap<u32, u32>>,
    /// Operations of the stretch that was timed one by one.
    timed: BTreeMap<Part<'r>, u64>,
}

/// An arm's part in a launch: case, arm and number.
type Part<'r> = (&'r str, &'r str, usize);

impl<'r> Left<'r> {
    fn of(record: &'r Record) -> Left<'r> {
        let mut left =
            Left { record, launches: BTreeMap::new(), slices: BTreeMap::new(), timed: BTreeMap::new() };
        for launch in &record.launches {
            left.launches.entry((&launch.case, &launch.arm)).or_default().push(launch);
        }
        for slice in &record.slices {
            let part = (slice.case.as_str(), slice.arm.as_str(), slice.launch);
            match slice.phase {
                Phase::Warm => {}
                Phase::Measure => {
                    *left.slices.entry(part).or_default().entry(slice.block).or_default() += 1;
                }
                Phase::Latency => {
                    left.timed.insert(part, slice.operations);
                }
            }
        }
        left
    }

    /// How many launches the arm completed, where it did not fail before the end.
    fn check_arm(&self, folder: &Path, case: &PlannedCase, arm: &PlannedArm) -> Result<Option<usize>> {
        let path = folder.join(file::LAUNCHES);
        let launches =
            self.launches.get(&(case.id.as_str(), arm.name.as_str())).map_or(&[][..], Vec::as_slice);
        let Some(last) = launches.last() else {
            return Err(missing(&path, case, arm, None, "it has no line"));
        };
        for (number, launch) in launches.iter().enumerate() {
            if launch.launch != number {
                let what = "the next line of this arm is of another launch";
                return Err(missing(&path, case, arm, Some(number), what));
            }
            self.check_launch(folder, case, arm, launch)?;
        }
        self.check_once(folder, case, arm, launches)?;
        Ok((last.outcome == Outcome::Completed).then_some(launches.len()))
    }

    fn check_launch(
        &self,
        folder: &Path,
        case: &PlannedCase,
        arm: &PlannedArm,
        launch: &Launch,
    ) -> Result<()> {
        if launch.outcome != Outcome::Completed {
            return Ok(());
        }
        let part = (case.id.as_str(), arm.name.as_str(), launch.launch);
        let none = BTreeMap::new();
        let slices = self.slices.get(&part).unwrap_or(&none);
        let each = case.slices_of_block();
        if slices.len() != case.blocks as usize || slices.values().any(|number| *number != each) {
            let there: u32 = slices.values().sum();
            let what = format!(
                "it has {there} measured slices, and its {} blocks have {each} of them each",
                case.blocks
            );
            return Err(missing(&folder.join(file::SAMPLES), case, arm, Some(launch.launch), what));
        }
        self.check_latency(folder, case, arm, launch.launch)
    }

    /// Every operation of the stretch that was timed one by one has its nanoseconds.
    fn check_latency(
        &self,
        folder: &Path,
        case: &PlannedCase,
        arm: &PlannedArm,
        launch: usize,
    ) -> Result<()> {
        let of_first = self.timed.contains_key(&(case.id.as_str(), arm.name.as_str(), 0));
        let Some(operations) = self.timed.get(&(case.id.as_str(), arm.name.as_str(), launch)) else {
            let what = "its stretch of single operations is not there, which launch 0 has";
            let path = folder.join(file::SAMPLES);
            return if of_first { Err(missing(&path, case, arm, Some(launch), what)) } else { Ok(()) };
        };
        let wanted = arm.times(*operations);
        let known = self.record.latencies.get(&(case.id.clone(), arm.name.clone(), launch));
        let there = known.map_or(0, Vec::len);
        if there as u64 >= wanted {
            return Ok(());
        }
        let path = folder.join(latency_path(&case.id, &arm.name, launch));
        let what = format!("it has the time of {there} operations of {wanted}");
        Err(missing(&path, case, arm, Some(launch), what))
    }

    /// What stands once for an arm: who answered, and what its commits cost.
    fn check_once(
        &self,
        folder: &Path,
        case: &PlannedCase,
        arm: &PlannedArm,
        launches: &[&Launch],
    ) -> Result<()> {
        let introduced =
            |record: &Record| record.subjects.iter().any(|known| known.contender == arm.contender);
        if launches[0].outcome == Outcome::Completed && !introduced(self.record) {
            return Err(missing(
                &folder.join(file::SUBJECTS),
                case,
                arm,
                None,
                "it does not introduce itself",
            ));
        }
        let counted =
            |record: &Record| record.syncs.iter().any(|count| count.case == case.id && count.arm == arm.name);
        if (arm.serves || arm.commit().is_some()) && !counted(self.record) {
            return Err(missing(&folder.join(file::SYNCS), case, arm, None, "its syncs have no line"));
        }
        Ok(())
    }

    /// A slice is of a launch that has its line.
    fn check_orphans(&self, folder: &Path) -> Result<()> {
        let ended: BTreeSet<Part<'_>> = self
            .record
            .launches
            .iter()
            .map(|launch| (launch.case.as_str(), launch.arm.as_str(), launch.launch))
            .collect();
        match self.slices.keys().find(|part| !ended.contains(*part)) {
            None => Ok(()),
            Some((case, arm, launch)) => {
                let place = format!("case {case}, arm {arm}, launch {launch}");
                let what = "it has slices and no line here";
                Err(refused(&folder.join(file::LAUNCHES), &place, what))
            }
        }
    }
}

fn missing(
    path: &Path,
    case: &PlannedCase,
    arm: &PlannedArm,
    launch: Option<usize>,
    what: impl std::fmt::Display,
) -> Error {
    let launch = launch.map_or(String::new(), |launch| format!(", launch {launch}"));
    refused(path, &format!("case {}, arm {}{launch}", case.id, arm.name), what)
}

fn refused(path: &Path, place: &str, what: impl std::fmt::Display) -> Error {
    damaged(
        path,
        format_args!("it says that it is complete, and of {place} something is missing: {what}; {REMEDY}"),
    )
}
