//! The store's errors as Python's exceptions: a class for each kind.

use pyo3::intern;
use pyo3::prelude::*;
use touchstone_store::{Error, ErrorKind, Result};

/// Rust names in messages of the store, and their names in Python.
const NAMES: [(&str, &str); 6] = [
    ("`Options::", "`"),
    ("`Store::", "`"),
    ("`Overflow::Block`", "`overflow=\"block\"`"),
    ("another `Overflow`", "another `overflow`"),
    ("`Durability::Process`", "`Durability.PROCESS`"),
    ("with `Consistent`", "with `Durability.CONSISTENT`"),
];

/// The message, with the Python names.
fn message(error: &Error) -> String {
    NAMES.iter().fold(error.to_string(), |message, (rust, python)| message.replace(rust, python))
}

/// The exception of an error.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let class = format!("{:?}Error", error.kind());
    let made = PyModule::import(py, intern!(py, "touchstone_store._errors"))
        .and_then(|errors| errors.getattr(class.as_str()).or_else(|_| errors.getattr("StoreError")))
        .and_then(|class| class.call1((message(error), error.sqlite_code())));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// An error that the package itself finds, of that kind.
pub fn refused(py: Python<'_>, kind: ErrorKind, why: impl Into<String>) -> PyErr {
    raised(py, &Error::new(kind, why))
}

/// An argument that is not valid.
pub fn invalid(py: Python<'_>, why: impl Into<String>) -> PyErr {
    refused(py, ErrorKind::Invalid, why)
}

/// A stored value that does not fit its field's type.
pub fn mismatch(py: Python<'_>, why: impl Into<String>) -> PyErr {
    refused(py, ErrorKind::Mismatch, why)
}

/// The same exception, with the place before its message.
pub fn at(py: Python<'_>, place: &str, error: PyErr) -> PyErr {
    let exception = error.value(py);
    match exception.get_type().call1((format!("{place}: {exception}"),)) {
        Ok(placed) => PyErr::from_value(placed),
        Err(_) => error,
    }
}

/// Raises an error of the store.
pub fn or_raise<T>(py: Python<'_>, result: Result<T>) -> PyResult<T> {
    result.map_err(|error| raised(py, &error))
}

/// Runs `work` without the interpreter's lock, as all work that may wait or touch the file must run.
pub fn without_lock<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let result = py.detach(work);
    or_raise(py, result)
}
