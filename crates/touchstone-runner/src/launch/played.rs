//! A slice that was played, and its line in the record.

use touchstone::sample::{Phase, Slice, Witness};
use touchstone_protocol::{Lane, Sample, Verb};

/// A slice that was played.
pub struct Played {
    /// What was asked.
    pub lanes: Vec<Lane>,
    /// What came.
    pub sample: Sample,
    /// What the lab saw of it.
    pub witness: Witness,
    /// What was wrong with it.
    pub wrong: Option<String>,
    /// Transactions that wrote, of a mixed load.
    pub commits: Option<u64>,
}

impl Played {
    /// As a line of the record.
    pub fn line(
        &self,
        case: &str,
        launch: usize,
        arm: &str,
        phase: Phase,
        block: u32,
        position: u32,
    ) -> Slice {
        Slice {
            case: case.to_owned(),
            launch,
            arm: arm.to_owned(),
            phase,
            block,
            position,
            operations: self.operations(),
            commits: self.commits,
            wall_ns: self.sample.wall_ns,
            cpu_ns: self.sample.cpu_ns,
            lanes: self.sample.lanes.clone(),
            usage: self.sample.usage,
            witness: Some(self.witness),
            wrong: self.wrong.clone(),
        }
    }

    /// Records answered or acknowledged, over all lanes; for `open`, the times it was opened, for `deliver`, its
    /// transactions, and for `subscribe`, the first results.
    pub fn operations(&self) -> u64 {
        let lanes = self.lanes.iter().zip(&self.sample.lanes);
        lanes
            .map(
                |(lane, answer)| {
                    if matches!(lane.verb, Verb::Open | Verb::Deliver) { lane.count } else { answer.answers }
                },
            )
            .fold(0, u64::saturating_add)
    }

    /// Operations asked for, over all lanes.
    pub fn asked(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.count).fold(0, u64::saturating_add)
    }
}
