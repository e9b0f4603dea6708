//! Live queries: what a feed is told, against what a fresh query finds.

mod acting;
mod asked;
mod counted;
mod crowd;
mod found;
mod generated;
mod limits;
mod meanings;
mod meeting;
mod numbers;
mod others;
#[path = "../place/mod.rs"]
mod place;
#[path = "../process/mod.rs"]
mod process;
mod processes;
mod rules;
#[path = "../shim/mod.rs"]
mod shim;
mod story;
mod torn;
mod trouble;
#[path = "../workload/mod.rs"]
mod workload;

use touchstone_store::{Record, Store};

/// What is watched here.
#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    #[record(key)]
    id: i64,
    title: String,
    list: i64,
    due: Option<i64>,
}

fn task(id: i64, list: i64, due: Option<i64>) -> Task {
    Task { id, title: format!("task {id}"), list, due }
}

/// A store of its own, and the directory that it lies in.
fn store() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().expect("there is room");
    let store = Store::open(directory.path().join("tasks.db")).expect("it opens");
    (directory, store)
}
