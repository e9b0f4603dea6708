//! The bootstrap over launches (Efron 1979, percentile method): for statistics such as a p99 that have no exact
//! interval. Launches are drawn, never operations: operations of one launch share its luck. With few launches such
//! intervals are somewhat narrow, so no verdict rests on them.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::quantile::quantile_of_sorted;

/// How many times the launches are drawn again.
pub const BOOTSTRAP_RESAMPLES: usize = 2_000;

/// The two-sided level of every bootstrap interval.
pub const BOOTSTRAP_LEVEL: f64 = 0.95;

/// The interval of a statistic that is a function of how often each launch was drawn; `None` for fewer than two
/// launches, which show no spread. The same seed and number of launches draw the same resamples.
pub(super) fn interval_over_launches(
    launches: usize,
    seed: u64,
    statistic: impl Fn(&[u64]) -> f64,
) -> Option<(f64, f64)> {
    if launches < 2 {
        return None;
    }
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut values = Vec::with_capacity(BOOTSTRAP_RESAMPLES);
    let mut times_drawn = vec![0; launches];
    for _ in 0..BOOTSTRAP_RESAMPLES {
        times_drawn.fill(0);
        for _ in 0..launches {
            times_drawn[generator.random_range(0..launches)] += 1;
        }
        values.push(statistic(&times_drawn));
    }
    values.sort_by(f64::total_cmp);
    let tail = (1.0 - BOOTSTRAP_LEVEL) / 2.0;
    Some((quantile_of_sorted(&values, tail), quantile_of_sorted(&values, 1.0 - tail)))
}
