//! Serial correlation: launches that resemble their neighbours, as where a busy neighbour stays with one arm for
//! minutes. The signed-rank test takes launches for independent, so correlated ones look surer than they are. Measured
//! here, with the factor by which an interval must be wider for it.

/// How much of its standard error, 1/√n, is added to a measured correlation: a few launches cannot show that they are
/// independent. Chosen by the simulation of the tests.
pub const SERIAL_CAUTION: f64 = 0.6;

/// Few launches show too little of their correlation: where a noisy difference rests on it, what n of them show is taken
/// 1 + this / n times. Chosen by the same simulation.
pub const SERIAL_HIDDEN: f64 = 4.0;

/// How many standard errors above the measured correlations the true one may lie, where a difference is to end a case
/// before its last look. Chosen by the same simulation.
pub const SERIAL_DOUBT: f64 = 3.5;

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

/// What the launches of several cases show of their serial correlation together. What makes launches alike is mostly the machine
/// in that hour, so the launches of all cases tell it: those of one alone tell next to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shown {
    /// Launches, each counted once.
    launches: f64,
    /// Their measured correlation, summed over launches.
    measured: f64,
    /// The same with what few launches hide.
    with_hidden: f64,
}

impl Shown {
    /// By cases, each `(correlation, launches)`.
    pub(super) fn by(cases: impl Iterator<Item = (f64, usize)>) -> Shown {
        cases.fold(Shown::default(), |shown, (correlation, launches)| {
            let launches = launches as f64;
            Shown {
                launches: shown.launches + launches,
                measured: shown.measured + launches * correlation,
                with_hidden: shown.with_hidden + (launches + SERIAL_HIDDEN) * correlation,
            }
        })
    }

    /// The most correlation that may be behind it, and never less than is allowed for in the end: no case ends on a difference that
    /// these same launches take back.
    pub(super) fn at_most(&self) -> f64 {
        self.and_errors(self.measured, SERIAL_DOUBT).max(self.allowed())
    }

    /// The correlation that is allowed for in the end.
    pub(super) fn allowed(&self) -> f64 {
        self.and_errors(self.with_hidden, SERIAL_CAUTION)
    }

    fn and_errors(&self, sum: f64, errors: f64) -> f64 {
        if self.launches == 0.0 {
            return SERIAL_CORRELATION_MOST;
        }
        (sum / self.launches + errors / self.launches.sqrt()).clamp(0.0, SERIAL_CORRELATION_MOST)
    }
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
