//! Settings by name: what a contender is asked for and what it says took effect.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Settings by neutral name (`journal_mode`, `cache_size_bytes`, …), in name order.
///
/// A name that is asked for and missing from the answer is a notion the subject does not have.
pub type Settings = BTreeMap<String, Setting>;

/// The neutral names that the protocol's page explains. A subject may have others of its own.
pub const SETTING_NAMES: [&str; 22] = [
    "policy",
    "page_access",
    "pool_pages",
    "journal_mode",
    "locking_mode",
    "synchronous",
    "fullfsync",
    "checkpoint_fullfsync",
    "statement_cache",
    "page_size_bytes",
    "cache_size_bytes",
    "mmap_size_bytes",
    "wal_autocheckpoint_pages",
    "checkpoint",
    "busy_timeout_ms",
    "evaluator",
    "cipher",
    "durability",
    "temp_store",
    "foreign_keys",
    "endpoints",
    "download",
];

/// One value. Numbers carry their unit in the setting's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged, expecting = "a setting is a whole number or a text")]
pub enum Setting {
    /// A size, a count or a time, in the unit that the name ends with.
    Number(i64),
    /// A named choice, in lower case.
    Word(String),
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Number(number) => write!(formatter, "{number}"),
            Setting::Word(word) => formatter.write_str(word),
        }
    }
}

impl From<i64> for Setting {
    fn from(number: i64) -> Setting {
        Setting::Number(number)
    }
}

impl From<&str> for Setting {
    fn from(word: &str) -> Setting {
        Setting::Word(word.to_lowercase())
    }
}
