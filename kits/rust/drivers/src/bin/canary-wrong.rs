//! The canary that answers wrongly now and then: every 97th get has one byte of its record changed.

use drivers::canary::{self, Canary, Mischief};
use std::process::ExitCode;
use touchstone_kit::{Kit, Record};

fn main() -> ExitCode {
    Kit::<Canary<Wrong>>::new(canary::about("canary-wrong")).rows().documents().main()
}

#[derive(Default)]
struct Wrong {
    gets: u64,
}

impl Mischief for Wrong {
    fn answered<R: Record>(&mut self, answer: R) -> R {
        self.gets += 1;
        if !self.gets.is_multiple_of(97) {
            return answer;
        }
        let mut bytes = Vec::new();
        answer.encode(&mut bytes);
        // The last byte is of the value or of the text, where ASCII stays ASCII.
        *bytes.last_mut().expect("an encoded record is not empty") ^= 1;
        // A record without contents has none to change: that byte is of their length.
        R::decode(&mut bytes.as_slice()).unwrap_or(answer)
    }
}
