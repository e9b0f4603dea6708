//! A page of a b-tree, and a row in it, as "Database File Format" in SQLite's documentation describes them. The file
//! may be damaged, so each length and offset is checked; one that does not fit gives `None`.

use crate::types::value::Raw;

/// The kinds of pages.
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

impl PageKind {
    /// Whether a tree of such pages has numbered rows.
    pub(crate) fn is_numbered(self) -> bool {
        matches!(self, PageKind::TableInner | PageKind::TableLeaf)
    }

    /// Whether no pages lie below such a page.
    pub(crate) fn is_leaf(self) -> bool {
        matches!(self, PageKind::TableLeaf | PageKind::IndexLeaf)
    }
}

/// The layout of a file's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// The bytes of a page that hold the tree: the rest is the cipher's.
    pub(crate) usable: usize,
    /// The longest payload that lies wholly in a leaf of a table.
    leaf_max: usize,
}

impl Geometry {
    /// Reads it from the first page.
    pub(crate) fn of(first_page: &[u8]) -> Option<Geometry> {
        let reserved = usize::from(*first_page.get(20)?);
        let usable = first_page.len().checked_sub(reserved)?;
        Geometry::new(usable)
    }

    /// The layout of pages with so many bytes for the tree.
    pub(crate) fn new(usable: usize) -> Option<Geometry> {
        // The least that the format allows.
        (usable >= 480).then(|| Geometry { usable, leaf_max: usable - 35 })
    }

    /// The most cells that a page can have: each has four bytes or more, and a pointer of two.
    pub(crate) fn cells_max(self) -> usize {
        (self.usable - 8) / 6
    }

    /// The number of a payload's bytes that lie in the page itself.
    #[inline]
    fn local(self, length: usize, leaf_of_table: bool) -> usize {
        let usable = self.usable;
        let most = if leaf_of_table { self.leaf_max } else { (usable - 12) * 64 / 255 - 23 };
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
    /// The offset of the page's header: after the file's own header on the first page.
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

    /// The number of cells of the page.
    pub(crate) fn len(self) -> usize {
        self.cells
    }

    fn pointers(self) -> usize {
        self.start + if matches!(self.kind, PageKind::TableInner | PageKind::IndexInner) { 12 } else { 8 }
    }

    /// The offsets of the cells, in their order, from cell `first` on.
    #[inline]
    pub(crate) fn offsets(self, first: usize) -> impl Iterator<Item = usize> + 'p {
        let start = self.pointers();
        let pointers = self.bytes.get(start + 2 * first..start + 2 * self.cells).unwrap_or_default();
        pointers.as_chunks::<2>().0.iter().map(|pointer| usize::from(u16::from_be_bytes(*pointer)))
    }

    fn offset(self, at: usize) -> Option<usize> {
        u16_at(self.bytes, self.pointers() + 2 * at).map(usize::from)
    }

    fn cell(self, at: usize) -> Option<&'p [u8]> {
        self.bytes.get(self.offset(at)?..)
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
    pub(crate) fn row(self, at: usize) -> Option<Row<'p>> {
        match self.kind {
            PageKind::TableInner => None,
            PageKind::IndexInner => self.inner_row(at),
            PageKind::TableLeaf => self.numbered_row(self.offset(at)?),
            PageKind::IndexLeaf => self.keyed_row(self.offset(at)?),
        }
    }

    /// The row at this offset, on a leaf of a table.
    #[inline(always)]
    pub(crate) fn numbered_row(self, offset: usize) -> Option<Row<'p>> {
        let cell = self.bytes.get(offset..)?;
        let (length, used) = length(cell)?;
        let cell = cell.get(used..)?;
        let (number, used) = varint(cell)?;
        let cell = cell.get(used..)?;
        self.spread(number.cast_signed(), length, cell, true)
    }

    /// The row at this offset, on a leaf of an index.
    #[inline(always)]
    pub(crate) fn keyed_row(self, offset: usize) -> Option<Row<'p>> {
        let cell = self.bytes.get(offset..)?;
        let (length, used) = length(cell)?;
        self.spread(0, length, cell.get(used..)?, false)
    }

    /// The row of an inner page of an index, after child `at`.
    pub(crate) fn inner_row(self, at: usize) -> Option<Row<'p>> {
        let cell = self.cell(at)?.get(4..)?;
        let (length, used) = length(cell)?;
        self.spread(0, length, cell.get(used..)?, false)
    }

    /// A row whose payload begins in the page, and may go on in overflow pages.
    #[inline(always)]
    fn spread(self, number: i64, length: u64, cell: &'p [u8], of_table: bool) -> Option<Row<'p>> {
        let length = usize::try_from(length).ok()?;
        if length <= self.geometry.leaf_max && (of_table || length <= self.geometry.local(length, false)) {
            return Some(Row { number, length, local: cell.get(..length)?, overflow: 0 });
        }
        let local = self.geometry.local(length, of_table);
        let overflow = u32_at(cell, local)?;
        Some(Row { number, length, local: cell.get(..local)?, overflow })
    }
}

/// A row within its page.
#[derive(Clone, Copy)]
pub(crate) struct Row<'p> {
    /// The row's number, in a table of numbered rows.
    pub(crate) number: i64,
    /// The bytes of the whole payload.
    pub(crate) length: usize,
    /// The part of the payload in the page.
    pub(crate) local: &'p [u8],
    /// The first overflow page, if there is one.
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
    #[inline(always)]
    pub(crate) fn new(bytes: &'p [u8]) -> Option<Payload<'p>> {
        let (length, used) = varint(bytes)?;
        let length = usize::try_from(length).ok()?;
        // SQLite writes no row without a value.
        let types = bytes.get(used..length).filter(|types| !types.is_empty())?;
        Some(Payload { types, body: bytes.get(length..)? })
    }

    /// The number of a payload's bytes that hold its first columns; `local` is its part in the page. All bytes if the
    /// last column is one of these, because bytes after it show damage, or if the header goes on in other pages.
    pub(crate) fn reach(local: &[u8], length: usize, columns: usize) -> usize {
        let Some((header, used)) = varint(local) else { return length };
        let header = usize::try_from(header).unwrap_or(usize::MAX);
        let Some(mut types) = local.get(used..header) else { return length };
        let mut end = header;
        for _ in 0..columns {
            let Some((kind, used)) = varint(types) else { return length };
            types = types.get(used..).unwrap_or_default();
            end = end.saturating_add(width(kind));
        }
        if types.is_empty() { length } else { end.min(length) }
    }

    /// The next value; [`Raw::Absent`] after the last.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Raw<'p>> {
        if self.types.is_empty() {
            return Some(Raw::Absent);
        }
        let (kind, used) = varint(self.types)?;
        self.types = self.types.get(used..)?;
        if kind >= 12 {
            let length = usize::try_from((kind - 12) / 2).ok()?;
            let (value, rest) = self.body.split_at_checked(length)?;
            self.body = rest;
            return Some(if kind % 2 == 0 { Raw::Blob(value) } else { Raw::Text(value) });
        }
        self.number(kind)
    }

    /// The next value, which is no longer than a number.
    #[inline(always)]
    fn number(&mut self, kind: u64) -> Option<Raw<'p>> {
        Some(match kind {
            0 => Raw::Null,
            1 => Raw::Integer(i64::from(i8::from_be_bytes(self.bytes()?))),
            2 => Raw::Integer(i64::from(i16::from_be_bytes(self.bytes()?))),
            3 => {
                let [a, b, c] = self.bytes()?;
                Raw::Integer(i64::from(i32::from_be_bytes([a, b, c, 0]) >> 8))
            }
            4 => Raw::Integer(i64::from(i32::from_be_bytes(self.bytes()?))),
            5 => {
                let [a, b, c, d, e, f] = self.bytes()?;
                Raw::Integer(i64::from_be_bytes([a, b, c, d, e, f, 0, 0]) >> 16)
            }
            6 => Raw::Integer(i64::from_be_bytes(self.bytes()?)),
            // SQLite writes no NaN, and reads one as NULL.
            7 => match f64::from_be_bytes(self.bytes()?) {
                value if value.is_nan() => Raw::Null,
                value => Raw::Real(value),
            },
            8 => Raw::Integer(0),
            9 => Raw::Integer(1),
            _ => return None,
        })
    }

    #[inline(always)]
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (value, rest) = self.body.split_first_chunk::<N>()?;
        self.body = rest;
        Some(*value)
    }

    /// Whether nothing follows the last value. Until that value is reached this is unknown, and taken as true.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        !self.types.is_empty() || self.body.is_empty()
    }

    /// Skips the next value.
    #[inline]
    pub(crate) fn skip(&mut self) -> Option<()> {
        match *self.types {
            [] => {}
            // A short value, whose type is one byte: the most common case.
            [kind, ref rest @ ..] if kind < 0x80 => {
                self.types = rest;
                let length = if kind < 12 { WIDTHS[usize::from(kind)] } else { usize::from((kind - 12) / 2) };
                self.body = self.body.get(length..)?;
            }
            _ => {
                let (kind, used) = varint(self.types)?;
                self.types = self.types.get(used..)?;
                self.body = self.body.get(usize::try_from((kind.checked_sub(12)?) / 2).ok()?..)?;
            }
        }
        Some(())
    }
}

/// The bytes of a value of a type below 12; two types are reserved, and occur in no file.
const WIDTHS: [usize; 12] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0];

/// The number of bytes of a value of this type.
fn width(kind: u64) -> usize {
    let short = usize::try_from(kind).ok().and_then(|kind| WIDTHS.get(kind));
    short.copied().unwrap_or_else(|| usize::try_from((kind - 12) / 2).unwrap_or(usize::MAX))
}

/// The length of a payload, and the number of bytes that encode it. SQLite writes 32 bits in five bytes at most, and
/// reads a longer encoding differently from other integers.
#[inline(always)]
fn length(bytes: &[u8]) -> Option<(u64, usize)> {
    varint(bytes).filter(|(_, used)| *used <= 5)
}

/// A variable-length integer, and its number of bytes.
#[inline(always)]
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    match *bytes {
        [a, ..] if a < 0x80 => Some((u64::from(a), 1)),
        [a, b, ..] if b < 0x80 => Some((u64::from(a & 0x7f) << 7 | u64::from(b), 2)),
        [a, b, c, ..] if c < 0x80 => {
            Some((u64::from(a & 0x7f) << 14 | u64::from(b & 0x7f) << 7 | u64::from(c), 3))
        }
        _ => long_varint(bytes),
    }
}

#[cold]
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

#[cfg(test)]
mod tests;
