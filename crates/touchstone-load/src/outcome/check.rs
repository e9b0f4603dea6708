//! Whether an outcome that was read, or added up, can be reckoned with: its numbers are those that a run can leave, and their sums fit.

use super::{Outcome, RowOutcome, WatchOutcome};
use crate::recorder::WHOLE;
use crate::series::{BANDS, Interval};
use touchstone::sample::LOAD_COUNT_MAX;

/// So many shards make a plan at the most.
pub const SHARDS_MAX: u64 = 100_000;
/// No phase is as long, in seconds.
const SECONDS_MAX: f64 = 1e15;
/// A band of an interval counts up to here: the sum of two fits.
const BAND_MAX: u32 = u32::MAX / 2;

/// What of an outcome cannot be.
pub(super) fn wrong(outcome: &Outcome) -> Result<(), String> {
    let are_shards = !outcome.shards.is_empty()
        && outcome.shards.iter().all(|shard| {
            shard.of == outcome.shards[0].of
                && shard.of <= SHARDS_MAX
                && (shard.of == 0 || (1..=shard.of).contains(&shard.number))
        });
    if !are_shards {
        return Err("its shards are no parts of one plan".into());
    }
    for phase in &outcome.phases {
        let seconds = [phase.begins, phase.seconds];
        if !seconds.iter().all(|seconds| (0.0..=SECONDS_MAX).contains(seconds)) {
            return Err(format!("the phase `{}` has a time that is none", phase.name));
        }
    }
    for (at, interval) in outcome.series.0.iter().enumerate() {
        interval_is_one(interval).map_err(|why| format!("interval {at} of its series {why}"))?;
    }
    sums_fit(outcome)?;
    match outcome.watches.iter().find(|watch| watch.opened > watch.asked || watch.broke() > watch.opened) {
        Some(watch) => Err(format!(
            "more streams of `{}` were open than were asked for, or broke than were open",
            watch.watch
        )),
        None => Ok(()),
    }
}

fn interval_is_one(interval: &Interval) -> Result<(), String> {
    if interval.first_band > BANDS || interval.bands.len() > BANDS - interval.first_band {
        return Err(format!("has more than {BANDS} bands"));
    }
    let counts = [interval.ended, interval.failed, interval.sum_ns, interval.max_ns];
    if counts.iter().any(|count| *count > u64::MAX / 4)
        || interval.bands.iter().any(|count| *count > BAND_MAX)
    {
        return Err("counts more than can be".into());
    }
    Ok(())
}

/// All counts of one kind together are numbers that can still be added.
fn sums_fit(outcome: &Outcome) -> Result<(), String> {
    let rows = |of: fn(&RowOutcome) -> Option<u64>| {
        outcome.rows.iter().try_fold(0u64, |sum, row| sum.checked_add(of(row)?))
    };
    let watches = |of: fn(&WatchOutcome) -> Option<u64>| {
        outcome.watches.iter().try_fold(0u64, |sum, watch| sum.checked_add(of(watch)?))
    };
    let connections = outcome.connections;
    let sums = [
        ("requests", rows(|row| Some(row.response.count()))),
        ("sent requests", rows(|row| Some(row.service.count()))),
        ("lags", rows(|row| Some(row.lag.count()))),
        ("failures", rows(|row| summed(row.failures.values()))),
        ("statuses", rows(|row| summed(row.statuses.values()))),
        ("sent bytes", rows(|row| Some(row.sent_bytes))),
        ("received bytes", rows(|row| Some(row.received_bytes))),
        // A request is in as many rows as phases, each in part: all of them are no more than what has ended, and what was cut off.
        ("requests by phase", rows(|row| Some(row.within.unwrap_or_default() / WHOLE))),
        ("starts", outcome.due.checked_add(outcome.unsent)),
        ("streams", watches(|watch| summed(watch.broken.values().chain([&watch.asked, &watch.opened])))),
        ("events", watches(|watch| Some(watch.events))),
        ("bytes of events", watches(|watch| Some(watch.received_bytes))),
        ("connections", summed([&connections.made, &connections.closed_idle, &connections.resent])),
    ];
    match sums.into_iter().find(|(_, sum)| sum.is_none_or(|sum| sum > LOAD_COUNT_MAX)) {
        Some((what, _)) => Err(format!("it has more {what} than can be counted")),
        None => Ok(()),
    }
}

fn summed<'c>(counts: impl IntoIterator<Item = &'c u64>) -> Option<u64> {
    counts.into_iter().try_fold(0u64, |sum, count| sum.checked_add(*count))
}
