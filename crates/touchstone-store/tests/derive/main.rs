//! What the derives write, tested without a file: rows go from a record's cells straight back to its columns.

mod depth;
mod evolution;
mod golden;
mod nested;
mod record;
mod refused;

use touchstone_store::{Cells, Columns, Field, Mismatch, Raw, Record};

/// A row that was never in a file. Past its end, columns were added later.
struct Row<'a> {
    values: std::vec::IntoIter<Raw<'a>>,
}

impl<'a> Columns<'a> for Row<'a> {
    fn next(&mut self) -> Raw<'a> {
        self.values.next().unwrap_or(Raw::Absent)
    }
}

fn row(values: Vec<Raw<'_>>) -> Row<'_> {
    Row { values: values.into_iter() }
}

/// The row of a record.
fn cells<R: Record>(record: &R) -> Cells<'_> {
    let mut cells = Cells::default();
    record.write(&mut cells);
    cells
}

/// Its values as the file would give them back.
fn values<'a>(cells: &'a Cells<'_>) -> Vec<Raw<'a>> {
    (0..).map_while(|at| cells.raw(at)).collect()
}

/// The bytes of a column that is a blob.
fn bytes<F: Field>(value: &F) -> Vec<u8> {
    let mut cells = Cells::default();
    value.write(&mut cells);
    match cells.raw(0) {
        Some(Raw::Blob(bytes)) => bytes.to_vec(),
        other => panic!("the column is no blob but {other:?}"),
    }
}

/// The value of a column that is a blob.
fn read<F: Field>(bytes: &[u8]) -> Result<F, Mismatch> {
    F::read(Raw::Blob(bytes))
}
