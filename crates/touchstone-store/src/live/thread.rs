//! The work of the live thread: commits are taken in, in their order, and every feed is given what concerns it. Nothing
//! here waits for a receiver, and no code but the records' own is called.

use super::capture::Captured;
use super::changes::{Changes, Gathered};
use super::explain::{LiveExplanation, Structure};
use super::follow::{self, Steps, TopicSteps};
use super::held::Held;
use super::interest::Interest;
use super::link::{Commit, Shared, Work};
use super::mailbox::{Batch, Leftover, Mailbox, Slot};
use super::observed::Topic;
use super::outbox::{Outbox, Target};
use super::results::Results;
use super::sql::{SqlRows, Statement};
use super::update::{SubscriptionId, Update, What};
use super::watched::{Asked, Place, Watched};
use crate::access::{Access, Which};
use crate::change_log;
use crate::derived::Stored;
use crate::engine::log::{LogIndex, LogState};
use crate::error::{Error, ErrorKind, Result};
use crate::leased::Leased;
use crate::readers::Readers;
use crate::record::{Record, Shape};
use crate::sync::Arc;
use slab::Slab;
use std::any::Any;

/// Something that the thread is to do.
pub(crate) type Order = Box<dyn FnOnce(&mut Live) + Send>;

/// A feed's mailbox.
pub(crate) type Mail = Mailbox<Update, Error>;

/// What the work is done with.
pub(crate) struct Live {
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    /// Where the state of the log is read; none where the file is read without one.
    index: Option<LogIndex>,
    topics: Slab<Entry>,
    statements: Slab<Statement>,
    feeds: Slab<Arc<Mail>>,
    out: Outbox,
    /// What the log was after the last commit that was taken in.
    state: Option<LogState>,
    /// The last entry that the change log had then.
    entry: i64,
    /// Commits of this store that come after others', which are to be followed first.
    pending: Vec<Commit>,
    version: u64,
    /// Whether something could not be followed, and everything is to be read anew.
    is_behind: bool,
    /// Whether something was not read to its end, because the log was at its limit. It is read again at once: when nobody
    /// commits any more, nothing else would come.
    has_expired: bool,
    /// The list of what is watched that first asked for the names of changed tables.
    names_since: u64,
    subscriptions: u64,
    /// What nobody will take; it is freed when everybody was told.
    leftovers: Vec<Leftover<Update>>,
}

/// A topic that somebody watches.
struct Entry {
    topic: Topic,
    watched: Box<dyn Watches>,
    /// Whether what was committed could not be taken in, and it is to be read anew as a whole.
    is_behind: bool,
    /// Why it cannot be read, where its subscribers were told so, and nothing since.
    failed: Option<Error>,
}

impl Entry {
    /// Tells that it cannot be read: once, until it can be again; and in place of what was to be told before that showed.
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

/// What is watched of a type that the thread does not know.
trait Watches: Any + Send {
    fn take(&mut self, changes: Box<dyn Any>, out: &mut Outbox);
    fn resync(&mut self, leased: &Leased, topic: &Topic, out: &mut Outbox) -> Result<()>;
    fn follow(&mut self, steps: TopicSteps, leased: &Leased, topic: &Topic, out: &mut Outbox) -> Result<()>;
    fn is_late(&self) -> bool;
    fn mend(&mut self, leased: &Leased, topic: &Topic, out: &mut Outbox) -> Result<()>;
    fn targets(&self) -> Vec<Target>;
    fn cancel(&mut self, place: Place, id: SubscriptionId);
    fn let_go_of_unwatched(&mut self);
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

    fn follow(&mut self, steps: TopicSteps, leased: &Leased, topic: &Topic, out: &mut Outbox) -> Result<()> {
        let own = steps.own.into_iter().filter_map(|changes| {
            let changes: Box<dyn Any> = changes;
            changes.downcast::<Changes<T>>().ok()
        });
        let own = own.flat_map(|changes| changes.into_parts().0).collect();
        Watched::follow(self, Access::shaped(leased, topic.which, topic.shape), own, steps.keys, out)
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

    fn let_go_of_unwatched(&mut self) {
        Watched::let_go_of_unwatched(self);
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

/// How commits of others were taken in that are known row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Followed {
    OneByOne,
    /// Several, as one batch.
    Together,
}

/// A snapshot, what was committed before it and is to be taken in, and a version of it.
type Begins = (Result<Held>, Work, u64);

/// Subscriptions that have begun, with numbers that go on from the first's.
pub(crate) struct Begun<T> {
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
            entry: 0,
            pending: Vec::new(),
            version: 0,
            is_behind: false,
            has_expired: false,
            names_since: 0,
            subscriptions: 0,
            leftovers: Vec::new(),
        }
    }

    /// Does what there is to do.
    pub(crate) fn round(&mut self, work: Work) {
        let Work { mut commits, orders, called, lost, .. } = work;
        self.is_behind |= lost;
        // Who subscribes, or waits, is told of what others have committed before: a look costs him little.
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
        if self.is_behind || !self.pending.is_empty() || others || self.has_dirty() || self.has_late() {
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

    /// Ends every feed: as the store is closed, or with an error.
    pub(crate) fn end(self, error: Option<&Error>) {
        // Writers gather nothing more: nobody would take it.
        self.shared.observed.change(|topics| (topics.list, topics.by_name) = (Vec::new(), false));
        for (_, feed) in &self.feeds {
            match error {
                None => feed.close(),
                Some(error) => feed.close_with(error.clone()),
            }
        }
    }

    /// Frees what nobody will take, before it is much: there may be more commits to take in than memory for all that they
    /// supersede.
    fn free_many(&mut self) {
        const LEFTOVERS_MAX: usize = 64;
        if self.leftovers.len() > LEFTOVERS_MAX {
            self.leftovers.clear();
        }
    }

    /// Takes a commit in, if it can be followed.
    fn take(&mut self, commit: Commit) {
        self.version = commit.version;
        let is_next = self.index.is_none() || is_same_commit(self.state, commit.before);
        if self.is_behind || !self.has_watched() {
            self.is_behind |= self.has_watched();
            return;
        }
        if !is_next || !self.pending.is_empty() {
            return self.pending.push(commit);
        }
        let Some(captured) = commit.captured.filter(|captured| self.is_whole(captured)) else {
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
        self.entry = commit.logged.map_or(self.entry, |logged| logged.number);
        self.set_state(commit.after);
        self.is_behind |= self.index.is_some() && self.state.is_none();
    }

    /// Whether windows lack rows that must be read.
    fn lacks_rows(&self) -> bool {
        self.topics.iter().any(|(_, entry)| entry.watched.is_late())
    }

    /// Gives every feed what it has to be told, unless windows lack rows: then it is told together with what they are told,
    /// so that no feed has one thing of a moment and not the other.
    fn deliver_whole(&mut self) {
        if self.lacks_rows() { self.out.keep() } else { self.deliver() }
    }

    /// Fills windows up that lack rows after the commit that was just taken in: told with it, where nothing was committed
    /// since, and else with what was.
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
            // It is tried again at once, and told where it fails again.
            Err(_) => self.is_behind = true,
        }
    }

    /// Fills windows up where the snapshot is of the commit that was just taken in: what they are told is told with it.
    fn fill_up_now(&mut self, leased: &Result<Held>) {
        if let Ok(leased) = leased
            && (self.index.is_none() || is_same_commit(self.state, leased.parked.get()))
        {
            self.fill_up(leased);
        }
    }

    /// Fills windows up that lack rows; whether any did.
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

    /// Whether all was captured that is watched now.
    fn is_whole(&self, captured: &Captured) -> bool {
        let mut since = self.topics.iter().map(|(_, entry)| entry.topic.since);
        let has_names = self.statements.is_empty() || captured.generation >= self.names_since;
        !captured.unknown && has_names && since.all(|since| since <= captured.generation)
    }

    /// Gives every feed what it has to be told.
    fn deliver(&mut self) {
        let (version, is_resync) = (self.out.version, self.out.is_resync || self.out.is_kept());
        let (feeds, leftovers) = (&self.feeds, &mut self.leftovers);
        self.out.send(|feed, updates| {
            if let Some(feed) = feeds.get(feed as usize) {
                leftovers.push(feed.put(Batch { version, is_resync, updates }));
            }
        });
    }

    /// Whether anybody watches anything.
    fn has_watched(&self) -> bool {
        !self.topics.is_empty() || !self.statements.is_empty()
    }

    /// Whether a statement is to be run anew.
    fn has_dirty(&self) -> bool {
        self.statements.iter().any(|(_, statement)| statement.is_dirty())
    }

    /// Whether a topic could not be read, and is to be tried again.
    fn has_late(&self) -> bool {
        self.topics.iter().any(|(_, entry)| entry.is_behind || entry.watched.is_late())
    }

    /// Notes what the log is, for those who look for commits of others.
    fn set_state(&mut self, state: Option<LogState>) {
        self.state = state;
        self.shared.note_seen(state);
    }

    /// Whether there is a commit that no writer of this store has made.
    fn others_committed(&self) -> bool {
        self.has_watched() && !is_same_commit(self.state, self.index.as_ref().and_then(LogIndex::state))
    }

    /// Takes in what has been committed, or reads everything anew, and tells what is other than it was.
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

    /// A snapshot of what has been taken in: all of the commits that it sees, and no others.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn align(&mut self) -> Result<Held> {
        let begun = self.begin_to_read();
        self.align_with(begun)
    }

    /// Takes a snapshot, and what was committed before it.
    fn begin_to_read(&self) -> Begins {
        // What is about to be read must not be left out by who changes it meanwhile.
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
        let pending = std::mem::take(&mut self.pending);
        self.version = version;
        let is_same = self.index.is_none() || is_same_commit(self.state, seen);
        let is_current = is_same && pending.is_empty();
        let followed = match (self.is_behind, is_current) {
            (true, _) => None,
            (false, true) => Some(Followed::OneByOne),
            (false, false) => self.follow(&leased, seen, pending),
        };
        if followed.is_none() {
            let last = leased.in_transaction(|session| Ok(change_log::last(session)));
            (self.is_behind, self.entry) = (last.is_err(), last.unwrap_or(0));
            self.statements.iter_mut().for_each(|(_, statement)| statement.note(None));
        }
        self.set_state(seen);
        let is_resync = self.resync(&leased, followed.is_none());
        self.refresh(&leased, is_resync || followed == Some(Followed::Together));
        Ok(leased)
    }

    /// Takes in what was committed since the last state, by this store and by others, if all of it is known: as one
    /// batch.
    fn follow(&mut self, leased: &Leased, seen: Option<LogState>, pending: Vec<Commit>) -> Option<Followed> {
        let pending = pending.into_iter().map(|commit| {
            let Commit { captured, .. } = commit;
            Commit { captured: captured.filter(|captured| self.is_whole(captured)), ..commit }
        });
        let pending: Vec<Commit> = pending.collect();
        let (from, to) = self.state.zip(seen)?;
        let entries = leased.in_transaction(|session| change_log::after(session, self.entry)).ok()?;
        let last = entries.last().map_or(self.entry, |entry| entry.number);
        let steps = follow::steps((from, self.entry), to, entries, pending)?;
        self.entry = last;
        // Rows of others are read as they are now: what several commits did is not told one by one.
        let followed = if steps.len() > 1 { Followed::Together } else { Followed::OneByOne };
        (self.out.version, self.out.is_resync) = (self.version, followed == Followed::Together);
        let mut steps = Steps::of(steps);
        for (id, entry) in self.topics.iter_mut().filter(|(_, entry)| !entry.is_behind) {
            let steps = steps.of_topic(number(id), &entry.topic);
            let followed = entry.watched.follow(steps, leased, &entry.topic, &mut self.out);
            // What could not be read need not be what is watched: that shows when all of it is. What was told until then is
            // told together with that.
            if followed.is_err() {
                entry.is_behind = true;
                self.out.keep();
            }
        }
        for (_, statement) in &mut self.statements {
            statement.note(Some(&steps.tables));
        }
        Some(followed)
    }

    /// Reads everything anew, or those topics only that could not be read before; whether any of them was.
    fn resync(&mut self, leased: &Leased, all: bool) -> bool {
        (self.out.version, self.out.is_resync) = (self.version, true);
        let mut is_read = all;
        for (_, entry) in self.topics.iter_mut().filter(|(_, entry)| all || entry.is_behind) {
            self.out.tells_all = entry.failed.is_some();
            match entry.watched.resync(leased, &entry.topic, &mut self.out) {
                Ok(()) => (entry.failed, entry.is_behind, is_read) = (None, false, true),
                // It is tried again when there is something to do, and nobody else is hindered.
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

    /// Runs the statements anew whose tables have changed, and delivers what there is.
    fn refresh(&mut self, leased: &Leased, is_resync: bool) {
        (self.out.version, self.out.is_resync) = (self.version, is_resync);
        for (_, statement) in self.statements.iter_mut().filter(|(_, statement)| statement.is_dirty()) {
            statement.refresh(leased, self.version, &mut self.out);
            self.has_expired |= statement.has_expired();
        }
        self.deliver();
    }

    /// Ends the snapshot that everything is aligned with, and leaves the connection for others.
    fn give_back(&self, leased: Held) {
        self.topics.iter().for_each(|(_, entry)| entry.watched.settle());
        drop(leased);
    }
}

/// What subscribers order.
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
    /// When what they begin with cannot be read.
    pub(crate) fn subscribe<T: Record>(
        &mut self,
        shape: &'static Shape,
        feed: u32,
        asked: Vec<Asked>,
    ) -> Result<Begun<T>> {
        let (at, is_new) = self.topic::<T>(shape);
        let first = SubscriptionId(self.subscriptions + 1);
        self.subscriptions += asked.len() as u64;
        let comers = self.watched::<T>(at).ok_or_else(panicked)?.prepare(asked);
        let lack = is_new || comers.lack || self.why_failed(at).is_some();
        let leased = if lack { Some(self.align().inspect_err(|_| self.let_go(at))?) } else { None };
        let version = self.version;
        let access = leased.as_ref().map(|leased| Access::shaped(leased, Which::Own, shape));
        let begun = match (self.why_failed(at), self.watched::<T>(at)) {
            (None, Some(watched)) => watched.subscribe(access, comers, feed, first, version),
            (why, _) => Err(why.unwrap_or_else(panicked)),
        };
        if let Some(leased) = leased {
            self.give_back(leased);
        }
        let list = begun.inspect_err(|_| self.let_go(at))?;
        Ok(Begun { first, topic: at, list })
    }

    /// Why a topic cannot be read, where it cannot.
    fn why_failed(&self, at: u32) -> Option<Error> {
        self.topics.get(at as usize)?.failed.clone()
    }

    /// Begins to watch a statement.
    ///
    /// # Errors
    /// When it is none that reads, or fails.
    pub(crate) fn subscribe_sql(
        &mut self,
        feed: u32,
        slot: Slot,
        sql: String,
        parameters: Vec<Stored>,
    ) -> Result<(SubscriptionId, Place, SqlRows)> {
        // From now on the writer tells the names of the tables that it changes.
        let generation = self.shared.observed.change(|topics| topics.by_name = true);
        if self.statements.is_empty() {
            self.names_since = generation;
        }
        let leased = self.align().inspect_err(|_| self.let_go_of_names())?;
        self.subscriptions += 1;
        let id = SubscriptionId(self.subscriptions);
        let target = Target { feed, slot, id };
        let begun = Statement::begin(&leased, sql, parameters, target, self.version);
        self.give_back(leased);
        let begun = begun.map(|(statement, rows)| {
            let at = number(self.statements.insert(statement));
            (id, Place::Statement { at }, rows)
        });
        self.let_go_of_names();
        begun
    }

    fn let_go_of_names(&self) {
        if self.statements.is_empty() {
            self.shared.observed.change(|topics| topics.by_name = false);
        }
    }

    /// How a subscription is followed.
    ///
    /// # Errors
    /// When it has ended.
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
            return self.let_go_of_names();
        }
        if let Some(entry) = self.topics.get_mut(topic as usize) {
            entry.watched.cancel(place, id);
        }
        self.let_go(topic);
    }

    /// The topic of a type, which the writer gathers from now on.
    fn topic<T: Record>(&mut self, shape: &'static Shape) -> (u32, bool) {
        let is_it = |entry: &Entry| {
            let watched: &dyn Any = &*entry.watched;
            *entry.topic.shape == *shape && entry.topic.which == Which::Own && watched.is::<Watched<T>>()
        };
        if let Some((at, _)) = self.topics.iter().find(|(_, entry)| is_it(entry)) {
            return (number(at), false);
        }
        let id = number(self.topics.vacant_key());
        let gather: fn(&Arc<Interest>) -> Box<dyn Gathered> = |interest| Box::new(Changes::<T>::of(interest));
        let interest = Arc::default();
        let watched = Box::new(Watched::<T>::new(&interest));
        let mut topic = Topic { id, shape, which: Which::Own, since: 0, interest, gather };
        self.shared.observed.change(|topics| {
            topic.since = topics.generation;
            topics.list.push(topic.clone());
        });
        self.topics.insert(Entry { topic, watched, is_behind: false, failed: None });
        (id, true)
    }

    fn watched<T: Record>(&mut self, at: u32) -> Option<&mut Watched<T>> {
        let watched: &mut dyn Any = &mut *self.topics.get_mut(at as usize)?.watched;
        watched.downcast_mut()
    }

    /// Lets go of what nobody watches of a topic, and of the topic where that is all of it.
    fn let_go(&mut self, at: u32) {
        if let Some(entry) = self.topics.get_mut(at as usize) {
            entry.watched.let_go_of_unwatched();
        }
        if self.topics.get(at as usize).is_some_and(|entry| entry.watched.is_empty()) {
            self.topics.remove(at as usize);
            self.shared.observed.change(|topics| topics.list.retain(|topic| topic.id != at));
        }
    }
}

/// Whether nothing was committed between the two states, as far as they are known.
pub(super) fn is_same_commit(one: Option<LogState>, other: Option<LogState>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one.is_same_commit(other))
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
