//! A run: lanes that are set up, begin at the same moment, and are added up when they have ended.

use crate::async_lane::AsyncLane;
use crate::clock::Clock;
use crate::engine::{Engine, Left, Plays};
use crate::error::{Error, Result};
use crate::lane::Lane;
use crate::live::Board;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::probe::is_there;
use crate::recorder::Recorder;
use crate::series::Series;
use crate::trust::{Counters, Machine, Thread};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

/// Between the end of the setup and the first start.
const AHEAD: Duration = Duration::from_millis(20);
/// How often what goes on is shown.
const SHOW_EVERY: Duration = Duration::from_millis(250);

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

/// Runs a plan. `stop` ends it early; what was counted until then is kept.
///
/// # Errors
/// When the service is not there, a user's setup fails, or the system refuses.
pub fn run(plan: &Plan, stop: &AtomicBool, mut show: impl FnMut(&Progress<'_>)) -> Result<Outcome> {
    is_there(plan)?;
    let threads = usize::from(plan.scenario.load.threads);
    let boards: Vec<Board> = (0..threads).map(|_| Board::default()).collect();
    let begin =
        Begin { ready: Barrier::new(threads + 1), clock: OnceLock::new(), go: Barrier::new(threads + 1) };
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    let (ended, machine, seconds) = thread::scope(|scope| {
        let lanes: Vec<_> = boards
            .iter()
            .enumerate()
            .map(|(number, board)| {
                let (begin, failed) = (&begin, &failed);
                scope.spawn(move || lane(plan, number, threads, stop, board, begin, failed))
            })
            .collect();
        show(&Progress { plan, seconds: None, series: &Series::default() });
        begin.ready.wait();
        let clock = *begin.clock.get_or_init(|| Clock::begins_in(AHEAD));
        let before = Counters::now();
        begin.go.wait();
        while !lanes.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(SHOW_EVERY);
            let series = added(&boards);
            show(&Progress { plan, seconds: Some(clock.now_ns() as f64 / 1e9), series: &series });
        }
        let seconds = clock.now_ns() as f64 / 1e9;
        let ended: Vec<Option<Ended>> =
            lanes.into_iter().map(|lane| lane.join().expect("a lane does not panic")).collect();
        let own_busy = ended.iter().flatten().map(|ended| ended.thread.busy_share).sum();
        (ended, Counters::now().since(&before, seconds, own_busy), seconds)
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        return Err(error);
    }
    outcome(plan, ended, machine, seconds, stop.load(Ordering::Relaxed))
}

/// How lanes begin together.
struct Begin {
    ready: Barrier,
    clock: OnceLock<Clock>,
    go: Barrier,
}

fn lane(
    plan: &Plan,
    number: usize,
    threads: usize,
    stop: &AtomicBool,
    board: &Board,
    begin: &Begin,
    failed: &Mutex<Option<Error>>,
) -> Option<Ended> {
    let fail = |error: Error| {
        stop.store(true, Ordering::Relaxed);
        failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
    };
    let processor = pin(plan, number);
    // Shards and threads share users and connections out in the same way: the first ones have one more.
    let share = plan.share.part(number as u64, threads as u64);
    let connections = u64::from(plan.connections);
    let mine = connections / share.of + u64::from(share.number < connections % share.of);
    match plan.engine {
        Engine::Own => play(Lane::new(plan, share, mine as usize, stop, board), begin, fail, processor),
        Engine::Hyper { .. } => {
            play(AsyncLane::new(plan, share, mine as usize, stop, board), begin, fail, processor)
        }
    }
}

fn play(
    lane: Result<impl Plays>,
    begin: &Begin,
    fail: impl Fn(Error),
    processor: Option<usize>,
) -> Option<Ended> {
    let lane = lane.and_then(|mut lane| {
        lane.set_up()?;
        Ok(lane)
    });
    begin.ready.wait();
    begin.go.wait();
    let clock = *begin.clock.get()?;
    thread::sleep(clock.until_begin());
    let before = processor_ns();
    match lane.and_then(|lane| lane.run(clock)) {
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

/// Nanoseconds in which this thread had a processor.
fn processor_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
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
    ended: Vec<Option<Ended>>,
    machine: Machine,
    seconds: f64,
    was_stopped: bool,
) -> Result<Outcome> {
    let mut recorder = Recorder::new(plan.phases.len() + 1, plan.requests.len());
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
