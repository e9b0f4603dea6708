//! What the times of slices tell of the clock that they were read from.

use std::collections::BTreeSet;

/// Fewer times say nothing of a clock, nor do times that are all the same.
const TIMES_MIN: usize = 8;

/// The greatest step of which all times are whole multiples; none of too few, or of one alone. Of a clock that counts nanoseconds it is
/// one or a few of these, and of one that counts milliseconds a million.
pub(super) fn step_ns(times_ns: impl Iterator<Item = u64>) -> Option<u64> {
    let times: Vec<u64> = times_ns.filter(|ns| *ns > 0).collect();
    let different: BTreeSet<u64> = times.iter().copied().collect();
    (times.len() >= TIMES_MIN && different.len() > 1)
        .then(|| different.into_iter().fold(0, greatest_common_divisor))
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::{TIMES_MIN, step_ns};

    #[test]
    fn the_step_is_what_all_times_are_multiples_of() {
        let step = |times: &[u64]| step_ns(times.iter().copied().cycle().take(TIMES_MIN));
        assert_eq!(step(&[6_000_000, 9_000_000, 4_000_000]), Some(1_000_000));
        assert_eq!(step(&[31_000_000, 32_000_000]), Some(1_000_000));
        assert_eq!(step(&[6_000_000, 9_000_000, 4_000_001]), Some(1));
        assert_eq!(step(&[15_625, 31_250, 46_875]), Some(15_625));
        assert_eq!(step(&[6_000_000]), None, "one alone says nothing");
        assert_eq!(step_ns([6_000_000, 9_000_000, 4_000_000].into_iter()), None, "nor do three slices");
    }
}
