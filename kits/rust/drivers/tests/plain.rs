//! What makes `rusqlite-plain` the plain wrapper of the published page: which statements it keeps, and how it meets a
//! database that somebody else is writing to.

mod lab;

use lab::{Session, lane};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use tempfile::TempDir;
use touchstone_protocol::{
    LaneSample, RecordKind, Reply, Request, Row, Run, Sample, Schema, Setting, Settings, Verb, write_dataset,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rusqlite-plain");
const ROWS: u64 = 20;

/// A driver with a fresh database open and rows to insert.
struct Scene {
    folder: TempDir,
    session: Session,
}

impl Scene {
    fn new(settings: &[(&str, Setting)]) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<Row> = (0..ROWS as i64).map(|key| Row { key, value: vec![7; 100] }).collect();
        write_dataset(&folder.path().join("dataset"), &rows).unwrap();
        let mut session = Session::start(PROGRAM, &[]);
        let prepared = session.ask(&Request::Prepare {
            record: RecordKind::Row,
            dataset: folder.path().join("dataset"),
            operations: None,
            states: None,
            subscriptions: None,
        });
        assert!(matches!(prepared, Reply::Prepare { .. }), "{prepared:?}");
        let settings: Settings =
            settings.iter().map(|(name, setting)| ((*name).to_owned(), setting.clone())).collect();
        let took_effect = session.open(open(folder.path(), settings.clone()));
        assert!(settings.iter().all(|asked| took_effect.iter().any(|told| told == asked)), "{took_effect:?}");
        Scene { folder, session }
    }

    /// How many statements were run for the first time while rows were inserted, of how many.
    fn first_runs(&mut self, verb: Verb, from: u64, count: u64) -> (i64, i64) {
        match self.session.ask(&Request::Explain { lanes: vec![lane(verb, from, count)] }) {
            Reply::Explain(plan) => (plan.counters["first_runs"], plan.counters["statements"]),
            other => panic!("{other:?}"),
        }
    }

    /// Another program that is writing to the database until it is dropped.
    fn writer(&self) -> Connection {
        let file: PathBuf = self.folder.path().join("benchmark.sqlite");
        let connection = Connection::open(file).unwrap();
        connection.execute_batch("begin immediate; insert into benchmark values (-1, x'00')").unwrap();
        connection
    }
}

fn open(directory: &Path, settings: Settings) -> Request {
    let schema = Schema { create: true, tables: 1, indexes: Vec::new(), ..Schema::default() };
    // The dataset lies in the folder too, which no driver minds.
    Request::Open { directory: directory.to_owned(), record: RecordKind::Row, schema, settings }
}

fn lane_of(sample: &Sample) -> &LaneSample {
    let [lane] = sample.lanes.as_slice() else { panic!("{sample:?}") };
    lane
}

#[test]
fn a_batch_keeps_its_statement_and_a_single_insert_does_not() {
    let mut scene = Scene::new(&[]);
    // `begin` and `commit` ask for no record and are not counted.
    assert_eq!(scene.first_runs(Verb::InsertMany, 0, 10), (1, 10));
    assert_eq!(scene.first_runs(Verb::InsertOne, 10, 10), (10, 10));
}

#[test]
fn without_a_cache_every_row_of_a_batch_is_prepared() {
    let mut scene = Scene::new(&[("statement_cache", Setting::from("none"))]);
    assert_eq!(scene.first_runs(Verb::InsertMany, 0, 10), (10, 10));
}

#[test]
fn a_writer_that_waited_in_vain_is_refused() {
    let mut scene = Scene::new(&[("busy_timeout_ms", Setting::from(20))]);
    let other = scene.writer();
    for verb in [Verb::InsertOne, Verb::InsertMany] {
        let sample = scene.session.run(&[lane(verb, 0, 1)]);
        assert_eq!((lane_of(&sample).answers, lane_of(&sample).errors["busy"]), (0, 1), "{verb}");
    }
    drop(other);
    let sample = scene.session.run(&[lane(Verb::InsertMany, 0, 5)]);
    assert_eq!((lane_of(&sample).answers, lane_of(&sample).errors.len()), (5, 0));
}

#[test]
fn a_writer_waits_for_the_other_one() {
    let mut scene = Scene::new(&[("busy_timeout_ms", Setting::from(60_000))]);
    let other = scene.writer();
    scene.session.request(&Request::Run(Run::of(vec![lane(Verb::InsertMany, 0, 5)])));
    // Who does not wait answers within this; on a machine that is too busy for that, the test sees less, not more.
    let early = scene.session.hear(Duration::from_millis(100));
    assert_eq!(early, Err(RecvTimeoutError::Timeout));
    other.execute_batch("rollback").unwrap();
    let line = scene.session.hear(Duration::from_secs(60)).unwrap().expect("the driver still runs");
    match serde_json::from_str(&line).unwrap() {
        Reply::Run(sample) => assert_eq!(lane_of(&sample).answers, 5),
        other => panic!("{other:?}"),
    }
}
