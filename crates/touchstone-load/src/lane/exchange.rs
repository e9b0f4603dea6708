//! A request and its answer: finding a connection, sending, receiving, and what is counted of it.

use super::pool::Key;
use super::{Lane, Stage};
use crate::connection::{Sent, State};
use crate::failure::Failure;
use crate::response::Complete;
use rustix::event::epoll;
use rustix::io::Errno;

/// When a request ended that was not answered.
#[derive(Clone, Copy)]
struct End {
    /// When that was noticed.
    now_ns: u64,
    /// When it ended.
    at_ns: u64,
    /// How long the service had it.
    service_ns: u64,
}

impl End {
    fn now(now_ns: u64, since_ns: u64) -> End {
        End { now_ns, at_ns: now_ns, service_ns: now_ns - since_ns }
    }
}

impl Lane<'_> {
    /// The request that a user has come to.
    fn request_of(&self, user: usize) -> usize {
        let at = self.users[user].at;
        self.plan.flows[at.flow].steps[at.step]
    }

    /// Sends a user's request as soon as there is a connection.
    pub(super) fn ask(&mut self, user: usize, now_ns: u64) {
        // Who waits already comes first.
        if self.waiting.is_empty()
            && let Some(key) = self.pool.take_idle()
        {
            self.pool.at(key).user = user;
            self.pool.at(key).is_resent = false;
            self.send(key);
        } else if self.pool.has_room() {
            self.connect(user, now_ns, false);
        } else {
            self.waiting.push_back(user);
        }
    }

    fn connect(&mut self, user: usize, now_ns: u64, is_resent: bool) {
        match self.pool.begin(user, now_ns) {
            Ok(key) => self.pool.at(key).is_resent = is_resent,
            Err(error) => {
                self.fail(user, End::now(now_ns, now_ns), Failure::Connect, || no_connection(error))
            }
        }
    }

    fn send(&mut self, key: Key) {
        let user = self.pool.at(key).user;
        let request = &self.plan.requests[self.request_of(user)];
        let connection = self.pool.at(key);
        connection.prepare();
        request.write(&mut self.users[user], &mut self.body, &mut connection.out);
        connection.state = State::Busy;
        connection.since_ns = self.clock.now_ns();
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
                self.recorder.connections.closed_idle += 1;
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
    }

    fn is_made(&mut self, key: Key) {
        if let Err(error) = self.pool.at(key).made() {
            let (user, since_ns) = (self.pool.at(key).user, self.pool.at(key).since_ns);
            self.pool.close(key);
            let now_ns = self.clock.now_ns();
            self.fail(user, End::now(now_ns, since_ns), Failure::Connect, || no_connection(error));
            return;
        }
        let _ = self.pool.watch_writing(key, false);
        self.recorder.connections.made += 1;
        let user = self.pool.at(key).user;
        // Until now the service kept the request waiting, and not the generator.
        self.users[user].at.ready_ns = self.users[user].at.ready_ns.max(self.clock.now_ns());
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
        let is_head = self.plan.requests[self.request_of(user)].is_head;
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
                Err(why) => {
                    let failure = if why == crate::response::Malformed::Cut {
                        Failure::Closed
                    } else {
                        Failure::Malformed
                    };
                    return self.fail_on(key, failure, || why.to_string());
                }
            }
        }
    }

    /// A whole answer has come.
    fn answered(&mut self, key: Key, complete: Complete) {
        let now_ns = self.clock.now_ns();
        let user = self.pool.at(key).user;
        let request = self.request_of(user);
        let at = self.users[user].at;
        let connection = self.pool.at(key);
        let service_ns = now_ns - connection.since_ns;
        let expectation = &self.plan.requests[request].expectation;
        let judged = expectation.judge(complete, &connection.response, &mut self.users[user].values);
        let row = self.recorder.row(at.phase, request);
        let response_ns = now_ns.saturating_sub(at.due_ns);
        row.response.record(response_ns);
        row.service.record(service_ns);
        row.lag.record(connection.since_ns.saturating_sub(at.ready_ns));
        row.count_status(complete.status, 1);
        row.sent_bytes += connection.out.len() as u64;
        row.received_bytes += connection.response.buffer().len() as u64;
        connection.is_used = true;
        let failure = judged.err().map(|wrong| {
            row.count_failure(wrong.failure, || wrong.detail.clone());
            if self.stage == Stage::Setup {
                self.setup_failed
                    .get_or_insert(format!("`{}`: {}", self.plan.requests[request].name, wrong.detail));
            }
            wrong.failure
        });
        self.recorder.series.record(now_ns, response_ns, failure.is_some());
        if complete.keeps {
            self.pool.give_back(key);
        } else {
            self.pool.close(key);
        }
        self.serve_waiting(now_ns);
        self.after_step(user, now_ns, failure);
    }

    /// Gives the connection that has come free, or room for another, to the user that has waited for the longest.
    fn serve_waiting(&mut self, now_ns: u64) {
        while let Some(&user) = self.waiting.front() {
            let key = self.pool.take_idle();
            if key.is_none() && !self.pool.has_room() {
                return;
            }
            self.waiting.pop_front();
            let at = &mut self.users[user].at;
            at.ready_ns = at.ready_ns.max(now_ns);
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
        if may_resend && self.plan.requests[self.request_of(user)].is_idempotent {
            self.recorder.connections.resent += 1;
            self.pool.close(key);
            self.connect(user, self.clock.now_ns(), true);
        } else {
            self.fail_on(key, Failure::Closed, || Failure::Closed.to_string());
        }
    }

    fn fail_on(&mut self, key: Key, failure: Failure, detail: impl FnOnce() -> String) {
        let now_ns = self.clock.now_ns();
        let (user, since_ns) = (self.pool.at(key).user, self.pool.at(key).since_ns);
        self.pool.close(key);
        self.fail(user, End::now(now_ns, since_ns), failure, detail);
    }

    /// Counts a request that was not answered, and goes on.
    fn fail(&mut self, user: usize, end: End, failure: Failure, detail: impl FnOnce() -> String) {
        let request = self.request_of(user);
        let at = self.users[user].at;
        let row = self.recorder.row(at.phase, request);
        let response_ns = end.at_ns.saturating_sub(at.due_ns);
        row.response.record(response_ns);
        row.service.record(end.service_ns);
        let detail = detail();
        row.count_failure(failure, || detail.clone());
        self.recorder.series.record(end.now_ns, response_ns, true);
        if self.stage == Stage::Setup {
            self.setup_failed.get_or_insert(format!("`{}`: {detail}", self.plan.requests[request].name));
        }
        self.serve_waiting(end.now_ns);
        self.after_step(user, end.now_ns, Some(failure));
    }

    /// Ends what has waited for as long as it may: at the timeout's value, however late that was noticed.
    pub(super) fn end_overdue(&mut self, now_ns: u64) {
        let timeout = self.plan.scenario.load.timeout;
        let Some(before_ns) = now_ns.checked_sub(timeout.nanos()) else { return };
        for key in self.pool.waiting_since(before_ns) {
            let connection = self.pool.at(key);
            let user = connection.user;
            let end =
                End { now_ns, at_ns: connection.since_ns + timeout.nanos(), service_ns: timeout.nanos() };
            let failure =
                if connection.state == State::Connecting { Failure::Connect } else { Failure::Timeout };
            self.pool.close(key);
            self.fail(user, end, failure, || format!("no answer within {timeout}"));
        }
    }

    /// Counts a request that has no answer when the run ends.
    pub(super) fn count_unanswered(&mut self, user: usize, now_ns: u64, failure: Failure) {
        let request = self.request_of(user);
        let at = self.users[user].at;
        let row = self.recorder.row(at.phase, request);
        row.response.record(now_ns.saturating_sub(at.due_ns));
        row.count_failure(failure, || failure.to_string());
    }
}

fn no_connection(error: Errno) -> String {
    format!("no connection: {}", std::io::Error::from(error))
}
