//! A small record made up for the report's tests: realistic in shape, deterministic, with one of everything
//! that a report must show. Suites and subjects stand in the TOML files beside this one; the figures are
//! invented here.

mod behaviour;
mod dice;

use behaviour::{Behaviour, behaviour};
use dice::Dice;
use std::collections::BTreeMap;
use touchstone::estimate::{CaseStatistics, estimate};
use touchstone::kit::{Kit, Kits};
use touchstone::plan::{Choice, Plan, PlannedArm, PlannedCase};
use touchstone::record::{
    Access, AccessKind, Ceiling, Environment, Manifest, RECORD_VERSION, Record, Status,
};
use touchstone::report::Findings;
use touchstone::sample::{
    Introduction, Launch, Noise, Outcome, Phase, Probe, Series, Slice, SyncCount, Window,
};
use touchstone::suite::{Size, Suite};
use touchstone::verdict::{Judgement, judge};
use touchstone_protocol::{Clock, Hello, LaneSample, Setting, Usage, Verb};

const WCDB: &str = include_str!("wcdb.toml");
const COUCH: &str = include_str!("couch.toml");
const DFLAT: &str = include_str!("dflat.toml");
const SOURCE: &str = "2025-11-28 17:28:25 281fc0e9afc38674b9b0991943b9e9d1e64c6cbdb133d35f6f5c87ff6af38a88";
const LAUNCHES: usize = 8;
const SLICES: u32 = 6;
const LATENCIES: usize = 2_000;

/// A record with what was computed and decided from it.
pub struct Fixture {
    pub record: Record,
    pub statistics: Vec<CaseStatistics>,
    pub judgement: Judgement,
}

impl Fixture {
    /// Everything, cut short before its last case.
    pub fn new() -> Fixture {
        Fixture::of(&[WCDB, COUCH, DFLAT], &[], made_up)
    }

    /// Two suites, of one of which a case was run, and of the other one that no claim is about.
    pub fn one_case() -> Fixture {
        Fixture::of(&[WCDB, COUCH], &["wcdb/read", "couch/canaries"], made_up)
    }

    /// A plan of which nothing was run.
    pub fn empty() -> Fixture {
        Fixture::of(&[COUCH], &[], |_| {})
    }

    fn of(suites: &[&str], cases: &[&str], fill: impl Fn(&mut Record)) -> Fixture {
        let mut record = blank(plan(suites, cases));
        fill(&mut record);
        let statistics = estimate(&record).cases;
        let judgement = judge(&record.plan, &statistics, &record.subjects);
        Fixture { record, statistics, judgement }
    }

    pub fn findings(&self) -> Findings<'_> {
        Findings { record: &self.record, statistics: &self.statistics, judgement: &self.judgement }
    }
}

fn plan(suites: &[&str], cases: &[&str]) -> Plan {
    let suites: Vec<Suite> = suites.iter().map(|text| Suite::parse(text, "the fixture").unwrap()).collect();
    let kits = Kits { kits: vec![Kit::parse(include_str!("kit.toml"), "kit.toml").unwrap()] };
    let choice = Choice {
        cases: cases.iter().map(|case| (*case).to_owned()).collect(),
        contenders: Vec::new(),
        size: Size::Quick,
        seed: 42,
        looks: vec![8, 12, 16, 24],
    };
    Plan::new(&suites, &kits, &choice).unwrap()
}

fn blank(plan: Plan) -> Record {
    Record {
        manifest: Manifest {
            record_version: RECORD_VERSION,
            touchstone: "0.1.0".into(),
            started: "2026-10-03T10:00:00Z".into(),
            status: Status::Partial,
            reason: Some("interrupted by Ctrl-C after 9 of 11 cases".into()),
            beside: Default::default(),
            command: "touchstone run wcdb couch --quick --seed 42".into(),
            salt: 7,
            elapsed_s: 312.4,
        },
        plan,
        environment: environment(),
        ceilings: Vec::new(),
        slices: Vec::new(),
        launches: Vec::new(),
        subjects: Vec::new(),
        probes: Vec::new(),
        noise: Vec::new(),
        syncs: Vec::new(),
        loads: Vec::new(),
        series: BTreeMap::new(),
        latencies: BTreeMap::new(),
    }
}

fn environment() -> Environment {
    let group = |facts: &[(&str, &str)]| {
        facts.iter().map(|(name, fact)| ((*name).to_owned(), (*fact).to_owned())).collect()
    };
    let machine = [
        ("model", "AMD EPYC 7B13"),
        ("cores", "2 cores"),
        ("memory", "7.8 GiB"),
        ("governor", "none exposed"),
    ];
    let storage = [
        ("filesystem", "ext4"),
        ("device", "vda"),
        ("mount_options", "rw, relatime"),
        ("write_cache", "write back"),
    ];
    let system = [
        ("os", "Debian GNU/Linux 12 (bookworm)"),
        ("kernel", "Linux 6.1.0"),
        ("address_randomisation", "on"),
    ];
    BTreeMap::from([
        ("machine".to_owned(), group(&machine)),
        ("storage".to_owned(), group(&storage)),
        ("system".to_owned(), group(&system)),
        ("toolchain".to_owned(), group(&[("rustc", "rustc 1.95.0")])),
    ])
}

fn made_up(record: &mut Record) {
    record.ceilings.push(Ceiling {
        access: Access { kind: AccessKind::Read, random: true, operation_bytes: 4096 },
        copies_per_second: Some(2_500_000.0),
        device_per_second: Some(12_000.0),
        unmeasured: None,
    });
    let cases: Vec<PlannedCase> = record.plan.cases.clone();
    for case in cases.iter().filter(|case| case.id != "wcdb/cipher-read") {
        for launch in 0..LAUNCHES {
            record.noise.push(Noise {
                case: case.id.clone(),
                launch,
                block: 0,
                cpu_pressure: Some(if case.id == "wcdb/write-write" { 0.62 } else { 0.04 }),
                io_pressure: Some(0.02),
                steal: None,
            });
            if case.flushes {
                let flush_ns = 2_300_000 + 40_000 * launch as u64;
                record.probes.push(Probe {
                    case: case.id.clone(),
                    launch,
                    block: 0,
                    flush_ns,
                    flushes: None,
                });
            }
        }
        for arm in &case.arms {
            let behaviour = behaviour(&case.id, &arm.name);
            for launch in 0..LAUNCHES {
                run(record, case, arm, &behaviour, launch);
            }
            if let Some(commit) = &behaviour.syncs {
                record.syncs.push(syncs(case, arm, commit.0, commit.1));
            }
            introduce(record, arm, &behaviour);
        }
    }
}

/// One arm's part in one launch.
fn run(record: &mut Record, case: &PlannedCase, arm: &PlannedArm, behaviour: &Behaviour, launch: usize) {
    let mut noise = Dice::new(&format!("{}{}{launch}", case.id, arm.name));
    let operation_ns = behaviour.operation_ns * (behaviour.launch_noise * noise.normal()).exp();
    let outcome = if launch < behaviour.fails_until { behaviour.failure } else { Outcome::Completed };
    if matches!(outcome, Outcome::Completed | Outcome::Void) {
        for block in 0..SLICES {
            let slice_ns = operation_ns * (0.002 * noise.normal()).exp();
            record.slices.push(slice(case, arm, behaviour, launch, block, slice_ns));
        }
    }
    let mut settings = arm.settings.clone();
    settings
        .extend(behaviour.ignores.iter().map(|(name, value)| ((*name).to_owned(), Setting::from(*value))));
    let expected = if arm.writes() { 10_000 } else { 0 };
    record.launches.push(Launch {
        case: case.id.clone(),
        launch,
        arm: arm.name.clone(),
        outcome,
        error: behaviour.error.filter(|_| outcome != Outcome::Completed).map(str::to_owned),
        failed_with: None,
        calibrated: 100,
        processor: Some(launch % 2),
        threads: Some(1),
        children: None,
        strayed: None,
        rest_cpu: None,
        settings,
        expected,
        found: expected - behaviour.missing_a_launch.min(expected),
        plan: behaviour.plan.iter().map(|line| (*line).to_owned()).collect(),
        counters: behaviour.counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        best_hits: behaviour.counters.iter().any(|(name, _)| *name == "cache_misses").then_some(30),
        file_bytes: BTreeMap::from([
            ("database".to_owned(), 2_400_000),
            ("database-wal".to_owned(), 4_124_152),
        ]),
    });
    // One that counts its pages is seen over its time as well.
    if !behaviour.counters.is_empty() && launch == 0 {
        record.series.insert((case.id.clone(), arm.name.clone(), launch), Series::of(&windows(operation_ns)));
    }
    if behaviour.latencies && outcome == Outcome::Completed {
        let latencies = latencies(behaviour, operation_ns, &mut noise);
        record.latencies.insert((case.id.clone(), arm.name.clone(), launch), latencies);
    }
}

fn slice(
    case: &PlannedCase,
    arm: &PlannedArm,
    behaviour: &Behaviour,
    launch: usize,
    block: u32,
    operation_ns: f64,
) -> Slice {
    let operations = if arm.lanes.iter().any(|lane| lane.verb == Verb::Open) { 20 } else { 10_000 };
    let wall_ns = (operation_ns * operations as f64) as u64;
    let errors = behaviour.errors.iter().map(|(kind, number)| ((*kind).to_owned(), *number)).collect();
    Slice {
        case: case.id.clone(),
        launch,
        arm: arm.name.clone(),
        phase: Phase::Measure,
        block,
        position: 0,
        commits: None,
        operations,
        wall_ns,
        cpu_ns: (wall_ns as f64 * behaviour.cpu_share) as u64,
        lanes: vec![LaneSample { wall_ns, answers: operations, errors, ..LaneSample::default() }],
        witness: None,
        usage: Usage {
            voluntary_switches: 3,
            written_bytes: if arm.writes() { 4_152 * operations } else { 0 },
            ..Usage::default()
        },
        wrong: (behaviour.failure == Outcome::Void).then(|| "the digest of the answers differs".to_owned()),
    }
}

/// Most operations near the median, some far above, and now and then a checkpoint.
/// Two seconds, in the middle of which a write takes a hundred times as long.
fn windows(operation_ns: f64) -> Vec<Window> {
    let window = |number: usize| {
        let times = if number == 10 { 100.0 } else { 2.0 };
        Window {
            reads: [(operation_ns as u64, 70)].into(),
            writes: [((operation_ns * times) as u64, 30)].into(),
        }
    };
    (0..20).map(window).collect()
}

fn latencies(behaviour: &Behaviour, operation_ns: f64, noise: &mut Dice) -> Vec<u64> {
    let one = |operation: usize| {
        let usual = operation_ns * (0.18 * noise.normal().abs()).exp();
        let slow = if noise.uniform() < 0.01 { 2.0 + 4.0 * noise.uniform() } else { 1.0 };
        let stall = match behaviour.checkpoint_every {
            Some(every) if operation % every == every - 1 => {
                behaviour.checkpoint_ns * (0.2 * noise.normal()).exp()
            }
            _ => 0.0,
        };
        (usual * slow + stall) as u64
    };
    (0..LATENCIES).map(one).collect()
}

fn syncs(case: &PlannedCase, arm: &PlannedArm, per_commit: u64, bytes: u64) -> SyncCount {
    SyncCount {
        commits: 50,
        syncs_per_commit: per_commit,
        syncs_most: per_commit + 2,
        syncs: per_commit * 50 + 2,
        durable_commits: Some(50),
        bytes_written: bytes * 50,
        unavailable: None,
        ..SyncCount::unavailable(&case.id, &arm.name, "")
    }
}

fn introduce(record: &mut Record, arm: &PlannedArm, behaviour: &Behaviour) {
    if record.subjects.iter().any(|met| met.contender.subject == arm.contender.subject) {
        return;
    }
    let options = ["ENABLE_FTS5", "MAX_VARIABLE_NUMBER=250000", "THREADSAFE=1", "DEFAULT_WAL_SYNCHRONOUS=2"];
    let sqlite = behaviour.engine.starts_with("SQLite");
    let clock = Clock { name: "CLOCK_MONOTONIC".into(), cost_ns: 24.0, resolution_ns: 1 };
    record.subjects.push(Introduction {
        contender: arm.contender.clone(),
        hello: Hello {
            protocol: 1,
            kit: "rust 0.1.0".into(),
            subject: arm.contender.subject.clone(),
            version: "0.37.0".into(),
            engine: behaviour.engine.into(),
            engine_source: if sqlite { SOURCE.into() } else { String::new() },
            compile_options: if sqlite { options.map(str::to_owned).to_vec() } else { Vec::new() },
            capabilities: ["row.get", "row.read-all", "row.insert-one"].map(str::to_owned).to_vec(),
            clock,
        },
        program_crc32: "9b2f11c4".into(),
    });
}
