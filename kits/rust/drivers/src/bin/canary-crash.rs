//! The canary that crashes: the first get, or insert of one record, aborts the process.

use drivers::canary::{self, Canary, Mischief};
use std::process::{self, ExitCode};
use touchstone_kit::Kit;

fn main() -> ExitCode {
    Kit::<Canary<Crash>>::new(canary::about("canary-crash")).rows().documents().main()
}

#[derive(Default)]
struct Crash;

impl Mischief for Crash {
    fn before(&mut self) {
        eprintln!("this canary crashes");
        process::abort();
    }
}
