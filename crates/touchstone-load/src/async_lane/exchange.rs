//! A request and its answer, as the lane sees them: finding a connection, sending tasks off, and what is counted of what they tell.

use super::Traveller;
use super::connect::{Made, Written};
use super::errand::{self, Lost, Resend};
use super::inbox::{Ended, Event};
use super::pool::Key;
use crate::failure::Failure;
use crate::journey::{Next, Times};
use std::rc::Rc;
use tokio::task::AbortHandle;

/// A request that no service has looked at is sent again at most so often: each time on another connection, and all of them could end.
const UNSEEN_RESENT_MAX: u32 = 3;

/// Where a user's request is.
#[derive(Default)]
pub(super) struct Flight {
    /// Which of the user's it is: what is told of another is of no more interest.
    number: u32,
    stage: Stage,
    /// When it was sent, or since when a connection is being made for it.
    since_ns: u64,
    key: Key,
    /// How often it was sent before, on connections that were lost.
    resent: u32,
    /// Whether its connection has carried an answer before.
    is_on_used: bool,
    /// What was written and never sent.
    written: Option<Box<Written>>,
    task: Option<AbortHandle>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// It has ended, or waits for a connection.
    #[default]
    None,
    /// A connection is being made for it.
    Connecting,
    /// Its answer is waited for.
    Busy,
}

impl Flight {
    /// Whether the service has it, or is asked for a connection for it.
    pub(super) fn is_under_way(&self) -> bool {
        self.stage != Stage::None
    }

    /// What was sent off is waited for no longer.
    fn end(&mut self) {
        self.stage = Stage::None;
        self.number = self.number.wrapping_add(1);
        self.task = None;
    }
}

impl Traveller<'_> {
    /// Sends a user's request as soon as there is a connection.
    pub(super) fn ask(&mut self, user: usize) {
        if !self.journey.can_ask(user) {
            return;
        }
        let flight = &mut self.flights[user];
        (flight.resent, flight.written) = (0, None);
        // Who waits already comes first.
        if self.waiting.is_empty()
            && let Some(key) = self.pool.take_idle()
        {
            self.send(user, key);
        } else if self.pool.has_room() {
            self.connect(user);
        } else if self.waiting.is_empty()
            && let Some(key) = self.pool.take_shared()
        {
            self.send(user, key);
        } else {
            self.waiting.push_back(user);
        }
    }

    fn connect(&mut self, user: usize) {
        let (key, address) = self.pool.begin();
        let (connector, inbox) = (Rc::clone(&self.connector), Rc::clone(&self.inbox));
        let flight = &mut self.flights[user];
        (flight.stage, flight.key) = (Stage::Connecting, key);
        flight.since_ns = self.journey.clock.now_ns();
        let number = flight.number;
        let task = tokio::task::spawn_local(async move {
            let made = connector.make(address, key, Rc::clone(&inbox)).await;
            inbox.put(Event::Made { user, flight: number, key, made });
        });
        flight.task = Some(task.abort_handle());
    }

    fn send(&mut self, user: usize, key: Key) {
        let Some(carrier) = self.pool.carry(key) else {
            self.flights[user].end();
            self.waiting.push_front(user);
            return;
        };
        let number = self.journey.request_of(user);
        let (request, traveller) = self.journey.request_and_user(user);
        let flight = &mut self.flights[user];
        let written = match flight.written.take() {
            Some(written) => Ok(*written),
            None => self.writer.write(number, request, traveller),
        };
        let now_ns = self.journey.clock.now_ns();
        let written = match written {
            Ok(written) => written,
            Err(why) => {
                flight.end();
                self.pool.give_back(key, Some(carrier.sender), false);
                self.journey.failed(user, Times::unanswered(now_ns, now_ns), Failure::Malformed, &why);
                return;
            }
        };
        (flight.stage, flight.key, flight.since_ns) = (Stage::Busy, key, now_ns);
        flight.is_on_used = carrier.is_used;
        let (clock, inbox, number) = (self.journey.clock, Rc::clone(&self.inbox), flight.number);
        let (mut sender, counts, taken) = (carrier.sender, carrier.counts, self.room.taken());
        let task = tokio::task::spawn_local(async move {
            let end = errand::run(&mut sender, written, taken).await;
            let at_ns = clock.now_ns();
            let (sent_bytes, received_bytes) = counts.take();
            let ended = Ended { user, flight: number, key, sender, end, at_ns, sent_bytes, received_bytes };
            inbox.put(Event::Ended(ended));
        });
        flight.task = Some(task.abort_handle());
    }

    /// A task has told something.
    pub(super) fn happen(&mut self, event: Event) {
        match event {
            Event::Made { user, flight, key, made } => {
                if self.flights[user].number == flight {
                    self.made(user, key, made);
                }
            }
            Event::Ended(ended) => {
                if self.flights[ended.user].number == ended.flight {
                    self.ended(ended);
                }
            }
            Event::Gone { key } => {
                if self.pool.gone(key) == Some(0) {
                    self.journey.recorder.connections.closed_idle += 1;
                }
                // There is room for another.
                self.serve_waiting(self.journey.clock.now_ns());
            }
        }
    }

    fn made(&mut self, user: usize, key: Key, made: Result<Made, String>) {
        let now_ns = self.journey.clock.now_ns();
        match made {
            Ok(made) => {
                self.pool.made(key, made);
                self.journey.recorder.connections.made += 1;
                // Until now the service kept the request waiting, and not the generator.
                self.journey.was_kept(user, now_ns);
                self.send(user, key);
                self.serve_waiting(now_ns);
            }
            Err(why) => {
                self.pool.close(key);
                let times = Times::unanswered(self.flights[user].since_ns, now_ns);
                self.fail(user, times, Failure::Connect, &why);
            }
        }
    }

    fn ended(&mut self, ended: Ended) {
        let Ended { user, key, sender, end, at_ns, sent_bytes, received_bytes, .. } = ended;
        let flight = &mut self.flights[user];
        let since_ns = flight.since_ns;
        flight.end();
        match end {
            Ok(received) => {
                let times = Times { since_ns, at_ns, now_ns: at_ns, sent_bytes, received_bytes };
                let next = self.journey.answered(user, &received, times);
                let sender = Some(sender).filter(|sender| received.keeps && !sender.is_closed());
                let was_kept = sender.is_some();
                let is_there = self.pool.give_back(key, sender, true);
                // It said that it keeps the connection, and has closed it.
                if received.keeps && !(is_there && was_kept) {
                    self.journey.recorder.connections.closed_idle += 1;
                }
                self.serve_waiting(at_ns);
                if next == Next::Asks {
                    self.ask(user);
                }
            }
            Err(lost) => {
                self.pool.give_back(key, None, false);
                self.lose(user, Times::unanswered(since_ns, at_ns), lost, received_bytes);
            }
        }
    }

    /// A request has no answer. A service may close a connection that it takes for idle at the very moment at which a request is sent; a
    /// request that may be repeated is then sent once more, on a new connection.
    fn lose(&mut self, user: usize, times: Times, lost: Lost, received_bytes: u64) {
        let request = &self.journey.plan.requests[self.journey.request_of(user)];
        let flight = &mut self.flights[user];
        let times_most = match lost.resend {
            _ if lost.unsent.is_some() => UNSEEN_RESENT_MAX,
            Resend::Any => UNSEEN_RESENT_MAX,
            Resend::Repeatable if flight.is_on_used && received_bytes == 0 && request.is_idempotent => 1,
            _ => 0,
        };
        if flight.resent >= times_most {
            return self.fail(user, times, lost.failure, &lost.detail);
        }
        flight.resent += 1;
        flight.written = lost.unsent;
        self.journey.recorder.connections.resent += 1;
        if self.pool.has_room() {
            self.connect(user);
        } else {
            self.waiting.push_front(user);
            self.serve_waiting(times.now_ns);
        }
    }

    /// Gives the connection that has come free, or room for another, to the user that has waited for the longest.
    fn serve_waiting(&mut self, now_ns: u64) {
        while let Some(&user) = self.waiting.front() {
            let idle = self.pool.take_idle();
            let has_room = self.pool.has_room();
            let key = if idle.is_none() && !has_room { self.pool.take_shared() } else { idle };
            if key.is_none() && !has_room {
                return;
            }
            self.waiting.pop_front();
            self.journey.was_kept(user, now_ns);
            match key {
                Some(key) => self.send(user, key),
                None => self.connect(user),
            }
        }
    }

    /// Counts a request that was not answered, and goes on.
    fn fail(&mut self, user: usize, times: Times, failure: Failure, detail: &str) {
        self.flights[user].end();
        self.journey.failed(user, times, failure, detail);
        self.serve_waiting(times.now_ns);
    }

    /// Ends what has waited since before a moment: at the timeout's value, however late that was noticed.
    pub(super) fn end_overdue(&mut self, now_ns: u64, before_ns: u64) {
        let timeout = self.journey.plan.scenario.load.timeout;
        for user in 0..self.flights.len() {
            let flight = &mut self.flights[user];
            if !flight.is_under_way() || flight.since_ns > before_ns {
                continue;
            }
            if let Some(task) = flight.task.take() {
                task.abort();
            }
            let (key, since_ns) = (flight.key, flight.since_ns);
            let failure = if flight.stage == Stage::Connecting {
                self.pool.close(key);
                Failure::Connect
            } else {
                self.pool.give_back(key, None, false);
                Failure::Timeout
            };
            let times = Times { at_ns: since_ns + timeout.nanos(), ..Times::unanswered(since_ns, now_ns) };
            self.fail(user, times, failure, &format!("no answer within {timeout}"));
        }
    }
}
