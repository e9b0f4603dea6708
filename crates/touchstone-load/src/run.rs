//! A run: lanes that are set up, begin at the same moment, and are added up when they have ended.

use crate::async_lane::AsyncLane;
use crate::clock::{Clock, processor_ns};
use crate::engine::{Engine, Left, Plays};
use crate::error::{Error, Result};
use crate::files;
use crate::lane::Lane;
use crate::live::Board;
use crate::memory::{Looks, Process};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::probe::is_there;
use crate::recorder::Recorder;
use crate::requests::{Outlet, RequestsFile};
use crate::schedule::Share;
use crate::series::Series;
use crate::steer::{Counted, Steer};
use crate::trust::{Counters, Machine, Thread};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Between the end of the setup and the first start.
const AHEAD: Duration = Duration::from_millis(20);
/// How often what goes on is shown.
const SHOW_EVERY: Duration = Duration::from_millis(250);
/// How often rows of a steered loop are gathered: who stops it waits this long for the last of them.
const GATHER_EVERY: Duration = Duration::from_millis(50);
/// The longest that a lane waits for a common start before it looks whether it should stop.
const START_WAIT_MAX: Duration = Duration::from_millis(50);

/// What is shown of a run while it goes on.
pub struct Progress<'p> {
    /// The plan.
    pub plan: &'p Plan,
    /// Seconds since the beginning; none during the setup.
    pub seconds: Option<f64>,
    /// All intervals that are over.
    pub series: &'p Series,
}

struct Ended {
    left: Left,
    thread: Thread,
}

/// When a run's first phase begins.
#[derive(Clone, Copy)]
pub enum Start<'c> {
    /// As soon as all users are set up.
    AtOnce,
    /// At this time, so that shards on several machines begin together.
    At(SystemTime),
    /// When this, which is called when all users are set up, returns.
    Told(&'c (dyn Fn() + Sync)),
}

/// What is said to a run from outside.
#[derive(Clone, Copy)]
pub struct Control<'c> {
    /// Ends it early; what was counted until then is kept.
    pub stop: &'c AtomicBool,
    /// When its first phase begins, behind the setup of all users.
    pub start: Start<'c>,
    /// What tells a closed loop how many users take part, and takes what it counts.
    pub steer: Option<&'c Arc<Steer>>,
    /// Where a line is written for every request that ends.
    pub requests: Option<&'c RequestsFile>,
    /// The service's process, whose memory is looked at.
    pub process: Option<Process>,
}

impl<'c> Control<'c> {
    /// Ends a run early; nothing else is said to it.
    pub fn of(stop: &'c AtomicBool) -> Control<'c> {
        Control { stop, start: Start::AtOnce, steer: None, requests: None, process: None }
    }
}

/// Runs a plan. `stop` ends it early; what was counted until then is kept.
///
/// # Errors
/// When the service is not there, a user's setup fails, or the system refuses.
pub fn run(plan: &Plan, stop: &AtomicBool, show: impl FnMut(&Progress<'_>)) -> Result<Outcome> {
    run_with(plan, Control::of(stop), show)
}

/// Runs a plan, and lets it be steered.
///
/// # Errors
/// As [`run`], and when users were not set up by the common start. A steered loop begins without the service: its users fail.
pub fn run_with(plan: &Plan, control: Control<'_>, show: impl FnMut(&Progress<'_>)) -> Result<Outcome> {
    if control.steer.is_none() {
        is_there(plan)?;
    }
    files::make_room(plan)?;
    let threads = usize::from(plan.scenario.load.threads);
    match control.requests {
        None => run_lanes(plan, control, vec![None; threads], show),
        Some(file) => file.during(plan, threads, |outlets| run_lanes(plan, control, outlets, show)),
    }
}

/// Runs a lane for each outlet.
fn run_lanes(
    plan: &Plan,
    control: Control<'_>,
    outlets: Vec<Option<Outlet>>,
    mut show: impl FnMut(&Progress<'_>),
) -> Result<Outcome> {
    let mut kept = Recorder::new(plan.phases.len() + 1, plan.requests.len());
    let threads = outlets.len();
    let boards: Vec<Board> =
        outlets.into_iter().map(|outlet| Board::of(control.steer.cloned(), outlet)).collect();
    let begin = Begin::of(threads + 1);
    let mut looks = Looks::of(control.process);
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    let (running, shower) = (AtomicUsize::new(threads), thread::current());
    let (ended, machine, seconds) = thread::scope(|scope| {
        let lanes: Vec<_> = boards
            .iter()
            .enumerate()
            .map(|(number, board)| {
                let (begin, failed, running, shower) = (&begin, &failed, &running, &shower);
                scope.spawn(move || {
                    let ended = lane(plan, number, threads, control, board, begin, failed);
                    running.fetch_sub(1, Ordering::Release);
                    // Who shows what goes on would else sleep on.
                    shower.unpark();
                    ended
                })
            })
            .collect();
        show(&Progress { plan, seconds: None, series: &Series::default() });
        begin.is_set_up.wait();
        looks.before();
        begin.opens.wait();
        begin.ready.wait();
        looks.open();
        let was_stopped = control.stop.load(Ordering::Relaxed);
        let start = if was_stopped { Start::AtOnce } else { control.start };
        let ahead = until(start).unwrap_or_else(|error| {
            fail(control.stop, &failed, error);
            AHEAD
        });
        let clock = *begin.clock.get_or_init(|| Clock::begins_in(ahead));
        let before = Counters::now();
        begin.go.wait();
        while running.load(Ordering::Acquire) > 0 {
            thread::park_timeout(if control.steer.is_some() { GATHER_EVERY } else { SHOW_EVERY });
            looks.most();
            gather(&boards, control.steer.map(Arc::as_ref), clock, &mut kept);
            let series = added(&boards);
            show(&Progress { plan, seconds: Some(clock.now_ns() as f64 / 1e9), series: &series });
        }
        let seconds = clock.now_ns() as f64 / 1e9;
        let ended: Vec<Option<Ended>> =
            lanes.into_iter().map(|lane| lane.join().expect("a lane does not panic")).collect();
        gather(&boards, control.steer.map(Arc::as_ref), clock, &mut kept);
        let writing = control.requests.map_or(0, RequestsFile::busy_ns) as f64 / 1e9 / seconds.max(1e-9);
        let lanes: f64 = ended.iter().flatten().map(|ended| ended.thread.busy_share).sum();
        let own_busy = lanes + writing;
        let machine = Machine { service: looks.seen(), ..Counters::now().since(&before, seconds, own_busy) };
        (ended, machine, seconds)
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        return Err(error);
    }
    let was_stopped = control.stop.load(Ordering::Relaxed);
    outcome(plan, kept, ended, machine, seconds, was_stopped)
}

/// How long until the first phase begins.
fn until(start: Start<'_>) -> Result<Duration> {
    let starts_at = match start {
        Start::AtOnce => return Ok(AHEAD),
        Start::Told(wait) => {
            wait();
            return Ok(AHEAD);
        }
        Start::At(time) => time,
    };
    starts_at.duration_since(SystemTime::now()).map_err(|late| {
        Error::input(format!(
            "the common start was {:.1} s ago when all users were set up: choose a later one",
            late.duration().as_secs_f64()
        ))
    })
}

/// Takes the rows of a steered loop from the lanes: a copy is for who steers it, the sum is the outcome's.
fn gather(boards: &[Board], steer: Option<&Steer>, clock: Clock, kept: &mut Recorder) {
    let Some(steer) = steer else { return };
    steer.tell_at_rest(boards.iter().all(Board::is_at_rest));
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let began = since_1970 - clock.now_ns() as f64 / 1e9;
    for (at_ns, recorder) in boards.iter().flat_map(Board::take) {
        kept.add(&recorder);
        steer.put_up(Counted { at: began + at_ns as f64 / 1e9, recorder });
    }
}

fn fail(stop: &AtomicBool, failed: &Mutex<Option<Error>>, error: Error) {
    stop.store(true, Ordering::Relaxed);
    failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
}

/// How lanes begin together.
struct Begin {
    /// Users of all lanes are set up.
    is_set_up: Barrier,
    /// Streams of events may be opened.
    opens: Barrier,
    ready: Barrier,
    clock: OnceLock<Clock>,
    go: Barrier,
}

impl Begin {
    /// For so many threads.
    fn of(threads: usize) -> Begin {
        let all = || Barrier::new(threads);
        Begin { is_set_up: all(), opens: all(), ready: all(), clock: OnceLock::new(), go: all() }
    }
}

fn lane(
    plan: &Plan,
    number: usize,
    threads: usize,
    control: Control<'_>,
    board: &Board,
    begin: &Begin,
    failed: &Mutex<Option<Error>>,
) -> Option<Ended> {
    let fail = |error: Error| fail(control.stop, failed, error);
    let processor = pin(plan, number);
    // Shards and threads share users and connections out in the same way: the first ones have one more.
    let share = plan.share.part(number as u64, threads as u64);
    let mine = connections(plan, control.steer.is_some(), share, threads);
    match plan.engine {
        Engine::Own => {
            play(Lane::new(plan, share, mine, control.stop, board), control.stop, begin, fail, processor)
        }
        Engine::Hyper { .. } => {
            play(AsyncLane::new(plan, share, mine, control.stop, board), control.stop, begin, fail, processor)
        }
    }
}

fn play(
    lane: Result<impl Plays>,
    stop: &AtomicBool,
    begin: &Begin,
    fail: impl Fn(Error),
    processor: Option<usize>,
) -> Option<Ended> {
    let lane = lane.and_then(|mut lane| {
        lane.set_up()?;
        Ok(lane)
    });
    // Known before anybody waits to be told to begin.
    let lane = lane.map_err(&fail).ok();
    begin.is_set_up.wait();
    begin.opens.wait();
    let lane = lane.and_then(|mut lane| lane.open().map_err(&fail).ok().map(|()| lane));
    begin.ready.wait();
    begin.go.wait();
    let (lane, clock) = (lane?, *begin.clock.get()?);
    while !clock.until_begin().is_zero() && !stop.load(Ordering::Relaxed) {
        thread::sleep(clock.until_begin().min(START_WAIT_MAX));
    }
    let before = processor_ns();
    match lane.run(clock) {
        Ok(left) => {
            let busy_share = (processor_ns() - before) as f64 / left.ended_ns.max(1) as f64;
            Some(Ended { left, thread: Thread { busy_share, processor } })
        }
        Err(error) => {
            fail(error);
            None
        }
    }
}

/// How many connections a lane may have: its share of the plan's, or, where nobody knows how many shares there are, of the process's.
fn connections(plan: &Plan, is_steered: bool, share: Share, threads: usize) -> usize {
    let lane = Share { number: share.number / plan.share.of, of: threads as u64 };
    let share = if is_steered { lane } else { share };
    let all = u64::from(plan.connections);
    let mine = all / share.of + u64::from(share.number < all % share.of);
    mine.max(1) as usize
}

/// Keeps a lane on its processor, where the scenario names some.
fn pin(plan: &Plan, number: usize) -> Option<usize> {
    let processors = &plan.scenario.load.processors;
    let processor = *processors.get(number % processors.len().max(1))?;
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).ok()?;
    Some(processor)
}

fn added(boards: &[Board]) -> Series {
    let mut all = Series::default();
    boards.iter().for_each(|board| all.add(&board.since(0)));
    all
}

fn outcome(
    plan: &Plan,
    mut recorder: Recorder,
    ended: Vec<Option<Ended>>,
    machine: Machine,
    seconds: f64,
    was_stopped: bool,
) -> Result<Outcome> {
    let mut threads = Vec::new();
    let mut unsent = 0;
    for ended in ended.into_iter().flatten() {
        recorder.add(&ended.left.recorder);
        threads.push(ended.thread);
        unsent += ended.left.unsent;
    }
    let ends = plan.ends_ns() as f64 / 1e9;
    let stopped = (was_stopped && seconds < ends).then_some(seconds);
    Ok(Outcome::new(plan, recorder, threads, machine, unsent, stopped))
}
