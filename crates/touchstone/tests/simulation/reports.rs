//! Whole reports: many cases in rounds, looked at together, and judged from a record as any other.

use crate::made::{blank, part, plan, slice};
use crate::noise::{Noise, Shape, Source};
use crate::{duels, percent};
use touchstone::estimate::estimate;
use touchstone::plan::{Plan, PlannedArm};
use touchstone::statistics::{Estimate, LOOKS, LookedAt, settled};
use touchstone::verdict::{Comparison, Verdict, correction, judge};

/// The time of an operation of identical code.
const OPERATION_NS: f64 = 1e9;

/// A case of a plan while it is played: the log times of its arms, launch by launch.
pub struct Played {
    sources: Vec<Source>,
    effects: Vec<f64>,
    log_times: Vec<Vec<f64>>,
}

impl Played {
    /// One arm for each effect, the first being the baseline.
    pub fn new(noise: Noise, effects: &[f64], seed: u64) -> Played {
        let sources = (0..effects.len() as u64).map(|arm| Source::new(noise, seed * 16 + arm)).collect();
        let effects: Vec<f64> = effects.iter().map(|effect| effect.ln_1p()).collect();
        Played { sources, log_times: vec![Vec::new(); effects.len()], effects }
    }

    fn launch(&mut self) {
        for ((source, effect), times) in self.sources.iter_mut().zip(&self.effects).zip(&mut self.log_times) {
            times.push(effect + source.log_time());
        }
    }

    /// An arm against the baseline.
    fn estimate(&self, arm: usize) -> Estimate {
        let x: Vec<f64> =
            self.log_times[arm].iter().zip(&self.log_times[0]).map(|(arm, base)| arm - base).collect();
        Estimate::from_launches(&x).expect("simulated launches are finite")
    }
}

/// Plays the cases of a plan to their end, in rounds as the run does, and judges them.
pub fn play(plan: &Plan, cases: &mut [Played]) -> Vec<Comparison> {
    let mut ended = vec![false; cases.len()];
    let mut launches = 0;
    for look in &plan.looks {
        for case in cases.iter_mut().zip(&ended).filter(|(_, ended)| !**ended).map(|(case, _)| case) {
            (launches..*look).for_each(|_| case.launch());
        }
        launches = *look;
        let looked_at: Vec<LookedAt> = plan.cases.iter().zip(cases.iter()).map(looked_at).collect();
        for (ended, settled) in ended.iter_mut().zip(settled(&looked_at, correction(plan))) {
            *ended |= settled;
        }
    }
    judged(plan, cases)
}

fn looked_at((planned, played): (&touchstone::plan::PlannedCase, &Played)) -> LookedAt {
    let mut looked_at = LookedAt::default();
    for (place, arm) in planned.arms.iter().enumerate().skip(1) {
        let estimate = Some((played.estimate(place), planned.margin));
        if arm.null_arm { looked_at.null_arm = estimate } else { looked_at.comparisons.push(estimate) }
    }
    looked_at
}

fn judged(plan: &Plan, cases: &[Played]) -> Vec<Comparison> {
    let mut record = blank(plan.clone());
    for (planned, played) in plan.cases.iter().zip(cases) {
        for (arm, times) in planned.arms.iter().zip(&played.log_times) {
            for (launch, log_time) in times.iter().enumerate() {
                record.slices.push(slice(&planned.id, launch, &arm.name, OPERATION_NS * log_time.exp()));
                record.launches.push(part(&planned.id, launch, &arm.name));
            }
        }
    }
    judge(plan, &estimate(&record).cases, &[]).comparisons
}

/// The plan of a report with so many comparisons, a case for each.
fn report(comparisons: usize, looks: &[usize]) -> Plan {
    let mut plan = plan(comparisons);
    plan.looks = looks.to_vec();
    for case in &mut plan.cases {
        case.arms.truncate(2);
    }
    plan
}

/// Of the true differences, how many percent a report of `comparisons` found, of which the first `differing` are 3 %
/// worse; false ones a report; and launches a case.
fn found(comparisons: usize, differing: usize) -> (f64, f64, f64) {
    let plan = report(comparisons, &LOOKS[..2]);
    let reports = (duels() / 40).max(1);
    let (mut found, mut falsely, mut launches) = (0, 0, 0);
    let noise = Noise { shape: Shape::Normal, sigma: 0.009 };
    for report in 0..reports {
        let case = |place: usize| {
            let effect = if place < differing { 0.03 } else { 0.0 };
            Played::new(noise, &[0.0, effect], report * 1_000 + place as u64)
        };
        let mut cases: Vec<Played> = (0..comparisons).map(case).collect();
        for (place, comparison) in play(&plan, &mut cases).iter().enumerate() {
            let differs = matches!(comparison.verdict, Verdict::Better | Verdict::Worse);
            found += usize::from(differs && place < differing);
            falsely += usize::from(differs && place >= differing);
            launches += comparison.launches;
        }
    }
    let rate = percent(found, reports * differing as u64);
    println!(
        "{differing} of {comparisons} cases 3 % worse: found {rate:.1} %, {:.2} false a report, {:.1} launches a case",
        falsely as f64 / reports as f64,
        launches as f64 / (reports as usize * comparisons) as f64
    );
    (rate, falsely as f64 / reports as f64, launches as f64 / (reports as usize * comparisons) as f64)
}

#[test]
fn a_few_real_differences_among_many_cases_are_found_in_nine_of_ten() {
    for (comparisons, differing) in [(20, 1), (60, 6)] {
        let (found, falsely, _) = found(comparisons, differing);
        assert!(found >= 90.0, "{differing} of {comparisons}: only {found} % were found");
        assert!(falsely <= 0.5, "{falsely} false ones a report");
    }
}

#[test]
fn where_most_cases_differ_they_end_at_the_first_look() {
    let (found, _, launches) = found(20, 18);
    assert!(found >= 95.0, "{found} %");
    assert!(launches <= 9.0, "{launches} launches a case");
}

/// How many percent of the comparisons of a report of identical code come out better or worse, where each of its cases has
/// so many arms.
fn false_verdicts(noise: Noise, cases: usize, arms: usize, looks: &[usize]) -> f64 {
    let mut plan = report(cases, looks);
    for case in &mut plan.cases {
        let candidate = case.arms[1].clone();
        let named = |arm: usize| PlannedArm { name: format!("s@candidate-{arm}"), ..candidate.clone() };
        case.arms.extend((2..arms).map(named));
    }
    let comparisons = cases * (arms - 1);
    let reports = (duels() / comparisons as u64).max(1);
    let mut falsely = 0;
    for report in 0..reports {
        let case = |place: usize| Played::new(noise, &vec![0.0; arms], report * 1_000 + place as u64);
        let mut cases: Vec<Played> = (0..cases).map(case).collect();
        let judged = play(&plan, &mut cases);
        falsely +=
            judged.iter().filter(|known| matches!(known.verdict, Verdict::Better | Verdict::Worse)).count();
    }
    let rate = percent(falsely, reports * comparisons as u64);
    println!(
        "{cases} identical cases of {arms} arms, {noise}, {} looks: {rate:.1} % false verdicts",
        looks.len()
    );
    rate
}

#[test]
fn noisy_launches_that_resemble_their_neighbours_make_few_of_many_comparisons_differ() {
    for (cases, arms) in [(1, 4), (20, 2), (20, 4)] {
        for (correlation, sigma) in [(0.6, 0.03), (0.8, 0.015), (0.8, 0.03)] {
            for looks in [&LOOKS[..2], &LOOKS] {
                let noise = Noise { shape: Shape::Correlated(correlation), sigma };
                let rate = false_verdicts(noise, cases, arms, looks);
                assert!(rate <= 8.0, "{cases} cases, {arms} arms, {noise}, {} looks: {rate} %", looks.len());
            }
        }
    }
}
