//! What a search found of a service: read from what the load generator left, with what the service is.

use super::searches::Held;
use crate::exit;
use serde_json::Value;
use std::path::Path;
use std::process::ExitStatus;
use touchstone::plan::PlannedArm;
use touchstone_protocol::Settings;
use touchstone_runner::service::{Stood, failed_by_itself};
use touchstone_runner::{Error, ErrorKind};

/// How often a device changes something in the published reckoning, in seconds.
const EVERY_S: f64 = 600.0;

impl Held {
    /// Of a service that could not be searched.
    pub(super) fn not_searched(arm: &PlannedArm, why: String) -> Held {
        Held {
            contender: arm.name.clone(),
            class: arm.class,
            settings: Settings::new(),
            contradicted: Vec::new(),
            holds: None,
            fails: None,
            devices: None,
            why: Some(why),
            doubts: Vec::new(),
            beyond: Vec::new(),
            fault: None,
            search: None,
            limits: None,
        }
    }

    /// Of a service that stood, and what the generator left of its search.
    pub(super) fn of(
        arm: &PlannedArm,
        stood: &Stood<ExitStatus>,
        searched: Option<Searched>,
        folder: &Path,
    ) -> Held {
        let why = "the search came to no answer: the load generator says why (above)".to_owned();
        let is_asked = |name: &str| arm.profile_settings.contains_key(name);
        let settings = stood.settings.clone().into_iter().filter(|(name, _)| is_asked(name)).collect();
        let held = Held {
            settings,
            contradicted: not_as_asked(&arm.settings, &arm.profile_settings, &stood.settings),
            fault: stood.fault.clone(),
            ..Held::not_searched(arm, why)
        };
        if let Some(how) = &stood.died {
            // What a search says of a service that was no longer there is nothing of the service.
            let search = searched.as_ref().map(|_| folder.display().to_string());
            let limits = searched.and_then(|searched| searched.limits());
            return Held { why: Some(died(how)), search, limits, ..held };
        }
        // One that was still there, and went wrong later, may have been going wrong.
        let why = held.fault.clone().or(held.why.clone());
        let Some(searched) = searched else { return Held { why, ..held } };
        let limits = searched.limits();
        let Searched { found, mut doubts, beyond } = searched;
        if doubts.is_empty() && stood.answer.code() == Some(exit::INVALID.into()) {
            doubts.push("the load generator calls the search invalid".into());
        }
        let number = |pointer: &str| found.pointer(pointer).and_then(Value::as_f64);
        let holds = number("/found/holds/at");
        Held {
            holds,
            fails: number("/found/holds/not_at"),
            devices: holds.map(|rate| rate * EVERY_S),
            why: holds.is_none().then(|| no_answer(&found)),
            doubts,
            beyond,
            search: Some(folder.display().to_string()),
            limits,
            ..held
        }
    }
}

fn died(how: &str) -> String {
    format!("it died while it was searched: {how}")
}

/// What the generator left of a search.
pub(super) struct Searched {
    found: Value,
    doubts: Vec<String>,
    beyond: Vec<String>,
}

impl Searched {
    /// What had to hold.
    fn limits(&self) -> Option<String> {
        Some(self.found["limits"].as_str()?.to_owned())
    }

    /// Reads it; none where the generator came to nothing. A doubt of the run that confirmed an answer is why it is *at least* so much.
    ///
    /// # Errors
    /// When what it left cannot be read.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Option<Searched>> {
        let Ok(text) = std::fs::read_to_string(folder.join("capacity.json")) else { return Ok(None) };
        let found: Value = serde_json::from_str(&text)?;
        let has_answer = found.pointer("/found/holds").is_some();
        let mut told = doubts_of(&found);
        if let Ok(text) = std::fs::read_to_string(folder.join("outcome.json")) {
            let more = doubts_of(&serde_json::from_str(&text)?);
            // The search says behind each doubt how many of its steps had it.
            let is_told = |doubt: &String| {
                told.iter().any(|told: &String| in_short(told).starts_with(&in_short(doubt)))
            };
            let more: Vec<String> = more.into_iter().filter(|doubt| !is_told(doubt)).collect();
            told.extend(more);
        }
        // Of a search with an answer they are why it came no further.
        let (doubts, beyond) = if has_answer { (Vec::new(), told) } else { (told, Vec::new()) };
        Ok(Some(Searched { found, doubts, beyond }))
    }
}

/// A doubt without its figures, which another run has otherwise.
fn in_short(doubt: &str) -> String {
    let short = doubt.split([':', ',']).next().unwrap_or(doubt);
    short.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

fn doubts_of(left: &Value) -> Vec<String> {
    let doubts = left["doubts"].as_array().into_iter().flatten();
    doubts.filter_map(|doubt| Some(doubt.as_str()?.to_owned())).collect()
}

/// Why a search has no answer.
fn no_answer(searched: &Value) -> String {
    let found = &searched["found"];
    let at = |pointer: &str| found.pointer(pointer).and_then(Value::as_f64);
    if let Some(at) = at("/nothing/at") {
        return format!("not even {} iterations a second hold", super::told::rate(at));
    }
    if let Some(at) = at("/unsteady/at") {
        return format!(
            "what it holds changes: rates that had held did not when they were confirmed, the last of them {} a second",
            super::told::rate(at)
        );
    }
    if doubts_of(searched).is_empty() {
        "the search was stopped".into()
    } else {
        "the search is not valid".into()
    }
}

/// What was asked for and was not read back so. Of what a suite asks of everybody a service may have no notion; of what its own profile
/// asks it must say that it took effect.
fn not_as_asked(asked: &Settings, of_profile: &Settings, read_back: &Settings) -> Vec<String> {
    let broken = asked.iter().filter_map(|(name, asked)| match read_back.get(name) {
        Some(took) if took != asked => Some(format!("{name} was asked for as {asked}, {took} took effect")),
        None if of_profile.contains_key(name) => {
            Some(format!("{name} was asked for as {asked}, and the service does not say what took effect"))
        }
        _ => None,
    });
    broken.collect()
}

/// A generator that fails is no fault of the service; what it says of itself stands on standard error.
pub(super) fn refuse_failed(ended: ExitStatus) -> Result<ExitStatus, Error> {
    match failed_by_itself(ended) {
        Some(kind) => {
            Err(Error::new(kind, format!("the load generator failed ({ended}): what it says stands above")))
        }
        None => Ok(ended),
    }
}

/// A search that found out nothing of anybody has failed.
pub(super) fn refuse_none(held: &[Held]) -> anyhow::Result<()> {
    if held.iter().any(|held| held.search.is_some()) {
        return Ok(());
    }
    let why =
        held.iter().map(|held| format!("{}: {}", held.contender, held.why.as_deref().unwrap_or_default()));
    let why: Vec<String> = why.collect();
    let message = format!("none of the services could be searched: {}", why.join("; "));
    Err(Error::new(ErrorKind::Missing, message).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn left(files: &[(&str, &str)]) -> Searched {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
        Searched::read(folder.path()).unwrap().expect("there is a search")
    }

    /// A user was told that a service holds 1,600, whose confirming run the generator called invalid.
    #[test]
    fn a_doubt_of_the_run_that_confirmed_an_answer_is_told_with_it() {
        let search =
            ("capacity.json", r#"{"found": {"holds": {"at": 1600.0, "not_at": null}}, "doubts": []}"#);
        assert_eq!(left(&[search]).beyond, Vec::<String>::new());
        let confirmed = ("outcome.json", r#"{"doubts": ["it sent late"]}"#);
        assert_eq!(left(&[search, confirmed]).beyond, ["it sent late"]);
        let both = ("capacity.json", r#"{"found": null, "doubts": ["it sent late (2 of 9 steps)"]}"#);
        assert_eq!(left(&[both, confirmed]).doubts, ["it sent late (2 of 9 steps)"], "once");
    }

    /// A generator that was at 100 % of its processor in a step, and at 99 % in the run that confirmed the answer, was told twice.
    #[test]
    fn a_doubt_with_other_figures_is_told_once() {
        let busy = |percent| {
            format!("a thread of the generator took {percent} % of its processor, and beyond 80 % it may be")
        };
        let search = serde_json::json!({
            "found": {"holds": {"at": 100.0, "not_at": null}},
            "doubts": [format!("{} (1 of 4 steps)", busy(100))]
        });
        let confirmed = serde_json::json!({"doubts": [busy(99)]});
        let files = [("capacity.json", search.to_string()), ("outcome.json", confirmed.to_string())];
        let found = left(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
        assert_eq!(found.beyond, [format!("{} (1 of 4 steps)", busy(100))]);
    }

    /// Where service and generator share two processors, most searches end at the generator.
    #[test]
    fn why_a_search_came_no_further_is_no_doubt_of_its_answer() {
        let found = r#"{"found": {"holds": {"at": 3200.0, "not_at": 4525.5}}, "doubts": ["it sent late (5 of 12 steps)"]}"#;
        let search = left(&[("capacity.json", found), ("outcome.json", r#"{"doubts": []}"#)]);
        assert_eq!(search.doubts, Vec::<String>::new());
        assert_eq!(search.beyond, ["it sent late (5 of 12 steps)"]);
    }

    #[test]
    fn why_there_is_no_answer_is_told() {
        let nothing = left(&[("capacity.json", r#"{"found": {"nothing": {"at": 50.0}}, "doubts": []}"#)]);
        assert_eq!(no_answer(&nothing.found), "not even 50 iterations a second hold");
        let unsteady =
            left(&[("capacity.json", r#"{"found": {"unsteady": {"at": 404.60037}}, "doubts": []}"#)]);
        assert!(no_answer(&unsteady.found).ends_with("the last of them 404.60 a second"));
        let stopped = left(&[("capacity.json", r#"{"found": null, "doubts": []}"#)]);
        assert_eq!(no_answer(&stopped.found), "the search was stopped");
    }

    /// A search said nothing of a setting that its service did not read back at all.
    #[test]
    fn settings_that_were_asked_for_and_not_read_back_so_are_told() {
        let of = |pairs: &[(&str, &str)]| -> Settings {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
        };
        let profile = of(&[("journal_mode", "wal"), ("synchronous", "full"), ("download", "reads")]);
        let mut asked = profile.clone();
        asked.extend(of(&[("cipher", "none"), ("page", "small")]));
        let read_back =
            of(&[("journal_mode", "wal"), ("synchronous", "normal"), ("page", "large"), ("own", "yes")]);
        assert_eq!(
            not_as_asked(&asked, &profile, &read_back),
            [
                "download was asked for as reads, and the service does not say what took effect",
                "page was asked for as small, large took effect",
                "synchronous was asked for as full, normal took effect",
            ]
        );
        assert!(not_as_asked(&asked, &profile, &asked).is_empty());
    }

    #[test]
    fn a_generator_that_fails_is_not_the_services_fault() {
        let exited = |code: i32| refuse_failed(ExitStatus::from_raw(code << 8));
        assert!([0, 1, 3, 69, 130].map(exited).iter().all(Result::is_ok));
        assert!([64, 70, 74].map(exited).iter().all(Result::is_err));
        assert!(refuse_failed(ExitStatus::from_raw(9)).is_err(), "killed");
    }
}
