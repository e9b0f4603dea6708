//! Everything at once on one file: writers and readers, watchers, snapshots that are held, statements that are interrupted,
//! backups and checks, stores that open and close, and another process that writes as a store and as plain SQLite. Nothing
//! is lost, a snapshot is one moment, and what is watched is in the end what is there.
//!
//! A round is so many transactions in one file, as its seed says. Usually there is one of each kind;
//! `TOUCHSTONE_SECONDS` is for how long they go on, `TOUCHSTONE_SEED` which is the first. `make sanitize` plays them with
//! the library and its engine instrumented, after the mistakes of `canary.rs`.

#[path = "../accounts/mod.rs"]
mod accounts;
mod bank;
#[cfg(touchstone_canary)]
mod canary;
mod disturbing;
mod other;
#[path = "../process/mod.rs"]
mod process;
mod reading;
mod watching;
#[path = "../workload/mod.rs"]
mod workload;
mod writing;

use bank::{Bank, KINDS};
use std::thread;
use std::time::{Duration, Instant};
use touchstone_store::{Mode, Overflow};

#[test]
fn everything_at_once() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let first = number("TOUCHSTONE_SEED").unwrap_or(0) * 1_000_000;
    let end = number("TOUCHSTONE_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (mut rounds, mut commits) = (0, 0);
    while rounds == 0 || end.map_or(rounds < KINDS, |end| Instant::now() < end) {
        let _told = Told(first + rounds);
        commits += round(first + rounds);
        rounds += 1;
    }
    println!("{rounds} rounds, {commits} commits");
}

/// Tells the seed of a round that fails.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("it was the round of seed {}", self.0);
        }
    }
}

/// Plays a round; how many transactions moved money.
fn round(seed: u64) -> i64 {
    let bank = &Bank::open(seed);
    let other = other::start(bank);
    let mut commits = thread::scope(|scope| {
        let goes_on = bank.goes_on();
        scope.spawn(|| watching::watch(bank, &bank.store, Mode::Latest));
        let every = Mode::Every { batches: 16, overflow: Overflow::Resync };
        scope.spawn(move || watching::watch(bank, &bank.second, every));
        scope.spawn(|| watching::come_and_go(bank));
        for read in [reading::at_once, reading::row_by_row, reading::hold, reading::interrupt] {
            scope.spawn(move || read(bank));
        }
        for disturb in [disturbing::back_up, disturbing::check, disturbing::open_and_close] {
            scope.spawn(move || disturb(bank));
        }
        let writers = [&bank.store, &bank.store, &bank.second];
        let writers = writers
            .into_iter()
            .zip(0..)
            .map(|(store, writer)| scope.spawn(move || (writer, writing::write(bank, store, writer))));
        let writers: Vec<_> = writers.collect();
        let mut commits: Vec<(i64, i64)> =
            writers.into_iter().map(|writer| writer.join().expect("no writer fails")).collect();
        commits.extend(other::end(other));
        drop(goes_on);
        commits
    });
    commits.sort_unstable();
    bank.end(&commits);
    commits.iter().map(|(_, commits)| commits).sum()
}
