//! What searches found, as `capacity.json` holds it and `--json` prints it.

use serde::Serialize;
use touchstone::kit::DurabilityClass;
use touchstone_protocol::Settings;

/// What rates are of.
const UNIT: &str = "iterations/s";

/// What was asked of the services of a case, and what each of them holds.
#[derive(Serialize)]
pub struct Searches {
    /// The case: `plantodo/oo_cross`.
    pub case: String,
    /// Users, who begin iterations whether others are answered or not.
    pub users: u32,
    /// What had to hold, as the searches had it: with a limit of failures, also where nobody named one. Before the first search it is as
    /// it was asked for.
    pub limits: String,
    /// What rates are of: `iterations/s`.
    pub unit: String,
    /// Whether every answer can be believed.
    pub is_valid: bool,
    /// The folder with the searches.
    pub folder: String,
    /// What each contender holds, as far as the searches came.
    pub contenders: Vec<Held>,
}

/// What a service holds.
#[derive(Serialize)]
pub struct Held {
    /// The contender: `fastapi-sqlalchemy@wal`.
    pub contender: String,
    /// What its kit says that it promises of an acknowledged change. A search does not look whether that is so.
    pub class: DurabilityClass,
    /// What took effect of its profile, as the service read it back; nothing, where it could not be asked.
    pub settings: Settings,
    /// What was asked for and was not read back so: `synchronous was asked for as full, normal took effect`.
    pub contradicted: Vec<String>,
    /// The highest rate that held; none where there is no answer.
    pub holds: Option<f64>,
    /// The lowest rate that did not hold; none where there is no answer, or every rate held.
    pub fails: Option<f64>,
    /// Devices that do one iteration each in ten minutes.
    pub devices: Option<f64>,
    /// Why there is no answer.
    pub why: Option<String>,
    /// Why the answer cannot be believed: what the generator doubts of itself, each with how many steps had it.
    pub doubts: Vec<String>,
    /// Why it may hold more than the rate that is told: the generator came to its own limits, each with how many steps had it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<String>,
    /// What went wrong with the service after it was searched.
    pub fault: Option<String>,
    /// The folder with the steps of the search and their page; none where the service could not be searched.
    pub search: Option<String>,
    /// What had to hold, as the search says; none where there was none.
    #[serde(skip)]
    pub(super) limits: Option<String>,
}

impl Searches {
    /// Of a case, with what was asked and nothing found yet.
    pub(super) fn new(case: &str, users: u32, limits: &str, folder: &str) -> Searches {
        Searches {
            case: case.to_owned(),
            users,
            limits: limits.to_owned(),
            unit: UNIT.to_owned(),
            is_valid: true,
            folder: folder.to_owned(),
            contenders: Vec::new(),
        }
    }

    /// Adds what another service holds.
    pub(super) fn add(&mut self, held: Held) {
        if let Some(limits) = &held.limits {
            self.limits.clone_from(limits);
        }
        self.is_valid &= held.is_valid();
        self.contenders.push(held);
    }
}

impl Held {
    /// Whether what is said of it can be believed.
    pub(super) fn is_valid(&self) -> bool {
        self.doubts.is_empty()
    }
}
