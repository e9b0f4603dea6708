//! The rules, applied to the whole tree. Each has its bad sample beside it, in `src/`.

use std::collections::BTreeSet;
use touchstone::kit::Kit;
use touchstone::plan::{Choice, Plan};
use touchstone::statistics::LOOKS;
use touchstone::suite::Size;
use touchstone_runner::kits::Project;
use xtask::rule::{example, header, layer, lock, name, path, prose, purity, size, subject, text};
use xtask::rust::Source;
use xtask::{Findings, Tree, assert_none, markdown};

/// Files written by others and kept as they came.
const VENDORED: [&str; 1] = ["crates/touchstone/assets/vendor/"];

/// Files that may be large: what was found, raw samples included.
const LARGE: [&str; 2] = ["record/", "crates/touchstone/assets/vendor/"];

/// Whether a file was written here.
fn is_ours(path: &str) -> bool {
    !VENDORED.iter().any(|vendored| path.starts_with(vendored))
}

fn rust(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.ending(&[".rs"]).filter(|(path, _)| is_ours(path))
}

fn pages(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.ending(&[".md"]).filter(|(path, _)| is_ours(path))
}

/// Files that are compiled for tests only, because a `#[cfg(test)] mod name;` says so.
fn test_files(tree: &Tree) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for (path, text) in rust(tree) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.trim_end_matches(".rs");
        let below =
            if matches!(stem, "lib" | "main" | "mod") { folder.into() } else { format!("{folder}/{stem}") };
        files.extend(
            Source::new(text).test_modules().into_iter().map(|module| format!("{below}/{module}.rs")),
        );
    }
    files
}

/// The line on which the tests of a file begin.
fn tests_begin(path: &str, text: &str, test_files: &BTreeSet<String>) -> usize {
    let all = path.contains("/tests/") || test_files.contains(path);
    if all { 1 } else { Source::new(text).tests_begin().unwrap_or(usize::MAX) }
}

/// Files of the pure core, by their path in its `src/`.
fn core(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    rust(tree).filter_map(|(path, text)| Some((path.strip_prefix("crates/touchstone/src/")?, text)))
}

/// Applies a rule to files. Fails when it finds anything, and when there are so few files that they were not found.
fn every<'t>(
    rule: &str,
    files_min: usize,
    files: impl Iterator<Item = (&'t str, &'t str)>,
    check: impl Fn(&str, &str) -> Findings,
) {
    let files: Vec<(&str, &str)> = files.collect();
    assert!(files.len() >= files_min, "{rule}: only {} files were found", files.len());
    assert_none(rule, &files.into_iter().flat_map(|(path, text)| check(path, text)).collect::<Vec<_>>());
}

#[test]
fn a_stage_imports_only_stages_to_its_left() {
    every("layers", 30, core(&Tree::read()), layer::check);
}

#[test]
fn the_maps_name_files_that_exist() {
    let tree = Tree::read();
    let exists = |path: &str| tree.root.join(path).exists();
    for (map, roots) in [
        ("ARCHITECTURE.md", [""].as_slice()),
        (
            "crates/touchstone-store/ARCHITECTURE.md",
            &["crates/touchstone-store/src/", "crates/touchstone-store/", ""],
        ),
    ] {
        assert_none("maps", &path::check(map, tree.text(map), roots, exists));
    }
}

#[test]
fn the_map_of_the_store_names_each_file_of_its_rooms() {
    let (tree, map) = (Tree::read(), "crates/touchstone-store/ARCHITECTURE.md");
    let tests = test_files(&tree);
    let files = rust(&tree).map(|(path, _)| path).filter(|path| !tests.contains(*path));
    let files = files.filter_map(|path| path.strip_prefix("crates/touchstone-store/src/"));
    let files: Vec<&str> = files.filter(|path| path.contains('/') && !path.ends_with("/tests.rs")).collect();
    assert!(files.len() >= 100, "only {} files were found", files.len());
    assert_none("maps", &path::unnamed(map, tree.text(map), files.into_iter()));
}

#[test]
fn a_module_of_the_store_imports_only_rooms_to_its_left() {
    let tree = Tree::read();
    let tests = test_files(&tree);
    let store = rust(&tree).filter(|(path, _)| !tests.contains(*path));
    let store =
        store.filter_map(|(path, text)| Some((path.strip_prefix("crates/touchstone-store/src/")?, text)));
    every("rooms", 100, store, layer::check_store);
}

#[test]
fn a_crate_depends_only_on_crates_to_its_left() {
    let tree = Tree::read();
    let manifests = tree.texts().filter_map(|(path, text)| {
        let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        Some((name, text))
    });
    every("crates", layer::CRATES.len(), manifests, layer::check_crate);
}

#[test]
fn the_core_starts_no_process_and_reads_no_clock() {
    let tree = Tree::read();
    let statistics = rust(&tree).filter(|(path, _)| path.starts_with("crates/touchstone-statistics/src/"));
    every("purity", 30, core(&tree).chain(statistics), purity::pure);
}

#[test]
fn the_lab_names_no_subject() {
    let tree = Tree::read();
    let tables = tree.ending(&["/kit.toml"]).filter(|(path, _)| path.starts_with("kits/"));
    let kits: Vec<Kit> =
        tables.map(|(path, text)| Kit::parse(text, path).expect("a kit's table is one")).collect();
    let subjects: Vec<String> =
        kits.iter().flat_map(|kit| &kit.subjects).map(|subject| subject.name.clone()).collect();
    assert!(subjects.len() > 3, "kits are where they are looked for");
    let tests = test_files(&tree);
    // The store is a subject itself, and is written on another's bindings; the sync service and its client are written on the store.
    let elsewhere = [
        "crates/xtask/",
        "crates/touchstone-store/",
        "crates/touchstone-store-derive/",
        "crates/touchstone-store-example/",
        "crates/touchstone-sync/",
        "crates/touchstone-sync-client/",
    ];
    let lab = rust(&tree).filter(|(path, _)| {
        path.starts_with("crates/")
            && path.contains("/src/")
            && !elsewhere.iter().any(|folder| path.starts_with(folder))
            && !tests.contains(*path)
    });
    every("subjects", 50, lab, |path, text| subject::check(path, text, &subjects));
}

#[test]
fn only_a_kit_reads_a_clock_around_a_subject() {
    let tree = Tree::read();
    let is_driver = |path: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        let below_a_kit = parts.first() == Some(&"kits") && parts.len() > 3;
        below_a_kit && parts[2] != "kit" && !parts.contains(&"tests")
    };
    every("clocks", 15, tree.texts().filter(|(path, _)| is_driver(path)), purity::no_clock);
}

#[test]
fn renderers_decide_nothing() {
    let tree = Tree::read();
    let report = core(&tree).filter(|(path, _)| path.starts_with("report"));
    every("renderers", 10, report, purity::decides_nothing);
}

#[test]
fn one_subject_is_one_program() {
    let tree = Tree::read();
    for (path, text) in tree.ending(&["/kit.toml"]).filter(|(path, _)| path.starts_with("kits/")) {
        let kit = Kit::parse(text, path).expect("a kit's table is one");
        let mut commands = BTreeSet::new();
        let mut programs = BTreeSet::new();
        for subject in &kit.subjects {
            assert!(
                commands.insert(&subject.run),
                "{path}: `{}` is started as another subject is",
                subject.name
            );
            let shares = !subject.canary && subject.run[0].contains('/') && !programs.insert(&subject.run[0]);
            assert!(!shares, "{path}: `{}` shares its program with another subject", subject.name);
        }
    }
}

#[test]
fn every_workspace_has_its_lock_file_and_one_sqlite() {
    let tree = Tree::read();
    let mut findings = Vec::new();
    for (path, text) in tree.ending(&["Cargo.toml"]) {
        if text.contains("[workspace]") {
            let lock = path.replace("Cargo.toml", "Cargo.lock");
            match tree.texts().find(|(known, _)| *known == lock) {
                Some((lock, text)) => findings.extend(lock::one_sqlite(lock, text)),
                None => findings.push(format!("{lock} is missing: builds would not be the same twice")),
            }
        }
    }
    assert_none("locks", &findings);
}

#[test]
fn a_library_has_one_version_in_all_lock_files() {
    let tree = Tree::read();
    let locks: Vec<_> = tree.ending(&["Cargo.lock"]).collect();
    assert!(locks.len() >= 7, "the lock files are where they are looked for");
    assert_none("versions", &lock::one_version(locks));
}

#[test]
fn nobody_asks_for_a_second_engine_beside_the_stores() {
    let tree = Tree::read();
    let manifests = tree.ending(&["Cargo.toml"]).filter(|(path, _)| {
        !path.starts_with("kits/")
            || path.starts_with("kits/rust/kit/")
            || path.starts_with("kits/rust/store/")
    });
    every("engines", layer::CRATES.len() + 2, manifests, lock::no_engine);
}

#[test]
fn the_lab_links_no_subject() {
    let tree = Tree::read();
    let mut libraries = lock::optional_dependencies(tree.text("kits/rust/drivers/Cargo.toml"));
    assert!(!libraries.is_empty(), "drivers are where they are looked for");
    libraries.insert("touchstone-store".into());
    let lock = tree.text("Cargo.lock");
    assert!(lock::closure(lock, "touchstone-cli").contains("clap"), "the command's packages are found");
    assert_none("lab", &lock::no_subject("Cargo.lock", lock, "touchstone-cli", &libraries));
}

#[test]
fn files_and_functions_are_short_and_blobs_are_few() {
    let tree = Tree::read();
    let mut findings: Vec<String> = Vec::new();
    for (path, text) in tree
        .ending(&[".rs", ".py", ".js", ".css", ".go", ".ts", ".java", ".cpp", ".h", ".mm"])
        .filter(|(path, _)| is_ours(path))
    {
        findings.extend(size::lines(path, text, size::FILE_LINES_MAX));
    }
    findings.extend(rust(&tree).flat_map(|(path, text)| size::functions(path, text)));
    let readme = markdown::without_regions(tree.text("README.md"));
    findings.extend(size::lines("README.md", &readme, size::README_LINES_MAX));
    findings.extend(tree.files.iter().flat_map(|file| size::bytes(&file.path, file.bytes, &LARGE)));
    assert_none("sizes", &findings);
}

#[test]
fn every_source_file_says_what_it_is() {
    let tree = Tree::read();
    let sources = tree.texts().filter(|(path, _)| is_ours(path) && !path.starts_with("record/"));
    every("headers", 100, sources, header::check);
}

/// The code that derives write calls, and mistakes on purpose; they are no interface.
const NO_INTERFACE: [&str; 2] =
    ["crates/touchstone-store/src/types/derived.rs", "crates/touchstone-store/src/engine/canary.rs"];

#[test]
fn every_public_item_of_the_store_has_an_example() {
    let tree = Tree::read();
    let store = rust(&tree)
        .filter(|(path, _)| path.starts_with("crates/touchstone-store/src/") && !NO_INTERFACE.contains(path));
    every("examples", 20, store, example::check);
}

#[test]
fn names_of_files_say_something_and_are_of_known_kinds() {
    let tree = Tree::read();
    let paths = tree.files.iter().map(|file| file.path.as_str()).filter(|path| is_ours(path));
    let findings: Vec<String> =
        paths.flat_map(|path| name::ending(path).into_iter().chain(name::says_something(path))).collect();
    assert_none("names", &findings);
}

#[test]
fn text_has_no_stray_white_space() {
    let tree = Tree::read();
    let written = [
        ".rs", ".toml", ".md", ".py", ".js", ".css", ".html", ".go", ".ts", ".java", ".cpp", ".h", ".mm",
        "Makefile", ".ci/run",
    ];
    every("white space", 100, tree.ending(&written).filter(|(path, _)| is_ours(path)), text::space);
}

#[test]
fn pages_and_messages_use_the_words_of_the_house() {
    let tree = Tree::read();
    every("words of pages", 15, pages(&tree), text::page_words);
    let code = rust(&tree).filter(|(path, _)| path.contains("/src/") && !path.starts_with("crates/xtask/"));
    every("words of messages", 100, code, text::string_words);
}

#[test]
fn comments_of_the_store_name_their_subjects() {
    let tree = Tree::read();
    let store = rust(&tree).filter(|(path, _)| path.starts_with("crates/touchstone-store/src/"));
    every("comments", 100, store, prose::check);
}

#[test]
fn tests_neither_sleep_nor_hide() {
    let tree = Tree::read();
    let files = test_files(&tree);
    let check = |path: &str, text: &str| purity::honest_tests(path, text, tests_begin(path, text, &files));
    every("tests", 100, rust(&tree), check);
}

#[test]
fn pages_have_one_title_closed_blocks_and_links_that_lead_somewhere() {
    let tree = Tree::read();
    let read = |path: &str| tree.texts().find(|(known, _)| *known == path).map(|(_, text)| text.to_owned());
    let is_there = |path: &str| path.is_empty() || tree.root.join(path).exists();
    every("titles", 15, pages(&tree), markdown::one_title);
    every("blocks", 15, pages(&tree), markdown::whole_blocks);
    every("links", 15, pages(&tree), |path, text| markdown::links_resolve(path, text, read, is_there));
}

#[test]
fn every_suite_is_one_and_its_contenders_are_there() {
    let tree = Tree::read();
    let project = Project::open(Some(&tree.root)).expect("kits are where they are looked for");
    let names = project.suite_names().expect("suites are where they are looked for");
    assert!(names.len() >= 4, "{names:?}");
    let suites = project.suites(&names).expect("every suite is one");
    for (name, suite) in names.iter().zip(&suites) {
        assert_eq!(name, &suite.name, "a suite is named as its file");
    }
    for size in [Size::Quick, Size::Full] {
        let choice = Choice { cases: vec![], contenders: vec![], size, seed: 42, looks: LOOKS.to_vec() };
        Plan::new(&suites, &project.kits, &choice).expect("every contender of every suite is there");
    }
}
