//! Proves that the entries of the change log, with this store's commits, are all commits between two states of the
//! write-ahead log, and in which order: then the live thread applies them row by row.
//!
//! Each entry is written under the lock of its commit, so it is sure of the count that its commit follows. The log's
//! index counts the commits of all processes, one by one. The count restarts only if the index is built again. Then it
//! is less than each count that an entry has left (`change_log.rs`), until a new entry raises it. Entries are numbered
//! without gaps. So each entry's commit follows that of the entry before, or there was a commit without an entry, which
//! the counts show. A count proves nothing if no entry was written since the index was built: then the checksum over
//! the frames of the log must be equal, too.

use super::capture::Captured;
use super::changes::Gathered;
use super::commit::Commit;
use super::observed::Topic;
use super::row::RowKey;
use crate::access::Which;
use crate::change_log::entry::{Changed, Entry, Keys};
use crate::change_log::is_lasting;
use crate::engine::log::LogState;
use std::collections::{HashSet, VecDeque};

/// A commit to apply.
pub(super) enum Step {
    /// The changes that its entry gives.
    Logged(Vec<Changed>),
    /// The changes that its writer, this store, has handed over.
    Own(Captured),
}

/// The known part of the state after a commit.
#[derive(Clone, Copy)]
enum At {
    State(LogState),
    /// The count that the commit's entry gives.
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

/// The commits between two states, in order; `None` unless each of them is known. The first state comes with the number
/// of its last entry. The second has all of `entries`, whose numbers are greater.
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
            // If the changes were not handed over as a whole, the entry may have them.
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

/// The keys of rows that others have changed.
pub(super) enum Relisted {
    These(Vec<RowKey>),
    All,
}

/// The changes of a topic.
pub(super) struct TopicSteps {
    pub(super) own: Vec<Box<dyn Gathered>>,
    pub(super) keys: Relisted,
}

/// The changes of all the commits.
pub(super) struct Steps {
    own: Vec<(u32, Box<dyn Gathered>)>,
    logged: Vec<Changed>,
    /// The names of the changed tables.
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

    /// Takes out the changes of a topic. Rows that others have changed are read as they are now: so it does not matter
    /// whether this store has changed them before or after.
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
                let key = RowKey::of(key.iter().map(crate::value::Stored::raw));
                if known.insert(key.bytes.clone()) {
                    keys.push(key);
                }
            }
        }
        TopicSteps { own, keys: Relisted::These(keys) }
    }
}
