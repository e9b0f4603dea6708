//! What is asked: suite files, with their datasets, cases and claims.
//!
//! Its names are checked when it is read and its numbers when it is planned, so that a run never fails half-way over
//! a typing error.

mod claim;
mod curve;
mod load;
mod order;
mod published;
mod published_flag;
mod refuted;
mod row;
mod rule;
mod scale;
mod trace;

pub use claim::{
    By, CLAIMED_PERCENTILES, Claim, ClaimTest, Figure, Measure, Pair, Part, Reference, ReferenceKind,
    StandIn, Untested,
};
pub use curve::{Curve, CurvePoint, Shown};
pub use load::{DELTA, LoadPlan, PublishedLoad, Scenario};
pub use order::{OrderKind, OrderPart, OrderPlan};
pub(crate) use published::{Published, is_blank};
pub(crate) use published_flag::flags_of_rows;
pub use published_flag::{FlaggedRow, PublishedFlag, PublishedFlagKind};
pub use refuted::{Column, Refuted, Said};
pub use row::PublishedRow;
pub use rule::{Aspect, Bounds, Rule};
pub use scale::{Scaled, ScaledCase};
pub use trace::Trace;

use crate::error::{Error, Result};
use crate::kit::Contender;
use crate::name::{plain_words, there_are, unique};
use crate::written::{Item, Mistake, Origin, plainly, read};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use touchstone_protocol::{Depth, RecordKind, Settings, Stretch, Verb, Watched};

/// A suite: named cases and the claims they test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name, as its file is called.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// The page whose claims these are.
    pub source: String,
    /// The page's own device, which its figures are of unless one says otherwise.
    pub device: String,
    /// Where the page's figures are read.
    #[serde(default, rename = "reference")]
    pub references: Vec<Reference>,
    /// Which subjects take the place of the page's libraries here.
    #[serde(default, rename = "stand_in")]
    pub stand_ins: Vec<StandIn>,
    /// For testing the lab itself: run only when asked for by name.
    #[serde(default)]
    pub internal: bool,
    /// Asked of every contender whose profile does not say otherwise.
    #[serde(default)]
    pub settings: Settings,
    /// Generated data, by name.
    #[serde(default, rename = "dataset")]
    pub datasets: Vec<Dataset>,
    /// Rows of the page's own tables.
    #[serde(default, rename = "published_row")]
    pub published_rows: Vec<PublishedRow>,
    /// Rows of the page's own tables of loads.
    #[serde(default, rename = "published_load")]
    pub published_loads: Vec<PublishedLoad>,
    /// Loads that services are asked to bear, by name.
    #[serde(default, rename = "scenario")]
    pub scenarios: Vec<Scenario>,
    /// What is measured.
    #[serde(default, rename = "case")]
    pub cases: Vec<Case>,
    /// Cases that are drawn together.
    #[serde(default, rename = "curve")]
    pub curves: Vec<Curve>,
    /// What was published, and what is claimed beside that.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// The file it was read from.
    #[serde(skip)]
    origin: Origin,
}

/// Records generated from the seed and a size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Its name in the suite.
    pub name: String,
    /// The record type.
    pub record: RecordKind,
    /// How many records.
    pub records: BySize<u64>,
    /// Bytes in each record's value (of a row) or data (of a document); an object (a doc) has no such field. Documents
    /// without it are the couch page's own: revision 0, an empty hash, and `{ "number": N }` as data.
    pub value_bytes: Option<u64>,
    /// Of objects: each has a priority of its own, the first one minus this and every other so much lower than the one
    /// before it, instead of one that goes by its number.
    pub spacing: Option<u64>,
}

/// A value that the quick and the full size may set apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum BySize<T> {
    /// The same in both.
    Same(T),
    /// One for each.
    Each {
        /// For a look in minutes.
        quick: T,
        /// The page's own size.
        full: T,
    },
}

/// By hand, because an untagged enum does not say what is wrong in it.
impl<'de, T: DeserializeOwned> Deserialize<'de> for BySize<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<BySize<T>, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Each<T> {
            quick: T,
            full: T,
        }
        let value = toml::Value::deserialize(deserializer)?;
        if value.is_table() {
            let Each { quick, full } = value.try_into().map_err(D::Error::custom)?;
            return Ok(BySize::Each { quick, full });
        }
        value.try_into().map(BySize::Same).map_err(|error| {
            D::Error::custom(format!("{}, or one each for `quick` and `full`", plainly(error.message())))
        })
    }
}

impl<T: Clone> BySize<T> {
    /// The value at a size.
    pub fn at(&self, size: Size) -> T {
        match (self, size) {
            (BySize::Same(value), _) => value.clone(),
            (BySize::Each { quick, .. }, Size::Quick) => quick.clone(),
            (BySize::Each { full, .. }, Size::Full) => full.clone(),
        }
    }
}

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// A whole suite in about two minutes.
    Quick,
    /// The page's own sizes and every look.
    Full,
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Size::Quick => "quick",
            Size::Full => "full",
        })
    }
}

/// What the caches hold when a slice starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// Closed and opened again: the library's caches are empty, the operating system's are not.
    #[default]
    Reopened,
    /// Also dropped from the operating system's page cache.
    Evicted,
    /// Left as the slice before left them.
    Warm,
}

impl fmt::Display for Cache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Cache::Reopened => "reopened",
            Cache::Evicted => "evicted",
            Cache::Warm => "warm",
        })
    }
}

/// A workload with fixed parameters, and who runs it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name in the suite.
    pub id: String,
    /// What happens, in a line.
    pub title: String,
    /// The dataset it plays.
    pub dataset: String,
    /// Numbers of records, or of what `scaled` says: the case becomes one for each, named `id-number`, with that many
    /// records in its dataset.
    pub scales: Option<BySize<Vec<u64>>>,
    /// What the numbers in `scales` count; records, unless said.
    #[serde(default)]
    pub scaled: Scaled,
    /// How many of the dataset's records the database holds at the start; all, unless said. Where lanes have tables of
    /// their own, they are shared out among those.
    pub filled: Option<BySize<u64>>,
    /// How often as many records as the dataset has are stored and deleted again before any stay, so that the database
    /// has room to use again; 0, unless said.
    pub churn: Option<BySize<u32>>,
    /// What is watched; nothing, unless said.
    pub watch: Option<WatchPlan>,
    /// What runs side by side; nothing where a service bears a load.
    #[serde(default)]
    pub lanes: Vec<LanePlan>,
    /// The load that services bear, in the place of lanes.
    pub load: Option<LoadPlan>,
    /// The only size that has the case; both, unless said.
    pub only: Option<Size>,
    /// The number of the only record that gets ask for, from 0; a random one each time, unless said.
    pub get_record: Option<BySize<u64>>,
    /// In which order gets ask for records, each slice anew from its first on; at random and on and on, unless said.
    pub order: Option<OrderPlan>,
    /// Bytes that an operation reads or writes, of a case that is about bytes a second.
    pub operation_bytes: Option<u64>,
    /// Tables in the database; 1, unless said.
    #[serde(default = "one_table")]
    pub tables: BySize<u32>,
    /// Tables 2 to 4 hold objects of types of their own, with fewer fields, as on the page of object stores.
    #[serde(default)]
    pub typed: bool,
    /// What the caches hold.
    #[serde(default)]
    pub cache: Cache,
    /// Put the database back as it was before every slice.
    #[serde(default)]
    pub restore: bool,
    /// Commits reach the disk: the flush probe runs, blocks are fewer, the margin is wide.
    #[serde(default)]
    pub flushes: bool,
    /// Do not check answers: for a subject that does nothing, to see what the lab itself costs.
    #[serde(default)]
    pub unchecked: bool,
    /// Blocks in a launch, where the defaults do not suit.
    pub blocks: Option<BySize<u32>>,
    /// What a slice of calibrated length takes in milliseconds; 2, unless given. Longer where an engine works in cycles, which a
    /// slice must hold as a whole: a median leaves out what comes round in fewer than half of the slices.
    pub slice_ms: Option<BySize<u32>>,
    /// Asked of the contenders of this case, over the suite's.
    #[serde(default)]
    pub settings: Settings,
    /// The arm every other is compared with.
    pub baseline: String,
    /// The arm that stands for the least work possible.
    pub floor: Option<String>,
    /// Who runs it.
    #[serde(rename = "arms")]
    pub arms: Vec<ArmSpec>,
}

fn one_table() -> BySize<u32> {
    BySize::Same(1)
}

/// One thread's work in a slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanePlan {
    /// What to do.
    pub verb: Verb,
    /// How many operations; left out, it is calibrated so that the slowest contender needs 2 ms and the quickest at
    /// least 0.1 ms, or is all that there are for a verb that takes many in one transaction.
    pub count: Option<BySize<u64>>,
    /// Inside one held read transaction.
    #[serde(default)]
    pub held: bool,
    /// On which of the case's tables, from 1; the first, unless said.
    #[serde(default = "first_table")]
    pub table: u32,
    /// How many objects each transaction of a `deliver` lane changes; all, unless said.
    pub changes: Option<BySize<u64>>,
    /// They are objects that nobody watches, before and after.
    #[serde(default)]
    pub unwatched: bool,
    /// What subscribers do with what they are given before the clock stops; they take it, unless said.
    pub depth: Option<Depth>,
    /// Which stretch of a transaction is timed; commit and delivery, unless said.
    pub stretch: Option<Stretch>,
    /// Of a `mix` lane, how many of 100 operations get a record; the others update one.
    pub reads: Option<u32>,
    /// All that get come first, then all that update, instead of any of them at any time.
    #[serde(default)]
    pub reads_first: bool,
    /// Of a `mix` lane, how many operations a transaction has; 1, unless said.
    pub transaction: Option<BySize<u64>>,
    /// Of a `mix` lane, for how many milliseconds its operations are played round and round, instead of a count of them.
    pub lasts_ms: Option<BySize<u64>>,
}

/// What is watched in a case: so many subscriptions of one kind, spread evenly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchPlan {
    /// One object by its key, the result of a query for one title, or the ordered result of a range of priorities.
    pub watched: Watched,
    /// How many subscriptions.
    pub subscriptions: BySize<u64>,
    /// Of a window, how many objects' priorities it reaches over.
    pub width: Option<BySize<u64>>,
    /// By how many objects each window lies below the one before it; left out, they are spread evenly.
    pub stride: Option<BySize<u64>>,
    /// How many of the first objects are watched at all; all, unless said.
    pub span: Option<BySize<u64>>,
    /// Of a window, how many of its first objects a result has at most; all, unless said.
    pub limit: Option<u32>,
}

fn first_table() -> u32 {
    1
}

/// An arm: a contender in a case, perhaps with something varied.
#[derive(Clone, Debug)]
pub enum ArmSpec {
    /// The contender as it is.
    Plain(Contender),
    /// The contender with a variation, written `contender#variant` wherever the arm is named.
    Varied(VariedArm),
}

/// By hand, because an untagged enum answers a typing error with "did not match any variant".
impl<'de> Deserialize<'de> for ArmSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<ArmSpec, D::Error> {
        match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => {
                Contender::try_from(text).map(ArmSpec::Plain).map_err(D::Error::custom)
            }
            value => VariedArm::deserialize(value).map(ArmSpec::Varied).map_err(D::Error::custom),
        }
    }
}

/// A contender with something varied.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariedArm {
    /// Who.
    pub contender: Contender,
    /// The variation's name.
    pub variant: String,
    /// Other lanes than the case's.
    pub lanes: Option<Vec<LanePlan>>,
    /// Fields to index.
    #[serde(default)]
    pub indexes: Vec<String>,
    /// What a flush of a service's file takes, in microseconds, in the place of the disk's own: it waits for so long, and keeps nothing.
    pub flush_us: Option<u64>,
}

impl ArmSpec {
    /// The arm's name: its contender's, and `#variant` where it has one.
    pub fn name(&self) -> String {
        match self {
            ArmSpec::Plain(contender) => contender.to_string(),
            ArmSpec::Varied(arm) => format!("{}#{}", arm.contender, arm.variant),
        }
    }

    /// The contender behind it.
    pub fn contender(&self) -> &Contender {
        match self {
            ArmSpec::Plain(contender) => contender,
            ArmSpec::Varied(arm) => &arm.contender,
        }
    }
}

impl Suite {
    /// Reads a suite file. `origin` names the file in errors.
    ///
    /// # Errors
    /// When the text is not a suite, names something twice, or names something it does not have.
    pub fn parse(text: &str, origin: &str) -> Result<Suite> {
        let mut suite: Suite = read(text, origin).map_err(Error::input)?;
        suite.origin = Origin::new(origin, text);
        let said = read(text, origin).map_err(Error::input)?;
        plain_words(&said).map_err(|message| Error::input(format!("{origin}: {message}")))?;
        suite.check().map_err(|mistake| suite.told(&mistake))?;
        Ok(suite)
    }

    /// Where a case stands in its file: `suites/mine.toml, line 12`.
    pub fn place_of_case(&self, id: &str) -> String {
        self.origin.place(&case_item(id))
    }

    /// A mistake in the suite as an error, with its place in the file.
    pub(crate) fn told(&self, mistake: &Mistake) -> Error {
        Error::input(self.origin.told(mistake))
    }

    fn check(&self) -> std::result::Result<(), Mistake> {
        let head = [("title", &self.title), ("source", &self.source), ("device", &self.device)];
        if let Some((key, _)) = head.into_iter().find(|(_, text)| is_blank(text)) {
            return Err(format!("its `{key}` is empty").into());
        }
        unique("dataset", self.datasets.iter().map(|dataset| &dataset.name))?;
        unique("case", self.cases.iter().map(|case| &case.id))?;
        unique("scenario", self.scenarios.iter().map(|scenario| &scenario.name))?;
        for dataset in &self.datasets {
            let item = || Item::new("dataset", &[("name", &dataset.name)]);
            dataset
                .check()
                .map_err(|message| Mistake::of(item(), format!("dataset `{}`: {message}", dataset.name)))?;
        }
        for case in &self.cases {
            self.check_case(case).map_err(|message| {
                Mistake::of(case_item(&case.id), format!("case `{}`: {message}", case.id))
            })?;
        }
        let scaled = self.cases.iter().flat_map(Case::everywhere);
        unique("case", scaled.map(|case| case.id))?;
        self.check_published_rows()?;
        self.check_curves()?;
        self.check_published_loads()?;
        self.check_claims()
    }

    fn check_case(&self, case: &Case) -> std::result::Result<(), String> {
        if !self.datasets.iter().any(|dataset| dataset.name == case.dataset) {
            return Err(format!("there is no dataset `{}` in this suite", case.dataset));
        }
        case.check_scales()?;
        self.check_load(case)?;
        unique("arm", case.arms.iter().map(ArmSpec::name))?;
        for (role, arm) in [("baseline", Some(&case.baseline)), ("floor", case.floor.as_ref())] {
            if let Some(arm) = arm.filter(|arm| !case.has_arm(arm)) {
                let arms = there_are(arm, case.arms.iter().map(ArmSpec::name));
                return Err(format!("its {role} `{arm}` is not one of its arms: {arms}"));
            }
        }
        Ok(())
    }
}

impl Dataset {
    fn check(&self) -> std::result::Result<(), String> {
        let has_values = self.record != RecordKind::Doc;
        let remedy = match (self.record, self.value_bytes) {
            (RecordKind::Row, None) => Some("needs"),
            (RecordKind::Doc, Some(_)) => Some("has fields of its own: leave out"),
            (RecordKind::Document, Some(0)) => Some("of the page's own has none: leave out"),
            _ => None,
        };
        if let Some(remedy) = remedy {
            return Err(format!("a {} {remedy} `value_bytes`", self.record));
        }
        if self.spacing.is_some() && (has_values || self.spacing == Some(0)) {
            return Err("`spacing` lies between the priorities of a doc, and is at least 1".into());
        }
        Ok(())
    }
}

/// A case in its suite's file.
pub(crate) fn case_item(id: &str) -> Item {
    Item::new("case", &[("id", id)])
}

impl Case {
    /// Whether an arm of that name plays.
    fn has_arm(&self, name: &str) -> bool {
        self.arms.iter().any(|arm| arm.name() == name)
    }

    /// What its lanes do, those of its variants among them.
    fn verbs(&self) -> impl Iterator<Item = Verb> {
        let varied = self.arms.iter().filter_map(|arm| match arm {
            ArmSpec::Varied(varied) => varied.lanes.as_ref(),
            ArmSpec::Plain(_) => None,
        });
        self.lanes.iter().chain(varied.flatten()).map(|lane| lane.verb)
    }

    /// Whether getting records is all that it asks.
    fn gets_alone(&self) -> bool {
        self.load.is_none() && self.verbs().all(|verb| verb == Verb::Get)
    }
}
