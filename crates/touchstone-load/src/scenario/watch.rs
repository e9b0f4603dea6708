//! Watches: streams of server-sent events that users hold open, and requests whose end is that such a stream has told of them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A stream of server-sent events that each user holds open, from behind the setup to the end of the run.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Its name in deliveries and in the report; no request has it.
    pub name: String,
    /// From `/` on, with its query.
    pub path: String,
    /// By name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Streams of each user; 1, unless said.
    #[serde(default = "one")]
    pub each: u32,
    /// What stands in an event's data before the whole number that it tells; the greatest, where there are several. Deliveries need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

fn one() -> u32 {
    1
}

/// When a request is delivered: each of the user's streams of a watch has told a number that is as great.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// The watch, by its name.
    pub watch: String,
    /// The value that an event's number has to reach; the request captures it.
    pub reaches: String,
}
