//! One field of a record class: the conversion between its Python value and its column's.

use crate::codec::{self, Codec, Members};
use crate::errors::invalid;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyString};
use std::ffi::c_char;
use touchstone_store::dynamic::Value;
use touchstone_store::{Kind, Raw};

/// The type of a field.
pub enum Holds {
    Int,
    Bool,
    Float,
    Str,
    Bytes,
    Enum(Members),
    /// Encoded in CBOR.
    Nested(Codec),
}

unsafe extern "C" {
    /// In every CPython since 3.3, but in the stable interface only since 3.10: so PyO3 does not offer it for 3.9.
    fn PyUnicode_AsUTF8AndSize(text: *mut ffi::PyObject, size: *mut ffi::Py_ssize_t) -> *const c_char;
}

/// The text of a string, without a copy.
pub fn text<'a>(string: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    let mut size = 0;
    // SAFETY: the object is a string, and owns the bytes as long as it lives, which is as long as the borrow.
    unsafe {
        let start = PyUnicode_AsUTF8AndSize(string.as_ptr(), &raw mut size);
        if start.is_null() {
            let why = PyErr::fetch(string.py()).value(string.py()).to_string();
            return Err(invalid(string.py(), format!("the text is no Unicode: {why}")));
        }
        let bytes = std::slice::from_raw_parts(start.cast(), usize::try_from(size).unwrap_or(0));
        Ok(std::str::from_utf8_unchecked(bytes))
    }
}

impl Holds {
    /// The type of an annotation: see `spec` in `_declare.py`.
    pub fn of(spec: &Bound<'_, PyAny>) -> PyResult<Holds> {
        if let Ok(name) = spec.cast::<PyString>() {
            return Ok(match text(name)? {
                "int" => Holds::Int,
                "bool" => Holds::Bool,
                "float" | "float32" => Holds::Float,
                "str" => Holds::Str,
                "bytes" => Holds::Bytes,
                other => return Err(PyTypeError::new_err(format!("{other} is no column"))),
            });
        }
        Ok(match Codec::of(spec)? {
            Codec::Enum(members) => Holds::Enum(members),
            codec => Holds::Nested(codec),
        })
    }

    pub fn kind(&self) -> Kind {
        match self {
            Holds::Int | Holds::Bool | Holds::Enum(_) => Kind::Integer,
            Holds::Float => Kind::Real,
            Holds::Str => Kind::Text,
            Holds::Bytes | Holds::Nested(_) => Kind::Blob,
        }
    }

    /// The column's value. The caller handles `None`.
    pub fn value(&self, object: &Bound<'_, PyAny>) -> PyResult<Value> {
        match self {
            Holds::Int => integer(object).map(Value::Integer),
            Holds::Bool => match object.cast::<PyBool>() {
                Ok(object) => Ok(Value::Integer(object.is_true().into())),
                Err(_) => Err(unfit(object, "bool")),
            },
            Holds::Float => real(object).map(Value::Real),
            Holds::Str => match object.cast::<PyString>() {
                Ok(object) => Ok(Value::Text(text(object)?.to_owned())),
                Err(_) => Err(unfit(object, "str")),
            },
            Holds::Bytes => bytes(object).map(Value::Blob),
            Holds::Enum(members) => members.value(object).map(Value::Integer),
            Holds::Nested(codec) => codec::to_bytes(codec, object).map(Value::Blob),
        }
    }

    /// The Python object of a column's value.
    pub fn object<'py>(&self, py: Python<'py>, raw: Raw<'_>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match (self, raw) {
            (_, Raw::Null | Raw::Absent) => py.None().into_bound(py),
            (Holds::Int, Raw::Integer(value)) => PyInt::new(py, value).into_any(),
            (Holds::Bool, Raw::Integer(value @ (0 | 1))) => PyBool::new(py, value == 1).to_owned().into_any(),
            (Holds::Float, Raw::Real(value)) => PyFloat::new(py, value).into_any(),
            (Holds::Str, Raw::Text(bytes)) => {
                // SAFETY: the store has checked that every text that it gives is UTF-8.
                let text = unsafe { std::str::from_utf8_unchecked(bytes) };
                PyString::new(py, text).into_any()
            }
            (Holds::Bytes, Raw::Blob(bytes)) => PyBytes::new(py, bytes).into_any(),
            (Holds::Enum(members), Raw::Integer(value)) => members.member(py, value)?,
            (Holds::Nested(codec), Raw::Blob(bytes)) => codec::from_bytes(py, codec, bytes)?,
            _ => return Err(crate::errors::mismatch(py, "the file holds what the field cannot be")),
        })
    }
}

pub fn integer(object: &Bound<'_, PyAny>) -> PyResult<i64> {
    object.extract::<i64>().map_err(|_| {
        let why = if object.is_instance_of::<PyInt>() {
            "the number is beyond a signed 64-bit integer".to_owned()
        } else {
            complaint(object, "int")
        };
        invalid(object.py(), why)
    })
}

pub fn real(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    // Python's type checkers accept an int as a float too.
    if !object.is_instance_of::<PyFloat>() && !object.is_instance_of::<PyInt>() {
        return Err(unfit(object, "float"));
    }
    object.extract::<f64>().map_err(|_| invalid(object.py(), "the number is beyond a float"))
}

pub fn bytes(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(object) = object.cast::<PyBytes>() {
        return Ok(object.as_bytes().to_vec());
    }
    match object.cast::<PyByteArray>() {
        Ok(object) => Ok(object.to_vec()),
        Err(_) => Err(unfit(object, "bytes")),
    }
}

pub fn unfit(object: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    invalid(object.py(), complaint(object, wanted))
}

fn complaint(object: &Bound<'_, PyAny>, wanted: &str) -> String {
    let given = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    format!("{wanted} is wanted, and {given} was given")
}
