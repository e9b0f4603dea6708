//! How a request fails. A failure is data: it is counted, with its latency, in the row of its request.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a request is not answered as it should be.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No connection was to be had.
    Connect,
    /// No answer came in time.
    Timeout,
    /// The service closed the connection, or reset it, before it had answered.
    Closed,
    /// What came is not HTTP.
    Malformed,
    /// The answer's body is longer than is kept, or all that are under way are; or the request's own is too long to be sent.
    TooLong,
    /// The status is none of those that are right.
    Status,
    /// A check of the body failed.
    Check,
    /// What was to be kept of the answer is not there.
    Capture,
    /// It was due and had not been sent when the run ended.
    Unsent,
}

impl Failure {
    /// All kinds, in the order in which they are told.
    pub const ALL: [Failure; 9] = [
        Failure::Connect,
        Failure::Timeout,
        Failure::Closed,
        Failure::Malformed,
        Failure::TooLong,
        Failure::Status,
        Failure::Check,
        Failure::Capture,
        Failure::Unsent,
    ];

    /// Its word in files.
    pub fn word(self) -> &'static str {
        match self {
            Failure::Connect => "connect",
            Failure::Timeout => "timeout",
            Failure::Closed => "closed",
            Failure::Malformed => "malformed",
            Failure::TooLong => "too_long",
            Failure::Status => "status",
            Failure::Check => "check",
            Failure::Capture => "capture",
            Failure::Unsent => "unsent",
        }
    }

    /// Its place in [`ALL`](Failure::ALL).
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Failure::Connect => "no connection",
            Failure::Timeout => "timed out",
            Failure::Closed => "closed before an answer",
            Failure::Malformed => "not HTTP",
            Failure::TooLong => "too long a body",
            Failure::Status => "status",
            Failure::Check => "check",
            Failure::Capture => "nothing to keep",
            Failure::Unsent => "not sent by the end",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_word_in_all_files() {
        for failure in Failure::ALL {
            assert_eq!(serde_json::to_value(failure).expect("it is data"), failure.word());
        }
    }
}
