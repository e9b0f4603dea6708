//! The connections that read. Each goes back with its snapshot still open, and is used again as it is when nobody has
//! committed since: then a read takes no lock and no system call. The keeper ends snapshots that nobody comes back for.

use crate::alarm::Alarm;
use crate::engine::connection::{Connection, Stopper};
use crate::engine::fork::Origin;
use crate::engine::log::{LogIndex, LogState};
use crate::engine::pin::Pin;
use crate::error::Result;
use crate::idle::{Idle, List};
use crate::lease::Lease;
use crate::leased::Leased;
use crate::options::Options;
use crate::session::{Role, Session};
use crate::sync::{Mutex, lock};
use rusqlite::InterruptHandle;
use std::mem::replace;
use std::sync::Arc;

/// Idle connections that are kept; more are closed.
const IDLE_MAX: usize = 16;
/// Reads of a store before snapshots are left open: whoever reads once needs no keeper.
const READS_MIN: u32 = 8;

/// The connections that read.
pub(crate) struct Readers {
    origin: Origin,
    options: Options,
    index: Option<LogIndex>,
    idle: Idle,
    /// Every connection there is, idle or not, with what is needed to end its snapshot.
    all: Mutex<Vec<Known>>,
    alarm: Arc<Alarm>,
    /// Closed after the connections.
    pin: Arc<Pin>,
}

/// How long a connection is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// For one call of the store's own.
    Call,
    /// For a program's closure, which may be long.
    Closure,
    /// For as long as the program likes.
    Long,
}

/// What the keeper is to do from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Watch {
    AsBefore,
    /// It looks again and again from now on, and its thread must be there.
    Begins,
}

/// Whose snapshot it is.
pub(crate) type Owner = (Arc<Lease>, u64);

/// A connection, as those know it who end its snapshots.
#[derive(Clone)]
struct Known {
    lease: Arc<Lease>,
    stopper: Stopper,
    interrupter: Arc<InterruptHandle>,
}

impl Readers {
    /// The readers of a store, with the connection that the store was opened with.
    pub(crate) fn new(
        pin: &Arc<Pin>,
        options: &Options,
        alarm: Arc<Alarm>,
        connection: Connection,
    ) -> Readers {
        let readers = Readers {
            origin: pin.origin(),
            options: options.clone(),
            index: pin.index(),
            idle: Idle::default(),
            all: Mutex::default(),
            alarm,
            pin: Arc::clone(pin),
        };
        let first = readers.register(Session::of(connection, options, Role::Reader));
        first.make_first();
        readers.idle.list().sessions.push(first);
        readers
    }

    /// A connection with a snapshot of what is committed now, for one call.
    #[inline]
    pub(crate) fn take(&self) -> Result<Box<Leased>> {
        self.hold(Hold::Call).0
    }

    /// A connection with a snapshot of what is committed now. The keeper looks after it if it may be held for long.
    #[inline]
    pub(crate) fn hold(&self, hold: Hold) -> (Result<Box<Leased>>, Watch) {
        if let Err(error) = self.origin.check() {
            return (Err(error), Watch::AsBefore);
        }
        let mut idle = self.idle.list();
        idle.out += 1;
        let begins = hold != Hold::Call && !idle.is_watched && self.may_be_long(hold);
        idle.is_watched |= begins;
        let leased = idle.sessions.pop();
        drop(idle);
        (self.begin(leased), self.watch(begins))
    }

    #[inline]
    fn begin(&self, idle: Option<Box<Leased>>) -> Result<Box<Leased>> {
        let leased = match idle {
            Some(leased) => leased,
            None => self.open().inspect_err(|_| self.idle.list().out -= 1)?,
        };
        match leased.begin(|session| self.renew(session, &leased)) {
            Ok(()) => Ok(leased),
            Err(error) => {
                leased.parked.set(None);
                // Where there is no snapshot, none is left open.
                let _ = self.put(leased);
                Err(error)
            }
        }
    }

    /// Whether others may commit as much as the log may have, while the snapshot is held. A closure that reads cannot read
    /// for so long if all that there is to read is less than that. One that waits may: the keeper looks after it where its
    /// thread is there, but is not started for it.
    #[cold]
    fn may_be_long(&self, hold: Hold) -> bool {
        /// The part of its limit that a log may have and be taken for a short one.
        const PART: u64 = 4;
        // Without an index the file is this process's alone, and who writes tells the keeper.
        let Some(index) = &self.index else { return false };
        let max = self.options.log_bytes_max;
        let file_bytes = |state: LogState| state.file_bytes().max(self.pin.bytes_at_first());
        let is_much = |state: LogState| file_bytes(state) > max || state.log_bytes() > max / PART;
        hold == Hold::Long || self.alarm.is_heard() || index.state().is_some_and(is_much)
    }

    fn watch(&self, begins: bool) -> Watch {
        if begins {
            self.alarm.watch();
            Watch::Begins
        } else {
            Watch::AsBefore
        }
    }

    #[cold]
    fn open(&self) -> Result<Box<Leased>> {
        let session = Session::open(&self.pin, &self.options, Role::Reader)?;
        Ok(self.register(session))
    }

    fn register(&self, session: Session) -> Box<Leased> {
        let (stopper, interrupter) = (session.connection.stopper(), session.connection.interrupter());
        let (leased, lease) = session.leased();
        lock(&self.all).push(Known { lease, stopper, interrupter: Arc::new(interrupter) });
        Box::new(leased.with_pin(&self.pin))
    }

    #[inline]
    fn renew(&self, session: &Session, leased: &Leased) -> Result<()> {
        let parked = leased.parked.get();
        if let Some(parked) = parked
            && !self.pin.is_seen_gone()
            && self.index.as_ref().and_then(LogIndex::state) == Some(parked)
        {
            leased.note_began(Some(parked.place()), Some(parked));
            return Ok(());
        }
        self.begin_anew(session, leased, parked.is_some())
    }

    /// Begins a snapshot of what is committed now; the one before it, where there is one, is of something else.
    #[inline(never)]
    fn begin_anew(&self, session: &Session, leased: &Leased, has_parked: bool) -> Result<()> {
        if has_parked {
            session.connection.commit()?;
        }
        self.pin.look()?;
        let parked = session.begin_read(self.index.as_ref())?;
        leased.note_began(LogState::of(&session.connection).map(LogState::place), parked);
        Ok(())
    }

    /// Takes a connection back. Its snapshot may be left open, which the keeper then looks after.
    #[inline]
    pub(crate) fn put(&self, leased: Box<Leased>) -> Watch {
        if !self.origin.is_here() {
            // Its parent's: nothing is ended, and no lock waited for that a thread of the parent's had.
            std::mem::forget(leased);
            return Watch::AsBefore;
        }
        // A page that cannot be decrypted, or read, fails every page after it until the transaction ends.
        let goes_on = |session: &Session| session.connection.is_well() && !session.connection.is_idle();
        let (is_whole, goes_on) = leased.end(goes_on);
        leased.is_used.set(true);
        // A log at its limit begins anew when nobody reads from it. Snapshots that are gone on with, where nobody commits because
        // a checkpoint waits for them, read from it for ever; those that begin once all of it is copied read from the file.
        let is_short = |parked: LogState| parked.log_bytes() <= self.options.log_bytes_max;
        let may_park = is_whole && goes_on && leased.parked.get().is_some_and(is_short);
        // Decided under the lock that the keeper sweeps under: what is left open is always seen by a sweep to come.
        let mut idle = self.idle.list();
        let was_watched = idle.is_watched;
        if !(may_park && idle.sessions.len() < IDLE_MAX && parks(&mut idle)) {
            drop(idle);
            leased.parked.set(None);
            leased.call_last(|session| session.connection.end());
            idle = self.idle.list();
        }
        let begins = !was_watched && leased.parked.get().is_some();
        idle.out -= 1;
        if idle.sessions.len() < IDLE_MAX {
            idle.sessions.push(leased);
            drop(idle);
        } else {
            let spare = if leased.is_first() { replace(&mut idle.sessions[0], leased) } else { leased };
            drop(idle);
            lock(&self.all).retain(|known| !spare.is_of(&known.lease));
        }
        self.watch(begins)
    }

    /// Ends the snapshots of idle connections that nobody used since the last time, or that are old; with `all`, of
    /// every idle connection.
    pub(crate) fn sweep(&self, all: bool) -> Left {
        // What nobody commits to is read without a look at the file: snapshots of one that is gone are not gone on with.
        let all = all || self.pin.look().is_err();
        let mut idle = self.idle.list();
        let left = match (self.sweep_list(&idle, all), idle.out) {
            (true, _) => Left::Parked,
            (false, 0) => Left::Nothing,
            (false, _) => Left::Held,
        };
        if left == Left::Nothing {
            (idle.is_watched, idle.reads) = (false, 0);
        }
        left
    }

    /// Ends the snapshots of idle connections, and leaves none open for now: nobody would look after them.
    pub(crate) fn unwatched(&self) {
        let mut idle = self.idle.list();
        self.sweep_list(&idle, true);
        (idle.is_watched, idle.reads) = (false, 0);
    }

    /// Whether a snapshot is left open.
    fn sweep_list(&self, idle: &List, all: bool) -> bool {
        let now = self.index.as_ref().and_then(LogIndex::state);
        let mut is_parked = false;
        for leased in &idle.sessions {
            let Some(parked) = leased.parked.get() else { continue };
            if all || !leased.is_used.replace(false) || Some(parked) != now {
                leased.parked.set(None);
                leased.call_last(|session| session.connection.end());
            } else {
                is_parked = true;
            }
        }
        is_parked
    }

    /// How many connections somebody has.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.idle.list().out
    }

    /// Who has a snapshot now.
    pub(crate) fn owners(&self) -> Vec<Owner> {
        let leases: Vec<Arc<Lease>> = lock(&self.all).iter().map(|known| Arc::clone(&known.lease)).collect();
        leases.into_iter().filter_map(|lease| lease.owner().map(|owner| (lease, owner))).collect()
    }

    /// Ends those owners' snapshots. Whose statement is running is interrupted, and told that the snapshot has expired.
    pub(crate) fn expire(&self, owners: &[Owner]) {
        for (lease, owner) in owners {
            let known = lock(&self.all).iter().find(|known| Arc::ptr_eq(&known.lease, lease)).cloned();
            let Some(Known { lease, stopper, interrupter }) = known else { continue };
            // SAFETY: it is called with the gate, while the session has an owner: its lease ends before the connection is
            // closed, and nobody else uses a connection without the gate.
            let is_inside = lease.expire(*owner, || unsafe { stopper.stop() });
            if is_inside {
                self.idle.interrupt(&lease, *owner, || interrupter.interrupt());
            }
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        let mut idle = self.idle.list();
        if let Some(at) = idle.sessions.iter().position(|leased| leased.is_first()) {
            let first = idle.sessions.swap_remove(at);
            // It may be open for longer than the readers are, and a snapshot would keep the log from being emptied.
            first.call_last(|session| session.connection.end());
            self.pin.close_last(first);
        }
    }
}

/// What there is to look after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// Snapshots that somebody has.
    Held,
    /// Snapshots that are left open on idle connections, besides.
    Parked,
}

/// Whether a snapshot may be left open: the keeper then looks after it.
#[inline]
fn parks(idle: &mut List) -> bool {
    if !idle.is_watched {
        idle.reads += 1;
        idle.is_watched = idle.reads > READS_MIN;
    }
    idle.is_watched
}

#[cfg(test)]
mod tests {
    use super::{IDLE_MAX, READS_MIN};
    use crate::cells::Cells;
    use crate::value::{Kind, Mismatch, Raw};
    use crate::{Field, Options, Record, Store};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A field whose reading panics.
    struct Explosive;

    impl Field for Explosive {
        const KIND: Kind = Kind::Integer;
        type Plain = Explosive;
        type View<'a> = Explosive;

        fn write<'a>(&'a self, cells: &mut Cells<'a>) {
            cells.integer(1);
        }

        fn read(_raw: Raw<'_>) -> Result<Explosive, Mismatch> {
            panic!("it explodes")
        }

        fn view(raw: Raw<'_>) -> Result<Explosive, Mismatch> {
            Explosive::read(raw)
        }
    }

    #[derive(Record)]
    struct Note {
        #[record(key)]
        id: i64,
    }

    #[derive(Record)]
    struct Bomb {
        #[record(key)]
        id: i64,
        charge: Explosive,
    }

    fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().expect("there is room");
        let store = Store::open(directory.path().join("bombs.db")).expect("it opens");
        store.insert(&Bomb { id: 1, charge: Explosive }).expect("it is written");
        (directory, store)
    }

    /// `Store::get` closed the connection under the readers' list, where the keeper found it when snapshots expired.
    #[test]
    fn a_panic_of_the_programs_own_leaves_no_connection_that_is_gone() {
        let (_directory, store) = store();
        let panicked = catch_unwind(AssertUnwindSafe(|| store.get::<Bomb>(&1).is_ok()));
        assert!(panicked.is_err());
        assert!(store.readers().owners().is_empty());
        assert!(store.get::<Bomb>(&2).expect("it is readable").is_none());
    }

    /// The keeper ends snapshots that lie idle, and a reader that never pauses has its snapshot whenever the keeper looks: it
    /// went on with a file that was gone.
    #[test]
    fn a_reader_that_never_pauses_is_told_what_the_keeper_saw() {
        let (directory, store) = store();
        while store.readers().idle.list().sessions.iter().all(|leased| leased.parked.get().is_none()) {
            assert!(store.get::<Bomb>(&2).expect("it is readable").is_none());
        }
        let seen = store.read(|_| {
            std::fs::remove_file(directory.path().join("bombs.db")).expect("it is there");
            while store.readers().pin.look().is_ok() {
                std::thread::yield_now();
            }
            store.readers().sweep(false);
            Ok(())
        });
        seen.expect("what was begun goes on");
        let told = store.get::<Bomb>(&2).map(drop).expect_err("it is told");
        assert_eq!(told.kind(), crate::ErrorKind::Replaced);
    }

    /// A checkpoint waited in vain for a reader that went on with its snapshot, because nobody could commit meanwhile: the log
    /// grew to six times its limit.
    #[test]
    fn no_snapshot_is_left_open_where_the_log_is_at_its_limit() {
        let directory = tempfile::tempdir().expect("there is room");
        let options = Options::new().checkpoint_pages(u32::MAX).log_bytes_max(50_000);
        let store = options.open(directory.path().join("notes.db")).expect("it opens");
        let is_left_open = || {
            // More reads than those of which no snapshot is left open.
            for _ in 0..2 * READS_MIN {
                assert!(store.get::<Note>(&1).expect("it is readable").is_some());
            }
            store.readers().idle.list().sessions.iter().any(|leased| leased.parked.get().is_some())
        };
        store.insert(&Note { id: 1 }).expect("it is written");
        assert!(is_left_open());
        store.insert_all(&(2..20_000).map(|id| Note { id }).collect::<Vec<_>>()).expect("it is written");
        assert!(!is_left_open());
    }

    /// The log's index is mapped by the store's first connection, which goes out and comes back like the others.
    #[test]
    fn of_too_many_connections_the_first_is_not_closed() {
        let (_directory, store) = store();
        let snapshots: Vec<_> = (0..=IDLE_MAX).map(|_| store.snapshot().expect("it is readable")).collect();
        let sessions = || store.readers().idle.list().sessions.len();
        assert_eq!(sessions(), 0);
        // It was the first that was taken.
        snapshots.into_iter().rev().for_each(drop);
        assert_eq!(sessions(), IDLE_MAX);
        assert!(store.readers().idle.list().sessions.iter().any(|leased| leased.is_first()));
    }

    /// The keeper held the list of connections while it waited for a call to end, and the call wanted the list for a
    /// connection of its own.
    #[test]
    fn a_read_within_a_call_goes_on_while_the_calls_snapshot_expires() {
        let (_directory, store) = store();
        let snapshot = store.snapshot().expect("it is readable");
        let readers = store.readers();
        let owners = readers.owners();
        let lease = &owners[0].0;
        std::thread::scope(|scope| {
            let entered = lease.enter().expect("it has not expired");
            scope.spawn(|| readers.expire(&owners));
            while lease.check().is_ok() {
                std::thread::yield_now();
            }
            assert!(store.get::<Bomb>(&2).expect("it is readable").is_none());
            drop(entered);
        });
        assert!(snapshot.get::<Bomb>(&2).is_err());
    }
}
