//! The canary that forgets what it was told: rusqlite, but whatever `synchronous` is asked for, it is `normal`.
//! It is honest about it when the settings are read back, and the lab must notice.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::sqlite::{self, Error};
use rusqlite_driver::Rusqlite;
use std::process::ExitCode;
use touchstone_kit::{Driver, Kit, Open, Record, Setting, Settings, Store, Verb};

fn main() -> ExitCode {
    Kit::<Forgetful>::new(sqlite::about("canary-forgetful", env!("CARGO_PKG_VERSION")))
        .rows()
        .documents()
        .main()
}

struct Forgetful(Rusqlite);

impl Driver for Forgetful {
    type Error = Error;

    fn open(open: &Open) -> Result<Forgetful, Error> {
        let mut open = open.clone();
        open.settings.insert("synchronous".into(), Setting::from("normal"));
        Rusqlite::open(&open).map(Forgetful)
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        self.0.settings()
    }

    fn close(self) -> Result<(), Error> {
        self.0.close()
    }
}

impl<R: Record> Store<R> for Forgetful
where
    Rusqlite: Store<R>,
{
    const VERBS: &'static [Verb] = <Rusqlite as Store<R>>::VERBS;

    fn get(&mut self, key: &R::Key) -> Result<Option<R>, Error> {
        self.0.get(key)
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
