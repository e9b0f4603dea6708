//! A record has a key of one to four columns, none of which is NULL.

use touchstone_store::Record;

#[derive(Record)]
struct Keyless {
    id: i64,
}

#[derive(Record)]
struct Optional {
    #[record(key)]
    id: Option<i64>,
}

#[derive(Record)]
struct Long {
    #[record(key)]
    a: i64,
    #[record(key)]
    b: i64,
    #[record(key)]
    c: i64,
    #[record(key)]
    d: i64,
    #[record(key)]
    e: i64,
}

fn main() {}
