//! One figure: a file is read or written in one way for a while.

use super::super::turn::Turn;
use super::order::order;
use super::scratch::Scratch;
use super::{BLOCKS_BYTES, FileRate, Operation, Pattern, Route};
use std::io;
use std::time::Instant;

/// Operations on the page cache between two readings of the clock, each of which is a part of one of them.
const BATCH: usize = 16;

/// How a file is read or written.
#[derive(Clone, Copy)]
pub(in crate::doctor) struct Way {
    pub route: Route,
    pub pattern: Pattern,
    pub operation: Operation,
    pub block_bytes: usize,
}

/// Every way, in the order they are measured: those that leave the file clean and cached go first.
pub(in crate::doctor) fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for (route, operation) in [
        (Route::Cache, Operation::Read),
        (Route::Dropped, Operation::Read),
        (Route::Direct, Operation::Read),
        (Route::Cache, Operation::Write),
        (Route::Synced, Operation::Write),
        (Route::Direct, Operation::Write),
    ] {
        for pattern in [Pattern::Sequential, Pattern::Random] {
            ways.extend(BLOCKS_BYTES.map(|block_bytes| Way { route, pattern, operation, block_bytes }));
        }
    }
    ways
}

/// Reads or writes until the turn is over, and at least once.
pub(super) fn rate(scratch: &mut Scratch, way: Way, turn: &Turn<'_>) -> io::Result<FileRate> {
    let order = order(way.pattern, scratch.file_bytes(), way.block_bytes);
    let operations_max = operations_max(scratch, way, order.len() as u64, turn);
    // A page dropped from the cache is read once: the second time it would be there.
    let batch = if way.route == Route::Cache { BATCH } else { 1 };
    let mut blocks = order.iter().cycle().map(|block| u64::from(*block) * way.block_bytes as u64);
    let mut operations = 0;
    let begun = Instant::now();
    while operations == 0 || (operations < operations_max && !turn.over()) {
        for offset in blocks.by_ref().take(batch) {
            match way.operation {
                Operation::Read => scratch.read(offset, way.block_bytes)?,
                Operation::Write => scratch.write(offset, way.block_bytes)?,
            }
        }
        operations += batch as u64;
    }
    if way.route == Route::Synced {
        scratch.sync()?;
    }
    let elapsed_ns = begun.elapsed().as_nanos().max(1) as u64;
    let Way { route, pattern, operation, block_bytes } = way;
    Ok(FileRate { route, pattern, operation, block_bytes, operations, elapsed_ns })
}

/// Brings file and cache to where this way starts from, off the clock.
pub(super) fn settle(scratch: &mut Scratch, way: Way) -> io::Result<()> {
    scratch.bypass(way.route == Route::Direct)?;
    scratch.expect_random(way.route == Route::Dropped && way.pattern == Pattern::Random)?;
    match (way.route, way.operation) {
        (Route::Cache, Operation::Read) => Ok(()),
        // The first write into a page that is not in the cache costs more than those after it.
        (Route::Cache, Operation::Write) => scratch.warm(),
        (Route::Dropped | Route::Direct, _) => scratch.drop_pages(),
        (Route::Synced, _) => scratch.sync(),
    }
}

/// How often it can be done before it is something else that is measured.
fn operations_max(scratch: &Scratch, way: Way, blocks: u64, turn: &Turn<'_>) -> u64 {
    match way.route {
        Route::Cache | Route::Direct => u64::MAX,
        Route::Dropped => blocks,
        // Half of the time is for the flush at the end.
        Route::Synced => blocks.min(scratch.flushable_bytes(turn.left() / 2) / way.block_bytes as u64).max(1),
    }
}
