//! Notes under a key: a wrong key, no key, a new passphrase, and a backup that is as secret as the notes are.
//!
//! `cargo run -p touchstone-store --example notes_encrypted`

use std::error::Error;
use std::fs;
use std::path::Path;
use touchstone_store::{EncryptionKey, ErrorKind, Options, Record, Store};

const SECRET: &str = "the cake is in the cellar";

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: i64,
    text: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let (path, copy) = (directory.path().join("notes.db"), directory.path().join("notes.backup"));

    // A program takes such a key from where its system keeps secrets.
    let first = Options::new().key(EncryptionKey::raw([7; 32]));
    let store = first.clone().open(&path)?;
    store.insert(&Note { id: 1, text: SECRET.to_owned() })?;
    assert_is_secret(directory.path())?;
    println!("The note is written, and no file holds its words.");

    store.backup(&copy)?;
    assert_eq!(first.clone().open(&copy)?.all::<Note>()?.len(), 1);
    println!("The backup has the same key.");
    drop(store);

    assert_eq!(refusal(Options::new().key(EncryptionKey::raw([8; 32])), &path), ErrorKind::WrongKey);
    assert_eq!(refusal(Options::new(), &path), ErrorKind::Encrypted);
    println!("With another key, or none, it does not open.");

    let words = Options::new().key(EncryptionKey::passphrase("correct horse battery staple"));
    Store::change_key(&path, first.clone(), words.clone())?;
    assert_eq!(refusal(first, &path), ErrorKind::WrongKey);
    let store = words.open(&path)?;
    assert_eq!(store.get::<Note>(&1)?.map(|note| note.text), Some(SECRET.to_owned()));
    assert!(store.check().records::<Note>().run()?.is_whole());
    println!("Now it opens with the passphrase, and all of it is there.");
    assert_is_secret(directory.path())?;
    Ok(())
}

/// Why a file does not open.
fn refusal(options: Options, path: &Path) -> ErrorKind {
    let error = options.open(path).expect_err("it must not open");
    println!("  {error}");
    error.kind()
}

/// Looks for the words in every file: the store, its log and its backup.
fn assert_is_secret(directory: &Path) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(directory)? {
        let bytes = fs::read(entry?.path())?;
        assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    }
    Ok(())
}
