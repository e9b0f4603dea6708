//! Types that change while their files stay: what was written by one version is read by another.

use super::{bytes, cells, read, row, values};
use touchstone_store::{Field, Mismatch, Nested, Raw, Record};

/// What one version wrote, read by another: as a store does it, by the columns' names.
fn reread<Old: Record, New: Record>(old: &Old) -> Result<New, (usize, Mismatch)> {
    let cells = cells(old);
    let written = values(&cells);
    let by_name = |name| Old::SHAPE.columns.iter().position(|column| column.name == name);
    let found =
        New::SHAPE.columns.iter().map(|column| by_name(column.name).map_or(Raw::Absent, |at| written[at]));
    New::read(&mut row(found.collect()))
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Task1 {
    #[record(key)]
    id: i64,
    name: String,
    dropped: bool,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Task2 {
    due: Option<i64>,
    #[record(default = 3)]
    priority: u8,
    #[record(key)]
    id: i64,
    #[record(column = "name")]
    title: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Task3 {
    #[record(key)]
    id: i64,
    required: String,
}

#[test]
fn records_gain_lose_and_rename_fields() {
    let old = Task1 { id: 1, name: "n".into(), dropped: true };
    let new = Task2 { due: None, priority: 3, id: 1, title: "n".into() };
    assert_eq!(reread(&old), Ok(new.clone()));
    // The older version has no default for what the newer one never writes.
    assert_eq!(reread::<_, Task1>(&new), Err((2, Mismatch::Missing)));
    assert_eq!(reread::<_, Task3>(&new), Err((1, Mismatch::Missing)));
}

#[derive(Nested, Debug, PartialEq)]
struct Place1 {
    #[tag(1)]
    name: String,
    #[tag(2)]
    dropped: Vec<(u8, Option<bool>)>,
    #[tag(3)]
    height: Option<i32>,
}

#[derive(Nested, Debug, PartialEq)]
struct Place2 {
    #[tag(5)]
    added: Option<String>,
    #[tag(1)]
    title: String,
    #[tag(4)]
    #[nested(default = 1 + 1)]
    weight: u8,
    #[tag(6)]
    #[nested(default)]
    labels: Vec<String>,
    #[tag(3)]
    #[nested(default = -1)]
    height: i32,
    #[tag(7)]
    boxed: Box<Option<u8>>,
}

#[test]
fn nested_structs_gain_lose_and_rename_fields() {
    let new = |height| Place2 {
        added: None,
        title: "p".into(),
        weight: 2,
        labels: vec![],
        height,
        boxed: Box::new(None),
    };
    let old = |height| bytes(&Place1 { name: "p".into(), dropped: vec![(1, None), (2, Some(true))], height });
    assert_eq!(read(&old(Some(8))), Ok(new(8)));
    // What was an `Option` and is none anymore has its default where it was `None`.
    assert_eq!(read(&old(None)), Ok(new(-1)));
    assert_eq!(read::<Place1>(&bytes(&new(8))), Err(Mismatch::Missing));
}

#[derive(Nested, Debug, PartialEq)]
enum Event1 {
    #[tag(1)]
    Opened,
    #[tag(2)]
    Moved {
        #[tag(1)]
        to: i64,
    },
}

#[derive(Nested, Debug, PartialEq)]
enum Event2 {
    #[tag(3)]
    Deleted(#[tag(1)] String),
    #[tag(2)]
    Shifted(#[tag(1)] i64, #[tag(2)] Option<u8>),
    #[tag(1)]
    Opened {
        #[tag(1)]
        #[nested(default = 10)]
        by: u8,
    },
}

#[test]
fn nested_enums_gain_variants_and_payloads() {
    assert_eq!(read(&bytes(&Event1::Opened)), Ok(Event2::Opened { by: 10 }));
    assert_eq!(read(&bytes(&Event1::Moved { to: 5 })), Ok(Event2::Shifted(5, None)));
    assert_eq!(read(&bytes(&Event2::Opened { by: 1 })), Ok(Event1::Opened));
    assert_eq!(read(&bytes(&Event2::Shifted(5, Some(1)))), Ok(Event1::Moved { to: 5 }));
    assert_eq!(read::<Event1>(&bytes(&Event2::Deleted("d".into()))), Err(Mismatch::Encoding));
}

#[derive(Nested, Debug, PartialEq)]
enum Level {
    #[tag(10)]
    Low,
    #[tag(20)]
    High,
}

#[test]
fn a_bare_enum_is_its_tag_as_a_column_and_as_a_value() {
    assert_eq!(Level::read(Raw::Integer(20)), Ok(Level::High));
    assert_eq!(Level::read(Raw::Integer(15)), Err(Mismatch::Range));
    assert_eq!(Level::read(Raw::Integer(-1)), Err(Mismatch::Range));
    assert_eq!(Level::read(Raw::Text(b"High")), Err(Mismatch::Kind));
    assert_eq!(bytes(&vec![Level::Low, Level::High]), [0x82, 10, 20]);
    assert_eq!(read::<Vec<Level>>(&[0x81, 15]), Err(Mismatch::Encoding));
}
