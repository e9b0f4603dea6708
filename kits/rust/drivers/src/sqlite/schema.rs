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

/// The columns of a record's table of that type number, as they are declared.
fn declared(open: &Open, type_number: u32) -> &'static [&'static str] {
    match (open.record, type_number) {
        (RecordKind::Row, _) if open.schema.keyed => &["key integer primary key", "value blob"],
        (RecordKind::Row, _) => &["key integer", "value blob"],
        (RecordKind::Document, _) => &[
            "id text not null",
            "revision integer not null",
            "hash blob not null",
            "data text not null",
            "unique (id, revision, hash)",
        ],
        (RecordKind::Doc, 2) => &[
            "title text primary key not null",
            "tag text not null",
            "colour integer not null",
            "text text",
            "priority integer",
        ],
        (RecordKind::Doc, 3 | 4) => {
            &["title text primary key not null", "tag text not null", "text text", "priority integer"]
        }
        (RecordKind::Doc, _) => &[
            "title text primary key not null",
            "tag text not null",
            "x real not null",
            "y real not null",
            "z real not null",
            "colour integer not null",
            "content_kind integer not null",
            "content text",
            "priority integer",
        ],
    }
}

/// The statements that make the tables and indexes of a fresh database, in one transaction.
///
/// # Errors
/// When an index is asked for on a field that the record does not have.
pub fn create(open: &Open) -> Result<String, Failure> {
    let mut sql = "begin immediate;".to_owned();
    for number in 1..=open.schema.tables {
        let table = table(open.record, number);
        let columns = declared(open, if open.schema.typed { number } else { 1 });
        write!(sql, "create table {table} ({});", columns.join(", ")).expect("a string takes every text");
        for field in &open.schema.indexes {
            require(field, columns, open.record)?;
            write!(sql, "create index {table}_by_{field} on {table} ({field});")
                .expect("a string takes every text");
        }
    }
    sql.push_str("commit;");
    Ok(sql)
}

/// Refuses a field that is no column.
fn require(field: &str, columns: &[&str], record: RecordKind) -> Result<(), Failure> {
    let names = columns.iter().filter_map(|column| column.split(' ').next()).filter(|name| *name != "unique");
    let names: Vec<&str> = names.collect();
    if names.contains(&field) {
        return Ok(());
    }
    let message = format!("index on `{field}`: a {record} has {}", names.join(", "));
    Err(failure(FailureKind::Unsupported, message))
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

    #[test]
    fn typed_tables_have_the_columns_of_their_types() {
        let schema = Schema { create: true, tables: 4, typed: true, ..Schema::default() };
        let (record, settings) = (RecordKind::Doc, Settings::new());
        let sql = create(&Open { directory: ".".into(), record, schema, table: 1, settings }).unwrap();
        let of = |table: &str| {
            let declared =
                sql.split(';').find(|part| part.starts_with(&format!("create table {table} ("))).unwrap();
            declared.split(',').count()
        };
        assert_eq!(["doc", "doc_2", "doc_3", "doc_4"].map(of), [9, 5, 4, 4], "{sql}");
    }
}
