//! Files that are no stores, or not of this library's time.

use super::{Note, goes_on, kind, note, place};
use touchstone_store::{EncryptionKey, ErrorKind, Options, Store};

#[test]
fn a_foreign_sqlite_file_is_refused_and_left_as_it_is() {
    for sql in
        ["create table t (a)", "pragma journal_mode = wal; create table t (a)", "pragma application_id = 7"]
    {
        let place = place();
        place.plain().execute_batch(sql).expect("the file is made");
        let before = std::fs::read(&place.path).expect("it is there");
        assert_eq!(kind(Store::open(&place.path)), ErrorKind::Foreign);
        assert_eq!(kind(Options::new().read_only(true).open(&place.path)), ErrorKind::Foreign);
        assert_eq!(std::fs::read(&place.path).expect("it is there"), before, "{sql}");
    }
}

#[test]
fn what_is_no_sqlite_file_is_refused_and_left_as_it_is() {
    for text in ["hello".to_owned(), "line\n".repeat(1000), "SQLite format 3".to_owned(), "\0".repeat(8192)] {
        let place = place();
        std::fs::write(&place.path, &text).expect("the file is made");
        assert_eq!(kind(Store::open(&place.path)), ErrorKind::Foreign, "{text:.20}");
        assert_eq!(kind(Options::new().cache_bytes(10_000).open(&place.path)), ErrorKind::Foreign);
        assert_eq!(kind(Options::new().read_only(true).open(&place.path)), ErrorKind::Foreign);
        assert_eq!(std::fs::read_to_string(&place.path).expect("it is there"), text);
    }
}

/// A program that may ask for a passphrase could not tell when. A file of noise might have one; a photo has none, also one
/// whose length is that of pages.
#[test]
fn what_may_be_encrypted_is_told_from_what_is_not() {
    let place = place();
    let options = Options::new().key(EncryptionKey::raw([7; 32]));
    options.open(&place.path).expect("the store opens").insert(&note(1)).expect("it goes in");
    let encrypted = std::fs::read(&place.path).expect("the file is there");
    let photo = [b"\xff\xd8\xff\xe0".as_slice(), &encrypted[4..]].concat();
    let text = b"It is a truth universally acknowledged. ".repeat(1024);
    assert_eq!(text.len() % 4096, 0);
    for (bytes, expected) in [
        (&encrypted[..], ErrorKind::Encrypted),
        (&encrypted[..4096], ErrorKind::Encrypted),
        (&encrypted[..4095], ErrorKind::Foreign),
        (&photo, ErrorKind::Foreign),
        (&text, ErrorKind::Foreign),
    ] {
        std::fs::write(&place.path, bytes).expect("the file is written");
        for options in [Options::new(), Options::new().read_only(true), Options::new().cache_bytes(10_000)] {
            assert_eq!(kind(options.open(&place.path)), expected);
        }
        assert_eq!(std::fs::read(&place.path).expect("it is there"), bytes, "it is left as it is");
    }
}

#[test]
fn an_empty_file_becomes_a_store() {
    let place = place();
    std::fs::write(&place.path, "").expect("the file is made");
    goes_on(&place.open());
    goes_on(&place.open());
}

#[test]
fn what_is_not_there_is_not_found() {
    let place = place();
    assert_eq!(kind(Store::open(place.path.join("file"))), ErrorKind::NotFound);
    assert_eq!(kind(Options::new().create(false).open(&place.path)), ErrorKind::NotFound);
    assert_eq!(kind(Options::new().read_only(true).open(&place.path)), ErrorKind::NotFound);
    goes_on(&place.open());
}

/// It was told as a file that is not there, and to read only as a disk that fails.
#[test]
fn a_directory_is_told_as_one() {
    let place = place();
    let directory = place.path.parent().expect("it lies in a directory");
    let key = EncryptionKey::passphrase("words");
    let opened = [
        Options::new(),
        Options::new().create(false),
        Options::new().read_only(true),
        Options::new().key(key.clone()),
        Options::new().key(key).read_only(true),
    ]
    .map(|options| options.open(directory).map(drop));
    let others = [
        Store::change_key(directory, Options::new(), Options::new()),
        Store::salvage(directory, Options::new(), &place.path).map(drop),
    ];
    for refused in opened.into_iter().chain(others) {
        let error = refused.expect_err("a directory is no file");
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains("it is a directory"), "{error}");
    }
    goes_on(&place.open());
}

#[test]
fn a_store_that_only_reads_says_how_it_is_opened_to_write() {
    let place = place();
    place.open().insert(&note(1)).expect("it goes in");
    let store = Options::new().read_only(true).open(&place.path).expect("it opens");
    let error = store.insert(&note(2)).expect_err("it was opened to read only");
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    assert!(error.to_string().contains("`Options::read_only`"), "{error}");
}

/// A directory that is there was told as one that is not. Nobody may make a file in this one, whoever runs the test.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_is_there_is_found() {
    assert_eq!(kind(Store::open("/proc/touchstone.db")), ErrorKind::Io);
    assert_eq!(kind(Options::new().create(false).open("/proc/touchstone.db")), ErrorKind::NotFound);
    assert_eq!(kind(Options::new().read_only(true).open("/proc/touchstone.db")), ErrorKind::NotFound);
}

/// It was told that the file system may be a network's.
#[test]
fn what_names_no_file_is_invalid() {
    for name in ["", ":memory:"] {
        assert_eq!(kind(Store::open(name)), ErrorKind::Invalid, "`{name}`");
    }
}

#[test]
fn a_message_says_once_which_file_it_is() {
    let error = Store::open("/no/such/directory/file").expect_err("there is no such directory");
    assert_eq!(error.to_string().matches("opening ").count(), 1, "{error}");
}

#[test]
fn a_file_of_a_newer_version_is_refused_and_left_as_it_is() {
    let place = place();
    place.open().insert(&note(1)).expect("it goes in");
    place.plain().execute_batch("pragma user_version = 2").expect("the version is set");
    assert_eq!(kind(Store::open(&place.path)), ErrorKind::Newer);
    assert_eq!(kind(Options::new().read_only(true).open(&place.path)), ErrorKind::Newer);
    place.plain().execute_batch("pragma user_version = 1").expect("the version is set");
    assert_eq!(place.open().all::<Note>().expect("nothing was lost"), [note(1)]);
}

/// A text is read where it lies, as UTF-8: a file whose text is another's would give nonsense.
#[test]
fn a_file_of_utf_16_is_refused() {
    // The second says that it is a store.
    let own = place();
    own.open();
    let application: i64 =
        own.plain().query_row("pragma application_id", (), |row| row.get(0)).expect("it has one");
    for application in [0, application] {
        let place = place();
        let made = format!(
            "pragma encoding = 'UTF-16le'; pragma application_id = {application}; pragma user_version = 1; \
             create table t (a); drop table t"
        );
        place.plain().execute_batch(&made).expect("the file is made");
        let error = Store::open(&place.path).map(drop).expect_err("it cannot be read");
        assert_eq!(error.kind(), ErrorKind::Foreign, "{error}");
        assert_eq!(error.to_string().contains("UTF-16"), application != 0, "{error}");
    }
}

/// Where the size of the cache was given, the key's error was told as a foreign file's.
#[test]
fn a_wrong_key_is_a_wrong_key_with_any_options() {
    let place = place();
    let open = |words: &str| {
        Options::new().key(EncryptionKey::passphrase(words)).cache_bytes(100_000).open(&place.path)
    };
    open("right").expect("the store opens").insert(&note(1)).expect("it goes in");
    assert_eq!(kind(open("wrong")), ErrorKind::WrongKey);
    assert_eq!(kind(Store::open(&place.path)), ErrorKind::Encrypted);
    assert_eq!(open("right").expect("the store opens").all::<Note>().expect("it is read"), [note(1)]);
}

#[test]
fn options_that_cannot_be_are_refused() {
    let place = place();
    for bytes in [0, 1, 511, 1000, 131_072] {
        assert_eq!(kind(Options::new().page_size(bytes).open(&place.path)), ErrorKind::Invalid);
    }
    assert_eq!(kind(Options::new().key(EncryptionKey::passphrase("")).open(&place.path)), ErrorKind::Invalid);
    assert!(!place.path.exists());
}
