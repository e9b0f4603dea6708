//! What the linked SQLite says about itself.

use rusqlite::ffi;
use std::ffi::{CStr, c_char};
use touchstone_kit::About;

/// A subject on the SQLite (or SQLCipher) that is linked into this very program.
pub fn about(subject: &str, version: &str) -> About {
    // SAFETY: both functions return static strings and may be called at any time.
    let (engine, engine_source) = unsafe { (text(ffi::sqlite3_libversion()), text(ffi::sqlite3_sourceid())) };
    About {
        subject: subject.into(),
        version: version.into(),
        engine: match cipher_version() {
            Some(cipher) => format!("SQLCipher {cipher} on SQLite {engine}"),
            None => format!("SQLite {engine}"),
        },
        engine_source,
        compile_options: compile_options(),
    }
}

/// SQLCipher answers this pragma; SQLite knows no such pragma and answers nothing.
fn cipher_version() -> Option<String> {
    let connection = rusqlite::Connection::open_in_memory().ok()?;
    connection.query_row("pragma cipher_version", (), |row| row.get(0)).ok()
}

fn compile_options() -> Vec<String> {
    let mut options = Vec::new();
    for index in 0.. {
        // SAFETY: any index may be asked for; beyond the last option the answer is null.
        let option = unsafe { ffi::sqlite3_compileoption_get(index) };
        if option.is_null() {
            break;
        }
        // SAFETY: the option is not null, so it is a static string.
        options.push(unsafe { text(option) });
    }
    options
}

/// # Safety
/// `string` must be a valid C string.
unsafe fn text(string: *const c_char) -> String {
    // SAFETY: the caller promises a valid C string.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}
