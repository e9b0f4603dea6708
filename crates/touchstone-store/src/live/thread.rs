//! The work of the live thread: it applies commits in their order and puts updates into the mailboxes of the feeds. It
//! never waits for a receiver, and calls no foreign code but the records' own.

use super::capture::Captured;
use super::changes::{Changes, Gathered};
use super::commit::{Commit, is_same_commit};
use super::explain::{LiveExplanation, Structure};
use super::held::Held;
use super::interest::Interest;
use super::link::{Shared, Work};
use super::mailbox::{Batch, Leftover, Mailbox, Slot};
use super::observed::Topic;
use super::outbox::{Outbox, Target};
use super::results::Results;
use super::sql::WatchedStatement;
use super::sql_rows::SqlRows;
use super::update::{SubscriptionId, Update, What};
use super::watched::{Place, Request, Watched};
use crate::engine::log::{LogIndex, LogState};
use crate::session::access::{Access, CollectionRef};
use crate::session::leased::Leased;
use crate::session::readers::Readers;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::{Record, Shape};
use crate::types::sync::Arc;
use crate::types::value::Value;
use slab::Slab;
use std::any::{Any, TypeId};

/// A job for the live thread.
pub(crate) type Job = Box<dyn FnOnce(&mut Live) + Send>;

/// A feed's mailbox: the bounded queue of its updates.
pub(crate) type Mail = Mailbox<Update, Error>;

/// The state of the live thread.
pub(crate) struct Live {
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    /// Reads the state of the log from its index; `None` if the file is opened without a log.
    index: Option<LogIndex>,
    topics: Slab<WatchedTopic>,
    statements: Slab<WatchedStatement>,
    feeds: Slab<Arc<Mail>>,
    out: Outbox,
    /// The state of the log after the last commit that was applied.
    state: Option<LogState>,
    version: u64,
    /// Whether commits could not be followed, so that all rows must be read again.
    is_behind: bool,
    /// Whether a snapshot expired before a read was complete, because the log reached its limit. The thread then looks
    /// again at once: if nobody commits any more, nothing else wakes it.
    has_expired: bool,
    /// The generation of the first list of topics that asked for the names of changed tables.
    names_since: u64,
    subscriptions: u64,
    /// Superseded updates. They are freed after every feed has its updates.
    leftovers: Vec<Leftover<Update>>,
}

/// A watched topic.
struct WatchedTopic {
    topic: Topic,
    watched: Box<dyn Watches>,
    /// Whether commits could not be applied, so that the topic must be read again as a whole.
    is_behind: bool,
    /// Why the topic cannot be read, if its subscribers have that error as their last update.
    failed: Option<Error>,
}

impl WatchedTopic {
    /// Reports that the topic cannot be read: once until it can be read again, and in place of updates that were kept.
    fn fail(&mut self, error: &Error, out: &mut Outbox) {
        self.is_behind = true;
        let is_first = self.failed.replace(error.clone()).is_none();
        for target in self.watched.targets() {
            if is_first || out.is_kept_for(target) {
                out.put(target, What::failed(error));
            }
        }
    }
}

/// [`Watched`] without its record type.
trait Watches: Any + Send {
    fn take(&mut self, changes: Box<dyn Any>, out: &mut Outbox);
    fn resync(&mut self, leased: &Leased, topic: &Topic, out: &mut Outbox) -> Result<()>;
    fn is_late(&self) -> bool;
    fn mend(&mut self, leased: &Leased, topic: &Topic, out: &mut Outbox) -> Result<()>;
    fn targets(&self) -> Vec<Target>;
    fn cancel(&mut self, place: Place, id: SubscriptionId);
    fn drop_unwatched(&mut self);
    fn is_empty(&self) -> bool;
    fn explain(&self, place: Place, shape: &Shape) -> Option<LiveExplanation>;
    fn settle(&self);
    fn tidy(&mut self, is_quiet: &dyn Fn() -> bool);
}

impl<T: Record> Watches for Watched<T> {
    fn take(&mut self, changes: Box<dyn Any>, out: &mut Outbox) {
        if let Ok(changes) = changes.downcast::<Changes<T>>() {
            let (list, olds) = changes.into_parts();
            Watched::take(self, list, &olds, out);
        }
    }

    fn resync(&mut self, leased: &Leased, topic: &Topic, out: &mut Outbox) -> Result<()> {
        Watched::resync(self, Access::shaped(leased, topic.which, topic.shape), out)
    }

    fn is_late(&self) -> bool {
        Watched::is_late(self)
    }

    fn mend(&mut self, leased: &Leased, topic: &Topic, out: &mut Outbox) -> Result<()> {
        Watched::mend(self, Access::shaped(leased, topic.which, topic.shape), out)
    }

    fn targets(&self) -> Vec<Target> {
        Watched::targets(self)
    }

    fn cancel(&mut self, place: Place, id: SubscriptionId) {
        Watched::cancel(self, place, id);
    }

    fn drop_unwatched(&mut self) {
        Watched::drop_unwatched(self);
    }

    fn is_empty(&self) -> bool {
        Watched::is_empty(self)
    }

    fn explain(&self, place: Place, shape: &Shape) -> Option<LiveExplanation> {
        Watched::explain(self, place, shape)
    }

    fn settle(&self) {
        Watched::settle(self);
    }

    fn tidy(&mut self, is_quiet: &dyn Fn() -> bool) {
        Watched::tidy(self, is_quiet);
    }
}

/// A snapshot, the commits before it that are not applied yet, and a version for it.
type Begins = (Result<Held>, Work, u64);

/// Subscriptions that have begun, numbered in a row from the first.
pub(crate) struct Started<T> {
    pub(crate) first: SubscriptionId,
    pub(crate) topic: u32,
    pub(crate) list: Vec<(Place, Results<T>)>,
}

impl Live {
    pub(crate) fn new(shared: Arc<Shared>, readers: Arc<Readers>, index: Option<LogIndex>) -> Live {
        Live {
            shared,
            readers,
            index,
            topics: Slab::new(),
            statements: Slab::new(),
            feeds: Slab::new(),
            out: Outbox::default(),
            state: None,
            version: 0,
            is_behind: false,
            has_expired: false,
            names_since: 0,
            subscriptions: 0,
            leftovers: Vec::new(),
        }
    }

    /// Applies the commits, then carries out the jobs.
    pub(crate) fn round(&mut self, work: Work) {
        let Work { mut commits, orders, called, lost, .. } = work;
        self.is_behind |= lost;
        // Subscribers, and threads that wait for delivery, also get other stores' commits: a look at the log is cheap.
        let is_to_look = called || !orders.is_empty();
        while let Some(commit) = commits.pop_front() {
            self.take(commit);
            if commits.is_empty() && self.lacks_rows() && !self.is_behind {
                self.mend();
            }
            self.deliver_whole();
            self.free_many();
        }
        let others = is_to_look && self.others_committed();
        if self.is_behind || others || self.has_dirty() || self.has_late() {
            self.catch_up();
        }
        for order in orders {
            order(self);
        }
        for (_, entry) in &mut self.topics {
            entry.watched.tidy(&|| self.shared.is_quiet());
        }
        self.leftovers.clear();
        if std::mem::take(&mut self.has_expired) {
            self.shared.look_again();
        }
    }

    /// Ends every feed: with the error, or without one as the store is closed.
    pub(crate) fn end(self, error: Option<&Error>) {
        // Writers gather no more changes: nobody would receive them.
        self.shared.observed.change(|topics| (topics.list, topics.by_name) = (Vec::new(), false));
        for (_, feed) in &self.feeds {
            match error {
                None => feed.close(),
                Some(error) => feed.close_with(error.clone()),
            }
        }
    }

    /// Frees superseded updates before they are many: the commits of one round may supersede more than memory holds.
    fn free_many(&mut self) {
        const LEFTOVERS_MAX: usize = 64;
        if self.leftovers.len() > LEFTOVERS_MAX {
            self.leftovers.clear();
        }
    }

    /// Applies a commit, if it follows the last one that was applied and all its changes are known. Otherwise all rows
    /// are read again: what a commit of another store has changed in between is not known.
    fn take(&mut self, commit: Commit) {
        self.version = commit.version;
        let is_next = self.index.is_none() || is_same_commit(self.state, commit.before);
        if self.is_behind || !self.has_watched() {
            self.is_behind |= self.has_watched();
            return;
        }
        let Some(captured) = commit.captured.filter(|captured| is_next && self.is_whole(captured)) else {
            self.is_behind = true;
            return;
        };
        (self.out.version, self.out.is_resync) = (commit.version, false);
        for (id, changes) in captured.topics {
            let entry = self.topics.get_mut(id as usize).filter(|entry| !entry.is_behind);
            if let Some(entry) = entry {
                let changes: Box<dyn Gathered> = changes;
                entry.watched.take(changes, &mut self.out);
            }
        }
        for (_, statement) in &mut self.statements {
            statement.note(Some(&captured.tables));
        }
        self.set_state(commit.after);
        self.is_behind |= self.index.is_some() && self.state.is_none();
    }

    /// Whether windows lack rows that must be read.
    fn lacks_rows(&self) -> bool {
        self.topics.iter().any(|(_, entry)| entry.watched.is_late())
    }

    /// Delivers the updates, unless windows lack rows. Then the updates are kept and delivered with those of the
    /// windows, so that no feed gets one part of a commit without the other.
    fn deliver_whole(&mut self) {
        if self.lacks_rows() { self.out.keep() } else { self.deliver() }
    }

    /// Fills up windows that lack rows after the last commit that was applied. The windows' updates are delivered with
    /// those of that commit, or with those of later commits if there are any.
    fn mend(&mut self) {
        let begun = self.begin_to_read();
        let (leased, work, _) = &begun;
        let seen = leased.as_ref().ok().and_then(|leased| leased.parked.get());
        let is_now = self.index.is_none() || is_same_commit(self.state, seen);
        if !is_now || work.lost || !work.commits.is_empty() {
            self.out.keep();
            return self.end_to_catch_up(begun);
        }
        match begun.0 {
            Ok(leased) => {
                self.fill_up(&leased);
                self.give_back(leased);
            }
            // The read is tried again at once, and the error is reported if it fails again.
            Err(_) => self.is_behind = true,
        }
    }

    /// Fills up windows if the snapshot is of the last commit that was applied, to deliver their updates with its own.
    fn fill_up_now(&mut self, leased: &Result<Held>) {
        if let Ok(leased) = leased
            && (self.index.is_none() || is_same_commit(self.state, leased.parked.get()))
        {
            self.fill_up(leased);
        }
    }

    /// Fills up windows that lack rows. Returns whether any did.
    fn fill_up(&mut self, leased: &Leased) -> bool {
        let mut is_read = false;
        let late = self.topics.iter_mut().filter(|(_, entry)| !entry.is_behind && entry.watched.is_late());
        for (_, entry) in late {
            is_read = true;
            if let Err(error) = entry.watched.mend(leased, &entry.topic, &mut self.out) {
                self.out.keep();
                entry.fail(&error, &mut self.out);
            }
        }
        is_read
    }

    /// Whether the commit's changes include all topics and statements that are watched now.
    fn is_whole(&self, captured: &Captured) -> bool {
        let mut since = self.topics.iter().map(|(_, entry)| entry.topic.since);
        let has_names = self.statements.is_empty() || captured.generation >= self.names_since;
        !captured.unknown && has_names && since.all(|since| since <= captured.generation)
    }

    /// Puts the updates into the mailboxes.
    fn deliver(&mut self) {
        let (version, is_resync) = (self.out.version, self.out.is_resync || self.out.is_kept());
        let (feeds, leftovers) = (&self.feeds, &mut self.leftovers);
        self.out.send(|feed, updates| {
            if let Some(feed) = feeds.get(feed as usize) {
                leftovers.push(feed.put(Batch { version, is_resync, updates }));
            }
        });
    }

    /// Whether there is any subscription.
    fn has_watched(&self) -> bool {
        !self.topics.is_empty() || !self.statements.is_empty()
    }

    /// Whether a statement must run again.
    fn has_dirty(&self) -> bool {
        self.statements.iter().any(|(_, statement)| statement.is_dirty())
    }

    /// Whether a topic must be read again, or windows lack rows.
    fn has_late(&self) -> bool {
        self.topics.iter().any(|(_, entry)| entry.is_behind || entry.watched.is_late())
    }

    /// Notes the state of the log, also for the thread that waits for commits of other processes.
    fn set_state(&mut self, state: Option<LogState>) {
        self.state = state;
        self.shared.note_seen(state);
    }

    /// Whether the log has commits of other stores.
    fn others_committed(&self) -> bool {
        self.has_watched() && !is_same_commit(self.state, self.index.as_ref().and_then(LogIndex::state))
    }

    /// Applies all that has been committed, or reads everything again, and delivers the differences.
    fn catch_up(&mut self) {
        let begun = self.begin_to_read();
        self.end_to_catch_up(begun);
    }

    fn end_to_catch_up(&mut self, begun: Begins) {
        match self.align_with(begun) {
            Ok(leased) => self.give_back(leased),
            Err(error) => {
                self.has_expired |= error.kind() == ErrorKind::Expired;
                (self.out.version, self.out.is_resync) = (self.version, false);
                for (_, entry) in &mut self.topics {
                    entry.fail(&error, &mut self.out);
                }
                for (_, statement) in &mut self.statements {
                    statement.fail(&error, &mut self.out);
                }
                self.deliver();
            }
        }
    }

    /// A snapshot at the state that is applied: the thread has applied all commits that the snapshot sees, and no
    /// others.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn align(&mut self) -> Result<Held> {
        let begun = self.begin_to_read();
        self.align_with(begun)
    }

    /// Takes a snapshot, and the commits before it.
    fn begin_to_read(&self) -> Begins {
        // From now on writers report every row: the rows that are about to be read must not be left out.
        self.shared.between_commits(|| {
            self.topics.iter().for_each(|(_, entry)| entry.topic.interest.open());
            Held::begin(&self.readers)
        })
    }

    fn align_with(&mut self, (leased, work, version): Begins) -> Result<Held> {
        self.is_behind |= work.lost;
        let mut commits = work.commits;
        while let Some(commit) = commits.pop_front() {
            self.take(commit);
            if commits.is_empty() && self.lacks_rows() && !self.is_behind {
                self.fill_up_now(&leased);
            }
            self.deliver_whole();
            self.free_many();
        }
        let leased = leased.inspect_err(|_| self.is_behind = true)?;
        let seen = leased.parked.get();
        self.version = version;
        let is_same = self.index.is_none() || is_same_commit(self.state, seen);
        let is_behind = std::mem::take(&mut self.is_behind) || !is_same;
        if is_behind {
            self.statements.iter_mut().for_each(|(_, statement)| statement.note(None));
        }
        self.set_state(seen);
        let is_resync = self.resync(&leased, is_behind);
        self.refresh(&leased, is_resync);
        Ok(leased)
    }

    /// Reads all topics again, or only those that could not be read before. Returns whether any was read.
    fn resync(&mut self, leased: &Leased, all: bool) -> bool {
        (self.out.version, self.out.is_resync) = (self.version, true);
        let mut is_read = all;
        for (_, entry) in self.topics.iter_mut().filter(|(_, entry)| all || entry.is_behind) {
            self.out.tells_all = entry.failed.is_some();
            match entry.watched.resync(leased, &entry.topic, &mut self.out) {
                Ok(()) => (entry.failed, entry.is_behind, is_read) = (None, false, true),
                // The topic is tried again in the next round; the others go on.
                Err(error) => {
                    self.has_expired |= error.kind() == ErrorKind::Expired;
                    self.out.keep();
                    entry.fail(&error, &mut self.out);
                }
            }
        }
        self.out.tells_all = false;
        self.fill_up(leased) || is_read
    }

    /// Runs the statements again whose tables have changed, and delivers the updates.
    fn refresh(&mut self, leased: &Leased, is_resync: bool) {
        (self.out.version, self.out.is_resync) = (self.version, is_resync);
        for (_, statement) in self.statements.iter_mut().filter(|(_, statement)| statement.is_dirty()) {
            statement.refresh(leased, self.version, &mut self.out);
            self.has_expired |= statement.has_expired();
        }
        self.deliver();
    }

    /// Ends the snapshot that the topics agree with, and returns its connection to the readers.
    fn give_back(&self, leased: Held) {
        self.topics.iter().for_each(|(_, entry)| entry.watched.settle());
        drop(leased);
    }
}

/// Jobs of subscribers.
impl Live {
    pub(crate) fn add_feed(&mut self, mail: Arc<Mail>) -> u32 {
        number(self.feeds.insert(mail))
    }

    pub(crate) fn remove_feed(&mut self, feed: u32) {
        self.feeds.try_remove(feed as usize);
    }

    /// Begins subscriptions of one type, all at one version: all of them or none.
    ///
    /// # Errors
    /// If the first results cannot be read.
    pub(crate) fn subscribe<T: Record>(
        &mut self,
        shape: &'static Shape,
        feed: u32,
        asked: Vec<Request>,
    ) -> Result<Started<T>> {
        let (at, is_new) = self.topic::<T>(shape);
        let first = SubscriptionId(self.subscriptions + 1);
        self.subscriptions += asked.len() as u64;
        let comers = self.watched::<T>(at).ok_or_else(panicked)?.prepare(asked);
        let lack = is_new || comers.lack || self.why_failed(at).is_some();
        let leased = if lack { Some(self.align().inspect_err(|_| self.drop_topic(at))?) } else { None };
        let version = self.version;
        let access = leased.as_ref().map(|leased| Access::shaped(leased, CollectionRef::Own, shape));
        let begun = match (self.why_failed(at), self.watched::<T>(at)) {
            (None, Some(watched)) => watched.subscribe(access, comers, feed, first, version),
            (why, _) => Err(why.unwrap_or_else(panicked)),
        };
        if let Some(leased) = leased {
            self.give_back(leased);
        }
        let list = begun.inspect_err(|_| self.drop_topic(at))?;
        Ok(Started { first, topic: at, list })
    }

    /// Why the topic cannot be read, if it cannot.
    fn why_failed(&self, at: u32) -> Option<Error> {
        self.topics.get(at as usize)?.failed.clone()
    }

    /// Begins to watch a statement.
    ///
    /// # Errors
    /// If the statement fails, or does more than read.
    pub(crate) fn subscribe_sql(
        &mut self,
        feed: u32,
        slot: Slot,
        sql: String,
        parameters: Vec<Value>,
    ) -> Result<(SubscriptionId, Place, SqlRows)> {
        // From now on writers report the names of the tables that they change.
        let generation = self.shared.observed.change(|topics| topics.by_name = true);
        if self.statements.is_empty() {
            self.names_since = generation;
        }
        let leased = self.align().inspect_err(|_| self.release_names())?;
        self.subscriptions += 1;
        let id = SubscriptionId(self.subscriptions);
        let target = Target { feed, slot, id };
        let begun = WatchedStatement::begin(&leased, sql, parameters, target, self.version);
        self.give_back(leased);
        let begun = begun.map(|(statement, rows)| {
            let at = number(self.statements.insert(statement));
            (id, Place::Statement { at }, rows)
        });
        self.release_names();
        begun
    }

    fn release_names(&self) {
        if self.statements.is_empty() {
            self.shared.observed.change(|topics| topics.by_name = false);
        }
    }

    /// How a subscription is followed.
    ///
    /// # Errors
    /// If the subscription has ended.
    pub(crate) fn explain(&self, topic: u32, place: Place) -> Result<LiveExplanation> {
        let explanation = match place {
            Place::Statement { at } => self.statements.get(at as usize).map(|statement| LiveExplanation {
                tables: statement.tables().to_vec(),
                why_always: statement.why_always().map(str::to_owned),
                ..LiveExplanation::of(Structure::Refetch)
            }),
            place => {
                let entry = self.topics.get(topic as usize);
                entry.and_then(|entry| entry.watched.explain(place, entry.topic.shape))
            }
        };
        explanation.ok_or_else(|| Error::new(ErrorKind::Refused, "the subscription has ended"))
    }

    /// Ends a subscription.
    pub(crate) fn cancel(&mut self, topic: u32, place: Place, id: SubscriptionId) {
        if let Place::Statement { at } = place {
            self.statements.try_remove(at as usize);
            return self.release_names();
        }
        if let Some(entry) = self.topics.get_mut(topic as usize) {
            entry.watched.cancel(place, id);
        }
        self.drop_topic(topic);
    }

    /// The topic of a type, and whether it is new: then writers gather its changes from now on.
    fn topic<T: Record>(&mut self, shape: &'static Shape) -> (u32, bool) {
        let is_it = |entry: &WatchedTopic| {
            let watched: &dyn Any = &*entry.watched;
            *entry.topic.shape == *shape
                && entry.topic.which == CollectionRef::Own
                && watched.is::<Watched<T>>()
        };
        if let Some((at, _)) = self.topics.iter().find(|(_, entry)| is_it(entry)) {
            return (number(at), false);
        }
        let id = number(self.topics.vacant_key());
        let gather: fn(&Arc<Interest>) -> Box<dyn Gathered> = |interest| Box::new(Changes::<T>::of(interest));
        let interest = Arc::default();
        let watched = Box::new(Watched::<T>::new(&interest));
        let (type_id, which) = (TypeId::of::<T>(), CollectionRef::Own);
        let mut topic = Topic { id, shape, type_id, which, since: 0, interest, gather };
        self.shared.observed.change(|topics| {
            topic.since = topics.generation;
            topics.list.push(topic.clone());
        });
        self.topics.insert(WatchedTopic { topic, watched, is_behind: false, failed: None });
        (id, true)
    }

    fn watched<T: Record>(&mut self, at: u32) -> Option<&mut Watched<T>> {
        let watched: &mut dyn Any = &mut *self.topics.get_mut(at as usize)?.watched;
        watched.downcast_mut()
    }

    /// Removes the unwatched parts of a topic, and the topic itself if nothing of it is watched any more.
    fn drop_topic(&mut self, at: u32) {
        if let Some(entry) = self.topics.get_mut(at as usize) {
            entry.watched.drop_unwatched();
        }
        if self.topics.get(at as usize).is_some_and(|entry| entry.watched.is_empty()) {
            self.topics.remove(at as usize);
            self.shared.observed.change(|topics| topics.list.retain(|topic| topic.id != at));
        }
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).expect("four thousand million of anything take more memory than there is")
}

#[cold]
pub(super) fn panicked() -> Error {
    Error::new(
        ErrorKind::Refused,
        "the thread of live queries has panicked, in code of a record's own: open the store anew",
    )
}
