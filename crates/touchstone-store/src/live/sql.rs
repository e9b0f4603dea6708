//! Watched statements of SQL. A statement runs again when a table that it reads has changed, and its rows are compared
//! with the last ones. That is the cost of joins, sums and groups.

use super::outbox::{Outbox, Target};
use super::sql_rows::SqlRows;
use super::update::What;
use crate::engine::region::{Region, region};
use crate::session::Session;
use crate::session::leased::Leased;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::value::Value;
use rusqlite::types::{ToSqlOutput, Value as Bound, ValueRef};
use rusqlite::{ToSql, params_from_iter};

/// A watched statement.
pub(crate) struct WatchedStatement {
    sql: String,
    parameters: Vec<Value>,
    region: Region,
    /// The schema version for which the region was found: in another one, the names may be those of other tables.
    schema: i64,
    pub(crate) target: Target,
    last: SqlRows,
    /// Whether the statement must run again.
    is_dirty: bool,
    /// Why the statement cannot run, if its subscriber has that error.
    failed: Option<ErrorKind>,
}

impl WatchedStatement {
    /// Runs the statement for the first time.
    ///
    /// # Errors
    /// If the statement fails, or does more than read.
    pub(crate) fn begin(
        leased: &Leased,
        sql: String,
        parameters: Vec<Value>,
        target: Target,
        version: u64,
    ) -> Result<(WatchedStatement, SqlRows)> {
        let (region, schema, last) = leased.in_transaction(|session| {
            let region = region(&session.connection, &sql)?;
            Ok((region, session.schema(), run(session, &sql, &parameters, version)?))
        })?;
        let (is_dirty, failed) = (false, None);
        Ok((
            WatchedStatement {
                sql,
                parameters,
                region,
                schema,
                target,
                last: last.clone(),
                is_dirty,
                failed,
            },
            last,
        ))
    }

    /// Notes that these tables have changed; `None` means that any table may have.
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

    /// Why the statement runs after every commit, if it does.
    pub(crate) fn why_always(&self) -> Option<&str> {
        self.region.why_not.as_deref()
    }

    /// The tables whose changes make the statement run again.
    pub(crate) fn tables(&self) -> &[String] {
        &self.region.tables
    }

    fn run_anew(&mut self, session: &Session, version: u64) -> Result<SqlRows> {
        if self.schema != session.schema() {
            (self.region, self.schema) = (region(&session.connection, &self.sql)?, session.schema());
        }
        run(session, &self.sql, &self.parameters, version)
    }

    /// Runs the statement again. Puts an update into the outbox if the rows differ, or if the statement failed before.
    pub(crate) fn refresh(&mut self, leased: &Leased, version: u64, out: &mut Outbox) {
        self.is_dirty = false;
        match leased.in_transaction(|session| self.run_anew(session, version)) {
            Ok(rows) if rows.is_same(&self.last) && self.failed.is_none() => {}
            Ok(after) => {
                self.failed = None;
                let before = std::mem::replace(&mut self.last, after.clone());
                out.put(self.target, What::Sql { before, after });
            }
            Err(error) => self.fail(&error, out),
        }
    }

    /// Reports that the statement cannot run: once, until it can again. It is tried again in each round.
    pub(crate) fn fail(&mut self, error: &Error, out: &mut Outbox) {
        self.is_dirty = true;
        if self.failed.replace(error.kind()).is_none() {
            out.put(self.target, What::failed(error));
        }
    }

    /// Whether the snapshot expired before the statement had run to its end.
    pub(crate) fn has_expired(&self) -> bool {
        self.failed == Some(ErrorKind::Expired)
    }
}

fn run(session: &Session, sql: &str, parameters: &[Value], version: u64) -> Result<SqlRows> {
    session.forbid_writing()?;
    let _lent = session.connection.lend();
    let mut statement = session.connection.sql().prepare(sql)?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found = statement.query(params_from_iter(parameters.iter().map(Parameter)))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let values = (0..columns.len()).map(|at| Ok(stored(row.get(at)?)));
        rows.push(values.collect::<rusqlite::Result<Box<[Value]>>>()?);
    }
    Ok(SqlRows::new(version, columns, rows))
}

struct Parameter<'p>(&'p Value);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(value) => ValueRef::Integer(*value),
            Value::Real(value) => ValueRef::Real(*value),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn stored(value: Bound) -> Value {
    match value {
        Bound::Null => Value::Null,
        Bound::Integer(value) => Value::Integer(value),
        Bound::Real(value) => Value::Real(value),
        Bound::Text(text) => Value::Text(text),
        Bound::Blob(bytes) => Value::Blob(bytes),
    }
}
