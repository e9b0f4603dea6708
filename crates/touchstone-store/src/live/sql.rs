//! Statements of SQL that are watched: run anew when a table that they read has changed, and compared with what they
//! gave before. That is what joins, sums and groups cost here.

use super::outbox::{Outbox, Target};
use super::update::What;
use crate::derived::Stored;
use crate::engine::region::{Region, region};
use crate::error::Result;
use crate::session::Session;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{ToSql, params_from_iter};
use std::sync::Arc;

/// What a statement gave at one version.
#[derive(Clone, Debug)]
pub struct SqlRows {
    version: u64,
    columns: Arc<[String]>,
    rows: Arc<[Box<[Stored]>]>,
}

impl SqlRows {
    /// The commit after which it gave that.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows, in the statement's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Stored]> {
        self.rows.iter().map(|row| &**row)
    }

    /// Where the rows are others than before: how many are the same at the beginning, and how many at the end.
    #[must_use]
    pub fn common_with(&self, older: &SqlRows) -> (usize, usize) {
        let shorter = self.len().min(older.len());
        let same = |pair: &(&[Stored], &[Stored])| pair.0 == pair.1;
        let begin = self.iter().zip(older.iter()).take_while(same).count();
        let backwards = self.rows.iter().rev().zip(older.rows.iter().rev());
        let end = backwards.take(shorter - begin).take_while(|(new, old)| new == old).count();
        (begin, end)
    }

    fn is_same(&self, other: &SqlRows) -> bool {
        self.columns == other.columns && self.rows == other.rows
    }
}

/// A watched statement.
pub(crate) struct Statement {
    sql: String,
    parameters: Vec<Stored>,
    region: Region,
    pub(crate) target: Target,
    last: SqlRows,
    /// Whether it is to be run anew.
    is_dirty: bool,
}

impl Statement {
    /// Runs it for the first time.
    ///
    /// # Errors
    /// When it is none that reads, or fails.
    pub(crate) fn begin(
        session: &Session,
        sql: String,
        parameters: Vec<Stored>,
        target: Target,
        version: u64,
    ) -> Result<(Statement, SqlRows)> {
        let region = region(&session.connection, &sql)?;
        let last = run(session, &sql, &parameters, version)?;
        Ok((Statement { sql, parameters, region, target, last: last.clone(), is_dirty: false }, last))
    }

    /// Notes that these tables have changed; without their names, that anything may have.
    pub(crate) fn note(&mut self, tables: Option<&[String]>) {
        let reads = |table: &String| self.region.tables.iter().any(|read| read.eq_ignore_ascii_case(table));
        let concerns = tables.is_none_or(|tables| {
            tables.iter().any(reads) || (!tables.is_empty() && !self.region.is_followable)
        });
        self.is_dirty |= concerns;
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Why it is run after every commit, where it is.
    pub(crate) fn why_always(&self) -> Option<&str> {
        self.region.why_not.as_deref()
    }

    /// The tables whose changes make it run.
    pub(crate) fn tables(&self) -> &[String] {
        &self.region.tables
    }

    /// Runs it anew, and tells what is other than before.
    pub(crate) fn refresh(&mut self, session: &Session, version: u64, out: &mut Outbox) {
        self.is_dirty = false;
        match run(session, &self.sql, &self.parameters, version) {
            Ok(rows) if rows.is_same(&self.last) => {}
            Ok(after) => {
                let before = std::mem::replace(&mut self.last, after.clone());
                out.put(self.target, What::Sql { before, after });
            }
            Err(error) => {
                // It is tried again with the next commit that concerns it.
                out.put(self.target, What::Failed(error));
            }
        }
    }
}

fn run(session: &Session, sql: &str, parameters: &[Stored], version: u64) -> Result<SqlRows> {
    let mut statement = session.connection.sql().prepare(sql)?;
    let columns: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut found = statement.query(params_from_iter(parameters.iter().map(Parameter)))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let values = (0..columns.len()).map(|at| Ok(stored(row.get(at)?)));
        rows.push(values.collect::<rusqlite::Result<Box<[Stored]>>>()?);
    }
    Ok(SqlRows { version, columns: columns.into(), rows: rows.into() })
}

struct Parameter<'p>(&'p Stored);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Stored::Null => ValueRef::Null,
            Stored::Integer(value) => ValueRef::Integer(*value),
            Stored::Real(value) => ValueRef::Real(*value),
            Stored::Text(text) => ValueRef::Text(text.as_bytes()),
            Stored::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn stored(value: Value) -> Stored {
    match value {
        Value::Null => Stored::Null,
        Value::Integer(value) => Stored::Integer(value),
        Value::Real(value) => Stored::Real(value),
        Value::Text(text) => Stored::Text(text),
        Value::Blob(bytes) => Stored::Blob(bytes),
    }
}
