//! Every public item of a library has an example in its documentation, and the example is run.

use crate::Findings;

/// How a public item begins. Fields, variants, modules and what a trait declares beside its methods need no example.
const ITEMS: [&str; 9] = [
    "pub fn ",
    "pub const fn ",
    "pub unsafe fn ",
    "pub struct ",
    "pub enum ",
    "pub trait ",
    "pub type ",
    "pub const ",
    "pub use touchstone_store_derive::",
];

/// Marks of a block that is not run, or not compiled.
const NOT_RUN: [&str; 2] = ["ignore", "no_run"];

/// What stands before an item: its documentation and its attributes.
#[derive(Default)]
struct Before {
    fences: Vec<String>,
    in_fence: bool,
    hidden: bool,
    /// Brackets of an attribute that are still open.
    open: usize,
}

impl Before {
    /// Takes a line, and says whether it belongs before an item.
    fn takes(&mut self, line: &str) -> bool {
        if let Some(doc) = line.strip_prefix("///") {
            if let Some(language) = doc.trim_start().strip_prefix("```") {
                if !self.in_fence {
                    self.fences.push(language.to_owned());
                }
                self.in_fence = !self.in_fence;
            }
            return true;
        }
        if self.open == 0 && !line.starts_with("#[") {
            return false;
        }
        self.hidden |= line.contains("doc(hidden)");
        self.open = (self.open + line.matches('[').count()).saturating_sub(line.matches(']').count());
        true
    }

    fn has_example(&self) -> bool {
        self.fences.iter().any(|language| language.is_empty() || language == "should_panic")
    }
}

/// Checks a Rust file: every public item outside of its tests, and every method that a public trait declares.
pub fn check(path: &str, text: &str) -> Findings {
    let mut findings = Vec::new();
    let mut before = Before::default();
    let mut in_trait = false;
    for (index, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if before.takes(code) {
            continue;
        }
        if before.hidden && code.starts_with("pub trait ") {
            in_trait = false;
        } else if code.starts_with("pub trait ") {
            in_trait = code.ends_with('{');
        } else if line == "}" {
            in_trait = false;
        } else if code.starts_with("mod tests {") {
            break;
        }
        let declared = in_trait && line.len() - code.len() == 4 && code.starts_with("fn ");
        let public = declared || ITEMS.iter().any(|item| code.starts_with(item));
        let place = format!("{path}:{}", index + 1);
        if public && !before.hidden && !before.has_example() {
            let item = code.split(['(', '{', '=', ';', '<']).next().unwrap_or(code).trim();
            findings.push(format!("{place}: `{item}` has no example: show its use in a block that is run"));
        }
        if before.fences.iter().any(|language| NOT_RUN.iter().any(|mark| language.contains(mark))) {
            findings.push(format!("{place}: an example that is not run: take away `ignore` and `no_run`"));
        }
        before = Before::default();
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_without_an_example_is_found() {
        let bare = "/// Opens.\n#[must_use]\npub fn open() -> Store {\n}\n";
        assert_eq!(
            check("a.rs", bare),
            ["a.rs:3: `pub fn open` has no example: show its use in a block that is run"]
        );
        assert_eq!(check("a.rs", "impl Store {\n    /// Closes.\n    pub fn close(self) {}\n}\n").len(), 1);
        assert_eq!(
            check("a.rs", "/// What it was.\n///\n/// ```text\n/// x\n/// ```\npub enum Kind {\n}\n").len(),
            1
        );
        assert_eq!(check("a.rs", "/// ```compile_fail\n/// x\n/// ```\npub struct Row;\n").len(), 1);
        assert_eq!(
            check("a.rs", "/// Not the one below.\n/// ```\n/// x\n/// ```\nfn own() {}\npub fn f() {}\n")
                .len(),
            1
        );
    }

    #[test]
    fn a_method_that_a_public_trait_declares_needs_one_too() {
        let methods = "/// ```\n/// x\n/// ```\npub trait Field {\n    const KIND: Kind;\n\n    /// Writes.\n    fn write(&self);\n}\n";
        assert_eq!(check("a.rs", methods).len(), 1);
        assert_eq!(check("a.rs", &methods.replace("pub trait", "trait")).len(), 0);
    }

    #[test]
    fn an_example_that_is_not_run_is_found() {
        assert_eq!(check("a.rs", "/// ```no_run\n/// x\n/// ```\npub fn f() {}\n").len(), 2);
        assert_eq!(
            check("a.rs", "/// ```\n/// x\n/// ```\n/// ```ignore\n/// x\n/// ```\npub fn f() {}\n").len(),
            1
        );
    }

    #[test]
    fn what_is_shown_hidden_or_not_public_is_not_found() {
        let shown = "/// Opens.\n///\n/// ```\n/// open();\n/// ```\n#[expect(\n    clippy::x,\n    reason = \"y\"\n)]\npub fn open() {}\n";
        assert_eq!(check("a.rs", shown).len(), 0);
        assert_eq!(
            check("a.rs", "#[doc(hidden)]\npub fn f() {}\npub(crate) fn g() {}\npub mod m;\n").len(),
            0
        );
        assert_eq!(check("a.rs", "#[cfg(test)]\nmod tests {\n    pub fn f() {}\n}\n").len(), 0);
    }
}
