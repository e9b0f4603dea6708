//! One duel at a time: false verdicts on identical code, and what of real differences is found.

use crate::noise::{Noise, Shape, Source};
use crate::{duels, percent};
use touchstone::statistics::{
    Correction, Decision, Estimate, LOOKS, LookedAt, correlation_allowed, decide_together,
    may_be_correlation, settled, withheld_for_correlation,
};

const MARGIN: f64 = 0.01;
const QUICK: &[usize] = &[LOOKS[0], LOOKS[1]];

/// What a duel said, and after how many launches.
struct Said {
    decision: Decision,
    launches: usize,
    withheld: bool,
}

/// As the run looks and as the judge decides.
fn duel(noise: Noise, effect: f64, looks: &[usize], seed: u64) -> Said {
    let mut source = Source::new(noise, seed);
    let mut x: Vec<f64> = Vec::new();
    for look in looks {
        x.resize_with(*look, || effect.ln_1p() + source.x());
        let estimate = Estimate::from_launches(&x).expect("simulated launches are finite");
        let comparison = Some((estimate, MARGIN));
        let cases = [LookedAt { comparisons: vec![comparison], null_arm: None }];
        if settled(&cases, Correction::Exploration)[0] || Some(look) == looks.last() {
            let decision = decide_together(&[comparison], Correction::Exploration)[0].expect("it was made");
            let is_doubtful = may_be_correlation(&estimate, MARGIN, correlation_allowed(&cases));
            return Said {
                decision: if is_doubtful { Decision::Inconclusive } else { decision },
                launches: *look,
                withheld: is_doubtful || withheld_for_correlation(&estimate, MARGIN).is_some(),
            };
        }
    }
    unreachable!("a duel has looks")
}

fn differs(said: &Said) -> bool {
    matches!(said.decision, Decision::Better | Decision::Worse)
}

/// The share of duels of which something is true, in percent.
fn share(noise: Noise, effect: f64, looks: &[usize], question: impl Fn(&Said) -> bool) -> f64 {
    let hits = (0..duels()).filter(|seed| question(&duel(noise, effect, looks, *seed))).count();
    percent(hits, duels())
}

#[track_caller]
fn assert_false_verdicts(shape: Shape, sigma: f64, most: f64) {
    let noise = Noise { shape, sigma };
    for looks in [QUICK, &LOOKS[..]] {
        assert_false_verdicts_with(noise, looks, most);
    }
}

#[track_caller]
fn assert_false_verdicts_with(noise: Noise, looks: &[usize], most: f64) {
    let rate = share(noise, 0.0, looks, differs);
    let looks = looks.len();
    println!("identical code, {noise}, {looks} looks: {rate:.1} % false verdicts");
    assert!(rate <= most, "{noise}, {looks} looks: {rate} % false verdicts, and {most} % are promised");
}

/// The mean number of launches of a duel.
fn launches(noise: Noise, effect: f64, looks: &[usize]) -> f64 {
    let launches: usize = (0..duels()).map(|seed| duel(noise, effect, looks, seed).launches).sum();
    launches as f64 / duels() as f64
}

#[test]
fn identical_code_is_told_apart_in_at_most_five_duels_of_a_hundred() {
    for sigma in [0.009, 0.03] {
        let shapes = [Shape::Normal, Shape::HeavyTailed, Shape::Cauchy, Shape::Bursts];
        for shape in shapes.into_iter().chain([0.2, 0.5].map(Shape::TwoKinds)) {
            assert_false_verdicts(shape, sigma, 5.0);
        }
    }
}

#[test]
fn a_long_tail_on_one_side_is_no_difference_in_at_most_five_duels_of_a_hundred() {
    for sigma in [0.009, 0.03] {
        assert_false_verdicts(Shape::Skewed, sigma, 5.0);
    }
}

#[test]
fn launches_that_resemble_their_neighbours_tell_identical_code_apart_in_at_most_eight_duels_of_a_hundred() {
    assert_false_verdicts(Shape::Correlated(0.3), 0.009, 5.0);
    for correlation in [0.6, 0.8] {
        assert_false_verdicts(Shape::Correlated(correlation), 0.009, 8.0);
    }
}

/// Under noise that is wide against the margin nothing guards but what the launches show of their correlation. One comparison
/// alone, as here, has no others whose launches would tell.
#[test]
fn noisy_launches_that_resemble_their_neighbours_tell_no_more_identical_code_apart() {
    for sigma in [0.015, 0.02, 0.03] {
        for looks in [QUICK, &LOOKS[..]] {
            for (correlation, most) in [(0.3, 5.0), (0.6, 8.0), (0.8, 8.0)] {
                let shape = Shape::Correlated(correlation);
                assert_false_verdicts_with(Noise { shape, sigma }, looks, most);
            }
        }
    }
}

#[test]
fn a_verdict_that_serial_correlation_withholds_says_so() {
    let noise = Noise { shape: Shape::Correlated(0.8), sigma: 0.009 };
    let rate = share(noise, 0.0, &LOOKS, |said| said.withheld);
    println!("identical code, {noise}: {rate:.1} % withheld for it");
    assert!(rate > 25.0, "{rate} %");
}

/// The shares are what the bounds on false verdicts leave, most of all the one at a serial correlation of 0.8, less about three
/// points. So they show what a change of the procedure costs, and are no promise of the documents.
#[test]
fn real_differences_are_found_all_the_same() {
    for (sigma, effect, looks, least) in [
        (0.009, 0.01, QUICK, 30.0),
        (0.009, 0.01, &LOOKS[..], 53.0),
        (0.009, 0.02, QUICK, 85.0),
        (0.009, 0.02, &LOOKS[..], 99.0),
        (0.009, 0.03, QUICK, 92.0),
        (0.009, 0.03, &LOOKS[..], 99.5),
        (0.03, 0.03, QUICK, 40.0),
        (0.03, 0.03, &LOOKS[..], 84.0),
        (0.03, 0.05, QUICK, 75.0),
        (0.03, 0.05, &LOOKS[..], 98.0),
        (0.03, 0.10, QUICK, 92.0),
        (0.03, 0.10, &LOOKS[..], 99.5),
    ] {
        let noise = Noise { shape: Shape::Normal, sigma };
        let rate = share(noise, effect, looks, |said| said.decision == Decision::Worse);
        println!(
            "{:.0} % worse, {noise}, {} looks: found in {rate:.1} %, after {:.1} launches",
            effect * 100.0,
            looks.len(),
            launches(noise, effect, looks)
        );
        assert!(rate >= least, "{effect}: found in {rate} %, and the procedure found {least} % at least");
    }
}

#[test]
fn one_comparison_with_a_plain_difference_ends_at_the_first_look() {
    let noise = Noise { shape: Shape::Normal, sigma: 0.02 };
    let rate = share(noise, 1.0, &LOOKS, |said| differs(said) && said.launches == LOOKS[0]);
    assert_eq!(rate, 100.0, "half the time, and it did not end at 8 launches");
}

#[test]
fn identical_code_is_still_found_equivalent() {
    let noise = Noise { shape: Shape::Normal, sigma: 0.009 };
    let rate = share(noise, 0.0, &LOOKS, |said| said.decision == Decision::Equivalent);
    println!("identical code, {noise}, four looks: {rate:.1} % equivalent");
    assert!(rate >= 85.0, "{rate} %");
}

#[test]
fn what_differs_by_the_margin_is_hardly_ever_called_equivalent() {
    for (shape, most) in [(Shape::Normal, 3.0), (Shape::HeavyTailed, 3.0), (Shape::Correlated(0.6), 8.0)] {
        let noise = Noise { shape, sigma: 0.005 };
        let rate = share(noise, MARGIN, &LOOKS, |said| said.decision == Decision::Equivalent);
        println!("1 % worse, {noise}: {rate:.1} % called equivalent");
        assert!(rate <= most, "{noise}: {rate} %");
    }
}
