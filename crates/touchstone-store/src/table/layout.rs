//! The layout of a type's table in the file: its columns, their positions in a row, and whether they match the type.

use super::Table;
use crate::engine::connection::Connection;
use crate::engine::{entry, pager};
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::{ColumnShape, Shape};
use crate::types::value::Kind;

/// The layout of the type's table in the file.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) root: u32,
    /// The position of each of the type's columns in a stored row; `None` if the file lacks the column.
    pub(super) places: Vec<Option<usize>>,
    /// Whether the positions are 0, 1, 2, …; only the last columns may be missing.
    pub(super) in_order: bool,
    /// The number of a stored row's values up to the last of the type's columns.
    pub(super) reach: usize,
    /// Whether rows lie in the order of their key and have no number (`WITHOUT ROWID`).
    pub(super) clustered: bool,
    /// Whether rows hold all values that a statement returns, and compare as bytes: no column has a default, is
    /// computed, or has a collation.
    pub(super) is_plain: bool,
    /// The type's columns that have a collation: their values do not compare as bytes.
    pub(super) collated: Vec<usize>,
    /// Whether a row without a number gets the number after the greatest, not the one after the greatest ever used.
    pub(super) numbers_go_on: bool,
}

/// A column of the table in the file.
struct FoundColumn {
    name: String,
    kind: String,
    key: i64,
    is_plain: bool,
}

/// A table's root page, and the statement that created it, as SQLite reads them. SQLite also accepts values of other
/// kinds than it writes, which damage or other programs may leave.
fn as_read(connection: &Connection, name: &str) -> Result<Option<rusqlite::Result<(u32, String)>>> {
    const SQL: &str = "select cast(rootpage as integer), cast(sql as text) from sqlite_schema \
         where cast(type as text) = 'table' collate nocase and cast(name as text) = ?1 collate nocase";
    let mut statement = connection.sql().prepare(SQL)?;
    let mut rows = statement.query([name])?;
    Ok(rows.next()?.map(|row| Ok((row.get(0)?, row.get(1)?))))
}

impl Layout {
    /// Looks the table up; `None` if the file has no table of the name.
    ///
    /// # Errors
    /// If the table in the file does not match the type.
    pub(super) fn find(connection: &Connection, table: &Table) -> Result<Option<Layout>> {
        let damaged = |_| pager::damaged(1).context(format_args!("looking for the table `{}`", table.name));
        let found = match entry::find(connection, &table.name) {
            Ok(Some(found)) => Some(found),
            // If the schema is damaged, the SQL statement reports it, or reads the schema all the same.
            _ => as_read(connection, &table.name)?.transpose().map_err(damaged)?,
        };
        let Some((root, made_by)) = found else { return Layout::absent(connection) };
        // A table that this very type has created needs no look at its columns.
        if made_by == table.create_sql() {
            let reach = table.shape.columns.len();
            let places = (0..reach).map(Some).collect();
            let clustered = !table.is_made_by_number();
            let (in_order, is_plain, numbers_go_on) = (true, true, true);
            let collated = Vec::new();
            return Ok(Some(Layout {
                root,
                places,
                in_order,
                reach,
                clustered,
                is_plain,
                collated,
                numbers_go_on,
            }));
        }
        Layout::of_columns(connection, table, root, &made_by.to_ascii_lowercase()).map(Some)
    }

    /// The layout of a missing table. An error if the file has lost the names of all its tables.
    fn absent(connection: &Connection) -> Result<Option<Layout>> {
        if connection.pages().have_no_owner()? {
            let why = "its tables are not named, and its pages are not free";
            return Err(pager::damaged(1).context(why));
        }
        Ok(None)
    }

    fn of_columns(connection: &Connection, table: &Table, root: u32, made_by: &str) -> Result<Layout> {
        let (shape, shared) = (table.shape, table.is_shared);
        let mut found = columns(connection, &table.name)?;
        check_key(shape, &found, shared)?;
        if table.key_is_number() {
            check_number(connection, table)?;
        }
        let clustered = is_clustered(connection, &table.name)?;
        if clustered {
            // Such a table stores the key first, at whatever position it was declared.
            found.sort_by_key(|found| if found.key > 0 { found.key } else { i64::MAX });
        }
        let skipped = usize::from(shared);
        let mut places = Vec::new();
        for column in shape.columns {
            let place = found.iter().position(|found| found.name.eq_ignore_ascii_case(column.name));
            if let Some(place) = place {
                check_kind(shape, column, &found[place])?;
            }
            places.push(place.and_then(|place| place.checked_sub(skipped)));
        }
        let in_order = places.iter().enumerate().all(|(at, place)| place.is_none_or(|place| place == at));
        let complete = places.iter().all(Option::is_some);
        let ends = complete || trailing(&places, found.len() - skipped);
        // No pragma reports collations. A false match of the word only means that statements read the table.
        let is_plain = found.iter().all(|found| found.is_plain) && !made_by.contains("collate");
        // No pragma reports these either. If SQLite ignores a row after a conflict, the next row gets its number.
        let numbers_go_on = !made_by.contains("autoincrement") && !made_by.contains("conflict");
        let collated =
            if made_by.contains("collate") { collated(connection, table, &places)? } else { Vec::new() };
        let in_order = in_order && ends;
        let reach = places.iter().flatten().max().map_or(0, |place| place + 1);
        Ok(Layout { root, places, in_order, reach, clustered, is_plain, collated, numbers_go_on })
    }
}

/// The type's columns that have a collation.
fn collated(connection: &Connection, table: &Table, places: &[Option<usize>]) -> Result<Vec<usize>> {
    let mut collated = Vec::new();
    for (at, column) in table.shape.columns.iter().enumerate().filter(|(at, _)| places[*at].is_some()) {
        let metadata = connection.sql().column_metadata(Some("main"), table.name.as_str(), column.name)?;
        let is_binary = metadata.1.is_none_or(|order| order.to_bytes().eq_ignore_ascii_case(b"binary"));
        collated.extend((!is_binary).then_some(at));
    }
    Ok(collated)
}

/// The table's columns in the file.
fn columns(connection: &Connection, name: &str) -> Result<Vec<FoundColumn>> {
    let sql = "select name, type, pk, dflt_value is null and hidden = 0 from pragma_table_xinfo(?1, 'main')";
    let mut statement = connection.sql().prepare(sql)?;
    let found = statement.query_map([name], |row| {
        Ok(FoundColumn { name: row.get(0)?, kind: row.get(1)?, key: row.get(2)?, is_plain: row.get(3)? })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Whether the table's rows lie in the order of their key and have no number.
fn is_clustered(connection: &Connection, name: &str) -> Result<bool> {
    let sql = "select wr from pragma_table_list(?1) where schema = 'main'";
    Ok(connection.sql().query_row(sql, [name], |row| row.get(0))?)
}

/// Whether only the last columns are missing, and the file has no unknown columns in their place.
fn trailing(places: &[Option<usize>], found: usize) -> bool {
    let known = places.iter().take_while(|place| place.is_some()).count();
    known == found && places[known..].iter().all(Option::is_none)
}

fn check_key(shape: &Shape, found: &[FoundColumn], shared: bool) -> Result<()> {
    let mut keys: Vec<&FoundColumn> = found.iter().filter(|found| found.key > 0).collect();
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

/// Checks that the key is the row's number in the file, too: not so if the key has an index, or rows have no numbers.
fn check_number(connection: &Connection, table: &Table) -> Result<()> {
    let has_index = "select 1 from pragma_index_list(?1, 'main') where origin = 'pk'";
    if !connection.sql().prepare(has_index)?.exists([&table.name])? {
        return Ok(());
    }
    let message = format!(
        "the key of `{}` is not the number of its row in the file (store a record of another name, and copy)",
        table.shape.name
    );
    Err(Error::new(ErrorKind::Mismatch, message))
}

fn check_kind(shape: &Shape, column: &ColumnShape, found: &FoundColumn) -> Result<()> {
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
