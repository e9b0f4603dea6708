//! touchstone-runner
