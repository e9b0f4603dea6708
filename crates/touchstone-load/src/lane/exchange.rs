//! A request and its answer: finding a connection, sending, receiving, and what is counted of it.

use super::Lane;
use super::pool::Key;
use crate::connection::{Sent, State};
use crate::failure::Failure;
use crate::journey::{Next, Times};
use crate::response::{Complete, Whole};
use rustix::event::epoll;
use rustix::io::Errno;

impl Lane<'_> {
    /// Sends a user's request as soon as there is a connection.
    pub(super) fn ask(&mut self, user: usize) {
        if !self.journey.can_ask(user) {
            return;
        }
        // Who waits already comes first.
        if self.waiting.is_empty()
            && let Some(key) = self.pool.take_idle()
        {
            self.pool.at(key).user = user;
            self.pool.at(key).is_resent = false;
            self.send(key);
        } else if self.pool.has_room() {
            self.connect(user, self.journey.clock.now_ns(), false);
        } else {
            self.waiting.push_back(user);
        }
    }

    fn connect(&mut self, user: usize, now_ns: u64, is_resent: bool) {
        match self.pool.begin(user, now_ns) {
            Ok(key) => self.pool.at(key).is_resent = is_resent,
            Err(error) => {
                self.fail(user, Times::unanswered(now_ns, now_ns), Failure::Connect, &no_connection(error));
            }
        }
    }

    fn send(&mut self, key: Key) {
        let connection = self.pool.at(key);
        let user = connection.user;
        connection.prepare();
        if !connection.is_resent {
            self.journey.sends(user);
        }
        let (request, user) = self.journey.request_and_user(user);
        request.write(user, &mut self.body, &mut connection.out);
        connection.state = State::Busy;
        connection.since_ns = self.journey.clock.now_ns();
        match connection.send() {
            Sent::All => {}
            Sent::Waits => {
                // What goes wrong with the queue shows as a timeout.
                let _ = self.pool.watch_writing(key, true);
            }
            Sent::Broken(_) => self.lose(key),
        }
    }

    /// Something happened on a connection.
    pub(super) fn happen(&mut self, data: epoll::EventData, flags: epoll::EventFlags) {
        let Some(key) = self.pool.key_of(data) else { return };
        match self.pool.at(key).state {
            State::Connecting => self.is_made(key),
            State::Idle => {
                self.journey.recorder.connections.closed_idle += 1;
                self.pool.close(key);
            }
            State::Busy => {
                if flags.contains(epoll::EventFlags::OUT) {
                    self.go_on_sending(key);
                }
                if flags.intersects(!epoll::EventFlags::OUT) && self.pool.key_of(data).is_some() {
                    self.receive(key);
                }
            }
        }
        // Whatever happened, there may be room for another now.
        if !self.waiting.is_empty() {
            self.serve_waiting(self.journey.clock.now_ns());
        }
    }

    fn is_made(&mut self, key: Key) {
        if let Err(error) = self.pool.at(key).made() {
            let (user, since_ns) = (self.pool.at(key).user, self.pool.at(key).since_ns);
            self.pool.close(key);
            let now_ns = self.journey.clock.now_ns();
            self.fail(user, Times::unanswered(since_ns, now_ns), Failure::Connect, &no_connection(error));
            return;
        }
        let _ = self.pool.watch_writing(key, false);
        self.journey.recorder.connections.made += 1;
        let user = self.pool.at(key).user;
        // Until now the service kept the request waiting, and not the generator.
        self.journey.was_kept(user, self.journey.clock.now_ns());
        self.send(key);
    }

    fn go_on_sending(&mut self, key: Key) {
        match self.pool.at(key).send() {
            Sent::All => {
                let _ = self.pool.watch_writing(key, false);
            }
            Sent::Waits => {}
            Sent::Broken(_) => self.lose(key),
        }
    }

    fn receive(&mut self, key: Key) {
        let user = self.pool.at(key).user;
        let is_head = self.journey.plan.requests[self.journey.request_of(user)].is_head;
        loop {
            let connection = self.pool.at(key);
            let (is_closed, is_full) = match connection.receive(&mut self.scratch) {
                Ok(bytes) => (bytes == 0, bytes == self.scratch.len()),
                Err(Errno::AGAIN) => return,
                Err(_) => return self.lose(key),
            };
            if is_closed && connection.response.is_empty() {
                return self.lose(key);
            }
            match connection.response.advance(is_head, is_closed) {
                Ok(Some(complete)) => return self.answered(key, complete),
                Ok(None) if is_full => {}
                Ok(None) => return,
                Err(why) => return self.fail_on(key, why.failure(), &why.to_string()),
            }
        }
    }

    /// A whole answer has come.
    fn answered(&mut self, key: Key, complete: Complete) {
        let now_ns = self.journey.clock.now_ns();
        let connection = self.pool.at(key);
        let user = connection.user;
        connection.is_used = true;
        let times = Times {
            since_ns: connection.since_ns,
            at_ns: now_ns,
            now_ns,
            sent_bytes: connection.out.len() as u64,
            received_bytes: connection.response.bytes(),
        };
        let answer = Whole { complete, response: &connection.response };
        let next = self.journey.answered(user, &answer, times);
        if complete.keeps {
            self.pool.give_back(key);
        } else {
            self.pool.close(key);
        }
        self.serve_waiting(now_ns);
        if next == Next::Asks {
            self.ask(user);
        }
    }

    /// Gives the connection that has come free, or room for another, to the user that has waited for the longest. What fails at once
    /// leaves room for the next: this goes on to it, for all that wait may fail, and each must not stand on another's stack.
    fn serve_waiting(&mut self, now_ns: u64) {
        while let Some(&user) = self.waiting.front() {
            let key = self.pool.take_idle();
            if key.is_none() && !self.pool.has_room() {
                return;
            }
            self.waiting.pop_front();
            self.journey.was_kept(user, now_ns);
            match key {
                Some(key) => {
                    self.pool.at(key).user = user;
                    self.pool.at(key).is_resent = false;
                    self.send(key);
                }
                None => self.connect(user, now_ns, false),
            }
        }
    }

    /// The connection is gone before an answer. A service may close one that it takes for idle at the very moment at which a request is
    /// sent; a request that may be repeated is then sent once more, on a new connection.
    fn lose(&mut self, key: Key) {
        let connection = self.pool.at(key);
        let (user, is_first) = (connection.user, !connection.is_resent);
        let may_resend = connection.is_used && connection.response.is_empty() && is_first;
        if may_resend && self.journey.plan.requests[self.journey.request_of(user)].is_idempotent {
            self.journey.recorder.connections.resent += 1;
            self.pool.close(key);
            self.connect(user, self.journey.clock.now_ns(), true);
        } else {
            self.fail_on(key, Failure::Closed, &Failure::Closed.to_string());
        }
    }

    fn fail_on(&mut self, key: Key, failure: Failure, detail: &str) {
        let now_ns = self.journey.clock.now_ns();
        let (user, since_ns) = (self.pool.at(key).user, self.pool.at(key).since_ns);
        self.pool.close(key);
        self.fail(user, Times::unanswered(since_ns, now_ns), failure, detail);
    }

    /// Counts a request that was not answered. Who calls this serves those that wait, once.
    fn fail(&mut self, user: usize, times: Times, failure: Failure, detail: &str) {
        self.journey.failed(user, times, failure, detail);
    }

    /// Ends what has waited since before a moment: at the timeout's value, however late that was noticed.
    pub(super) fn end_overdue(&mut self, now_ns: u64, before_ns: u64) {
        let timeout = self.journey.plan.scenario.load.timeout;
        for key in self.pool.waiting_since(before_ns) {
            let connection = self.pool.at(key);
            let (user, since_ns) = (connection.user, connection.since_ns);
            let failure = overdue(connection.state);
            self.pool.close(key);
            let times = Times { at_ns: since_ns + timeout.nanos(), ..Times::unanswered(since_ns, now_ns) };
            self.fail(user, times, failure, &format!("no answer within {timeout}"));
        }
        self.journey.end_overdue_deliveries(now_ns, before_ns);
        self.serve_waiting(now_ns);
    }
}

/// How a request has failed that was not answered in time, on a connection in such a state.
pub(super) fn overdue(state: State) -> Failure {
    if state == State::Connecting { Failure::Connect } else { Failure::Timeout }
}

pub(super) fn no_connection(error: Errno) -> String {
    format!("no connection: {}", std::io::Error::from(error))
}
