//! The connections of a lane, and how many requests are on each. Those that are idle are used in the order in which they came free;
//! where none is, and no more may be made, the one with the fewest requests has room for another until it has as many as it may.

use super::connect::{Made, Sender};
use super::counted::Counts;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::task::AbortHandle;

/// A connection's place and how often the place was given away before: what is told of a connection that is gone finds none.
pub(super) type Key = (usize, u32);

/// A connection that is open.
struct Open {
    /// What sends on it; none, while the one request that it can carry is on its way.
    sender: Option<Sender>,
    counts: Rc<Counts>,
    driver: AbortHandle,
    requests: u32,
    /// Whether an answer has come on it before.
    is_used: bool,
}

/// A place for a connection.
enum Place {
    Free,
    Making,
    Open(Open),
}

/// What a request needs of the connection that carries it.
pub(super) struct Carrier {
    /// What sends it.
    pub(super) sender: Sender,
    /// The connection's bytes.
    pub(super) counts: Rc<Counts>,
    /// Whether an answer has come on it before.
    pub(super) is_used: bool,
}

/// All connections.
pub(super) struct Pool {
    addresses: Vec<SocketAddr>,
    places: Vec<(u32, Place)>,
    free: Vec<usize>,
    idle: VecDeque<Key>,
    most: usize,
    streams_most: u32,
    begun: usize,
}

impl Pool {
    /// At most so many connections, with so many requests at a time on each, to these addresses in turn.
    pub(super) fn new(addresses: Vec<SocketAddr>, most: usize, streams_most: u32) -> Pool {
        let (places, free, idle) = (Vec::new(), Vec::new(), VecDeque::new());
        Pool { addresses, places, free, idle, most, streams_most, begun: 0 }
    }

    fn open(&mut self, key: Key) -> Option<&mut Open> {
        match self.places.get_mut(key.0) {
            Some((generation, Place::Open(open))) if *generation == key.1 => Some(open),
            _ => None,
        }
    }

    /// The connection that has been idle for the longest.
    pub(super) fn take_idle(&mut self) -> Option<Key> {
        while let Some(key) = self.idle.pop_front() {
            if self.open(key).is_some_and(|open| open.requests == 0) {
                return Some(key);
            }
        }
        None
    }

    /// The connection with the fewest requests, if it may carry another.
    pub(super) fn take_shared(&self) -> Option<Key> {
        if self.streams_most == 1 {
            return None;
        }
        let open = self.places.iter().enumerate().filter_map(|(at, (generation, place))| match place {
            Place::Open(open) if open.requests < self.streams_most => {
                Some((open.requests, (at, *generation)))
            }
            _ => None,
        });
        open.min().map(|(_, key)| key)
    }

    /// Whether another one may be made.
    pub(super) fn has_room(&self) -> bool {
        self.places.len() - self.free.len() < self.most
    }

    /// A place for one that is being made, and the address it goes to.
    pub(super) fn begin(&mut self) -> (Key, SocketAddr) {
        let address = self.addresses[self.begun % self.addresses.len()];
        self.begun += 1;
        let at = self.free.pop().unwrap_or(self.places.len());
        if at == self.places.len() {
            self.places.push((0, Place::Free));
        }
        self.places[at].1 = Place::Making;
        ((at, self.places[at].0), address)
    }

    /// It was made.
    pub(super) fn made(&mut self, key: Key, made: Made) {
        let Made { sender, counts, driver } = made;
        let open = Open { sender: Some(sender), counts, driver, requests: 0, is_used: false };
        self.places[key.0].1 = Place::Open(open);
    }

    /// Puts a request on a connection.
    pub(super) fn carry(&mut self, key: Key) -> Option<Carrier> {
        let open = self.open(key)?;
        let sender = match open.sender.as_ref()?.another() {
            Some(sender) => sender,
            None => open.sender.take()?,
        };
        open.requests += 1;
        Some(Carrier { sender, counts: Rc::clone(&open.counts), is_used: open.is_used })
    }

    /// A request on it has ended. `sender` is what was given for it, if the connection can still be used. Whether it is there.
    pub(super) fn give_back(&mut self, key: Key, sender: Option<Sender>, is_answered: bool) -> bool {
        let carries_one = self.streams_most == 1;
        let Some(open) = self.open(key) else { return false };
        open.requests -= 1;
        open.is_used |= is_answered;
        // One that carries several is used by others still, unless it has ended.
        let is_over = open.driver.is_finished() || (carries_one && sender.is_none());
        if carries_one {
            open.sender = sender;
        }
        let is_idle = open.requests == 0;
        if is_over {
            self.close(key);
        } else if is_idle {
            self.idle.push_back(key);
        }
        true
    }

    /// It has come to its end by itself. How many requests were on it; none, if that was known. One that is still being made is left to
    /// those who wait for it.
    pub(super) fn gone(&mut self, key: Key) -> Option<u32> {
        self.open(key)?;
        self.close(key)
    }

    /// Closes it, or gives up making it. How many requests were on it; none, if it was gone.
    pub(super) fn close(&mut self, key: Key) -> Option<u32> {
        let (generation, place) = self.places.get_mut(key.0)?;
        if *generation != key.1 || matches!(place, Place::Free) {
            return None;
        }
        let requests = match std::mem::replace(place, Place::Free) {
            Place::Open(open) => {
                // In HTTP/2 those that are on it may still be answered: the service has only said that it takes no more.
                if self.streams_most == 1 || open.requests == 0 {
                    open.driver.abort();
                }
                open.requests
            }
            Place::Free | Place::Making => 0,
        };
        *generation = generation.wrapping_add(1);
        self.free.push(key.0);
        Some(requests)
    }
}
