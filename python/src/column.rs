//! Fields in a query: comparing one makes a condition.

use crate::declared::{RecordField, RecordType, named};
use crate::errors::{invalid, or_raise};
use crate::field::{Holds, text};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString, PyType};
use touchstone_store::dynamic::{self, Dynamic, Type, Value};

/// A field of a record class, as an attribute of the class.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Column {
    declared: Py<RecordType>,
    at: usize,
    column: dynamic::Column,
}

/// A condition of a query on each record.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Condition {
    pub of: Type,
    pub condition: touchstone_store::Condition<Dynamic>,
}

/// The order of a query's records.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Order {
    pub of: Type,
    pub order: touchstone_store::Order<Dynamic>,
}

#[pymethods]
impl Column {
    #[new]
    fn new(declared: Bound<'_, RecordType>, name: &Bound<'_, PyString>) -> PyResult<Column> {
        let at = declared.get().place(declared.py(), name)?;
        let of = declared.get().of;
        let column = or_raise(declared.py(), of.column(of.shape().columns[at].name))?;
        Ok(Column { declared: declared.unbind(), at, column })
    }

    /// `Column[int]` in an annotation: type checkers then know the column's type, `int`.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_item(class, item)
    }

    /// The column's name in the file.
    #[getter]
    fn name(&self) -> &'static str {
        self.column.name()
    }

    fn __repr__(&self) -> String {
        format!("<Column {} of {}>", self.column.name(), self.of().name())
    }

    fn __hash__(&self) -> usize {
        std::ptr::from_ref(self.of().shape()).addr() ^ self.at
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, comparison: CompareOp) -> PyResult<Condition> {
        let (py, column) = (other.py(), self.column);
        if other.is_none() {
            return match comparison {
                CompareOp::Eq => Ok(self.condition(column.is_null())),
                CompareOp::Ne => Ok(self.condition(column.is_null().not())),
                _ => Err(PyTypeError::new_err("nothing is less or greater than None")),
            };
        }
        if !matches!(comparison, CompareOp::Eq | CompareOp::Ne) {
            self.check_ordered()?;
        }
        let value = self.operand(other)?;
        let condition = match comparison {
            CompareOp::Eq => column.eq(value),
            CompareOp::Ne => column.ne(value),
            CompareOp::Lt => column.lt(value),
            CompareOp::Le => column.le(value),
            CompareOp::Gt => column.gt(value),
            CompareOp::Ge => column.ge(value),
        };
        or_raise(py, condition).map(|condition| self.condition(condition))
    }

    /// The value is one of these.
    fn is_in(&self, values: &Bound<'_, PyAny>) -> PyResult<Condition> {
        let py = values.py();
        let values: PyResult<Vec<Value>> = values.try_iter()?.map(|value| self.operand(&value?)).collect();
        or_raise(py, self.column.is_in(values?)).map(|condition| self.condition(condition))
    }

    /// The value lies between the two, or equals one of them.
    fn between(&self, low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> PyResult<Condition> {
        self.check_ordered()?;
        let condition = self.column.between(self.operand(low)?, self.operand(high)?);
        or_raise(low.py(), condition).map(|condition| self.condition(condition))
    }

    /// The text begins with this.
    fn starts_with(&self, prefix: &Bound<'_, PyString>) -> PyResult<Condition> {
        let condition = self.column.starts_with(text(prefix)?);
        or_raise(prefix.py(), condition).map(|condition| self.condition(condition))
    }

    /// The text contains this.
    fn contains(&self, part: &Bound<'_, PyString>) -> PyResult<Condition> {
        let condition = self.column.contains(text(part)?);
        or_raise(part.py(), condition).map(|condition| self.condition(condition))
    }

    /// There is no value.
    fn is_null(&self) -> Condition {
        self.condition(self.column.is_null())
    }

    /// There is a value.
    fn is_not_null(&self) -> Condition {
        self.condition(self.column.is_null().not())
    }

    /// The least value first.
    fn asc(&self) -> Order {
        Order { of: self.of(), order: self.column.ascending() }
    }

    /// The greatest value first.
    fn desc(&self) -> Order {
        Order { of: self.of(), order: self.column.descending() }
    }
}

/// A class with a type argument, for annotations.
pub fn of_item<'py>(class: &Bound<'py, PyType>, item: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // `typing` gives a tuple of one if it has evaluated the annotation.
    PyModule::import(class.py(), "types")?.getattr("GenericAlias")?.call1((class, item))
}

impl Column {
    pub fn of(&self) -> Type {
        self.declared.get().of
    }

    pub fn ascending(&self) -> touchstone_store::Order<Dynamic> {
        self.column.ascending()
    }

    fn field(&self) -> &RecordField {
        &self.declared.get().fields[self.at]
    }

    fn condition(&self, condition: touchstone_store::Condition<Dynamic>) -> Condition {
        Condition { of: self.of(), condition }
    }

    fn check_ordered(&self) -> PyResult<()> {
        match self.field().holds {
            Holds::Nested(_) => {
                Err(PyTypeError::new_err("nested values have no order: compare a field of its own"))
            }
            _ => Ok(()),
        }
    }

    /// The value to compare the column with. For a column of integers it may be a number that the column cannot hold.
    fn operand(&self, object: &Bound<'_, PyAny>) -> PyResult<Value> {
        /// Greater than every integer of the file.
        const ABOVE: f64 = 9.3e18;
        let field = self.field();
        if object.is_none() {
            return Ok(Value::Null);
        }
        if let Holds::Int = field.holds {
            if object.is_instance_of::<PyFloat>() {
                return Ok(Value::Real(object.extract()?));
            }
            if object.is_instance_of::<PyInt>() && object.extract::<i64>().is_err() {
                return Ok(Value::Real(if object.gt(0)? { ABOVE } else { -ABOVE }));
            }
        }
        field.holds.value(object).map_err(|error| named(object.py(), &field.name, error))
    }
}

#[pymethods]
impl Condition {
    fn __and__(&self, py: Python<'_>, other: &Condition) -> PyResult<Condition> {
        self.check(py, other)?;
        Ok(Condition { of: self.of, condition: self.condition.clone().and(other.condition.clone()) })
    }

    fn __or__(&self, py: Python<'_>, other: &Condition) -> PyResult<Condition> {
        self.check(py, other)?;
        Ok(Condition { of: self.of, condition: self.condition.clone().or(other.condition.clone()) })
    }

    fn __invert__(&self) -> Condition {
        Condition { of: self.of, condition: self.condition.clone().not() }
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "a condition is neither true nor false: join conditions with `&`, `|` and `~`, each in parentheses",
        ))
    }

    fn __repr__(&self) -> String {
        format!("<Condition on {}>", self.of.name())
    }
}

impl Condition {
    fn check(&self, py: Python<'_>, other: &Condition) -> PyResult<()> {
        if self.of == other.of {
            return Ok(());
        }
        Err(invalid(
            py,
            format!("a condition on {} and one on {} cannot be joined", self.of.name(), other.of.name()),
        ))
    }
}

#[pymethods]
impl Order {
    fn __repr__(&self) -> String {
        format!("<Order of {}>", self.of.name())
    }
}
