//! What several drivers share: not a layer over their libraries, only what they would all have to say twice.
//!
//! The drivers themselves are in `bin/`, one file per subject.

pub mod canary;
pub mod difference;
pub mod evaluating;
pub mod inner;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod watching;
