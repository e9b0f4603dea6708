//! Every source file opens by saying what it is.

use crate::Findings;

/// How a file of a kind opens, by the ending of its path.
const OPENINGS: [(&str, &[&str]); 18] = [
    (".rs", &["//!"]),
    (".toml", &["#"]),
    (".py", &["\"\"\"", "#"]),
    (".go", &["//", "/*"]),
    (".c", &["//", "/*"]),
    (".h", &["//", "/*"]),
    (".cpp", &["//", "/*"]),
    (".mm", &["//", "/*"]),
    (".java", &["//", "/*"]),
    (".kt", &["//", "/*"]),
    (".swift", &["//", "/*"]),
    (".ts", &["//", "/*"]),
    (".mjs", &["//", "/*"]),
    (".js", &["//", "/*"]),
    (".css", &["/*"]),
    (".html", &["<!--", "{#"]),
    (".sh", &["#"]),
    (".service", &["#"]),
];

/// Files without an ending that are source all the same.
const NAMED: [&str; 2] = ["Makefile", ".ci/run"];

/// Manifests and settings of tools, which say what they are in a field of their own.
const EXEMPT: [&str; 6] =
    ["Cargo.toml", "rustfmt.toml", "clippy.toml", "pyproject.toml", "rust-toolchain.toml", "deny.toml"];

/// Checks how a file opens. Lines that only machines read, `#!` and `<!doctype>`, are passed over.
pub fn check(path: &str, text: &str) -> Findings {
    let name = path.rsplit('/').next().unwrap_or(path);
    let opening: &[&str] = match OPENINGS.iter().find(|(ending, _)| path.ends_with(ending)) {
        _ if EXEMPT.contains(&name) => return Vec::new(),
        Some((_, opening)) => opening,
        None if NAMED.iter().any(|named| path.ends_with(named)) => &["#"],
        None => return Vec::new(),
    };
    let for_machines = |line: &&str| {
        (line.starts_with("#!") && !line.starts_with("#![")) || line.to_lowercase().starts_with("<!doctype")
    };
    let first = text.lines().map(str::trim).filter(|line| !line.is_empty()).find(|line| !for_machines(line));
    if opening.iter().any(|start| first.is_some_and(|first| first.starts_with(start))) {
        return Vec::new();
    }
    vec![format!("{path}: opens without saying what it is: begin with `{}`", opening[0])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found() {
        assert_eq!(check("a.rs", "use std::fs;").len(), 1);
        assert_eq!(check("a.rs", "// not for the module\nfn f() {}").len(), 1);
        assert_eq!(check("suites/a.toml", "name = \"a\"").len(), 1);
        assert_eq!(check(".ci/run", "#!/bin/sh\nmake test").len(), 1);
        assert_eq!(check("a.rs", "").len(), 1);
    }

    #[test]
    fn a_header_is_enough() {
        assert_eq!(check("a.rs", "//! What it is.\n").len(), 0);
        assert_eq!(check(".ci/run", "#!/bin/sh\n# What CI runs.\n").len(), 0);
        assert_eq!(check("a.css", "/* The page. */").len(), 0);
        assert_eq!(check("crates/a/Cargo.toml", "[package]").len(), 0);
    }
}
