//! Lines of text for a terminal: wrapping by display width, and colour.

use crate::name::is_unreadable;
use crate::report::Style;
use crate::verdict::{ClaimStatus, Verdict};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A terminal that is narrower breaks the lines itself.
const WIDTH_MIN: usize = 30;

/// From this width on, what is said of a claim stands beside its status.
const WIDTH_BESIDE: usize = 60;

/// Where what is said of a claim begins: beside its status, or beneath it.
const INDENT: usize = 16;
const INDENT_NARROW: usize = 4;

/// What a colour says; words always say it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Strong,
    Faint,
    Better,
    Worse,
    Doubtful,
}

impl Tone {
    pub(super) fn of_verdict(verdict: Verdict) -> Tone {
        match verdict {
            Verdict::Better => Tone::Better,
            Verdict::Worse => Tone::Worse,
            Verdict::Equivalent => Tone::Plain,
            Verdict::Inconclusive | Verdict::Untrusted | Verdict::Incomparable => Tone::Doubtful,
        }
    }

    pub(super) fn of_claim(status: ClaimStatus) -> Tone {
        match status {
            ClaimStatus::Elsewhere => Tone::Plain,
            ClaimStatus::Holds => Tone::Better,
            ClaimStatus::Refuted => Tone::Worse,
            ClaimStatus::Inconclusive | ClaimStatus::Untested => Tone::Doubtful,
        }
    }

    /// Blue against orange would need 256 colours; these six work on any terminal.
    fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Strong => Some("1"),
            Tone::Faint => Some("2"),
            Tone::Better => Some("36"),
            Tone::Worse => Some("31"),
            Tone::Doubtful => Some("33"),
        }
    }
}

/// What lines are written on: they are no wider than it, and coloured if it takes colours.
pub(super) struct Sheet {
    colour: bool,
    pub(super) width: usize,
}

impl Sheet {
    pub(super) fn new(style: Style) -> Sheet {
        Sheet { colour: style.colour, width: style.width.clamp(WIDTH_MIN, Style::WIDTH_MAX) }
    }

    /// Where what is said of a claim begins.
    pub(super) fn indent(&self) -> usize {
        if self.width < WIDTH_BESIDE { INDENT_NARROW } else { INDENT }
    }

    /// Text in lines: the first indented by `first`, the others by `others`.
    pub(super) fn wrapped(&self, text: &str, first: usize, others: usize) -> Vec<String> {
        wrapped(text, self.width, first, others)
    }

    pub(super) fn one(&self, text: &str, tone: Tone) -> String {
        match tone.code().filter(|_| self.colour && !text.is_empty()) {
            Some(code) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            None => text.to_owned(),
        }
    }

    pub(super) fn all(&self, lines: Vec<String>, tone: Tone) -> Vec<String> {
        lines.iter().map(|line| self.one(line, tone)).collect()
    }
}

fn wrapped(text: &str, width: usize, first: usize, others: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = " ".repeat(first);
    let mut empty = true;
    for word in text.split_whitespace().flat_map(|word| pieces(word, width - first.max(others))) {
        if !empty && line.width() + 1 + word.width() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(others)));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(&word);
        empty = false;
    }
    lines.push(line);
    lines
}

/// A word cut into pieces no wider than `width`; nearly always one.
pub(super) fn pieces(word: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for character in word.chars().filter(|character| !is_unreadable(*character)) {
        let last = pieces.len() - 1;
        if pieces[last].width() + character.width().unwrap_or(0) > width {
            pieces.push(character.to_string());
        } else {
            pieces[last].push(character);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_asked_whatever_the_words() {
        let url = "x".repeat(250);
        let text = format!("短い語 and a very long address {url} and {}", "word ".repeat(60));
        let lines = wrapped(&text, 100, 2, 16);
        assert!(lines.iter().all(|line| line.width() <= 100), "{lines:#?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }

    #[test]
    fn control_characters_of_a_subject_do_not_reach_the_terminal() {
        assert_eq!(wrapped("no\u{1b}[31m colour", 100, 0, 0), ["no[31m colour"]);
        assert_eq!(wrapped("no\u{202e} other\u{200b} way", 100, 0, 0), ["no other way"]);
    }
}
