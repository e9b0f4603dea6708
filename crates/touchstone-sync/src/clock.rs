//! The wall clock. It dates tokens and deletions; no order rests on it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970, by the system's clock; 0 where that stands before.
pub fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
