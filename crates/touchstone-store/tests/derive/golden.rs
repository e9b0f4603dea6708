//! The bytes of nested values: they lie in files, so they must never change.

use super::{bytes, read};
use touchstone_store::Nested;

#[derive(Nested, Clone, Debug, PartialEq)]
struct Order {
    #[tag(3)]
    lines: Vec<Line>,
    #[tag(1)]
    name: String,
    #[tag(2)]
    note: Option<String>,
    #[tag(24)]
    seal: Vec<u8>,
    #[tag(4)]
    price: f64,
}

#[derive(Nested, Clone, Debug, PartialEq)]
enum Line {
    #[tag(1)]
    Blank,
    #[tag(2)]
    Item(#[tag(1)] i32, #[tag(2)] bool),
    #[tag(300)]
    Text {
        #[tag(9)]
        text: String,
    },
}

#[test]
fn a_value_has_the_bytes_that_files_have() {
    let order = Order {
        lines: vec![Line::Blank, Line::Item(-500, true), Line::Text { text: "é".into() }],
        name: "Ada".into(),
        note: None,
        seal: vec![0xde, 0xad],
        price: 1.5,
    };
    // In the diagnostic notation of RFC 8949, and as any CBOR reader shows it:
    // {1: "Ada", 2: null, 3: [1, [2, {1: -500, 2: true}], [300, {9: "é"}]], 4: 1.5, 24: h'dead'}
    let golden = concat!(
        "a5",
        "01",
        "63416461",
        "02",
        "f6",
        "03",
        "83",
        "01",
        "8202a2013901f302f5",
        "8219012ca10962c3a9",
        "04",
        "fb3ff8000000000000",
        "1818",
        "42dead",
    );
    let hexadecimal: String = bytes(&order).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hexadecimal, golden);
    assert_eq!(read::<Order>(&bytes(&order)), Ok(order));
}

#[test]
fn other_encoders_may_order_fields_as_they_like_and_say_one_twice() {
    #[derive(Nested, Debug, PartialEq)]
    struct Pair {
        #[tag(1)]
        a: u8,
        #[tag(2)]
        b: u8,
    }
    // {2: 20, 1: 9, 1: 10}
    assert_eq!(read::<Pair>(&[0xa3, 2, 20, 1, 9, 1, 10]), Ok(Pair { a: 10, b: 20 }));
}
