//! Whole gates: every case has the baseline once more, and all are corrected together.

use crate::made::plan;
use crate::noise::{Noise, Shape};
use crate::reports::{Played, play};
use crate::{duels, percent};
use touchstone::plan::Plan;
use touchstone::verdict::{Comparison, Verdict};

/// A gate's plan at the margin that a gate has.
fn gate(cases: usize) -> Plan {
    let mut plan = plan(cases);
    plan.family = cases;
    for case in &mut plan.cases {
        case.margin = 0.02;
        case.arms[2].null_arm = true;
    }
    plan
}

/// What became of some gates, in percent.
#[derive(Default)]
struct Ends {
    worse: f64,
    untrusted: f64,
    passed: f64,
    /// Of the cases whose candidate differs: worse was said.
    found: f64,
}

/// Gates of `cases` cases; the candidate of the first is worse by `effect`, and its null arm by `moved`.
fn gates(noise: Noise, cases: usize, effect: f64, moved: f64) -> Ends {
    let plan = gate(cases);
    let gates = (duels() / 20).max(1);
    let (mut worse, mut untrusted, mut passed, mut found) = (0, 0, 0, 0);
    for gate in 0..gates {
        let case = |place: usize| {
            let differing = if place == 0 { [0.0, effect, moved] } else { [0.0; 3] };
            Played::new(noise, &differing, gate * 1_000 + place as u64)
        };
        let mut played: Vec<Played> = (0..cases).map(case).collect();
        let judged = play(&plan, &mut played);
        let candidates: Vec<&Comparison> = judged.iter().filter(|known| known.arm == "s@candidate").collect();
        let any =
            |verdict: Verdict, known: &[&Comparison]| known.iter().any(|known| known.verdict == verdict);
        let identical = if effect == 0.0 && moved == 0.0 { &candidates[..] } else { &candidates[1..] };
        worse += usize::from(any(Verdict::Worse, identical));
        untrusted += usize::from(any(Verdict::Untrusted, identical));
        passed += usize::from(!any(Verdict::Inconclusive, identical) && !any(Verdict::Untrusted, identical));
        found += usize::from(candidates[0].verdict == Verdict::Worse);
    }
    let ends = Ends {
        worse: percent(worse, gates),
        untrusted: percent(untrusted, gates),
        passed: percent(passed, gates),
        found: percent(found, gates),
    };
    println!(
        "gates of {cases}, {noise}, the first {:.0} % worse, its null arm moved by {:.0} %: of the others {:.1} % have a worse \
         one, {:.1} % an untrusted one, {:.1} % all pass; the first is worse in {:.1} %",
        effect * 100.0,
        moved * 100.0,
        ends.worse,
        ends.untrusted,
        ends.passed,
        ends.found
    );
    ends
}

#[test]
fn gates_of_identical_code_are_hardly_ever_worse_and_hardly_ever_untrusted() {
    for sigma in [0.009, 0.02] {
        for (shape, cases) in [(Shape::Normal, 1), (Shape::Normal, 20), (Shape::HeavyTailed, 20)] {
            let ends = gates(Noise { shape, sigma }, cases, 0.0, 0.0);
            assert!(ends.worse <= 5.0, "{} % worse", ends.worse);
            assert!(ends.untrusted <= 5.0, "{} % untrusted", ends.untrusted);
        }
    }
    for shape in [Shape::TwoKinds(0.5), Shape::Correlated(0.6)] {
        let ends = gates(Noise { shape, sigma: 0.009 }, 20, 0.0, 0.0);
        assert!(ends.worse <= 5.0, "{} % worse", ends.worse);
    }
}

#[test]
fn a_quiet_machine_passes_identical_code() {
    let ends = gates(Noise { shape: Shape::Normal, sigma: 0.009 }, 5, 0.0, 0.0);
    assert!(ends.passed >= 95.0, "{} % passed", ends.passed);
}

#[test]
fn one_moved_case_condemns_no_other_and_one_worse_case_is_found() {
    let noise = Noise { shape: Shape::Normal, sigma: 0.009 };
    let moved = gates(noise, 10, 0.0, 0.05);
    assert_eq!(moved.found, 0.0, "the null arm of the first case moved");
    assert!(moved.untrusted <= 2.0, "{} % of the others untrusted", moved.untrusted);
    let worse = gates(noise, 10, 0.05, 0.0);
    assert!(worse.found >= 95.0, "found in {} %", worse.found);
}
