//! Launches of two kinds: values that fall into two groups with nothing between them, as where a page or a table lies
//! well in some launches and badly in others. A median of such launches is a figure that no launch has.

use crate::looks::LOOKS;
use crate::quantile::median;
use serde::{Deserialize, Serialize};

/// The gap must be wider than the wider group by this number over the number of launches: 2 of 8, 1 of 16.
pub const KINDS_GAP: f64 = 16.0;

/// The smaller group has at least one launch in so many, and never fewer than two: one outlier is no kind.
pub const KINDS_SHARE: usize = 6;

/// The groups lie at least this far apart, as a relative difference: less is not told from ordinary noise.
pub const KINDS_APART: f64 = 0.03;

/// Two groups of launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kinds {
    /// The median of the lower group, in the unit of the values.
    pub low: f64,
    /// The median of the upper group.
    pub high: f64,
    /// Launches in the lower group.
    pub launches_low: usize,
    /// Launches in the upper group.
    pub launches_high: usize,
}

impl Kinds {
    /// The two groups of positive values such as times, by the widest gap between their logarithms; `None` where they are
    /// of one kind, or fewer than the first look has.
    ///
    /// ```
    /// # use touchstone_statistics::Kinds;
    /// let kinds = Kinds::of(&[1.00, 1.21, 1.01, 1.20, 1.02, 1.00, 1.19, 1.01]).unwrap();
    /// assert_eq!((kinds.launches_low, kinds.launches_high), (5, 3));
    /// assert_eq!(Kinds::of(&[1.00, 1.01, 1.03, 1.02, 1.00, 0.99, 1.40, 1.01]), None);
    /// ```
    pub fn of(values: &[f64]) -> Option<Kinds> {
        let least = values.len().div_ceil(KINDS_SHARE).max(2);
        if values.len() < LOOKS[0] || !values.iter().all(|value| *value > 0.0) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let gap = |place: usize| (sorted[place] / sorted[place - 1]).ln();
        let width = |group: &[f64]| (group[group.len() - 1] / group[0]).ln();
        let place = (least..=sorted.len() - least).max_by(|a, b| gap(*a).total_cmp(&gap(*b)))?;
        let (lower, upper) = sorted.split_at(place);
        let wider = width(lower).max(width(upper));
        let kinds = Kinds {
            low: median(lower),
            high: median(upper),
            launches_low: lower.len(),
            launches_high: upper.len(),
        };
        let apart = kinds.high / kinds.low >= 1.0 + KINDS_APART;
        (apart && gap(place) > wider * KINDS_GAP / values.len() as f64).then_some(kinds)
    }
}
