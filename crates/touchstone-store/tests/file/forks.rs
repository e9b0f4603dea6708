//! The child of a fork has a copy of an open store, without its threads and its locks: it is told, and hurts nobody.
#![cfg(unix)]

use super::{Task, alone, kind, task, ways};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use touchstone_store::{ErrorKind, Options, Store};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn alarm(seconds: u32) -> u32;
    fn _exit(code: i32) -> !;
}

const FORKED: Option<ErrorKind> = Some(ErrorKind::Forked);

/// A child of this process.
struct Forked(i32);

impl Forked {
    /// Lets a child do it, and end. One that waits for ever is killed by the system.
    fn does(work: impl FnOnce()) -> Forked {
        // SAFETY: the child has this thread alone, and ends without what others have left.
        match unsafe { fork() } {
            0 => {
                // SAFETY: it only sets a clock.
                unsafe { alarm(60) };
                let is_done = catch_unwind(AssertUnwindSafe(work)).is_ok();
                // SAFETY: the process has nothing more to do.
                unsafe { _exit(i32::from(!is_done)) }
            }
            child => Forked(child),
        }
    }

    fn ends_well(self) {
        let mut status = 0;
        // SAFETY: it is this process's child.
        assert_eq!(unsafe { waitpid(self.0, &raw mut status, 0) }, self.0);
        assert_eq!(status, 0, "the child has failed");
    }
}

/// What the child has of it, to let go of: the parent's stays with the parent.
fn own<T>(parents: &T) -> T {
    // SAFETY: the child ends without letting go of it again.
    unsafe { std::ptr::read(parents) }
}

/// It worked by luck, with the parent's snapshots and without its locks.
#[test]
fn a_child_is_told_and_its_parent_goes_on() {
    alone("forks::a_child_is_told_and_its_parent_goes_on", |directory| {
        for (number, options) in ways().into_iter().enumerate() {
            let path = directory.join(format!("{number}.db"));
            let store = options.clone().checkpoint_pages(1).open(&path).expect("it opens");
            store.insert_all(&[task(0, "one"), task(1, "two")]).expect("it is written");
            let feed = store.feed().expect("there are threads");
            let watched = feed.query::<Task>().watch_count().expect("it is readable");
            // Enough for the keeper to be there, and idle connections with their snapshots.
            for _ in 0..20 {
                store.all::<Task>().expect("it is readable");
            }
            let snapshot = store.snapshot().expect("it is readable");
            let mut begun = store.begin().expect("nobody else writes");
            begun.with(|transaction| transaction.insert(&task(2, "begun"))).expect("it is written");

            Forked::does(|| {
                assert_eq!(kind(store.get::<Task>(&1)), FORKED);
                assert_eq!(kind(store.all::<Task>()), FORKED);
                assert_eq!(kind(store.insert(&task(5, "the child's"))), FORKED);
                assert_eq!(
                    kind(store.write(|transaction| transaction.insert(&task(6, "the child's")))),
                    FORKED
                );
                assert_eq!(kind(store.snapshot()), FORKED);
                assert_eq!(kind(store.begin()), FORKED);
                assert_eq!(kind(store.feed()), FORKED);
                assert_eq!(kind(store.wait_delivered()), FORKED);
                assert_eq!(kind(store.backup(directory.join("copy"))), FORKED);
                assert_eq!(kind(snapshot.of::<Task>().count()), FORKED);
                assert_eq!(kind(snapshot.sql(|sql| sql.execute_batch("select 1"))), FORKED);
                assert_eq!(kind(feed.next()), FORKED);
                assert_eq!(kind(feed.next_within(Duration::MAX)), FORKED);
                assert_eq!(kind(feed.query::<Task>().watch()), FORKED);
                let inserted = begun.with(|transaction| transaction.insert(&task(7, "the child's")));
                assert_eq!(kind(inserted), FORKED);
                assert_eq!(kind(begun.savepoint()), FORKED);
                assert_eq!(kind(own(&begun).commit()), FORKED);
                let told = store.get::<Task>(&1).expect_err("it is told").to_string();
                assert!(told.contains("after the fork"), "{told}");
                // Threads that are not there are not waited for, and the log is left alone.
                drop((own(&watched), own(&feed), own(&snapshot), own(&store)));
            })
            .ends_well();

            begun.commit().expect("it is the parent's");
            let batch = feed.next().expect("it goes on").expect("it was changed");
            assert_eq!(batch.get(watched.id()).expect("it is watched").count().expect("it is readable"), 3);
            assert_eq!(snapshot.of::<Task>().count().expect("it is readable"), 2);
            store.insert(&task(3, "the parent's")).expect("it is written");
            let again = options.open(&path).expect("it opens");
            assert_eq!(again.all::<Task>().expect("it is readable").len(), 4);
            assert!(again.check().records::<Task>().run().expect("it is readable").is_whole());
        }
    });
}

/// The child's copy of a transaction was undone in the memory that it shares with its parent, or committed.
#[test]
fn a_fork_within_a_transaction_leaves_it_to_the_parent() {
    alone("forks::a_fork_within_a_transaction_leaves_it_to_the_parent", |directory| {
        for (number, options) in ways().into_iter().enumerate() {
            let path = directory.join(format!("{number}.db"));
            let store = options.clone().open(&path).expect("it opens");
            store.insert(&task(0, "one")).expect("it is written");
            let written = store.write(|transaction| {
                let many: Vec<Task> = (1..500).map(|id| task(id, &"many words ".repeat(100))).collect();
                transaction.insert_all(&many)?;
                Forked::does(|| {
                    assert_eq!(kind(transaction.of::<Task>().count()), FORKED);
                    assert_eq!(kind(transaction.savepoint(|_| Ok(()))), FORKED);
                    assert_eq!(kind(transaction.sql(|sql| sql.execute_batch("rollback"))), FORKED);
                    assert_eq!(kind(store.insert(&task(501, "the child's"))), FORKED);
                    drop(own(&store));
                })
                .ends_well();
                Ok(())
            });
            written.expect("it is written");
            assert_eq!(store.all::<Task>().expect("it is readable").len(), 500);
            assert!(store.check().records::<Task>().run().expect("it is readable").is_whole());
        }
    });
}

/// A child that went on behind its parent's transaction committed it.
#[test]
fn a_child_that_comes_out_of_the_transaction_commits_nothing() {
    alone("forks::a_child_that_comes_out_of_the_transaction_commits_nothing", |directory| {
        for fails in [false, true] {
            let path = directory.join(format!("{fails}.db"));
            let store = Store::open(&path).expect("it opens");
            store.insert(&task(0, "one")).expect("it is written");
            let mut child = 0;
            let written = store.write(|transaction| {
                let many: Vec<Task> = (1..500).map(|id| task(id, &"many words ".repeat(100))).collect();
                transaction.insert_all(&many)?;
                // SAFETY: the child has this thread alone, and ends below.
                child = unsafe { fork() };
                if child == 0 {
                    // SAFETY: it only sets a clock.
                    unsafe { alarm(60) };
                    return if fails {
                        Err(touchstone_store::Error::new(ErrorKind::Invalid, "it fails"))
                    } else {
                        Ok(())
                    };
                }
                Forked(child).ends_well();
                Ok(())
            });
            if child == 0 {
                let expected = if fails { Some(ErrorKind::Invalid) } else { FORKED };
                let is_refused = kind(written) == expected && kind(store.all::<Task>()) == FORKED;
                drop(store);
                // SAFETY: the process has nothing more to do.
                unsafe { _exit(i32::from(!is_refused)) };
            }
            written.expect("it is written");
            assert_eq!(store.all::<Task>().expect("it is readable").len(), 500);
            assert!(store.check().records::<Task>().run().expect("it is readable").is_whole());
        }
    });
}

/// A child that went on inside a call of its parent's wrote what the parent had gathered into the parent's log, when it next
/// read there: by then others' frames were in that place.
#[test]
fn a_child_that_goes_on_inside_a_call_writes_nothing_to_its_parents_log() {
    alone("forks::a_child_that_goes_on_inside_a_call_writes_nothing_to_its_parents_log", |directory| {
        for options in ways() {
            go_on_inside(directory, &options, false);
        }
    });
}

/// The statement of such a child fails, and SQLite undoes the transaction for that. It took what its parent had written of another
/// transaction since out of the log's index, which they shared: the parent found what had been there before.
#[test]
fn a_child_that_goes_on_inside_a_call_takes_nothing_out_of_the_index() {
    alone("forks::a_child_that_goes_on_inside_a_call_takes_nothing_out_of_the_index", |directory| {
        for options in ways() {
            go_on_inside(directory, &options, true);
        }
    });
}

/// A child goes on with lent SQL when its parent has undone that transaction, and committed another; or is in the middle of that.
fn go_on_inside(directory: &Path, options: &Options, within: bool) {
    let tasks = |ids: std::ops::Range<i64>, title: &str| -> Vec<Task> {
        ids.map(|id| task(id, &title.repeat(100))).collect()
    };
    let directory = tempfile::tempdir_in(directory).expect("a directory can be made");
    let (path, copy) = (directory.path().join("tasks.db"), directory.path().join("copy.db"));
    let small = options.clone().cache_bytes(100_000).checkpoint_pages(u32::MAX);
    let store = small.open(&path).expect("it opens");
    store.insert_all(&tasks(0..500, "first")).expect("it is written");
    let (mut parents, mut childs) = UnixStream::pair().expect("there are sockets");
    let mut child = None;
    let undone = store.write(|transaction| {
        transaction.insert_all(&tasks(500..1000, "never"))?;
        transaction.sql(|sql| {
            // What the cache has now is not to be written before the child can read.
            let count = "select count(title) from task where title > ''";
            assert_eq!(sql.query_row(count, (), |row| row.get::<_, i64>(0))?, 1000);
            // The parent's half of the child's socket is closed with the closure.
            child = Some(Forked::does(move || {
                childs.read_exact(&mut [0]).expect("the parent has written");
                for _ in 0..2 {
                    assert!(sql.query_row(count, (), |row| row.get::<_, i64>(0)).is_err());
                    assert!(sql.execute("update task set title = 'child'", ()).is_err());
                }
                childs.write_all(b"r").expect("it is heard");
            }));
            Ok(())
        })?;
        Err::<(), _>(touchstone_store::Error::new(ErrorKind::Invalid, "never mind"))
    });
    assert_eq!(kind(undone), Some(ErrorKind::Invalid));
    let mut let_child = || {
        parents.write_all(b"c").expect("it is heard");
        // A child that fails says nothing, and is told of below.
        let _ = parents.read(&mut [0]).expect("it ends");
    };
    let written = store.write(|transaction| {
        transaction.insert_all(&tasks(500..1000, "after"))?;
        if within {
            let_child();
            assert_eq!(transaction.of::<Task>().all()?.len(), 1000);
        }
        Ok(())
    });
    written.expect("it is written");
    if !within {
        let_child();
    }
    for ending in ["", "-wal"] {
        let of = |path: &Path| format!("{}{ending}", path.display());
        std::fs::copy(of(&path), of(&copy)).expect("there is room");
    }
    for store in [store, options.clone().open(&copy).expect("it opens")] {
        assert_eq!(store.all::<Task>().expect("it is readable").len(), 1000);
        let report = store.check().records::<Task>().run().expect("it is readable");
        assert!(report.is_whole(), "{:?}", report.problems());
    }
    child.expect("it was forked").ends_well();
}

/// The locks that the parent had were taken for the child's own: the parent, the last to close the file as far as the
/// system knew, removed the log, and what the child committed then was nobody's.
#[test]
fn a_child_that_opens_the_file_anew_has_locks_of_its_own() {
    alone("forks::a_child_that_opens_the_file_anew_has_locks_of_its_own", |directory| {
        let path = directory.join("tasks.db");
        let store = Store::open(&path).expect("it opens");
        store.insert_all(&[task(0, "one"), task(1, "two")]).expect("it is written");
        let held = store.snapshot().expect("it is readable");
        let (mut parents, mut childs) = UnixStream::pair().expect("there are sockets");
        let childs_path = path.clone();
        // The parent's half of the child's socket is closed with the closure.
        let child = Forked::does(move || {
            let mut byte = [0];
            let own = Options::new().checkpoint_pages(1_000_000).open(&childs_path).expect("it opens");
            assert_eq!(own.all::<Task>().expect("it is readable").len(), 2);
            childs.write_all(b"o").expect("it is heard");
            childs.read_exact(&mut byte).expect("the parent has closed the file");
            own.insert(&task(2, "the child's")).expect("it is written");
            childs.write_all(b"i").expect("it is heard");
            childs.read_exact(&mut byte).expect("the parent has looked");
        });
        let mut byte = [0];
        parents.read_exact(&mut byte).expect("the child has opened the file");
        drop((held, store));
        parents.write_all(b"c").expect("it is heard");
        parents.read_exact(&mut byte).expect("the child has written");
        let again = Store::open(&path).expect("it opens");
        assert_eq!(again.get::<Task>(&2).expect("it is readable"), Some(task(2, "the child's")));
        parents.write_all(b"l").expect("it is heard");
        child.ends_well();
    });
}

/// What another thread had locked when the process forked stayed locked in the child, which waited for ever.
#[test]
fn a_child_opens_a_file_whatever_other_threads_were_about() {
    const FORKS: u32 = 100;
    alone("forks::a_child_opens_a_file_whatever_other_threads_were_about", |directory| {
        let path = directory.join("tasks.db");
        let store = Store::open(&path).expect("it opens");
        store.insert(&task(0, "one")).expect("it is written");
        let missing = directory.join("missing").join("tasks.db");
        let goes_on = AtomicBool::new(true);
        std::thread::scope(|scope| {
            for way in ways().into_iter().cycle().take(4) {
                let (goes_on, missing, path) = (&goes_on, &missing, &path);
                scope.spawn(move || {
                    while goes_on.load(Ordering::Relaxed) {
                        assert!(way.clone().open(missing).is_err());
                        drop(Store::open(path).expect("it opens"));
                    }
                });
            }
            let forked = catch_unwind(AssertUnwindSafe(|| {
                for _ in 0..FORKS {
                    let reads = || {
                        assert_eq!(
                            Store::open(&path)
                                .and_then(|store| store.all::<Task>())
                                .expect("it is readable")
                                .len(),
                            1
                        )
                    };
                    Forked::does(reads).ends_well();
                }
            }));
            goes_on.store(false, Ordering::Relaxed);
            assert!(forked.is_ok(), "a child has failed");
        });
    });
}
