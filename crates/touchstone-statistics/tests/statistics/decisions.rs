//! The edges where a decision flips, and the inputs that carry no answer.

use expect_test::{Expect, expect};
use touchstone_statistics::{
    Correction, Decision, Estimate, LOOKS, LookedAt, NullArm, P_LOOK, can_reject, correlation_allowed,
    decide, decide_family, decide_together, launch_log_ratio, launches_needed, may_be_correlation, next_look,
    null_arms, serial_widening, settled, withheld_for_correlation,
};

/// An estimate after twelve launches; the fields that a test is about are replaced.
const SAMPLE: Estimate = Estimate {
    launches: 12,
    log_ratio: 0.0,
    low: -0.005,
    high: 0.005,
    p: 0.5,
    sigma_launch: 0.007,
    serial_correlation: None,
};

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
fn a_null_arm_moves_by_significance_and_is_unclear_beyond_half_the_margin() {
    let half = 0.02_f64.ln_1p() / 2.0;
    let alone = |estimate: Estimate| null_arms(&[Some((estimate, 0.02))])[0].unwrap();
    assert_eq!(alone(SAMPLE), NullArm::Still);
    assert_eq!(alone(Estimate { log_ratio: -half, ..SAMPLE }), NullArm::Still);
    assert_eq!(alone(Estimate { log_ratio: -half - 1e-12, ..SAMPLE }), NullArm::Unclear);
    assert_eq!(alone(Estimate { log_ratio: half + 1e-12, ..SAMPLE }), NullArm::Unclear);
    let independent = Estimate { serial_correlation: Some(-0.5), ..between(0.001, 0.011) };
    let moved = Estimate { p: 0.0099, ..independent };
    assert_eq!(alone(moved), NullArm::Moved);
    assert_eq!(alone(Estimate { p: 0.01, ..independent }), NullArm::Still);
    let alike = Estimate { serial_correlation: Some(0.6), ..moved };
    assert_eq!(alone(alike), NullArm::Still, "launches that resemble each other may move so far");
    // Among two the same p may be chance, also where the other was not measured.
    let [still, moved] = [SAMPLE, moved].map(|estimate| Some((estimate, 0.02)));
    assert_eq!(null_arms(&[still, moved]), [Some(NullArm::Still); 2]);
    assert_eq!(null_arms(&[None, moved]), [None, Some(NullArm::Still)]);
}

#[test]
fn a_report_takes_back_what_may_be_chance_among_many_and_a_calibration_does_not() {
    let found = Some((Estimate { p: 0.0078, ..between(0.03, 0.05) }, 0.02));
    let level = Some((SAMPLE, 0.02));
    let mut many = vec![level; 9];
    many.push(found);
    assert_eq!(decide_together(&many, Correction::Alone)[9], Some(Decision::Worse));
    assert_eq!(decide_together(&many, Correction::Exploration)[9], Some(Decision::Inconclusive));
    assert_eq!(decide_together(&[found, level], Correction::Exploration)[0], Some(Decision::Worse));
    // What could not be compared is no comparison of a report.
    assert_eq!(decide_together(&[found, None, None], Correction::Exploration)[0], Some(Decision::Worse));
    assert_eq!(decide_together(&[found, None, None], Correction::Gate)[0], Some(Decision::Inconclusive));
}

#[test]
fn a_case_ends_only_on_what_will_stand_whatever_becomes_of_the_others() {
    let found = Some((Estimate { launches: 8, p: 0.0078, ..between(0.03, 0.05) }, 0.02));
    let open = Some((Estimate { launches: 8, p: 0.0078, ..between(0.015, 0.03) }, 0.025));
    let case = |comparisons: &[Option<(Estimate, f64)>]| LookedAt {
        comparisons: comparisons.to_vec(),
        null_arm: None,
    };
    assert_eq!(settled(&[case(&[found])], Correction::Exploration), [true]);
    assert_eq!(settled(&[case(&[found, open])], Correction::Exploration), [false]);
    assert_eq!(settled(&[case(&[None])], Correction::Exploration), [true], "nothing of it will be compared");
    // The other nine are as significant now, and may not be in the end.
    let mut cases = vec![case(&[open]); 9];
    cases.push(case(&[found]));
    assert_eq!(settled(&cases, Correction::Exploration), [false; 10]);
    assert!(settled(&cases, Correction::Alone)[9]);
    let null_arm = Some((Estimate { log_ratio: 0.015, ..SAMPLE }, 0.02));
    let unclear = LookedAt { null_arm, ..case(&[Some((SAMPLE, 0.02))]) };
    assert_eq!(settled(&[unclear], Correction::Gate), [false]);
}

#[test]
fn a_noisy_difference_ends_a_case_only_where_correlation_could_not_have_made_it() {
    let alone =
        |comparison: Estimate| LookedAt { comparisons: vec![Some((comparison, 0.01))], null_arm: None };
    let measured = |low: f64, high: f64, correlation: f64| Estimate {
        launches: 8,
        p: 0.0078,
        serial_correlation: Some(correlation),
        ..between(low, high)
    };
    let ends = |cases: &[LookedAt]| settled(cases, Correction::Exploration)[0];
    let noisy = alone(measured(0.02, 0.08, 0.0));
    assert!(!ends(std::slice::from_ref(&noisy)), "eight launches do not say that they are independent");
    assert!(ends(&[alone(measured(0.47, 0.53, 0.0))]), "no correlation makes such a difference");
    assert!(ends(&[alone(measured(0.011, 0.019, 0.0))]), "its noise is narrower than the margin");
    let mut many = vec![noisy; 40];
    assert!(ends(&many), "320 launches say that they are independent");
    many[1..].fill(alone(measured(0.02, 0.08, 0.8)));
    assert!(!ends(&many), "and here that they are not");
}

#[test]
fn a_noisy_difference_stands_what_all_launches_show_of_their_correlation() {
    let measured = |correlation: f64| Estimate {
        p: 0.005,
        serial_correlation: Some(correlation),
        ..between(0.005, 0.075)
    };
    let case = |correlation: f64| LookedAt {
        comparisons: vec![Some((measured(correlation), 0.01))],
        null_arm: None,
    };
    let mut cases = vec![case(0.4)];
    let alone = correlation_allowed(&cases);
    assert!(may_be_correlation(&measured(0.4), 0.01, alone), "{alone}");
    cases.extend(vec![case(-0.1); 39]);
    let among_many = correlation_allowed(&cases);
    assert!(!may_be_correlation(&measured(0.4), 0.01, among_many), "{among_many}");
    cases.fill(case(0.6));
    let all_alike = correlation_allowed(&cases);
    assert!(all_alike > 0.8, "forty cases that all resemble their neighbours by 0.6: {all_alike}");
}

#[test]
fn no_case_ends_on_a_difference_that_is_taken_back_in_the_end() {
    for (hundredths, count) in (0..90).flat_map(|hundredths| [1, 5, 60].map(|count| (hundredths, count))) {
        for correlation in [0.0, 0.3, 0.6, 0.8] {
            let low = 0.005 + f64::from(hundredths) / 1000.0;
            let measured = Estimate {
                launches: 8,
                p: 0.0078,
                serial_correlation: Some(correlation),
                ..between(low, low + 0.06)
            };
            let cases = vec![LookedAt { comparisons: vec![Some((measured, 0.01))], null_arm: None }; count];
            let is_taken_back = may_be_correlation(&measured, 0.01, correlation_allowed(&cases));
            let ends = settled(&cases, Correction::Exploration)[0];
            assert!(!(ends && is_taken_back), "{count} cases, {correlation}, from {low}");
        }
    }
}

#[test]
fn launches_that_resemble_their_neighbours_have_a_wider_interval() {
    let apart: Vec<f64> = (0..12).map(|launch| 0.011 + f64::from(launch * 5 % 12) / 500.0).collect();
    let mut alike = apart.clone();
    alike.sort_by(f64::total_cmp);
    let [apart, alike] = [apart, alike].map(|x| Estimate::from_launches(&x).unwrap());
    assert_eq!(apart.log_ratio, alike.log_ratio);
    assert!(apart.serial_correlation.unwrap() < 0.0 && alike.serial_correlation.unwrap() > 0.8);
    assert!(alike.high - alike.low > 3.0 * (apart.high - apart.low), "{alike:?} {apart:?}");
    assert!(alike.p > apart.p);
    assert_eq!(decide(&apart, 0.02), Decision::Worse);
    assert_eq!(decide(&alike, 0.02), Decision::Inconclusive);
    assert_eq!(withheld_for_correlation(&alike, 0.02), Some(Decision::Worse));
    assert_eq!(withheld_for_correlation(&apart, 0.02), None);
    assert_eq!(serial_widening(None, 12), 1.0);
    assert_eq!(serial_widening(Some(-0.5), 12), 1.0);
    assert!(serial_widening(Some(0.8), 12) > serial_widening(Some(0.6), 12));
    assert!(serial_widening(Some(0.0), 8) > serial_widening(Some(0.0), 24), "a few launches show less");
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
fn the_smallest_difference_comes_from_the_interval() {
    let found = |launches: usize, of_two_kinds: bool| {
        Estimate { launches, ..SAMPLE }.smallest_detectable_effect(of_two_kinds).unwrap()
    };
    let is_close = |left: f64, right: f64| (left - right).abs() < 1e-15;
    assert!(is_close(found(12, false), (1.85 * 0.005_f64).exp_m1()));
    assert!(is_close(found(12, true), (1.9 * 0.005_f64).exp_m1()));
    assert!(is_close(found(15, false), found(12, false)), "between two looks as at the earlier");
    assert!(is_close(found(30, false), found(24, false)));
    let single = Estimate::from_launches(&[0.01]).unwrap();
    assert_eq!(single.smallest_detectable_effect(false), None);
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
          "sigma_launch": 0.0926875,
          "serial_correlation": null
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
          "sigma_launch": 0.007,
          "serial_correlation": null
        }"#]],
    );
    assert_eq!(serde_json::to_string(&Decision::Equivalent).unwrap(), r#""equivalent""#);
}
