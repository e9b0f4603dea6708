//! What the examples in the store's documentation begin with, in a line that rustdoc hides: a type of records, and stores
//! in temporary folders. No program needs it, and no part of the store is in it.

use std::error::Error;
use std::path::PathBuf;
use tempfile::TempDir;
use touchstone_store::Kind;
use touchstone_store::dynamic::{Field, Type};

pub use touchstone_store::{Record, Store};

/// Any error: an example shows the store's, and its folder may fail too.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The record of most examples.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Task {
    /// Its key.
    #[record(key)]
    pub id: i64,
    /// What is to be done.
    pub title: String,
    /// By when.
    pub due: Option<i64>,
}

/// A task with a title of its own.
pub fn task(id: i64, due: Option<i64>) -> Task {
    Task { id, title: format!("task {id}"), due }
}

/// Where a store can be made. The folder is removed when its owner goes.
pub fn path() -> Result<(TempDir, PathBuf)> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("tasks.db");
    Ok((directory, path))
}

/// A new store.
pub fn store() -> Result<(TempDir, Store)> {
    let (directory, path) = path()?;
    Ok((directory, Store::open(path)?))
}

/// A store of two tasks, of which one is due.
pub fn two_tasks() -> Result<(TempDir, Store)> {
    let (directory, store) = store()?;
    store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    Ok((directory, store))
}

/// A type that is made at run time: words, and how often each is used.
pub fn word() -> Result<Type> {
    Ok(Type::new("word", [Field::key("word", Kind::Text), Field::new("count", Kind::Integer)])?)
}

/// A new store, and the type for its records.
pub fn words() -> Result<(TempDir, Store, Type)> {
    let (directory, store) = store()?;
    Ok((directory, store, word()?))
}
