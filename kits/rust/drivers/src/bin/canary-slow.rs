//! The canary that is slower by a known amount: rusqlite, with so many extra gets in every hundred as its profile
//! asks for. With none it is the twin that the lab must find equivalent. Another profile has them in some launches only.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::left_to_inner;
use drivers::sqlite::{self, Error};
use rusqlite_driver::Rusqlite;
use std::env;
use std::process::ExitCode;
use touchstone_kit::{Driver, Kit, Open, Operation, Record, Setting, Settings, Store, Verb};

fn main() -> ExitCode {
    Kit::<Slow>::new(sqlite::about("canary-slow", env!("CARGO_PKG_VERSION"))).rows().documents().main()
}

const EXTRA: &str = "extra_gets_per_hundred";

/// In which launches: all of them, or those whose environment is padded by an odd number of bytes, as a table lies badly in
/// some processes and well in others.
const LAUNCHES: &str = "launches";

fn is_padded_oddly() -> bool {
    env::var("TOUCHSTONE_PADDING").is_ok_and(|padding| padding.len() % 2 == 1)
}

struct Slow {
    inner: Rusqlite,
    asked: i64,
    launches: Option<&'static str>,
    extra: i64,
    gets: i64,
}

impl Driver for Slow {
    type Error = Error;
    const HOLDS: bool = Rusqlite::HOLDS;

    fn open(open: &Open) -> Result<Slow, Error> {
        let launches = open.word(LAUNCHES, &["all", "odd"])?;
        let asked = open.number(EXTRA)?.unwrap_or(0);
        let extra = if launches == Some("odd") && !is_padded_oddly() { 0 } else { asked };
        Ok(Slow { inner: Rusqlite::open(open)?, asked, launches, extra, gets: 0 })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        let mut settings = self.inner.settings()?;
        settings.insert(EXTRA.into(), Setting::from(self.asked));
        settings.extend(self.launches.map(|launches| (LAUNCHES.into(), Setting::from(launches))));
        Ok(settings)
    }

    left_to_inner!(handle);

    fn close(self) -> Result<(), Error> {
        self.inner.close()
    }
}

impl Slow {
    /// The extra gets are spread evenly, so that a slice of any length has its share.
    fn get_more<R: Record>(&mut self, key: &R::Key) -> Result<(), Error>
    where
        Rusqlite: Store<R>,
    {
        let before = self.gets * self.extra / 100;
        self.gets += 1;
        for _ in before..self.gets * self.extra / 100 {
            Store::<R>::get(&mut self.inner, key)?;
        }
        Ok(())
    }
}

impl<R: Record> Store<R> for Slow
where
    Rusqlite: Store<R>,
{
    const VERBS: &'static [Verb] = <Rusqlite as Store<R>>::VERBS;

    fn get(&mut self, key: &R::Key) -> Result<Option<R>, Error> {
        self.get_more::<R>(key)?;
        self.inner.get(key)
    }

    fn mix(&mut self, operations: &[Operation<'_, R>], found: &mut Vec<R>) -> Result<u64, Error> {
        for operation in operations {
            if let Operation::Get(key) = operation {
                self.get_more::<R>(key)?;
            }
        }
        self.inner.mix(operations, found)
    }

    left_to_inner!(R: read_all, insert_one, insert_many, first);
}
