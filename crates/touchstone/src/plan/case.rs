//! A case of a plan: its data, what is watched, and its arms, with what follows from them.

use super::{Overridden, PlannedArm, PlannedLoad, PlannedOrder, Quantity};
use crate::name::suite_of;
use crate::suite::{Cache, Scaled};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use touchstone_protocol::{RecordKind, Verb, Watched};

/// What a slice of calibrated length takes where a suite says nothing else, in milliseconds.
pub const SLICE_MS: u32 = 2;

/// A case with everything settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCase {
    /// `suite/case`: unique in the plan, and a file name once its slash is replaced.
    pub id: String,
    /// What happens.
    pub title: String,
    /// The case of the suite that this is one scale of; none where it has no scales.
    #[serde(default)]
    pub scale_of: Option<String>,
    /// Which scale, in the number of what is scaled.
    #[serde(default)]
    pub scale: Option<u64>,
    /// What is scaled.
    #[serde(default)]
    pub scaled: Scaled,
    /// The dataset, with the count for this size.
    pub dataset: PlannedDataset,
    /// How many of its records are stored beforehand.
    pub filled: u64,
    /// How often as many records as it has are stored and deleted again before that.
    #[serde(default)]
    pub churn: u32,
    /// What is watched.
    #[serde(default)]
    pub watch: Option<PlannedWatch>,
    /// The number of the only record that gets ask for; none where they ask for a random one each time.
    #[serde(default)]
    pub get_record: Option<u64>,
    /// In which order gets ask for records; none where they ask at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<PlannedOrder>,
    /// The load that services bear, in the place of lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<PlannedLoad>,
    /// Bytes that an operation reads or writes, of a case that is about bytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_bytes: Option<u64>,
    /// Tables in the database.
    pub tables: u32,
    /// Whether tables 2 to 4 hold objects of types of their own.
    #[serde(default)]
    pub typed: bool,
    /// What the caches hold when a slice starts.
    pub cache: Cache,
    /// Whether the database is put back before every slice.
    pub restore: bool,
    /// Whether its commits are meant to reach the disk.
    pub flushes: bool,
    /// Whether answers are left unchecked.
    #[serde(default)]
    pub unchecked: bool,
    /// Blocks in a launch.
    pub blocks: u32,
    /// What a slice of calibrated length takes in milliseconds.
    #[serde(default = "slice_ms", skip_serializing_if = "is_usual_slice")]
    pub slice_ms: u32,
    /// The smallest relative difference that matters.
    pub margin: f64,
    /// The arm every other is compared with.
    pub baseline: String,
    /// The arm that stands for the least work possible.
    pub floor: Option<String>,
    /// Its numbers in the full size; none of a scale that the full size has not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub full: Vec<Quantity>,
    /// All scales of its case in this size, whether they were chosen or not, but in a gate those that were named; none where
    /// it has no scales.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scales: Vec<u64>,
    /// The largest of its case's scales in the full size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_scale: Option<u64>,
    /// Numbers that were set otherwise than the suite does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<Overridden>,
    /// Who runs it.
    pub arms: Vec<PlannedArm>,
}

/// A dataset at this plan's size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedDataset {
    /// Its name in the suite.
    pub name: String,
    /// The record type.
    pub record: RecordKind,
    /// How many records.
    pub records: u64,
    /// Bytes in each value; 0 for a doc, whose fields have sizes of their own, and for the couch page's own documents.
    pub value_bytes: u64,
    /// How far each object's priority lies below the one before it; 0 where priorities go by number.
    #[serde(default)]
    pub spacing: u64,
}

/// What is watched, at this plan's size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedWatch {
    /// Of which kind the subscriptions are.
    pub watched: Watched,
    /// How many.
    pub subscriptions: u64,
    /// How many objects' priorities a window reaches over.
    pub width: u64,
    /// By how many objects each window lies below the one before it; none where they are spread evenly.
    pub stride: Option<u64>,
    /// How many of the first objects are watched at all.
    pub span: u64,
    /// How many of its first objects the result of a window has at most.
    pub limit: Option<u32>,
}

fn slice_ms() -> u32 {
    SLICE_MS
}

fn is_usual_slice(ms: &u32) -> bool {
    *ms == SLICE_MS
}

impl PlannedCase {
    /// What a slice of calibrated length should take of the slowest arm, in nanoseconds. One that is longer than the scheduler's
    /// quantum is disturbed in nearly every slice, and its median with it.
    pub fn slice_ns(&self) -> u64 {
        u64::from(self.slice_ms) * 1_000_000
    }

    /// The arm of that name.
    pub fn arm(&self, name: &str) -> Option<&PlannedArm> {
        self.arms.iter().find(|arm| arm.name == name)
    }

    /// The margin of two of its arms: its own, or that of an arm that has a wider one.
    pub fn margin_of(&self, arm: &PlannedArm, against: &PlannedArm) -> f64 {
        [arm.margin, against.margin].into_iter().flatten().fold(self.margin, f64::max)
    }

    /// The suite's name.
    pub fn suite(&self) -> &str {
        suite_of(&self.id)
    }

    /// The id without its suite.
    pub fn name(&self) -> &str {
        self.id.split_once('/').map_or(&self.id, |(_, name)| name)
    }

    /// Whether any arm stores anything.
    pub fn writes(&self) -> bool {
        self.arms.iter().any(PlannedArm::writes)
    }

    /// Whether the commits of an arm await the disk.
    pub fn awaits_disk(&self) -> bool {
        self.arms.iter().any(PlannedArm::awaits_disk)
    }

    /// Whether any arm gets rows by their key. Then the tables of all of them have one.
    pub fn gets_rows(&self) -> bool {
        self.dataset.record == RecordKind::Row && (self.has_lane(Verb::Get) || self.has_lane(Verb::Mix))
    }

    pub(super) fn has_lane(&self, verb: Verb) -> bool {
        self.arms.iter().flat_map(|arm| &arm.lanes).any(|lane| lane.verb == verb)
    }

    /// How many acknowledgements may wait for one and the same commit: each user of a load waits for one of its own.
    pub fn sharers(&self) -> f64 {
        self.load.as_ref().map_or(1.0, |load| f64::from(load.users.max(1)))
    }

    /// Whether one processor is all that its arms can use: then lab and arms share one, which none finds asleep.
    pub fn is_confined(&self) -> bool {
        self.arms.iter().all(|arm| arm.lanes.len() == 1 && !arm.threads)
    }

    /// How many of its subscriptions are there before the first slice of an arm: all of them, or none where the arm's own
    /// lanes begin and end them.
    pub fn watched_before(&self, arm: &PlannedArm) -> Option<u64> {
        let begins = arm.lanes.iter().any(|lane| lane.verb == Verb::Subscribe);
        self.watch.as_ref().map(|watch| if begins { 0 } else { watch.subscriptions })
    }

    /// How many of its tables its lanes use: those numbered up to this one.
    pub fn tables_used(&self) -> u32 {
        self.arms.iter().flat_map(|arm| &arm.lanes).map(|lane| lane.table).max().unwrap_or(1)
    }

    /// Table `table`'s share of the first `records` records, which the tables in use have between them.
    pub fn share_of(&self, records: u64, table: u32) -> Range<u64> {
        let share = |tables: u32| records * u64::from(tables) / u64::from(self.tables_used());
        share(table - 1)..share(table)
    }

    /// The id as a file name.
    pub fn file_stem(&self) -> String {
        self.id.replace('/', ".")
    }
}
