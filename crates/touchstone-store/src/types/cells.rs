//! A row on its way into the file: values borrowed from the record, nested ones encoded into one buffer.

use crate::types::depth;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::value::{Raw, Refusal};
use smallvec::SmallVec;
use std::ops::Range;

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
    /// The range of the encoded value in the buffer.
    Nested(Range<usize>),
}

/// The values of a row, in the order of its columns. A record appends its own; see [`Field`](crate::Field).
///
/// ```
/// use touchstone_store::{Cells, Field, Kind, Mismatch, Raw};
///
/// /// A type of the program's own, stored as what it holds.
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Celsius(f64);
///
/// impl Field for Celsius {
///     const KIND: Kind = Kind::Real;
///     type Plain = Celsius;
///     type View<'a> = Celsius;
///
///     fn write<'a>(&'a self, cells: &mut Cells<'a>) {
///         self.0.write(cells);
///     }
///
///     fn read(raw: Raw<'_>) -> Result<Celsius, Mismatch> {
///         f64::read(raw).map(Celsius)
///     }
///
///     fn view(raw: Raw<'_>) -> Result<Celsius, Mismatch> {
///         Celsius::read(raw)
///     }
/// }
///
/// assert_eq!(Celsius::read(Raw::Real(21.5)), Ok(Celsius(21.5)));
/// ```
#[derive(Debug, Default)]
pub struct Cells<'a> {
    /// A row of few columns needs no allocation.
    cells: SmallVec<[Cell<'a>; 8]>,
    buffer: Vec<u8>,
    refused: Option<(usize, Refusal)>,
}

impl<'a> Cells<'a> {
    /// Appends NULL.
    ///
    /// ```
    /// let mut cells = touchstone_store::Cells::default();
    /// cells.null();
    /// ```
    #[inline]
    pub fn null(&mut self) {
        self.cells.push(Cell::Null);
    }

    /// Appends an integer.
    ///
    /// ```
    /// let mut cells = touchstone_store::Cells::default();
    /// cells.integer(20);
    /// ```
    #[inline]
    pub fn integer(&mut self, value: i64) {
        self.cells.push(Cell::Integer(value));
    }

    /// Appends a number, which must not be NaN.
    ///
    /// ```
    /// let mut cells = touchstone_store::Cells::default();
    /// cells.real(21.5);
    /// ```
    #[inline]
    pub fn real(&mut self, value: f64) {
        self.cells.push(Cell::Real(value));
    }

    /// Appends text.
    ///
    /// ```
    /// let mut cells = touchstone_store::Cells::default();
    /// cells.text("write");
    /// ```
    #[inline]
    pub fn text(&mut self, value: &'a str) {
        self.cells.push(Cell::Text(value));
    }

    /// Appends bytes.
    ///
    /// ```
    /// let mut cells = touchstone_store::Cells::default();
    /// cells.blob(&[1, 2, 3]);
    /// ```
    #[inline]
    pub fn blob(&mut self, value: &'a [u8]) {
        self.cells.push(Cell::Blob(value));
    }

    /// Appends the bytes that `encode` appends to the buffer.
    ///
    /// ```
    /// let mut cells = touchstone_store::Cells::default();
    /// cells.nested(|bytes| bytes.extend([0x83, 1, 2, 3]));
    /// ```
    ///
    /// # Panics
    /// If `encode` shortens the buffer: it holds other values of the row.
    #[inline]
    pub fn nested(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        // Clears the flag: a value written outside a row may have set it, and nothing has read it since.
        depth::was_too_deep();
        encode(&mut self.buffer);
        assert!(self.buffer.len() >= start, "a value's encoding is appended to the buffer");
        if depth::was_too_deep() {
            return self.refuse(Refusal::Depth);
        }
        self.cells.push(Cell::Nested(start..self.buffer.len()));
    }

    /// Appends a value that cannot be stored: the row is refused.
    ///
    /// ```
    /// let mut cells = touchstone_store::Cells::default();
    /// cells.refuse(touchstone_store::Refusal::Nan);
    /// ```
    #[cold]
    pub fn refuse(&mut self, why: Refusal) {
        self.refused.get_or_insert((self.cells.len(), why));
        self.cells.push(Cell::Null);
    }

    /// The first refused column, and the reason.
    pub(crate) fn refused(&self) -> Option<(usize, Refusal)> {
        self.refused
    }

    /// Checks that there are as many values as columns: a program's own [`Field`](crate::Field) may append any number.
    ///
    /// # Errors
    /// If there are more values, or fewer.
    #[inline]
    pub(crate) fn check_length(&self, expected: usize) -> Result<()> {
        if self.cells.len() == expected { Ok(()) } else { Err(misfit(self.cells.len(), expected)) }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Cell<'a>> {
        self.cells.get(at)
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Cell<'a>> {
        self.cells.iter()
    }

    /// The value at this position, in the form in which the file gives it.
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

    /// Replaces a value by NULL.
    #[inline]
    pub(crate) fn clear_at(&mut self, at: usize) {
        self.cells[at] = Cell::Null;
    }

    /// Empties the row, and keeps its allocation.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.buffer.clear();
        self.refused = None;
    }
}

#[cold]
fn misfit(given: usize, expected: usize) -> Error {
    let message = format!(
        "{given} values were given for {expected} columns: does each `Field::write` and `KeyPart::write_key` of the program's own append one for each column?"
    );
    Error::new(ErrorKind::Invalid, message)
}
