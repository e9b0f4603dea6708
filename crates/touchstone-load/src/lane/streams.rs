//! The streams of events of a lane's users: opening them, reading them, and what is counted of them. Who waits for what they tell stands
//! in the [`journey`](crate::journey).

use super::exchange::{no_connection, overdue};
use super::{EVENTS, Lane};
use crate::connection::{Connection, Sent, State};
use crate::error::{Error, Result};
use crate::events::{Events, Unkept};
use crate::failure::Failure;
use crate::journey::{Next, Times, Wait};
use crate::plan::Plan;
use crate::response::{Complete, Whole};
use crate::room::Room;
use rustix::event::epoll;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::rc::Rc;

/// So many are being opened at a time: a service keeps a short queue of connections that it has not taken.
const OPENING_MOST: usize = 100;
/// How often it is looked whether one is overdue that is being opened.
const OVERDUE_EVERY_NS: u64 = 10_000_000;
/// What tells a stream in the queue of events from a connection of the pool.
const MARK: u64 = 1 << 63;

/// Streams of events, each user's behind those of the users before.
pub(super) struct Streams {
    all: Vec<Stream>,
    /// Streams of a user.
    each: usize,
    /// By place among a user's: whose watch it is.
    watches: Vec<usize>,
    /// Those that are being opened.
    opening: BTreeSet<usize>,
    room: Rc<Room>,
    /// What has just come of one.
    body: Vec<u8>,
}

/// A stream; without a connection, before it is opened and when it has ended.
#[derive(Default)]
struct Stream {
    connection: Option<Connection>,
    is_open: bool,
    events: Events,
}

/// Whose a stream is.
#[derive(Clone, Copy)]
struct Owner {
    user: usize,
    place: usize,
    watch: usize,
}

fn data(stream: usize) -> epoll::EventData {
    epoll::EventData::new_u64(MARK | stream as u64)
}

impl Streams {
    /// Those of so many users, none of which is open yet.
    pub(super) fn new(plan: &Plan, users: usize, room: Rc<Room>) -> Streams {
        let each = plan.streams_each();
        let watches = plan.watches.iter().enumerate();
        let watches = watches.flat_map(|(number, watch)| std::iter::repeat_n(number, watch.each as usize));
        let all = std::iter::repeat_with(Stream::default).take(users * each).collect();
        Streams { all, each, watches: watches.collect(), opening: BTreeSet::new(), room, body: Vec::new() }
    }

    /// The stream that an event of the queue is about, if it is about one.
    pub(super) fn number_of(data: epoll::EventData) -> Option<usize> {
        (data.u64() & MARK != 0).then_some((data.u64() & !MARK) as usize)
    }

    /// How many have a connection.
    pub(super) fn count(&self) -> usize {
        self.all.iter().filter(|stream| stream.connection.is_some()).count()
    }

    fn owner(&self, stream: usize) -> Owner {
        let place = stream % self.each;
        Owner { user: stream / self.each, place, watch: self.watches[place] }
    }
}

impl Lane<'_> {
    /// Opens the streams of all users, a few at a time, until each is open or refused.
    pub(super) fn open_streams(&mut self) -> Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut unopened = 0..self.streams.all.len();
        while !self.journey.is_stopped() {
            while self.streams.opening.len() < OPENING_MOST
                && let Some(stream) = unopened.next()
            {
                self.open_stream(stream)?;
            }
            if self.streams.opening.is_empty() {
                break;
            }
            self.wait(&mut events, Wait { ns: OVERDUE_EVERY_NS, is_for_start: false })?;
            self.end_overdue_openings();
        }
        self.forget_openings();
        Ok(())
    }

    /// Leaves those alone that are being opened when the run is stopped: the service has not refused them.
    fn forget_openings(&mut self) {
        for stream in std::mem::take(&mut self.streams.opening) {
            let Owner { watch, .. } = self.streams.owner(stream);
            self.streams.all[stream] = Stream::default();
            self.journey.recorder.watched(watch).asked -= 1;
        }
    }

    fn open_stream(&mut self, stream: usize) -> Result<()> {
        let Owner { user, watch, .. } = self.streams.owner(stream);
        let addresses = &self.journey.plan.target.addresses;
        let now_ns = self.journey.clock.now_ns();
        self.journey.recorder.watched(watch).asked += 1;
        self.streams.opening.insert(stream);
        let address = addresses[stream % addresses.len()];
        let begun = Connection::begin(address, user, now_ns, self.streams.room.taken());
        let begun = begun.and_then(|connection| {
            let flags = super::pool::READS | epoll::EventFlags::OUT;
            epoll::add(self.pool.epoll(), &connection, data(stream), flags)?;
            Ok(connection)
        });
        match begun {
            Ok(connection) => {
                let events = Events::within(self.streams.room.taken());
                self.streams.all[stream] = Stream { connection: Some(connection), is_open: false, events };
            }
            Err(error) if is_own(error) => return Err(no_more(self.streams.count(), error)),
            Err(error) => {
                let times = Times::unanswered(now_ns, self.journey.clock.now_ns());
                self.refuse(stream, times, None, Failure::Connect, &no_connection(error));
            }
        }
        Ok(())
    }

    /// Something happened on a stream.
    pub(super) fn happen_on_stream(&mut self, stream: usize, flags: epoll::EventFlags) {
        let Owner { user, watch, .. } = self.streams.owner(stream);
        let Some(connection) = &mut self.streams.all[stream].connection else { return };
        if connection.state == State::Connecting {
            if let Err(error) = connection.made() {
                return self.end_stream(stream, Failure::Connect, &no_connection(error));
            }
            connection.state = State::Busy;
            let request = &self.journey.plan.requests[self.journey.plan.watches[watch].request];
            request.write(&mut self.journey.users[user], &mut self.body, &mut connection.out);
            return self.send_on_stream(stream);
        }
        if flags.contains(epoll::EventFlags::OUT) {
            self.send_on_stream(stream);
        }
        if flags.intersects(!epoll::EventFlags::OUT) {
            self.read_stream(stream);
        }
    }

    fn send_on_stream(&mut self, stream: usize) {
        let Some(connection) = &mut self.streams.all[stream].connection else { return };
        let sent = connection.send();
        let flags = match sent {
            Sent::Waits => super::pool::READS | epoll::EventFlags::OUT,
            _ => super::pool::READS,
        };
        // What goes wrong with the queue shows as a timeout.
        let _ = epoll::modify(self.pool.epoll(), &*connection, data(stream), flags);
        match sent {
            // Nothing is sent on it any more, and there are many.
            Sent::All => connection.out = Vec::new(),
            Sent::Waits => {}
            Sent::Broken(error) => self.end_stream(stream, Failure::Closed, &is_gone(error)),
        }
    }

    /// Takes what has come, once: where more has, the queue says so again, and other streams come first.
    fn read_stream(&mut self, stream: usize) {
        let Some(connection) = &mut self.streams.all[stream].connection else { return };
        let is_closed = match connection.receive(&mut self.scratch) {
            Ok(bytes) => bytes == 0,
            Err(Errno::AGAIN) => return,
            Err(error) => return self.end_stream(stream, Failure::Closed, &is_gone(error)),
        };
        let now_ns = self.journey.clock.now_ns();
        let advanced = connection.response.advance(false, is_closed);
        if !self.streams.all[stream].is_open && !self.is_opened(stream, now_ns) {
            match advanced {
                Ok(None) => {}
                Ok(Some(complete)) => self.answered_otherwise(stream, complete, now_ns),
                Err(why) => self.end_stream(stream, why.failure(), &why.to_string()),
            }
            return;
        }
        let read = self.read_events(stream, now_ns);
        match (read, advanced) {
            (Err(why), _) => self.end_stream(stream, Failure::TooLong, &why.to_string()),
            (_, Err(why)) => self.end_stream(stream, why.failure(), &why.to_string()),
            (_, Ok(Some(_))) => self.end_stream(stream, Failure::Closed, "the service ended the stream"),
            (_, Ok(None)) => {}
        }
    }

    /// Whether a stream is open now, by the head of its answer.
    fn is_opened(&mut self, stream: usize, now_ns: u64) -> bool {
        let Owner { user, place, watch } = self.streams.owner(stream);
        let opened = &mut self.streams.all[stream];
        let Some(connection) = &opened.connection else { return false };
        let response = &connection.response;
        if response.status() != Some(200) || !is_event_stream(response.header("content-type")) {
            return false;
        }
        opened.is_open = true;
        let times =
            Times { received_bytes: response.bytes(), ..Times::unanswered(connection.since_ns, now_ns) };
        self.streams.opening.remove(&stream);
        self.journey.recorder.watched(watch).opened += 1;
        self.journey.stream_opened(user, place);
        self.journey.count_opening(user, watch, times, Some(200), None);
        true
    }

    /// A whole answer has come that opens no stream.
    fn answered_otherwise(&mut self, stream: usize, complete: Complete, now_ns: u64) {
        let Owner { user, watch, .. } = self.streams.owner(stream);
        let Some(connection) = &self.streams.all[stream].connection else { return };
        let answer = Whole { complete, response: &connection.response };
        let request = &self.journey.plan.requests[self.journey.plan.watches[watch].request];
        let judged = request.expectation.judge(&answer, &mut self.journey.users[user]);
        let (failure, why) = match judged {
            Err(wrong) => (wrong.failure, wrong.detail),
            Ok(()) => {
                let kind = connection.response.header("content-type").unwrap_or(b"no content-type");
                let kind = String::from_utf8_lossy(kind);
                (Failure::Check, format!("it is no stream of events (text/event-stream), but {kind}"))
            }
        };
        let times = Times {
            received_bytes: connection.response.bytes(),
            ..Times::unanswered(connection.since_ns, now_ns)
        };
        self.refuse(stream, times, Some(complete.status), failure, &why);
    }

    /// Reads the events that have come, and tells the user of the greatest number: all of them came at this moment.
    fn read_events(&mut self, stream: usize, now_ns: u64) -> std::result::Result<(), Unkept> {
        let Owner { user, place, watch } = self.streams.owner(stream);
        let Stream { connection: Some(connection), events, .. } = &mut self.streams.all[stream] else {
            return Ok(());
        };
        let body = &mut self.streams.body;
        body.clear();
        connection.response.take_body(body);
        let (mut count, mut number) = (0, None);
        let read = events.read(body, |data| {
            count += 1;
            number = number.max(self.journey.plan.watches[watch].number(data));
        });
        let watched = self.journey.recorder.watched(watch);
        watched.events += count;
        watched.received_bytes += body.len() as u64;
        if let Some(number) = number
            && self.journey.stream_told(user, place, number, now_ns) == Next::Asks
        {
            self.ask(user);
        }
        read
    }

    /// A stream comes to nothing, or to its end.
    fn end_stream(&mut self, stream: usize, failure: Failure, why: &str) {
        let Owner { user, place, watch } = self.streams.owner(stream);
        let now_ns = self.journey.clock.now_ns();
        let ended = &mut self.streams.all[stream];
        let Some(since_ns) = ended.connection.as_ref().map(|connection| connection.since_ns) else { return };
        if !ended.is_open {
            return self.refuse(stream, Times::unanswered(since_ns, now_ns), None, failure, why);
        }
        *ended = Stream::default();
        self.journey.recorder.watched(watch).count_broken(failure, why);
        if self.journey.stream_ended(user, place, now_ns) == Next::Asks {
            self.ask(user);
        }
    }

    /// Counts a stream that was not opened.
    fn refuse(&mut self, stream: usize, times: Times, status: Option<u16>, failure: Failure, why: &str) {
        let Owner { user, watch, .. } = self.streams.owner(stream);
        self.streams.all[stream] = Stream::default();
        self.streams.opening.remove(&stream);
        self.journey.count_opening(user, watch, times, status, Some((failure, why)));
    }

    /// Ends openings that take longer than a request may.
    fn end_overdue_openings(&mut self) {
        let timeout = self.journey.plan.scenario.load.timeout;
        let now_ns = self.journey.clock.now_ns();
        let since_ns = |stream: &usize| {
            let connection = self.streams.all[*stream].connection.as_ref()?;
            (connection.since_ns.saturating_add(timeout.nanos()) <= now_ns).then_some((
                *stream,
                connection.since_ns,
                overdue(connection.state),
            ))
        };
        let all: Vec<(usize, u64, Failure)> = self.streams.opening.iter().filter_map(since_ns).collect();
        for (stream, since_ns, failure) in all {
            let times = Times { at_ns: since_ns + timeout.nanos(), ..Times::unanswered(since_ns, now_ns) };
            self.refuse(stream, times, None, failure, &format!("no answer within {timeout}"));
        }
    }
}

/// Whether this machine refuses a connection, and not the service.
fn is_own(error: Errno) -> bool {
    let own = [Errno::ADDRNOTAVAIL, Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::NOSPC];
    own.contains(&error)
}

/// A run that counted this as refused would tell of a service that holds fewer streams than it does.
fn no_more(open: usize, error: Errno) -> Error {
    let doing = format!(
        "opening a stream of events beside {open} others of its thread, for which this machine has no port, file or memory left (say fewer \
         `load.users`, or widen net.ipv4.ip_local_port_range)"
    );
    Error::io(doing, &error.into())
}

fn is_gone(error: Errno) -> String {
    format!("the connection is gone: {}", std::io::Error::from(error))
}

fn is_event_stream(content_type: Option<&[u8]>) -> bool {
    let essence = content_type.and_then(|value| value.split(|byte| *byte == b';').next());
    essence.is_some_and(|essence| essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: where the generator's machine had no port left, its service was said to hold no more streams.
    #[test]
    fn what_this_machine_lacks_is_no_refusal() {
        assert!(is_own(Errno::ADDRNOTAVAIL) && is_own(Errno::MFILE));
        assert!(!is_own(Errno::CONNREFUSED) && !is_own(Errno::HOSTUNREACH) && !is_own(Errno::TIMEDOUT));
        let error = no_more(28_231, Errno::ADDRNOTAVAIL);
        assert_eq!(error.kind(), crate::ErrorKind::Io);
        let text = error.to_string();
        assert!(
            text.contains("28231 others") && text.contains("`load.users`") && text.contains("os error"),
            "{text}"
        );
    }
}
