//! The keys of rows that SQL changes, as SQLite's pre-update hook reports them.

use super::super::changes::{HELD_MAX, Old, OldRow};
use super::super::observed::Topics;
use super::super::row::{KeyBytes, RowKey};
use crate::engine::capture::{HookedRow, Key, Sink, TableReport};
use crate::session::Session;
use crate::session::access::CollectionRef;
use crate::types::error::Result;
use crate::types::record::Shape;
use crate::types::value::{Kind, Raw};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

/// Collects the keys, by the topics' positions in their list.
pub(super) struct Keys {
    tables: Vec<HookedTable>,
    pub(super) keys: HashMap<usize, Vec<RowKey>>,
    /// The rows before SQL changed them, by the topics' positions, if counts are watched.
    pub(super) olds: HashMap<usize, HashMap<KeyBytes, OldRow>>,
    /// The number of keys so far; if there are too many, none is kept.
    count: usize,
    /// The changed tables, watched or not.
    pub(super) changed: Vec<String>,
}

/// A table of some topics.
struct HookedTable {
    name: &'static str,
    /// The positions of its key columns; none if the key is the row's number.
    key: Arc<[c_int]>,
    topics: Vec<usize>,
    /// The topics with watched counts, and the positions of their columns in the table's declaration.
    counted: Vec<(usize, Arc<[Option<c_int>]>)>,
}

impl Keys {
    /// For the watched tables. `counted` says of each topic whether its counts were watched when the transaction began.
    ///
    /// # Errors
    /// If the file does not give the columns of its tables.
    pub(super) fn of(session: &Session, topics: &Topics, counted: &[bool]) -> Result<Keys> {
        let mut tables: Vec<HookedTable> = Vec::new();
        for (at, topic) in
            topics.list.iter().enumerate().filter(|(_, topic)| topic.which == CollectionRef::Own)
        {
            let name = topic.shape.name;
            match tables.iter_mut().find(|table| table.name.eq_ignore_ascii_case(name)) {
                Some(table) => table.topics.push(at),
                None => {
                    let key = key_columns(session, topic.shape)?;
                    tables.push(HookedTable { name, key, topics: vec![at], counted: Vec::new() });
                }
            }
            if counted.get(at).is_some_and(|is_counted| *is_counted) {
                let columns = columns(session, topic.shape)?;
                let table = tables.iter_mut().find(|table| table.name.eq_ignore_ascii_case(name));
                table.into_iter().for_each(|table| table.counted.push((at, Arc::clone(&columns))));
            }
        }
        let (keys, olds, changed) = (HashMap::new(), HashMap::new(), Vec::new());
        Ok(Keys { tables, keys, olds, count: 0, changed })
    }

    /// Whether there are more keys than can be handed over.
    pub(super) fn is_cut(&self) -> bool {
        self.count > HELD_MAX
    }

    fn note(&mut self, table: usize, key: &RowKey) {
        for topic in &self.tables[table].topics {
            self.count += 1;
            self.keys.entry(*topic).or_default().push(key.clone());
        }
        if self.is_cut() {
            (self.keys, self.olds) = (HashMap::new(), HashMap::new());
        }
    }

    /// Notes the old row at the first change of its key.
    fn note_old(&mut self, change: &HookedRow<'_>, before: Option<&RowKey>, after: Option<&RowKey>) {
        for (topic, columns) in &self.tables[change.table].counted {
            let olds = self.olds.entry(*topic).or_default();
            if let Some(key) = before.filter(|key| !olds.contains_key(&key.bytes)) {
                // An unreadable row is noted as unknown: a later change would report the new row as the old one.
                let old = change.old(columns).map_or(Old::Unknown, |values| Old::Known(Some(values)));
                olds.insert(key.bytes.clone(), (key.clone(), old));
            }
            if let Some(key) = after {
                olds.entry(key.bytes.clone()).or_insert_with(|| (key.clone(), Old::Known(None)));
            }
        }
    }
}

impl Sink for Keys {
    fn table(&mut self, name: &str) -> Option<TableReport> {
        self.changed.push(name.to_owned());
        let table = self.tables.iter().position(|table| table.name.eq_ignore_ascii_case(name))?;
        Some(TableReport { table, key: Arc::clone(&self.tables[table].key) })
    }

    fn change(&mut self, change: &HookedRow<'_>) {
        if self.is_cut() {
            return;
        }
        let table = &self.tables[change.table];
        let key_of = |key: Key<'_>| match table.key.is_empty() {
            true => RowKey::of([Raw::Integer(key.number())].into_iter()),
            false => RowKey::of(key.values()),
        };
        let before = change.before().map(key_of);
        let after = change.after().map(key_of).filter(|after| before.as_ref() != Some(after));
        if !self.tables[change.table].counted.is_empty() {
            self.note_old(change, before.as_ref(), after.as_ref());
        }
        before.iter().chain(&after).for_each(|key| self.note(change.table, key));
    }
}

/// The positions of the key's columns in the table's declaration; none if the key is the row's number.
fn key_columns(session: &Session, shape: &Shape) -> Result<Arc<[c_int]>> {
    let keys = &shape.columns[..shape.keys];
    if let [key] = keys
        && key.kind == Kind::Integer
    {
        return Ok(Arc::new([]));
    }
    let sql = "select cid from pragma_table_xinfo(?1, 'main') where name = ?2 collate nocase";
    let mut statement = session.connection.sql().prepare(sql)?;
    let mut columns = Vec::new();
    for key in keys {
        let mut rows = statement.query([shape.name, key.name])?;
        // The table does not exist yet. If the work makes it, the schema's version shows that.
        let Some(row) = rows.next()? else { return Ok(Arc::new([0])) };
        columns.push(row.get(0)?);
    }
    Ok(columns.into())
}

/// The positions of the type's columns in the table's declaration; `None` for those that it lacks.
fn columns(session: &Session, shape: &Shape) -> Result<Arc<[Option<c_int>]>> {
    let sql = "select name, cid from pragma_table_xinfo(?1, 'main')";
    let mut statement = session.connection.sql().prepare(sql)?;
    let rows = statement.query_map([shape.name], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    let places: Vec<(String, c_int)> = rows.collect::<rusqlite::Result<_>>()?;
    let place =
        |name: &str| places.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, at)| *at);
    Ok(shape.columns.iter().map(|column| place(column.name)).collect())
}
