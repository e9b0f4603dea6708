//! Values as the file has them, and how SQL compares them; random ones, of few enough that they meet.

use rusqlite::types::Value as SqlValue;
use std::cmp::Ordering;
use std::rc::Rc;

/// A column's value.
#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A record, column by column.
pub type Row = Rc<Vec<Value>>;

impl PartialEq for Value {
    /// To the bit: the file has no second zero, so nothing that is read from it has.
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Integer(left), Value::Integer(right)) => left == right,
            (Value::Real(left), Value::Real(right)) => left.to_bits() == right.to_bits(),
            (Value::Text(left), Value::Text(right)) => left == right,
            (Value::Bytes(left), Value::Bytes(right)) => left == right,
            _ => false,
        }
    }
}

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    pub fn to_sql(&self) -> SqlValue {
        match self {
            Value::Null => SqlValue::Null,
            Value::Integer(value) => SqlValue::Integer(*value),
            Value::Real(value) => SqlValue::Real(*value),
            Value::Text(text) => SqlValue::Text(text.clone()),
            Value::Bytes(bytes) => SqlValue::Blob(bytes.clone()),
        }
    }
}

/// Two values of one column; unknown where one is NULL.
pub fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Some(left.cmp(right)),
        (Value::Real(left), Value::Real(right)) => left.partial_cmp(right),
        (Value::Text(left), Value::Text(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Value::Bytes(left), Value::Bytes(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// How rows are ordered by a column: NULL before all.
pub fn order(left: &Value, right: &Value) -> Ordering {
    compare(left, right).unwrap_or_else(|| (!left.is_null()).cmp(&!right.is_null()))
}

/// Which of two rows has the lower key.
pub fn by_key(keys: usize, left: &Row, right: &Row) -> Ordering {
    let unequal = left[..keys].iter().zip(&right[..keys]).map(|(left, right)| order(left, right));
    unequal.fold(Ordering::Equal, Ordering::then)
}

/// Splitmix64: quick, and the same everywhere.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn within(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low) as u64) as i64
    }

    /// Whether something happens that does so in so many of a hundred cases.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// What a column can hold, besides NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    Integer,
    Bool,
    Real,
    Text,
    Bytes,
}

const TEXTS: [&str; 18] = [
    "",
    "a",
    "ab",
    "abc",
    "b",
    "ba",
    "A",
    "\0",
    "a\0b",
    "é",
    "e\u{301}",
    "\u{10ffff}",
    "\u{10ffff}a",
    "%",
    "abcdefgh",
    "abcdefghi",
    "abcdefghj",
    "z",
];
const REALS: [f64; 9] = [
    0.0,
    -0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MIN_POSITIVE,
    9_007_199_254_740_992.0,
    9.2e18,
    -1e300,
    0.1,
];
const BYTES: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"\x01", b"\xff", b"\xff\xff", b"12345678", b"123456789"];

impl Domain {
    /// A value that many rows have.
    pub fn any(self, random: &mut Random) -> Value {
        match self {
            Domain::Integer => Value::Integer(match random.below(40) {
                0 => *random.pick(&[i64::MIN, i64::MAX, i64::MIN + 1, 1 << 53, (1 << 53) + 1]),
                _ => random.within(-4, 9),
            }),
            Domain::Bool => Value::Integer(random.within(0, 2)),
            Domain::Real if random.percent(25) => Value::Real(*random.pick(&REALS)),
            Domain::Real => Value::Real(random.within(-12, 13) as f64 / 4.0),
            Domain::Text => Value::Text((*random.pick(&TEXTS)).to_owned()),
            Domain::Bytes => Value::Bytes(random.pick(&BYTES).to_vec()),
        }
    }

    /// A value of a key, of which there are some fifty.
    pub fn key(self, random: &mut Random, parts: usize) -> Value {
        match (self, parts) {
            (Domain::Integer, 1) => Value::Integer(match random.below(30) {
                0 => *random.pick(&[i64::MIN, i64::MAX, i64::MAX - 1]),
                _ => random.within(-6, 44),
            }),
            (Domain::Integer, _) => Value::Integer(match random.below(40) {
                0 => *random.pick(&[i64::MIN, i64::MAX]),
                _ => random.within(-2, 6),
            }),
            (Domain::Text, 1) if random.percent(60) => Value::Text(format!("k{}", random.below(40))),
            (domain, _) => domain.any(random),
        }
    }
}

impl Domain {
    /// A value, whichever.
    pub fn least(self) -> Value {
        match self {
            Domain::Integer | Domain::Bool => Value::Integer(0),
            Domain::Real => Value::Real(0.0),
            Domain::Text => Value::Text(String::new()),
            Domain::Bytes => Value::Bytes(Vec::new()),
        }
    }
}
