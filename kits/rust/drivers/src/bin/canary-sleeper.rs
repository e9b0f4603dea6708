//! The canary whose mixed load is a published page's: each read sleeps for 1 to 5 whole milliseconds and each write for 2 to 8,
//! all alike, and nothing is done beside. How many operations a transaction has makes no difference to it, and threads sleep side
//! by side on any number of cores.

use drivers::canary::{self, Canary, Mischief};
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use touchstone_kit::Kit;

const READ_MS: RangeInclusive<u64> = 1..=5;
const WRITE_MS: RangeInclusive<u64> = 2..=8;

fn main() -> ExitCode {
    Kit::<Canary<Sleeper>>::new(canary::about("canary-sleeper")).rows().documents().main()
}

/// The state of a generator of random numbers.
struct Sleeper(u64);

impl Default for Sleeper {
    fn default() -> Sleeper {
        Sleeper(0x9e37_79b9_7f4a_7c15)
    }
}

impl Sleeper {
    /// Sleeps for any of these milliseconds, by Marsaglia's xorshift.
    fn sleep(&mut self, milliseconds: RangeInclusive<u64>) {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let choices = milliseconds.end() - milliseconds.start() + 1;
        thread::sleep(Duration::from_millis(milliseconds.start() + self.0 % choices));
    }
}

impl Mischief for Sleeper {
    fn before(&mut self) {
        self.sleep(READ_MS);
    }

    fn before_update(&mut self) {
        self.sleep(WRITE_MS);
    }
}
