//! Names of columns that are taken, by another field or by SQLite.

use touchstone_store::Record;

#[derive(Record)]
struct Task {
    #[record(key)]
    id: i64,
    rowid: i64,
    #[record(column = "OID")]
    object: i64,
    été: bool,
    #[record(column = "2nd")]
    second: i64,
    touchstone_collection: i64,
}

#[derive(Record)]
struct Note {
    #[record(key)]
    id: i64,
    name: String,
    #[record(column = "Name")]
    title: String,
}

fn main() {}
