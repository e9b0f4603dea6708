//! Comments are read by engineers whose first language is another one: a sentence names its subject.

use crate::Findings;
use crate::rust::Source;

/// Words that make a reader search for their subject or meaning, with what says the same at the first reading.
const AVOIDED: [(&str, &str); 7] = [
    ("he", "name the thread, the process or the program"),
    ("him", "name the thread, the process or the program"),
    ("his", "name the thread, the process or the program"),
    ("whoever", "name the subject: `a thread that …`, `the caller`"),
    ("anew", "say `again`, or `from the start`"),
    ("for ever", "say `forever`, or until when"),
    ("is none of", "say `does not fit …`, or `is not among …`"),
];

/// Before `who` these leave it without a subject: `a thread who` has one, `and who waits` has none.
const LEADING: [&str; 14] =
    ["", "and", "or", "but", "by", "for", "to", "of", "with", "from", "than", "that", "when", "if"];

/// Checks the comments of a Rust file; code between fences is not prose.
pub fn check(path: &str, text: &str) -> Findings {
    let comments = Source::new(text).comments;
    let mut is_code = false;
    let mut findings = Vec::new();
    for (index, line) in comments.lines().enumerate() {
        let words = line.trim_start().trim_start_matches(['/', '!', '*']).trim();
        if words.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            findings.extend(avoided(words).map(|what| format!("{path}:{}: {what}", index + 1)));
        }
    }
    findings
}

fn avoided(line: &str) -> impl Iterator<Item = String> {
    let line = without_code(line).to_lowercase();
    let parts: Vec<String> = line.split_whitespace().map(bare).collect();
    let spaced = format!(" {} ", parts.join(" "));
    let known = AVOIDED.iter().filter(move |(words, _)| spaced.contains(&format!(" {words} ")));
    let known = known.map(|(words, instead)| format!("`{words}`: {instead}"));
    known.chain(
        has_free_who(&line).then(|| "`who` without a subject: name it, as `a thread that …`".to_owned()),
    )
}

/// Whether a `who` begins its part of a sentence. A question may begin so.
fn has_free_who(line: &str) -> bool {
    let mut before = String::new();
    for part in line.split_whitespace() {
        let ends_part = before.ends_with([',', ':', ';', '.', '(', '?']);
        if bare(part) == "who" && !line.contains('?') && (ends_part || LEADING.contains(&before.as_str())) {
            return true;
        }
        before = part.trim_start_matches('(').to_owned();
    }
    false
}

fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

/// The line without what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<&str>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_without_a_subject_are_found() {
        let found = |comment: &str| check("a.rs", &format!("/// {comment}\nfn a() {{}}\n")).len();
        assert_eq!(found("Who waits is woken."), 1);
        assert_eq!(found("A thread is woken, and who waits goes on."), 1);
        assert_eq!(found("It wakes whoever waits."), 1);
        assert_eq!(found("The thread is asked whether he waits; the log begins anew, for ever."), 3);
        assert_eq!(found("A value is none of its field's."), 1);
        assert_eq!(found("A user who waits is woken. What does `he` mean? Who knows?"), 0);
        assert_eq!(found("A thread that waits is woken."), 0);
    }

    #[test]
    fn code_is_not_prose() {
        assert_eq!(check("a.rs", "/// ```\n/// let he = his;\n/// ```\nfn he() { \"anew\"; }\n").len(), 0);
        assert_eq!(check("a.rs", "fn a() {} // it begins anew\n").len(), 1);
    }
}
