//! One thread of the generator, as [`lane`](crate::lane), for TLS and HTTP/2: hyper's connections on a runtime that this thread has for
//! itself.
//!
//! The lane's own future knows the users and the connections, and decides. What waits for the service are tasks that know neither: each
//! makes one connection, moves one connection's bytes or does one errand, and puts what came of it into the `inbox`.

mod alarm;
mod connect;
mod counted;
mod errand;
mod exchange;
mod inbox;
mod pool;
mod write;

use crate::clock::Clock;
use crate::engine::{Left, Plays};
use crate::error::{Error, Result};
use crate::journey::{Journey, Wait};
use crate::live::Board;
use crate::pacing;
use crate::plan::Plan;
use crate::room::Room;
use crate::scenario::{Http, Pacing};
use crate::schedule::Share;
use alarm::Alarm;
use connect::Connector;
use exchange::Flight;
use inbox::Inbox;
use pool::Pool;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::task::Poll;
use tokio::runtime::{Builder, LocalRuntime};
use write::Writer;

/// How many tasks run before the lane hears what they have told. With the runtime's own 61, a user of a closed loop asked again 16 µs
/// after it was answered and 1 % after 0.2 ms; with these, after 2.5 and 10 µs, and a request cost no more.
const TASKS_AT_ONCE: u32 = 4;

/// A thread of the generator.
pub struct AsyncLane<'p> {
    runtime: LocalRuntime,
    traveller: Traveller<'p>,
}

/// What the lane's own future works on.
struct Traveller<'p> {
    journey: Journey<'p>,
    pool: Pool,
    connector: Rc<Connector>,
    writer: Writer,
    inbox: Rc<Inbox>,
    alarm: Alarm,
    /// Users that have a request and no connection.
    waiting: VecDeque<usize>,
    /// Where each user's request is.
    flights: Vec<Flight>,
    /// Room for the answers that are under way.
    room: Rc<Room>,
}

impl<'p> AsyncLane<'p> {
    /// A lane, which has a share of the run. `connections` is how many it may have open.
    ///
    /// # Errors
    /// When the system has no event queue or timer for it, or a request cannot be written.
    pub fn new(
        plan: &'p Plan,
        share: Share,
        connections: usize,
        stop: &'p AtomicBool,
        board: &'p Board,
    ) -> Result<AsyncLane<'p>> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .event_interval(TASKS_AT_ONCE)
            .build_local(Default::default());
        let runtime = runtime.map_err(|error| Error::io("making an event queue", &error))?;
        let alarm = {
            let _inside = runtime.enter();
            Alarm::new().map_err(|error| Error::io("making a timer", &error))?
        };
        let streams = match plan.scenario.load.http {
            Http::One => 1,
            Http::Two => plan.scenario.load.streams,
        };
        let journey = Journey::new(plan, share, stop, board);
        let traveller = Traveller {
            pool: Pool::new(plan.target.addresses.clone(), connections, streams),
            connector: Rc::new(Connector::of(plan)?),
            writer: Writer::of(plan)?,
            inbox: Rc::default(),
            alarm,
            waiting: VecDeque::new(),
            flights: (0..journey.users.len()).map(|_| Flight::default()).collect(),
            journey,
            room: Room::of_lane(plan.scenario.load.threads),
        };
        Ok(AsyncLane { runtime, traveller })
    }
}

impl Plays for AsyncLane<'_> {
    fn set_up(&mut self) -> Result<()> {
        self.runtime.block_on(self.traveller.travel())?;
        self.traveller.journey.is_set_up()
    }

    fn run(self, clock: Clock) -> Result<Left> {
        let AsyncLane { runtime, mut traveller } = self;
        runtime.block_on(traveller.notice_closings())?;
        traveller.journey.begin_phases(clock);
        let ended_ns = runtime.block_on(traveller.travel())?;
        let busy = traveller.flights.iter().enumerate().filter(|(_, flight)| flight.is_under_way());
        let unsent = traveller.journey.count_unsent(ended_ns, traveller.waiting, busy.map(|(user, _)| user));
        traveller.journey.tell(u64::MAX);
        Ok(Left { recorder: traveller.journey.recorder, ended_ns, unsent })
    }
}

impl Traveller<'_> {
    /// Serves the users until all is done. When that was.
    async fn travel(&mut self) -> Result<u64> {
        pacing::be_punctual();
        loop {
            while let Some(event) = self.inbox.take() {
                self.happen(event);
            }
            if let Some((now_ns, before_ns)) = self.journey.looks_for_overdue() {
                self.end_overdue(now_ns, before_ns);
            }
            let now_ns = self.journey.clock.now_ns();
            while let Some(user) = self.journey.next_due(now_ns) {
                if user >= self.flights.len() {
                    // Users of a steered loop join while it runs.
                    self.flights.resize_with(self.journey.users.len(), Flight::default);
                }
                self.ask(user);
            }
            if self.journey.is_over(now_ns) {
                return Ok(now_ns);
            }
            self.journey.tell(now_ns);
            self.wait(now_ns).await?;
        }
    }

    /// Lets the tasks of connections see what the service has closed since users were set up, which may be long ago.
    async fn notice_closings(&mut self) -> Result<()> {
        let now_ns = self.journey.clock.now_ns();
        self.alarm.ring_at(now_ns, now_ns).map_err(|error| Error::io("setting a timer", &error))?;
        // The event queue tells of a closing no later than of the timer; the tasks are run after that.
        poll_fn(|context| if self.alarm.has_rung(context) { Poll::Ready(()) } else { Poll::Pending }).await;
        tokio::task::yield_now().await;
        Ok(())
    }

    /// Lets the tasks run until one of them has something to tell, or somebody is due.
    async fn wait(&mut self, now_ns: u64) -> Result<()> {
        let Wait { ns, is_for_start } = self.journey.wait(now_ns);
        let sleeps_ns = match self.journey.plan.scenario.load.pacing {
            Pacing::Sleep => ns,
            Pacing::Hybrid if is_for_start => ns.saturating_sub(pacing::SPIN_NS),
            Pacing::Hybrid => ns,
            Pacing::Spin => 0,
        };
        if sleeps_ns == 0 {
            tokio::task::yield_now().await;
            return Ok(());
        }
        self.alarm
            .ring_at(now_ns, now_ns + sleeps_ns)
            .map_err(|error| Error::io("setting a timer", &error))?;
        poll_fn(|context| {
            // Both are asked, for each remembers whom to wake.
            let (has_rung, is_filled) = (self.alarm.has_rung(context), self.inbox.is_filled(context));
            if has_rung || is_filled { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        Ok(())
    }
}
