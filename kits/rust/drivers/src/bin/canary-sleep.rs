//! The canary that sleeps: a millisecond before each right answer, as a published benchmark's mixed load did
//! instead of touching a page.

use drivers::canary::{self, Canary, Mischief};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use touchstone_kit::Kit;

fn main() -> ExitCode {
    Kit::<Canary<Sleep>>::new(canary::about("canary-sleep")).rows().documents().main()
}

#[derive(Default)]
struct Sleep;

impl Mischief for Sleep {
    fn before(&mut self) {
        thread::sleep(Duration::from_millis(1));
    }
}
