//! The changes that one transaction makes to one type's records, as the writer hands them over: rows in their new
//! state, and the keys of deleted rows. Rows that no query watches are left out, as `interest.rs` describes.

use super::interest::{Interest, Look, Matter};
use super::load;
use super::row::{KeyBytes, Row, RowKey};
use crate::session::access::{Access, CollectionRef};
use crate::session::leased::Leased;
use crate::session::read;
use crate::types::cells::Cells;
use crate::types::record::{Columns, Record, Shape};
use crate::types::value::{Raw, Value};
use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The most changes in the inbox, in all. If there are more, the commits are dropped, and everything is read again.
pub(super) const HELD_MAX: usize = if cfg!(test) { 1000 } else { 1_000_000 };

/// A change of one key, or of all keys.
#[derive(Debug)]
pub(crate) enum Change<T> {
    /// The row is this now.
    Put(Arc<Row<T>>),
    /// There is no row now.
    Gone(Box<RowKey>),
    /// There is no row of any key now.
    Cleared,
}

/// The changes of one transaction, in the order in which they were made.
pub(crate) struct Changes<T> {
    /// Whether a change that matters is not listed.
    pub(crate) unknown: bool,
    pub(crate) list: Vec<Change<T>>,
    /// The keys of the rows that were left out, one after the other.
    left_out: Vec<u8>,
    /// Whether more keys were left out than are kept.
    is_cut: bool,
    look: Look<T>,
    interest: Arc<Interest>,
    /// The rows before the transaction, if counts were watched when it began.
    olds: Olds<T>,
    is_counted: bool,
    /// Whether all rows were deleted, even if that was undone since. Their old states were not noted, and a row that is
    /// read later is not in its old state.
    was_cleared: bool,
}

/// Old rows by key. An old row is unknown if its key is missing, or was first changed as that of another type's record.
pub(crate) struct Olds<T>(HashMap<KeyBytes, Old<Arc<Row<T>>>>);

/// The old state of a row.
pub(crate) enum Old<R> {
    Unknown,
    /// `None` if there was no row.
    Known(Option<R>),
}

impl<T> Default for Olds<T> {
    fn default() -> Olds<T> {
        Olds(HashMap::new())
    }
}

impl<T> Olds<T> {
    /// The old row if it is known: the inner `None` if there was none.
    pub(crate) fn get(&self, key: &RowKey) -> Option<&Option<Arc<Row<T>>>> {
        match self.0.get(&key.bytes)? {
            Old::Unknown => None,
            Old::Known(row) => Some(row),
        }
    }
}

impl<T: Record> Changes<T> {
    pub(crate) fn of(interest: &Arc<Interest>) -> Changes<T> {
        let (look, interest) = (interest.look(), Arc::clone(interest));
        let (list, left_out, olds) = (Vec::new(), Vec::new(), Olds::default());
        let (is_cut, is_counted, was_cleared) = (false, false, false);
        Changes { unknown: false, list, left_out, is_cut, look, interest, olds, is_counted, was_cleared }
    }

    /// The changes, and the old rows.
    pub(crate) fn into_parts(self) -> (Vec<Change<T>>, Olds<T>) {
        (self.list, self.olds)
    }

    /// Whether the old row of this key is still to be noted.
    pub(crate) fn lacks_old(&self, key: &RowKey) -> bool {
        self.is_counted && !self.unknown && !self.olds.0.contains_key(&key.bytes)
    }

    /// Notes the row of a key before a change. The first note of a key counts: later rows are the transaction's own.
    pub(crate) fn was(&mut self, key: &RowKey, row: Option<&Arc<Row<T>>>) {
        if self.was_cleared {
            return self.lose(key);
        }
        if self.lacks_old(key) {
            self.olds.0.insert(key.bytes.clone(), Old::Known(row.cloned()));
        }
    }

    /// Notes a written row by its values, which are the record's.
    #[inline]
    pub(crate) fn put(&mut self, cells: &Cells<'_>, skipped: usize, shape: &'static Shape, record: &T) {
        if self.unknown {
            return;
        }
        // This runs the program's own code, which may fail, and may panic even if writing did not.
        let noted = catch_unwind(AssertUnwindSafe(|| {
            let (key, matter) = self.key_that_matters(cells, skipped, shape, Some(record))?;
            if matter == Matter::Admitted {
                self.look.mark(key.hash);
            }
            Some(Row::of_cells(key, cells, skipped, shape))
        }));
        match noted {
            Ok(None) => {}
            Ok(Some(Ok(row))) => self.add(Change::Put(row)),
            Ok(Some(Err(_))) | Err(_) => self.unknown = true,
        }
    }

    /// Notes that a row is gone: these values begin with its key, after the skipped ones.
    pub(crate) fn remove(&mut self, cells: &Cells<'_>, skipped: usize, shape: &'static Shape) {
        if let Some((key, _)) = self.key_that_matters(cells, skipped, shape, None) {
            self.add(Change::Gone(Box::new(key)));
        }
    }

    /// The key of a row that matters, and why. A row that does not matter now may do so before the commit, so its key
    /// is kept. Most rows do not matter: each key is appended to the kept ones at once, and removed if its row matters.
    #[inline]
    fn key_that_matters(
        &mut self,
        cells: &Cells<'_>,
        skipped: usize,
        shape: &'static Shape,
        record: Option<&T>,
    ) -> Option<(RowKey, Matter)> {
        /// The most bytes of keys to keep.
        const LEFT_OUT_MAX: usize = 16 << 20;
        let start = self.left_out.len();
        let hash = RowKey::append(cells, skipped, shape.keys, &mut self.left_out);
        let matter = self.look.at(hash, record);
        if matter != Matter::Nothing {
            let bytes = self.left_out[start..].into();
            self.left_out.truncate(start);
            return Some((RowKey { hash, bytes }, matter));
        }
        if start >= LEFT_OUT_MAX {
            self.left_out.truncate(start);
            self.is_cut = true;
        }
        None
    }

    /// Lists a change. The inbox would drop more than `HELD_MAX`: then none is listed, and all rows are read again.
    fn add(&mut self, change: Change<T>) {
        self.list.push(change);
        if self.unknown || self.list.len() > HELD_MAX {
            self.unknown = true;
            self.list = Vec::new();
        }
    }

    /// Notes that all rows are gone.
    pub(crate) fn clear(&mut self) {
        self.was_cleared = true;
        self.add(Change::Cleared);
    }
}

/// The key of a row, and its old values.
pub(crate) type OldRow = (RowKey, Old<Vec<Value>>);

/// The values of a row, in the order of the type's columns.
struct RowValues<'v> {
    values: std::slice::Iter<'v, Value>,
    shape: &'static Shape,
}

impl<'v> Columns<'v> for RowValues<'v> {
    fn next(&mut self) -> Raw<'v> {
        self.values.next().map_or(Raw::Absent, Value::raw)
    }

    fn shape(&self) -> Option<&'static Shape> {
        Some(self.shape)
    }
}

/// [`Changes`] of a type that the caller does not know.
pub(crate) trait Gathered: Any + Send {
    /// The number of changes.
    fn len(&self) -> usize;

    /// Keeps only the first changes, this many: the others were undone.
    fn truncate(&mut self, length: usize);

    /// Whether a change that matters is not listed.
    fn is_unknown(&self) -> bool;

    /// Sets whether counts were watched when the transaction began. If so, old rows are noted from now on.
    fn count(&mut self, is_counted: bool);

    /// Notes that the row of this key changes, and that its old state as a record of this type is unknown.
    fn lose(&mut self, key: &RowKey);

    /// Notes the old rows of these keys, by the values of the type's columns.
    fn were(&mut self, shape: &'static Shape, rows: Vec<OldRow>);

    /// Completes the list: before a transaction's commit, or after that of a single statement. All its rows are read
    /// again in the transaction if there are `keys`, if the list is doubtful (foreign SQL may have undone changes), or if
    /// rows that were left out may matter now. Without a transaction they cannot be read, and the changes are unknown.
    fn finish(
        &mut self,
        leased: &Leased,
        shape: &'static Shape,
        which: CollectionRef,
        keys: Option<Vec<RowKey>>,
        is_doubtful: bool,
    );
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

    fn count(&mut self, is_counted: bool) {
        self.is_counted = is_counted;
    }

    fn lose(&mut self, key: &RowKey) {
        if self.lacks_old(key) {
            self.olds.0.insert(key.bytes.clone(), Old::Unknown);
        }
    }

    fn were(&mut self, shape: &'static Shape, rows: Vec<OldRow>) {
        for (key, old) in rows {
            // Reading runs the program's own code. If it fails or panics, the old row is unknown.
            let read = |values: &Vec<Value>| {
                let mut row = RowValues { values: values.iter(), shape };
                catch_unwind(AssertUnwindSafe(|| read::<T>(shape, &mut row))).ok()?.ok()
            };
            match old {
                Old::Known(None) => self.was(&key, None),
                Old::Known(Some(values)) => match read(&values) {
                    Some(record) => self.was(&key, Some(&Row::of_record(record, shape.keys))),
                    None => self.lose(&key),
                },
                Old::Unknown => self.lose(&key),
            }
        }
    }

    fn finish(
        &mut self,
        leased: &Leased,
        shape: &'static Shape,
        which: CollectionRef,
        keys: Option<Vec<RowKey>>,
        is_doubtful: bool,
    ) {
        let is_still = self.interest.is_still(self.look.generation);
        let matters = !self.left_out.is_empty() && !is_still;
        self.unknown |= matters && self.is_cut;
        if self.unknown {
            return;
        }
        let is_read_again = is_doubtful || matters || keys.is_some();
        if is_read_again {
            let access = Access::<T>::shaped(leased, which, shape);
            self.read_again(access, keys.unwrap_or_default(), matters);
        }
        self.left_out = Vec::new();
        let marks = self.interest.marks();
        // A query that has begun since the look may admit a row that was listed for another reason, and is not marked.
        if is_still && !is_read_again && self.look.is_marked_in(&marks) {
            return;
        }
        for change in &self.list {
            if let Change::Put(row) = change {
                marks.add(row.key.hash);
            }
        }
    }
}

impl<T: Record> Changes<T> {
    /// Reads the rows of these keys and of the listed changes, and lists them in place of those changes.
    fn read_again(&mut self, access: Access<'_, T>, mut keys: Vec<RowKey>, left_out_matter: bool) {
        for change in std::mem::take(&mut self.list) {
            match change {
                Change::Put(row) => keys.push(row.key.clone()),
                Change::Gone(key) => keys.push(*key),
                // The rows that were there are not known any more.
                Change::Cleared => self.unknown = true,
            }
        }
        if left_out_matter {
            keys.extend(RowKey::many(&self.left_out, access.keys()));
        }
        keys.sort_unstable_by(|left, right| left.bytes.cmp(&right.bytes));
        keys.dedup();
        for key in keys {
            match load::row(access, &key) {
                Ok(Some(row)) => self.list.push(Change::Put(row)),
                Ok(None) => self.list.push(Change::Gone(Box::new(key))),
                Err(_) => self.unknown = true,
            }
        }
    }
}
