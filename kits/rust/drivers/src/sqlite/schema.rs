//! The schema of the published pages, as SQL.

use std::fmt::Write;
use touchstone_kit::{Failure, FailureKind, Open, RecordKind, failure};

/// The name of the record's table of that number: `doc`, `doc_2`, `doc_3`…
pub fn table(record: RecordKind, number: u32) -> String {
    let name = match record {
        RecordKind::Row => "benchmark",
        RecordKind::Document => "documents",
        RecordKind::Doc => "doc",
    };
    if number == 1 { name.to_owned() } else { format!("{name}_{number}") }
}

/// The statements that make the tables and indexes of a fresh database, in one transaction.
///
/// # Errors
/// When an index is asked for on a field that the record does not have.
pub fn create(open: &Open) -> Result<String, Failure> {
    let (columns, fields): (_, &[&str]) = match open.record {
        RecordKind::Row => ("key integer, value blob", &["key", "value"]),
        RecordKind::Document => (
            "id text not null, revision integer not null, hash blob not null, data text not null, \
             unique (id, revision, hash)",
            &["id", "revision", "hash", "data"],
        ),
        RecordKind::Doc => (
            "title text primary key not null, tag text not null, x real not null, y real not null, \
             z real not null, colour integer not null, content_kind integer not null, content text, \
             priority integer",
            &["title", "tag", "x", "y", "z", "colour", "content_kind", "content", "priority"],
        ),
    };
    let mut sql = "begin immediate;".to_owned();
    for number in 1..=open.schema.tables {
        let table = table(open.record, number);
        write!(sql, "create table {table} ({columns});").expect("a string takes every text");
    }
    let table = table(open.record, 1);
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
