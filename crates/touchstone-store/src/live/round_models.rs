//! Model-checks (shuttle) the interleavings of writers, the live thread and threads that do rounds in its place. Each
//! commit is taken once, in order, by one thread at a time, and no thread sleeps while there is work. To run this:
//! `make hand-offs`.

use super::commit::Commit;
use super::link::{Shared, Work};
use crate::engine::fork::Origin;
use crate::types::sync::{Arc, Condvar, Unranked as Mutex, lock, try_lock, wait};
use shuttle::thread::{self, JoinHandle, spawn};

/// The interleavings that each search tries.
const ORDERS: usize = 2000;
const PREEMPTIONS: usize = 3;
/// The commits of each writer.
const COMMITS: u64 = 2;

/// The versions that rounds have taken.
#[derive(Default)]
struct Told {
    versions: Mutex<Vec<u64>>,
    woken: Condvar,
    /// Held by the thread that does a round.
    round: Mutex<()>,
}

impl Told {
    /// Does a round.
    fn round(&self, shared: &Shared, work: Work) {
        let alone = try_lock(&self.round).expect("one thread at a time does a round");
        for commit in work.commits {
            thread::yield_now();
            lock(&self.versions).push(commit.version);
        }
        drop(alone);
        self.woken.notify_all();
        shared.leave();
    }

    fn wait_for(&self, commits: usize) {
        let mut versions = lock(&self.versions);
        while versions.len() < commits {
            versions = wait(&self.woken, versions);
        }
    }
}

fn live_thread(shared: &Arc<Shared>, told: &Arc<Told>) -> JoinHandle<()> {
    let (shared, told) = (Arc::clone(shared), Arc::clone(told));
    spawn(move || {
        while let Some(work) = shared.wait() {
            told.round(&shared, work);
        }
        shared.end();
    })
}

fn writer(shared: &Arc<Shared>) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    spawn(move || {
        for _ in 0..COMMITS {
            shared.put(Commit::default());
            shared.wake();
        }
    })
}

/// Does a round in the live thread's place, if it can.
fn helper(shared: &Arc<Shared>, told: &Arc<Told>) -> JoinHandle<()> {
    let (shared, told) = (Arc::clone(shared), Arc::clone(told));
    spawn(move || {
        if let Some(work) = shared.take_in_place().expect("the store is open") {
            told.round(&shared, work);
        }
    })
}

fn meet() {
    let shared = Arc::new(Shared::new(Origin::here(), &Arc::default(), true));
    let told = Arc::new(Told::default());
    let live = live_thread(&shared, &told);
    let others = [writer(&shared), writer(&shared), helper(&shared, &told), helper(&shared, &told)];
    // Without a wake-up for each commit this would wait forever.
    let commits = 2 * COMMITS;
    told.wait_for(commits as usize);
    others.into_iter().for_each(|other| other.join().expect("it does not panic"));
    assert_eq!(*lock(&told.versions), (1..=commits).collect::<Vec<_>>());
    shared.stop();
    live.join().expect("it does not panic");
    assert!(shared.take_in_place().is_err(), "nothing is done after the end");
}

#[test]
fn rounds_are_done_by_one_thread_at_a_time_and_none_is_slept_through() {
    shuttle::check_random(meet, ORDERS);
    shuttle::check_pct(meet, ORDERS, PREEMPTIONS);
    shuttle::check_dfs(meet, Some(ORDERS));
}
