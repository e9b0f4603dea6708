//! An arm of a planned case: a contender with its settings, and the lanes that it plays.

use super::{PlannedCase, PlannedLane, is_false};
use crate::kit::{Contender, DurabilityClass};
use serde::{Deserialize, Serialize};
use touchstone_protocol::{Schema, Settings, Verb};

/// A contender in a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedArm {
    /// Its name: `subject@profile`, or `subject@profile#variant`.
    pub name: String,
    /// Who.
    pub contender: Contender,
    /// The kit's language.
    pub language: String,
    /// A misbehaving or reference subject, never to be ranked.
    #[serde(default)]
    pub canary: bool,
    /// The baseline once more, to see whether this machine, now, can be believed.
    #[serde(default)]
    pub null_arm: bool,
    /// Another driver program than the kit's, for comparing two builds.
    #[serde(default)]
    pub program: Option<String>,
    /// What it promises about an acknowledged commit.
    pub class: DurabilityClass,
    /// The smallest relative difference that matters where this arm is compared, if more than the case's: of an arm whose
    /// commits wait for the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// What it is asked for: the suite's settings, the case's, the profile's, later over earlier.
    pub settings: Settings,
    /// Those that its own profile asks for: the subject must say that they took effect.
    pub profile_settings: Settings,
    /// Fields to index.
    pub indexes: Vec<String>,
    /// It works in threads of its own.
    #[serde(default)]
    pub threads: bool,
    /// It is a service that bears the case's load, which stores something.
    #[serde(default, skip_serializing_if = "is_false")]
    pub serves: bool,
    /// What a flush of a file takes, in microseconds, in the place of the disk's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_us: Option<u64>,
    /// What runs side by side.
    pub lanes: Vec<PlannedLane>,
}

impl PlannedArm {
    /// Whether it stores anything.
    pub fn writes(&self) -> bool {
        self.serves || self.lanes.iter().any(|lane| lane.verb.writes())
    }

    /// Whether its commits await the disk, as its class promises. A flush of a length of the case's own asks no disk.
    pub fn awaits_disk(&self) -> bool {
        self.writes() && self.class.reaches_disk() && self.flush_us.is_none()
    }

    /// One commit of the arm, as the recorder asks for it: its verb and the operations in it. None for an arm that does not commit
    /// in one lane.
    pub fn commit(&self) -> Option<(Verb, u64)> {
        let [lane] = self.lanes.as_slice() else { return None };
        match lane.verb {
            Verb::InsertOne | Verb::UpdateOne | Verb::DeleteMany => Some((lane.verb, 1)),
            Verb::InsertMany | Verb::UpdateMany => Some((lane.verb, lane.count?)),
            Verb::Mix => Some((lane.verb, lane.transaction.unwrap_or(1))),
            _ => None,
        }
    }

    /// The schema, to make or to expect.
    pub fn schema(&self, case: &PlannedCase, create: bool) -> Schema {
        Schema {
            create,
            tables: case.tables,
            keyed: case.gets_rows(),
            typed: case.typed,
            indexes: self.indexes.clone(),
        }
    }
}
