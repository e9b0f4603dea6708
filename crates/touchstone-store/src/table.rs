//! A record's table in one file: its layout, and its prepared statements. The file may be older than the type, or
//! newer: columns are matched by name, and no column is ever rewritten.

mod layout;
mod row;
mod sql;

use crate::engine::connection::Connection;
use crate::engine::scan::Reach;
use crate::engine::statement::Statement;
use crate::types::cells::Cells;
use crate::types::error::{Error, Result};
use crate::types::record::Shape;
use crate::types::value::{Kind, Raw};
use layout::Layout;
pub(crate) use row::{OrderedRow, PlacedRow};
use sql::Names;
pub(crate) use sql::quote;
use std::cell::{Cell, OnceCell};
use std::ops::Deref;
use std::rc::Rc;

/// The column before the key, in the table that the named collections of a type share.
const COLLECTION: &str = "touchstone_collection";

/// A prepared statement, kept after its first use. It is taken out while it runs, so that the program may run the same
/// statement from within.
#[derive(Default)]
pub(crate) struct Held(Cell<Option<Statement>>);

impl Held {
    /// Takes the statement out, until the returned value is dropped.
    #[inline]
    pub(crate) fn take(&self, make: impl FnOnce() -> Result<Statement>) -> Result<Taken<'_>> {
        let statement = self.0.take().map_or_else(make, Ok)?;
        Ok(Taken { place: self, statement: Some(statement) })
    }
}

/// A statement that was taken out of its [`Held`]. When this is dropped, also by a panic, the statement goes back.
#[must_use = "the statement goes back when this is dropped"]
pub(crate) struct Taken<'h> {
    place: &'h Held,
    statement: Option<Statement>,
}

impl Taken<'_> {
    #[inline]
    pub(crate) fn get(&mut self) -> &mut Statement {
        self.statement.as_mut().expect("it stays here until the drop")
    }
}

impl Drop for Taken<'_> {
    #[inline]
    fn drop(&mut self) {
        self.place.0.set(self.statement.take());
    }
}

/// A type's own table, or the one that its named collections share.
pub(crate) struct Table {
    pub(crate) shape: &'static Shape,
    pub(crate) is_shared: bool,
    name: String,
    layout: Option<Layout>,
    names: OnceCell<Names>,
    planned_by_values: OnceCell<bool>,
    /// Whether the indexes are known to exist.
    pub(crate) writable: Cell<bool>,
    pub(crate) get: Held,
    pub(crate) insert: Held,
    pub(crate) put: Held,
    pub(crate) replace: Held,
    pub(crate) remove: Held,
    pub(crate) insert_feed: Held,
    pub(crate) put_feed: Held,
    pub(crate) clear: Held,
    pub(crate) count: Held,
    pub(crate) greatest: Held,
}

impl Table {
    /// Looks the table up in the file. A missing table is not an error: a reader finds nothing in it.
    ///
    /// # Errors
    /// If the table in the file does not match the type.
    pub(crate) fn find(connection: &Connection, shape: &'static Shape, is_shared: bool) -> Result<Table> {
        let mut table = Table::unknown(shape, is_shared);
        table.layout = Layout::find(connection, &table)?;
        Ok(table)
    }

    /// A table that is not known to be in the file.
    fn unknown(shape: &'static Shape, is_shared: bool) -> Table {
        Table {
            shape,
            is_shared,
            name: physical_name(shape, is_shared),
            layout: None,
            names: OnceCell::new(),
            planned_by_values: OnceCell::new(),
            writable: Cell::new(false),
            get: Held::default(),
            insert: Held::default(),
            put: Held::default(),
            replace: Held::default(),
            remove: Held::default(),
            insert_feed: Held::default(),
            put_feed: Held::default(),
            clear: Held::default(),
            count: Held::default(),
            greatest: Held::default(),
        }
    }

    /// The table's name in the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the file has the table.
    pub(crate) fn exists(&self) -> bool {
        self.layout.is_some()
    }

    /// The root page of the table's tree.
    pub(crate) fn root(&self) -> Option<u32> {
        self.layout.as_ref().map(|layout| layout.root)
    }

    /// Whether the key is the row's number (rowid).
    pub(crate) fn key_is_number(&self) -> bool {
        !self.is_shared && key_is_number(self.shape)
    }

    /// Whether a scan returns rows in the order of their key. The file decides: the type may have declared something
    /// else when the table was created.
    pub(crate) fn in_key_order(&self) -> bool {
        self.key_is_number() || self.layout.as_ref().is_some_and(|layout| layout.clustered)
    }

    /// Whether rows are numbered in the file.
    pub(crate) fn is_numbered(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| !layout.clustered)
    }

    /// Whether the pages of the table hold all that a statement would return, and nothing else.
    pub(crate) fn is_read_by_pages(&self) -> bool {
        !self.is_shared && self.layout.as_ref().is_none_or(|layout| layout.is_plain)
    }

    /// Whether SQLite's plans may depend on the compared values: there is a partial index, or statistics on values
    /// (`sqlite_stat4`).
    pub(crate) fn is_planned_by_values(&self, connection: &Connection) -> Result<bool> {
        if let Some(known) = self.planned_by_values.get() {
            return Ok(*known);
        }
        let sql = "select exists (select 1 from pragma_index_list(?1, 'main') where partial) \
                   or exists (select 1 from main.sqlite_schema where name = 'sqlite_stat4')";
        let answer = connection.sql().query_row(sql, [&self.name], |row| row.get(0))?;
        Ok(*self.planned_by_values.get_or_init(|| answer))
    }

    /// Whether the column has a collation: the file does not compare its values as bytes.
    pub(crate) fn is_collated(&self, column: usize) -> bool {
        self.layout.as_ref().is_some_and(|layout| layout.collated.contains(&column))
    }

    /// Whether a row without a number gets the number after the greatest.
    pub(crate) fn numbers_go_on(&self) -> bool {
        self.key_is_number() && self.layout.as_ref().is_some_and(|layout| layout.numbers_go_on)
    }

    /// Whether a stored row begins with the type's columns, in their order.
    pub(crate) fn in_order(&self) -> bool {
        !self.is_shared && self.layout.as_ref().is_some_and(|layout| layout.in_order)
    }

    /// The position of the type's column in a stored row.
    pub(crate) fn place(&self, column: usize) -> Option<usize> {
        let place = self.layout.as_ref()?.places[column]?;
        Some(place + usize::from(self.is_shared))
    }

    /// The number of a stored row's values up to the last of the type's columns.
    pub(crate) fn reach(&self) -> usize {
        self.layout.as_ref().map_or(0, |layout| layout.reach)
    }

    /// How far to read each row if all of them are read as records.
    pub(crate) fn reach_all(&self) -> Reach {
        Reach { sift: 0, take: self.reach(), pass: 0 }
    }

    /// The number of a stored row's values up to the last of these columns of the type.
    pub(crate) fn reach_of(&self, columns: impl IntoIterator<Item = usize>) -> usize {
        columns.into_iter().filter_map(|column| self.place(column)).map(|place| place + 1).max().unwrap_or(0)
    }
}

/// Adds the key of a row to an error. The key follows the skipped values.
#[cold]
pub(crate) fn name_row(shape: &Shape, error: Error, cells: &Cells<'_>, skipped: usize) -> Error {
    let keys: Vec<String> =
        (skipped..skipped + shape.keys).filter_map(|at| cells.raw(at)).map(Raw::in_words).collect();
    error.context(format_args!("{} {}", shape.name, keys.join(", ")))
}

/// A type's own table, or the section of the shared table that is one named collection. All named collections of a type
/// share one table and its statements.
pub(crate) struct Section {
    table: Rc<Table>,
    /// The collection's number; `None` for the type's own table.
    collection: Option<i64>,
}

impl Deref for Section {
    type Target = Table;

    #[inline]
    fn deref(&self) -> &Table {
        &self.table
    }
}

impl Section {
    #[inline]
    pub(crate) fn new(table: Rc<Table>, collection: Option<i64>) -> Section {
        debug_assert_eq!(table.is_shared, collection.is_some());
        Section { table, collection }
    }

    /// The collection's number; `None` for the type's own table.
    pub(crate) fn collection(&self) -> Option<i64> {
        self.collection
    }

    /// Appends the collection's number, which comes before the record's values.
    #[inline]
    pub(crate) fn begin_row(&self, cells: &mut Cells<'_>) {
        if let Some(number) = self.collection {
            cells.integer(number);
        }
    }

    /// The collection's number alone, for a statement with no other parameter.
    #[inline]
    pub(crate) fn begun_row(&self) -> Cells<'static> {
        let mut cells = Cells::default();
        self.begin_row(&mut cells);
        cells
    }
}

/// A key of one integer is the row's number.
fn key_is_number(shape: &Shape) -> bool {
    shape.keys == 1 && shape.columns[0].kind == Kind::Integer
}

fn physical_name(shape: &Shape, is_shared: bool) -> String {
    if is_shared { format!("{}_in_collections", shape.name) } else { shape.name.to_owned() }
}
