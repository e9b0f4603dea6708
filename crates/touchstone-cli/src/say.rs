//! What goes to standard output: text for people or JSON for machines, never a mixture.

use serde::Serialize;
use std::io::{IsTerminal, Write};
use terminal_size::{Width, terminal_size_of};
use touchstone::report::Style;

/// Whether standard output takes colour: a terminal, and nobody set `NO_COLOR`.
fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How text is written there: as wide as the terminal, and as wide as any where there is none.
pub fn style() -> Style {
    let width =
        terminal_size_of(std::io::stdout()).map_or(Style::WIDTH_MAX, |(Width(columns), _)| columns.into());
    let width = width.min(Style::WIDTH_MAX);
    Style { colour: colour(), width }
}

/// Prints text. A reader that has gone away, as `head` does, is no error.
pub fn text(text: &str) -> anyhow::Result<()> {
    quietly(std::io::stdout().write_all(text.as_bytes()))
}

/// Prints a JSON document.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut document = serde_json::to_string_pretty(value)?;
    document.push('\n');
    text(&document)
}

/// Tells a person on standard error. Nobody to tell is no reason to end a run.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn quietly(result: std::io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
