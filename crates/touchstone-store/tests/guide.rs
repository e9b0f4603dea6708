//! The store's guides, run: the snippets of each part of a page are one program, from top to bottom.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages, and how many programs each has at least.
const PAGES: [(&str, usize); 2] = [("guide-store", 8), ("guide-live", 7)];

/// What each program begins with: a page says that `path` is where the file is to be.
const BEGIN: &str = "\
//! A part of the guide.
#![allow(dead_code, unused_imports, unused_variables)]

fn main() -> Result<(), Box<dyn std::error::Error>> {
let directory = tempfile::tempdir()?;
let path = directory.path().join(\"tasks.db\");
";

/// The snippets below one heading of the second level. Those below one of the third have a scope of their own.
struct Program {
    name: String,
    body: String,
    in_scope: bool,
}

impl Program {
    fn text(&self) -> String {
        let end = if self.in_scope { "}\n" } else { "" };
        format!("{BEGIN}{}{end}Ok(())\n}}\n", self.body)
    }
}

/// The programs of a page.
fn programs(page: &str) -> Vec<Program> {
    let mut programs: Vec<Program> = Vec::new();
    let (mut in_block, mut in_rust) = (false, false);
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            in_rust = !in_block && language == "rust";
            in_block = !in_block;
        } else if !in_block && let Some(heading) = line.strip_prefix("## ") {
            let name = heading.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "_");
            programs.push(Program { name, body: String::new(), in_scope: false });
        } else if let Some(program) = programs.last_mut() {
            if in_rust {
                writeln!(program.body, "{line}").expect("text can be written");
            } else if !in_block && line.starts_with("### ") {
                program.body.push_str(if program.in_scope { "}\n{\n" } else { "{\n" });
                program.in_scope = true;
            }
        }
    }
    programs.retain(|program| program.body.contains(';'));
    programs
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
    for (name, programs_min) in PAGES {
        let page = fs::read_to_string(root.join(format!("../../docs/{name}.md"))).expect("the page is there");
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).expect("a folder can be made");
        let programs = programs(&page);
        assert!(programs.len() >= programs_min, "only {} parts were found in {name}", programs.len());
        for program in programs {
            let path = folder.join(format!("{}.rs", program.name));
            write(&path, &program.text());
            run.pass(path);
        }
    }
}

#[test]
fn what_stands_below_one_heading_is_one_program() {
    let page = "# T\n\n## One Two\n\n```rust\nlet a = 1;\n```\n\n```text\nno\n```\n\n### Three\n\n```rust\nlet b = a;\n```\n\n## Empty\n";
    let found = programs(page);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, "one_two");
    let text = found[0].text();
    assert!(text.ends_with("\nlet a = 1;\n{\nlet b = a;\n}\nOk(())\n}\n"), "{text}");
}

/// What a program can be told, it must be able to look up.
#[test]
fn the_guide_says_of_every_kind_of_error_what_to_do() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = fs::read_to_string(root.join("src/error.rs")).expect("it is there");
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
