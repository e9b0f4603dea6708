//! Words that others have written (a scenario, a service, a path, a record) are shown among our own, and command no terminal.

use std::borrow::Cow;
use touchstone::name::is_unreadable;

/// A text that is shown on a line: what nobody can read of it, line breaks too, is a space.
///
/// ```
/// # use touchstone_load::plain::line;
/// assert_eq!(line("200 \u{1b}[2JOK\nValid"), "200  [2JOK Valid");
/// ```
pub fn line(text: &str) -> Cow<'_, str> {
    replaced(text, is_unreadable)
}

/// As [`line()`], of a text that has lines of its own.
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |letter| letter != '\n' && is_unreadable(letter))
}

fn replaced(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.contains(&is_bad) { Cow::Owned(text.replace(is_bad, " ")) } else { Cow::Borrowed(text) }
}
