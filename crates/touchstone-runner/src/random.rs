//! Every random choice of a run, each purpose with a stream of its own: orders from the seed of the plan, values from that
//! and the salt of the run.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
pub type Stream = Xoshiro256PlusPlus;

/// The stream for `purpose` under `seed`: adding a purpose never shifts another's numbers.
pub fn stream(seed: u64, purpose: &str) -> Stream {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ (u64::from(crc32fast::hash(purpose.as_bytes())) << 17))
}

/// Where the data of a run come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Of everything that two runs of a plan have in common: keys, sizes, counts and orders.
    pub seed: u64,
    /// Of the values beside it: another in each run, so that an answer of an earlier one is no answer. With 0 values are
    /// those of the seed.
    pub salt: u64,
}

impl Seeds {
    /// The stream for an order.
    pub fn orders(self, purpose: &str) -> Stream {
        stream(self.seed, purpose)
    }

    /// The stream for values.
    pub fn values(self, purpose: &str) -> Stream {
        // An odd factor, so that no two salts come to the same.
        stream(self.seed ^ self.salt.wrapping_mul(0x9e37_79b9_7f4a_7c15), purpose)
    }
}

/// The numbers below `arms` in random order.
pub fn random_order(arms: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arms).collect();
    order.shuffle(stream);
    order
}

/// The order of `arms` arms in a block: a random permutation, then its mirror. With two arms it is ABBA or BAAB
/// by coin. Drift that is linear over the block cancels for every pair of arms.
pub fn block_order(arms: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order = random_order(arms, stream);
    let mirror: Vec<usize> = order.iter().rev().copied().collect();
    order.extend(mirror);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_a_permutation_and_its_mirror() {
        let mut stream = stream(42, "test");
        let mut firsts = [0; 3];
        for _ in 0..300 {
            let order = block_order(3, &mut stream);
            let mut mirrored = order.clone();
            mirrored.reverse();
            assert_eq!(order, mirrored);
            let mut half = order[..3].to_vec();
            half.sort_unstable();
            assert_eq!(half, [0, 1, 2]);
            firsts[order[0]] += 1;
        }
        assert!(
            firsts.iter().all(|first| (60..140).contains(first)),
            "every arm leads about as often: {firsts:?}"
        );
    }

    #[test]
    fn a_salt_changes_values_and_no_order() {
        let draw = |mut stream: Stream| block_order(8, &mut stream);
        let seeds = |salt| Seeds { seed: 42, salt };
        assert_eq!(draw(seeds(1).orders("a")), draw(seeds(2).orders("a")));
        assert_ne!(draw(seeds(1).values("a")), draw(seeds(2).values("a")));
        assert_eq!(draw(seeds(0).values("a")), draw(stream(42, "a")));
    }

    #[test]
    fn a_seed_and_a_purpose_always_give_the_same_stream() {
        let draw = |seed, purpose| block_order(8, &mut stream(seed, purpose));
        assert_eq!(draw(7, "a"), draw(7, "a"));
        assert_ne!(draw(7, "a"), draw(7, "b"));
        assert_ne!(draw(7, "a"), draw(8, "a"));
    }
}
