//! Reading and writing a file, through the page cache and past it: what no result about a file can pass.
//!
//! Out of the page cache by two routes, because either can fail silently: pages are dropped before they are read, or
//! the cache is passed by. Both are checked, and where one does not do what it says, its figures are left out.

mod order;
mod scratch;
pub(super) mod timing;

use super::turn::Turn;
use super::units::duration;
use crate::environment::Storage;
use crate::error::Result;
use crate::probe::cannot_write;
use scratch::Scratch;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How much is read or written by one operation.
pub(super) const BLOCKS_BYTES: [usize; 3] = [4 << 10, 8 << 10, 16 << 10];

/// How long one figure is measured, at the most.
const CELL_LIMIT: Duration = Duration::from_millis(500);

/// What reading and writing a file yields here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Files {
    /// The file's size: it always fits into memory.
    pub file_bytes: u64,
    /// Why pages could not be dropped from the cache, where they could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_dropped: Option<String>,
    /// Why the cache could not be passed by, where it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_direct: Option<String>,
    /// What was measured; a figure for which there was no time is not there.
    pub rates: Vec<FileRate>,
}

/// How quickly a file is read or written in one way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileRate {
    /// How the data goes to or from the disk.
    pub route: Route,
    /// In which order.
    pub pattern: Pattern,
    /// Read or written.
    pub operation: Operation,
    /// Bytes of one operation.
    pub block_bytes: usize,
    /// Operations made.
    pub operations: u64,
    /// How long they took together, in nanoseconds, a flush at the end included where the route has one.
    pub elapsed_ns: u64,
}

impl FileRate {
    /// The time of an operation, on average.
    pub fn operation_ns(&self) -> f64 {
        self.elapsed_ns as f64 / self.operations as f64
    }

    /// Operations made in a second.
    pub fn operations_per_s(&self) -> f64 {
        1e9 / self.operation_ns()
    }

    /// Bytes read or written in a second.
    pub fn bytes_per_s(&self) -> f64 {
        self.operations_per_s() * self.block_bytes as f64
    }
}

/// How data goes between program and disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Route {
    /// From or to the page cache; no disk has part in it.
    Cache,
    /// Through the page cache, whose pages were dropped with `posix_fadvise` before.
    Dropped,
    /// Through the page cache, with one `fdatasync` at the end that is timed too.
    Synced,
    /// Past the page cache, with `O_DIRECT`.
    Direct,
}

/// The order of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One after the other.
    Sequential,
    /// Shuffled; none twice before all were used.
    Random,
}

/// What is done with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// It is read.
    Read,
    /// It is overwritten.
    Write,
}

impl fmt::Display for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Route::Cache => "cached",
            Route::Dropped => "dropped",
            Route::Synced => "synced",
            Route::Direct => "O_DIRECT",
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Pattern::Sequential => "sequential",
            Pattern::Random => "random",
        })
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Operation::Read => "read",
            Operation::Write => "write",
        })
    }
}

impl Files {
    pub(super) fn measure(directory: &Path, storage: &Storage, turn: &Turn<'_>) -> Result<Files> {
        let failed = |error: io::Error| cannot_write(directory, &error);
        let mut scratch = Scratch::fill(directory, storage.free_bytes, turn).map_err(failed)?;
        turn.go_on()?;
        let mut files = Files { file_bytes: scratch.file_bytes(), ..Files::default() };
        // Where there is no disk there is nothing that could be out of the cache.
        files.not_dropped = storage.in_memory().or(scratch.not_dropped().map_err(failed)?);
        files.not_direct = storage.in_memory().or(scratch.not_direct().map_err(failed)?);
        scratch.warm().map_err(failed)?;
        let ways = timing::ways();
        let mut left = ways.len();
        for way in ways {
            let impossible = match way.route {
                Route::Cache | Route::Synced => false,
                Route::Dropped => files.not_dropped.is_some(),
                Route::Direct => files.not_direct.is_some(),
            };
            // What the page cache answers takes next to no time, so there is always time for it.
            let quick = way.route == Route::Cache && way.operation == Operation::Read;
            if !impossible && (quick || !turn.over()) {
                timing::settle(&mut scratch, way).map_err(failed)?;
                let part = turn.part(left, CELL_LIMIT);
                files.rates.push(timing::rate(&mut scratch, way, &part).map_err(failed)?);
            }
            turn.go_on()?;
            left -= 1;
        }
        Ok(files)
    }

    /// How often blocks are read or written past the page cache in a second, or why that is not known.
    pub(super) fn direct(
        directory: &Path,
        storage: &Storage,
        asked: &[(Pattern, Operation, usize)],
        turn: &Turn<'_>,
    ) -> Result<std::result::Result<Vec<f64>, String>> {
        let failed = |error: io::Error| cannot_write(directory, &error);
        if let Some(why) = storage.in_memory() {
            return Ok(Err(why));
        }
        let mut scratch = Scratch::fill(directory, storage.free_bytes, turn).map_err(failed)?;
        if let Some(why) = scratch.not_direct().map_err(failed)? {
            return Ok(Err(why));
        }
        let mut rates = Vec::new();
        for (place, (pattern, operation, block_bytes)) in asked.iter().copied().enumerate() {
            let way = timing::Way { route: Route::Direct, pattern, operation, block_bytes };
            timing::settle(&mut scratch, way).map_err(failed)?;
            let part = turn.part(asked.len() - place, CELL_LIMIT);
            rates.push(timing::rate(&mut scratch, way, &part).map_err(failed)?.operations_per_s());
            turn.go_on()?;
        }
        Ok(Ok(rates))
    }

    /// Whether blocks of so many bytes can be read and written past the page cache.
    pub(super) fn has_blocks_of(bytes: u64) -> bool {
        bytes.is_multiple_of(BLOCKS_BYTES[0] as u64) && bytes <= scratch::BUFFER_BYTES as u64
    }

    /// One of the figures.
    pub fn rate(
        &self,
        route: Route,
        pattern: Pattern,
        operation: Operation,
        block_bytes: usize,
    ) -> Option<&FileRate> {
        self.rates.iter().find(|rate| {
            (rate.route, rate.pattern, rate.operation, rate.block_bytes)
                == (route, pattern, operation, block_bytes)
        })
    }

    /// A page read at random from the device itself, by the quicker of the routes that work.
    fn cold_page(&self) -> Option<&FileRate> {
        let by = |route| self.rate(route, Pattern::Random, Operation::Read, BLOCKS_BYTES[0]);
        let routes = by(Route::Direct).into_iter().chain(by(Route::Dropped));
        routes.min_by(|one, other| one.operation_ns().total_cmp(&other.operation_ns()))
    }

    /// What the figures mean for results about files.
    pub(super) fn meaning(&self) -> Option<String> {
        let cached = self.rate(Route::Cache, Pattern::Random, Operation::Read, BLOCKS_BYTES[0])?;
        let Some(cold) = self.cold_page() else {
            return Some(
                "No disk was read here: a result about cold reads would be one about memory.".into(),
            );
        };
        Some(format!(
            "A page at random costs {} from the disk and {} from the page cache: a \"cold\" read that is quicker than \
             the first came from memory.",
            duration(cold.operation_ns()),
            duration(cached.operation_ns())
        ))
    }
}
