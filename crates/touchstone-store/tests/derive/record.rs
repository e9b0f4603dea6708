//! Records: their shape, and the way to a row and back.

use super::{cells, row, values};
use touchstone_store::{Cells, Index, Kind, Mismatch, Nested, Raw, Record};

#[derive(Nested, Clone, Copy, Debug, PartialEq)]
enum Level {
    #[tag(3)]
    Low,
    #[tag(1)]
    High,
}

/// The macro's own names: defaults must not be caught by them.
const DEFAULT: i64 = 7;

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "notes", numbered)]
struct Note {
    title: String,
    #[record(key)]
    book: String,
    #[record(unique)]
    r#type: Option<u32>,
    #[record(key)]
    page: i64,
    #[record(index, column = "old_level")]
    level: Level,
    #[record(default = DEFAULT)]
    rank: i64,
    #[record(default)]
    seen: bool,
    #[record(default = Self::untitled(), column = "sub")]
    subtitle: String,
    #[record(default = vec![(1, 2), (3, 4)])]
    spans: Vec<(u32, u32)>,
    stars: Option<i8>,
    picture: Vec<u8>,
}

impl Note {
    fn untitled() -> String {
        "untitled".to_owned()
    }
}

fn note() -> Note {
    Note {
        title: "T".into(),
        book: "B".into(),
        r#type: Some(9),
        page: 4,
        level: Level::Low,
        rank: 1,
        seen: true,
        subtitle: "S".into(),
        spans: vec![(5, 6)],
        stars: None,
        picture: vec![0, 255],
    }
}

#[test]
fn the_shape_has_the_key_first_and_then_the_order_of_the_fields() {
    let shape = Note::SHAPE;
    assert_eq!((shape.name, shape.keys, shape.numbered), ("notes", 2, true));
    let names: Vec<_> = shape.columns.iter().map(|column| column.name).collect();
    assert_eq!(
        names,
        ["book", "page", "title", "type", "old_level", "rank", "seen", "sub", "spans", "stars", "picture"]
    );
    let kinds: Vec<_> = shape.columns.iter().map(|column| column.kind).collect();
    use Kind::{Blob, Integer, Text};
    let expected = [Text, Integer, Text, Integer, Integer, Integer, Integer, Text, Blob, Integer, Blob];
    assert_eq!(kinds, expected);
    let special: Vec<_> = shape
        .columns
        .iter()
        .filter(|column| column.nullable || column.index != Index::None)
        .map(|column| (column.name, column.nullable, column.index))
        .collect();
    assert_eq!(
        special,
        [("type", true, Index::Unique), ("old_level", false, Index::Plain), ("stars", true, Index::None)]
    );
}

#[test]
fn columns_know_their_names_in_the_file() {
    let columns = Note::COLUMNS;
    assert_eq!(columns.book.name(), "book");
    assert_eq!(columns.r#type.name(), "type");
    assert_eq!(columns.level.name(), "old_level");
    assert_eq!(columns.subtitle.name(), "sub");
}

#[test]
fn a_record_comes_back_as_it_was_written() {
    let note = note();
    let cells = cells(&note);
    assert_eq!(Note::read(&mut row(values(&cells))), Ok(note.clone()));
    let view = Note::view(&mut row(values(&cells))).expect("the row is a note's");
    assert_eq!((view.title, view.book, view.r#type, view.page), ("T", "B", Some(9), 4));
    assert_eq!((view.level, view.rank, view.seen, view.subtitle), (Level::Low, 1, true, "S"));
    assert_eq!((view.spans, view.stars, view.picture), (vec![(5, 6)], None, &[0, 255][..]));
}

#[test]
fn keys_are_the_fields_in_their_order() {
    let note = note();
    assert_eq!(note.key(), ("B".to_owned(), 4));
    let mut key = Cells::default();
    note.write_key(&mut key);
    assert_eq!(values(&key), [Raw::Text(b"B"), Raw::Integer(4)]);
}

#[test]
fn defaults_stand_in_for_what_the_file_lacks() {
    let level = Raw::Integer(3);
    let known = vec![Raw::Text(b"B"), Raw::Integer(4), Raw::Text(b"T"), Raw::Null, level];
    let mut older = known.clone();
    older.extend([Raw::Absent, Raw::Null, Raw::Absent, Raw::Null, Raw::Absent, Raw::Blob(b"")]);

    let note = Note::read(&mut row(older.clone())).expect("the rest has defaults");
    assert_eq!((note.rank, note.seen, &*note.subtitle), (7, false, "untitled"));
    assert_eq!((note.spans, note.stars), (vec![(1, 2), (3, 4)], None));

    let view = Note::view(&mut row(older)).expect("the rest has defaults");
    assert_eq!((view.rank, view.seen, view.subtitle), (7, false, "untitled"));
    assert_eq!((view.spans, view.stars), (vec![(1, 2), (3, 4)], None));

    // The picture has none.
    assert_eq!(Note::read(&mut row(known.clone())), Err((10, Mismatch::Missing)));
    assert_eq!(Note::view(&mut row(known)).err(), Some((10, Mismatch::Missing)));
}

#[test]
fn an_error_names_the_column() {
    let note = note();
    let cells = cells(&note);
    for (at, wrong, why) in [
        (1, Raw::Real(1.5), Mismatch::Kind),
        (2, Raw::Text(b"\xff"), Mismatch::Utf8),
        (3, Raw::Integer(-1), Mismatch::Range),
        (4, Raw::Integer(2), Mismatch::Range),
        (4, Raw::Null, Mismatch::Missing),
        (5, Raw::Text(b"7"), Mismatch::Kind),
        (8, Raw::Blob(b"\x81\x01"), Mismatch::Encoding),
    ] {
        let mut row_values = values(&cells);
        row_values[at] = wrong;
        assert_eq!(Note::read(&mut row(row_values.clone())), Err((at, why)));
        assert_eq!(Note::view(&mut row(row_values)).err(), Some((at, why)));
    }
}

#[test]
fn views_can_be_shown_and_copied_where_their_fields_can() {
    #[derive(Nested)]
    struct Mute {
        #[tag(1)]
        _x: u8,
    }

    #[derive(Record)]
    struct Shown {
        #[record(key)]
        id: i64,
        name: String,
    }

    /// That its view has no `Debug` is no reason to refuse it.
    #[derive(Record)]
    struct Unshown {
        #[record(key)]
        id: i64,
        mute: Mute,
    }

    let shown = Shown { id: 1, name: "a".into() };
    let cells = cells(&shown);
    let view = Shown::view(&mut row(values(&cells))).expect("the row is a shown's");
    assert_eq!(format!("{:?}", view.clone()), r#"ShownView { id: 1, name: "a" }"#);
    assert_eq!(Unshown::SHAPE.columns.len(), 2);
}

#[test]
fn a_bare_enum_is_an_integer_that_can_be_indexed() {
    let note = note();
    assert_eq!(values(&cells(&note))[4], Raw::Integer(3));
}
