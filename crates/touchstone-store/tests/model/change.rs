//! One change of one type's records, made in a transaction and in the model, whose outcomes must agree.

use super::records::Sample;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use touchstone_store::{ErrorKind, Record, Result, Store, Transaction};

/// The records of a type in one collection.
pub type Rows<T> = BTreeMap<<T as Record>::Key, T>;

/// A change.
#[derive(Clone, Debug)]
pub enum Change<T> {
    Insert(T),
    Put(T),
    Remove(T),
    /// Finds the record with the first one's key, and makes it the second one, with that key or its own.
    Update(T, T, bool),
    InsertAll(Vec<T>),
    PutAll(Vec<T>),
    /// Many, from the first on, of that size.
    PutMany(u16, u16, usize),
    Clear,
    RemoveWhere(u8),
}

/// A change makes as many rows another as it says, or fails as it says.
pub type Outcome = std::result::Result<u64, ErrorKind>;

pub fn any_change<T: Sample>() -> impl Strategy<Value = Change<T>> {
    let sizes = prop::sample::select(vec![0usize, 20, 90, 150, 470, 600]);
    prop_oneof![
        6 => T::any().prop_map(Change::Insert),
        6 => T::any().prop_map(Change::Put),
        4 => T::any().prop_map(Change::Remove),
        4 => (T::any(), T::any(), prop::bool::weighted(0.9)).prop_map(|(old, new, kept)| Change::Update(old, new, kept)),
        3 => vec(T::any(), 0..12).prop_map(Change::InsertAll),
        4 => vec(T::any(), 0..12).prop_map(Change::PutAll),
        2 => (0u16..300, 0u16..150, sizes).prop_map(|(first, count, size)| Change::PutMany(first, count, size)),
        1 => Just(Change::Clear),
        2 => any::<u8>().prop_map(Change::RemoveWhere),
    ]
}

impl<T: Sample> Change<T> {
    /// Makes the change in a transaction.
    pub fn make(&self, transaction: &mut Transaction<'_>, collection: Option<&str>) -> Result<u64> {
        let mut records = match collection {
            None => transaction.of::<T>(),
            Some(name) => transaction.collection::<T>(name)?,
        };
        match self {
            Change::Insert(record) => records.insert(record).map(|()| 1),
            Change::Put(record) => records.put(record).map(|()| 1),
            Change::Remove(record) => records.remove(&record.key()).map(u64::from),
            Change::Update(old, new, keeps_key) => {
                let becomes = if *keeps_key { new.with_key_of(old) } else { new.clone() };
                records.update(&old.key(), |record| *record = becomes).map(u64::from)
            }
            Change::InsertAll(all) => records.insert_all(all),
            Change::PutAll(all) => records.put_all(all),
            Change::PutMany(first, count, size) => records.put_all(&many(*first, *count, *size)),
            Change::Clear => records.clear(),
            Change::RemoveWhere(parameter) => {
                records.remove_where(|columns| T::condition(columns, *parameter))
            }
        }
    }

    /// Makes the change as a transaction of its own, by the store's own functions where it has one.
    pub fn make_alone(&self, store: &Store, collection: Option<&str>) -> Result<u64> {
        if collection.is_some() {
            return store.write(|transaction| self.make(transaction, collection));
        }
        match self {
            Change::Insert(record) => store.insert(record).map(|()| 1),
            Change::Put(record) => store.put(record).map(|()| 1),
            Change::Remove(record) => store.remove::<T>(&record.key()).map(u64::from),
            Change::InsertAll(all) => store.insert_all(all),
            Change::PutAll(all) => store.put_all(all),
            _ => store.write(|transaction| self.make(transaction, collection)),
        }
    }

    /// Makes the change in the model.
    pub fn apply(&self, rows: &mut Rows<T>) -> Outcome {
        match self {
            Change::Insert(record) => insert(rows, record).map(|()| 1),
            Change::Put(record) => put(rows, record),
            Change::Remove(record) => Ok(u64::from(rows.remove(&record.key()).is_some())),
            Change::Update(old, new, keeps_key) => {
                if !rows.contains_key(&old.key()) {
                    return Ok(0);
                }
                let becomes = if *keeps_key { new.with_key_of(old) } else { new.clone() };
                if becomes.key() != old.key() {
                    return Err(ErrorKind::Invalid);
                }
                put(rows, &becomes)
            }
            Change::InsertAll(all) => whole(rows, all, |rows, record| insert(rows, record).map(|()| 1)),
            Change::PutAll(all) => whole(rows, all, put),
            Change::PutMany(first, count, size) => whole(rows, &many(*first, *count, *size), put),
            Change::Clear => {
                let count = rows.len() as u64;
                rows.clear();
                Ok(count)
            }
            Change::RemoveWhere(parameter) => {
                let before = rows.len();
                rows.retain(|_, record| !record.meets(*parameter));
                Ok((before - rows.len()) as u64)
            }
        }
    }
}

fn many<T: Sample>(first: u16, count: u16, size: usize) -> Vec<T> {
    (first..first + count).map(|at| T::nth(at, size)).collect()
}

/// All of a batch, or nothing. It is written in the order of its keys, so of two failures that of the first key is told.
fn whole<T: Sample>(rows: &mut Rows<T>, all: &[T], one: impl Fn(&mut Rows<T>, &T) -> Outcome) -> Outcome {
    let before = rows.clone();
    let mut sorted: Vec<&T> = all.iter().collect();
    sorted.sort_by(|left, right| left.compare_keys(right));
    let mut count = 0;
    for record in sorted {
        match one(rows, record) {
            Ok(changed) => count += changed,
            Err(kind) => {
                *rows = before;
                return Err(kind);
            }
        }
    }
    Ok(count)
}

fn insert<T: Sample>(rows: &mut Rows<T>, record: &T) -> std::result::Result<(), ErrorKind> {
    if record.is_refused() {
        return Err(ErrorKind::Invalid);
    }
    if rows.contains_key(&record.key()) || is_taken(rows, record) {
        return Err(ErrorKind::Conflict);
    }
    rows.insert(record.key(), record.clone());
    Ok(())
}

fn put<T: Sample>(rows: &mut Rows<T>, record: &T) -> Outcome {
    if record.is_refused() {
        return Err(ErrorKind::Invalid);
    }
    if is_taken(rows, record) {
        return Err(ErrorKind::Conflict);
    }
    rows.insert(record.key(), record.clone());
    Ok(1)
}

/// Whether another record has its unique value.
fn is_taken<T: Sample>(rows: &Rows<T>, record: &T) -> bool {
    let unique = record.unique();
    unique.is_some() && rows.iter().any(|(key, other)| *key != record.key() && other.unique() == unique)
}
