//! One thread of the generator: its share of the schedule, of the users and of the connections. Lanes share nothing while they run.
//!
//! This is the own engine, for plain HTTP/1.1. A lane is a loop: begin what is due, wait for the next event or the next start, and do
//! what the event makes possible. What its users do next stands in the [`journey`](crate::journey).

mod exchange;
mod pool;
mod streams;

use crate::clock::Clock;
use crate::engine::{Left, Plays};
use crate::error::{Error, Result};
use crate::journey::{Journey, Wait};
use crate::live::Board;
use crate::pacing;
use crate::plan::Plan;
use crate::room::Room;
use crate::schedule::Share;
use pool::Pool;
use rustix::event::epoll;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use streams::Streams;

/// What is received at once.
const SCRATCH_BYTES: usize = 64 * 1024;
/// Events taken at once.
const EVENTS: usize = 256;

/// A thread of the generator.
pub struct Lane<'p> {
    journey: Journey<'p>,
    pool: Pool,
    streams: Streams,
    /// Users that have a request and no connection.
    waiting: VecDeque<usize>,
    scratch: Box<[u8]>,
    body: Vec<u8>,
}

impl Plays for Lane<'_> {
    fn set_up(&mut self) -> Result<()> {
        self.travel()?;
        self.journey.is_set_up()
    }

    fn open(&mut self) -> Result<()> {
        self.open_streams()
    }

    fn run(mut self, clock: Clock) -> Result<Left> {
        self.notice_closings()?;
        self.journey.begin_phases(clock);
        let ended_ns = self.travel()?;
        let busy = self.pool.busy().into_iter().map(|(_, user)| user);
        let unsent = self.journey.count_unsent(ended_ns, self.waiting, busy);
        self.journey.tell(u64::MAX);
        Ok(Left { recorder: self.journey.recorder, ended_ns, unsent })
    }
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
        let journey = Journey::new(plan, share, stop, board);
        let room = Room::of_lane(plan.scenario.load.threads);
        Ok(Lane {
            streams: Streams::new(plan, journey.users.len(), Rc::clone(&room)),
            journey,
            pool: Pool::new(plan.target.addresses.clone(), connections, room)?,
            waiting: VecDeque::new(),
            scratch: vec![0; SCRATCH_BYTES].into_boxed_slice(),
            body: Vec::new(),
        })
    }

    /// Leaves connections alone that the service has closed since users were set up, which may be long ago. Each is looked at once, for
    /// streams may bring more and more.
    fn notice_closings(&mut self) -> Result<()> {
        let at_once = Wait { ns: 0, is_for_start: false };
        let mut events = Vec::with_capacity(EVENTS);
        for _ in 0..=(self.pool.count() + self.streams.count()) / EVENTS {
            self.wait(&mut events, at_once)?;
            if events.len() < EVENTS {
                break;
            }
        }
        Ok(())
    }

    /// Serves the users until all is done. When that was.
    fn travel(&mut self) -> Result<u64> {
        pacing::be_punctual();
        let mut events = Vec::with_capacity(EVENTS);
        let mut now_ns = self.journey.clock.now_ns();
        loop {
            while let Some(user) = self.journey.next_due(now_ns) {
                self.ask(user);
            }
            if self.journey.is_over(now_ns) {
                return Ok(now_ns);
            }
            self.journey.tell(now_ns);
            self.turn(&mut events)?;
            now_ns = self.journey.clock.now_ns();
        }
    }

    /// Waits for events, or for the next moment at which something is to be done, and does what the events make possible.
    fn turn(&mut self, events: &mut Vec<epoll::Event>) -> Result<()> {
        let wait = self.journey.wait(self.journey.clock.now_ns());
        self.wait(events, wait)?;
        if let Some((now_ns, before_ns)) = self.journey.looks_for_overdue() {
            self.end_overdue(now_ns, before_ns);
        }
        Ok(())
    }

    fn wait(&mut self, events: &mut Vec<epoll::Event>, wait: Wait) -> Result<()> {
        let pacing = self.journey.plan.scenario.load.pacing;
        pacing::wait(self.pool.epoll(), events, wait, pacing)
            .map_err(|error| Error::io("waiting for the service", &error.into()))?;
        for event in events.iter() {
            match Streams::number_of(event.data) {
                Some(stream) => self.happen_on_stream(stream, event.flags),
                None => self.happen(event.data, event.flags),
            }
        }
        Ok(())
    }
}
