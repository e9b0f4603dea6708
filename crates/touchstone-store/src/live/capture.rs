//! Gathers a transaction's changes while it is under way, for live queries; if there are none, it does nothing. The
//! store's own calls note the records that they write, SQLite's hook the keys of rows that SQL changes.

mod hooked;

use self::hooked::Keys;
use super::changes::{Change, Changes, Gathered, HELD_MAX, Old};
use super::observed::{Observed, Topic, Topics};
use super::row::{Row, RowKey};
use crate::engine::capture::{has_triggers_or_cascades, while_captured};
use crate::session::Session;
use crate::session::access::{self, CollectionRef};
use crate::session::leased::Leased;
use crate::table::Section;
use crate::types::cells::Cells;
use crate::types::record::Record;
use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

/// The changes that a transaction hands over.
pub(crate) struct Captured {
    /// The number of the list of topics with which the transaction began.
    pub(crate) generation: u64,
    pub(crate) topics: Vec<(u32, Box<dyn Gathered>)>,
    /// The names of the changed tables, if they matter.
    pub(crate) tables: Vec<String>,
    /// Whether there are changes that could not be followed.
    pub(crate) unknown: bool,
}

impl Captured {
    /// Whether there is no change that matters.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0 && self.tables.is_empty() && !self.unknown
    }

    /// The number of changes to keep until they are delivered.
    pub(crate) fn len(&self) -> usize {
        self.topics.iter().map(|(_, changes)| changes.len()).sum()
    }
}

/// The gathering of the writer's session; a reader's session has none.
#[derive(Default)]
pub(crate) struct Capture {
    observed: Arc<Observed>,
    /// Whether changes of the transaction under way are gathered.
    is_on: Cell<bool>,
    /// Whether counts are watched: then rows are noted before they are written.
    counts: Cell<bool>,
    open: RefCell<OpenCapture>,
    /// Whether statements change further rows or leave some out (by triggers, cascading keys or `on conflict`), and the
    /// version of the schema for which that is known.
    acting: Cell<Option<(i64, bool)>>,
}

/// The changes of the transaction under way.
#[derive(Default)]
struct OpenCapture {
    topics: Arc<Topics>,
    /// By the topics' positions in their list.
    changes: Vec<Option<Box<dyn Gathered>>>,
    /// For each topic, whether its counts were watched when the transaction began.
    counted: Vec<bool>,
    tables: Vec<String>,
    /// The keys that SQL has changed, by the topics' positions.
    keys: HashMap<usize, Vec<RowKey>>,
    /// Whether foreign SQL has run.
    sql: bool,
    unknown: bool,
}

/// A point of a transaction, to go back to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mark(Vec<usize>);

impl Capture {
    /// Gathers the changes of these topics.
    pub(crate) fn of(observed: &Arc<Observed>) -> Capture {
        Capture { observed: Arc::clone(observed), ..Capture::default() }
    }

    /// Begins to gather, if anything is watched. Frees what an undone transaction has gathered.
    #[inline]
    pub(crate) fn begin(&self) {
        let was_undone = self.is_on.replace(false);
        self.counts.set(false);
        if let Some(topics) = self.observed.topics() {
            let mut changes = Vec::new();
            changes.resize_with(topics.list.len(), || None);
            let counted: Vec<bool> = topics.list.iter().map(|topic| topic.interest.is_counted()).collect();
            self.counts.set(counted.contains(&true));
            self.open.replace(OpenCapture { topics, changes, counted, ..OpenCapture::default() });
            self.is_on.set(true);
        } else if was_undone {
            drop(self.open.take());
        }
    }

    /// Whether a single statement may write to the table. It has committed when the gathering ends, so no row can be read
    /// again then. That is needed if another type of the table is watched, or if a statement may change further rows.
    #[inline]
    pub(crate) fn may_be_single<T: Record>(&self, session: &Session, section: &Section) -> bool {
        let is_other = |topic: &Topic| is_of(topic, section) && !is_own::<T>(topic, section);
        !self.is_on.get() || !self.open.borrow().topics.list.iter().any(is_other) && !self.is_acting(session)
    }

    /// If counts are watched, notes a row that is about to be written or removed. Its key follows the skipped values.
    #[inline]
    pub(crate) fn before<T: Record>(
        &self,
        session: &Session,
        section: &Section,
        cells: &Cells<'_>,
        skipped: usize,
    ) {
        if self.counts.get() {
            self.note_before::<T>(session, section, &RowKey::at(cells, skipped, section.shape.keys));
        }
    }

    /// Separate from [`before`](Capture::before), which each write calls: together they are too long to be inlined.
    #[cold]
    fn note_before<T: Record>(&self, session: &Session, section: &Section, key: &RowKey) {
        let mut is_wanted = false;
        self.each_of::<T>(
            section,
            |changes| is_wanted |= changes.lacks_old(key),
            |others, _| others.lose(key),
        );
        if !is_wanted {
            return;
        }
        // If the row cannot be read, the live thread counts all records again. It also does so if another process
        // commits between this read and the statement, if the statement is a transaction of its own.
        let read =
            catch_unwind(AssertUnwindSafe(|| access::get_values::<T>(session, section, &key.values())));
        if let Ok(Ok(record)) = read {
            let row = record.map(|record| Row::of_record(record, section.shape.keys));
            self.each_of::<T>(section, |changes| changes.was(key, row.as_ref()), |_, _| {});
        } else {
            // Unknown from now on: a later read of the transaction would find the new row.
            self.each_of::<T>(section, |changes| changes.lose(key), |_, _| {});
        }
    }

    /// Notes that the written row did not exist before.
    #[inline]
    pub(crate) fn absent<T: Record>(&self, section: &Section, cells: &Cells<'_>, skipped: usize) {
        if self.counts.get() {
            let key = RowKey::at(cells, skipped, section.shape.keys);
            let none = || vec![(key.clone(), Old::Known(None))];
            self.each_of::<T>(
                section,
                |changes| changes.was(&key, None),
                |others, topic| others.were(topic.shape, none()),
            );
        }
    }

    /// Notes that a row's old state is unknown, unless SQLite's hook has noted it.
    pub(crate) fn unseen<T: Record>(&self, section: &Section, cells: &Cells<'_>, skipped: usize) {
        if self.counts.get() {
            let key = RowKey::at(cells, skipped, section.shape.keys);
            self.each_of::<T>(section, |changes| changes.lose(&key), |others, _| others.lose(&key));
        }
    }

    /// Whether rows are to be noted before they are written.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        self.counts.get()
    }

    /// Calls `each` with the changes of the table's topics of this type, and `each_other` with those of the others.
    fn each_of<T: Record>(
        &self,
        section: &Section,
        mut each: impl FnMut(&mut Changes<T>),
        mut each_other: impl FnMut(&mut dyn Gathered, &Topic),
    ) {
        let mut open = self.open.borrow_mut();
        let topics = Arc::clone(&open.topics);
        for (at, topic) in topics.list.iter().enumerate().filter(|(_, topic)| is_of(topic, section)) {
            let gathered = open.changes_of(at);
            let any: &mut dyn Any = &mut **gathered;
            match any.downcast_mut::<Changes<T>>().filter(|_| is_own::<T>(topic, section)) {
                Some(changes) => each(changes),
                None => each_other(&mut **gathered, topic),
            }
        }
    }

    /// Notes a written row: its values, after those of its collection.
    #[inline]
    pub(crate) fn put<T: Record>(&self, section: &Section, cells: &Cells<'_>, record: &T) {
        if self.is_on.get() {
            let skipped = usize::from(section.is_shared);
            self.gather::<T>(section, |changes| changes.put(cells, skipped, section.shape, record));
        }
    }

    /// As [`put`](Capture::put), for a row of the record's values alone.
    #[inline]
    pub(crate) fn put_fed<T: Record>(&self, section: &Section, cells: &Cells<'_>, record: &T) {
        if self.is_on.get() {
            self.gather::<T>(section, |changes| changes.put(cells, 0, section.shape, record));
        }
    }

    /// Notes that the row of a key is gone.
    #[inline]
    pub(crate) fn removed<T: Record>(&self, section: &Section, cells: &Cells<'_>) {
        if self.is_on.get() {
            let skipped = usize::from(section.is_shared);
            self.gather::<T>(section, |changes| changes.remove(cells, skipped, section.shape));
        }
    }

    /// Notes that all rows are gone.
    pub(crate) fn cleared<T: Record>(&self, section: &Section) {
        if self.is_on.get() {
            self.gather::<T>(section, Changes::clear);
        }
    }

    /// Notes changes in a table that belongs to no type.
    pub(crate) fn changed(&self, table: &str) {
        if self.is_on.get() {
            self.open.borrow_mut().note_table(table);
        }
    }

    /// Runs work that changes rows in ways that only SQLite knows: SQLite's hook reports their keys.
    pub(crate) fn follow<R>(&self, session: &Session, work: impl FnOnce() -> R) -> R {
        // The schema's version does not show temporary triggers.
        self.forget_acting();
        if !self.is_on.get() {
            return work();
        }
        let keys = {
            let open = self.open.borrow();
            Keys::of(session, &open.topics, &open.counted)
        };
        let Ok(keys) = keys else {
            self.open.borrow_mut().unknown = true;
            return work();
        };
        let (schema, keys) = (session.connection.schema_version().ok(), RefCell::new(keys));
        // If the work panics and the transaction goes on, its changes are unknown.
        let was_unknown = self.open.borrow_mut().doubt();
        let (result, told) = while_captured(&session.connection, &keys, work);
        let is_same_schema = schema.is_some() && session.connection.schema_version().ok() == schema;
        self.add(keys.into_inner(), was_unknown || told.is_err() || !is_same_schema);
        result
    }

    /// As [`follow`](Capture::follow), if statements of the file change further rows.
    #[inline]
    pub(crate) fn follow_if_acting<R>(&self, session: &Session, work: impl FnOnce() -> R) -> R {
        if self.is_on.get() && self.is_acting(session) {
            return self.follow(session, work);
        }
        work()
    }

    /// Whether statements change further rows: determined again if the schema has changed, or SQL has run.
    #[inline]
    fn is_acting(&self, session: &Session) -> bool {
        let schema = session.schema();
        match self.acting.get() {
            Some((known, is_acting)) if known == schema => is_acting,
            _ => {
                let Ok(is_acting) = has_triggers_or_cascades(&session.connection) else { return true };
                self.acting.set(Some((schema, is_acting)));
                is_acting
            }
        }
    }

    /// Forgets whether statements change further rows: a rollback also restores temporary triggers.
    pub(crate) fn forget_acting(&self) {
        self.acting.set(None);
    }

    /// Adds what SQL has changed, to changes that are in doubt until then.
    fn add(&self, hooked: Keys, is_unknown: bool) {
        let mut open = self.open.borrow_mut();
        open.sql = true;
        let mut is_unknown = is_unknown || hooked.is_cut();
        for (at, olds) in hooked.olds {
            let shape = open.topics.list[at].shape;
            open.changes_of(at).were(shape, olds.into_values().collect());
        }
        for (topic, keys) in hooked.keys {
            let of_topic = open.keys.entry(topic).or_default();
            of_topic.extend(keys);
            is_unknown |= of_topic.len() > HELD_MAX;
        }
        open.unknown = is_unknown;
        if is_unknown {
            open.keys = HashMap::new();
        }
        hooked.changed.iter().for_each(|table| open.note_table(table));
    }

    /// Adds a change to each topic of the table.
    fn gather<T: Record>(&self, section: &Section, gather: impl Fn(&mut Changes<T>)) {
        let mut open = self.open.borrow_mut();
        open.note_table(section.name());
        let mut is_unknown = open.doubt();
        let OpenCapture { topics, changes, counted, keys, unknown, .. } = &mut *open;
        // Several types may have one table: the program's own, or versions of a type that has changed.
        for (at, topic) in topics.list.iter().enumerate().filter(|(_, topic)| is_of(topic, section)) {
            let gathered: &mut dyn Any = &mut **made(topics, counted, changes, at);
            if let Some(changes) = gathered.downcast_mut().filter(|_| is_own::<T>(topic, section)) {
                gather(changes);
                continue;
            }
            // The row as the other type sees it is read when the transaction ends.
            let mut own = Changes::<T>::of(&Arc::default());
            gather(&mut own);
            is_unknown |= own.unknown;
            for change in own.list {
                match change {
                    Change::Put(row) => keys.entry(at).or_default().push(row.key.clone()),
                    Change::Gone(key) => keys.entry(at).or_default().push(*key),
                    Change::Cleared => is_unknown = true,
                }
            }
        }
        *unknown = is_unknown;
    }

    /// The point that the transaction has reached.
    pub(crate) fn mark(&self) -> Mark {
        let open = self.open.borrow();
        let lengths = open.changes.iter().map(|changes| changes.as_ref().map_or(0, |changes| changes.len()));
        Mark(lengths.collect())
    }

    /// Goes back to a point: later changes were undone.
    pub(crate) fn undo(&self, mark: &Mark) {
        let mut open = self.open.borrow_mut();
        let was_unknown = open.doubt();
        for (changes, length) in open.changes.iter_mut().zip(&mark.0) {
            if let Some(changes) = changes {
                changes.truncate(*length);
            }
        }
        open.unknown = was_unknown;
    }

    /// Ends gathering, before a transaction's commit or after a single statement's; returns the changes to hand over.
    pub(crate) fn finish(&self, leased: &Leased) -> Option<Captured> {
        self.is_on.replace(false).then(|| self.finish_watched(leased))
    }

    fn finish_watched(&self, leased: &Leased) -> Captured {
        let mut open = self.open.take();
        open.finish(leased);
        let ids = open.topics.list.iter().map(|topic| topic.id);
        let topics: Vec<_> = ids.zip(open.changes).filter_map(|(id, changes)| Some((id, changes?))).collect();
        let unknown = open.unknown || topics.iter().any(|(_, changes)| changes.is_unknown());
        Captured { generation: open.topics.generation, topics, tables: open.tables, unknown }
    }
}

/// Whether the topic is of this table.
fn is_of(topic: &Topic, section: &Section) -> bool {
    let which = section.collection().map_or(CollectionRef::Own, CollectionRef::Named);
    topic.which == which && topic.shape.name.eq_ignore_ascii_case(section.shape.name)
}

/// Whether the topic's records are of this type. Types that are made at run time differ by their shapes alone.
fn is_own<T: Record>(topic: &Topic, section: &Section) -> bool {
    topic.type_id == TypeId::of::<T>()
        && (ptr::eq(topic.shape, section.shape) || topic.shape == section.shape)
}

/// The changes of a topic; a list is made if there is none yet.
#[inline]
fn made<'c>(
    topics: &Topics,
    counted: &[bool],
    changes: &'c mut [Option<Box<dyn Gathered>>],
    at: usize,
) -> &'c mut Box<dyn Gathered> {
    changes[at].get_or_insert_with(|| {
        let topic = &topics.list[at];
        let mut changes = (topic.gather)(&topic.interest);
        changes.count(counted[at]);
        changes
    })
}

impl OpenCapture {
    /// Marks the changes as unknown until the caller has noted what it notes; returns whether they were. A record's own
    /// code may panic meanwhile, and the program may go on with the transaction.
    #[inline]
    fn doubt(&mut self) -> bool {
        std::mem::replace(&mut self.unknown, true)
    }

    #[inline]
    fn note_table(&mut self, name: &str) {
        if self.topics.by_name && self.tables.iter().all(|table| table != name) {
            self.tables.push(name.to_owned());
        }
    }

    /// The changes of a topic.
    fn changes_of(&mut self, at: usize) -> &mut Box<dyn Gathered> {
        made(&self.topics, &self.counted, &mut self.changes, at)
    }

    /// Completes the topics' lists.
    fn finish(&mut self, leased: &Leased) {
        let topics = Arc::clone(&self.topics);
        for (at, topic) in topics.list.iter().enumerate() {
            let keys = self.keys.remove(&at);
            if keys.is_some() {
                self.changes_of(at);
            }
            if let Some(changes) = &mut self.changes[at] {
                changes.finish(leased, topic.shape, topic.which, keys, self.sql);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::live::changes::HELD_MAX;
    use crate::{Error, ErrorKind, Record, Store};
    use std::cell::Cell;

    thread_local! {
        /// How many records this thread has freed.
        static WERE_FREED: Cell<usize> = const { Cell::new(0) };
    }

    /// A record that counts its drops.
    #[derive(Record)]
    struct Counted {
        #[record(key)]
        id: i64,
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            WERE_FREED.set(WERE_FREED.get() + 1);
        }
    }

    /// Regression: the records of an undone transaction were kept until a transaction began while something was watched.
    #[test]
    fn what_an_undone_transaction_has_gathered_is_freed_when_the_next_one_begins() -> crate::Result<()> {
        let directory = tempfile::tempdir().expect("there is room");
        let store = Store::open(directory.path().join("counted.db"))?;
        let (kept, undone) = (Counted { id: 1 }, Counted { id: 2 });
        store.insert(&kept)?;
        let begins: [fn(&Store) -> crate::Result<()>; 3] = [
            |store| store.write(|_| Ok(())),
            |store| store.begin().map(drop),
            |store| store.remove::<Counted>(&2).map(drop),
        ];
        for begin in begins {
            let feed = store.feed()?;
            let all = feed.query::<Counted>().watch()?;
            let failed: crate::Result<()> = store.write(|transaction| {
                transaction.insert(&undone)?;
                Err(Error::new(ErrorKind::Invalid, "never mind"))
            });
            assert!(failed.is_err());
            drop((all, feed));
            store.wait_delivered()?;
            assert!(!store.observed().is_any());
            WERE_FREED.set(0);
            begin(&store)?;
            assert_eq!(WERE_FREED.get(), 1);
        }
        Ok(())
    }

    #[derive(Record, Clone, Debug, PartialEq)]
    struct Dot {
        #[record(key)]
        id: i64,
        place: i64,
    }

    /// Regression: a transaction gathered all its changes, even more than the inbox has room for.
    #[test]
    fn of_more_than_the_inbox_holds_nothing_is_gathered_and_all_is_read_anew() -> crate::Result<()> {
        let directory = tempfile::tempdir().expect("there is room");
        let store = Store::open(directory.path().join("dots.db"))?;
        let many = i64::try_from(HELD_MAX).expect("it is small") + 1;
        store.insert_all(&(0..many).map(|id| Dot { id, place: 0 }).collect::<Vec<_>>())?;
        let feed = store.feed()?;
        let moved = feed.query::<Dot>().filter(|dot| dot.place.gt(0)).watch()?;
        let is_resync = |expected: usize| -> crate::Result<bool> {
            let batch = feed.next()?.expect("the feed goes on");
            let results = batch.get(moved.id()).expect("it was changed").results::<Dot>()?;
            assert_eq!(results.len(), expected);
            Ok(batch.is_resync())
        };
        let sql = |sql: &str| store.write(|transaction| transaction.sql(|given| given.execute(sql, ())));
        sql("update dot set place = 1")?;
        assert!(is_resync(HELD_MAX + 1)?);
        sql("update dot set place = 2 where id > 100")?;
        assert!(!is_resync(HELD_MAX + 1)?);
        store.write(|transaction| {
            for place in 0..many {
                transaction.put(&Dot { id: 7, place: -place })?;
            }
            Ok(())
        })?;
        assert!(is_resync(HELD_MAX)?);
        store.write(|transaction| (0..9).try_for_each(|place| transaction.put(&Dot { id: 7, place })))?;
        assert!(!is_resync(HELD_MAX + 1)?);
        Ok(())
    }
}
