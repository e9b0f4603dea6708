//! A store of the class `Process` flushes nothing. An opening of that class that is refused has no word in what others wrote: what
//! it copies of their log, it flushes.

use super::memory;
use crate::shim::{Event, Shim};
use crate::workload::step;
use std::path::Path;
use touchstone_store::{Durability, ErrorKind, Options, Store};

const FILE: &str = "other.db";
const LOG: &str = "other.db-wal";

/// The files as they are while somebody has them open, in a directory of their own: as his process leaves them that is killed.
fn killed(alive: &Path) -> tempfile::TempDir {
    let directory = memory();
    for name in [FILE, LOG] {
        std::fs::copy(alive.join(name), directory.path().join(name)).expect("there is room");
    }
    directory
}

/// Another program's file, with a log that was never copied.
fn foreign() -> tempfile::TempDir {
    let alive = memory();
    let sql = rusqlite::Connection::open(alive.path().join(FILE)).expect("it opens");
    sql.execute_batch("pragma journal_mode = wal; create table other (id); insert into other values (1)")
        .expect("it is written");
    killed(alive.path())
}

/// A store with such a log.
fn store() -> tempfile::TempDir {
    let alive = memory();
    let store = Store::open(alive.path().join(FILE)).expect("it opens");
    for number in 0..4 {
        step(0, number).run(&store).expect("it is written");
    }
    killed(alive.path())
}

/// Whether the file was flushed after all that was copied into it, and before its log was removed.
fn is_flushed(events: &[Event]) -> bool {
    let removed = events.iter().position(|event| matches!(event, Event::Delete { file } if file == LOG));
    let events = &events[..removed.expect("the log is removed by who closes the file last")];
    let copied = events.iter().rposition(|event| matches!(event, Event::Write { file, .. } if file == FILE));
    let copied = copied.expect("the log is copied before");
    events
        .iter()
        .any(|event| matches!(event, Event::Sync { file, covers } if file == FILE && *covers > copied))
}

/// The events without the bytes that were written.
fn short(events: &[Event]) -> Vec<Event> {
    let without = |event: &Event| match event.clone() {
        Event::Write { file, offset, .. } => Event::Write { file, offset, bytes: Vec::new() },
        event => event,
    };
    events.iter().map(without).collect()
}

/// The log of another program was copied without a flush, and removed: a loss of power took what the program had flushed.
#[test]
fn an_opening_that_is_refused_flushes_what_it_copies() {
    let shim = Shim::register(false, true);
    let options = Options::new().durability(Durability::Process).vfs(shim.name());
    let directory = foreign();
    shim.record();
    let refused = options.open(directory.path().join(FILE)).expect_err("it is no store");
    let events = shim.take_events();
    assert_eq!(refused.kind(), ErrorKind::Foreign);
    assert!(is_flushed(&events), "{:?}", short(&events));
}

/// As above, with the log of a store whose commits survive a loss of power.
#[test]
fn a_change_of_key_flushes_what_it_copies() {
    let shim = Shim::register(false, true);
    let options = Options::new().durability(Durability::Process).vfs(shim.name());
    let directory = store();
    shim.record();
    Store::change_key(directory.path().join(FILE), options.clone(), options).expect("nobody has it open");
    let events = shim.take_events();
    assert!(is_flushed(&events), "{:?}", short(&events));
}
