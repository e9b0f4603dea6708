//! Plans and lines of a record, made up for tests of what is computed and decided from them.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use std::collections::BTreeMap;
use touchstone::kit::{Contender, Kit, Kits};
use touchstone::plan::{Choice, Plan};
use touchstone::record::{Manifest, RECORD_VERSION, Record, Status};
use touchstone::sample::{Introduction, Launch, Outcome, Phase, Slice};
use touchstone::statistics::LOOKS;
use touchstone::suite::{Size, Suite};
use touchstone_protocol::{Clock, Hello, Usage};

const KIT: &str = r#"
[kit]
language = "rust"
[[subject]]
name = "s"
summary = "A subject"
build = ["true"]
run = ["s"]
profile = [
    { name = "baseline", class = "strict" },
    { name = "candidate", class = "strict" },
    { name = "null", class = "strict" },
]
"#;

/// A plan of so many cases, each of gets by `s@baseline`, `s@candidate` and `s@null`.
pub fn plan(cases: usize) -> Plan {
    let case = |number: usize| {
        format!(
            "[[case]]\nid = \"c{number}\"\ntitle = \"A case\"\ndataset = \"rows\"\n\
             lanes = [{{ verb = \"get\" }}]\nbaseline = \"s@baseline\"\n\
             arms = [\"s@baseline\", \"s@candidate\", \"s@null\"]\n"
        )
    };
    let cases: String = (0..cases).map(case).collect();
    let suite = format!(
        "name = \"made\"\ntitle = \"t\"\nsource = \"s\"\ndevice = \"d\"\n[[dataset]]\nname = \"rows\"\n\
         record = \"row\"\nrecords = 10\nvalue_bytes = 10\n{cases}"
    );
    let suite = Suite::parse(&suite, "made.toml").unwrap();
    let kits = Kits { kits: vec![Kit::parse(KIT, "kit.toml").unwrap()] };
    let looks = LOOKS.to_vec();
    let choice = Choice { cases: vec![], contenders: vec![], size: Size::Quick, seed: 1, looks };
    Plan::new(&[suite], &kits, &choice).unwrap()
}

/// A complete record of it in which nothing was measured yet.
pub fn blank(plan: Plan) -> Record {
    Record {
        manifest: Manifest {
            record_version: RECORD_VERSION,
            touchstone: "0.1.0".into(),
            started: "2026-10-03T10:00:00Z".into(),
            status: Status::Complete,
            reason: None,
            beside: Default::default(),
            command: "touchstone gate".into(),
            salt: 7,
            elapsed_s: 1.0,
        },
        plan,
        environment: BTreeMap::new(),
        ceilings: Vec::new(),
        slices: Vec::new(),
        launches: Vec::new(),
        subjects: Vec::new(),
        probes: Vec::new(),
        noise: Vec::new(),
        syncs: Vec::new(),
        loads: Vec::new(),
        latencies: BTreeMap::new(),
        series: BTreeMap::new(),
    }
}

/// A slice of one operation in the first block.
pub fn slice(case: &str, launch: usize, arm: &str, wall_ns: f64) -> Slice {
    Slice {
        case: case.into(),
        launch,
        arm: arm.into(),
        phase: Phase::Measure,
        block: 0,
        position: 0,
        operations: 1,
        wall_ns: wall_ns.round() as u64,
        cpu_ns: wall_ns as u64,
        lanes: Vec::new(),
        usage: Usage::default(),
        witness: None,
        commits: None,
        wrong: None,
    }
}

/// An arm's part in a launch, completed.
pub fn part(case: &str, launch: usize, arm: &str) -> Launch {
    Launch {
        case: case.into(),
        launch,
        arm: arm.into(),
        outcome: Outcome::Completed,
        error: None,
        failed_with: None,
        calibrated: 1,
        processor: None,
        threads: Some(1),
        children: None,
        strayed: None,
        rest_cpu: None,
        settings: BTreeMap::new(),
        expected: 10,
        found: 10,
        plan: Vec::new(),
        counters: BTreeMap::new(),
        best_hits: None,
        file_bytes: BTreeMap::new(),
    }
}

/// A contender, of a name that is one.
pub fn contender(name: &str) -> Contender {
    Contender::try_from(name.to_owned()).unwrap()
}

/// What a driver said, whose program has that checksum.
pub fn introduction(name: &str, program_crc32: &str) -> Introduction {
    Introduction {
        contender: contender(name),
        hello: Hello {
            protocol: 1,
            kit: "rust 0.1.0".into(),
            subject: "s".into(),
            version: "1".into(),
            engine: "made up 1".into(),
            engine_source: String::new(),
            compile_options: Vec::new(),
            capabilities: Vec::new(),
            clock: Clock { name: "made up".into(), cost_ns: 24.0, resolution_ns: 1 },
        },
        program_crc32: program_crc32.into(),
    }
}
