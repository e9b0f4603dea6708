//! What goes to standard output and error.

use crate::plain;
use serde::Serialize;
use std::io::Write;
use terminal_size::{Width, terminal_size_of};

/// As wide as the terminal, and as wide as any where there is none.
pub(super) fn width() -> u16 {
    terminal_size_of(std::io::stdout()).map_or(crate::report::WIDTH_MAX, |(Width(columns), _)| columns)
}

/// Prints text, whoever has written parts of it.
pub(super) fn text(text: &str) -> anyhow::Result<()> {
    bytes(plain::lines(text).as_bytes())
}

/// Prints what is the program's own. A reader that has gone away, as `head` does, is no error.
pub(super) fn bytes(bytes: &[u8]) -> anyhow::Result<()> {
    match std::io::stdout().write_all(bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// Prints a JSON document.
pub(super) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    text(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Tells a person on standard error.
pub(super) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", plain::line(text));
}
