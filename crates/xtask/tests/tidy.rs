//! The rules, applied to the whole tree. Each has its bad sample beside it, in `src/`.

use std::collections::BTreeSet;
use touchstone::kit::Kit;
use touchstone::plan::{Choice, Plan};
use touchstone::statistics::LOOKS;
use touchstone::suite::Size;
use touchstone_runner::kits::Project;
use xtask::rule::{header, layer, lock, name, purity, size, subject, text};
use xtask::{Tree, assert_none, markdown};

/// Files written by others and kept as they came.
const VENDORED: [&str; 1] = ["crates/touchstone/assets/vendor/"];

/// Files that may be large: what was found, raw samples included.
const LARGE: [&str; 2] = ["record/", "crates/touchstone/assets/vendor/"];

/// Pages that are made, or are licences, or hold raw output.
fn is_ours(path: &str) -> bool {
    !VENDORED.iter().any(|vendored| path.starts_with(vendored))
}

fn rust(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.ending(&[".rs"]).filter(|(path, _)| is_ours(path))
}

fn pages(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.ending(&[".md"]).filter(|(path, _)| is_ours(path))
}

/// Files of the pure core, by their path in its `src/`.
fn core(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    rust(tree).filter_map(|(path, text)| Some((path.strip_prefix("crates/touchstone/src/")?, text)))
}

#[test]
fn a_stage_imports_only_stages_to_its_left() {
    let tree = Tree::read();
    assert!(core(&tree).count() > layer::STAGES.len(), "the core is where it is looked for");
    assert_none("layers", &core(&tree).flat_map(|(path, text)| layer::check(path, text)).collect::<Vec<_>>());
}

#[test]
fn a_crate_depends_only_on_crates_to_its_left() {
    let tree = Tree::read();
    let manifests = tree.texts().filter_map(|(path, text)| {
        let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        Some((name, text))
    });
    assert_none("crates", &manifests.flat_map(|(name, text)| layer::check_crate(name, text)).collect::<Vec<_>>());
}

#[test]
fn the_core_starts_no_process_and_reads_no_clock() {
    let tree = Tree::read();
    let findings: Vec<String> = core(&tree)
        .filter(|(path, _)| !path.starts_with("statistics/"))
        .chain(rust(&tree).filter(|(path, _)| path.starts_with("crates/touchstone/src/statistics/")))
        .flat_map(|(path, text)| purity::pure(path, text))
        .collect();
    assert_none("purity", &findings);
}

#[test]
fn the_lab_names_no_subject() {
    let tree = Tree::read();
    let tables = tree.ending(&["/kit.toml"]).filter(|(path, _)| path.starts_with("kits/"));
    let kits: Vec<Kit> = tables.map(|(path, text)| Kit::parse(text, path).expect("a kit's table is one")).collect();
    let subjects: Vec<String> = kits.iter().flat_map(|kit| &kit.subjects).map(|subject| subject.name.clone()).collect();
    assert!(subjects.len() > 3, "kits are where they are looked for");
    let lab = rust(&tree).filter(|(path, _)| {
        path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/xtask/")
    });
    assert_none("subjects", &lab.flat_map(|(path, text)| subject::check(path, text, &subjects)).collect::<Vec<_>>());
}

#[test]
fn only_a_kit_reads_a_clock_around_a_subject() {
    let tree = Tree::read();
    let is_driver = |path: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        parts.first() == Some(&"kits") && parts.get(2).is_some_and(|part| *part != "kit") && !parts.contains(&"tests")
    };
    let drivers = tree.texts().filter(|(path, _)| is_driver(path));
    assert_none("clocks", &drivers.flat_map(|(path, text)| purity::no_clock(path, text)).collect::<Vec<_>>());
}

#[test]
fn renderers_decide_nothing() {
    let tree = Tree::read();
    let report = core(&tree).filter(|(path, _)| path.starts_with("report"));
    assert_none("renderers", &report.flat_map(|(path, text)| purity::decides_nothing(path, text)).collect::<Vec<_>>());
}

#[test]
fn one_subject_is_one_program() {
    let tree = Tree::read();
    for (path, text) in tree.ending(&["/kit.toml"]).filter(|(path, _)| path.starts_with("kits/")) {
        let kit = Kit::parse(text, path).expect("a kit's table is one");
        let mut commands = BTreeSet::new();
        let mut programs = BTreeSet::new();
        for subject in &kit.subjects {
            assert!(commands.insert(&subject.run), "{path}: `{}` is started as another subject is", subject.name);
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
fn the_lab_links_no_subject() {
    let tree = Tree::read();
    let libraries = lock::optional_dependencies(tree.text("kits/rust/drivers/Cargo.toml"));
    assert!(!libraries.is_empty(), "drivers are where they are looked for");
    assert_none("lab", &lock::no_subject("Cargo.lock", tree.text("Cargo.lock"), &libraries));
}

#[test]
fn files_and_functions_are_short_and_blobs_are_few() {
    let tree = Tree::read();
    let mut findings: Vec<String> = Vec::new();
    for (path, text) in tree.ending(&[".rs", ".py", ".js", ".css", ".go", ".ts", ".java"]).filter(|(path, _)| is_ours(path)) {
        findings.extend(size::lines(path, text, size::FILE_LINES_MAX));
    }
    findings.extend(rust(&tree).flat_map(|(path, text)| size::functions(path, text)));
    findings.extend(size::lines("README.md", tree.text("README.md"), size::README_LINES_MAX));
    findings.extend(tree.files.iter().flat_map(|file| size::bytes(&file.path, file.bytes, &LARGE)));
    assert_none("sizes", &findings);
}

#[test]
fn every_source_file_says_what_it_is() {
    let tree = Tree::read();
    let sources = tree.texts().filter(|(path, _)| is_ours(path) && !path.starts_with("record/"));
    assert_none("headers", &sources.flat_map(|(path, text)| header::check(path, text)).collect::<Vec<_>>());
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
    let written = [".rs", ".toml", ".md", ".py", ".js", ".css", ".html", ".go", ".ts", ".java", "Makefile", ".ci/run"];
    let ours = tree.ending(&written).filter(|(path, _)| is_ours(path));
    assert_none("white space", &ours.flat_map(|(path, text)| text::space(path, text)).collect::<Vec<_>>());
}

#[test]
fn pages_and_messages_use_the_words_of_the_house() {
    let tree = Tree::read();
    let mut findings: Vec<String> = pages(&tree).flat_map(|(path, text)| text::page_words(path, text)).collect();
    let code = rust(&tree).filter(|(path, _)| path.contains("/src/") && !path.starts_with("crates/xtask/"));
    findings.extend(code.flat_map(|(path, text)| text::string_words(path, text)));
    assert_none("words", &findings);
}

#[test]
fn tests_neither_sleep_nor_hide() {
    let tree = Tree::read();
    assert_none("tests", &rust(&tree).flat_map(|(path, text)| purity::honest_tests(path, text)).collect::<Vec<_>>());
}

#[test]
fn pages_have_one_title_closed_blocks_and_links_that_lead_somewhere() {
    let tree = Tree::read();
    let read = |path: &str| tree.texts().find(|(known, _)| *known == path).map(|(_, text)| text.to_owned());
    let is_there = |path: &str| path.is_empty() || tree.root.join(path).exists();
    let mut findings = Vec::new();
    for (path, text) in pages(&tree) {
        findings.extend(markdown::one_title(path, text));
        findings.extend(markdown::whole_blocks(path, text));
        findings.extend(markdown::links_resolve(path, text, read, is_there));
    }
    assert_none("pages", &findings);
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
