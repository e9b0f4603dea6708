//! Values of columns and keys, for types made at run time.

use crate::types::record::{Columns, Shape};
pub use crate::types::value::Value;
use crate::types::value::{Field, Kind, Mismatch, Raw};
use std::cmp::Ordering;

macro_rules! value {
    ($($type:ty: $given:ident => $value:expr),* $(,)?) => {$(
        impl From<$type> for Value {
            fn from($given: $type) -> Value {
                $value
            }
        }
    )*};
}

value! {
    i64: value => Value::Integer(value),
    bool: value => Value::Integer(value.into()),
    f64: value => Value::Real(value),
    &str: value => Value::Text(value.to_owned()),
    String: value => Value::Text(value),
    &[u8]: value => Value::Blob(value.to_vec()),
    Vec<u8>: value => Value::Blob(value),
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// The key of a [`Dynamic`](super::Dynamic): as many values as the type's key has columns.
///
/// ```
/// use touchstone_store::dynamic::Key;
///
/// assert!(Key::from(1) < Key::from(2));
/// let page = Key::new(["Emma".into(), 3.into()]);
/// assert_eq!(page.values().len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Key(Box<[Value]>);

impl Key {
    /// The key of these values.
    ///
    /// ```
    /// # use touchstone_store::dynamic::Key;
    /// assert_eq!(Key::new([7.into()]), Key::from(7));
    /// ```
    #[must_use]
    pub fn new(values: impl Into<Vec<Value>>) -> Key {
        Key(values.into().into())
    }

    /// The values.
    ///
    /// ```
    /// # use touchstone_store::dynamic::{Key, Value};
    /// assert_eq!(Key::from("emma").values(), [Value::from("emma")]);
    /// ```
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.0
    }
}

impl<T: Into<Value>> From<T> for Key {
    fn from(value: T) -> Key {
        Key(Box::new([value.into()]))
    }
}

// Keys contain no NaN.
impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        compare(&self.0, &other.0)
    }
}

/// The order of keys in the file.
pub(super) fn compare(left: &[Value], right: &[Value]) -> Ordering {
    let pairs = left.iter().zip(right).map(|(left, right)| compare_values(left, right));
    pairs.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
}

fn compare_values(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Integer(_) | Value::Real(_) => 1,
        Value::Text(_) => 2,
        Value::Blob(_) => 3,
    };
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
        (Value::Real(left), Value::Real(right)) => left.total_cmp(right),
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::Blob(left), Value::Blob(right)) => left.cmp(right),
        // A key's column never holds values of two kinds.
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

/// The next column's value, or its default.
///
/// # Errors
/// If the value does not fit the column.
#[inline]
pub(super) fn next<'a>(
    shape: &'static Shape,
    at: usize,
    columns: &mut impl Columns<'a>,
) -> Result<Raw<'a>, (usize, Mismatch)> {
    let column = &shape.columns[at];
    let raw = columns.next();
    let fits = match (raw, column.kind) {
        (Raw::Null | Raw::Absent, _) => {
            return match shape.defaults.of(at) {
                Some(default) => Ok(default.raw()),
                None if column.nullable => Ok(Raw::Null),
                None => Err((at, Mismatch::Missing)),
            };
        }
        (Raw::Integer(_), Kind::Integer) | (Raw::Blob(_), Kind::Blob) => Ok(raw),
        (raw, Kind::Real) => f64::read(raw).map(Raw::Real),
        (raw, Kind::Text) => String::view(raw).map(|_| raw),
        _ => Err(Mismatch::Kind),
    };
    fits.map_err(|why| (at, why))
}

/// A copy of a value that [`next`] has checked.
#[inline]
pub(super) fn owned(raw: Raw<'_>) -> Value {
    match raw {
        Raw::Null | Raw::Absent => Value::Null,
        Raw::Integer(value) => Value::Integer(value),
        Raw::Real(value) => Value::Real(value),
        // `next` has checked that it is UTF-8.
        Raw::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        Raw::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}
