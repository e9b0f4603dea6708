//! The canary that gets by scanning: rusqlite, but a get reads the whole table until it meets the key, as one does of a
//! table without an index. Its answers are right, and the lab must say what its plan says.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::left_to_inner;
use drivers::sqlite::{self, Error};
use rusqlite_driver::Rusqlite;
use std::process::ExitCode;
use touchstone_kit::{Driver, Kit, Open, Plan, Record, Settings, Store, Verb};

fn main() -> ExitCode {
    Kit::<Scan>::new(sqlite::about("canary-scan", env!("CARGO_PKG_VERSION"))).rows().documents().main()
}

struct Scan {
    inner: Rusqlite,
}

impl Driver for Scan {
    type Error = Error;

    fn open(open: &Open) -> Result<Scan, Error> {
        Rusqlite::open(open).map(|inner| Scan { inner })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        self.inner.settings()
    }

    fn explain(&mut self) -> Result<(), Error> {
        self.inner.explain()
    }

    fn explained(&mut self) -> Result<Plan, Error> {
        self.inner.explained()
    }

    fn close(self) -> Result<(), Error> {
        self.inner.close()
    }
}

impl<R: Record> Store<R> for Scan
where
    Rusqlite: Store<R>,
{
    const VERBS: &'static [Verb] = <Rusqlite as Store<R>>::VERBS;

    fn get(&mut self, key: &R::Key) -> Result<Option<R>, Error> {
        let all: Vec<R> = self.inner.read_all()?;
        Ok(all.into_iter().find(|record| record.key() == key))
    }

    left_to_inner!(R: read_all, insert_one, insert_many, mix, first);
}
