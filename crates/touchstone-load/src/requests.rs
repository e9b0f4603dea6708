//! A line for every request that ended, for those who reckon with single requests: what a run writes besides its outcome, where it is
//! asked to. It counts nothing; every request of which there is a line stands in the outcome too.
//!
//! Lanes gather what has ended and hand it over a piece at a time; one thread brings the pieces into order and writes them while the run
//! goes on. So memory stays flat however many requests there are, and what is written is in the file whatever comes later.

mod file;
mod line;

pub use file::RequestsFile;

use crate::failure::Failure;
use std::sync::mpsc::SyncSender;

/// The columns of the file, with what they hold.
pub const COLUMNS: [(&str, &str); 9] = [
    (
        "began_ns",
        "when it was intended to begin, in nanoseconds after the beginning of the first phase; negative in the setup",
    ),
    ("user", "the number of the user, as `${user}`"),
    (
        "iteration",
        "the number of the user's iteration, as `${iteration}`; where there is a setup, that is iteration 0",
    ),
    ("phase", "the phase by its name; `setup` for what a user did before the first"),
    ("request", "the request by its name"),
    ("status", "the answer's status; empty, where there was no answer"),
    ("failure", "the failure by its kind, as in the outcome; empty, where it did not fail"),
    ("response_ns", "from the intended beginning to the end of the answer, or to the failure"),
    (
        "service_ns",
        "from the sending, or the beginning of its connection; empty for what had no answer at the end of the run",
    ),
];

/// So many requests are handed over at once, as soon as there are as many.
const PIECE: usize = 4_096;
/// What has ended is handed over after this long, however little it is.
const HAND_OVER_EVERY_NS: u64 = 100_000_000;

/// A request that has ended, however it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When that was noticed, in nanoseconds after the beginning of the phases. Lines are in this order.
    pub seen_ns: i64,
    /// When it was intended to begin.
    pub began_ns: i64,
    /// Whose it was.
    pub user: u64,
    /// In which iteration of the user.
    pub iteration: u64,
    /// In which phase, by its number; the setup is behind the last.
    pub phase: usize,
    /// Which request of the plan, by its number.
    pub request: usize,
    /// The status of its answer.
    pub status: Option<u16>,
    /// How it failed.
    pub failure: Option<Failure>,
    /// From the intended beginning to the end.
    pub response_ns: u64,
    /// From the sending to the end.
    pub service_ns: Option<u64>,
}

/// What a lane hands over.
struct Piece {
    lane: usize,
    ended: Vec<Ended>,
    /// All that the lane hands over later is later than this.
    until_ns: i64,
}

/// Where a lane hands over what has ended.
#[derive(Clone, Debug)]
pub struct Outlet {
    lane: usize,
    sender: SyncSender<Piece>,
}

/// What has ended in a lane and is not handed over yet.
pub struct Gathered {
    outlet: Outlet,
    ended: Vec<Ended>,
    handed_ns: u64,
}

impl Gathered {
    /// Nothing.
    pub fn new(outlet: Outlet) -> Gathered {
        Gathered { outlet, ended: Vec::with_capacity(PIECE), handed_ns: 0 }
    }

    /// One more.
    pub fn add(&mut self, ended: Ended) {
        self.ended.push(ended);
    }

    /// The phases begin: what has ended before counts from there too. Their clock begins so much later than the setup's.
    pub fn begin_phases(&mut self, later_ns: i64) {
        for ended in &mut self.ended {
            ended.seen_ns -= later_ns;
            ended.began_ns -= later_ns;
        }
    }

    /// Hands over what there is, if it is time to. The end is at `u64::MAX`.
    ///
    /// Where the file takes no more for so long that what was handed over has no room, this waits: the lane is late then, and its send
    /// lag says so.
    pub fn tell(&mut self, now_ns: u64) {
        let is_time = now_ns - self.handed_ns >= HAND_OVER_EVERY_NS;
        if !is_time && self.ended.len() < PIECE {
            return;
        }
        self.handed_ns = now_ns;
        let ended = std::mem::replace(&mut self.ended, Vec::with_capacity(PIECE));
        let until_ns = i64::try_from(now_ns).unwrap_or(i64::MAX);
        // Who writes takes all there is, even where it could not write it.
        let _ = self.outlet.sender.send(Piece { lane: self.outlet.lane, ended, until_ns });
    }
}
