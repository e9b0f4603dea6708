//! Where a key must not be: in messages, in what SQLite writes to its log of errors, in the process's memory after use.
//!
//! Keys are held masked here, and searched for masked: whatever is found is the library's. SQLite's log of errors is the
//! process's, and its memory has the keys of every test, so each test is a process of its own: this program again.

mod memory;
mod messages;
mod secret;
#[path = "../shim/mod.rs"]
mod shim;
#[path = "../workload/mod.rs"]
mod workload;

use std::process::Command;
use touchstone_store::{Cipher, Record};

/// Names the test that the process is for.
const ORDERS: &str = "TOUCHSTONE_KEYS_OF";

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: i64,
    text: String,
}

fn notes() -> Vec<Note> {
    (0..100).map(|id| Note { id, text: format!("the {id}th of many notes, which fill some pages") }).collect()
}

const CIPHERS: [Cipher; 2] = [Cipher::Aegis, Cipher::SqlCipher];

/// Runs a test in a process of its own.
fn alone(name: &str, test: impl FnOnce()) {
    if std::env::var(ORDERS).is_ok_and(|ordered| ordered == name) {
        return test();
    }
    let child = Command::new(std::env::current_exe().expect("it has a name"))
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ORDERS, name)
        .output()
        .expect("it can be started");
    let (said, complained) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success(), "{said}{complained}");
    assert!(said.contains("1 passed"), "{said}");
}
