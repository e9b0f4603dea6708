//! The messages: every request the lab may make and every reply a kit may give.

use crate::{RecordKind, Settings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// What the lab asks; one JSON object on one line, `request` naming it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Always the first: who are you, and do we speak the same version?
    Hello {
        /// The lab's [`crate::PROTOCOL_VERSION`].
        protocol: u32,
    },
    /// Read the dataset and the order of operations into memory, off the clock.
    Prepare {
        /// The record type in the dataset.
        record: RecordKind,
        /// The dataset file.
        dataset: PathBuf,
        /// The operations file; without one, operation i is record i.
        operations: Option<PathBuf>,
        /// The dataset of new states, which updates write in its order; null where nothing is updated.
        #[serde(default)]
        states: Option<PathBuf>,
        /// The file of subscriptions; null where nothing is watched.
        #[serde(default)]
        subscriptions: Option<PathBuf>,
    },
    /// Open (and with `schema.create` first make) the database in `directory`.
    Open {
        /// An existing directory that belongs to this contender alone.
        directory: PathBuf,
        /// The record type it stores.
        record: RecordKind,
        /// Its tables and indexes.
        schema: Schema,
        /// What the lab asks for, by name.
        settings: Settings,
    },
    /// Store records `from..from + count` of the dataset, off the clock.
    Fill {
        /// The first record.
        from: u64,
        /// How many.
        count: u64,
        /// Into which table, from 1.
        #[serde(default = "first_table")]
        table: u32,
    },
    /// Store records `from..from + count` and delete them all again, `times` over, off the clock, so that the
    /// database has room to use again, as one that has lived has.
    Churn {
        /// The first record.
        from: u64,
        /// How many.
        count: u64,
        /// In which table, from 1.
        #[serde(default = "first_table")]
        table: u32,
        /// How often.
        times: u32,
    },
    /// Subscribe to the first `count` of the file's subscriptions, off the clock; they end when the database is closed.
    Watch {
        /// How many.
        count: u64,
    },
    /// Do the lanes, on the clock.
    Run(Run),
    /// Do the lanes once, off the clock, and say how: query plan and the engine's counters.
    Explain {
        /// As in [`Run`].
        lanes: Vec<Lane>,
    },
    /// Read everything of a table through a handle of its own and digest it in key order.
    Check {
        /// Which table, from 1.
        #[serde(default = "first_table")]
        table: u32,
    },
    /// Serve requests over HTTP from the database in `directory`, which is made there where there is none.
    Serve {
        /// An existing directory that belongs to this contender alone.
        directory: PathBuf,
        /// The port of 127.0.0.1; 0 for any that is free.
        port: u16,
        /// What the lab asks for, by name.
        settings: Settings,
    },
    /// Close the database, or end the service.
    Close,
    /// Reply, then exit with status 0.
    Quit,
}

/// The tables and indexes of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// Make the tables (a fresh database) instead of expecting them.
    pub create: bool,
    /// How many tables, the record's own included.
    pub tables: u32,
    /// Rows are got by their key: a table that would else have none makes it its key. Documents and docs have theirs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub keyed: bool,
    /// Tables 2 to 4 have types of their own, with fewer fields.
    #[serde(default, skip_serializing_if = "is_false")]
    pub typed: bool,
    /// Fields to index beyond what the natural schema has.
    pub indexes: Vec<String>,
}

/// A timed stretch: all lanes start together, each in a thread of its own where there are several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// What runs side by side.
    pub lanes: Vec<Lane>,
    /// Where to write each operation's nanoseconds (u64 little-endian), or nowhere.
    pub latency: Option<PathBuf>,
    /// Where to write the latencies of each tenth of a second, or nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<PathBuf>,
}

impl Run {
    /// The lanes, and no file beside the reply.
    pub fn of(lanes: Vec<Lane>) -> Run {
        Run { lanes, latency: None, series: None }
    }
}

/// One thread's work: `count` operations from operation `from`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// What to do.
    pub verb: Verb,
    /// The first operation.
    pub from: u64,
    /// How many.
    pub count: u64,
    /// Hold one read transaction open around all of them.
    #[serde(default)]
    pub held: bool,
    /// On which table, from 1.
    #[serde(default = "first_table")]
    pub table: u32,
    /// What `find` compares with: it answers the objects whose priority is above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<i64>,
    /// How many new states each transaction of `deliver` writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<u64>,
    /// What the subscribers of `deliver` do with what they are given; they take it, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<Depth>,
    /// Which stretch of a transaction of `deliver` is timed; commit and delivery, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stretch: Option<Stretch>,
    /// How many operations a transaction of `mix` has; one, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<u64>,
    /// Of `mix`: its operations are played round and round until so many milliseconds have gone by; once, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts_ms: Option<u64>,
}

/// What a subscriber does with an update before its clock stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// It has it in its hand.
    #[default]
    Handle,
    /// It reads a field of every record of the result, in place.
    Iterated,
    /// It has a list of its own with every record of the result.
    Copied,
    /// It has a list of what differs from the result it had.
    Diff,
}

impl fmt::Display for Depth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Depth::Handle => "handle",
            Depth::Iterated => "iterated",
            Depth::Copied => "copied",
            Depth::Diff => "diff",
        })
    }
}

/// Which stretch of a transaction with subscribers is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stretch {
    /// The writer's: its statements and the commit.
    Write,
    /// The commit alone.
    Commit,
    /// From the return of the commit until the last subscriber has what it wants.
    Delivery,
    /// Commit and delivery: from the last statement until the last subscriber has what it wants.
    #[default]
    Both,
}

impl fmt::Display for Stretch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Stretch::Write => "write",
            Stretch::Commit => "commit",
            Stretch::Delivery => "delivery",
            Stretch::Both => "both",
        })
    }
}

impl Lane {
    /// A lane on the first table, without a held read transaction.
    pub fn new(verb: Verb, from: u64, count: u64) -> Lane {
        Lane {
            verb,
            from,
            count,
            held: false,
            table: first_table(),
            above: None,
            changes: None,
            depth: None,
            stretch: None,
            transaction: None,
            lasts_ms: None,
        }
    }
}

fn first_table() -> u32 {
    1
}

/// What a driver may be asked to do. A driver that lacks one lacks a capability, which is not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Get each operation's record by key, into an object of its own.
    Get,
    /// Read every record into objects, `count` times over.
    ReadAll,
    /// Insert each record in a commit of its own.
    InsertOne,
    /// Insert all `count` records in one commit.
    InsertMany,
    /// Find every object whose priority is above a bound, on a field without an index, `count` times over.
    Find,
    /// Write each new state over the object of its key, in a commit of its own.
    UpdateOne,
    /// Fetch every object, then write all `count` new states, in one transaction.
    UpdateMany,
    /// Fetch every object, then delete each, in one transaction.
    DeleteMany,
    /// Write `changes` new states in one transaction and let every subscriber have what it is to be told, `count` times.
    Deliver,
    /// Begin a subscription, have its first result and end it again, `count` times over.
    Subscribe,
    /// Open the database, configure it and answer a first query, `count` times over.
    Open,
    /// Get records and write new states over others, as the order of operations mixes them, several in a transaction.
    Mix,
}

impl Verb {
    /// Every verb of this version.
    pub const ALL: [Verb; 12] = [
        Verb::Get,
        Verb::ReadAll,
        Verb::InsertOne,
        Verb::InsertMany,
        Verb::Open,
        Verb::Find,
        Verb::UpdateOne,
        Verb::UpdateMany,
        Verb::DeleteMany,
        Verb::Deliver,
        Verb::Subscribe,
        Verb::Mix,
    ];

    /// The verbs that the published pages ask of plain records.
    pub const OF_RECORDS: [Verb; 5] =
        [Verb::Get, Verb::ReadAll, Verb::InsertOne, Verb::InsertMany, Verb::Open];

    /// Those, and mixed load.
    pub const OF_MIXED_RECORDS: [Verb; 6] =
        [Verb::Get, Verb::ReadAll, Verb::InsertOne, Verb::InsertMany, Verb::Open, Verb::Mix];

    /// The verbs that they ask of objects, without subscriptions to those.
    pub const OF_OBJECTS: [Verb; 9] = [
        Verb::Get,
        Verb::ReadAll,
        Verb::InsertOne,
        Verb::InsertMany,
        Verb::Open,
        Verb::Find,
        Verb::UpdateOne,
        Verb::UpdateMany,
        Verb::DeleteMany,
    ];

    /// The verb's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::ReadAll => "read-all",
            Verb::InsertOne => "insert-one",
            Verb::InsertMany => "insert-many",
            Verb::Open => "open",
            Verb::Find => "find",
            Verb::UpdateOne => "update-one",
            Verb::UpdateMany => "update-many",
            Verb::DeleteMany => "delete-many",
            Verb::Deliver => "deliver",
            Verb::Subscribe => "subscribe",
            Verb::Mix => "mix",
        }
    }

    /// Whether the verb is about subscriptions, so that it takes the case's own and runs alone.
    pub fn watches(self) -> bool {
        matches!(self, Verb::Deliver | Verb::Subscribe)
    }

    /// Whether the verb changes what the database holds.
    pub fn writes(self) -> bool {
        self.inserts() || self.updates() || matches!(self, Verb::DeleteMany | Verb::Mix)
    }

    /// Whether the verb stores records of the dataset, which it uses up.
    pub fn inserts(self) -> bool {
        matches!(self, Verb::InsertOne | Verb::InsertMany)
    }

    /// Whether the verb writes new states, which it uses up.
    pub fn updates(self) -> bool {
        matches!(self, Verb::UpdateOne | Verb::UpdateMany | Verb::Deliver)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// What a kit answers; one JSON object on one line, `reply` naming the request it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// To `hello`.
    Hello(Hello),
    /// To `prepare`.
    Prepare {
        /// Records in the dataset.
        records: u64,
        /// Operations in the order.
        operations: u64,
        /// New states; left out where there are none.
        #[serde(default, skip_serializing_if = "is_zero")]
        states: u64,
        /// Subscriptions; left out where there are none.
        #[serde(default, skip_serializing_if = "is_zero")]
        subscriptions: u64,
    },
    /// To `open`.
    Open(Opened),
    /// To `fill`.
    Fill,
    /// To `churn`.
    Churn,
    /// To `watch`.
    Watch,
    /// To `run`.
    Run(Sample),
    /// To `explain`.
    Explain(Plan),
    /// To `check`.
    Check {
        /// Records found.
        answers: u64,
        /// Their digest, in key order.
        digest: String,
    },
    /// To `serve`.
    Serve(Served),
    /// To `close`.
    Close,
    /// To `quit`.
    Quit,
    /// To anything that could not be done.
    Error(Failure),
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Who a driver is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol version the kit speaks.
    pub protocol: u32,
    /// The kit and its version.
    pub kit: String,
    /// The subject, as in the kit's table.
    pub subject: String,
    /// The subject's version.
    pub version: String,
    /// The database library really linked, with its version: `SQLite 3.53.2`.
    pub engine: String,
    /// The engine's own source identification, where it has one.
    #[serde(default)]
    pub engine_source: String,
    /// How the engine was compiled, in its own words.
    #[serde(default)]
    pub compile_options: Vec<String>,
    /// What it can do, `record.verb`; also `record.held` for held read transactions, `record.tables` for lanes on
    /// tables of their own, `record.typed` where those have types of their own, and `record.watch-object` and its like for what can be watched.
    pub capabilities: Vec<String>,
    /// The clock the kit reads.
    pub clock: Clock,
}

/// The clock a kit reads around a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Its name.
    pub name: String,
    /// What one reading costs, in nanoseconds.
    pub cost_ns: f64,
    /// The smallest step it was seen to make, in nanoseconds.
    pub resolution_ns: u64,
}

/// A service that answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// The port it listens on.
    pub port: u16,
    /// What took effect, read back.
    pub settings: Settings,
}

/// What took effect on opening.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Read back from the engine, never echoed from the request.
    pub settings: Settings,
}

/// What a timed stretch yields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// From the common start to the end of the last lane.
    pub wall_ns: u64,
    /// Processor time of the whole process.
    pub cpu_ns: u64,
    /// Each lane, in the order asked.
    pub lanes: Vec<LaneSample>,
    /// What the operating system counted over the stretch.
    #[serde(default)]
    pub usage: Usage,
}

/// One lane of a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaneSample {
    /// From the common start to this lane's end.
    pub wall_ns: u64,
    /// Records answered, or for writes acknowledged.
    pub answers: u64,
    /// Digest of the answered records in order; of none for writes.
    pub digest: String,
    /// Operations that failed, by kind.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Of a `deliver` lane, what it came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// Of a `mix` lane by the clock, how many operations were played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub played: Option<u64>,
}

impl LaneSample {
    /// Operations that failed, of all kinds. A kind of which none failed says nothing.
    pub fn failed(&self) -> u64 {
        self.errors.values().fold(0, |all, number| all.saturating_add(*number))
    }
}

/// What the transactions of a `deliver` lane came to, all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The statements, from the first to the last one's return.
    pub write_ns: u64,
    /// From there to the return of the commit.
    pub commit_ns: u64,
    /// From there until the last subscriber had its update in its hand.
    pub delivery_ns: u64,
    /// From there until all had done with theirs what the lane's depth says.
    pub depth_ns: u64,
    /// Updates whose result is not that of a fresh fetch, and those of which sum, copy or differences say something
    /// else than their result.
    pub differing: u64,
}

/// The operating system's counts over a stretch, the whole process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Times the process gave up the processor.
    pub voluntary_switches: u64,
    /// Times it was taken away.
    pub involuntary_switches: u64,
    /// Page faults that went to the disk.
    pub major_faults: u64,
    /// Bytes asked of read calls, page cache included.
    pub read_bytes: u64,
    /// Bytes given to write calls.
    pub written_bytes: u64,
}

/// How the subject did a stretch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The query plan, a line each, where the subject has one.
    pub plan: Vec<String>,
    /// The engine's own counters over the stretch: `cache_hits`, `vm_steps`, `wal_frames`, …
    pub counters: BTreeMap<String, i64>,
}

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Of what kind.
    pub kind: FailureKind,
    /// In the subject's words.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message, self.kind.name())
    }
}

/// The kinds of failure the lab tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The driver does not implement the verb, the record or the setting.
    Unsupported,
    /// Another handle was writing, and the subject would not wait or gave up.
    Busy,
    /// The disk is full.
    Full,
    /// The operating system refused a read or a write.
    Io,
    /// The database is damaged, or the key is wrong.
    Corrupt,
    /// The request makes no sense now, such as a run before an open.
    Protocol,
    /// Anything else.
    Other,
}

impl FailureKind {
    /// The kind's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Unsupported => "unsupported",
            FailureKind::Busy => "busy",
            FailureKind::Full => "full",
            FailureKind::Io => "io",
            FailureKind::Corrupt => "corrupt",
            FailureKind::Protocol => "protocol",
            FailureKind::Other => "other",
        }
    }
}
