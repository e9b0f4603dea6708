//! The rows of a live query at one version: a sequence that shares the store's records, and makes an object of a record
//! when the program reads it.

use crate::column::of_item;
use crate::declared::RecordType;
use crate::rows::Pause;
use crate::sql;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple, PyType};
use std::sync::Arc;
use touchstone_store::SqlRows;
use touchstone_store::dynamic::{Dynamic, Value};

/// The declaration of a subscription's class, which makes its objects. To clone it needs no lock.
pub type Declared = Arc<Py<RecordType>>;

/// Rows, as they were at one version.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Results(Found);

enum Found {
    Records(touchstone_store::Results<Dynamic>, Declared),
    Sql(SqlRows),
}

impl Results {
    pub fn of_records(records: touchstone_store::Results<Dynamic>, declared: &Declared) -> Results {
        Results(Found::Records(records, Arc::clone(declared)))
    }

    pub fn of_sql(rows: &SqlRows) -> Results {
        Results(Found::Sql(rows.clone()))
    }

    pub fn len(&self) -> usize {
        match &self.0 {
            Found::Records(records, _) => records.len(),
            Found::Sql(rows) => rows.len(),
        }
    }

    fn get<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.0 {
            Found::Records(records, declared) => {
                records.get(at).map(|record| object(py, record, declared)).transpose()
            }
            Found::Sql(rows) => rows.get(at).map(|row| tuple(py, row)).transpose(),
        }
    }

    fn list<'py>(
        &self,
        py: Python<'py>,
        places: impl ExactSizeIterator<Item = usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let _pause = Pause::for_many(py, places.len())?;
        let list = PyList::empty(py);
        for at in places {
            if let Some(row) = self.get(py, at)? {
                list.append(row)?;
            }
        }
        Ok(list)
    }
}

/// The object of a record.
pub fn object<'py>(py: Python<'py>, record: &Dynamic, declared: &Declared) -> PyResult<Bound<'py, PyAny>> {
    declared.get().object(py, record.values().iter().map(Value::raw))
}

/// The tuple of a row of SQL.
pub fn tuple<'py>(py: Python<'py>, row: &[Value]) -> PyResult<Bound<'py, PyAny>> {
    let values = row.iter().map(|value| sql::object(py, value.raw())).collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(py, values)?.into_any())
}

#[pymethods]
impl Results {
    /// The version of the commit whose result this is.
    #[getter]
    fn version(&self) -> u64 {
        match &self.0 {
            Found::Records(records, _) => records.version(),
            Found::Sql(rows) => rows.version(),
        }
    }

    /// The names of a row's values.
    #[getter]
    fn columns(&self, py: Python<'_>) -> Vec<String> {
        match &self.0 {
            Found::Records(_, declared) => {
                declared.get().fields.iter().map(|field| field.name.bind(py).to_string()).collect()
            }
            Found::Sql(rows) => rows.columns().to_vec(),
        }
    }

    /// All of them in a list.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, 0..self.len())
    }

    /// The first one, or `None`.
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.get(py, 0)
    }

    fn __len__(&self) -> usize {
        self.len()
    }

    fn __getitem__<'py>(&self, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, len) = (at.py(), self.len());
        if let Ok(slice) = at.cast::<PySlice>() {
            let slice = slice.indices(len.try_into()?)?;
            // Each of them is within the sequence.
            let place = |nth: usize| (slice.start + slice.step * nth.cast_signed()).cast_unsigned();
            return Ok(self.list(py, (0..slice.slicelength).map(place))?.into_any());
        }
        let at = at.extract::<isize>()?;
        let place = if at < 0 { len.checked_add_signed(at) } else { Some(at.cast_unsigned()) };
        let row = match place {
            Some(place) => self.get(py, place)?,
            None => None,
        };
        row.ok_or_else(|| PyIndexError::new_err(format!("there is no row {at}: there are {len}")))
    }

    fn __iter__(this: Bound<'_, Self>) -> ResultsIterator {
        ResultsIterator { end: this.get().len(), results: this.unbind(), at: 0, is_reversed: false }
    }

    fn __reversed__(this: Bound<'_, Self>) -> ResultsIterator {
        ResultsIterator { end: this.get().len(), results: this.unbind(), at: 0, is_reversed: true }
    }

    fn __contains__(&self, row: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.find(row, 0..self.len())?.is_some())
    }

    /// The place of a row.
    #[pyo3(signature = (row, start = 0, stop = None))]
    fn index(&self, row: &Bound<'_, PyAny>, start: isize, stop: Option<isize>) -> PyResult<usize> {
        let place =
            |at: isize| if at < 0 { self.len().saturating_add_signed(at) } else { at.cast_unsigned() };
        let found = self.find(row, place(start)..stop.map_or(self.len(), place).min(self.len()))?;
        found.ok_or_else(|| pyo3::exceptions::PyValueError::new_err("there is no such row"))
    }

    /// How often there is such a row.
    fn count(&self, row: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (mut count, mut at) = (0, 0);
        while let Some(found) = self.find(row, at..self.len())? {
            (count, at) = (count + 1, found + 1);
        }
        Ok(count)
    }

    /// `Results[Task]` in an annotation, as type checkers know it.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_item(class, item)
    }

    fn __repr__(&self) -> String {
        match &self.0 {
            Found::Records(records, declared) => {
                format!("<Results of {}: {}>", declared.get().of.name(), records.len())
            }
            Found::Sql(rows) => format!("<Results of SQL: {}>", rows.len()),
        }
    }
}

impl Results {
    fn find(&self, row: &Bound<'_, PyAny>, places: std::ops::Range<usize>) -> PyResult<Option<usize>> {
        for at in places {
            if let Some(other) = self.get(row.py(), at)?
                && other.eq(row)?
            {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}

/// The rows one by one.
#[pyclass(module = "touchstone_store._native")]
pub struct ResultsIterator {
    results: Py<Results>,
    at: usize,
    end: usize,
    is_reversed: bool,
}

#[pymethods]
impl ResultsIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.at >= self.end {
            return Ok(None);
        }
        if self.is_reversed {
            self.end -= 1;
            return self.results.get().get(py, self.end);
        }
        self.at += 1;
        self.results.get().get(py, self.at - 1)
    }

    fn __length_hint__(&self) -> usize {
        self.end - self.at
    }
}
