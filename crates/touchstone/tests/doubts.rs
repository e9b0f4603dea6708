//! What the launches themselves say against a figure: arms that drift apart, launches of two kinds, launches that
//! resemble their neighbours; and which margin an arm has that waits for the disk.

mod claimed;
mod made;
mod small;

use claimed::{ADVANTAGE, CASES, RATE};
use made::{blank, part, plan, slice};
use touchstone::estimate::estimate;
use touchstone::plan::Plan;
use touchstone::record::Record;
use touchstone::report::{Findings, html};
use touchstone::sample::Slice;
use touchstone::verdict::{ClaimStatus, Comparison, TestOutcome, Verdict, judge};

const LAUNCHES: usize = 12;

/// A record of one case in which an arm's slice takes what `time_ns` says of its launch and block.
fn record(plan: Plan, time_ns: impl Fn(&str, usize, u32) -> f64) -> Record {
    let mut record = blank(plan);
    let case = record.plan.cases[0].clone();
    for launch in 0..LAUNCHES {
        for arm in &case.arms {
            for block in 0..case.blocks {
                let line = slice(&case.id, launch, &arm.name, time_ns(&arm.name, launch, block));
                record.slices.push(Slice { block, ..line });
            }
            record.launches.push(part(&case.id, launch, &arm.name));
        }
    }
    record
}

/// Two arms only: no null arm.
fn pair() -> Plan {
    let mut plan = plan(1);
    plan.cases[0].arms.truncate(2);
    plan
}

fn judged(record: &Record) -> Comparison {
    judge(&record.plan, &estimate(record).cases, &[]).comparisons.remove(0)
}

/// A thousandth up and down, in no order.
fn wobble(launch: usize) -> f64 {
    1.0 + 0.001 * (launch * 5 % LAUNCHES) as f64
}

#[test]
fn an_arm_that_drifts_away_from_the_other_is_neither_better_nor_worse() {
    // Quick for the first ten of fifteen blocks, as with answers that were kept, and then as slow as the other.
    let kept = |arm: &str, launch: usize, block: u32| {
        let quick = arm == "s@candidate" && block < 10;
        wobble(launch) * if quick { 0.2e6 } else { 1e6 }
    };
    let drifting = judged(&record(pair(), kept));
    assert_eq!(drifting.verdict, Verdict::Inconclusive, "{drifting:#?}");
    let reasons = drifting.reasons.join("\n");
    assert!(reasons.contains("better is withheld"), "{reasons}");
    assert!(reasons.contains("time of s@candidate changed by +400 %"), "{reasons}");
    // A file that grows under both is no trick.
    let growing = |arm: &str, launch: usize, block: u32| {
        let share = if arm == "s@candidate" { 0.5e6 } else { 1e6 };
        wobble(launch) * share * (1.0 + 0.1 * f64::from(block))
    };
    let growing = judged(&record(pair(), growing));
    assert_eq!(growing.verdict, Verdict::Better, "{growing:#?}");
}

/// Found on a busy machine: two launches that began beside a neighbour, one after the other, widened both drifts' intervals until
/// they met.
#[test]
fn a_neighbour_that_both_arms_had_does_not_hide_that_one_drifts() {
    let growing = |arm: &str, launch: usize, block: u32| {
        let beside_neighbour = if launch < 2 && block < 5 { 1.6 } else { 1.0 };
        let own = if arm == "s@candidate" { 1.0 + 0.025 * f64::from(block) } else { 1.0 };
        wobble(launch) * beside_neighbour * own * 1e6
    };
    let drifting = judged(&record(pair(), growing));
    let reasons = drifting.reasons.join("\n");
    assert!(reasons.contains("worse is withheld: from the first to the last third"), "{drifting:#?}");
}

#[test]
fn a_claim_does_not_hold_on_arms_that_drift_apart() {
    let claimed = |quick_blocks: u32| {
        let plan = small::plan(&[CASES, ADVANTAGE].concat(), &small::choice()).unwrap();
        let record = record(plan, |arm, launch, block| {
            let quick = arm == "one@plain" && block < quick_blocks;
            wobble(launch) * if quick { 0.2e6 } else { 1e6 }
        });
        judge(&record.plan, &estimate(&record).cases, &[]).claims.remove(0)
    };
    let honest = claimed(u32::MAX);
    assert_eq!((honest.status, honest.size), (ClaimStatus::Holds, Some(ClaimStatus::Holds)));
    let drifting = claimed(10);
    assert_eq!(drifting.status, ClaimStatus::Inconclusive);
    assert_eq!(drifting.size, Some(ClaimStatus::Inconclusive));
    let test = &drifting.pairs[0].tests[0];
    assert!(test.value.is_some(), "the figure is shown all the same");
    assert!(test.note.as_ref().unwrap().contains("depends on how long they run"), "{test:#?}");
}

/// The candidate takes a fifth more in every third launch.
fn of_two_kinds() -> Record {
    record(pair(), |arm, launch, _| {
        let second = arm == "s@candidate" && launch % 3 == 1;
        wobble(launch) * if second { 1.2e6 } else { 1e6 }
    })
}

#[test]
fn launches_of_two_kinds_are_told_with_both_values() {
    let comparison = judged(&of_two_kinds());
    let reasons = comparison.reasons.join("\n");
    let told = "launches of s@candidate are of two kinds: 8 took about 1.00 ms an operation, 4 about 1.21 ms";
    assert!(reasons.contains(told), "{reasons}");
    let one_kind = judged(&record(pair(), |_, launch, _| 1e6 * wobble(launch)));
    assert!(!one_kind.reasons.join("\n").contains("two kinds"), "{one_kind:#?}");
}

#[test]
fn kinds_that_only_the_ratio_shows_are_told_of_the_ratio() {
    // The machine is quicker from launch to launch for both; in some launches the candidate is not.
    let comparison = judged(&record(pair(), |arm, launch, _| {
        let second = arm == "s@candidate" && launch % 3 == 1;
        wobble(launch) * 1e6 * 1.05_f64.powi(launch as i32) * if second { 1.2 } else { 1.0 }
    }));
    let reasons = comparison.reasons.join("\n");
    assert!(
        reasons.contains("in 8 the time of s@candidate was about 1.000 of that of s@baseline"),
        "{reasons}"
    );
}

#[test]
fn a_machine_of_two_kinds_is_no_matter_of_the_arms() {
    let comparison = judged(&record(pair(), |arm, launch, _| {
        let share = if arm == "s@candidate" { 0.5 } else { 1.0 };
        wobble(launch * 7) * share * if launch % 3 == 1 { 1.5e6 } else { 1e6 }
    }));
    assert_eq!(comparison.verdict, Verdict::Better, "{comparison:#?}");
    assert!(!comparison.reasons.join("\n").contains("two kinds"), "{comparison:#?}");
}

#[test]
fn launches_of_two_kinds_are_drawn() {
    let record = of_two_kinds();
    let statistics = estimate(&record).cases;
    let judgement = judge(&record.plan, &statistics, &[]);
    let findings = Findings { record: &record, statistics: &statistics, judgement: &judgement };
    let page = html(&findings).unwrap();
    assert!(page.contains("two dashed strokes are the medians of the two groups"));
}

#[test]
fn a_verdict_that_serial_correlation_withholds_says_so() {
    // Four launches in which a neighbour was busy, and eight in which it was not.
    let comparison = judged(&record(pair(), |arm, launch, _| {
        let slow = arm == "s@candidate" && launch < 5;
        wobble(launch * 7)
            * if slow { 1.05e6 } else { 1.012e6 }
            * if arm == "s@baseline" { 1.0 / wobble(launch) } else { 1.0 }
    }));
    let reasons = comparison.reasons.join("\n");
    assert_eq!(comparison.verdict, Verdict::Inconclusive, "{comparison:#?}");
    assert!(reasons.contains("worse is withheld: launches may resemble their neighbours"), "{reasons}");
}

/// How far launches are from the typical one: they resemble their neighbours by 0.4, and their own interval allows for less than
/// they may hide.
const ALIKE: [f64; LAUNCHES] = [0.9, 0.1, 1.0, 0.6, -0.2, -0.8, 0.0, -1.0, -0.5, 0.2, 0.7, -0.4];

/// A noisy difference of `typical` times the noise that launches so alike have.
fn noisy_ratio(launch: usize, typical: f64) -> f64 {
    (0.03 * (typical + ALIKE[launch])).exp()
}

#[test]
fn a_noisy_difference_that_correlation_could_have_made_is_withheld_in_the_end() {
    let comparison =
        judged(&record(
            pair(),
            |arm, launch, _| {
                if arm == "s@baseline" { 1e6 } else { 1e6 * noisy_ratio(launch, 1.25) }
            },
        ));
    let reasons = comparison.reasons.join("\n");
    assert_eq!(comparison.verdict, Verdict::Inconclusive, "{comparison:#?}");
    assert!(comparison.time_ratio_low.unwrap() > 1.0, "{comparison:#?}");
    assert!(reasons.contains("the interval of so noisy a difference reaches 1"), "{reasons}");
}

#[test]
fn a_claim_does_not_hold_on_a_difference_that_is_withheld() {
    let claimed = |typical: f64| {
        let plan = small::plan(&[CASES, ADVANTAGE].concat(), &small::choice()).unwrap();
        let record = record(
            plan,
            |arm, launch, _| {
                if arm == "one@plain" { 1e6 / noisy_ratio(launch, typical) } else { 1e6 }
            },
        );
        judge(&record.plan, &estimate(&record).cases, &[]).claims.remove(0)
    };
    let doubtful = claimed(1.25);
    let test = &doubtful.pairs[0].tests[0];
    assert_eq!(doubtful.status, ClaimStatus::Inconclusive, "{test:#?}");
    assert!(test.low.unwrap() > 1.0, "the interval alone lies beyond the bound: {test:#?}");
    assert!(test.note.as_ref().unwrap().contains("holds is withheld"), "{test:#?}");
    assert_eq!(claimed(20.0).status, ClaimStatus::Holds, "correlation makes no such difference");
}

/// Its interval is as much wider as that of two arms, and a claim of two arms said so.
#[test]
fn a_claim_about_one_arm_says_that_it_is_withheld_for_serial_correlation() {
    let claimed = |bound: u32, place: fn(usize) -> usize| -> TestOutcome {
        let claim = RATE.replace("RATE", &bound.to_string());
        let plan = small::plan(&[CASES, &claim].concat(), &small::choice()).unwrap();
        let record = record(plan, |_, launch, _| 1e6 * noisy_ratio(place(launch), 0.0));
        judge(&record.plan, &estimate(&record).cases, &[]).claims.remove(0).pairs.remove(0).tests.remove(0)
    };
    let bounds = || (900..1010).step_by(5);
    let of = |place| bounds().map(|bound| claimed(bound, place)).collect::<Vec<_>>();
    let alike = of(|launch| launch);
    let says = |test: &&TestOutcome| {
        test.note.as_ref().is_some_and(|note| note.contains("holds is withheld: launches may"))
    };
    let (told, others): (Vec<&TestOutcome>, Vec<_>) = alike.iter().partition(says);
    assert!(
        told.iter().all(|test| test.status == ClaimStatus::Inconclusive) && !told.is_empty(),
        "{alike:#?}"
    );
    assert!(
        told[0].note.as_ref().unwrap().ends_with("times as wide as that of independent ones"),
        "{told:#?}"
    );
    for status in [ClaimStatus::Holds, ClaimStatus::Inconclusive] {
        assert!(
            others.iter().any(|test| test.status == status && test.note.is_none()),
            "{status}: {others:#?}"
        );
    }
    // The same launches in an order in which no two neighbours are alike.
    let apart = of(|launch| if launch % 2 == 0 { launch / 2 } else { 6 + launch / 2 });
    assert!(!apart.iter().any(|test| says(&test)), "{apart:#?}");
}

#[test]
fn an_arm_that_waits_for_the_disk_has_a_margin_of_its_own_whatever_the_suite_says() {
    let plan = small::plan(CASES, &small::choice()).unwrap();
    let margins = |case: usize| {
        let case = &plan.cases[case];
        case.margin_of(&case.arms[0], &case.arms[1])
    };
    assert_eq!((plan.cases[0].id.as_str(), margins(0)), ("small/read", 0.01), "it commits nothing");
    assert_eq!((plan.cases[1].id.as_str(), margins(1)), ("small/write", 0.10), "its arms are strict");
    assert_eq!(plan.cases[1].margin, 0.01, "arms that wait for no disk keep the case's");
}
