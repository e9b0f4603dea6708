//! What must hold whatever the launches measured. The seed is fixed: a red test stays red until it is understood.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use touchstone_statistics::{
    Decision, Estimate, P_LOOK, benjamini_hochberg_adjusted, clopper_pearson, decide, decide_family,
    holm_adjusted, launch_log_ratio, launches_needed, median, signed_rank,
};

/// Log ratios of up to 26 launches: continuous, so without ties, from a millionth of a percent to many percent.
fn launches() -> impl Strategy<Value = Vec<f64>> {
    (vec(-1.0..1.0, 1..26), -0.3..0.3, -7.0..0.0_f64).prop_map(|(noise, shift, magnitude)| {
        noise.into_iter().map(|value: f64| (value + shift) * 10.0_f64.powf(magnitude)).collect()
    })
}

/// Log ratios on a coarse grid, full of ties and zeros.
fn tied_launches() -> impl Strategy<Value = Vec<f64>> {
    vec(-4_i8..6, 1..26).prop_map(|values| values.into_iter().map(|value| f64::from(value) / 64.0).collect())
}

fn any_launches() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![launches(), tied_launches()]
}

fn margins() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..0.2_f64]
}

fn estimate(x: &[f64]) -> Estimate {
    Estimate::from_launches(x).expect("there are launches and every x is finite")
}

fn mirrored(decision: Decision) -> Decision {
    match decision {
        Decision::Better => Decision::Worse,
        Decision::Worse => Decision::Better,
        other => other,
    }
}

fn is_close(left: f64, right: f64, scale: f64) -> bool {
    left == right || (left - right).abs() <= 1e-9 * scale.max(1e-9)
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 300,
        rng_seed: RngSeed::Fixed(1_945),
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn order_of_launches_matters_to_serial_correlation_alone(
        (x, shuffled) in any_launches().prop_flat_map(|x| (Just(x.clone()), Just(x).prop_shuffle())),
    ) {
        let (here, there) = (estimate(&x), estimate(&shuffled));
        prop_assert_eq!(here.log_ratio, there.log_ratio);
        prop_assert_eq!(here.sigma_launch, there.sigma_launch);
        let width = |estimate: &Estimate| (estimate.high - estimate.low) / estimate.widening();
        if here.low.is_finite() {
            prop_assert!(is_close(width(&here), width(&there), 1.0));
        }
    }

    #[test]
    fn swapping_the_contenders_mirrors_everything(x in any_launches(), margin in margins()) {
        let swapped: Vec<f64> = x.iter().map(|value| -value).collect();
        let (ahead, back) = (estimate(&x), estimate(&swapped));
        prop_assert_eq!(back.log_ratio, -ahead.log_ratio);
        prop_assert_eq!((back.low, back.high), (-ahead.high, -ahead.low));
        prop_assert_eq!(back.p, ahead.p);
        prop_assert_eq!(back.sigma_launch, ahead.sigma_launch);
        prop_assert_eq!(decide(&back, margin), mirrored(decide(&ahead, margin)));
    }

    #[test]
    fn a_shift_moves_the_estimate_and_not_its_width(x in launches(), shift in -0.5..0.5_f64) {
        let shifted: Vec<f64> = x.iter().map(|value| value + shift).collect();
        let (here, there) = (estimate(&x), estimate(&shifted));
        prop_assert!(is_close(there.log_ratio, here.log_ratio + shift, 1.0));
        prop_assert!(is_close(there.low, here.low + shift, 1.0));
        prop_assert!(is_close(there.high, here.high + shift, 1.0));
        prop_assert!(is_close(there.sigma_launch, here.sigma_launch, 1.0));
    }

    #[test]
    fn a_quicker_machine_changes_nothing(
        a_ns in vec(1.0..1e9_f64, 1..40), b_ns in vec(1.0..1e9_f64, 1..40), factor in 0.01..100.0_f64,
    ) {
        let scaled = |times: &[f64]| -> Vec<f64> { times.iter().map(|ns| ns * factor).collect() };
        let (here, there) = (launch_log_ratio(&a_ns, &b_ns), launch_log_ratio(&scaled(&a_ns), &scaled(&b_ns)));
        prop_assert!(is_close(here.unwrap(), there.unwrap(), 1.0));
        prop_assert!(is_close(launch_log_ratio(&b_ns, &a_ns).unwrap(), -here.unwrap(), 1.0));
    }

    #[test]
    fn a_stall_in_one_slice_of_three_or_more_stays_inside_the_others(
        mut a_ns in vec(1.0..1e6_f64, 2..40), stall in 1e6..1e12_f64,
    ) {
        let highest = a_ns.iter().copied().fold(0.0, f64::max);
        a_ns.push(stall);
        prop_assert!(median(&a_ns) <= highest);
    }

    #[test]
    fn the_interval_contains_the_estimate_and_p_is_a_probability(x in any_launches()) {
        let estimate = estimate(&x);
        prop_assert!(estimate.low <= estimate.log_ratio && estimate.log_ratio <= estimate.high);
        prop_assert!(estimate.p > 0.0 && estimate.p <= 1.0);
        prop_assert_eq!(estimate.low.is_finite(), x.len() >= launches_needed(1));
    }

    #[test]
    fn zero_lies_outside_the_interval_exactly_when_the_test_rejects(x in launches()) {
        let estimate = estimate(&x);
        let outside = estimate.low > 0.0 || estimate.high < 0.0;
        prop_assert_eq!(outside, estimate.p < P_LOOK, "{:?}", estimate);
    }

    #[test]
    fn a_surer_interval_is_wider(x in any_launches(), level in 0.01..0.98_f64, more in 0.0..0.019_f64) {
        if let Some((low, high)) = signed_rank::interval(&x, level + more) {
            let narrower = signed_rank::interval(&x, level).expect("a lower level needs no more launches");
            prop_assert!(low <= narrower.0 && narrower.1 <= high);
        }
    }

    #[test]
    fn a_bigger_margin_never_adds_a_difference(x in any_launches(), margin in margins(), more in 0.0..0.2_f64) {
        let estimate = estimate(&x);
        let (before, after) = (decide(&estimate, margin), decide(&estimate, margin + more));
        if matches!(after, Decision::Better | Decision::Worse) {
            prop_assert_eq!(before, after);
        }
        if before == Decision::Equivalent {
            prop_assert_eq!(after, Decision::Equivalent);
        }
    }

    #[test]
    fn a_gate_of_many_cases_never_adds_a_difference(
        family in vec((any_launches(), margins()), 1..12),
    ) {
        let family: Vec<Option<(Estimate, f64)>> =
            family.into_iter().map(|(x, margin)| Some((estimate(&x), margin))).collect();
        for (together, (estimate, margin)) in decide_family(&family).into_iter().zip(family.iter().flatten()) {
            if matches!(together, Some(Decision::Better | Decision::Worse)) {
                prop_assert_eq!(together, Some(decide(estimate, *margin)));
            }
        }
    }

    #[test]
    fn an_estimate_survives_json(x in any_launches()) {
        let before = estimate(&x);
        let after: Estimate = serde_json::from_str(&serde_json::to_string(&before).unwrap()).unwrap();
        prop_assert_eq!(after.low.is_infinite(), before.low.is_infinite());
        prop_assert!(is_close(after.low, before.low, 1e-6) && is_close(after.high, before.high, 1e-6));
        prop_assert!(is_close(after.log_ratio, before.log_ratio, 1e-6) && is_close(after.p, before.p, 1e-6));
    }

    #[test]
    fn corrections_only_ever_raise_p(p in vec(0.0..=1.0_f64, 1..40)) {
        let (holm, benjamini_hochberg) = (holm_adjusted(&p), benjamini_hochberg_adjusted(&p));
        for ((own, holm), benjamini_hochberg) in p.iter().zip(&holm).zip(&benjamini_hochberg) {
            prop_assert!(own <= benjamini_hochberg && benjamini_hochberg <= holm && *holm <= 1.0);
        }
    }

    #[test]
    fn the_interval_of_a_share_contains_it((successes, trials) in (1_u64..400).prop_flat_map(|n| (0..=n, Just(n)))) {
        let (low, high) = clopper_pearson(successes, trials, 0.95);
        let share = successes as f64 / trials as f64;
        prop_assert!(0.0 <= low && low <= share && share <= high && high <= 1.0);
        let (mirrored_low, mirrored_high) = clopper_pearson(trials - successes, trials, 0.95);
        prop_assert!(is_close(low, 1.0 - mirrored_high, 1.0) && is_close(high, 1.0 - mirrored_low, 1.0));
    }
}
