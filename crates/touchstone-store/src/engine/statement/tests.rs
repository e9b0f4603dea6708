//! Statements whose values are gone, or whose work panics.

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn texts(text: &str) -> Cells<'_> {
    let mut cells = Cells::default();
    cells.text(text);
    cells
}

#[test]
fn a_statement_with_parameters_runs_only_with_their_values() {
    let connection = rusqlite::Connection::open_in_memory().expect("there is room");
    // SAFETY: the connection is open, and is closed after the statement is dropped.
    let statement = unsafe { Statement::prepare(connection.handle(), "select length(?1)") };
    let mut statement = statement.expect("it is prepared");
    let length = statement.bound(&texts(&"x".repeat(100)), |statement| statement.integer());
    assert_eq!(length.expect("it is readable"), 100);
    // The hundred letters are gone, and SQLite still points to them.
    assert!(catch_unwind(AssertUnwindSafe(|| statement.integer())).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| statement.run())).is_err());
    assert!(statement.bound(&Cells::default(), |statement| statement.integer()).is_err());
}

#[test]
fn a_statement_whose_work_panicked_is_reset() {
    let connection = rusqlite::Connection::open_in_memory().expect("there is room");
    // SAFETY: as above.
    let statement = unsafe { Statement::prepare(connection.handle(), "select ?1 union all select ?1") };
    let mut statement = statement.expect("it is prepared");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        statement.bound(&texts("one"), |statement| -> Result<()> {
            assert!(statement.next()?.is_some());
            panic!("as a record's own code does")
        })
    }));
    assert!(panicked.is_err());
    // SQLite binds no values to a statement that stands on a row.
    let second = statement.bound(&texts("two"), |statement| {
        let row = statement.next()?.expect("there are two");
        Ok(row.value(0) == Raw::Text(b"two"))
    });
    assert!(second.expect("it is readable"));
}
