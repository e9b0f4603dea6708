//! Layering: the modules of the pure core import only stages to their left, and those of the store only rooms to theirs.

use crate::Findings;
use crate::rust::{Source, line_of};

/// The stages of the core, from left to right. A module may import those before it.
pub const STAGES: [&str; 12] = [
    "count", "error", "name", "written", "kit", "suite", "plan", "sample", "record", "estimate", "verdict",
    "report",
];

/// The rooms of the store, from left to right; each is a module and the folder of its name. A module may import its own room and those
/// before it: so reading knows nothing of live queries, and live queries know nothing of the writer.
pub const ROOMS: [&str; 10] =
    ["types", "engine", "table", "session", "query", "live", "writer", "store", "dynamic", "upkeep"];

/// The crates, from left to right. A crate may depend on those before it; some stand on their own. The store comes after
/// the lab, which must not know it: it is measured like any other.
pub const CRATES: [&str; 14] = [
    "touchstone-flush",
    "touchstone-protocol",
    "touchstone-recorder",
    "touchstone-statistics",
    "touchstone",
    "touchstone-load",
    "touchstone-runner",
    "touchstone-cli",
    "touchstone-store-derive",
    "touchstone-store",
    "touchstone-store-example",
    "touchstone-sync",
    "touchstone-sync-client",
    "xtask",
];

/// Crates that depend on no other of the project: kits build the protocol, the recorder knows nothing of the lab, and statistics are
/// mathematics.
const STANDALONE: [&str; 5] = [
    "touchstone-flush",
    "touchstone-store-derive",
    "touchstone-protocol",
    "touchstone-recorder",
    "touchstone-statistics",
];

/// Checks a file of the core; `path` is relative to its `src/`.
pub fn check(path: &str, text: &str) -> Findings {
    let source = Source::new(text);
    in_order(path, &source, text.lines().count(), ("stage", &STAGES))
}

/// Checks a file of the store; `path` is relative to its `src/`. Modules of tests may import everything.
pub fn check_store(path: &str, text: &str) -> Findings {
    let source = Source::new(text);
    let tests = source.tests_begin().unwrap_or(usize::MAX);
    in_order(path, &source, tests, ("room", &ROOMS))
}

/// Checks the lines before and with `last` of a module. The first part of its path is one of an order, of which it imports none to its right.
fn in_order(path: &str, source: &Source, last: usize, (word, order): (&str, &[&str])) -> Findings {
    let module: Vec<&str> = path.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
    let place = |name: &str| order.iter().position(|known| *known == name);
    let Some(own) = place(module[0]) else {
        return if path == "lib.rs" {
            Vec::new()
        } else {
            vec![format!("{path}: `{}` is not a {word}", module[0])]
        };
    };
    let mut findings = Vec::new();
    for (at, name) in imports(&source.code, module.len()) {
        let line = line_of(&source.code, at);
        if line <= last && place(&name).is_some_and(|other| other > own) {
            findings
                .push(format!("{path}:{line}: `{}` imports `{name}`, which is not to its left", module[0]));
        }
    }
    findings
}

/// Checks the manifest of a crate of the lab.
///
/// # Panics
/// When the manifest is not one.
pub fn check_crate(name: &str, manifest: &str) -> Findings {
    let Some(own) = CRATES.iter().position(|known| *known == name) else {
        return vec![format!("crates/{name}: a new crate needs a place in the order of `CRATES`")];
    };
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten();
    let mut findings = Vec::new();
    for (dependency, _) in dependencies {
        let Some(other) = CRATES.iter().position(|known| known == dependency) else { continue };
        if other >= own || STANDALONE.contains(&name) {
            findings.push(format!("crates/{name}: depends on {dependency}, which is not to its left"));
        }
    }
    findings
}

/// The first names below the crate's root that the code speaks of, and where. `depth` is the module's own.
fn imports(code: &str, depth: usize) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        // `$crate::` and `my_crate::` are other words.
        if !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            found.extend(names(code, at + "crate::".len()));
        }
    }
    let mut at = 0;
    while let Some(start) = code[at..].find("super::").map(|found| at + found) {
        let climbs = code[start..].split("super::").take_while(|before| before.is_empty()).count().max(1);
        let after = start + climbs * "super::".len();
        // From a file as deep as this, so many steps lead to the root. A stage named by fewer is a module of its own.
        if climbs >= depth {
            found.extend(names(code, after));
        }
        at = after;
    }
    found
}

/// The name at `at`, or where a brace opens the first name of each of its parts.
fn names(code: &str, at: usize) -> Vec<(usize, String)> {
    let name = |at: usize| {
        let name: String = code[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        (at, name)
    };
    if !code[at..].starts_with('{') {
        return vec![name(at)];
    }
    let (mut depth, mut names, mut expects) = (0, Vec::new(), true);
    for (offset, byte) in code[at..].bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 1 => expects = true,
            byte if expects && (byte.is_ascii_alphabetic() || byte == b'_') => {
                names.push(name(at + offset));
                expects = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_may_look_left_and_not_right() {
        assert_eq!(check("verdict/claim.rs", "use crate::plan::Plan;\nuse super::comparison::x;").len(), 0);
        let findings = check("plan.rs", "//! `crate::report` in a comment\nuse crate::verdict::Verdict;");
        assert_eq!(findings, ["plan.rs:2: `plan` imports `verdict`, which is not to its left"]);
        assert_eq!(check("plan.rs", "use crate::{error::Error, report::{html, kit}, Result};").len(), 1);
        assert_eq!(check("suite.rs", "use super::plan;").len(), 1);
        assert_eq!(check("verdict/flag.rs", "fn f() { super::super::report::html() }").len(), 1);
    }

    #[test]
    fn a_module_of_the_store_may_look_into_rooms_to_its_left_and_not_to_its_right() {
        let writer = "use crate::live::link::Link;\nuse super::session::x;";
        assert_eq!(check_store("writer/commit.rs", writer).len(), 0);
        assert_eq!(check_store("store/snapshot.rs", "use crate::store::Store;").len(), 0);
        let session = "//! `crate::live` in a comment\nuse crate::live::capture::Capture;";
        let expected = "session.rs:2: `session` imports `live`, which is not to its left";
        assert_eq!(check_store("session.rs", session), [expected]);
        let query = "use crate::{types::error::Error, store::{Reading, x}};";
        assert_eq!(check_store("query/run.rs", query).len(), 1);
        assert_eq!(check_store("live/feed.rs", "use super::super::dynamic::Value;").len(), 1);
        let tests = "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    use crate::store::Store;\n}\n";
        assert_eq!(check_store("session/keeper.rs", tests).len(), 0);
        assert_eq!(check_store("helpers.rs", "").len(), 1);
        assert_eq!(check_store("lib.rs", "mod store;").len(), 0);
    }

    #[test]
    fn a_crate_may_depend_on_those_to_its_left_only() {
        let depends = |on: &str| format!("[dependencies]\n{on}.workspace = true\nserde = \"1\"\n");
        assert_eq!(check_crate("touchstone-runner", &depends("touchstone")).len(), 0);
        assert_eq!(check_crate("touchstone", &depends("touchstone-runner")).len(), 1);
        assert_eq!(check_crate("touchstone-recorder", &depends("touchstone-protocol")).len(), 1);
        assert_eq!(check_crate("touchstone-statistics", &depends("touchstone-protocol")).len(), 1);
        assert_eq!(check_crate("touchstone-cli", &depends("touchstone-store")).len(), 1);
        assert_eq!(check_crate("touchstone-nowhere", "").len(), 1);
    }

    #[test]
    fn a_module_that_is_no_stage_is_found() {
        assert_eq!(check("helpers.rs", "").len(), 1);
        assert_eq!(check("lib.rs", "pub mod error;").len(), 0);
    }
}
