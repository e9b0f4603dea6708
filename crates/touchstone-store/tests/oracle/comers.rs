//! Those who subscribe while others commit, on threads of their own: they begin before a commit or after it, and miss
//! nothing of what comes then.

use super::ask::Target;
use super::kit::{Kit, Watch};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use touchstone_store::Feed;

/// What somebody asks for: of which type, and what.
pub type Wanted = (usize, Target);

/// What somebody has subscribed to.
pub type Begun = (Wanted, Box<dyn Watch>);

/// Several who subscribe one after the other, all of them at one time.
pub struct Starting(Vec<JoinHandle<Vec<Begun>>>);

impl Starting {
    /// Lets each of them subscribe from now on.
    pub fn come(kits: &Arc<Vec<Box<dyn Kit>>>, feed: &Arc<Feed>, wanted: Vec<Vec<Wanted>>) -> Starting {
        let barrier = Arc::new(Barrier::new(wanted.len() + 1));
        let all = wanted.into_iter().map(|wanted| {
            let (kits, feed, barrier) = (Arc::clone(kits), Arc::clone(feed), Arc::clone(&barrier));
            std::thread::spawn(move || {
                barrier.wait();
                let watched = wanted.into_iter().map(|(at, target)| {
                    let watch = kits[at].watch(&feed, &target);
                    ((at, target), watch.expect("it can be subscribed to"))
                });
                watched.collect()
            })
        });
        let all = all.collect();
        barrier.wait();
        Starting(all)
    }

    /// What they have subscribed to, when all of them have.
    pub fn subscribed(self) -> Vec<Begun> {
        self.0.into_iter().flat_map(|comer| comer.join().expect("nobody panics")).collect()
    }
}
