//! Adding the outcomes of shards. Histograms are added count by count, so the sum is what one run of all would have left.

use crate::error::{Error, Result};
use crate::outcome::Outcome;

/// Adds outcomes of one plan.
///
/// # Errors
/// When they are not of one plan, a part is in two of them, or there are more requests in them than can be counted.
pub fn merge(outcomes: Vec<Outcome>) -> Result<Outcome> {
    let mut outcomes = outcomes.into_iter();
    let Some(mut sum) = outcomes.next() else { return Err(Error::input("there is nothing to add")) };
    sum.check()?;
    for other in outcomes {
        other.check()?;
        check(&sum, &other)?;
        // Of two that were checked the sum fits.
        add(&mut sum, other);
        sum.check().map_err(|error| error.within("the sum"))?;
    }
    sum.shards.sort_unstable();
    sum.doubt();
    Ok(sum)
}

/// The parts of the plan that are missing.
pub fn missing(outcome: &Outcome) -> Vec<u64> {
    let of = outcome.shards.first().map_or(1, |shard| shard.of);
    (1..=of).filter(|number| !outcome.shards.iter().any(|shard| shard.number == *number)).collect()
}

fn check(sum: &Outcome, other: &Outcome) -> Result<()> {
    if sum.plan_digest != other.plan_digest {
        return Err(Error::input(format!(
            "`{}` and `{}` are of different plans: shards are of one scenario, with the same phases and seed",
            sum.scenario.name, other.scenario.name
        )));
    }
    for shard in &other.shards {
        if sum.shards.iter().any(|known| known.of != shard.of) {
            return Err(Error::input(format!(
                "one is a shard of {}, another of {}",
                sum.shards[0].of, shard.of
            )));
        }
        if sum.shards.contains(shard) {
            return Err(Error::input(format!("shard {}/{} is there twice", shard.number, shard.of)));
        }
    }
    Ok(())
}

fn add(sum: &mut Outcome, other: Outcome) {
    // Shards are parts of one plan, which knows all users; workers of a fleet know their own.
    if sum.shards.iter().all(|shard| shard.of == 0) {
        sum.users = sum.users.saturating_add(other.users);
        for (mine, others) in sum.phases.iter_mut().zip(&other.phases) {
            mine.users =
                (mine.users.0.saturating_add(others.users.0), mine.users.1.saturating_add(others.users.1));
        }
    }
    for row in other.rows {
        match sum.rows.iter_mut().find(|mine| (&mine.phase, &mine.request) == (&row.phase, &row.request)) {
            Some(mine) => mine.add(&row),
            None => sum.rows.push(row),
        }
    }
    sum.series.add(&other.series);
    sum.connections.made += other.connections.made;
    sum.connections.closed_idle += other.connections.closed_idle;
    sum.connections.resent += other.connections.resent;
    for watch in other.watches {
        match sum.watches.iter_mut().find(|mine| mine.watch == watch.watch) {
            Some(mine) => mine.add(&watch),
            None => sum.watches.push(watch),
        }
    }
    sum.due += other.due;
    sum.unsent += other.unsent;
    sum.shards.extend(other.shards);
    sum.threads.extend(other.threads);
    sum.machines.extend(other.machines);
    // What is counted is what all have done.
    sum.stopped = match (sum.stopped, other.stopped) {
        (Some(mine), Some(others)) => Some(mine.min(others)),
        (mine, others) => mine.or(others),
    };
    for (mine, others) in sum.phases.iter_mut().zip(other.phases) {
        mine.seconds = mine.seconds.max(others.seconds);
    }
    sum.ended_at = sum.ended_at.clone().max(other.ended_at);
}
