//! Damaged files: what SQLite calls corrupt is never an answer, and nothing panics, aborts or goes on for ever. Crafted
//! files, a story each; and thousands of random ones, each answer of which is compared with SQLite's own.

mod answer;
mod faults;
mod file;
mod index;
mod kinds;
#[path = "../place/mod.rs"]
mod place;
mod random;
mod walks;
mod whole;
