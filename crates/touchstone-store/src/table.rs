//! A record's table in one file: which of the type's columns the file has, and the statements on them. The file may be
//! older than the type, or newer: columns are matched by name, and none is ever rewritten.

use crate::cells::{Cell as Value, Cells};
use crate::engine::connection::Connection;
use crate::engine::feed::Feed;
use crate::engine::page::Payload;
use crate::engine::statement::Statement;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{ColumnShape, Columns, Index, Shape};
use crate::value::{Kind, Raw};
use smallvec::SmallVec;
use std::cell::Cell;
use std::fmt::Write as _;

/// The column before the key, in the table that a type's named collections share.
const COLLECTION: &str = "touchstone_collection";

/// A held statement, made when it is first wanted. It is taken out while it runs, so that a program may ask for the
/// same again from within.
#[derive(Default)]
pub(crate) struct Held(Cell<Option<Statement>>);

impl Held {
    #[inline]
    pub(crate) fn with<R>(
        &self,
        make: impl FnOnce() -> Result<Statement>,
        run: impl FnOnce(&Statement) -> Result<R>,
    ) -> Result<R> {
        let statement = match self.0.take() {
            Some(statement) => statement,
            None => make()?,
        };
        let result = run(&statement);
        statement.reset();
        self.0.set(Some(statement));
        result
    }
}

/// A type's table, or the part of one that is a named collection.
pub(crate) struct Table {
    pub(crate) shape: &'static Shape,
    /// The collection's number in the table that collections share; none for the type's own table.
    pub(crate) collection: Option<i64>,
    name: String,
    layout: Option<Layout>,
    /// Whether the indexes were seen to be there.
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

/// What the file has of the type's table.
#[derive(Clone, Debug)]
struct Layout {
    root: u32,
    /// Where in a stored row each of the type's columns lies; none that the file lacks.
    places: Vec<Option<usize>>,
    /// Whether those are 0, 1, 2, …
    in_order: bool,
    /// Whether rows lie in the order of their key, and are not numbered.
    clustered: bool,
    /// Whether a column has a default that rows from before it do not hold.
    has_default: bool,
}

/// What a table of the file has at one place.
struct Found {
    name: String,
    kind: String,
    key: i64,
    has_default: bool,
}

impl Table {
    /// Looks the table up in the file. That it is not there is no error: a reader finds nothing in it.
    ///
    /// # Errors
    /// When the table there is none of the type's.
    pub(crate) fn find(
        connection: &Connection,
        shape: &'static Shape,
        collection: Option<i64>,
    ) -> Result<Table> {
        let name = physical_name(shape, collection.is_some());
        let mut table = Table::unknown(shape, collection, name);
        table.layout = Layout::find(connection, &table)?;
        Ok(table)
    }

    /// A table that the file does not have, as far as is known.
    fn unknown(shape: &'static Shape, collection: Option<i64>, name: String) -> Table {
        Table {
            shape,
            collection,
            name,
            layout: None,
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

    /// Whether the file has the table.
    pub(crate) fn exists(&self) -> bool {
        self.layout.is_some()
    }

    /// The root page of the table's tree.
    pub(crate) fn root(&self) -> Option<u32> {
        self.layout.as_ref().map(|layout| layout.root)
    }

    /// Whether the key is the row's number.
    pub(crate) fn key_is_number(&self) -> bool {
        self.collection.is_none() && key_is_number(self.shape)
    }

    /// Whether rows come in the order of their key when they are read as they lie. It is the file that decides: the
    /// type may have said otherwise when the table was made.
    pub(crate) fn in_key_order(&self) -> bool {
        self.key_is_number() || self.layout.as_ref().is_some_and(|layout| layout.clustered)
    }

    /// Whether rows are numbered in the file.
    pub(crate) fn is_numbered(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| !layout.clustered)
    }

    /// Whether the pages of the table hold all that a statement would tell, and nothing else.
    pub(crate) fn is_read_by_pages(&self) -> bool {
        self.collection.is_none() && !self.layout.as_ref().is_some_and(|layout| layout.has_default)
    }

    /// Whether the type's columns lie in the stored row in their order, from the first on.
    pub(crate) fn in_order(&self) -> bool {
        self.collection.is_none() && self.layout.as_ref().is_some_and(|layout| layout.in_order)
    }

    /// Where in a stored row the type's column lies.
    pub(crate) fn place(&self, column: usize) -> Option<usize> {
        let place = self.layout.as_ref()?.places[column]?;
        Some(place + usize::from(self.collection.is_some()))
    }

    /// The table's name, quoted.
    pub(crate) fn quoted(&self) -> String {
        quote(&self.name)
    }

    /// The expressions that select the type's columns in their order.
    pub(crate) fn selection(&self) -> String {
        let columns = self.shape.columns.iter().enumerate();
        let names: Vec<String> = columns.map(|(at, column)| self.column(at, column)).collect();
        names.join(", ")
    }

    /// The expression of one column: NULL where the file has none.
    fn column(&self, at: usize, column: &ColumnShape) -> String {
        match &self.layout {
            Some(layout) if layout.places[at].is_some() => quote(column.name),
            _ => "null".to_owned(),
        }
    }

    /// As [`column`](Table::column), by place.
    pub(crate) fn expression(&self, at: usize) -> String {
        self.column(at, &self.shape.columns[at])
    }

    /// How many parameters come before a statement's own: the collection's number.
    pub(crate) fn first(&self) -> i32 {
        if self.collection.is_some() { 2 } else { 1 }
    }

    /// The condition that a row is of the collection, with `and` behind it.
    pub(crate) fn within(&self) -> String {
        if self.collection.is_some() { format!("{} = ?1 and ", quote(COLLECTION)) } else { String::new() }
    }

    /// Binds the collection's number.
    #[inline]
    pub(crate) fn bind_collection(&self, statement: &Statement) {
        if let Some(number) = self.collection {
            statement.bind_integer(1, number);
        }
    }

    fn by_key(&self) -> String {
        let mut condition = self.within();
        for (at, column) in (self.first()..).zip(&self.shape.columns[..self.shape.keys]) {
            let and = if at == self.first() { "" } else { " and " };
            let _ = write!(condition, "{and}{} = ?{at}", quote(column.name));
        }
        condition
    }

    pub(crate) fn get_sql(&self) -> String {
        format!("select {} from {} where {}", self.selection(), self.quoted(), self.by_key())
    }

    pub(crate) fn remove_sql(&self) -> String {
        format!("delete from {} where {}", self.quoted(), self.by_key())
    }

    pub(crate) fn clear_sql(&self) -> String {
        // Without a condition SQLite drops the pages instead of the rows one by one.
        let condition = if self.collection.is_some() {
            format!(" where {} = ?1", quote(COLLECTION))
        } else {
            String::new()
        };
        format!("delete from {}{condition}", self.quoted())
    }

    pub(crate) fn count_sql(&self) -> String {
        let condition = if self.collection.is_some() {
            format!(" where {} = ?1", quote(COLLECTION))
        } else {
            String::new()
        };
        format!("select count(*) from {}{condition}", self.quoted())
    }

    /// The greatest key, of a table whose key is the row's number.
    pub(crate) fn greatest_sql(&self) -> String {
        format!("select max({}) from {}", self.expression(0), self.quoted())
    }

    fn target(&self) -> String {
        let mut names: Vec<String> = self.shape.columns.iter().map(|column| quote(column.name)).collect();
        if self.collection.is_some() {
            names.insert(0, quote(COLLECTION));
        }
        format!("{} ({})", self.quoted(), names.join(", "))
    }

    fn width(&self) -> usize {
        self.shape.columns.len() + usize::from(self.collection.is_some())
    }

    pub(crate) fn insert_sql(&self) -> String {
        let places: Vec<String> = (1..=self.width()).map(|at| format!("?{at}")).collect();
        format!("insert into {} values ({})", self.target(), places.join(", "))
    }

    pub(crate) fn put_sql(&self) -> String {
        format!("{}{}", self.insert_sql(), self.on_conflict())
    }

    /// Takes the same parameters as an insert.
    pub(crate) fn replace_sql(&self) -> String {
        let first = usize::try_from(self.first()).unwrap_or(1);
        let places: Vec<String> = self
            .shape
            .columns
            .iter()
            .enumerate()
            // A record that is all key is replaced by itself.
            .skip(if self.shape.keys == self.shape.columns.len() { 0 } else { self.shape.keys })
            .map(|(at, column)| format!("{} = ?{}", quote(column.name), first + at))
            .collect();
        format!("update {} set {} where {}", self.quoted(), places.join(", "), self.by_key())
    }

    pub(crate) fn insert_feed_sql(&self) -> String {
        let columns = self.shape.columns.len();
        let mut places: Vec<String> = (0..columns).map(|at| format!("c{at}")).collect();
        if self.collection.is_some() {
            places.insert(0, "?1".to_owned());
        }
        // The condition tells SQLite's parser that what follows is no join.
        format!(
            "insert into {} select {} from {} where true",
            self.target(),
            places.join(", "),
            Feed::name(columns)
        )
    }

    pub(crate) fn put_feed_sql(&self) -> String {
        format!("{}{}", self.insert_feed_sql(), self.on_conflict())
    }

    /// Columns of the file that the type does not know keep their values, which `replace` would not do.
    fn on_conflict(&self) -> String {
        let mut keys: Vec<String> =
            self.shape.columns[..self.shape.keys].iter().map(|column| quote(column.name)).collect();
        if self.collection.is_some() {
            keys.insert(0, quote(COLLECTION));
        }
        let rest: Vec<String> = self.shape.columns[self.shape.keys..]
            .iter()
            .map(|column| format!("{0} = excluded.{0}", quote(column.name)))
            .collect();
        let action =
            if rest.is_empty() { "nothing".to_owned() } else { format!("update set {}", rest.join(", ")) };
        format!(" on conflict ({}) do {action}", keys.join(", "))
    }

    /// The statements that make the table, or what the file lacks of it. Each changes nothing that is there.
    pub(crate) fn make_sql(&self) -> Vec<String> {
        let mut statements = match &self.layout {
            None => vec![self.create_sql()],
            Some(layout) => {
                let lacking =
                    self.shape.columns.iter().zip(&layout.places).filter(|(_, place)| place.is_none());
                lacking
                    .map(|(column, _)| {
                        format!("alter table {} add column {}", self.quoted(), definition(column))
                    })
                    .collect()
            }
        };
        statements.extend(self.shape.columns.iter().filter_map(|column| self.index_sql(column)));
        statements
    }

    fn create_sql(&self) -> String {
        let shape = self.shape;
        let mut parts: Vec<String> = Vec::new();
        let mut keys: Vec<String> =
            shape.columns[..shape.keys].iter().map(|column| quote(column.name)).collect();
        if self.collection.is_some() {
            parts.push(format!("{} INTEGER NOT NULL", quote(COLLECTION)));
            keys.insert(0, quote(COLLECTION));
        }
        for (at, column) in shape.columns.iter().enumerate() {
            // Only a key is never NULL: a type that drops a field goes on writing to the file, without its value.
            let constraint = match at < shape.keys {
                true if self.key_is_number() => " PRIMARY KEY",
                true => " NOT NULL",
                false => "",
            };
            parts.push(format!("{}{constraint}", definition(column)));
        }
        if !self.key_is_number() {
            parts.push(format!("PRIMARY KEY ({})", keys.join(", ")));
        }
        let options = if self.is_made_by_number() { "STRICT" } else { "STRICT, WITHOUT ROWID" };
        format!("CREATE TABLE {} ({}) {options}", self.quoted(), parts.join(", "))
    }

    /// Whether the rows of a table that this type makes are numbered.
    fn is_made_by_number(&self) -> bool {
        self.key_is_number() || (self.shape.numbered && self.collection.is_none())
    }

    fn index_sql(&self, column: &ColumnShape) -> Option<String> {
        let (unique, ending) = match column.index {
            Index::None => return None,
            Index::Plain => ("", ""),
            Index::Unique => ("unique ", ".unique"),
        };
        // Names of tables and columns have no dot, so no other index, and no table, has the name.
        let name = quote(&format!("{}.{}{ending}", self.name, column.name));
        let collection =
            if self.collection.is_some() { format!("{}, ", quote(COLLECTION)) } else { String::new() };
        let columns = format!("{collection}{}", quote(column.name));
        Some(format!("create {unique}index if not exists {name} on {} ({columns})", self.quoted()))
    }

    /// Appends the collection's number, which comes before the record's values.
    #[inline]
    pub(crate) fn begin_row(&self, cells: &mut Cells<'_>) {
        if let Some(number) = self.collection {
            cells.integer(number);
        }
    }

    /// Says which key a failure was about.
    pub(crate) fn name_row(&self, error: Error, cells: &Cells<'_>) -> Error {
        let skipped = usize::from(self.collection.is_some());
        let keys: Vec<String> =
            (skipped..skipped + self.shape.keys).filter_map(|at| cells.get(at)).map(show).collect();
        error.context(format_args!("{} {}", self.shape.name, keys.join(", ")))
    }
}

/// A value of a key, for a message.
fn show(cell: &Value<'_>) -> String {
    const SHOWN_MAX: usize = 60;
    match cell {
        Value::Integer(value) => value.to_string(),
        Value::Text(text) if text.chars().count() > SHOWN_MAX => {
            format!("{:?}…", text.chars().take(SHOWN_MAX).collect::<String>())
        }
        Value::Text(text) => format!("{text:?}"),
        Value::Blob(bytes) => format!("of {} bytes", bytes.len()),
        other => format!("{other:?}"),
    }
}

impl Layout {
    fn find(connection: &Connection, table: &Table) -> Result<Option<Layout>> {
        let sql = "select rootpage, sql from sqlite_schema where type = 'table' and name = ?1 collate nocase";
        let mut statement = connection.sql().prepare(sql)?;
        let mut rows = statement.query([&table.name])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let root: u32 = row.get(0)?;
        // A table that was made by this very type needs no look at its columns.
        if row.get_ref(1)?.as_str() == Ok(table.create_sql().as_str()) {
            let places = (0..table.shape.columns.len()).map(Some).collect();
            let clustered = !table.is_made_by_number();
            return Ok(Some(Layout { root, places, in_order: true, clustered, has_default: false }));
        }
        drop(rows);
        Layout::of_columns(connection, table, root).map(Some)
    }

    fn of_columns(connection: &Connection, table: &Table, root: u32) -> Result<Layout> {
        let (shape, shared) = (table.shape, table.collection.is_some());
        let mut found = columns(connection, &table.name)?;
        check_key(shape, &found, shared)?;
        let clustered = is_clustered(connection, &table.name)?;
        if clustered {
            // Such a table stores the key first, wherever it was declared.
            found.sort_by_key(|found| if found.key > 0 { found.key } else { i64::MAX });
        }
        let skipped = usize::from(shared);
        let mut places = Vec::new();
        for column in shape.columns {
            let place = found.iter().position(|found| found.name.eq_ignore_ascii_case(column.name));
            if let Some(place) = place {
                check_kind(shape, column, &found[place])?;
            }
            places.push(place.map(|place| place - skipped));
        }
        let in_order = places.iter().enumerate().all(|(at, place)| place.is_none_or(|place| place == at));
        let complete = places.iter().all(Option::is_some);
        let ends = complete || trailing(&places, found.len() - skipped);
        let has_default = found.iter().any(|found| found.has_default);
        Ok(Layout { root, places, in_order: in_order && ends, clustered, has_default })
    }
}

/// The columns that the table has in the file.
fn columns(connection: &Connection, name: &str) -> Result<Vec<Found>> {
    let sql = "select name, type, pk, dflt_value is not null from pragma_table_info(?1)";
    let mut statement = connection.sql().prepare(sql)?;
    let found = statement.query_map([name], |row| {
        Ok(Found { name: row.get(0)?, kind: row.get(1)?, key: row.get(2)?, has_default: row.get(3)? })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Whether the table's rows lie in the order of their key, and are not numbered.
fn is_clustered(connection: &Connection, name: &str) -> Result<bool> {
    let sql = "select wr from pragma_table_list(?1) where schema = 'main'";
    Ok(connection.sql().query_row(sql, [name], |row| row.get(0))?)
}

/// Whether what is missing is missing at the end, and nothing that the type does not know is there instead.
fn trailing(places: &[Option<usize>], found: usize) -> bool {
    let known = places.iter().take_while(|place| place.is_some()).count();
    known == found && places[known..].iter().all(Option::is_none)
}

fn check_key(shape: &Shape, found: &[Found], shared: bool) -> Result<()> {
    let mut keys: Vec<&Found> = found.iter().filter(|found| found.key > 0).collect();
    keys.sort_by_key(|found| found.key);
    let keys = if shared && !keys.is_empty() { &keys[1..] } else { &keys[..] };
    let declared = &shape.columns[..shape.keys];
    let same = keys.len() == declared.len()
        && keys.iter().zip(declared).all(|(found, column)| {
            found.name.eq_ignore_ascii_case(column.name) && found.kind.eq_ignore_ascii_case(column.kind.sql())
        });
    if same {
        return Ok(());
    }
    let in_file: Vec<String> = keys.iter().map(|found| format!("{} {}", found.name, found.kind)).collect();
    let in_type: Vec<String> =
        declared.iter().map(|column| format!("{} {}", column.name, column.kind.sql())).collect();
    let message = format!(
        "the key of `{}` is ({}) in the file and ({}) in the type (a key cannot change: store a record of another name, and copy)",
        shape.name,
        in_file.join(", "),
        in_type.join(", ")
    );
    Err(Error::new(ErrorKind::Mismatch, message))
}

fn check_kind(shape: &Shape, column: &ColumnShape, found: &Found) -> Result<()> {
    if found.kind.eq_ignore_ascii_case(column.kind.sql())
        || (column.kind == Kind::Integer && found.kind.eq_ignore_ascii_case("INT"))
    {
        return Ok(());
    }
    let message = format!(
        "column `{}` of `{}` is {} in the file and {} in the type (give the field another column)",
        column.name,
        shape.name,
        found.kind,
        column.kind.sql()
    );
    Err(Error::new(ErrorKind::Mismatch, message))
}

fn definition(column: &ColumnShape) -> String {
    format!("{} {}", quote(column.name), column.kind.sql())
}

/// A key of one integer is the number of its row.
fn key_is_number(shape: &Shape) -> bool {
    shape.keys == 1 && shape.columns[0].kind == Kind::Integer
}

fn physical_name(shape: &Shape, shared: bool) -> String {
    if shared { format!("{}_in_collections", shape.name) } else { shape.name.to_owned() }
}

/// A name in SQL.
pub(crate) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A stored row's values in the order of the type's columns, where they lie so in the file.
pub(crate) struct OrderedRow<'p> {
    payload: Payload<'p>,
    /// The key, where it is the row's number.
    number: Option<i64>,
    /// The payload ended before its values did.
    is_damaged: bool,
}

impl<'p> OrderedRow<'p> {
    #[inline]
    pub(crate) fn new(payload: Payload<'p>, number: Option<i64>) -> OrderedRow<'p> {
        OrderedRow { payload, number, is_damaged: false }
    }

    /// Whether the payload is as long as the values that were read of it.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_damaged && self.payload.is_whole()
    }
}

impl<'p> Columns<'p> for OrderedRow<'p> {
    #[inline(always)]
    fn next(&mut self) -> Raw<'p> {
        if let Some(number) = self.number.take() {
            // SQLite stores the number apart from the row, and NULL in the column's place.
            self.is_damaged |= self.payload.skip().is_none();
            return Raw::Integer(number);
        }
        match self.payload.next() {
            Some(value) => value,
            None => {
                self.is_damaged = true;
                Raw::Null
            }
        }
    }
}

/// A stored row's values, by place.
pub(crate) struct PlacedRow<'p, 't> {
    values: SmallVec<[Raw<'p>; 16]>,
    table: &'t Table,
    number: Option<i64>,
    at: usize,
}

impl<'p, 't> PlacedRow<'p, 't> {
    pub(crate) fn new(mut payload: Payload<'p>, table: &'t Table, number: i64) -> Option<PlacedRow<'p, 't>> {
        let mut values = SmallVec::new();
        loop {
            match payload.next()? {
                Raw::Absent if payload.is_whole() => break,
                Raw::Absent => return None,
                value => values.push(value),
            }
        }
        let number = table.key_is_number().then_some(number);
        Some(PlacedRow { values, table, number, at: 0 })
    }

    /// The value of one of the type's columns.
    pub(crate) fn get(&self, column: usize) -> Raw<'p> {
        if let (Some(number), 0) = (self.number, column) {
            return Raw::Integer(number);
        }
        let place = self.table.place(column);
        place.and_then(|place| self.values.get(place)).copied().unwrap_or(Raw::Absent)
    }
}

impl<'p> Columns<'p> for PlacedRow<'p, '_> {
    fn next(&mut self) -> Raw<'p> {
        let value = self.get(self.at);
        self.at += 1;
        value
    }
}
