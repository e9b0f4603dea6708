//! What users met who loaded services, beside the page's own rows.

use super::{Detail, Grid, GridCell, GridRow};
use crate::report::view::{COLUMNS, ENDPOINT_COLUMNS, LoadRow, LoadTables};

pub(super) fn detail(tables: &LoadTables) -> Detail {
    let mut detail = Detail::new("What users met: response times, failures, requests a second".into(), true);
    detail.remark = (!tables.notes.is_empty()).then(|| format!("{}.", tables.notes.join("; ")));
    detail.grids.push(grid("all requests of the measured windows", &COLUMNS, &tables.all));
    detail.grids.push(grid("by endpoint, whatever the query's values", &ENDPOINT_COLUMNS, &tables.endpoints));
    detail
}

fn grid(caption: &str, columns: &[&str], rows: &[LoadRow]) -> Grid {
    let row = |row: &LoadRow| GridRow {
        arm: row.name.clone(),
        cells: row.cells.iter().map(|cell| GridCell::number(Some(cell.clone()))).collect(),
    };
    Grid {
        caption: caption.into(),
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        rows: rows.iter().map(row).collect(),
    }
}
