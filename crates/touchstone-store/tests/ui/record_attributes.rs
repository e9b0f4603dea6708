//! Attributes that a record does not have, or not together.

use touchstone_store::Record;

#[derive(Record)]
#[record(table = "tasks")]
struct Task {
    #[record(key)]
    id: i64,
    #[record(primary)]
    name: String,
    #[record(index, unique)]
    place: i64,
    #[record(default = )]
    rank: i64,
    #[record(default = Some(1))]
    stars: Option<u8>,
    #[record]
    note: String,
}

fn main() {}
