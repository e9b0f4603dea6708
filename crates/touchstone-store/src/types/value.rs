//! A column's value on its way between a Rust type and the file: borrowed from either, never copied in between.
//! SQLite's own treatment of values (comparison, affinity) is not here.

use crate::types::cells::{Cell, Cells};
use crate::types::nested::{self, Nested};
use ascii::AsciiStr;
use std::fmt;

#[cfg(test)]
mod tests;

/// The kind of a column's values.
///
/// ```
/// use touchstone_store::{Field, Kind};
///
/// assert_eq!(u8::KIND, Kind::Integer);
/// assert_eq!(<Option<f64> as Field>::KIND, Kind::Real);
/// assert_eq!(Vec::<u8>::KIND, Kind::Blob);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A signed integer of up to 64 bits.
    Integer,
    /// A floating point number of 64 bits.
    Real,
    /// Text in UTF-8.
    Text,
    /// Bytes.
    Blob,
}

impl Kind {
    /// The type's name in a `create table`.
    ///
    /// ```
    /// assert_eq!(touchstone_store::Kind::Integer.sql(), "INTEGER");
    /// ```
    pub const fn sql(self) -> &'static str {
        match self {
            Kind::Integer => "INTEGER",
            Kind::Real => "REAL",
            Kind::Text => "TEXT",
            Kind::Blob => "BLOB",
        }
    }
}

/// A value as it lies in the file.
///
/// ```
/// use touchstone_store::{Field, Raw};
///
/// assert_eq!(String::read(Raw::Text(b"write")), Ok("write".to_owned()));
/// assert_eq!(<Option<i64> as Field>::read(Raw::Absent), Ok(None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Raw<'a> {
    /// The row was written before the column was added.
    Absent,
    /// SQL's NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating point number.
    Real(f64),
    /// Text, not yet known to be UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

impl Raw<'_> {
    /// A value of a key, for a message: text in quotes, and bytes as SQL writes them. Of a long value the beginning.
    pub(crate) fn in_words(self) -> String {
        const SHOWN_MAX: usize = 60;
        match self {
            Raw::Absent | Raw::Null => "null".to_owned(),
            Raw::Integer(value) => value.to_string(),
            Raw::Real(value) => value.to_string(),
            Raw::Text(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let shown: String = text.chars().take(SHOWN_MAX).collect();
                format!("{shown:?}{}", if shown.len() < text.len() { "…" } else { "" })
            }
            Raw::Blob(bytes) => {
                let shown: String = bytes.iter().take(SHOWN_MAX).map(|byte| format!("{byte:02x}")).collect();
                format!("x'{shown}'{}", if bytes.len() > SHOWN_MAX { "…" } else { "" })
            }
        }
    }
}

/// Why a stored value does not fit its field's type.
///
/// ```
/// use touchstone_store::{Field, Mismatch, Raw};
///
/// assert_eq!(u8::read(Raw::Integer(256)), Err(Mismatch::Range));
/// assert_eq!(u8::read(Raw::Text(b"1")), Err(Mismatch::Kind));
/// assert_eq!(Mismatch::Range.to_string(), "it is beyond the field's range");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The value is NULL or the row lacks the column, and the field is not an `Option` and has no default.
    Missing,
    /// The file holds another kind of value.
    Kind,
    /// The number is beyond the field's range.
    Range,
    /// The text is not UTF-8.
    Utf8,
    /// The bytes are not an encoding of the nested value.
    Encoding,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Mismatch::Missing => {
                "it is NULL or was written before the field existed, and the field has no default"
            }
            Mismatch::Kind => "it is of another kind",
            Mismatch::Range => "it is beyond the field's range",
            Mismatch::Utf8 => "it is text that is no UTF-8",
            Mismatch::Encoding => {
                "it is no encoding of the nested type, or has a variant that the type does not know"
            }
        })
    }
}

/// Why a value of a field cannot be stored.
///
/// ```
/// use touchstone_store::{ErrorKind, Record, Store};
///
/// #[derive(Record)]
/// struct Reading {
///     #[record(key)]
///     id: i64,
///     celsius: f64,
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("readings.db"))?;
/// let error = store.insert(&Reading { id: 1, celsius: f64::NAN }).expect_err("SQLite has no NaN");
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// SQLite has no NaN: it would come back as NULL.
    Nan,
    /// The number is beyond a signed 64-bit integer.
    Range,
    /// Values are nested more than 128 deep.
    Depth,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Refusal::Nan => "NaN cannot be stored in a column: store an `Option`, or nest the value",
            Refusal::Range => "the number is beyond a signed 64-bit integer",
            Refusal::Depth => "its values lie more than 128 deep within each other",
        })
    }
}

/// A type whose values are one column: integers, floats, `bool`, `String`, `Vec<u8>`, an `Option` of these, and types
/// that derive [`Nested`](macro@crate::Nested).
///
/// ```
/// use touchstone_store::{Field, Kind};
///
/// assert_eq!(<Option<u32> as Field>::KIND, Kind::Integer);
/// assert!(<Option<u32> as Field>::NULLABLE);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a column",
    note = "derive `touchstone_store::Nested` for it, or use a type that is one: numbers, `bool`, `String`, \
            `Vec<u8>`, a `Vec` of what is nested, and an `Option` of these"
)]
pub trait Field: Sized + 'static {
    /// The kind of the column.
    const KIND: Kind;
    /// Whether the type's values include NULL.
    const NULLABLE: bool = false;
    /// The type without its `Option`, for comparisons: as in SQL, they concern values, not NULL.
    type Plain: Field;
    /// The value borrowed from the file, if its type can be borrowed.
    type View<'a>;

    /// Appends the value to the row.
    ///
    /// ```
    /// use touchstone_store::{Cells, Field};
    ///
    /// let mut cells = Cells::default();
    /// 20_i64.write(&mut cells);
    /// ```
    fn write<'a>(&'a self, cells: &mut Cells<'a>);

    /// Reads a stored value.
    ///
    /// ```
    /// use touchstone_store::{Field, Raw};
    ///
    /// assert_eq!(bool::read(Raw::Integer(1)), Ok(true));
    /// assert!(bool::read(Raw::Integer(2)).is_err());
    /// ```
    ///
    /// # Errors
    /// If the stored value does not fit this type.
    fn read(raw: Raw<'_>) -> Result<Self, Mismatch>;

    /// As [`read`](Field::read), without a copy.
    ///
    /// ```
    /// use touchstone_store::{Field, Raw};
    ///
    /// let text: &'static str = String::view(Raw::Text(b"write")).expect("it is text");
    /// assert_eq!(text, "write");
    /// ```
    ///
    /// # Errors
    /// If the stored value does not fit this type.
    fn view(raw: Raw<'_>) -> Result<Self::View<'_>, Mismatch>;
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Field for $type {
            const KIND: Kind = Kind::Integer;
            type Plain = $type;
            type View<'a> = $type;

            #[inline]
            fn write<'a>(&'a self, cells: &mut Cells<'a>) {
                match i64::try_from(*self) {
                    Ok(value) => cells.integer(value),
                    Err(_) => cells.refuse(Refusal::Range),
                }
            }

            #[inline]
            fn read(raw: Raw<'_>) -> Result<$type, Mismatch> {
                match raw {
                    Raw::Integer(value) => <$type>::try_from(value).map_err(|_| Mismatch::Range),
                    other => Err(unfit(other)),
                }
            }

            #[inline]
            fn view(raw: Raw<'_>) -> Result<$type, Mismatch> {
                <$type>::read(raw)
            }
        }
    )*};
}

integer!(i8, i16, i32, i64, u8, u16, u32, u64, isize, usize);

impl Field for bool {
    const KIND: Kind = Kind::Integer;
    type Plain = bool;
    type View<'a> = bool;

    #[inline]
    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        cells.integer(i64::from(*self));
    }

    #[inline]
    fn read(raw: Raw<'_>) -> Result<bool, Mismatch> {
        match raw {
            Raw::Integer(0) => Ok(false),
            Raw::Integer(1) => Ok(true),
            Raw::Integer(_) => Err(Mismatch::Range),
            other => Err(unfit(other)),
        }
    }

    #[inline]
    fn view(raw: Raw<'_>) -> Result<bool, Mismatch> {
        bool::read(raw)
    }
}

macro_rules! real {
    ($($type:ty: $narrow:expr),*) => {$(
        impl Field for $type {
            const KIND: Kind = Kind::Real;
            type Plain = $type;
            type View<'a> = $type;

            #[inline]
            fn write<'a>(&'a self, cells: &mut Cells<'a>) {
                if self.is_nan() {
                    cells.refuse(Refusal::Nan);
                } else {
                    cells.real(f64::from(*self));
                }
            }

            #[inline]
            fn read(raw: Raw<'_>) -> Result<$type, Mismatch> {
                match raw {
                    Raw::Real(value) => $narrow(value),
                    // SQLite stores a whole number of a REAL column as an integer, to save bytes.
                    #[expect(clippy::cast_precision_loss, reason = "only what was a float is stored so")]
                    Raw::Integer(value) => $narrow(value as f64),
                    other => Err(unfit(other)),
                }
            }

            #[inline]
            fn view(raw: Raw<'_>) -> Result<$type, Mismatch> {
                <$type>::read(raw)
            }
        }
    )*};
}

real!(f64: Ok, f32: narrowed);

/// The nearest `f32`, for a field that was an `f64` before. A finite number beyond its range is refused.
#[inline]
fn narrowed(wide: f64) -> Result<f32, Mismatch> {
    #[expect(clippy::cast_possible_truncation, reason = "the nearest is asked for")]
    let value = wide as f32;
    if value.is_infinite() && wide.is_finite() { Err(Mismatch::Range) } else { Ok(value) }
}

/// Checks that text is UTF-8. Most short texts are ASCII, and take half the time or less with a check for ASCII alone.
/// Long ones are checked by the processor's vectors, in a tenth of the time if they are not ASCII.
#[inline]
fn text(bytes: &[u8]) -> Result<&str, Mismatch> {
    /// From this length on vectors take less time than the check for ASCII.
    const LONG: usize = 64;
    if bytes.len() < LONG
        && let Ok(ascii) = AsciiStr::from_ascii(bytes)
    {
        return Ok(ascii.as_str());
    }
    simdutf8::basic::from_utf8(bytes).map_err(|_| Mismatch::Utf8)
}

impl Field for String {
    const KIND: Kind = Kind::Text;
    type Plain = String;
    type View<'a> = &'a str;

    #[inline]
    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        cells.text(self);
    }

    #[inline]
    fn read(raw: Raw<'_>) -> Result<String, Mismatch> {
        String::view(raw).map(str::to_owned)
    }

    #[inline]
    fn view(raw: Raw<'_>) -> Result<&str, Mismatch> {
        match raw {
            Raw::Text(bytes) => text(bytes),
            other => Err(unfit(other)),
        }
    }
}

impl<T: Nested> Field for Vec<T> {
    const KIND: Kind = Kind::Blob;
    type Plain = Vec<T>;
    type View<'a> = T::Slice<'a>;

    #[inline]
    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        T::write_slice(self, cells);
    }

    #[inline]
    fn read(raw: Raw<'_>) -> Result<Vec<T>, Mismatch> {
        T::read_slice(blob(raw)?)
    }

    #[inline]
    fn view(raw: Raw<'_>) -> Result<T::Slice<'_>, Mismatch> {
        T::view_slice(blob(raw)?)
    }
}

impl<T: Field> Field for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    type Plain = T::Plain;
    type View<'a> = Option<T::View<'a>>;

    #[inline]
    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        const { assert!(!T::NULLABLE, "an Option of an Option cannot be stored: both would be NULL") };
        match self {
            Some(value) => value.write(cells),
            None => cells.null(),
        }
    }

    #[inline]
    fn read(raw: Raw<'_>) -> Result<Option<T>, Mismatch> {
        match raw {
            Raw::Null | Raw::Absent => Ok(None),
            raw => T::read(raw).map(Some),
        }
    }

    #[inline]
    fn view(raw: Raw<'_>) -> Result<Option<T::View<'_>>, Mismatch> {
        match raw {
            Raw::Null | Raw::Absent => Ok(None),
            raw => T::view(raw).map(Some),
        }
    }
}

/// The bytes of a blob.
///
/// # Errors
/// If the value is not a blob.
#[inline]
pub(crate) fn blob(raw: Raw<'_>) -> Result<&[u8], Mismatch> {
    match raw {
        Raw::Blob(bytes) => Ok(bytes),
        other => Err(unfit(other)),
    }
}

/// Why a value of another kind does not fit the field.
#[cold]
pub(crate) fn unfit(raw: Raw<'_>) -> Mismatch {
    match raw {
        Raw::Absent | Raw::Null => Mismatch::Missing,
        _ => Mismatch::Kind,
    }
}

/// An owned value of a column.
///
/// ```
/// use touchstone_store::dynamic::Value;
///
/// assert_eq!(Value::from("write"), Value::Text("write".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// As [`Raw::Null`].
    Null,
    /// As [`Raw::Integer`].
    Integer(i64),
    /// As [`Raw::Real`].
    Real(f64),
    /// As [`Raw::Text`].
    Text(String),
    /// As [`Raw::Blob`].
    Blob(Vec<u8>),
}

impl Value {
    /// The form in which a column holds the value. A value that cannot be stored becomes NULL.
    ///
    /// ```
    /// use touchstone_store::dynamic::Value;
    ///
    /// assert_eq!(Value::of(&7_u8), Value::Integer(7));
    /// assert_eq!(Value::of(&u64::MAX), Value::Null);
    /// ```
    pub fn of<F: Field>(value: &F) -> Value {
        let mut cells = Cells::default();
        value.write(&mut cells);
        Value::first(&cells)
    }

    /// The first value of a row.
    pub(crate) fn first(cells: &Cells<'_>) -> Value {
        match cells.get(0) {
            None | Some(Cell::Null) => Value::Null,
            Some(Cell::Integer(value)) => Value::Integer(*value),
            Some(Cell::Real(value)) => Value::Real(*value),
            Some(Cell::Text(text)) => Value::Text((*text).to_owned()),
            Some(Cell::Blob(bytes)) => Value::Blob(bytes.to_vec()),
            Some(Cell::Nested(range)) => Value::Blob(cells.bytes(range).to_vec()),
        }
    }

    /// An owned copy of a value; `None` for text that is not UTF-8.
    pub(crate) fn of_raw(raw: Raw<'_>) -> Option<Value> {
        Some(match raw {
            Raw::Null | Raw::Absent => Value::Null,
            Raw::Integer(value) => Value::Integer(value),
            Raw::Real(value) => Value::Real(value),
            Raw::Text(bytes) => Value::Text(std::str::from_utf8(bytes).ok()?.to_owned()),
            Raw::Blob(bytes) => Value::Blob(bytes.to_vec()),
        })
    }

    /// Appends the value.
    pub(crate) fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        match self {
            Value::Null => cells.null(),
            Value::Integer(value) => cells.integer(*value),
            Value::Real(value) => cells.real(*value),
            Value::Text(text) => cells.text(text),
            Value::Blob(bytes) => cells.blob(bytes),
        }
    }

    /// The value, borrowed.
    ///
    /// ```
    /// use touchstone_store::Raw;
    /// use touchstone_store::dynamic::Value;
    ///
    /// assert_eq!(Value::Integer(7).raw(), Raw::Integer(7));
    /// ```
    pub fn raw(&self) -> Raw<'_> {
        match self {
            Value::Null => Raw::Null,
            Value::Integer(value) => Raw::Integer(*value),
            Value::Real(value) => Raw::Real(*value),
            Value::Text(text) => Raw::Text(text.as_bytes()),
            Value::Blob(bytes) => Raw::Blob(bytes),
        }
    }
}

/// Writes the value as a blob of CBOR: the derive of [`Nested`](macro@crate::Nested) implements [`Field`] with it.
#[doc(hidden)]
pub fn write_nested<T: Nested>(value: &T, cells: &mut Cells<'_>) {
    cells.nested(|bytes| nested::to_bytes(value, bytes));
}

/// Reads the value from a blob of CBOR: the derive of [`Nested`](macro@crate::Nested) implements [`Field`] with it.
///
/// # Errors
/// If the stored value does not fit this type.
#[doc(hidden)]
pub fn read_nested<T: Nested>(raw: Raw<'_>) -> Result<T, Mismatch> {
    nested::from_bytes(blob(raw)?)
}

/// Reads the tag of a variant: the derive of [`Nested`](macro@crate::Nested) implements [`Field`] with it for an enum
/// without payloads.
///
/// # Errors
/// If the stored value is not an integer, or beyond the range of tags.
#[doc(hidden)]
#[inline]
pub fn read_tag(raw: Raw<'_>) -> Result<u32, Mismatch> {
    u32::read(raw)
}
