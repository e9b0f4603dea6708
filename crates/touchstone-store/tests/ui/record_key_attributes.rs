//! A key is indexed already by its first field, and every record has its own.

use touchstone_store::Record;

#[derive(Record)]
struct Indexed {
    #[record(key, index)]
    id: i64,
}

#[derive(Record)]
struct Unique {
    #[record(unique)]
    #[record(key)]
    id: i64,
}

#[derive(Record)]
struct Defaulted {
    #[record(key, default = 0)]
    id: i64,
}

#[derive(Record)]
struct FirstIndexed {
    #[record(key, index)]
    task: i64,
    #[record(key, index)]
    tag: i64,
}

#[derive(Record)]
struct FirstUnique {
    #[record(key, unique)]
    task: i64,
    #[record(key)]
    tag: i64,
}

fn main() {}
