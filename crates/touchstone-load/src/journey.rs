//! What the users of a lane do next: when their iterations begin, which step follows which, and what is counted of each. It sends and
//! receives nothing: an engine asks it who is to be served, and tells it what came of that.
//!
//! In an open loop a start that finds no idle user stays in the schedule, which is a formula: a backlog takes no memory, however long
//! it is.

mod count;
mod delivery;
mod part;
mod share;
mod steered;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::live::Board;
use crate::plan::{Plan, Request};
use crate::recorder::Recorder;
use crate::requests::Gathered;
use crate::scenario::Think;
use crate::schedule::{Schedule, Share, Start};
use crate::user::User;
pub use count::Times;
use delivery::Deliveries;
use part::takes_part_from;
use rand::RngExt;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::iter::Peekable;
use std::sync::atomic::{AtomicBool, Ordering};
use steered::Steered;

/// How often it is looked whether an answer is overdue: a timeout is at most this late.
const OVERDUE_EVERY_NS: u64 = 10_000_000;
/// A closed loop does not ask a service again at once that takes no connection.
const REFUSED_PAUSE_NS: u64 = 100_000_000;
/// The longest wait: after it, the lane looks whether it should stop.
const WAIT_NS_MAX: u64 = 100_000_000;

/// What a lane does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Each user does the setup once.
    Setup,
    /// The phases.
    Phases,
}

/// What a user does after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// It asks again at once.
    Asks,
    /// Nothing, until it is due again.
    Rests,
}

/// How long an engine may wait for what its connections do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// So long.
    pub ns: u64,
    /// Whether a user is due at its end.
    pub is_for_start: bool,
}

/// The users of a lane, on their way through the plan.
pub struct Journey<'p> {
    /// What they do.
    pub plan: &'p Plan,
    /// The time.
    pub clock: Clock,
    /// Who they are.
    pub users: Vec<User>,
    /// What was counted.
    pub recorder: Recorder,
    stage: Stage,
    /// Users that have not begun the setup.
    to_set_up: usize,
    /// Users that have nothing to do, in the order in which they came free.
    idle: VecDeque<usize>,
    /// Users that wait for a moment, earliest first.
    pausing: BinaryHeap<Reverse<(u64, usize)>>,
    schedule: Option<Peekable<Schedule>>,
    overdue_looked_ns: u64,
    /// Users that are in an iteration.
    active: usize,
    setup_failed: Option<String>,
    /// A loop whose users are told while it runs, and do the setup when they join; none elsewhere.
    steered: Option<Steered<'p>>,
    /// Every request that has ended, where somebody wants them all.
    gathered: Option<Gathered>,
    /// Requests that streams of events have to tell of.
    deliveries: Deliveries,
    stop: &'p AtomicBool,
    board: &'p Board,
}

impl<'p> Journey<'p> {
    /// The users of a share, before their setup.
    pub fn new(plan: &'p Plan, share: Share, stop: &'p AtomicBool, board: &'p Board) -> Journey<'p> {
        let steered = board.steer().map(|steer| Steered::new(steer, plan.share, share));
        let users = if steered.is_some() { Vec::new() } else { plan.users_of(share) };
        let schedule = (!plan.is_closed).then(|| {
            Schedule::new(plan.intensity(), plan.arrivals(), plan.scenario.load.seed, share).peekable()
        });
        let has_setup = !plan.flows[plan.setup()].steps.is_empty();
        Journey {
            plan,
            clock: Clock::begins_in(std::time::Duration::ZERO),
            // The setup is a phase behind the last.
            recorder: Recorder::new(plan.phases.len() + 1, plan.requests.len()),
            stage: Stage::Setup,
            to_set_up: if has_setup { users.len() } else { 0 },
            idle: if has_setup { VecDeque::new() } else { (0..users.len()).collect() },
            deliveries: Deliveries::new(plan, users.len()),
            users,
            pausing: BinaryHeap::new(),
            schedule,
            overdue_looked_ns: 0,
            active: 0,
            setup_failed: None,
            steered,
            gathered: board.outlet().cloned().map(Gathered::new),
            stop,
            board,
        }
    }

    /// What came of the setup.
    ///
    /// # Errors
    /// When a request of it failed: its user could do nothing of what is to be measured.
    pub fn is_set_up(&mut self) -> Result<()> {
        match self.setup_failed.take() {
            Some(why) => Err(Error::unavailable(format!("the setup of a user failed: {why}"))),
            None => Ok(()),
        }
    }

    /// Begins the phases, by a clock that all lanes share.
    pub fn begin_phases(&mut self, clock: Clock) {
        if let Some(gathered) = &mut self.gathered {
            gathered.begin_phases(clock.later_ns(&self.clock));
        }
        (self.clock, self.stage, self.overdue_looked_ns) = (clock, Stage::Phases, 0);
        self.recorder.connections = Default::default();
        self.recorder.series = Default::default();
        for watched in &mut self.recorder.watches {
            (watched.events, watched.received_bytes) = (0, 0);
        }
        if self.plan.is_closed {
            self.idle.clear();
            for user in 0..self.users.len() {
                self.rest(user, 0);
            }
        }
    }

    /// A user whose next request is due, until there is none, or the run is stopped.
    #[inline]
    pub fn next_due(&mut self, now_ns: u64) -> Option<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        if self.stage == Stage::Setup {
            return self.next_to_set_up(now_ns);
        }
        while let Some(&Reverse((at_ns, user))) = self.pausing.peek()
            && at_ns <= now_ns
        {
            self.pausing.pop();
            if self.users[user].at.step > 0 {
                self.step(user, at_ns);
                return Some(user);
            }
            if self.begin_again(user, at_ns) == Next::Asks {
                return Some(user);
            }
        }
        let start = *self.next_start()?;
        if start.due_ns > now_ns {
            return None;
        }
        let user = self.idle.pop_front()?;
        self.schedule.as_mut().and_then(Iterator::next);
        self.recorder.due += 1;
        self.begin(user, self.plan.choose(start.index), start.due_ns, start.phase);
        Some(user)
    }

    fn next_to_set_up(&mut self, now_ns: u64) -> Option<usize> {
        self.to_set_up = self.to_set_up.checked_sub(1)?;
        let user = self.users.len() - 1 - self.to_set_up;
        self.begin(user, self.plan.setup(), now_ns, self.plan.phases.len());
        Some(user)
    }

    fn next_start(&mut self) -> Option<&Start> {
        self.schedule.as_mut()?.peek()
    }

    /// The request that a user has come to, by its number.
    #[inline]
    pub fn request_of(&self, user: usize) -> usize {
        let at = self.users[user].at;
        self.plan.flows[at.flow].steps[at.step]
    }

    /// As [`request_of`](Journey::request_of), itself, with the user that it is written for.
    #[inline]
    pub fn request_and_user(&mut self, user: usize) -> (&'p Request, &mut User) {
        let plan = self.plan;
        (&plan.requests[self.request_of(user)], &mut self.users[user])
    }

    /// Something else than the generator kept a user's request until now.
    pub fn was_kept(&mut self, user: usize, now_ns: u64) {
        let at = &mut self.users[user].at;
        at.ready_ns = at.ready_ns.max(now_ns);
    }

    /// Whether all is done, or no more is to be waited for.
    pub fn is_over(&mut self, now_ns: u64) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return true;
        }
        if self.stage == Stage::Setup {
            return self.active == 0 || self.setup_failed.is_some();
        }
        let ends_ns = self.plan.ends_ns();
        let gives_up_ns = ends_ns.saturating_add(self.plan.scenario.load.timeout.nanos());
        now_ns >= gives_up_ns || (now_ns >= ends_ns && self.active == 0 && self.next_start().is_none())
    }

    /// Whether the run is to end early.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Shows what was counted until now.
    pub fn tell(&mut self, now_ns: u64) {
        if self.stage == Stage::Phases {
            self.board.tell(&self.recorder, now_ns);
            if let Some(gathered) = &mut self.gathered {
                gathered.tell(now_ns);
            }
            if self.steered.is_some() {
                self.follow(now_ns);
            }
        }
    }

    /// How long it may be waited until something is to be done.
    pub fn wait(&mut self, now_ns: u64) -> Wait {
        let start_ns = match self.stage {
            Stage::Phases if !self.idle.is_empty() => self.next_start().map(|start| start.due_ns),
            _ => None,
        };
        let pause_ns = self.pausing.peek().map(|Reverse((at_ns, _))| *at_ns);
        let next_ns = start_ns.into_iter().chain(pause_ns).min();
        let most_ns = if self.active > 0 { OVERDUE_EVERY_NS } else { WAIT_NS_MAX };
        let until_ns = next_ns.map_or(u64::MAX, |at_ns| at_ns.saturating_sub(now_ns));
        Wait { ns: until_ns.min(most_ns), is_for_start: until_ns <= most_ns }
    }

    /// The moment up to which requests that were sent are overdue, where it is time to look.
    pub fn looks_for_overdue(&mut self) -> Option<(u64, u64)> {
        if self.active == 0 {
            return None;
        }
        let now_ns = self.clock.now_ns();
        if now_ns.saturating_sub(self.overdue_looked_ns) < OVERDUE_EVERY_NS {
            return None;
        }
        self.overdue_looked_ns = now_ns;
        Some((now_ns, now_ns.checked_sub(self.plan.scenario.load.timeout.nanos())?))
    }

    /// The next iteration of a closed loop.
    fn begin_again(&mut self, user: usize, due_ns: u64) -> Next {
        let Some(phase) = self.phase_at(due_ns) else { return Next::Rests };
        if self.steered.is_some()
            && let Some(next) = self.joins_or_leaves(user, due_ns)
        {
            return next;
        }
        let iteration = self.users[user].iteration * u64::from(self.plan.users) + self.users[user].number;
        self.recorder.due += 1;
        self.begin(user, self.plan.choose(iteration), due_ns, phase);
        Next::Asks
    }

    fn phase_at(&self, at_ns: u64) -> Option<usize> {
        let phase = self.plan.phases.partition_point(|phase| phase.ends_ns <= at_ns);
        (phase < self.plan.phases.len()).then_some(phase)
    }

    fn begin(&mut self, user: usize, flow: usize, due_ns: u64, phase: usize) {
        self.active += 1;
        let at = &mut self.users[user].at;
        (at.flow, at.step, at.phase) = (flow, 0, phase);
        self.step(user, due_ns);
    }

    /// The step of its iteration that a user has come to.
    fn step(&mut self, user: usize, due_ns: u64) {
        let at = &mut self.users[user].at;
        // A start that has waited for a user is not late by the generator's doing.
        (at.due_ns, at.ready_ns) = (due_ns, due_ns.max(at.free_ns));
    }

    /// What comes after a step.
    fn after_step(&mut self, user: usize, now_ns: u64, failure: Option<Failure>) -> Next {
        self.deliveries.ends(user);
        let at = self.users[user].at;
        let flow = &self.plan.flows[at.flow];
        self.users[user].at.step += 1;
        if failure.is_none() && at.step + 1 < flow.steps.len() {
            return match self.pause(user, flow.pause) {
                0 => {
                    self.step(user, now_ns);
                    Next::Asks
                }
                pause_ns => {
                    self.pausing.push(Reverse((now_ns + pause_ns, user)));
                    Next::Rests
                }
            };
        }
        self.active -= 1;
        self.users[user].iteration += 1;
        self.users[user].at.step = 0;
        if self.stage == Stage::Setup || !self.plan.is_closed {
            if self.stage == Stage::Phases {
                self.users[user].at.free_ns = now_ns;
            }
            self.idle.push_back(user);
            return Next::Rests;
        }
        let failure = if self.steered.is_some() { self.joined(user, at.flow, failure) } else { failure };
        let think_ns = self.pause(user, self.plan.scenario.load.think);
        let pause_ns =
            if failure == Some(Failure::Connect) { REFUSED_PAUSE_NS.max(think_ns) } else { think_ns };
        // At once, and not after what else has happened meanwhile: others' events would make the generator late.
        if pause_ns == 0 && failure.is_none() && self.takes_part_from(user, now_ns) == Some(now_ns) {
            return self.begin_again(user, now_ns);
        }
        self.rest(user, now_ns + pause_ns);
        Next::Rests
    }

    /// Lets a user of a closed loop begin again at a moment, or as soon after it as it takes part.
    fn rest(&mut self, user: usize, from_ns: u64) {
        match self.takes_part_from(user, from_ns) {
            Some(at_ns) => self.pausing.push(Reverse((at_ns, user))),
            None => self.idle.push_back(user),
        }
    }

    fn takes_part_from(&self, user: usize, from_ns: u64) -> Option<u64> {
        match &self.steered {
            Some(steered) => (user < steered.users).then_some(from_ns),
            None => takes_part_from(self.plan, self.users[user].number, from_ns),
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
}
