//! The tables of a load beneath its case: the page's own rows, then each service's.

use super::text::{Sheet, Tone};
use crate::report::view::{COLUMNS, ENDPOINT_COLUMNS, LoadRow, LoadTables};
use unicode_width::UnicodeWidthStr;

/// Both tables, each row's name above its figures: names of contenders are long.
pub(super) fn lines(tables: &LoadTables, sheet: &Sheet) -> Vec<String> {
    let mut lines = table("what users met", &COLUMNS, &tables.all, sheet);
    lines.extend(table("by endpoint", &ENDPOINT_COLUMNS, &tables.endpoints, sheet));
    for note in &tables.notes {
        lines.extend(sheet.wrapped(&format!("- {note}"), 2, 4));
    }
    lines
}

fn table(title: &str, columns: &[&str], rows: &[LoadRow], sheet: &Sheet) -> Vec<String> {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| Some(row.cells.get(at)?.width()));
        cells.fold(columns[at].width(), usize::max)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells
            .zip(&widths)
            .map(|(cell, width)| format!("{}{cell}", " ".repeat(width - cell.width())))
            .collect();
        format!("    {}", padded.join(" "))
    };
    let mut lines = vec![format!("  {title}"), line(&mut columns.iter().copied())];
    lines = sheet.all(lines, Tone::Faint);
    for row in rows {
        lines.push(format!("  {}", row.name));
        lines.push(line(&mut row.cells.iter().map(String::as_str)));
    }
    lines
}
