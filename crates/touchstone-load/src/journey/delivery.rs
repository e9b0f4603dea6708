//! Deliveries: from the intended start of a request to the moment at which the user's streams have told of it.
//!
//! Which event tells of a request is known by a number: the request's answer has it, and an event that has reached it comes after the
//! change. The event may be here before the answer is, so what streams tell is kept from the sending on. An event
//! that came before it tells of another change.

use super::{Journey, Next, Stage, Times};
use crate::answer::leading_number;
use crate::failure::Failure;
use crate::plan::{Delivery, Plan};
use crate::recorder::WHOLE;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What a stream has told.
#[derive(Clone, Debug, Default)]
struct Heard {
    is_open: bool,
    /// The greatest number.
    last: Option<u64>,
    /// The greatest number when its user's request was sent.
    before: Option<u64>,
    /// Greater ones since then, ascending, with the moments at which they came.
    since: Vec<(u64, u64)>,
}

/// A request that is answered and not delivered yet.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    watch: usize,
    /// The number that its answer had.
    wanted: u64,
    since_ns: u64,
}

/// What the streams of a lane's users have told, and who waits for more.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    /// By watch: which of a user's streams are its.
    places: Vec<Range<usize>>,
    /// By user, and place among the user's streams.
    heard: Vec<Vec<Heard>>,
    /// By user: whether what is told now may be of the user's step.
    listens: Vec<bool>,
    under_way: BTreeMap<usize, UnderWay>,
    /// Those by the moment at which they were sent.
    by_sending: BTreeSet<(u64, usize)>,
}

/// How far a delivery is.
#[derive(Debug, PartialEq, Eq)]
enum Reached {
    /// Everywhere, at a moment.
    At(u64),
    /// Not everywhere.
    NotYet,
    /// It never will be.
    Never(Failure, String),
}

impl Heard {
    /// When it told a number that is as great, of those since the sending.
    fn reached_ns(&self, wanted: u64) -> Option<u64> {
        let at = self.since.partition_point(|(number, _)| *number < wanted);
        self.since.get(at).map(|(_, at_ns)| *at_ns)
    }
}

impl Deliveries {
    /// Before any stream is open.
    pub(super) fn new(plan: &Plan, users: usize) -> Deliveries {
        if plan.watches.is_empty() {
            return Deliveries::default();
        }
        let mut end = 0;
        let places = plan.watches.iter().map(|watch| {
            let begin = end;
            end += watch.each as usize;
            begin..end
        });
        let places: Vec<Range<usize>> = places.collect();
        Deliveries {
            places,
            heard: vec![vec![Heard::default(); end]; users],
            listens: vec![false; users],
            ..Deliveries::default()
        }
    }

    /// A user's request is sent that is to be delivered.
    fn begins(&mut self, user: usize) {
        self.listens[user] = true;
        for heard in &mut self.heard[user] {
            heard.before = heard.last;
            heard.since.clear();
        }
    }

    /// A user's step has ended: what is told from now on is of no more interest.
    #[inline]
    pub(super) fn ends(&mut self, user: usize) {
        if let Some(listens) = self.listens.get_mut(user) {
            *listens = false;
        }
    }

    fn hear(&mut self, user: usize, place: usize, number: u64, at_ns: u64) {
        let heard = &mut self.heard[user][place];
        if heard.last.is_none_or(|last| number > last) {
            heard.last = Some(number);
            if self.listens[user] {
                heard.since.push((number, at_ns));
            }
        }
    }

    fn reached(&self, user: usize, under_way: UnderWay) -> Reached {
        let UnderWay { watch, wanted, .. } = under_way;
        let all = &self.heard[user][self.places[watch].clone()];
        if let Some(before) = all.iter().filter_map(|heard| heard.before).find(|before| *before >= wanted) {
            let detail = format!(
                "{before} was told before the request, whose answer has {wanted}: it tells of nothing new"
            );
            return Reached::Never(Failure::Check, detail);
        }
        // One that is lost decides, wherever it stands among the others.
        if all.iter().any(|heard| !heard.is_open && heard.reached_ns(wanted).is_none()) {
            return Reached::Never(Failure::Closed, "a stream of the user's is not open".into());
        }
        let last_ns = all.iter().try_fold(0, |last_ns, heard| Some(heard.reached_ns(wanted)?.max(last_ns)));
        last_ns.map_or(Reached::NotYet, Reached::At)
    }

    fn end(&mut self, user: usize) -> Option<UnderWay> {
        let under_way = self.under_way.remove(&user)?;
        self.by_sending.remove(&(under_way.since_ns, user));
        Some(under_way)
    }

    /// What was waited for, where that was not told.
    fn missing(&self, user: usize, under_way: UnderWay) -> String {
        let heard = &self.heard[user][self.places[under_way.watch].clone()];
        match heard.iter().filter_map(|heard| heard.last).min() {
            Some(last) => format!("{} is not told of: the last was {last}", under_way.wanted),
            None => format!("{} is not told of, nor any number before it", under_way.wanted),
        }
    }
}

impl Journey<'_> {
    /// A user's request is sent now for the first time: the user's streams are listened to, if it is one to be delivered. A request that is
    /// sent once more keeps what was told since its first sending, which may have reached the service.
    #[inline]
    pub fn sends(&mut self, user: usize) {
        let is_to_be_delivered = |request: usize| self.plan.requests[request].delivery.is_some();
        if self.stage == Stage::Phases && is_to_be_delivered(self.request_of(user)) {
            self.deliveries.begins(user);
        }
    }

    /// The opening of a stream has ended, which is a request of the setup that its user sends.
    pub fn count_opening(
        &mut self,
        user: usize,
        watch: usize,
        times: Times,
        status: Option<u16>,
        failure: Option<(Failure, &str)>,
    ) {
        let request = self.plan.watches[watch].request;
        let at = &mut self.users[user].at;
        (at.phase, at.due_ns) = (self.plan.phases.len(), times.since_ns);
        let row = self.recorder.row(at.phase, request);
        row.response.record(times.service_ns());
        row.service.record(times.service_ns());
        row.received_bytes += times.received_bytes;
        if let Some(status) = status {
            row.count_status(status, 1);
        }
        if let Some((failure, why)) = failure {
            row.count_failure(failure, || why.to_owned());
        }
        let failure = failure.map(|(failure, _)| failure);
        self.gather(user, request, times, Some(times.service_ns()), status, failure);
    }

    /// A stream of a user's is open, the one at a place among the user's.
    pub fn stream_opened(&mut self, user: usize, place: usize) {
        self.deliveries.heard[user][place].is_open = true;
    }

    /// A stream has told a number. What its user does then.
    pub fn stream_told(&mut self, user: usize, place: usize, number: u64, at_ns: u64) -> Next {
        self.deliveries.hear(user, place, number, at_ns);
        match self.deliveries.under_way.get(&user) {
            Some(under_way) => self.look_at_delivery(user, *under_way, at_ns),
            None => Next::Rests,
        }
    }

    /// A stream has ended. What its user does then.
    pub fn stream_ended(&mut self, user: usize, place: usize, now_ns: u64) -> Next {
        self.deliveries.heard[user][place].is_open = false;
        match self.deliveries.under_way.get(&user) {
            Some(under_way) => self.look_at_delivery(user, *under_way, now_ns),
            None => Next::Rests,
        }
    }

    /// A request was answered as it should be: it goes on until it is delivered.
    pub(super) fn await_delivery(&mut self, user: usize, delivery: Delivery, times: Times) -> Next {
        let value = &self.users[user].values[delivery.reaches];
        let number = leading_number(value);
        let under_way =
            UnderWay { watch: delivery.watch, wanted: number.unwrap_or_default(), since_ns: times.since_ns };
        self.deliveries.under_way.insert(user, under_way);
        self.deliveries.by_sending.insert((times.since_ns, user));
        if number.is_none() {
            let value = String::from_utf8_lossy(value).into_owned();
            let why = format!("`{value}`, which an event would have to reach, is no whole number");
            return self.end_delivery(user, times.now_ns, times.now_ns, Some((Failure::Capture, why)));
        }
        self.look_at_delivery(user, under_way, times.now_ns)
    }

    fn look_at_delivery(&mut self, user: usize, under_way: UnderWay, now_ns: u64) -> Next {
        match self.deliveries.reached(user, under_way) {
            Reached::At(at_ns) => self.end_delivery(user, at_ns, now_ns, None),
            Reached::Never(failure, why) => self.end_delivery(user, now_ns, now_ns, Some((failure, why))),
            Reached::NotYet => Next::Rests,
        }
    }

    /// Counts a delivery that has ended, however it did.
    fn end_delivery(
        &mut self,
        user: usize,
        at_ns: u64,
        now_ns: u64,
        failure: Option<(Failure, String)>,
    ) -> Next {
        let Some(UnderWay { watch, since_ns, .. }) = self.deliveries.end(user) else { return Next::Rests };
        let request = self.plan.watches[watch].request;
        let times = Times { at_ns, ..Times::unanswered(since_ns, now_ns) };
        let at = self.users[user].at;
        let row = self.recorder.row(at.phase, request);
        let response_ns = at_ns.saturating_sub(at.due_ns);
        row.response.record(response_ns);
        row.service.record(times.service_ns());
        row.lag.record(since_ns.saturating_sub(at.ready_ns));
        let failure = failure.map(|(failure, why)| {
            row.count_failure(failure, || why);
            failure
        });
        self.recorder.series.record(now_ns, response_ns, failure.is_some());
        self.count_within(user, request, at_ns, WHOLE);
        self.gather(user, request, times, Some(times.service_ns()), None, failure);
        self.after_step(user, now_ns, failure)
    }

    /// Ends deliveries of requests that were sent before a moment: at the timeout's value, however late that was noticed.
    pub fn end_overdue_deliveries(&mut self, now_ns: u64, before_ns: u64) {
        let timeout_ns = self.plan.scenario.load.timeout.nanos();
        while let Some(&(since_ns, user)) = self.deliveries.by_sending.first()
            && since_ns <= before_ns
        {
            let why = self.missing(user);
            let next = self.end_delivery(user, since_ns + timeout_ns, now_ns, Some((Failure::Timeout, why)));
            debug_assert_eq!(next, Next::Rests);
        }
    }

    fn missing(&self, user: usize) -> String {
        let under_way = self.deliveries.under_way.get(&user);
        under_way.map_or_else(String::new, |under_way| self.deliveries.missing(user, *under_way))
    }

    /// Counts what is not delivered when the run ends.
    pub(super) fn count_undelivered(&mut self, now_ns: u64, was_stopped: bool) {
        for (user, under_way) in std::mem::take(&mut self.deliveries.under_way) {
            let request = self.plan.watches[under_way.watch].request;
            if was_stopped {
                self.count_within(user, request, now_ns, WHOLE / 2);
            } else {
                let why = self.deliveries.missing(user, under_way);
                self.count_unanswered(user, request, now_ns, Failure::Timeout, &why);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    const UNDER_WAY: UnderWay = UnderWay { watch: 0, wanted: 7, since_ns: 0 };

    /// A user with two streams, of which the first is open and has told nothing since 3.
    fn beside(other: Heard) -> Deliveries {
        let first = Heard { is_open: true, last: Some(3), before: Some(3), since: vec![] };
        Deliveries {
            places: iter::once(0..2).collect(),
            heard: vec![vec![first, other]],
            ..Deliveries::default()
        }
    }

    #[test]
    fn a_delivery_is_where_the_last_stream_has_told_a_number_as_great() {
        let since = vec![(5, 10), (8, 20), (9, 30)];
        let mut deliveries = beside(Heard { is_open: true, since, ..Heard::default() });
        assert_eq!(deliveries.reached(0, UNDER_WAY), Reached::NotYet);
        deliveries.heard[0][0].since = vec![(7, 15)];
        assert_eq!(deliveries.reached(0, UNDER_WAY), Reached::At(20));
        // What it has told stays told.
        deliveries.heard[0][1].is_open = false;
        assert_eq!(deliveries.reached(0, UNDER_WAY), Reached::At(20));
    }

    /// Regression: a lost stream failed a delivery at once if it was the user's first, and as a timeout if it was the second.
    #[test]
    fn a_lost_stream_fails_a_delivery_at_once_whichever_of_the_users_it_is() {
        let mut deliveries = beside(Heard::default());
        for _ in 0..2 {
            assert!(matches!(deliveries.reached(0, UNDER_WAY), Reached::Never(Failure::Closed, _)));
            deliveries.heard[0].swap(0, 1);
        }
    }

    #[test]
    fn a_number_that_any_stream_had_told_before_is_of_no_change() {
        let mut deliveries = beside(Heard { is_open: true, last: Some(7), before: Some(7), since: vec![] });
        for _ in 0..2 {
            assert!(matches!(deliveries.reached(0, UNDER_WAY), Reached::Never(Failure::Check, _)));
            deliveries.heard[0].swap(0, 1);
        }
    }
}
