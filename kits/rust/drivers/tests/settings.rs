//! What takes effect is read back from the engine: defaults, what was asked for, and what was ignored.

mod lab;

use lab::Session;
use std::path::Path;
use touchstone_protocol::{FailureKind, RecordKind, Reply, Request, Schema, Setting, Settings};

const PLAIN: &str = env!("CARGO_BIN_EXE_rusqlite-plain");
const SQLITE: [&str; 4] =
    [env!("CARGO_BIN_EXE_sqlite-c"), env!("CARGO_BIN_EXE_rusqlite"), PLAIN, env!("CARGO_BIN_EXE_diesel")];

fn open(directory: &Path, create: bool, settings: &Settings) -> Request {
    Request::Open {
        directory: directory.to_owned(),
        record: RecordKind::Row,
        schema: Schema { create, tables: 1, indexes: Vec::new(), ..Schema::default() },
        settings: settings.clone(),
    }
}

fn words(settings: &[(&str, &str)]) -> Settings {
    settings.iter().map(|(name, word)| ((*name).to_owned(), Setting::from(*word))).collect()
}

fn numbers(settings: &[(&str, i64)]) -> Settings {
    settings.iter().map(|(name, number)| ((*name).to_owned(), Setting::from(*number))).collect()
}

/// Asks for settings on a fresh database, and then again on the same one in a new process.
fn asked(program: &str, settings: &Settings) -> Settings {
    let directory = tempfile::tempdir().unwrap();
    let created = Session::start(program, &[]).open(open(directory.path(), true, settings));
    let opened = Session::start(program, &[]).open(open(directory.path(), false, settings));
    assert_eq!(created, opened, "{program}: the same again on an existing database");
    opened
}

#[test]
fn defaults_are_told_without_being_asked_for() {
    for (program, busy_timeout_ms) in SQLITE.into_iter().zip([5000, 5000, 2000, 0]) {
        let expected = [
            words(&[
                ("journal_mode", "delete"),
                ("locking_mode", "normal"),
                ("synchronous", "full"),
                ("fullfsync", "no"),
                ("checkpoint_fullfsync", "no"),
                ("cipher", "none"),
                ("checkpoint", "commit"),
            ]),
            numbers(&[
                ("page_size_bytes", 4096),
                ("cache_size_bytes", 2_048_000),
                ("mmap_size_bytes", 0),
                ("wal_autocheckpoint_pages", 1000),
                ("busy_timeout_ms", busy_timeout_ms),
            ]),
        ];
        let mut expected: Settings = expected.into_iter().flatten().collect();
        if program == PLAIN {
            expected.extend(words(&[("statement_cache", "batch")]));
        }
        assert_eq!(asked(program, &Settings::new()), expected, "{program}");
    }
}

#[test]
fn everything_that_sqlite_can_be_asked_for_takes_effect() {
    let settings: Settings = [
        words(&[
            ("journal_mode", "wal"),
            ("locking_mode", "exclusive"),
            ("synchronous", "extra"),
            ("fullfsync", "yes"),
            ("checkpoint_fullfsync", "yes"),
            ("cipher", "none"),
            ("checkpoint", "commit"),
        ]),
        numbers(&[
            ("page_size_bytes", 16_384),
            ("cache_size_bytes", 64 << 20),
            ("mmap_size_bytes", 256 << 20),
            ("wal_autocheckpoint_pages", 77),
            ("busy_timeout_ms", 1234),
        ]),
    ]
    .into_iter()
    .flatten()
    .collect();
    for program in SQLITE {
        let mut settings = settings.clone();
        if program == PLAIN {
            settings.extend(words(&[("statement_cache", "none")]));
        }
        assert_eq!(asked(program, &settings), settings, "{program}");
    }
}

#[test]
fn each_journal_mode_and_each_synchronous_is_told_by_its_word() {
    for journal_mode in ["delete", "truncate", "persist", "memory", "off", "wal"] {
        for synchronous in ["off", "normal", "full", "extra"] {
            let settings = words(&[("journal_mode", journal_mode), ("synchronous", synchronous)]);
            let took_effect = asked(env!("CARGO_BIN_EXE_rusqlite"), &settings);
            assert!(
                settings.iter().all(|asked| took_effect.iter().any(|told| told == asked)),
                "{took_effect:?}"
            );
        }
    }
}

#[test]
fn a_page_size_that_comes_too_late_is_told_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_rusqlite");
    Session::start(program, &[]).open(open(directory.path(), true, &words(&[("journal_mode", "wal")])));
    let settings = numbers(&[("page_size_bytes", 16_384)]);
    let took_effect = Session::start(program, &[]).open(open(directory.path(), false, &settings));
    assert_eq!(took_effect["page_size_bytes"], Setting::Number(4096));
}

/// Makes a database, changes its page size and its journal on another connection, and opens it again.
fn changed_behind_its_back(program: &str) -> Settings {
    let directory = tempfile::tempdir().unwrap();
    let asked = words(&[("journal_mode", "wal")]);
    Session::start(program, &[]).open(open(directory.path(), true, &asked));
    let another = rusqlite::Connection::open(directory.path().join("benchmark.sqlite")).unwrap();
    // Of a database with a log the page size stays.
    another.execute_batch("pragma journal_mode = delete; pragma page_size = 16384; vacuum").unwrap();
    drop(another);
    // An old wish for a page size comes too late, and of the journal nothing is asked.
    let late = numbers(&[("page_size_bytes", 4096)]);
    Session::start(program, &[]).open(open(directory.path(), false, &late))
}

#[test]
fn what_was_changed_behind_a_drivers_back_is_told() {
    for program in SQLITE {
        let told = changed_behind_its_back(program);
        assert_eq!(told["page_size_bytes"], Setting::Number(16_384), "{program}");
        assert_eq!(told["journal_mode"], Setting::from("delete"), "{program}");
    }
    let repeated = changed_behind_its_back(env!("CARGO_BIN_EXE_canary-echo"));
    assert_eq!(repeated, numbers(&[("page_size_bytes", 4096)]), "who repeats does not see it");
}

#[test]
fn what_the_engine_takes_another_value_for_is_told_as_that() {
    // A map of the file has an upper bound, a page has a power of two bytes, and a cache has whole KiB.
    let settings = numbers(&[
        ("mmap_size_bytes", 1 << 40),
        ("page_size_bytes", 5_000),
        ("cache_size_bytes", (1 << 20) + 1_000),
    ]);
    for program in SQLITE {
        let told = asked(program, &settings);
        assert_eq!(told["mmap_size_bytes"], Setting::Number(0x7fff_0000), "{program}");
        assert_eq!(told["page_size_bytes"], Setting::Number(4096), "{program}");
        assert_eq!(told["cache_size_bytes"], Setting::Number(1 << 20), "{program}");
    }
}

#[test]
fn checkpoints_in_the_background_are_for_the_drivers_that_have_the_thread() {
    let settings = words(&[("journal_mode", "wal"), ("checkpoint", "background")]);
    for (program, checkpoint, pages) in [
        (env!("CARGO_BIN_EXE_sqlite-c"), "background", 0),
        (env!("CARGO_BIN_EXE_rusqlite"), "background", 0),
        (PLAIN, "commit", 1000),
        (env!("CARGO_BIN_EXE_diesel"), "commit", 1000),
    ] {
        let took_effect = asked(program, &settings);
        assert_eq!(took_effect["checkpoint"], Setting::from(checkpoint), "{program}");
        assert_eq!(took_effect["wal_autocheckpoint_pages"], Setting::Number(pages), "{program}");
    }
}

#[test]
fn the_forgetful_canary_is_found_out() {
    let settings = words(&[("journal_mode", "wal"), ("synchronous", "full")]);
    let took_effect = asked(env!("CARGO_BIN_EXE_canary-forgetful"), &settings);
    assert_eq!(took_effect["journal_mode"], Setting::from("wal"));
    assert_eq!(took_effect["synchronous"], Setting::from("normal"));
}

#[test]
fn a_notion_that_the_subject_does_not_have_is_left_out() {
    let asked_for = words(&[("journal_mode", "wal"), ("durability", "none")]);
    let took_effect = asked(env!("CARGO_BIN_EXE_redb"), &asked_for);
    assert_eq!(took_effect, words(&[("durability", "none")]));
    assert!(!asked(env!("CARGO_BIN_EXE_rusqlite"), &asked_for).contains_key("durability"));
}

#[test]
fn a_value_without_meaning_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for program in SQLITE {
        for settings in [
            words(&[("journal_mode", "wall")]),
            words(&[("page_size_bytes", "big")]),
            words(&[("fullfsync", "1")]),
        ] {
            match Session::start(program, &[]).ask(&open(directory.path(), true, &settings)) {
                Reply::Error(failure) => assert_eq!(failure.kind, FailureKind::Unsupported, "{failure}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
