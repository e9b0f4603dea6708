//! Compares with `known_answers.json`, which `oracle.py` computes with SciPy, statsmodels and plain enumeration.

use serde::Deserialize;
use touchstone_statistics::{self as statistics, Estimate, Latencies, P_LOOK, signed_rank};

#[derive(Deserialize)]
struct KnownAnswers {
    signed_rank: Vec<SignedRank>,
    signed_rank_tied: Vec<SignedRankTied>,
    location: Vec<Location>,
    multiplicity: Vec<Multiplicity>,
    clopper_pearson: Vec<ClopperPearson>,
    latency: Vec<Latency>,
}

#[derive(Deserialize)]
struct SignedRank {
    values: Vec<f64>,
    p: f64,
    hodges_lehmann: f64,
    intervals: Vec<Interval>,
}

#[derive(Deserialize)]
struct Interval {
    level: f64,
    interval: Option<(f64, f64)>,
}

#[derive(Deserialize)]
struct SignedRankTied {
    values: Vec<f64>,
    p: f64,
    hodges_lehmann: f64,
}

#[derive(Deserialize)]
struct Location {
    values: Vec<f64>,
    median: f64,
    mad: f64,
    quantiles: Vec<Quantile>,
}

#[derive(Deserialize)]
struct Quantile {
    probability: f64,
    value: f64,
}

#[derive(Deserialize)]
struct Multiplicity {
    p: Vec<f64>,
    alpha: f64,
    holm: Vec<bool>,
    holm_adjusted: Vec<f64>,
    benjamini_hochberg: Vec<bool>,
    benjamini_hochberg_adjusted: Vec<f64>,
}

#[derive(Deserialize)]
struct ClopperPearson {
    successes: u64,
    trials: u64,
    level: f64,
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct Latency {
    launches_ns: Vec<Vec<u64>>,
    operations: u64,
    percentiles: Vec<Percentile>,
}

#[derive(Deserialize)]
struct Percentile {
    percentile: f64,
    latency_ns: u64,
}

fn known_answers() -> KnownAnswers {
    serde_json::from_str(include_str!("known_answers.json")).expect("oracle.py writes valid JSON")
}

#[track_caller]
fn assert_close(computed: f64, known: f64) {
    let tolerance = 1e-11 * known.abs().max(1e-3);
    assert!((computed - known).abs() <= tolerance, "computed {computed}, known {known}");
}

#[test]
fn signed_rank_p_values_are_exact() {
    for case in known_answers().signed_rank {
        assert_close(signed_rank::p_value(&case.values), case.p);
    }
}

#[test]
fn signed_rank_p_values_are_exact_with_ties_and_zeros() {
    for case in known_answers().signed_rank_tied {
        assert_close(signed_rank::p_value(&case.values), case.p);
        assert_close(signed_rank::hodges_lehmann(&case.values), case.hodges_lehmann);
    }
}

#[test]
fn estimates_and_intervals_agree_with_inverting_the_test() {
    for case in known_answers().signed_rank {
        assert_close(signed_rank::hodges_lehmann(&case.values), case.hodges_lehmann);
        for known in case.intervals {
            match (signed_rank::interval(&case.values, known.level), known.interval) {
                (Some(computed), Some(known)) => {
                    assert_close(computed.0, known.0);
                    assert_close(computed.1, known.1);
                }
                (None, None) => {}
                (computed, known) => panic!("{} values: {computed:?}, known {known:?}", case.values.len()),
            }
        }
    }
}

#[test]
fn an_estimate_brings_its_parts_together() {
    for case in known_answers().signed_rank {
        let estimate = Estimate::from_launches(&case.values).expect("there are launches");
        assert_close(estimate.log_ratio, case.hodges_lehmann);
        // Serial correlation widens the interval and raises p; without it they are the oracle's.
        let widening = estimate.widening();
        assert!(widening > 1.0 || (estimate.p - case.p).abs() < 1e-12, "{} {}", estimate.p, case.p);
        assert!(estimate.p >= case.p - 1e-12, "{} {}", estimate.p, case.p);
        let known =
            case.intervals.iter().find(|known| known.level == 1.0 - P_LOOK).expect("the oracle asks for it");
        let (low, high) = known.interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let [low, high] = [low, high].map(|end| estimate.log_ratio + widening * (end - estimate.log_ratio));
        assert!(estimate.low == low || (estimate.low - low).abs() < 1e-12, "{} {low}", estimate.low);
        assert!(estimate.high == high || (estimate.high - high).abs() < 1e-12, "{} {high}", estimate.high);
    }
}

#[test]
fn medians_quantiles_and_deviations_agree() {
    for case in known_answers().location {
        assert_close(statistics::median(&case.values), case.median);
        assert_close(statistics::mad(&case.values), case.mad);
        assert_close(statistics::robust_sigma(&case.values), 1.483 * case.mad);
        for known in case.quantiles {
            assert_close(statistics::quantile(&case.values, known.probability), known.value);
        }
    }
}

#[test]
fn corrections_for_many_comparisons_agree() {
    for case in known_answers().multiplicity {
        assert_eq!(statistics::holm(&case.p, case.alpha), case.holm);
        assert_eq!(statistics::benjamini_hochberg(&case.p, case.alpha), case.benjamini_hochberg);
        for (computed, known) in statistics::holm_adjusted(&case.p).into_iter().zip(case.holm_adjusted) {
            assert_close(computed, known);
        }
        let adjusted = statistics::benjamini_hochberg_adjusted(&case.p);
        for (computed, known) in adjusted.into_iter().zip(case.benjamini_hochberg_adjusted) {
            assert_close(computed, known);
        }
    }
}

#[test]
fn intervals_of_shares_agree() {
    for case in known_answers().clopper_pearson {
        let (low, high) = statistics::clopper_pearson(case.successes, case.trials, case.level);
        assert!((low - case.low).abs() < 1e-10 && (high - case.high).abs() < 1e-10, "({low}, {high})");
    }
}

#[test]
fn latency_percentiles_keep_three_digits() {
    for case in known_answers().latency {
        let once = |launch: &Vec<u64>| launch.iter().map(|ns| (*ns, 1)).collect::<Vec<_>>();
        let launches: Vec<Vec<(u64, u64)>> = case.launches_ns.iter().map(once).collect();
        let launches = launches.iter().map(Vec::as_slice);
        let latencies = Latencies::from_launches(launches).expect("every launch has operations");
        assert_eq!(latencies.operations(), case.operations);
        for known in case.percentiles {
            let computed = latencies.latency_ns_at(known.percentile);
            let highest = known.latency_ns + known.latency_ns / 1_000;
            assert!(
                (known.latency_ns..=highest).contains(&computed),
                "p{}: computed {computed}, known {}",
                known.percentile,
                known.latency_ns
            );
        }
    }
}
