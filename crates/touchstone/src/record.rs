//! The folder that a run leaves: names, versions, reading it back.
//!
//! Writing is the runner's: it appends while it measures. A record that was cut short is still a record; its
//! manifest says that it is partial.

mod ceiling;
mod whole;

pub use ceiling::{Access, AccessKind, Ceiling};

use crate::error::{Error, Result};
use crate::name::{is_unreadable, make_plain};
use crate::plan::Plan;
use crate::sample::{
    Introduction, Launch, LoadWindow, Noise, Outcome, Probe, Series, Slice, SyncCount, Window, read_series,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The version of the record's format, in `record.json`.
pub const RECORD_VERSION: u32 = 1;

/// The files of a record, by name.
pub mod file {
    /// The [`super::Manifest`].
    pub const MANIFEST: &str = "record.json";
    /// The [`crate::plan::Plan`].
    pub const PLAN: &str = "plan.json";
    /// Machine, kernel, filesystem, toolchain.
    pub const ENVIRONMENT: &str = "environment.json";
    /// [`super::Ceiling`]s.
    pub const CEILINGS: &str = "ceilings.jsonl";
    /// [`crate::sample::Slice`]s.
    pub const SAMPLES: &str = "samples.jsonl";
    /// [`crate::sample::Launch`]es.
    pub const LAUNCHES: &str = "launches.jsonl";
    /// [`crate::sample::Introduction`]s.
    pub const SUBJECTS: &str = "subjects.jsonl";
    /// [`crate::sample::Probe`]s.
    pub const PROBES: &str = "probes.jsonl";
    /// [`crate::sample::Noise`].
    pub const NOISE: &str = "noise.jsonl";
    /// [`crate::sample::SyncCount`]s.
    pub const SYNCS: &str = "syncs.jsonl";
    /// [`crate::sample::LoadWindow`]s.
    pub const LOADS: &str = "loads.jsonl";
    /// A folder of raw per-operation nanoseconds, u64 little-endian: `case.arm.launch.u64`.
    pub const LATENCY: &str = "latency";
    /// A folder of latencies tenth by tenth of a second, a file per arm and launch by the clock.
    pub const SERIES: &str = "series";
    /// What the samples say, computed.
    pub const STATISTICS: &str = "statistics.json";
    /// What the statistics mean, decided.
    pub const VERDICT: &str = "verdict.json";
    /// The page.
    pub const REPORT: &str = "report.html";
}

/// What a record is. The file `record.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`RECORD_VERSION`].
    pub record_version: u32,
    /// The touchstone that wrote it.
    pub touchstone: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// Whether it ran to its end.
    pub status: Status,
    /// Why it is partial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Processes of other benches that measured on this machine at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<u32>,
    /// The command that would run it again.
    pub command: String,
    /// What its values were made of beside the plan's seed, so that no answer of an earlier run is one of this; 0 in records
    /// that had none.
    #[serde(default)]
    pub salt: u64,
    /// How long it took so far, in seconds.
    pub elapsed_s: f64,
}

/// Whether a run reached its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It is still going on, or was killed.
    Running,
    /// It was cut short.
    Partial,
    /// It reached its end.
    Complete,
}

/// Machine, kernel, filesystem and toolchain facts, by group and name, each as text for people.
pub type Environment = BTreeMap<String, BTreeMap<String, String>>;

/// A record, read whole.
#[derive(Clone, Debug)]
pub struct Record {
    /// What it is.
    pub manifest: Manifest,
    /// What was planned.
    pub plan: Plan,
    /// Where it ran.
    pub environment: Environment,
    /// What the machine could do at best, of each access that its cases are about.
    pub ceilings: Vec<Ceiling>,
    /// Every slice.
    pub slices: Vec<Slice>,
    /// Every arm's part in every launch.
    pub launches: Vec<Launch>,
    /// Every subject met.
    pub subjects: Vec<Introduction>,
    /// Every flush probe.
    pub probes: Vec<Probe>,
    /// The machine's noise.
    pub noise: Vec<Noise>,
    /// Syncs and bytes per commit.
    pub syncs: Vec<SyncCount>,
    /// Windows of load on services.
    pub loads: Vec<LoadWindow>,
    /// Per-operation latencies, by case, arm and launch.
    pub latencies: BTreeMap<(String, String, usize), Vec<u64>>,
    /// What is kept of launches by the clock, by case, arm and launch.
    pub series: BTreeMap<(String, String, usize), Series>,
}

/// The path of a latency file within the record.
pub fn latency_path(case: &str, arm: &str, launch: usize) -> PathBuf {
    Path::new(file::LATENCY).join(format!("{}.{arm}.{launch}.u64", case.replace('/', ".")))
}

/// The path of a series within the record.
pub fn series_path(case: &str, arm: &str, launch: usize) -> PathBuf {
    Path::new(file::SERIES).join(format!("{}.{arm}.{launch}.series", case.replace('/', ".")))
}

impl Record {
    /// Reads the record in `folder`. Where it is not complete, a last line that was cut off in the middle of writing is left
    /// out.
    ///
    /// # Errors
    /// When there is no record, it is of a version to come, a line of it is damaged, or it says that it is complete and is
    /// not; the message names the file and the place.
    pub fn read(folder: &Path) -> Result<Record> {
        let manifest = read_manifest(folder)?;
        let complete = manifest.status == Status::Complete;
        let plan_path = folder.join(file::PLAN);
        let plan = Plan::parse(&read_text(&plan_path)?, &plan_path.display().to_string())?;
        let launches: Vec<Launch> = read_lines(&folder.join(file::LAUNCHES), complete)?;
        let (mut latencies, mut series) = (BTreeMap::new(), BTreeMap::new());
        for launch in &launches {
            if let Some(windows) = read_series_of(folder, &plan, launch)? {
                series.insert((launch.case.clone(), launch.arm.clone(), launch.launch), Series::of(&windows));
            }
            let path = folder.join(latency_path(&launch.case, &launch.arm, launch.launch));
            if let Some(ns) = read_latency(&path, complete)? {
                latencies.insert((launch.case.clone(), launch.arm.clone(), launch.launch), ns);
            }
        }
        let record = Record {
            environment: read_json(&folder.join(file::ENVIRONMENT))?,
            ceilings: read_lines(&folder.join(file::CEILINGS), complete)?,
            slices: read_lines(&folder.join(file::SAMPLES), complete)?,
            subjects: read_lines(&folder.join(file::SUBJECTS), complete)?,
            probes: read_lines(&folder.join(file::PROBES), complete)?,
            noise: read_lines(&folder.join(file::NOISE), complete)?,
            syncs: read_lines(&folder.join(file::SYNCS), complete)?,
            loads: read_lines(&folder.join(file::LOADS), complete)?,
            manifest,
            plan,
            launches,
            latencies,
            series,
        };
        if complete {
            whole::check(folder, &record)?;
        }
        Ok(record)
    }
}

/// Reads a JSON file of the record.
///
/// # Errors
/// When it is missing or damaged.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parse(&read_text(path)?).map_err(|error| damaged(path, error))
}

/// Reads a JSON file that says its version under `key`; the version is checked before anything else is believed.
///
/// # Errors
/// When it is missing, damaged, or newer than `newest`.
pub fn read_versioned<T: DeserializeOwned>(path: &Path, key: &str, newest: u32) -> Result<T> {
    let value: serde_json::Value = read_json(path)?;
    let version = value[key].as_u64().ok_or_else(|| damaged(path, format_args!("it has no {key}")))?;
    if version > u64::from(newest) {
        let what = key.replace('_', " ");
        return Err(Error::record(format!(
            "{}: {what} {version} was written by a newer touchstone; this one reads up to {newest}: use a newer one",
            path.display()
        )));
    }
    serde_json::from_value(value).map_err(|error| damaged(path, error))
}

/// Parses JSON of a record. Whoever wrote it, its words are told among the lab's own, and do nothing where they are shown. Most
/// lines have none but plain ones.
fn parse<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    if text.is_ascii() && !text.contains('\\') {
        return serde_json::from_str(text);
    }
    let mut value = serde_json::from_str(text)?;
    make_plain(&mut value);
    serde_json::from_value(value)
}

fn read_manifest(folder: &Path) -> Result<Manifest> {
    let path = folder.join(file::MANIFEST);
    if !path.exists() {
        return Err(Error::record(format!(
            "{}: no record here: it has no {}",
            folder.display(),
            file::MANIFEST
        )));
    }
    read_versioned(&path, "record_version", RECORD_VERSION)
}

fn read_lines<T: DeserializeOwned>(path: &Path, complete: bool) -> Result<Vec<T>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read_text(path)?;
    if complete && !text.is_empty() && !text.ends_with('\n') {
        let line = text.lines().count();
        return Err(damaged(path, format_args!("it says that it is complete, and line {line} is cut off")));
    }
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    whole
        .lines()
        .enumerate()
        .map(|(index, line)| {
            parse(line).map_err(|error| damaged(path, format_args!("line {}: {error}", index + 1)))
        })
        .collect()
}

fn read_latency(path: &Path, complete: bool) -> Result<Option<Vec<u64>>> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = read_bytes(path)?;
    if complete && bytes.len() % size_of::<u64>() != 0 {
        let what = format_args!(
            "its {} bytes are no whole number of nanosecond counts, of 8 bytes each",
            bytes.len()
        );
        return Err(damaged(path, what));
    }
    Ok(Some(bytes.as_chunks::<8>().0.iter().map(|ns| u64::from_le_bytes(*ns)).collect()))
}

/// The series of a launch by the clock; none where it left no file, which a launch that completed does.
fn read_series_of(folder: &Path, plan: &Plan, launch: &Launch) -> Result<Option<Vec<Window>>> {
    let Some(case) = plan.case(&launch.case).filter(|case| case.is_by_the_clock()) else { return Ok(None) };
    let path = folder.join(series_path(&launch.case, &launch.arm, launch.launch));
    if !path.exists() && launch.outcome != Outcome::Completed {
        return Ok(None);
    }
    let bytes = read_bytes(&path)?;
    let lasts_ms = case.mix().and_then(|lane| lane.lasts_ms).unwrap_or(0);
    match read_series(&bytes, case.mixed_lanes() as usize, lasts_ms) {
        Ok(windows) => Ok(Some(windows)),
        Err(what) => Err(damaged(&path, what)),
    }
}

/// Reads what a driver wrote down. It may have left a pipe there or a device, of which nobody would ever see the end.
fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let bytes = match fs::metadata(path) {
        Ok(there) if !there.is_file() => return Err(damaged(path, "it is no file; remove it")),
        Ok(_) => fs::read(path),
        Err(error) => Err(error),
    };
    bytes.map_err(|error| Error::io(path.display(), &error))
}

fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => damaged(path, "it is not there"),
        _ => Error::io(path.display(), &error),
    })
}

fn damaged(path: &Path, what: impl std::fmt::Display) -> Error {
    let what = what.to_string().replace(is_unreadable, " ");
    Error::record(format!("{}: damaged record: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{damaged, parse};
    use serde_json::{Value, json};
    use std::path::Path;

    /// A line of a record with a damaged histogram was read as one of no requests.
    #[test]
    fn a_window_whose_histogram_is_damaged_is_told_by_its_line() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join(super::file::LOADS);
        let window = |endpoints: Value| {
            json!({
                "case": "a", "launch": 0, "arm": "b", "phase": "measure", "block": 0, "position": 0, "seconds": 1.0, "users": 8,
                "endpoints": endpoints, "generator_busy": 0.1
            })
        };
        let damaged =
            json!([{ "request": "a", "label": "GET /", "failures": 0, "latencies": "HISTE/////8AAAAA" }]);
        std::fs::write(&path, format!("{}\n{}\n", window(json!([])), window(damaged)))
            .expect("there is room");
        let error = super::read_lines::<crate::sample::LoadWindow>(&path, true)
            .expect_err("it is damaged")
            .to_string();
        assert!(error.contains("damaged record: line 2: its histogram is cut off"), "{error}");
    }

    /// Found by an adversary: a driver that left a pipe in the place of its series and ended hung whoever read the record.
    #[test]
    fn what_is_no_file_is_not_read() {
        for strange in ["/dev/zero", "/dev"] {
            let error = super::read_latency(Path::new(strange), true).expect_err("it is no file").to_string();
            assert_eq!(error, format!("{strange}: damaged record: it is no file; remove it"));
        }
    }

    /// Found by an adversary: an edited record moved the terminal of whoever judged it, and told of a gate that never was.
    #[test]
    fn words_of_a_record_do_nothing_where_they_are_shown() {
        let said: Value =
            parse(r#"{"error":"x\ngate: pass","settings":{"a\u202e":"\u001b[2J"},"n":18446744073709551615}"#)
                .unwrap();
        assert_eq!(said, json!({ "error": "x gate: pass", "settings": { "a ": " [2J" }, "n": u64::MAX }));
        let raw: Value = parse("{\"error\":\"µ\u{2028}s\"}").unwrap();
        assert_eq!(raw, json!({ "error": "µ s" }));
        let error = damaged(Path::new("record.json"), "unknown variant `x\ngate: pass`");
        assert_eq!(error.to_string(), "record.json: damaged record: unknown variant `x gate: pass`");
    }
}
