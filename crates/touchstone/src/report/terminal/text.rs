//! Lines of text for a terminal: wrapping by display width, and colour.

use crate::verdict::{ClaimStatus, Verdict};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// No line is wider.
pub(super) const WIDTH: usize = 100;

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

/// Colours text, if asked to.
pub(super) struct Paint {
    colour: bool,
}

impl Paint {
    pub(super) fn new(colour: bool) -> Paint {
        Paint { colour }
    }

    pub(super) fn one(&self, text: &str, tone: Tone) -> String {
        match tone.code().filter(|_| self.colour) {
            Some(code) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            None => text.to_owned(),
        }
    }

    pub(super) fn all(&self, lines: Vec<String>, tone: Tone) -> Vec<String> {
        lines.iter().map(|line| self.one(line, tone)).collect()
    }
}

/// Text in lines of at most [`WIDTH`] columns: the first indented by `first`, the others by `others`.
pub(super) fn wrapped(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = " ".repeat(first);
    let mut empty = true;
    for word in text.split_whitespace().flat_map(|word| pieces(word, WIDTH - first.max(others))) {
        if !empty && line.width() + 1 + word.width() > WIDTH {
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
    for character in word.chars().filter(|character| !character.is_control()) {
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
        let lines = wrapped(&text, 2, 16);
        assert!(lines.iter().all(|line| line.width() <= WIDTH), "{lines:#?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }

    #[test]
    fn control_characters_of_a_subject_do_not_reach_the_terminal() {
        assert_eq!(wrapped("no\u{1b}[31m colour", 0, 0), ["no[31m colour"]);
    }
}
