//! What the store answers, beside what plain SQL on the same engine, and on the same snapshot, says.

use crate::whole::Num;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use std::fmt::Debug;
use touchstone_store::{Columns, Condition, ErrorKind, Raw, Record, Result, Snapshot};

/// More rows than any whole file has: SQLite would go on for ever in some that are damaged.
const ROWS_MAX: usize = 20_000;

/// What SQL says.
enum Said<T> {
    Rows(Vec<T>),
    NoTable,
    /// More rows than there can be.
    TooMany,
    Failed(String),
}

/// A row of a statement, as a record reads it.
struct Stepped<'r> {
    row: &'r Row<'r>,
    at: usize,
}

impl<'r> Columns<'r> for Stepped<'r> {
    fn next(&mut self) -> Raw<'r> {
        let value = self.row.get_ref(self.at).expect("the statement selects every column");
        self.at += 1;
        match value {
            ValueRef::Null => Raw::Null,
            ValueRef::Integer(value) => Raw::Integer(value),
            ValueRef::Real(value) => Raw::Real(value),
            ValueRef::Text(text) => Raw::Text(text),
            ValueRef::Blob(bytes) => Raw::Blob(bytes),
        }
    }
}

/// The type's table. A column that it has not, by damage of the schema, is NULL, as in a table of an older type.
fn table<T: Record>(snapshot: &Snapshot) -> String {
    let name = T::SHAPE.name;
    let found = snapshot.sql(|connection| {
        let mut statement = connection.prepare("select name from pragma_table_xinfo(?1, 'main')")?;
        statement.query_map([name], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()
    });
    // A schema that cannot be read fails the statement too.
    let found = found.unwrap_or_default();
    let is_there = |column: &str| found.iter().any(|found| found.eq_ignore_ascii_case(column));
    let missing = T::SHAPE.columns.iter().map(|column| column.name).filter(|name| !is_there(name));
    let nulls: String = missing.map(|name| format!(", null as \"{name}\"")).collect();
    if nulls.is_empty() {
        format!("{name} not indexed")
    } else {
        format!("(select *{nulls} from {name} not indexed)")
    }
}

fn said<T: Record>(snapshot: &Snapshot, ending: &str) -> Said<T> {
    let columns: Vec<String> = T::SHAPE.columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
    let sql = format!("select {} from {} {ending}", columns.join(", "), table::<T>(snapshot));
    let stepped = snapshot.sql(|connection| {
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query(())?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(T::read(&mut Stepped { row, at: 0 }));
            if found.len() == ROWS_MAX {
                return Ok(None);
            }
        }
        Ok(Some(found))
    });
    match stepped {
        Ok(Some(found)) => match found.into_iter().collect() {
            Ok(rows) => Said::Rows(rows),
            Err((column, why)) => Said::Failed(format!("column {column}: {why}")),
        },
        Ok(None) => Said::TooMany,
        Err(error) if error.to_string().contains("no such table") => Said::NoTable,
        Err(error) => Said::Failed(error.to_string()),
    }
}

/// Fails where the store gives an answer that SQL does not.
fn agree<T: Record + PartialEq + Debug>(how: &str, answer: &Result<Vec<T>>, said: &Said<T>) {
    let table = T::SHAPE.name;
    match (answer, said) {
        (Ok(rows), Said::Rows(by_sql)) => {
            assert!(rows == by_sql, "{how} of `{table}`: other rows than by SQL")
        }
        (Ok(rows), Said::NoTable) => assert!(rows.is_empty(), "{how} of `{table}`: rows of no table"),
        (Ok(rows), Said::Failed(why)) => {
            panic!("{how} of `{table}`: {} rows, and SQL says {why}", rows.len())
        }
        // SQLite does not count the pages that it walks, and may go around in circles.
        (Ok(_), Said::TooMany) => {}
        (Err(error), _) => is_typed(error.kind(), how),
    }
}

/// That a kind is one that damage may lead to.
pub fn is_typed(kind: ErrorKind, doing: &str) {
    let may_be = matches!(
        kind,
        ErrorKind::Damaged
            | ErrorKind::Mismatch
            | ErrorKind::Foreign
            | ErrorKind::Encrypted
            | ErrorKind::WrongKey
            | ErrorKind::NotEncrypted
            | ErrorKind::Newer
            | ErrorKind::Io
            // A header may say that only a later SQLite may write.
            | ErrorKind::ReadOnly
            | ErrorKind::Full
            | ErrorKind::TooBig
            | ErrorKind::Refused
    );
    assert!(may_be, "{doing}: {kind:?}");
}

/// Every way to read all of a type's records.
pub fn compare<T: Record + PartialEq + Debug>(snapshot: &Snapshot) {
    let said = said::<T>(snapshot, "");
    let all = snapshot.of::<T>().all();
    agree("all", &all, &said);
    agree("rows", &snapshot.query::<T>().rows().and_then(Iterator::collect), &said);
    let mut count = 0;
    let views = snapshot.of::<T>().each_view(|_| {
        count += 1;
        Ok(true)
    });
    match (views, all) {
        (Ok(()), Ok(all)) => assert_eq!(count, all.len(), "views of `{}`", T::SHAPE.name),
        // A view need not read what a record copies: nested values are looked at later.
        (Ok(()), Err(error)) => assert_eq!(error.kind(), ErrorKind::Mismatch, "views of `{}`", T::SHAPE.name),
        (Err(error), _) => is_typed(error.kind(), "views"),
    }
}

/// Conditions that are evaluated on each row of a page, and the same in SQL.
pub fn compare_filters(snapshot: &Snapshot) {
    let filters: [(&str, Condition<Num>); 4] = [
        ("where real > 3.0", Num::COLUMNS.real.gt(3.0)),
        ("where more = 'mmm'", Num::COLUMNS.more.eq("mmm")),
        ("where more is null or real in (1.0, 2.0, 5.0)", {
            Num::COLUMNS.more.is_null().or(Num::COLUMNS.real.is_in([1.0, 2.0, 5.0]))
        }),
        ("where instr(text, 'nnnn') > 0", Num::COLUMNS.text.contains("nnnn")),
    ];
    for (sql, condition) in filters {
        let found = snapshot.query::<Num>().filter(|_| condition).all();
        agree(sql, &found, &said::<Num>(snapshot, sql));
    }
}
