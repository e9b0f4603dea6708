//! Writing of one type's records in one collection, singly and in batches. A function that takes a [`WriteCall`] runs in
//! the open transaction, or is a transaction of its own if none is open.

use super::session::{WriteCall, WriteSession};
use crate::engine::statement::Statement;
use crate::session::access::{Access, CollectionRef};
use crate::session::{self, refused};
use crate::table::{Section, Table, name_row};
use crate::types::cells::{Cell, Cells};
use crate::types::error::{Error, Result};
use crate::types::record::{Finds, Record, Shape};

/// A type's records in one collection, to write.
pub(crate) struct RecordWriter<'s, T> {
    pub(crate) writer: &'s WriteSession,
    pub(crate) access: Access<'s, T>,
}

impl<T: Record> RecordWriter<'_, T> {
    #[inline]
    fn writable(&self, call: WriteCall<'_>) -> Result<Section> {
        let collection = match self.access.which {
            CollectionRef::Named(number) => Some(number),
            CollectionRef::Own | CollectionRef::Unwritten => None,
        };
        call.writable_table(self.access.shape, collection)
    }

    pub(crate) fn insert(&self, record: &T) -> Result<()> {
        self.writer.in_transaction(|call| insert(call, &self.writable(call)?, record))
    }

    pub(crate) fn put(&self, record: &T) -> Result<()> {
        self.writer.in_transaction(|call| put(call, &self.writable(call)?, record))
    }

    pub(crate) fn replace(&self, record: &T) -> Result<bool> {
        self.writer.in_transaction(|call| replace(call, &self.writable(call)?, record))
    }

    pub(crate) fn replace_all<'r>(&self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.writer.in_transaction(|call| {
            let table = self.writable(call)?;
            let mut replaced = 0;
            for record in in_key_order(records) {
                replaced += u64::from(replace(call, &table, record)?);
            }
            Ok(replaced)
        })
    }

    pub(crate) fn insert_all<'r>(&self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.writer.in_transaction(|call| {
            let table = self.writable(call)?;
            let mut statement =
                table.insert_feed.take(|| prepare_feed(call, &table, table.insert_feed_sql()))?;
            feed(call, &table, statement.get(), records, true)
        })
    }

    pub(crate) fn put_all<'r>(&self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.writer.in_transaction(|call| {
            let table = self.writable(call)?;
            let mut statement = table.put_feed.take(|| prepare_feed(call, &table, table.put_feed_sql()))?;
            feed(call, &table, statement.get(), records, false)
        })
    }

    pub(crate) fn remove<Q: Finds<T> + ?Sized>(&self, key: &Q) -> Result<bool> {
        self.writer.in_transaction(|call| {
            let table = self.access.table(call.session)?;
            if !table.exists() {
                return Ok(false);
            }
            remove::<T, Q>(call, &table, key)
        })
    }

    pub(crate) fn clear(&self) -> Result<u64> {
        self.writer.in_transaction(|call| {
            let table = self.access.table(call.session)?;
            if !table.exists() {
                return Ok(0);
            }
            let mut statement = table.clear.take(|| call.session.connection.prepare(&table.clear_sql()))?;
            let cleared = run(call, statement.get(), &table.begun_row())?;
            call.capture.cleared::<T>(&table);
            Ok(cleared)
        })
    }
}

/// Inserts a record, in the open transaction or in one of its own.
#[inline]
pub(crate) fn insert<T: Record>(call: WriteCall<'_>, table: &Section, record: &T) -> Result<()> {
    let mut statement = table.insert.take(|| call.session.connection.prepare(&table.insert_sql()))?;
    write(call, table, statement.get(), record, true).map(|_| ())
}

/// Inserts or replaces a record, as [`insert`].
#[inline]
pub(crate) fn put<T: Record>(call: WriteCall<'_>, table: &Section, record: &T) -> Result<()> {
    let mut statement = table.put.take(|| call.session.connection.prepare(&table.put_sql()))?;
    write(call, table, statement.get(), record, false).map(|_| ())
}

/// Replaces a record, as [`insert`]; returns whether there was one.
#[inline]
pub(crate) fn replace<T: Record>(call: WriteCall<'_>, table: &Section, record: &T) -> Result<bool> {
    let mut statement = table.replace.take(|| call.session.connection.prepare(&table.replace_sql()))?;
    write(call, table, statement.get(), record, false)
}

/// Removes a record, as [`insert`]; returns whether there was one.
#[inline]
pub(crate) fn remove<T: Record, Q: Finds<T> + ?Sized>(
    call: WriteCall<'_>,
    table: &Section,
    key: &Q,
) -> Result<bool> {
    let mut cells = Cells::default();
    table.begin_row(&mut cells);
    key.write_key(&mut cells);
    // No record has a key that cannot be stored.
    if cells.refused().is_some() {
        return Ok(false);
    }
    let mut statement = table.remove.take(|| call.session.connection.prepare(&table.remove_sql()))?;
    call.capture.before::<T>(call.session, table, &cells, usize::from(table.is_shared));
    let changed = run(call, statement.get(), &cells)? > 0;
    if changed {
        call.capture.removed::<T>(table, &cells);
    }
    Ok(changed)
}

/// Runs a statement that writes a record; returns whether it changed a row. A new record had no row before.
#[inline]
fn write<T: Record>(
    call: WriteCall<'_>,
    table: &Section,
    statement: &mut Statement,
    record: &T,
    is_new: bool,
) -> Result<bool> {
    let mut cells = Cells::default();
    table.begin_row(&mut cells);
    check_type(table, record)?;
    record.write(&mut cells);
    check(table, &cells)?;
    let skipped = usize::from(table.is_shared);
    if !is_new {
        call.capture.before::<T>(call.session, table, &cells, skipped);
    }
    let changed = run(call, statement, &cells);
    let changed = changed.map_err(|error| name_row(table.shape, error, &cells, skipped))? > 0;
    if changed {
        if is_new {
            call.capture.absent::<T>(table, &cells, skipped);
        }
        call.capture.put(table, &cells, record);
    }
    Ok(changed)
}

/// Runs a statement; returns how many rows it changed, without those that triggers and cascades change.
#[inline]
fn run(call: WriteCall<'_>, statement: &mut Statement, cells: &Cells<'_>) -> Result<u64> {
    call.capture.follow_if_acting(call.session, || statement.run_with(cells))
}

/// Prepares a statement that reads from the feed.
fn prepare_feed(call: WriteCall<'_>, table: &Table, sql: String) -> Result<Statement> {
    call.session.connection.feed(table.shape.columns.len())?;
    call.session.connection.prepare(&sql)
}

/// Runs a statement that reads the records from the feed, a virtual table; returns how many they were.
fn feed<'r, T: Record>(
    call: WriteCall<'_>,
    table: &Section,
    statement: &mut Statement,
    records: impl IntoIterator<Item = &'r T>,
    are_new: bool,
) -> Result<u64> {
    let feed = call.session.connection.feed(table.shape.columns.len())?;
    let mut numbers = Numbers::of(call, table)?;
    let records = in_key_order(records);
    records.iter().try_for_each(|record| check_type(table, *record))?;
    let mark = call.capture.mark();
    let (mut left, mut last) = (records.iter(), None);
    let mut fill = |cells: &mut Cells<'r>| {
        last = left.next().copied();
        let Some(record) = last else { return false };
        record.write(cells);
        if !are_new {
            call.capture.before::<T>(call.session, table, cells, 0);
        }
        call.capture.put_fed(table, cells, record);
        if let Some(numbers) = &mut numbers {
            numbers.leave_out_next(cells);
        }
        true
    };
    let (result, why) = feed.with(&mut fill, statement, &table.begun_row(), |statement| {
        call.capture.follow_if_acting(call.session, || statement.run())
    });
    if result.is_err() || why.is_some() {
        call.capture.undo(&mark);
    }
    let error = match (result, why) {
        (Ok(changed), None) => {
            if are_new && call.capture.counts() {
                // A trigger may have left out some records, whose keys may have been there before.
                let are_there = changed == records.len() as u64;
                records.iter().for_each(|record| note_new(call, table, *record, are_there));
            }
            return Ok(records.len() as u64);
        }
        (_, Some(why)) => session::stopped(table.shape, why),
        (Err(error), None) => error,
    };
    Err(match last {
        Some(record) => name_record(table.shape, error, record),
        None => error.context(format_args!("a record of `{}`", table.shape.name)),
    })
}

/// Notes for live queries that no record had the key of an inserted one before, or that this is unknown.
fn note_new<T: Record>(call: WriteCall<'_>, table: &Section, record: &T, is_there: bool) {
    let mut cells = Cells::default();
    record.write_key(&mut cells);
    if is_there {
        call.capture.absent::<T>(table, &cells, 0);
    } else {
        call.capture.unseen::<T>(table, &cells, 0);
    }
}

/// Adds to an error the record that it is about.
#[cold]
pub(crate) fn name_record<T: Record>(shape: &Shape, error: Error, record: &T) -> Error {
    let mut cells = Cells::default();
    record.write_key(&mut cells);
    name_row(shape, error, &cells, 0)
}

/// The records in the order of their keys; records of one key stay in the given order. The table's B-tree is then
/// filled from one end to the other, not all over: with many records that is the difference between memory and disk.
fn in_key_order<'r, T: Record>(records: impl IntoIterator<Item = &'r T>) -> Vec<&'r T> {
    let mut records: Vec<&T> = records.into_iter().collect();
    if !records.is_sorted_by(|left, right| left.compare_keys(right).is_le()) {
        records.sort_by(|left, right| left.compare_keys(right));
    }
    records
}

/// The greatest row number of a table, while rows are added. A row without a number gets the next one from SQLite,
/// which then need not search the table for it; so the number of a row that goes on from the last is left out.
struct Numbers {
    greatest: i64,
}

impl Numbers {
    fn of(call: WriteCall<'_>, table: &Table) -> Result<Option<Numbers>> {
        if !table.numbers_go_on() {
            return Ok(None);
        }
        let mut statement = table.greatest.take(|| call.session.connection.prepare(&table.greatest_sql()))?;
        // The first number of an empty table is 1: SQLite's answer is NULL, which reads as 0.
        let greatest = statement.get().integer()?;
        // A trigger may leave rows out or add some: then the next number is not the next record's.
        Ok((!call.session.connection.may_have_triggers()).then_some(Numbers { greatest }))
    }

    #[inline]
    fn leave_out_next(&mut self, cells: &mut Cells<'_>) {
        let Some(Cell::Integer(number)) = cells.get(0) else { return };
        let number = *number;
        if self.greatest.checked_add(1) == Some(number) {
            cells.clear_at(0);
        }
        // An empty table has no greatest number, only 0 for it: after a first row below 0, SQLite continues from that.
        let is_unknown = self.greatest == 0 && number < 0;
        self.greatest = if is_unknown { i64::MAX } else { self.greatest.max(number) };
    }
}

fn check(table: &Table, cells: &Cells<'_>) -> Result<()> {
    match cells.refused() {
        None => Ok(()),
        Some((column, why)) => Err(refused(table.shape, column - usize::from(table.is_shared), why)),
    }
}

/// Checks that the record belongs to the table: the compiler cannot know that of a type made at run time.
#[inline]
fn check_type<T: Record>(table: &Table, record: &T) -> Result<()> {
    if record.is_of(table.shape) { Ok(()) } else { Err(session::other_type(table.shape)) }
}
