//! The whole files that damage is done to: of two sizes of pages, with and without a log, encrypted, and of deep trees.

use std::fs;
use std::path::Path;
use std::time::Duration;
use touchstone_store::{Cipher, Durability, EncryptionKey, Nested, Options, Record, Store};

#[derive(Nested, Clone, Debug, PartialEq)]
pub struct Point {
    #[tag(1)]
    pub x: i32,
    #[tag(2)]
    pub name: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
pub struct Num {
    #[record(key)]
    pub id: i64,
    #[record(index)]
    pub group: i64,
    pub text: String,
    pub real: f64,
    pub more: Option<String>,
}

/// The same table, without its last columns.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "num")]
pub struct NumShort {
    #[record(key)]
    pub id: i64,
    pub group: i64,
}

/// The same table, of the last column and one between.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "num")]
pub struct NumEnd {
    #[record(key)]
    pub id: i64,
    pub more: Option<String>,
    pub real: f64,
}

#[derive(Record, Clone, Debug, PartialEq)]
pub struct Word {
    #[record(key)]
    pub word: String,
    pub length: i64,
    pub body: Vec<u8>,
    pub points: Vec<Point>,
}

/// The same table, without what is large.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "word")]
pub struct WordShort {
    #[record(key)]
    pub word: String,
    pub length: i64,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(numbered)]
pub struct Page {
    #[record(key)]
    pub name: String,
    #[record(unique)]
    pub size: i64,
    pub body: Vec<u8>,
}

/// What a file is like.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub name: &'static str,
    pub page_bytes: usize,
    pub rows: i64,
    pub cipher: Option<Cipher>,
    pub has_log: bool,
}

const PLAIN: Variant = Variant { name: "plain", page_bytes: 4096, rows: 160, cipher: None, has_log: false };

pub const VARIANTS: [Variant; 8] = [
    Variant { name: "small_pages", page_bytes: 512, ..PLAIN },
    PLAIN,
    Variant { name: "small_pages_in_a_log", page_bytes: 512, has_log: true, ..PLAIN },
    Variant { name: "a_log", has_log: true, ..PLAIN },
    Variant { name: "aegis", cipher: Some(Cipher::Aegis), ..PLAIN },
    Variant { name: "sqlcipher", cipher: Some(Cipher::SqlCipher), ..PLAIN },
    Variant { name: "aegis_in_a_log", cipher: Some(Cipher::Aegis), has_log: true, ..PLAIN },
    Variant { name: "deep_trees", page_bytes: 512, rows: 700, ..PLAIN },
];

impl Variant {
    /// How such a file is opened.
    pub fn options(self) -> Options {
        let options = Options::new().busy_timeout(Duration::from_millis(200)).durability(Durability::Process);
        match self.cipher {
            Some(cipher) => options.key(EncryptionKey::raw([7; 32])).cipher(cipher),
            None => options,
        }
    }
}

/// A file and its log, as bytes.
#[derive(Clone)]
pub struct Whole {
    pub main: Vec<u8>,
    pub log: Option<Vec<u8>>,
}

impl Whole {
    pub fn of(variant: Variant, directory: &Path) -> Whole {
        let path = directory.join("base.db");
        let size = u32::try_from(variant.page_bytes).expect("it is small");
        let store = variant.options().page_size(size).open(&path).expect("the store opens");
        fill(&store, variant.rows);
        if variant.has_log {
            let log = fs::read(directory.join("base.db-wal")).expect("the log is there");
            return Whole { main: fs::read(&path).expect("the file is there"), log: Some(log) };
        }
        drop(store);
        Whole { main: fs::read(&path).expect("the file is there"), log: None }
    }

    /// Puts both there, and takes away what an earlier one left.
    pub fn write(&self, path: &Path) {
        for ending in ["-wal", "-shm", "-journal"] {
            // Most often it is not there.
            let _ = fs::remove_file(beside(path, ending));
        }
        fs::write(path, &self.main).expect("the file is written");
        if let Some(log) = &self.log {
            fs::write(beside(path, "-wal"), log).expect("the log is written");
        }
    }
}

pub fn beside(path: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn bytes(of: i64, length: i64) -> Vec<u8> {
    vec![of.to_le_bytes()[0]; usize::try_from(length).expect("it is small")]
}

fn letters(letter: &str, length: i64) -> String {
    letter.repeat(usize::try_from(length).expect("it is small"))
}

pub fn num(id: i64) -> Num {
    let more = (id % 3 == 0).then(|| letters("m", id % 50));
    let real = f64::from(i32::try_from(id).expect("it is small")) / 3.0;
    Num { id: id * 3, group: id % 9, text: letters("n", id * 37 % 300), real, more }
}

fn word(at: i64) -> Word {
    let length = if at % 40 == 7 { 9000 } else { at * 53 % 700 };
    let points = (0..at % 4).map(|_| Point { x: 5, name: "p".into() }).collect();
    Word { word: format!("word {at:05}"), length: at, body: bytes(at, length), points }
}

fn page(at: i64) -> Page {
    let length = if at % 50 == 3 { 20_000 } else { at * 29 % 900 };
    Page { name: format!("page {at:05}"), size: at, body: bytes(at, length) }
}

fn fill(store: &Store, rows: i64) {
    store.insert_all(&(0..rows).map(num).collect::<Vec<_>>()).expect("they go in");
    store.insert_all(&(0..rows).map(word).collect::<Vec<_>>()).expect("they go in");
    store.insert_all(&(0..rows).map(page).collect::<Vec<_>>()).expect("they go in");
    let filled = store.write(|transaction| {
        (0..20).try_for_each(|at| transaction.collection::<Num>(&format!("c{}", at % 5))?.put(&num(at)))
    });
    filled.expect("they go in");
}
