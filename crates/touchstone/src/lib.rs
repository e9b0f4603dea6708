//! touchstone
