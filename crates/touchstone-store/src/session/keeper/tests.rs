//! What the keeper does: it copies the log, makes writers wait and the log restart, and lets snapshots expire.

use super::*;
use crate::{ErrorKind, Record, Store};

#[derive(Record)]
struct Note {
    #[record(key)]
    id: i64,
}

fn notes(ids: std::ops::Range<i64>) -> Vec<Note> {
    ids.map(|id| Note { id }).collect()
}

/// A store with these notes that has no keeper.
fn store(options: Options, ids: std::ops::Range<i64>) -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().expect("there is room");
    let store = open_without_keeper(&directory, options);
    store.insert_all(&notes(ids)).expect("it is written");
    (directory, store)
}

fn open(directory: &tempfile::TempDir, options: Options) -> Store {
    options.open(directory.path().join("notes.db")).expect("it opens")
}

/// Opens a store in which a thread that has ended takes the place of the keeper's: the test does its work.
fn open_without_keeper(directory: &tempfile::TempDir, options: Options) -> Store {
    let store = open(directory, options);
    *lock(&store.keeper().thread) = Some(std::thread::spawn(|| ()));
    store
}

fn wait_until(is_over: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_over() {
        assert!(Instant::now() < end, "it does not come to it");
        std::thread::yield_now();
    }
}

/// Lets the keeper checkpoint; returns how writers have waited for it.
fn tries(store: &Store, copier: &mut Option<Copier>) -> Option<Tried> {
    let keeper = &store.keeper().shared;
    keeper.checkpoint(copier);
    *lock(&keeper.tried)
}

fn is_running(store: &Store) -> bool {
    lock(&store.keeper().thread).is_some()
}

fn send_away(store: &Store) {
    lock(&store.keeper().thread).take();
}

/// Regression: the keeper's connection had never read, so it did not know of the log and copied nothing. The log
/// grew until the store was closed.
#[test]
fn the_keeper_copies_the_log() {
    let (_directory, store) = store(Options::new(), 1..3);
    tries(&store, &mut None);
    assert_eq!(store.keeper().shared.new_frames(), Some(0));
}

/// Regression: a second flush would have reported success, and the restarted log would have overwritten the only
/// copy of pages that the disk lacks.
#[test]
fn after_a_failed_flush_the_log_stays_as_it_is() {
    let (directory, store) = store(Options::new(), 1..3);
    let (keeper, mut copier) = (&store.keeper().shared, None);
    keeper.checkpoint(&mut copier);
    let index = keeper.index.clone().expect("there is one");
    assert_ne!(index.copied_frames(), 0);
    let failed = Error::sqlite(ffi::SQLITE_IOERR_FSYNC, format_args!("the disk does not answer"));
    keeper.lose(&copier.as_ref().expect("it has copied").connection, &failed);
    assert_eq!(index.copied_frames(), 0, "whichever process looks");
    let refused = store.insert(&Note { id: 3 }).expect_err("it would be behind what may be lost");
    assert_eq!(refused.kind(), ErrorKind::Unflushed);
    keeper.checkpoint(&mut copier);
    assert_eq!(index.copied_frames(), 0);
    let log = directory.path().join("notes.db-wal");
    drop(store);
    assert!(std::fs::metadata(log).expect("it is there").len() > 0);
    let store = open(&directory, Options::new());
    assert_eq!(store.all::<Note>().expect("they are read").len(), 2);
    store.insert(&Note { id: 3 }).expect("a store that was opened anew commits");
}

/// Pages that were copied before the failed flush of the file are copied again.
#[test]
fn a_file_that_could_not_be_flushed_is_written_again() {
    let (_directory, store) = store(Options::new(), 1..3);
    let (keeper, mut copier) = (&store.keeper().shared, None);
    keeper.checkpoint(&mut copier);
    assert_eq!(keeper.new_frames(), Some(0));
    keeper.uncopy(&copier.as_ref().expect("it has copied").connection);
    assert!(keeper.new_frames() > Some(0), "nothing counts as copied");
    keeper.checkpoint(&mut copier);
    assert_eq!(keeper.new_frames(), Some(0));
    store.insert(&Note { id: 3 }).expect("commits go on");
}

/// Regression: the keeper copied a log that no other process could see over commits that others had made meanwhile.
#[cfg(unix)]
#[test]
fn the_keeper_copies_no_log_that_is_gone() {
    let (directory, store) = store(Options::new(), 1..3);
    let (keeper, mut connection) = (&store.keeper().shared, None);
    keeper.checkpoint(&mut connection);
    // It has a page, and the log restarts.
    store.insert(&Note { id: 3 }).expect("it is written");
    let left = keeper.new_frames();
    assert!(left > Some(0));
    std::fs::remove_file(directory.path().join("notes.db-wal")).expect("it is there");
    keeper.checkpoint(&mut connection);
    assert_eq!(keeper.new_frames(), left);
}

/// Regression: the snapshot went on, and showed some pages as other processes had changed them since.
#[cfg(unix)]
#[test]
fn a_snapshot_ends_where_the_log_is_gone() {
    let (directory, store) = store(Options::new(), 1..3);
    let snapshot = store.snapshot().expect("it is readable");
    std::fs::remove_file(directory.path().join("notes.db-wal")).expect("it is there");
    store.keeper().shared.look(&mut Vec::new());
    let error = snapshot.of::<Note>().count().expect_err("others may change what it reads");
    assert_eq!(error.kind(), ErrorKind::Expired);
}

/// Regression: one transaction had made the log longer than its limit. A snapshot that was taken afterwards expired
/// although no thread wrote, and its error advised shorter snapshots.
#[test]
fn a_snapshot_expires_for_what_is_committed_after_it_and_for_nothing_before() {
    let (_directory, store) = store(Options::new().log_bytes_max(50_000), 0..20_000);
    let snapshot = store.snapshot().expect("it is readable");
    let count = || snapshot.of::<Note>().count();
    let tried = tries(&store, &mut None).expect("the log is beyond its limit");
    assert!(tried.is_failed, "the snapshot is of the log's end");
    assert_eq!(count().expect("nobody has written"), 20_000);
    store.insert(&Note { id: -1 }).expect("it is written");
    *lock(&store.keeper().shared.tried) = None;
    assert!(tries(&store, &mut None).is_some_and(|tried| tried.is_failed), "without a pause");
    assert_eq!(count().expect("the log was as long before"), 20_000);
    store.insert_all(&notes(20_000..80_000)).expect("it is written");
    let young = store.snapshot().expect("it is readable");
    tries(&store, &mut None);
    let error = count().expect_err("the log has grown for it");
    assert_eq!(error.kind(), ErrorKind::Expired);
    assert!(error.to_string().contains("committed since"), "{error}");
    assert_eq!(young.of::<Note>().count().expect("it is of the log's end"), 80_001);
}

/// A snapshot that was taken before the log was at its limit expires; another one, of the log's end, does not.
#[test]
fn of_two_snapshots_the_one_that_the_log_has_grown_for_expires() {
    let (_directory, store) = store(Options::new().log_bytes_max(50_000), 0..10);
    let old = store.snapshot().expect("it is readable");
    store.insert_all(&notes(10..20_000)).expect("it is written");
    let young = store.snapshot().expect("it is readable");
    tries(&store, &mut None);
    assert_eq!(old.of::<Note>().count().map_err(|error| error.kind()), Err(ErrorKind::Expired));
    assert_eq!(young.of::<Note>().count().expect("nobody has written"), 20_000);
}

/// Regression: the keeper tried again only when a commit woke it, and commits had ended.
#[test]
fn a_log_that_another_copied_at_a_failed_flush_counts_as_not_copied_once_that_one_has_ended() {
    let (_directory, store) = store(Options::new(), 1..3);
    let keeper = &store.keeper().shared;
    let index = keeper.index.clone().expect("there is one");
    send_away(&store);
    store.keeper().start();
    keeper.wakeup.checkpoint();
    wait_until(|| index.copied_frames() > 0);
    let (own, other) = (keeper.open().expect("it opens"), keeper.open().expect("it opens"));
    wait_until(|| other.connection.lock_copying(true));
    let failed = Error::sqlite(ffi::SQLITE_IOERR_FSYNC, format_args!("the disk does not answer"));
    keeper.lose(&own.connection, &failed);
    assert_ne!(index.copied_frames(), 0, "another copies it");
    // As if this thread were the keeper's.
    keeper.wakeup.watch();
    assert!(other.connection.lock_copying(false));
    wait_until(|| index.copied_frames() == 0);
}

/// Regression: the place of a snapshot of an empty log counted as unknown, so the snapshot never expired.
#[test]
fn a_snapshot_of_an_empty_log_expires_too() {
    let (directory, first) = store(Options::new(), 0..10);
    drop(first);
    let store = open_without_keeper(&directory, Options::new().log_bytes_max(50_000));
    let snapshot = store.snapshot().expect("it is readable");
    store.insert_all(&notes(10..20_000)).expect("it is written");
    tries(&store, &mut None);
    assert_eq!(snapshot.of::<Note>().count().map_err(|error| error.kind()), Err(ErrorKind::Expired));
}

/// Regression: beside readers of other processes the log grew to six times its limit. After one failure the keeper
/// did not try again before the log had doubled, and then for too short a time.
#[test]
fn a_log_that_another_reads_is_tried_again_after_a_time_and_for_longer() {
    let (directory, store) = store(Options::new().log_bytes_max(50_000), 0..20_000);
    let other = open(&directory, Options::new().checkpoint_pages(u32::MAX));
    let snapshot = other.snapshot().expect("it is readable");
    let mut copier = None;
    let mut tries = || tries(&store, &mut copier).expect("the log is beyond its limit");
    let let_time_pass = || {
        let mut tried = lock(&store.keeper().shared.tried);
        let tried = tried.as_mut().expect("it was tried");
        tried.since -= tried.pause;
    };
    let first = tries();
    assert!(first.is_failed, "another reads the log's end");
    assert_eq!(first.patience.at_limit, 4 * PATIENCE);
    assert_eq!(tries().since, first.since, "writers do not wait again at once");
    let_time_pass();
    let second = tries();
    assert!(second.is_failed, "it is as long, and another reads");
    assert_eq!(second.patience.at_limit, PATIENCE_MAX);
    drop(snapshot);
    assert_eq!(other.readers().sweep(true), Left::Nothing);
    let_time_pass();
    assert!(!tries().is_failed, "nobody reads");
    let log = std::fs::metadata(directory.path().join("notes.db-wal")).expect("it is there");
    assert_eq!(log.len(), 0, "the log begins anew");
}

/// A store whose log has no limit but that one, and how it is made to grow beyond a length, one page at a time.
fn growing(max: u64) -> (tempfile::TempDir, Store, impl FnMut(u64)) {
    let (directory, store) = store(Options::new().log_bytes_max(max), 0..10);
    let (grown, mut ids) = (store.clone(), 10..);
    let index = store.keeper().shared.index.clone().expect("there is one");
    let grow_to = move |bytes: u64| {
        while index.state().is_none_or(|state| state.log_bytes() <= bytes) {
            grown.insert(&Note { id: ids.next().expect("there are more") }).expect("it is written");
        }
    };
    (directory, store, grow_to)
}

/// Regression: beside a held snapshot, writers had waited in vain just before the log was at its limit, and the pause
/// after that went on. The log grew to almost twice its limit.
#[test]
fn a_log_that_comes_to_its_limit_is_tried_at_once() {
    const MAX: u64 = 400_000;
    let (_directory, store, mut grow_to) = growing(MAX);
    let mut copier = None;
    let mut tries = || tries(&store, &mut copier).expect("the log is long");
    grow_to(MAX / 4 * 3);
    let _snapshot = store.snapshot().expect("it is readable");
    store.insert(&Note { id: -1 }).expect("it is written");
    let below = tries();
    assert!(below.is_failed, "the snapshot reads from the log");
    let tried = || lock(&store.keeper().shared.tried);
    tried().as_mut().expect("it was tried").pause = Duration::from_secs(3600);
    grow_to(MAX / 8 * 7);
    assert_eq!(tries().since, below.since, "writers do not wait again at once");
    grow_to(MAX);
    assert_ne!(tries().since, below.since, "the log may not grow further");
}

/// Regression: writers waited in vain again and again for a snapshot that was held. If it ended just then, they waited
/// while all that it had held back was copied.
#[test]
fn below_the_limit_writers_do_not_wait_for_a_snapshot_that_holds_back_much() {
    const MAX: u64 = 400_000;
    let (_directory, store, mut grow_to) = growing(MAX);
    let snapshot = store.snapshot().expect("it is readable");
    grow_to(MAX / 4 * 3);
    assert!(tries(&store, &mut None).is_none());
    drop(snapshot);
    assert_eq!(store.readers().sweep(true), Left::Nothing);
    assert!(tries(&store, &mut None).is_some(), "nothing is held back any more");
}

/// Regression: parked snapshots, which one large transaction had made old, counted as held. So beside a writer of such
/// transactions the log did not restart before it was at its limit.
#[test]
fn a_large_transaction_that_parked_snapshots_held_back_is_copied_once_they_have_ended() {
    const MAX: u64 = 400_000;
    let (_directory, store, _) = growing(MAX);
    let mut transaction = store.begin().expect("it begins");
    transaction.with(|open| open.insert_all(&notes(10..42_000))).expect("it is written");
    assert!((0..20).all(|_| store.get::<Note>(&1).is_ok_and(|note| note.is_some())), "it is readable");
    transaction.commit().expect("it is committed");
    let index = store.keeper().shared.index.clone().expect("there is one");
    let bytes = index.state().expect("it is readable").log_bytes();
    assert!((MAX * 3 / 4..MAX).contains(&bytes), "{bytes}: long, and not at its limit");
    assert!(tries(&store, &mut None).is_some(), "nothing is held");
}

/// Regression: a call that was in progress when a large transaction was committed kept it from being copied, and nothing
/// but the next commit copied it.
#[test]
fn what_a_call_keeps_from_being_copied_is_copied_after_the_call() {
    let directory = tempfile::tempdir().expect("there is room");
    let store = open(&directory, Options::new().checkpoint_pages(10));
    store.put(&Note { id: 0 }).expect("it is written");
    let call = store.snapshot().expect("it is readable");
    store.insert_all(&notes(1..20_000)).expect("it is written");
    // The test takes the place of the keeper's thread.
    store.keeper().stop();
    let (keeper, mut kept) = (&store.keeper().shared, Kept::default());
    let mut wake = |wishes| keeper.wake(wishes, &mut kept);
    assert_eq!(wake(Wishes { checkpoint: true, ..Wishes::default() }), Some(PARKED_MAX));
    assert!(keeper.has_grown(), "the call holds it back");
    drop(call);
    let _other = store.snapshot().expect("it is readable");
    wake(Wishes { watch: true, ..Wishes::default() });
    assert!(keeper.has_grown(), "another call begins, and is given its time");
    wake(Wishes::default());
    assert_eq!(keeper.new_frames(), Some(0));
}

/// Regression: a call that took longer kept it from being copied until the next commit.
#[test]
fn what_a_long_call_keeps_from_being_copied_is_copied_before_the_keeper_sleeps() {
    let (_directory, store) = store(Options::new().checkpoint_pages(10), 0..1);
    let (keeper, mut kept) = (&store.keeper().shared, Kept::default());
    let mut wake = |wishes| keeper.wake(wishes, &mut kept);
    let call = store.snapshot().expect("it is readable");
    store.insert_all(&notes(1..20_000)).expect("it is written");
    wake(Wishes { checkpoint: true, ..Wishes::default() });
    assert_eq!(wake(Wishes::default()), Some(LOOK), "the call goes on");
    assert!(keeper.has_grown(), "it holds the log back");
    drop(call);
    store.readers().sweep(true);
    assert_eq!(wake(Wishes::default()), None, "the keeper sleeps");
    assert_eq!(keeper.new_frames(), Some(0));
}

/// Regression: transactions that were as large as the limit brought the log to 60 times its limit, because writers did not
/// wait during the pause after a wait, though each wait had made the log restart.
#[test]
fn a_log_that_is_far_beyond_its_limit_restarts_in_spite_of_the_pause() {
    const MAX: u64 = 400_000;
    let (_directory, store, mut grow_to) = growing(MAX);
    let mut copier = None;
    let mut tries = || tries(&store, &mut copier).expect("the log is long");
    grow_to(MAX);
    let first = tries();
    assert!(!first.is_failed, "nobody reads");
    lock(&store.keeper().shared.tried).as_mut().expect("it was tried").pause = Duration::from_secs(3600);
    grow_to(MAX * (FAR - 1));
    assert_eq!(tries().since, first.since, "writers do not wait again at once");
    grow_to(MAX * (FAR + 1));
    assert_ne!(tries().since, first.since, "the log may not grow further");
}

/// Regression: commits woke the keeper by `checkpoint_pages` alone, so with many or large pages the limit came first, and
/// the log grew beyond it.
#[test]
fn a_log_of_half_its_limit_has_grown() {
    let (_directory, store) = store(Options::new().checkpoint_pages(u32::MAX).log_bytes_max(400_000), 0..10);
    let keeper = &store.keeper().shared;
    assert!(!keeper.has_grown());
    store.insert_all(&notes(10..30_000)).expect("it is written");
    assert!(keeper.has_grown());
}

/// Regression: a log that had restarted and was as long as before counted as copied.
#[test]
fn a_log_that_is_as_long_again_after_it_has_restarted_is_copied() {
    let (_directory, store) = store(Options::new(), 0..10);
    let keeper = &store.keeper().shared;
    let frames = [-1, -2].map(|id| {
        keeper.checkpoint(&mut None);
        assert_eq!(keeper.new_frames(), Some(0));
        store.insert(&Note { id }).expect("it is written, in a log that restarts");
        keeper.new_frames()
    });
    assert!(frames[0] == frames[1] && frames[0] > Some(0), "{frames:?}");
}

/// Regression: writers waited for 0.2 s for other processes' readers, so that a log of few frames restarted. It had been
/// at its limit, and had restarted while the keeper flushed the file.
#[test]
fn writers_do_not_wait_for_a_log_that_has_restarted_meanwhile() {
    let (_directory, store) = store(Options::new().log_bytes_max(100_000), 0..20_000);
    let keeper = &store.keeper().shared;
    keeper.copy(&keeper.open().expect("it opens")).expect("it is copied");
    let mut transaction = store.begin().expect("it begins");
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| keeper.checkpoint(&mut None));
        wait_until(|| keeper.turns.waiting() > 0);
        transaction.with(|open| open.insert(&Note { id: -1 })).expect("it is written");
        transaction.commit().expect("it is committed, in a log that restarts");
        checkpoint.join().expect("it does not panic");
    });
    assert!(lock(&keeper.tried).is_none(), "the log is short");
}

/// Regression: the keeper's own wait for the turn counted as the writers', so after a long transaction the log did not
/// restart for many times as long as that had lasted.
#[test]
fn writers_pause_for_a_multiple_of_their_own_wait() {
    let (_directory, store) = store(Options::new().log_bytes_max(50_000), 0..20_000);
    let keeper = &store.keeper().shared;
    let transaction = store.begin().expect("it begins");
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| keeper.checkpoint(&mut None));
        wait_until(|| keeper.turns.waiting() > 0);
        let waits = Instant::now();
        wait_until(|| waits.elapsed() >= Duration::from_millis(50));
        let ends = Instant::now();
        drop(transaction);
        checkpoint.join().expect("it does not panic");
        let most = ends.elapsed() * PAUSE;
        let tried = lock(&keeper.tried).expect("the log is beyond its limit");
        assert!(tried.pause <= most, "{:?} is more than {most:?}", tried.pause);
    });
}

/// Regression: the log grew to its limit beside calls that overlapped, because the keeper did not wait for them, and
/// their snapshots were parked.
#[test]
fn a_log_restarts_beside_readers_that_overlap() {
    let directory = tempfile::tempdir().expect("there is room");
    let store = open(&directory, Options::new().checkpoint_pages(8));
    store.insert_all(&notes(0..1_000)).expect("it is written");
    let index = store.keeper().shared.index.clone().expect("there is one");
    let log = || index.state().map(|state| state.place()[2]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert!(store.get::<Note>(&1).expect("it is readable").is_some());
                }
            });
        }
        let first = log();
        let restarts = (1_000..50_000).any(|id| {
            store.insert(&Note { id }).expect("it is written");
            log() != first
        });
        is_over.store(true, Ordering::Relaxed);
        assert!(restarts, "its limit is 256 MiB");
    });
}

/// A few short reads start no thread. A held snapshot starts it, and it sleeps when the snapshot is dropped.
#[test]
fn the_keeper_comes_for_snapshots_that_are_held() {
    let (_directory, store) = store(Options::new(), 0..10);
    send_away(&store);
    for id in 0..3 {
        assert!(store.get::<Note>(&id).expect("it is readable").is_some());
        assert_eq!(store.all::<Note>().expect("it is readable").len(), 10);
    }
    assert!(!is_running(&store));
    let snapshot = store.snapshot().expect("it is readable");
    assert!(is_running(&store));
    assert_ne!(store.readers().sweep(true), Left::Nothing);
    drop(snapshot);
    assert_eq!(store.readers().sweep(true), Left::Nothing);
}

/// During a closure that reads a small file, others cannot commit `log_bytes_max` bytes; for a large file they can.
#[test]
fn the_keeper_comes_for_closures_that_may_read_for_long() {
    for is_large in [false, true] {
        let (_directory, store) =
            store(Options::new().log_bytes_max(50_000), 0..20_000 * i64::from(is_large));
        send_away(&store);
        store.read(|_| Ok(())).expect("it is readable");
        assert_eq!(is_running(&store), is_large);
    }
}

/// The index of an empty log does not know the file's length.
#[test]
fn the_keeper_comes_for_closures_that_read_a_large_file_with_an_empty_log() {
    let (directory, first) = store(Options::new(), 0..20_000);
    drop(first);
    let store = open(&directory, Options::new().log_bytes_max(50_000));
    store.read(|_| Ok(())).expect("it is readable");
    assert!(is_running(&store));
}
