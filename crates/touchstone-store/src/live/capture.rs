//! What a transaction changes of what is watched, gathered while it is under way: by the store's own calls, which have the
//! records in their hands, and by SQLite's hook where SQL changes them. Nothing is gathered where nobody watches.

mod hooked;

use self::hooked::Keys;
use super::changes::{Change, Changes, Gathered};
use super::observed::{Observed, Topic, Topics};
use super::row::RowKey;
use crate::access::Which;
use crate::cells::Cells;
use crate::engine::capture::{has_triggers_or_cascades, while_captured};
use crate::record::Record;
use crate::session::Session;
use crate::table::Section;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// What a transaction hands over.
pub(crate) struct Captured {
    /// The list of what was watched when the transaction began.
    pub(crate) generation: u64,
    pub(crate) topics: Vec<(u32, Box<dyn Gathered>)>,
    /// The tables that were changed, by name, where that matters.
    pub(crate) tables: Vec<String>,
    /// Whether something changed that could not be followed.
    pub(crate) unknown: bool,
}

impl Captured {
    /// How much there is to hold until it was delivered.
    pub(crate) fn len(&self) -> usize {
        self.topics.iter().map(|(_, changes)| changes.len()).sum()
    }
}

/// The gathering of one session, which writes.
#[derive(Default)]
pub(crate) struct Capture {
    observed: RefCell<Option<Arc<Observed>>>,
    is_on: Cell<bool>,
    open: RefCell<Open>,
    /// Whether the file has triggers and the like, and the schema of which that is known.
    acting: Cell<Option<(i64, bool)>>,
}

/// What was gathered of the transaction under way.
#[derive(Default)]
struct Open {
    topics: Arc<Topics>,
    /// By the topics' places in their list.
    changes: Vec<Option<Box<dyn Gathered>>>,
    tables: Vec<String>,
    /// Keys that SQL has changed, by the topics' places.
    keys: HashMap<usize, Vec<RowKey>>,
    /// Whether SQL that is not the store's has run.
    sql: bool,
    unknown: bool,
}

/// How far a transaction was, to go back to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mark(Vec<usize>);

impl Capture {
    /// Lets the session gather what these watch.
    pub(crate) fn of(&self, observed: &Arc<Observed>) {
        self.observed.replace(Some(Arc::clone(observed)));
    }

    /// Begins to gather, where anybody watches anything.
    #[inline]
    pub(crate) fn begin(&self) {
        self.is_on.set(false);
        let observed = self.observed.borrow();
        if let Some(topics) = observed.as_ref().and_then(|observed| observed.topics()) {
            let mut changes = Vec::new();
            changes.resize_with(topics.list.len(), || None);
            self.open.replace(Open { topics, changes, ..Open::default() });
            self.is_on.set(true);
        }
    }

    /// Notes a row that was written: its values, after those that say which collection it is in.
    #[inline]
    pub(crate) fn put<T: Record>(&self, section: &Section, cells: &Cells<'_>, record: &T) {
        if self.is_on.get() {
            let skipped = usize::from(section.is_shared);
            self.gather::<T>(section, |changes| changes.put(cells, skipped, section.shape, record));
        }
    }

    /// As [`put`](Capture::put), of a row that has only the record's values.
    #[inline]
    pub(crate) fn put_fed<T: Record>(&self, section: &Section, cells: &Cells<'_>, record: &T) {
        if self.is_on.get() {
            self.gather::<T>(section, |changes| changes.put(cells, 0, section.shape, record));
        }
    }

    /// Notes that the row with a key is gone.
    #[inline]
    pub(crate) fn removed<T: Record>(&self, section: &Section, cells: &Cells<'_>) {
        if self.is_on.get() {
            let skipped = usize::from(section.is_shared);
            self.gather::<T>(section, |changes| {
                changes.remove(RowKey::at(cells, skipped, section.shape.keys));
            });
        }
    }

    /// Notes that all rows are gone.
    pub(crate) fn cleared<T: Record>(&self, section: &Section) {
        if self.is_on.get() {
            self.gather::<T>(section, Changes::clear);
        }
    }

    /// Runs work that changes rows in ways that only SQLite knows: it is asked for their keys.
    pub(crate) fn follow<R>(session: &Session, work: impl FnOnce() -> R) -> R {
        let capture = &session.capture;
        if !capture.is_on.get() {
            return work();
        }
        let topics = Arc::clone(&capture.open.borrow().topics);
        let Ok(keys) = Keys::of(session, &topics) else {
            capture.open.borrow_mut().unknown = true;
            return work();
        };
        let (schema, keys) = (session.connection.schema_version().ok(), RefCell::new(keys));
        let (result, told) = while_captured(&session.connection, &keys, work);
        let is_same_schema = schema.is_some() && session.connection.schema_version().ok() == schema;
        capture.add(keys.into_inner(), told.is_ok() && is_same_schema);
        result
    }

    /// As [`follow`](Capture::follow), where the file has triggers and the like, which change more than was asked for.
    #[inline]
    pub(crate) fn follow_if_acting<R>(session: &Session, work: impl FnOnce() -> R) -> R {
        if session.capture.is_on.get() && session.capture.is_acting(session) {
            return Capture::follow(session, work);
        }
        work()
    }

    /// Whether the file has triggers and the like: looked at again when the schema has changed, or SQL has run.
    fn is_acting(&self, session: &Session) -> bool {
        let schema = session.schema();
        match self.acting.get() {
            Some((known, is_acting)) if known == schema => is_acting,
            _ => {
                let is_acting = has_triggers_or_cascades(&session.connection).unwrap_or(true);
                self.acting.set(Some((schema, is_acting)));
                is_acting
            }
        }
    }

    fn add(&self, hooked: Keys, is_whole: bool) {
        let mut open = self.open.borrow_mut();
        self.acting.set(None);
        open.sql = true;
        open.unknown |= !is_whole;
        for (topic, keys) in hooked.keys {
            open.keys.entry(topic).or_default().extend(keys);
        }
        if open.topics.by_name {
            open.tables.extend(hooked.changed);
        }
    }

    /// Lets every topic that the table is of take a change.
    fn gather<T: Record>(&self, section: &Section, gather: impl Fn(&mut Changes<T>)) {
        let mut open = self.open.borrow_mut();
        let Open { topics, changes, tables, keys, unknown, .. } = &mut *open;
        if topics.by_name && tables.iter().all(|table| table != section.name()) {
            tables.push(section.name().to_owned());
        }
        let which = section.collection().map_or(Which::Own, Which::Named);
        // Several types may have one table: a program's own, or what others know of a type that has changed.
        let is_it =
            |topic: &Topic| topic.which == which && topic.shape.name.eq_ignore_ascii_case(section.shape.name);
        for (at, topic) in topics.list.iter().enumerate().filter(|(_, topic)| is_it(topic)) {
            let gathered = changes[at].get_or_insert_with(|| (topic.gather)(&topic.interest));
            let gathered: &mut dyn Any = &mut **gathered;
            if let Some(changes) = gathered.downcast_mut::<Changes<T>>() {
                gather(changes);
                continue;
            }
            // What the row is to the other type is read when the transaction ends.
            let mut own = Changes::<T>::of(&Arc::default());
            gather(&mut own);
            *unknown |= own.unknown;
            for change in own.list {
                match change {
                    Change::Put(row) => keys.entry(at).or_default().push(row.key.clone()),
                    Change::Gone(key) => keys.entry(at).or_default().push(*key),
                    Change::Cleared => *unknown = true,
                }
            }
        }
    }

    /// Where the transaction is.
    pub(crate) fn mark(&self) -> Mark {
        let open = self.open.borrow();
        Mark(open.changes.iter().map(|changes| changes.as_ref().map_or(0, |changes| changes.len())).collect())
    }

    /// Goes back: what came after was undone.
    pub(crate) fn undo(&self, mark: &Mark) {
        let mut open = self.open.borrow_mut();
        for (changes, length) in open.changes.iter_mut().zip(&mark.0) {
            if let Some(changes) = changes {
                changes.truncate(*length);
            }
        }
    }

    /// Ends gathering before the commit, and gives what is to be handed over.
    pub(crate) fn finish(&self, session: &Session) -> Option<Captured> {
        if !self.is_on.replace(false) {
            return None;
        }
        let mut open = self.open.take();
        open.finish(session);
        let ids = open.topics.list.iter().map(|topic| topic.id);
        let topics: Vec<_> = ids.zip(open.changes).filter_map(|(id, changes)| Some((id, changes?))).collect();
        let unknown = open.unknown || topics.iter().any(|(_, changes)| changes.is_unknown());
        Some(Captured { generation: open.topics.generation, topics, tables: open.tables, unknown })
    }
}

impl Open {
    /// Makes the topics' lists whole.
    fn finish(&mut self, session: &Session) {
        for (at, topic) in self.topics.list.iter().enumerate() {
            let keys = self.keys.remove(&at);
            if keys.is_some() {
                self.changes[at].get_or_insert_with(|| (topic.gather)(&topic.interest));
            }
            if let Some(changes) = &mut self.changes[at] {
                changes.finish(session, topic.shape, topic.which, keys, self.sql);
            }
        }
    }
}
