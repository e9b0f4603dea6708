//! The lab names no subject: `kits/*/kit.toml` alone knows who can be measured.
//!
//! Code and strings may not name one, or adding a subject would touch more than its kit. Comments may: they explain
//! with examples, and examples need names. So may attributes, where the examples of `--help` stand, and tests.

use crate::Findings;
use crate::rust::{Source, line_of, words};

/// Strings that may name a subject, each for a reason: an error that shows how a contender is written.
pub const ALLOWED: [(&str, &str); 1] = [("crates/touchstone/src/kit.rs", "write subject@profile, such as")];

/// Checks a file of the lab against the subjects' names.
pub fn check(path: &str, text: &str, subjects: &[String]) -> Findings {
    let source = Source::new(text);
    let tests = source.tests_begin().unwrap_or(usize::MAX);
    let attributes = attribute_lines(&source.code);
    let allowed = |line: usize, text: &str| {
        line >= tests
            || attributes.iter().any(|(from, to)| (*from..=*to).contains(&line))
            || ALLOWED.iter().any(|(file, part)| *file == path && text.contains(part))
    };
    let mut findings = Vec::new();
    for subject in subjects {
        let strings =
            source.strings.iter().filter(|(line, text)| names(text, subject) && !allowed(*line, text));
        findings.extend(
            strings.map(|(line, text)| format!("{path}:{line}: the string \"{text}\" names {subject}")),
        );
        // After a dot stands a method, such as an atomic's `store`.
        let code = words(&source.code, subject)
            .filter(|at| !source.code[..*at].ends_with('.'))
            .map(|at| line_of(&source.code, at))
            .filter(|line| *line < tests);
        findings.extend(code.map(|line| format!("{path}:{line}: the code names {subject}")));
    }
    findings
}

/// Whether a string has the name as a word; a part of a longer name with hyphens is another name.
fn names(text: &str, subject: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
    text.match_indices(subject).any(|(at, _)| {
        !part(text[..at].chars().next_back()) && !part(text[at + subject.len()..].chars().next())
    })
}

/// First and last line of every attribute.
fn attribute_lines(code: &str) -> Vec<(usize, usize)> {
    let end = |start: usize| {
        let mut depth = 0;
        for (at, byte) in code[start..].bytes().enumerate() {
            match byte {
                b'[' => depth += 1,
                b']' if depth == 1 => return start + at,
                b']' => depth -= 1,
                _ => {}
            }
        }
        code.len()
    };
    code.match_indices("#[").map(|(at, _)| (line_of(code, at), line_of(code, end(at)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> Findings {
        check("crates/x/src/y.rs", text, &["redb".into(), "sqlite-c".into()])
    }

    #[test]
    fn a_subject_in_a_string_or_in_code_is_found() {
        assert_eq!(check_text("let a = \"redb@immediate\";").len(), 1);
        assert_eq!(check_text("use redb::Database;").len(), 1);
        assert_eq!(check_text("if name == \"sqlite-c\" {}").len(), 1);
    }

    #[test]
    fn examples_tests_and_longer_names_are_no_naming() {
        assert_eq!(
            check_text("/// Such as `redb`.\n#[arg(help = \"redb\")]\nlet a = \"sqlite-connect\";").len(),
            0
        );
        assert_eq!(check_text("flag.redb(true)").len(), 0);
        assert_eq!(check_text("#[cfg(test)]\nmod tests { const A: &str = \"redb\"; }").len(), 0);
    }

    #[test]
    fn an_allowed_string_is_allowed_in_its_file_only() {
        let text = "fail(\"write subject@profile, such as redb@none\")";
        assert_eq!(check("crates/touchstone/src/kit.rs", text, &["redb".into()]).len(), 0);
        assert_eq!(check_text(text).len(), 1);
    }
}
