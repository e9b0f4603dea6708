//! What the times of slices tell of the clock that they were read from.

use std::collections::BTreeSet;

/// Fewer different times say nothing of a clock.
const TIMES_MIN: usize = 3;

/// The greatest step of which all times are whole multiples; none of too few different ones. Of a clock that counts nanoseconds it is
/// one or a few of these, and of one that counts milliseconds a million.
pub(super) fn step_ns(times_ns: impl Iterator<Item = u64>) -> Option<u64> {
    let different: BTreeSet<u64> = times_ns.filter(|ns| *ns > 0).collect();
    (different.len() >= TIMES_MIN).then(|| different.into_iter().fold(0, greatest_common_divisor))
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::step_ns;

    #[test]
    fn the_step_is_what_all_times_are_multiples_of() {
        assert_eq!(step_ns([6_000_000, 9_000_000, 4_000_000].into_iter()), Some(1_000_000));
        assert_eq!(step_ns([6_000_000, 9_000_000, 4_000_001].into_iter()), Some(1));
        assert_eq!(step_ns([15_625, 31_250, 46_875, 0].into_iter()), Some(15_625));
        assert_eq!(step_ns([6_000_000, 9_000_000, 9_000_000].into_iter()), None, "two of them say nothing");
    }
}
