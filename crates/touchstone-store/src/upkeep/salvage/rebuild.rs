//! The new store of a salvage: tables from the SQL in the damaged file's schema, with the rows as they lay.

use super::damaged::{Damaged, Item};
use super::orphan;
use super::{SalvageReport, SalvagedTable};
use crate::engine::authorizer::only_declaring;
use crate::engine::connection::{APPLICATION_ID, Connection, FORMAT_VERSION};
use crate::engine::statement::Statement;
use crate::table::quote;
use crate::types::cells::Cells;
use crate::types::error::{Error, Result};
use crate::types::options::Options;
use crate::types::value::Raw;
use libsqlite3_sys as ffi;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::path::Path;

/// The new store while it is made.
pub(crate) struct Rebuilt {
    connection: Connection,
}

/// A table that was made, and how its stored rows go into it.
pub(crate) struct TargetTable {
    name: String,
    root: u32,
    /// Whether its rows are numbered (it has a rowid).
    pub(crate) numbered: bool,
    /// A name for the row's number (the rowid) that no column has; none if a column is the number.
    number: Option<&'static str>,
    /// The columns in the order in which a row stores them; none for a column that SQLite computes.
    columns: Vec<Option<String>>,
    /// The column that is the row's number.
    key: Option<usize>,
    pub(crate) saved: SalvagedTable,
    /// Statements by the number of columns that a row stores; dropped before the connection.
    statements: RefCell<HashMap<usize, Statement>>,
}

impl Rebuilt {
    pub(crate) fn new(path: &Path, options: &Options) -> Result<Rebuilt> {
        let connection = Connection::open(path, options)?;
        // No program uses the file before it is whole. References are checked later, by `Store::check`: the rows come
        // in the order of their pages.
        connection.sql().execute_batch(&format!(
            "pragma journal_mode = off; pragma synchronous = off; pragma foreign_keys = off; begin;
             pragma application_id = {APPLICATION_ID}; pragma user_version = {FORMAT_VERSION}"
        ))?;
        Ok(Rebuilt { connection })
    }

    /// Makes every table, index, view and trigger, with the rows that can be read.
    pub(crate) fn fill(
        &mut self,
        schema: &[Item],
        source: &mut Damaged,
        report: &mut SalvageReport,
    ) -> Result<()> {
        // Unique indexes come first, to refuse a second row with the same value. The others cost less at the end.
        let mut targets = Vec::new();
        for item in schema.iter().filter(|item| item.is_table() && !item.is_internal()) {
            match self.make(item, "CREATE TABLE ").then(|| self.target(item)).transpose()? {
                Some(target) => targets.push(target),
                None => report.not_made.push(item.name.clone()),
            }
        }
        let (unique, rest): (Vec<&Item>, Vec<&Item>) = schema
            .iter()
            .filter(|item| !item.is_table() && !item.sql.is_empty())
            .partition(|item| item.sql.starts_with("CREATE UNIQUE INDEX "));
        self.make_all(&unique, "CREATE UNIQUE INDEX ", report);
        for target in &mut targets {
            let (root, numbered) = (target.root, target.numbered);
            let mut saved = std::mem::take(&mut target.saved);
            source.walk(root, numbered, &mut saved, &mut |number, row, saved| {
                self.insert(target, number, row, saved)
            })?;
            target.saved = saved;
        }
        let others_lost = pass_over_internal(schema, source)? || !report.tables.is_empty();
        if !others_lost {
            orphan::find(self, source, &mut targets)?;
        }
        report.tables.extend(targets.into_iter().map(|target| target.saved));
        for opening in ["CREATE INDEX ", "CREATE VIEW ", "CREATE TRIGGER "] {
            let items: Vec<&Item> =
                rest.iter().filter(|item| item.sql.starts_with(opening)).copied().collect();
            self.make_all(&items, opening, report);
        }
        Ok(())
    }

    /// Ends the transaction: the file is whole.
    pub(crate) fn finish(self) -> Result<()> {
        self.connection.commit()
    }

    fn make_all(&self, items: &[&Item], opening: &str, report: &mut SalvageReport) {
        for item in items {
            if !self.make(item, opening) {
                report.not_made.push(item.name.clone());
            }
        }
    }

    /// Runs the item's SQL, which must begin with `opening`; returns whether the item was made under its name.
    fn make(&self, item: &Item, opening: &str) -> bool {
        let sql = self.connection.sql();
        // Any other text than one statement of this kind is damage, or an attack, and is not run.
        item.sql.starts_with(opening)
            && only_declaring(&self.connection, || sql.execute(&item.sql, ())).is_ok()
            && sql
                .prepare("select 1 from sqlite_schema where name = ?1")
                .and_then(|mut named| named.exists([&item.name]))
                .unwrap_or(false)
    }

    fn target(&self, item: &Item) -> Result<TargetTable> {
        let sql = self.connection.sql();
        let without_numbers: bool = sql.query_row(
            "select wr from pragma_table_list where schema = 'main' and name = ?1",
            [&item.name],
            |row| row.get(0),
        )?;
        let mut columns = sql.prepare("select name, type, pk, hidden from pragma_table_xinfo(?1)")?;
        let columns = columns.query_map([&item.name], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, i64>(2)?,
                row.get::<_, i64>(3)?,
            ))
        })?;
        let columns: Vec<(String, String, i64, i64)> = columns.collect::<rusqlite::Result<_>>()?;
        // A computed column that is not stored has no place in a row.
        let mut stored: Vec<_> = columns.iter().filter(|(.., hidden)| *hidden != 2).collect();
        if without_numbers {
            stored.sort_by_key(|(_, _, key, _)| if *key > 0 { *key } else { i64::MAX });
        }
        // The key is the row's number if it needs no index of its own.
        let has_index = "select 1 from pragma_index_list(?1) where origin = 'pk'";
        let key_is_number = !without_numbers && !sql.prepare(has_index)?.exists([&item.name])?;
        let key = stored.iter().position(|(_, _, key, _)| key_is_number && *key > 0);
        let is_free = |word: &&str| !columns.iter().any(|(name, ..)| name.eq_ignore_ascii_case(word));
        let number = ["rowid", "_rowid_", "oid"].into_iter().find(is_free);
        Ok(TargetTable {
            name: item.name.clone(),
            root: item.root,
            numbered: !without_numbers,
            number: number.filter(|_| !without_numbers && key.is_none()),
            columns: stored
                .into_iter()
                .map(|(name, .., hidden)| (*hidden == 0).then(|| quote(name)))
                .collect(),
            key,
            saved: SalvagedTable { name: item.name.clone(), ..SalvagedTable::default() },
            statements: RefCell::default(),
        })
    }

    /// Inserts a row into its table, and counts it.
    pub(crate) fn insert(
        &self,
        target: &TargetTable,
        number: i64,
        row: &[Raw<'_>],
        saved: &mut SalvagedTable,
    ) -> Result<()> {
        if !target.may_store(row.len()) {
            saved.rows_lost += 1;
            return Ok(());
        }
        let mut cells = Cells::default();
        if target.number.is_some() {
            cells.integer(number);
        }
        for (at, value) in row.iter().enumerate().filter(|(at, _)| target.columns[*at].is_some()) {
            append(&mut cells, if Some(at) == target.key { Raw::Integer(number) } else { *value });
        }
        let mut statements = target.statements.borrow_mut();
        let statement = match statements.entry(row.len()) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(place) => place.insert(self.connection.prepare(&target.insert_sql(row.len()))?),
        };
        match statement.run_with(&cells) {
            Ok(_) => saved.rows += 1,
            Err(error) if is_refusal(&error) => saved.rows_refused += 1,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl TargetTable {
    /// Whether a row may store that many columns: its number's column among them, and no more than the table has.
    fn may_store(&self, columns: usize) -> bool {
        columns > self.key.unwrap_or(0) && columns <= self.columns.len()
    }

    /// The statement for a row that stores that many columns: a column that was added later keeps its default.
    fn insert_sql(&self, stored: usize) -> String {
        let columns = self.columns[..stored].iter().flatten().map(String::as_str);
        let names: Vec<&str> = self.number.into_iter().chain(columns).collect();
        let mut places = String::new();
        for at in 1..=names.len() {
            let _ = write!(places, "{}?{at}", if at == 1 { "" } else { ", " });
        }
        format!("insert into {} ({}) values ({places})", quote(&self.name), names.join(", "))
    }
}

impl Item {
    fn is_table(&self) -> bool {
        self.kind == "table"
    }

    /// Whether SQLite keeps the item for itself, and makes it again.
    fn is_internal(&self) -> bool {
        self.name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"))
    }
}

/// Whether the row was at fault: it violates a constraint of its table, or an expression on it cannot be computed.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error.sqlite_code().map(|code| code & 0xff),
        Some(ffi::SQLITE_CONSTRAINT | ffi::SQLITE_ERROR | ffi::SQLITE_MISMATCH | ffi::SQLITE_TOOBIG)
    )
}

/// Takes the pages of SQLite's own tables, so that no other table gets them; returns whether some were unreadable.
fn pass_over_internal(schema: &[Item], source: &mut Damaged) -> Result<bool> {
    let mut passed = SalvagedTable::default();
    for item in schema.iter().filter(|item| item.is_table() && item.is_internal()) {
        source.walk(item.root, true, &mut passed, &mut |_, _, _| Ok(()))?;
    }
    Ok(passed.pages_lost > 0)
}

fn append<'r>(cells: &mut Cells<'r>, value: Raw<'r>) {
    match value {
        Raw::Absent | Raw::Null => cells.null(),
        Raw::Integer(value) => cells.integer(value),
        Raw::Real(value) => cells.real(value),
        // Text that is no UTF-8 does not get here: `row::values` refuses it.
        Raw::Text(bytes) => cells.text(std::str::from_utf8(bytes).unwrap_or_default()),
        Raw::Blob(bytes) => cells.blob(bytes),
    }
}
