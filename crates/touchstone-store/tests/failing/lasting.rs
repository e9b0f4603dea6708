//! Failures that last, failures of the keeper's, and failures while a file is recovered.

use super::{FILE, LOG, Run, memory, strict};
use crate::shim::{Call, Event, Fault, Shim};
use crate::workload::{KINDS, check_whole, states, step, steps_held};
use touchstone_store::{ErrorKind, Options, Record, rusqlite};

/// Steps that are taken before the disk is full, at most.
const STEPS: u64 = 3 * KINDS;

#[test]
fn a_full_disk_refuses_writes_and_nothing_else_until_there_is_space() {
    let shim = Shim::register(false, false);
    for after in (0..200).step_by(3) {
        let options = strict().checkpoint_pages(u32::MAX);
        let mut run = Run::new(shim, &options, format!("full after {after} writes"));
        run.open();
        shim.fail(Fault { calls: &[Call::Write], file: LOG, after, lasting: true, full: true });
        while run.held < STEPS && step(0, run.held).run(run.store()).is_ok() {
            run.held += 1;
        }
        if shim.failures() > 0 {
            for _ in 0..3 {
                // A step that is undone anyway may need no space.
                if let Err(error) = step(0, run.held).run(run.store()) {
                    assert_eq!(error.kind(), ErrorKind::Full, "{}: {error:?}", run.about);
                }
            }
            let found = states(run.store(), 1).expect("a full disk can be read");
            steps_held(0, &found[0], run.held, run.held).unwrap_or_else(|why| panic!("{}: {why}", run.about));
        }
        shim.heal();
        for _ in 0..KINDS {
            run.step();
        }
        run.end();
    }
}

#[test]
fn after_a_failed_flush_a_strict_store_commits_nothing_until_it_is_opened_again() {
    let shim = Shim::register(false, false);
    for after in 0..STEPS {
        let mut run = Run::new(shim, &strict().checkpoint_pages(u32::MAX), format!("flush {after} fails"));
        run.open();
        shim.fail(Fault { calls: &[Call::Sync], file: LOG, after, lasting: false, full: false });
        while step(0, run.held).run(run.store()).is_ok() {
            run.held += 1;
        }
        assert_eq!(shim.heal(), 1);
        // The disk is well again, but nobody knows what it has.
        let before = states(run.store(), 1).expect("the store is readable");
        for number in run.held..run.held + KINDS {
            let error = step(0, number).run(run.store()).expect_err("the log cannot be relied on");
            assert_eq!(error.kind(), ErrorKind::Unflushed, "{error:?}");
        }
        assert!(
            before == states(run.store(), 1).expect("the store is readable"),
            "nothing more is committed"
        );
        run.open();
        run.look(run.held + 1);
        run.step();
        run.end();
    }
}

#[derive(Record, Debug, PartialEq)]
struct Single {
    #[record(key)]
    id: i64,
}

/// A single statement that begins the log anew flushes the log's header. If that flush fails, the statement is not run again.
#[test]
fn a_single_statement_whose_flush_fails_is_refused_and_so_are_all_after_it() {
    for options in [strict(), Options::new()] {
        let shim = Shim::register(false, false);
        let mut run = Run::new(shim, &options.checkpoint_pages(u32::MAX), "a single statement".to_owned());
        run.open();
        let insert = |id| run.store().insert(&Single { id });
        (1..4).try_for_each(insert).expect("the disk is well");
        let plain = rusqlite::Connection::open_with_flags_and_vfs(
            run.path(),
            rusqlite::OpenFlags::default(),
            &*shim.name(),
        );
        let plain = plain.expect("it opens");
        plain.query_row("pragma wal_checkpoint(full)", (), |_| Ok(())).expect("the log is copied");
        shim.fail(Fault { calls: &[Call::Sync], file: LOG, after: 0, lasting: false, full: false });
        for id in 4..6 {
            assert_eq!(insert(id).expect_err("the flush failed").kind(), ErrorKind::Unflushed);
        }
        assert_eq!(shim.heal(), 1, "no flush after the failed one");
        assert_eq!(run.store().get::<Single>(&4).expect("it is readable"), None);
    }
}

/// The keeper copied nothing of a log whose flush had failed, and closing the store copied and removed it.
#[test]
fn a_log_whose_flush_has_failed_is_left_where_it_is() {
    for exclusive in [false, true] {
        let shim = Shim::register(exclusive, false);
        let options = strict().exclusive(exclusive).checkpoint_pages(u32::MAX);
        let mut run = Run::new(shim, &options, format!("a flush fails, exclusive: {exclusive}"));
        run.open();
        run.step();
        let log = run.path().with_file_name(LOG);
        shim.fail(Fault { calls: &[Call::Sync], file: LOG, after: 0, lasting: false, full: false });
        step(0, run.held).run(run.store()).expect_err("the flush fails");
        assert_eq!(shim.heal(), 1);
        shim.record();
        run.store = None;
        let copied =
            shim.take_events().iter().any(|event| matches!(event, Event::Write { file, .. } if file == FILE));
        assert!(!copied, "{}: the log was copied", run.about);
        assert!(log.exists(), "{}: the log was removed", run.about);
        run.open();
        run.look(run.held + 1);
        run.step();
        run.end();
        assert!(!log.exists(), "a log that was flushed is copied");
    }
}

/// It went on, behind what may be lost, and its log grew without end.
#[test]
fn after_a_failed_flush_a_consistent_store_commits_nothing_either() {
    let shim = Shim::register(false, false);
    let mut run = Run::new(shim, &Options::new().checkpoint_pages(u32::MAX), "a durable commit".to_owned());
    run.open();
    run.step();
    shim.fail(Fault { calls: &[Call::Sync], file: LOG, after: 0, lasting: false, full: false });
    let error = step(0, run.held).run_durably(run.store()).expect_err("the flush fails");
    assert_eq!(error.kind(), ErrorKind::Unflushed);
    assert_eq!(shim.heal(), 1);
    run.look(run.held + 1);
    let error = step(0, run.held).run(run.store()).expect_err("an earlier flush failed");
    assert!(error.to_string().contains("reopen the store"), "{error}");
    run.look(run.held);
    run.open();
    run.step();
    run.end();
}

/// The keeper's flush of the log or of the file, with SQLite's code for it or another: those of a checkpoint, and that of the file before
/// writers are to wait, which was not counted.
#[test]
fn a_flush_of_the_keepers_that_fails_ends_commits_too() {
    /// More than are needed for the keeper to come, however late it is.
    const MANY: u64 = 100_000;
    let shim = Shim::register(false, false);
    let flushes = [(LOG, false), (LOG, true), (FILE, false), (FILE, true)];
    for (after, (file, full)) in (0..6).flat_map(|after| flushes.map(|flush| (after, flush))) {
        let options = Options::new().checkpoint_pages(2).log_bytes_max(40_000);
        let mut run = Run::new(shim, &options, format!("the keeper's flush {after} of {file}, full: {full}"));
        run.open();
        run.step();
        shim.fail(Fault { calls: &[Call::Sync], file, after, lasting: false, full });
        let refused = (0..MANY).find_map(|_| {
            let refused = step(0, run.held).run(run.store()).err();
            run.held += u64::from(refused.is_none());
            refused
        });
        let refused = refused.unwrap_or_else(|| panic!("{}: commits go on", run.about));
        assert_eq!(refused.kind(), ErrorKind::Unflushed, "{}: {refused:?}", run.about);
        assert_eq!(shim.heal(), 1);
        let again = step(0, run.held).run(run.store()).expect_err("nobody knows what the disk has");
        assert!(again.to_string().contains("reopen the store"), "{}: {again}", run.about);
        run.look(run.held);
        run.open();
        run.step();
        run.end();
    }
}

/// Commits do not notice what the keeper cannot do, but for a flush. The n-th call is another in each run, since the keeper comes when it
/// does.
#[test]
fn what_the_keeper_cannot_copy_is_no_failure_of_a_commit() {
    let shim = Shim::register(false, false);
    let mut failures = 0;
    for (number, calls) in [&[Call::Write][..], &[Call::Truncate], &[Call::Open]].into_iter().enumerate() {
        for after in 0..12 {
            let lasting = after % 2 == 1;
            let options = Options::new().checkpoint_pages(2).log_bytes_max(40_000);
            let about = format!("the keeper's {calls:?} after {after}, lasting: {lasting}, {number}");
            let mut run = Run::new(shim, &options, about);
            run.open();
            // The writer's connection is opened by the first commit, and may well be noticed.
            run.step();
            shim.fail(Fault { calls, file: FILE, after, lasting, full: after % 4 < 2 });
            for number in 1..STEPS {
                if let Err(error) = step(0, number).run(run.store()) {
                    panic!("{}: {error:?}", run.about);
                }
                run.held += 1;
            }
            failures += run.end();
        }
    }
    println!("{failures} calls failed");
}

/// Files as a killed process leaves them: with a log that was never copied.
fn killed() -> tempfile::TempDir {
    let (directory, copy) = (memory(), memory());
    let options = Options::new().checkpoint_pages(u32::MAX);
    let store = options.open(directory.path().join(FILE)).expect("the store opens");
    for number in 0..STEPS {
        step(0, number).run(&store).expect("the step succeeds");
    }
    for name in [FILE, LOG] {
        std::fs::copy(directory.path().join(name), copy.path().join(name)).expect("there is room");
    }
    copy
}

#[test]
fn any_call_may_fail_while_a_file_is_recovered() {
    let shim = Shim::register(false, false);
    let calls: &[Call] = &[
        Call::Open,
        Call::Access,
        Call::Delete,
        Call::Read,
        Call::Write,
        Call::Truncate,
        Call::Sync,
        Call::Size,
        Call::Lock,
        Call::MapIndex,
        Call::LockIndex,
    ];
    let mut after = 0;
    loop {
        let mut run = Run::new(shim, &Options::new(), format!("recovering, the one after {after}"));
        run.directory = killed();
        run.held = STEPS;
        shim.fail(Fault { calls, file: "", after, lasting: false, full: true });
        run.open();
        run.look(STEPS);
        run.step();
        if run.end() == 0 {
            break;
        }
        after += 1;
    }
    println!("{after} calls failed, one in each run");
    assert!(after > 0);
}

/// A store that cannot be written at all can still be read, and says why it cannot be written.
#[test]
fn a_disk_that_is_gone_for_writing_leaves_what_was_acknowledged() {
    let shim = Shim::register(false, false);
    let mut run = Run::new(shim, &Options::new().checkpoint_pages(u32::MAX), "no writes".to_owned());
    run.open();
    for _ in 0..STEPS {
        run.step();
    }
    let calls: &[Call] = &[Call::Write, Call::Sync, Call::Truncate, Call::Delete];
    shim.fail(Fault { calls, file: "", after: 0, lasting: true, full: false });
    for _ in 0..3 {
        let error = step(0, run.held).run(run.store()).expect_err("nothing can be written");
        assert_eq!(error.kind(), ErrorKind::Io);
        run.look(run.held);
    }
    let path = run.path();
    run.store = None;
    shim.heal();
    let store = Options::new().open(path).expect("the store opens");
    let found = states(&store, 1).expect("the store is readable");
    assert_eq!(steps_held(0, &found[0], run.held, run.held), Ok(run.held));
    check_whole(&store);
}
