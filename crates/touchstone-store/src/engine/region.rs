//! The tables that a statement reads. If only their rows can change its result, the result can be followed; if not, the
//! reason is given. SQLite itself resolves the names, with views, joins, subqueries and common table expressions. The
//! answer is valid as long as the schema is the same.
//!
//! The `now` of a date function is not recognized if it is a value of a parameter or of a row.

use super::authorizer::{Act, Authorizer};
use super::connection::Connection;
use super::statement::failure;
use crate::types::error::{Error, ErrorKind, Result};
use libsqlite3_sys as ffi;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

#[cfg(test)]
mod tests;

unsafe extern "C" {
    fn touchstone_prepare_asking(
        connection: *mut ffi::sqlite3,
        sql: *const c_char,
        length: c_int,
        authorizer: Authorizer,
        argument: *mut c_void,
        statement: *mut *mut ffi::sqlite3_stmt,
        rest: *mut *const c_char,
    ) -> c_int;
}

/// The tables that a statement reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// The tables of the file, in lower case and in order.
    pub(crate) tables: Vec<String>,
    /// Whether the result changes only if rows of these tables do.
    pub(crate) is_followable: bool,
    /// The other causes that can change it.
    pub(crate) why_not: Option<String>,
}

/// The permissions that SQLite asked for.
#[derive(Default)]
struct Permissions {
    /// Tables and views, with their database if SQLite gave it.
    names: BTreeSet<(Option<String>, String)>,
    functions: BTreeSet<String>,
    /// Whether the statement does more than read.
    is_order: bool,
}

/// The region of the statement.
///
/// # Errors
/// If it cannot be prepared, or is no single statement that only reads.
pub(crate) fn region(connection: &Connection, sql: &str) -> Result<Region> {
    // SQLite looks names up in the connection's schema in memory, which may be an older one.
    connection.verify_schema()?;
    let asked = ask(connection, sql)?;
    let mut tables = BTreeSet::new();
    let mut reasons = Vec::new();
    let mut texts = vec![sql.to_owned()];
    for (database, name) in &asked.names {
        match find(connection, database.as_deref(), name)? {
            ObjectKind::Table => drop(tables.insert(name.to_ascii_lowercase())),
            ObjectKind::View(text) => texts.push(text),
            ObjectKind::Nothing => {}
            ObjectKind::Other(what) => reasons.push(format!("`{name}` is {what}")),
        }
    }
    for function in &asked.functions {
        if !is_steady(connection, function, &texts)? {
            reasons.push(format!("`{function}` may answer otherwise each time"));
        }
    }
    let why_not = (!reasons.is_empty()).then(|| reasons.join("; "));
    Ok(Region { tables: tables.into_iter().collect(), is_followable: why_not.is_none(), why_not })
}

/// Prepares the statement, notes the permissions that SQLite asks for, and drops the statement.
fn ask(connection: &Connection, sql: &str) -> Result<Permissions> {
    let asked = RefCell::<Permissions>::default();
    let (mut statement, mut rest) = (ptr::null_mut(), ptr::null());
    let length = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
    let argument = (&raw const asked).cast_mut().cast();
    let start = sql.as_ptr().cast();
    // SAFETY: the connection is open, the text is read within its length, and the authorizer's argument outlives the
    // call.
    let (code, is_question, rest) = unsafe {
        let handle = connection.handle();
        let code = touchstone_prepare_asking(
            handle,
            start,
            length,
            note,
            argument,
            &raw mut statement,
            &raw mut rest,
        );
        let is_question = !statement.is_null()
            && ffi::sqlite3_stmt_readonly(statement) != 0
            && ffi::sqlite3_stmt_isexplain(statement) == 0
            && ffi::sqlite3_column_count(statement) > 0;
        ffi::sqlite3_finalize(statement);
        let read =
            if rest.is_null() { sql.len() } else { usize::try_from(rest.offset_from(start)).unwrap_or(0) };
        (code, is_question, sql.get(read..).unwrap_or_default())
    };
    if code != ffi::SQLITE_OK {
        // SAFETY: the connection is open. Finalizing no statement leaves its message as it was.
        return Err(
            unsafe { failure(connection.handle(), code) }.context(format_args!("preparing `{sql:.200}`"))
        );
    }
    let asked = asked.into_inner();
    if !is_question || asked.is_order {
        let why = "a live query is one statement that only reads (change data with `Store::write`)";
        return Err(Error::new(ErrorKind::Invalid, format!("{why}: `{sql:.200}`")));
    }
    if !is_blank(connection, rest) {
        let why = "a live query is one statement (watch each by itself)";
        return Err(Error::new(ErrorKind::Invalid, format!("{why}: `{rest:.200}` comes behind it")));
    }
    Ok(asked)
}

/// Whether the text has only space and comments.
fn is_blank(connection: &Connection, rest: &str) -> bool {
    if rest.trim().is_empty() {
        return true;
    }
    let mut statement = ptr::null_mut();
    let length = c_int::try_from(rest.len()).unwrap_or(c_int::MAX);
    // SAFETY: the connection is open, and the text is read within its length.
    unsafe {
        let start = rest.as_ptr().cast();
        let handle = connection.handle();
        let code = ffi::sqlite3_prepare_v3(handle, start, length, 0, &raw mut statement, ptr::null_mut());
        ffi::sqlite3_finalize(statement);
        code == ffi::SQLITE_OK && statement.is_null()
    }
}

unsafe extern "C" fn note(
    asked: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    database: *const c_char,
    _within: *const c_char,
) -> c_int {
    // SAFETY: it is the argument that the statement is prepared with, which outlives the call; nobody else uses it.
    let mut asked = unsafe { &*asked.cast::<RefCell<Permissions>>().cast_const() }.borrow_mut();
    // SAFETY: SQLite passes these values, for this call.
    let act = unsafe { Act::new(action, first, second, database) };
    match act.action {
        ffi::SQLITE_READ => {
            if let Some(name) = act.first {
                asked.names.insert((act.database.map(Cow::into_owned), name.into_owned()));
            }
        }
        ffi::SQLITE_FUNCTION => asked.functions.extend(act.second.map(|name| name.to_ascii_lowercase())),
        ffi::SQLITE_SELECT | ffi::SQLITE_RECURSIVE => {}
        _ => asked.is_order = true,
    }
    ffi::SQLITE_OK
}

/// The kinds of things that a name stands for.
enum ObjectKind {
    Table,
    /// With the statement that made it.
    View(String),
    /// A subquery or a common table expression: SQLite asks for its tables by themselves.
    Nothing,
    Other(&'static str),
}

fn find(connection: &Connection, database: Option<&str>, name: &str) -> Result<ObjectKind> {
    const KINDS: &str = "select schema, type from pragma_table_list(?1) \
        where ?2 is null or schema = ?2 collate nocase order by schema = 'temp' desc, schema = 'main' desc";
    const MODULE: &str = "select 1 from pragma_module_list where name = ?1 collate nocase";
    /// Table-valued functions that compute their rows from their arguments alone.
    const PURE: [&str; 4] = ["json_each", "json_tree", "jsonb_each", "jsonb_tree"];
    let sql = connection.sql();
    if PURE.iter().any(|pure| pure.eq_ignore_ascii_case(name))
        && !sql.prepare(KINDS)?.exists((name, database))?
    {
        return Ok(ObjectKind::Nothing);
    }
    let mut statement = sql.prepare(KINDS)?;
    let mut rows = statement.query((name, database))?;
    let is_own = name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"));
    let Some(row) = rows.next()? else {
        let is_module = sql.prepare(MODULE)?.exists([name])? || database.is_some();
        return Ok(match (is_module, is_own) {
            (true, _) => ObjectKind::Other("a table-valued function"),
            // The schema's table has several names, of which the list has one.
            (false, true) => ObjectKind::Other("SQLite's own"),
            (false, false) => ObjectKind::Nothing,
        });
    };
    let (schema, kind): (String, String) = (row.get(0)?, row.get(1)?);
    Ok(match (&*kind, &*schema) {
        ("view", _) => {
            let text = format!("select sql from \"{schema}\".sqlite_schema where name = ?1 collate nocase");
            ObjectKind::View(sql.query_row(&text, [name], |row| row.get(0))?)
        }
        ("virtual", _) => ObjectKind::Other("a virtual table"),
        (_, "main") if is_own => ObjectKind::Other("SQLite's own"),
        (_, "main") => ObjectKind::Table,
        (_, "temp") => ObjectKind::Other("a temporary table"),
        _ => ObjectKind::Other("a table of another file"),
    })
}

/// Whether a function is deterministic: the same arguments give the same result.
fn is_steady(connection: &Connection, function: &str, texts: &[String]) -> Result<bool> {
    // The flag misses aggregates, which all are deterministic. It covers date functions, which depend on `now`.
    const SQL: &str = "select min(flags & 0x800 or (builtin and type in ('a', 'w'))) from pragma_function_list where name = ?1";
    if let Some((_, needed)) = DATES.iter().find(|(date, _)| *date == function) {
        return Ok(texts.iter().all(|text| !names_now(&text.to_ascii_lowercase(), function, *needed)));
    }
    let is_steady: Option<bool> = connection.sql().query_row(SQL, [function], |row| row.get(0))?;
    Ok(is_steady.unwrap_or(false) || matches!(function, "sqlite_version" | "sqlite_source_id"))
}

/// Functions that may read the current time unless they have this many arguments. `strftime` takes a format first.
const DATES: [(&str, usize); 7] = [
    ("date", 1),
    ("time", 1),
    ("datetime", 1),
    ("julianday", 1),
    ("unixepoch", 1),
    ("strftime", 2),
    ("timediff", 2),
];

/// Whether a call of the function, in a text in lower case, may read the current time. In doubt it may.
fn names_now(text: &str, function: &str, needed: usize) -> bool {
    let is_word = |at: usize| {
        let beside = [text[..at].chars().next_back(), text[at + "now".len()..].chars().next()];
        !beside.into_iter().flatten().any(|c| c.is_alphanumeric() || c == '_')
    };
    // `subsec` alone means the current time too.
    if text.contains("subsec") || text.match_indices("now").any(|(at, _)| is_word(at)) {
        return true;
    }
    let mut calls = text.match_indices(function).filter_map(|(at, _)| {
        let rest =
            text[at + function.len()..].trim_start_matches(|c: char| c.is_whitespace() || "\"`]".contains(c));
        rest.strip_prefix('(')
    });
    calls.any(|values| count_values(values) < needed) || text.contains("/*") || text.contains("--")
}

/// The number of arguments in a call of which `text` is the rest.
fn count_values(text: &str) -> usize {
    let (mut depth, mut commas, mut is_empty, mut quote) = (0, 0, true, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (Some(_), _) => {}
            (None, ')') if depth == 0 => break,
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '[') => quote = Some(']'),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, ',') if depth == 0 => commas += 1,
            _ => {}
        }
        is_empty &= c.is_whitespace();
    }
    if is_empty { 0 } else { commas + 1 }
}
