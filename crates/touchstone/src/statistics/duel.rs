//! The estimate of a duel: what launches of a baseline and a candidate say about the ratio of their times.
//! The launch is the unit of inference; slices only make one launch's ratio precise. All logarithms are natural, and
//! a log ratio is the candidate's time over the baseline's, so a negative one is better.

use serde::{Deserialize, Serialize};

use super::looks::{LOOKS, P_LOOK};
use super::quantile::{median, robust_sigma};
use super::signed_rank;

/// (z for 5 % two-sided + z for 80 % power) times √(π/3), which is what the signed-rank test costs over the z test.
const DETECTION_FACTOR: f64 = 2.9;

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
    /// Lower end of the exact interval at level 1 - [`P_LOOK`], log scale. Negative infinity, in JSON null, when
    /// there are too few launches to bound it.
    #[serde(with = "unbounded_below")]
    pub low: f64,
    /// Upper end of the same interval. Infinity, in JSON null, when there are too few launches to bound it.
    #[serde(with = "unbounded_above")]
    pub high: f64,
    /// Exact two-sided signed-rank p value (Wilcoxon 1945), not corrected for other comparisons.
    pub p: f64,
    /// Launch noise: the robust standard deviation of x over launches, 1.483 times its median absolute deviation.
    pub sigma_launch: f64,
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
        Some(Estimate {
            launches: x.len(),
            log_ratio: signed_rank::hodges_lehmann(x),
            low,
            high,
            p: signed_rank::p_value(x),
            sigma_launch: robust_sigma(x),
        })
    }

    /// Candidate's time over baseline's: 0.98 is 2 % less time.
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// The interval of [`Estimate::ratio`], or `None` when there are too few launches to bound it.
    pub fn ratio_interval(&self) -> Option<(f64, f64)> {
        self.is_bounded().then(|| (self.low.exp(), self.high.exp()))
    }

    /// The smallest relative difference that this many launches of this noise find in 80 % of duels: 2.9·s/√n taken
    /// from the log scale, so 0.02 is 2 % more time. `None` when the launches are too few to be significant at all,
    /// however large the difference.
    pub fn smallest_detectable_effect(&self) -> Option<f64> {
        let log_effect = DETECTION_FACTOR * self.sigma_launch / (self.launches as f64).sqrt();
        self.is_bounded().then(|| log_effect.exp_m1())
    }

    /// About how many launches would decide at a relative `margin`: ⌈(2.9·s/margin)²⌉, and never fewer than the first
    /// look. `None` without a margin, which no number of launches decides, or when there are too few launches to know
    /// the noise.
    pub fn launches_to_decide(&self, margin: f64) -> Option<usize> {
        let launches = (DETECTION_FACTOR * self.sigma_launch / margin).powi(2).ceil();
        (self.is_bounded() && margin > 0.0).then_some((launches as usize).max(LOOKS[0]))
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
