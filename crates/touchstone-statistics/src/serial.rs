//! Serial correlation: launches that resemble their neighbours, as where a busy neighbour stays with one arm for
//! minutes. The signed-rank test takes launches for independent, so correlated ones look surer than they are. Measured
//! here, with the factor by which an interval must be wider for it.

/// How much of its standard error, 1/√n, is added to a measured correlation: a few launches cannot show that they are
/// independent. Chosen by the simulation of the tests.
pub const SERIAL_CAUTION: f64 = 0.6;

/// How many standard errors above the measured correlations the true one may lie, where a difference is to end a case
/// before its last look. Chosen by the same simulation.
pub const SERIAL_DOUBT: f64 = 4.0;

/// More correlation than this is not believed of a few launches.
pub const SERIAL_CORRELATION_MOST: f64 = 0.9;

/// Fewer values tell nothing of their neighbours.
const VALUES_LEAST: usize = 5;

/// The correlation of a value with the next one, freed of the bias that few values have: the ordinary estimate r lies
/// about (1 + 3ρ) / n below the truth ρ (Kendall 1954), so (n·r + 1) / (n - 3) is given, within ±1.
///
/// `None` for fewer than five values, and for values that are all the same.
///
/// ```
/// # use touchstone_statistics::serial_correlation;
/// assert_eq!(serial_correlation(&[1.0, 2.0, 3.0]), None);
/// assert!(serial_correlation(&[0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.9, 1.0]).unwrap() > 0.9);
/// assert!(serial_correlation(&[0.0, 1.0, 0.1, 0.9, 0.2, 1.1, 0.0, 1.0]).unwrap() < -0.9);
/// ```
pub fn serial_correlation(values: &[f64]) -> Option<f64> {
    if values.len() < VALUES_LEAST {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let neighbours: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let correlation = neighbours / squares;
    correlation.is_finite().then(|| ((count * correlation + 1.0) / (count - 3.0)).clamp(-1.0, 1.0))
}

/// The factor by which the interval of `count` values must be wider than that of independent ones, for the measured
/// correlation and [`SERIAL_CAUTION`] standard errors more.
pub fn serial_widening(correlation: Option<f64>, count: usize) -> f64 {
    let Some(measured) = correlation else { return 1.0 };
    widening_at(measured + SERIAL_CAUTION / (count as f64).sqrt(), count)
}

/// The most correlation that may be behind the measured ones of several cases, each `(correlation, launches)`: their mean and
/// [`SERIAL_DOUBT`] standard errors, up to [`SERIAL_CORRELATION_MOST`]. What makes launches alike is mostly the machine in that
/// hour, so the launches of all cases tell it together: those of one alone tell next to nothing.
pub(super) fn correlation_at_most(measured: impl Iterator<Item = (f64, usize)>) -> f64 {
    let (sum, launches) = measured.fold((0.0, 0.0), |(sum, launches), (correlation, count)| {
        (sum + count as f64 * correlation, launches + count as f64)
    });
    if launches == 0.0 {
        return SERIAL_CORRELATION_MOST;
    }
    (sum / launches + SERIAL_DOUBT / launches.sqrt()).clamp(0.0, SERIAL_CORRELATION_MOST)
}

/// The factor at a correlation that is known, taken from 0 to [`SERIAL_CORRELATION_MOST`].
///
/// With a correlation ρ that fades as ρʲ, the mean of n values varies by f = 1 + 2·Σ(1 - j/n)·ρʲ times as much as that of
/// independent ones, and the values scatter about their own mean by less than they should.
pub(super) fn widening_at(correlation: f64, count: usize) -> f64 {
    let values = count as f64;
    let correlation = correlation.clamp(0.0, SERIAL_CORRELATION_MOST);
    let mut of_mean = 1.0;
    let mut faded = 1.0;
    for apart in 1..count {
        faded *= correlation;
        of_mean += 2.0 * (1.0 - apart as f64 / values) * faded;
    }
    let of_values = (1.0 - of_mean / values) * values / (values - 1.0);
    (of_mean / of_values).sqrt()
}
