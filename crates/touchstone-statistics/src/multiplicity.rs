//! Many comparisons at once: Holm's procedure where one false alarm fails a gate, Benjamini and Hochberg's where a
//! reader explores and a known share of false discoveries is acceptable. Both take p values in any order.

/// Which hypotheses Holm's step-down procedure rejects, in the order given, so that the chance of even one false
/// rejection stays below `alpha` under any dependence (Holm 1979).
///
/// A p value equal to its threshold is not rejected, to agree with the strict comparison of a single look.
///
/// ```
/// # use touchstone_statistics::holm;
/// assert_eq!(holm(&[0.03, 0.001, 0.02], 0.05), [true, true, true]);
/// assert_eq!(holm(&[0.03, 0.001, 0.03], 0.05), [false, true, false]);
/// ```
///
/// # Panics
///
/// When a p value is outside 0 to 1.
pub fn holm(p: &[f64], alpha: f64) -> Vec<bool> {
    holm_adjusted(p).into_iter().map(|adjusted| adjusted < alpha).collect()
}

/// Holm's adjusted p values, in the order given: comparing each with alpha is the whole procedure.
///
/// # Panics
///
/// When a p value is outside 0 to 1.
pub fn holm_adjusted(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut largest_so_far: f64 = 0.0;
    for (step, index) in ascending(p).into_iter().enumerate() {
        let still_standing = (p.len() - step) as f64;
        largest_so_far = largest_so_far.max((p[index] * still_standing).min(1.0));
        adjusted[index] = largest_so_far;
    }
    adjusted
}

/// Which hypotheses are discoveries, in the order given, when at most a share `q` of the discoveries may be false on
/// average (Benjamini & Hochberg 1995; for independent or positively dependent p values).
///
/// # Panics
///
/// When a p value is outside 0 to 1.
pub fn benjamini_hochberg(p: &[f64], q: f64) -> Vec<bool> {
    benjamini_hochberg_adjusted(p).into_iter().map(|adjusted| adjusted <= q).collect()
}

/// The adjusted p values of Benjamini and Hochberg, in the order given: the smallest q at which each is a discovery.
///
/// # Panics
///
/// When a p value is outside 0 to 1.
pub fn benjamini_hochberg_adjusted(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut smallest_so_far: f64 = 1.0;
    for (step, index) in ascending(p).into_iter().enumerate().rev() {
        // Divided first: the largest p value is then multiplied by exactly 1, and never falls by a rounding.
        smallest_so_far = smallest_so_far.min(p[index] * (p.len() as f64 / (step + 1) as f64));
        adjusted[index] = smallest_so_far;
    }
    adjusted
}

/// The positions of the p values from the smallest to the largest.
fn ascending(p: &[f64]) -> Vec<usize> {
    assert!(p.iter().all(|value| (0.0..=1.0).contains(value)), "a p value lies between 0 and 1");
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|left, right| p[*left].total_cmp(&p[*right]));
    order
}
