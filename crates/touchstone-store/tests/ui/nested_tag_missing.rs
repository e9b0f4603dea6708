//! Every field and every variant has a tag; the message says a free one.

use touchstone_store::Nested;

#[derive(Nested)]
struct Place {
    #[tag(4)]
    name: String,
    height: f64,
    depth: f64,
}

#[derive(Nested)]
enum Event {
    Opened,
    #[tag(2)]
    Moved(i64, #[tag(1)] i64),
    #[tag(3)]
    Closed {
        by: String,
    },
}

fn main() {}
