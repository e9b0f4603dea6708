//! The page of what the store relies on inside SQLite: that it was confirmed for this engine, and that it is whole.

use libsqlite3_sys as ffi;
use std::ffi::{CStr, c_char};
use std::path::Path;

unsafe extern "C" {
    fn sqlite3mc_version() -> *const c_char;
}

fn page() -> String {
    read("../../docs/store-engine.md")
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn told(text: *const c_char) -> &'static str {
    // SAFETY: the engine's versions are texts of its own, which end with a zero and stay.
    unsafe { CStr::from_ptr(text) }.to_str().expect("they are in ASCII")
}

/// Another engine may have another inside, and nothing else may fail for it.
#[test]
fn the_list_of_what_is_relied_on_was_confirmed_for_this_engine() {
    // The first test of a program uses the store, so that it is linked with its engine.
    drop(touchstone_store::Options::new());
    // SAFETY: they take nothing.
    let versions = unsafe { [ffi::sqlite3_libversion(), ffi::sqlite3_sourceid(), sqlite3mc_version()] };
    let page = page();
    for version in versions.map(told) {
        assert!(
            page.contains(version),
            "the engine is `{version}`, for which nobody has confirmed docs/store-engine.md: go through its tables \
             with that engine's source beside them, then change the versions there and the number in engine.c"
        );
    }
}

/// What is added to the engine relies on its inside, or it would not be added there.
#[test]
fn every_function_that_reaches_into_the_engine_is_on_the_list() {
    let source = read("src/engine/engine.c");
    let names: Vec<&str> = source
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '/']))
        .filter_map(|line| line.split_once("touchstone_")?.1.split_once('('))
        .map(|(name, _)| name)
        .collect();
    assert!(names.len() > 5, "{names:?}");
    let page = page();
    for name in names {
        assert!(page.contains(&format!("| `touchstone_{name}` |")), "`touchstone_{name}` is not on the list");
    }
}

/// Each field of the engine's own that `engine.c` uses, and each function that only this one unit may call, is asserted
/// at the beginning of that file, or is on the list.
#[test]
fn every_field_and_function_of_the_engines_inside_is_asserted_or_listed() {
    /// Names of C, of the system and of SQLite's interface, which are no inside of the engine.
    const PUBLIC: [&str; 25] = [
        "defined",
        "for",
        "if",
        "return",
        "sizeof",
        "switch",
        "while",
        "lseek",
        "memcmp",
        "memcpy",
        "memset",
        "l_len",
        "l_start",
        "l_type",
        "l_whence",
        "st_dev",
        "st_ino",
        "pMethods",
        "xFileSize",
        "xOpen",
        "act",
        "osFcntl",
        "osMmap",
        "ArraySize",
        "SEH_EXCEPT",
    ];
    let source = without_comments(&read("src/engine/engine.c"));
    let (asserted, functions) =
        source.split_once("#define ARGON2_PASSES").expect("the functions begin there");
    let page = page();
    let known = [words(asserted), words(&page)].concat();
    let own: Vec<&str> = functions
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '}']))
        .filter_map(|line| words(line.split_once('(')?.0).pop())
        .collect();
    let mut looked_at = 0;
    for line in functions.lines().filter(|line| !line.starts_with('#')) {
        for (at, name) in words_at(line) {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            let is_field = before.ends_with("->") || before.ends_with('.');
            if !is_field && !after.starts_with('(') {
                continue;
            }
            let is_public = PUBLIC.contains(&name)
                || ["sqlite3_", "pthread_"].iter().any(|start| name.starts_with(start))
                || own.contains(&name)
                || name.ends_with("_callback");
            looked_at += usize::from(!is_public);
            assert!(
                is_public || known.contains(&name),
                "`{name}` of the engine's inside is used in engine.c, and neither asserted there nor in docs/store-engine.md"
            );
        }
    }
    assert!(looked_at > 100, "only {looked_at} uses were found");
}

fn without_comments(source: &str) -> String {
    let mut parts = source.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| code + part.split_once("*/").map_or("", |(_, code)| code))
}

fn words(text: &str) -> Vec<&str> {
    words_at(text).map(|(_, word)| word).collect()
}

/// The words of a text, and where each begins.
fn words_at(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .map(move |word| (word.as_ptr().addr() - text.as_ptr().addr(), word))
}

/// A line says which test fails where it does not hold any more.
#[test]
fn the_tests_that_the_list_names_are_there() {
    let page = page();
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let asserted =
        rows.filter_map(|row| row.trim_matches(['|', ' ']).rsplit_once(" | ").map(|(_, last)| last));
    let mut found = 0;
    for part in asserted.flat_map(|last| last.split("; ")) {
        let is_of_source =
            ["read", "compiled", "confirmed", "`2"].iter().any(|start| part.starts_with(start));
        for name in part.split('`').skip(1).step_by(2).filter(|_| !is_of_source) {
            let paths = match name.strip_suffix("::tests") {
                Some(module) => vec![format!("src/{}/tests.rs", module.replace("::", "/"))],
                None => vec![format!("tests/{name}.rs"), format!("tests/{name}/main.rs")],
            };
            let is_there = |path: &String| Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists();
            assert!(paths.iter().any(is_there), "`{name}` is no test of the store");
            found += 1;
        }
    }
    assert!(found > 20, "only {found} tests are named");
}
