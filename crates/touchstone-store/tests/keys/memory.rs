//! The process's memory after a key was used: all of it that can be written, as the system shows it.
#![cfg(target_os = "linux")]

use crate::secret::{Form, Secret};
use crate::shim::{Call, Fault, Shim};
use crate::{CIPHERS, Note, alone, notes};
use std::fs::File;
use std::hint::black_box;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use touchstone_store::{Cipher, EncryptionKey, Options, Snapshot, Store};

/// What of the memory is read at once, and how much of it again, for what lies across an end.
const WINDOW: usize = 1 << 16;
const OVERLAP: usize = 64;

/// Where the secret is: the mapping, and the form.
fn find(secret: &Secret) -> Vec<(String, Form)> {
    find_in(secret, |_| true)
}

/// The same in some of the mappings.
fn find_in(secret: &Secret, is_searched: impl Fn(Range<u64>) -> bool) -> Vec<(String, Form)> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the system tells");
    let memory = File::open("/proc/self/mem").expect("the system shows it");
    let mut window = vec![0; WINDOW];
    let mut found = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let number = |text: &str| u64::from_str_radix(text, 16).expect("it is a number");
        let (start, end) =
            range.split_once('-').map(|(start, end)| (number(start), number(end))).expect("a range");
        if !rights.starts_with("rw") || !is_searched(start..end) {
            continue;
        }
        for from in (start..end).step_by(WINDOW - OVERLAP) {
            let length = usize::try_from(end - from).map_or(WINDOW, |left| left.min(WINDOW));
            if memory.read_at(&mut window[..length], from).is_ok_and(|read| read == length)
                && let Some(form) = secret.find(&window[..length])
            {
                found.push((line.to_owned(), form));
            }
            // What was found must not be found again, in here.
            window.fill(0);
        }
    }
    found
}

/// Writes over what calls that have returned left on the stack.
#[inline(never)]
fn overwrite_stack(depth: u32) -> u8 {
    let bytes = black_box([depth as u8; 4096]);
    if depth == 0 { bytes[0] } else { overwrite_stack(depth - 1) ^ black_box(&bytes)[17] }
}

/// That none of the secrets is anywhere.
fn check_gone(secrets: &[Secret], about: &str) {
    black_box(overwrite_stack(64));
    for (at, secret) in secrets.iter().enumerate() {
        assert_eq!(find(secret), [], "{about}: the key {at}");
    }
}

#[inline(never)]
fn options(secret: &Secret, cipher: Cipher) -> Options {
    Options::new().key(EncryptionKey::raw(secret.tell())).cipher(cipher)
}

#[inline(never)]
fn words(secret: &Secret, cipher: Cipher) -> Options {
    // The words are made where they stay.
    let mut text = String::with_capacity(32);
    text.extend(secret.tell().map(char::from));
    Options::new().key(EncryptionKey::passphrase(text)).cipher(cipher)
}

#[inline(never)]
fn work(path: &Path, options: Options) {
    let store = options.open(path).expect("it opens");
    store.put_all(&notes()).expect("they are written");
    let snapshots: Vec<_> = (0..3).map(|_| store.snapshot().expect("it begins")).collect();
    for snapshot in &snapshots {
        assert_eq!(snapshot.of::<Note>().all().expect("it is readable"), notes());
    }
    drop(snapshots);
    let copy = path.with_extension("copy");
    store.backup(&copy).expect("there is room");
    std::fs::remove_file(copy).expect("it is there");
}

/// The search must find a key that is in use, or it would prove nothing.
#[test]
fn a_key_is_found_while_it_is_used() {
    alone("memory::a_key_is_found_while_it_is_used", || {
        let directory = tempfile::tempdir().expect("there is room");
        let secret = Secret::new(21);
        let store = options(&secret, Cipher::Aegis).open(directory.path().join("a.db")).expect("it opens");
        store.insert_all(&notes()).expect("they are written");
        assert!(find(&secret).iter().any(|(_, form)| *form == Form::Bytes));
        let digits: String = secret.tell().iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(find(&secret).len() >= 2, "{digits}");
    });
}

#[test]
fn a_key_is_gone_after_closing() {
    alone("memory::a_key_is_gone_after_closing", || {
        for (seed, cipher) in (31..).zip(CIPHERS) {
            let directory = tempfile::tempdir().expect("there is room");
            let secret = Secret::new(seed);
            work(&directory.path().join("a.db"), options(&secret, cipher));
            check_gone(&[secret], &format!("{cipher:?}"));
            let secret = Secret::new(seed + 100);
            work(&directory.path().join("b.db"), words(&secret, cipher));
            check_gone(&[secret], &format!("{cipher:?}, a passphrase"));
        }
    });
}

/// A thread whose stack another searches, in between.
#[derive(Default)]
struct Searched {
    /// An address of the stack while it is to be searched, or 0.
    at: AtomicUsize,
    is_over: AtomicBool,
}

impl Searched {
    /// Lets the other thread search. Little is called here: it would overwrite what is searched.
    #[inline(never)]
    fn wait(&self) {
        let here = 0_u8;
        self.at.store(&raw const here as usize, Ordering::SeqCst);
        while self.at.load(Ordering::SeqCst) != 0 {
            std::hint::spin_loop();
        }
    }

    /// Searches each time that the thread waits, until it is over; what was found each time.
    fn search(&self, secret: &Secret) -> Vec<Vec<(String, Form)>> {
        let mut times = Vec::new();
        while !self.is_over.load(Ordering::SeqCst) {
            let at = self.at.load(Ordering::SeqCst) as u64;
            if at == 0 {
                std::thread::yield_now();
                continue;
            }
            times.push(find_in(secret, |mapping| mapping.contains(&at)));
            self.at.store(0, Ordering::SeqCst);
        }
        times
    }
}

/// SQLCipher's cipher left the key on the stack of each thread that had read or written a page. A thread's stack outlives the
/// store, also where the thread does not.
#[test]
fn no_key_is_left_on_the_stack() {
    alone("memory::no_key_is_left_on_the_stack", || {
        for (seed, cipher) in (61..).zip(CIPHERS) {
            let directory = tempfile::tempdir().expect("there is room");
            let (path, secret) = (directory.path().join("a.db"), Secret::new(seed));
            let searched = Searched::default();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let options = options(&secret, cipher);
                    black_box(overwrite_stack(64));
                    let store = options.open(&path).expect("it opens");
                    searched.wait();
                    store.put_all(&notes()).expect("they are written");
                    searched.wait();
                    let other = self::options(&secret, cipher);
                    black_box(overwrite_stack(64));
                    // Its pages are not in memory yet.
                    let other = other.open(&path).expect("it opens");
                    let look = |snapshot: &Snapshot| {
                        snapshot.query::<Note>().each(|note| {
                            searched.wait();
                            Ok(note.id < 3)
                        })
                    };
                    other.read(look).expect("it is readable");
                    drop(other);
                    let third = self::options(&secret, cipher);
                    black_box(overwrite_stack(64));
                    let third = third.open(&path).expect("it opens");
                    // Between the read of a page and the row that SQLite then gives, little is called.
                    let stepped = |snapshot: &Snapshot| {
                        snapshot.sql(|sql| {
                            sql.query_row("select id from Note", [], |_| {
                                searched.wait();
                                Ok(())
                            })
                        })
                    };
                    third.read(stepped).expect("it is readable");
                    drop((store, third));
                    searched.wait();
                    searched.is_over.store(true, Ordering::SeqCst);
                });
                assert_eq!(searched.search(&secret), vec![Vec::new(); 8], "{cipher:?}");
            });
        }
    });
}

#[test]
fn keys_are_gone_after_a_change() {
    alone("memory::keys_are_gone_after_a_change", || {
        for (seed, cipher) in (41..).zip(CIPHERS) {
            let directory = tempfile::tempdir().expect("there is room");
            let path = directory.path().join("a.db");
            let [old, new, last] = [0, 100, 200].map(|more| Secret::new(seed + more));
            work(&path, options(&old, cipher));
            Store::change_key(&path, options(&old, cipher), options(&new, cipher)).expect("it is changed");
            check_gone(&[old, new], &format!("{cipher:?}"));
            Store::change_key(&path, options(&new, cipher), words(&last, cipher)).expect("it is changed");
            check_gone(&[new, last], &format!("{cipher:?}, to a passphrase"));
            Store::change_key(&path, words(&last, cipher), Options::new()).expect("it is changed");
            Store::change_key(&path, Options::new(), options(&old, cipher)).expect("it is changed");
            check_gone(&[old, last], &format!("{cipher:?}, to none and back"));
        }
    });
}

#[test]
fn keys_are_gone_after_failures() {
    alone("memory::keys_are_gone_after_failures", || {
        let shim = Shim::register(false, false);
        for (seed, cipher) in (51..).zip(CIPHERS) {
            let directory = tempfile::tempdir().expect("there is room");
            let path = directory.path().join("a.db");
            let [old, new] = [0, 100].map(|more| Secret::new(seed + more));
            work(&path, options(&old, cipher));
            assert!(options(&new, cipher).open(&path).is_err());
            assert!(words(&new, cipher).open(&path).is_err());
            assert!(Store::change_key(&path, options(&new, cipher), options(&old, cipher)).is_err());
            check_gone(&[old, new], &format!("{cipher:?}, refused"));
            let mut failed = 0;
            let faults: [&'static [Call]; 3] = [&[Call::Open], &[Call::Write], &[Call::Read]];
            for (calls, after) in faults.iter().flat_map(|calls| [0, 2, 5, 9].map(|after| (*calls, after))) {
                shim.fail(Fault { calls, file: "", after, lasting: true, full: true });
                let through = |options: Options| options.vfs(shim.name());
                let result =
                    Store::change_key(&path, through(options(&old, cipher)), through(options(&new, cipher)));
                shim.heal();
                check_gone(&[old, new], &format!("{cipher:?}, {calls:?} {after}"));
                match result {
                    Ok(()) => {
                        Store::change_key(&path, options(&new, cipher), options(&old, cipher)).expect("back")
                    }
                    Err(_) => failed += 1,
                }
            }
            assert!(failed > 5, "{cipher:?}: only {failed} failed");
        }
    });
}
