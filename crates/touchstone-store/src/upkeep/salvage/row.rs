//! Decodes a row's values strictly: in a damaged file, only bytes that SQLite could have written count as a row.

use crate::engine::page::varint;
use crate::types::value::Raw;

/// The values of a payload; none if it is not exactly a row.
pub(crate) fn values(payload: &[u8]) -> Option<Vec<Raw<'_>>> {
    let (length, used) = varint(payload)?;
    let length = usize::try_from(length).ok()?;
    let mut types = payload.get(used..length)?;
    let mut body = payload.get(length..)?;
    let mut values = Vec::new();
    while !types.is_empty() {
        let (kind, used) = varint(types)?;
        types = &types[used..];
        let (value, rest) = value(kind, body)?;
        values.push(value);
        body = rest;
    }
    // SQLite ends the values exactly at the end of the payload.
    body.is_empty().then_some(values)
}

fn value(kind: u64, body: &[u8]) -> Option<(Raw<'_>, &[u8])> {
    let width = match kind {
        0 | 8 | 9 => 0,
        1..=4 => usize::try_from(kind).ok()?,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return None,
        longer => usize::try_from((longer - 12) / 2).ok()?,
    };
    let (bytes, rest) = body.split_at_checked(width)?;
    let value = match kind {
        0 => Raw::Null,
        8 => Raw::Integer(0),
        9 => Raw::Integer(1),
        1..=6 => Raw::Integer(signed(bytes)),
        // SQLite stores no NaN.
        7 => Raw::Real(Some(f64::from_be_bytes(bytes.try_into().ok()?)).filter(|value| !value.is_nan())?),
        longer if longer % 2 == 0 => Raw::Blob(bytes),
        _ => Raw::Text(std::str::from_utf8(bytes).ok()?.as_bytes()),
    };
    Some((value, rest))
}

fn signed(bytes: &[u8]) -> i64 {
    let first = bytes.first().map_or(0, |byte| i64::from(byte.cast_signed()));
    bytes.iter().skip(1).fold(first, |value, byte| value << 8 | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_taken_only_whole() {
        // A header of four bytes: NULL, an integer of one byte, a text of two.
        let row = [4, 0, 1, 17, 0xff, b'h', b'i'];
        assert_eq!(values(&row), Some(vec![Raw::Null, Raw::Integer(-1), Raw::Text(b"hi")]));
        assert_eq!(values(&row[..6]), None, "too short");
        assert_eq!(values(&[4, 0, 1, 17, 0xff, b'h', b'i', 0]), None, "too long");
        assert_eq!(values(&[4, 0, 1, 17, 0xff, 0xff, 0xff]), None, "no text");
        assert_eq!(values(&[2, 10]), None, "a type that is reserved");
        assert_eq!(values(&[]), None);
        assert_eq!(values(&[9, 0]), None, "a header that ends beyond the row");
    }
}
