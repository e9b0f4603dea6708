//! Proves that what the change log tells, with the commits of this store, is all that was committed between two states of
//! the file's log, and nothing else was: then it can be taken in row by row.
//!
//! Each entry was written under the lock of the commit that it tells of, so it is sure of what its commit follows. What a
//! commit follows is a count of commits, which each commit, whoever's, increases by one. It begins anew only where the
//! log's index is made anew; then it is less than any count that an entry leaves behind (`change_log.rs`), until somebody
//! logs again, who is another entry. Entries have numbers without gaps, and so each follows the one before, or there was
//! a commit that nobody has told. Where a count proves nothing, because nobody has logged since the index was made, the
//! checksum over what was written to the log has to be the same as well.

use super::capture::Captured;
use super::changes::Gathered;
use super::link::Commit;
use super::observed::Topic;
use super::row::RowKey;
use crate::access::Which;
use crate::change_log::entry::{Changed, Entry, Keys};
use crate::change_log::is_lasting;
use crate::engine::log::LogState;
use std::collections::{HashSet, VecDeque};

/// A commit that is to be taken in.
pub(super) enum Step {
    /// As its entry tells it.
    Logged(Vec<Changed>),
    /// As its writer, this store, has handed it over.
    Own(Captured),
}

/// What is known of the state after a commit.
#[derive(Clone, Copy)]
enum At {
    State(LogState),
    /// Of a commit whose entry tells what it counts as.
    Counted(u32),
}

impl At {
    fn is_before(self, entry: &Entry) -> bool {
        match self {
            At::State(state) => entry.is_after(state),
            At::Counted(count) => is_lasting(count) && entry.follows == count,
        }
    }

    fn is(self, other: LogState) -> bool {
        match self {
            At::State(state) => state.is_same_commit(other),
            At::Counted(count) => is_lasting(count) && other.change() == count,
        }
    }
}

/// The commits between two states, in their order, if each of them is known: the first with the number of the last entry
/// that it has, the second being the one that has all these entries, which come after that number.
pub(super) fn steps(
    (from, number): (LogState, i64),
    to: LogState,
    entries: Vec<Entry>,
    own: Vec<Commit>,
) -> Option<Vec<Step>> {
    let (mut entries, mut own) = (VecDeque::from(entries), VecDeque::from(own));
    let (mut at, mut number) = (At::State(from), number);
    let mut steps = Vec::new();
    loop {
        let is_next = |entry: &Entry| entry.number == number + 1 && at.is_before(entry);
        let is_own = own.front().is_some_and(|commit| commit.before.is_some_and(|before| at.is(before)));
        if is_own && let Some(commit) = own.pop_front() {
            at = At::State(commit.after?);
            let entry = match commit.logged {
                Some(logged) => Some(entries.pop_front().filter(|entry| entry.number == logged.number)?),
                None => None,
            };
            number = entry.as_ref().map_or(number, |entry| entry.number);
            // What was not handed over as a whole may be told by the entry.
            steps.push(match commit.captured {
                Some(captured) => Step::Own(captured),
                None => Step::Logged(entry?.changes?),
            });
        } else if entries.front().is_some_and(is_next)
            && let Some(entry) = entries.pop_front()
        {
            (at, number) = (At::Counted(entry.counted), entry.number);
            steps.push(Step::Logged(entry.changes?));
        } else {
            break;
        }
    }
    (entries.is_empty() && own.is_empty() && at.is(to)).then_some(steps)
}

/// Keys whose rows others have changed.
pub(super) enum Relisted {
    These(Vec<RowKey>),
    All,
}

/// What the commits did to a topic.
pub(super) struct TopicSteps {
    pub(super) own: Vec<Box<dyn Gathered>>,
    pub(super) keys: Relisted,
}

/// What the commits did, all in all.
pub(super) struct Steps {
    own: Vec<(u32, Box<dyn Gathered>)>,
    logged: Vec<Changed>,
    /// The names of the tables that were changed.
    pub(super) tables: Vec<String>,
}

impl Steps {
    pub(super) fn of(steps: Vec<Step>) -> Steps {
        let (mut own, mut logged, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Own(captured) => {
                    own.extend(captured.topics);
                    tables.extend(captured.tables);
                }
                Step::Logged(changed) => {
                    tables.extend(changed.iter().map(|changed| changed.table.clone()));
                    logged.extend(changed);
                }
            }
        }
        Steps { own, logged, tables }
    }

    /// Takes out what is of a topic. The rows of keys that others have changed are read as they are now, so it does not
    /// matter whether this store has changed them before or after.
    pub(super) fn of_topic(&mut self, id: u32, topic: &Topic) -> TopicSteps {
        let own = self.own.extract_if(.., |(of, _)| *of == id).map(|(_, changes)| changes).collect();
        let name = topic.shape.name;
        let is_it =
            |changed: &&Changed| topic.which == Which::Own && changed.table.eq_ignore_ascii_case(name);
        let (mut keys, mut known) = (Vec::new(), HashSet::new());
        for changed in self.logged.iter().filter(is_it) {
            let Keys::These(these) = &changed.keys else { return TopicSteps { own, keys: Relisted::All } };
            for key in these {
                if key.len() != topic.shape.keys {
                    return TopicSteps { own, keys: Relisted::All };
                }
                let key = RowKey::of(key.iter().map(crate::derived::Stored::raw));
                if known.insert(key.bytes.clone()) {
                    keys.push(key);
                }
            }
        }
        TopicSteps { own, keys: Relisted::These(keys) }
    }
}
