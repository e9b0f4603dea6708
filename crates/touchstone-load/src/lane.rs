//! One thread of the generator: its share of the schedule, of the users and of the connections. Lanes share nothing while they run.
//!
//! A lane is a loop: begin what is due, wait for the next event or the next start, and do what the event makes possible. In an open
//! loop a start that finds no idle user stays in the schedule, which is a formula: a backlog takes no memory, however long it is.

mod exchange;
mod pool;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::live::Board;
use crate::pacing;
use crate::plan::Plan;
use crate::recorder::Recorder;
use crate::scenario::Think;
use crate::schedule::{Schedule, Share, Start};
use crate::user::User;
use pool::Pool;
use rand::RngExt;
use rustix::event::epoll;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::iter::Peekable;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often it is looked whether an answer is overdue: a timeout is at most this late.
const OVERDUE_EVERY_NS: u64 = 10_000_000;
/// A closed loop does not ask a service again at once that takes no connection.
const REFUSED_PAUSE_NS: u64 = 100_000_000;
/// The longest wait: after it, the lane looks whether it should stop.
const WAIT_NS_MAX: u64 = 100_000_000;
/// What is received at once.
const SCRATCH_BYTES: usize = 64 * 1024;
/// Events taken at once.
const EVENTS: usize = 256;

/// What a lane does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Each user does the setup once.
    Setup,
    /// The phases.
    Phases,
}

/// A thread of the generator.
pub struct Lane<'p> {
    plan: &'p Plan,
    clock: Clock,
    stage: Stage,
    pool: Pool,
    users: Vec<User>,
    /// Users that have nothing to do, in the order in which they came free.
    idle: VecDeque<usize>,
    /// Users that have a request and no connection.
    waiting: VecDeque<usize>,
    /// Users that wait for a moment, earliest first.
    pausing: BinaryHeap<Reverse<(u64, usize)>>,
    schedule: Option<Peekable<Schedule>>,
    recorder: Recorder,
    scratch: Box<[u8]>,
    body: Vec<u8>,
    overdue_looked_ns: u64,
    /// Users that are in an iteration.
    active: usize,
    setup_failed: Option<String>,
    stop: &'p AtomicBool,
    board: &'p Board,
}

/// What a lane leaves.
pub struct Left {
    /// All that it counted.
    pub recorder: Recorder,
    /// When it ended, in nanoseconds after the beginning.
    pub ended_ns: u64,
    /// Starts that were due and not begun.
    pub unsent: u64,
}

impl<'p> Lane<'p> {
    /// A lane, which has a share of the run. `connections` is how many it may have open.
    ///
    /// # Errors
    /// When the system has no event queue for it.
    pub fn new(
        plan: &'p Plan,
        share: Share,
        connections: usize,
        stop: &'p AtomicBool,
        board: &'p Board,
    ) -> Result<Lane<'p>> {
        let users = plan.users_of(share);
        let schedule = (!plan.is_closed).then(|| {
            Schedule::new(plan.intensity(), plan.arrivals(), plan.scenario.load.seed, share).peekable()
        });
        Ok(Lane {
            plan,
            clock: Clock::begins_in(std::time::Duration::ZERO),
            stage: Stage::Setup,
            pool: Pool::new(plan.target.addresses.clone(), connections)?,
            idle: (0..users.len()).collect(),
            users,
            waiting: VecDeque::new(),
            pausing: BinaryHeap::new(),
            schedule,
            // The setup is a phase behind the last.
            recorder: Recorder::new(plan.phases.len() + 1, plan.requests.len()),
            scratch: vec![0; SCRATCH_BYTES].into_boxed_slice(),
            body: Vec::new(),
            overdue_looked_ns: 0,
            active: 0,
            setup_failed: None,
            stop,
            board,
        })
    }

    /// Lets each user do the setup.
    ///
    /// # Errors
    /// When a request of it fails: its user could do nothing of what is to be measured.
    pub fn set_up(&mut self) -> Result<()> {
        let setup = self.plan.setup();
        if self.plan.flows[setup].steps.is_empty() {
            return Ok(());
        }
        for _ in 0..self.users.len() {
            let now_ns = self.clock.now_ns();
            let user = self.idle.pop_front().expect("all users are idle before the setup");
            self.begin(user, setup, now_ns, self.plan.phases.len());
        }
        let mut events = Vec::with_capacity(EVENTS);
        while self.active > 0 && self.setup_failed.is_none() && !self.stop.load(Ordering::Relaxed) {
            self.turn(&mut events, None)?;
        }
        match self.setup_failed.take() {
            Some(why) => Err(Error::unavailable(format!("the setup of a user failed: {why}"))),
            None => Ok(()),
        }
    }

    /// Runs the phases.
    ///
    /// # Errors
    /// What the system says of the event queue.
    pub fn run(mut self, clock: Clock) -> Result<Left> {
        pacing::be_punctual();
        (self.clock, self.stage, self.overdue_looked_ns) = (clock, Stage::Phases, 0);
        self.recorder.connections = Default::default();
        self.recorder.series = Default::default();
        if self.plan.is_closed {
            self.idle.clear();
            for user in 0..self.users.len() {
                self.rest(user, 0);
            }
        }
        let ends_ns = self.plan.ends_ns();
        let gives_up_ns = ends_ns.saturating_add(self.plan.scenario.load.timeout.nanos());
        let mut events = Vec::with_capacity(EVENTS);
        let mut now_ns = self.clock.now_ns();
        loop {
            self.begin_due(now_ns);
            let is_over = now_ns >= ends_ns && self.active == 0 && self.next_start().is_none();
            if is_over || now_ns >= gives_up_ns || self.stop.load(Ordering::Relaxed) {
                break;
            }
            self.board.tell(&self.recorder, now_ns);
            let start_ns =
                if self.idle.is_empty() { None } else { self.next_start().map(|start| start.due_ns) };
            self.turn(&mut events, start_ns)?;
            now_ns = self.clock.now_ns();
        }
        let unsent = self.count_unsent(now_ns);
        self.board.tell(&self.recorder, u64::MAX);
        Ok(Left { recorder: self.recorder, ended_ns: now_ns, unsent })
    }

    fn next_start(&mut self) -> Option<&Start> {
        self.schedule.as_mut()?.peek()
    }

    /// Begins every iteration that is due, as far as there are users.
    fn begin_due(&mut self, now_ns: u64) {
        while let Some(&Reverse((at_ns, user))) = self.pausing.peek()
            && at_ns <= now_ns
        {
            self.pausing.pop();
            if self.users[user].at.step > 0 {
                self.step(user, at_ns, now_ns);
            } else {
                self.begin_again(user, at_ns);
            }
        }
        while let Some(&start) = self.next_start()
            && start.due_ns <= now_ns
        {
            let Some(user) = self.idle.pop_front() else { break };
            self.schedule.as_mut().and_then(Iterator::next);
            self.recorder.due += 1;
            self.begin(user, self.plan.choose(start.index), start.due_ns, start.phase);
        }
    }

    /// The next iteration of a closed loop.
    fn begin_again(&mut self, user: usize, due_ns: u64) {
        let Some(phase) = self.phase_at(due_ns) else { return };
        let iteration = self.users[user].iteration * u64::from(self.plan.users) + self.users[user].number;
        self.recorder.due += 1;
        self.begin(user, self.plan.choose(iteration), due_ns, phase);
    }

    fn phase_at(&self, at_ns: u64) -> Option<usize> {
        let phase = self.plan.phases.partition_point(|phase| phase.ends_ns <= at_ns);
        (phase < self.plan.phases.len()).then_some(phase)
    }

    fn begin(&mut self, user: usize, flow: usize, due_ns: u64, phase: usize) {
        self.active += 1;
        let now_ns = self.clock.now_ns();
        let at = &mut self.users[user].at;
        (at.flow, at.step, at.phase) = (flow, 0, phase);
        self.step(user, due_ns, now_ns);
    }

    /// The step of its iteration that a user has come to.
    fn step(&mut self, user: usize, due_ns: u64, now_ns: u64) {
        let at = &mut self.users[user].at;
        (at.due_ns, at.ready_ns) = (due_ns, due_ns);
        self.ask(user, now_ns);
    }

    /// What comes after a step.
    fn after_step(&mut self, user: usize, now_ns: u64, failure: Option<Failure>) {
        let at = self.users[user].at;
        let flow = &self.plan.flows[at.flow];
        self.users[user].at.step += 1;
        if failure.is_none() && at.step + 1 < flow.steps.len() {
            match self.pause(user, flow.pause) {
                0 => self.step(user, now_ns, now_ns),
                pause_ns => self.pausing.push(Reverse((now_ns + pause_ns, user))),
            }
            return;
        }
        self.active -= 1;
        self.users[user].iteration += 1;
        self.users[user].at.step = 0;
        if self.stage == Stage::Setup || !self.plan.is_closed {
            self.idle.push_back(user);
            return;
        }
        let think_ns = self.pause(user, self.plan.scenario.load.think);
        let pause_ns =
            if failure == Some(Failure::Connect) { REFUSED_PAUSE_NS.max(think_ns) } else { think_ns };
        // At once, and not after what else has happened meanwhile: others' events would make the generator late.
        if pause_ns == 0
            && failure.is_none()
            && takes_part_from(self.plan, self.users[user].number, now_ns) == Some(now_ns)
        {
            self.begin_again(user, now_ns);
        } else {
            self.rest(user, now_ns + pause_ns);
        }
    }

    /// Lets a user of a closed loop begin again at a moment, or as soon after it as it takes part.
    fn rest(&mut self, user: usize, from_ns: u64) {
        if let Some(at_ns) = takes_part_from(self.plan, self.users[user].number, from_ns) {
            self.pausing.push(Reverse((at_ns, user)));
        }
    }

    fn pause(&mut self, user: usize, think: Think) -> u64 {
        match think {
            Think::None => 0,
            Think::Always(pause) => pause.nanos(),
            Think::Between(least, most) => {
                let (least, most) = (least.nanos().min(most.nanos()), most.nanos().max(least.nanos()));
                self.users[user].random.random_range(least..=most)
            }
        }
    }

    /// Waits for events, or for the next moment at which something is to be done, and does what the events make possible.
    fn turn(&mut self, events: &mut Vec<epoll::Event>, start_ns: Option<u64>) -> Result<()> {
        let now_ns = self.clock.now_ns();
        let pause_ns = self.pausing.peek().map(|Reverse((at_ns, _))| *at_ns);
        let next_ns = start_ns.into_iter().chain(pause_ns).min();
        let most_ns = if self.active > 0 { OVERDUE_EVERY_NS } else { WAIT_NS_MAX };
        let until_ns = next_ns.map_or(u64::MAX, |at_ns| at_ns.saturating_sub(now_ns));
        let is_for_start = until_ns <= most_ns;
        let pacing = self.plan.scenario.load.pacing;
        pacing::wait(self.pool.epoll(), events, until_ns.min(most_ns), is_for_start, pacing)
            .map_err(|error| Error::io("waiting for the service", &error.into()))?;
        for event in events.iter() {
            self.happen(event.data, event.flags);
        }
        if self.active > 0 {
            let now_ns = self.clock.now_ns();
            if now_ns.saturating_sub(self.overdue_looked_ns) >= OVERDUE_EVERY_NS {
                self.overdue_looked_ns = now_ns;
                self.end_overdue(now_ns);
            }
        }
        Ok(())
    }

    /// Counts what was due and is not answered. A run that was stopped by hand leaves it uncounted: it may still have been.
    fn count_unsent(&mut self, now_ns: u64) -> u64 {
        if self.stop.load(Ordering::Relaxed) {
            return 0;
        }
        for user in std::mem::take(&mut self.waiting) {
            self.count_unanswered(user, now_ns, Failure::Unsent);
        }
        for (_, user) in self.pool.busy() {
            self.count_unanswered(user, now_ns, Failure::Timeout);
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
}

/// From when on, not before a moment, a user takes part in a closed loop. None, if it does not any more.
fn takes_part_from(plan: &Plan, number: u64, from_ns: u64) -> Option<u64> {
    let here = plan.phases.iter().skip_while(|phase| phase.ends_ns <= from_ns);
    for phase in here {
        let from_ns = from_ns.max(phase.begins_ns);
        let (first, last) = (f64::from(phase.users.0), f64::from(phase.users.1));
        let length_ns = (phase.ends_ns - phase.begins_ns) as f64;
        let users_at = |at_ns: u64| first + (last - first) * ((at_ns - phase.begins_ns) as f64 / length_ns);
        if (number as f64) < users_at(from_ns) {
            return Some(from_ns);
        }
        if (number as f64) < last && last > first {
            let share = (number as f64 - first + f64::EPSILON) / (last - first);
            // A nanosecond later than where the line is crossed.
            return Some(
                (phase.begins_ns + (share * length_ns) as u64 + 1).min(phase.ends_ns - 1).max(from_ns),
            );
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    /// A loop that grows from 2 users to 6 in a second, keeps 3 for one, and then 5.
    fn plan() -> Plan {
        let text = "name = \"t\"\nhost = \"http://127.0.0.1:1\"\n[[request]]\nname = \"a\"\npath = \"/\"\n\
                    [[phase]]\nlength = \"1s\"\nusers = 2\nusers_to = 6\n[[phase]]\nlength = \"1s\"\nusers = 3\n\
                    [[phase]]\nlength = \"1s\"\nusers = 5\n";
        let scenario = Scenario::parse(text, "t.toml").expect("it is one");
        Plan::new(scenario, Share::WHOLE).expect("nothing is wrong with it")
    }

    #[test]
    fn users_take_part_when_the_phases_say_so() {
        const S: u64 = 1_000_000_000;
        let plan = plan();
        for (number, from_ns, expected) in [
            (0, 0, Some(0)),
            (1, S / 2, Some(S / 2)),
            // The third is the first to join, at once; the last after three quarters.
            (2, 0, Some(1)),
            (5, 0, Some(S * 3 / 4 + 1)),
            (5, S, None),
            (3, S, Some(2 * S)),
            (2, S, Some(S)),
            (0, 3 * S, None),
        ] {
            assert_eq!(takes_part_from(&plan, number, from_ns), expected, "user {number} from {from_ns}");
        }
    }
}
