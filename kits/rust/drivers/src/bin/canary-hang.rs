//! The canary that hangs: the first get, or insert of one record, never returns.

use drivers::canary::{self, Canary, Mischief};
use std::process::ExitCode;
use std::thread;
use touchstone_kit::Kit;

fn main() -> ExitCode {
    Kit::<Canary<Hang>>::new(canary::about("canary-hang")).rows().documents().main()
}

#[derive(Default)]
struct Hang;

impl Mischief for Hang {
    fn before(&mut self) {
        loop {
            thread::park();
        }
    }
}
