//! What a transaction did to one type's records, as the writer hands it over: rows as they are now, and keys that are gone.

use super::interest::{Interest, Look, Matter};
use super::link::HELD_MAX;
use super::load;
use super::row::{KeyBytes, Row, RowKey};
use crate::access::{Access, Which};
use crate::cells::Cells;
use crate::derived::Stored;
use crate::leased::Leased;
use crate::record::{Columns, Record, Shape};
use crate::session::read;
use crate::value::Raw;
use std::any::Any;
use std::collections::HashMap;
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
pub(crate) struct Changes<T> {
    /// Whether there is a change that is not listed, and matters.
    pub(crate) unknown: bool,
    pub(crate) list: Vec<Change<T>>,
    /// The keys of rows that did not matter, one after the other.
    left_out: Vec<u8>,
    /// Whether there were more of these than are kept.
    is_cut: bool,
    look: Look<T>,
    interest: Arc<Interest>,
    /// What rows were before the transaction, where numbers were watched when it began.
    olds: Olds<T>,
    is_counted: bool,
    /// Whether all rows were removed, also where that was undone since: nobody has said what each of them was, and what is read
    /// of one then is not what it was.
    was_cleared: bool,
}

/// What rows were, by their keys: of a key that is not there nobody knows, nor of one that was changed as a record of another
/// type before.
pub(crate) struct Olds<T>(HashMap<KeyBytes, Old<Arc<Row<T>>>>);

/// What a row was.
pub(crate) enum Old<R> {
    Unknown,
    /// None where there was none.
    Known(Option<R>),
}

impl<T> Default for Olds<T> {
    fn default() -> Olds<T> {
        Olds(HashMap::new())
    }
}

impl<T> Olds<T> {
    /// What the row was, if that is known: none where there was none.
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

    /// What it tells.
    pub(crate) fn into_parts(self) -> (Vec<Change<T>>, Olds<T>) {
        (self.list, self.olds)
    }

    /// Whether it is wanted what the row with a key was before the transaction.
    pub(crate) fn lacks_old(&self, key: &RowKey) -> bool {
        self.is_counted && !self.unknown && !self.olds.0.contains_key(&key.bytes)
    }

    /// Takes what the row with a key was: the first that is said of a key is what it was before the transaction.
    pub(crate) fn was(&mut self, key: &RowKey, row: Option<&Arc<Row<T>>>) {
        if self.was_cleared {
            return self.lose(key);
        }
        if self.lacks_old(key) {
            self.olds.0.insert(key.bytes.clone(), Old::Known(row.cloned()));
        }
    }

    /// Takes a row by its values, which the record has too.
    #[inline]
    pub(crate) fn put(&mut self, cells: &Cells<'_>, skipped: usize, shape: &'static Shape, record: &T) {
        if self.unknown {
            return;
        }
        let Some((key, matter)) = self.key_that_matters(cells, skipped, shape, Some(record)) else { return };
        if matter == Matter::Admitted {
            self.look.mark(key.hash);
        }
        // Reading is the program's own code, which may fail, and may panic where writing did not.
        match catch_unwind(AssertUnwindSafe(|| Row::of_cells(key, cells, skipped, shape))) {
            Ok(Ok(row)) => self.add(Change::Put(row)),
            _ => self.unknown = true,
        }
    }

    /// Takes that the row with the key at the beginning of these values is gone.
    pub(crate) fn remove(&mut self, cells: &Cells<'_>, skipped: usize, shape: &'static Shape) {
        if let Some((key, _)) = self.key_that_matters(cells, skipped, shape, None) {
            self.add(Change::Gone(Box::new(key)));
        }
    }

    /// The key of a row, and why it matters. The key of a row that does not is noted, for the case that it will before the
    /// commit: it is put there at once, as most rows do not matter, and taken back from there if it does.
    #[inline]
    fn key_that_matters(
        &mut self,
        cells: &Cells<'_>,
        skipped: usize,
        shape: &'static Shape,
        record: Option<&T>,
    ) -> Option<(RowKey, Matter)> {
        /// Bytes of keys that are kept.
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

    /// Lists a change. More than the inbox holds would be dropped there: then nothing is listed, and all is read anew.
    fn add(&mut self, change: Change<T>) {
        self.list.push(change);
        if self.unknown || self.list.len() > HELD_MAX {
            self.unknown = true;
            self.list = Vec::new();
        }
    }

    /// Takes that all rows are gone.
    pub(crate) fn clear(&mut self) {
        self.was_cleared = true;
        self.add(Change::Cleared);
    }
}

/// The key of a row, and the values that it had.
pub(crate) type OldRow = (RowKey, Old<Vec<Stored>>);

/// The values of a row, in the order of the type's columns.
struct Values<'v> {
    values: std::slice::Iter<'v, Stored>,
    shape: &'static Shape,
}

impl<'v> Columns<'v> for Values<'v> {
    fn next(&mut self) -> Raw<'v> {
        self.values.next().map_or(Raw::Absent, Stored::raw)
    }

    fn shape(&self) -> Option<&'static Shape> {
        Some(self.shape)
    }
}

/// Changes of a type that the transaction does not know.
pub(crate) trait Gathered: Any + Send {
    /// How many there are.
    fn len(&self) -> usize;

    /// Forgets all but that many: the others were undone.
    fn truncate(&mut self, length: usize);

    /// Whether a change is not listed.
    fn is_unknown(&self) -> bool;

    /// Says whether numbers were watched when the transaction began. From then on it takes what rows are before they change.
    fn count(&mut self, is_counted: bool);

    /// Takes that the row with a key changes, and that nobody has seen what it was as a record of this type.
    fn lose(&mut self, key: &RowKey);

    /// Takes what rows of these keys were, by the values of the type's columns.
    fn were(&mut self, shape: &'static Shape, rows: Vec<OldRow>);

    /// Makes the list whole, before the commit. Where keys are given, or what was gathered is doubtful, the rows are read
    /// as the transaction has them: SQL that is not the store's may have undone some of it. So are rows that were left
    /// out, where they may matter now.
    fn finish(
        &mut self,
        leased: &Leased,
        shape: &'static Shape,
        which: Which,
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
            // Reading is the program's own code: what fails or panics is not known, and counted anew.
            let read = |values: &Vec<Stored>| {
                let mut row = Values { values: values.iter(), shape };
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
        which: Which,
        keys: Option<Vec<RowKey>>,
        is_doubtful: bool,
    ) {
        let matters = !self.left_out.is_empty() && !self.interest.is_still(self.look.generation);
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
        if !is_read_again && self.look.is_marked_in(&marks) {
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
    /// Reads the rows of these keys, and of those that were gathered, and lists them in the place of what was gathered.
    fn read_again(&mut self, access: Access<'_, T>, mut keys: Vec<RowKey>, left_out_matter: bool) {
        for change in std::mem::take(&mut self.list) {
            match change {
                Change::Put(row) => keys.push(row.key.clone()),
                Change::Gone(key) => keys.push(*key),
                // Which rows were there nobody knows any more.
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
