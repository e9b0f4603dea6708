//! touchstone-recorder
