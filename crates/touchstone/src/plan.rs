//! Suite and kits become a plan: every case with its arms and the settings each is asked for, nothing left open.
//!
//! The plan is a file a person can read and edit; a run needs nothing else but the kits themselves.

mod capable;
mod check;
mod choice;
mod followed;
mod load;
mod mixed;
mod order;
mod overriding;
mod reduced;
mod setting;
mod settle;
mod supply;

pub use choice::Choice;
pub use load::PlannedLoad;
pub use mixed::{EXPLAINED, MIXED};
pub use order::PlannedOrder;
pub use overriding::{Overridden, Override};
pub use reduced::{Quantity, Reduced};
pub use supply::{GETS, Start, calibrated_count_max};

use crate::error::{Error, Result};
use crate::kit::{Contender, DurabilityClass, Kits};
use crate::name::{is_unreadable, plain_words, suite_of};
use crate::suite::{
    Cache, Claim, Curve, PublishedLoad, PublishedRow, Reference, Scaled, Size, StandIn, Suite,
};
use crate::written::plainly;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use touchstone_protocol::{Depth, RecordKind, Schema, Settings, Stretch, Verb, Watched};

/// What a slice of calibrated length takes where a suite says nothing else, in milliseconds.
pub const SLICE_MS: u32 = 2;
/// What a suite may say that it takes.
const SLICE_MS_RANGE: std::ops::RangeInclusive<u32> = 1..=1_000;

/// The version of the plan's format.
pub const PLAN_VERSION: u32 = 2;

/// Everything a run does, decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`PLAN_VERSION`].
    pub plan_version: u32,
    /// How much is run.
    pub size: Size,
    /// Every random choice comes from it.
    pub seed: u64,
    /// After how many launches the verdict is looked at; the last is where a case ends undecided.
    pub looks: Vec<usize>,
    /// Comparisons that are corrected together, as in a gate; 1 where each stands alone.
    #[serde(default = "one")]
    pub family: usize,
    /// Whether every comparison is judged as if it were the only one, as in a calibration, which measures just that; a
    /// report corrects for their number.
    #[serde(default, skip_serializing_if = "is_false")]
    pub each_alone: bool,
    /// The suites planned, with their sources.
    pub suites: Vec<PlannedSuite>,
    /// The cases, in suite order.
    pub cases: Vec<PlannedCase>,
    /// Contenders that were planned and could not be had, with the reason: `wcdb@wal-normal; TOUCHSTONE_WCDB names no folder`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

fn one() -> usize {
    1
}

fn is_false(value: &bool) -> bool {
    !value
}

/// What a report needs to know of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedSuite {
    /// The suite's name.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The page whose claims these are.
    pub source: String,
    /// The page's own device.
    pub device: String,
    /// Where the page's figures are read.
    #[serde(default)]
    pub references: Vec<Reference>,
    /// Which subjects take the place of the page's libraries.
    #[serde(default)]
    pub stand_ins: Vec<StandIn>,
    /// Rows of the page's own tables of loads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published_loads: Vec<PublishedLoad>,
    /// Cases that are drawn together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// Rows of the page's own tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published_rows: Vec<PublishedRow>,
    /// All its claims: which of them the plan's cases and arms are about is decided with the verdict.
    pub claims: Vec<Claim>,
}

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

/// One thread's work, at this plan's size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLane {
    /// What to do.
    pub verb: Verb,
    /// How many operations; none where it is calibrated.
    pub count: Option<u64>,
    /// Inside one held read transaction.
    pub held: bool,
    /// On which table, from 1.
    #[serde(default = "first_table")]
    pub table: u32,
    /// What `find` compares with.
    #[serde(default)]
    pub above: Option<i64>,
    /// How many objects each transaction of `deliver` changes.
    #[serde(default)]
    pub changes: Option<u64>,
    /// They are objects that nobody watches.
    #[serde(default)]
    pub unwatched: bool,
    /// What the subscribers of `deliver` do with what they are given.
    #[serde(default)]
    pub depth: Option<Depth>,
    /// Which stretch of a transaction of `deliver` is timed.
    #[serde(default)]
    pub stretch: Option<Stretch>,
    /// Of a `mix` lane, how many of 100 operations get a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<u32>,
    /// All that get come first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reads_first: bool,
    /// Of a `mix` lane, how many operations a transaction has; 1, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<u64>,
    /// Of a `mix` lane, for how many milliseconds its operations are played round and round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts_ms: Option<u64>,
}

fn first_table() -> u32 {
    1
}

impl Plan {
    /// Plans suites.
    ///
    /// # Errors
    /// When a suite names a contender that no kit has, or the choice names a case or contender that no suite has.
    pub fn new(suites: &[Suite], kits: &Kits, choice: &Choice) -> Result<Plan> {
        let mut plan = Plan {
            plan_version: PLAN_VERSION,
            size: choice.size,
            seed: choice.seed,
            looks: choice.looks.clone(),
            family: 1,
            each_alone: false,
            suites: Vec::new(),
            cases: Vec::new(),
            left_out: Vec::new(),
        };
        choice.check(suites)?;
        setting::check(suites, kits)?;
        for suite in suites {
            let planned = plan.cases.len();
            for case in suite.cases.iter().filter(|case| choice.concerns(case)) {
                let scaled = case.at(choice.size).into_iter();
                for scaled in scaled.filter(|scaled| choice.takes_case(&suite.name, &case.id, &scaled.id)) {
                    plan.cases.push(settle::case(suite, case, &scaled, kits, choice)?);
                }
            }
            // A suite of which no case was chosen is not part of the run.
            if plan.cases.len() == planned {
                continue;
            }
            plan.suites.push(PlannedSuite {
                name: suite.name.clone(),
                title: suite.title.clone(),
                source: suite.source.clone(),
                device: suite.device.clone(),
                references: suite.references.clone(),
                stand_ins: suite.stand_ins.clone(),
                published_loads: suite.published_loads.clone(),
                curves: suite.curves.clone(),
                published_rows: suite.published_rows.clone(),
                claims: suite.claims.clone(),
            });
        }
        plan.check().map_err(|fault| fault.in_suites(suites))?;
        Ok(plan)
    }

    /// Reads a plan. `origin` names the file in errors.
    ///
    /// # Errors
    /// When the text is not a plan, is of another version, or says something that could never be run.
    pub fn parse(text: &str, origin: &str) -> Result<Plan> {
        #[derive(Deserialize)]
        struct Version {
            plan_version: u32,
        }
        let malformed = |error: serde_json::Error| {
            let (line, column) = (error.line(), error.column());
            let said = error.to_string();
            let what = said.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&said);
            let what = plainly(what).replace(is_unreadable, " ");
            Error::input(format!("{origin}, line {line}: not a plan: {what}"))
        };
        let version: Version = serde_json::from_str(text).map_err(malformed)?;
        if version.plan_version != PLAN_VERSION {
            return Err(Error::input(format!(
                "{origin}: plan version {} cannot be read by this touchstone, which reads version {PLAN_VERSION}; \
                 plan again with `touchstone plan`",
                version.plan_version
            )));
        }
        let said = serde_json::from_str(text).map_err(malformed)?;
        plain_words(&said).map_err(|message| Error::input(format!("{origin}: {message}")))?;
        let plan: Plan = serde_json::from_str(text).map_err(malformed)?;
        plan.check().map_err(|fault| fault.in_plan(origin))?;
        Ok(plan)
    }

    /// The case of that id.
    pub fn case(&self, id: &str) -> Option<&PlannedCase> {
        self.cases.iter().find(|case| case.id == id)
    }
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

    fn has_lane(&self, verb: Verb) -> bool {
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
