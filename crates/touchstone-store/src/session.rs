//! A session: one connection with its caches of tables, statements and pages. One thread uses a session at a time, through
//! its [`Leased`].

pub(crate) mod access;
pub(crate) mod flush;
pub(crate) mod idle;
pub(crate) mod keeper;
pub(crate) mod keeper_wakeup;
#[cfg(all(test, shuttle))]
pub(crate) mod lease_models;
pub(crate) mod leased;
pub(crate) mod opening;
pub(crate) mod readers;
#[cfg(all(test, shuttle))]
pub(crate) mod thread_models;
pub(crate) mod turn;
pub(crate) mod visitor;
pub(crate) mod yielding;

use crate::engine::batch_insert::Stopped;
use crate::engine::connection::Connection;
use crate::engine::lease::Lease;
use crate::engine::leased::Stoppable;
use crate::engine::log::{LogIndex, LogState};
use crate::engine::page::{Geometry, Payload};
use crate::engine::pager::{Pages, damaged};
use crate::engine::pin::Pin;
use crate::engine::scan::{Handling, Reach, Scan};
use crate::engine::statement::Bound;
use crate::session::leased::Leased;
use crate::session::visitor::Visitor;
use crate::table::{Held, OrderedRow, PlacedRow, Section, Table};
use crate::types::cells::Cells;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::{Options, READER_CACHE_BYTES, WRITER_CACHE_BYTES};
use crate::types::record::{Columns, Record, Shape};
use crate::types::value::{Mismatch, Raw, Refusal};
use foldhash::fast::RandomState;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The number of statements of queries that are kept: a program's own code has few queries.
const QUERIES_MAX: usize = 64;

/// The purpose of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reader,
    Writer,
}

impl Role {
    /// The size of the page cache if the options name none: see [`Options::cache_bytes`].
    fn cache_bytes(self) -> u64 {
        match self {
            Role::Reader => READER_CACHE_BYTES,
            Role::Writer => WRITER_CACHE_BYTES,
        }
    }
}

/// The table of the collections' names.
pub(crate) const COLLECTIONS: &str = "touchstone_collections";

/// Identifies a table of this session: the address of the type's shape, and whether it is the table that the type's
/// collections share. Types of one shape may share an entry; a shape that the compiler puts at two addresses has two,
/// which costs a look-up.
type TableId = (*const Shape, bool);

/// A connection with its caches. Statements are dropped before the connection.
pub(crate) struct Session {
    last_table: RefCell<Option<(TableId, Rc<Table>)>>,
    tables: RefCell<HashMap<TableId, Rc<Table>>>,
    queries: RefCell<HashMap<String, Rc<Held>, RandomState>>,
    geometry: Cell<Option<Geometry>>,
    schema: Cell<i64>,
    pub(crate) connection: Connection,
    /// The log's state after the writer's last commit. While it stays so, the tables are as this session knows them.
    pub(crate) committed: Cell<Option<LogState>>,
    /// Whether the connection refuses to write.
    only_reads: Cell<bool>,
    /// The numbers of named collections that this session has looked up.
    collections: RefCell<HashMap<String, i64>>,
    lease: Arc<Lease>,
}

impl Session {
    /// Opens one more connection to the store's file.
    pub(crate) fn open(pin: &Pin, options: &Options, role: Role) -> Result<Session> {
        let connection = pin.open_beside(options)?;
        connection.defend();
        Ok(Session::of(connection, options, role))
    }

    /// The session of a connection that is defended.
    pub(crate) fn of(connection: Connection, options: &Options, role: Role) -> Session {
        if options.cache_bytes.is_none() {
            connection.cache(role.cache_bytes());
        }
        Session {
            last_table: RefCell::new(None),
            tables: RefCell::default(),
            queries: RefCell::default(),
            geometry: Cell::new(None),
            schema: Cell::new(-1),
            connection,
            committed: Cell::new(None),
            only_reads: Cell::new(false),
            collections: RefCell::default(),
            lease: Arc::default(),
        }
    }

    /// Gives the session a lease, through which the keeper may end a snapshot of its owner.
    pub(crate) fn leased(self) -> (Leased, Stoppable) {
        let lease = Arc::clone(&self.lease);
        Leased::stoppable(self, lease, |session| &session.connection)
    }

    /// Whether a long call may go on.
    ///
    /// # Errors
    /// If the snapshot has expired: the log reached `log_bytes_max`.
    #[inline]
    pub(crate) fn may_go_on(&self) -> Result<()> {
        self.lease.check()
    }

    /// Begins a read transaction on everything committed by now. With the log's index, returns the log's state of the
    /// snapshot: later readers may go on with the snapshot as long as the log is in that state.
    pub(crate) fn begin_read(&self, index: Option<&LogIndex>) -> Result<Option<LogState>> {
        /// How often it begins again if a commit came meanwhile. After that, the state stays unknown.
        const TRIES: usize = 3;
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let before = index.and_then(LogIndex::state);
            let schema = self.connection.begin_read()?;
            self.adopt(schema);
            let after = index.and_then(LogIndex::state);
            let seen = before.filter(|_| before == after);
            if seen.is_some() || index.is_none() || tries == 0 {
                return Ok(seen);
            }
            self.connection.commit()?;
        }
    }

    /// Begins a write transaction.
    pub(crate) fn begin_write(&self) -> Result<()> {
        let schema = self.connection.begin_write()?;
        self.adopt(schema);
        Ok(())
    }

    /// Notes the log's state right after a commit of this session, not counting later commits of others. `knows_tables`
    /// is false if another process may have committed just before it, because the tables may then be different.
    #[inline]
    pub(crate) fn note_commit(&self, after: Option<LogState>, knows_tables: bool) {
        self.committed.set(after.filter(|_| knows_tables));
    }

    /// Makes the connection refuse to write, because a snapshot lends it to the program.
    pub(crate) fn forbid_writing(&self) -> Result<()> {
        if !self.only_reads.get() {
            self.connection.sql().execute_batch("pragma query_only = on")?;
            self.only_reads.set(true);
        }
        Ok(())
    }

    /// Checks that the transaction is still open. SQLite rolls back by itself if the disk is full or fails, and raw SQL
    /// may commit. A later statement must not become a transaction of its own.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.connection.is_idle() { Err(ended()) } else { Ok(()) }
    }

    /// The number of a named collection, if it was ever written to.
    pub(crate) fn collection(&self, name: &str) -> Result<Option<i64>> {
        if let Some(number) = self.collections.borrow().get(name) {
            return Ok(Some(*number));
        }
        if !self.connection.has_table(COLLECTIONS)? {
            return Ok(None);
        }
        let sql = "select number from main.touchstone_collections where name = ?1";
        let mut statement = self.connection.sql().prepare(sql)?;
        let mut rows = statement.query([name])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let number = row.get(0).map_err(Error::of_own_table(COLLECTIONS))?;
        self.collections.borrow_mut().insert(name.to_owned(), number);
        Ok(Some(number))
    }

    /// Notes the number of a named collection that was made.
    pub(crate) fn note_collection(&self, name: &str, number: i64) {
        self.collections.borrow_mut().insert(name.to_owned(), number);
    }

    /// Checks whether the schema has changed. Returns whether its version is known; if not, everything is forgotten.
    pub(crate) fn look_again(&self) -> bool {
        let version = self.connection.verify_schema().and_then(|()| self.connection.schema_version());
        match version {
            Ok(schema) => self.adopt(schema),
            Err(_) => self.forget(),
        }
        version.is_ok()
    }

    /// Forgets everything known of the file's tables.
    pub(crate) fn forget(&self) {
        self.forget_undone();
        self.adopt(-1);
    }

    /// Forgets facts from a rolled-back transaction, or a part of one, that the schema's version does not cover: the
    /// numbers of collections, because another name may get such a number now.
    pub(crate) fn forget_undone(&self) {
        self.collections.borrow_mut().clear();
    }

    /// Notes the schema's version. If it has changed, the session looks at every table again.
    #[inline]
    fn adopt(&self, schema: i64) {
        if self.schema.replace(schema) != schema {
            *self.last_table.borrow_mut() = None;
            self.tables.borrow_mut().clear();
            self.queries.borrow_mut().clear();
        }
    }

    /// The table of a type, or of a named collection of it, as the file has it now.
    #[inline]
    pub(crate) fn table(&self, shape: &'static Shape, collection: Option<i64>) -> Result<Section> {
        let id: TableId = (shape, collection.is_some());
        if let Some((last, table)) = &*self.last_table.borrow()
            && *last == id
        {
            return Ok(Section::new(Rc::clone(table), collection));
        }
        Ok(Section::new(self.find_table(shape, id)?, collection))
    }

    fn find_table(&self, shape: &'static Shape, id: TableId) -> Result<Rc<Table>> {
        let known = self.tables.borrow().get(&id).map(Rc::clone);
        let table = match known {
            Some(table) => table,
            None if shape.columns.is_empty() => return Err(other_type(shape)),
            None => {
                let table = Rc::new(Table::find(&self.connection, shape, id.1)?);
                self.tables.borrow_mut().insert(id, Rc::clone(&table));
                table
            }
        };
        *self.last_table.borrow_mut() = Some((id, Rc::clone(&table)));
        Ok(table)
    }

    /// The schema's version, as the session knows it. A rollback of a transaction that changed it must forget it.
    pub(crate) fn schema(&self) -> i64 {
        self.schema.get()
    }

    /// Runs a query's statement, prepared when it is first seen, with the values of its parameters.
    pub(crate) fn query<R>(
        &self,
        sql: &str,
        parameters: &Cells<'_>,
        run: impl FnOnce(&mut Bound<'_>) -> Result<R>,
    ) -> Result<R> {
        self.held(sql).take(|| self.connection.prepare(sql))?.get().bound(parameters, run)
    }

    /// The cache entry of a query's statement.
    fn held(&self, sql: &str) -> Rc<Held> {
        let mut queries = self.queries.borrow_mut();
        if let Some(held) = queries.get(sql) {
            return Rc::clone(held);
        }
        if queries.len() >= QUERIES_MAX {
            queries.clear();
        }
        Rc::clone(queries.entry(sql.to_owned()).or_default())
    }

    /// Begins a walk over the table's rows, in the order of its B-tree; none if there is no table.
    pub(crate) fn scan(&self, table: &Table, reach: Reach) -> Result<Option<Scan>> {
        let Some(root) = table.root() else { return Ok(None) };
        let pages = self.connection.pages();
        let geometry = self.geometry(pages)?;
        Ok(Some(Scan::new(pages, root, table.is_numbered(), geometry, reach)))
    }

    /// Gives every row to `visitor`, in the order of the table's B-tree, until the visitor wants no more.
    pub(crate) fn visit(&self, table: &Table, reach: Reach, visitor: &mut impl Visitor) -> Result<()> {
        let Some(mut scan) = self.scan(table, reach)? else { return Ok(()) };
        while self.next_page(&mut scan, table, visitor)? {}
        Ok(())
    }

    /// Gives the visitor the rows of the next page that has rows; whether there may be more.
    #[inline]
    pub(crate) fn next_page(
        &self,
        scan: &mut Scan,
        table: &Table,
        visitor: &mut impl Visitor,
    ) -> Result<bool> {
        self.may_go_on()?;
        // The program's own code has seen the last rows, and may have ended their transaction.
        self.check_open()?;
        let (in_order, by_number) = (table.in_order(), table.key_is_number());
        scan.next_page(|number, bytes, part| {
            let payload = Payload::new(bytes).ok_or_else(|| short(table.shape.name))?;
            let row = ScannedRow { payload, table, number, in_order, by_number };
            match part {
                Handling::Sift => visitor.admits(&row),
                Handling::Take => visitor.take(&row),
                Handling::Whole => Ok(!visitor.admits(&row)? || visitor.take(&row)?),
            }
        })
    }

    fn geometry(&self, pages: Pages) -> Result<Geometry> {
        if let Some(geometry) = self.geometry.get() {
            return Ok(geometry);
        }
        let mut first = vec![0; usize::try_from(self.connection.page_bytes()).unwrap_or(0)];
        pages.copy(1, 0, &mut first)?;
        let geometry = Geometry::of(&first).ok_or_else(|| damaged(1))?;
        self.geometry.set(Some(geometry));
        Ok(geometry)
    }
}

/// A row of a scan.
pub(crate) struct ScannedRow<'p, 't> {
    payload: Payload<'p>,
    table: &'t Table,
    number: i64,
    in_order: bool,
    by_number: bool,
}

impl<'p, 't> ScannedRow<'p, 't> {
    /// The record, owned.
    #[inline]
    pub(crate) fn read<T: Record>(&self) -> Result<T> {
        if self.in_order {
            let mut row = self.ordered();
            let record = T::read(&mut row);
            if row.is_whole() { record.map_err(unfit(self.table.shape)) } else { Err(self.is_short()) }
        } else {
            T::read(&mut self.placed()?).map_err(unfit(self.table.shape))
        }
    }

    /// The record, borrowed from the page.
    #[inline]
    pub(crate) fn view<T: Record>(&self) -> Result<T::View<'p>> {
        if self.in_order {
            let mut row = self.ordered();
            let record = T::view(&mut row);
            if row.is_whole() { record.map_err(unfit(self.table.shape)) } else { Err(self.is_short()) }
        } else {
            T::view(&mut self.placed()?).map_err(unfit(self.table.shape))
        }
    }

    /// The value of one of the type's columns, for a condition. The row is read no further than this column.
    #[inline]
    pub(crate) fn value(&self, column: usize) -> Option<Raw<'p>> {
        if self.by_number && column == 0 {
            return Some(Raw::Integer(self.number));
        }
        let Some(place) = self.table.place(column) else { return Some(Raw::Absent) };
        let mut payload = self.payload;
        for _ in 0..place {
            payload.skip()?;
        }
        let value = payload.next()?;
        payload.is_whole().then_some(value)
    }

    /// The error for a row that ends before its values do, or after.
    #[cold]
    pub(crate) fn is_short(&self) -> Error {
        short(self.table.shape.name)
    }

    /// The values as the row has them, which is the type's order.
    #[inline]
    fn ordered(&self) -> OrderedRow<'p> {
        OrderedRow::new(self.payload, self.by_number.then_some(self.number), self.table.shape)
    }

    /// The values by their places in the row.
    #[inline]
    fn placed(&self) -> Result<PlacedRow<'p, 't>> {
        PlacedRow::new(self.payload, self.table, self.number).ok_or_else(|| short(self.table.shape.name))
    }
}

/// The record of a statement's row.
#[inline]
pub(crate) fn read<'a, T: Record>(shape: &'static Shape, columns: &mut impl Columns<'a>) -> Result<T> {
    T::read(columns).map_err(unfit(shape))
}

#[cold]
fn ended() -> Error {
    let why =
        "the transaction has ended already: a failure that SQLite rolls back at once, or raw SQL, ended it";
    Error::new(ErrorKind::Refused, why)
}

#[cold]
fn short(name: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("a row of `{name}` is shorter or longer than its values"))
}

/// The error for a stored value that does not fit its field's type.
#[inline]
pub(crate) fn unfit(shape: &'static Shape) -> impl FnOnce((usize, Mismatch)) -> Error {
    move |(column, why)| unfit_value(shape, column, why)
}

#[cold]
fn unfit_value(shape: &Shape, column: usize, why: Mismatch) -> Error {
    let name = shape.columns.get(column).map_or("?", |column| column.name);
    let message = format!("column `{name}` of `{}` has a value that the field cannot be: {why}", shape.name);
    Error::new(ErrorKind::Mismatch, message)
}

/// The error for a record of another type than the table's, or for a run-time type that is used without its shape.
#[cold]
pub(crate) fn other_type(shape: &Shape) -> Error {
    let why = match shape.name {
        "" => "a type that is made at run time is told to `dynamic`, with its records".to_owned(),
        name => format!("a record of another type than `{name}` was given"),
    };
    Error::new(ErrorKind::Invalid, why)
}

/// The error for a value that cannot be stored.
#[cold]
pub(crate) fn refused(shape: &Shape, column: usize, why: Refusal) -> Error {
    let name = shape.columns.get(column).map_or("?", |column| column.name);
    Error::new(ErrorKind::Invalid, format!("field `{name}` of `{}`: {why}", shape.name))
}

/// The error that ended a batch early. A panic of the program's own code goes on.
pub(crate) fn stopped(shape: &Shape, why: Stopped) -> Error {
    match why {
        Stopped::Refused(column, why) => refused(shape, column, why),
        Stopped::Failed(error) => error,
        Stopped::Panicked(panic) => std::panic::resume_unwind(panic),
    }
}
