//! What is saved of a damaged store: everything where nothing is wrong, everything outside a damaged page, and nothing
//! that was not there.

mod damage;
mod story;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use touchstone_store::{Cipher, EncryptionKey, Options, Record, SalvageReport, Store};

/// Rows by number; every hundredth goes on in pages of its own.
#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    #[record(key)]
    id: i64,
    #[record(index)]
    title: String,
    body: Vec<u8>,
}

/// Rows in the order of their key.
#[derive(Record, Clone, Debug, PartialEq)]
struct Reading {
    #[record(key)]
    sensor: String,
    #[record(key)]
    at: i64,
    value: Option<f64>,
}

/// Rows by number, with an index for the key and another one that is unique.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(numbered)]
struct Document {
    #[record(key)]
    name: String,
    #[record(unique)]
    serial: i64,
    text: String,
}

const TASKS: i64 = 3000;

fn tasks() -> Vec<Task> {
    let body = |id: i64| vec![id.to_le_bytes()[0]; if id % 100 == 0 { 9000 } else { 20 }];
    (1..=TASKS).map(|id| Task { id, title: format!("task {id}"), body: body(id) }).collect()
}

fn readings() -> Vec<Reading> {
    let reading =
        |at: i64| Reading { sensor: format!("sensor {}", at % 3), at, value: Some(at as f64 / 2.0) };
    let mut readings: Vec<Reading> = (0..1500).map(reading).collect();
    readings.sort_by_key(|reading| (reading.sensor.clone(), reading.at));
    readings
}

fn documents() -> Vec<Document> {
    let document =
        |serial: i64| Document { name: format!("document {serial:05}"), serial, text: "text ".repeat(60) };
    (0..300).map(document).collect()
}

fn kinds() -> [(&'static str, Options); 3] {
    let raw = Options::new().key(EncryptionKey::raw([7; 32]));
    [("plain", Options::new()), ("aegis", raw.clone()), ("sqlcipher", raw.cipher(Cipher::SqlCipher))]
}

/// Makes the store whose damage is salvaged; with pages that were in use and are free.
fn make(path: &Path, options: &Options) {
    let store = options.clone().open(path).unwrap();
    let removed: Vec<Task> =
        (TASKS + 1..TASKS + 500).map(|id| Task { id, title: "removed".into(), body: vec![0; 100] }).collect();
    store.insert_all(&tasks()).unwrap();
    store.insert_all(&removed).unwrap();
    store.insert_all(&readings()).unwrap();
    store.insert_all(&documents()).unwrap();
    store
        .write(|transaction| {
            transaction.collection::<Task>("inbox")?.insert_all(&tasks()[..200])?;
            transaction.collection::<Task>("archive")?.insert_all(&tasks()[200..300])?;
            transaction.of::<Task>().remove_where(|task| task.id.gt(TASKS)).map(drop)
        })
        .unwrap();
}

/// Everything a salvaged store has, by type and key, as it would be printed. A value that the type cannot read is left
/// out: the check tells it.
type Contents = BTreeMap<String, String>;

fn contents(store: &Store) -> Contents {
    let mut contents = Contents::new();
    let mut put = |of: &str, key: String, value: String| {
        contents.insert(format!("{of} {key}"), value);
    };
    store
        .read(|snapshot| {
            for task in snapshot.of::<Task>().all()? {
                put("task", task.id.to_string(), format!("{task:?}"));
            }
            for reading in snapshot.of::<Reading>().all()? {
                put("reading", format!("{} {}", reading.sensor, reading.at), format!("{reading:?}"));
            }
            for document in snapshot.of::<Document>().all()? {
                put("document", document.name.clone(), format!("{document:?}"));
            }
            for name in ["inbox", "archive"] {
                for task in snapshot.collection::<Task>(name)?.all()? {
                    put(name, task.id.to_string(), format!("{task:?}"));
                }
            }
            Ok(())
        })
        .unwrap();
    contents
}

/// Rows whose last page may be lost, or end in zeros.
fn doubtful(report: &SalvageReport) -> usize {
    report.tables().iter().map(|table| usize::try_from(table.rows_doubtful).unwrap()).sum()
}

/// Salvages and opens what was saved; the damaged file must be as it was.
fn salvage(damaged: &Path, options: &Options) -> touchstone_store::Result<(SalvageReport, Contents)> {
    let saved: PathBuf = damaged.with_extension("saved");
    let _ = std::fs::remove_file(&saved);
    let before = std::fs::read(damaged).unwrap();
    let result = Store::salvage(damaged, options.clone(), &saved);
    assert!(std::fs::read(damaged).unwrap() == before, "the damaged file is not written to");
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            assert!(!saved.exists(), "after a failure there is no new file");
            return Err(error);
        }
    };
    let store = options.clone().create(false).open(&saved)?;
    let check = store.check().run().unwrap();
    assert!(check.is_whole(), "{:?}", check.problems());
    Ok((report, contents(&store)))
}
