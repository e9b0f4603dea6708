//! Files of the first version of the format, written once and kept: every later version of this library must read them.
//! With `TOUCHSTONE_WRITE_FIXTURES` set they are written anew, which is for a new version of the format only.
//! Those of `sqlcipher4` were written by SQLCipher itself, in the kit that links it.

use std::fs;
use std::path::{Path, PathBuf};
use touchstone_store::{Cipher, EncryptionKey, ErrorKind, Nested, Options, Record, Result, Store};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

#[derive(Nested, Clone, Debug, PartialEq)]
struct Place {
    #[tag(0)]
    name: String,
    #[tag(1)]
    floor: Option<i32>,
}

/// One column of every kind.
#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: i64,
    #[record(index)]
    title: String,
    weight: f64,
    done: bool,
    due: Option<i64>,
    body: Vec<u8>,
    place: Place,
}

/// Rows in the order of a key of two columns.
#[derive(Record, Clone, Debug, PartialEq)]
struct Reading {
    #[record(key)]
    sensor: String,
    #[record(key)]
    at: u64,
    value: Option<f64>,
}

fn notes() -> Vec<Note> {
    let note = |id: i64| Note {
        id,
        title: format!("note {id}"),
        weight: id as f64 / 4.0,
        done: id % 2 == 0,
        due: (id % 3 == 0).then_some(id * 1_000_000_007),
        // The last one goes on in pages of its own.
        body: vec![id.to_le_bytes()[0]; if id == 20 { 5000 } else { 30 }],
        place: Place { name: format!("place {id}"), floor: (id % 5 == 0).then_some(-1) },
    };
    (1..=20).map(note).collect()
}

fn readings() -> Vec<Reading> {
    let reading = |at: u64| Reading {
        sensor: if at.is_multiple_of(2) { "even" } else { "odd" }.into(),
        at,
        value: (!at.is_multiple_of(7)).then_some(at as f64 * 0.5),
    };
    let mut readings: Vec<Reading> = (0..40).map(reading).collect();
    readings.sort_by_key(|reading| (reading.sensor.clone(), reading.at));
    readings
}

fn kinds() -> [(&'static str, Options); 5] {
    let raw = Options::new().key(EncryptionKey::raw([7; 32]));
    let words = Options::new().key(EncryptionKey::passphrase("correct horse battery staple"));
    [
        ("plain", Options::new()),
        ("aegis_raw", raw.clone()),
        ("aegis_passphrase", words.clone()),
        ("sqlcipher_raw", raw.cipher(Cipher::SqlCipher)),
        ("sqlcipher_passphrase", words.cipher(Cipher::SqlCipher)),
    ]
}

fn write(path: &Path, options: Options) -> Result<()> {
    let _ = fs::remove_file(path);
    let store = options.open(path)?;
    store.insert_all(&notes())?;
    store.insert_all(&readings())?;
    store.write(|transaction| {
        transaction.collection::<Note>("inbox")?.insert_all(&notes()[..2])?;
        transaction.collection::<Note>("archive")?.insert_all(&notes()[1..3]).map(drop)
    })
}

/// A copy to open: the files themselves must not get a log beside them.
fn copied(folder: &Path, name: &str) -> PathBuf {
    let copy = folder.join("copy.db");
    fs::copy(Path::new(FOLDER).join(name), &copy).unwrap();
    copy
}

#[test]
fn files_of_the_first_version_are_read_and_written() {
    for (name, options) in kinds() {
        let fixture = format!("v1/{name}.db");
        if std::env::var_os("TOUCHSTONE_WRITE_FIXTURES").is_some() {
            write(&Path::new(FOLDER).join(&fixture), options.clone()).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let store = options.open(copied(folder.path(), &fixture)).unwrap();
        assert_eq!(store.all::<Note>().unwrap(), notes(), "{name}");
        assert_eq!(store.all::<Reading>().unwrap(), readings(), "{name}");
        let inbox = store.read(|snapshot| snapshot.collection::<Note>("inbox")?.all()).unwrap();
        assert_eq!(inbox, notes()[..2], "{name}");
        let titled =
            store.read(|snapshot| snapshot.query::<Note>().filter(|note| note.title.eq("note 7")).all());
        assert_eq!(titled.unwrap(), notes()[6..7], "{name}");
        store.put(&Note { done: true, ..notes()[0].clone() }).unwrap();
        assert!(store.get::<Note>(&1).unwrap().unwrap().done, "{name}");
    }
}

#[test]
fn a_file_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied(folder.path(), "v1/plain.db");
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 2).unwrap();
    let before = fs::read(&path).unwrap();
    for options in [Options::new(), Options::new().read_only(true)] {
        let error = options.open(&path).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Newer);
        assert!(error.to_string().contains("newer version of touchstone-store"), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), before, "a refusal changes nothing");
}

/// What the files of `sqlcipher4` hold.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "note")]
struct Line {
    #[record(key)]
    id: i64,
    title: String,
}

#[test]
fn files_that_sqlcipher_wrote_are_stores() {
    let lines: Vec<Line> = (1..=20).map(|id| Line { id, title: format!("note {id}") }).collect();
    for (name, options) in &kinds()[3..] {
        let folder = tempfile::tempdir().unwrap();
        let name = name.trim_start_matches("sqlcipher_");
        let path = copied(folder.path(), &format!("sqlcipher4/{name}.db"));
        let store = options.clone().open(&path).unwrap();
        assert_eq!(store.all::<Line>().unwrap(), lines, "{name}");
        store.insert(&Line { id: 21, title: "another".into() }).unwrap();
        drop(store);
        assert_eq!(options.clone().open(&path).unwrap().all::<Line>().unwrap().len(), 21);
        let other = Options::new().key(EncryptionKey::raw([8; 32])).cipher(Cipher::SqlCipher);
        assert_eq!(other.open(&path).err().unwrap().kind(), ErrorKind::WrongKey);
        let other: Result<Store> = kinds()[1].1.clone().open(&path);
        assert_eq!(other.err().unwrap().kind(), ErrorKind::WrongKey);
    }
}
