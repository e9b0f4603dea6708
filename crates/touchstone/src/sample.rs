//! What a run leaves, line by line: slices, launches, flush probes, recorded passes.
//!
//! Raw samples are the truth: they are appended as they happen and never changed; everything after is computed
//! from them and can be computed again.

mod histogram;
mod load;
mod over_time;
mod series;

pub use histogram::{LOAD_COUNT_MAX, LOAD_DIGITS, LOAD_NS_MAX, read_load_histogram};
pub use load::{Endpoint, LoadWindow};
pub use over_time::{LEVELS_OF_TEN, Series, SeriesStatistics, StretchStatistics};
pub use series::{Counts, Window, read_series, series_bytes_max};

use crate::kit::Contender;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use touchstone_protocol::{Hello, LaneSample, Settings, Usage};

/// A slice: one timed stretch of one arm. A line of `samples.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// The case.
    pub case: String,
    /// The launch, from 0.
    pub launch: usize,
    /// The arm.
    pub arm: String,
    /// Why it ran.
    pub phase: Phase,
    /// The block, from 0.
    pub block: u32,
    /// Its place in the block.
    pub position: u32,
    /// Operations done: records for verbs that answer or store several.
    pub operations: u64,
    /// Transactions of it that wrote, where not every one does: of a mixed load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// From the common start to the end of the last lane.
    pub wall_ns: u64,
    /// Processor time of the subject's process.
    pub cpu_ns: u64,
    /// The lanes, in order.
    pub lanes: Vec<LaneSample>,
    /// What the operating system counted, as the kit tells.
    pub usage: Usage,
    /// What the lab itself saw; none in records from before it looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
    /// What was wrong with the answer, where something was: the slice is void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// What the lab saw of a slice without asking the driver. What the system does not tell is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// From the request to its reply, in nanoseconds: the slice, and what the kit does before and after it.
    pub waited_ns: u64,
    /// How long the database took to open before the slice, in nanoseconds, where it was opened for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening_ns: Option<u64>,
    /// Bytes that the driver's process read while the database was opened for the slice, the page cache's included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening_read_bytes: Option<u64>,
    /// Bytes that the driver's process read meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes that it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Flushes that all disks completed meanwhile, whoever asked for them: no commit that awaits one does without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// Processes and threads that were made meanwhile, by whomever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_made: Option<u64>,
}

/// Why a slice ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// To find the count, or to warm up: never compared.
    Warm,
    /// In a block: compared.
    Measure,
    /// With the clock read after every operation: for latency only.
    Latency,
}

/// What stands before the reason where a query plan could not be had.
pub const NOT_EXPLAINED: &str = "not explained:";

/// One arm's part in a launch. A line of `launches.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The case.
    pub case: String,
    /// The launch, from 0.
    pub launch: usize,
    /// The arm.
    pub arm: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, where it did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where operations of its slices failed, with what the first did, as its kit told it on standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_with: Option<String>,
    /// Operations a slice, where calibrated.
    pub calibrated: u64,
    /// The processor that it was confined to, as the system numbers them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<usize>,
    /// The most threads that its process was seen to have after a slice, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// The most processes that it was seen to have started and not ended, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children: Option<u64>,
    /// The processors that it allowed itself although it was confined to one, as the system lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strayed: Option<String>,
    /// The share of a processor that a service used between windows of its own, while other arms were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_cpu: Option<f64>,
    /// What took effect, read back from the engine, or what the head of its file says where that says otherwise.
    pub settings: Settings,
    /// Records handed over to be stored, those stored beforehand included, less those that were deleted.
    pub expected: u64,
    /// Records found in the end, through a handle of its own.
    pub found: u64,
    /// The query plan.
    #[serde(default)]
    pub plan: Vec<String>,
    /// The engine's counters over one slice.
    #[serde(default)]
    pub counters: BTreeMap<String, i64>,
    /// Hits of the best possible pool of as many pages as its `pool_pages`, over one slice, where gets have an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_hits: Option<u64>,
    /// Bytes of the database's files in the end, by their paths in its directory.
    #[serde(default)]
    pub file_bytes: BTreeMap<String, u64>,
}

/// How an arm's part in a launch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All of it was done.
    Completed,
    /// An answer was wrong.
    Void,
    /// The subject cannot do this.
    Unsupported,
    /// It took longer than it may.
    TimedOut,
    /// Its process ended, or spoke rubbish.
    Crashed,
    /// It answered with an error where none is a result.
    Failed,
}

/// A subject as it introduced itself. A line of `subjects.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Introduction {
    /// The contender first met.
    pub contender: Contender,
    /// What it said.
    pub hello: Hello,
    /// CRC-32 of its driver program, to tell builds apart.
    pub program_crc32: String,
}

/// A write and flush of the case's directory by the lab itself. A line of `probes.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The case.
    pub case: String,
    /// The launch.
    pub launch: usize,
    /// The block it ran beside.
    pub block: u32,
    /// One 4 KiB overwrite and fdatasync, in nanoseconds: the median of five in a row, after one that is not timed.
    pub flush_ns: u64,
    /// Flushes that all disks completed for each of the row, rounded down: 0 where they are not told apart from other requests, so
    /// that their number beside a slice says nothing. None where the system does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
}

/// Syncs and bytes per commit, from the untimed recorded pass. A line of `syncs.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SyncCount {
    /// The case.
    pub case: String,
    /// The arm.
    pub arm: String,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// Commits recorded.
    #[serde(default)]
    pub commits: u64,
    /// Times that the typical (median) commit awaited the disk for something that it had changed: syncs of files and of
    /// directories, and writes that return only when they are durable.
    #[serde(default)]
    pub syncs_per_commit: u64,
    /// Of the costliest commit, a checkpoint's syncs included.
    #[serde(default)]
    pub syncs_most: u64,
    /// Over all commits, checkpoints included.
    #[serde(default)]
    pub syncs: u64,
    /// On closing the database afterwards, where a checkpoint may be due.
    #[serde(default)]
    pub syncs_at_close: u64,
    /// Syncs of files and directories that had not changed since their last sync, over all commits: they keep nothing.
    #[serde(default)]
    pub idle_syncs: u64,
    /// Those of `syncs` that were writes which return only when they are durable.
    #[serde(default)]
    pub synchronous_writes: u64,
    /// Commits that the disk had been asked to keep before they were acknowledged; none in records from before it was counted.
    #[serde(default)]
    pub durable_commits: Option<u64>,
    /// Bytes written over all commits.
    #[serde(default)]
    pub bytes_written: u64,
    /// Bytes that the typical (median) commit wrote; none in records from before it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_of_median: Option<u64>,
    /// Commits a quarter of whose records' bytes had been written before they were acknowledged; none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_commits: Option<u64>,
    /// Syncs from the first commit on, until its process had ended; none in records from before they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs_to_end: Option<u64>,
    /// Files written through a shared mapping, whose bytes are not counted.
    #[serde(default)]
    pub mapped: Vec<String>,
    /// Ways of writing that the recorder refused: without it the program may write in another way.
    #[serde(default)]
    pub refused: Vec<String>,
}

impl SyncCount {
    /// A count that could not be taken.
    pub fn unavailable(case: &str, arm: &str, why: impl Into<String>) -> SyncCount {
        SyncCount {
            case: case.to_owned(),
            arm: arm.to_owned(),
            unavailable: Some(why.into()),
            commits: 0,
            syncs_per_commit: 0,
            syncs_most: 0,
            syncs: 0,
            syncs_at_close: 0,
            idle_syncs: 0,
            synchronous_writes: 0,
            durable_commits: None,
            bytes_written: 0,
            bytes_of_median: None,
            written_commits: None,
            syncs_to_end: None,
            mapped: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Whether records may have been stored through a mapping, which is not seen. SQLite's shared memory holds none.
    pub fn maps_records(&self) -> bool {
        self.mapped.iter().any(|file| !file.ends_with("-shm"))
    }

    /// Bytes written for each commit, on average.
    pub fn bytes_per_commit(&self) -> Option<f64> {
        (self.unavailable.is_none() && self.commits > 0)
            .then(|| self.bytes_written as f64 / self.commits as f64)
    }

    /// Bytes that the typical commit wrote; their average in older records.
    pub fn bytes_of_typical_commit(&self) -> Option<f64> {
        let average = self.bytes_per_commit()?;
        Some(self.bytes_of_median.map_or(average, |bytes| bytes as f64))
    }
}

/// The machine's own noise over one block. A line of `noise.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The case.
    pub case: String,
    /// The launch.
    pub launch: usize,
    /// The block.
    pub block: u32,
    /// Share of the block's time in which some task waited for a processor, 0 to 1; none where not told.
    pub cpu_pressure: Option<f64>,
    /// Share in which some task waited for the disk.
    pub io_pressure: Option<f64>,
    /// Share of processor time the host took for others.
    pub steal: Option<f64>,
}
