//! The canary that forgets what it was told: rusqlite, but whatever `synchronous` is asked for, it is `normal`.
//! It is honest about it when the settings are read back, and the lab must notice.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::left_to_inner;
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

struct Forgetful {
    inner: Rusqlite,
}

impl Driver for Forgetful {
    type Error = Error;

    fn open(open: &Open) -> Result<Forgetful, Error> {
        let mut open = open.clone();
        open.settings.insert("synchronous".into(), Setting::from("normal"));
        Rusqlite::open(&open).map(|inner| Forgetful { inner })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        self.inner.settings()
    }

    fn close(self) -> Result<(), Error> {
        self.inner.close()
    }
}

impl<R: Record> Store<R> for Forgetful
where
    Rusqlite: Store<R>,
{
    const VERBS: &'static [Verb] = <Rusqlite as Store<R>>::VERBS;

    left_to_inner!(R: get, read_all, insert_one, insert_many, mix, first);
}
