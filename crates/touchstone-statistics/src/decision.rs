//! From an estimate and a margin to a decision. Decided here once; renderers only print it.
//! Not here: `untrusted` and `incomparable`, which the verdict adds from the null arm and from what was read back.

use serde::{Deserialize, Serialize};

use crate::duel::Estimate;
use crate::looks::P_LOOK;
use crate::multiplicity::{benjamini_hochberg, holm_adjusted};
use crate::serial::Shown;

/// The p value below which a null arm counts as moved, after the correction for their number.
pub const P_NULL_ARM: f64 = 0.01;

/// The share of false finds that an exploration of many cases may have on average.
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// A difference is noisy where half its interval is wider than this share of the margin. Chosen by the simulation of the tests.
pub const NOISY_SHARE: f64 = 0.75;

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
/// inclusion of the interval (Schuirmann 1987). Ask only at [`crate::LOOKS`]: asked after
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

/// How comparisons that are decided together are corrected for their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// Each stands alone, as in a calibration.
    Alone,
    /// A report explores: a difference must be a discovery among all of them.
    Exploration,
    /// A gate: a difference must stand Holm's correction.
    Gate,
}

/// Decides comparisons that belong together, each `(estimate, margin)`, as [`decide`] does and with the correction that
/// they are judged with in the end. The looks of a run ask the same: a case that ends on a difference that the report
/// then takes back would have ended too soon.
///
/// # Panics
///
/// When a margin is negative or not a number.
pub fn decide_together(
    comparisons: &[Option<(Estimate, f64)>],
    correction: Correction,
) -> Vec<Option<Decision>> {
    if correction == Correction::Gate {
        return decide_family(comparisons);
    }
    let made: Vec<f64> = comparisons.iter().flatten().map(|(estimate, _)| estimate.p).collect();
    let found = match correction {
        Correction::Alone => vec![true; made.len()],
        _ => discoveries(&made),
    };
    let mut found = found.into_iter();
    let decide_one = |comparison: &Option<(Estimate, f64)>| {
        let (estimate, margin) = comparison.as_ref()?;
        let found = found.next()?;
        Some(match decide(estimate, *margin) {
            Decision::Better | Decision::Worse if !found => Decision::Inconclusive,
            decision => decision,
        })
    };
    comparisons.iter().map(decide_one).collect()
}

/// Which p values of an exploration are discoveries, by Benjamini and Hochberg at [`FALSE_DISCOVERY_RATE`].
pub fn discoveries(p: &[f64]) -> Vec<bool> {
    benjamini_hochberg(p, FALSE_DISCOVERY_RATE)
}

/// What a null arm, the baseline compared with itself, says of its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullArm {
    /// Nothing: it lies within half the margin.
    Still,
    /// It lies beyond half the margin, and that may be chance: more launches would tell, and until then nothing is
    /// decided.
    Unclear,
    /// It differs from itself beyond chance: no verdict of its case can be trusted.
    Moved,
}

/// What the null arms of a gate say, each `(estimate, margin)`: moved where p is below [`P_NULL_ARM`] after Holm's
/// correction over all of them, so that one gate in a hundred is untrusted by chance, however many cases it has, and where the
/// serial correlation that all null arms show together could not have made it. Half
/// the margin is taken on the log scale, so that both directions are treated alike.
///
/// # Panics
///
/// When a margin is negative or not a number.
pub fn null_arms(arms: &[Option<(Estimate, f64)>]) -> Vec<Option<NullArm>> {
    let p: Vec<f64> = arms.iter().map(|arm| arm.as_ref().map_or(1.0, |(estimate, _)| estimate.p)).collect();
    let shown = arms.iter().flatten().filter_map(|(arm, _)| Some((arm.serial_correlation?, arm.launches)));
    let allowed = Shown::by(shown).allowed();
    let said = |((estimate, margin), p): (&(Estimate, f64), f64)| {
        if p < P_NULL_ARM && estimate.excludes_zero_at(allowed) {
            NullArm::Moved
        } else if estimate.log_ratio.abs() > log_margin(*margin) / 2.0 {
            NullArm::Unclear
        } else {
            NullArm::Still
        }
    };
    arms.iter().zip(holm_adjusted(&p)).map(|(arm, p)| Some(said((arm.as_ref()?, p)))).collect()
}

/// What would be said were launches independent, where serial correlation alone keeps it from being said.
///
/// # Panics
///
/// When `margin` is negative or not a number.
pub fn withheld_for_correlation(estimate: &Estimate, margin: f64) -> Option<Decision> {
    let independent = decide(&estimate.as_if_independent(), margin);
    let is_withheld = decide(estimate, margin) == Decision::Inconclusive;
    (is_withheld && independent != Decision::Inconclusive).then_some(independent)
}

/// Whether a difference is noisy (see [`is_noisy`]) and may be serial correlation: its interval reaches zero where launches are as correlated as this. A narrow interval needs no such care, because the estimate must lie
/// at the margin or beyond, and noise that small does not carry it there.
///
/// # Panics
///
/// When `margin` is negative or not a number.
pub fn may_be_correlation(estimate: &Estimate, margin: f64, correlation: f64) -> bool {
    let differs = matches!(decide(estimate, margin), Decision::Better | Decision::Worse);
    differs && is_noisy(estimate, margin) && !estimate.excludes_zero_at(correlation)
}

/// Whether an estimate is noisy against a margin: half its interval is wider than [`NOISY_SHARE`] of it.
///
/// # Panics
///
/// When `margin` is negative or not a number.
pub fn is_noisy(estimate: &Estimate, margin: f64) -> bool {
    estimate.half_width() > NOISY_SHARE * log_margin(margin)
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
