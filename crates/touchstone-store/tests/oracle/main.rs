//! Live queries against an oracle: random types, questions, transactions and writers, and after each commit the answer to
//! every question is worked out anew from the rows, without the store's help. Each subscription must have been told of
//! every change of its answer, once, and of nothing else. `TOUCHSTONE_CASES` is how many cases there are,
//! `TOUCHSTONE_SEED` which comes first.
//!
//! Whether it finds mistakes is tested as well: `make mutations` makes those that `mutations.toml` lists.

mod ask;
mod change;
mod comers;
mod kit;
mod record;
mod station;
mod value;
mod world;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;
use world::World;

const CASES: u64 = 40;
const ROUNDS: u64 = 100;

/// What is being tested, for whoever has to do it again.
#[derive(Clone, Copy)]
pub struct About {
    seed: u64,
    round: u64,
}

impl fmt::Display for About {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "round {} of TOUCHSTONE_SEED={} TOUCHSTONE_CASES=1 cargo test --package touchstone-store --test oracle",
            self.round, self.seed
        )
    }
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Subscriptions, each once for every commit after which it had to be right.
    checks: u64,
    /// Updates that were received.
    deliveries: u64,
    /// Of these, those that say that everything was read anew.
    resyncs: u64,
    /// Of these, those of several commits that come to nothing.
    hollow: u64,
    /// Questions that were asked of the store and of SQLite too.
    asked: u64,
}

#[test]
fn every_change_of_an_answer_is_told_once_and_nothing_else() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let (cases, first) =
        (number("TOUCHSTONE_CASES").unwrap_or(CASES), number("TOUCHSTONE_SEED").unwrap_or(1));
    let (began, mut all) = (Instant::now(), Tally::default());
    for seed in first..first + cases {
        let tally = case(seed);
        all.checks += tally.checks;
        all.deliveries += tally.deliveries;
        all.resyncs += tally.resyncs;
        all.hollow += tally.hollow;
        all.asked += tally.asked;
    }
    let Tally { checks, deliveries, resyncs, hollow, asked } = all;
    println!(
        "{cases} cases from seed {first}: {checks} checks, {deliveries} deliveries ({resyncs} read anew, {hollow} of nothing), {asked} asked of SQLite, in {:.1} s",
        began.elapsed().as_secs_f64()
    );
    assert!(checks > cases * 100, "something was looked at");
}

fn case(seed: u64) -> Tally {
    let mut world = World::new(seed);
    let worked = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..ROUNDS {
            world.round();
        }
        world.read_all();
    }));
    if let Err(panic) = worked {
        eprintln!("{}, where this was done: {:?}", world.about, world.done);
        resume_unwind(panic);
    }
    world.tally
}
