//! A store of touchstone-store that asks for SQLCipher's scheme is a SQLCipher 4 file, and a SQLCipher 4 file that says
//! it is a store is one. This workspace links SQLCipher, the store's its own engine, so each reads files that the other
//! wrote: those lie beside the store's tests. With `TOUCHSTONE_WRITE_FIXTURES` set, SQLCipher writes its own anew.

use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const FIXTURES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../crates/touchstone-store/tests/fixtures");

/// The keys of the files, as SQLCipher's users write them.
const KEYS: [(&str, &str); 2] = [
    ("raw", "\"x'0707070707070707070707070707070707070707070707070707070707070707'\""),
    ("passphrase", "'correct horse battery staple'"),
];

/// One test at a time: SQLCipher has once refused a key while another thread began with it.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(path: &Path, key: &str) -> Connection {
    let sql = Connection::open(path).unwrap();
    sql.execute_batch(&format!("pragma key = {key}")).unwrap();
    let version: String = sql.query_row("pragma cipher_version", (), |row| row.get(0)).unwrap();
    assert!(version.starts_with("4."), "{version}");
    sql
}

/// A copy to open: the files themselves must not get a log beside them.
fn copied(folder: &Path, name: &str) -> PathBuf {
    let copy = folder.join("copy.db");
    fs::copy(Path::new(FIXTURES).join(name), &copy).unwrap();
    copy
}

#[test]
fn sqlcipher_reads_what_the_store_wrote() {
    let _alone = alone();
    for (name, key) in KEYS {
        let folder = tempfile::tempdir().unwrap();
        let path = copied(folder.path(), &format!("v1/sqlcipher_{name}.db"));
        let sql = open(&path, key);
        let mut query = sql.prepare("select id, title from note order by id").unwrap();
        let rows = query.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let rows: Vec<(i64, String)> = rows.collect::<Result<_, _>>().unwrap();
        let expected: Vec<(i64, String)> = (1..=20).map(|id| (id, format!("note {id}"))).collect();
        assert_eq!(rows, expected, "{name}");
        // Its own check of every page's code of authentication; it has rows only where one is wrong.
        assert!(!sql.prepare("pragma cipher_integrity_check").unwrap().exists(()).unwrap(), "{name}");
        let whole: String = sql.query_row("pragma integrity_check", (), |row| row.get(0)).unwrap();
        assert_eq!(whole, "ok", "{name}");
    }
}

#[test]
fn sqlcipher_refuses_another_key() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = copied(folder.path(), "v1/sqlcipher_raw.db");
    let sql = open(&path, "'another'");
    assert!(sql.query_row("select count(*) from note", (), |row| row.get::<_, i64>(0)).is_err());
}

#[test]
fn what_sqlcipher_wrote_is_there_for_the_store_to_read() {
    let _alone = alone();
    for (name, key) in KEYS {
        let fixture = Path::new(FIXTURES).join(format!("sqlcipher4/{name}.db"));
        if std::env::var_os("TOUCHSTONE_WRITE_FIXTURES").is_some() {
            let _ = fs::remove_file(&fixture);
            // The two numbers are the store's: whose the file is, and the version of its format.
            open(&fixture, key)
                .execute_batch(
                    "pragma application_id = 1416590707;
                     pragma user_version = 1;
                     create table note (id INTEGER PRIMARY KEY, title TEXT) STRICT;
                     with recursive numbers (id) as (select 1 union all select id + 1 from numbers where id < 20)
                     insert into note select id, 'note ' || id from numbers;",
                )
                .unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let sql = open(&copied(folder.path(), &format!("sqlcipher4/{name}.db")), key);
        let count: i64 = sql.query_row("select count(*) from note", (), |row| row.get(0)).unwrap();
        assert_eq!(count, 20, "{name}");
    }
}
