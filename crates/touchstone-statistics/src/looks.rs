//! When a duel may look at its launches, and how many launches a plan needs before it could ever say anything.
//! A group-sequential rule (Pocock 1977): few looks, the same threshold at each. Looking after every launch at 5 %
//! instead tells about one identical pair in five apart.

/// The numbers of launches after which a duel may be decided.
pub const LOOKS: [usize; 4] = [8, 12, 16, 24];

/// The two-sided p value below which one look is significant; over all [`LOOKS`] the family error stays below 5 %.
pub const P_LOOK: f64 = 0.0182;

/// The first look after `launches` launches, or `None` once the last look has passed.
///
/// ```
/// # use touchstone_statistics::next_look;
/// assert_eq!(next_look(0), Some(8));
/// assert_eq!(next_look(8), Some(12));
/// assert_eq!(next_look(24), None);
/// ```
pub fn next_look(launches: usize) -> Option<usize> {
    LOOKS.into_iter().find(|look| *look > launches)
}

/// The fewest launches with which the first of `comparisons` comparisons can be significant under Holm's correction:
/// the smallest n ≥ 1 + log₂(comparisons / [`P_LOOK`]), because the smallest p value of n launches is 2¹⁻ⁿ.
///
/// ```
/// # use touchstone_statistics::launches_needed;
/// assert_eq!(launches_needed(1), 7);
/// assert_eq!(launches_needed(100), 14);
/// ```
pub fn launches_needed(comparisons: usize) -> usize {
    let mut launches = 1;
    let mut smallest_p = 1.0;
    while smallest_p * comparisons as f64 >= P_LOOK {
        smallest_p /= 2.0;
        launches += 1;
    }
    launches
}

/// Whether a plan of this many launches can ever find one of its comparisons better or worse. A plan that cannot
/// should be refused before it runs.
pub fn can_reject(launches: usize, comparisons: usize) -> bool {
    launches >= launches_needed(comparisons)
}
