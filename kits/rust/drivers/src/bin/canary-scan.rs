//! The canary that gets by scanning: rusqlite, but a get reads the whole table until it meets the key, as one does of a
//! table without an index. Its answers are right, and the lab must say what its plan says.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::sqlite::{self, Error};
use rusqlite_driver::Rusqlite;
use std::process::ExitCode;
use touchstone_kit::{Driver, Kit, Open, Plan, Record, Settings, Store, Verb};

fn main() -> ExitCode {
    Kit::<Scan>::new(sqlite::about("canary-scan", env!("CARGO_PKG_VERSION"))).rows().documents().main()
}

struct Scan(Rusqlite);

impl Driver for Scan {
    type Error = Error;

    fn open(open: &Open) -> Result<Scan, Error> {
        Rusqlite::open(open).map(Scan)
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        self.0.settings()
    }

    fn explain(&mut self) -> Result<(), Error> {
        self.0.explain()
    }

    fn explained(&mut self) -> Result<Plan, Error> {
        self.0.explained()
    }

    fn close(self) -> Result<(), Error> {
        self.0.close()
    }
}

impl<R: Record> Store<R> for Scan
where
    Rusqlite: Store<R>,
{
    const VERBS: &'static [Verb] = <Rusqlite as Store<R>>::VERBS;

    fn get(&mut self, key: &R::Key) -> Result<Option<R>, Error> {
        let all: Vec<R> = self.0.read_all()?;
        Ok(all.into_iter().find(|record| record.key() == key))
    }

    fn read_all(&mut self) -> Result<Vec<R>, Error> {
        self.0.read_all()
    }

    fn insert_one(&mut self, record: &R) -> Result<(), Error> {
        self.0.insert_one(record)
    }

    fn insert_many(&mut self, records: &[&R]) -> Result<(), Error> {
        self.0.insert_many(records)
    }

    fn first(&mut self) -> Result<Option<R>, Error> {
        self.0.first()
    }
}
