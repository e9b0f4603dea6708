//! The driver guide, done: its file and its row are put into a copy of the Rust kit, built, spoken to, and measured.
//!
//! So "one file, one row" is proved, and so is every line of code on the page. The copy lives in `target/guide/`, built
//! files included, because the second build of a kit takes seconds and the first does not.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use touchstone::kit::{Kit, Subject};
use touchstone::sample::{Launch, Outcome};
use touchstone_protocol::{
    Digest, FailureKind, Hello, Lane, PROTOCOL_VERSION, RecordKind, Reply, Request, Row, Run, Schema,
    Settings, Verb, write_dataset, write_operations,
};
use xtask::Tree;
use xtask::markdown::{Block, blocks};

const PAGE: &str = "docs/guide-driver.md";

/// What is copied: the kit, the protocol it is built with, and the manifest above both.
const COPIED: [&str; 7] = [
    "Cargo.toml",
    "crates/touchstone-protocol/Cargo.toml",
    "crates/touchstone-protocol/src/",
    "kits/rust/Cargo.toml",
    "kits/rust/Cargo.lock",
    "kits/rust/kit/",
    "kits/rust/drivers/",
];

/// The copy of the kit with what the guide adds.
struct Copy {
    root: PathBuf,
}

impl Copy {
    /// Makes the copy, writes the guide's file and row, and builds as the row says.
    fn build(tree: &Tree) -> (Copy, Subject) {
        let copy = Copy { root: tree.root.join("target/guide/project") };
        let page = tree.text(PAGE);
        for (path, text) in
            tree.texts().filter(|(path, _)| COPIED.iter().any(|copied| path.starts_with(copied)))
        {
            copy.write(path, text);
        }
        let row = the_only(page, "toml", "[[subject]]");
        copy.write("kits/rust/kit.toml", &format!("{}\n{row}", tree.text("kits/rust/kit.toml")));
        copy.write("kits/rust/drivers/src/bin/shelf.rs", &the_only(page, "rust", "fn main()"));
        copy.write("suites/shelf.toml", &the_only(page, "toml", "[[case]]"));

        let kit =
            Kit::parse(&fs::read_to_string(copy.kit().join("kit.toml")).expect("it was written"), "copy")
                .expect("a kit with one row more is a kit");
        let subject =
            kit.subjects.into_iter().find(|subject| subject.name == "shelf").expect("the row was added");
        let built = Command::new(&subject.build[0])
            .args(&subject.build[1..])
            .current_dir(copy.kit())
            .env_remove("CARGO_TARGET_DIR")
            .output()
            .expect("cargo can be started");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        (copy, subject)
    }

    fn kit(&self) -> PathBuf {
        self.root.join("kits/rust")
    }

    /// Writes a file unless it is there as it is: an untouched file need not be compiled again.
    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            return;
        }
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }
}

/// The page's only block of a language that has `mark` in it.
fn the_only(page: &str, language: &str, mark: &str) -> String {
    let mut found =
        blocks(page).into_iter().filter(|block| block.language == language && block.text.contains(mark));
    let Block { text, .. } =
        found.next().unwrap_or_else(|| panic!("{PAGE} has no {language} block with {mark}"));
    assert!(found.next().is_none(), "{PAGE} has two {language} blocks with {mark}");
    text
}

/// A driver that is spoken to.
struct Driver {
    process: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Driver {
    fn start(program: &Path) -> Driver {
        let mut process = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the driver can be started");
        let requests = process.stdin.take().expect("its input was piped");
        let replies = BufReader::new(process.stdout.take().expect("its output was piped"));
        Driver { process, requests, replies }
    }

    fn ask(&mut self, request: &Request) -> Reply {
        let mut line = serde_json::to_vec(request).expect("a request is JSON");
        line.push(b'\n');
        self.requests.write_all(&line).expect("the driver listens");
        let mut reply = String::new();
        self.replies.read_line(&mut reply).expect("the driver answers");
        serde_json::from_str(&reply).unwrap_or_else(|error| panic!("{request:?}: `{reply}`: {error}"))
    }

    /// Plays one lane: records answered or acknowledged, and their digest.
    fn run(&mut self, verb: Verb, from: u64, count: u64) -> (u64, String) {
        let lanes = vec![Lane::new(verb, from, count)];
        match self.ask(&Request::Run(Run::of(lanes))) {
            Reply::Run(sample) => {
                assert!(sample.wall_ns > 0 && sample.lanes.len() == 1, "{sample:?}");
                assert!(sample.lanes[0].errors.is_empty(), "{sample:?}");
                (sample.lanes[0].answers, sample.lanes[0].digest.clone())
            }
            other => panic!("{other:?}"),
        }
    }

    fn quit(mut self) {
        assert_eq!(self.ask(&Request::Quit), Reply::Quit);
        assert!(self.process.wait().expect("it can be waited for").success());
    }
}

fn digest<'r>(rows: impl IntoIterator<Item = &'r Row>) -> (u64, String) {
    let digest = Digest::of(rows);
    (digest.answers(), digest.to_string())
}

fn open(directory: &Path, create: bool) -> Request {
    Request::Open {
        directory: directory.to_owned(),
        record: RecordKind::Row,
        schema: Schema { create, tables: 1, indexes: Vec::new(), ..Schema::default() },
        settings: Settings::new(),
    }
}

/// A whole conversation, from hello to check, with every answer compared.
fn converse(program: &Path) {
    let rows: Vec<Row> = (0..40).map(|key| Row { key, value: vec![key as u8; 5] }).collect();
    let order = [7, 0, 39, 7, 12];
    let place = tempfile::tempdir().expect("a folder can be made");
    let (dataset, operations) = (place.path().join("rows.dataset"), place.path().join("rows.operations"));
    write_dataset(&dataset, &rows).expect("a dataset can be written");
    write_operations(&operations, &order).expect("an order can be written");
    let directory = place.path().join("database");
    fs::create_dir(&directory).expect("a folder can be made");

    let mut driver = Driver::start(program);
    let Reply::Hello(Hello { protocol, subject, capabilities, .. }) =
        driver.ask(&Request::Hello { protocol: PROTOCOL_VERSION })
    else {
        panic!("no hello")
    };
    assert_eq!((protocol, subject.as_str()), (PROTOCOL_VERSION, "shelf"));
    assert_eq!(capabilities, ["row.get", "row.read-all", "row.insert-one", "row.insert-many"]);

    let prepare = |operations| Request::Prepare {
        record: RecordKind::Row,
        dataset: dataset.clone(),
        operations,
        states: None,
        subscriptions: None,
    };
    assert_eq!(
        driver.ask(&prepare(None)),
        Reply::Prepare { records: 40, operations: 40, states: 0, subscriptions: 0 }
    );
    assert!(matches!(driver.ask(&open(&directory, true)), Reply::Open(_)));
    assert_eq!(driver.ask(&Request::Fill { from: 0, count: 20, table: 1 }), Reply::Fill);
    assert_eq!(driver.run(Verb::InsertOne, 20, 10).0, 10);
    assert_eq!(driver.run(Verb::InsertMany, 30, 10).0, 10);
    assert_eq!(driver.ask(&Request::Close), Reply::Close);

    // Closed and opened again, all of it must be there.
    let order_reply = Reply::Prepare { records: 40, operations: 5, states: 0, subscriptions: 0 };
    assert_eq!(driver.ask(&prepare(Some(operations.clone()))), order_reply);
    assert!(matches!(driver.ask(&open(&directory, false)), Reply::Open(_)));
    assert_eq!(driver.run(Verb::Get, 0, 5), digest(order.iter().map(|number| &rows[*number as usize])));
    assert_eq!(driver.run(Verb::ReadAll, 0, 2), digest(rows.iter().chain(&rows)));
    let (answers, whole) = digest(&rows);
    assert_eq!(driver.ask(&Request::Check { table: 1 }), Reply::Check { answers, digest: whole });

    // What it cannot do it says.
    let lanes = vec![Lane::new(Verb::Open, 0, 1)];
    match driver.ask(&Request::Run(Run::of(lanes))) {
        Reply::Error(failure) => assert_eq!(failure.kind, FailureKind::Unsupported, "{failure:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(driver.ask(&Request::Close), Reply::Close);
    driver.quit();
}

/// The guide's suite, run by the lab: every launch of every arm must complete with right answers.
fn measure(tree: &Tree, copy: &Copy) {
    let touchstone = tree.root.join("target/release/touchstone");
    assert!(touchstone.exists(), "target/release/touchstone is missing: `make build` makes it");
    let place = tempfile::tempdir().expect("a folder can be made");
    let record = place.path().join("record");
    let bench = Command::new(touchstone)
        .arg("--root")
        .arg(&copy.root)
        .args(["bench", "--suite", "shelf", "--out"])
        .arg(&record)
        .output()
        .expect("the lab can be started");
    assert!(bench.status.success(), "{}", String::from_utf8_lossy(&bench.stderr));
    let launches = fs::read_to_string(record.join("launches.jsonl")).expect("the record has launches");
    let launches: Vec<Launch> =
        launches.lines().map(|line| serde_json::from_str(line).expect("a line is a launch")).collect();
    assert!(
        launches.len() >= 2 * 2 * 8,
        "two cases of two arms, eight launches at least: {}",
        launches.len()
    );
    for launch in launches {
        assert_eq!(launch.outcome, Outcome::Completed, "{launch:?}");
        assert_eq!(launch.expected, launch.found, "{launch:?}");
    }
}

#[test]
fn the_guide_adds_a_driver_with_one_file_and_one_row() {
    let tree = Tree::read();
    let (copy, subject) = Copy::build(&tree);
    converse(&copy.kit().join(&subject.run[0]));
    measure(&tree, &copy);
}

#[test]
fn the_guides_entries_for_a_library_are_those_that_other_drivers_have() {
    let tree = Tree::read();
    let entries: toml::Table =
        the_only(tree.text(PAGE), "text", "required-features").parse().expect("it is TOML");
    let manifest: toml::Table = tree.text("kits/rust/drivers/Cargo.toml").parse().expect("it is TOML");
    // redb's is a driver of one library with a feature of its own, as the guide's is.
    let told = entries.to_string().replace("fjall", "redb");
    let told: toml::Table = told.parse().expect("it is still TOML");
    assert_eq!(told["features"]["redb"], manifest["features"]["redb"]);
    let bins = manifest["bin"].as_array().expect("it has programs");
    assert!(bins.contains(&told["bin"][0]), "{told}");
    let row = tree.text("kits/rust/kit.toml");
    assert!(row.contains("\"--bin\", \"redb\", \"--features\", \"redb\"]"), "a row's build ends so");
}
