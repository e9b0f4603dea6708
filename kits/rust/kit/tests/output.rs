//! A driver that prints is spared: standard output is the protocol's, and what is printed goes to standard error.
//!
//! The program is its own driver, started again with an argument, so no harness may print before it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use touchstone_kit::{
    About, Driver, Failure, FailureKind, Kit, Open, Plan, Row, Schema, Settings, Store, Verb, failure,
    write_dataset,
};
use touchstone_protocol::{Lane, PROTOCOL_VERSION, RecordKind, Reply, Request, Run};

/// How long a thread may take to print a line.
const PRINTING_MAX: Duration = Duration::from_secs(10);

struct Printing;

impl Driver for Printing {
    type Error = Failure;

    fn open(_: &Open) -> Result<Printing, Failure> {
        println!("printed on opening");
        Ok(Printing)
    }

    fn another(&self, open: &Open) -> Result<Printing, Failure> {
        Printing::open(open)
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        let child = Command::new("echo").arg("printed by a child").status();
        child.map_err(|error| failure(FailureKind::Io, error.to_string()))?;
        Ok(Settings::new())
    }

    fn explain(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn explained(&mut self) -> Result<Plan, Failure> {
        Ok(Plan::default())
    }

    fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Store<Row> for Printing {
    const VERBS: &'static [Verb] = &[Verb::Get];

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Failure> {
        println!("printed while the clock runs");
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || {
            println!("printed by a thread");
            ended.send(())
        });
        // A kit that held the stream's lock let no thread of a library print: it waited for ever.
        let waited = end.recv_timeout(PRINTING_MAX);
        waited.map_err(|_| failure(FailureKind::Other, "a thread could not print"))?;
        Ok(Some(Row { key: *key, value: vec![7] }))
    }
}

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "drive") {
        let about = About {
            subject: "printing".into(),
            version: "1".into(),
            engine: "none".into(),
            engine_source: String::new(),
            compile_options: Vec::new(),
        };
        return Kit::<Printing>::new(about).rows().main();
    }
    what_a_driver_prints_is_no_reply();
    println!("what a driver prints is no reply");
    ExitCode::SUCCESS
}

fn what_a_driver_prints_is_no_reply() {
    let folder = tempfile::tempdir().unwrap();
    let (replied, printed) = talk(&requests(folder.path()));
    let replies: Vec<Reply> = replied.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(replies.len(), 5, "{replied}");
    assert!(matches!(&replies[3], Reply::Run(sample) if sample.lanes[0].answers == 2), "{replied}");
    assert_eq!(replies[4], Reply::Quit);
    for what in ["on opening", "by a child", "while the clock runs", "by a thread"] {
        assert!(printed.contains(&format!("printed {what}\n")), "{printed}");
    }
}

fn requests(folder: &Path) -> [Request; 5] {
    let dataset: PathBuf = folder.join("dataset");
    write_dataset(&dataset, &[Row { key: 1, value: vec![7] }, Row { key: 2, value: vec![7] }]).unwrap();
    let schema = Schema { create: true, ..Schema::default() };
    let lane: Lane = serde_json::from_str(r#"{"verb": "get", "from": 0, "count": 2}"#).unwrap();
    [
        Request::Hello { protocol: PROTOCOL_VERSION },
        Request::Prepare {
            record: RecordKind::Row,
            dataset,
            operations: None,
            states: None,
            subscriptions: None,
        },
        Request::Open {
            directory: folder.into(),
            record: RecordKind::Row,
            schema,
            settings: Settings::new(),
        },
        Request::Run(Run::of(vec![lane])),
        Request::Quit,
    ]
}

/// What a driver answers to these requests, and what it prints meanwhile.
fn talk(requests: &[Request]) -> (String, String) {
    let mut driver = Command::new(std::env::current_exe().unwrap())
        .arg("drive")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = driver.stdin.take().unwrap();
    for request in requests {
        writeln!(said, "{}", serde_json::to_string(request).unwrap()).unwrap();
    }
    drop(said);
    let (mut replied, mut printed) = (String::new(), String::new());
    driver.stdout.take().unwrap().read_to_string(&mut replied).unwrap();
    driver.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
    driver.wait().unwrap();
    (replied, printed)
}
