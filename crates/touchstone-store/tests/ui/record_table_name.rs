//! Names of tables that are reserved, or that SQL would have to quote.

use touchstone_store::Record;

#[derive(Record)]
#[record(name = "sqlite_tasks")]
struct Task {
    #[record(key)]
    id: i64,
}

#[derive(Record)]
struct TouchstoneTask {
    #[record(key)]
    id: i64,
}

#[derive(Record)]
#[record(name = "my tasks")]
struct Spaced {
    #[record(key)]
    id: i64,
}

#[derive(Record)]
struct NoteInCollections {
    #[record(key)]
    id: i64,
}

fn main() {}
