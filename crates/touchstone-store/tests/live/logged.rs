//! Commits of other stores, followed by the change log: what the feed has, against a fresh query, and whether it was read
//! anew. The other processes are in `processes.rs`.

use crate::{Task, task};
use proptest::prelude::*;
use std::path::Path;
use touchstone_store::{
    Batch, Error, ErrorKind, Feed, LiveQuery, Options, Record, Result, Snapshot, Store, Subscription,
};

/// Another type of the file.
#[derive(Record, Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    #[record(key)]
    pub(crate) sensor: String,
    #[record(key)]
    pub(crate) at: u32,
    pub(crate) value: f64,
}
