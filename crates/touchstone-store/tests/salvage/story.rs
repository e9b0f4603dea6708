//! Salvages of known damage, and of none.

use crate::{Task, contents, doubtful, kinds, make, salvage, tasks};
use std::fs;
use std::path::{Path, PathBuf};
use touchstone_store::{EncryptionKey, ErrorKind, Options, Record, Store, rusqlite};

#[test]
fn a_whole_store_is_saved_whole() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        make(&path, &options);
        let before = contents(&options.clone().open(&path).unwrap());
        let (report, saved) = salvage(&path, &options).unwrap();
        assert!(report.is_complete(), "{name}: {report:?}");
        assert_eq!(saved, before, "{name}");
        assert_eq!(report.rows(), before.len() as u64 + 2, "{name}: and the names of two collections");
        let store = options.open(path.with_extension("saved")).unwrap();
        let indexes: i64 = store
            .read(|snapshot| {
                let sql = "select count(*) from sqlite_schema where type = 'index' and sql is not null";
                snapshot.sql(|connection| connection.query_row(sql, (), |row| row.get(0)))
            })
            .unwrap();
        assert_eq!(indexes, 3, "{name}: of tasks, of their collections, of documents");
        store.put_all(&tasks()).unwrap();
    }
}

#[test]
fn commits_that_are_only_in_the_log_are_saved() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        make(&path, &options);
        let options = options.checkpoint_pages(u32::MAX);
        let store = options.clone().open(&path).unwrap();
        let newest = Task { id: 1_000_000, title: "newest".into(), body: Vec::new() };
        store.insert(&newest).unwrap();
        // As after a crash: the files are taken while the store is open.
        let crashed = directory.path().join("crashed.db");
        fs::copy(&path, &crashed).unwrap();
        fs::copy(directory.path().join("store.db-wal"), directory.path().join("crashed.db-wal")).unwrap();
        let log = fs::read(directory.path().join("crashed.db-wal")).unwrap();
        let (report, saved) = salvage(&crashed, &options).unwrap();
        assert!(report.is_complete(), "{name}: {report:?}");
        assert!(saved.contains_key("task 1000000"), "{name}");
        assert_eq!(fs::read(directory.path().join("crashed.db-wal")).unwrap(), log, "{name}");
        assert!(!directory.path().join("crashed.db-shm").exists(), "{name}");
    }
}

/// Damages pages in turn. Whatever the page was, what is lost is what lay on it: a leaf's neighbours in the order of
/// the key; nothing of the other tables.
#[test]
fn everything_outside_a_damaged_page_is_saved() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        make(&path, &options);
        let before = contents(&options.clone().open(&path).unwrap());
        let whole = fs::read(&path).unwrap();
        let pages = whole.len() / 4096;
        let mut losses = 0;
        for page in (1..pages).step_by(if name == "plain" { 3 } else { 17 }) {
            let mut damaged = whole.clone();
            damaged[page * 4096..(page + 1) * 4096].fill(0);
            fs::write(&path, damaged).unwrap();
            let (report, saved) = salvage(&path, &options).unwrap();
            let other = saved.iter().filter(|(key, value)| before.get(*key) != Some(value)).count();
            // The last page of a long value, where it is zeros, is the same as a value that ends in them.
            assert_eq!(other, doubtful(&report), "{name}, page {}: something was not there", page + 1);
            let lost: Vec<&String> = before.keys().filter(|key| !saved.contains_key(*key)).collect();
            // The pages above the rows of tables in key order, and the names of the collections, lead to more.
            let by_number =
                lost.iter().filter(|key| key.starts_with("task ") || key.starts_with("document "));
            assert!(by_number.count() <= 150, "{name}, page {}: {lost:?}", page + 1);
            let names: Vec<&str> = lost.iter().map(|key| key.split(' ').next().unwrap()).collect();
            assert!(
                names.iter().all(|of| *of == names[0] || ["inbox", "archive"].contains(of)),
                "{name}, page {}: one page belongs to one table: {lost:?}",
                page + 1
            );
            assert!(lost.is_empty() || !report.is_complete(), "{name}, page {}", page + 1);
            losses += usize::from(!lost.is_empty());
        }
        assert!(losses > 2, "{name}: the damage did some");
    }
}

#[test]
fn rows_below_a_lost_page_are_found() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        make(&path, &options);
        let store = options.clone().open(&path).unwrap();
        let before = contents(&store);
        let root: u32 = store
            .read(|snapshot| {
                let sql = "select rootpage from sqlite_schema where name = 'task'";
                snapshot.sql(|connection| connection.query_row(sql, (), |row| row.get(0)))
            })
            .unwrap();
        drop(store);
        let mut damaged = fs::read(&path).unwrap();
        damaged[(root as usize - 1) * 4096..root as usize * 4096].fill(0xff);
        fs::write(&path, damaged).unwrap();
        let (report, saved) = salvage(&path, &options).unwrap();
        let tasks = report.tables().iter().find(|table| table.name == "task").unwrap();
        assert_eq!((tasks.pages_lost, tasks.rows, tasks.rows_found), (1, 3000, 3000), "{name}");
        assert_eq!(saved, before, "{name}: the page above all the tasks had none itself");
        assert!(!report.is_complete(), "{name}");
    }
}

#[test]
fn without_the_first_page_nothing_is_known() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        make(&path, &options);
        let mut bytes = fs::read(&path).unwrap();
        bytes[..4096].fill(0);
        fs::write(&path, bytes).unwrap();
        let kind = salvage(&path, &options).unwrap_err().kind();
        let expected = if name == "plain" { ErrorKind::Foreign } else { ErrorKind::WrongKey };
        assert_eq!(kind, expected, "{name}");
        let names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(names, ["store.db"], "{name}: nothing is left");
    }
}

#[test]
fn a_header_that_is_gone_is_done_without() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    make(&path, &Options::new());
    let before = contents(&Store::open(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    bytes[..100].fill(0);
    fs::write(&path, bytes).unwrap();
    let (_, saved) = salvage(&path, &Options::new()).unwrap();
    assert_eq!(saved, before);
}

#[test]
fn a_key_that_is_not_the_files_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let (_, options) = &kinds()[1];
    make(&path, options);
    let other = Options::new().key(EncryptionKey::raw([8; 32]));
    assert_eq!(salvage(&path, &other).unwrap_err().kind(), ErrorKind::WrongKey);
    assert_eq!(salvage(&path, &Options::new()).unwrap_err().kind(), ErrorKind::Encrypted);
    let plain = directory.path().join("plain.db");
    make(&plain, &Options::new());
    assert_eq!(salvage(&plain, options).unwrap_err().kind(), ErrorKind::NotEncrypted);
    let none =
        Store::salvage(directory.path().join("none.db"), Options::new(), directory.path().join("new.db"));
    assert_eq!(none.unwrap_err().kind(), ErrorKind::NotFound);
    let exists = Store::salvage(&path, options.clone(), &plain).unwrap_err();
    assert_eq!(exists.kind(), ErrorKind::Exists);
}

/// One byte decided whether a file is encrypted, and in one of 128 it is one that a plain file has there.
#[test]
fn an_encrypted_file_is_told_whatever_its_bytes_are() {
    for (name, options) in &kinds()[1..] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        make(&path, options);
        let bytes = fs::read(&path).unwrap();
        for kind in [0x05, 0x0d] {
            let mut bytes = bytes.clone();
            bytes[100] = kind;
            fs::write(&path, bytes).unwrap();
            assert_eq!(salvage(&path, &Options::new()).unwrap_err().kind(), ErrorKind::Encrypted, "{name}");
        }
    }
}

#[test]
fn a_passphrase_opens_what_was_saved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let options = Options::new().key(EncryptionKey::passphrase("words"));
    make(&path, &options);
    let (report, _) = salvage(&path, &options).unwrap();
    assert!(report.is_complete());
}

/// Two rows of one value, which the index that was lost would have refused, and the new one does.
#[test]
fn rows_that_a_unique_index_refuses_are_counted() {
    #[derive(Record, Clone, Debug, PartialEq)]
    struct User {
        #[record(key)]
        id: i64,
        #[record(unique)]
        email: String,
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = Store::open(&path).unwrap();
    let users: Vec<User> = (1..=50).map(|id| User { id, email: format!("user{id:02}@example") }).collect();
    store.insert_all(&users).unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    let at: Vec<usize> =
        (0..bytes.len() - 14).filter(|at| bytes[*at..].starts_with(b"user02@example")).collect();
    assert_eq!(at.len(), 2, "in the table and in the index");
    for at in at {
        bytes[at + 5] = b'1';
    }
    fs::write(&path, bytes).unwrap();
    let saved = directory.path().join("saved.db");
    let report = Store::salvage(&path, Options::new(), &saved).unwrap();
    assert_eq!((report.rows(), report.tables()[0].rows_refused), (49, 1), "{report:?}");
    assert_eq!(Store::open(&saved).unwrap().all::<User>().unwrap().len(), 49);
}

/// A table that raw SQL made, with what a record's table has none of.
#[test]
fn tables_of_raw_sql_are_saved_with_views_and_triggers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = Store::open(&path).unwrap();
    store
        .write(|transaction| {
            transaction.sql(|sql| {
                sql.execute_batch(
                    "create table log (rowid text, at integer, twice integer as (at * 2), kept integer as (at * 3) stored);
                     insert into log (oid, rowid, at) values (40, 'a', 1), (50, 'b', 2);
                     alter table log add column late text default 'late';
                     create table counter (id integer primary key autoincrement, name text unique);
                     insert into counter (name) values ('one'), ('two');
                     create view doubled as select twice from log;
                     create trigger counted after insert on log begin update counter set name = name || '!'; end;",
                )
            })
        })
        .unwrap();
    drop(store);
    let saved = directory.path().join("saved.db");
    let report = Store::salvage(&path, Options::new(), &saved).unwrap();
    assert!(report.is_complete(), "{report:?}");
    let store = Store::open(&saved).unwrap();
    let read = |sql: &str| -> String {
        store
            .read(|snapshot| snapshot.sql(|connection| connection.query_row(sql, (), |row| row.get(0))))
            .unwrap()
    };
    assert_eq!(
        read("select group_concat(oid || rowid || at || twice || kept || late) from log"),
        "40a123late,50b246late"
    );
    assert_eq!(read("select group_concat(id || name) from counter"), "1one,2two");
    assert_eq!(read("select group_concat(twice) from doubled"), "2,4");
    assert_eq!(read("select group_concat(name) from sqlite_schema where type = 'trigger'"), "counted");
}

/// Changes what a file holds once to something of the same length.
fn replace(path: &Path, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(path).unwrap();
    let at: Vec<usize> = (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert_eq!(at.len(), 1);
    bytes[at[0]..at[0] + to.len()].copy_from_slice(to);
    fs::write(path, bytes).unwrap();
}

/// A store with a table that raw SQL made and filled.
fn made_by_sql(sql: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = Store::open(&path).unwrap();
    store.write(|transaction| transaction.sql(|connection| connection.execute_batch(sql))).unwrap();
    (directory, path)
}

/// What the only table then has, and how many of its rows were lost and refused.
fn rows_of(path: &Path, sql: &str) -> (String, u64, u64) {
    let saved = path.with_extension("saved");
    let report = Store::salvage(path, Options::new(), &saved).unwrap();
    let rows = Store::open(&saved)
        .unwrap()
        .read(|snapshot| snapshot.sql(|connection| connection.query_row(sql, (), |row| row.get(0))))
        .unwrap();
    (rows, report.tables()[0].rows_lost, report.tables()[0].rows_refused)
}

/// Such a row made a statement that is none, and the salvage failed.
#[test]
fn a_row_of_no_columns_is_lost_and_no_other() {
    let (_directory, path) = made_by_sql(
        "create table empty (id integer primary key, a); insert into empty values (84, 'a'), (85, null), (86, 'b')",
    );
    // The length of the row, its number, and its header: a length and two types.
    replace(&path, &[3, 85, 3, 0, 0], &[1, 85, 1, 0, 0]);
    assert_eq!(rows_of(&path, "select group_concat(id || a) from empty"), ("84a,86b".into(), 1, 0));
}

/// It was saved under a number that no row had.
#[test]
fn a_row_that_ends_before_its_number_is_lost() {
    let (_directory, path) = made_by_sql(
        "create table late (a text, id integer primary key); insert into late values ('a', 84), ('b', 85), ('c', 86)",
    );
    // The header's two types become one, of a text that is one byte longer.
    replace(&path, &[4, 85, 3, 15, 0, b'b'], &[4, 85, 2, 17, 0, b'b']);
    assert_eq!(rows_of(&path, "select group_concat(a || id) from late"), ("a84,c86".into(), 1, 0));
}

/// That the condition could not be computed was taken for a failure of the new file.
#[test]
fn a_row_whose_condition_cannot_be_computed_is_refused() {
    let (_directory, path) = made_by_sql(
        "create table document (id integer primary key, body text check (body ->> '$.a' > 0));
         insert into document values (1, '{\"a\":1}'), (2, '{\"a\":2}'), (3, '{\"a\":3}')",
    );
    replace(&path, b"{\"a\":2}", b"{\"a\":2{");
    assert_eq!(rows_of(&path, "select group_concat(id) from document"), ("1,3".into(), 0, 1));
}

/// The list of free pages was followed, and remembered, until it was as long as the header says: four billion pages.
#[test]
fn a_list_of_free_pages_in_a_circle_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    make(&path, &Options::new());
    let before = contents(&Store::open(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    let trunk = u32::from_be_bytes(bytes[32..36].try_into().unwrap());
    assert_ne!(trunk, 0, "there are free pages");
    bytes[36..40].fill(0xff);
    let at = (trunk as usize - 1) * 4096;
    bytes[at..at + 4].copy_from_slice(&trunk.to_be_bytes());
    fs::write(&path, bytes).unwrap();
    let (_, saved) = salvage(&path, &Options::new()).unwrap();
    assert_eq!(saved, before);
}

/// A file that somebody has made up had a table made from a question that has no end.
#[test]
fn a_table_that_would_be_made_from_a_question_is_not_made() {
    let (_directory, path) = made_by_sql(
        "create table endless (a); create table task (id integer primary key); insert into task values (1)",
    );
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "pragma writable_schema = on; update sqlite_schema set sql = 'CREATE TABLE endless AS \
             WITH RECURSIVE counted(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM counted) SELECT max(a) AS a FROM counted' \
             where name = 'endless'",
        )
        .unwrap();
    drop(connection);
    let report = Store::salvage(&path, Options::new(), path.with_extension("saved")).unwrap();
    assert_eq!((report.rows(), report.not_made()), (1, ["endless".to_owned()].as_slice()));
}
