//! A feed whose statement panicked.

use super::*;
use std::cell::Cell;

/// Regression: a hook of the program's own may panic in the middle of a statement. The source stayed with the feed
/// after its data were gone, and raw SQL can read the feed too.
#[test]
fn a_feed_whose_statement_panicked_has_no_source_left() {
    let connection = rusqlite::Connection::open_in_memory().expect("there is room");
    // SAFETY: the connection is open, and is closed before the feed is dropped.
    let feed = unsafe { BatchInsert::register(connection.handle(), 1) }.expect("it is registered");
    // Declared after the feed, and so closed before it.
    let connection = connection;
    // SAFETY: the connection is open, and is closed after the statement is dropped.
    let sum = unsafe { Statement::prepare(connection.handle(), "select sum(c0) from touchstone_feed_1") };
    let mut sum = sum.expect("it is prepared");
    let calls = Cell::new(0);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut fill = |cells: &mut Cells<'static>| {
            calls.set(calls.get() + 1);
            cells.integer(7);
            calls.get() < 3
        };
        feed.with(&mut fill, &mut sum, &Cells::default(), |sum| -> Result<()> {
            assert_eq!(sum.integer().expect("it is readable"), 14);
            panic!("as a hook does")
        })
    }));
    assert!(panicked.is_err());
    let rows = connection.query_row("select count(*) from touchstone_feed_1", (), |row| row.get::<_, i64>(0));
    assert_eq!((rows, calls.get()), (Ok(0), 3));
}
