//! Median, quantiles and the median absolute deviation: the summaries that one stalled slice cannot move.
//! No mean and no minimum here, on purpose: stalls own the first and the second is biased.

/// What the median absolute deviation is multiplied by to estimate the standard deviation of normal data.
pub const MAD_TO_SIGMA: f64 = 1.483;

/// The middle value, or the mean of the two middle values, in the unit of the input.
///
/// ```
/// # use touchstone_statistics::median;
/// assert_eq!(median(&[3.0, 1.0, 2.0, 1_000.0]), 2.5);
/// ```
///
/// # Panics
///
/// When `values` is empty.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The quantile at `probability`, interpolated between neighbours: type 7 of Hyndman & Fan 1996, the default of R and
/// NumPy. In the unit of the input.
///
/// # Panics
///
/// When `values` is empty or `probability` is outside 0 to 1.
pub fn quantile(values: &[f64], probability: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, probability)
}

/// The same as [`quantile`], for values that are sorted already.
pub(crate) fn quantile_of_sorted(sorted: &[f64], probability: f64) -> f64 {
    assert!(!sorted.is_empty(), "a quantile needs at least one value");
    assert!((0.0..=1.0).contains(&probability), "a probability lies between 0 and 1, not {probability}");
    let position = probability * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = position.ceil() as usize;
    let (low, high) = (sorted[below], sorted[above]);
    // The mean of two exact neighbours must not depend on their order, or swapping the contenders would change the
    // last digit of an estimate; weighing both sides keeps the median symmetric where `low + f * (high - low)` is not.
    let fraction = position - below as f64;
    if low == high { low } else { low * (1.0 - fraction) + high * fraction }
}

/// The median absolute deviation from the median (unscaled), in the unit of the input.
///
/// # Panics
///
/// When `values` is empty.
pub fn mad(values: &[f64]) -> f64 {
    let centre = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&deviations)
}

/// A standard deviation that outliers cannot inflate: [`MAD_TO_SIGMA`] times [`mad`], in the unit of the input.
///
/// # Panics
///
/// When `values` is empty.
pub fn robust_sigma(values: &[f64]) -> f64 {
    MAD_TO_SIGMA * mad(values)
}
