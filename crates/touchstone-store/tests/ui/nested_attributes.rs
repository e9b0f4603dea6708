//! Attributes that a nested value does not have, or not there.

use touchstone_store::Nested;

#[derive(Nested)]
#[tag(1)]
struct Tagged {}

#[derive(Nested)]
struct Place {
    #[tag("name")]
    name: String,
    #[tag(-1)]
    height: f64,
    #[tag(4294967296)]
    depth: f64,
    #[tag(1)]
    #[tag(2)]
    width: f64,
    #[tag(3)]
    #[nested(skip)]
    length: f64,
}

#[derive(Nested)]
enum Event {
    #[tag(1)]
    #[nested(default)]
    Opened,
}

fn main() {}
