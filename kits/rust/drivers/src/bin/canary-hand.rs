//! The canary that proves what the kit's loop costs: `sqlite-c` again, but its gets are one loop on the C interface,
//! written by hand. The lab must find the two equivalent.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "sqlite-c.rs"]
mod sqlite_c;

use drivers::sqlite;
use libsqlite3_sys as ffi;
use sqlite_c::SqliteC;
use std::ffi::c_int;
use std::process::ExitCode;
use std::slice;
use touchstone_kit::{
    Answers, Document, Driver, Failure, Kit, Open, Plan, Settings, Store, Ticks, Verb, failure,
};

fn main() -> ExitCode {
    Kit::<Hand>::new(sqlite::about("canary-hand", env!("CARGO_PKG_VERSION"))).documents().main()
}

struct Hand(SqliteC);

impl Driver for Hand {
    type Error = Failure;
    const HOLDS: bool = SqliteC::HOLDS;

    fn open(open: &Open) -> Result<Hand, Failure> {
        SqliteC::open(open).map(Hand)
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        self.0.settings()
    }

    fn begin_read(&mut self) -> Result<(), Failure> {
        self.0.begin_read()
    }

    fn end_read(&mut self) -> Result<(), Failure> {
        self.0.end_read()
    }

    fn explain(&mut self) -> Result<(), Failure> {
        self.0.explain()
    }

    fn explained(&mut self) -> Result<Plan, Failure> {
        self.0.explained()
    }

    fn close(self) -> Result<(), Failure> {
        self.0.close()
    }
}

impl Store<Document> for Hand {
    const VERBS: &'static [Verb] = &[Verb::Get, Verb::ReadAll, Verb::InsertMany];

    fn read_all(&mut self) -> Result<Vec<Document>, Failure> {
        self.0.read_all()
    }

    fn insert_many(&mut self, records: &[&Document]) -> Result<(), Failure> {
        self.0.insert_many(records)
    }

    fn get_each<T: Ticks>(&mut self, ids: &[String], answers: &mut Answers<Document>, ticks: &mut T) {
        let prepared = self.0.get.prepare(&self.0.db);
        let statement = self.0.get.handle;
        for id in ids {
            // SAFETY: the statement is prepared, or null, with which every call below is harmless; the id stays
            // where it is until the reset, and the columns are copied before it.
            unsafe {
                let length = id.len() as c_int;
                ffi::sqlite3_bind_text(statement, 1, id.as_ptr().cast(), length, ffi::SQLITE_STATIC());
                match ffi::sqlite3_step(statement) {
                    ffi::SQLITE_ROW => answers.found::<Failure>(Ok(Some(Document {
                        id: text(statement, 0).to_owned(),
                        revision: ffi::sqlite3_column_int64(statement, 1),
                        hash: bytes(ffi::sqlite3_column_blob(statement, 2).cast(), statement, 2).to_vec(),
                        data: text(statement, 3).to_owned(),
                    }))),
                    ffi::SQLITE_DONE => {}
                    code => {
                        let failed = failure(sqlite::failure_kind(code), "the step failed");
                        answers.found(prepared.clone().and(Err(failed)));
                    }
                }
                ffi::sqlite3_reset(statement);
            }
            ticks.tick();
        }
    }
}

/// # Safety
/// The statement must stand on a row, and the text be copied before it moves on.
#[inline(always)]
unsafe fn text<'s>(statement: *mut ffi::sqlite3_stmt, column: c_int) -> &'s str {
    // SAFETY: the caller promises a row.
    let bytes = unsafe { bytes(ffi::sqlite3_column_text(statement, column), statement, column) };
    std::str::from_utf8(bytes).expect("the lab stored UTF-8")
}

/// # Safety
/// `start` must be the column's bytes, to be copied before the statement moves on.
#[inline(always)]
unsafe fn bytes<'s>(start: *const u8, statement: *mut ffi::sqlite3_stmt, column: c_int) -> &'s [u8] {
    // SAFETY: the caller promises the column's bytes, of which there are so many. An empty blob is null.
    unsafe {
        let length = ffi::sqlite3_column_bytes(statement, column) as usize;
        if start.is_null() { &[] } else { slice::from_raw_parts(start, length) }
    }
}
