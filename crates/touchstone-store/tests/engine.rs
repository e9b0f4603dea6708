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
