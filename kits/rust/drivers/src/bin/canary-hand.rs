//! The canary that proves what the kit's loop costs: `sqlite-c`, but its gets are one loop on the C interface, written
//! by hand, or the kit's own if `loop` asks for it. The lab must find the two equivalent.
//!
//! Both are in one program, because two programs with the same code differ by more than the loop costs: the linker
//! lays them out differently.

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
    Answers, Document, Driver, Failure, Kit, Open, Plan, Setting, Settings, Store, Ticks, Verb, failure,
};

fn main() -> ExitCode {
    Kit::<Hand>::new(sqlite::about("canary-hand", env!("CARGO_PKG_VERSION"))).documents().main()
}

struct Hand {
    inner: SqliteC,
    by_hand: bool,
}

impl Driver for Hand {
    type Error = Failure;
    const HOLDS: bool = SqliteC::HOLDS;

    fn open(open: &Open) -> Result<Hand, Failure> {
        let by_hand = open.word("loop", &["hand", "kit"])? != Some("kit");
        Ok(Hand { inner: SqliteC::open(open)?, by_hand })
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        let mut settings = self.inner.settings()?;
        settings.insert("loop".into(), Setting::from(if self.by_hand { "hand" } else { "kit" }));
        Ok(settings)
    }

    fn begin_read(&mut self) -> Result<(), Failure> {
        self.inner.begin_read()
    }

    fn end_read(&mut self) -> Result<(), Failure> {
        self.inner.end_read()
    }

    fn explain(&mut self) -> Result<(), Failure> {
        self.inner.explain()
    }

    fn explained(&mut self) -> Result<Plan, Failure> {
        self.inner.explained()
    }

    fn close(self) -> Result<(), Failure> {
        self.inner.close()
    }
}

impl Store<Document> for Hand {
    const VERBS: &'static [Verb] = &[Verb::Get, Verb::ReadAll, Verb::InsertMany];

    #[inline(always)]
    fn get(&mut self, id: &String) -> Result<Option<Document>, Failure> {
        self.inner.get(id)
    }

    fn read_all(&mut self) -> Result<Vec<Document>, Failure> {
        self.inner.read_all()
    }

    fn insert_many(&mut self, records: &[&Document]) -> Result<(), Failure> {
        self.inner.insert_many(records)
    }

    fn get_each<T: Ticks>(&mut self, ids: &[String], answers: &mut Answers<Document>, ticks: &mut T) {
        if !self.by_hand {
            return touchstone_kit::get_each(self, ids, answers, ticks);
        }
        let prepared = self.inner.get.prepare(&self.inner.db);
        let statement = self.inner.get.handle;
        for id in ids {
            // SAFETY: the statement is prepared, or null, with which every call below is harmless; the id stays
            // where it is until the reset, and the columns are copied before it.
            unsafe {
                let length = id.len() as c_int;
                ffi::sqlite3_bind_text(statement, 1, id.as_ptr().cast(), length, ffi::SQLITE_STATIC());
                let code = ffi::sqlite3_step(statement);
                if code == ffi::SQLITE_ROW {
                    let document = Document {
                        id: text(statement, 0).to_owned(),
                        revision: ffi::sqlite3_column_int64(statement, 1),
                        hash: bytes(ffi::sqlite3_column_blob(statement, 2).cast(), statement, 2).to_vec(),
                        data: text(statement, 3).to_owned(),
                    };
                    ffi::sqlite3_reset(statement);
                    answers.found::<Failure>(Ok(Some(document)));
                } else {
                    ffi::sqlite3_reset(statement);
                    if code != ffi::SQLITE_DONE {
                        let failed = failure(sqlite::failure_kind(code), "the step failed");
                        answers.found(prepared.clone().and(Err(failed)));
                    }
                }
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
