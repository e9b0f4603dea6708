//! Names of files: what kinds there are, and none that says nothing.

use crate::Findings;

/// Endings of files that may be here. A new kind of file is a decision, so it is made in this list.
const ENDINGS: [&str; 46] = [
    "bib",
    "c",
    "cpp",
    "css",
    "db",
    "dockerignore",
    "expect",
    "gitattributes",
    "gitignore",
    "go",
    "gradle",
    "h",
    "html",
    "java",
    "js",
    "json",
    "jsonl",
    "kt",
    "lock",
    "md",
    "mjs",
    "mm",
    "mod",
    "operations",
    "subscriptions",
    "py",
    "pyi",
    "rs",
    "service",
    "sh",
    "sql",
    "stderr",
    "sum",
    "svg",
    "swift",
    "toml",
    "trace",
    "ts",
    "tsdata",
    "tsv",
    "txt",
    "typed",
    "u64",
    "xml",
    "yaml",
    "yml",
];

/// Files without an ending that may be here.
const NAMED: [&str; 10] = [
    "Containerfile",
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    ".gitignore",
    "run",
    ".nvmrc",
    ".python-version",
    ".npmrc",
];

/// Words that say nothing of what is in a file.
const EMPTY: [&str; 12] = [
    "util", "utils", "common", "misc", "helper", "helpers", "manager", "stuff", "shared", "base", "lib2",
    "tools",
];

/// Checks the ending of a path.
pub fn ending(path: &str) -> Findings {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let known = NAMED.contains(&name) || ending.is_some_and(|ending| ENDINGS.contains(&ending));
    (!known).then(|| format!("{path}: no such kind of file is expected here")).into_iter().collect()
}

/// Checks every part of a path for words that say nothing.
pub fn says_something(path: &str) -> Findings {
    let parts = path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    let words = parts.flat_map(|part| part.split(['-', '_']));
    let empty = words.filter(|word| EMPTY.contains(&word.to_lowercase().as_str()));
    empty.map(|word| format!("{path}: `{word}` says nothing: name it by its content")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_name_is_found() {
        assert_eq!(says_something("crates/a/src/util.rs").len(), 1);
        assert_eq!(says_something("crates/a/src/export_manager/x.rs").len(), 1);
        assert_eq!(says_something("crates/a/src/quantile.rs").len(), 0);
        assert_eq!(says_something("crates/a/src/utility_function.rs").len(), 0, "a word of its own");
    }

    #[test]
    fn an_unknown_kind_of_file_is_found() {
        assert_eq!(ending("a/b.exe").len(), 1);
        assert_eq!(ending("a/core").len(), 1);
        assert_eq!(ending("a/b.rs").len(), 0);
        assert_eq!(ending("Makefile").len(), 0);
        assert_eq!(ending("kits/rust/.gitignore").len(), 0);
    }
}
