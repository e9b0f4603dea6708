//! The page of the file format, `docs/store-format.md`, against the files that the store makes: its types stand here word
//! for word, its SQL is what the file says of itself, and its session is run.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use touchstone_store::{Cipher, EncryptionKey, Field, Kind, Nested, Options, Record, Result, Store};

const PAGE: &str = include_str!("../../../docs/store-format.md");
const TYPES: &str = include_str!("format.rs");
const ENGINE: &str = include_str!("../src/engine/engine.c");
const FILE: &str = "notes.db";

#[derive(Record)]
struct Note {
    #[record(key)]
    id: i64,
    #[record(index)]
    title: String,
    #[record(unique)]
    slug: Option<String>,
    weight: f64,
    done: bool,
    body: Vec<u8>,
    place: Place,
    colour: Colour,
}

#[derive(Nested)]
struct Place {
    #[tag(1)]
    name: String,
    #[tag(2)]
    floor: Option<i32>,
    #[tag(3)]
    doors: Vec<Door>,
}

#[derive(Nested)]
enum Door {
    #[tag(0)]
    Open,
    #[tag(1)]
    Locked(#[tag(1)] String),
}

#[derive(Nested)]
enum Colour {
    #[tag(0)]
    Red,
    #[tag(1)]
    Green,
}

#[derive(Record)]
struct Reading {
    value: Option<f64>,
    #[record(key)]
    sensor: String,
    #[record(key, index)]
    at: u64,
}

#[derive(Record)]
#[record(numbered)]
struct Photo {
    #[record(key)]
    name: String,
    pixels: Vec<u8>,
}

#[derive(Record)]
struct Task {
    #[record(key)]
    id: i64,
    done: bool,
}

#[derive(Record)]
#[record(name = "task")]
struct LaterTask {
    #[record(key)]
    id: i64,
    #[record(index)]
    due: Option<i64>,
    #[record(column = "done")]
    is_done: bool,
}

fn note() -> Note {
    let doors = vec![Door::Open, Door::Locked("key".into())];
    let place = Place { name: "Attic".into(), floor: Some(-1), doors };
    let (slug, body) = (None, vec![0xde, 0xad]);
    Note {
        id: 7,
        title: "Buy milk".into(),
        slug,
        weight: 0.25,
        done: true,
        body,
        place,
        colour: Colour::Green,
    }
}

/// Makes the file that the page is about, under the options.
fn write(path: &Path, options: &Options) -> Result<Store> {
    let store = options.clone().open(path)?;
    store.insert(&note())?;
    store.insert(&Reading { value: None, sensor: "north".into(), at: 1 })?;
    store.insert(&Photo { name: "cat".into(), pixels: vec![0; 5000] })?;
    store.insert(&Task { id: 1, done: true })?;
    store.insert(&LaterTask { id: 2, due: Some(30), is_done: false })?;
    store.write(|transaction| transaction.collection::<Note>("inbox")?.insert(&note()))?;
    store.write(|transaction| transaction.set_user_version(3))?;
    Ok(store)
}

/// The page's blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let opening = format!("\n```{language}\n");
    let found = PAGE.split(&opening).skip(1).filter_map(|rest| rest.split("\n```").next());
    found.map(str::to_owned).collect()
}

/// A statement in one line.
fn one_line(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().collect();
    words.join(" ").replace("( ", "(").replace(" )", ")")
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_types_of_the_page_are_those_of_this_test() {
    let types = blocks("rust");
    assert!(types.len() >= 3, "{types:?}");
    for types in types {
        assert!(TYPES.contains(&types), "this test has no\n{types}");
    }
}

#[test]
fn the_file_says_of_itself_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let store = write(&folder.path().join(FILE), &Options::new()).unwrap();
    let schema: BTreeSet<String> = store
        .read(|snapshot| {
            snapshot.sql(|sql| {
                let mut statements = sql.prepare("select sql from sqlite_schema where sql is not null")?;
                statements.query_map((), |row| row.get(0))?.collect()
            })
        })
        .unwrap();
    let page = blocks("sql").join("\n");
    let page: BTreeSet<String> = page.split(';').map(one_line).filter(|sql| !sql.is_empty()).collect();
    assert_eq!(schema, page);
}

/// What `sqlite3` prints of a statement's rows.
fn printed(sql: &rusqlite::Connection, statement: &str) -> String {
    use rusqlite::types::ValueRef;
    let mut statement = sql.prepare(statement).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query(()).unwrap();
    let mut lines = String::new();
    while let Some(row) = rows.next().unwrap() {
        let value = |at| match row.get_ref(at).unwrap() {
            ValueRef::Null => String::new(),
            ValueRef::Integer(value) => value.to_string(),
            ValueRef::Real(value) => value.to_string(),
            ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned(),
        };
        lines.push_str(&(0..columns).map(value).collect::<Vec<_>>().join("|"));
        lines.push('\n');
    }
    lines
}

#[test]
fn the_session_of_the_page_prints_what_it_shows() {
    let folder = tempfile::tempdir().unwrap();
    drop(write(&folder.path().join(FILE), &Options::new()).unwrap());
    let connection = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
    let session = blocks("console").join("\n");
    let steps: Vec<(&str, &str)> = session
        .split("$ sqlite3 notes.db \"")
        .skip(1)
        .map(|step| step.split_once("\"\n").expect("a command is a line, and prints"))
        .collect();
    assert!(steps.len() >= 4, "{session}");
    for (command, shown) in steps {
        let ours: String = command.split("; ").map(|statement| printed(&connection, statement)).collect();
        assert_eq!(ours.trim_end(), shown.trim_end(), "{command}");
        match Command::new("sqlite3").arg(FILE).arg(command).current_dir(folder.path()).output() {
            Ok(ended) => {
                let theirs = String::from_utf8_lossy(&ended.stdout);
                assert_eq!(theirs.trim_end(), shown.trim_end(), "{}", String::from_utf8_lossy(&ended.stderr));
            }
            Err(error) => eprintln!("nothing is proved of sqlite3 itself: {error}"),
        }
    }
}

#[test]
fn the_kinds_of_columns_are_those_of_the_page() {
    let kinds: [(&str, Kind); 12] = [
        ("i8", i8::KIND),
        ("i64", i64::KIND),
        ("u64", u64::KIND),
        ("usize", usize::KIND),
        ("bool", bool::KIND),
        ("f32", f32::KIND),
        ("f64", f64::KIND),
        ("String", String::KIND),
        ("Vec<u8>", Vec::<u8>::KIND),
        ("Vec<T>", Vec::<Place>::KIND),
        ("Option<T>", Option::<Place>::KIND),
        ("a bare enum", Colour::KIND),
    ];
    for (name, kind) in kinds {
        let rows = PAGE.lines().filter(|line| line.starts_with('|'));
        let mut row = rows.filter(|row| row.split('|').nth(1).is_some_and(|cell| cell.contains(name)));
        let row = row.next().unwrap_or_else(|| panic!("no row of {name}"));
        let expected = if name == "Option<T>" { "`T`'s" } else { kind.sql() };
        assert_eq!(row.split('|').nth(2).map(str::trim), Some(expected), "{name}");
    }
    assert_eq!(Place::KIND, Kind::Blob);
}

#[test]
fn encrypted_files_are_as_the_page_says() {
    let key = Options::new().key(EncryptionKey::raw([7; 32]));
    for (cipher, reserved) in [(Cipher::Aegis, 64), (Cipher::SqlCipher, 80)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let store = write(&path, &key.clone().cipher(cipher)).unwrap();
        let sql = "select hex(substr(data, 17, 8)) from sqlite_dbpage where pgno = 1";
        let start: String = store
            .read(|snapshot| snapshot.sql(|connection| connection.query_row(sql, (), |row| row.get(0))))
            .unwrap();
        assert_eq!(start, format!("10000202{reserved:02X}402020"), "{cipher:?}");
        assert!(PAGE.contains(&format!("| {reserved}: ")), "{cipher:?}");
        drop(store);
        let bytes = std::fs::read(&path).unwrap();
        assert_ne!(&bytes[..16], b"SQLite format 3\0", "{cipher:?}: the salt");
        let in_the_file: String = bytes[16..24].iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(in_the_file == start, cipher == Cipher::Aegis, "{cipher:?}: what is in the clear");
    }
    for (code, words) in [
        ("ARGON2_PASSES 3\n", "3 passes"),
        ("ARGON2_KIBIBYTES 65536\n", "65,536 KiB"),
        ("ARGON2_LANES 1\n", "1 lane"),
        ("PBKDF2_ROUNDS 256000\n", "256,000 rounds"),
    ] {
        assert!(ENGINE.contains(code) && PAGE.contains(words), "{code} {words}");
    }
}

#[test]
fn beside_the_file_lies_what_the_page_says() {
    for (exclusive, beside) in [(false, &["-shm", "-wal"][..]), (true, &["-wal"][..])] {
        let folder = tempfile::tempdir().unwrap();
        let store = write(&folder.path().join(FILE), &Options::new().exclusive(exclusive)).unwrap();
        let mut expected = vec![FILE.to_owned()];
        expected.extend(beside.iter().map(|ending| format!("{FILE}{ending}")));
        assert_eq!(names(folder.path()), expected, "exclusive: {exclusive}");
        drop(store);
        assert_eq!(names(folder.path()), [FILE], "closed");
    }
    for ending in ["-wal", "-shm", ".NUMBER.tmp", ".NUMBER.tmp-damaged"] {
        assert!(PAGE.contains(&format!("| `notes.db{ending}` |")), "{ending}");
    }
}

/// Earlier builds made this table, and wrote these rows into it.
const CHANGES: &str = "create table touchstone_changes (number INTEGER PRIMARY KEY, follows INTEGER NOT NULL, counted INTEGER NOT NULL, place BLOB, changes BLOB NOT NULL) STRICT; \
    insert into touchstone_changes values (1, 7, 2147483655, zeroblob(24), x'f6'), (2, 2147483655, 2147483656, null, x'a1647461736b81a10401')";

#[test]
fn the_table_of_earlier_builds_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy, saved] = [FILE, "copy.db", "saved.db"].map(|name| folder.path().join(name));
    drop(write(&path, &Options::new()).unwrap());
    rusqlite::Connection::open(&path).unwrap().execute_batch(CHANGES).unwrap();
    let (store, other) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    let feed = store.feed().unwrap();
    let tasks = feed.query::<Task>().watch_count().unwrap();
    for (writer, expected) in [(&store, 3), (&other, 4)] {
        writer.insert(&Task { id: expected, done: true }).unwrap();
        store.wait_delivered().unwrap();
        let batch = feed.try_next().unwrap().expect("there is one more");
        assert_eq!(batch.get(tasks.id()).unwrap().count().unwrap(), expected.unsigned_abs());
    }
    assert!(store.check().records::<Task>().run().unwrap().is_whole());
    store.backup(&copy).unwrap();
    drop((feed, tasks, store, other));
    Store::salvage(&path, Options::new(), &saved).unwrap();
    Store::change_key(&path, Options::new(), Options::new().page_size(8192)).unwrap();
    let rows = "select number, follows, counted, hex(changes) from touchstone_changes";
    for path in [&path, &copy, &saved] {
        let sql = rusqlite::Connection::open(path).unwrap();
        let found = printed(&sql, rows);
        assert_eq!(found, "1|7|2147483655|F6\n2|2147483655|2147483656|A1647461736B81A10401\n", "{path:?}");
        sql.execute_batch("drop table touchstone_changes").unwrap();
        drop(sql);
        assert_eq!(Store::open(path).unwrap().all::<Task>().unwrap().len(), 4, "{path:?}");
    }
    assert!(PAGE.contains("`touchstone_changes`"));
}
