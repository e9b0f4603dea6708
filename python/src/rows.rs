//! Rows on their way from the file to Python: read into two vectors without the interpreter's lock, and made objects
//! with the lock.

use crate::declared::RecordType;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use touchstone_store::Raw;
use touchstone_store::dynamic::View;

/// Rows of one type.
#[derive(Default)]
pub struct Rows {
    cells: Vec<Cell>,
    /// Texts and bytes, one after the other.
    bytes: Vec<u8>,
    width: usize,
}

#[derive(Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// Where the text ends in `bytes`; it begins where the text or blob before it ends.
    Text(usize),
    Blob(usize),
}

impl Rows {
    pub fn push(&mut self, view: &View<'_>) {
        self.width = view.values().len();
        for raw in view.values() {
            let cell = match *raw {
                Raw::Null | Raw::Absent => Cell::Null,
                Raw::Integer(value) => Cell::Integer(value),
                Raw::Real(value) => Cell::Real(value),
                Raw::Text(bytes) => {
                    self.bytes.extend_from_slice(bytes);
                    Cell::Text(self.bytes.len())
                }
                Raw::Blob(bytes) => {
                    self.bytes.extend_from_slice(bytes);
                    Cell::Blob(self.bytes.len())
                }
            };
            self.cells.push(cell);
        }
    }

    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// The objects.
    pub fn objects<'py>(&self, py: Python<'py>, declared: &RecordType) -> PyResult<Bound<'py, PyList>> {
        let _pause = Pause::for_many(py, self.len())?;
        let list = PyList::empty(py);
        let mut reader = Reader::default();
        for _ in 0..self.len() {
            list.append(reader.next(py, self, declared)?)?;
        }
        Ok(list)
    }
}

/// Pauses Python's garbage collector. While a list of new objects grows, the collector examines every one of them again
/// and again, and finds nothing, because they are in no reference cycle. That is half the time of a large list.
pub struct Pause<'py>(Option<Bound<'py, PyModule>>);

impl<'py> Pause<'py> {
    /// Pauses the collector if so many objects are made that it would run.
    pub fn for_many(py: Python<'py>, objects: usize) -> PyResult<Option<Pause<'py>>> {
        const FEW: usize = 500;
        (objects > FEW).then(|| Pause::begin(py)).transpose()
    }

    fn begin(py: Python<'py>) -> PyResult<Pause<'py>> {
        let collector = PyModule::import(py, intern!(py, "gc"))?;
        if !collector.call_method0(intern!(py, "isenabled"))?.is_truthy()? {
            return Ok(Pause(None));
        }
        collector.call_method0(intern!(py, "disable"))?;
        Ok(Pause(Some(collector)))
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        if let Some(collector) = &self.0 {
            // The call has no argument and cannot fail.
            let _ = collector.call_method0(intern!(collector.py(), "enable"));
        }
    }
}

/// The position of an iteration over rows.
#[derive(Default)]
struct Reader {
    row: usize,
    byte: usize,
}

impl Reader {
    fn next<'py>(
        &mut self,
        py: Python<'py>,
        rows: &Rows,
        declared: &RecordType,
    ) -> PyResult<Bound<'py, PyAny>> {
        let start = self.row * rows.width;
        self.row += 1;
        let byte = &mut self.byte;
        let values = rows.cells[start..start + rows.width].iter().map(|cell| match *cell {
            Cell::Null => Raw::Null,
            Cell::Integer(value) => Raw::Integer(value),
            Cell::Real(value) => Raw::Real(value),
            Cell::Text(end) => Raw::Text(&rows.bytes[std::mem::replace(byte, end)..end]),
            Cell::Blob(end) => Raw::Blob(&rows.bytes[std::mem::replace(byte, end)..end]),
        });
        let object = declared.object(py, values);
        if object.is_err() {
            // An unreadable row leaves `byte` in the middle of the row, so the iteration ends here.
            self.row = rows.len();
        }
        object
    }
}

/// The objects one by one: each is made when the iteration reaches it.
#[pyclass(module = "touchstone_store._native")]
pub struct RowIterator {
    rows: Rows,
    reader: Reader,
    declared: Py<RecordType>,
}

impl RowIterator {
    pub fn new(rows: Rows, declared: Py<RecordType>) -> RowIterator {
        RowIterator { rows, reader: Reader::default(), declared }
    }
}

#[pymethods]
impl RowIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.reader.row >= self.rows.len() {
            return Ok(None);
        }
        self.reader.next(py, &self.rows, self.declared.get()).map(Some)
    }

    fn __length_hint__(&self) -> usize {
        self.rows.len() - self.reader.row
    }
}
