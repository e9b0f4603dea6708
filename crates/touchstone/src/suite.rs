//! What is asked: suite files, with their datasets, cases and claims.
//!
//! Its names are checked when it is read and its numbers when it is planned, so that a run never fails half-way over
//! a typing error.

mod scale;

pub use scale::{Scaled, ScaledCase};

use crate::error::{Error, Result};
use crate::kit::Contender;
use crate::name::unique;
use serde::de::Error as _;
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
    /// Where the claims were published.
    pub source: String,
    /// What they were measured on.
    pub device: String,
    /// For testing the lab itself: run only when asked for by name.
    #[serde(default)]
    pub internal: bool,
    /// Asked of every contender whose profile does not say otherwise.
    #[serde(default)]
    pub settings: Settings,
    /// Generated data, by name.
    #[serde(default, rename = "dataset")]
    pub datasets: Vec<Dataset>,
    /// What is measured.
    #[serde(default, rename = "case")]
    pub cases: Vec<Case>,
    /// What was published.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "neither what this key holds nor one each for `quick` and `full`")]
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
    /// What runs side by side.
    pub lanes: Vec<LanePlan>,
    /// The number of the only record that gets ask for, from 0; a random one each time, unless said.
    pub get_record: Option<BySize<u64>>,
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

/// A published statement and what would show that it holds here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name, unique in the suite.
    pub id: String,
    /// What is claimed, in words.
    pub statement: String,
    /// The published figure, in the page's own terms.
    pub published: String,
    /// The published figure as the number the first test measures, where it is one.
    pub published_value: Option<f64>,
    /// All of them must hold.
    #[serde(rename = "test")]
    pub tests: Vec<ClaimTest>,
}

/// One measurable part of a claim: it holds when the measure lies within the bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimTest {
    /// What is measured.
    pub measure: Measure,
    /// In which case; one with scales is named with one of them, or for the measure `scaling` without.
    pub case: String,
    /// Of which arm.
    pub arm: String,
    /// Divided by the same measure of this arm, where the test is of a ratio.
    pub against: Option<String>,
    /// The case of that arm; the same case unless said.
    pub against_case: Option<String>,
    /// The least that holds.
    pub at_least: Option<f64>,
    /// The most that holds.
    pub at_most: Option<f64>,
    /// What the query plan must say, for the measure `plan`.
    pub contains: Option<String>,
    /// Of the measure `rate`, a part of the transactions of a `deliver` lane instead of what the lane times.
    pub part: Option<Part>,
}

/// A part of a transaction with subscribers. One follows the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Its statements.
    Write,
    /// The commit.
    Commit,
    /// Until the last subscriber has its update in its hand.
    Delivery,
    /// Until all have done with it what the lane's depth says.
    Depth,
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Part::Write => "write",
            Part::Commit => "commit",
            Part::Delivery => "delivery",
            Part::Depth => "depth",
        })
    }
}

/// What a claim's test measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Operations a second, or the ratio of two: above 1 the arm does more in the same time.
    Rate,
    /// Operations a second at a scale over those at the next smaller one, of a case with scales: the least of these
    /// ratios. At 1 an operation costs the same however many records, subscriptions or changes there are.
    Scaling,
    /// The mean of a launch's longest operation in a thousand, in ns, or the ratio of two: below 1 the arm stalls
    /// less.
    Stall,
    /// The mean time of an operation with the clock read after every one, in ns, or the ratio of two.
    Latency,
    /// Operations that failed, over the whole run.
    Errors,
    /// Records handed over and not there in the end, over the whole run.
    Missing,
    /// Whether the query plan says something.
    Plan,
}

impl Suite {
    /// Reads a suite file. `origin` names the file in errors.
    ///
    /// # Errors
    /// When the text is not a suite, names something twice, or names something it does not have.
    pub fn parse(text: &str, origin: &str) -> Result<Suite> {
        let suite: Suite =
            toml::from_str(text).map_err(|error| Error::input(format!("{origin}: {error}")))?;
        suite.check().map_err(|message| Error::input(format!("{origin}: {message}")))?;
        Ok(suite)
    }

    fn check(&self) -> std::result::Result<(), String> {
        unique("dataset", self.datasets.iter().map(|dataset| &dataset.name))?;
        unique("case", self.cases.iter().map(|case| &case.id))?;
        unique("claim", self.claims.iter().map(|claim| &claim.id))?;
        for dataset in &self.datasets {
            let has_values = dataset.record != RecordKind::Doc;
            let remedy = match (dataset.record, dataset.value_bytes) {
                (RecordKind::Row, None) => Some("needs"),
                (RecordKind::Doc, Some(_)) => Some("has fields of its own: leave out"),
                (RecordKind::Document, Some(0)) => Some("of the page's own has none: leave out"),
                _ => None,
            };
            if let Some(remedy) = remedy {
                return Err(format!(
                    "dataset `{}`: a {} {remedy} `value_bytes`",
                    dataset.name, dataset.record
                ));
            }
            if dataset.spacing.is_some() && (has_values || dataset.spacing == Some(0)) {
                return Err(format!(
                    "dataset `{}`: `spacing` lies between the priorities of a doc, and is at least 1",
                    dataset.name
                ));
            }
        }
        for case in &self.cases {
            self.check_case(case).map_err(|message| format!("case `{}`: {message}", case.id))?;
        }
        let scaled = self.cases.iter().flat_map(Case::everywhere);
        unique("case", scaled.map(|case| case.id))?;
        for claim in &self.claims {
            self.check_claim(claim).map_err(|message| format!("claim `{}`: {message}", claim.id))?;
        }
        Ok(())
    }

    fn check_case(&self, case: &Case) -> std::result::Result<(), String> {
        if !self.datasets.iter().any(|dataset| dataset.name == case.dataset) {
            return Err(format!("there is no dataset `{}` in this suite", case.dataset));
        }
        case.check_scales()?;
        unique("arm", case.arms.iter().map(ArmSpec::name))?;
        for (role, arm) in [("baseline", Some(&case.baseline)), ("floor", case.floor.as_ref())] {
            if let Some(arm) = arm.filter(|arm| !case.has_arm(arm)) {
                return Err(format!("its {role} `{arm}` is not one of its arms"));
            }
        }
        Ok(())
    }

    fn check_claim(&self, claim: &Claim) -> std::result::Result<(), String> {
        if claim.tests.is_empty() {
            return Err("it has no [[claim.test]], so nothing could show whether it holds".into());
        }
        for test in &claim.tests {
            if matches!(test.measure, Measure::Scaling) {
                self.check_scaling(test)?;
                continue;
            }
            if test.part.is_some() && !matches!(test.measure, Measure::Rate) {
                return Err("`part` goes with measure = \"rate\", and only with it".into());
            }
            self.check_arm(&test.case, &test.arm)?;
            if let Some(against) = &test.against {
                self.check_arm(test.against_case.as_ref().unwrap_or(&test.case), against)?;
            }
            if matches!(test.measure, Measure::Plan) != test.contains.is_some() {
                return Err("`contains` goes with measure = \"plan\", and only with it".into());
            }
            if !matches!(test.measure, Measure::Plan) && test.at_least.is_none() && test.at_most.is_none() {
                return Err("a test needs `at_least` or `at_most`".into());
            }
        }
        Ok(())
    }

    fn check_arm(&self, case: &str, arm: &str) -> std::result::Result<(), String> {
        let is_of = |known: &&Case| known.everywhere().iter().any(|scaled| scaled.id == case);
        let Some(case) = self.cases.iter().find(is_of) else {
            return Err(format!("there is no case `{case}` in this suite"));
        };
        if case.has_arm(arm) { Ok(()) } else { Err(format!("case `{}` has no arm `{arm}`", case.id)) }
    }

    fn check_scaling(&self, test: &ClaimTest) -> std::result::Result<(), String> {
        let scaled = self.cases.iter().find(|case| case.id == test.case && case.scales.is_some());
        let Some(case) = scaled else {
            return Err(format!(
                "measure = \"scaling\" needs a case with `scales`, and `{}` is none",
                test.case
            ));
        };
        if !case.has_arm(&test.arm) {
            return Err(format!("case `{}` has no arm `{}`", case.id, test.arm));
        }
        if test.against.is_some()
            || test.against_case.is_some()
            || test.contains.is_some()
            || test.part.is_some()
        {
            return Err(
                "measure = \"scaling\" compares an arm with itself: leave out `against`, `against_case`, \
                        `contains` and `part`"
                    .into(),
            );
        }
        if test.at_least.is_none() && test.at_most.is_none() {
            return Err("a test needs `at_least` or `at_most`".into());
        }
        Ok(())
    }
}

impl Case {
    fn has_arm(&self, name: &str) -> bool {
        self.arms.iter().any(|arm| arm.name() == name)
    }
}
