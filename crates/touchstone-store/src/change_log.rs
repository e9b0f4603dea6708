//! The change log: a table of the file in which each transaction records the keys of the rows that it changes, for live
//! queries of other processes. With it they prove that no other commit happened in between: see `live/follow.rs`. A
//! transaction may be missing from the log; then live queries read again all rows that they follow.

pub(crate) mod entry;
pub(crate) mod gathering;

use crate::cells::Cells;
use crate::engine::log::{LogState, count_commit_as};
use crate::error::Result;
use crate::session::Session;
use crate::value::Raw;
use entry::Entry;
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

/// The table. `follows` and `counted` are the log index's count of commits before and after the commit. `place` is the
/// state of the log before the commit, set if `follows` alone proves nothing.
const MAKE: &str = "create table if not exists main.touchstone_changes (number INTEGER PRIMARY KEY, follows INTEGER NOT NULL, counted INTEGER NOT NULL, place BLOB, changes BLOB NOT NULL) STRICT";
const APPEND: &str =
    "insert into main.touchstone_changes (follows, counted, place, changes) values (?1, ?2, ?3, ?4)";
const READ: &str = "select number, follows, counted, place, changes from main.touchstone_changes where number > ?1 order by number";
const LAST: &str = "select max(number) from main.touchstone_changes";
const PRUNE: &str = "delete from main.touchstone_changes where number <= ?1";
const SIZES: &str = "select number, length(changes) from main.touchstone_changes order by number desc";

/// Entries that are kept, and bytes of their changes.
const KEPT: (i64, i64) = (1000, 8 << 20);
/// Entries, and bytes of changes, that a store adds before it removes old entries.
const ADDED: (u32, usize) = (64, 1 << 20);

/// A rebuilt index counts commits from 0. A store that logs makes the index count on from a random number that is this
/// or greater: so a count that is great enough belongs to an index that was not rebuilt since a store has logged.
const COUNTED_MIN: u32 = 1 << 31;

/// Whether the count proves that the index was not rebuilt since a store has logged.
pub(crate) fn is_lasting(count: u32) -> bool {
    count >= COUNTED_MIN
}

/// The entry that a transaction has logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logged {
    /// The entry's number.
    pub(crate) number: i64,
    /// The index's count of commits after the commit.
    pub(crate) counted: u32,
}

/// Entries and bytes that one session has added since it last removed old entries.
#[derive(Debug, Default)]
pub(crate) struct Added {
    entries: Cell<u32>,
    bytes: Cell<usize>,
}

/// Appends an entry, as the last statement of a transaction before its commit.
///
/// # Errors
/// If the file cannot be written, or has another table of that name; then nothing is logged.
pub(crate) fn append(
    session: &Session,
    before: Option<LogState>,
    changes: &[u8],
    added: &Added,
) -> Result<Option<Logged>> {
    // The count is read here, from the connection: raw SQL may have committed since the transaction began.
    let Some(follows) = LogState::of(&session.connection).map(LogState::change) else { return Ok(None) };
    let next = follows.wrapping_add(1);
    let is_lasting = is_lasting(follows) && is_lasting(next);
    let counted = if is_lasting { next } else { COUNTED_MIN | lot() };
    let place = before.filter(|before| !is_lasting && before.change() == follows).map(LogState::place);
    let place = place.map(entry::place_bytes);
    let mut cells = Cells::default();
    cells.integer(i64::from(follows));
    cells.integer(i64::from(counted));
    match &place {
        Some(place) => cells.blob(place),
        None => cells.null(),
    }
    cells.blob(changes);
    let run = || {
        session.query(APPEND, |statement| {
            // SAFETY: the bound values outlive the closure, after which the statement is reset.
            unsafe { statement.bind(&cells)? };
            statement.run()
        })
    };
    if run().is_err() {
        session.check_open()?;
        session.connection.sql().execute_batch(MAKE)?;
        session.look_again();
        run()?;
    }
    let number = session.connection.sql().last_insert_rowid();
    prune(session, number, changes.len(), added)?;
    Ok((is_lasting || count_commit_as(&session.connection, counted)).then_some(Logged { number, counted }))
}

/// A random number below 2³¹.
fn lot() -> u32 {
    let drawn = RandomState::new().hash_one(0);
    u32::try_from(drawn >> 33).unwrap_or(0)
}

/// Removes old entries, once enough have been added.
fn prune(session: &Session, last: i64, bytes: usize, added: &Added) -> Result<()> {
    added.entries.set(added.entries.get() + 1);
    added.bytes.set(added.bytes.get() + bytes);
    let mut least = i64::MIN;
    if added.entries.get() >= ADDED.0 {
        added.entries.set(0);
        least = last.saturating_sub(KEPT.0);
    }
    if added.bytes.get() >= ADDED.1 {
        added.bytes.set(0);
        least = least.max(first_of_too_many_bytes(session)?);
    }
    if least == i64::MIN {
        return Ok(());
    }
    // The newest entry stays, whatever its size: the next entry's number is one more than its number.
    session.query(PRUNE, |statement| {
        statement.bind_integer(1, least.min(last - 1));
        statement.run()
    })
}

/// The number of the newest entry that, together with all entries after it, has more bytes than are kept.
fn first_of_too_many_bytes(session: &Session) -> Result<i64> {
    session.query(SIZES, |statement| {
        let mut sum = 0_i64;
        while let Some(row) = statement.next()? {
            if let (Raw::Integer(number), Raw::Integer(bytes)) = (row.value(0), row.value(1)) {
                sum = sum.saturating_add(bytes);
                if sum > KEPT.1 {
                    return Ok(number);
                }
            }
        }
        Ok(i64::MIN)
    })
}

/// The number of the last entry in the snapshot; 0 if there is none.
pub(crate) fn last(session: &Session) -> i64 {
    session.query(LAST, |statement| statement.integer()).unwrap_or(0)
}

/// The entries with a greater number.
///
/// # Errors
/// If there is no such table, if it cannot be read, or if it has other columns.
pub(crate) fn after(session: &Session, number: i64) -> Result<Vec<Entry>> {
    session.query(READ, |statement| {
        statement.bind_integer(1, number);
        let mut entries = Vec::new();
        while let Some(row) = statement.next()? {
            entries.push(Entry::of(row.value(0), row.value(1), row.value(2), row.value(3), row.value(4)));
        }
        Ok(entries)
    })
}
