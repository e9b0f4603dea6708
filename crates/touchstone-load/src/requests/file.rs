//! The file of requests: it is made before the run, and written by one thread while the run goes on. What goes wrong with it ends no run:
//! it is told when all else was.

use super::line::{self, Names};
use super::{Ended, Outlet, Piece};
use crate::clock::processor_ns;
use crate::error::{Error, Result};
use crate::plan::Plan;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Pieces that were handed over and are not taken yet, at the most.
const PIECES_MAX: usize = 32;
/// Requests that wait for those of a lane that says nothing, at the most; then they are written all the same.
const HELD_MAX: usize = 500_000;

/// A file of requests.
#[derive(Debug)]
pub struct RequestsFile {
    path: PathBuf,
    file: File,
    /// What went wrong first.
    failed: OnceLock<Error>,
    /// Nanoseconds in which who writes had a processor.
    busy_ns: AtomicU64,
}

impl RequestsFile {
    /// Makes it, with its first line. One that is there is written over.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn make(path: &Path) -> Result<RequestsFile> {
        let failed = |error| unwritten(path, &error);
        let mut file = File::create(path).map_err(failed)?;
        file.write_all(line::head().as_bytes()).map_err(failed)?;
        Ok(RequestsFile { path: path.to_owned(), file, failed: OnceLock::new(), busy_ns: AtomicU64::new(0) })
    }

    /// Writes what lanes hand over, as long as something runs that has their outlets. What came of that.
    pub fn during<T>(&self, plan: &Plan, lanes: usize, run: impl FnOnce(Vec<Option<Outlet>>) -> T) -> T {
        let (sender, receiver) = sync_channel(PIECES_MAX);
        let outlets = (0..lanes).map(|lane| Some(Outlet { lane, sender: sender.clone() })).collect();
        drop(sender);
        thread::scope(|scope| {
            scope.spawn(move || self.write(&Names::of(plan), lanes, &receiver));
            run(outlets)
        })
    }

    /// How long who writes had a processor, in nanoseconds.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns.load(Ordering::Relaxed)
    }

    /// Whether all was written.
    ///
    /// # Errors
    /// When it was not.
    pub fn end(self) -> Result<()> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }

    fn write(&self, names: &Names, lanes: usize, pieces: &Receiver<Piece>) {
        let mut order = Order::new(lanes);
        let mut lines = Vec::new();
        for piece in pieces {
            order.take(piece);
            self.write_lines(order.ready(), names, &mut lines);
            order.forget_ready();
            self.busy_ns.store(processor_ns(), Ordering::Relaxed);
        }
        // Nobody hands anything over any more.
        order.until_ns.fill(i64::MAX);
        self.write_lines(order.ready(), names, &mut lines);
    }

    fn write_lines(&self, ended: &[Ended], names: &Names, lines: &mut Vec<u8>) {
        lines.clear();
        ended.iter().for_each(|ended| line::write(ended, names, lines));
        if self.failed.get().is_none()
            && let Err(error) = (&self.file).write_all(lines)
        {
            let _ = self.failed.set(unwritten(&self.path, &error));
        }
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::io(format_args!("writing {} (--requests)", path.display()), error)
}

/// What was handed over and must wait: another lane may still hand over what comes before it.
struct Order {
    held: Vec<Ended>,
    /// Of these, the first so many are ready.
    ready: usize,
    /// By lane: all that it hands over later is later than this.
    until_ns: Vec<i64>,
}

impl Order {
    fn new(lanes: usize) -> Order {
        Order { held: Vec::new(), ready: 0, until_ns: vec![i64::MIN; lanes] }
    }

    fn take(&mut self, piece: Piece) {
        self.held.extend_from_slice(&piece.ended);
        self.until_ns[piece.lane] = piece.until_ns;
    }

    /// What nothing can come before any more, in order.
    fn ready(&mut self) -> &[Ended] {
        // Pieces are in order but for what a lane noticed late; the sort makes use of that.
        self.held.sort_by_key(|ended| ended.seen_ns);
        let until_ns = self.until_ns.iter().min().copied().unwrap_or(i64::MAX);
        self.ready = match self.held.len() {
            HELD_MAX.. => self.held.len(),
            _ => self.held.partition_point(|ended| ended.seen_ns <= until_ns),
        };
        &self.held[..self.ready]
    }

    fn forget_ready(&mut self) {
        self.held.drain(..self.ready);
        self.ready = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(lane: usize, seen_ns: &[i64], until_ns: i64) -> Piece {
        let ended = |seen_ns| Ended {
            seen_ns,
            began_ns: 0,
            user: 0,
            iteration: 0,
            phase: 0,
            request: 0,
            status: None,
            failure: None,
            response_ns: 0,
            service_ns: None,
        };
        Piece { lane, ended: seen_ns.iter().map(|ns| ended(*ns)).collect(), until_ns }
    }

    fn taken(order: &mut Order, piece: Piece) -> Vec<i64> {
        order.take(piece);
        let ready = order.ready().iter().map(|ended| ended.seen_ns).collect();
        order.forget_ready();
        ready
    }

    #[test]
    fn what_another_lane_may_come_before_waits() {
        let mut order = Order::new(2);
        assert_eq!(taken(&mut order, piece(0, &[-3, 5, 4, 9], 10)), [0; 0]);
        assert_eq!(taken(&mut order, piece(1, &[2, 7], 8)), [-3, 2, 4, 5, 7]);
        assert_eq!(taken(&mut order, piece(0, &[], 20)), [0; 0]);
        assert_eq!(taken(&mut order, piece(1, &[11], i64::MAX)), [9, 11]);
        assert_eq!(taken(&mut order, piece(0, &[30], i64::MAX)), [30]);
    }

    #[test]
    fn what_waits_too_long_for_a_silent_lane_is_written() {
        let mut order = Order::new(2);
        let many: Vec<i64> = (0..HELD_MAX as i64).collect();
        assert_eq!(taken(&mut order, piece(0, &many, 10)).len(), HELD_MAX);
        assert!(order.held.is_empty());
    }
}
