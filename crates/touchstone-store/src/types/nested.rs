//! Values inside one column: CBOR (RFC 8949), keyed by the tags that types declare. So types can change, and any CBOR
//! reader can decode a column. Comparisons and indexes work on whole columns: a value to query by must be a field.

use crate::types::cells::Cells;
use crate::types::depth;
use crate::types::value::Mismatch;
#[doc(hidden)]
pub use minicbor::data::Type;
use minicbor::encode::Write;
use minicbor::{Decoder, Encoder};
use std::convert::Infallible;
use std::ops::{Deref, DerefMut};

/// Writes CBOR into a buffer, which cannot fail.
///
/// ```
/// use touchstone_store::nested::{Nested, Writer};
///
/// fn length_of(value: &impl Nested) -> usize {
///     let mut bytes = Vec::new();
///     value.encode(&mut Writer::new(&mut bytes));
///     bytes.len()
/// }
///
/// assert_eq!(length_of(&1_u8), 1);
/// ```
pub struct Writer<'a>(Encoder<Appended<'a>>);

impl<'a> Writer<'a> {
    /// A writer at the end of a buffer.
    ///
    /// ```
    /// use touchstone_store::nested::Writer;
    ///
    /// let mut bytes = vec![1];
    /// let _ = Writer::new(&mut bytes).null();
    /// assert_eq!(bytes, [1, 0xf6]);
    /// ```
    #[inline]
    pub fn new(bytes: &'a mut Vec<u8>) -> Writer<'a> {
        Writer(Encoder::new(Appended(bytes)))
    }
}

impl<'a> Deref for Writer<'a> {
    type Target = Encoder<Appended<'a>>;

    #[inline]
    fn deref(&self) -> &Encoder<Appended<'a>> {
        &self.0
    }
}

impl<'a> DerefMut for Writer<'a> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Encoder<Appended<'a>> {
        &mut self.0
    }
}

/// A buffer to append to. The encoder writes a value in pieces of a few bytes. With `Vec`'s own implementation each
/// piece is a call into another crate: together an eighth of an update's instructions.
#[doc(hidden)]
pub struct Appended<'a>(&'a mut Vec<u8>);

impl Write for Appended<'_> {
    type Error = Infallible;

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Reads CBOR from a column.
///
/// ```
/// use touchstone_store::nested::{Nested, Reader};
///
/// // 0x18 says that the number is in the next byte.
/// assert_eq!(u32::decode(&mut Reader::new(&[0x18, 0xff])), Ok(255));
/// ```
pub type Reader<'a> = Decoder<'a>;

/// A type that can lie inside a column. Derive it with [`Nested`](macro@crate::Nested); numbers, `bool`, `String`,
/// `Option`, `Vec`, `Box`, arrays and pairs implement it.
///
/// ```
/// use touchstone_store::Nested;
///
/// #[derive(Nested, Clone, Debug, PartialEq)]
/// struct Position {
///     #[tag(1)]
///     x: f32,
///     #[tag(2)]
///     y: f32,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot lie inside a column",
    note = "derive `touchstone_store::Nested` for it, or use a type that has it: numbers, `bool`, `String`, \
            and `Option`, `Vec`, `Box`, arrays and pairs of what is nested"
)]
pub trait Nested: Sized + 'static {
    /// Whether the type's values include CBOR's null.
    const NULLABLE: bool = false;
    /// The borrowed form of a column of `Vec<Self>`: `&[u8]` for bytes, otherwise the vector itself.
    type Slice<'a>;

    /// Appends the value.
    ///
    /// ```
    /// use touchstone_store::nested::{Nested, Writer};
    ///
    /// let mut bytes = Vec::new();
    /// "hi".to_owned().encode(&mut Writer::new(&mut bytes));
    /// assert_eq!(bytes, [0x62, b'h', b'i']);
    /// ```
    fn encode(&self, writer: &mut Writer<'_>);

    /// Reads the value.
    ///
    /// ```
    /// use touchstone_store::nested::{Nested, Reader};
    ///
    /// assert_eq!(String::decode(&mut Reader::new(&[0x62, b'h', b'i'])), Ok("hi".to_owned()));
    /// assert!(u32::decode(&mut Reader::new(&[0x62, b'h', b'i'])).is_err());
    /// ```
    ///
    /// # Errors
    /// If the next item is not a value of this type.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, Mismatch>;

    /// The value of a field that the file lacks; `None` if the file must have it.
    ///
    /// ```
    /// use touchstone_store::Nested;
    ///
    /// assert_eq!(<Option<u32> as Nested>::absent(), Some(None));
    /// assert_eq!(u32::absent(), None);
    /// ```
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }

    /// Appends a vector of the type as a column.
    ///
    /// ```
    /// use touchstone_store::{Cells, Nested};
    ///
    /// let mut cells = Cells::default();
    /// u32::write_slice(&[1, 2, 3], &mut cells);
    /// ```
    fn write_slice<'a>(items: &'a [Self], cells: &mut Cells<'a>) {
        cells.nested(|bytes| encode_slice(items, &mut Writer::new(bytes)));
    }

    /// Reads a vector of the type from a column.
    ///
    /// ```
    /// use touchstone_store::Nested;
    ///
    /// assert_eq!(u32::read_slice(&[0x83, 1, 2, 3]), Ok(vec![1, 2, 3]));
    /// ```
    ///
    /// # Errors
    /// If the column is not such a vector.
    fn read_slice(bytes: &[u8]) -> Result<Vec<Self>, Mismatch> {
        whole(bytes, decode_slice)
    }

    /// As [`read_slice`](Nested::read_slice), but borrowed if the type can be.
    ///
    /// ```
    /// use touchstone_store::Nested;
    ///
    /// let bytes = [1, 2, 3];
    /// let borrowed: &[u8] = u8::view_slice(&bytes).expect("bytes are as they lie");
    /// assert_eq!(borrowed, bytes);
    /// ```
    ///
    /// # Errors
    /// If the column is not such a vector.
    fn view_slice(bytes: &[u8]) -> Result<Self::Slice<'_>, Mismatch>;

    /// Appends a vector of the type inside another value.
    ///
    /// ```
    /// use touchstone_store::nested::{Nested, Writer};
    ///
    /// let mut bytes = Vec::new();
    /// u32::encode_slice(&[1, 2, 3], &mut Writer::new(&mut bytes));
    /// assert_eq!(bytes, [0x83, 1, 2, 3]);
    /// ```
    fn encode_slice(items: &[Self], writer: &mut Writer<'_>) {
        encode_slice(items, writer);
    }

    /// Reads a vector of the type from inside another value.
    ///
    /// ```
    /// use touchstone_store::nested::{Nested, Reader};
    ///
    /// assert_eq!(u32::decode_slice(&mut Reader::new(&[0x83, 1, 2, 3])), Ok(vec![1, 2, 3]));
    /// ```
    ///
    /// # Errors
    /// If the next item is not such a vector.
    fn decode_slice(reader: &mut Reader<'_>) -> Result<Vec<Self>, Mismatch> {
        decode_slice(reader)
    }
}

/// The most items to reserve memory for before they are read: a damaged length must not exhaust the memory.
const RESERVED_MAX: u64 = 4096;

fn encode_slice<T: Nested>(items: &[T], writer: &mut Writer<'_>) {
    written(writer.array(items.len() as u64));
    depth::write(|| items.iter().for_each(|item| item.encode(writer)));
}

fn decode_slice<T: Nested>(reader: &mut Reader<'_>) -> Result<Vec<T>, Mismatch> {
    depth::read(|| decode_items(reader)).unwrap_or(Err(Mismatch::Encoding))
}

fn decode_items<T: Nested>(reader: &mut Reader<'_>) -> Result<Vec<T>, Mismatch> {
    let length = reader.array().map_err(broken)?.ok_or(Mismatch::Encoding)?;
    let mut items = Vec::with_capacity(length.min(RESERVED_MAX) as usize);
    for _ in 0..length {
        items.push(T::decode(reader)?);
    }
    Ok(items)
}

/// Writing into memory cannot fail.
#[doc(hidden)]
#[inline]
pub fn written<T>(result: Result<T, minicbor::encode::Error<Infallible>>) {
    if let Err(error) = result {
        unreachable!("writing into memory failed: {error}");
    }
}

/// The column's bytes are not CBOR of the type.
#[doc(hidden)]
pub fn broken(_: minicbor::decode::Error) -> Mismatch {
    Mismatch::Encoding
}

pub(crate) fn to_bytes<T: Nested>(value: &T, bytes: &mut Vec<u8>) {
    value.encode(&mut Writer::new(bytes));
}

pub(crate) fn from_bytes<T: Nested>(bytes: &[u8]) -> Result<T, Mismatch> {
    whole(bytes, T::decode)
}

/// Decodes a value that must end with the last byte.
fn whole<V>(
    bytes: &[u8],
    decode: impl FnOnce(&mut Reader<'_>) -> Result<V, Mismatch>,
) -> Result<V, Mismatch> {
    let mut reader = Decoder::new(bytes);
    let value = decode(&mut reader)?;
    if reader.position() == bytes.len() { Ok(value) } else { Err(Mismatch::Encoding) }
}

/// The borrowed form of a vector is the vector itself.
macro_rules! owned_slice {
    () => {
        type Slice<'a> = Vec<Self>;

        fn view_slice(bytes: &[u8]) -> Result<Vec<Self>, Mismatch> {
            Self::read_slice(bytes)
        }
    };
}

macro_rules! number {
    ($($type:ty: $name:ident),*) => {$(
        impl Nested for $type {
            owned_slice!();

            #[inline]
            fn encode(&self, writer: &mut Writer<'_>) {
                written(writer.$name(*self));
            }

            #[inline]
            fn decode(reader: &mut Reader<'_>) -> Result<$type, Mismatch> {
                reader.$name().map_err(broken)
            }
        }
    )*};
}

number!(i8: i8, i16: i16, i32: i32, i64: i64, u16: u16, u32: u32, u64: u64, f32: f32, f64: f64, bool: bool);

impl Nested for u8 {
    type Slice<'a> = &'a [u8];

    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) {
        written(writer.u8(*self));
    }

    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<u8, Mismatch> {
        reader.u8().map_err(broken)
    }

    #[inline]
    fn write_slice<'a>(items: &'a [u8], cells: &mut Cells<'a>) {
        cells.blob(items);
    }

    #[inline]
    fn read_slice(bytes: &[u8]) -> Result<Vec<u8>, Mismatch> {
        Ok(bytes.to_vec())
    }

    #[inline]
    fn view_slice(bytes: &[u8]) -> Result<&[u8], Mismatch> {
        Ok(bytes)
    }

    fn encode_slice(items: &[u8], writer: &mut Writer<'_>) {
        written(writer.bytes(items));
    }

    fn decode_slice(reader: &mut Reader<'_>) -> Result<Vec<u8>, Mismatch> {
        Ok(reader.bytes().map_err(broken)?.to_vec())
    }
}

impl Nested for String {
    owned_slice!();

    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) {
        written(writer.str(self));
    }

    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<String, Mismatch> {
        Ok(reader.str().map_err(broken)?.to_owned())
    }
}

impl<T: Nested> Nested for Vec<T> {
    owned_slice!();

    fn encode(&self, writer: &mut Writer<'_>) {
        T::encode_slice(self, writer);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Vec<T>, Mismatch> {
        T::decode_slice(reader)
    }
}

impl<T: Nested> Nested for Option<T> {
    const NULLABLE: bool = true;
    owned_slice!();

    fn encode(&self, writer: &mut Writer<'_>) {
        const { assert!(!T::NULLABLE, "an Option of an Option cannot be nested: both would be null") };
        match self {
            Some(value) => value.encode(writer),
            None => written(writer.null()),
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Option<T>, Mismatch> {
        if reader.datatype().map_err(broken)? == Type::Null {
            reader.null().map_err(broken)?;
            return Ok(None);
        }
        T::decode(reader).map(Some)
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl<T: Nested> Nested for Box<T> {
    const NULLABLE: bool = T::NULLABLE;
    owned_slice!();

    fn encode(&self, writer: &mut Writer<'_>) {
        depth::write(|| (**self).encode(writer));
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Box<T>, Mismatch> {
        depth::read(|| T::decode(reader)).unwrap_or(Err(Mismatch::Encoding)).map(Box::new)
    }

    fn absent() -> Option<Box<T>> {
        T::absent().map(Box::new)
    }
}

impl<T: Nested, const N: usize> Nested for [T; N] {
    owned_slice!();

    fn encode(&self, writer: &mut Writer<'_>) {
        T::encode_slice(self, writer);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<[T; N], Mismatch> {
        T::decode_slice(reader)?.try_into().map_err(|_| Mismatch::Encoding)
    }
}

impl<A: Nested, B: Nested> Nested for (A, B) {
    owned_slice!();

    fn encode(&self, writer: &mut Writer<'_>) {
        written(writer.array(2));
        self.0.encode(writer);
        self.1.encode(writer);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<(A, B), Mismatch> {
        match reader.array().map_err(broken)? {
            Some(2) => Ok((A::decode(reader)?, B::decode(reader)?)),
            _ => Err(Mismatch::Encoding),
        }
    }
}
