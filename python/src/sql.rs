//! SQL of the program's own: its parameters and its rows.

use crate::errors::{invalid, without_lock};
use crate::field::{bytes, integer, text};
use crate::records::{Target, ended, lock, opened};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::HashMap;
use touchstone_store::rusqlite::types::{Value, ValueRef};
use touchstone_store::rusqlite::{self, Connection, ErrorCode, Statement, ToSql};
use touchstone_store::{Error, ErrorKind, Raw, dynamic};

/// Parameters by place, or by name.
enum Parameters {
    Places(Vec<Value>),
    Names(Vec<(String, Value)>),
}

impl Parameters {
    fn of(given: Option<&Bound<'_, PyAny>>) -> PyResult<Parameters> {
        let Some(given) = given else { return Ok(Parameters::Places(Vec::new())) };
        if let Ok(names) = given.cast::<PyDict>() {
            let named = |(name, parameter): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                Ok((name.extract::<String>()?, value(&parameter)?))
            };
            return Ok(Parameters::Names(names.iter().map(named).collect::<PyResult<_>>()?));
        }
        Ok(Parameters::Places(given.try_iter()?.map(|given| value(&given?)).collect::<PyResult<_>>()?))
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<()> {
        match self {
            Parameters::Places(values) => {
                let expected = statement.parameter_count();
                if values.len() != expected {
                    return Err(rusqlite::Error::InvalidParameterCount(values.len(), expected));
                }
                for (at, value) in (1..).zip(values) {
                    statement.raw_bind_parameter(at, value)?;
                }
            }
            Parameters::Names(values) => {
                // A missing parameter would be NULL, and a parameter that the statement does not have is misspelt.
                let mut given: HashMap<_, _> =
                    values.iter().map(|(name, value)| (name.as_str(), value)).collect();
                for at in 1..=statement.parameter_count() {
                    // The first character is the prefix, such as `:`.
                    let name = statement.parameter_name(at).and_then(|name| name.get(1..));
                    let name =
                        name.ok_or_else(|| refused("the statement's parameters are given by place"))?;
                    let value = given.remove(name);
                    let value =
                        value.ok_or_else(|| refused(format!("the parameter `{name}` is not given")))?;
                    statement.raw_bind_parameter(at, value as &dyn ToSql)?;
                }
                if let Some(name) = given.into_keys().next() {
                    return Err(refused(format!("the statement has no parameter `{name}`")));
                }
            }
        }
        Ok(())
    }
}

pub fn value(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    if given.is_none() {
        Ok(Value::Null)
    } else if let Ok(given) = given.cast::<PyBool>() {
        Ok(Value::Integer(given.is_true().into()))
    } else if given.is_instance_of::<PyInt>() {
        integer(given).map(Value::Integer)
    } else if given.is_instance_of::<PyFloat>() {
        given.extract().map(Value::Real)
    } else if let Ok(given) = given.cast::<PyString>() {
        Ok(Value::Text(text(given)?.to_owned()))
    } else if given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyByteArray>() {
        bytes(given).map(Value::Blob)
    } else {
        Err(PyTypeError::new_err(format!("{} is no parameter of SQL", given.get_type())))
    }
}

/// Gives the connection to `work`, without the interpreter's lock.
fn with<R: Send>(
    py: Python<'_>,
    target: &Target,
    work: impl FnOnce(&Connection) -> rusqlite::Result<R> + Send,
    writes: bool,
) -> PyResult<R> {
    without_lock(py, || match target {
        Target::Store(store) if writes => opened(store)?.write(|transaction| transaction.sql(work)),
        Target::Store(store) => opened(store)?.read(|snapshot| snapshot.sql(work)),
        Target::Snapshot(_) if writes => Err(Error::new(ErrorKind::ReadOnly, "a snapshot is only read")),
        Target::Snapshot(snapshot) => match &*lock(snapshot.used()?) {
            Some(snapshot) => snapshot.sql(work),
            None => Err(ended("snapshot")),
        },
        Target::Transaction(transaction) => match &mut *lock(transaction.used()?) {
            Some(begun) => begun.with(|transaction| transaction.sql(work)),
            None => Err(ended("transaction")),
        },
    })
}

/// The error of a statement, in words of this package.
fn told(error: rusqlite::Error) -> rusqlite::Error {
    let why = match &error {
        rusqlite::Error::ExecuteReturnedResults => {
            "the statement gives rows: `sql` of a transaction reads them"
        }
        rusqlite::Error::SqliteFailure(failure, _) if failure.code == ErrorCode::ApiMisuse => {
            "there is no statement in the text"
        }
        _ => return error,
    };
    refused(why)
}

fn refused(why: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(why.into().into())
}

/// Refuses a NUL: SQLite would stop reading there, and run the text before it.
pub fn check_text(py: Python<'_>, sql: &str) -> PyResult<()> {
    match sql.contains('\0') {
        true => Err(invalid(py, "the statement has a NUL character")),
        false => Ok(()),
    }
}

/// The rows of a statement.
pub fn rows<'py>(
    py: Python<'py>,
    target: &Target,
    sql: &str,
    parameters: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    check_text(py, sql)?;
    let parameters = Parameters::of(parameters)?;
    let read = |connection: &Connection| {
        let mut statement = connection.prepare(sql)?;
        parameters.bind(&mut statement)?;
        let (width, mut found) = (statement.column_count(), Vec::new());
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(told)? {
            for at in 0..width {
                found.push(owned(row.get_ref(at)?));
            }
        }
        Ok((width, found))
    };
    let (width, found) = with(py, target, read, false)?;
    let list = PyList::empty(py);
    for row in found.chunks(width.max(1)) {
        let row: PyResult<Vec<_>> = row.iter().map(|value| object(py, raw(value))).collect();
        list.append(PyTuple::new(py, row?)?)?;
    }
    Ok(list)
}

/// Runs statements; returns how many rows the last one changed.
pub fn execute(
    py: Python<'_>,
    target: &Target,
    sql: &str,
    parameters: Option<&Bound<'_, PyAny>>,
) -> PyResult<usize> {
    check_text(py, sql)?;
    let parameters = Parameters::of(parameters)?;
    let run = |connection: &Connection| {
        let mut statement = connection.prepare(sql)?;
        parameters.bind(&mut statement)?;
        statement.raw_execute().map_err(told)
    };
    with(py, target, run, true)
}

fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

fn raw(value: &Value) -> Raw<'_> {
    match value {
        Value::Null => Raw::Null,
        Value::Integer(value) => Raw::Integer(*value),
        Value::Real(value) => Raw::Real(*value),
        Value::Text(text) => Raw::Text(text.as_bytes()),
        Value::Blob(bytes) => Raw::Blob(bytes),
    }
}

/// The same parameter, as a feed takes it.
pub fn of_dynamic(value: Value) -> dynamic::Value {
    match value {
        Value::Null => dynamic::Value::Null,
        Value::Integer(value) => dynamic::Value::Integer(value),
        Value::Real(value) => dynamic::Value::Real(value),
        Value::Text(text) => dynamic::Value::Text(text),
        Value::Blob(bytes) => dynamic::Value::Blob(bytes),
    }
}

/// The object of a value.
pub fn object<'py>(py: Python<'py>, value: Raw<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Raw::Null | Raw::Absent => py.None().into_bound(py),
        Raw::Integer(value) => PyInt::new(py, value).into_any(),
        Raw::Real(value) => PyFloat::new(py, value).into_any(),
        Raw::Text(bytes) => PyString::new(py, &String::from_utf8_lossy(bytes)).into_any(),
        Raw::Blob(bytes) => PyBytes::new(py, bytes).into_any(),
    })
}
