//! Every random choice of a run, each purpose with a stream of its own, all from the one seed in the record.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
pub type Stream = Xoshiro256PlusPlus;

/// The stream for `purpose` under `seed`: adding a purpose never shifts another's numbers.
pub fn stream(seed: u64, purpose: &str) -> Stream {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ (u64::from(crc32fast::hash(purpose.as_bytes())) << 17))
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
    fn a_seed_and_a_purpose_always_give_the_same_stream() {
        let draw = |seed, purpose| block_order(8, &mut stream(seed, purpose));
        assert_eq!(draw(7, "a"), draw(7, "a"));
        assert_ne!(draw(7, "a"), draw(7, "b"));
        assert_ne!(draw(7, "a"), draw(8, "a"));
    }
}
