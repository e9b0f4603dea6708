//! The schema of the published pages, as SQL.

use std::fmt::Write;
use touchstone_kit::{Failure, FailureKind, Open, RecordKind, failure};

/// The statements that make the tables and indexes of a fresh database, in one transaction.
///
/// # Errors
/// When an index is asked for on a field that the record does not have.
pub fn create(open: &Open) -> Result<String, Failure> {
    let (table, columns, fields): (_, _, &[&str]) = match open.record {
        RecordKind::Row => ("benchmark", "key integer, value blob", &["key", "value"]),
        RecordKind::Document => (
            "documents",
            "id text not null, revision integer not null, hash blob not null, data text not null, \
             unique (id, revision, hash)",
            &["id", "revision", "hash", "data"],
        ),
    };
    let mut sql = format!("begin immediate; create table {table} ({columns});");
    for number in 2..=open.schema.tables {
        write!(sql, "create table {table}_{number} ({columns});").expect("a string takes every text");
    }
    for field in &open.schema.indexes {
        if !fields.contains(&field.as_str()) {
            let message = format!("index on `{field}`: a {} has {}", open.record, fields.join(", "));
            return Err(failure(FailureKind::Unsupported, message));
        }
        write!(sql, "create index {table}_by_{field} on {table} ({field});")
            .expect("a string takes every text");
    }
    sql.push_str("commit;");
    Ok(sql)
}
