//! The estimate of a duel: what launches of a baseline and a candidate say about the ratio of their times.
//! The launch is the unit of inference; slices only make one launch's ratio precise. All logarithms are natural, and
//! a log ratio is the candidate's time over the baseline's, so a negative one is better.

use serde::{Deserialize, Serialize};

use crate::looks::{LOOKS, P_LOOK};
use crate::quantile::{median, robust_sigma};
use crate::serial::{serial_correlation, serial_widening, widening_at};
use crate::signed_rank;

/// By how much a difference must exceed half the width of the interval to be found in four duels of five, after the
/// launches of each look: for launches of one kind, and of two. By the simulation of the tests, which also says how true
/// it is.
pub const DETECTION_FACTORS: [[f64; 2]; LOOKS.len()] = [[2.15, 2.2], [1.85, 1.9], [1.6, 1.8], [1.5, 1.875]];

/// x of one launch: ln(median of the candidate `b_ns` / median of the baseline `a_ns`) over its slices.
///
/// `None` when a side has no slices or the ratio is no finite number (a median of zero nanoseconds): such a launch is
/// void and must be left out by the caller, knowingly.
pub fn launch_log_ratio(a_ns: &[f64], b_ns: &[f64]) -> Option<f64> {
    if a_ns.is_empty() || b_ns.is_empty() {
        return None;
    }
    let log_ratio = (median(b_ns) / median(a_ns)).ln();
    log_ratio.is_finite().then_some(log_ratio)
}

/// What a duel has found after some launches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// How many launches it rests on.
    pub launches: usize,
    /// The Hodges-Lehmann estimate of the log ratio (Hodges & Lehmann 1963).
    pub log_ratio: f64,
    /// Lower end of the interval at level 1 - [`P_LOOK`], log scale: exact for independent launches, and widened for
    /// their serial correlation. Negative infinity, in JSON null, when there are too few launches to bound it.
    #[serde(with = "unbounded_below")]
    pub low: f64,
    /// Upper end of the same interval. Infinity, in JSON null, when there are too few launches to bound it.
    #[serde(with = "unbounded_above")]
    pub high: f64,
    /// Two-sided signed-rank p value (Wilcoxon 1945), exact for independent launches and raised for their serial
    /// correlation as the interval is widened; not corrected for other comparisons.
    pub p: f64,
    /// Launch noise: the robust standard deviation of x over launches, 1.483 times its median absolute deviation.
    pub sigma_launch: f64,
    /// Serial correlation of x, from one launch to the next, freed of bias; none for fewer than five launches.
    #[serde(default)]
    pub serial_correlation: Option<f64>,
}

impl Estimate {
    /// The estimate from x of every launch (see [`launch_log_ratio`]); `None` without launches or when an x is not
    /// finite.
    pub fn from_launches(x: &[f64]) -> Option<Estimate> {
        if x.is_empty() || x.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let (low, high) =
            signed_rank::interval(x, 1.0 - P_LOOK).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let log_ratio = signed_rank::hodges_lehmann(x);
        let serial_correlation = serial_correlation(x);
        let widening = serial_widening(serial_correlation, x.len());
        // The widened interval excludes zero exactly when the test rejects this centre: so p and interval agree.
        let rejected = log_ratio * (1.0 - 1.0 / widening);
        let pulled: Vec<f64> = x.iter().map(|value| value - rejected).collect();
        Some(Estimate {
            launches: x.len(),
            log_ratio,
            low: log_ratio - widening * (log_ratio - low),
            high: log_ratio + widening * (high - log_ratio),
            p: signed_rank::p_value(&pulled),
            sigma_launch: robust_sigma(x),
            serial_correlation,
        })
    }

    /// How many times as wide its interval is as that of independent launches.
    pub fn widening(&self) -> f64 {
        serial_widening(self.serial_correlation, self.launches)
    }

    /// The same with the interval of independent launches, and a p of which only the side of [`P_LOOK`] is known: to say
    /// what serial correlation takes away.
    pub fn as_if_independent(&self) -> Estimate {
        let (low, high) = self.interval_widened(1.0);
        let p = if low > 0.0 || high < 0.0 { self.p.min(P_LOOK / 2.0) } else { self.p };
        Estimate { low, high, p, ..*self }
    }

    /// Whether its interval excludes zero even where the launches are as correlated as this.
    pub(super) fn excludes_zero_at(&self, correlation: f64) -> bool {
        let wider = self.at_correlation(correlation);
        wider.low > 0.0 || wider.high < 0.0
    }

    /// The same with the interval of launches as correlated as this, or as its own show where that is more. Its p stays.
    pub fn at_correlation(&self, correlation: f64) -> Estimate {
        let widening = widening_at(correlation, self.launches).max(self.widening());
        let (low, high) = self.interval_widened(widening);
        Estimate { low, high, ..*self }
    }

    /// Half the width of its interval.
    pub(super) fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Its interval, `widening` times as wide as that of independent launches.
    fn interval_widened(&self, widening: f64) -> (f64, f64) {
        let factor = widening / self.widening();
        let low = self.log_ratio - factor * (self.log_ratio - self.low);
        (low, self.log_ratio + factor * (self.high - self.log_ratio))
    }

    /// Candidate's time over baseline's: 0.98 is 2 % less time.
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// The interval of [`Estimate::ratio`], or `None` when there are too few launches to bound it.
    pub fn ratio_interval(&self) -> Option<(f64, f64)> {
        self.is_bounded().then(|| (self.low.exp(), self.high.exp()))
    }

    /// The smallest relative difference that as many launches as noisy as these find in 80 % of duels: half the width of
    /// the interval times one of the [`DETECTION_FACTORS`], taken from the log scale, so 0.02 is 2 % more time. `None`
    /// when the launches are too few to be significant at all, however large the difference.
    pub fn smallest_detectable_effect(&self, of_two_kinds: bool) -> Option<f64> {
        let look = LOOKS.iter().rposition(|look| *look <= self.launches).unwrap_or(0);
        let factor = DETECTION_FACTORS[look][usize::from(of_two_kinds)];
        self.is_bounded().then(|| (factor * self.half_width()).exp_m1())
    }

    fn is_bounded(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

/// JSON has no infinity: a missing lower end is written as null.
mod unbounded_below {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(low: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        low.is_finite().then_some(*low).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NEG_INFINITY))
    }
}

/// JSON has no infinity: a missing upper end is written as null.
mod unbounded_above {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(high: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        high.is_finite().then_some(*high).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
    }
}
