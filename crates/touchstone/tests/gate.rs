//! A gate over made-up launches: every status it can have, and the correction for the number of cases.

mod made;

use made::{blank, part, slice};
use touchstone::estimate::estimate;
use touchstone::plan::Plan;
use touchstone::record::Record;
use touchstone::sample::{Outcome, SyncCount};
use touchstone::verdict::{Gate, GateStatus, Verdict, gate, judge};

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
            // Not side by side, which would be serial correlation.
            let sign = if launch % 6 == 3 && launch / 6 < self.against { -0.1 } else { 1.0 };
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
    let statistics = estimate(&record).cases;
    let judgement = judge(&record.plan, &statistics, &[]);
    gate(&record.plan, &statistics, &judgement.comparisons)
}

/// A gate's plan of so many cases.
fn plan(cases: usize) -> Plan {
    let mut plan = made::plan(cases);
    plan.family = plan.cases.len();
    for case in &mut plan.cases {
        case.margin = 0.02;
        case.arms[2].null_arm = true;
    }
    plan
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

/// Worse by 5 % in all launches but two.
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
        let reasons = comparison.reasons.join("\n");
        assert!(!reasons.contains("Benjamini"), "{comparison:#?}");
        let taken_back = comparison.case == "made/c3";
        assert_eq!(
            reasons.contains("among 8 cases this may be chance (Holm)"),
            taken_back,
            "{comparison:#?}"
        );
    }
}

#[test]
fn syncs_that_grew_are_worse_and_syncs_that_fell_incomparable_without_any_noise() {
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
    assert_eq!(counted(0).status, GateStatus::Incomparable, "fewer is another promise");
    assert_eq!(counted(0).counts.len(), 1, "and it is told");
    assert_eq!(counted(2).status, GateStatus::Worse);
}

#[test]
fn a_gate_without_its_null_arm_is_not_trusted() {
    let lost = gated_with(&[LEVEL, LEVEL], |record| {
        for part in record.launches.iter_mut().filter(|part| part.case == "made/c0" && part.arm == "s@null") {
            part.outcome = Outcome::Crashed;
        }
    });
    assert_eq!(lost.status, GateStatus::Untrusted, "{lost:#?}");
    let verdicts: Vec<Verdict> = lost.comparisons.iter().map(|comparison| comparison.verdict).collect();
    assert_eq!(verdicts, [Verdict::Untrusted, Verdict::Equivalent], "the other case has its own");
    let reasons = lost.comparisons[0].reasons.join("; ");
    assert!(reasons.contains("could not be compared: s@null crashed in 12 launches"), "{reasons}");
}
