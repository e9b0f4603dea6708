//! What writers do to a store, step by step, and what the store must hold after any number of steps. A step is a
//! function of the writer and the step's number, and writers never touch each other's records: so what a writer left
//! can be checked alone, whatever the order in which writers took turns.

// Each test that shares this file uses another part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use touchstone_store::{Error, ErrorKind, Record, Result, Snapshot, Store, Transaction};

/// A row by number.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Item {
    #[record(key)]
    pub id: i64,
    #[record(index)]
    pub writer: i64,
    pub text: String,
}

/// A row in the order of its key, with an index that must agree with it.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Entry {
    #[record(key)]
    pub name: String,
    #[record(unique)]
    pub again: String,
    pub bytes: Vec<u8>,
}

/// Where a record is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Item(i64),
    Entry(String),
    Collected(String, i64),
}

/// What a writer's records are.
pub type State = BTreeMap<Place, String>;

/// What a step does to one place.
#[derive(Clone, Debug)]
pub enum Change {
    Put(Place, String),
    Remove(Place),
}

/// Through which of the store's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Insert,
    InsertAll,
    Remove,
    Transaction,
    /// A transaction that is rolled back: its changes are in no state.
    Undone,
}

/// One commit, or none.
#[derive(Clone, Debug)]
pub struct Step {
    pub call: Call,
    pub changes: Vec<Change>,
}

/// How many steps are each of another kind.
pub const KINDS: u64 = 8;
/// How many collections each writer has.
const COLLECTIONS: u64 = 5;
/// The numbers of a writer's items.
const ITEMS: i64 = 100_000_000;
/// The numbers of a step's items.
const ITEMS_OF_STEP: i64 = 100;

/// The step of that number.
pub fn step(writer: u64, number: u64) -> Step {
    let at = |number: u64, item: i64| {
        Place::Item(writer.cast_signed() * ITEMS + number.cast_signed() * ITEMS_OF_STEP + item)
    };
    let put = |place: Place| Change::Put(place, text(writer, number));
    let collected =
        |collection: u64, id: u64| Place::Collected(collection_name(writer, collection), id.cast_signed());
    let (call, changes) = match number % KINDS {
        0 => (Call::Insert, vec![put(at(number, 0))]),
        1 => (Call::InsertAll, (0..20).map(|item| put(at(number, item))).collect()),
        2 => {
            let both = |name: &str| Place::Entry(format!("{writer} {number} {name}"));
            let balance = [
                Place::Item(writer.cast_signed() * ITEMS + ITEMS - 1),
                Place::Entry(format!("{writer} balance")),
            ];
            let places = [both("left"), both("right"), at(number, 0)].into_iter().chain(balance);
            (Call::Transaction, places.map(put).collect())
        }
        3 => (Call::Transaction, vec![put(at(number - 3, 0))]),
        4 => (Call::Remove, vec![Change::Remove(at(number - 3, 5))]),
        5 => {
            let own = collected(number / KINDS % COLLECTIONS, number);
            (
                Call::Transaction,
                vec![
                    put(own),
                    put(collected(0, 0)),
                    Change::Remove(collected(1, number - KINDS.min(number))),
                ],
            )
        }
        6 => (
            Call::Undone,
            vec![
                put(collected(COLLECTIONS + number, 0)),
                put(at(number, 0)),
                Change::Remove(at(number - 6, 0)),
            ],
        ),
        _ => {
            let removed = (10..15).map(|item| Change::Remove(at(number - 6, item)));
            (Call::Transaction, removed.chain((0..5).map(|item| put(at(number - 6, item)))).collect())
        }
    };
    Step { call, changes }
}

/// A text that fits a page, or several.
fn text(writer: u64, number: u64) -> String {
    let length = match number % 7 {
        0 => 6000,
        1 => 700,
        _ => 40,
    };
    format!("{writer}:{number}:{}", "x".repeat(length))
}

fn collection_name(writer: u64, collection: u64) -> String {
    format!("{writer}/{collection}")
}

impl Step {
    /// What the step makes of a state.
    pub fn apply_to(&self, state: &mut State) {
        if self.call == Call::Undone {
            return;
        }
        for change in &self.changes {
            match change {
                Change::Put(place, text) => drop(state.insert(place.clone(), text.clone())),
                Change::Remove(place) => drop(state.remove(place)),
            }
        }
    }

    /// Does it in a transaction that lasts.
    pub fn run_durably(&self, store: &Store) -> Result<()> {
        store.write(|transaction| {
            transaction.durable();
            self.changes.iter().try_for_each(|change| write(transaction, change))
        })
    }

    /// Does it.
    pub fn run(&self, store: &Store) -> Result<()> {
        match (self.call, self.changes.as_slice()) {
            (Call::Insert, [Change::Put(Place::Item(id), text)]) => store.insert(&item(*id, text)),
            (Call::Remove, [Change::Remove(Place::Item(id))]) => store.remove::<Item>(id).map(drop),
            (Call::InsertAll, changes) => {
                let items: Vec<Item> = changes
                    .iter()
                    .filter_map(|change| match change {
                        Change::Put(Place::Item(id), text) => Some(item(*id, text)),
                        _ => None,
                    })
                    .collect();
                store.insert_all(&items).map(drop)
            }
            (call, changes) => {
                let result = store.write(|transaction| {
                    changes.iter().try_for_each(|change| write(transaction, change))?;
                    if call == Call::Undone { Err(Error::new(ErrorKind::Invalid, UNDONE)) } else { Ok(()) }
                });
                match result {
                    Err(error) if call == Call::Undone && error.to_string() == UNDONE => Ok(()),
                    result => result,
                }
            }
        }
    }
}

const UNDONE: &str = "never mind";

fn item(id: i64, text: &str) -> Item {
    Item { id, writer: id / ITEMS, text: text.to_owned() }
}

fn write(transaction: &mut Transaction<'_>, change: &Change) -> Result<()> {
    match change {
        Change::Put(Place::Item(id), text) => {
            if !transaction.update::<Item>(id, |item| item.text.clone_from(text))? {
                transaction.insert(&item(*id, text))?;
            }
            Ok(())
        }
        Change::Put(Place::Entry(name), text) => transaction.put(&Entry {
            name: name.clone(),
            again: name.clone(),
            bytes: text.clone().into_bytes(),
        }),
        Change::Put(Place::Collected(collection, id), text) => {
            transaction.collection::<Item>(collection)?.put(&item(*id, text))
        }
        Change::Remove(Place::Item(id)) => transaction.remove::<Item>(id).map(drop),
        Change::Remove(Place::Entry(name)) => transaction.remove::<Entry>(name.as_str()).map(drop),
        Change::Remove(Place::Collected(collection, id)) => {
            transaction.collection::<Item>(collection)?.remove(id).map(drop)
        }
    }
}

/// What every writer's records are in the store.
pub fn states(store: &Store, writers: u64) -> Result<Vec<State>> {
    store.read(|snapshot| {
        let mut states = vec![State::new(); writers as usize];
        for item in snapshot.of::<Item>().all()? {
            assert_eq!(item.writer, item.id / ITEMS);
            states[item.writer as usize].insert(Place::Item(item.id), item.text);
        }
        for entry in snapshot.of::<Entry>().all()? {
            assert_eq!(entry.name, entry.again);
            let writer: usize =
                entry.name.split(' ').next().and_then(|writer| writer.parse().ok()).expect("a writer");
            let text = String::from_utf8(entry.bytes).expect("text was stored");
            states[writer].insert(Place::Entry(entry.name), text);
        }
        for name in collections(snapshot)? {
            let writer: usize =
                name.split('/').next().and_then(|writer| writer.parse().ok()).expect("a writer");
            for item in snapshot.collection::<Item>(&name)?.all()? {
                states[writer].insert(Place::Collected(name.clone(), item.id), item.text);
            }
        }
        Ok(states)
    })
}

fn collections(snapshot: &Snapshot) -> Result<Vec<String>> {
    snapshot.sql(|connection| {
        let sql = "select count(*) from sqlite_schema where name = 'touchstone_collections'";
        if connection.query_row(sql, (), |row| row.get::<_, i64>(0))? == 0 {
            return Ok(Vec::new());
        }
        let mut statement = connection.prepare("select name from touchstone_collections")?;
        let names = statement.query_map((), |row| row.get(0))?;
        names.collect()
    })
}

/// How many steps of a writer the store holds: at least `from`, at most `to`. Anything between two steps, or more, or
/// less, is none.
///
/// # Errors
/// What differs from the state after `from` steps.
pub fn steps_held(writer: u64, state: &State, from: u64, to: u64) -> Result<u64, String> {
    let mut expected = State::new();
    (0..from).for_each(|number| step(writer, number).apply_to(&mut expected));
    let difference = difference(&expected, state);
    let mut held = from;
    while expected != *state {
        if held == to {
            return Err(format!(
                "writer {writer} is neither after {from} steps nor after up to {to}: {difference}"
            ));
        }
        step(writer, held).apply_to(&mut expected);
        held += 1;
    }
    Ok(held)
}

fn difference(expected: &State, found: &State) -> String {
    let lost: Vec<&Place> = expected
        .iter()
        .filter(|(place, text)| found.get(place) != Some(text))
        .map(|(place, _)| place)
        .collect();
    let extra: Vec<&Place> = found
        .iter()
        .filter(|(place, text)| expected.get(place) != Some(text))
        .map(|(place, _)| place)
        .collect();
    format!("lost or changed {lost:?}, extra or changed {extra:?}")
}

/// Fails where SQLite finds a fault in the file, and where the store cannot be written any more.
pub fn check_whole(store: &Store) {
    let verdict: Result<String> = store.read(|snapshot| {
        snapshot.sql(|connection| connection.query_row("pragma integrity_check", (), |row| row.get(0)))
    });
    assert_eq!(verdict.expect("the file is readable"), "ok");
    let number = -1;
    store.put(&item(number, "written again")).expect("the store can be written");
    assert!(store.remove::<Item>(&number).expect("the store can be written"));
}

/// Numbers from a seed: the same for the same.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number (SplitMix64).
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of the numbers below.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}
