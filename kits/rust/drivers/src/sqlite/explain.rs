//! Watches a connection at work, off the clock: the plans of the statements that really ran, whoever wrote them,
//! and SQLite's own counters.

use rusqlite::ffi;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use touchstone_kit::Plan;

/// Counters of a connection; each is read and set to zero.
const CONNECTION: [(&str, c_int); 4] = [
    ("cache_hits", ffi::SQLITE_DBSTATUS_CACHE_HIT),
    ("cache_misses", ffi::SQLITE_DBSTATUS_CACHE_MISS),
    ("cache_writes", ffi::SQLITE_DBSTATUS_CACHE_WRITE),
    ("cache_spills", ffi::SQLITE_DBSTATUS_CACHE_SPILL),
];

/// Counters of a statement; each is read and set to zero.
const STATEMENT: [(&str, c_int); 5] = [
    ("vm_steps", ffi::SQLITE_STMTSTATUS_VM_STEP),
    ("sorts", ffi::SQLITE_STMTSTATUS_SORT),
    ("full_scan_steps", ffi::SQLITE_STMTSTATUS_FULLSCAN_STEP),
    ("autoindexes", ffi::SQLITE_STMTSTATUS_AUTOINDEX),
    ("reprepares", ffi::SQLITE_STMTSTATUS_REPREPARE),
];

/// Counts how often a statement ran since it was prepared; never set to zero here.
const RUNS: c_int = ffi::SQLITE_STMTSTATUS_RUN;

/// Distinct statements whose plans are told; a library that builds SQL with values in it has no end of them.
const STATEMENTS_MAX: usize = 32;

/// A connection under watch.
pub struct Watch {
    db: *mut ffi::sqlite3,
    /// Where the hooks write; behind a pointer, because they know its address.
    seen: Box<Seen>,
}

// SAFETY: a watch is used by one thread at a time, as its connection is.
unsafe impl Send for Watch {}

#[derive(Default)]
struct Seen {
    statements: Vec<CString>,
    counters: BTreeMap<&'static str, i64>,
    /// As the connection is set; 0 if its commits make no checkpoints.
    autocheckpoint: c_int,
    checkpoints: i64,
}

impl Watch {
    /// Starts to watch.
    ///
    /// # Safety
    /// `db` must be open, with no statement under way, and stay open until the watch is dropped.
    pub unsafe fn start(db: *mut ffi::sqlite3) -> Watch {
        let mut seen = Box::new(Seen::default());
        let context: *mut c_void = ptr::from_mut(&mut *seen).cast();
        // SAFETY: the caller promises an open connection; `seen` lives until the hooks are taken off again.
        unsafe {
            seen.autocheckpoint = number(db, c"pragma wal_autocheckpoint");
            let mut statement = ffi::sqlite3_next_stmt(db, ptr::null_mut());
            while !statement.is_null() {
                for (_, counter) in STATEMENT {
                    ffi::sqlite3_stmt_status(statement, counter, 1);
                }
                statement = ffi::sqlite3_next_stmt(db, statement);
            }
            for (_, counter) in CONNECTION {
                connection_counter(db, counter);
            }
            ffi::sqlite3_trace_v2(db, ffi::SQLITE_TRACE_PROFILE as c_uint, Some(statement_ended), context);
            if seen.autocheckpoint > 0 {
                ffi::sqlite3_wal_hook(db, Some(committed), context);
            }
        }
        Watch { db, seen }
    }

    /// Stops to watch and tells what was seen.
    pub fn finish(mut self) -> Plan {
        self.take_off();
        let (db, seen) = (self.db, &mut *self.seen);
        let mut plan = Plan::default();
        // Nothing that ran is a count too, and not the lack of one.
        plan.counters.insert("statements".into(), 0);
        // SAFETY: `start` was promised a connection that is still open.
        unsafe {
            for (name, counter) in CONNECTION {
                plan.counters.insert(name.into(), connection_counter(db, counter));
            }
            for statement in &seen.statements {
                plan.plan.extend(query_plan(db, statement));
            }
            if text(db, c"pragma journal_mode") == "wal" {
                // In WAL mode each page that a connection writes is one frame of the log.
                plan.counters.insert("wal_frames".into(), plan.counters["cache_writes"]);
                if seen.autocheckpoint > 0 {
                    plan.counters.insert("checkpoints".into(), seen.checkpoints);
                }
            }
        }
        plan.counters.extend(seen.counters.iter().map(|(name, count)| ((*name).to_owned(), *count)));
        plan
    }

    fn take_off(&mut self) {
        // SAFETY: `start` was promised a connection that is still open.
        unsafe {
            ffi::sqlite3_trace_v2(self.db, 0, None, ptr::null_mut());
            if self.seen.autocheckpoint > 0 {
                ffi::sqlite3_wal_autocheckpoint(self.db, self.seen.autocheckpoint);
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.take_off();
    }
}

/// Whether a statement asks for records: what gives no rows and writes nothing begins or ends a transaction, and of what does so to
/// write SQLite says that it writes.
///
/// # Safety
/// It is a live statement with its text.
unsafe fn asks(statement: *mut ffi::sqlite3_stmt) -> bool {
    // SAFETY: the caller promises so.
    unsafe {
        let sql = CStr::from_ptr(ffi::sqlite3_sql(statement)).to_bytes();
        let begins = sql.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"begin"));
        ffi::sqlite3_column_count(statement) > 0 || (ffi::sqlite3_stmt_readonly(statement) == 0 && !begins)
    }
}

/// Called by SQLite when a statement has ended, which also catches those that are never kept.
unsafe extern "C" fn statement_ended(
    _event: c_uint,
    context: *mut c_void,
    statement: *mut c_void,
    _elapsed: *mut c_void,
) -> c_int {
    let statement: *mut ffi::sqlite3_stmt = statement.cast();
    // SAFETY: the context is the watch's `Seen`, which only this connection's thread uses until the hook is off.
    let seen = unsafe { &mut *context.cast::<Seen>() };
    for (name, counter) in STATEMENT {
        // SAFETY: SQLite hands over a live statement.
        let count = unsafe { ffi::sqlite3_stmt_status(statement, counter, 1) };
        *seen.counters.entry(name).or_insert(0) += i64::from(count);
    }
    // SAFETY: SQLite hands over a live statement.
    let asks = unsafe { asks(statement) };
    // SAFETY: SQLite hands over a live statement.
    let first_run = asks && unsafe { ffi::sqlite3_stmt_status(statement, RUNS, 0) } == 1;
    *seen.counters.entry("statements").or_insert(0) += i64::from(asks);
    *seen.counters.entry("first_runs").or_insert(0) += i64::from(first_run);
    if seen.statements.len() < STATEMENTS_MAX {
        // SAFETY: a statement that SQLite traces has its text.
        let sql = unsafe { CStr::from_ptr(ffi::sqlite3_sql(statement)) };
        if !seen.statements.iter().any(|statement| **statement == *sql) {
            seen.statements.push(sql.to_owned());
        }
    }
    0
}

/// Does what SQLite's own hook does after a commit in WAL mode, and counts.
unsafe extern "C" fn committed(
    context: *mut c_void,
    db: *mut ffi::sqlite3,
    name: *const c_char,
    frames: c_int,
) -> c_int {
    // SAFETY: as in `statement_ended`; SQLite hands over its own connection and schema name.
    unsafe {
        let seen = &mut *context.cast::<Seen>();
        if frames >= seen.autocheckpoint {
            seen.checkpoints += 1;
            ffi::sqlite3_wal_checkpoint(db, name);
        }
    }
    ffi::SQLITE_OK
}

/// # Safety
/// `db` must be open.
unsafe fn connection_counter(db: *mut ffi::sqlite3, counter: c_int) -> i64 {
    let (mut count, mut highest) = (0, 0);
    // SAFETY: the caller promises an open connection.
    unsafe { ffi::sqlite3_db_status(db, counter, &mut count, &mut highest, 1) };
    i64::from(count)
}

/// # Safety
/// `db` must be open.
unsafe fn query_plan(db: *mut ffi::sqlite3, sql: &CStr) -> Vec<String> {
    let explain = [b"explain query plan ", sql.to_bytes()].concat();
    let Ok(explain) = CString::new(explain) else { return Vec::new() };
    // SAFETY: the caller promises an open connection.
    unsafe { column(db, &explain, 3) }
}

/// # Safety
/// `db` must be open.
unsafe fn text(db: *mut ffi::sqlite3, sql: &CStr) -> String {
    // SAFETY: the caller promises an open connection.
    unsafe { column(db, sql, 0) }.pop().unwrap_or_default()
}

/// # Safety
/// `db` must be open.
unsafe fn number(db: *mut ffi::sqlite3, sql: &CStr) -> c_int {
    // SAFETY: the caller promises an open connection.
    unsafe { text(db, sql) }.parse().unwrap_or(0)
}

/// One column of each row as text; nothing where the statement cannot be prepared, such as the plan of a `begin`.
///
/// # Safety
/// `db` must be open.
unsafe fn column(db: *mut ffi::sqlite3, sql: &CStr, column: c_int) -> Vec<String> {
    let mut rows = Vec::new();
    let mut statement = ptr::null_mut();
    // SAFETY: the caller promises an open connection; the statement is used only while it lives.
    unsafe {
        ffi::sqlite3_prepare_v2(db, sql.as_ptr(), -1, &mut statement, ptr::null_mut());
        while !statement.is_null() && ffi::sqlite3_step(statement) == ffi::SQLITE_ROW {
            let text = ffi::sqlite3_column_text(statement, column);
            if !text.is_null() {
                rows.push(CStr::from_ptr(text.cast()).to_string_lossy().into_owned());
            }
        }
        ffi::sqlite3_finalize(statement);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    fn watched(connection: &Connection, work: impl FnOnce()) -> Plan {
        // SAFETY: the connection is open, idle, and outlives the watch.
        let watch = unsafe { Watch::start(connection.handle()) };
        work();
        watch.finish()
    }

    fn insert_ten(connection: &Connection) {
        for _ in 0..10 {
            connection.execute("insert into numbers (number) values (random())", ()).unwrap();
        }
    }

    #[test]
    fn frames_and_checkpoints_are_counted_and_the_connection_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join("database")).unwrap();
        connection
            .execute_batch("pragma journal_mode = wal; create table numbers (number integer);")
            .unwrap();
        let plan = watched(&connection, || insert_ten(&connection));
        assert_eq!((plan.counters["wal_frames"], plan.counters["checkpoints"]), (10, 0));
        assert_eq!(plan.counters["statements"], 10);
        connection.execute_batch("pragma wal_autocheckpoint = 5;").unwrap();
        let plan = watched(&connection, || insert_ten(&connection));
        assert!(plan.counters["checkpoints"] > 0, "{plan:?}");
        let pages: i64 = connection.query_row("pragma wal_autocheckpoint", (), |row| row.get(0)).unwrap();
        assert_eq!(pages, 5);
    }

    #[test]
    fn a_statement_that_is_kept_has_one_first_run() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("create table numbers (number integer);").unwrap();
        let prepared_each_time = watched(&connection, || insert_ten(&connection));
        assert_eq!(prepared_each_time.counters["first_runs"], 10);
        let kept = watched(&connection, || {
            let mut insert = connection.prepare("insert into numbers (number) values (1)").unwrap();
            (0..10).for_each(|_| assert_eq!(insert.execute(()).unwrap(), 1));
        });
        assert_eq!((kept.counters["statements"], kept.counters["first_runs"]), (10, 1));
    }

    #[test]
    fn the_plan_is_of_the_statements_that_ran() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("create table numbers (number integer);").unwrap();
        let plan = watched(&connection, || {
            let mut statement = connection.prepare("select number from numbers order by number").unwrap();
            assert!(statement.query(()).unwrap().next().unwrap().is_none());
        });
        assert_eq!(plan.plan, ["SCAN numbers", "USE TEMP B-TREE FOR ORDER BY"]);
        assert_eq!(plan.counters["sorts"], 1);
        assert!(!plan.counters.contains_key("wal_frames"));
    }
}
