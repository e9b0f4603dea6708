//! The best that any pool of so many pages can do with an order of gets that it knows beforehand: what is asked for again last, or
//! never, leaves first (Belady, 1966). No policy hits more; it is the limit beside which policies are judged.

use std::collections::{BTreeSet, HashMap};

/// How many of `gets` the best pool of so many pages hits, where it was asked for those `before` first.
pub(super) fn hits(before: &[u32], gets: &[u32], pages: usize) -> u64 {
    let all: Vec<u32> = before.iter().chain(gets).copied().collect();
    let next = next_gets(&all);
    let mut held: HashMap<u32, usize> = HashMap::new();
    // By when it is asked for again.
    let mut leaving: BTreeSet<(usize, u32)> = BTreeSet::new();
    let mut hits = 0;
    for (at, page) in all.iter().enumerate() {
        if let Some(asked) = held.remove(page) {
            leaving.remove(&(asked, *page));
            hits += u64::from(at >= before.len());
        } else if held.len() >= pages
            && let Some((_, last)) = leaving.pop_last()
        {
            held.remove(&last);
        }
        if pages > 0 {
            held.insert(*page, next[at]);
            leaving.insert((next[at], *page));
        }
    }
    hits
}

/// For each get, when its page is asked for next.
fn next_gets(gets: &[u32]) -> Vec<usize> {
    let mut next = vec![usize::MAX; gets.len()];
    let mut seen = HashMap::new();
    for (at, page) in gets.iter().enumerate().rev() {
        if let Some(later) = seen.insert(*page, at) {
            next[at] = later;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Seeds, Stream};
    use rand::RngExt;

    /// Every way to evict, tried.
    fn tried(held: &BTreeSet<u32>, gets: &[u32], pages: usize) -> u64 {
        let Some((first, rest)) = gets.split_first() else { return 0 };
        if held.contains(first) {
            return 1 + tried(held, rest, pages);
        }
        let with = |mut held: BTreeSet<u32>| {
            held.insert(*first);
            tried(&held, rest, pages)
        };
        if held.len() < pages {
            return with(held.clone());
        }
        let without = |page: &u32| held.iter().filter(|other| *other != page).copied().collect();
        held.iter().map(|page| with(without(page))).max().unwrap_or(0)
    }

    fn gets(random: &mut Stream, most: usize) -> Vec<u32> {
        let count = random.random_range(0..=most);
        (0..count).map(|_| random.random_range(0..5)).collect()
    }

    fn random() -> Stream {
        Seeds { seed: 1, salt: 0 }.orders("a test")
    }

    #[test]
    fn no_way_to_evict_hits_more() {
        let mut random = random();
        for _ in 0..2000 {
            let (gets, pages) = (gets(&mut random, 10), random.random_range(1..4));
            assert_eq!(hits(&[], &gets, pages), tried(&BTreeSet::new(), &gets, pages), "{gets:?} of {pages}");
        }
    }

    /// A pool for all pages evicts none, so that each is missed once.
    #[test]
    fn what_comes_before_fills_the_pool_and_counts_for_nothing() {
        let mut random = random();
        for _ in 0..2000 {
            let (before, gets) = (gets(&mut random, 10), gets(&mut random, 10));
            let known: BTreeSet<&u32> = before.iter().collect();
            let missed = gets.iter().filter(|page| !known.contains(page)).collect::<BTreeSet<_>>().len();
            assert_eq!(hits(&before, &gets, 5), (gets.len() - missed) as u64, "{gets:?} after {before:?}");
        }
    }

    /// Pages in turn: where the pool has room for all but one of them, one get in as many as it holds misses, once it is full.
    #[test]
    fn of_pages_in_turn_the_best_pool_hits_what_it_can_keep() {
        let gets: Vec<u32> = (0..1000).map(|at| at % 10).collect();
        assert_eq!(hits(&[], &gets, 10), 990);
        assert_eq!(hits(&[], &gets, 1), 0);
        assert_eq!(hits(&[], &gets, 9), 990 - 110);
    }
}
