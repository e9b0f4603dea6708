//! Lists as people read them: a row a line, in columns.

pub(super) use columns::table;

/// A column by its name, and how its cells are aligned.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    Text(&'static str),
    Number(&'static str),
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Column::Text(name) | Column::Number(name) => name,
        }
    }
}

#[cfg(feature = "terminal")]
mod columns {
    use super::Column;
    use comfy_table::{CellAlignment, Table, presets};

    /// The header and the rows, aligned.
    pub(in super::super) fn table(columns: &[Column], rows: impl Iterator<Item = Vec<String>>) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_header(columns.iter().map(|column| column.name()));
        table.add_rows(rows);
        for (shown, column) in table.column_iter_mut().zip(columns) {
            if matches!(column, Column::Number(_)) {
                shown.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string()
    }
}

#[cfg(not(feature = "terminal"))]
mod columns {
    use super::Column;

    /// The header and the rows, their cells between tabs.
    pub(in super::super) fn table(columns: &[Column], rows: impl Iterator<Item = Vec<String>>) -> String {
        let header = columns.iter().map(|column| column.name().to_owned()).collect();
        let lines: Vec<String> =
            std::iter::once(header).chain(rows).map(|cells: Vec<String>| cells.join("\t")).collect();
        lines.join("\n")
    }
}
