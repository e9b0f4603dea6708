//! An encrypted store: what it refuses, what it leaves on the disk, and how its key is changed.

mod change;
mod key;
mod traces;

use std::path::Path;
use touchstone_store::{Cipher, EncryptionKey, Options, Record};

/// A record whose text is easily found in a file that holds it in the clear.
#[derive(Record, Clone, Debug, PartialEq)]
struct Secret {
    #[record(key)]
    id: i64,
    #[record(index)]
    title: String,
    body: Vec<u8>,
}

/// What is looked for in every file.
const MARK: &str = "xyzzy plugh";

fn secrets(count: i64) -> Vec<Secret> {
    let secret = |id| Secret {
        id,
        title: format!("{MARK} {}", (id * 7919) % 10_007),
        body: format!("body of {MARK} {id}").into_bytes(),
    };
    (1..=count).map(secret).collect()
}

fn raw(byte: u8) -> Options {
    Options::new().key(EncryptionKey::raw([byte; 32]))
}

fn kinds() -> [(&'static str, Options); 2] {
    [("aegis", raw(7)), ("sqlcipher", raw(7).cipher(Cipher::SqlCipher))]
}

/// The files of a folder, however deep, that have the mark in the clear.
fn marked(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(marked(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            if bytes.windows(MARK.len()).any(|window| window == MARK.as_bytes()) {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}
