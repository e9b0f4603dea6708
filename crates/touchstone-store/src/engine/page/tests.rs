//! Pages of any bytes: nothing panics, and nothing beyond the page is read.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

impl Geometry {
    fn with(usable: usize) -> Geometry {
        Geometry::of(&vec![0; usable]).expect("it is large enough")
    }
}

fn walk(bytes: &[u8], number: u32, geometry: Geometry) {
    let Some(page) = Page::new(bytes, number, geometry) else { return };
    assert!(page.len() * 2 <= bytes.len());
    for at in 0..=page.len() {
        let _ = page.child(at);
    }
    for at in 0..page.len() {
        if let Some(row) = page.inner_row(at) {
            look(row);
        }
    }
    let offsets: Vec<usize> = page.offsets(0).collect();
    assert_eq!(offsets.len(), page.len());
    for offset in offsets {
        for row in [page.numbered_row(offset), page.keyed_row(offset)].into_iter().flatten() {
            look(row);
        }
    }
}

fn look(row: Row<'_>) {
    assert!(row.local.len() <= row.length);
    values(row.local);
}

/// Reads each value, and skips each value: both reach the same place.
fn values(bytes: &[u8]) {
    let Some(mut payload) = Payload::new(bytes) else { return };
    let mut skipped = payload;
    for _ in 0..=bytes.len() {
        match payload.next() {
            Some(Raw::Absent) | None => break,
            Some(Raw::Text(value) | Raw::Blob(value)) => assert!(value.len() <= bytes.len()),
            Some(_) => {}
        }
    }
    for _ in 0..=bytes.len() {
        if skipped.skip().is_none() {
            break;
        }
    }
}

/// Bytes that resemble a page: its kind, few cells, and offsets within it.
fn page() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop::sample::select(vec![0x02u8, 0x05, 0x0a, 0x0d]);
    (kind, 0u8..40, vec(any::<u8>(), 512), vec((0u16..560).prop_map(u16::to_be_bytes), 40)).prop_map(
        |(kind, cells, mut bytes, offsets)| {
            bytes[0] = kind;
            (bytes[3], bytes[4]) = (0, cells);
            for (at, offset) in offsets.iter().enumerate() {
                bytes[8 + 2 * at..10 + 2 * at].copy_from_slice(offset);
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..600), number in 1u32..3) {
        values(&bytes);
        let _ = varint(&bytes);
        if let Some(geometry) = Geometry::of(&bytes) {
            walk(&bytes, number, geometry);
        }
        walk(&bytes, number, Geometry::with(512));
    }

    #[test]
    fn bytes_like_a_page_are_read_without_a_panic(bytes in page(), usable in 480usize..=512) {
        walk(&bytes, 2, Geometry::with(usable));
    }

    #[test]
    fn integers_are_read_as_sqlite_writes_them(value in any::<i64>()) {
        let (kind, width) = match value {
            -0x80..=0x7f => (1u8, 1),
            -0x8000..=0x7fff => (2, 2),
            -0x80_0000..=0x7f_ffff => (3, 3),
            -0x8000_0000..=0x7fff_ffff => (4, 4),
            -0x8000_0000_0000..=0x7fff_ffff_ffff => (5, 6),
            _ => (6, 8),
        };
        let mut bytes = vec![2, kind];
        bytes.extend_from_slice(&value.to_be_bytes()[8 - width..]);
        let mut payload = Payload::new(&bytes).expect("it is whole");
        prop_assert_eq!(payload.next(), Some(Raw::Integer(value)));
        prop_assert_eq!(payload.next(), Some(Raw::Absent));
    }
}

#[test]
fn a_payload_lies_in_its_page_as_the_format_says() {
    // The limits that "Database File Format" gives for pages of 512 and 4096 bytes.
    for (usable, leaf, other) in [(512, 477, 102), (4096, 4061, 1002), (65_536, 65_501, 16_422)] {
        let geometry = Geometry::with(usable);
        for (most, of_table) in [(leaf, true), (other, false)] {
            assert_eq!(geometry.local(most, of_table), most);
            assert!(geometry.local(most + 1, of_table) <= most);
            assert!(geometry.local(usize::MAX, of_table) <= most);
        }
    }
}

/// Regression: a page gave a field a value that its type refuses to store, and a statement gave NULL for the same row.
#[test]
fn a_number_that_is_none_is_null() {
    for (value, read) in
        [(f64::NAN, Raw::Null), (f64::INFINITY, Raw::Real(f64::INFINITY)), (0.5, Raw::Real(0.5))]
    {
        let bytes = [&[2, 7][..], &value.to_be_bytes()].concat();
        assert_eq!(Payload::new(&bytes).and_then(|mut payload| payload.next()), Some(read));
    }
}
