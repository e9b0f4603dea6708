//! The SQL of a table: the statements on its rows, and those that create it or add its missing parts.

use super::{COLLECTION, Table};
use crate::engine::batch_insert::BatchInsert;
use crate::types::record::{ColumnShape, Index};
use std::fmt::Write as _;

/// The names of the table and its columns as SQL. They are built once, because every query needs them.
pub(super) struct Names {
    table: String,
    columns: Vec<String>,
    selection: String,
}

impl Names {
    fn of(table: &Table) -> Names {
        let columns = table.shape.columns.iter().enumerate();
        let columns: Vec<String> = columns.map(|(at, column)| table.column(at, column)).collect();
        let selection = columns.join(", ");
        Names { table: format!("main.{}", quote(&table.name)), columns, selection }
    }
}

impl Table {
    fn names(&self) -> &Names {
        self.names.get_or_init(|| Names::of(self))
    }

    /// The quoted name, qualified with the file's schema: a program's temporary table may have the same name.
    pub(crate) fn quoted(&self) -> &str {
        &self.names().table
    }

    /// The expressions that select the type's columns in their order.
    pub(crate) fn selection(&self) -> &str {
        &self.names().selection
    }

    /// The expression of one column: NULL if the file lacks it.
    fn column(&self, at: usize, column: &ColumnShape) -> String {
        match &self.layout {
            Some(layout) if layout.places[at].is_some() => quote(column.name),
            _ => "null".to_owned(),
        }
    }

    /// As [`column`](Table::column), by position.
    pub(crate) fn expression(&self, at: usize) -> &str {
        &self.names().columns[at]
    }

    /// The number of the first parameter of a statement's own: the collection's number may come before it.
    pub(crate) fn first(&self) -> i32 {
        if self.is_shared { 2 } else { 1 }
    }

    /// The condition that a row belongs to the collection, followed by `and`.
    pub(crate) fn within(&self) -> String {
        if self.is_shared { format!("{} = ?1 and ", quote(COLLECTION)) } else { String::new() }
    }

    fn by_key(&self) -> String {
        let mut condition = self.within();
        for (at, column) in (self.first()..).zip(&self.shape.columns[..self.shape.keys]) {
            condition.push_str(if at == self.first() { "" } else { " and " });
            push_name(&mut condition, column.name);
            let _ = write!(condition, " = ?{at}");
        }
        condition
    }

    pub(crate) fn get_sql(&self) -> String {
        ["select ", self.selection(), " from ", self.quoted(), " where ", &self.by_key()].concat()
    }

    pub(crate) fn remove_sql(&self) -> String {
        format!("delete from {} where {}", self.quoted(), self.by_key())
    }

    /// The condition that a row belongs to the collection, as a whole `where` clause.
    fn whole(&self) -> String {
        // Without a condition SQLite drops whole pages, not the rows one by one.
        if self.is_shared { format!(" where {} = ?1", quote(COLLECTION)) } else { String::new() }
    }

    pub(crate) fn clear_sql(&self) -> String {
        format!("delete from {}{}", self.quoted(), self.whole())
    }

    pub(crate) fn count_sql(&self) -> String {
        format!("select count(*) from {}{}", self.quoted(), self.whole())
    }

    /// The greatest key, of a table whose key is the row's number.
    pub(crate) fn greatest_sql(&self) -> String {
        format!("select max({}) from {}", self.expression(0), self.quoted())
    }

    fn target(&self) -> String {
        let mut names: Vec<String> = self.shape.columns.iter().map(|column| quote(column.name)).collect();
        if self.is_shared {
            names.insert(0, quote(COLLECTION));
        }
        format!("{} ({})", self.quoted(), names.join(", "))
    }

    fn width(&self) -> usize {
        self.shape.columns.len() + usize::from(self.is_shared)
    }

    pub(crate) fn insert_sql(&self) -> String {
        let places: Vec<String> = (1..=self.width()).map(|at| format!("?{at}")).collect();
        format!("insert into {} values ({})", self.target(), places.join(", "))
    }

    pub(crate) fn put_sql(&self) -> String {
        format!("{}{}", self.insert_sql(), self.on_conflict())
    }

    /// Its parameters are those of an insert.
    pub(crate) fn replace_sql(&self) -> String {
        let first = usize::try_from(self.first()).unwrap_or(1);
        let places: Vec<String> = self
            .shape
            .columns
            .iter()
            .enumerate()
            // A record that consists of its key is replaced by itself.
            .skip(if self.shape.keys == self.shape.columns.len() { 0 } else { self.shape.keys })
            .map(|(at, column)| format!("{} = ?{}", quote(column.name), first + at))
            .collect();
        format!("update {} set {} where {}", self.quoted(), places.join(", "), self.by_key())
    }

    pub(crate) fn insert_feed_sql(&self) -> String {
        let columns = self.shape.columns.len();
        let mut places: Vec<String> = (0..columns).map(|at| format!("c{at}")).collect();
        if self.is_shared {
            places.insert(0, "?1".to_owned());
        }
        // The condition keeps SQLite's parser from reading the following `on conflict` as part of a join.
        format!(
            "insert into {} select {} from {} where true",
            self.target(),
            places.join(", "),
            BatchInsert::name(columns)
        )
    }

    pub(crate) fn put_feed_sql(&self) -> String {
        format!("{}{}", self.insert_feed_sql(), self.on_conflict())
    }

    /// `on conflict` leaves the columns that the type does not know unchanged; `replace` would not.
    fn on_conflict(&self) -> String {
        let mut keys: Vec<String> =
            self.shape.columns[..self.shape.keys].iter().map(|column| quote(column.name)).collect();
        if self.is_shared {
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

    /// The statements that create the table or its missing parts. None changes an existing part.
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

    /// Built whenever a connection looks a table up, to compare it with the file's. Joining lists took three times as
    /// long.
    pub(super) fn create_sql(&self) -> String {
        let shape = self.shape;
        let mut sql = String::from("CREATE TABLE ");
        push_name(&mut sql, &self.name);
        sql.push_str(" (");
        if self.is_shared {
            push_name(&mut sql, COLLECTION);
            sql.push_str(" INTEGER NOT NULL, ");
        }
        for (at, column) in shape.columns.iter().enumerate() {
            // Only a key is never NULL: a type that drops a field continues to write to the file, without its values.
            let constraint = match at < shape.keys {
                true if self.key_is_number() => " PRIMARY KEY",
                true => " NOT NULL",
                false => "",
            };
            sql.push_str(if at == 0 { "" } else { ", " });
            push_definition(&mut sql, column);
            sql.push_str(constraint);
        }
        if !self.key_is_number() {
            sql.push_str(", PRIMARY KEY (");
            let collection = self.is_shared.then_some(COLLECTION);
            let keys =
                collection.into_iter().chain(shape.columns[..shape.keys].iter().map(|column| column.name));
            for (at, key) in keys.enumerate() {
                sql.push_str(if at == 0 { "" } else { ", " });
                push_name(&mut sql, key);
            }
            sql.push(')');
        }
        sql.push_str(if self.is_made_by_number() { ") STRICT" } else { ") STRICT, WITHOUT ROWID" });
        sql
    }

    /// Whether a table that this type creates has numbered rows.
    pub(super) fn is_made_by_number(&self) -> bool {
        self.key_is_number() || (self.shape.numbered && !self.is_shared)
    }

    fn index_sql(&self, column: &ColumnShape) -> Option<String> {
        let (unique, ending) = match column.index {
            Index::None => return None,
            Index::Plain => ("", ""),
            Index::Unique => ("unique ", ".unique"),
        };
        // Names of tables and columns contain no dot, so no other index or table has this name.
        let name = quote(&format!("{}.{}{ending}", self.name, column.name));
        let collection = if self.is_shared { format!("{}, ", quote(COLLECTION)) } else { String::new() };
        let columns = format!("{collection}{}", quote(column.name));
        let table = quote(&self.name);
        Some(format!("create {unique}index if not exists main.{name} on {table} ({columns})"))
    }
}

fn definition(column: &ColumnShape) -> String {
    let mut sql = String::new();
    push_definition(&mut sql, column);
    sql
}

fn push_definition(sql: &mut String, column: &ColumnShape) {
    push_name(sql, column.name);
    sql.push(' ');
    sql.push_str(column.kind.sql());
}

/// A name, quoted for SQL.
pub(crate) fn quote(name: &str) -> String {
    let mut quoted = String::with_capacity(name.len() + 2);
    push_name(&mut quoted, name);
    quoted
}

fn push_name(sql: &mut String, name: &str) {
    sql.push('"');
    for part in name.split_inclusive('"') {
        sql.push_str(part);
        if part.ends_with('"') {
            sql.push('"');
        }
    }
    sql.push('"');
}
