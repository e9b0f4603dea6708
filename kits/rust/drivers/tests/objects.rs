//! Every contender that stores objects finds, updates and deletes them as an ordered map does, in tables of their own,
//! on pages that were used before.

mod contenders;
mod lab;

use contenders::{Contender, contenders};
use lab::{Session, lane};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use touchstone_protocol::{
    Colour, Content, Digest, Doc, FailureKind, Lane, Position, RecordKind, Reply, Request, Schema, Verb,
    write_dataset,
};

const DOCS: u64 = 120;
/// How many of them are stored beforehand, half in each of two tables.
const FILLED: u64 = 80;
const ABOVE: i64 = 15;

/// What must be in a table.
type Oracle = BTreeMap<String, Doc>;

fn doc(number: u64) -> Doc {
    let signed = number as i64;
    let (content, priority) = match number % 3 {
        0 => (
            Content::Images((0..number % 4).map(|image| "görlitz".repeat(33 * image as usize)).collect()),
            Some(60 - signed),
        ),
        1 => (Content::None, Some(signed - 60)),
        _ => (Content::Text(format!("text \"{number}\"")), None),
    };
    Doc {
        title: format!("title{number}"),
        tag: format!("tag{number}"),
        position: Position { x: number as f32 / 3.0, y: -0.1, z: f32::MAX },
        colour: Colour::from_number((number % 3) as u8).unwrap(),
        content,
        priority,
    }
}

/// Another object with the same title: every other field differs in one state or another.
fn state(number: u64) -> Doc {
    Doc { title: format!("title{number}"), tag: "new".into(), ..doc(number + 1) }
}

fn digest(docs: &[Doc]) -> (u64, String) {
    let mut docs = docs.to_vec();
    docs.sort_by(|one, other| one.title.cmp(&other.title));
    (docs.len() as u64, Digest::of(&docs).to_string())
}

fn contents(oracle: &Oracle) -> (u64, String) {
    digest(&oracle.values().cloned().collect::<Vec<Doc>>())
}

fn above(oracle: &Oracle) -> (u64, String) {
    let found = oracle.values().filter(|doc| doc.priority.is_some_and(|priority| priority > ABOVE));
    digest(&found.cloned().collect::<Vec<Doc>>())
}

/// A contender with two tables of objects.
struct Scene {
    folder: TempDir,
    session: Session,
    first: Oracle,
    second: Oracle,
}

impl Scene {
    fn new(contender: &Contender) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let docs: Vec<Doc> = (0..DOCS).map(doc).collect();
        let states: Vec<Doc> = (0..FILLED).map(state).collect();
        write_dataset(&folder.path().join("docs"), &docs).unwrap();
        write_dataset(&folder.path().join("states"), &states).unwrap();
        fs::create_dir(folder.path().join("database")).unwrap();
        let half = |from: u64| (from..from + FILLED / 2).map(|number| (doc(number).title, doc(number)));
        let (first, second) = (half(0).collect(), half(FILLED / 2).collect());
        let session = Session::start(&contender.program, &[]);
        let mut scene = Scene { folder, session, first, second };
        let prepare = Request::Prepare {
            record: RecordKind::Doc,
            dataset: scene.path("docs"),
            operations: None,
            states: Some(scene.path("states")),
            subscriptions: None,
        };
        let prepared = Reply::Prepare { records: DOCS, operations: DOCS, states: FILLED, subscriptions: 0 };
        assert_eq!(scene.session.ask(&prepare), prepared);
        scene.open(contender, true);
        for table in [1, 2] {
            let churn = Request::Churn { from: 0, count: DOCS, table, times: 2 };
            assert_eq!(scene.session.ask(&churn), Reply::Churn);
            let from = u64::from(table - 1) * (FILLED / 2);
            let fill = Request::Fill { from, count: FILLED / 2, table };
            assert_eq!(scene.session.ask(&fill), Reply::Fill);
        }
        scene.check();
        assert_eq!(scene.session.ask(&Request::Close), Reply::Close);
        scene.open(contender, false);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&mut self, contender: &Contender, create: bool) {
        let request = |field: &str| Request::Open {
            directory: self.path("database"),
            record: RecordKind::Doc,
            schema: Schema { create, tables: 3, indexes: vec![field.into()], ..Schema::default() },
            settings: contender.settings.clone(),
        };
        let (by_tag, by_key) = (request("tag"), request("title"));
        match self.session.ask(&by_tag) {
            Reply::Open(_) => {}
            // A library whose indexes are declared with its types makes none when it is asked, and says so.
            Reply::Error(failure) => {
                assert!(
                    failure.kind == FailureKind::Unsupported && failure.message.contains("`tag`"),
                    "{failure}"
                );
                self.session.open(by_key);
            }
            other => panic!("{other:?}"),
        }
    }

    /// Both tables hold what they must, and the third nothing.
    fn check(&mut self) {
        let expected = [contents(&self.first), contents(&self.second), digest(&[])];
        for (table, (answers, digest)) in (1..).zip(expected) {
            assert_eq!(
                self.session.ask(&Request::Check { table }),
                Reply::Check { answers, digest },
                "table {table}"
            );
        }
    }

    /// Runs lanes that must not fail, and returns each one's answer.
    fn run(&mut self, lanes: &[Lane]) -> Vec<(u64, String)> {
        let sample = self.session.run(lanes);
        assert!(sample.lanes.iter().all(|lane| lane.errors.is_empty()), "{sample:?}");
        sample.lanes.into_iter().map(|lane| (lane.answers, lane.digest)).collect()
    }

    fn find(&mut self) {
        let find = |table| Lane { table, above: Some(ABOVE), ..lane(Verb::Find, 0, 1) };
        let expected = [above(&self.first), above(&self.second)];
        assert!(expected.iter().all(|(found, _)| *found > 0), "{expected:?}");
        assert_eq!(self.run(&[find(1), find(2)]), expected);
        let all = Lane { count: 3, above: Some(i64::from(i32::MIN)), ..find(1) };
        let with_priority = self.first.values().filter(|doc| doc.priority.is_some()).count();
        assert_eq!(self.run(&[all])[0].0, 3 * with_priority as u64);
        assert_eq!(self.run(&[Lane { above: Some(5000), ..find(1) }]), [digest(&[])]);
    }

    fn update(&mut self) {
        let none = Digest::default().to_string();
        assert_eq!(self.run(&[lane(Verb::UpdateOne, 3, 20)]), [(20, none.clone())]);
        self.first.extend((3..23).map(|number| (state(number).title, state(number))));
        self.check();
        self.find();
        // The first table has nothing to write over for those of the second.
        assert_eq!(self.run(&[lane(Verb::UpdateOne, FILLED / 2 - 1, 3)]), [(1, none)]);
        let last = FILLED / 2 - 1;
        self.first.insert(state(last).title, state(last));
        let before = contents(&self.second);
        let many = Lane { table: 2, ..lane(Verb::UpdateMany, FILLED / 2, FILLED / 2) };
        assert_eq!(self.run(&[many]), [before]);
        self.second = (FILLED / 2..FILLED).map(|number| (state(number).title, state(number))).collect();
        self.check();
        self.find();
    }

    fn insert_and_delete_side_by_side(&mut self) {
        let insert = |table, from| Lane { table, ..lane(Verb::InsertMany, from, 20) };
        let acknowledged = self.session.run(&[insert(1, FILLED), insert(2, FILLED + 20)]);
        for ((oracle, from), sample) in
            [(&mut self.first, FILLED), (&mut self.second, FILLED + 20)].into_iter().zip(&acknowledged.lanes)
        {
            let busy = sample.errors.get("busy").copied().unwrap_or(0);
            assert_eq!(sample.answers + 20 * busy, 20, "{acknowledged:?}");
            oracle.extend((from..from + sample.answers).map(|number| (doc(number).title, doc(number))));
        }
        self.check();
        let delete = |table| Lane { table, ..lane(Verb::DeleteMany, 0, 1) };
        let expected = contents(&self.second);
        assert_eq!(self.run(&[delete(2)]), [expected]);
        self.second.clear();
        self.check();
        assert_eq!(self.run(&[delete(2)]), [digest(&[])]);
        let title = lane(Verb::Get, 2, 1);
        assert_eq!(self.run(&[title, Lane { table: 2, ..lane(Verb::Get, 2, 1) }])[1].0, 0);
    }

    /// Without an index, and an update by its key.
    fn explain(&mut self) {
        let mut plan = |lane: Lane| match self.session.ask(&Request::Explain { lanes: vec![lane] }) {
            Reply::Explain(plan) => plan.plan.join("; "),
            other => panic!("{other:?}"),
        };
        let find = plan(Lane { above: Some(ABOVE), ..lane(Verb::Find, 0, 1) });
        assert!(find.contains("SCAN") && !find.contains("INDEX"), "{find}");
        let get = plan(lane(Verb::Get, 0, 1));
        let by_key = get.contains("INDEX") || get.contains("PRIMARY KEY");
        assert!(by_key && !get.contains("SCAN"), "{get}");
    }
}

#[test]
fn contenders_agree_about_objects() {
    let mut asked = 0;
    for contender in &contenders() {
        let mut hello = Session::start(&contender.program, &[]);
        let capabilities = hello.hello().capabilities;
        if !capabilities.iter().any(|capability| capability.starts_with("doc.")) {
            continue;
        }
        eprintln!("{} with {:?}", contender.subject, contender.settings);
        let verbs = Verb::OF_OBJECTS.map(|verb| format!("doc.{verb}"));
        assert!(verbs.iter().all(|verb| capabilities.contains(verb)), "{capabilities:?}");
        assert!(capabilities.contains(&"doc.tables".to_owned()), "{capabilities:?}");
        let mut scene = Scene::new(contender);
        scene.find();
        scene.update();
        scene.insert_and_delete_side_by_side();
        scene.explain();
        asked += 1;
    }
    assert!(2 * asked > contenders().len(), "only {asked} contenders store objects");
}

#[test]
fn what_an_object_lane_lacks_is_said() {
    let contenders = contenders();
    let one = contenders.iter().find(|contender| ["rusqlite", "store"].contains(&contender.subject.as_str()));
    let mut scene = Scene::new(one.unwrap());
    let mut refused = |lane: Lane, kind: FailureKind, part: &str| match scene
        .session
        .ask(&Request::Explain { lanes: vec![lane] })
    {
        Reply::Error(failure) => assert!(failure.kind == kind && failure.message.contains(part), "{failure}"),
        other => panic!("{other:?}"),
    };
    refused(lane(Verb::Find, 0, 1), FailureKind::Protocol, "needs `above`");
    refused(lane(Verb::UpdateOne, FILLED, 1), FailureKind::Protocol, "there are 80");
    refused(Lane { table: 0, ..lane(Verb::Get, 0, 1) }, FailureKind::Protocol, "numbered from 1");
    refused(
        Lane { table: 9, ..lane(Verb::ReadAll, 0, 1) },
        FailureKind::Protocol,
        "table 9 was asked for; the 3",
    );
}
