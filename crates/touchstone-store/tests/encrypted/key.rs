//! What opens a store, and what does not.

use crate::{Secret, kinds, raw, secrets};
use touchstone_store::{Cipher, EncryptionKey, ErrorKind, Options, Store};

fn kind(options: Options, path: &std::path::Path) -> Option<ErrorKind> {
    options.open(path).err().map(|error| error.kind())
}

#[test]
fn a_store_is_read_with_its_key_and_with_no_other() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        options.clone().open(&path).unwrap().insert_all(&secrets(100)).unwrap();
        assert_eq!(options.clone().open(&path).unwrap().all::<Secret>().unwrap(), secrets(100), "{name}");
        assert_eq!(kind(raw(8).cipher(cipher(name)), &path), Some(ErrorKind::WrongKey), "{name}");
        let words = EncryptionKey::passphrase("words");
        assert_eq!(kind(Options::new().key(words).cipher(cipher(name)), &path), Some(ErrorKind::WrongKey));
        let error = Store::open(&path).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Encrypted, "{name}");
        assert!(error.to_string().contains("Options::key"), "{error}");
        assert_eq!(
            options.open(&path).unwrap().all::<Secret>().unwrap(),
            secrets(100),
            "{name}: refusals changed nothing"
        );
    }
}

fn cipher(name: &str) -> Cipher {
    if name == "aegis" { Cipher::Aegis } else { Cipher::SqlCipher }
}

#[test]
fn the_other_cipher_is_a_wrong_key() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        options.open(&path).unwrap().insert_all(&secrets(1)).unwrap();
        let other = if name == "aegis" { Cipher::SqlCipher } else { Cipher::Aegis };
        assert_eq!(kind(raw(7).cipher(other), &path), Some(ErrorKind::WrongKey), "{name}");
    }
}

#[test]
fn a_key_for_a_plain_file_is_refused_and_says_so() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        Store::open(&path).unwrap().insert_all(&secrets(1)).unwrap();
        let error = options.open(&path).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NotEncrypted, "{name}");
        assert!(error.to_string().contains("is not encrypted"), "{error}");
        assert_eq!(Store::open(&path).unwrap().all::<Secret>().unwrap(), secrets(1));
    }
}

#[test]
fn a_passphrase_opens_what_it_made_and_every_connection_of_it() {
    for cipher in [Cipher::Aegis, Cipher::SqlCipher] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        // What the engine, or SQL, would take for something else.
        let words = "raw:it's \"quoted\" x'00' \u{e4}";
        let options = Options::new().key(EncryptionKey::passphrase(words)).cipher(cipher);
        let store = options.clone().open(&path).unwrap();
        store.insert_all(&secrets(10)).unwrap();
        // Connections of several readers at once, and of the thread that keeps the log short.
        let snapshots: Vec<_> = (0..4).map(|_| store.snapshot().unwrap()).collect();
        for snapshot in &snapshots {
            assert_eq!(snapshot.of::<Secret>().all().unwrap(), secrets(10));
        }
        drop(snapshots);
        drop(store);
        assert_eq!(options.open(&path).unwrap().all::<Secret>().unwrap(), secrets(10));
        let other = Options::new().key(EncryptionKey::passphrase("other words")).cipher(cipher);
        assert_eq!(kind(other, &path), Some(ErrorKind::WrongKey));
    }
}

#[test]
fn pages_of_every_size_are_encrypted() {
    for (name, options) in kinds() {
        for bytes in [1024, 16_384, 65_536] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("store.db");
            let options = options.clone().page_size(bytes);
            options.clone().open(&path).unwrap().insert_all(&secrets(500)).unwrap();
            // Only one of the ciphers tells the size of its pages in the clear.
            let again = if name == "aegis" { raw(7) } else { options };
            let store = again.open(&path).unwrap();
            assert_eq!(store.all::<Secret>().unwrap(), secrets(500), "{name}, {bytes}");
            store.backup(directory.path().join("copy")).unwrap();
            drop(store);
            if name == "aegis" {
                // A file that is there keeps its own.
                let store = raw(7).page_size(4096).open(&path).unwrap();
                assert_eq!(store.all::<Secret>().unwrap(), secrets(500), "{bytes}");
            }
        }
    }
}

#[test]
fn one_flipped_bit_of_a_page_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    raw(7).open(&path).unwrap().insert_all(&secrets(1000)).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let store = raw(7).open(&path).unwrap();
    let read = store.all::<Secret>();
    let searched =
        store.read(|snapshot| snapshot.query::<Secret>().order(|secret| secret.title.ascending()).all());
    assert!(read.is_err() || searched.is_err());
    // Other pages are read as before, by the same connection too.
    let found = (1..=1000).filter(|id| store.get::<Secret>(id).is_ok_and(|secret| secret.is_some())).count();
    assert!(found > 900, "{found}");
}

/// What is derived here is what the engine would derive: its own shell opens the file, told the parameters.
#[test]
fn the_engine_itself_opens_a_passphrases_store() {
    let schemes = [
        (
            Cipher::Aegis,
            "pragma cipher = 'aegis'; pragma algorithm = 'aegis-256x2';
             pragma tcost = 3; pragma mcost = 65536; pragma pcost = 1",
        ),
        (Cipher::SqlCipher, "pragma cipher = 'sqlcipher'; pragma legacy = 4"),
    ];
    for (cipher, scheme) in schemes {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let options = Options::new().key(EncryptionKey::passphrase("it's words")).cipher(cipher);
        options.open(&path).unwrap().insert_all(&secrets(10)).unwrap();
        let sql = rusqlite::Connection::open(&path).unwrap();
        sql.execute_batch(&format!("{scheme}; pragma key = 'it''s words'")).unwrap();
        let count: i64 = sql.query_row("select count(*) from secret", (), |row| row.get(0)).unwrap();
        assert_eq!(count, 10, "{cipher:?}");
    }
}

/// Processes that make one store at the same moment choose a salt each. One of them is the file's, and all open it.
#[test]
fn a_store_that_many_processes_make_at_once_is_everybodys() {
    const ORDERS: &str = "TOUCHSTONE_MAKES";
    let kinds = || {
        let words = || EncryptionKey::passphrase("words");
        [
            Options::new(),
            raw(7),
            raw(7).cipher(Cipher::SqlCipher),
            Options::new().key(words()),
            Options::new().key(words()).cipher(Cipher::SqlCipher),
        ]
    };
    if let Ok(orders) = std::env::var(ORDERS) {
        let [kind, id, path] = orders.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{orders}") };
        let store = kinds()[kind.parse::<usize>().unwrap()].clone().open(path).unwrap();
        let id: usize = id.parse().unwrap();
        store.insert(&secrets(4)[id]).unwrap();
        return;
    }
    for kind in 0..kinds().len() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let child = |id: usize| {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "key::a_store_that_many_processes_make_at_once_is_everybodys"])
                .env(ORDERS, format!("{kind} {id} {}", path.display()))
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        };
        let children: Vec<_> = (0..4).map(child).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success(),
                "kind {kind}: {said}{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let store = kinds()[kind].clone().open(&path).unwrap();
        assert_eq!(store.all::<Secret>().unwrap(), secrets(4), "kind {kind}");
    }
}

#[test]
fn an_exclusive_store_is_encrypted_and_copied_as_any_other() {
    for (name, options) in kinds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let options = options.exclusive(true);
        let store = options.clone().open(&path).unwrap();
        store.insert_all(&secrets(100)).unwrap();
        store.backup(directory.path().join("copy.db")).unwrap();
        drop(store);
        assert_eq!(crate::marked(directory.path()), Vec::<String>::new(), "{name}");
        for file in ["store.db", "copy.db"] {
            let store = options.clone().open(directory.path().join(file)).unwrap();
            assert_eq!(store.all::<Secret>().unwrap(), secrets(100), "{name}, {file}");
        }
        assert_eq!(kind(raw(8).exclusive(true).cipher(cipher(name)), &path), Some(ErrorKind::WrongKey));
    }
}
