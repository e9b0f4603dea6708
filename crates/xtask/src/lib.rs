//! Tidy: every rule of this project that matters, as a function that finds what breaks it.
//!
//! A rule takes text and gives findings, so each has a unit test on a bad sample here and is applied to the whole
//! tree by the tests in `tests/`: `tidy` (the tree), `fresh` (pages against code), `docs` (commands and snippets),
//! `guide` (the driver guide, built and spoken to). With `UPDATE=1` the pages that are generated are rewritten.
//!
//! Besides, `mutation` makes mistakes in the store, to see whether its tests find them (`src/bin/mutate.rs`);
//! and `sanitizer` says what the store's tests are run under, with the engine's C instrumented too
//! (`src/bin/sanitize.rs`).

pub mod fields;
pub mod markdown;
pub mod mutation;
pub mod page;
pub mod program;
pub mod published;
pub mod reads;
pub mod rule;
pub mod rust;
pub mod sanitizer;
pub mod table;
pub mod tree;

pub use tree::{File, Tree};

/// What breaks a rule: `path:line: what, and the remedy`.
pub type Findings = Vec<String>;

/// Fails a test with everything that was found.
///
/// # Panics
/// When there are findings.
pub fn assert_none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}: {} findings\n  {}", findings.len(), findings.join("\n  "));
}
