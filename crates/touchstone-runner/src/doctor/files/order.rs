//! In which order the blocks of the file are visited: each once, then again from the start.

use super::Pattern;
use crate::random::stream;
use rand::seq::SliceRandom;

/// The seed of the shuffle: the same blocks in the same order on every machine.
const SEED: u64 = 42;

/// The blocks of a file of `file_bytes`, by number.
pub(super) fn order(pattern: Pattern, file_bytes: u64, block_bytes: usize) -> Vec<u32> {
    let blocks = file_bytes / block_bytes as u64;
    let mut order: Vec<u32> = (0..u32::try_from(blocks).expect("the file is bounded")).collect();
    if pattern == Pattern::Random {
        order.shuffle(&mut stream(SEED, "doctor"));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_comes_once() {
        let sequential = order(Pattern::Sequential, 1 << 20, 4096);
        let mut random = order(Pattern::Random, 1 << 20, 4096);
        assert_eq!((sequential.len(), sequential[0], sequential[255]), (256, 0, 255));
        assert_ne!(random, sequential);
        random.sort_unstable();
        assert_eq!(random, sequential);
    }
}
