//! Whether the load generator can do what a case asks of it. It is asked before a service is built or started: the generator reads all
//! that it is told before it looks for the service, and here there can be none.

use super::ended::USAGE;
use super::scene::Scene;
use crate::error::{Error, ErrorKind, Result};
use serde::Deserialize;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use touchstone::plan::{PlannedCase, PlannedLoad};

/// Where nobody can listen.
const NO_PORT: u16 = 0;

/// What is drawn makes no difference to whether it can be read.
const SEED: u64 = 0;

/// What the generator says to machines where something goes wrong.
#[derive(Deserialize)]
struct Said {
    error: Failure,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
}

/// Refuses a case whose windows the generator cannot do. A case without a load has none.
///
/// # Errors
/// When the generator refuses the case's scenario, or cannot be asked.
pub fn check_windows(generator: &Path, case: &PlannedCase) -> Result<()> {
    let Some(load) = &case.load else { return Ok(()) };
    check(generator, case, load, &["--users", &load.users.to_string(), "--for", "1s"])
}

/// Refuses a case for which the generator cannot search with these arguments. A case without a load is not searched.
///
/// # Errors
/// When the generator refuses the arguments or the case's scenario, or cannot be asked.
pub fn check_search(generator: &Path, case: &PlannedCase, arguments: &[String]) -> Result<()> {
    let Some(load) = &case.load else { return Ok(()) };
    let mut words = vec!["capacity"];
    words.extend(arguments.iter().map(String::as_str));
    check(generator, case, load, &words)
}

fn check(generator: &Path, case: &PlannedCase, load: &PlannedLoad, words: &[&str]) -> Result<()> {
    let folder = tempfile::tempdir().map_err(|error| Error::io("cannot make a temporary folder", &error))?;
    let scenario = folder.path().join("scenario.toml");
    let scene = Scene {
        load,
        port: NO_PORT,
        run: String::new(),
        text: Arc::from(""),
        seed: SEED,
        length_ms: 1,
        is_first: true,
        processor: None,
    };
    fs::write(&scenario, scene.open_ended(&load.scenario.name, &case.title)?)
        .map_err(|error| Error::io(format_args!("cannot write {}", scenario.display()), &error))?;
    let output = Command::new(generator)
        .args(words)
        .arg(&scenario)
        .arg("--json")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::io(format_args!("cannot start {}", generator.display()), &error))?;
    if output.status.code() != Some(USAGE) {
        return Ok(());
    }
    let said: Option<Said> = serde_json::from_slice(&output.stdout).ok();
    let said = said.map_or_else(|| "it does not say why".into(), |said| said.error.message);
    let why = in_a_line(&said, &scenario.display().to_string());
    let (case, name) = (&case.id, &load.scenario.name);
    let message =
        format!("case `{case}`, scenario `{name}`: the load generator refuses what it is asked: {why}");
    Err(Error::new(ErrorKind::Input, message))
}

/// Where a mistake stands without what the user has never seen, the file that the lab wrote and the number of a line of it.
fn in_a_line(said: &str, scenario: &str) -> String {
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let said = said.strip_prefix(scenario).map_or(said, |said| said.trim_start_matches(": "));
    let quoted = said
        .strip_prefix(", line ")
        .map(|rest| rest.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    match quoted.and_then(|rest| rest.strip_prefix(" (")?.split_once("): ")) {
        Some((quoted, what)) => format!("{what}, in {quoted}"),
        None => quoted
            .map_or(said, |rest| rest.trim_start_matches(": "))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::in_a_line;

    #[test]
    fn an_error_in_a_file_is_told_in_a_line_with_what_is_wrong_there() {
        for (said, expected) in [
            (
                "/f/scenario.toml, line 3 (`foo=1`): there is no key `foo` here",
                "there is no key `foo` here, in `foo=1`",
            ),
            ("/f/scenario.toml, line 3: the key `a` is missing", "the key `a` is missing"),
            ("/f/scenario.toml: the key `a` is missing", "the key `a` is missing"),
            ("limits `x`: none", "limits `x`: none"),
            ("error: invalid value '3q'\n\nFor more information", "invalid value '3q' For more information"),
        ] {
            assert_eq!(in_a_line(said, "/f/scenario.toml"), expected);
        }
    }
}
