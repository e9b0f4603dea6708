//! Each canary does the mischief that it is built for, and nothing else.

mod conversation;
mod lab;

use lab::{Session, lane};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use touchstone_protocol::{
    Digest, Lane, RecordKind, Reply, Request, Row, Run, Sample, Schema, Setting, Settings, Verb,
    write_dataset,
};

const ROWS: u64 = 400;

/// A canary whose database holds all rows.
fn canary(program: &str, settings: Settings) -> (TempDir, Session) {
    let folder = tempfile::tempdir().unwrap();
    write_dataset(&folder.path().join("dataset"), &rows()).unwrap();
    let mut session = Session::start(program, &[]);
    let prepare = Request::Prepare {
        record: RecordKind::Row,
        dataset: folder.path().join("dataset"),
        operations: None,
        states: None,
        subscriptions: None,
    };
    assert_eq!(
        session.ask(&prepare),
        Reply::Prepare { records: ROWS, operations: ROWS, states: 0, subscriptions: 0 }
    );
    session.open(open(folder.path(), true, settings.clone()));
    assert_eq!(session.ask(&Request::Fill { from: 0, count: ROWS, table: 1 }), Reply::Fill);
    assert_eq!(session.ask(&Request::Close), Reply::Close);
    session.open(open(folder.path(), false, settings));
    (folder, session)
}

fn open(directory: &Path, create: bool, settings: Settings) -> Request {
    let schema = Schema { create, tables: 1, indexes: vec!["key".into()], ..Schema::default() };
    Request::Open { directory: directory.to_owned(), record: RecordKind::Row, schema, settings }
}

fn rows() -> Vec<Row> {
    (0..ROWS).map(|key| Row { key: key as i64, value: vec![key as u8; 20] }).collect()
}

fn right_digest() -> String {
    Digest::of(&rows()).to_string()
}

fn gets(session: &mut Session, count: u64) -> Sample {
    session.run(&[lane(Verb::Get, 0, count)])
}

#[test]
fn nothing_answers_every_get_with_an_empty_record() {
    let (_folder, mut session) = canary(env!("CARGO_BIN_EXE_canary-nothing"), Settings::new());
    let lane = gets(&mut session, ROWS).lanes.remove(0);
    let empty = vec![Row::default(); ROWS as usize];
    assert_eq!((lane.answers, lane.digest), (ROWS, Digest::of(&empty).to_string()));
}

#[test]
fn wrong_is_wrong_now_and_then_but_its_database_is_right() {
    let (_folder, mut session) = canary(env!("CARGO_BIN_EXE_canary-wrong"), Settings::new());
    let right = gets(&mut session, 96).lanes.remove(0);
    assert_eq!(right.digest, Digest::of(&rows()[..96]).to_string());
    let wrong = gets(&mut session, 96).lanes.remove(0);
    assert_eq!(wrong.answers, 96);
    assert_ne!(wrong.digest, right.digest);
    assert_eq!(
        session.ask(&Request::Check { table: 1 }),
        Reply::Check { answers: ROWS, digest: right_digest() }
    );
}

#[test]
fn sleep_sleeps_and_is_right() {
    let (_folder, mut session) = canary(env!("CARGO_BIN_EXE_canary-sleep"), Settings::new());
    let sample = gets(&mut session, 20);
    assert!(sample.wall_ns >= 20_000_000 && sample.usage.voluntary_switches >= 20, "{sample:?}");
    assert_eq!(sample.lanes[0].digest, Digest::of(&rows()[..20]).to_string());
}

#[test]
fn tree_keeps_every_record_in_folders_and_is_right() {
    let (folder, mut session) = canary(env!("CARGO_BIN_EXE_canary-tree"), Settings::new());
    for leaf in ["shelves/left/top", "shelves/left/bottom", "shelves/right"] {
        assert!(folder.path().join(leaf).join("row.tsdata").exists(), "{leaf}");
    }
    assert!(!folder.path().join("row.tsdata").exists());
    assert_eq!(
        session.ask(&Request::Check { table: 1 }),
        Reply::Check { answers: ROWS, digest: right_digest() }
    );
}

#[test]
fn hang_says_nothing_more() {
    let (_folder, mut session) = canary(env!("CARGO_BIN_EXE_canary-hang"), Settings::new());
    session.request(&Request::Run(Run::of(vec![lane(Verb::Get, 0, 1)])));
    assert!(session.hear(Duration::from_millis(300)).is_err());
}

#[test]
fn crash_ends_by_a_signal() {
    let (_folder, mut session) = canary(env!("CARGO_BIN_EXE_canary-crash"), Settings::new());
    session.request(&Request::Run(Run::of(vec![lane(Verb::Get, 0, 1)])));
    assert!(session.end().signal().is_some());
}

#[test]
fn slow_does_three_gets_more_in_every_hundred_and_its_twin_none() {
    for (extra, statements) in [(0, 100), (3, 103)] {
        let settings = Settings::from([("extra_gets_per_hundred".into(), Setting::Number(extra))]);
        let (_folder, mut session) = canary(env!("CARGO_BIN_EXE_canary-slow"), settings);
        let explain = Request::Explain { lanes: vec![lane(Verb::Get, 0, 100)] };
        let Reply::Explain(plan) = session.ask(&explain) else { panic!("no plan") };
        assert_eq!(plan.counters["statements"], statements);
        let lane = gets(&mut session, ROWS).lanes.remove(0);
        assert_eq!((lane.answers, lane.digest), (ROWS, right_digest()));
    }
}

#[test]
fn hand_says_whose_loop_it_plays() {
    // The golden conversations have seen to its answers.
    for (asked, told) in [(None, "hand"), (Some("hand"), "hand"), (Some("kit"), "kit")] {
        let folder = tempfile::tempdir().unwrap();
        let settings = asked.map(|word| ("loop".to_owned(), Setting::from(word))).into_iter().collect();
        let schema = Schema { create: true, tables: 1, indexes: Vec::new(), ..Schema::default() };
        let directory = folder.path().to_owned();
        let open = Request::Open { directory, record: RecordKind::Document, schema, settings };
        let settings = Session::start(env!("CARGO_BIN_EXE_canary-hand"), &[]).open(open);
        assert_eq!(settings["loop"], Setting::from(told));
    }
}

#[test]
fn rubbish_breaks_the_protocol_in_four_ways() {
    let program = env!("CARGO_BIN_EXE_canary-rubbish");
    let hello = r#"{"request":"hello","protocol":1}"#;
    let rubbish = Session::start(program, &["rubbish"]).say(hello).unwrap();
    assert!(serde_json::from_str::<Reply>(&rubbish).is_err());
    let version = Session::start(program, &["version"]).say(hello).unwrap();
    assert!(matches!(serde_json::from_str(&version), Ok(Reply::Hello(hello)) if hello.protocol == 2));
    let mut stops = Session::start(program, &["stops"]);
    assert!(serde_json::from_str::<Reply>(&stops.say(hello).unwrap()).is_err());
    assert!(stops.end().success());
    let mut floods = Session::start(program, &["floods"]);
    floods.request(&Request::Hello { protocol: 1 });
    assert!(floods.hear(Duration::from_millis(300)).is_err(), "its line never ends");
}

#[test]
fn a_held_read_transaction_is_no_capability_of_memory() {
    let (_folder, mut session) = canary(env!("CARGO_BIN_EXE_canary-wrong"), Settings::new());
    let lanes = vec![Lane { held: true, ..lane(Verb::Get, 0, 1) }];
    assert!(matches!(session.ask(&Request::Run(Run::of(lanes))), Reply::Error(_)));
}

#[test]
fn canaries_speak_the_conversations_that_their_capabilities_allow() {
    // None of these does mischief to the few gets of a conversation.
    conversation::play_all(env!("CARGO_BIN_EXE_canary-slow"), 9);
    conversation::play_all(env!("CARGO_BIN_EXE_canary-wrong"), 8);
    conversation::play_all(env!("CARGO_BIN_EXE_canary-tree"), 8);
    conversation::play_all(env!("CARGO_BIN_EXE_canary-scan"), 8);
    // It has no rows, so it plays the two about documents.
    conversation::play_all(env!("CARGO_BIN_EXE_canary-hand"), 2);
}
