//! SQLCipher under rusqlite: the driver is that of `rusqlite`, word for word, so that only the cipher differs.
//!
//! Its SQLite is older than that of the plain subjects. Compare `wal-normal-cipher` with this subject's own
//! `wal-normal`, which encrypts nothing.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "../../../drivers/src/bin/rusqlite.rs"]
mod rusqlite_driver;

use drivers::sqlite;
use rusqlite_driver::Rusqlite;
use std::process::ExitCode;
use touchstone_kit::{About, Kit};

fn main() -> ExitCode {
    let about = sqlite::about("sqlcipher", "");
    // The engine is `SQLCipher 4.14.0 community on SQLite 3.51.3`.
    let version = about.engine.split(' ').nth(1).unwrap_or_default().to_owned();
    Kit::<Rusqlite>::new(About { version, ..about }).rows().documents().docs().main()
}
