//! Access to one type's records in one collection: the code that snapshots and transactions share.

use crate::cells::{Cell, Cells};
use crate::engine::scan::Scan;
use crate::engine::statement::Statement;
use crate::error::{Error, Result};
use crate::leased::Leased;
use crate::live::capture::Capture;
use crate::query::Query;
use crate::record::{Finds, Record, Shape};
use crate::session::{self, Session, refused};
use crate::table::{Section, Table};
use crate::value::Stored;
use crate::visitor::each;
use std::marker::PhantomData;

/// A collection of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The type's own.
    Own,
    /// The named one of that number.
    Named(i64),
    /// A named one that was never written to.
    Unwritten,
}

/// A type's records in one collection.
pub(crate) struct Access<'s, T> {
    pub(crate) leased: &'s Leased,
    pub(crate) which: Which,
    /// The table's shape: the type's own, or one that is given if the type is made at run time.
    pub(crate) shape: &'static Shape,
    marker: PhantomData<fn() -> T>,
}

impl<T> Clone for Access<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Access<'_, T> {}

impl<'s, T: Record> Access<'s, T> {
    #[inline]
    pub(crate) fn new(leased: &'s Leased, which: Which) -> Access<'s, T> {
        Access::shaped(leased, which, T::SHAPE)
    }

    #[inline]
    pub(crate) fn shaped(leased: &'s Leased, which: Which, shape: &'static Shape) -> Access<'s, T> {
        Access { leased, which, shape, marker: PhantomData }
    }

    /// A call of the session, whose transaction must still be open.
    ///
    /// # Errors
    /// If the snapshot has expired: the log reached `log_bytes_max`; if the transaction has ended; or as `work` does.
    #[inline]
    pub(crate) fn call<R>(&self, work: impl FnOnce(&Session) -> Result<R>) -> Result<R> {
        self.leased.in_transaction(work)
    }

    /// The table as the file has it; it may not exist yet.
    #[inline]
    pub(crate) fn table(&self, session: &Session) -> Result<Section> {
        // An unwritten collection has no rows, even if the table has some: no collection has this number.
        const NOBODY: i64 = -1;
        let collection = match self.which {
            Which::Own => None,
            Which::Named(number) => Some(number),
            Which::Unwritten => Some(NOBODY),
        };
        session.table(self.shape, collection)
    }

    /// The number of columns of the key.
    pub(crate) fn keys(&self) -> usize {
        self.shape.keys
    }

    #[inline]
    fn writable(&self, session: &Session) -> Result<Section> {
        let collection = match self.which {
            Which::Named(number) => Some(number),
            Which::Own | Which::Unwritten => None,
        };
        session.writable_table(self.shape, collection)
    }

    #[inline]
    pub(crate) fn get<Q: Finds<T> + ?Sized>(&self, key: &Q) -> Result<Option<T>> {
        self.find(|cells| key.write_key(cells))
    }

    /// As [`get`](Access::get), by the key's columns.
    pub(crate) fn get_values(&self, key: &[Stored]) -> Result<Option<T>> {
        self.find(|cells| key.iter().for_each(|value| value.write(cells)))
    }

    #[inline]
    fn find<'k>(&self, write_key: impl FnOnce(&mut Cells<'k>)) -> Result<Option<T>> {
        self.call(|session| find(session, &self.table(session)?, write_key))
    }

    pub(crate) fn all(&self) -> Result<Vec<T>> {
        self.call(|session| {
            let table = self.table(session)?;
            if !table.is_read_by_pages() {
                return Query::new(*self).all();
            }
            let Some(mut scan) = session.scan(&table, table.reach_all())? else { return Ok(Vec::new()) };
            read_all(session, &mut scan, &table)
        })
    }

    pub(crate) fn count(&self) -> Result<u64> {
        self.call(|session| {
            let table = self.table(session)?;
            if !table.exists() {
                return Ok(0);
            }
            let count = table.count.with(
                || session.connection.prepare(&table.count_sql()),
                |statement| {
                    table.bind_collection(statement);
                    statement.integer()
                },
            )?;
            Ok(u64::try_from(count).unwrap_or(0))
        })
    }

    pub(crate) fn each_view(&self, mut visit: impl FnMut(T::View<'_>) -> Result<bool>) -> Result<()> {
        self.call(|session| {
            let table = self.table(session)?;
            if table.is_read_by_pages() {
                let mut visit = each(|row| visit(row.view::<T>()?));
                return session.visit(&table, table.reach_all(), &mut visit);
            }
            if !table.exists() {
                return Ok(());
            }
            let sql =
                format!("select {} from {} where {}true", table.selection(), table.quoted(), table.within());
            session.query(&sql, |statement| {
                table.bind_collection(statement);
                while let Some(row) = statement.next()? {
                    session.may_go_on()?;
                    let view = T::view(&mut row.columns(table.shape)).map_err(session::unfit(table.shape))?;
                    if !visit(view)? {
                        break;
                    }
                }
                Ok(())
            })
        })
    }

    pub(crate) fn insert(&self, record: &T) -> Result<()> {
        self.call(|session| insert(session, &self.writable(session)?, record))
    }

    pub(crate) fn put(&self, record: &T) -> Result<()> {
        self.call(|session| put(session, &self.writable(session)?, record))
    }

    pub(crate) fn replace(&self, record: &T) -> Result<bool> {
        self.call(|session| replace(session, &self.writable(session)?, record))
    }

    pub(crate) fn replace_all<'r>(&self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.call(|session| {
            let table = self.writable(session)?;
            let mut replaced = 0;
            for record in in_key_order(records) {
                replaced += u64::from(replace(session, &table, record)?);
            }
            Ok(replaced)
        })
    }

    pub(crate) fn insert_all<'r>(&self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.call(|session| {
            let table = self.writable(session)?;
            let sql = || session.connection.prepare(&table.insert_feed_sql());
            table.insert_feed.with(
                || session.feed(table.shape.columns.len()).and_then(|_| sql()),
                |statement| feed(session, &table, statement, records, true),
            )
        })
    }

    pub(crate) fn put_all<'r>(&self, records: impl IntoIterator<Item = &'r T>) -> Result<u64> {
        self.call(|session| {
            let table = self.writable(session)?;
            let sql = || session.connection.prepare(&table.put_feed_sql());
            table.put_feed.with(
                || session.feed(table.shape.columns.len()).and_then(|_| sql()),
                |statement| feed(session, &table, statement, records, false),
            )
        })
    }

    pub(crate) fn remove<Q: Finds<T> + ?Sized>(&self, key: &Q) -> Result<bool> {
        self.call(|session| {
            let table = self.table(session)?;
            if !table.exists() {
                return Ok(false);
            }
            remove::<T, Q>(session, &table, key)
        })
    }

    pub(crate) fn clear(&self) -> Result<u64> {
        self.call(|session| {
            let table = self.table(session)?;
            if !table.exists() {
                return Ok(0);
            }
            table.clear.with(
                || session.connection.prepare(&table.clear_sql()),
                |statement| {
                    table.bind_collection(statement);
                    Capture::follow_if_acting(session, || statement.run())?;
                    session.capture.cleared::<T>(&table);
                    Ok(statement.changes())
                },
            )
        })
    }
}

/// The record with the key of those columns, within a call that has begun; the call may be a transaction of its own.
pub(crate) fn get_values<T: Record>(session: &Session, table: &Section, key: &[Stored]) -> Result<Option<T>> {
    find(session, table, |cells| key.iter().for_each(|value| value.write(cells)))
}

#[inline]
fn find<'k, T: Record>(
    session: &Session,
    table: &Section,
    write_key: impl FnOnce(&mut Cells<'k>),
) -> Result<Option<T>> {
    if !table.exists() {
        return Ok(None);
    }
    let mut cells = Cells::default();
    table.begin_row(&mut cells);
    write_key(&mut cells);
    // No record has a key that cannot be stored.
    if cells.refused().is_some() {
        return Ok(None);
    }
    table.get.with(
        || session.connection.prepare(&table.get_sql()),
        |statement| {
            // SAFETY: the key outlives the call, at whose end the statement is reset.
            unsafe { statement.bind(&cells)? };
            let Some(row) = statement.next()? else { return Ok(None) };
            session::read::<T>(table.shape, &mut row.columns(table.shape)).map(Some)
        },
    )
}

fn read_all<T: Record>(session: &Session, scan: &mut Scan, table: &Table) -> Result<Vec<T>> {
    /// The most memory that an estimate may reserve at once.
    const RESERVED_BYTES_MAX: usize = 64 << 20;
    let (mut found, mut reserved): (Vec<T>, bool) = (Vec::new(), false);
    loop {
        let mut push = each(|row| {
            found.push(row.read()?);
            Ok(true)
        });
        let more = session.next_page(scan, table, &mut push)?;
        if !more {
            return Ok(found);
        }
        if !reserved {
            found.reserve(scan.estimate().min(RESERVED_BYTES_MAX / size_of::<T>().max(1)));
            reserved = true;
        }
    }
}

/// Inserts a record, in the open transaction or in one of its own.
#[inline]
pub(crate) fn insert<T: Record>(session: &Session, table: &Section, record: &T) -> Result<()> {
    table
        .insert
        .with(
            || session.connection.prepare(&table.insert_sql()),
            |statement| write(session, table, statement, record, true),
        )
        .map(|_| ())
}

/// Inserts or replaces a record, as [`insert`].
#[inline]
pub(crate) fn put<T: Record>(session: &Session, table: &Section, record: &T) -> Result<()> {
    table
        .put
        .with(
            || session.connection.prepare(&table.put_sql()),
            |statement| write(session, table, statement, record, false),
        )
        .map(|_| ())
}

/// Replaces a record, as [`insert`]; returns whether there was one.
#[inline]
pub(crate) fn replace<T: Record>(session: &Session, table: &Section, record: &T) -> Result<bool> {
    table.replace.with(
        || session.connection.prepare(&table.replace_sql()),
        |statement| write(session, table, statement, record, false),
    )
}

/// Removes a record, as [`insert`]; returns whether there was one.
#[inline]
pub(crate) fn remove<T: Record, Q: Finds<T> + ?Sized>(
    session: &Session,
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
    table.remove.with(
        || session.connection.prepare(&table.remove_sql()),
        |statement| {
            session.capture.before::<T>(session, table, &cells, usize::from(table.is_shared));
            // SAFETY: the key outlives the call, at whose end the statement is reset.
            unsafe { statement.bind(&cells)? };
            Capture::follow_if_acting(session, || statement.run())?;
            let changed = statement.changes() > 0;
            if changed {
                session.capture.removed::<T>(table, &cells);
            }
            Ok(changed)
        },
    )
}

/// Runs a statement that writes a record; returns whether it changed a row. A new record had no row before.
#[inline]
fn write<T: Record>(
    session: &Session,
    table: &Section,
    statement: &Statement,
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
        session.capture.before::<T>(session, table, &cells, skipped);
    }
    // SAFETY: the record outlives the call, at whose end the statement is reset.
    unsafe { statement.bind(&cells)? };
    Capture::follow_if_acting(session, || statement.run()).map_err(|error| table.name_row(error, &cells))?;
    let changed = statement.changes() > 0;
    if changed {
        if is_new {
            session.capture.absent::<T>(table, &cells, skipped);
        }
        session.capture.put(table, &cells, record);
    }
    Ok(changed)
}

/// Runs a statement that reads the records from the feed, a virtual table; returns how many they were.
fn feed<'r, T: Record>(
    session: &Session,
    table: &Section,
    statement: &Statement,
    records: impl IntoIterator<Item = &'r T>,
    are_new: bool,
) -> Result<u64> {
    let feed = session.feed(table.shape.columns.len())?;
    table.bind_collection(statement);
    let mut numbers = Numbers::of(session, table)?;
    let records = in_key_order(records);
    records.iter().try_for_each(|record| check_type(table, *record))?;
    let mark = session.capture.mark();
    let (mut left, mut last) = (records.iter(), None);
    let mut fill = |cells: &mut Cells<'static>| {
        last = left.next().copied();
        let Some(record) = last else { return false };
        // SAFETY: the values borrow from a record that outlives this function, and no code reads them after it.
        let cells = unsafe { std::mem::transmute::<&mut Cells<'static>, &mut Cells<'r>>(cells) };
        record.write(cells);
        if !are_new {
            session.capture.before::<T>(session, table, cells, 0);
        }
        session.capture.put_fed(table, cells, record);
        if let Some(numbers) = &mut numbers {
            numbers.leave_out_next(cells);
        }
        true
    };
    // SAFETY: everything that `fill` borrows from lives to the end of this function.
    let (result, why) =
        unsafe { feed.with(&mut fill, || Capture::follow_if_acting(session, || statement.run())) };
    if result.is_err() || why.is_some() {
        session.capture.undo(&mark);
    }
    let error = match (result, why) {
        (Ok(()), None) => {
            if are_new && session.capture.counts() {
                // A trigger may have left out some records, whose keys may have been there before.
                let are_there = statement.changes() == records.len() as u64;
                records.iter().for_each(|record| note_new(session, table, *record, are_there));
            }
            return Ok(records.len() as u64);
        }
        (_, Some(why)) => session::stopped(table.shape, why),
        (Err(error), None) => error,
    };
    Err(match last {
        Some(record) => name_record(table, error, record),
        None => error.context(format_args!("a record of `{}`", table.shape.name)),
    })
}

/// Notes for live queries that no record had the key of an inserted one before, or that this is unknown.
fn note_new<T: Record>(session: &Session, table: &Section, record: &T, is_there: bool) {
    let mut cells = Cells::default();
    record.write_key(&mut cells);
    if is_there {
        session.capture.absent::<T>(table, &cells, 0);
    } else {
        session.capture.unseen::<T>(table, &cells, 0);
    }
}

/// Adds to an error the record that it is about.
#[cold]
fn name_record<T: Record>(table: &Section, error: Error, record: &T) -> Error {
    let mut cells = Cells::default();
    table.begin_row(&mut cells);
    record.write_key(&mut cells);
    table.name_row(error, &cells)
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
    fn of(session: &Session, table: &Table) -> Result<Option<Numbers>> {
        if !table.numbers_go_on() {
            return Ok(None);
        }
        let greatest = table.greatest.with(
            || session.connection.prepare(&table.greatest_sql()),
            // The first number of an empty table is 1: SQLite's answer is NULL, which reads as 0.
            |statement| statement.integer(),
        )?;
        // A trigger may leave rows out or add some: then the next number is not the next record's.
        Ok((!session.connection.may_have_triggers()).then_some(Numbers { greatest }))
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
