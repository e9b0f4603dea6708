//! The edges where a decision flips, and the inputs that carry no answer.

use expect_test::{Expect, expect};
use touchstone::statistics::{
    Decision, Estimate, LOOKS, P_LOOK, can_reject, decide, decide_family, launch_log_ratio, launches_needed,
    next_look, null_arm_moved,
};

/// An estimate after twelve launches; the fields that a test is about are replaced.
const SAMPLE: Estimate =
    Estimate { launches: 12, log_ratio: 0.0, low: -0.005, high: 0.005, p: 0.5, sigma_launch: 0.007 };

fn between(low: f64, high: f64) -> Estimate {
    let p = if low > 0.0 || high < 0.0 { 0.001 } else { 0.2 };
    Estimate { log_ratio: (low + high) / 2.0, low, high, p, ..SAMPLE }
}

#[test]
fn decisions_of_typical_intervals() {
    let margin = 0.02;
    assert_eq!(decide(&between(-0.05, -0.03), margin), Decision::Better);
    assert_eq!(decide(&between(0.03, 0.05), margin), Decision::Worse);
    assert_eq!(decide(&between(-0.01, 0.01), margin), Decision::Equivalent);
    assert_eq!(decide(&between(-0.01, 0.03), margin), Decision::Inconclusive);
    // Real but too small to matter.
    assert_eq!(decide(&between(0.005, 0.012), margin), Decision::Equivalent);
    // Significant, but neither beyond the margin nor inside it.
    assert_eq!(decide(&between(0.005, 0.03), margin), Decision::Inconclusive);
    // Beyond the margin by its estimate, though its interval reaches inside.
    assert_eq!(decide(&between(0.005, 0.055), margin), Decision::Worse);
    // Far beyond the margin, but nothing rules out chance.
    assert_eq!(decide(&between(-0.01, 0.2), margin), Decision::Inconclusive);
}

#[test]
fn the_margin_itself_matters_and_p_at_its_threshold_does_not() {
    let at_margin = 0.02_f64.ln_1p();
    let estimate = Estimate { log_ratio: at_margin, low: 0.015, high: 0.03, p: 0.01, ..SAMPLE };
    assert_eq!(decide(&estimate, 0.02), Decision::Worse);
    assert_eq!(decide(&Estimate { log_ratio: at_margin - 1e-12, ..estimate }, 0.02), Decision::Inconclusive);
    assert_eq!(decide(&Estimate { p: P_LOOK, ..estimate }, 0.02), Decision::Inconclusive);
    let touching = Estimate { log_ratio: 0.01, low: 0.001, high: at_margin, ..SAMPLE };
    assert_eq!(decide(&touching, 0.02), Decision::Inconclusive);
}

#[test]
fn identical_times_are_neither_better_nor_worse() {
    let estimate = Estimate::from_launches(&[0.0; 12]).unwrap();
    assert_eq!(estimate.p, 1.0);
    assert_eq!(decide(&estimate, 0.0), Decision::Inconclusive);
    assert_eq!(decide(&estimate, 0.02), Decision::Equivalent);
}

#[test]
fn a_family_is_stricter_than_its_members() {
    let weak = Estimate { p: 0.01, ..between(0.03, 0.05) };
    let strong = Estimate { p: 0.0005, ..between(-0.05, -0.03) };
    assert_eq!(decide(&weak, 0.02), Decision::Worse);
    let [weak, strong, level] = [weak, strong, SAMPLE].map(|estimate| Some((estimate, 0.02)));
    let decided = decide_family(&[weak, strong, level]);
    assert_eq!(decided, [Decision::Inconclusive, Decision::Better, Decision::Equivalent].map(Some));
    assert_eq!(decide_family(&[weak]), [Some(Decision::Worse)]);
    let unmade = decide_family(&[weak, None]);
    assert_eq!(
        unmade,
        [Some(Decision::Inconclusive), None],
        "what could not be compared counts all the same"
    );
    assert!(decide_family(&[]).is_empty());
}

#[test]
fn the_null_arm_moves_by_significance_or_by_half_the_margin() {
    let half = 0.02_f64.ln_1p() / 2.0;
    assert!(!null_arm_moved(&SAMPLE, 0.02));
    assert!(!null_arm_moved(&Estimate { log_ratio: -half, ..SAMPLE }, 0.02));
    assert!(null_arm_moved(&Estimate { log_ratio: -half - 1e-12, ..SAMPLE }, 0.02));
    assert!(null_arm_moved(&Estimate { log_ratio: half + 1e-12, ..SAMPLE }, 0.02));
    assert!(null_arm_moved(&Estimate { p: 0.0099, ..SAMPLE }, 0.02));
    assert!(!null_arm_moved(&Estimate { p: 0.01, ..SAMPLE }, 0.02));
}

#[test]
fn looks_follow_each_other_and_a_hopeless_plan_is_known() {
    let mut launches = 0;
    let looks = std::iter::from_fn(|| {
        launches = next_look(launches)?;
        Some(launches)
    });
    assert_eq!(looks.collect::<Vec<_>>(), [8, 12, 16, 24]);
    assert_eq!(LOOKS, [8, 12, 16, 24]);
    assert_eq!(next_look(9), Some(12));
    assert_eq!([1, 2, 20, 100].map(launches_needed), [7, 8, 12, 14]);
    for comparisons in [1, 2, 3, 7, 20, 100, 5_000] {
        let formula = (1.0 + (comparisons as f64 / P_LOOK).log2()).ceil() as usize;
        assert_eq!(launches_needed(comparisons), formula);
        assert!(can_reject(formula, comparisons) && !can_reject(formula - 1, comparisons));
    }
}

#[test]
fn a_plan_that_can_reject_does_reject_what_is_plain() {
    for comparisons in [1, 3, 20] {
        let x: Vec<f64> = (0..launches_needed(comparisons)).map(|launch| 0.1 + launch as f64 / 1e4).collect();
        let family = |x: &[f64]| {
            let mut family = vec![Some((SAMPLE, 0.02)); comparisons - 1];
            family.push(Some((Estimate::from_launches(x).unwrap(), 0.02)));
            decide_family(&family).pop().flatten().unwrap()
        };
        assert_eq!(family(&x), Decision::Worse);
        assert_eq!(family(&x[1..]), Decision::Inconclusive);
    }
}

#[test]
fn what_has_no_answer_has_none() {
    assert_eq!(Estimate::from_launches(&[]), None);
    assert_eq!(Estimate::from_launches(&[0.1, f64::NAN]), None);
    assert_eq!(Estimate::from_launches(&[f64::INFINITY]), None);
    assert_eq!(launch_log_ratio(&[], &[1.0]), None);
    assert_eq!(launch_log_ratio(&[1.0], &[]), None);
    assert_eq!(launch_log_ratio(&[0.0, 0.0], &[1.0]), None);
    assert_eq!(launch_log_ratio(&[1.0], &[0.0]), None);
    let log_ratio = launch_log_ratio(&[100.0, 110.0, 900.0], &[99.0, 121.0, 122.0]).unwrap();
    assert!((log_ratio - 1.1_f64.ln()).abs() < 1e-15);
}

#[test]
fn effects_and_launches_come_from_the_noise() {
    let found = SAMPLE.smallest_detectable_effect().unwrap();
    assert!((found - (2.9 * 0.007 / 12.0_f64.sqrt()).exp_m1()).abs() < 1e-15);
    // (2.9 · 0.7 % / 0.5 %)² = 16.48
    assert_eq!(SAMPLE.launches_to_decide(0.005), Some(17));
    assert_eq!(SAMPLE.launches_to_decide(0.02), Some(8));
    assert_eq!(SAMPLE.launches_to_decide(0.0), None);
    let single = Estimate::from_launches(&[0.01]).unwrap();
    assert_eq!(single.smallest_detectable_effect(), None);
    assert_eq!(single.launches_to_decide(0.02), None);
    assert_eq!(single.ratio_interval(), None);
}

#[track_caller]
fn check_json(estimate: &Estimate, expected: Expect) {
    let json = serde_json::to_string_pretty(estimate).unwrap();
    expected.assert_eq(&json);
    assert_eq!(serde_json::from_str::<Estimate>(&json).unwrap(), *estimate);
}

#[test]
fn json_writes_an_unbounded_interval_as_null() {
    check_json(
        &Estimate::from_launches(&[0.0625, 0.125, 0.25]).unwrap(),
        expect![[r#"
        {
          "launches": 3,
          "log_ratio": 0.140625,
          "low": null,
          "high": null,
          "p": 0.25,
          "sigma_launch": 0.0926875
        }"#]],
    );
    check_json(
        &SAMPLE,
        expect![[r#"
        {
          "launches": 12,
          "log_ratio": 0.0,
          "low": -0.005,
          "high": 0.005,
          "p": 0.5,
          "sigma_launch": 0.007
        }"#]],
    );
    assert_eq!(serde_json::to_string(&Decision::Equivalent).unwrap(), r#""equivalent""#);
}
