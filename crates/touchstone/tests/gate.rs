//! A gate over made-up launches: every status it can have, and the correction for the number of cases.

mod made;

use made::{blank, part, slice};
use touchstone::estimate::estimate;
use touchstone::kit::DurabilityClass;
use touchstone::plan::Plan;
use touchstone::record::Record;
use touchstone::sample::{Outcome, SyncCount};
use touchstone::verdict::{Count, CountDifference, FlagKind, Gate, GateStatus, Verdict, gate, judge};
use touchstone_protocol::Verb;

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
    let judgement = judge(&record.plan, &statistics, &record.subjects);
    gate(&record, &statistics, &judgement)
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

/// Takes a flag that says that the work was not done, or not in the time, to an arm of the first case.
fn flagged(record: &mut Record, arm: &str, kind: FlagKind) {
    for part in record.launches.iter_mut().filter(|part| part.case == "made/c0" && part.arm == arm) {
        match kind {
            FlagKind::EngineIdle => {
                part.counters =
                    ["statements", "cache_hits", "cache_misses"].map(|name| (name.to_owned(), 0)).into()
            }
            FlagKind::OtherProcesses => part.children = Some(1),
            FlagKind::LeftProcessor => part.strayed = Some("0-1".into()),
            FlagKind::BusyAtRest => part.rest_cpu = Some(0.9),
            other => panic!("{other} is not made here"),
        }
    }
}

#[test]
fn a_flag_that_says_that_the_work_was_not_done_is_told_and_never_passes() {
    use FlagKind::{BusyAtRest, EngineIdle, LeftProcessor, OtherProcesses};
    for kind in [EngineIdle, OtherProcesses, LeftProcessor, BusyAtRest] {
        for arm in ["s@candidate", "s@baseline"] {
            let better = Made { candidate: -0.05, ..LEVEL };
            let gate = gated_with(&[better, better], |record| flagged(record, arm, kind));
            assert_eq!(gate.status, GateStatus::Incomparable, "{kind} of {arm}: {gate:#?}");
            let [doubted, other] = gate.comparisons.as_slice() else { panic!("{gate:#?}") };
            assert!(doubted.reasons[0].contains(&format!("{arm} is flagged, {kind}")), "{doubted:#?}");
            assert_eq!(other.verdict, Verdict::Better, "it is the other case's");
            let told: Vec<_> = gate.flags.iter().map(|flag| (flag.kind, flag.arm.as_str())).collect();
            assert_eq!(told, [(kind, arm)]);
        }
    }
}

#[test]
fn worse_outweighs_a_flag() {
    let gate = gated_with(&[Made { candidate: 0.05, ..LEVEL }], |record| {
        flagged(record, "s@candidate", FlagKind::EngineIdle);
    });
    assert_eq!((gate.status, gate.comparisons[0].verdict), (GateStatus::Worse, Verdict::Worse));
    assert!(gate.comparisons[0].reasons[0].contains("engine did nothing"), "{gate:#?}");
}

#[test]
fn a_flag_of_the_null_arm_and_one_about_the_machine_are_told_only() {
    let null = gated_with(&[LEVEL], |record| flagged(record, "s@null", FlagKind::OtherProcesses));
    assert_eq!((null.status, null.flags.len()), (GateStatus::Pass, 1), "{null:#?}");
    let slept = gated_with(&[LEVEL], |record| {
        for slice in &mut record.slices {
            (slice.cpu_ns, slice.usage.voluntary_switches) = (10_000, 1);
        }
    });
    assert_eq!(slept.status, GateStatus::Pass, "{slept:#?}");
    let told: Vec<FlagKind> = slept.flags.iter().map(|flag| flag.kind).collect();
    assert_eq!(told, [FlagKind::Slept; 3], "of all arms");
}

/// A gate on arms that commit, of those classes, and what was recorded of the baseline and the candidate.
fn committing(classes: [DurabilityClass; 2], counts: [SyncCount; 2], change: impl Fn(&mut Record)) -> Gate {
    gated_with(&[LEVEL], |record| {
        let [baseline, candidate] = classes;
        for (arm, class) in record.plan.cases[0].arms.iter_mut().zip([baseline, candidate, baseline]) {
            arm.class = class;
            (arm.lanes[0].verb, arm.lanes[0].count) = (Verb::InsertMany, Some(1));
        }
        record.syncs = counts.clone().into();
        change(record);
    })
}

fn recorded(arm: &str) -> SyncCount {
    let none = SyncCount::unavailable("made/c0", arm, "");
    SyncCount { unavailable: None, commits: 41, syncs: 2, syncs_at_close: 2, bytes_written: 4096, ..none }
}

const CONSISTENT: [DurabilityClass; 2] = [DurabilityClass::Consistent; 2];

/// One of them with counts of its own.
fn counting(candidate: SyncCount) -> Gate {
    committing(CONSISTENT, [recorded("s@baseline"), candidate], |_| ())
}

#[test]
fn a_weaker_class_is_another_promise_and_a_stronger_one_is_said() {
    let [baseline, candidate] = ["s@baseline", "s@candidate"].map(recorded);
    let of = |classes| committing(classes, [baseline.clone(), candidate.clone()], |_| ());
    let weaker = of([DurabilityClass::Consistent, DurabilityClass::Process]);
    assert_eq!(weaker.status, GateStatus::Incomparable, "{weaker:#?}");
    let reason = &weaker.comparisons[0].reasons[0];
    assert!(reason.contains("its class is process, and that of s@baseline is consistent"), "{reason}");
    let stronger = of([DurabilityClass::Process, DurabilityClass::Consistent]);
    assert_eq!(stronger.status, GateStatus::Pass, "{stronger:#?}");
    let said = stronger.comparisons[0].reasons.join("; ");
    assert!(said.contains("it promises more of a commit"), "{said}");
    let reading = gated_with(&[LEVEL], |record| {
        record.plan.cases[0].arms[1].class = DurabilityClass::None;
    });
    assert_eq!(reading.status, GateStatus::Pass, "what is only read is promised nothing: {reading:#?}");
}

#[test]
fn fewer_syncs_over_all_commits_and_closing_are_another_promise_and_more_are_worse() {
    let level = counting(recorded("s@candidate"));
    assert_eq!((level.status, level.counts.len()), (GateStatus::Pass, 0));
    for fewer in [
        SyncCount { syncs: 0, ..recorded("s@candidate") },
        SyncCount { syncs_at_close: 0, ..recorded("s@candidate") },
    ] {
        let gate = counting(fewer);
        assert_eq!(gate.status, GateStatus::Incomparable, "{gate:#?}");
        assert_eq!((gate.counts[0].baseline, gate.counts[0].candidate), (4, 2));
        let reason = &gate.comparisons[0].reasons[0];
        assert!(reason.contains("over all commits and closing it awaits the disk less often"), "{reason}");
    }
    let more = SyncCount { syncs: 41, ..recorded("s@candidate") };
    assert_eq!(counting(more).status, GateStatus::Worse);
}

#[test]
fn a_candidate_that_cannot_be_recorded_does_not_pass_and_where_nothing_can_that_is_said() {
    let unavailable = |arm: &str| SyncCount::unavailable("made/c0", arm, "its pipe closed");
    let of = |counts: [SyncCount; 2]| committing(CONSISTENT, counts, |_| ());
    let [baseline, candidate] = ["s@baseline", "s@candidate"];
    for (counts, unknown) in [
        ([recorded(baseline), unavailable(candidate)], candidate),
        ([unavailable(baseline), recorded(candidate)], baseline),
    ] {
        let gate = of(counts);
        assert_eq!(gate.status, GateStatus::Incomparable, "{gate:#?}");
        let reason = &gate.comparisons[0].reasons[0];
        let said = format!("the commits of {unknown} could not be recorded");
        assert!(reason.contains(&said) && reason.contains("its pipe closed"), "{reason}");
    }
    // Found by an adversary: one call that the recorder refuses, and its bytes were compared with nothing.
    let refused = |arm: &str| SyncCount { refused: vec!["io_setup".into()], ..recorded(arm) };
    let one_side = of([recorded(baseline), refused(candidate)]);
    assert_eq!(one_side.status, GateStatus::Incomparable, "{one_side:#?}");
    let reason = &one_side.comparisons[0].reasons[0];
    assert!(reason.contains("refused io_setup to s@candidate alone"), "{reason}");
    assert_eq!(of([refused(baseline), refused(candidate)]).status, GateStatus::Pass);
    let refused = |arm: &str, what: &[&str]| SyncCount {
        refused: what.iter().map(|what| (*what).into()).collect(),
        ..recorded(arm)
    };
    let both = ["io_uring", "io_setup"];
    let in_another_order = of([refused(baseline, &both), refused(candidate, &["io_setup", "io_uring"])]);
    assert_eq!(in_another_order.status, GateStatus::Pass, "{in_another_order:#?}");
    let fewer = of([refused(baseline, &both), refused(candidate, &["io_setup"])]);
    let reason = &fewer.comparisons[0].reasons[0];
    assert!(reason.contains("refused io_uring to s@baseline alone"), "{reason}");
    let neither = of([unavailable(baseline), unavailable(candidate)]);
    assert_eq!(neither.status, GateStatus::Pass, "{neither:#?}");
    let reason = &neither.comparisons[0].reasons[0];
    assert!(reason.contains("of neither side could be recorded, so that no count decides"), "{reason}");
}

#[test]
fn what_an_arm_with_threads_of_its_own_writes_over_all_commits_is_told_and_does_not_decide() {
    let other = SyncCount { bytes_written: 12_096_320, syncs: 3, ..recorded("s@candidate") };
    let counts = [recorded("s@baseline"), other];
    let alone = committing(CONSISTENT, counts.clone(), |_| ());
    assert_eq!(alone.status, GateStatus::Worse, "{alone:#?}");
    for arm in [0, 1] {
        let gate = committing(CONSISTENT, counts.clone(), |record| {
            record.plan.cases[0].arms[arm].threads = true;
        });
        assert_eq!(gate.status, GateStatus::Pass, "{gate:#?}");
        let told: Vec<_> = gate.counts.iter().map(|count| (count.what, count.decides)).collect();
        assert_eq!(told, [(Count::AllSyncs, false), (Count::BytesWritten, false)]);
    }
}

#[test]
fn a_count_from_before_some_did_not_decide_decides() {
    for count in [Count::SyncsPerCommit, Count::AllSyncs, Count::BytesWritten] {
        let old = format!(r#"{{"case":"c","what":"{count}","baseline":1,"candidate":2}}"#);
        let read: CountDifference = serde_json::from_str(&old).unwrap();
        assert_eq!((read.what, read.decides), (count, true));
    }
}

/// The introductions of the three arms, each of a program of that content.
fn introduced(record: &mut Record, contenders: [&str; 3], crc32: [&str; 3]) {
    for (contender, crc32) in contenders.into_iter().zip(crc32) {
        record.subjects.push(made::introduction(contender, crc32));
    }
}

#[test]
fn a_candidate_that_is_the_baselines_own_program_is_told() {
    let same = |crc32: [&str; 3], change: fn(&mut Record)| {
        let gate = gated_with(&[LEVEL], |record| {
            for arm in &mut record.plan.cases[0].arms {
                arm.contender = made::contender("s@baseline");
            }
            record.plan.cases[0].arms[1].program = Some("/elsewhere/s".into());
            introduced(record, ["s@baseline"; 3], crc32);
            change(record);
        });
        assert_eq!(gate.status, GateStatus::Pass, "it is no refusal: {gate:#?}");
        gate.same_program
    };
    assert!(same(["aa"; 3], |_| ()));
    assert!(!same(["aa", "bb", "aa"], |_| ()), "another build");
    assert!(!same([""; 3], |_| ()), "nobody could read it");
    assert!(!same(["aa"; 3], |record| drop(record.subjects.pop())), "one never said who it is");
    let indexed = |record: &mut Record| record.plan.cases[0].arms[1].indexes.push("key".into());
    assert!(!same(["aa"; 3], indexed), "told apart by what they are asked");
    let profiles = gated_with(&[LEVEL], |record| {
        introduced(record, ["s@baseline", "s@candidate", "s@baseline"], ["aa"; 3]);
    });
    assert!(!profiles.same_program, "told apart by their profiles");
}
