//! What fails in a program's SQL is told with what to do, and what is to be done helps.

use super::{Place, Task, task};
use std::time::Duration;
use touchstone_store::{Cipher, EncryptionKey, Error, ErrorKind, Options, Record, Result, Store};

/// As [`Task`], of a newer program.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Newer {
    #[record(key)]
    id: i64,
    title: String,
    owner: Option<String>,
}

#[derive(Record)]
struct Unwritten {
    #[record(key)]
    id: i64,
}

fn is_told(result: Result<()>, kind: ErrorKind, words: &[&str]) -> Error {
    let error = result.expect_err("it fails");
    assert_eq!(error.kind(), kind, "{error}");
    let told = error.to_string();
    assert!(words.iter().all(|word| told.contains(word)), "{told}");
    error
}

/// It was told as a file whose permissions are to be looked at.
#[test]
fn a_snapshot_says_where_sql_writes() {
    let place = Place::new();
    for sql in ["insert into task (id, title) values (5000, 'q')", "create table t (a)", "drop table task"] {
        let error = is_told(place.read(sql), ErrorKind::ReadOnly, &["snapshot", "`Transaction::sql`"]);
        assert_eq!(error.sqlite_code(), Some(8));
        place.write(sql).expect("a transaction writes");
    }
}

#[test]
fn a_table_that_was_never_written_to_is_told_with_the_remedy() {
    let place = Place::new();
    let sql = "select id from unwritten";
    let watch = || place.store.feed()?.watch_sql(sql, []).map(drop);
    for result in [place.read(sql), place.write(sql), watch()] {
        is_told(result, ErrorKind::Refused, &["no such table: unwritten", "once a record of it was written"]);
    }
    place.store.insert(&Unwritten { id: 1 }).expect("it is written");
    for result in [place.read(sql), place.write(sql), watch()] {
        result.expect("the table is there");
    }
}

#[test]
fn a_column_that_was_never_written_to_is_told_with_the_remedy() {
    let place = Place::new();
    let (insert, select) =
        ("insert into task (id, title, owner) values (5000, 'q', 'Ada')", "select owner from task");
    let newer = Newer { id: 6000, title: "q".into(), owner: None };
    is_told(
        place.write(insert),
        ErrorKind::Refused,
        &["no column named owner", "once a record of the newer type"],
    );
    is_told(
        place.read(select),
        ErrorKind::Refused,
        &["no such column: owner", "once a record of the newer type"],
    );
    // What may be a text in the wrong quotes SQLite tells itself.
    let quoted = place.read("select title from task where title = \"q\"").expect_err("it is no column");
    assert!(!quoted.to_string().contains("newer type"), "{quoted}");
    place.store.insert(&newer).expect("it is written");
    place.write(insert).expect("the column is there");
    place.read(select).expect("the column is there");
}

#[test]
fn a_file_is_made_smaller_as_the_refusal_of_vacuum_says() {
    let Place { store, path, _directory } = Place::new();
    let bytes = || std::fs::metadata(&path).expect("it is there").len();
    store.write(|transaction| transaction.of::<Task>().clear()).expect("they are removed");
    let vacuum = |store: &Store| store.write(|write| write.sql(|sql| sql.execute_batch("vacuum")));
    is_told(vacuum(&store), ErrorKind::Refused, &["VACUUM", "`Store::change_key`"]);
    drop(store);
    let before = bytes();
    Store::change_key(&path, Options::new(), Options::new()).expect("nobody has it open");
    assert!(bytes() < before, "{before}");
    assert!(Store::open(&path).expect("it opens").all::<Task>().expect("it is readable").is_empty());
}

/// What the program itself has stopped was told in one word.
#[test]
fn a_statement_that_was_interrupted_says_by_whom() {
    let place = Place::new();
    let interrupted = place.store.write(|transaction| {
        transaction.sql(|sql| {
            // It is remembered as long as a statement runs.
            let mut running = sql.prepare("select id from task")?;
            let mut rows = running.query(())?;
            rows.next()?;
            sql.get_interrupt_handle().interrupt();
            sql.execute("insert into task (id, title) values (5000, 'q')", ()).map(drop)
        })
    });
    is_told(interrupted, ErrorKind::Refused, &["interrupted", "the program", "try again"]);
    place.store.insert(&task(5000)).expect("the store goes on");
}

/// A transaction that waited for itself was told that another process is writing.
#[test]
fn a_file_that_is_attached_to_itself_is_told() {
    let place = Place::new();
    let path = place.path.to_str().expect("it is text");
    let store = Options::new().busy_timeout(Duration::ZERO).open(path).expect("it opens");
    let run = |store: &Store, path: &str, sql: &str| {
        let attach = format!("attach '{path}' as again; {sql}");
        store.write(|transaction| transaction.sql(|lent| lent.execute_batch(&attach)))
    };
    let insert = "insert into again.task (id, title) values (5000, 'q')";
    is_told(run(&store, path, insert), ErrorKind::Busy, &["attached to itself"]);
    run(&store, path, "select * from again.task").expect("it may be read");
    run(&store, path, &insert.replace("again.", "main.")).expect("its own name is free");

    // Another file that is being written is another's.
    let other = Place::new();
    let path = other.path.to_str().expect("it is text");
    let busy = other.store.write(|_| run(&store, path, insert));
    is_told(busy, ErrorKind::Busy, &["another process is writing"]);
}

#[test]
fn a_file_is_attached_with_its_key() {
    let directory = tempfile::tempdir().expect("there is room");
    let key = || EncryptionKey::raw([7; 32]);
    let key_of_sql = format!("key \"x'{}'\"", "07".repeat(32));
    for cipher in [Cipher::Aegis, Cipher::SqlCipher] {
        let options = Options::new().key(key()).cipher(cipher);
        let store = options.open(directory.path().join(format!("{cipher:?}.db"))).expect("it opens");
        store.insert(&task(1)).expect("it is written");
        let backup = directory.path().join(format!("{cipher:?}.backup"));
        store.backup(&backup).expect("it is copied");
        let attach = |key: &str| {
            let attach = format!("attach '{}' as backup {key}; select * from backup.task", backup.display());
            store.read(|snapshot| snapshot.sql(|lent| lent.execute_batch(&attach)))
        };
        attach(&key_of_sql).expect("it is the key");
        is_told(attach("key 'another'"), ErrorKind::Foreign, &["encrypted with another key", "`attach"]);
    }
}
