//! Every command and every snippet on a page: run, built or parsed. How commands that measure are cut to a size that a
//! test can run stands in `src/page.rs`.
//!
//! `touchstone` is the release build, as `make build` leaves it; `make unit` builds it first.

use clap::Parser as _;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output};
use touchstone::kit::{Kit, Kits};
use touchstone::plan::{Choice, Plan};
use touchstone::sample::Slice;
use touchstone::suite::{Size, Suite};
use touchstone_runner::kits::Project;
use xtask::markdown::{Block, blocks, prose};
use xtask::page::{Command, commands, reduced};
use xtask::{Tree, assert_none};

/// What blocks may be in on every page.
const LANGUAGES: [&str; 5] = ["sh", "console", "toml", "json", "text"];

/// What blocks may be in on one page, because a test of its own reads them there: `guide.rs` builds the driver guide's,
/// and the store's crate runs what stands on the pages about it.
const LANGUAGES_OF_PAGES: [(&str, &str); 10] = [
    ("docs/guide-driver.md", "rust"),
    // Parts of the kits' files, which a test below compares.
    (OF_PARTS, "python"),
    ("docs/guide-store.md", "rust"),
    ("docs/guide-live.md", "rust"),
    // `tests/guide.rs` of the client's crate has them, to the letter, and runs them.
    ("docs/guide-sync-client.md", "rust"),
    // `python/tests/test_sync.py` runs it.
    ("docs/guide-sync-client.md", "python"),
    ("docs/store-format.md", "rust"),
    ("docs/store-format.md", "sql"),
    // `python/tests/test_pages.py` runs them.
    ("docs/guide-python.md", "python"),
    ("python/README.md", "python"),
];

/// Where commands of other programs stand, because a test of its own runs them: `tests/format.rs` of the store.
const SQLITE_SESSIONS: &str = "docs/store-format.md";

/// The page whose blocks are parts of the project's files, to the letter, but for its commands.
const OF_PARTS: &str = "docs/guide-service.md";

/// Verbs that leave nothing which a later command of the page needs: the same command is run once for all pages.
const ONCE: [&str; 7] = ["bench", "gate", "calibrate", "doctor", "list", "completions", "man"];

/// Verbs that leave a record; without `--out` it would land in the project.
const RECORDING: [&str; 4] = ["bench", "run", "gate", "calibrate"];

fn pages(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.ending(&[".md"])
}

fn blocks_in<'t>(tree: &'t Tree, languages: &'t [&str]) -> impl Iterator<Item = (&'t str, Block)> {
    let all = pages(tree).flat_map(|(path, text)| blocks(text).into_iter().map(move |block| (path, block)));
    all.filter(|(_, block)| languages.contains(&block.language.as_str()))
}

/// Every command on every page, page by page.
fn all_commands(tree: &Tree) -> Vec<(&str, Command)> {
    let mut all = Vec::new();
    for (path, block) in blocks_in(tree, &["sh", "console"]) {
        let found =
            commands(&block.language, &block.text, block.line).unwrap_or_else(|why| panic!("{path}, {why}"));
        all.extend(found.into_iter().map(|command| (path, command)));
    }
    assert!(all.len() > 20, "only {} commands were found", all.len());
    all
}

/// The program of a command, without the folder it was built in.
fn program(command: &Command) -> &str {
    let program = command.words.first().map_or("", String::as_str);
    if program == "target/release/touchstone" { "touchstone" } else { program }
}

#[test]
fn every_block_is_in_a_language_that_is_checked() {
    let tree = Tree::read();
    let mut findings = Vec::new();
    for (path, text) in pages(&tree) {
        for block in blocks(text) {
            let language = block.language.as_str();
            if !LANGUAGES.contains(&language) && !LANGUAGES_OF_PAGES.contains(&(path, language)) {
                findings.push(format!(
                    "{path}:{}: nobody checks a block of `{}` here",
                    block.line, block.language
                ));
            }
        }
    }
    assert_none("blocks", &findings);
}

/// A command in an indented block would be run by nobody.
#[test]
fn no_command_hides_in_an_indented_block() {
    let tree = Tree::read();
    let ours = pages(&tree).filter(|(path, _)| !path.contains('/') || path.starts_with("docs/"));
    let mut findings = Vec::new();
    for (path, text) in ours {
        for (index, line) in prose(text).lines().enumerate() {
            let program =
                line.strip_prefix("    ").and_then(|line| line.trim_start_matches("$ ").split(' ').next());
            if program
                .is_some_and(|program| ["make", "cargo", "touchstone", "git", "sudo"].contains(&program))
            {
                findings.push(format!("{path}:{}: a command in an indented block: fence it", index + 1));
            }
        }
    }
    assert_none("indented", &findings);
}

#[test]
fn every_command_on_a_page_is_one() {
    let tree = Tree::read();
    let mut findings = Vec::new();
    for (path, command) in all_commands(&tree) {
        let checked = match program(&command) {
            "touchstone" => {
                touchstone_cli::Cli::try_parse_from(&command.words).map(drop).map_err(|e| e.to_string())
            }
            "make" => make_knows(&tree.root, &command.words[1..]),
            "cargo" => cargo_knows(&tree, &command.words[1..]).and_then(|()| tests_read(&tree, &command)),
            "sqlite3" if path == SQLITE_SESSIONS => Ok(()),
            "pip" => make_installs(&tree, &command.words[1..]),
            other => Err(format!("nobody checks `{other}`: write it in the text, not in a block")),
        };
        if let Err(why) = checked {
            findings.push(format!("{path}:{}: `{}`: {why}", command.line, command.words.join(" ")));
        }
    }
    assert_none("commands", &findings);
}

/// Checks that `make python` installs what the command installs, in a new environment.
fn make_installs(tree: &Tree, words: &[String]) -> Result<(), String> {
    let [verb, package] = words else { return Err("it installs no package".into()) };
    let installed = format!("pip {verb} --quiet --disable-pip-version-check '{package}[test]'");
    if tree.text("Makefile").contains(&installed) { Ok(()) } else { Err("make does not do it".into()) }
}

/// Asks make whether it knows the target, without doing it.
fn make_knows(root: &Path, words: &[String]) -> Result<(), String> {
    let asked = Process::new("make").arg("--dry-run").args(words).current_dir(root).output();
    let asked = asked.map_err(|error| format!("cannot run make: {error}"))?;
    if asked.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&asked.stderr).trim().to_owned())
    }
}

/// Checks that the packages, tests and manifests that a cargo command names are there.
fn cargo_knows(tree: &Tree, words: &[String]) -> Result<(), String> {
    let is_there = |path: String| tree.texts().any(|(known, _)| known == path);
    let mut package = String::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "test" | "build" | "--release" => {}
            "-p" | "--package" => {
                package = words.next().cloned().unwrap_or_default();
                if !is_there(format!("crates/{package}/Cargo.toml")) {
                    return Err(format!("there is no package {package}"));
                }
            }
            "--test" => {
                let test = words.next().cloned().unwrap_or_default();
                let folder = format!("crates/{package}/tests/{test}");
                if !is_there(format!("{folder}.rs")) && !is_there(format!("{folder}/main.rs")) {
                    return Err(format!("{package} has no test {test}"));
                }
            }
            other => return Err(format!("nobody checks `{other}` of cargo")),
        }
    }
    Ok(())
}

/// What the library of golden files asks for by itself.
const OF_GOLDEN_FILES: &str = "UPDATE_EXPECT";

/// Checks that a test asks for each variable that the command sets for it.
fn tests_read(tree: &Tree, command: &Command) -> Result<(), String> {
    for (name, _) in command.variables.iter().filter(|(name, _)| name != OF_GOLDEN_FILES) {
        let asked = format!("(\"{name}\")");
        let mut tests = tree.ending(&[".rs"]).filter(|(path, _)| path.contains("/tests/"));
        if !tests.any(|(_, text)| text.contains(&asked)) {
            return Err(format!("no test asks for {name}"));
        }
    }
    Ok(())
}

#[test]
fn every_touchstone_command_on_a_page_does_what_it_says() {
    let tree = Tree::read();
    let lab = Lab::new(&tree.root);
    let mut done = BTreeSet::new();
    let mut findings = Vec::new();
    for (path, command) in
        all_commands(&tree).into_iter().filter(|(_, command)| program(command) == "touchstone")
    {
        let arguments = reduced(&command.words[1..]);
        let verb = arguments.first().map_or("", String::as_str);
        // `load.rs` runs those, which need a service.
        if verb == "load" && path != "docs/commands.md" {
            continue;
        }
        if ONCE.contains(&verb) && !done.insert(arguments.clone()) {
            continue;
        }
        let output = lab.run(path, &arguments);
        if let Err(why) = judged(verb, &arguments, &output) {
            let stderr = String::from_utf8_lossy(&output.stderr);
            findings.push(format!("{path}:{}: {arguments:?}: {why}\n{}", command.line, stderr.trim()));
        }
    }
    assert_none("touchstone", &findings);
}

/// What is wrong with how a command ended or what it printed.
fn judged(verb: &str, arguments: &[String], output: &Output) -> Result<(), String> {
    let right = match (verb, output.status.code()) {
        // A gate's answer is its own affair; that it gives one is the page's.
        ("gate", Some(status)) => status <= 4,
        (_, status) => status == Some(0),
    };
    if !right {
        return Err(format!("ended with {}", output.status));
    }
    if arguments.iter().any(|argument| argument == "--json") {
        let printed: Result<serde_json::Value, _> = serde_json::from_slice(&output.stdout);
        return printed.map(drop).map_err(|error| format!("printed no JSON: {error}"));
    }
    let says = !output.stdout.is_empty() || arguments.iter().any(|argument| argument == "--out");
    if says { Ok(()) } else { Err("printed nothing".into()) }
}

/// The built command, and a folder for each page to run it in.
struct Lab {
    touchstone: PathBuf,
    root: PathBuf,
    place: tempfile::TempDir,
}

impl Lab {
    fn new(root: &Path) -> Lab {
        let touchstone = root.join("target/release/touchstone");
        assert!(touchstone.exists(), "target/release/touchstone is missing: `make build` makes it");
        let lab = Lab {
            touchstone,
            root: root.to_owned(),
            place: tempfile::tempdir().expect("a folder can be made"),
        };
        // Pages speak of a record that is there already.
        let bench = reduced(&["bench".to_owned(), "--out".to_owned(), lab.record().display().to_string()]);
        let made = lab.run("README.md", &bench);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        lab
    }

    fn record(&self) -> PathBuf {
        self.place.path().join("record-of-all-pages")
    }

    fn run(&self, page: &str, arguments: &[String]) -> Output {
        let folder = self.place.path().join(page.replace('/', "-"));
        let runs = folder.join("runs");
        if !runs.exists() {
            fs::create_dir_all(&runs).expect("a folder can be made");
            std::os::unix::fs::symlink(self.record(), runs.join("RECORD")).expect("a link can be made");
        }
        let mut command = Process::new(&self.touchstone);
        command.current_dir(&folder).arg("--root").arg(&self.root).args(arguments);
        let records = arguments.first().is_some_and(|verb| RECORDING.contains(&verb.as_str()));
        if records && !arguments.iter().any(|argument| argument == "--out") {
            let number = fs::read_dir(&folder).expect("the folder is there").count();
            command.arg("--out").arg(folder.join(format!("record-{number}")));
        }
        command.output().expect("the command can be started")
    }
}

#[test]
fn every_toml_snippet_is_a_suite_a_kit_or_a_part_of_one() {
    let tree = Tree::read();
    let project = Project::open(Some(&tree.root)).expect("kits are where they are looked for");
    let mut findings = Vec::new();
    let mut found = 0;
    for (path, text) in pages(&tree) {
        // Scenarios are `load.rs`'s.
        let is_load = path == "docs/guide-load.md";
        let snippets: Vec<Block> =
            blocks(text).into_iter().filter(|block| block.language == "toml" && !is_load).collect();
        let kits = with_rows_of(&project.kits, &snippets);
        let whole = snippets
            .iter()
            .find(|block| Suite::parse(&block.text, path).is_ok())
            .map_or("", |block| &block.text);
        for block in &snippets {
            found += 1;
            if let Err(why) = snippet(block, whole, &kits) {
                findings.push(format!("{path}:{}: {why}", block.line));
            }
        }
    }
    assert!(found >= 8, "only {found} snippets were found");
    assert_none("snippets", &findings);
}

/// The project's kits and the rows that a page adds.
fn with_rows_of(kits: &Kits, snippets: &[Block]) -> Kits {
    let mut kits = kits.clone();
    for block in snippets {
        let row = format!("[kit]\nlanguage = \"page\"\n{}", block.text);
        kits.kits.extend(Kit::parse(&block.text, "page").or_else(|_| Kit::parse(&row, "page")).ok());
    }
    kits
}

/// A snippet is a kit, rows of one, a suite, or what may follow the page's whole suite.
fn snippet(block: &Block, whole: &str, kits: &Kits) -> Result<(), String> {
    let row = format!("[kit]\nlanguage = \"page\"\n{}", block.text);
    if Kit::parse(&block.text, "snippet").is_ok() || Kit::parse(&row, "snippet").is_ok() {
        return Ok(());
    }
    let following = format!("{whole}\n{}", block.text);
    let suite =
        Suite::parse(&block.text, "snippet").or_else(|alone| match Suite::parse(&following, "snippet") {
            Ok(suite) => Ok(suite),
            Err(after) => {
                Err(format!("no kit and no suite: alone: {alone}; after the page's suite: {after}"))
            }
        })?;
    let choice = Choice { cases: vec![], contenders: vec![], size: Size::Full, seed: 42, looks: vec![8] };
    Plan::new(&[suite], kits, &choice).map(drop).map_err(|error| error.to_string())
}

#[test]
fn every_block_of_the_guide_to_services_is_a_part_of_a_file() {
    let tree = Tree::read();
    let parts: Vec<Block> =
        blocks(tree.text(OF_PARTS)).into_iter().filter(|block| block.language != "sh").collect();
    assert!(parts.len() >= 10, "only {} blocks were found", parts.len());
    assert!(
        parts.iter().any(|block| Suite::parse(&block.text, OF_PARTS).is_ok()),
        "it has a whole suite, which a reader can run"
    );
    let is_part = |block: &Block| {
        tree.texts().any(|(path, text)| !path.ends_with(".md") && text.contains(block.text.trim_end()))
    };
    let findings: Vec<String> = parts
        .iter()
        .filter(|block| !is_part(block))
        .map(|block| format!("{OF_PARTS}:{}: its file has moved on", block.line))
        .collect();
    assert_none("parts of files", &findings);
}

#[test]
fn every_json_snippet_is_a_line_of_a_record() {
    let tree = Tree::read();
    for (path, block) in blocks_in(&tree, &["json"]) {
        let shown: serde_json::Value = serde_json::from_str(&block.text).expect("a JSON snippet is JSON");
        let slice: Slice = serde_json::from_value(shown.clone()).unwrap_or_else(|error| {
            panic!("{path}:{}: not a slice: {error}", block.line);
        });
        let written = serde_json::to_value(slice).expect("a slice is JSON");
        assert_eq!(shown, written, "{path}:{}: not as the lab writes it", block.line);
    }
}
