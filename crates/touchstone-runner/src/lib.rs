//! The impure edge of Touchstone: builds and starts kits, schedules launches, reads machine facts, writes records.

pub mod beside;
pub mod data;
pub mod doctor;
pub mod environment;
pub mod error;
mod header;
pub mod kits;
pub mod launch;
pub mod noise;
pub mod place;
mod plausible;
pub mod probe;
mod processor;
pub mod random;
pub mod recorded;
pub mod run;
pub mod scratch;
pub mod service;
pub mod session;
pub mod strays;
mod surroundings;
pub mod target;
mod task;
mod witness;
mod words;
pub mod writer;

pub use error::{Error, ErrorKind, Result};
