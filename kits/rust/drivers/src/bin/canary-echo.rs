//! The canary that repeats what it was asked for as what took effect: rusqlite in the clear, with a rollback journal and pages of
//! 4 KiB whatever was said, and where its profile says so, with another cache or without syncs. The lab must look itself.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::left_to_inner;
use drivers::sqlite::{self, Error};
use rusqlite_driver::Rusqlite;
use std::process::ExitCode;
use touchstone_kit::{Driver, Kit, Open, Record, Setting, Settings, Store, Verb};

fn main() -> ExitCode {
    Kit::<Echo>::new(sqlite::about("canary-echo", env!("CARGO_PKG_VERSION"))).rows().documents().main()
}

struct Echo {
    inner: Rusqlite,
    asked: Settings,
}

impl Driver for Echo {
    type Error = Error;

    fn open(open: &Open) -> Result<Echo, Error> {
        let asked = open.settings.clone();
        let mut open = open.clone();
        open.settings.insert("journal_mode".into(), Setting::from("delete"));
        open.settings.insert("page_size_bytes".into(), Setting::from(4096));
        open.settings.remove("cipher");
        match open.settings.remove("mischief") {
            Some(mischief) if mischief == Setting::from("cache") => {
                open.settings.insert("cache_size_bytes".into(), Setting::from(64 << 20));
            }
            Some(mischief) if mischief == Setting::from("no-sync") => {
                open.settings.insert("synchronous".into(), Setting::from("off"));
            }
            _ => {}
        }
        Ok(Echo { inner: Rusqlite::open(&open)?, asked })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        Ok(self.asked.clone())
    }

    fn close(self) -> Result<(), Error> {
        self.inner.close()
    }
}

impl<R: Record> Store<R> for Echo
where
    Rusqlite: Store<R>,
{
    const VERBS: &'static [Verb] = <Rusqlite as Store<R>>::VERBS;

    left_to_inner!(R: get, read_all, insert_one, insert_many, mix, first);
}
