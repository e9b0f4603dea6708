//! The keys of rows that SQL changes, as SQLite's hook tells them.

use super::super::observed::Topics;
use super::super::row::RowKey;
use crate::access::Which;
use crate::engine::capture::{Asked, Change, Sink};
use crate::error::Result;
use crate::record::Shape;
use crate::session::Session;
use crate::value::{Kind, Raw};
use std::collections::HashMap;
use std::ffi::c_int;
use std::rc::Rc;

/// Takes the keys, by the topics' places.
pub(super) struct Keys {
    tables: Vec<Watched>,
    pub(super) keys: HashMap<usize, Vec<RowKey>>,
    /// The tables that were changed, watched or not.
    pub(super) changed: Vec<String>,
}

/// A table that topics are about.
struct Watched {
    name: &'static str,
    key: Rc<[c_int]>,
    topics: Vec<usize>,
}

impl Keys {
    /// Of what is watched.
    ///
    /// # Errors
    /// When the file does not say what its tables' columns are.
    pub(super) fn of(session: &Session, topics: &Topics) -> Result<Keys> {
        let mut tables: Vec<Watched> = Vec::new();
        for (at, topic) in topics.list.iter().enumerate().filter(|(_, topic)| topic.which == Which::Own) {
            let name = topic.shape.name;
            match tables.iter_mut().find(|table| table.name.eq_ignore_ascii_case(name)) {
                Some(table) => table.topics.push(at),
                None => {
                    tables.push(Watched { name, key: key_columns(session, topic.shape)?, topics: vec![at] })
                }
            }
        }
        Ok(Keys { tables, keys: HashMap::new(), changed: Vec::new() })
    }
}

impl Sink for Keys {
    fn table(&mut self, name: &str) -> Option<Asked> {
        self.changed.push(name.to_owned());
        let table = self.tables.iter().position(|table| table.name.eq_ignore_ascii_case(name))?;
        Some(Asked { table, key: Rc::clone(&self.tables[table].key) })
    }

    fn change(&mut self, change: &Change<'_>) {
        let table = &self.tables[change.table];
        for key in [change.before(), change.after()].into_iter().flatten() {
            let key = if table.key.is_empty() {
                RowKey::of([Raw::Integer(key.number())].into_iter())
            } else {
                RowKey::of(key.values())
            };
            for topic in &table.topics {
                self.keys.entry(*topic).or_default().push(key.clone());
            }
        }
    }
}

/// The places of the key's columns in the table's declaration; none where the key is the number of the row.
fn key_columns(session: &Session, shape: &Shape) -> Result<Rc<[c_int]>> {
    let keys = &shape.columns[..shape.keys];
    if let [key] = keys
        && key.kind == Kind::Integer
    {
        return Ok(Rc::new([]));
    }
    let sql = "select cid from pragma_table_info(?1) where name = ?2 collate nocase";
    let mut statement = session.connection.sql().prepare(sql)?;
    let mut columns = Vec::new();
    for key in keys {
        let mut rows = statement.query([shape.name, key.name])?;
        // A table that is not there yet is made in the meantime, if at all: the schema's version tells.
        let Some(row) = rows.next()? else { return Ok(Rc::new([0])) };
        columns.push(row.get(0)?);
    }
    Ok(columns.into())
}
