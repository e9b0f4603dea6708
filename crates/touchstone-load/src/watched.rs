//! What became of the streams of events that users hold open.

use crate::failure::Failure;

/// The streams of one watch, as far as openings do not say it, which are a row of the setup.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// Streams that were asked for.
    pub asked: u64,
    /// Of these, opened. The others were refused.
    pub opened: u64,
    /// Of these, ended by something else than the end of the run, by how.
    pub broken: [u64; Failure::ALL.len()],
    /// What was wrong with the first of each kind.
    pub first_broken: [Option<String>; Failure::ALL.len()],
    /// Events since the first phase began.
    pub events: u64,
    /// Bytes of the streams since then.
    pub received_bytes: u64,
}

impl Watched {
    /// Counts a stream that has ended.
    pub fn count_broken(&mut self, failure: Failure, detail: &str) {
        self.broken[failure.index()] += 1;
        self.first_broken[failure.index()].get_or_insert_with(|| detail.to_owned());
    }

    /// Adds another lane's.
    pub fn add(&mut self, other: &Watched) {
        self.asked += other.asked;
        self.opened += other.opened;
        for at in 0..self.broken.len() {
            self.broken[at] += other.broken[at];
            if self.first_broken[at].is_none() {
                self.first_broken[at].clone_from(&other.first_broken[at]);
            }
        }
        self.events += other.events;
        self.received_bytes += other.received_bytes;
    }
}
