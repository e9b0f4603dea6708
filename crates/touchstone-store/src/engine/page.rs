//! A page of a b-tree, and a row in it, as "Database File Format" in SQLite's documentation describes them. Every
//! length and offset comes from a file that may be damaged, so each is checked; what does not fit is `None`.

use crate::value::Raw;

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Inner page of a table: children only.
    TableInner,
    /// Leaf of a table: rows by number.
    TableLeaf,
    /// Inner page of an index, or of a table in key order: children and rows.
    IndexInner,
    /// Leaf of an index, or of a table in key order.
    IndexLeaf,
}

/// How pages of a file are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Bytes of a page that hold the tree: the rest is the cipher's.
    pub(crate) usable: usize,
}

impl Geometry {
    /// Reads it from the first page.
    pub(crate) fn of(first_page: &[u8]) -> Option<Geometry> {
        let reserved = usize::from(*first_page.get(20)?);
        let usable = first_page.len().checked_sub(reserved)?;
        // The format allows no less.
        (usable >= 480).then_some(Geometry { usable })
    }

    /// How many bytes of a payload lie in the page itself.
    #[inline]
    fn local(self, length: usize, leaf_of_table: bool) -> usize {
        let usable = self.usable;
        let most = if leaf_of_table { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
        if length <= most {
            return length;
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (usable - 4);
        if fitting <= most { fitting } else { least }
    }
}

/// A page of a b-tree.
#[derive(Clone, Copy)]
pub(crate) struct Page<'p> {
    bytes: &'p [u8],
    /// Where its header begins: after the file's own on the first page.
    start: usize,
    kind: PageKind,
    cells: usize,
    geometry: Geometry,
}

impl<'p> Page<'p> {
    /// Reads a page's header.
    pub(crate) fn new(bytes: &'p [u8], number: u32, geometry: Geometry) -> Option<Page<'p>> {
        let start = if number == 1 { 100 } else { 0 };
        let bytes = bytes.get(..geometry.usable)?;
        let kind = match *bytes.get(start)? {
            0x02 => PageKind::IndexInner,
            0x05 => PageKind::TableInner,
            0x0a => PageKind::IndexLeaf,
            0x0d => PageKind::TableLeaf,
            _ => return None,
        };
        let cells = usize::from(u16_at(bytes, start + 3)?);
        let page = Page { bytes, start, kind, cells, geometry };
        (page.pointers() + 2 * cells <= bytes.len()).then_some(page)
    }

    pub(crate) fn kind(self) -> PageKind {
        self.kind
    }

    /// How many cells the page has.
    pub(crate) fn len(self) -> usize {
        self.cells
    }

    fn pointers(self) -> usize {
        self.start + if matches!(self.kind, PageKind::TableInner | PageKind::IndexInner) { 12 } else { 8 }
    }

    #[inline]
    fn cell(self, at: usize) -> Option<&'p [u8]> {
        let offset = u16_at(self.bytes, self.pointers() + 2 * at)?;
        self.bytes.get(usize::from(offset)..)
    }

    /// The child before a cell of an inner page, or the last one.
    pub(crate) fn child(self, at: usize) -> Option<u32> {
        if at == self.cells { u32_at(self.bytes, self.start + 8) } else { u32_at(self.cell(at)?, 0) }
    }

    /// The greatest row number of the child before a cell, on an inner page of a table.
    pub(crate) fn bound(self, at: usize) -> Option<i64> {
        let (number, _) = varint(self.cell(at).filter(|_| self.kind == PageKind::TableInner)?.get(4..)?)?;
        Some(number.cast_signed())
    }

    /// The row of a cell. Inner pages of tables have none.
    #[inline]
    pub(crate) fn row(self, at: usize) -> Option<Row<'p>> {
        let cell = self.cell(at)?;
        let of_table = self.kind == PageKind::TableLeaf;
        let cell = if self.kind == PageKind::IndexInner { cell.get(4..)? } else { cell };
        let (length, used) = varint(cell)?;
        let mut cell = cell.get(used..)?;
        let mut number = 0;
        if of_table {
            let (value, used) = varint(cell)?;
            number = value.cast_signed();
            cell = cell.get(used..)?;
        }
        let length = usize::try_from(length).ok()?;
        let local = self.geometry.local(length, of_table);
        let overflow = if local == length { 0 } else { u32_at(cell, local)? };
        Some(Row { number, length, local: cell.get(..local)?, overflow })
    }
}

/// A row where it lies.
#[derive(Clone, Copy)]
pub(crate) struct Row<'p> {
    /// The row's number, in a table of numbered rows.
    pub(crate) number: i64,
    /// The bytes of the whole payload.
    pub(crate) length: usize,
    /// What of it lies in the page.
    pub(crate) local: &'p [u8],
    /// The first page of the rest; 0 where there is none.
    pub(crate) overflow: u32,
}

/// The values of a row: what SQLite calls a record.
#[derive(Clone, Copy)]
pub(crate) struct Payload<'p> {
    types: &'p [u8],
    body: &'p [u8],
}

impl<'p> Payload<'p> {
    /// Splits a whole payload.
    #[inline]
    pub(crate) fn new(bytes: &'p [u8]) -> Option<Payload<'p>> {
        let (length, used) = varint(bytes)?;
        let length = usize::try_from(length).ok()?;
        Some(Payload { types: bytes.get(used..length)?, body: bytes.get(length..)? })
    }

    /// The next value; [`Raw::Absent`] after the last.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Raw<'p>> {
        if self.types.is_empty() {
            return Some(Raw::Absent);
        }
        let (kind, used) = varint(self.types)?;
        self.types = &self.types[used..];
        let length = width(kind)?;
        let (value, rest) = self.body.split_at_checked(length)?;
        self.body = rest;
        decode(kind, value)
    }

    /// Passes over the next value.
    #[inline]
    pub(crate) fn skip(&mut self) -> Option<()> {
        if !self.types.is_empty() {
            let (kind, used) = varint(self.types)?;
            self.types = &self.types[used..];
            self.body = self.body.get(width(kind)?..)?;
        }
        Some(())
    }
}

/// The bytes of a value of that serial type.
#[inline]
fn width(kind: u64) -> Option<usize> {
    match kind {
        0 | 8 | 9 => Some(0),
        1..=4 => Some(kind as usize),
        5 => Some(6),
        6 | 7 => Some(8),
        10 | 11 => None,
        longer => usize::try_from((longer - 12) / 2).ok(),
    }
}

#[inline]
fn decode(kind: u64, bytes: &[u8]) -> Option<Raw<'_>> {
    Some(match kind {
        0 => Raw::Null,
        1..=6 => Raw::Integer(signed(bytes)),
        7 => Raw::Real(f64::from_bits(u64::from_be_bytes(bytes.try_into().ok()?))),
        8 => Raw::Integer(0),
        9 => Raw::Integer(1),
        longer if longer % 2 == 0 => Raw::Blob(bytes),
        _ => Raw::Text(bytes),
    })
}

/// A big-endian integer of up to eight bytes, with its sign.
#[inline]
fn signed(bytes: &[u8]) -> i64 {
    let first = bytes.first().map_or(0, |byte| i64::from(byte.cast_signed()));
    bytes.iter().skip(1).fold(first, |value, byte| value << 8 | i64::from(*byte))
}

/// A variable-length integer and how many bytes it has.
#[inline]
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 { Some((u64::from(first), 1)) } else { long_varint(bytes) }
}

fn long_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().take(8).enumerate() {
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    Some((value << 8 | u64::from(*bytes.get(8)?), 9))
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
