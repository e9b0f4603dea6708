//! The connections that read. Each goes back with its snapshot still open, and is used again as it is when nobody has
//! committed since: then a read takes no lock and no system call. The keeper ends snapshots that nobody comes back for.

use crate::alarm::Alarm;
use crate::engine::connection::Stopper;
use crate::engine::fork::Origin;
use crate::engine::log::{LogIndex, LogState};
use crate::engine::pin::Pin;
use crate::error::Result;
use crate::idle::Idle;
use crate::lease::Lease;
use crate::leased::Leased;
use crate::options::Options;
use crate::session::Session;
use crate::sync::{Mutex, lock};
use rusqlite::InterruptHandle;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

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
    reads: AtomicU32,
    /// Whether snapshots may be left open on idle connections.
    is_parking: AtomicBool,
    alarm: Arc<Alarm>,
    /// Closed after the connections.
    pin: Arc<Pin>,
}

/// Whether snapshots are left open on idle connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parking {
    No,
    Begins,
    GoesOn,
}

/// A connection, as those know it who end its snapshots.
#[derive(Clone)]
struct Known {
    lease: Arc<Lease>,
    stopper: Stopper,
    interrupter: Arc<InterruptHandle>,
}

impl Readers {
    pub(crate) fn new(pin: &Arc<Pin>, options: &Options, alarm: Arc<Alarm>) -> Readers {
        Readers {
            origin: pin.origin(),
            options: options.clone(),
            index: pin.index(),
            idle: Idle::default(),
            all: Mutex::default(),
            reads: AtomicU32::new(0),
            is_parking: AtomicBool::new(false),
            alarm,
            pin: Arc::clone(pin),
        }
    }

    /// A connection with a snapshot of what is committed now.
    #[inline]
    pub(crate) fn take(&self) -> Result<Box<Leased>> {
        self.origin.check()?;
        let leased = match self.idle.take() {
            Some(leased) => leased,
            None => self.open()?,
        };
        match leased.begin(|session| self.renew(session, &leased.parked)) {
            Ok(()) => Ok(leased),
            Err(error) => {
                leased.parked.set(None);
                self.put(leased);
                Err(error)
            }
        }
    }

    fn open(&self) -> Result<Box<Leased>> {
        let session = Session::open(&self.pin, &self.options)?;
        let (stopper, interrupter) = (session.connection.stopper(), session.connection.interrupter());
        let (leased, lease) = session.leased();
        lock(&self.all).push(Known { lease, stopper, interrupter: Arc::new(interrupter) });
        Ok(Box::new(leased))
    }

    #[inline]
    fn renew(&self, session: &Session, parked: &Cell<Option<LogState>>) -> Result<()> {
        if let Some(parked) = parked.get() {
            if self.index.as_ref().and_then(LogIndex::state) == Some(parked) {
                return Ok(());
            }
            session.connection.commit()?;
        }
        self.pin.look()?;
        parked.set(session.begin_read(self.index.as_ref())?);
        Ok(())
    }

    /// Takes a connection back. Whether the keeper is needed from now on, because a snapshot is left open.
    #[inline]
    pub(crate) fn put(&self, leased: Box<Leased>) -> bool {
        if !self.origin.is_here() {
            // Its parent's: nothing is ended, and no lock waited for that a thread of the parent's had.
            std::mem::forget(leased);
            return false;
        }
        // A page that cannot be decrypted, or read, fails every page after it until the transaction ends.
        let goes_on = |session: &Session| session.connection.is_well() && !session.connection.is_idle();
        let (is_whole, goes_on) = leased.end(goes_on);
        leased.is_used.set(true);
        let may_park = is_whole && goes_on && leased.parked.get().is_some();
        // Decided under the lock that the keeper sweeps under: what is left open is always seen by a sweep to come.
        let mut idle = self.idle.list();
        let parking = if may_park && idle.len() < IDLE_MAX { self.parks() } else { Parking::No };
        if parking == Parking::No {
            drop(idle);
            leased.parked.set(None);
            leased.call_last(|session| session.connection.end());
            idle = self.idle.list();
        }
        if idle.len() < IDLE_MAX {
            idle.push(leased);
        } else {
            drop(idle);
            lock(&self.all).retain(|known| !leased.is_of(&known.lease));
        }
        parking == Parking::Begins
    }

    /// Whether a snapshot may be left open: the keeper then looks after it.
    #[inline]
    fn parks(&self) -> Parking {
        if self.is_parking.load(Ordering::Relaxed) { Parking::GoesOn } else { self.begin_parking() }
    }

    fn begin_parking(&self) -> Parking {
        if self.reads.fetch_add(1, Ordering::Relaxed) < READS_MIN {
            return Parking::No;
        }
        self.is_parking.store(true, Ordering::Relaxed);
        self.alarm.watch();
        Parking::Begins
    }

    /// Ends the snapshots of idle connections that nobody used since the last time, or that are old; with `all`, of
    /// every idle connection. Whether some are left.
    pub(crate) fn sweep(&self, all: bool) -> bool {
        // What nobody commits to is read without a look at the file: snapshots of one that is gone are not gone on with.
        let all = all || self.pin.look().is_err();
        let now = self.index.as_ref().and_then(LogIndex::state);
        let idle = self.idle.list();
        let mut left = false;
        for leased in idle.iter() {
            let Some(parked) = leased.parked.get() else { continue };
            if all || !leased.is_used.replace(false) || Some(parked) != now {
                leased.parked.set(None);
                leased.call_last(|session| session.connection.end());
            } else {
                left = true;
            }
        }
        if !left {
            self.is_parking.store(false, Ordering::Relaxed);
            self.reads.store(0, Ordering::Relaxed);
        }
        left
    }

    /// Who has a snapshot now.
    pub(crate) fn owners(&self) -> Vec<(Arc<Lease>, u64)> {
        let leases: Vec<Arc<Lease>> = lock(&self.all).iter().map(|known| Arc::clone(&known.lease)).collect();
        leases.into_iter().filter_map(|lease| lease.owner().map(|owner| (lease, owner))).collect()
    }

    /// Ends those owners' snapshots. Whose statement is running is interrupted, and told that the snapshot has expired.
    pub(crate) fn expire(&self, owners: &[(Arc<Lease>, u64)]) {
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

#[cfg(test)]
mod tests {
    use crate::cells::Cells;
    use crate::value::{Kind, Mismatch, Raw};
    use crate::{Field, Record, Store};
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
