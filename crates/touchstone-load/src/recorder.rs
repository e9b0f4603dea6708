//! What a thread counts while it runs: a row for each request and phase, and the series.

use crate::failure::Failure;
use crate::latency::Latencies;
use crate::series::Series;
use crate::watched::Watched;

/// What was counted of one request in one phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// From the intended start to the end of the answer, failed requests included.
    pub response: Latencies,
    /// From the sending to the end of the answer, of those that were sent.
    pub service: Latencies,
    /// How late the generator was itself: from when nothing kept a request any more to its sending.
    pub lag: Latencies,
    /// Answers by status.
    pub statuses: Vec<(u16, u64)>,
    /// Failures by kind.
    pub failures: [u64; Failure::ALL.len()],
    /// What was wrong with the first of each kind.
    pub first_wrong: [Option<String>; Failure::ALL.len()],
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes of answers.
    pub received_bytes: u64,
    /// In a closed loop: requests, each by the share of its time that lies within the phase, in millionths. A request at the edge of two
    /// phases is a part of both, though it ended once.
    pub within: u64,
}

/// What a request counts for a phase that all of its time lies within.
pub const WHOLE: u64 = 1_000_000;

impl Row {
    /// Requests that ended, however.
    pub fn ended(&self) -> u64 {
        self.response.count()
    }

    /// Requests that failed.
    pub fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }

    /// Counts an answer's status.
    pub fn count_status(&mut self, status: u16, times: u64) {
        match self.statuses.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += times,
            None => self.statuses.push((status, times)),
        }
    }

    /// Counts a failure. `detail` is asked for the first of its kind.
    pub fn count_failure(&mut self, failure: Failure, detail: impl FnOnce() -> String) {
        self.failures[failure.index()] += 1;
        self.first_wrong[failure.index()].get_or_insert_with(detail);
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Row) {
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.lag.add(&other.lag);
        other.statuses.iter().for_each(|(status, count)| self.count_status(*status, *count));
        self.statuses.sort_unstable();
        for at in 0..self.failures.len() {
            self.failures[at] += other.failures[at];
            if self.first_wrong[at].is_none() {
                self.first_wrong[at].clone_from(&other.first_wrong[at]);
            }
        }
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.within += other.within;
    }
}

/// What a connection pool did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// Connections that were made.
    pub made: u64,
    /// Connections that the service closed while they were idle.
    pub closed_idle: u64,
    /// Requests that were sent once more, because the service had closed their connection meanwhile.
    pub resent: u64,
}

/// Everything that a thread counts.
#[derive(Clone, Debug)]
pub struct Recorder {
    requests: usize,
    /// By phase and request; those that were never asked take no room.
    rows: Vec<Option<Box<Row>>>,
    /// When requests ended.
    pub series: Series,
    /// Connections.
    pub connections: Connections,
    /// Streams of events, by watch.
    pub watches: Vec<Watched>,
    /// Starts that were due.
    pub due: u64,
}

impl Recorder {
    /// For so many phases, the setup included, and requests.
    pub fn new(phases: usize, requests: usize) -> Recorder {
        Recorder {
            requests,
            rows: vec![None; phases * requests],
            series: Series::default(),
            connections: Connections::default(),
            watches: Vec::new(),
            due: 0,
        }
    }

    /// The row of a request in a phase.
    pub fn row(&mut self, phase: usize, request: usize) -> &mut Row {
        self.rows[phase * self.requests + request].get_or_insert_default()
    }

    /// The streams of a watch.
    pub fn watched(&mut self, watch: usize) -> &mut Watched {
        if watch >= self.watches.len() {
            self.watches.resize(watch + 1, Watched::default());
        }
        &mut self.watches[watch]
    }

    /// Takes the rows out. What is counted from now on begins at nothing; all else stays here.
    pub fn take_rows(&mut self) -> Recorder {
        let empty = vec![None; self.rows.len()];
        Recorder {
            requests: self.requests,
            rows: std::mem::replace(&mut self.rows, empty),
            series: Series::default(),
            connections: Connections::default(),
            watches: Vec::new(),
            due: 0,
        }
    }

    /// The rows that have anything, with their phase and request.
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize, &Row)> {
        let place = |at: usize| (at / self.requests, at % self.requests);
        self.rows.iter().enumerate().filter_map(move |(at, row)| {
            let (phase, request) = place(at);
            Some((phase, request, row.as_deref()?))
        })
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &Recorder) {
        for (phase, request, row) in other.rows() {
            self.row(phase, request).add(row);
        }
        self.series.add(&other.series);
        self.connections.made += other.connections.made;
        self.connections.closed_idle += other.connections.closed_idle;
        self.connections.resent += other.connections.resent;
        for (watch, watched) in other.watches.iter().enumerate() {
            self.watched(watch).add(watched);
        }
        self.due += other.due;
    }
}
