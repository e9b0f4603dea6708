//! What a transaction did to one type's records, as the writer hands it over: rows as they are now, and keys that are gone.

use super::row::{Row, RowKey};
use crate::access::{Access, Which};
use crate::cells::Cells;
use crate::record::{Record, Shape};
use crate::session::Session;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What happened to one key, or to all of them.
#[derive(Debug)]
pub(crate) enum Change<T> {
    /// This is the row now.
    Put(Arc<Row<T>>),
    /// There is no row.
    Gone(Box<RowKey>),
    /// There is no row of any key.
    Cleared,
}

/// The changes of one transaction, in the order in which they were made.
#[derive(Debug)]
pub(crate) struct Changes<T> {
    /// Whether there is a change that is not listed.
    pub(crate) unknown: bool,
    pub(crate) list: Vec<Change<T>>,
}

impl<T> Default for Changes<T> {
    fn default() -> Changes<T> {
        Changes { unknown: false, list: Vec::new() }
    }
}

impl<T: Record> Changes<T> {
    /// The keys that changed, where that is known: what was cleared is not.
    pub(crate) fn keys(self) -> impl Iterator<Item = RowKey> {
        self.list.into_iter().filter_map(|change| match change {
            Change::Put(row) => Some(row.key.clone()),
            Change::Gone(key) => Some(*key),
            Change::Cleared => None,
        })
    }

    /// Lists a row by its values.
    pub(crate) fn put(&mut self, cells: &Cells<'_>, skipped: usize, shape: &'static Shape) {
        // Reading is the program's own code, which may fail, and may panic where writing did not.
        match catch_unwind(AssertUnwindSafe(|| Row::of_cells(cells, skipped, shape))) {
            Ok(Ok(row)) => self.list.push(Change::Put(row)),
            _ => self.unknown = true,
        }
    }
}

/// Changes of a type that the transaction knows.
pub(crate) trait Gathered: Any + Send {
    /// How many there are.
    fn len(&self) -> usize;

    /// Forgets all but that many: the others were undone.
    fn truncate(&mut self, length: usize);

    /// Whether a change is not listed.
    fn is_unknown(&self) -> bool;

    /// Reads the rows of these keys, and of those that were gathered, as the transaction has them now, and lists them in
    /// the place of what was gathered: SQL that is not the store's may have undone some of it.
    fn read_again(&mut self, session: &Session, shape: &'static Shape, which: Which, keys: Vec<RowKey>);
}

impl<T: Record> Gathered for Changes<T> {
    fn len(&self) -> usize {
        self.list.len()
    }

    fn truncate(&mut self, length: usize) {
        self.list.truncate(length);
    }

    fn is_unknown(&self) -> bool {
        self.unknown
    }

    fn read_again(&mut self, session: &Session, shape: &'static Shape, which: Which, mut keys: Vec<RowKey>) {
        let access = Access::<T>::shaped(session, which, shape);
        for change in std::mem::take(&mut self.list) {
            match change {
                Change::Put(row) => keys.push(row.key.clone()),
                Change::Gone(key) => keys.push(*key),
                // Which rows were there nobody knows any more.
                Change::Cleared => self.unknown = true,
            }
        }
        keys.sort_unstable_by(|left, right| left.bytes.cmp(&right.bytes));
        keys.dedup();
        for key in keys {
            match access.get_values(&key.values()) {
                Ok(Some(record)) => self.list.push(Change::Put(Row::of_record(record, shape.keys))),
                Ok(None) => self.list.push(Change::Gone(Box::new(key))),
                Err(_) => self.unknown = true,
            }
        }
    }
}
