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
        RecordKind::Row if open.schema.keyed => ("key integer primary key, value blob", &["key", "value"]),
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
    if let Some(field) = open.schema.indexes.iter().find(|field| !fields.contains(&field.as_str())) {
        let message = format!("index on `{field}`: a {} has {}", open.record, fields.join(", "));
        return Err(failure(FailureKind::Unsupported, message));
    }
    let mut sql = "begin immediate;".to_owned();
    for number in 1..=open.schema.tables {
        let table = table(open.record, number);
        write!(sql, "create table {table} ({columns});").expect("a string takes every text");
        for field in &open.schema.indexes {
            write!(sql, "create index {table}_by_{field} on {table} ({field});")
                .expect("a string takes every text");
        }
    }
    sql.push_str("commit;");
    Ok(sql)
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_kit::{Schema, Settings};

    #[test]
    fn every_table_has_the_indexes_that_are_asked_for() {
        let open = |field: &str| Open {
            directory: ".".into(),
            record: RecordKind::Doc,
            schema: Schema { create: true, tables: 2, indexes: vec![field.into()], ..Schema::default() },
            table: 1,
            settings: Settings::new(),
        };
        let sql = create(&open("tag")).unwrap();
        for index in ["create index doc_by_tag on doc (tag);", "create index doc_2_by_tag on doc_2 (tag);"] {
            assert!(sql.contains(index), "{sql}");
        }
        assert_eq!(create(&open("size")).unwrap_err().kind, FailureKind::Unsupported);
    }
}
