//! A row on its way into the file: values borrowed from the record, nested ones encoded into one buffer.

use crate::value::{Raw, Refusal};
use std::ops::Range;

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
    /// Where in the buffer.
    Nested(Range<usize>),
}

/// The values of a row, in the order of its columns. A record appends its own; see [`Field`](crate::Field).
#[derive(Debug, Default)]
pub struct Cells<'a> {
    cells: Vec<Cell<'a>>,
    buffer: Vec<u8>,
    refused: Option<(usize, Refusal)>,
}

impl<'a> Cells<'a> {
    /// Appends NULL.
    #[inline]
    pub fn null(&mut self) {
        self.cells.push(Cell::Null);
    }

    /// Appends an integer.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        self.cells.push(Cell::Integer(value));
    }

    /// Appends a number, which must not be NaN.
    #[inline]
    pub fn real(&mut self, value: f64) {
        self.cells.push(Cell::Real(value));
    }

    /// Appends text.
    #[inline]
    pub fn text(&mut self, value: &'a str) {
        self.cells.push(Cell::Text(value));
    }

    /// Appends bytes.
    #[inline]
    pub fn blob(&mut self, value: &'a [u8]) {
        self.cells.push(Cell::Blob(value));
    }

    /// Appends the bytes that `encode` writes at the end of the buffer that it is given.
    #[inline]
    pub fn nested(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        encode(&mut self.buffer);
        self.cells.push(Cell::Nested(start..self.buffer.len()));
    }

    /// Appends nothing that can be stored: the row is refused.
    #[cold]
    pub fn refuse(&mut self, why: Refusal) {
        self.refused.get_or_insert((self.cells.len(), why));
        self.cells.push(Cell::Null);
    }

    /// The first column that was refused, and why.
    pub(crate) fn refused(&self) -> Option<(usize, Refusal)> {
        self.refused
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Cell<'a>> {
        self.cells.get(at)
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Cell<'a>> {
        self.cells.iter()
    }

    /// The value in that place as it would come back from the file.
    #[doc(hidden)]
    pub fn raw(&self, at: usize) -> Option<Raw<'_>> {
        Some(match self.get(at)? {
            Cell::Null => Raw::Null,
            Cell::Integer(value) => Raw::Integer(*value),
            Cell::Real(value) => Raw::Real(*value),
            Cell::Text(value) => Raw::Text(value.as_bytes()),
            Cell::Blob(value) => Raw::Blob(value),
            Cell::Nested(range) => Raw::Blob(self.bytes(range)),
        })
    }

    /// The bytes of a nested value.
    #[inline]
    pub(crate) fn bytes(&self, range: &Range<usize>) -> &[u8] {
        &self.buffer[range.clone()]
    }

    /// Puts NULL in a value's place.
    #[inline]
    pub(crate) fn clear_at(&mut self, at: usize) {
        self.cells[at] = Cell::Null;
    }

    /// Empties the row and keeps its memory.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.buffer.clear();
        self.refused = None;
    }
}
