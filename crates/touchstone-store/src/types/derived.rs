//! Functions for the code that the derives generate, so that they generate little. Only [`Value`] is public, as
//! `dynamic::Value`. The others are no interface: they change with the derives, which are always of the same version.

use crate::types::nested::{Nested, Type, broken, written};
pub use crate::types::nested::{Reader, Writer};
use crate::types::record::Columns;
pub use crate::types::record::Defaults;
use crate::types::value::{Field, Mismatch, Raw};
pub use crate::types::value::{Value, read_nested, read_tag, write_nested};
use std::sync::LazyLock;

/// Why a record cannot be read: the column's position, and the reason.
type Fault = (usize, Mismatch);

/// Reads the next column.
///
/// # Errors
/// If the stored value does not fit its field's type.
#[inline]
pub fn read_column<'a, F: Field, C: Columns<'a>>(row: &mut C, place: usize) -> Result<F, Fault> {
    F::read(row.next()).map_err(|mismatch| (place, mismatch))
}

/// Reads the next column, whose field has a default.
///
/// # Errors
/// If the stored value does not fit its field's type.
#[inline]
pub fn read_column_or<'a, F: Field, C: Columns<'a>>(
    row: &mut C,
    place: usize,
    default: impl FnOnce() -> F,
) -> Result<F, Fault> {
    let raw = row.next();
    if lacks(raw) { Ok(default()) } else { F::read(raw).map_err(|mismatch| (place, mismatch)) }
}

/// Borrows the next column.
///
/// # Errors
/// If the stored value does not fit its field's type.
#[inline]
pub fn view_column<'a, F: Field, C: Columns<'a>>(row: &mut C, place: usize) -> Result<F::View<'a>, Fault> {
    F::view(row.next()).map_err(|mismatch| (place, mismatch))
}

/// Borrows the next column, or the default of its field.
///
/// # Errors
/// If the stored value does not fit its field's type.
#[inline]
pub fn view_column_or<'a, F: Field, C: Columns<'a>>(
    row: &mut C,
    place: usize,
    default_of: impl FnOnce(usize) -> Option<&'static Value>,
) -> Result<F::View<'a>, Fault> {
    let raw = row.next();
    let raw = if lacks(raw) { default_of(place).map_or(raw, Value::raw) } else { raw };
    F::view(raw).map_err(|mismatch| (place, mismatch))
}

/// Whether the field gets its default. Its own values never include NULL: the derive refuses a default for an `Option`.
#[inline]
fn lacks(raw: Raw<'_>) -> bool {
    matches!(raw, Raw::Absent | Raw::Null)
}

/// A default in the form of a column's value, made at its first use.
pub type DefaultColumn = LazyLock<Value>;

/// Begins the fields of a struct or a payload.
#[inline]
pub fn write_map(writer: &mut Writer<'_>, fields: u64) {
    written(writer.map(fields));
}

/// Appends the tag of a field, or of a variant without a payload.
#[inline]
pub fn write_tag(writer: &mut Writer<'_>, tag: u32) {
    written(writer.u32(tag));
}

/// Begins a variant with a payload.
#[inline]
pub fn write_variant(writer: &mut Writer<'_>, tag: u32) {
    written(writer.array(2));
    written(writer.u32(tag));
}

/// Reads the number of fields.
///
/// # Errors
/// If the next item is not a map of known length.
#[inline]
pub fn read_map(reader: &mut Reader<'_>) -> Result<u64, Mismatch> {
    reader.map().map_err(broken)?.ok_or(Mismatch::Encoding)
}

/// Reads a field's tag.
///
/// # Errors
/// If the next item is not a tag.
#[inline]
pub fn read_tag_of_field(reader: &mut Reader<'_>) -> Result<u32, Mismatch> {
    reader.u32().map_err(broken)
}

/// Reads a variant's tag, and whether a payload follows.
///
/// # Errors
/// If the next item is not a variant.
#[inline]
pub fn read_variant(reader: &mut Reader<'_>) -> Result<(u32, bool), Mismatch> {
    let payload = reader.datatype().map_err(broken)? == Type::Array;
    if payload && reader.array().map_err(broken)? != Some(2) {
        return Err(Mismatch::Encoding);
    }
    Ok((reader.u32().map_err(broken)?, payload))
}

/// Reads the number of a payload's fields: 0 for a variant that was written without a payload.
///
/// # Errors
/// If the next item is not a payload.
#[inline]
pub fn read_payload(reader: &mut Reader<'_>, payload: bool) -> Result<u64, Mismatch> {
    if payload { read_map(reader) } else { Ok(0) }
}

/// Skips a payload, if there is one.
///
/// # Errors
/// If the next item is not a payload.
#[inline]
pub fn skip_payload(reader: &mut Reader<'_>, payload: bool) -> Result<(), Mismatch> {
    if payload { skip(reader) } else { Ok(()) }
}

/// Skips an item, at any depth.
///
/// # Errors
/// If the item is not CBOR.
#[inline]
pub fn skip(reader: &mut Reader<'_>) -> Result<(), Mismatch> {
    reader.skip().map_err(broken)
}

/// Reads a field's value.
///
/// # Errors
/// If the next item is not a value of the type.
#[inline]
pub fn read_field<T: Nested>(reader: &mut Reader<'_>) -> Result<Option<T>, Mismatch> {
    T::decode(reader).map(Some)
}

/// Reads a field that has a default. Null gives `None` if the type has no null: the field was an `Option` before.
///
/// # Errors
/// If the next item is not a value of the type.
#[inline]
pub fn read_field_or_null<T: Nested>(reader: &mut Reader<'_>) -> Result<Option<T>, Mismatch> {
    if !T::NULLABLE && reader.datatype().map_err(broken)? == Type::Null {
        reader.null().map_err(broken)?;
        return Ok(None);
    }
    read_field(reader)
}

/// The value of a field without a default.
///
/// # Errors
/// If the file has no value, and the type has none for that case.
#[inline]
pub fn required<T: Nested>(value: Option<T>) -> Result<T, Mismatch> {
    value.or_else(T::absent).ok_or(Mismatch::Missing)
}
