//! Both ways against looking at the whole table: random changes, of which some make a priority missing and some give one
//! again, with limits, and with queries that begin and end in between.

use super::{Changed, Results, flat, tree};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use touchstone_kit::{Doc, Subscription};

const OBJECTS: u64 = 120;

/// A table, and a generator that is the same in each test.
struct Table {
    docs: BTreeMap<String, Arc<Doc>>,
    random: u64,
}

impl Table {
    fn new() -> Table {
        let mut table = Table { docs: BTreeMap::new(), random: 42 };
        for number in 0..OBJECTS {
            table.put(number, 0);
        }
        table
    }

    fn pick(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) % below
    }

    /// No two objects have the same priority, and some have none.
    fn put(&mut self, number: u64, round: u64) -> Arc<Doc> {
        let place = (self.pick(200) * OBJECTS + number) as i64 - 100 * OBJECTS as i64;
        let priority = (self.pick(6) > 0).then_some(place);
        let doc = Doc { title: format!("title{number}"), tag: round.to_string(), priority, ..Doc::default() };
        let doc = Arc::new(doc);
        self.docs.insert(doc.title.clone(), Arc::clone(&doc));
        doc
    }

    fn result(&self, subscription: &Subscription) -> Results {
        let mut docs: Vec<Arc<Doc>> = match subscription {
            Subscription::Object { title } | Subscription::One { title } => {
                self.docs.get(title).into_iter().cloned().collect()
            }
            Subscription::Window { below, from, .. } => {
                let inside = |priority: i64| priority < *below && priority >= *from;
                self.docs.values().filter(|doc| doc.priority.is_some_and(inside)).cloned().collect()
            }
        };
        docs.sort_by_key(|doc| doc.priority);
        docs.truncate(super::limit(subscription).unwrap_or(usize::MAX));
        Arc::new(docs)
    }
}

fn subscriptions(table: &mut Table) -> Vec<Subscription> {
    let ends = 100 * OBJECTS as i64;
    let window = |number: u64, from: i64| Subscription::Window {
        from,
        below: from + 2_000 * (number as i64 % 3 + 1),
        limit: (number % 2 == 1).then_some(number as u32 % 5 + 1),
    };
    let mut all: Vec<Subscription> =
        (0..30).map(|number| window(number, table.pick(200 * OBJECTS) as i64 - ends)).collect();
    all.extend([1, 7, 119, 500].map(|number| Subscription::One { title: format!("title{number}") }));
    all
}

/// What each query whose result differs is given, by its number.
fn owed(before: &[Results], after: &[Results]) -> BTreeMap<usize, Vec<Doc>> {
    let differs = before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after);
    differs.map(|(number, (_, after))| (number, after.iter().map(|doc| Doc::clone(doc)).collect())).collect()
}

#[test]
fn trees_and_scans_give_each_query_what_the_whole_table_would() {
    let mut table = Table::new();
    let subscriptions = subscriptions(&mut table);
    let (mut trees, mut scans) = (tree::Queries::default(), flat::Queries::default());
    for (number, subscription) in subscriptions.iter().enumerate() {
        trees.begin(number, subscription, table.result(subscription));
        scans.begin(number, subscription, table.result(subscription));
    }
    let mut given = 0;
    for round in 1..400 {
        let before: Vec<Results> = subscriptions.iter().map(|known| table.result(known)).collect();
        // Few, some and nearly all objects.
        let changed = [1, 3, 9, 100][round as usize % 4];
        let first = table.pick(OBJECTS);
        let changes: Vec<Arc<Doc>> =
            (first..first + changed).map(|number| table.put(number % OBJECTS, round)).collect();
        let after: Vec<Results> = subscriptions.iter().map(|known| table.result(known)).collect();
        let expected = owed(&before, &after);
        given += expected.len();
        let fetch = |subscription: &Subscription| Ok::<_, Infallible>(table.result(subscription));
        let (mut of_trees, mut of_scans) = (BTreeMap::new(), BTreeMap::new());
        let keep = |into: &mut BTreeMap<usize, Vec<Doc>>, changed: Changed| {
            assert_eq!(changed.before, before[changed.number], "what the subscriber had");
            into.insert(changed.number, changed.now.iter().map(|doc| Doc::clone(doc)).collect());
        };
        trees.follow(&changes, fetch, |changed| keep(&mut of_trees, changed)).unwrap();
        scans.follow(&changes, fetch, |changed| keep(&mut of_scans, changed)).unwrap();
        assert_eq!(of_trees, expected, "trees in round {round}");
        assert_eq!(of_scans, expected, "scans in round {round}");
        // One begins, and ends before the next transaction.
        let passing = &subscriptions[round as usize % subscriptions.len()];
        trees.begin(usize::MAX, passing, table.result(passing));
        scans.begin(usize::MAX, passing, table.result(passing));
        trees.end();
        scans.end();
    }
    assert!(given > 3_000, "{given}");
}
