//! The statistics against answers computed elsewhere, against properties that must hold for any data, and at the
//! edges where a decision flips. How often the whole rule errs is the subject of the core's `calibration.rs`.

mod decisions;
mod known_answers;
mod latencies;
mod properties;
