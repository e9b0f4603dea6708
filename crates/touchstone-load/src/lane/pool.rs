//! The connections of a lane: those that are idle are used in the order in which they came free, so that none grows old.

use crate::connection::{Connection, State};
use crate::error::{Error, Result};
use crate::room::Room;
use rustix::event::epoll;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// A connection's place and how often the place was given away before: an event of a connection that is gone finds none.
pub(super) type Key = (usize, u32);

/// Connections, and the queue of what happens on them.
pub(super) struct Pool {
    epoll: OwnedFd,
    addresses: Vec<SocketAddr>,
    slots: Vec<(u32, Option<Connection>)>,
    free: Vec<usize>,
    idle: VecDeque<Key>,
    most: usize,
    begun: usize,
    /// Room for the answers that are under way.
    room: Rc<Room>,
}

/// What is waited for on every connection.
pub(super) const READS: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP);

fn data((slot, generation): Key) -> epoll::EventData {
    epoll::EventData::new_u64(((generation as u64) << 32) | slot as u64)
}

impl Pool {
    /// At most so many connections, to these addresses in turn, and room for their answers.
    pub(super) fn new(addresses: Vec<SocketAddr>, most: usize, room: Rc<Room>) -> Result<Pool> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| Error::io("making an event queue", &error.into()))?;
        let (slots, free, idle) = (Vec::new(), Vec::new(), VecDeque::new());
        Ok(Pool { epoll, addresses, slots, free, idle, most, begun: 0, room })
    }

    pub(super) fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    /// The connection that an event is about, if it is still there.
    pub(super) fn key_of(&self, data: epoll::EventData) -> Option<Key> {
        let bits = data.u64();
        let key = ((bits & 0xffff_ffff) as usize, (bits >> 32) as u32);
        let (generation, connection) = self.slots.get(key.0)?;
        (*generation == key.1 && connection.is_some()).then_some(key)
    }

    /// The connection at a place.
    pub(super) fn at(&mut self, key: Key) -> &mut Connection {
        self.slots[key.0].1.as_mut().expect("a key is of a connection that is there")
    }

    /// The connection that has been idle for the longest.
    pub(super) fn take_idle(&mut self) -> Option<Key> {
        while let Some(key) = self.idle.pop_front() {
            let (generation, connection) = &self.slots[key.0];
            let is_idle = connection.as_ref().is_some_and(|connection| connection.state == State::Idle);
            if *generation == key.1 && is_idle {
                return Some(key);
            }
        }
        None
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether another one may be made.
    pub(super) fn has_room(&self) -> bool {
        self.count() < self.most
    }

    /// Begins to make one.
    pub(super) fn begin(&mut self, user: usize, now_ns: u64) -> rustix::io::Result<Key> {
        let address = self.addresses[self.begun % self.addresses.len()];
        self.begun += 1;
        let connection = Connection::begin(address, user, now_ns, self.room.taken())?;
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push((0, None));
        }
        let key = (slot, self.slots[slot].0);
        if let Err(error) = epoll::add(&self.epoll, &connection, data(key), READS | epoll::EventFlags::OUT) {
            self.free.push(slot);
            return Err(error);
        }
        self.slots[slot].1 = Some(connection);
        Ok(key)
    }

    /// Says whether it is waited for that more can be sent.
    pub(super) fn watch_writing(&mut self, key: Key, waits: bool) -> rustix::io::Result<()> {
        let flags = if waits { READS | epoll::EventFlags::OUT } else { READS };
        let connection = self.slots[key.0].1.as_ref().ok_or(Errno::BADF)?;
        epoll::modify(&self.epoll, connection, data(key), flags)
    }

    /// Lets others use it.
    pub(super) fn give_back(&mut self, key: Key) {
        self.at(key).state = State::Idle;
        self.idle.push_back(key);
    }

    /// Closes it.
    pub(super) fn close(&mut self, key: Key) {
        let (generation, connection) = &mut self.slots[key.0];
        // The system forgets the events of a descriptor that is closed.
        *connection = None;
        // The highest bit is the streams'.
        *generation = generation.wrapping_add(1) & (u32::MAX >> 1);
        self.free.push(key.0);
    }

    /// Those that a user waits for, with the user.
    pub(super) fn busy(&self) -> Vec<(Key, usize)> {
        let busy = self.slots.iter().enumerate().filter_map(|(slot, (generation, connection))| {
            let connection = connection.as_ref().filter(|connection| connection.state != State::Idle)?;
            Some(((slot, *generation), connection.user))
        });
        busy.collect()
    }

    /// Those whose user has waited since before a moment.
    pub(super) fn waiting_since(&self, before_ns: u64) -> Vec<Key> {
        let late = self.slots.iter().enumerate().filter_map(|(slot, (generation, connection))| {
            let connection = connection.as_ref()?;
            let is_late = connection.state != State::Idle && connection.since_ns <= before_ns;
            is_late.then_some((slot, *generation))
        });
        late.collect()
    }
}
