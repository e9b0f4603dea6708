//! An error for machines: where `--json` was asked, the one document on standard output says what went wrong. People are
//! told on standard error in any case.

use crate::{exit, say};
use serde::Serialize;
use std::ffi::OsString;

/// The document: `{"error": {"kind": "usage", "message": "…", "exit": 64}}`.
#[derive(Serialize)]
struct Document<'d> {
    error: Failure<'d>,
}

#[derive(Serialize)]
struct Failure<'d> {
    /// What went wrong, in a word that stays the same.
    kind: &'static str,
    /// What failed, on which input, and the remedy.
    message: &'d str,
    /// The exit status.
    exit: u8,
}

/// Whether these arguments ask for JSON. Arguments that make no sense may ask for it too, so nothing else is parsed.
pub fn json_is_asked(arguments: impl IntoIterator<Item = OsString>) -> bool {
    arguments.into_iter().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// Prints the document. Where nobody can be told, the status still says it.
pub fn tell(status: u8, message: &str) {
    let _ = say::json(&Document { error: Failure { kind: exit::kind(status), message, exit: status } });
}

/// What is wrong with the arguments, without the usage and the help that people are shown beside it.
pub fn argument_message(error: &clap::Error) -> String {
    let said = error.render().to_string();
    let paragraphs = said.split("\n\n").take_while(|paragraph| !paragraph.starts_with("Usage:"));
    let told: Vec<String> = paragraphs
        .filter(|paragraph| !paragraph.starts_with("For more information"))
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let told = told.join("; ");
    told.strip_prefix("error: ").unwrap_or(&told).to_owned()
}
