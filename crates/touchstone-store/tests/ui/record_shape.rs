//! A record is a struct with named fields and no parameters.

use touchstone_store::Record;

#[derive(Record)]
struct Generic<T> {
    #[record(key)]
    id: T,
}

#[derive(Record)]
struct Borrowed<'a> {
    #[record(key)]
    id: i64,
    name: &'a str,
}

#[derive(Record)]
enum Either {
    One,
    Other,
}

#[derive(Record)]
struct Pair(i64, String);

fn main() {}
