//! The residual condition: the part of a query's condition that no key range expresses. It is evaluated for each
//! record, and reads only the columns that it names.

use crate::query::condition::Node;
use crate::query::evaluate::evaluate;
use crate::types::cells::Cells;
use crate::types::record::Record;
use crate::types::value::Raw;

/// A condition that is evaluated.
#[derive(Debug)]
pub(crate) struct Residual {
    pub(crate) node: Node,
    /// The columns that the condition names.
    pub(crate) columns: Vec<usize>,
}

impl Residual {
    pub(crate) fn new(node: Node) -> Residual {
        let columns = node.columns();
        Residual { node, columns }
    }

    /// Whether the condition is true for the record; unknown, as in SQL's three-valued logic, counts as false.
    pub(crate) fn holds<T: Record>(&self, record: &T) -> bool {
        let mut cells = Cells::default();
        for column in &self.columns {
            record.write_column(*column, &mut cells);
        }
        let value = |column| {
            let at = self.columns.iter().position(|known| *known == column);
            at.and_then(|at| cells.raw(at)).unwrap_or(Raw::Null)
        };
        evaluate(&self.node, &value) == Some(true)
    }
}
