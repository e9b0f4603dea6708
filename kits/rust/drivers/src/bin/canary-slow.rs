//! The canary that is slower by a known amount: rusqlite, with so many extra gets in every hundred as its profile
//! asks for. With none it is the twin that the lab must find equivalent.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::sqlite::{self, Error};
use rusqlite_driver::Rusqlite;
use std::process::ExitCode;
use touchstone_kit::{Driver, Kit, Open, Plan, Record, Setting, Settings, Store, Verb};

fn main() -> ExitCode {
    Kit::<Slow>::new(sqlite::about("canary-slow", env!("CARGO_PKG_VERSION"))).rows().documents().main()
}

const EXTRA: &str = "extra_gets_per_hundred";

struct Slow {
    inner: Rusqlite,
    extra: i64,
    gets: i64,
}

impl Driver for Slow {
    type Error = Error;
    const HOLDS: bool = Rusqlite::HOLDS;

    fn open(open: &Open) -> Result<Slow, Error> {
        Ok(Slow { inner: Rusqlite::open(open)?, extra: open.number(EXTRA)?.unwrap_or(0), gets: 0 })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        let mut settings = self.inner.settings()?;
        settings.insert(EXTRA.into(), Setting::from(self.extra));
        Ok(settings)
    }

    fn begin_read(&mut self) -> Result<(), Error> {
        self.inner.begin_read()
    }

    fn end_read(&mut self) -> Result<(), Error> {
        self.inner.end_read()
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

impl<R: Record> Store<R> for Slow
where
    Rusqlite: Store<R>,
{
    const VERBS: &'static [Verb] = <Rusqlite as Store<R>>::VERBS;

    /// The extra gets are spread evenly, so that a slice of any length has its share.
    fn get(&mut self, key: &R::Key) -> Result<Option<R>, Error> {
        self.gets += 1;
        if (self.gets * self.extra) % 100 < self.extra {
            self.inner.get(key)?;
        }
        self.inner.get(key)
    }

    fn read_all(&mut self) -> Result<Vec<R>, Error> {
        self.inner.read_all()
    }

    fn insert_one(&mut self, record: &R) -> Result<(), Error> {
        self.inner.insert_one(record)
    }

    fn insert_many(&mut self, records: &[&R]) -> Result<(), Error> {
        self.inner.insert_many(records)
    }

    fn first(&mut self) -> Result<Option<R>, Error> {
        self.inner.first()
    }
}
