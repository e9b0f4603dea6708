//! The timing loop: plays lanes against handles, with everything gathered before the clock starts and everything
//! worked out after it has stopped.

use crate::clock::{EachTick, NoTicks, elapsed_ns, processor_ns};
use crate::mixed::Mix;
use crate::series::Series;
use crate::stretch::Part;
use crate::usage::Counts;
use crate::{Answers, Driver, Failure, Open, Store, Stored, Ticks};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;
use touchstone_protocol::{LaneSample, Sample, Usage};

/// A lane's operations, gathered in the order in which they will be played.
pub(crate) enum Work<'d, R: Stored> {
    /// Get the record of each key. The keys are copies, side by side, so that fetching the kit's own data does
    /// not cost the subject a cache miss an operation.
    Get(Vec<R::Key>),
    /// Read everything, so many times.
    ReadAll(u64),
    /// Insert each record in a commit of its own.
    InsertOne(Vec<&'d R>),
    /// Insert the records in one commit.
    InsertMany(Vec<&'d R>),
    /// Find the records above a bound, so many times.
    Find {
        /// The bound.
        above: i64,
        /// How often.
        times: u64,
    },
    /// Write each new state in a commit of its own.
    UpdateOne(Vec<&'d R>),
    /// Fetch everything and write the new states, in one transaction.
    UpdateMany(Vec<&'d R>),
    /// Fetch everything and delete it, in one transaction.
    DeleteMany,
    /// Get records and write new states, mixed.
    Mix(Mix<'d, R>),
}

impl<R: Stored> Work<'_, R> {
    /// How often the clock is read where latencies are kept: after each operation, or each transaction of many.
    fn ticks(&self) -> usize {
        match self {
            Work::Get(keys) => keys.len(),
            Work::ReadAll(times) | Work::Find { times, .. } => *times as usize,
            Work::InsertOne(records) | Work::UpdateOne(records) => records.len(),
            Work::InsertMany(_) | Work::UpdateMany(_) | Work::DeleteMany => 1,
            Work::Mix(mix) => mix.transactions(),
        }
    }

    fn answers(&self) -> Answers<R> {
        match self {
            Work::Get(keys) => Answers::with_capacity(keys.len(), 0),
            Work::ReadAll(times) | Work::Find { times, .. } => Answers::with_capacity(0, *times as usize),
            Work::UpdateMany(_) | Work::DeleteMany => Answers::with_capacity(0, 1),
            Work::InsertOne(_) | Work::InsertMany(_) | Work::UpdateOne(_) => Answers::with_capacity(0, 0),
            Work::Mix(mix) => Answers::with_capacity(mix.kept(), 0),
        }
    }

    /// The operations themselves: compiled once for each driver, record type and kind of clock.
    #[inline(never)]
    fn play<D: Store<R>, T: Ticks>(&self, driver: &mut D, answers: &mut Answers<R>, ticks: &mut T) {
        match self {
            Work::Get(keys) => driver.get_each(keys, answers, ticks),
            Work::ReadAll(times) => {
                for _ in 0..*times {
                    answers.read(driver.read_all());
                    ticks.tick();
                }
            }
            Work::InsertOne(records) => {
                for record in records {
                    answers.acknowledged(1, driver.insert_one(record));
                    ticks.tick();
                }
            }
            Work::InsertMany(records) => {
                answers.acknowledged(records.len(), driver.insert_many(records));
                ticks.tick();
            }
            Work::Find { above, times } => {
                for _ in 0..*times {
                    answers.read(driver.find(*above));
                    ticks.tick();
                }
            }
            Work::UpdateOne(states) => {
                for state in states {
                    answers.updated(driver.update_one(state));
                    ticks.tick();
                }
            }
            Work::UpdateMany(states) => {
                answers.read(driver.update_many(states));
                ticks.tick();
            }
            Work::DeleteMany => {
                answers.read(driver.delete_many());
                ticks.tick();
            }
            Work::Mix(mix) => mix.play(driver, answers, ticks),
        }
    }
}

/// The timed loop of gets, which [`Store::get_each`] is unless a canary brings its own.
#[inline(always)]
pub fn get_each<D: Store<R>, R: Stored, T: Ticks>(
    driver: &mut D,
    keys: &[R::Key],
    answers: &mut Answers<R>,
    ticks: &mut T,
) {
    for key in keys {
        answers.found(driver.get(key));
        ticks.tick();
    }
}

/// A played stretch: the sample, each operation's nanoseconds if they were asked for, and the series of each lane by the clock.
pub(crate) struct Played {
    pub(crate) sample: Sample,
    pub(crate) latency_ns: Vec<u64>,
    pub(crate) series: Vec<Series>,
}

/// What one lane's clock and driver yield, before anything is worked out.
pub(crate) struct Reading {
    start: Instant,
    end: Instant,
    processor_start_ns: u64,
    processor_end_ns: u64,
    answers: Box<dyn Answered>,
    latency_ns: Vec<u64>,
    series: Option<Series>,
}

/// A lane's answers, whatever record type they are of: lanes side by side may have tables of different types.
trait Answered: Send {
    /// As [`Answers::sample`].
    fn sample(&mut self, wall_ns: u64) -> LaneSample;
}

impl<R: Stored> Answered for Answers<R> {
    fn sample(&mut self, wall_ns: u64) -> LaneSample {
        Answers::sample(self, wall_ns)
    }
}

/// A lane's work, whatever record type it is about.
pub(crate) trait Timed<D>: Send {
    /// Times the lane, once all have met.
    fn time(&self, driver: &mut D, latency: bool, met: &Barrier) -> Reading;
}

impl<D: Store<R>, R: Stored> Timed<D> for Work<'_, R> {
    fn time(&self, driver: &mut D, latency: bool, met: &Barrier) -> Reading {
        time(driver, self, latency, met)
    }
}

/// Plays the lanes side by side, each on its own handle; a single one on the calling thread.
pub(crate) fn play<D: Driver>(lanes: &mut [Part<'_, D>], latency: bool) -> Played {
    let before = Counts::now();
    let met = &Barrier::new(lanes.len());
    let readings: Vec<Reading> = if lanes.len() == 1 {
        lanes.iter_mut().map(|(driver, work)| work.time(driver, latency, met)).collect()
    } else {
        thread::scope(|scope| {
            let threads: Vec<_> = lanes
                .iter_mut()
                .map(|(driver, work)| scope.spawn(move || work.time(driver, latency, met)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("a lane does not panic")).collect()
        })
    };
    let usage = Counts::now().since(&before);
    settle(readings, usage)
}

/// Times one lane, once all have met. Nothing but the operations stands between the two readings of the clock.
fn time<D: Store<R>, R: Stored>(driver: &mut D, work: &Work<'_, R>, latency: bool, met: &Barrier) -> Reading {
    let mut answers = work.answers();
    let mut each_tick = EachTick::with_capacity(if latency { work.ticks() } else { 0 });
    let mut series = None;
    met.wait();
    let processor_start_ns = processor_ns();
    let start = Instant::now();
    if let Work::Mix(mix) = work
        && let Some(duration) = mix.duration
    {
        series = Some(mix.play_by_the_clock(driver, &mut answers, start, duration));
    } else if latency {
        each_tick.start_at(start);
        work.play(driver, &mut answers, &mut each_tick);
    } else {
        work.play(driver, &mut answers, &mut NoTicks);
    }
    let end = Instant::now();
    let processor_end_ns = processor_ns();
    let (latency_ns, answers) = (each_tick.into_latency_ns(), Box::new(answers));
    Reading { start, end, processor_start_ns, processor_end_ns, answers, latency_ns, series }
}

/// Works the lanes' readings out into one sample, from the first lane's start to the last one's end.
fn settle(mut readings: Vec<Reading>, usage: Usage) -> Played {
    let start = readings.iter().map(|reading| reading.start).min().expect("there is a lane");
    let end = readings.iter().map(|reading| reading.end).max().expect("there is a lane");
    let processor_start_ns = readings.iter().map(|reading| reading.processor_start_ns).min().unwrap_or(0);
    let processor_end_ns = readings.iter().map(|reading| reading.processor_end_ns).max().unwrap_or(0);
    let lanes =
        readings.iter_mut().map(|reading| reading.answers.sample(elapsed_ns(start, reading.end))).collect();
    let sample = Sample {
        wall_ns: elapsed_ns(start, end),
        cpu_ns: processor_end_ns - processor_start_ns,
        lanes,
        usage,
    };
    let series = readings.iter_mut().filter_map(|reading| reading.series.take()).collect();
    let latency_ns = readings.into_iter().flat_map(|reading| reading.latency_ns).collect();
    Played { sample, latency_ns, series }
}

/// Plays an `open` lane: opens, configures and answers a first query, `times` over. Each handle is the only one,
/// and is closed again before the next; closing is off the clock.
pub(crate) fn play_open<D: Store<R>, R: Stored>(open: &Open, times: u64) -> Result<Played, Failure> {
    let before = Counts::now();
    let mut answers = Answers::<R>::with_capacity(times as usize, 0);
    let (mut cpu_ns, mut latency_ns) = (0, Vec::with_capacity(times as usize));
    for _ in 0..times {
        let processor_start_ns = processor_ns();
        let start = Instant::now();
        let opened = D::open(open).and_then(|mut driver| {
            let first = driver.first()?;
            Ok((driver, first.map(Stored::into_record)))
        });
        latency_ns.push(elapsed_ns(start, Instant::now()));
        cpu_ns += processor_ns() - processor_start_ns;
        match opened {
            Ok((driver, first)) => {
                answers.keep(first);
                driver.close().map_err(Into::into)?;
            }
            Err(error) => answers.failed(error.into()),
        }
    }
    let usage = Counts::now().since(&before);
    let wall_ns = latency_ns.iter().sum();
    let sample = Sample { wall_ns, cpu_ns, lanes: vec![answers.sample(wall_ns)], usage };
    Ok(Played { sample, latency_ns, series: Vec::new() })
}
