//! Runs the store's tests under AddressSanitizer and ThreadSanitizer, the library and the engine's C both instrumented. A
//! build is believed when it has caught every mistake that is made on purpose; then come the tests of callers who
//! misbehave, and for what is left of the time the stress and the damaged files, with other seeds each time.
//!
//! All of it happens below `target/sanitize/`. `make sanitize` looks first whether what it needs is there.

use clap::Parser;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use xtask::program::{end_of, program_of};
use xtask::sanitizer::Sanitizer;

/// What anything here fails with: what, on which input, and the remedy.
type Error = String;

/// The tests that are run once, of callers who misbehave.
const ONCE: [&str; 7] = ["threads", "expiry", "live", "gathering", "file", "raw_sql", DAMAGE];
/// The test of everything at once, which takes as long as it is told, and makes the mistakes on purpose.
const STRESS: &str = "stress";
/// The test of damaged files, and those of its tests that take other files each time.
const DAMAGE: &str = "damage";
const OF_DAMAGE: &str = "random::";
/// Damaged files of one run.
const CASES: u64 = 800;
/// A run that takes so long is taken for one that never ends.
const LIMIT: Duration = Duration::from_secs(3600);
/// The least that the stress takes, however little time is left.
const STRESS_MIN: Duration = Duration::from_secs(10);
/// Lines of a report, or of what a test has said, that are shown.
const SHOWN: usize = 60;

/// Runs the store's tests under AddressSanitizer and ThreadSanitizer, with the engine's C instrumented too.
#[derive(Parser)]
#[command(name = "sanitize", after_help = "Exits with 1 where anything is found.")]
struct Options {
    /// How long tests run, half of it under each sanitizer. Builds come on top, and every test runs once at least.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Only this sanitizer: address or thread.
    #[arg(long)]
    only: Option<String>,
    /// Only these tests besides the stress, by their names: threads,damage.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    tests: Vec<String>,
    /// The tool chain that builds with sanitizers.
    #[arg(long, default_value = "nightly")]
    toolchain: String,
    /// The C compiler.
    #[arg(long, default_value = "cc")]
    compiler: String,
    /// Which cases of the stress and of damaged files come first.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Options {
    /// The tests that are run once.
    fn once(&self) -> impl Iterator<Item = &'static str> + Clone {
        let is_asked = |name: &&str| self.tests.is_empty() || self.tests.iter().any(|test| test == name);
        ONCE.into_iter().filter(is_asked)
    }
}

fn main() -> ExitCode {
    match sanitize(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether nothing was found.
fn sanitize(options: &Options) -> Result<bool, Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is in crates/");
    let is_asked =
        |sanitizer: &Sanitizer| options.only.as_deref().is_none_or(|only| only == sanitizer.name());
    let asked: Vec<Sanitizer> =
        [Sanitizer::Address, Sanitizer::Thread].into_iter().filter(is_asked).collect();
    if asked.is_empty() {
        return Err("--only is address or thread".to_owned());
    }
    let time = Duration::from_secs(options.seconds) / u32::try_from(asked.len()).unwrap_or(1);
    let mut found = 0;
    for sanitizer in asked {
        let work = root.join("target/sanitize").join(sanitizer.name());
        let programs = build(root, &work, sanitizer, options)?;
        let mut lab = Lab { root, work, sanitizer, programs, runs: 0, found: 0 };
        lab.reset()?;
        lab.canaries()?;
        lab.tests(time, options)?;
        found += lab.found;
    }
    Ok(found == 0)
}

/// Builds the tests; where their programs are.
fn build(
    root: &Path,
    work: &Path,
    sanitizer: Sanitizer,
    options: &Options,
) -> Result<BTreeMap<&'static str, PathBuf>, Error> {
    let name = sanitizer.name();
    eprintln!("building the store and its engine for the {name} sanitizer");
    let host = host(&options.toolchain)?;
    let mut cargo = Command::new("rustup");
    cargo.args(["run", &options.toolchain, "cargo", "test", "--no-run", "--locked"]);
    cargo.args(["--package", "touchstone-store", "--message-format", "json-render-diagnostics"]);
    cargo.args(["--target", &host, "--target-dir"]).arg(work.join("build"));
    let names = options.once().chain([STRESS]);
    for name in names.clone() {
        cargo.args(["--test", name]);
    }
    if sanitizer.builds_std() {
        cargo.arg("-Zbuild-std");
    }
    cargo.env("RUSTFLAGS", format!("-Zsanitizer={name} --cfg touchstone_canary -Cforce-frame-pointers=yes"));
    // Slow enough as it is; assertions stay.
    cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    cargo.env(format!("CC_{}", host.replace('-', "_")), &options.compiler);
    cargo.current_dir(root).stderr(Stdio::inherit());
    let built = cargo.output().map_err(|error| format!("rustup: {error}"))?;
    if !built.status.success() {
        return Err(format!("the store does not build for the {name} sanitizer"));
    }
    let messages = String::from_utf8_lossy(&built.stdout);
    let program = |name: &'static str| {
        let found = messages.lines().find_map(|line| program_of(line, name));
        found.map(|path| (name, path)).ok_or_else(|| format!("cargo has built no test `{name}`"))
    };
    names.map(program).collect()
}

/// The system that the tool chain builds for, which must be named: else build scripts were instrumented too.
fn host(toolchain: &str) -> Result<String, Error> {
    let told = Command::new("rustup").args(["run", toolchain, "rustc", "-vV"]).output();
    let told = told.map_err(|error| format!("rustup: {error}"))?;
    let text = String::from_utf8_lossy(&told.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("rustc of {toolchain} does not say for which system it is"))
}

/// What is needed to run tests under one sanitizer.
struct Lab<'r> {
    root: &'r Path,
    work: PathBuf,
    sanitizer: Sanitizer,
    programs: BTreeMap<&'static str, PathBuf>,
    runs: u32,
    /// Runs that have found something.
    found: u32,
}

/// A run of a test's program.
struct Run {
    reports: String,
    is_success: bool,
    said: String,
    seconds: f64,
}

impl Lab<'_> {
    /// Removes what an earlier time has left.
    fn reset(&self) -> Result<(), Error> {
        for folder in [self.reports(), self.output()] {
            // The first time it is not there.
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).map_err(|error| format!("making {}: {error}", folder.display()))?;
        }
        Ok(())
    }

    fn reports(&self) -> PathBuf {
        self.work.join("reports")
    }

    fn output(&self) -> PathBuf {
        self.work.join("output")
    }

    /// Makes every mistake on purpose.
    fn canaries(&mut self) -> Result<(), Error> {
        for canary in self.sanitizer.canaries() {
            let arguments = ["--exact", "canary::makes_a_mistake", "--nocapture"];
            let run = self.run(STRESS, &arguments, &[("TOUCHSTONE_CANARY", canary.mistake.to_owned())])?;
            if !canary.is_caught(&run.reports, run.is_success) {
                return Err(format!(
                    "the {} sanitizer is not to be believed: of the canary `{}` it should tell {:?}, and told this:\n{}{}",
                    self.sanitizer.name(),
                    canary.mistake,
                    canary.told,
                    shown(&run.reports),
                    shown(&run.said),
                ));
            }
            println!("{:8} canary `{}`: as it must be", self.sanitizer.name(), canary.mistake);
        }
        Ok(())
    }

    /// Runs the tests, each once at least.
    fn tests(&mut self, time: Duration, options: &Options) -> Result<(), Error> {
        let seed = options.seed;
        let began = Instant::now();
        let cases =
            |seed: u64| [("TOUCHSTONE_CASES", CASES.to_string()), ("TOUCHSTONE_SEED", seed.to_string())];
        for program in options.once() {
            let skipped: Vec<&str> =
                self.sanitizer.skips(program).iter().flat_map(|test| ["--skip", test]).collect();
            let variables = if program == DAMAGE { cases(seed).to_vec() } else { Vec::new() };
            self.look(program, &skipped, &variables, program)?;
        }
        // The rest of the time is for damaged files.
        let most = time.saturating_sub(began.elapsed()) * 3 / 4;
        let seconds = most.max(STRESS_MIN).as_secs().to_string();
        let variables = [("TOUCHSTONE_SECONDS", seconds.clone()), ("TOUCHSTONE_SEED", seed.to_string())];
        self.look(STRESS, &["--nocapture"], &variables, &format!("{STRESS} for {seconds} s"))?;
        for seed in seed + 1.. {
            if began.elapsed() >= time || !self.programs.contains_key(DAMAGE) {
                break;
            }
            let about = format!("{DAMAGE}, {CASES} files of seed {seed}");
            self.look(DAMAGE, &[OF_DAMAGE], &cases(seed), &about)?;
        }
        let (name, seconds) = (self.sanitizer.name(), began.elapsed().as_secs());
        println!(
            "{name:8} {} canaries, then {seconds} s: {} finds",
            self.sanitizer.canaries().len(),
            self.found
        );
        Ok(())
    }

    /// Runs a test, and tells what it has found.
    fn look(
        &mut self,
        program: &'static str,
        arguments: &[&str],
        variables: &[(&str, String)],
        about: &str,
    ) -> Result<(), Error> {
        let run = self.run(program, arguments, variables)?;
        let is_good = run.is_success && run.reports.is_empty();
        let verdict = if is_good { "nothing" } else { "FOUND" };
        println!("{:8} {about}: {verdict}, {:.1} s", self.sanitizer.name(), run.seconds);
        for line in
            run.said.lines().filter(|line| line.starts_with("test result") || line.contains(" rounds, "))
        {
            println!("{:8}   {line}", "");
        }
        if !is_good {
            self.found += 1;
            println!(
                "{}{}",
                shown(&run.reports),
                if run.is_success { String::new() } else { shown(&run.said) }
            );
            println!("more in {} and {}", self.reports().display(), self.output().display());
        }
        Ok(())
    }

    fn run(
        &mut self,
        program: &'static str,
        arguments: &[&str],
        variables: &[(&str, String)],
    ) -> Result<Run, Error> {
        self.runs += 1;
        let name = format!("{:02}-{program}", self.runs);
        let output = self.output().join(&name);
        let failed = |error| format!("running {program}: {error}");
        let file = File::create(&output).map_err(failed)?;
        let mut command = Command::new(&self.programs[program]);
        command.envs(self.sanitizer.told(self.root, &self.reports().join(&name)));
        command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
        // Panics that are meant are many, and to name their frames takes long.
        command.env("RUST_BACKTRACE", "0").current_dir(self.root.join("crates/touchstone-store"));
        command.stdin(Stdio::null()).stdout(file.try_clone().map_err(failed)?).stderr(file);
        let began = Instant::now();
        let status = end_of(command.spawn().map_err(failed)?, LIMIT)?;
        let seconds = began.elapsed().as_secs_f64();
        let mut said = String::from_utf8_lossy(&fs::read(&output).map_err(failed)?).into_owned();
        if status.is_none() {
            said += "\nit was ended, because it went on for too long\n";
        }
        let is_success = status.is_some_and(|status| status.success());
        Ok(Run { reports: self.reports_of(&name).map_err(failed)?, is_success, said, seconds })
    }

    /// What was reported in a run, by whichever of its processes.
    fn reports_of(&self, name: &str) -> std::io::Result<String> {
        let mut all = String::new();
        for entry in fs::read_dir(self.reports())? {
            let path = entry?.path();
            if path.file_stem().is_some_and(|stem| stem == name) {
                all += &String::from_utf8_lossy(&fs::read(path)?);
            }
        }
        Ok(all)
    }
}

/// The beginning of a report, or the end of what a test has said.
fn shown(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_report = text.contains("Sanitizer");
    let from = if is_report { 0 } else { lines.len().saturating_sub(SHOWN) };
    lines[from..].iter().take(SHOWN).map(|line| format!("{line}\n")).collect()
}
