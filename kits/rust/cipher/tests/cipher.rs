//! The subject `sqlcipher` speaks the protocol, encrypts when it is asked to, and says whether it does.

#[path = "../../drivers/tests/conversation/mod.rs"]
mod conversation;
#[path = "../../drivers/tests/lab/mod.rs"]
mod lab;

use drivers::sqlite;
use lab::Session;
use rusqlite::Connection;
use std::fs;
use std::path::Path;
use touchstone_protocol::{
    FailureKind, RecordKind, Reply, Request, Row, Schema, Setting, Settings, write_dataset,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sqlcipher");

/// Makes a database of one row whose value is easily seen, and returns what took effect.
fn stored(folder: &Path, cipher: &str) -> Settings {
    write_dataset(&folder.join("dataset"), &[Row { key: 1, value: b"to be seen".repeat(20) }]).unwrap();
    let mut session = Session::start(PROGRAM, &[]);
    let dataset = folder.join("dataset");
    session.ask(&Request::Prepare {
        record: RecordKind::Row,
        dataset,
        operations: None,
        states: None,
        subscriptions: None,
    });
    fs::create_dir(folder.join("database")).unwrap();
    let settings = session.open(open(folder, cipher, true));
    assert_eq!(session.ask(&Request::Fill { from: 0, count: 1, table: 1 }), Reply::Fill);
    assert_eq!(session.ask(&Request::Quit), Reply::Quit);
    assert!(session.end().success());
    settings
}

fn open(folder: &Path, cipher: &str, create: bool) -> Request {
    let settings = Settings::from([
        ("cipher".into(), Setting::from(cipher)),
        ("page_size_bytes".into(), Setting::Number(4096)),
        ("cache_size_bytes".into(), Setting::Number(2_048_000)),
    ]);
    let schema = Schema { create, tables: 1, indexes: Vec::new(), ..Schema::default() };
    Request::Open { directory: folder.join("database"), record: RecordKind::Row, schema, settings }
}

/// Whether the value can be seen in the file.
fn seen(folder: &Path) -> bool {
    let bytes = fs::read(folder.join("database/benchmark.sqlite")).unwrap();
    bytes.windows(10).any(|window| window == b"to be seen")
}

#[test]
fn it_speaks_the_golden_conversations() {
    conversation::play_all(PROGRAM, 11);
    let hello = Session::start(PROGRAM, &[]).hello();
    assert!(hello.engine.starts_with(&format!("SQLCipher {}", hello.version)), "{hello:?}");
    assert!(hello.engine.contains("on SQLite 3."), "{hello:?}");
}

#[test]
fn with_the_cipher_nothing_can_be_seen_and_without_the_key_nothing_can_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let settings = stored(folder.path(), "sqlcipher-4");
    assert_eq!(settings["cipher"], Setting::from("sqlcipher-4"));
    assert_eq!(settings["page_size_bytes"], Setting::Number(4096));
    assert_eq!(settings["cache_size_bytes"], Setting::Number(2_048_000));
    assert!(!seen(folder.path()));
    match Session::start(PROGRAM, &[]).ask(&open(folder.path(), "none", false)) {
        Reply::Error(failure) => assert_eq!(failure.kind, FailureKind::Corrupt, "{failure}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_version_of_the_cipher_is_told_as_it_is_and_is_no_other() {
    for (cipher, other) in [("sqlcipher-3", "sqlcipher-4"), ("sqlcipher-4", "sqlcipher-3")] {
        let folder = tempfile::tempdir().unwrap();
        let settings = stored(folder.path(), cipher);
        assert_eq!(settings["cipher"], Setting::from(cipher));
        assert_eq!(settings["page_size_bytes"], Setting::Number(4096), "{cipher}");
        assert!(!seen(folder.path()), "{cipher}");
        let again = Session::start(PROGRAM, &[]).open(open(folder.path(), cipher, false));
        assert_eq!(again, settings, "{cipher}: the same again on an existing database");
        match Session::start(PROGRAM, &[]).ask(&open(folder.path(), other, false)) {
            Reply::Error(failure) => assert_eq!(failure.kind, FailureKind::Corrupt, "{cipher}: {failure}"),
            reply => panic!("{cipher} is read as {other}: {reply:?}"),
        }
    }
}

#[test]
fn a_scheme_that_is_neither_is_not_told_as_one() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("pragma key = 'secret'; pragma cipher_use_hmac = off").unwrap();
    let settings = sqlite::read_back(false, |pragma| sqlite::query(&connection, pragma)).unwrap();
    assert_eq!(settings["cipher"], Setting::from("sqlcipher-other"));
}

#[test]
fn without_the_cipher_it_is_plain_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(stored(folder.path(), "none")["cipher"], Setting::from("none"));
    assert!(seen(folder.path()));
}
