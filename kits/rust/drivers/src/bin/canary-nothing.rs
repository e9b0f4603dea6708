//! The canary that does nothing: no database, and every get answered with an empty record.
//!
//! What it measures is the kit itself, the least that an operation can cost in this lab.

use drivers::canary;
use std::hint::black_box;
use std::process::ExitCode;
use touchstone_kit::{Driver, Failure, Kit, Open, Record, Settings, Store, Verb};

fn main() -> ExitCode {
    Kit::<Nothing>::new(canary::about("canary-nothing")).rows().documents().main()
}

struct Nothing;

impl Driver for Nothing {
    type Error = Failure;

    fn open(_open: &Open) -> Result<Nothing, Failure> {
        Ok(Nothing)
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        Ok(Settings::new())
    }

    fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<R: Record + Default> Store<R> for Nothing {
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

    fn get(&mut self, key: &R::Key) -> Result<Option<R>, Failure> {
        black_box(key);
        Ok(Some(R::default()))
    }

    fn read_all(&mut self) -> Result<Vec<R>, Failure> {
        Ok(Vec::new())
    }

    fn insert_one(&mut self, record: &R) -> Result<(), Failure> {
        black_box(record);
        Ok(())
    }

    fn insert_many(&mut self, records: &[&R]) -> Result<(), Failure> {
        black_box(records);
        Ok(())
    }

    fn first(&mut self) -> Result<Option<R>, Failure> {
        Ok(None)
    }
}
