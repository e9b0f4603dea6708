//! Access to one type's records in one collection: reading, which snapshots and transactions share.

use crate::engine::scan::Scan;
use crate::session::leased::Leased;
use crate::session::visitor::each;
use crate::session::{self, Session};
use crate::table::{Section, Table};
use crate::types::cells::Cells;
use crate::types::error::Result;
use crate::types::record::{Finds, Record, Shape};
use crate::types::value::Value;
use std::marker::PhantomData;

/// A collection of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectionRef {
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
    pub(crate) which: CollectionRef,
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
    pub(crate) fn new(leased: &'s Leased, which: CollectionRef) -> Access<'s, T> {
        Access::shaped(leased, which, T::SHAPE)
    }

    #[inline]
    pub(crate) fn shaped(leased: &'s Leased, which: CollectionRef, shape: &'static Shape) -> Access<'s, T> {
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
            CollectionRef::Own => None,
            CollectionRef::Named(number) => Some(number),
            CollectionRef::Unwritten => Some(NOBODY),
        };
        session.table(self.shape, collection)
    }

    /// The number of columns of the key.
    pub(crate) fn keys(&self) -> usize {
        self.shape.keys
    }

    #[inline]
    pub(crate) fn get<Q: Finds<T> + ?Sized>(&self, key: &Q) -> Result<Option<T>> {
        self.find(|cells| key.write_key(cells))
    }

    /// As [`get`](Access::get), by the key's columns.
    pub(crate) fn get_values(&self, key: &[Value]) -> Result<Option<T>> {
        self.find(|cells| key.iter().for_each(|value| value.write(cells)))
    }

    #[inline]
    fn find<'k>(&self, write_key: impl FnOnce(&mut Cells<'k>)) -> Result<Option<T>> {
        self.call(|session| find(session, &self.table(session)?, write_key))
    }

    /// Every record, or `None` if the table is not read by its pages: a query reads it.
    pub(crate) fn all_by_pages(&self) -> Result<Option<Vec<T>>> {
        self.call(|session| {
            let table = self.table(session)?;
            if !table.is_read_by_pages() {
                return Ok(None);
            }
            let Some(mut scan) = session.scan(&table, table.reach_all())? else {
                return Ok(Some(Vec::new()));
            };
            read_all(session, &mut scan, &table).map(Some)
        })
    }

    pub(crate) fn count(&self) -> Result<u64> {
        self.call(|session| {
            let table = self.table(session)?;
            if !table.exists() {
                return Ok(0);
            }
            let mut statement = table.count.take(|| session.connection.prepare(&table.count_sql()))?;
            let count = statement.get().bound(&table.begun_row(), |statement| statement.integer())?;
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
            session.query(&sql, &table.begun_row(), |statement| {
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
}

/// The record with the key of those columns, within a call that has begun; the call may be a transaction of its own.
pub(crate) fn get_values<T: Record>(session: &Session, table: &Section, key: &[Value]) -> Result<Option<T>> {
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
    let mut statement = table.get.take(|| session.connection.prepare(&table.get_sql()))?;
    statement.get().bound(&cells, |statement| {
        let Some(row) = statement.next()? else { return Ok(None) };
        session::read::<T>(table.shape, &mut row.columns(table.shape)).map(Some)
    })
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
