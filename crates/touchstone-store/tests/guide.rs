//! The store's guides, run: the snippets of each part of a page are one function, from top to bottom. A page is one program, which is
//! compiled and linked once.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages, and how many parts each has at least.
const PAGES: [(&str, usize); 2] = [("guide-store", 8), ("guide-live", 7)];

/// What a page's program begins with.
const BEGIN: &str = "//! A guide.\n#![allow(dead_code, unused_imports, unused_variables)]\n";

/// What each part begins with: a page says that `path` is where the file is to be.
const BEGIN_PART: &str = "\
pub fn run() -> Result<(), Box<dyn std::error::Error>> {
let directory = tempfile::tempdir()?;
let path = directory.path().join(\"tasks.db\");
";

/// The snippets below one heading of the second level. Those below one of the third have a scope of their own.
struct Part {
    name: String,
    body: String,
    in_scope: bool,
}

impl Part {
    fn text(&self) -> String {
        let end = if self.in_scope { "}\n" } else { "" };
        format!("mod {} {{\n{BEGIN_PART}{}{end}Ok(())\n}}\n}}\n", self.name, self.body)
    }

    /// Runs it, and names it where it fails.
    fn call(&self) -> String {
        format!("{0}::run().map_err(|error| format!(\"{0}: {{error}}\"))?;\n", self.name)
    }
}

/// The parts of a page, one after the other.
fn program(parts: &[Part]) -> String {
    let modules: String = parts.iter().map(Part::text).collect();
    let calls: String = parts.iter().map(Part::call).collect();
    format!("{BEGIN}{modules}fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{calls}Ok(())\n}}\n")
}

/// The parts of a page.
fn parts(page: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut in_block, mut in_rust) = (false, false);
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            in_rust = !in_block && language == "rust";
            in_block = !in_block;
        } else if !in_block && let Some(heading) = line.strip_prefix("## ") {
            let name = heading.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "_");
            parts.push(Part { name, body: String::new(), in_scope: false });
        } else if let Some(part) = parts.last_mut() {
            if in_rust {
                writeln!(part.body, "{line}").expect("text can be written");
            } else if !in_block && line.starts_with("### ") {
                part.body.push_str(if part.in_scope { "}\n{\n" } else { "{\n" });
                part.in_scope = true;
            }
        }
    }
    parts.retain(|part| part.body.contains(';'));
    parts
}

/// Writes a program unless it is there as it is.
fn write(path: &Path, text: &str) {
    if !fs::read_to_string(path).is_ok_and(|there| there == text) {
        fs::write(path, text).expect("a file can be written");
    }
}

#[test]
fn every_snippet_of_the_guides_does_what_the_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = trybuild::TestCases::new();
    for (name, parts_min) in PAGES {
        let page = fs::read_to_string(root.join(format!("../../docs/{name}.md"))).expect("the page is there");
        let parts = parts(&page);
        assert!(parts.len() >= parts_min, "only {} parts were found in {name}", parts.len());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.rs"));
        write(&path, &program(&parts));
        run.pass(path);
    }
}

#[test]
fn what_stands_below_one_heading_is_one_part() {
    let page = "# T\n\n## One Two\n\n```rust\nlet a = 1;\n```\n\n```text\nno\n```\n\n### Three\n\n```rust\nlet b = a;\n```\n\n## Empty\n";
    let found = parts(page);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, "one_two");
    let text = found[0].text();
    assert!(text.starts_with("mod one_two {\n"), "{text}");
    assert!(text.ends_with("\nlet a = 1;\n{\nlet b = a;\n}\nOk(())\n}\n}\n"), "{text}");
}

/// What a program can be told, it must be able to look up.
#[test]
fn the_guide_says_of_every_kind_of_error_what_to_do() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = fs::read_to_string(root.join("src/types/error.rs")).expect("it is there");
    let page = fs::read_to_string(root.join("../../docs/guide-store.md")).expect("it is there");
    let kinds = source.split_once("pub enum ErrorKind {").and_then(|(_, rest)| rest.split_once("\n}"));
    let kinds = kinds.expect("it is there").0.lines().filter_map(|line| line.trim().strip_suffix(','));
    let kinds: Vec<&str> = kinds.filter(|line| line.chars().all(char::is_alphanumeric)).collect();
    assert!(kinds.len() > 20, "{kinds:?}");
    let said = |kind: &str| {
        page.lines().any(|line| {
            line.split(" | ").next().is_some_and(|first| first.starts_with('|') && first.contains(kind))
        })
    };
    for kind in kinds {
        assert!(said(&format!("`{kind}`")), "`{kind}` is not in the guide's table");
    }
}
