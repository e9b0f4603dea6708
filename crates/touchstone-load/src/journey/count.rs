//! What is counted of a request that has ended, however it did.

use super::{Journey, Next, Stage};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::recorder::WHOLE;
use crate::requests::Ended;
use crate::user::User;
use std::sync::atomic::Ordering;

/// When a request was sent and when it ended, and how many bytes went which way.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// When it was sent, or since when a connection was being made for it.
    pub since_ns: u64,
    /// When it ended: for one that was overdue, when its time was over.
    pub at_ns: u64,
    /// When that was noticed.
    pub now_ns: u64,
    /// Bytes of the request.
    pub sent_bytes: u64,
    /// Bytes of the answer.
    pub received_bytes: u64,
}

impl Times {
    /// From the sending to the end.
    pub(super) fn service_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.since_ns)
    }

    /// Of a request without an answer.
    pub fn unanswered(since_ns: u64, now_ns: u64) -> Times {
        Times { since_ns, at_ns: now_ns, now_ns, sent_bytes: 0, received_bytes: 0 }
    }
}

impl Journey<'_> {
    /// A whole answer has come to a user.
    #[inline]
    pub fn answered(&mut self, user: usize, answer: &impl Answer, times: Times) -> Next {
        let number = self.request_of(user);
        let request = &self.plan.requests[number];
        let at = self.users[user].at;
        let judged = request.expectation.judge(answer, &mut self.users[user]);
        let row = self.recorder.row(at.phase, number);
        let response_ns = times.at_ns.saturating_sub(at.due_ns);
        row.response.record(response_ns);
        row.service.record(times.service_ns());
        row.lag.record(times.since_ns.saturating_sub(at.ready_ns));
        row.count_status(answer.status(), 1);
        row.sent_bytes += times.sent_bytes;
        row.received_bytes += times.received_bytes;
        let failure = judged.err().map(|wrong| {
            row.count_failure(wrong.failure, || wrong.detail.clone());
            if self.stage == Stage::Setup {
                self.setup_failed.get_or_insert(format!("`{}`: {}", request.name, wrong.detail));
            }
            wrong.failure
        });
        self.recorder.series.record(times.now_ns, response_ns, failure.is_some());
        self.count_within(user, number, times.at_ns, WHOLE);
        self.gather(user, number, times, Some(times.service_ns()), Some(answer.status()), failure);
        match request.delivery {
            Some(delivery) if failure.is_none() && self.stage == Stage::Phases => {
                self.await_delivery(user, delivery, times)
            }
            _ => self.after_step(user, times.now_ns, failure),
        }
    }

    /// A user's request was not answered. The user never asks again at once.
    pub fn failed(&mut self, user: usize, times: Times, failure: Failure, detail: &str) {
        let number = self.request_of(user);
        let at = self.users[user].at;
        let row = self.recorder.row(at.phase, number);
        let response_ns = times.at_ns.saturating_sub(at.due_ns);
        row.response.record(response_ns);
        row.service.record(times.service_ns());
        row.count_failure(failure, || detail.to_owned());
        self.recorder.series.record(times.now_ns, response_ns, true);
        self.count_within(user, number, times.at_ns, WHOLE);
        self.gather(user, number, times, Some(times.service_ns()), None, Some(failure));
        if self.stage == Stage::Setup {
            self.setup_failed
                .get_or_insert_with(|| format!("`{}`: {detail}", self.plan.requests[number].name));
        }
        let next = self.after_step(user, times.now_ns, Some(failure));
        debug_assert_eq!(next, Next::Rests);
    }

    /// Whether a user's request can be written; one that cannot has failed.
    #[inline]
    pub fn can_ask(&mut self, user: usize) -> bool {
        let request = &self.plan.requests[self.request_of(user)];
        let Some(why) = request.too_long(&self.users[user]) else { return true };
        let now_ns = self.clock.now_ns();
        self.failed(user, Times::unanswered(now_ns, now_ns), Failure::TooLong, &why);
        false
    }

    /// Counts what was due and is not answered when the run ends: the requests of those who wait for a connection, of those who wait for
    /// an answer, and starts that were not begun, whose number is returned. A run that was stopped by hand leaves them uncounted: they
    /// may still have been.
    pub fn count_unsent(
        &mut self,
        now_ns: u64,
        waiting: impl IntoIterator<Item = usize>,
        busy: impl IntoIterator<Item = usize>,
    ) -> u64 {
        let was_stopped = self.stop.load(Ordering::Relaxed);
        self.count_undelivered(now_ns, was_stopped);
        if was_stopped {
            // How long they would have taken nobody knows. In a steady state the stop comes in the middle of them, on average.
            for user in waiting.into_iter().chain(busy) {
                self.count_within(user, self.request_of(user), now_ns, WHOLE / 2);
            }
            return 0;
        }
        for user in waiting {
            let why = Failure::Unsent;
            self.count_unanswered(user, self.request_of(user), now_ns, why, &why.to_string());
        }
        for user in busy {
            let why = Failure::Timeout;
            self.count_unanswered(user, self.request_of(user), now_ns, why, &why.to_string());
        }
        let mut unsent = 0;
        while let Some(start) = self.schedule.as_mut().and_then(Iterator::next) {
            unsent += 1;
            self.recorder.due += 1;
            let request = self.plan.flows[self.plan.choose(start.index)].steps[0];
            let row = self.recorder.row(start.phase, request);
            row.response.record(now_ns.saturating_sub(start.due_ns));
            row.count_failure(Failure::Unsent, || Failure::Unsent.to_string());
        }
        unsent
    }

    pub(super) fn count_unanswered(
        &mut self,
        user: usize,
        request: usize,
        now_ns: u64,
        failure: Failure,
        detail: &str,
    ) {
        let at = self.users[user].at;
        let row = self.recorder.row(at.phase, request);
        row.response.record(now_ns.saturating_sub(at.due_ns));
        row.count_failure(failure, || detail.to_owned());
        self.count_within(user, request, now_ns, WHOLE);
        self.gather(user, request, Times::unanswered(now_ns, now_ns), None, None, Some(failure));
    }

    /// Keeps what has ended, where somebody wants every request.
    #[inline]
    pub(super) fn gather(
        &mut self,
        user: usize,
        request: usize,
        times: Times,
        service_ns: Option<u64>,
        status: Option<u16>,
        failure: Option<Failure>,
    ) {
        if self.gathered.is_none() {
            return;
        }
        let User { number, iteration, at, .. } = &self.users[user];
        let ended = Ended {
            seen_ns: times.now_ns as i64,
            began_ns: at.due_ns as i64,
            user: *number,
            iteration: *iteration,
            phase: at.phase,
            request,
            status,
            failure,
            response_ns: times.at_ns.saturating_sub(at.due_ns),
            service_ns,
        };
        if let Some(gathered) = &mut self.gathered {
            gathered.add(ended);
        }
    }
}
