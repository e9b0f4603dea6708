//! Plays golden conversations: `protocol/conversations/README.md` says how they are written.

use crate::lab::Session;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Plays every conversation that the driver's capabilities allow; there must be `count` of those.
pub fn play_all(program: &str, count: usize) {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let capabilities = Session::start(program, &[]).hello().capabilities;
    let mut played = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let head = lines.next().unwrap();
        let needs = head["needs"].as_array().unwrap();
        if needs.iter().all(|need| capabilities.iter().any(|capability| need == capability)) {
            play(program, &format!("{program}: {}", file.display()), lines);
            played += 1;
        }
    }
    assert_eq!(played, count, "conversations that {program} has the capabilities for");
}

fn folder() -> PathBuf {
    // Found from any package of this kit.
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .ancestors()
        .map(|folder| folder.join("protocol/conversations"))
        .find(|path| path.exists())
        .unwrap()
}

fn play(program: &str, which: &str, lines: impl Iterator<Item = Value>) {
    let directory = tempfile::tempdir().unwrap();
    let mut session = Session::start(program, &[]);
    let mut answer = None;
    for (index, line) in lines.enumerate() {
        let number = index + 2;
        match (line.get("lab"), line.get("kit")) {
            (Some(Value::Null), None) => session.hang_up(),
            (Some(said), None) => {
                let text = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
                let text = text
                    .replace("<here>", &folder().display().to_string())
                    .replace("<directory>", &directory.path().display().to_string());
                answer = session.say(&text);
            }
            (None, Some(Value::Null)) => {
                assert!(session.end().success(), "{which}:{number}: it ends with status 0");
                return;
            }
            (None, Some(expected)) => {
                let answer = answer.take().unwrap_or_else(|| panic!("{which}:{number}: it has ended"));
                let value = serde_json::from_str(&answer).unwrap();
                assert!(matches(expected, &value), "{which}:{number}: expected {expected}, not {answer}");
            }
            _ => panic!("{which}:{number}: neither the lab's line nor the kit's"),
        }
    }
    panic!("{which}: the conversation does not end");
}

/// Whether a value is the one expected; placeholders stand for what is measured.
fn matches(expected: &Value, value: &Value) -> bool {
    match (expected, value) {
        (Value::String(text), value) if text.starts_with('<') && text.ends_with('>') => match text.as_str() {
            "<number>" => value.is_number(),
            "<text>" => value.is_string(),
            "<list>" => value.is_array(),
            "<object>" => value.is_object(),
            other => panic!("there is no placeholder {other}"),
        },
        (Value::Object(expected), Value::Object(value)) => {
            value.keys().all(|key| expected.contains_key(key))
                && expected.iter().all(|(key, expected)| match value.get(key) {
                    Some(value) => matches(expected, value),
                    None => expected.as_object().is_some_and(serde_json::Map::is_empty),
                })
        }
        (Value::Array(expected), Value::Array(value)) => {
            expected.len() == value.len()
                && expected.iter().zip(value).all(|(one, other)| matches(one, other))
        }
        (expected, value) => expected == value,
    }
}
