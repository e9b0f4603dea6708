//! A nested value is a struct with named fields or an enum, without parameters.

use touchstone_store::Nested;

#[derive(Nested)]
struct Generic<T> {
    #[tag(1)]
    value: T,
}

#[derive(Nested)]
struct Pair(#[tag(1)] i64, #[tag(2)] i64);

#[derive(Nested)]
struct Unit;

#[derive(Nested)]
enum Never {}

#[derive(Nested)]
union Either {
    one: i64,
    other: f64,
}

fn main() {}
