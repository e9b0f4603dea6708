//! Text: no tabs, no trailing spaces, an end of line at the end, and the house's words.

use crate::Findings;
use crate::rust::Source;

/// Kinds of files that need tabs.
const TABBED: [&str; 3] = ["Makefile", ".go", ".tsv"];

/// Words that the house does not use, with those it does.
const WORDS: [(&str, &str); 2] = [("faster", "better"), ("slower", "worse")];

/// Checks the white space of a file.
pub fn space(path: &str, text: &str) -> Findings {
    let tabs_allowed = TABBED.iter().any(|ending| path.ends_with(ending));
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(format!("{path}:{number}: white space at the end"));
        }
        if line.contains('\t') && !tabs_allowed {
            findings.push(format!("{path}:{number}: a tab"));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        findings.push(format!("{path}: no end of line at the end"));
    }
    if text.ends_with("\n\n") {
        findings.push(format!("{path}: empty lines at the end"));
    }
    findings
}

/// Checks a page's words. A line that names the words to forbid them, as the glossary does, says `never`; what stands in
/// quotation marks is somebody else's.
pub fn page_words(path: &str, text: &str) -> Findings {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.contains("never"));
    lines.flat_map(|(index, line)| not_ours(path, index + 1, &without_quotations(line))).collect()
}

fn without_quotations(line: &str) -> String {
    line.split('“').map(|part| part.split_once('”').map_or(part, |(_, rest)| rest)).collect()
}

/// Checks the words of a Rust file's strings, which are what users read.
pub fn string_words(path: &str, text: &str) -> Findings {
    let strings = Source::new(text).strings;
    strings.iter().flat_map(|(line, string)| not_ours(path, *line, string)).collect()
}

fn not_ours(path: &str, line: usize, text: &str) -> Findings {
    let text = text.to_lowercase();
    let used =
        WORDS.iter().filter(|(word, _)| text.split(|c: char| !c.is_alphanumeric()).any(|part| part == *word));
    used.map(|(word, ours)| format!("{path}:{line}: `{word}` is not the house's word: say `{ours}`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stray_white_space_is_found() {
        assert_eq!(space("a.rs", "x \n").len(), 1);
        assert_eq!(space("a.rs", "\tx\n").len(), 1);
        assert_eq!(space("Makefile", "\tx\n").len(), 0);
        assert_eq!(space("a.rs", "x").len(), 1);
        assert_eq!(space("a.rs", "x\n\n").len(), 1);
        assert_eq!(space("a.rs", "x\n").len(), 0);
    }

    #[test]
    fn words_of_others_are_found() {
        assert_eq!(page_words("a.md", "It is 3x faster.").len(), 1);
        assert_eq!(page_words("a.md", "Say better, never faster.").len(), 0);
        assert_eq!(page_words("a.md", "It says “ten times faster”, and “2x”.").len(), 0);
        assert_eq!(page_words("a.md", "It says “2x”, which is faster.").len(), 1);
        assert_eq!(string_words("a.rs", "// slower\nlet a = \"Slower\";").len(), 1);
    }
}
