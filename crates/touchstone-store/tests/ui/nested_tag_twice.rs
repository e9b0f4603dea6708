//! A tag is that of one field of its struct or variant, or of one variant.

use touchstone_store::Nested;

#[derive(Nested)]
struct Place {
    #[tag(1)]
    name: String,
    #[tag(0x1)]
    height: f64,
}

#[derive(Nested)]
enum Event {
    #[tag(2)]
    Opened,
    #[tag(2)]
    Moved(#[tag(7)] i64, #[tag(7)] i64),
}

fn main() {}
