//! Lanes side by side, each on a handle of its own, and of a type of its own where its table has one: played on the clock,
//! or once to tell how.

use crate::lane::{self, Played, Timed};
use crate::{Driver, Failure, FailureKind, failure};
use std::fs;
use std::path::Path;
use touchstone_protocol::{Lane, Plan, Sample};

/// A handle, and the work of a lane that is to be played on it.
pub(crate) type Part<'d, D> = (&'d mut D, Box<dyn Timed<D> + 'd>);

/// Plays the parts, with a read transaction held around each lane that asks for one.
pub(crate) fn play<D: Driver>(
    parts: &mut [Part<'_, D>],
    lanes: &[Lane],
    latency: bool,
) -> Result<Played, Failure> {
    for ((handle, _), lane) in parts.iter_mut().zip(lanes) {
        if lane.held {
            handle.begin_read().map_err(Into::into)?;
        }
    }
    let played = lane::play(parts, latency);
    for ((handle, _), lane) in parts.iter_mut().zip(lanes) {
        if lane.held {
            handle.end_read().map_err(Into::into)?;
        }
    }
    Ok(played)
}

/// Plays the parts once and tells how.
pub(crate) fn explain<D: Driver>(mut parts: Vec<Part<'_, D>>, lanes: &[Lane]) -> Result<Plan, Failure> {
    for (handle, _) in &mut parts {
        handle.explain().map_err(Into::into)?;
    }
    let played = play(&mut parts, lanes, false);
    let mut whole = Plan::default();
    for (handle, _) in parts {
        let plan = handle.explained().map_err(Into::into)?;
        for line in plan.plan {
            if !whole.plan.contains(&line) {
                whole.plan.push(line);
            }
        }
        for (name, count) in plan.counters {
            *whole.counters.entry(name).or_insert(0) += count;
        }
    }
    played.map(|_| whole)
}

/// Writes the latencies and the series to their files, off the clock.
pub(crate) fn keep(played: Played, latency: Option<&Path>, series: Option<&Path>) -> Result<Sample, Failure> {
    if let Some(path) = latency {
        write(path, played.latency_ns.iter().flat_map(|latency| latency.to_le_bytes()).collect())?;
    }
    if let Some(path) = series {
        let mut bytes = Vec::new();
        played.series.into_iter().for_each(|series| series.encode(&mut bytes));
        write(path, bytes)?;
    }
    Ok(played.sample)
}

fn write(path: &Path, bytes: Vec<u8>) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| failure(FailureKind::Io, format!("{}: {error}", path.display())))
}
