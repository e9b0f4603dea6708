//! Two processes on one file. The other process is this test program, with a role from an environment variable.

use super::*;
use crate::engine::connection::Connection;
use crate::engine::pin::Pin;
use crate::types::options::Options;
use process::{Other, again, say};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

#[path = "../../../tests/process/mod.rs"]
mod process;

const ROLE: &str = "TOUCHSTONE_TEST_BELL_ROLE";
const FILE: &str = "TOUCHSTONE_TEST_BELL_FILE";
/// Longer than any test waits for an expected event.
const LONG: Duration = Duration::from_secs(60);
/// A watcher with these pauses never polls: only a ring wakes it.
const NEVER: (Duration, Duration) = (LONG, LONG);
/// If the system has no sleep that processes share, every watcher must poll.
const ONLY_RUNG: (Duration, Duration) = if cfg!(target_os = "linux") { NEVER } else { LOOKS };

/// A connection and the index of its log.
struct Opened {
    connection: Connection,
    index: LogIndex,
    /// Keeps the index mapped.
    _beside: Connection,
}

fn open(path: &Path) -> Opened {
    let connection = Connection::open(path, &Options::new()).expect("it opens");
    connection
        .sql()
        .execute_batch("pragma journal_mode = wal; create table if not exists t (a)")
        .expect("it runs");
    let mut beside = Connection::open(path, &Options::new()).expect("it opens");
    beside.header().expect("it is read");
    let index = Pin::new(&mut beside, &Options::new()).expect("it is there").index().expect("there is a log");
    Opened { connection, index, _beside: beside }
}

impl Opened {
    fn commit(&self) {
        self.connection.sql().execute_batch("insert into t values (1)").expect("it is written");
    }

    fn state(&self) -> LogState {
        self.index.state().expect("nobody is writing")
    }
}

struct Place {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

fn place() -> (Place, Opened) {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("a.db");
    let opened = open(&path);
    (Place { path, _directory: directory }, opened)
}

/// Starts the other process. It acts by its role once for each line of input, and ends with its input.
fn start(role: &str, path: &Path) -> Other {
    let test = "engine::commit_watch::tests::the_other_process";
    let mut other = Other::start(again(test).env(ROLE, role).env(FILE, path));
    other.hear("ready");
    other
}

/// Does nothing in the test's own process.
#[test]
fn the_other_process() {
    let (Ok(role), Some(path)) = (std::env::var(ROLE), std::env::var_os(FILE)) else { return };
    let opened = open(Path::new(&path));
    let watch = CommitWatch::looking(opened.index.clone(), ONLY_RUNG);
    say("ready");
    for line in std::io::stdin().lock().lines() {
        line.expect("it is told");
        match &*role {
            "plain" => opened.commit(),
            "store" => {
                opened.commit();
                watch.ring();
            }
            "watch" => {
                let seen = opened.state();
                watch.sign_in();
                say("watching");
                assert_eq!(watch.wait(seen, LONG, || false), Heard::Change);
            }
            other => panic!("there is no role `{other}`"),
        }
        say("done");
    }
}

#[test]
fn a_store_that_commits_wakes_who_waits_in_another_process() {
    let (place, opened) = place();
    let watch = CommitWatch::looking(opened.index.clone(), ONLY_RUNG);
    let mut other = start("store", &place.path);
    for _ in 0..20 {
        let seen = opened.state();
        watch.sign_in();
        other.tell("go");
        assert_eq!(watch.wait(seen, LONG, || false), Heard::Change);
        other.hear("done");
        assert_ne!(opened.state(), seen);
    }
}

#[test]
fn a_store_wakes_watchers_of_several_processes() {
    let (place, opened) = place();
    let watch = CommitWatch::looking(opened.index.clone(), ONLY_RUNG);
    let mut others: Vec<Other> = (0..3).map(|_| start("watch", &place.path)).collect();
    for _ in 0..10 {
        for other in &mut others {
            other.tell("go");
            other.hear("watching");
        }
        opened.commit();
        watch.ring();
        for other in &mut others {
            other.hear("done");
        }
    }
    assert_eq!(opened.index.watches().load(Ordering::Relaxed).count_ones(), 3);
}

#[test]
fn a_commit_that_nobody_rings_for_is_seen() {
    let (place, opened) = place();
    let watch = CommitWatch::new(opened.index.clone());
    let mut other = start("plain", &place.path);
    for _ in 0..5 {
        let seen = opened.state();
        other.tell("go");
        assert_eq!(watch.wait(seen, LONG, || false), Heard::Change);
        other.hear("done");
    }
}

#[test]
fn a_process_that_died_watching_is_called_in_vain_only_some_times() {
    let (place, opened) = place();
    let watch = CommitWatch::new(opened.index.clone());
    let mut other = start("watch", &place.path);
    other.tell("go");
    other.hear("watching");
    let watches = || opened.index.watches().load(Ordering::Relaxed);
    assert_eq!(watches(), 1);
    drop(other);
    for _ in 0..=VAIN_MAX {
        assert_eq!(watches(), 1);
        watch.ring();
    }
    assert_eq!(watches(), 0);
}

/// A log's index that lies in the test's own memory.
fn index() -> (&'static [AtomicU64; 17], LogIndex) {
    let memory: &'static [AtomicU64; 17] = Box::leak(Box::default());
    // Both copies of the header.
    for at in [0, 6] {
        memory[at].store(3_007_000, Ordering::Relaxed);
    }
    (memory, LogIndex::over(memory))
}

#[test]
fn a_store_does_not_call_itself() {
    let (_, index) = index();
    let (watch, other) = (CommitWatch::new(index.clone()), CommitWatch::new(index.clone()));
    watch.sign_in();
    for _ in 0..100 {
        watch.ring();
    }
    assert_eq!(watch.vain.load(Ordering::Relaxed), 0);
    other.ring();
    assert_eq!(other.vain.load(Ordering::Relaxed), 1, "the watcher is about something else");
    watch.leave();
    other.ring();
    assert_eq!(other.vain.load(Ordering::Relaxed), 1);
}

#[test]
fn a_watcher_whose_bit_was_taken_back_says_it_again_and_a_seventeenth_shares() {
    let (_, index) = index();
    let watches: Vec<CommitWatch> = (0..17).map(|_| CommitWatch::new(index.clone())).collect();
    let bits: Vec<u16> = watches.iter().map(CommitWatch::sign_in).collect();
    assert_eq!(bits[..16].iter().fold(0, |all, bit| all | bit), u16::MAX);
    assert_eq!(bits[16].count_ones(), 1);
    index.watches().store(0, Ordering::Relaxed);
    assert_eq!(watches[3].sign_in(), bits[3]);
    assert_eq!(index.watches().load(Ordering::Relaxed), bits[3]);
}

#[test]
fn a_wait_ends_with_its_time_with_its_owner_and_beside_a_writer_who_died() {
    let (memory, index) = index();
    let watch = CommitWatch::new(index.clone());
    let seen = index.state().expect("it is whole");
    assert_eq!(watch.wait(seen, Duration::ZERO, || false), Heard::Nothing);
    assert_eq!(watch.wait(seen, Duration::from_millis(3), || false), Heard::Nothing);
    let asked = AtomicU32::new(0);
    let is_over = || asked.fetch_add(1, Ordering::Relaxed) > 3;
    assert_eq!(watch.wait(seen, LONG, is_over), Heard::Nothing);
    // The second copy is written, and the first is not.
    memory[7].store(1, Ordering::Relaxed);
    assert_eq!(index.state(), None);
    assert_eq!(watch.wait(seen, LONG, || false), Heard::Change);
}

/// A watcher must give up in the end, or no thread reads, and so repairs, an index that a dead writer has left.
#[test]
fn a_header_that_stays_half_written_is_looked_at_so_many_times_and_no_more() {
    let (memory, index) = index();
    let watch = CommitWatch::new(index.clone());
    let looks = AtomicU32::new(0);
    let count = || {
        looks.fetch_add(1, Ordering::Relaxed);
        false
    };
    assert_eq!(watch.settled(count), index.state());
    assert_eq!(looks.load(Ordering::Relaxed), 0, "it is whole at once");
    memory[7].store(1, Ordering::Relaxed);
    assert_eq!(watch.settled(count), None);
    assert_eq!(looks.load(Ordering::Relaxed), HALF_WRITTEN_MAX.1 + 1);
    let mends = || {
        memory[7].store(0, Ordering::Relaxed);
        false
    };
    assert!(watch.settled(mends).is_some(), "its writer has gone on");
    memory[7].store(1, Ordering::Relaxed);
    looks.store(0, Ordering::Relaxed);
    let is_closing = || looks.fetch_add(1, Ordering::Relaxed) == 2;
    assert_eq!(watch.settled(is_closing), None);
    assert_eq!(looks.load(Ordering::Relaxed), 3);
}

#[test]
fn no_change_is_missed_between_looking_and_sleeping() {
    let (memory, index) = index();
    let (watcher, writer) = (CommitWatch::looking(index.clone(), ONLY_RUNG), CommitWatch::new(index.clone()));
    let rounds: u64 = 2_000;
    let heard = AtomicU64::new(0);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut seen = index.state().expect("it is whole");
        let (heard, is_done, watcher) = (&heard, &is_done, &watcher);
        let thread = scope.spawn(move || {
            while !is_done.load(Ordering::Acquire) {
                if watcher.wait(seen, LONG, || is_done.load(Ordering::Acquire)) == Heard::Nothing {
                    assert!(is_done.load(Ordering::Acquire), "it slept through a commit");
                    return;
                }
                if let Some(state) = index.state() {
                    seen = state;
                    heard.store(u64::from(state.change()), Ordering::Release);
                }
            }
        });
        for round in 1..=rounds {
            // As SQLite does: the second copy first.
            let word = u64::from_ne_bytes(words(u32::try_from(round).expect("it is small"), 0));
            for at in [7, 1] {
                memory[at].store(word, Ordering::SeqCst);
            }
            writer.ring();
            // No watcher is to be taken for dead.
            writer.vain.store(0, Ordering::Relaxed);
            while round % 4 == 0 && heard.load(Ordering::Acquire) < round && !thread.is_finished() {
                std::thread::yield_now();
            }
        }
        is_done.store(true, Ordering::Release);
        for at in [7, 1] {
            memory[at].store(u64::MAX, Ordering::SeqCst);
        }
        writer.ring();
    });
}

fn words(first: u32, second: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    bytes
}
