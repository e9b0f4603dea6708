//! A change of key: to another one, to another cipher, to none, and back.

use crate::{Secret, kinds, marked, raw, secrets};
use std::path::Path;
use touchstone_store::{Cipher, EncryptionKey, ErrorKind, Options, Store};

fn every() -> Vec<(&'static str, Options)> {
    let mut all = vec![("plain", Options::new()), ("another key", raw(9))];
    all.extend(kinds());
    all
}

fn files(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_kind_becomes_every_other_and_the_old_key_is_refused() {
    for (from, old) in every() {
        for (to, new) in every() {
            let directory = tempfile::tempdir().unwrap();
            // A name that must be written otherwise in a URI.
            let path = directory.path().join("a store?#%20.db");
            let store = old.clone().open(&path).unwrap();
            store.insert_all(&secrets(3000)).unwrap();
            store
                .write(|transaction| transaction.collection::<Secret>("inbox")?.insert(&secrets(1)[0]))
                .unwrap();
            drop(store);
            Store::change_key(&path, old.clone(), new.clone()).unwrap();
            assert_eq!(files(directory.path()), ["a store?#%20.db"], "{from} to {to}");
            assert_eq!(marked(directory.path()).is_empty(), to != "plain", "{from} to {to}");
            if from != to {
                let error = old.clone().open(&path).err().unwrap();
                let expected = match (from, to) {
                    ("plain", _) => ErrorKind::Encrypted,
                    (_, "plain") => ErrorKind::NotEncrypted,
                    _ => ErrorKind::WrongKey,
                };
                assert_eq!(error.kind(), expected, "{from} to {to}");
            }
            let store = new.open(&path).unwrap();
            assert_eq!(store.all::<Secret>().unwrap(), secrets(3000), "{from} to {to}");
            let inbox = store.read(|snapshot| snapshot.collection::<Secret>("inbox")?.all()).unwrap();
            assert_eq!(inbox, secrets(1));
            store.put_all(&secrets(3001)).unwrap();
        }
    }
}

#[test]
fn a_passphrase_becomes_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let old = Options::new().key(EncryptionKey::passphrase("old words"));
    let new = Options::new().key(EncryptionKey::passphrase("new words")).cipher(Cipher::SqlCipher);
    old.clone().open(&path).unwrap().insert_all(&secrets(10)).unwrap();
    Store::change_key(&path, old.clone(), new.clone()).unwrap();
    assert_eq!(old.open(&path).err().unwrap().kind(), ErrorKind::WrongKey);
    assert_eq!(new.open(&path).unwrap().all::<Secret>().unwrap(), secrets(10));
}

#[test]
fn the_size_of_pages_may_change_with_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    Store::open(&path).unwrap().insert_all(&secrets(1000)).unwrap();
    Store::change_key(&path, Options::new(), raw(7).page_size(16_384)).unwrap();
    let store = raw(7).open(&path).unwrap();
    let bytes: i64 = store
        .read(|snapshot| snapshot.sql(|sql| sql.pragma_query_value(None, "page_size", |row| row.get(0))))
        .unwrap();
    assert_eq!(bytes, 16_384);
    assert_eq!(store.all::<Secret>().unwrap(), secrets(1000));
}

/// The engine copies encrypted pages into pages of their size, and said nothing where another was asked for.
#[test]
fn an_encrypted_store_keeps_the_size_of_its_pages_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    raw(7).page_size(8192).open(&path).unwrap().insert_all(&secrets(1000)).unwrap();
    let error = Store::change_key(&path, raw(7), raw(8).page_size(16_384)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("8192 bytes"), "{error}");
    let shared = raw(8).cipher(Cipher::SqlCipher).page_size(8192);
    Store::change_key(&path, raw(7), shared.clone()).unwrap();
    assert_eq!(shared.clone().open(&path).unwrap().all::<Secret>().unwrap(), secrets(1000));
    // By way of none, as the message says.
    Store::change_key(&path, shared, Options::new()).unwrap();
    Store::change_key(&path, Options::new(), raw(7).page_size(16_384)).unwrap();
    assert_eq!(raw(7).open(&path).unwrap().all::<Secret>().unwrap(), secrets(1000));
}

#[test]
fn a_store_that_is_open_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = raw(7).open(&path).unwrap();
    store.insert_all(&secrets(10)).unwrap();
    let now = raw(7).busy_timeout(std::time::Duration::ZERO);
    let error = Store::change_key(&path, now.clone(), Options::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    store.insert(&secrets(11)[10]).unwrap();
    drop(store);
    Store::change_key(&path, now, Options::new()).unwrap();
    assert_eq!(Store::open(&path).unwrap().all::<Secret>().unwrap(), secrets(11));
}

#[test]
fn what_is_refused_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    raw(7).open(&path).unwrap().insert_all(&secrets(10)).unwrap();
    let refused = |current: Options| Store::change_key(&path, current, raw(9)).unwrap_err().kind();
    assert_eq!(refused(raw(8)), ErrorKind::WrongKey);
    assert_eq!(refused(Options::new()), ErrorKind::Encrypted);
    assert_eq!(refused(raw(7).cipher(Cipher::SqlCipher)), ErrorKind::WrongKey);
    let none = Store::change_key(directory.path().join("none.db"), raw(7), raw(9)).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
    assert_eq!(files(directory.path()), ["store.db"]);
    assert_eq!(raw(7).open(&path).unwrap().all::<Secret>().unwrap(), secrets(10));
}

/// A crash between the copy and the renaming leaves a copy behind, and the old file without its log.
#[test]
fn a_change_that_was_cut_short_is_begun_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    Store::open(&path).unwrap().insert_all(&secrets(10)).unwrap();
    let raw_file = rusqlite::Connection::open(&path).unwrap();
    raw_file.execute_batch("pragma locking_mode = exclusive; begin exclusive; commit").unwrap();
    let mode: String = raw_file.query_row("pragma journal_mode = delete", (), |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
    drop(raw_file);
    std::fs::write(directory.path().join("store.db.0123456789abcdef.tmp"), "half of a copy").unwrap();
    std::fs::write(directory.path().join("store.db.new.tmp"), "a file of somebody else").unwrap();
    assert_eq!(Store::open(&path).unwrap().all::<Secret>().unwrap(), secrets(10));
    Store::change_key(&path, Options::new(), raw(7)).unwrap();
    assert_eq!(raw(7).open(&path).unwrap().all::<Secret>().unwrap(), secrets(10));
    assert_eq!(files(directory.path()), ["store.db", "store.db.new.tmp"]);
}

/// A log was taken from a file before anybody had looked whether the file is a store that this library knows.
#[test]
fn what_is_no_store_of_this_format_keeps_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("theirs.db");
    let sql = |text: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(text).unwrap();
    let mode = || -> String {
        let theirs = rusqlite::Connection::open(&path).unwrap();
        theirs.query_row("pragma journal_mode", (), |row| row.get(0)).unwrap()
    };
    let refused = || Store::change_key(&path, Options::new(), raw(7)).unwrap_err().kind();
    sql("pragma journal_mode = wal; create table mine (x); insert into mine values (1)");
    assert_eq!((refused(), mode().as_str()), (ErrorKind::Foreign, "wal"));
    std::fs::remove_file(&path).unwrap();
    Store::open(&path).unwrap().insert_all(&secrets(1)).unwrap();
    sql("pragma user_version = 1000");
    assert_eq!((refused(), mode().as_str()), (ErrorKind::Newer, "wal"));
}

/// Whose process is killed, at whatever moment, has the store under one of the two keys, with all that was in it.
#[test]
fn a_killed_change_leaves_the_old_file_or_the_new_one() {
    use std::io::{BufRead as _, BufReader};
    const ORDERS: &str = "TOUCHSTONE_CHANGES_OF";
    if let Ok(path) = std::env::var(ORDERS) {
        for turn in 0.. {
            let keys = [raw(7), raw(8).cipher(Cipher::SqlCipher)];
            let (current, new) = if turn % 2 == 0 { (&keys[0], &keys[1]) } else { (&keys[1], &keys[0]) };
            Store::change_key(&path, current.clone(), new.clone()).unwrap();
            println!("changed");
        }
    }
    for turns in 1..=12 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        raw(7).open(&path).unwrap().insert_all(&secrets(500)).unwrap();
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "change::a_killed_change_leaves_the_old_file_or_the_new_one"])
            .env(ORDERS, &path)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert_eq!(lines.filter(|line| line.ends_with("changed")).take(turns).count(), turns);
        child.kill().unwrap();
        child.wait().unwrap();
        let opened: Vec<Store> = [raw(7), raw(8).cipher(Cipher::SqlCipher)]
            .into_iter()
            .filter_map(|options| options.create(false).open(&path).ok())
            .collect();
        assert_eq!(opened.len(), 1, "after {turns} changes");
        assert_eq!(opened[0].all::<Secret>().unwrap(), secrets(500), "after {turns} changes");
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_a_private_file_private() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let directory = tempfile::tempdir().unwrap();
    let (path, link) = (directory.path().join("store.db"), directory.path().join("link.db"));
    raw(7).open(&path).unwrap().insert_all(&secrets(10)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&path, &link).unwrap();
    Store::change_key(&link, raw(7), Options::new()).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let store = Store::open(&path).unwrap();
    assert_eq!(store.all::<Secret>().unwrap(), secrets(10));
    store.backup(directory.path().join("copy.db")).unwrap();
    for name in ["store.db", "copy.db"] {
        let mode = std::fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// Somebody's other name of the old file is a copy of his, and stays one.
#[cfg(unix)]
#[test]
fn another_name_of_the_old_file_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("store.db"), directory.path().join("other.db"));
    raw(7).open(&path).unwrap().insert_all(&secrets(10)).unwrap();
    std::fs::hard_link(&path, &other).unwrap();
    Store::change_key(&path, raw(7), raw(9)).unwrap();
    assert_eq!(raw(7).open(&other).unwrap().all::<Secret>().unwrap(), secrets(10));
    assert_eq!(raw(9).open(&path).unwrap().all::<Secret>().unwrap(), secrets(10));
}

/// POSIX ends every lock that a process has on a file when it closes any of its descriptors of it. A store that is open
/// must not lose its own because another opening of the same file, in the same process, was refused.
#[test]
fn what_is_refused_takes_no_locks_along() {
    const ORDERS: &str = "TOUCHSTONE_LOCKS_OF";
    let now = |options: Options| options.busy_timeout(std::time::Duration::ZERO);
    if let Ok(path) = std::env::var(ORDERS) {
        let error = Store::change_key(path, now(raw(7)), raw(9)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = raw(7).open(&path).unwrap();
    store.insert_all(&secrets(10)).unwrap();
    let refused = [
        raw(8).open(&path).err().unwrap(),
        Store::open(&path).err().unwrap(),
        Options::new().key(EncryptionKey::passphrase("words")).open(&path).err().unwrap(),
        Store::change_key(&path, now(raw(7)), raw(9)).unwrap_err(),
        Store::salvage(&path, raw(8), directory.path().join("saved.db")).unwrap_err(),
    ];
    assert_eq!(refused.len(), 5);
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "change::what_is_refused_takes_no_locks_along"])
        .env(ORDERS, &path)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert_eq!(store.all::<Secret>().unwrap(), secrets(10));
}
