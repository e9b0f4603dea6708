//! Makes the n-th call of each kind fail, for every n of a fixed run: opening, writing, reading, closing. Every failure
//! is an error that says what it is, the store can be used after it, and what it holds is what was acknowledged.

mod gathered;
mod lasting;
#[path = "../process/mod.rs"]
mod process;
mod processes;
#[path = "../shim/mod.rs"]
mod shim;
#[path = "../workload/mod.rs"]
mod workload;

use shim::{Call, Fault, Shim};
use std::path::Path;
use touchstone_store::{Durability, Error, ErrorKind, Options, Store};
use workload::{KINDS, check_whole, states, step, steps_held};

/// Every kind of step, and each again where the tables and collections are there already.
const STEPS: u64 = 2 * KINDS;
const FILE: &str = "failing.db";
const LOG: &str = "failing.db-wal";
/// SQLite's code of what the system failed to do, without its extension.
const IO: i32 = 10;

fn memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("there is room")
}

/// One writer of a store whose calls may fail.
struct Run {
    shim: &'static Shim,
    options: Options,
    directory: tempfile::TempDir,
    store: Option<Store>,
    /// Steps that the store holds.
    held: u64,
    about: String,
}

impl Run {
    fn new(shim: &'static Shim, options: &Options, about: String) -> Run {
        let options = options.clone().vfs(shim.name());
        Run { shim, options, directory: memory(), store: None, held: 0, about }
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join(FILE)
    }

    /// Opens the store; where that fails, once more.
    fn open(&mut self) {
        self.store = None;
        let opened = self.options.clone().open(self.path()).or_else(|error| {
            self.expect(&error);
            self.options.clone().open(self.path())
        });
        self.store = Some(opened.unwrap_or_else(|error| panic!("{}: reopening: {error:?}", self.about)));
    }

    fn store(&self) -> &Store {
        self.store.as_ref().expect("it was opened")
    }

    /// A failure that was made is told as what it is.
    fn expect(&self, error: &Error) {
        assert!(self.shim.failures() > 0, "{}: nothing was made to fail: {error:?}", self.about);
        let kinds = [ErrorKind::Full, ErrorKind::Io, ErrorKind::Unflushed, ErrorKind::NotFound];
        assert!(kinds.contains(&error.kind()), "{}: {error:?}", self.about);
        // A disk's failure was told in three words, whatever it was.
        let is_of_the_disk = error.sqlite_code().is_some_and(|code| code & 0xff == IO);
        assert!(!is_of_the_disk || error.to_string().contains("(the system "), "{}: {error:?}", self.about);
    }

    /// Takes the next step; where that fails, looks what the store holds, and goes on from there.
    fn step(&mut self) {
        let Err(error) = step(0, self.held).run(self.store()) else {
            self.held += 1;
            return;
        };
        self.expect(&error);
        if error.kind() == ErrorKind::Unflushed {
            let again = step(0, self.held).run(self.store()).expect_err("the log cannot be relied on");
            assert_eq!(again.kind(), ErrorKind::Unflushed);
            self.open();
        }
        self.look(self.held + 1);
        if let Err(error) = step(0, self.held).run(self.store()) {
            panic!("{}: the store cannot be used after a failure: {error:?}", self.about);
        }
        self.held += 1;
    }

    /// Looks at what the store holds: every step so far, and none after `most`.
    fn look(&mut self, most: u64) {
        let found = states(self.store(), 1).or_else(|error| {
            self.expect(&error);
            states(self.store(), 1)
        });
        let found = found.unwrap_or_else(|error| panic!("{}: reading again: {error:?}", self.about));
        self.held =
            steps_held(0, &found[0], self.held, most).unwrap_or_else(|why| panic!("{}: {why}", self.about));
    }

    /// Closes the store, and looks at the file without the shim. How many calls failed.
    fn end(mut self) -> u64 {
        self.store = None;
        let failures = self.shim.heal();
        let store = reopen(&self.path(), &self.about);
        let found = states(&store, 1).unwrap_or_else(|error| panic!("{}: {error:?}", self.about));
        steps_held(0, &found[0], self.held, self.held)
            .unwrap_or_else(|why| panic!("{}: at the end: {why}", self.about));
        check_whole(&store);
        failures
    }
}

fn reopen(path: &Path, about: &str) -> Store {
    Store::open(path).unwrap_or_else(|error| panic!("{about}: at the end: {error:?}"))
}

/// Makes the first of those calls fail, then the second, and so on to the last that the run makes.
fn fail_each(options: &Options, exclusive: bool, calls: &'static [Call], full: bool) {
    let shim = Shim::register(exclusive, false);
    // The keeper's calls would come in between where they like: it is tested below.
    let options = options.clone().exclusive(exclusive).checkpoint_pages(u32::MAX);
    let mut after = 0;
    loop {
        let mut run = Run::new(shim, &options, format!("{calls:?}, full: {full}, the one after {after}"));
        shim.fail(Fault { calls, file: "", after, lasting: false, full });
        run.open();
        while run.held < STEPS {
            run.step();
            if run.held.is_multiple_of(KINDS) {
                run.look(run.held);
            }
        }
        if run.end() == 0 {
            break;
        }
        after += 1;
    }
    println!("{calls:?}, exclusive: {exclusive}, full: {full}: {after} calls failed, one in each run");
    assert!(after > 0);
}

fn strict() -> Options {
    Options::new().durability(Durability::Strict)
}

#[test]
fn any_write_may_find_the_disk_full() {
    fail_each(&strict(), false, &[Call::Write], true);
}

#[test]
fn any_write_may_fail() {
    fail_each(&strict(), false, &[Call::Write], false);
    fail_each(&Options::new(), true, &[Call::Write], false);
}

#[test]
fn any_sync_may_fail() {
    fail_each(&strict(), false, &[Call::Sync], false);
    fail_each(&strict(), true, &[Call::Sync], false);
    fail_each(&Options::new(), false, &[Call::Sync], false);
    fail_each(&strict(), false, &[Call::Sync], true);
}

#[test]
fn any_read_may_fail() {
    fail_each(&Options::new(), false, &[Call::Read], false);
    fail_each(&Options::new(), true, &[Call::Read], false);
}

#[test]
fn any_opening_may_fail() {
    fail_each(&strict(), false, &[Call::Open, Call::Access, Call::Delete], false);
}

#[test]
fn any_truncation_or_question_for_the_size_may_fail() {
    fail_each(&strict(), false, &[Call::Truncate, Call::Size], false);
}

#[test]
fn any_lock_may_fail() {
    fail_each(&Options::new(), false, &[Call::Lock, Call::LockIndex], false);
}

#[test]
fn the_index_of_the_log_may_not_be_mapped() {
    fail_each(&Options::new(), false, &[Call::MapIndex], false);
    fail_each(&Options::new(), true, &[Call::MapIndex], false);
}
