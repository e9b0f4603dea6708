//! Policies against their definitions, and what each must keep to.

use super::*;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use touchstone_kit::{FailureKind, Row, failure};

fn page(number: u64) -> Page {
    let mut bytes = vec![0; 32].into_boxed_slice();
    Page::write(&mut bytes, &Row { key: number as i64, value: vec![number as u8; 8] }).expect("it fits");
    Page::check(bytes, number).expect("it is whole")
}

/// Hits of a sequence of looks, whose pages are the right ones.
fn hits(pool: &dyn Pool, looks: impl IntoIterator<Item = u64>) -> usize {
    let found = |number: u64| {
        let mut key = None;
        let found = pool.see(number, &|| Ok(page(number)), &mut |page| key = Some(page.row().key));
        assert_eq!(key, Some(number as i64));
        found.expect("nothing fails")
    };
    looks.into_iter().filter(|number| found(*number) == Found::Hit).count()
}

fn policies() -> Vec<Policy> {
    Policy::NAMES.iter().filter_map(|name| Policy::named(name)).collect()
}

/// The sequence of a linear congruential generator (Knuth's MMIX), as numbers below a bound.
fn random(below: u64, count: usize) -> Vec<u64> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn every_policy_has_its_name() {
    assert_eq!(policies().len(), Policy::NAMES.len());
    for policy in policies() {
        assert_eq!(Policy::named(&policy.to_string()), Some(policy));
    }
    assert_eq!(Policy::named("mru"), None);
}

#[test]
fn a_working_set_that_fits_is_missed_once_each() {
    for policy in policies() {
        let pool = policy.pool(128);
        // Twice as often as there are pages: some policies let a page be seen once more before they trust it.
        let looks: Vec<u64> = (0..10).flat_map(|_| 0..100).collect();
        assert!(hits(&*pool, looks) >= 800, "{policy}");
    }
}

/// Pages in turn, more than the pool holds: no policy without a memory longer than the pool hits one, and LRU, its scan and
/// CLOCK exactly none.
#[test]
fn pages_in_turn_are_never_hit_by_recency() {
    for policy in [Policy::Lru, Policy::Scan, Policy::Clock] {
        let looks = (0..5).flat_map(|_| 0..1000);
        assert_eq!(hits(&*policy.pool(128), looks), 0, "{policy}");
    }
}

/// At random among n pages a pool of m hits m in n, but for the first m looks or so.
#[test]
fn random_pages_are_hit_as_often_as_the_pool_holds_them() {
    for policy in policies() {
        let pool = policy.pool(256);
        hits(&*pool, random(1000, 20_000));
        let hits = hits(&*pool, random(1000, 100_000));
        assert!((hits as f64 / 25_600.0 - 1.0).abs() < 0.04, "{policy}: {hits} of 100,000");
    }
}

/// At random among n pages LRU hits m in n: within 1 %, of a million looks.
#[test]
fn lru_hits_random_pages_by_formula_within_a_hundredth() {
    let pool = Policy::Lru.pool(128);
    hits(&*pool, random(1000, 5000));
    let hits = hits(&*pool, random(1000, 1_000_000));
    assert!((hits as f64 / 128_000.0 - 1.0).abs() < 0.01, "{hits} of a million");
}

/// LRU and its scan against the definition: a look hits where fewer than so many other pages were looked at since.
#[test]
fn lru_hits_what_its_definition_says() {
    let looks = random(50, 5000);
    let is_hit = |at: usize| {
        let since = looks[..at].iter().rposition(|number| *number == looks[at]);
        since.is_some_and(|last| looks[last + 1..at].iter().collect::<HashSet<_>>().len() < 20)
    };
    let by_definition = (0..looks.len()).filter(|at| is_hit(*at)).count();
    for policy in [Policy::Lru, Policy::Scan] {
        assert_eq!(hits(&*policy.pool(20), looks.iter().copied()), by_definition, "{policy}");
    }
}

/// CLOCK against a slow one: marks in a map, frames in a list that is rotated.
#[test]
fn clock_evicts_the_first_page_without_a_mark() {
    let looks = random(50, 5000);
    let (mut frames, mut marks, mut by_definition) = (Vec::new(), HashMap::new(), 0);
    for number in &looks {
        if let Some(mark) = marks.get_mut(number) {
            *mark = true;
            by_definition += 1;
            continue;
        }
        if frames.len() == 20 {
            while marks.insert(frames[0], false) == Some(true) {
                frames.rotate_left(1);
            }
            marks.remove(&frames.remove(0));
        }
        frames.push(*number);
        marks.insert(*number, false);
    }
    assert_eq!(hits(&*Policy::Clock.pool(20), looks), by_definition);
}

/// 2Q against its definition, in lists that are searched.
#[test]
fn two_queues_evict_what_their_definition_says() {
    for pages in [1, 2, 5, 20] {
        let looks = random(50, 5000);
        let (mut new, mut trusted, mut remembered, mut by_definition) = (vec![], vec![], vec![], 0);
        for number in &looks {
            if let Some(at) = trusted.iter().position(|other| other == number) {
                let number = trusted.remove(at);
                trusted.push(number);
                by_definition += 1;
                continue;
            }
            if new.contains(number) {
                by_definition += 1;
                continue;
            }
            let known = remembered.iter().position(|other| other == number);
            known.map(|at| remembered.remove(at));
            if new.len() + trusted.len() == pages {
                if new.len() > (pages / 4).max(1) || trusted.is_empty() {
                    remembered.push(new.remove(0));
                    let forgotten = remembered.len().saturating_sub((pages / 2).max(1));
                    remembered.drain(..forgotten);
                } else {
                    trusted.remove(0);
                }
            }
            if known.is_some() { trusted.push(*number) } else { new.push(*number) }
        }
        assert_eq!(hits(&*Policy::TwoQueues.pool(pages), looks), by_definition, "{pages} pages");
    }
}

/// Pages that were asked for often outlast many that are asked for once, under the policies that were made for that.
#[test]
fn a_hot_set_outlasts_a_scan() {
    for (policy, least) in
        [(Policy::WTinyLfu, 60), (Policy::S3Fifo, 60), (Policy::TwoQueues, 60), (Policy::Lru, 0)]
    {
        let pool = policy.pool(100);
        // Two queues trust a page that comes back soon after it left.
        for round in 0..20 {
            hits(&*pool, (0..70).chain(10_000 + round * 60..10_000 + (round + 1) * 60));
        }
        hits(&*pool, 1000..2000);
        let kept = hits(&*pool, 0..70);
        assert!(kept >= least && (kept == 0) == (least == 0), "{policy}: {kept} of 70");
    }
}

#[test]
fn a_pool_of_one_page_hits_what_is_looked_at_twice_in_a_row() {
    let looks = random(8, 5000);
    let twice = looks.windows(2).filter(|pair| pair[0] == pair[1]).count();
    for policy in policies() {
        assert_eq!(hits(&*policy.pool(1), looks.iter().copied()), twice, "{policy}");
    }
}

/// Pages in turn, as many as the pool holds: each is missed once.
#[test]
fn a_pool_for_all_pages_misses_each_once() {
    for policy in policies() {
        for pages in [1, 2, 3, 4, 100, 128] {
            let looks = (0..5).flat_map(|_| 0..pages);
            assert_eq!(hits(&*policy.pool(pages as usize), looks), 4 * pages as usize, "{policy} of {pages}");
        }
    }
}

/// A page that a pool lets go of while it is looked at stays what it is.
#[test]
fn a_page_that_is_looked_at_outlives_its_place_in_the_pool() {
    for policy in policies() {
        let pool = policy.pool(2);
        let look = &mut |pinned: &Page| {
            hits(&*pool, 100..200);
            assert_eq!(pinned.row(), page(7).row(), "{policy}");
        };
        for _ in 0..2 {
            pool.see(7, &|| Ok(page(7)), look).expect("nothing fails");
        }
    }
}

#[test]
fn a_pool_holds_no_more_than_its_pages() {
    for policy in policies() {
        let pool = policy.pool(16);
        hits(&*pool, random(100, 2000));
        let reads = Cell::new(0);
        for number in 0..100 {
            let read = || {
                reads.set(reads.get() + 1);
                Err(failure(FailureKind::Io, "a disk without an answer"))
            };
            let _ = pool.see(number, &read, &mut |_| {});
        }
        assert!(reads.get() >= 100 - 16, "{policy}: {} of 100 were not there", reads.get());
    }
}

#[test]
fn a_page_that_cannot_be_read_is_told_and_leaves_the_pool_as_it_was() {
    for policy in policies() {
        let pool = policy.pool(4);
        hits(&*pool, [1, 2, 3, 1, 2, 3]);
        let read = || Err(failure(FailureKind::Io, "a disk without an answer"));
        assert!(pool.see(9, &read, &mut |_| panic!("there is nothing to see")).is_err());
        assert_eq!(hits(&*pool, [1, 2, 3]), 3, "{policy}");
    }
}

#[test]
fn the_same_looks_hit_the_same_pages_each_time() {
    let looks = random(1000, 20_000);
    for policy in policies() {
        let counted = || hits(&*policy.pool(100), looks.iter().copied());
        assert_eq!(counted(), counted(), "{policy}");
    }
}

/// Threads ask for pages at random: each is given the page that it asked for, a damaged one is told to whoever asks for it and is never in the
/// pool, and at the end the pool has no more pages than it should.
#[test]
fn threads_share_a_pool() {
    for policy in policies() {
        let pool = policy.pool(32);
        let read = |number: u64| match number % 16 {
            5 => Err(failure(FailureKind::Corrupt, "a damaged page")),
            _ => Ok(page(number)),
        };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (pool, read) = (&pool, &read);
                scope.spawn(move || {
                    for number in random(64, 5000 + thread).into_iter().skip(thread) {
                        let mut seen = None;
                        let found = pool.see(number, &|| read(number), &mut |page| seen = Some(page.row()));
                        assert_eq!(found.is_err(), number % 16 == 5, "{policy}");
                        assert_eq!(seen, found.ok().map(|_| page(number).row()), "{policy}");
                    }
                });
            }
        });
        let kept = (0..64).filter(|number| {
            let nothing = || Err(failure(FailureKind::Io, "a disk without an answer"));
            pool.see(*number, &nothing, &mut |_| {}).is_ok()
        });
        assert!(kept.count() <= 32, "{policy}");
    }
}
