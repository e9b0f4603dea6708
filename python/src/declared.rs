//! A record class for the store: its table, its columns, and how its objects are made and read.

use crate::errors::{at, invalid, or_raise};
use crate::field::Holds;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};
use touchstone_store::Raw;
use touchstone_store::dynamic::{Dynamic, Field, Key, Type, Value};

/// Makes objects of a dataclass as `pickle` does: without `__init__`, but with `__post_init__` if the class has one.
pub struct Maker {
    class: Py<PyType>,
    /// The class's `__new__`.
    new: ffi::newfunc,
    nothing: Py<PyTuple>,
    has_post_init: bool,
}

impl Maker {
    pub fn of(class: &Bound<'_, PyType>) -> PyResult<Maker> {
        let py = class.py();
        // SAFETY: every class that a program makes is a heap type, which may be asked for its slots, and this slot
        // holds such a function or none.
        let new = unsafe {
            let slot = ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_new);
            std::mem::transmute::<*mut std::ffi::c_void, Option<ffi::newfunc>>(slot)
        };
        let new = new.ok_or_else(|| PyTypeError::new_err(format!("{class} makes no objects")))?;
        let has_post_init = class.hasattr(intern!(py, "__post_init__"))?;
        Ok(Maker { class: class.clone().unbind(), new, nothing: PyTuple::empty(py).unbind(), has_post_init })
    }

    pub fn class<'py>(&self, py: Python<'py>) -> Bound<'py, PyType> {
        self.class.bind(py).clone()
    }

    /// An object with these attributes.
    pub fn make<'py, 'n>(
        &self,
        py: Python<'py>,
        values: impl Iterator<Item = PyResult<(&'n Bound<'py, PyString>, Bound<'py, PyAny>)>>,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        'py: 'n,
    {
        let class = self.class.bind(py);
        // SAFETY: the class's own function makes an object of the class, given no arguments, or raises.
        let object = unsafe {
            let made = (self.new)(class.as_type_ptr(), self.nothing.as_ptr(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, made)?
        };
        for value in values {
            let (name, value) = value?;
            // A frozen dataclass refuses its own `__setattr__`.
            // SAFETY: all three are objects.
            let code =
                unsafe { ffi::PyObject_GenericSetAttr(object.as_ptr(), name.as_ptr(), value.as_ptr()) };
            if code != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        if self.has_post_init {
            object.call_method0(intern!(py, "__post_init__"))?;
        }
        Ok(object)
    }
}

/// A record class's table.
#[pyclass(frozen, module = "touchstone_store._native")]
pub struct RecordType {
    pub of: Type,
    maker: Maker,
    /// The fields of the key come first.
    pub fields: Vec<RecordField>,
    pub keys: usize,
}

pub struct RecordField {
    pub name: Py<PyString>,
    pub holds: Holds,
    pub nullable: bool,
}

/// One field as `_declare.py` gives it.
#[derive(FromPyObject)]
struct Told<'py> {
    name: Py<PyString>,
    column: String,
    spec: Bound<'py, PyAny>,
    nullable: bool,
    key: bool,
    index: bool,
    unique: bool,
    /// The function that makes the default.
    default: Option<Bound<'py, PyAny>>,
}

#[pymethods]
impl RecordType {
    #[new]
    fn new(
        class: Bound<'_, PyType>,
        table: &str,
        numbered: bool,
        fields: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<RecordType> {
        let py = class.py();
        let mut told: Vec<Told<'_>> = fields.iter().map(|field| field.extract()).collect::<PyResult<_>>()?;
        told.sort_by_key(|field| !field.key);
        let (mut columns, mut fields) = (Vec::new(), Vec::new());
        for Told { name, column, spec, nullable, key, index, unique, default } in told {
            let holds = Holds::of(&spec)?;
            let mut made =
                if key { Field::key(column, holds.kind()) } else { Field::new(column, holds.kind()) };
            made = if nullable { made.nullable() } else { made };
            made = if index { made.index() } else { made };
            made = if unique { made.unique() } else { made };
            if let Some(default) = default {
                let value = holds.value(&default.call0()?).map_err(|error| named(py, &name, error))?;
                made = made.default(value);
            }
            columns.push(made);
            fields.push(RecordField { name, holds, nullable });
        }
        let of = if numbered { Type::numbered(table, columns) } else { Type::new(table, columns) };
        let of = or_raise(py, of)?;
        Ok(RecordType { of, maker: Maker::of(&class)?, fields, keys: of.shape().keys })
    }

    /// The table's name.
    #[getter]
    fn table(&self) -> &'static str {
        self.of.name()
    }

    /// The names of the fields, in the order of the columns: the fields of the key come first.
    #[getter]
    fn fields(&self, py: Python<'_>) -> Vec<Py<PyString>> {
        self.fields.iter().map(|field| field.name.clone_ref(py)).collect()
    }

    /// The number of fields in the key.
    #[getter]
    fn keys(&self) -> usize {
        self.keys
    }
}

/// The declaration of a class.
pub fn declared<'py>(class: &Bound<'py, PyAny>) -> PyResult<Bound<'py, RecordType>> {
    let py = class.py();
    let found = class.getattr(intern!(py, "__touchstone_record__")).ok();
    let declared = found.and_then(|found| found.cast_into::<RecordType>().ok());
    match declared {
        Some(declared) if declared.get().maker.class(py).is(class) => Ok(declared),
        _ => Err(PyTypeError::new_err(format!("{class} is no record: decorate it with `@record`"))),
    }
}

impl RecordType {
    /// The record of an object.
    pub fn record(&self, object: &Bound<'_, PyAny>) -> PyResult<Dynamic> {
        let py = object.py();
        if !object.get_type().is(self.maker.class(py)) {
            return Err(PyTypeError::new_err(format!(
                "{} is wanted, and {} was given",
                self.maker.class(py),
                object.get_type()
            )));
        }
        let mut values = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let name = field.name.bind(py);
            let value = object.getattr(name)?;
            values.push(field.value(&value).map_err(|error| named(py, &field.name, error))?);
        }
        or_raise(py, self.of.record(values))
    }

    /// The given key: one value, or a tuple of several.
    pub fn key(&self, given: &Bound<'_, PyAny>) -> PyResult<Key> {
        let keys = &self.fields[..self.keys];
        let mut values = Vec::with_capacity(keys.len());
        if let [field] = keys {
            values.push(field.value(given).map_err(|error| named(given.py(), &field.name, error))?);
        } else {
            let wrong =
                || invalid(given.py(), format!("a key of {} values is wanted, as a tuple", self.keys));
            let given = given.cast::<PyTuple>().map_err(|_| wrong())?;
            if given.len() != self.keys {
                return Err(wrong());
            }
            for (field, value) in keys.iter().zip(given.iter()) {
                values.push(field.value(&value).map_err(|error| named(given.py(), &field.name, error))?);
            }
        }
        or_raise(given.py(), self.of.key(values))
    }

    /// The object of a row.
    pub fn object<'py, 'r>(
        &self,
        py: Python<'py>,
        values: impl Iterator<Item = Raw<'r>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.maker.make(
            py,
            self.fields.iter().zip(values).map(|(field, raw)| {
                let value = field.holds.object(py, raw).map_err(|error| named(py, &field.name, error))?;
                Ok((field.name.bind(py), value))
            }),
        )
    }

    /// The place of a field.
    pub fn place(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<usize> {
        for (at, field) in self.fields.iter().enumerate() {
            if field.name.bind(py).as_any().eq(name)? {
                return Ok(at);
            }
        }
        Err(pyo3::exceptions::PyAttributeError::new_err(format!("{} has no field {name}", self.of.name())))
    }
}

impl RecordField {
    pub fn value(&self, object: &Bound<'_, PyAny>) -> PyResult<Value> {
        if self.nullable && object.is_none() { Ok(Value::Null) } else { self.holds.value(object) }
    }
}

/// The same exception, with the field's name before its message.
pub fn named(py: Python<'_>, name: &Py<PyString>, error: PyErr) -> PyErr {
    at(py, &format!("field `{}`", name.bind(py)), error)
}
