//! The driver answers every get with the right record, counts hits and misses, and tells what is wrong with a file or a
//! setting.

#[path = "../../drivers/tests/conversation/mod.rs"]
mod conversation;
#[path = "../../drivers/tests/lab/mod.rs"]
mod lab;

use lab::{Session, lane};
use pool::page::Page;
use pool::policy::Policy;
use pool::ring::Ring;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use touchstone_protocol::{
    Digest, Failure, FailureKind, RecordKind, Reply, Request, Row, Schema, Setting, Settings, Verb,
    write_dataset, write_operations,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_page-pool");
const ROWS: u64 = 300;

fn rows() -> Vec<Row> {
    (0..ROWS as i64).map(|key| Row { key, value: key.to_le_bytes().repeat(2) }).collect()
}

/// Gets that go round all rows by sevens.
fn gets() -> Vec<u32> {
    (0..2000_u64).map(|get| (get * 7 % ROWS) as u32).collect()
}

fn settings(pairs: &[(&str, Setting)]) -> Settings {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// A driver that has prepared rows and gets.
fn prepared(folder: &Path) -> Session {
    let path = |name: &str| folder.join(name);
    write_dataset(&path("rows"), &rows()).unwrap();
    write_operations(&path("gets"), &gets()).unwrap();
    let mut session = Session::start(PROGRAM, &[]);
    session.hello();
    session.ask(&Request::Prepare {
        record: RecordKind::Row,
        dataset: path("rows"),
        operations: Some(path("gets")),
        states: None,
        subscriptions: None,
    });
    session
}

fn open(folder: &Path, create: bool, settings: Settings) -> Request {
    Request::Open {
        directory: folder.to_owned(),
        record: RecordKind::Row,
        schema: Schema { create, tables: 1, indexes: Vec::new(), ..Schema::default() },
        settings,
    }
}

fn refused(reply: Reply) -> Failure {
    match reply {
        Reply::Error(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_speaks_the_golden_conversations_that_it_has_the_verbs_for() {
    conversation::play_all(PROGRAM, 4);
    conversation::play_all(env!("CARGO_BIN_EXE_page-file"), 6);
}

/// The kit's table tells the lab before a run what the programs can do.
#[test]
fn the_kits_table_says_what_the_programs_can_do_and_of_what_size_a_page_is() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("kit.toml");
    let table = fs::read_to_string(table).unwrap();
    let programs =
        [PROGRAM, env!("CARGO_BIN_EXE_page-pool-scan"), env!("CARGO_BIN_EXE_page-file")].map(Path::new);
    for program in programs {
        let name = program.file_name().unwrap().to_str().unwrap();
        let row =
            table.split("[[subject]]").find(|row| row.contains(&format!("\nname = \"{name}\"\n"))).unwrap();
        let told = row.lines().find_map(|line| line.strip_prefix("capabilities = ")).unwrap();
        let told: Vec<String> = serde_json::from_str(told).unwrap();
        assert_eq!(told, Session::start(program.to_str().unwrap(), &[]).hello().capabilities, "{name}");
        let page = format!("\npage = {{ bytes = 4096, overhead_bytes = {} }}\n", Page::OVERHEAD);
        assert!(row.contains(&page), "{name}: {page}");
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::start(program.to_str().unwrap(), &[]);
        session.hello();
        let settings = session.open(open(folder.path(), true, Settings::new()));
        assert_eq!(settings["page_size_bytes"], Setting::Number(4096), "{name}");
    }
}

#[test]
fn every_policy_answers_every_get_and_counts_it_once() {
    for policy in Policy::NAMES {
        let folder = tempfile::tempdir().unwrap();
        let mut session = prepared(folder.path());
        let asked = settings(&[
            ("policy", policy.into()),
            ("pool_pages", Setting::Number(50)),
            ("page_size_bytes", Setting::Number(1024)),
        ]);
        let told = session.open(open(folder.path(), true, asked.clone()));
        assert_eq!(told, asked, "what took effect");
        assert_eq!(session.ask(&Request::Fill { from: 0, count: ROWS, table: 1 }), Reply::Fill);
        let rows = rows();
        let right = Digest::of(gets().iter().map(|get| &rows[*get as usize])).to_string();
        let mut counted: Vec<BTreeMap<String, i64>> = Vec::new();
        for _ in 0..2 {
            assert_eq!(session.ask(&Request::Close), Reply::Close);
            session.open(open(folder.path(), false, asked.clone()));
            let Reply::Explain(plan) =
                session.ask(&Request::Explain { lanes: vec![lane(Verb::Get, 0, 2000)] })
            else {
                panic!("{policy} counts nothing");
            };
            assert_eq!(plan.counters.values().sum::<i64>(), 2000, "{policy}");
            counted.push(plan.counters);
            let sample = session.run(&[lane(Verb::Get, 0, 2000)]);
            assert_eq!((sample.lanes[0].answers, &sample.lanes[0].digest), (2000, &right), "{policy}");
        }
        assert_eq!(counted[0], counted[1], "{policy} hits the same pages each time");
    }
}

#[test]
fn what_it_cannot_do_is_told_with_the_setting_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = prepared(folder.path());
    let mut refusal = |name: &str, value: Setting| {
        let failure = refused(session.ask(&open(folder.path(), true, settings(&[(name, value)]))));
        assert_eq!(failure.kind, FailureKind::Unsupported);
        assert!(failure.message.starts_with(&format!("setting {name}: ")), "{failure}");
        failure.message
    };
    assert!(refusal("pool_pages", Setting::Number(0)).contains("a page or more"));
    assert!(refusal("pool_pages", Setting::Number(i64::MAX)).contains("this machine has"));
    assert!(refusal("page_size_bytes", Setting::Number(100)).contains("512 to 65536"));
    assert!(refusal("policy", "mru".into()).contains("w-tinylfu"));
    assert!(!folder.path().join("pages.data").exists(), "nothing is left behind");
}

#[test]
fn a_damaged_page_and_a_file_that_was_cut_off_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = prepared(folder.path());
    session.open(open(folder.path(), true, Settings::new()));
    assert_eq!(session.ask(&Request::Fill { from: 0, count: ROWS, table: 1 }), Reply::Fill);
    assert_eq!(session.ask(&Request::Close), Reply::Close);
    let file = folder.path().join("pages.data");
    let mut bytes = fs::read(&file).unwrap();
    bytes[7 * 4096 + 2000] ^= 1;
    fs::write(&file, &bytes).unwrap();
    session.open(open(folder.path(), false, Settings::new()));
    let sample = session.run(&[lane(Verb::Get, 0, 2)]);
    assert_eq!(sample.lanes[0].errors, BTreeMap::from([("corrupt".to_owned(), 1)]), "row 7 is got second");
    assert_eq!(session.ask(&Request::Close), Reply::Close);
    fs::write(&file, &bytes[..bytes.len() - 100]).unwrap();
    let failure = refused(session.ask(&open(folder.path(), false, Settings::new())));
    assert_eq!(failure.kind, FailureKind::Corrupt);
    assert!(failure.message.contains("cut off"), "{failure}");
}

#[test]
fn every_way_to_a_file_reads_what_every_other_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write_dataset(&path("rows"), &rows()).unwrap();
    write_operations(&path("all"), &(0..ROWS as u32).collect::<Vec<_>>()).unwrap();
    let right = Digest::of(rows().iter()).to_string();
    let ways = ways();
    for way in &ways {
        let place = path(way);
        fs::create_dir(&place).unwrap();
        let mut session = Session::start(env!("CARGO_BIN_EXE_page-file"), &[]);
        session.hello();
        session.ask(&Request::Prepare {
            record: RecordKind::Row,
            dataset: path("rows"),
            operations: Some(path("all")),
            states: None,
            subscriptions: None,
        });
        let asked = session_settings(way);
        assert_eq!(session.open(open(&place, true, asked.clone())), asked);
        assert_eq!(session.ask(&Request::Fill { from: 0, count: 100, table: 1 }), Reply::Fill);
        let inserted = session.run(&[lane(Verb::InsertOne, 100, ROWS - 100)]);
        assert_eq!(inserted.lanes[0].answers, ROWS - 100, "{way}");
        for reader in &ways {
            assert_eq!(session.ask(&Request::Close), Reply::Close);
            let asked = settings(&[("page_access", (*reader).into())]);
            session.open(open(&place, false, asked));
            let sample = session.run(&[lane(Verb::Get, 0, ROWS)]);
            assert_eq!(
                (sample.lanes[0].answers, &sample.lanes[0].digest),
                (ROWS, &right),
                "{way} by {reader}"
            );
        }
        let checked = session.ask(&Request::Check { table: 1 });
        assert!(matches!(checked, Reply::Check { answers: ROWS, .. }), "{checked:?}");
    }
}

/// All ways that this system has: io_uring is often refused, which the driver then says.
fn ways() -> Vec<&'static str> {
    let mut ways = vec!["buffered", "flushed", "direct", "reopened"];
    match Ring::new() {
        Ok(_) => ways.push("uring"),
        Err(failure) => {
            assert_eq!(failure.kind, FailureKind::Unsupported, "{failure}");
            eprintln!("not tested: {failure}");
        }
    }
    ways
}

fn session_settings(way: &str) -> Settings {
    settings(&[("page_access", way.into()), ("page_size_bytes", Setting::Number(4096))])
}

#[test]
fn a_file_system_without_direct_reads_is_told() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut session = Session::start(env!("CARGO_BIN_EXE_page-file"), &[]);
    session.hello();
    let direct = settings(&[("page_access", "direct".into())]);
    match session.ask(&open(folder.path(), true, direct)) {
        // Newer kernels have them on tmpfs too.
        Reply::Open(_) => assert_eq!(session.ask(&Request::Close), Reply::Close),
        Reply::Error(failure) => assert!(failure.message.contains("has no direct reads"), "{failure}"),
        other => panic!("{other:?}"),
    }
    let uneven = settings(&[("page_access", "direct".into()), ("page_size_bytes", Setting::Number(512))]);
    let failure = refused(session.ask(&open(folder.path(), true, uneven)));
    assert!(failure.message.contains("multiple of 4096"), "{failure}");
}

/// `/dev/full` has room for nothing.
#[test]
fn a_disk_that_is_full_is_told_as_such_and_by_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = prepared(folder.path());
    std::os::unix::fs::symlink("/dev/full", folder.path().join("pages.data")).unwrap();
    session.open(open(folder.path(), false, Settings::new()));
    let failure = refused(session.ask(&Request::Fill { from: 0, count: ROWS, table: 1 }));
    assert_eq!(failure.kind, FailureKind::Full);
    assert!(failure.message.contains("pages.data"), "{failure}");
}

#[test]
fn a_value_fills_a_page_to_its_last_byte_and_no_further() {
    for (bytes, fits) in [(1024 - 16, true), (1024 - 15, false)] {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<Row> = (0..20).map(|key| Row { key, value: vec![key as u8; bytes] }).collect();
        write_dataset(&folder.path().join("rows"), &rows).unwrap();
        write_operations(&folder.path().join("gets"), &[19, 0, 7]).unwrap();
        let mut session = Session::start(PROGRAM, &[]);
        session.hello();
        session.ask(&Request::Prepare {
            record: RecordKind::Row,
            dataset: folder.path().join("rows"),
            operations: Some(folder.path().join("gets")),
            states: None,
            subscriptions: None,
        });
        let asked =
            settings(&[("page_size_bytes", Setting::Number(1024)), ("pool_pages", Setting::Number(1))]);
        session.open(open(folder.path(), true, asked));
        let filled = session.ask(&Request::Fill { from: 0, count: 20, table: 1 });
        if !fits {
            assert!(refused(filled).message.contains("room for 1008"));
            continue;
        }
        assert_eq!(filled, Reply::Fill);
        let right = Digest::of([19, 0, 7].iter().map(|row| &rows[*row])).to_string();
        let sample = session.run(&[lane(Verb::Get, 0, 3)]);
        assert_eq!((sample.lanes[0].answers, &sample.lanes[0].digest), (3, &right));
    }
}
