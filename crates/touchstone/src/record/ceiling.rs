//! What the machine could do at best when a run began, of the accesses that its cases are about: limits to draw beside what was measured.

use crate::plan::PlannedCase;
use crate::suite::OrderKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use touchstone_protocol::Verb;

/// Pages that a case reads or writes, each by a call of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Whether they are read or written.
    pub kind: AccessKind,
    /// Whether each is the next one, or any.
    pub random: bool,
    /// Bytes of one.
    pub operation_bytes: u64,
}

/// What is done with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessKind {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
        })
    }
}

/// The limits of an access. The file `ceilings.jsonl` has one a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Of which access.
    pub access: Access,
    /// How often as many bytes were copied in a second, out of memory that no cache holds into the same place, by the quickest
    /// of many copies; none where it could not be measured.
    pub copies_per_second: Option<f64>,
    /// How many such accesses the device answered in a second, past the page cache and one at a time; none where it could not be
    /// measured.
    pub device_per_second: Option<f64>,
    /// Why one of them is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
}

impl PlannedCase {
    /// What its lanes do with pages of a file, where it says how many bytes an operation is and all of them do the same.
    pub fn access(&self) -> Option<Access> {
        let operation_bytes = self.operation_bytes?;
        let mut verbs = self.arms.iter().flat_map(|arm| &arm.lanes).map(|lane| lane.verb);
        let first = verbs.next()?;
        if verbs.any(|verb| verb != first) {
            return None;
        }
        let is_cyclic = self.order.as_ref().is_some_and(|order| order.kind == OrderKind::Cyclic);
        match first {
            Verb::Get => Some(Access { kind: AccessKind::Read, random: !is_cyclic, operation_bytes }),
            Verb::InsertOne => Some(Access { kind: AccessKind::Write, random: false, operation_bytes }),
            Verb::Mix if self.mix().is_some_and(|mix| mix.reads == Some(0)) => {
                Some(Access { kind: AccessKind::Write, random: true, operation_bytes })
            }
            _ => None,
        }
    }
}
