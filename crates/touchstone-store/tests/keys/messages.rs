//! Failing changes of a key, by their messages and by what SQLite has logged meanwhile.

use crate::secret::Secret;
use crate::shim::{Call, Fault, Shim};
use crate::{CIPHERS, Note, alone, notes};
use libsqlite3_sys as ffi;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Mutex;
use touchstone_store::{Cipher, EncryptionKey, ErrorKind, Options, Store};

/// What SQLite has logged.
static LOGGED: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

unsafe extern "C" fn log(_: *mut c_void, _: c_int, message: *const c_char) {
    // SAFETY: SQLite passes a text that ends with a zero.
    let message = unsafe { CStr::from_ptr(message) }.to_bytes().to_vec();
    LOGGED.lock().expect("nobody panics with it").push(message);
}

/// Has SQLite log to this test: before anything else of it is used.
fn listen() {
    // SAFETY: SQLite is not initialized yet, and calls the function with the values that it says.
    let code = unsafe {
        let log: unsafe extern "C" fn(*mut c_void, c_int, *const c_char) = log;
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_LOG, log, ptr::null_mut::<c_void>())
    };
    assert_eq!(code, ffi::SQLITE_OK);
}

/// What was logged since this was last asked.
fn logged() -> Vec<Vec<u8>> {
    std::mem::take(&mut LOGGED.lock().expect("nobody panics with it"))
}

/// A change from one key to another.
struct Change {
    keys: [Secret; 2],
    ciphers: [Option<Cipher>; 2],
}

impl Change {
    fn options(&self, at: usize) -> Options {
        match self.ciphers[at] {
            Some(cipher) => Options::new().key(EncryptionKey::raw(self.keys[at].tell())).cipher(cipher),
            None => Options::new(),
        }
    }

    /// Makes the change, and looks for the keys in all that is told of it; whether it failed.
    fn fails(&self, path: &Path, shim: Option<&Shim>) -> Option<ErrorKind> {
        let through = |options: Options| match shim {
            Some(shim) => options.vfs(shim.name()),
            None => options,
        };
        logged();
        let result = Store::change_key(path, through(self.options(0)), through(self.options(1)));
        let mut told = logged();
        if let Err(error) = &result {
            told.extend([error.to_string().into_bytes(), format!("{error:?}").into_bytes()]);
        }
        for text in &told {
            for key in &self.keys {
                assert_eq!(key.find(text), None, "{}", String::from_utf8_lossy(text));
            }
        }
        result.err().map(|error| error.kind())
    }
}

/// From each kind of file to each, with a key or none.
fn changes() -> Vec<Change> {
    let kinds = [None, Some(CIPHERS[0]), Some(CIPHERS[1])];
    let pairs = kinds.iter().flat_map(|from| kinds.iter().map(move |to| [*from, *to]));
    pairs.map(|ciphers| Change { keys: [Secret::new(11), Secret::new(12)], ciphers }).collect()
}

/// A path of so many bytes, whose folders are there.
fn path_of(directory: &Path, length: usize) -> PathBuf {
    let mut path = directory.to_owned();
    let used = |path: &Path| path.as_os_str().len();
    while length - used(&path) > 200 {
        path.push("folder".repeat(15));
    }
    std::fs::create_dir_all(&path).expect("there is room");
    path.push("f".repeat(length - used(&path) - 1));
    assert_eq!(used(&path), length);
    path
}

/// SQLite's name for a file has at most 512 bytes. The store's own has room, and that of the new file beside it has not:
/// its URI was told, with the key in it.
#[test]
fn a_name_that_is_too_long_for_the_new_file_tells_no_key() {
    alone("messages::a_name_that_is_too_long_for_the_new_file_tells_no_key", || {
        listen();
        let directory = tempfile::tempdir().expect("there is room");
        let mut failed = 0;
        for change in changes() {
            for length in [480, 497, 500, 504] {
                let path = path_of(directory.path(), length);
                let store = change.options(0).open(&path).expect("it opens");
                store.insert_all(&notes()).expect("they are written");
                drop(store);
                let kind = change.fails(&path, None);
                failed += usize::from(kind.is_some());
                let left = if kind.is_some() { 0 } else { 1 };
                let store = change.options(left).open(&path).expect("it is the old one, or the new one");
                assert_eq!(store.all::<Note>().expect("it is readable"), notes());
                drop(store);
                std::fs::remove_file(&path).expect("nobody has it open");
            }
        }
        assert!(failed >= 27, "only {failed} of the long names failed");
    });
}

/// Makes the first of those calls fail, then the second, and so on to the last that a change makes.
fn fail_each(change: &Change, calls: &'static [Call], full: bool) {
    let shim = Shim::register(false, false);
    let mut after = 0;
    loop {
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join("notes.db");
        change.options(0).open(&path).expect("it opens").insert_all(&notes()).expect("they are written");
        shim.fail(Fault { calls, file: "", after, lasting: false, full });
        let kind = change.fails(&path, Some(shim));
        if shim.heal() == 0 {
            assert_eq!(kind, None);
            break;
        }
        let left = if kind.is_some() { 0 } else { 1 };
        let store = change.options(left).open(&path).expect("it is the old one, or the new one");
        assert_eq!(store.all::<Note>().expect("it is readable"), notes());
        after += 1;
    }
    println!("{calls:?}: {after} calls failed");
}

/// No room, no descriptors, a folder that is gone, a disk that fails.
#[test]
fn whatever_call_fails_tells_no_key() {
    alone("messages::whatever_call_fails_tells_no_key", || {
        listen();
        // Each kind of file once from another, and to another.
        let to_another =
            |change: &Change| change.ciphers[0] != change.ciphers[1] && change.ciphers[1].is_some();
        for change in changes().into_iter().filter(to_another) {
            fail_each(&change, &[Call::Open, Call::Access, Call::Delete], false);
            fail_each(&change, &[Call::Write], true);
            fail_each(&change, &[Call::Read, Call::Size], false);
            fail_each(&change, &[Call::Lock, Call::Truncate, Call::Sync], false);
        }
    });
}

/// The new file's name is too long, or the folder is gone, or the key is another.
#[test]
fn what_is_in_the_way_tells_no_key() {
    alone("messages::what_is_in_the_way_tells_no_key", || {
        listen();
        for change in changes() {
            let directory = tempfile::tempdir().expect("there is room");
            // No file system has room for a name that is longer by a number.
            let path = directory.path().join("n".repeat(240));
            change.options(0).open(&path).expect("it opens").insert_all(&notes()).expect("they are written");
            assert_eq!(change.fails(&path, None), Some(ErrorKind::Io));
            let path = directory.path().join("notes.db");
            change.options(0).open(&path).expect("it opens").insert_all(&notes()).expect("they are written");
            let gone = directory.path().join("gone").join("notes.db");
            assert_eq!(change.fails(&gone, None), Some(ErrorKind::NotFound));
            let another = Change { keys: [Secret::new(13), change.keys[1]], ciphers: change.ciphers };
            assert_eq!(another.fails(&path, None).is_some(), change.ciphers[0].is_some());
        }
    });
}
