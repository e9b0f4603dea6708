//! Copies of an open store: as of one moment, whole, encrypted as the store is, and never over another file.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use touchstone_store::{Cipher, EncryptionKey, ErrorKind, Options, Record, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Account {
    #[record(key)]
    id: i64,
    balance: i64,
    note: String,
}

const ACCOUNTS: i64 = 2000;

fn accounts() -> Vec<Account> {
    (0..ACCOUNTS).map(|id| Account { id, balance: 100, note: format!("account {id}").repeat(5) }).collect()
}

fn kinds() -> [(&'static str, Options); 4] {
    let raw = Options::new().key(EncryptionKey::raw([7; 32]));
    [
        ("plain", Options::new()),
        ("large pages", Options::new().page_size(16_384)),
        ("aegis", raw.clone()),
        ("sqlcipher", raw.cipher(Cipher::SqlCipher)),
    ]
}

fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Moves money until it is told to stop. Each transaction leaves the sum as it was and counts itself.
fn move_money(store: &Store, stop: &AtomicBool) {
    let mut turn = 0;
    while !stop.load(Ordering::Relaxed) {
        let (from, to) = (turn * 31 % ACCOUNTS, (turn * 17 + 1) % ACCOUNTS);
        store
            .write(|transaction| {
                transaction.update::<Account>(&from, |account| account.balance -= 1)?;
                transaction.update::<Account>(&to, |account| account.balance += 1)
            })
            .unwrap();
        turn += 1;
    }
}

#[test]
fn a_copy_is_of_one_moment_while_others_write() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let copies = tempfile::tempdir().unwrap();
        let store = options.clone().open(directory.path().join("bank.db")).unwrap();
        store.insert_all(&accounts()).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| move_money(&store, &stop));
            for number in 0..10 {
                // What was committed before the copy began is in it.
                let marker = Account { id: ACCOUNTS + number, balance: 0, note: "marker".into() };
                store.insert(&marker).unwrap();
                store.backup(copies.path().join(format!("copy{number}"))).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        for number in 0..10 {
            let copy = options.clone().open(copies.path().join(format!("copy{number}"))).unwrap();
            let found = copy.all::<Account>().unwrap();
            let markers = found.iter().filter(|account| account.note == "marker").count();
            assert_eq!(markers as i64, number + 1, "{name}");
            let sum: i64 = found.iter().map(|account| account.balance).sum();
            assert_eq!(sum, ACCOUNTS * 100, "{name}: the copy is of a moment between two transactions");
            let report = copy.check().records::<Account>().run().unwrap();
            assert!(report.is_whole(), "{name}: {:?}", report.problems());
        }
        assert_eq!(files(copies.path()).len(), 10, "{name}: nothing is left beside the copies");
    }
}

/// A backup could not be read on a file system that was mounted to read, and one that was read had a log beside it, which kept
/// the next one from its name. A file system for a test can be mounted by root alone: so this looks at the files.
#[test]
fn a_copy_that_is_read_is_one_file_and_stays_as_it_is() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let copies = tempfile::tempdir().unwrap();
        let store = options.clone().open(directory.path().join("bank.db")).unwrap();
        store.insert_all(&accounts()).unwrap();
        let path = copies.path().join("copy.db");
        store.backup(&path).unwrap();
        let written = fs::read(&path).unwrap();
        let copy = options.clone().read_only(true).open(&path).unwrap();
        assert_eq!(copy.all::<Account>().unwrap(), accounts(), "{name}");
        let report = copy.check().records::<Account>().run().unwrap();
        assert!(report.is_whole(), "{name}: {:?}", report.problems());
        copy.backup(copies.path().join("second.db")).unwrap();
        assert_eq!(files(copies.path()), ["copy.db", "second.db"], "{name}: while it is open");
        drop(copy);
        assert_eq!(fs::read(&path).unwrap(), written, "{name}");
        let copy = options.open(&path).unwrap();
        copy.insert(&Account { id: -1, balance: 0, note: String::new() }).unwrap();
        assert_eq!(files(copies.path()), ["copy.db", "copy.db-shm", "copy.db-wal", "second.db"], "{name}");
    }
}

#[test]
fn a_passphrase_opens_the_copy() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new().key(EncryptionKey::passphrase("words"));
    let store = options.clone().open(directory.path().join("bank.db")).unwrap();
    store.insert_all(&accounts()).unwrap();
    store.backup(directory.path().join("copy.db")).unwrap();
    assert_eq!(options.open(directory.path().join("copy.db")).unwrap().all::<Account>().unwrap(), accounts());
}

#[test]
fn nothing_is_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("bank.db")).unwrap();
    store.insert_all(&accounts()).unwrap();
    let copy = directory.path().join("copy.db");
    fs::write(&copy, "somebody's").unwrap();
    assert_eq!(store.backup(&copy).unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(fs::read(&copy).unwrap(), b"somebody's");
    assert_eq!(store.backup(store.path()).unwrap_err().kind(), ErrorKind::Exists);
    // A log that another file left behind would be taken for the copy's.
    fs::remove_file(&copy).unwrap();
    fs::write(directory.path().join("copy.db-wal"), "another file's").unwrap();
    assert_eq!(store.backup(&copy).unwrap_err().kind(), ErrorKind::Exists);
    fs::remove_file(directory.path().join("copy.db-wal")).unwrap();
    // An empty file is a name that was reserved.
    fs::write(&copy, "").unwrap();
    store.backup(&copy).unwrap();
    assert_eq!(Store::open(&copy).unwrap().all::<Account>().unwrap(), accounts());
}

/// A killed process left what it had made, for ever; in a container, where every process has the same number, the next
/// one could not make its own for it.
#[test]
fn what_a_killed_process_left_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("bank.db")).unwrap();
    store.insert_all(&accounts()).unwrap();
    let copies = directory.path().join("copies");
    let (left, others) = (
        [
            "copy.db.0123456789abcdef.tmp",
            "copy.db.0123456789abcdef.tmp-journal",
            "copy.db.fedcba9876543210.tmp-damaged",
        ],
        ["copy.db.notes.tmp", "copy.db.0123456789abcdef.tmp.txt", "other.db.0123456789abcdef.tmp"],
    );
    fs::create_dir(&copies).unwrap();
    for name in left[..2].iter().chain(&others) {
        fs::write(copies.join(name), "half of a copy").unwrap();
        forget(&copies.join(name));
    }
    salvage_folder(&copies.join(left[2]));
    // Others', who are still at it: the second copied what it salvages long ago, and the third copies it still.
    let under_way = [
        "copy.db.00000000ffffffff.tmp",
        "copy.db.11111111ffffffff.tmp",
        "copy.db.11111111ffffffff.tmp-damaged",
        "copy.db.22222222ffffffff.tmp-damaged",
    ];
    fs::write(copies.join(under_way[0]), "half of a copy").unwrap();
    fs::write(copies.join(under_way[1]), "half of what is saved").unwrap();
    salvage_folder(&copies.join(under_way[2]));
    salvage_folder(&copies.join(under_way[3]));
    fs::write(copies.join(under_way[3]).join("damaged"), "half of what is damaged").unwrap();
    store.backup(copies.join("copy.db")).unwrap();
    let mut expected = vec!["copy.db"];
    expected.extend(under_way);
    expected.extend(others);
    expected.sort_unstable();
    assert_eq!(files(&copies), expected);
}

/// A folder with what a salvage copied long ago.
fn salvage_folder(folder: &Path) {
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("damaged"), "a copy").unwrap();
    forget(&folder.join("damaged"));
    forget(folder);
}

/// Nobody has written to it for long.
fn forget(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
}

#[test]
fn a_failure_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.db");
    let options = Options::new().key(EncryptionKey::raw([7; 32]));
    options.clone().open(&path).unwrap().insert_all(&accounts()).unwrap();
    let missing = directory.path().join("no such folder").join("copy.db");
    let store = options.clone().open(&path).unwrap();
    assert_eq!(store.backup(missing).unwrap_err().kind(), ErrorKind::NotFound);
    drop(store);
    // A page that fails its authentication ends the copy in the middle.
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let store = options.open(&path).unwrap();
    let error = store.backup(directory.path().join("copy.db")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
    drop(store);
    assert_eq!(files(directory.path()), ["bank.db"]);
}
