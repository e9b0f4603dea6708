//! Model-checks (shuttle) the interleavings of a writer, which leaves out rows that do not matter, and the live thread,
//! which decides that: in the end the live thread holds exactly the rows that its queries ask for. Here the file is a
//! map, and a commit is a lock and a push, as in `link`.

use super::cover::Cover;
use super::interest::{Filter, Interest, Marks, Matter, Scope};
use super::order::{Sorter, Span};
use super::row::{Row, RowKey};
use crate::Record;
use crate::types::sync::{self, HAND_OFF, Unranked as Mutex, lock, try_lock};
use crate::types::value::Value;
use shuttle::thread::{spawn, yield_now};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most interleavings to try.
const ORDERS: usize = 3000;

#[derive(Record, Clone, Debug, PartialEq)]
struct Item {
    #[record(key)]
    id: i64,
    value: i64,
}

fn item(id: i64, value: i64) -> Item {
    Item { id, value }
}

/// Items whose values are at least ten, and below twenty.
fn scope() -> Arc<Scope<Item>> {
    let sorter = Arc::new(Sorter::new(vec![(1, false)]));
    let span = Span {
        low: sorter.cut([Value::Integer(10)].into(), false),
        high: sorter.cut([Value::Integer(20)].into(), false),
    };
    let cover = Cover::of(&sorter, [&span]);
    Arc::new(Scope { sorter, residual: None, cover })
}

fn hash(item: &Item) -> u64 {
    Row::of_record(item.clone(), 1).key.hash
}

/// The file, the lock that a commit holds, and the commits that were handed over.
#[derive(Default)]
struct World {
    file: Mutex<BTreeMap<i64, Item>>,
    hand_off: sync::Mutex<(), HAND_OFF>,
    inbox: Mutex<Vec<Vec<Item>>>,
    interest: Interest,
}

impl World {
    /// A transaction that writes the items, as `Changes` and `Link::commit` do it.
    fn commit(&self, items: &[Item]) {
        let look = self.interest.look::<Item>();
        let (mut list, mut left_out) = (Vec::new(), Vec::new());
        for item in items {
            match look.at(hash(item), Some(item)) {
                Matter::Nothing => left_out.push(item.clone()),
                Matter::Marked => list.push(item.clone()),
                Matter::Admitted => {
                    look.mark(hash(item));
                    list.push(item.clone());
                }
            }
            yield_now();
        }
        let _handing_over = lock(&self.hand_off);
        let is_still = self.interest.is_still(look.generation);
        if !is_still {
            list.append(&mut left_out);
        }
        let marks = self.interest.marks();
        if !is_still || !look.is_marked_in(&marks) {
            list.iter().for_each(|item| marks.add(hash(item)));
        }
        lock(&self.file).extend(items.iter().map(|item| (item.id, item.clone())));
        lock(&self.inbox).push(list);
    }
}

/// The live thread, with the rows of the file that it holds.
#[derive(Default)]
struct Holder {
    held: BTreeMap<i64, Item>,
    is_subscribed: bool,
}

impl Holder {
    /// As `Watched::take` does it: the rows that it holds from now on are marked.
    fn take(&mut self, world: &World, commits: Vec<Vec<Item>>, scope: &Scope<Item>) {
        for item in commits.into_iter().flatten().filter(|_| self.is_subscribed) {
            if scope.admits(&item) {
                world.interest.marks().add(hash(&item));
                self.held.insert(item.id, item);
            } else {
                self.held.remove(&item.id);
            }
        }
    }

    /// As `Live::align`, `Watched::subscribe` and `settle` do it.
    fn subscribe(&mut self, world: &World, scope: &Arc<Scope<Item>>) {
        let (seen, commits) = {
            let _nobody_commits = lock(&world.hand_off);
            world.interest.open();
            (lock(&world.file).clone(), std::mem::take(&mut *lock(&world.inbox)))
        };
        self.take(world, commits, scope);
        yield_now();
        let marks = world.interest.marks();
        for item in seen.into_values().filter(|item| scope.admits(item)) {
            marks.add(hash(&item));
            self.held.insert(item.id, item);
        }
        self.is_subscribed = true;
        yield_now();
        world.interest.settle(Filter { scopes: vec![Arc::clone(scope)] });
    }

    /// As `Watched::tidy` does it.
    fn remark(&self, world: &World) {
        let marks = Marks::for_keys(self.held.len());
        self.held.values().for_each(|item| marks.add(hash(item)));
        world.interest.remark(marks);
    }
}

fn explore(
    begin: fn(&Interest),
    live: impl Fn(&World, &mut Holder, &Arc<Scope<Item>>) + Send + Sync + 'static,
) {
    let live = Arc::new(live);
    let test = move || {
        let world = Arc::new(World::default());
        begin(&world.interest);
        lock(&world.file).extend([(1, item(1, 12)), (2, item(2, 5)), (3, item(3, 15))]);
        let (writes, live) = (Arc::clone(&world), Arc::clone(&live));
        let writer = spawn(move || {
            // One row leaves, one enters, one stays out, one comes back.
            writes.commit(&[item(1, 30), item(2, 11)]);
            writes.commit(&[item(2, 40), item(4, 7)]);
            writes.commit(&[item(1, 13), item(3, 16)]);
        });
        let (scope, mut holder) = (scope(), Holder::default());
        live(&world, &mut holder, &scope);
        writer.join().expect("the writer does not panic");
        let commits = std::mem::take(&mut *lock(&world.inbox));
        holder.take(&world, commits, &scope);
        let file = lock(&world.file).clone();
        let expected: BTreeMap<i64, Item> = file.into_iter().filter(|(_, item)| scope.admits(item)).collect();
        assert_eq!(holder.held, expected);
    };
    shuttle::check_random(test, ORDERS);
}

#[test]
fn what_is_left_out_never_mattered() {
    explore(|_| {}, |world, holder, scope| holder.subscribe(world, scope));
}

#[test]
fn what_was_marked_before_the_marks_were_made_anew_is_not_forgotten() {
    explore(
        |_| {},
        |world, holder, scope| {
            holder.subscribe(world, scope);
            for _ in 0..2 {
                yield_now();
                let commits = std::mem::take(&mut *lock(&world.inbox));
                holder.take(world, commits, scope);
                holder.remark(world);
                yield_now();
                let commits = std::mem::take(&mut *lock(&world.inbox));
                holder.take(world, commits, scope);
                // As `Shared::is_quiet` does it.
                let nobody_commits = try_lock(&world.hand_off);
                if nobody_commits.is_none() || !lock(&world.inbox).is_empty() {
                    break;
                }
                drop(nobody_commits);
                world.interest.forget_old_marks();
            }
        },
    );
}

/// Regression: a transaction listed such a row and did not mark it. A query that admits the row began before the commit, and
/// the count ended; the next transaction moved the row out of the query and left it out.
#[test]
fn a_row_that_is_listed_for_a_count_alone_is_marked_for_a_query_that_begins() {
    let begin = |interest: &Interest| {
        interest.settle(Filter::<Item> { scopes: Vec::new() });
        interest.count(true);
    };
    explore(begin, |world, holder, scope| {
        holder.subscribe(world, scope);
        yield_now();
        world.interest.count(false);
    });
}

#[test]
fn the_key_of_a_row_is_what_it_was_when_it_is_read_back() {
    let key = Row::of_record(item(7, 1), 1).key.clone();
    assert_eq!(RowKey::of(key.values().iter().map(Value::raw)), key);
}
