//! Every contender whose tables can have types of their own keeps of an object what the type of its table has, and stores
//! nothing else of it.

mod contenders;
mod lab;

use contenders::{Contender, contenders};
use lab::{Session, lane};
use std::fs;
use tempfile::TempDir;
use touchstone_protocol::{
    Colour, Content, Digest, Doc, FailureKind, Lane, Position, RecordKind, Reply, Request, Schema,
    TYPED_TABLES, Verb, write_dataset,
};

/// Objects for each table.
const SHARE: u64 = 50;

/// A third has a text; what another third has would be most of any file.
fn doc(number: u64) -> Doc {
    Doc {
        title: format!("title{number}"),
        tag: format!("tag{number}"),
        position: Position { x: number as f32, y: -0.1, z: f32::MAX },
        colour: Colour::from_number((number % 3) as u8).unwrap(),
        content: match number % 3 {
            0 => Content::Images(vec!["image".repeat(3000)]),
            1 => Content::None,
            _ => Content::Text(format!("text{number}")),
        },
        priority: (!number.is_multiple_of(5)).then_some(number as i64),
    }
}

/// What a table must answer of its share.
fn kept(table: u32) -> (u64, String) {
    let from = u64::from(table - 1) * SHARE;
    let mut docs: Vec<Doc> = (from..from + SHARE).map(|number| doc(number).kept_in(table)).collect();
    docs.sort_by(|one, other| one.title.cmp(&other.title));
    (SHARE, Digest::of(&docs).to_string())
}

struct Scene {
    folder: TempDir,
    session: Session,
}

impl Scene {
    /// A database with four empty tables that were used before.
    fn new(contender: &Contender, typed: bool) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let docs: Vec<Doc> = (0..u64::from(TYPED_TABLES) * SHARE).map(doc).collect();
        let dataset = folder.path().join("docs");
        write_dataset(&dataset, &docs).unwrap();
        let directory = folder.path().join("database");
        fs::create_dir(&directory).unwrap();
        let mut session = Session::start(&contender.program, &[]);
        let record = RecordKind::Doc;
        let prepare =
            Request::Prepare { record, dataset, operations: None, states: None, subscriptions: None };
        assert!(matches!(session.ask(&prepare), Reply::Prepare { .. }));
        let schema = Schema { create: true, tables: TYPED_TABLES, typed, ..Schema::default() };
        session.open(Request::Open { directory, record, schema, settings: contender.settings.clone() });
        Scene { folder, session }
    }

    fn churn(&mut self) {
        for table in 1..=TYPED_TABLES {
            let churn = Request::Churn { from: 0, count: SHARE, table, times: 2 };
            assert_eq!(self.session.ask(&churn), Reply::Churn);
        }
    }

    /// One lane for each table, as an application has a thread for each type. Who cannot wait for another is told so, and
    /// comes again alone.
    fn insert(&mut self) {
        let insert =
            |table: u32| Lane { table, ..lane(Verb::InsertMany, u64::from(table - 1) * SHARE, SHARE) };
        let lanes: Vec<Lane> = (1..=TYPED_TABLES).map(insert).collect();
        let sample = self.session.run(&lanes);
        for (lane, sample) in lanes.into_iter().zip(sample.lanes) {
            if sample.errors.is_empty() {
                assert_eq!(sample.answers, SHARE);
            } else {
                assert!(sample.errors.contains_key("busy"), "{sample:?}");
                assert_eq!(self.session.run(&[lane]).lanes[0].answers, SHARE);
            }
        }
    }

    fn check(&mut self) {
        for table in 1..=TYPED_TABLES {
            let (answers, digest) = kept(table);
            assert_eq!(self.session.ask(&Request::Check { table }), Reply::Check { answers, digest });
        }
    }

    fn delete(&mut self) {
        for table in 1..=TYPED_TABLES {
            let sample = self.session.run(&[Lane { table, ..lane(Verb::DeleteMany, 0, 1) }]);
            let lane = &sample.lanes[0];
            assert_eq!((lane.answers, lane.digest.clone()), kept(table), "{lane:?}");
            let empty = Reply::Check { answers: 0, digest: Digest::default().to_string() };
            assert_eq!(self.session.ask(&Request::Check { table }), empty);
        }
    }

    /// Closes the database, and tells how many bytes it has on the disk.
    fn size_bytes(&mut self) -> u64 {
        assert_eq!(self.session.ask(&Request::Close), Reply::Close);
        let files = fs::read_dir(self.folder.path().join("database")).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    }
}

#[test]
fn tables_with_types_of_their_own_keep_what_their_types_have() {
    let mut asked = 0;
    for contender in &contenders() {
        let capabilities = Session::start(&contender.program, &[]).hello().capabilities;
        if !capabilities.contains(&"doc.typed".to_owned()) {
            continue;
        }
        eprintln!("{} with {:?}", contender.subject, contender.settings);
        let mut typed = Scene::new(contender, true);
        typed.churn();
        typed.insert();
        typed.check();
        typed.delete();
        let sizes = [true, false].map(|typed| {
            let mut scene = Scene::new(contender, typed);
            scene.insert();
            scene.size_bytes()
        });
        assert!(2 * sizes[0] < sizes[1], "{sizes:?} bytes, with and without types");
        asked += 1;
    }
    assert!(asked >= 5, "only {asked} contenders have typed tables");
}

#[test]
fn who_has_no_types_refuses_them() {
    for contender in &contenders() {
        let mut session = Session::start(&contender.program, &[]);
        let capabilities = session.hello().capabilities;
        if capabilities.contains(&"doc.typed".to_owned()) || !capabilities.contains(&"doc.get".to_owned()) {
            continue;
        }
        let schema = Schema { create: true, tables: TYPED_TABLES, typed: true, ..Schema::default() };
        let folder = tempfile::tempdir().unwrap();
        let (directory, record) = (folder.path().to_owned(), RecordKind::Doc);
        let settings = contender.settings.clone();
        match session.ask(&Request::Open { directory, record, schema, settings }) {
            Reply::Error(failure) => {
                assert_eq!(failure.kind, FailureKind::Unsupported);
                assert!(failure.message.contains("doc.typed"), "{failure}");
            }
            other => panic!("{}: {other:?}", contender.subject),
        }
    }
}
