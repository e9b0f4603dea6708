//! Whether the store's tests find mistakes: makes each mutation of the list in a copy of the store, and runs a test program
//! against it. One build has them all, each behind a switch, so that every one costs a run and no build.
//!
//! All of it happens below `target/mutations/`: the project's own files are read, and never written. A mistake of live
//! queries is for the oracle, and what that misses for the stories of `--test live` too; any other is for the test program
//! that the list names. What is missed by these is an error.

use clap::Parser;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};
use xtask::mutation::{self, LIST, Mutation, PREAMBLE, SOURCE, UNIT_TESTS, VARIABLE};
use xtask::program::{end_of, program_of};

/// What anything here fails with: what, on which input, and the remedy.
type Error = String;

/// The crate that is mutated, in the project.
const CRATE: &str = "crates/touchstone-store";

/// The test programs that look for mistakes of live queries, the second one for what the first one misses.
const ORACLE: &str = "oracle";
const STORIES: &str = "live";

/// What the store is built from, and nothing else of the project.
const COPIED: [&str; 3] = ["Cargo.toml", "Cargo.lock", "crates"];

/// Makes mistakes in the store on purpose, one at a time, and looks whether its tests find them.
#[derive(Parser)]
#[command(name = "mutate", after_help = "Exits with 1 where a mutation is missed.")]
struct Options {
    /// Only these mutations, by their numbers: 3,7.
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS")]
    only: Vec<usize>,
    /// How many cases of the oracle each mutation has to pass to be missed.
    #[arg(long, default_value_t = 400)]
    cases: u64,
    /// Which case comes first.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seconds after which a run is ended: a mutation for which it does not end by itself is one that hangs.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    deadline: u64,
}

fn main() -> ExitCode {
    match mutate(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every mutation was caught.
fn mutate(options: &Options) -> Result<bool, Error> {
    let place = Place::of_project();
    let mutations = mutation::parse(&read(&place.root.join(LIST))?)?;
    let chosen = chosen(&mutations, &options.only)?;
    place.copy(&mutations)?;
    let programs = place.build(&tests_for(&chosen))?;
    let mut lab = Lab { place, programs, options, sound: BTreeSet::new() };
    let mut table = Table::new(&chosen);
    for (number, mutation) in chosen {
        let tried = match &mutation.test {
            Some(test) => lab.look(test, number)?,
            None => lab.look_live(number)?,
        };
        table.add(number, mutation, &tried);
    }
    Ok(table.end())
}

/// The test programs that look for these.
fn tests_for<'m>(mutations: &[(usize, &'m Mutation)]) -> BTreeSet<&'m str> {
    let named = mutations.iter().filter_map(|(_, mutation)| mutation.test.as_deref()).map(program_and_words);
    let is_live = mutations.iter().any(|(_, mutation)| mutation.test.is_none());
    let live = [ORACLE, STORIES].into_iter().filter(|_| is_live);
    named.map(|(program, _)| program).chain(live).collect()
}

/// A test program, and the words that choose among its tests.
fn program_and_words(test: &str) -> (&str, impl Iterator<Item = &str>) {
    let mut parts = test.split_whitespace();
    (parts.next().unwrap_or_default(), parts)
}

/// The mutations with these numbers, or all of them.
fn chosen<'m>(mutations: &'m [Mutation], only: &[usize]) -> Result<Vec<(usize, &'m Mutation)>, Error> {
    if let Some(number) = only.iter().find(|number| !(1..=mutations.len()).contains(number)) {
        return Err(format!("there is no mutation {number}: they go from 1 to {}", mutations.len()));
    }
    let all = (1..).zip(mutations);
    Ok(all.filter(|(number, _)| only.is_empty() || only.contains(number)).collect())
}

/// Where things are.
struct Place {
    /// The project.
    root: PathBuf,
    /// The folder that everything is made in.
    work: PathBuf,
}

impl Place {
    fn of_project() -> Place {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is in crates/");
        Place { root: root.to_owned(), work: root.join("target/mutations") }
    }

    /// The copy that is mutated.
    fn tree(&self) -> PathBuf {
        self.work.join("tree")
    }

    /// Copies what the store is built from, with all mutations in it. What is the same already is left as it is, so that
    /// it is not built again.
    fn copy(&self, mutations: &[Mutation]) -> Result<(), Error> {
        let source = |file: &str| fs::read_to_string(self.root.join(SOURCE).join(file)).ok();
        let mutated = mutation::mutated(mutations, source).map_err(|findings| findings.join("\n"))?;
        let files = self.files()?;
        for file in &files {
            let bytes = match file.strip_prefix(&format!("{SOURCE}/")) {
                Some("lib.rs") => {
                    let root = read(&self.root.join(file))?;
                    [PREAMBLE, &root, &mutation::switch()].concat().into_bytes()
                }
                Some(inner) if mutated.contains_key(inner) => mutated[inner].clone().into_bytes(),
                _ => fs::read(self.root.join(file)).map_err(|error| format!("reading {file}: {error}"))?,
            };
            write(&self.tree().join(file), &bytes)?;
        }
        self.remove_others(&self.tree(), &files)
    }

    /// The files of the project that are copied: those that git has, or would take.
    fn files(&self) -> Result<BTreeSet<String>, Error> {
        let mut git = Command::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]).args(COPIED);
        let listed = git.current_dir(&self.root).output().map_err(|error| format!("git: {error}"))?;
        if !listed.status.success() {
            let why = String::from_utf8_lossy(&listed.stderr);
            return Err(format!("git does not list the project's files: {why}"));
        }
        let names = String::from_utf8(listed.stdout).map_err(|error| format!("git: {error}"))?;
        let is_there = |name: &&str| self.root.join(name).is_file();
        Ok(names.split_terminator('\0').filter(is_there).map(str::to_owned).collect())
    }

    /// Removes from the copy what is no file of the project any more.
    fn remove_others(&self, folder: &Path, files: &BTreeSet<String>) -> Result<(), Error> {
        let failed = |error| format!("tidying {}: {error}", folder.display());
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.strip_prefix(self.tree()).expect("it is below the copy").to_string_lossy();
            if path.is_dir() {
                self.remove_others(&path, files)?;
            } else if !files.contains(name.as_ref()) {
                fs::remove_file(&path).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Builds tests of the copy; where their programs are.
    fn build(&self, tests: &BTreeSet<&str>) -> Result<Programs, Error> {
        eprintln!("building the store with all mutations");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args([
            "test",
            "--release",
            "--locked",
            "--no-run",
            "--message-format",
            "json-render-diagnostics",
        ]);
        cargo.args(["--package", "touchstone-store"]);
        for test in tests {
            match *test {
                UNIT_TESTS => cargo.arg("--lib"),
                test => cargo.args(["--test", test]),
            };
        }
        cargo.arg("--target-dir").arg(self.work.join("build")).current_dir(self.tree());
        cargo.stderr(std::process::Stdio::inherit());
        let built = cargo.output().map_err(|error| format!("cargo: {error}"))?;
        if !built.status.success() {
            return Err(format!("the mutated store does not build: look at {}", self.tree().display()));
        }
        let messages = String::from_utf8_lossy(&built.stdout);
        let program = |name: &str| {
            let found = messages.lines().find_map(|line| program_of(line, name));
            let program = found.ok_or_else(|| format!("cargo has built no test `{name}`"))?;
            Ok((name.to_owned(), program))
        };
        tests.iter().map(|test| program(test)).collect()
    }
}

/// Programs, by the tests that they are.
type Programs = BTreeMap<String, PathBuf>;

/// What is needed to run tests against mutations.
struct Lab<'o> {
    place: Place,
    programs: Programs,
    options: &'o Options,
    /// What is known to find nothing where nothing is wrong.
    sound: BTreeSet<String>,
}

impl Lab<'_> {
    /// Shows a mistake of live queries to the oracle, and to the stories what that misses.
    fn look_live(&mut self, number: usize) -> Result<Tried, Error> {
        let by_oracle = self.look(ORACLE, number)?;
        if by_oracle.outcome != Outcome::Missed {
            return Ok(by_oracle);
        }
        let mut tried = self.look(STORIES, number)?;
        tried.seconds += by_oracle.seconds;
        Ok(tried)
    }

    /// Shows a mistake to a test.
    fn look(&mut self, test: &str, number: usize) -> Result<Tried, Error> {
        if self.sound.insert(test.to_owned()) {
            self.passes(test)?;
        }
        self.try_on(test, number)
    }

    /// Checks that the test finds nothing where nothing is wrong.
    fn passes(&self, test: &str) -> Result<(), Error> {
        let tried = self.try_on(test, 0)?;
        if let Outcome::Missed = tried.outcome {
            eprintln!("{test} passes without a mutation, in {:.1} s", tried.seconds);
            return Ok(());
        }
        let output = self.output(test, 0);
        Err(format!(
            "{test} does not pass without a mutation ({}): look at {}, or give it a longer --deadline",
            tried.outcome,
            output.display()
        ))
    }

    /// Runs a test against a mutation; against none where the number is 0.
    fn try_on(&self, test: &str, number: usize) -> Result<Tried, Error> {
        let output = self.output(test, number);
        write(&output, &[])?;
        let failed = |error| format!("running {test} against mutation {number}: {error}");
        let file = File::create(&output).map_err(failed)?;
        let (program, words) = program_and_words(test);
        let mut command = Command::new(&self.programs[program]);
        command.args(words);
        if test == ORACLE {
            command.env("TOUCHSTONE_CASES", self.options.cases.to_string());
            command.env("TOUCHSTONE_SEED", self.options.seed.to_string());
            command.arg("--nocapture");
        }
        command.env(VARIABLE, number.to_string()).current_dir(self.place.tree().join(CRATE));
        command.stdout(file.try_clone().map_err(failed)?).stderr(file);
        let began = Instant::now();
        let status = end_of(command.spawn().map_err(failed)?, Duration::from_secs(self.options.deadline))?;
        let seconds = began.elapsed().as_secs_f64();
        let said = fs::read(&output).map_err(failed)?;
        let said = String::from_utf8_lossy(&said);
        Ok(Tried { outcome: outcome(test, status, &said), seconds })
    }

    /// Where a run writes what it says.
    fn output(&self, test: &str, number: usize) -> PathBuf {
        self.place.work.join("output").join(format!("{number:02}-{}.txt", program_and_words(test).0))
    }
}

/// What came of a mutation, and when.
struct Tried {
    outcome: Outcome,
    seconds: f64,
}

/// What came of a mutation.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// The oracle found it: where.
    Round {
        round: String,
        seed: String,
    },
    /// A test failed, and did not say more.
    Failed,
    /// Stories of another test found it.
    Stories {
        test: String,
        failed: Vec<String>,
    },
    /// It went on until the deadline.
    Hangs,
    Missed,
}

/// Reads what a run has said.
fn outcome(test: &str, status: Option<ExitStatus>, output: &str) -> Outcome {
    if status.is_some_and(|status| status.success()) {
        return Outcome::Missed;
    }
    let failed: Vec<String> = output.lines().filter_map(failed_story).map(str::to_owned).collect();
    // A failure that was told counts also where the end of it hung.
    match (test, round_of(output), status) {
        (ORACLE, Some((round, seed)), _) => Outcome::Round { round, seed },
        (test, ..) if test != ORACLE && !failed.is_empty() => {
            Outcome::Stories { test: test.to_owned(), failed }
        }
        (_, _, None) => Outcome::Hangs,
        _ => Outcome::Failed,
    }
}

/// The round in which the oracle has failed, and the seed.
fn round_of(output: &str) -> Option<(String, String)> {
    let (before, after) = output.split_once(" of TOUCHSTONE_SEED=")?;
    let (_, round) = before.rsplit_once("round ")?;
    Some((round.to_owned(), after.chars().take_while(char::is_ascii_digit).collect()))
}

/// The story that a line of the test says has failed.
fn failed_story(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Round { round, seed } => write!(formatter, "round {round} of seed {seed}"),
            Outcome::Failed => write!(formatter, "fails"),
            Outcome::Stories { test, failed } => write!(formatter, "{test}: {}", failed.join(", ")),
            Outcome::Hangs => write!(formatter, "hangs"),
            Outcome::Missed => write!(formatter, "MISSED"),
        }
    }
}

/// What is shown, line by line as it is found out.
struct Table {
    width: usize,
    all: usize,
    missed: Vec<usize>,
    /// How many stories have found.
    told_by_stories: usize,
    hang: usize,
}

impl Table {
    fn new(chosen: &[(usize, &Mutation)]) -> Table {
        let width = chosen.iter().map(|(_, mutation)| mutation.name.chars().count()).max().unwrap_or(0);
        println!("{:>3}  {:width$}  {:>7}  caught", "", "mutation", "seconds");
        Table { width, all: 0, missed: Vec::new(), told_by_stories: 0, hang: 0 }
    }

    fn add(&mut self, number: usize, mutation: &Mutation, tried: &Tried) {
        let Tried { outcome, seconds } = tried;
        println!("{number:>3}  {:width$}  {seconds:>7.1}  {outcome}", mutation.name, width = self.width);
        self.all += 1;
        match outcome {
            Outcome::Missed => self.missed.push(number),
            Outcome::Stories { .. } => self.told_by_stories += 1,
            Outcome::Hangs => self.hang += 1,
            Outcome::Round { .. } | Outcome::Failed => {}
        }
    }

    /// Whether all were caught.
    fn end(self) -> bool {
        println!(
            "{} mutations: {} caught by the oracle, {} by stories, {} hang, {} missed",
            self.all,
            self.all - self.told_by_stories - self.hang - self.missed.len(),
            self.told_by_stories,
            self.hang,
            self.missed.len()
        );
        self.missed.is_empty()
    }
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| format!("reading {}: {error}", path.display()))
}

/// Writes a file, unless it has these bytes already.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    let folder = path.parent().expect("a file is in a folder");
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, bytes));
    written.map_err(|error| format!("writing {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_and_the_seed_are_read() {
        let output = "x\nround 12 of TOUCHSTONE_SEED=31 TOUCHSTONE_CASES=1 cargo test: y\nround 13 of TOUCHSTONE_SEED=31";
        assert_eq!(outcome(ORACLE, None, output), Outcome::Round { round: "12".into(), seed: "31".into() });
        assert_eq!(outcome(ORACLE, None, "running 1 test"), Outcome::Hangs);
    }

    #[test]
    fn a_story_that_has_failed_counts_though_another_hangs() {
        let failed = vec!["rules::a_listener".to_owned()];
        let told = Outcome::Stories { test: "live".into(), failed };
        assert_eq!(outcome("live", None, "test rules::a_listener ... FAILED\ntest b ..."), told);
        assert_eq!(outcome("live", None, "running 2 tests"), Outcome::Hangs);
    }

    #[test]
    fn a_story_that_has_failed_is_read() {
        assert_eq!(failed_story("test rules::a_listener ... FAILED"), Some("rules::a_listener"));
        assert_eq!(failed_story("test rules::a_listener ... ok"), None);
    }

    #[test]
    fn the_program_of_a_test_is_found_among_cargos_messages() {
        let message =
            r#"{"target":{"name":"oracle","kind":["test"]},"executable":"/build/oracle-1","fresh":true}"#;
        assert_eq!(program_of(message, "oracle"), Some("/build/oracle-1".into()));
        assert_eq!(program_of(message, "live"), None);
        let unit = r#"{"target":{"name":"store","kind":["lib"]},"executable":"/build/store-1"}"#;
        assert_eq!(program_of(unit, UNIT_TESTS), Some("/build/store-1".into()));
        let library = r#"{"target":{"name":"store","kind":["lib"]},"executable":null}"#;
        assert_eq!(program_of(library, UNIT_TESTS), None);
        assert_eq!(program_of(r#"{"reason":"build-finished"}"#, "oracle"), None);
    }
}
