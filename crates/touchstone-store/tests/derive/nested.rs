//! Nested values: any of them comes back, and no bytes make decoding panic.

use super::{bytes, read};
use proptest::prelude::*;
use touchstone_store::{Mismatch, Nested};

#[derive(Nested, Clone, Debug, PartialEq)]
struct Everything {
    #[tag(7)]
    name: String,
    #[tag(1)]
    count: Option<u64>,
    #[tag(300)]
    bytes: Vec<u8>,
    #[tag(2)]
    shapes: Vec<Shape>,
    #[tag(5)]
    pair: (i8, bool),
    #[tag(6)]
    grid: [f32; 2],
    #[tag(4_000_000_000)]
    level: Level,
    #[tag(0)]
    empty: Empty,
}

#[derive(Nested, Clone, Debug, PartialEq)]
struct Empty {}

#[derive(Nested, Clone, Copy, Debug, PartialEq)]
enum Level {
    #[tag(0)]
    Low,
    #[tag(4_294_967_295)]
    High,
}

#[derive(Nested, Clone, Debug, PartialEq)]
enum Shape {
    #[tag(1)]
    Point,
    #[tag(2)]
    Circle(#[tag(1)] f64),
    #[tag(3)]
    Box {
        #[tag(2)]
        width: i64,
        #[tag(1)]
        height: i64,
    },
    #[tag(4)]
    Group(#[tag(1)] Vec<Shape>, #[tag(2)] Option<Box<Shape>>),
    #[tag(5)]
    Nothing {},
}

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Low), Just(Level::High)]
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Point),
        Just(Shape::Nothing {}),
        any::<f64>().prop_map(Shape::Circle),
        any::<(i64, i64)>().prop_map(|(width, height)| Shape::Box { width, height }),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        (prop::collection::vec(inner.clone(), 0..4), prop::option::of(inner))
            .prop_map(|(many, one)| Shape::Group(many, one.map(Box::new)))
    })
}

fn everything() -> impl Strategy<Value = Everything> {
    let plain = (".*", any::<Option<u64>>(), any::<Vec<u8>>(), any::<(i8, bool)>(), any::<[f32; 2]>());
    (plain, prop::collection::vec(shape(), 0..4), level()).prop_map(
        |((name, count, bytes, pair, grid), shapes, level)| Everything {
            name,
            count,
            bytes,
            shapes,
            pair,
            grid,
            level,
            empty: Empty {},
        },
    )
}

proptest! {
    #[test]
    fn any_value_comes_back(value in everything()) {
        prop_assert_eq!(read::<Everything>(&bytes(&value)), Ok(value));
    }

    #[test]
    fn any_vector_comes_back(values in prop::collection::vec(shape(), 0..4)) {
        prop_assert_eq!(read::<Vec<Shape>>(&bytes(&values)), Ok(values));
    }

    #[test]
    fn noise_is_refused_or_read_and_nothing_else(noise in any::<Vec<u8>>()) {
        let _ = read::<Everything>(&noise);
        let _ = read::<Vec<Shape>>(&noise);
        let _ = read::<Vec<Level>>(&noise);
    }

    /// Noise is seldom almost right, so a right value is damaged in one place.
    #[test]
    fn damage_is_refused_or_read_and_nothing_else(
        value in everything(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        end in any::<prop::sample::Index>(),
    ) {
        let mut damaged = bytes(&value);
        let at = at.index(damaged.len());
        damaged[at] = byte;
        let _ = read::<Everything>(&damaged);
        let end = end.index(damaged.len());
        prop_assert_eq!(read::<Everything>(&bytes(&value)[..end]), Err(Mismatch::Encoding));
    }
}

#[test]
fn lengths_that_lie_are_refused_at_the_end_of_the_bytes() {
    // A map, and an array, of 2^64 - 1 items, of which none follows.
    for head in [0xbb_u8, 0x9b] {
        let mut bytes = vec![head];
        bytes.extend([0xff; 8]);
        assert_eq!(read::<Everything>(&bytes), Err(Mismatch::Encoding));
        assert_eq!(read::<Vec<Shape>>(&bytes), Err(Mismatch::Encoding));
        // The same, in a field that the type does not know.
        let mut unknown = vec![0xa1, 0x18, 0x63];
        unknown.extend(&bytes);
        assert_eq!(read::<Everything>(&unknown), Err(Mismatch::Encoding));
    }
}

#[test]
fn bytes_after_the_value_are_refused() {
    assert_eq!(read::<Empty>(&[0xa0]), Ok(Empty {}));
    assert_eq!(read::<Empty>(&[0xa0, 0x00]), Err(Mismatch::Encoding));
    assert_eq!(read::<Vec<u32>>(&[0x81, 0x01]), Ok(vec![1]));
    assert_eq!(read::<Vec<u32>>(&[0x81, 0x01, 0x00]), Err(Mismatch::Encoding));
}

#[test]
fn what_is_unknown_is_skipped_however_deep() {
    // {99: [[[… 0 …]]]}
    let mut bytes = vec![0xa1, 0x18, 0x63];
    bytes.resize(1_000_000, 0x81);
    bytes.push(0);
    assert_eq!(read::<Empty>(&bytes), Ok(Empty {}));
    bytes.pop();
    assert_eq!(read::<Empty>(&bytes), Err(Mismatch::Encoding));
}
