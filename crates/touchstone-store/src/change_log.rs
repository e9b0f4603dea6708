//! The change log: which records each transaction has changed, told in the file to live queries of other processes. It is
//! for them to prove that nothing else was committed in between: see `live/follow.rs`. A transaction that is not in it is
//! no mistake, and costs who watches a reading of everything.

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

/// The table. `follows` and `counted` are what the log's index counts before the commit and after it; `place` is where
/// the log was before it, and is told where the count before it proves nothing.
const MAKE: &str = "create table if not exists main.touchstone_changes (number INTEGER PRIMARY KEY, follows INTEGER NOT NULL, counted INTEGER NOT NULL, place BLOB, changes BLOB NOT NULL) STRICT";
const APPEND: &str =
    "insert into main.touchstone_changes (follows, counted, place, changes) values (?1, ?2, ?3, ?4)";
const READ: &str = "select number, follows, counted, place, changes from main.touchstone_changes where number > ?1 order by number";
const LAST: &str = "select max(number) from main.touchstone_changes";
const PRUNE: &str = "delete from main.touchstone_changes where number <= ?1";
const SIZES: &str = "select number, length(changes) from main.touchstone_changes order by number desc";

/// Transactions that are kept, and bytes of what they tell.
const KEPT: (i64, i64) = (1000, 8 << 20);
/// Transactions, and bytes, that a store adds before it looks whether there are too many.
const ADDED: (u32, usize) = (64, 1 << 20);

/// The index counts commits from 0 when it is made anew. A store that logs makes it count on from here and beyond, from
/// a number drawn by lot: so a count that is great enough is of an index that was not made anew since somebody logged.
const COUNTED_MIN: u32 = 1 << 31;

/// Whether the count proves that the index is the one in which somebody has logged.
pub(crate) fn is_lasting(count: u32) -> bool {
    count >= COUNTED_MIN
}

/// What a transaction has logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logged {
    /// The entry's number.
    pub(crate) number: i64,
    /// What the index counts after the commit.
    pub(crate) counted: u32,
}

/// What one session has added since it last looked whether there is too much.
#[derive(Debug, Default)]
pub(crate) struct Added {
    entries: Cell<u32>,
    bytes: Cell<usize>,
}

/// Appends an entry, as the last thing that a transaction does before its commit.
///
/// # Errors
/// When the file cannot be written, or its table of that name is another; then nothing is logged.
pub(crate) fn append(
    session: &Session,
    before: Option<LogState>,
    changes: &[u8],
    added: &Added,
) -> Result<Option<Logged>> {
    // The count is the connection's own: raw SQL may have committed since the transaction began.
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
            // SAFETY: what is bound outlives the closure, after which the statement is reset.
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

/// A number that nobody can tell in advance.
fn lot() -> u32 {
    let drawn = RandomState::new().hash_one(0);
    u32::try_from(drawn >> 33).unwrap_or(0)
}

/// Removes what is too old, now and then.
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
    // The newest stays, whatever its size: its number is what the next one follows.
    session.query(PRUNE, |statement| {
        statement.bind_integer(1, least.min(last - 1));
        statement.run()
    })
}

/// The newest entry that, with those after it, has more bytes than are kept.
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

/// The number of the last entry that the snapshot has; 0 where there is none.
pub(crate) fn last(session: &Session) -> i64 {
    session.query(LAST, |statement| statement.integer()).unwrap_or(0)
}

/// The entries after that number.
///
/// # Errors
/// When there is no such table, or it cannot be read, or is another.
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
