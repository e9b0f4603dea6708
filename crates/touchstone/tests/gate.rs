//! A gate over made-up launches: every status it can have, and the correction for the number of cases.

use std::collections::BTreeMap;
use touchstone::estimate::estimate;
use touchstone::kit::{Kit, Kits};
use touchstone::plan::{Choice, Plan};
use touchstone::record::{Manifest, RECORD_VERSION, Record, Status};
use touchstone::sample::{Launch, Outcome, Phase, Slice, SyncCount};
use touchstone::statistics::LOOKS;
use touchstone::suite::{Size, Suite};
use touchstone::verdict::{Gate, GateStatus, Verdict, gate, judge};
use touchstone_protocol::Usage;

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

/// What the launches of a case say, in shares of the baseline's time: 0.03 is 3 % more.
#[derive(Clone, Copy)]
struct Made {
    candidate: f64,
    null: f64,
    /// How far apart launches are, by turns up and down and never twice the same.
    noise: f64,
    /// Launches in which the candidate worked against its difference.
    against: usize,
    launches: usize,
}

const LEVEL: Made = Made { candidate: 0.0, null: 0.0, noise: 0.001, against: 0, launches: 12 };

impl Made {
    fn shares(&self) -> impl Iterator<Item = [f64; 3]> + '_ {
        (0..self.launches).map(|launch| {
            let wobble =
                self.noise * (1.0 + launch as f64 / 100.0) * if launch % 2 == 0 { 1.0 } else { -1.0 };
            let sign = if launch < self.against { -0.1 } else { 1.0 };
            [0.0, self.candidate * sign + wobble, self.null - wobble]
        })
    }
}

/// A gate on one case for each of these.
fn gated(cases: &[Made]) -> Gate {
    gated_with(cases, |_| {})
}

fn gated_with(cases: &[Made], change: impl Fn(&mut Record)) -> Gate {
    let mut record = blank(plan(cases.len()));
    for (case, made) in record.plan.cases.clone().iter().zip(cases) {
        for (launch, shares) in made.shares().enumerate() {
            for (arm, share) in case.arms.iter().zip(shares) {
                record.slices.push(slice(&case.id, launch, &arm.name, 1e6 * (1.0 + share)));
                record.launches.push(part(&case.id, launch, &arm.name));
            }
        }
    }
    change(&mut record);
    let statistics = estimate(&record);
    let judgement = judge(&record.plan, &statistics, &[]);
    gate(&record.plan, &statistics, &judgement.comparisons)
}

fn plan(cases: usize) -> Plan {
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
    let mut plan = Plan::new(&[suite], &kits, &choice).unwrap();
    plan.family = plan.cases.len();
    for case in &mut plan.cases {
        case.margin = 0.02;
        case.arms[2].null_arm = true;
    }
    plan
}

fn blank(plan: Plan) -> Record {
    Record {
        manifest: Manifest {
            record_version: RECORD_VERSION,
            touchstone: "0.1.0".into(),
            started: "2026-10-03T10:00:00Z".into(),
            status: Status::Complete,
            reason: None,
            command: "touchstone gate".into(),
            elapsed_s: 1.0,
        },
        plan,
        environment: BTreeMap::new(),
        slices: Vec::new(),
        launches: Vec::new(),
        subjects: Vec::new(),
        probes: Vec::new(),
        noise: Vec::new(),
        syncs: Vec::new(),
        latencies: BTreeMap::new(),
    }
}

fn slice(case: &str, launch: usize, arm: &str, wall_ns: f64) -> Slice {
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
        wrong: None,
    }
}

fn part(case: &str, launch: usize, arm: &str) -> Launch {
    Launch {
        case: case.into(),
        launch,
        arm: arm.into(),
        outcome: Outcome::Completed,
        error: None,
        calibrated: 1,
        settings: BTreeMap::new(),
        expected: 10,
        found: 10,
        plan: Vec::new(),
        counters: BTreeMap::new(),
        file_bytes: BTreeMap::new(),
    }
}

#[test]
fn a_level_candidate_passes() {
    let gate = gated(&[LEVEL, LEVEL]);
    assert_eq!(gate.status, GateStatus::Pass, "{gate:#?}");
    assert!(gate.comparisons.iter().all(|comparison| comparison.verdict == Verdict::Equivalent));
}

#[test]
fn a_better_candidate_passes() {
    assert_eq!(gated(&[Made { candidate: -0.05, ..LEVEL }]).status, GateStatus::Pass);
}

#[test]
fn a_worse_candidate_does_not() {
    let gate = gated(&[LEVEL, Made { candidate: 0.05, ..LEVEL }]);
    assert_eq!(gate.status, GateStatus::Worse);
    assert_eq!(gate.comparisons[1].verdict, Verdict::Worse);
}

#[test]
fn launches_too_far_apart_are_inconclusive() {
    let gate = gated(&[LEVEL, Made { noise: 0.1, ..LEVEL }]);
    // The null arm is as far apart as the candidate, and stays where it is: half its launches up, half down.
    assert_eq!(gate.status, GateStatus::Inconclusive, "{gate:#?}");
}

#[test]
fn too_few_launches_are_inconclusive_whatever_they_say() {
    let gate = gated(&[Made { candidate: 0.5, launches: 7, ..LEVEL }]);
    assert_eq!(gate.status, GateStatus::Inconclusive);
    assert!(gate.comparisons[0].reasons[0].contains("only 7 of the 8 launches"), "{gate:#?}");
}

#[test]
fn a_null_arm_that_moved_is_untrusted_and_a_worse_case_outweighs_it() {
    let moved = Made { null: 0.03, ..LEVEL };
    assert_eq!(gated(&[LEVEL, moved]).status, GateStatus::Untrusted);
    assert_eq!(gated(&[Made { candidate: 0.05, ..moved }]).status, GateStatus::Untrusted);
    assert_eq!(gated(&[moved, Made { candidate: 0.05, ..LEVEL }]).status, GateStatus::Worse);
}

#[test]
fn a_candidate_that_did_not_complete_is_incomparable() {
    let gate = gated_with(&[LEVEL, LEVEL], |record| {
        let broken = record.launches.iter_mut().find(|part| part.arm == "s@candidate").unwrap();
        (broken.outcome, broken.error) = (Outcome::Crashed, Some("killed by signal 11".into()));
    });
    assert_eq!(gate.status, GateStatus::Incomparable);
    assert!(gate.comparisons[0].reasons[0].contains("signal 11"), "{gate:#?}");
}

/// Worse by 5 % in all launches but the first two: p = 3/1024 with eleven of twelve to go by.
const BARELY: Made = Made { candidate: 0.05, against: 2, ..LEVEL };

#[test]
fn what_is_found_alone_must_stand_the_correction_among_many() {
    let alone = gated(&[BARELY]);
    let p = alone.comparisons[0].p.unwrap();
    assert!(0.0182 / 8.0 < p && p < 0.0182 / 2.0, "chosen to lie between: {p}");
    assert_eq!(alone.status, GateStatus::Worse);
    let mut among = vec![LEVEL; 8];
    among[3] = BARELY;
    assert_eq!(gated(&among).comparisons[3].verdict, Verdict::Inconclusive);
}

#[test]
fn cases_that_could_not_be_compared_count_in_the_correction_all_the_same() {
    let mut cases = vec![Made { null: 0.03, ..LEVEL }; 8];
    cases[3] = BARELY;
    let gate = gated(&cases);
    assert_eq!(gate.comparisons[3].verdict, Verdict::Inconclusive, "{:#?}", gate.comparisons[3]);
    assert_eq!(gate.status, GateStatus::Untrusted);
}

#[test]
fn a_gate_is_corrected_once_and_says_nothing_of_exploration() {
    let mut cases = vec![LEVEL; 8];
    cases[3] = BARELY;
    for comparison in gated(&cases).comparisons {
        assert!(comparison.reasons.is_empty(), "{comparison:#?}");
    }
}

#[test]
fn a_count_that_grew_is_worse_without_any_noise() {
    let counted = |candidate: u64| {
        gated_with(&[LEVEL], |record| {
            for (arm, syncs) in [("s@baseline", 1), ("s@candidate", candidate)] {
                let none = SyncCount::unavailable("made/c0", arm, "");
                let count = SyncCount { unavailable: None, commits: 41, syncs_per_commit: syncs, ..none };
                record.syncs.push(count);
            }
        })
    };
    assert_eq!(counted(1).status, GateStatus::Pass);
    assert_eq!(counted(0).status, GateStatus::Pass, "fewer is no fault");
    assert_eq!(counted(0).counts.len(), 1, "but it is told");
    assert_eq!(counted(2).status, GateStatus::Worse);
}
