//! What a file yields, as a table: operations and routes downwards, sizes across.

use super::NONE;
use crate::doctor::files::{BLOCKS_BYTES, FileRate, Files, Operation, Pattern, Route};
use crate::doctor::page::Page;
use crate::doctor::units::{rate, size, throughput};

/// Shows the figures and how each was come by.
pub(super) fn show(page: &mut Page, files: &Files) {
    page.section(&format!("File of {}", size(files.file_bytes)));
    let head = BLOCKS_BYTES.iter().flat_map(|bytes| [size(*bytes as u64), String::new()]);
    let mut rows = vec![std::iter::once(String::new()).chain(head).collect()];
    for (operation, routes) in [
        (Operation::Read, [Route::Cache, Route::Dropped, Route::Direct]),
        (Operation::Write, [Route::Cache, Route::Synced, Route::Direct]),
    ] {
        for pattern in [Pattern::Sequential, Pattern::Random] {
            for route in routes {
                let figures = BLOCKS_BYTES.iter().flat_map(|block_bytes| {
                    let cell = files.rate(route, pattern, operation, *block_bytes);
                    let shown = |show: fn(&FileRate) -> String| cell.map_or(NONE.into(), show);
                    [
                        shown(|cell| throughput(cell.bytes_per_s())),
                        shown(|cell| rate(cell.operations_per_s())),
                    ]
                });
                let label = format!("{pattern} {operation}, {route}");
                rows.push(std::iter::once(label).chain(figures).collect());
            }
        }
    }
    page.table(&rows, true);
    page.sentence(
        "cached: by the page cache. synced: the same, with one fdatasync at the end that is timed too.",
    );
    match &files.not_dropped {
        None => page
            .sentence("dropped: the file's pages were dropped from the page cache before (posix_fadvise)."),
        Some(reason) => page.sentence(&format!("dropped: not measured, because {reason}.")),
    }
    match &files.not_direct {
        None => page.sentence("O_DIRECT: past the page cache."),
        Some(reason) => page.sentence(&format!("O_DIRECT: not measured, because {reason}.")),
    }
    files.meaning().iter().for_each(|meaning| page.meaning(meaning));
}
