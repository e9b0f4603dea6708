//! The signed-rank test of Wilcoxon 1945 with its estimate and interval (Hodges & Lehmann 1963), all exact: no normal
//! approximation at any size, and ties are counted rather than broken.
//! The test asks for symmetry around zero, which the random order of contenders in a launch gives to identical code.

use crate::quantile::quantile_of_sorted;

/// The two-sided p value of "the values are symmetric around zero", in (0, 1].
///
/// Zeros say nothing about direction and are dropped before ranking, as Wilcoxon did and as `zero_method="wilcox"` of
/// SciPy does; equal magnitudes share the mean of their ranks, and the null distribution is that of those shared ranks.
/// No value left means no evidence: 1. The result is exact up to the rounding of a double; time grows with the third
/// power of the number of values (64 values: 70,000 steps).
///
/// # Panics
///
/// When a value is not a number.
pub fn p_value(values: &[f64]) -> f64 {
    assert!(values.iter().all(|value| !value.is_nan()), "a rank needs a number");
    let mut nonzero: Vec<f64> = values.iter().copied().filter(|value| *value != 0.0).collect();
    nonzero.sort_by(|left, right| left.abs().total_cmp(&right.abs()));
    let ranks = doubled_midranks(&nonzero);
    let positive: usize =
        nonzero.iter().zip(&ranks).filter(|(value, _)| **value > 0.0).map(|(_, rank)| rank).sum();
    let total: usize = ranks.iter().sum();
    let statistic = positive.min(total - positive);
    let tail: f64 = rank_sum_probabilities(&ranks, statistic).iter().sum();
    (2.0 * tail).clamp(f64::MIN_POSITIVE, 1.0)
}

/// The Hodges-Lehmann estimate of the centre: the median of all Walsh averages (xᵢ + xⱼ) / 2 with i ≤ j.
///
/// # Panics
///
/// When `values` is empty.
pub fn hodges_lehmann(values: &[f64]) -> f64 {
    quantile_of_sorted(&walsh_averages(values), 0.5)
}

/// The interval of all centres that the two-sided test at `1 - level` does not reject, or `None` where so few values
/// can reject nothing and the interval is the whole line (fewer than 7 values at the level of a look).
///
/// Its ends are order statistics of the Walsh averages, chosen from the distribution without ties, so the coverage is
/// at least `level` (conservative; ties make it more so). Without ties and zeros, zero lies outside exactly when
/// [`p_value`] is below `1 - level`.
///
/// # Panics
///
/// When `level` is not strictly between 0 and 1.
pub fn interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    assert!(level > 0.0 && level < 1.0, "a level lies between 0 and 1, not {level}");
    let rejected = largest_rejected_sum(values.len(), 1.0 - level)?;
    let averages = walsh_averages(values);
    Some((averages[rejected], averages[averages.len() - 1 - rejected]))
}

/// All (xᵢ + xⱼ) / 2 with i ≤ j, sorted.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, left) in values.iter().enumerate() {
        averages.extend(values[index..].iter().map(|right| left / 2.0 + right / 2.0));
    }
    averages.sort_by(f64::total_cmp);
    averages
}

/// Twice the rank of every magnitude, so that a rank shared by a tie, which may end in a half, stays an integer.
fn doubled_midranks(sorted_by_magnitude: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted_by_magnitude.len());
    for tied in sorted_by_magnitude.chunk_by(|left, right| left.abs() == right.abs()) {
        let first = ranks.len() + 1;
        let last = ranks.len() + tied.len();
        ranks.extend(std::iter::repeat_n(first + last, tied.len()));
    }
    ranks
}

/// The probabilities of the rank sums 0 to `largest` when every rank counts or not by the toss of a coin.
///
/// Halving is exact in binary and every term is positive, so nothing cancels: up to 50 ranks the result is exact.
fn rank_sum_probabilities(ranks: &[usize], largest: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; largest + 1];
    probabilities[0] = 1.0;
    for &rank in ranks {
        // Downwards, so that each rank is counted at most once.
        for sum in (0..=largest).rev() {
            let without = probabilities[sum];
            let with = if sum >= rank { probabilities[sum - rank] } else { 0.0 };
            probabilities[sum] = (without + with) / 2.0;
        }
    }
    probabilities
}

/// The largest rank sum of `count` values without ties whose two-sided p value is below `alpha`.
fn largest_rejected_sum(count: usize, alpha: f64) -> Option<usize> {
    let ranks: Vec<usize> = (1..=count).collect();
    let probabilities = rank_sum_probabilities(&ranks, count * (count + 1) / 4);
    let mut tail = 0.0;
    let rejected = probabilities
        .iter()
        .take_while(|probability| {
            tail += **probability;
            2.0 * tail < alpha
        })
        .count();
    rejected.checked_sub(1)
}
