//! The lab's own procedure on launches that never were: its looks, its decisions, its corrections and its notes, on noise
//! of many kinds. Seeds are fixed, so that a rate is the same in every run.
//!
//! The quick size is part of the ordinary tests. `TOUCHSTONE_DUELS=2000 cargo test --release --test simulation --
//! --nocapture` runs the full size and prints every rate.

#[path = "../made/mod.rs"]
mod made;

mod busy;
mod duels;
mod gates;
mod noise;
mod reports;
mod smallest;

/// How many duels each rate rests on, unless the environment asks for more.
const DUELS: u64 = 400;

fn duels() -> u64 {
    match std::env::var("TOUCHSTONE_DUELS") {
        Ok(number) => number.parse().expect("TOUCHSTONE_DUELS is a number of duels"),
        Err(_) => DUELS,
    }
}

/// How many percent of so many.
fn percent(hits: usize, of: u64) -> f64 {
    100.0 * hits as f64 / of as f64
}
