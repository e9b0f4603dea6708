//! Mixed load: which records its lanes get, which they update and to what, and what they must find.

use super::{CaseData, Contents, States, generate::row, state_streams};
use crate::error::Result;
use crate::random::{Seeds, Stream};
use rand::RngExt;
use rand::seq::SliceRandom;
use std::ops::Range;
use std::path::Path;
use touchstone::plan::{MIXED, PlannedCase};
use touchstone_protocol::{Digest, Lane, LaneSample, Verb, WRITES_STATE};

/// No operation takes less: its answer is digested.
const OPERATION_NS_MIN: u64 = 20;

/// The order of a mixed load, lane after lane; none where a case has no such load. An update writes the state after the one that
/// its record was given last.
pub(super) fn operations(case: &PlannedCase, random: &mut Stream) -> Option<Vec<u32>> {
    let mix = case.mix()?;
    let reads = MIXED as usize * mix.reads.unwrap_or(0) as usize / 100;
    let mut operations = Vec::with_capacity((case.mixed_lanes() * MIXED) as usize);
    let mut is_second = vec![false; case.filled as usize];
    for place in 0..case.mixed_lanes() {
        let mut gets: Vec<bool> = (0..MIXED as usize).map(|number| number < reads).collect();
        if !mix.reads_first {
            gets.shuffle(random);
        }
        let records = case.mixed_records(place);
        let mut updated = updated(MIXED as usize - reads, records.clone(), random).into_iter();
        for is_get in gets {
            operations.push(if is_get {
                random.random_range(records.clone()) as u32
            } else {
                let record = updated.next().expect("there is one for each update");
                update(case, record, &mut is_second)
            });
        }
    }
    Some(operations)
}

/// Which records a lane updates, each as often in the second half of its order as in the first, but for one where their number is odd.
/// So a record's last state of an order is its second, and an order that is played again begins with the first: SQLite writes nothing
/// where an update changes nothing, which was most of what was timed once the order was played a second time.
fn updated(updates: usize, records: Range<u64>, random: &mut Stream) -> Vec<u64> {
    let mut updated: Vec<u64> =
        (0..updates.div_ceil(2)).map(|_| random.random_range(records.clone())).collect();
    let mut again = updated[..updates / 2].to_vec();
    again.shuffle(random);
    updated.append(&mut again);
    updated
}

/// The states of the first round have the numbers of their records, those of the second come after all of these.
fn update(case: &PlannedCase, record: u64, is_second: &mut [bool]) -> u32 {
    let is_second = &mut is_second[record as usize];
    let state = record + if *is_second { case.filled } else { 0 };
    *is_second = !*is_second;
    state as u32 | WRITES_STATE
}

/// Two states of each record, as large as the record.
pub(super) fn states(case: &PlannedCase, seeds: Seeds, folder: &Path) -> Result<States> {
    let (_, mut values) = state_streams(case, seeds);
    let numbers = || (0..case.states_needed()).map(|state| (state % case.filled) as u32);
    let bytes = case.dataset.value_bytes as usize;
    let states = States {
        file: Some(folder.join(format!("{}.states", case.file_stem()))),
        rows: numbers().map(|record| row(record.into(), bytes, &mut values)).collect(),
        of: numbers().collect(),
        ..States::default()
    };
    states.write()
}

impl CaseData {
    /// How many operations of a lane of mixed load update a record.
    pub fn updates_of(&self, lane: &Lane) -> u64 {
        self.slice(lane).iter().filter(|operation| **operation & WRITES_STATE != 0).count() as u64
    }

    /// How many transactions of a mixed load wrote, over all lanes that were answered so; none of another load.
    pub fn commits(&self, lanes: &[Lane], answers: &[LaneSample]) -> Option<u64> {
        let commits = |(lane, answer): (&Lane, &LaneSample)| {
            let played = answer.played.unwrap_or(lane.count);
            let once = self.writing(lane, lane.count);
            once.saturating_mul(played / lane.count).saturating_add(self.writing(lane, played % lane.count))
        };
        let is_mixed = lanes.iter().all(|lane| lane.verb == Verb::Mix);
        is_mixed.then(|| lanes.iter().zip(answers).map(commits).fold(0, u64::saturating_add))
    }

    /// How many transactions write, of the first so many operations of a lane.
    fn writing(&self, lane: &Lane, operations: u64) -> u64 {
        let transactions =
            self.slice(lane)[..operations as usize].chunks(lane.transaction.unwrap_or(1) as usize);
        let writes = |transaction: &&[u32]| transaction.iter().any(|operation| operation & WRITES_STATE != 0);
        transactions.filter(writes).count() as u64
    }

    /// What is wrong with the answer of a lane of mixed load.
    pub(super) fn wrong_mix(&self, contents: &Contents, lane: &Lane, answer: &LaneSample) -> Option<String> {
        if lane.lasts_ms.is_some() != answer.played.is_some() {
            return Some("mix answered without saying how much it played, or said so of a count".into());
        }
        let most = answer.played.unwrap_or(lane.count);
        if is_impossible(answer) {
            return Some(format!("mix says that it played {most} operations in {} ns", answer.wall_ns));
        }
        let done = answer.answers.saturating_add(answer.failed());
        if done > most || (answer.failed() == 0 && done != most) {
            return Some(format!(
                "mix answered {} of {most} operations, and {} failed",
                answer.answers,
                answer.failed()
            ));
        }
        if answer.failed() > 0 || !contents.is_certain() {
            return None;
        }
        let digest = self.play_mix(&mut contents.clone(), lane, answer);
        (digest != answer.digest)
            .then(|| format!("mix got records with digest {}, the right answer has {digest}", answer.digest))
    }

    /// Plays a lane that was answered so, and gives the digest of what it got. Where it says what cannot be, nobody knows what it did.
    pub(super) fn play_mix(&self, contents: &mut Contents, lane: &Lane, answer: &LaneSample) -> String {
        if is_impossible(answer) {
            contents.doubt();
            return String::new();
        }
        let played = answer.played.unwrap_or(lane.count);
        let (rounds, rest) = (played / lane.count, (played % lane.count) as usize);
        let round = self.slice(lane);
        let mut digest = Digest::default();
        if rounds > 0 {
            digest.append(&self.play_operations(contents, lane.table, round));
        }
        if rounds > 1 {
            // Each round leaves the same behind, so all after the first find the same.
            let again = self.play_operations(contents, lane.table, round);
            (1..rounds).for_each(|_| digest.append(&again));
        }
        digest.append(&self.play_operations(contents, lane.table, &round[..rest]));
        digest.to_string()
    }

    fn play_operations(&self, contents: &mut Contents, table: u32, operations: &[u32]) -> Digest {
        let records = self.dataset_len();
        let mut digest = Digest::default();
        for operation in operations {
            let state = operation & !WRITES_STATE;
            if state != *operation {
                contents.update(table, self.states.of[state as usize], records + state);
            } else if let Some(object) = contents.object(table, *operation) {
                self.add_row(&mut digest, object);
            }
        }
        digest
    }
}

/// Whether it played more by the clock than its time has room for: what it says is then not played after it.
fn is_impossible(answer: &LaneSample) -> bool {
    answer.played.is_some_and(|played| played > answer.wall_ns / OPERATION_NS_MIN)
}

#[cfg(test)]
mod tests;
