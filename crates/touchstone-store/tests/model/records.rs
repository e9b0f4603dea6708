//! The types of the model: between them they have every kind of key, field and index.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::fmt::Debug;
use touchstone_store::{Condition, KeyPart, Nested, Record};

/// What the model asks of a type.
pub trait Sample: Record<Key: Ord + KeyPart + Debug + Send> + Clone + PartialEq + Debug {
    /// Any record, also one that cannot be stored.
    fn any() -> BoxedStrategy<Self>;
    /// A record of a family, of about that many bytes, for many at once.
    fn nth(at: u16, size: usize) -> Self;
    /// Whether it has a value that no column can hold.
    fn is_refused(&self) -> bool {
        false
    }
    /// The value of its unique index.
    fn unique(&self) -> Option<String> {
        None
    }
    /// The same record with another's key.
    fn with_key_of(&self, other: &Self) -> Self;
    /// A condition.
    fn condition(columns: Self::Columns, parameter: u8) -> Condition<Self>;
    /// Whether the condition is true.
    fn meets(&self, parameter: u8) -> bool;
}

#[derive(Nested, Clone, Copy, Debug, PartialEq)]
pub enum Level {
    #[tag(1)]
    Low,
    #[tag(7)]
    High,
}

#[derive(Nested, Clone, Debug, PartialEq)]
pub enum Figure {
    #[tag(1)]
    Point,
    #[tag(2)]
    Circle(#[tag(1)] f64, #[tag(2)] Option<Box<Figure>>),
    #[tag(3)]
    Path {
        #[tag(1)]
        points: Vec<(i16, i16)>,
        #[tag(2)]
        name: String,
        #[tag(3)]
        levels: [Level; 2],
    },
}

/// A key that is the row's number, a plain index, a unique one.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Plain {
    #[record(key)]
    id: i64,
    #[record(index)]
    rank: Option<i32>,
    #[record(unique)]
    tag: Option<String>,
    level: Level,
    real: f64,
    big: u64,
    flag: bool,
    note: String,
    figure: Option<Figure>,
}

/// A key of text, in its order, and every kind of field.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Every {
    #[record(key)]
    name: String,
    a: i8,
    b: i16,
    c: i32,
    d: u8,
    e: u16,
    #[record(index)]
    f: u32,
    g: usize,
    h: isize,
    single: f32,
    list: Vec<i32>,
    figure: Figure,
    flag: bool,
    level: Level,
    bytes: Vec<u8>,
}

/// An `Option` of every kind of field.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Maybe {
    #[record(key)]
    id: u32,
    a: Option<i8>,
    b: Option<u64>,
    c: Option<f32>,
    d: Option<f64>,
    e: Option<bool>,
    f: Option<Level>,
    #[record(index)]
    g: Option<String>,
    h: Option<Vec<u8>>,
    i: Option<Vec<String>>,
    j: Option<Figure>,
}

/// Numbered rows with a key of text, and values of many pages.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(numbered)]
pub struct Numbered {
    #[record(key)]
    name: String,
    #[record(index)]
    size: u32,
    body: Vec<u8>,
}

/// A composite key, rows in its order, and values of many pages.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Pair {
    #[record(key)]
    book: String,
    #[record(key)]
    page: i32,
    text: String,
    #[record(unique)]
    mark: Option<u32>,
}

/// A key of bytes.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Blob {
    #[record(key)]
    key: Vec<u8>,
    text: Option<String>,
    real: f32,
}

/// Nothing but a key.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Mark {
    #[record(key)]
    name: String,
}

/// Lengths around those at which a row goes on in other pages, for pages of 512 and 4096 bytes.
fn length() -> impl Strategy<Value = usize> {
    let borders = prop::sample::select(vec![102usize, 477, 508, 985, 1002, 1493, 4061, 4092, 5094, 8153]);
    prop_oneof![
        4 => 0usize..40,
        4 => (borders, 0usize..80).prop_map(|(border, less)| (border + 10).saturating_sub(less)),
        1 => 0usize..20_000,
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => prop::sample::select(vec!["", "a", "ab", "b", "\0", "a\0b", "é", "\u{10ffff}", "zz"]).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ]
}

/// Few enough that they meet, and some that fill pages by themselves.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => text(),
        4 => (0u16..40).prop_map(|at| format!("name {at}")),
        1 => (0u8..4, length()).prop_map(|(at, length)| format!("{at}{}", "k".repeat(length.min(3000)))),
    ]
}

/// SQLite stores −0 as 0, so the model has none.
fn real() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-3i8..4).prop_map(f64::from),
        2 => prop::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 0.1, 1e18, -9.3e18, 9_007_199_254_740_993.0]),
        1 => any::<f64>().prop_map(|real| if real == 0.0 { 0.0 } else { real }),
    ]
    .prop_map(|real| if real.is_nan() { 0.5 } else { real })
}

fn single() -> impl Strategy<Value = f32> {
    prop_oneof![Just(1.0f32), Just(-0.1), Just(f32::MAX), Just(f32::INFINITY), Just(16_777_216.0)]
}

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Low), Just(Level::High)]
}

fn figure() -> impl Strategy<Value = Figure> {
    let path = (vec(any::<(i16, i16)>(), 0..4), text(), level(), level())
        .prop_map(|(points, name, one, two)| Figure::Path { points, name, levels: [one, two] });
    prop_oneof![
        Just(Figure::Point),
        real().prop_map(|real| Figure::Circle(real, Some(Box::new(Figure::Point)))),
        path,
    ]
}

impl Sample for Plain {
    fn any() -> BoxedStrategy<Plain> {
        let id = prop_oneof![8 => -3i64..12, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 4 => 0i64..400];
        let real = prop_oneof![30 => real(), 1 => Just(f64::NAN)];
        let big = prop_oneof![30 => any::<u32>().prop_map(u64::from), 1 => Just(u64::MAX), 1 => Just(i64::MAX as u64)];
        let tag = option::weighted(0.3, (0u8..12).prop_map(|tag| format!("tag {tag}")));
        let rank = option::of(-2i32..5);
        (id, rank, tag, level(), real, big, any::<bool>(), text(), option::of(figure()))
            .prop_map(|(id, rank, tag, level, real, big, flag, note, figure)| Plain {
                id,
                rank,
                tag,
                level,
                real,
                big,
                flag,
                note,
                figure,
            })
            .boxed()
    }

    fn nth(at: u16, size: usize) -> Plain {
        let note = "n".repeat(size);
        let rank = Some(i32::from(at % 7));
        let id = i64::from(at);
        Plain { id, rank, tag: None, level: Level::High, real: 1.5, big: 1, flag: true, note, figure: None }
    }

    fn is_refused(&self) -> bool {
        self.real.is_nan() || i64::try_from(self.big).is_err()
    }

    fn unique(&self) -> Option<String> {
        self.tag.clone()
    }

    fn with_key_of(&self, other: &Plain) -> Plain {
        Plain { id: other.id, ..self.clone() }
    }

    fn condition(columns: PlainColumns, parameter: u8) -> Condition<Plain> {
        columns.rank.lt(i32::from(parameter % 5)).or(columns.level.eq(Level::High).and(columns.flag.eq(true)))
    }

    fn meets(&self, parameter: u8) -> bool {
        let low = self.rank.is_some_and(|rank| rank < i32::from(parameter % 5));
        low || (self.level == Level::High && self.flag)
    }
}

impl Sample for Every {
    fn any() -> BoxedStrategy<Every> {
        let numbers = (any::<i8>(), any::<i16>(), any::<i32>(), any::<u8>(), any::<u16>(), any::<u32>());
        let wide = (0usize..=i64::MAX as usize, any::<isize>(), single(), any::<bool>(), level());
        let long = (vec(any::<i32>(), 0..5), figure(), vec(any::<u8>(), 0..20));
        (name(), numbers, wide, long)
            .prop_map(|(name, (a, b, c, d, e, f), (g, h, single, flag, level), (list, figure, bytes))| {
                Every { a, b, c, name, d, e, f: f % 9, g, h, single, list, figure, flag, level, bytes }
            })
            .boxed()
    }

    fn nth(at: u16, size: usize) -> Every {
        let (a, b, c, d, e, f, g, h) = (1, 2, 3, 4, at, u32::from(at % 3), 5, -6);
        let (figure, level, bytes) = (Figure::Point, Level::Low, vec![7; size]);
        let (name, list) = (format!("nth {at:05}"), vec![-1]);
        Every { a, b, c, name, d, e, f, g, h, single: 0.5, list, figure, flag: false, level, bytes }
    }

    fn with_key_of(&self, other: &Every) -> Every {
        Every { name: other.name.clone(), ..self.clone() }
    }

    fn condition(columns: EveryColumns, parameter: u8) -> Condition<Every> {
        columns.f.eq(u32::from(parameter % 9)).or(columns.name.starts_with("a"))
    }

    fn meets(&self, parameter: u8) -> bool {
        self.f == u32::from(parameter % 9) || self.name.starts_with('a')
    }
}

impl Sample for Maybe {
    fn any() -> BoxedStrategy<Maybe> {
        let big = option::of(prop_oneof![30 => any::<u32>().prop_map(u64::from), 1 => Just(u64::MAX)]);
        let real = option::of(prop_oneof![30 => real(), 1 => Just(f64::NAN)]);
        let few = (option::of(any::<i8>()), big, option::of(single()), real, option::of(any::<bool>()));
        let long =
            (option::of(vec(any::<u8>(), 0..300)), option::of(vec(text(), 0..3)), option::of(figure()));
        (0u32..40, few, option::of(level()), option::of(text()), long)
            .prop_map(|(id, (a, b, c, d, e), f, g, (h, i, j))| Maybe { id, a, b, c, d, e, f, g, h, i, j })
            .boxed()
    }

    fn nth(at: u16, size: usize) -> Maybe {
        let h = Some(vec![1; size]);
        let id = u32::from(at);
        Maybe { id, a: None, b: None, c: None, d: None, e: None, f: None, g: None, h, i: None, j: None }
    }

    fn is_refused(&self) -> bool {
        self.d.is_some_and(f64::is_nan) || self.b.is_some_and(|big| i64::try_from(big).is_err())
    }

    fn with_key_of(&self, other: &Maybe) -> Maybe {
        Maybe { id: other.id, ..self.clone() }
    }

    fn condition(columns: MaybeColumns, _: u8) -> Condition<Maybe> {
        columns.e.ne(true).or(columns.g.contains("b"))
    }

    fn meets(&self, _: u8) -> bool {
        self.e == Some(false) || self.g.as_ref().is_some_and(|text| text.contains('b'))
    }
}

impl Sample for Numbered {
    fn any() -> BoxedStrategy<Numbered> {
        (name(), 0u32..6, length(), any::<u8>())
            .prop_map(|(name, size, length, byte)| Numbered { name, size, body: vec![byte; length] })
            .boxed()
    }

    fn nth(at: u16, size: usize) -> Numbered {
        // Neither up nor down, so that the rows' order is not the key's.
        let name = format!("nth {:05}", at.wrapping_mul(7919));
        Numbered { name, size: u32::from(at % 4), body: vec![at.to_le_bytes()[0]; size] }
    }

    fn with_key_of(&self, other: &Numbered) -> Numbered {
        Numbered { name: other.name.clone(), ..self.clone() }
    }

    fn condition(columns: NumberedColumns, parameter: u8) -> Condition<Numbered> {
        columns.size.ge(u32::from(parameter % 6))
    }

    fn meets(&self, parameter: u8) -> bool {
        self.size >= u32::from(parameter % 6)
    }
}

impl Sample for Pair {
    fn any() -> BoxedStrategy<Pair> {
        let mark = option::weighted(0.3, 0u32..12);
        (length(), name(), mark, -2i32..3)
            .prop_map(|(length, book, mark, page)| Pair { text: "é".repeat(length / 2), book, mark, page })
            .boxed()
    }

    fn nth(at: u16, size: usize) -> Pair {
        Pair { text: "t".repeat(size), book: format!("book {}", at % 5), mark: None, page: i32::from(at) }
    }

    fn unique(&self) -> Option<String> {
        self.mark.map(|mark| mark.to_string())
    }

    fn with_key_of(&self, other: &Pair) -> Pair {
        Pair { book: other.book.clone(), page: other.page, ..self.clone() }
    }

    fn condition(columns: PairColumns, parameter: u8) -> Condition<Pair> {
        columns.page.between(0, i32::from(parameter % 3)).and(columns.book.ne("a"))
    }

    fn meets(&self, parameter: u8) -> bool {
        (0..=i32::from(parameter % 3)).contains(&self.page) && self.book != "a"
    }
}

impl Sample for Blob {
    fn any() -> BoxedStrategy<Blob> {
        let key = prop_oneof![4 => vec(0u8..3, 0..3), 1 => (any::<u8>(), length()).prop_map(|(byte, length)| vec![byte; length.min(2500)])];
        (key, option::of(text()), single()).prop_map(|(key, text, real)| Blob { key, text, real }).boxed()
    }

    fn nth(at: u16, size: usize) -> Blob {
        Blob { key: at.to_be_bytes().to_vec(), text: Some("b".repeat(size)), real: 2.0 }
    }

    fn with_key_of(&self, other: &Blob) -> Blob {
        Blob { key: other.key.clone(), ..self.clone() }
    }

    fn condition(columns: BlobColumns, parameter: u8) -> Condition<Blob> {
        columns.key.gt(vec![parameter % 3]).and(columns.text.is_not_null())
    }

    fn meets(&self, parameter: u8) -> bool {
        self.key > vec![parameter % 3] && self.text.is_some()
    }
}

impl Sample for Mark {
    fn any() -> BoxedStrategy<Mark> {
        name().prop_map(|name| Mark { name }).boxed()
    }

    fn nth(at: u16, size: usize) -> Mark {
        Mark { name: format!("{at:05}{}", "m".repeat(size)) }
    }

    fn with_key_of(&self, other: &Mark) -> Mark {
        other.clone()
    }

    fn condition(columns: MarkColumns, _: u8) -> Condition<Mark> {
        columns.name.lt("b")
    }

    fn meets(&self, _: u8) -> bool {
        *self.name < *"b"
    }
}
