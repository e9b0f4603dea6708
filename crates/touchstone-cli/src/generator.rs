//! The load generator and what else services are measured with: programs of the project that the command starts and does not link, built
//! where they are missing or may be old.

use crate::say;
use anyhow::Context as _;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use touchstone::plan::Plan;
use touchstone_runner::kits::Project;
use touchstone_runner::service::Tools;
use touchstone_runner::session::Stop;
use touchstone_runner::{Error, ErrorKind};

/// The load generator's package and program.
const GENERATOR: &str = "touchstone-load";

/// The package of the library that makes flushes last, and its file.
const FLUSH: (&str, &str) = ("touchstone-flush", "libtouchstone_flush.so");

/// How variables begin in which cargo tells of a package.
const OF_A_PACKAGE: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// A build that takes longer than this is told of: the first takes minutes.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How often a build is asked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the cases of a plan need: nothing is built for a plan without services.
///
/// # Errors
/// When something cannot be built.
pub fn of_plan(project: &Project, plan: &Plan, stop: &Stop) -> anyhow::Result<Tools> {
    let mut tools = Tools::default();
    if plan.cases.iter().any(|case| case.load.is_some()) {
        tools.generator = program(|| Ok(project.root.clone()), stop)?;
    }
    if plan.cases.iter().flat_map(|case| &case.arms).any(|arm| arm.flush_us.is_some()) {
        let own = own_project()?;
        tools.flush = build(own.as_ref().unwrap_or(&project.root), FLUSH.0, FLUSH.1, stop)?;
    }
    Ok(tools)
}

/// The load generator's program: that of the project which the command itself was built in, or the one beside the command. `root` is
/// asked for the project where there is neither.
///
/// # Errors
/// When it cannot be built, or there is no project.
pub fn program(root: impl FnOnce() -> anyhow::Result<PathBuf>, stop: &Stop) -> anyhow::Result<PathBuf> {
    if let Some(own) = own_project()? {
        return build(&own, GENERATOR, GENERATOR, stop);
    }
    match beside()? {
        Some(program) => Ok(program),
        None => {
            build(&root().context("touchstone-load is not beside touchstone")?, GENERATOR, GENERATOR, stop)
        }
    }
}

/// The load generator's program where there is one that can be asked now: nothing is built, and none is given that is older than its
/// sources, which might refuse what they know.
///
/// # Errors
/// When the command's own folder cannot be found.
pub fn at_hand(project: &Project) -> anyhow::Result<Option<PathBuf>> {
    let own = own_project()?;
    if own.is_none()
        && let Some(program) = beside()?
    {
        return Ok(Some(program));
    }
    let program = built(own.as_ref().unwrap_or(&project.root), GENERATOR);
    Ok(is_current(&program).then_some(program))
}

/// Whether a program is as new as all of its sources, which cargo lists in a file beside it.
fn is_current(program: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    let (Some(built), Ok(listed)) = (changed(program), std::fs::read_to_string(program.with_extension("d")))
    else {
        return false;
    };
    let sources = listed.split_once(": ").map_or("", |(_, sources)| sources);
    // A blank within a path has a backslash before it.
    let sources = sources.replace("\\ ", "\0");
    sources
        .split_whitespace()
        .all(|source| changed(Path::new(&source.replace('\0', " "))).is_some_and(|changed| changed <= built))
}

/// The program beside the command, as an installation has it.
fn beside() -> anyhow::Result<Option<PathBuf>> {
    let program = own_path()?.with_file_name(GENERATOR);
    Ok(program.exists().then_some(program))
}

/// The project that the command was built in, and that the generator's sources are in: what lies beside the command may be older than they.
fn own_project() -> anyhow::Result<Option<PathBuf>> {
    let own = own_path()?;
    Ok(own.ancestors().find(|folder| has_sources(folder)).map(Path::to_owned))
}

fn has_sources(folder: &Path) -> bool {
    folder.join("crates").join(GENERATOR).join("Cargo.toml").is_file()
}

fn own_path() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("finding the command's own folder")
}

fn build(root: &Path, package: &str, file: &str, stop: &Stop) -> anyhow::Result<PathBuf> {
    let arguments =
        ["build", "--quiet", "--release", "--locked", "--target-dir", "target", "--package", package];
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root);
    for variable in of_a_package(std::env::vars_os()) {
        command.env_remove(variable);
    }
    let mut cargo = command.spawn().map_err(|error| {
        let message = format!("{package} is not built, and cargo cannot be started: {error}");
        Error::new(ErrorKind::Missing, message)
    })?;
    if !ends_at_once(&mut cargo)? {
        say::note(&format!("building {package} in {}", root.display()));
    }
    if !ended(&mut cargo, stop)?.success() {
        return Err(Error::new(ErrorKind::Build, format!("{package} could not be built")).into());
    }
    Ok(built(root, file))
}

/// Waits for cargo, which is ended where the command is to stop: a terminal's Ctrl-C reaches both, other requests the command alone.
fn ended(cargo: &mut Child, stop: &Stop) -> anyhow::Result<ExitStatus> {
    loop {
        if let Some(status) = cargo.try_wait()? {
            return Ok(status);
        }
        if stop.load(Ordering::Relaxed) {
            cargo.kill()?;
            cargo.wait()?;
            return Err(Error::new(ErrorKind::Interrupted, "stopped before the run began").into());
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
}

/// Where cargo leaves what it builds for us.
fn built(root: &Path, file: &str) -> PathBuf {
    root.join("target/release").join(file)
}

/// The variables in which cargo tells a program that it runs, as a test, of what package that is. A package below the generator is built
/// anew, for minutes, whenever they are others than before.
fn of_a_package(variables: impl Iterator<Item = (OsString, OsString)>) -> impl Iterator<Item = OsString> {
    let is_told = |name: &OsString| {
        name.to_str().is_some_and(|name| OF_A_PACKAGE.iter().any(|prefix| name.starts_with(prefix)))
    };
    variables.map(|(name, _)| name).filter(is_told)
}

/// Cargo alone knows whether there is anything to build. Where there is nothing it ends at once, and nothing is said of it.
fn ends_at_once(cargo: &mut Child) -> std::io::Result<bool> {
    let began = Instant::now();
    while began.elapsed() < AT_ONCE {
        if cargo.try_wait()?.is_some() {
            return Ok(true);
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::{is_current, of_a_package};
    use std::ffi::OsString;
    use std::fs::{File, write};
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_program_is_current_where_none_of_its_sources_is_newer_or_gone() {
        let folder = tempfile::tempdir().expect("there is room");
        let [program, source, list] = ["load", "a b.rs", "load.d"].map(|name| folder.path().join(name));
        let at = |path, seconds| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            File::create(path).and_then(|file| file.set_modified(time)).expect("there is room");
        };
        at(&program, 5);
        assert!(!is_current(&program), "nobody says what its sources are");
        let listed = source.display().to_string().replace(' ', "\\ ");
        write(&list, format!("{}: {listed}\n", program.display())).expect("there is room");
        assert!(!is_current(&program), "a source is gone");
        for (seconds, expected) in [(4, true), (5, true), (6, false)] {
            at(&source, seconds);
            assert_eq!(is_current(&program), expected, "{seconds}");
        }
    }

    /// Found by waiting: the generator was built anew for each test, and anew for each command after that.
    #[test]
    fn a_test_does_not_tell_of_its_package() {
        let names = ["CARGO_MANIFEST_DIR", "PATH", "CARGO_PKG_NAME", "CARGO_BUILD_JOBS", "CARGO_HOME"];
        let told = of_a_package(names.map(|name| (name.into(), OsString::new())).into_iter());
        assert_eq!(told.collect::<Vec<_>>(), ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"]);
    }
}
