//! The order in which gets ask for records, where a case has one of its own.

use crate::random::Stream;
use rand::RngExt;
use rand::seq::SliceRandom;
use touchstone::plan::PlannedCase;
use touchstone::suite::{OrderKind, OrderPart};

/// How far one get of the order `near` is from the one before, at most.
const NEAR: i64 = 10;

/// Of the order `near`, every so manieth get asks for any record.
const ANYWHERE: u64 = 5;

/// The exponent of the order `zipf`.
const ZIPF: f64 = 0.99;

/// The order of a case's operations: what is asked before a slice, then a slice of each lane; none where it has no order.
pub(super) fn operations(case: &PlannedCase, random: &mut Stream) -> Option<Vec<u32>> {
    let order = case.order.as_ref()?;
    let parts: Vec<OrderPart> = order.parts().collect();
    let (last, before) = parts.split_last().expect("a slice has an order");
    let mut operations = Vec::new();
    for part in before {
        operations.extend(picks(*part, case.gets_of_lane(), random));
    }
    match order.kind {
        OrderKind::Trace => operations.extend(order.recorded.iter().take(case.gets_of_slice() as usize)),
        _ => operations.extend(picks(*last, case.gets_of_slice(), random)),
    }
    Some(operations)
}

/// Of the order `scan`, one of so many records is hot.
const HOT_OF: u32 = 32;

/// Of the order `scan`, how many gets ask for hot records before each scan, and how many a scan has.
const HOT_GETS: u64 = 800;
const SCAN_GETS: u64 = 200;

/// So many gets of one order that is made, and not recorded.
fn picks(part: OrderPart, count: u64, random: &mut Stream) -> Vec<u32> {
    let among = part.among.max(1) as u32;
    match part.kind {
        OrderKind::Uniform => (0..count).map(|_| random.random_range(0..among)).collect(),
        OrderKind::Cyclic => (0..count).map(|number| (number % u64::from(among)) as u32).collect(),
        OrderKind::Near => near(among, count, random),
        OrderKind::Zipf => zipf(among, count, random),
        OrderKind::Scan => scan(among, count, random),
        OrderKind::Trace => Vec::new(),
    }
}

fn near(among: u32, count: u64, random: &mut Stream) -> Vec<u32> {
    let mut last = 0;
    let mut next = |number: u64| {
        last = if number.is_multiple_of(ANYWHERE) {
            random.random_range(0..among)
        } else {
            (i64::from(last) + random.random_range(-NEAR..=NEAR)).rem_euclid(i64::from(among)) as u32
        };
        last
    };
    (0..count).map(&mut next).collect()
}

/// Which record is how frequent is shuffled, so that frequent ones are no neighbours.
fn zipf(among: u32, count: u64, random: &mut Stream) -> Vec<u32> {
    let mut records: Vec<u32> = (0..among).collect();
    records.shuffle(random);
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=among)
        .map(|rank| {
            sum += f64::from(rank).powf(-ZIPF);
            sum
        })
        .collect();
    let pick = |_| {
        let at = random.random_range(0.0..sum);
        records[sums.partition_point(|up_to| *up_to <= at).min(records.len() - 1)]
    };
    (0..count).map(pick).collect()
}

/// Hot records are the first ones; where there is one record alone, it is hot.
fn scan(among: u32, count: u64, random: &mut Stream) -> Vec<u32> {
    let hot = among.div_ceil(HOT_OF);
    let mut others = (hot..among).cycle();
    let mut next = |number: u64| {
        let is_scan = number % (HOT_GETS + SCAN_GETS) >= HOT_GETS;
        let scanned = if is_scan { others.next() } else { None };
        scanned.unwrap_or_else(|| random.random_range(0..hot))
    };
    (0..count).map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seeds;
    use std::collections::{HashMap, HashSet};

    fn random() -> Stream {
        Seeds { seed: 1, salt: 0 }.orders("a test")
    }

    fn picked(kind: OrderKind, among: u64, count: u64) -> Vec<u32> {
        picks(OrderPart { kind, among }, count, &mut random())
    }

    #[test]
    fn every_order_stays_among_its_records_and_is_the_same_each_time() {
        for kind in [OrderKind::Uniform, OrderKind::Cyclic, OrderKind::Near, OrderKind::Zipf, OrderKind::Scan]
        {
            for among in [1, 7, 1000] {
                let picked = || picked(kind, among, 5000);
                assert!(picked().iter().all(|pick| u64::from(*pick) < among), "{kind} of {among}");
                assert_eq!(picked(), picked());
            }
        }
    }

    #[test]
    fn the_cyclic_order_asks_for_each_in_turn() {
        assert_eq!(picked(OrderKind::Cyclic, 3, 7), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn four_of_five_of_the_near_order_are_near_and_the_others_anywhere() {
        let picked = picked(OrderKind::Near, 1000, 10_000);
        let far = |pair: &[u32]| {
            let apart = pair[0].abs_diff(pair[1]);
            apart.min(1000 - apart) > NEAR as u32
        };
        let jumps: Vec<usize> = (1..picked.len()).filter(|at| far(&picked[at - 1..=*at])).collect();
        assert!(jumps.iter().all(|at| at % 5 == 0));
        // A jump lands within ten of the place before in 21 of 1,000.
        assert!((1900..2000).contains(&jumps.len()), "{}", jumps.len());
        assert_eq!(picked.iter().collect::<HashSet<_>>().len(), 1000);
    }

    #[test]
    fn a_scan_goes_on_where_the_last_one_stopped_and_comes_round() {
        let picked = picked(OrderKind::Scan, 320, 5000);
        let (mut hot, mut scanned): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        for thousand in picked.chunks(1000) {
            hot.extend(&thousand[..800]);
            scanned.extend(&thousand[800..]);
        }
        assert_eq!(hot.iter().collect::<HashSet<_>>(), (0..10).collect::<Vec<_>>().iter().collect());
        assert_eq!(scanned, (10..320).cycle().take(1000).collect::<Vec<_>>());
    }

    /// Of 1,000 records the most frequent has 1 / 7.73 of the gets, and the n-th an n-th to the power of 0.99 of that.
    #[test]
    fn the_n_th_most_frequent_of_zipf_is_as_frequent_as_the_law_says() {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        picked(OrderKind::Zipf, 1000, 100_000)
            .into_iter()
            .for_each(|pick| *counts.entry(pick).or_default() += 1);
        let mut counts: Vec<u32> = counts.into_values().collect();
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let harmonic: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.99)).sum();
        for rank in [1, 2, 10] {
            let law = 100_000.0 * f64::from(rank).powf(-0.99) / harmonic;
            let found = f64::from(counts[rank as usize - 1]);
            assert!((found / law - 1.0).abs() < 0.1, "rank {rank}: {found} of {law:.0}");
        }
    }
}
