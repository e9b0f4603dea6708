//! The pool of connections that read. A connection goes back with its snapshot still open ("parked"), and its next
//! owner goes on with the snapshot if no process has committed since: such a read takes no lock of the file and makes
//! no system call. The keeper, the checkpoint thread, ends parked snapshots that are not used again.

//               begin: a new snapshot
//     idle ------------------------------> out
//     ^  <------------------------------   | ^
//     |       put: ends the snapshot   put | | begin: goes on with the snapshot, or begins a new one
//     |                                    v |
//     +----------------------------------- parked
//             sweep: ends the snapshot
//
// `put` parks a snapshot only if the log is within its limit and the keeper watches, which begins after `READS_MIN`
// reads or with a snapshot that may be held for long. It parks none while the keeper waits for readers so that the log
// restarts. With `IDLE_MAX` sessions in the list it closes one.
//
// A thread takes a session out of the idle list under the list's lock, and puts it back under it. In between, this
// thread alone uses the session's cells `parked` and `is_used`; the sweep uses those of listed sessions, under the
// lock. The number of sessions that are out, and whether the keeper watches, change under the same lock. So the keeper
// goes to sleep only if no snapshot is parked and no session is out, and the next snapshot that is parked, or that may
// be held for long, wakes it.
//
// Under the list's lock a thread waits for the gates of listed sessions only. A listed session has no owner, so no call
// holds its gate. Therefore a call may take the list's lock while it holds its own gate. No other lock is taken under
// the lock of `all`.
//
// Two equal states of the header of the log's index (SQLite's WAL index, in shared memory) mean that nothing was
// committed in between. The header is read without a lock. A commit that happened before the read, by any
// synchronization of threads or processes, is seen; a concurrent commit may be missed, and then the snapshot is of the
// moment before it.

use crate::engine::connection::Connection;
use crate::engine::fork::Origin;
use crate::engine::lease::Lease;
use crate::engine::leased::Stoppable;
use crate::engine::log::{LogIndex, LogState};
use crate::engine::pin::Pin;
use crate::session::idle::{Idle, IdleList};
use crate::session::keeper_wakeup::KeeperWakeup;
use crate::session::leased::Leased;
use crate::session::{Role, Session};
use crate::types::error::Result;
use crate::types::options::Options;
use crate::types::sync::{ALL, Mutex, lock};
use rusqlite::InterruptHandle;
use std::mem::replace;
use std::sync::Arc;

/// Idle connections that are kept; more are closed.
const IDLE_MAX: usize = 16;
/// The number of reads of a store before snapshots are parked: a program that reads once needs no keeper.
const READS_MIN: u32 = 8;

/// The connections that read.
pub(crate) struct Readers {
    origin: Origin,
    options: Options,
    index: Option<LogIndex>,
    idle: Idle,
    /// Every connection, idle or out, with the handles that end its snapshot.
    all: Mutex<Vec<KnownConnection>, ALL>,
    wakeup: Arc<KeeperWakeup>,
    /// Closed after the connections.
    pin: Arc<Pin>,
}

/// How long a connection is to be out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// For one call of the store's own.
    Call,
    /// For a program's closure, which may be long.
    Closure,
    /// For as long as the program likes.
    Long,
}

/// Whether the keeper starts to watch snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum KeeperWatch {
    AsBefore,
    /// The keeper looks periodically from now on, and its thread must be running.
    Begins,
}

/// The owner of a snapshot: the lease, and the owner's number in it.
pub(crate) type Owner = (Arc<Lease>, u64);

/// A connection, as the keeper knows it to end its snapshots.
#[derive(Clone)]
struct KnownConnection {
    stoppable: Stoppable,
    interrupter: Arc<InterruptHandle>,
}

impl Readers {
    /// The readers of a store, with the connection that the store was opened with.
    pub(crate) fn new(
        pin: &Arc<Pin>,
        options: &Options,
        wakeup: Arc<KeeperWakeup>,
        connection: Connection,
    ) -> Readers {
        let readers = Readers {
            origin: pin.origin(),
            options: options.clone(),
            index: pin.index(),
            idle: Idle::default(),
            all: Mutex::default(),
            wakeup,
            pin: Arc::clone(pin),
        };
        let first = readers.register(Session::of(connection, options, Role::Reader));
        first.set_first(true);
        readers.idle.list().sessions.push(first);
        readers
    }

    /// A connection with a snapshot of everything committed by now, for one call.
    #[inline]
    pub(crate) fn take(&self) -> Result<Box<Leased>> {
        self.hold(Hold::Call).0
    }

    /// A connection with a snapshot of everything committed by now. The keeper watches it if it may be held for long.
    #[inline]
    pub(crate) fn hold(&self, hold: Hold) -> (Result<Box<Leased>>, KeeperWatch) {
        if let Err(error) = self.origin.check() {
            return (Err(error), KeeperWatch::AsBefore);
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
                // No snapshot has begun, so `put` parks none.
                let _ = self.put(leased);
                Err(error)
            }
        }
    }

    /// Whether other threads or processes may commit `log_bytes_max` bytes while the snapshot is held. During a closure
    /// that only reads they cannot, if the file is smaller than that and the log is short. A closure that waits may
    /// take longer: the keeper watches its snapshot if the keeper's thread is running, but the thread is not started
    /// for it.
    #[cold]
    fn may_be_long(&self, hold: Hold) -> bool {
        /// The log counts as short up to its limit divided by this.
        const PART: u64 = 4;
        // Without an index no other process writes the file, or it is a backup, of which a snapshot keeps no log from being reset.
        let Some(index) = &self.index else { return false };
        let max = self.options.log_bytes_max;
        let file_bytes = |state: LogState| state.file_bytes().max(self.pin.bytes_at_first());
        let is_much = |state: LogState| file_bytes(state) > max || state.log_bytes() > max / PART;
        hold == Hold::Long || self.wakeup.is_heard() || index.state().is_some_and(is_much)
    }

    fn watch(&self, begins: bool) -> KeeperWatch {
        if begins {
            self.wakeup.watch();
            KeeperWatch::Begins
        } else {
            KeeperWatch::AsBefore
        }
    }

    #[cold]
    fn open(&self) -> Result<Box<Leased>> {
        let session = Session::open(&self.pin, &self.options, Role::Reader)?;
        Ok(self.register(session))
    }

    fn register(&self, session: Session) -> Box<Leased> {
        let interrupter = Arc::new(session.connection.interrupter());
        let (leased, stoppable) = session.leased();
        lock(&self.all).push(KnownConnection { stoppable, interrupter });
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

    /// Begins a snapshot of everything committed by now. A parked one, of another moment or file, ends first.
    #[inline(never)]
    fn begin_anew(&self, session: &Session, leased: &Leased, has_parked: bool) -> Result<()> {
        if has_parked {
            session.connection.commit()?;
        }
        self.pin.look()?;
        let parked = session.begin_read(self.index.as_ref())?;
        leased.note_began(session.connection.log_state().map(LogState::place), parked);
        Ok(())
    }

    /// Takes a connection back. If it parks the snapshot, the keeper watches it.
    #[inline]
    pub(crate) fn put(&self, leased: Box<Leased>) -> KeeperWatch {
        if !self.origin.is_here() {
            // The connection is the parent's: the child ends nothing, and waits for no lock of the parent's threads.
            std::mem::forget(leased);
            return KeeperWatch::AsBefore;
        }
        // After a page that cannot be decrypted or read, every later page fails too, until the transaction ends.
        let goes_on = |session: &Session| session.connection.is_well() && !session.connection.is_idle();
        let (is_whole, goes_on) = leased.end(goes_on);
        leased.is_used.set(true);
        // A log at its limit restarts when no snapshot reads from it, perhaps for another process, whose checkpoint keeps
        // writers waiting: without this the parked snapshot would stay current and read from the log for as long as
        // readers come. A snapshot that begins when the whole log is copied reads from the file.
        let is_short = |parked: LogState| parked.log_bytes() <= self.options.log_bytes_max;
        let may_park = is_whole && goes_on && leased.parked.get().is_some_and(is_short);
        // Decided under the lock of the sweep: a later sweep always sees a parked snapshot.
        let mut idle = self.idle.list();
        let was_watched = idle.is_watched;
        if !(may_park && !idle.is_draining && idle.sessions.len() < IDLE_MAX && parks(&mut idle)) {
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
            lock(&self.all).retain(|known| !spare.is_of(known.stoppable.lease()));
        }
        self.watch(begins)
    }

    /// Ends parked snapshots that were not used since the last sweep or are of an older commit; with `all`, every one.
    pub(crate) fn sweep(&self, all: bool) -> Left {
        // A reader that goes on with a parked snapshot does not look for the file: if the file is gone, all end.
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

    /// Does work for which no snapshot may read from the log. Every parked one ends, and those that are out end when they
    /// come back: if they were parked, they would stay current for as long as writers wait, and readers come.
    pub(crate) fn draining<R>(&self, work: impl FnOnce() -> R) -> R {
        self.idle.list().is_draining = true;
        let _drained = Drained(&self.idle);
        self.sweep(true);
        work()
    }

    /// Ends every parked snapshot, and parks none for now: the keeper has no thread that would watch them.
    pub(crate) fn unwatched(&self) {
        let mut idle = self.idle.list();
        self.sweep_list(&idle, true);
        (idle.is_watched, idle.reads) = (false, 0);
    }

    /// Sweeps the list; whether a snapshot stays parked.
    fn sweep_list(&self, idle: &IdleList, all: bool) -> bool {
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

    /// The number of connections that are out.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.idle.list().out
    }

    /// The owners that have a snapshot now.
    pub(crate) fn owners(&self) -> Vec<Owner> {
        let leases: Vec<Arc<Lease>> =
            lock(&self.all).iter().map(|known| Arc::clone(known.stoppable.lease())).collect();
        leases.into_iter().filter_map(|lease| lease.owner().map(|owner| (lease, owner))).collect()
    }

    /// Ends those owners' snapshots. If an owner is in a call, its statement is interrupted, and fails with `Expired`.
    pub(crate) fn expire(&self, owners: &[Owner]) {
        for (lease, owner) in owners {
            let is_it = |known: &&KnownConnection| Arc::ptr_eq(known.stoppable.lease(), lease);
            let known = lock(&self.all).iter().find(is_it).cloned();
            let Some(KnownConnection { stoppable, interrupter }) = known else { continue };
            let is_inside = stoppable.expire(*owner);
            if is_inside {
                self.idle.interrupt(lease, *owner, || interrupter.interrupt());
            }
        }
    }
}

/// Lets snapshots be parked again, even if the work panics.
struct Drained<'r>(&'r Idle);

impl Drop for Drained<'_> {
    fn drop(&mut self) {
        self.0.list().is_draining = false;
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        let mut idle = self.idle.list();
        if let Some(at) = idle.sessions.iter().position(|leased| leased.is_first()) {
            let first = idle.sessions.swap_remove(at);
            // The first connection may stay open for longer than the readers, and its snapshot would block checkpoints.
            first.call_last(|session| session.connection.end());
            self.pin.close_last(first);
        }
    }
}

/// The snapshots that the keeper has to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// Connections are out, and no snapshot is parked.
    Held,
    /// At least one snapshot is parked.
    Parked,
}

/// Whether a snapshot may be parked: the keeper then watches it.
#[inline]
fn parks(idle: &mut IdleList) -> bool {
    if !idle.is_watched {
        idle.reads += 1;
        idle.is_watched = idle.reads > READS_MIN;
    }
    idle.is_watched
}

#[cfg(test)]
mod tests {
    use super::{IDLE_MAX, READS_MIN};
    use crate::types::cells::Cells;
    use crate::types::value::{Kind, Mismatch, Raw};
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

    /// Whether a snapshot is parked.
    fn is_parked(store: &Store) -> bool {
        store.readers().idle.list().sessions.iter().any(|leased| leased.parked.get().is_some())
    }

    /// Whether a snapshot is parked after more than `READS_MIN` reads.
    fn parks(store: &Store) -> bool {
        assert!((0..2 * READS_MIN).all(|_| store.get::<Bomb>(&2).is_ok_and(|found| found.is_none())));
        is_parked(store)
    }

    /// Regression: the panic within `Store::get` closed the connection but left it in the readers' list, where the
    /// keeper found it when snapshots expired.
    #[test]
    fn a_panic_of_the_programs_own_leaves_no_connection_that_is_gone() {
        let (_directory, store) = store();
        let panicked = catch_unwind(AssertUnwindSafe(|| store.get::<Bomb>(&1).is_ok()));
        assert!(panicked.is_err());
        assert!(store.readers().owners().is_empty());
        assert!(store.get::<Bomb>(&2).expect("it is readable").is_none());
    }

    /// Regression: the keeper ends parked snapshots, but the connection of a reader that never pauses is out whenever
    /// the keeper looks. This reader went on with a file that was gone.
    #[test]
    fn a_reader_that_never_pauses_is_told_what_the_keeper_saw() {
        let (directory, store) = store();
        while !parks(&store) {}
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

    /// Regression: a reader went on with its parked snapshot, because no thread could commit during the checkpoint, and
    /// the checkpoint waited for this reader in vain. The log grew to six times its limit.
    #[test]
    fn no_snapshot_is_left_open_where_the_log_is_at_its_limit() {
        let directory = tempfile::tempdir().expect("there is room");
        let open = |options: Options| options.open(directory.path().join("notes.db")).expect("it opens");
        let store = open(Options::new().log_bytes_max(50_000));
        store.insert(&Note { id: 1 }).expect("it is written");
        assert!(parks(&store));
        // A store of its own, with another limit: the keeper of the first one would empty the log.
        let other = open(Options::new());
        other.insert_all(&(2..20_000).map(|id| Note { id }).collect::<Vec<_>>()).expect("it is written");
        assert!(!parks(&store));
    }

    /// Regression: beside readers that overlapped, a log that was not at its limit never restarted. Their parked snapshots
    /// stayed current for as long as writers waited.
    #[test]
    fn no_snapshot_is_parked_while_the_log_is_to_restart() {
        let (_directory, store) = store();
        assert!(parks(&store));
        store.readers().draining(|| assert!(!is_parked(&store) && !parks(&store)));
        assert!(parks(&store));
    }

    /// The store's first connection keeps the log's index mapped, and goes out and comes back like the others.
    #[test]
    fn of_too_many_connections_the_first_is_not_closed() {
        let (_directory, store) = store();
        let snapshots: Vec<_> = (0..=IDLE_MAX).map(|_| store.snapshot().expect("it is readable")).collect();
        let sessions = || store.readers().idle.list().sessions.len();
        assert_eq!(sessions(), 0);
        // The store's first connection was taken first, and comes back last.
        snapshots.into_iter().rev().for_each(drop);
        assert_eq!(sessions(), IDLE_MAX);
        assert!(store.readers().idle.list().sessions.iter().any(|leased| leased.is_first()));
    }

    /// Regression: the keeper held the lock of the list of connections while it waited for a call to end, and the call
    /// needed the list for another connection.
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
