//! The pure core of Touchstone: `suite ▶ plan ▶ run ▶ samples ▶ statistics ▶ verdict ▶ report`.
//!
//! Every module here uses only those to its left in that line (a test in `xtask` holds them to it). Nothing here
//! starts a process or reads a clock; `run` is the crate `touchstone-runner`, `statistics` the crate `touchstone-statistics`.

mod count;
pub mod error;
pub mod estimate;
pub mod kit;
pub mod name;
pub mod plan;
pub mod record;
pub mod report;
pub mod sample;
pub mod suite;
pub mod verdict;
pub mod written;

pub use error::{Error, ErrorKind, Result};
pub use touchstone_statistics as statistics;
