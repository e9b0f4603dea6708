//! From an estimate and a margin to a decision. Decided here once; renderers only print it.
//! Not here: `untrusted` and `incomparable`, which the verdict adds from the null arm and from what was read back.

use serde::{Deserialize, Serialize};

use super::duel::Estimate;
use super::looks::P_LOOK;
use super::multiplicity::holm_adjusted;

/// The p value below which the null arm counts as moved.
pub const P_NULL_ARM: f64 = 0.01;

/// What a duel says about the candidate's time. Better and worse, never faster and slower: bytes are not fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Significantly less than the baseline, by the margin or more.
    Better,
    /// Significantly more than the baseline, by the margin or more.
    Worse,
    /// The whole interval lies inside the margin.
    Equivalent,
    /// None of the others: more launches, or a wider margin, would tell.
    Inconclusive,
}

/// Decides one comparison at a relative `margin` (0.02: ratios between 1/1.02 and 1.02 do not matter).
///
/// Better or worse needs p below [`P_LOOK`] and an estimate at or beyond the margin; the interval may still reach
/// inside it, because the margin is asked of the estimate and zero is what the interval must exclude. Equivalence is
/// inclusion of the interval (Schuirmann 1987). Ask only at [`super::LOOKS`]: asked after
/// every launch, even this threshold tells identical code apart in 7 % of duels.
///
/// # Panics
///
/// When `margin` is negative or not a number.
pub fn decide(estimate: &Estimate, margin: f64) -> Decision {
    decide_with_p(estimate, estimate.p, margin)
}

/// Decides comparisons that are gated together, each `(estimate, margin)` at the same look: as [`decide`], but with
/// Holm's adjusted p values in place of each one's own (Holm 1979). `None` is a comparison that could not be made: it
/// has no decision, and still counts, because the family was chosen before anything was measured.
///
/// # Panics
///
/// When a margin is negative or not a number.
pub fn decide_family(comparisons: &[Option<(Estimate, f64)>]) -> Vec<Option<Decision>> {
    let p: Vec<f64> =
        comparisons.iter().map(|made| made.as_ref().map_or(1.0, |(estimate, _)| estimate.p)).collect();
    let made = comparisons.iter().zip(holm_adjusted(&p));
    made.map(|(comparison, adjusted_p)| {
        comparison.as_ref().map(|(estimate, margin)| decide_with_p(estimate, adjusted_p, *margin))
    })
    .collect()
}

/// Whether the null arm, the baseline compared with itself, moved: p below [`P_NULL_ARM`], or an estimate beyond half
/// the margin, halved on the log scale so that both directions are treated alike. Then no verdict of its case can be
/// trusted, whatever the other contenders did.
///
/// # Panics
///
/// When `margin` is negative or not a number.
pub fn null_arm_moved(null_arm: &Estimate, margin: f64) -> bool {
    null_arm.p < P_NULL_ARM || null_arm.log_ratio.abs() > log_margin(margin) / 2.0
}

fn decide_with_p(estimate: &Estimate, p: f64, margin: f64) -> Decision {
    let limit = log_margin(margin);
    let beyond = p < P_LOOK && estimate.log_ratio.abs() >= limit;
    if beyond && estimate.log_ratio < 0.0 {
        Decision::Better
    } else if beyond && estimate.log_ratio > 0.0 {
        Decision::Worse
    } else if -limit < estimate.low && estimate.high < limit {
        Decision::Equivalent
    } else {
        Decision::Inconclusive
    }
}

/// The margin on the log scale, where it is the same distance in both directions.
fn log_margin(margin: f64) -> f64 {
    assert!(margin >= 0.0, "a margin is a relative difference of 0 or more, not {margin}");
    margin.ln_1p()
}
