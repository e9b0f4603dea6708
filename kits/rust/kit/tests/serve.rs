//! The protocol loop and the timing loop, driven in this process against a driver that keeps a log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use touchstone_kit::{
    About, Driver, Failure, FailureKind, Kit, Open, Plan, Row, Settings, Store, Verb, failure, write_dataset,
};
use touchstone_protocol::{Reply, write_operations};

/// What the handles on each directory were asked, in order.
static LOG: Mutex<BTreeMap<PathBuf, Vec<String>>> = Mutex::new(BTreeMap::new());

/// Refuses this key, as a database that is being written to by another would.
const BUSY_KEY: i64 = 3;

struct Logged {
    directory: PathBuf,
    name: String,
}

impl Logged {
    fn note(&self, what: &str) {
        let line = format!("{} {what}", self.name);
        LOG.lock().unwrap().entry(self.directory.clone()).or_default().push(line);
    }
}

impl Driver for Logged {
    type Error = Failure;
    const HOLDS: bool = true;

    fn open(open: &Open) -> Result<Logged, Failure> {
        let logged = Logged { directory: open.directory.clone(), name: "first".into() };
        logged.note(if open.schema.create { "create" } else { "open" });
        Ok(logged)
    }

    fn another(&self, open: &Open) -> Result<Logged, Failure> {
        assert!(!open.schema.create, "only the first handle creates");
        let another = Logged { directory: self.directory.clone(), name: "another".into() };
        another.note(&if open.table == 1 { "open".into() } else { format!("open on table {}", open.table) });
        Ok(another)
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        Ok(Settings::new())
    }

    fn begin_read(&mut self) -> Result<(), Failure> {
        self.note("begin");
        Ok(())
    }

    fn end_read(&mut self) -> Result<(), Failure> {
        self.note("end");
        Ok(())
    }

    fn explain(&mut self) -> Result<(), Failure> {
        self.note("explain");
        Ok(())
    }

    fn explained(&mut self) -> Result<Plan, Failure> {
        Ok(Plan { plan: vec!["SCAN".into()], counters: BTreeMap::from([("steps".into(), 2)]) })
    }

    fn close(self) -> Result<(), Failure> {
        self.note("close");
        Ok(())
    }
}

impl Store<Row> for Logged {
    const VERBS: &'static [Verb] = &[Verb::Get, Verb::ReadAll, Verb::InsertMany, Verb::Open];
    const TABLES: bool = true;

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Failure> {
        self.note(&format!("get {key}"));
        match *key {
            BUSY_KEY => Err(failure(FailureKind::Busy, "database is locked")),
            key => Ok(Some(row(key))),
        }
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Failure> {
        // In another order than by key, as an engine may.
        Ok(vec![row(1), row(0)])
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Failure> {
        self.note(&format!("insert {}", records.len()));
        Ok(())
    }

    fn first(&mut self) -> Result<Option<Row>, Failure> {
        self.note("first");
        Ok(None)
    }
}

fn row(key: i64) -> Row {
    Row { key, value: vec![7; 3] }
}

/// A database directory with a dataset of five rows beside it, and the requests that open it.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<Row> = (0..5).map(row).collect();
        write_dataset(&folder.path().join("rows"), &rows).unwrap();
        write_operations(&folder.path().join("operations"), &[4, 0, 3, 1]).unwrap();
        Scene { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Opens the database, says `lines`, and returns the replies to those.
    fn play(&self, lines: &[&str]) -> Vec<Reply> {
        let prepare = format!(
            r#"{{"request":"prepare","record":"row","dataset":"{}","operations":"{}"}}"#,
            self.path("rows"),
            self.path("operations")
        );
        let open = format!(
            r#"{{"request":"open","directory":"{}","record":"row","settings":{{}},"#,
            self.folder.path().display()
        ) + r#""schema":{"create":true,"tables":2,"indexes":[]}}"#;
        let replies = serve(&[&[prepare.as_str(), open.as_str()], lines].concat());
        assert_eq!(replies[0], Reply::Prepare { records: 5, operations: 4, states: 0, subscriptions: 0 });
        replies[2..].to_vec()
    }

    fn log(&self) -> Vec<String> {
        LOG.lock().unwrap().remove(self.folder.path()).unwrap_or_default()
    }
}

fn serve(lines: &[&str]) -> Vec<Reply> {
    let about = About {
        subject: "logged".into(),
        version: "1".into(),
        engine: "none".into(),
        engine_source: String::new(),
        compile_options: Vec::new(),
    };
    let mut output = Vec::new();
    Kit::<Logged>::new(about).rows().serve(lines.join("\n").as_bytes(), &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn sample(reply: &Reply) -> &touchstone_protocol::Sample {
    let Reply::Run(sample) = reply else { panic!("not a sample: {reply:?}") };
    sample
}

fn refused(reply: &Reply, kind: FailureKind, part: &str) {
    let Reply::Error(failure) = reply else { panic!("not an error: {reply:?}") };
    assert!(failure.kind == kind && failure.message.contains(part), "{failure}");
}

/// The last line must end the input with a line feed, or the kit takes it for cut off.
const END: &str = "";

#[test]
fn operations_are_played_in_the_labs_order_inside_the_read_transaction_held() {
    let scene = Scene::new();
    let run = r#"{"request":"run","lanes":[{"verb":"get","from":0,"count":2,"held":true}],"latency":null}"#;
    let replies = scene.play(&[run, END]);
    let sample = sample(&replies[0]);
    assert_eq!((sample.lanes[0].answers, sample.lanes.len()), (2, 1));
    assert_eq!(sample.wall_ns, sample.lanes[0].wall_ns);
    assert_eq!(
        scene.log(),
        ["first create", "first begin", "first get 4", "first get 0", "first end", "first close"]
    );
}

#[test]
fn a_failing_operation_is_counted_by_kind_and_the_lane_goes_on() {
    let scene = Scene::new();
    let run = r#"{"request":"run","lanes":[{"verb":"get","from":0,"count":4}],"latency":null}"#;
    let replies = scene.play(&[run, END]);
    let lane = &sample(&replies[0]).lanes[0];
    assert_eq!(lane.answers, 3);
    assert_eq!(lane.errors, BTreeMap::from([("busy".into(), 1)]));
}

#[test]
fn lanes_have_handles_of_their_own_which_later_runs_use_again() {
    let scene = Scene::new();
    let lane = r#"{"verb":"get","from":0,"count":1}"#;
    let run = format!(r#"{{"request":"run","lanes":[{lane},{lane}],"latency":null}}"#);
    let replies = scene.play(&[&run, &run, r#"{"request":"close"}"#, END]);
    assert_eq!(sample(&replies[1]).lanes.len(), 2);
    let log = scene.log();
    let count = |what: &str| log.iter().filter(|line| *line == what).count();
    assert_eq!((count("another open"), count("another get 4"), count("first get 4")), (1, 2, 2));
    assert_eq!(log[log.len() - 2..], ["another close", "first close"]);
}

#[test]
fn a_lane_has_a_handle_on_its_table_which_later_runs_use_again() {
    let scene = Scene::new();
    let lane = |table| format!(r#"{{"verb":"get","from":0,"count":1,"table":{table}}}"#);
    let run =
        |one, other| format!(r#"{{"request":"run","lanes":[{},{}],"latency":null}}"#, lane(one), lane(other));
    let fill = r#"{"request":"fill","from":0,"count":2,"table":2}"#;
    let wrong = r#"{"request":"check","table":0}"#;
    let replies = scene.play(&[fill, &run(2, 1), &run(1, 2), &run(2, 2), wrong, END]);
    assert_eq!(replies[0], Reply::Fill);
    refused(&replies[4], FailureKind::Protocol, "numbered from 1");
    let log = scene.log();
    let count = |what: &str| log.iter().filter(|line| *line == what).count();
    // One for the fill, which the lanes find again, and one more for the second lane of the last run.
    assert_eq!((count("another open on table 2"), count("another insert 2")), (2, 1), "{log:?}");
    assert_eq!((count("first get 4"), count("another get 4")), (2, 4), "{log:?}");
}

#[test]
fn what_a_driver_cannot_do_is_refused_before_it_is_asked() {
    let scene = Scene::new();
    let find = r#"{"request":"run","lanes":[{"verb":"find","from":0,"count":1,"above":1}],"latency":null}"#;
    let churn = r#"{"request":"churn","from":0,"count":1,"times":1}"#;
    let replies = scene.play(&[find, churn, END]);
    refused(&replies[0], FailureKind::Unsupported, "no row.find");
    refused(&replies[1], FailureKind::Unsupported, "no row.delete-many, which churning takes");
    assert_eq!(scene.log(), ["first create", "first close"]);
}

#[test]
fn each_operation_of_each_lane_has_its_latency() {
    let scene = Scene::new();
    let file = scene.path("latency");
    let run =
        format!(r#"{{"request":"run","latency":"{file}","lanes":[{{"verb":"get","from":0,"count":3}},"#)
            + r#"{"verb":"read-all","from":0,"count":2},{"verb":"insert-many","from":0,"count":4}]}"#;
    let replies = scene.play(&[&run, END]);
    let bytes = std::fs::read(Path::new(&file)).unwrap();
    let latency_ns: Vec<u64> =
        bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    assert_eq!(latency_ns.len(), 3 + 2 + 1);
    let sample = sample(&replies[0]);
    assert!(latency_ns[..3].iter().sum::<u64>() <= sample.lanes[0].wall_ns);
    assert_eq!(sample.lanes[2].answers, 4);
}

#[test]
fn reads_of_everything_are_digested_in_key_order() {
    let scene = Scene::new();
    let run = r#"{"request":"run","lanes":[{"verb":"read-all","from":0,"count":2}],"latency":null}"#;
    let replies = scene.play(&[run, END]);
    let expected = touchstone_protocol::Digest::of(&[row(0), row(1), row(0), row(1)]);
    let lane = &sample(&replies[0]).lanes[0];
    assert_eq!((lane.answers, &lane.digest), (4, &expected.to_string()));
}

#[test]
fn an_open_lane_has_the_only_handle_and_the_session_gets_its_own_back() {
    let scene = Scene::new();
    let run = r#"{"request":"run","lanes":[{"verb":"open","from":0,"count":2}],"latency":null}"#;
    scene.play(&[run, END]);
    let once = ["first open", "first first", "first close"];
    let expected =
        [&["first create", "first close"][..], &once, &once, &["first open", "first close"]].concat();
    assert_eq!(scene.log(), expected);
}

#[test]
fn a_check_reads_through_a_handle_of_its_own() {
    let scene = Scene::new();
    let replies = scene.play(&[r#"{"request":"check"}"#, END]);
    let digest = touchstone_protocol::Digest::of(&[row(0), row(1)]).to_string();
    assert_eq!(replies[0], Reply::Check { answers: 2, digest });
    assert_eq!(scene.log(), ["first create", "another open", "another close", "first close"]);
}

#[test]
fn an_explanation_has_the_plan_of_all_lanes_once_and_the_sum_of_their_counters() {
    let scene = Scene::new();
    let lane = r#"{"verb":"get","from":0,"count":1}"#;
    let replies = scene.play(&[&format!(r#"{{"request":"explain","lanes":[{lane},{lane}]}}"#), END]);
    let plan = Plan { plan: vec!["SCAN".into()], counters: BTreeMap::from([("steps".into(), 4)]) };
    assert_eq!(replies[0], Reply::Explain(plan));
}

#[test]
fn what_makes_no_sense_is_refused_and_the_kit_goes_on_listening() {
    let scene = Scene::new();
    let beyond = r#"{"request":"run","lanes":[{"verb":"get","from":3,"count":2}],"latency":null}"#;
    let unknown = r#"{"request":"run","lanes":[{"verb":"insert-one","from":0,"count":1}],"latency":null}"#;
    let nothing = r#"{"request":"run","lanes":[],"latency":null}"#;
    let again = r#"{"request":"open","directory":"/","record":"row","settings":{},"#.to_owned()
        + r#""schema":{"create":false,"tables":1,"indexes":[]}}"#;
    let long = "x".repeat(touchstone_protocol::LINE_BYTES_MAX * 2 + 1);
    let replies = scene.play(&[
        "rubbish",
        beyond,
        unknown,
        nothing,
        &again,
        &long,
        r#"{"request":"close"}"#,
        beyond,
        END,
    ]);
    refused(&replies[0], FailureKind::Protocol, "not a request");
    refused(&replies[1], FailureKind::Protocol, "2 operations from 3 were asked for; there are 4");
    refused(&replies[2], FailureKind::Unsupported, "row.insert-one");
    refused(&replies[3], FailureKind::Protocol, "at least one lane");
    refused(&replies[4], FailureKind::Protocol, "close it first");
    refused(&replies[5], FailureKind::Protocol, "longer than");
    assert_eq!(replies[6], Reply::Close);
    refused(&replies[7], FailureKind::Protocol, "no database is open");
}

#[test]
fn another_version_of_the_protocol_is_refused_with_both_versions_named() {
    let replies = serve(&[r#"{"request":"hello","protocol":7}"#, r#"{"request":"hello","protocol":1}"#, END]);
    refused(&replies[0], FailureKind::Protocol, "protocol 7, this kit speaks 1");
    let Reply::Hello(hello) = &replies[1] else { panic!("{replies:?}") };
    assert_eq!(
        hello.capabilities,
        ["row.get", "row.read-all", "row.insert-many", "row.open", "row.held", "row.tables"]
    );
    assert!(hello.clock.cost_ns > 0.0 && hello.clock.resolution_ns > 0);
}

#[test]
fn an_operation_beyond_the_dataset_is_refused_when_it_is_prepared() {
    let scene = Scene::new();
    write_operations(&scene.folder.path().join("wild"), &[0, 5]).unwrap();
    let prepare = format!(
        r#"{{"request":"prepare","record":"row","dataset":"{}","operations":"{}"}}"#,
        scene.path("rows"),
        scene.path("wild")
    );
    refused(&serve(&[&prepare, END])[0], FailureKind::Protocol, "record 5; the dataset has 5");
}

#[test]
fn the_end_of_the_input_closes_the_database() {
    let scene = Scene::new();
    // A line that is cut off is not answered: nobody waits for it.
    let replies = scene.play(&[r#"{"request":"check"}"#, r#"{"request":"qui"#]);
    assert_eq!(replies.len(), 1);
    assert_eq!(scene.log().last().unwrap(), "first close");
}
