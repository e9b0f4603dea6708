//! The exact interval of a share: how often, say, identical code was told apart in a calibration.

/// The interval of Clopper & Pearson 1934 for the probability behind `successes` out of `trials`, two-sided at
/// `level`: coverage is at least `level` whatever the probability, at the price of some width.
///
/// ```
/// # use touchstone_statistics::clopper_pearson;
/// let (low, high) = clopper_pearson(0, 20, 0.95);
/// assert_eq!(low, 0.0);
/// assert!((high - 0.1684).abs() < 1e-4);
/// ```
///
/// # Panics
///
/// When there are no trials, more successes than trials, or `level` is not strictly between 0 and 1.
pub fn clopper_pearson(successes: u64, trials: u64, level: f64) -> (f64, f64) {
    assert!(trials > 0 && successes <= trials, "{successes} successes out of {trials} trials");
    assert!(level > 0.0 && level < 1.0, "a level lies between 0 and 1, not {level}");
    let tail = (1.0 - level) / 2.0;
    let high = if successes == trials { 1.0 } else { upper_end(successes, trials, tail) };
    // The lower end for successes is the mirror image of the upper end for failures.
    let low = if successes == 0 { 0.0 } else { 1.0 - upper_end(trials - successes, trials, tail) };
    (low, high)
}

/// The probability at which `successes` or fewer out of `trials` has the chance `tail`, by bisection to the last bit:
/// the chance falls as the probability grows.
fn upper_end(successes: u64, trials: u64, tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if binomial_cdf(successes, trials, middle) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The chance of `successes` or fewer out of `trials`, each with `probability` strictly between 0 and 1. Summed from
/// logarithms, so that many trials do not underflow.
fn binomial_cdf(successes: u64, trials: u64, probability: f64) -> f64 {
    let log_odds = probability.ln() - (-probability).ln_1p();
    let mut log_term = trials as f64 * (-probability).ln_1p();
    let mut sum = log_term.exp();
    for count in 1..=successes {
        log_term += ((trials - count + 1) as f64 / count as f64).ln() + log_odds;
        sum += log_term.exp();
    }
    sum.min(1.0)
}
