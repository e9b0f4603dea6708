//! Suite and kits become a plan: every case with its arms and the settings each is asked for, nothing left open.
//!
//! The plan is a file a person can read and edit; a run needs nothing else but the kits themselves.

mod arm;
mod capable;
mod case;
mod check;
mod choice;
mod followed;
mod lane;
mod load;
mod mixed;
mod order;
mod overriding;
mod reduced;
mod setting;
mod settle;
mod supply;

pub use arm::PlannedArm;
pub use case::{PlannedCase, PlannedDataset, PlannedWatch, SLICE_MS};
pub use choice::Choice;
pub use lane::PlannedLane;
pub use load::PlannedLoad;
pub use mixed::{EXPLAINED, MIXED};
pub use order::PlannedOrder;
pub use overriding::{Overridden, Override};
pub use reduced::{Quantity, Reduced};
pub use supply::{GETS, Start, calibrated_count_max};

use crate::error::{Error, Result};
use crate::name::{is_unreadable, plain_words};
use crate::suite::{Claim, Curve, PublishedLoad, PublishedRow, Reference, Size, StandIn};
use crate::written::plainly;
use serde::{Deserialize, Serialize};

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

impl Plan {
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
