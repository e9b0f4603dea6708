//! Every contender gives the same answers, whatever its library and its settings: each capability is asked for
//! through the protocol, in a process of its own, and its answers are compared with those worked out here. Objects have
//! verbs that change and delete: `objects.rs` asks for those.

mod contenders;
mod lab;

use contenders::{Contender, contenders};
use lab::{Session, lane};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use touchstone_protocol::{
    Digest, Document, Lane, Record, RecordKind, Reply, Request, Row, Run, Schema, Settings, Verb,
    write_dataset, write_operations,
};

const RECORDS: u64 = 300;
/// How many of them are stored before anything is measured.
const FILLED: u64 = 200;

/// A contender with a dataset prepared and its database open.
struct Scene<R> {
    folder: TempDir,
    session: Session,
    capabilities: Vec<String>,
    settings: Settings,
    records: Vec<R>,
    operations: Vec<u32>,
}

impl<R: Record> Scene<R> {
    /// Makes a template as the lab does, and opens it again.
    fn new(contender: &Contender, record: fn(u64) -> R, indexes: &[&str]) -> Scene<R> {
        let folder = tempfile::tempdir().unwrap();
        let records: Vec<R> = (0..RECORDS).map(record).collect();
        // Those stored before, in an order that jumps about; then the rest, to be inserted.
        let gets = (0..FILLED).map(|number| (number * 77 % FILLED) as u32);
        let operations: Vec<u32> = gets.chain(FILLED as u32..RECORDS as u32).collect();
        write_dataset(&folder.path().join("dataset"), &records).unwrap();
        write_operations(&folder.path().join("operations"), &operations).unwrap();
        fs::create_dir(folder.path().join("database")).unwrap();
        let mut session = Session::start(&contender.program, &[]);
        let capabilities = session.hello().capabilities;
        let settings = contender.settings.clone();
        let mut scene = Scene { folder, session, capabilities, settings, records, operations };
        let prepare = Request::Prepare {
            record: R::KIND,
            dataset: scene.path("dataset"),
            operations: Some(scene.path("operations")),
            states: None,
            subscriptions: None,
        };
        assert_eq!(
            scene.session.ask(&prepare),
            Reply::Prepare { records: RECORDS, operations: RECORDS, states: 0, subscriptions: 0 }
        );
        scene.open(true, indexes);
        assert_eq!(scene.session.ask(&Request::Fill { from: 0, count: FILLED, table: 1 }), Reply::Fill);
        scene.check(FILLED);
        assert_eq!(scene.session.ask(&Request::Close), Reply::Close);
        scene.open(false, indexes);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Opens, and expects that what was asked for took effect. Rows without an index have a key instead.
    fn open(&mut self, create: bool, indexes: &[&str]) {
        let indexes: Vec<String> = indexes.iter().map(|field| (*field).to_owned()).collect();
        let took_effect = self.session.open(Request::Open {
            directory: self.path("database"),
            record: R::KIND,
            schema: Schema { create, tables: 3, keyed: indexes.is_empty(), indexes, ..Schema::default() },
            settings: self.settings.clone(),
        });
        for (name, asked) in &self.settings {
            assert_eq!(took_effect.get(name), Some(asked), "{name}");
        }
    }

    /// The first `count` records are there, and no others.
    fn check(&mut self, count: u64) {
        let mut expected = self.records[..count as usize].to_vec();
        expected.sort_by(|one, other| one.key().cmp(other.key()));
        let digest = Digest::of(&expected).to_string();
        assert_eq!(self.session.ask(&Request::Check { table: 1 }), Reply::Check { answers: count, digest });
    }

    /// The answers to gets of operations `from..from + count`.
    fn gets(&self, from: usize, count: usize) -> (u64, String) {
        let digest = Digest::of(
            self.operations[from..from + count].iter().map(|operation| &self.records[*operation as usize]),
        );
        (digest.answers(), digest.to_string())
    }

    /// Runs one lane that must not fail, and returns its answers.
    fn run(&mut self, lane: Lane) -> (u64, String) {
        let sample = self.session.run(&[lane]);
        let [lane] = sample.lanes.as_slice() else { panic!("{sample:?}") };
        assert!(lane.errors.is_empty(), "{lane:?}");
        assert_eq!(sample.wall_ns, lane.wall_ns);
        (lane.answers, lane.digest.clone())
    }

    fn read_and_write(&mut self) {
        let none = Digest::default().to_string();
        let gets = self.gets(0, FILLED as usize);
        assert_eq!(self.run(lane(Verb::Get, 0, FILLED)), gets);
        let holds = self.capabilities.contains(&format!("{}.held", R::KIND));
        if holds {
            assert_eq!(self.run(Lane { held: true, ..lane(Verb::Get, 0, FILLED) }), gets);
            assert_eq!(self.run(Lane { held: true, ..lane(Verb::ReadAll, 0, 1) }).0, FILLED);
        }
        // What is not there is no answer and no error.
        assert_eq!(self.run(lane(Verb::Get, FILLED, 10)), (0, none.clone()));
        assert_eq!(self.run(lane(Verb::ReadAll, 0, 2)).0, 2 * FILLED);
        assert_eq!(self.run(lane(Verb::InsertOne, FILLED, 10)), (10, none.clone()));
        assert_eq!(self.run(lane(Verb::InsertMany, FILLED + 10, 40)), (40, none.clone()));
        let opened = self.run(lane(Verb::Open, 0, 3));
        let thrice = |record: &R| Digest::of([record; 3]).to_string();
        assert_eq!(opened.0, 3);
        assert!(
            self.records.iter().any(|record| thrice(record) == opened.1),
            "{opened:?}: one record, three times"
        );
        self.check(FILLED + 50);
        assert_eq!(self.run(lane(Verb::Get, 0, FILLED)), gets);
    }

    /// Two writers at once: what is acknowledged is there, what is not is counted as an error.
    fn write_side_by_side(&mut self) {
        let lanes = [lane(Verb::InsertMany, FILLED + 50, 25), lane(Verb::InsertMany, FILLED + 75, 25)];
        let sample = self.session.run(&lanes);
        let acknowledged: u64 = sample.lanes.iter().map(|lane| lane.answers).sum();
        let busy: u64 = sample.lanes.iter().filter_map(|lane| lane.errors.get("busy")).sum();
        assert_eq!(acknowledged + 25 * busy, 50, "{sample:?}");
        let Reply::Check { answers, .. } = self.session.ask(&Request::Check { table: 1 }) else {
            panic!("no check")
        };
        assert_eq!(answers, FILLED + 50 + acknowledged);
        // A reader beside itself, on the handles that the writers have used.
        let sample = self.session.run(&[lane(Verb::Get, 0, 50), lane(Verb::ReadAll, 0, 1)]);
        assert_eq!((sample.lanes[0].answers, sample.lanes[1].answers), (50, answers));
        assert_eq!(sample.lanes[0].digest, self.gets(0, 50).1);
    }

    /// SQLite answers a get from an index, and a statement that is used again is not prepared again.
    fn explain(&mut self, contender: &Contender) {
        let Reply::Explain(plan) =
            self.session.ask(&Request::Explain { lanes: vec![lane(Verb::Get, 0, 20)] })
        else {
            panic!("no plan")
        };
        let on_sqlite = contender.settings.contains_key("journal_mode");
        let by_key = |line: &String| line.contains("INDEX") || line.contains("PRIMARY KEY");
        assert_eq!(plan.plan.iter().any(by_key), on_sqlite, "{plan:?}");
        if let Some(statements) = plan.counters.get("statements") {
            assert_eq!(
                (*statements, plan.counters["reprepares"], plan.counters["full_scan_steps"]),
                (20, 0, 0)
            );
        }
    }

    fn latency(&mut self) {
        let file = self.path("latency");
        let run = Run {
            latency: Some(file.clone()),
            ..Run::of(vec![lane(Verb::Get, 0, 20), lane(Verb::Get, 20, 30)])
        };
        assert!(matches!(self.session.ask(&Request::Run(run)), Reply::Run(_)));
        assert_eq!(fs::metadata(&file).unwrap().len(), 8 * 50);
    }

    fn leave(mut self) {
        assert_eq!(self.session.ask(&Request::Quit), Reply::Quit);
        assert!(self.session.end().success());
    }
}

fn row(number: u64) -> Row {
    Row { key: number as i64, value: (0..100).map(|index| (number * 31 + index) as u8).collect() }
}

fn document(number: u64) -> Document {
    Document {
        id: format!("bench{number}"),
        revision: 1,
        hash: number.to_le_bytes().repeat(2),
        data: format!("{{\"number\":{number},\"text\":\"größer als {number}\"}}"),
    }
}

#[test]
fn contenders_agree_about_rows() {
    for contender in &contenders() {
        eprintln!("{} with {:?}", contender.subject, contender.settings);
        let mut scene = Scene::new(contender, row, &["key"]);
        scene.read_and_write();
        scene.write_side_by_side();
        scene.explain(contender);
        scene.latency();
        scene.leave();
    }
}

#[test]
fn rows_that_are_got_by_their_key_are_searched_for() {
    for contender in &contenders() {
        eprintln!("{} with {:?}", contender.subject, contender.settings);
        let mut scene = Scene::new(contender, row, &[]);
        scene.read_and_write();
        scene.explain(contender);
        scene.leave();
    }
}

#[test]
fn contenders_agree_about_documents() {
    for contender in &contenders() {
        eprintln!("{} with {:?}", contender.subject, contender.settings);
        let mut scene = Scene::new(contender, document, &["id"]);
        scene.read_and_write();
        scene.write_side_by_side();
        scene.explain(contender);
        scene.latency();
        scene.leave();
    }
}

#[test]
fn contenders_say_who_they_are() {
    for contender in contenders() {
        let hello = Session::start(&contender.program, &[]).hello();
        assert_eq!(hello.subject, contender.subject);
        assert!(hello.version.starts_with(|first: char| first.is_ascii_digit()), "{hello:?}");
        assert_eq!(hello.compile_options.is_empty(), !hello.engine.starts_with("SQLite"), "{hello:?}");
        for record in [RecordKind::Row, RecordKind::Document] {
            for verb in Verb::OF_RECORDS {
                assert!(hello.capabilities.contains(&format!("{record}.{verb}")), "{hello:?}");
            }
        }
    }
}
