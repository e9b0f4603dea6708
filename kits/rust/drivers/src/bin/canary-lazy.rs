//! The canary that puts off opening: the first query after it is answered with nothing, as if no record were there.

use drivers::canary::{self, Canary, Mischief};
use std::process::ExitCode;
use touchstone_kit::{Kit, Record};

fn main() -> ExitCode {
    Kit::<Canary<Lazy>>::new(canary::about("canary-lazy")).rows().documents().main()
}

#[derive(Default)]
struct Lazy;

impl Mischief for Lazy {
    fn first<R: Record>(&mut self, _answer: Option<R>) -> Option<R> {
        None
    }
}
