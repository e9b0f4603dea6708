//! The options of a store, and its maintenance: checks, salvage, a change of the key.

use crate::errors::{at, invalid, without_lock};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::time::Duration;
use touchstone_store::{Cipher, Durability, EncryptionKey, Options};

/// The options that `Store.open` was given.
pub fn options(py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options::new();
    let (mut has_key, mut has_cipher) = (false, false);
    for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        has_key |= name == "key";
        has_cipher |= name == "cipher";
        options =
            option(options, &name, &value).map_err(|error| at(py, &format!("option `{name}`"), error))?;
    }
    check_cipher(py, has_key, has_cipher)?;
    Ok(options)
}

/// Adds one option.
fn option(options: Options, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Options> {
    Ok(match name {
        "durability" => options.durability(durability(value)?),
        "exclusive" => options.exclusive(value.extract()?),
        "read_only" => options.read_only(value.extract()?),
        "create" => options.create(value.extract()?),
        "page_size" => options.page_size(value.extract()?),
        "cache_bytes" => options.cache_bytes(value.extract()?),
        "busy_timeout" => {
            let time = Duration::try_from_secs_f64(value.extract()?);
            options.busy_timeout(time.map_err(|error| invalid(value.py(), error.to_string()))?)
        }
        "checkpoint_pages" => options.checkpoint_pages(value.extract()?),
        "log_bytes_max" => options.log_bytes_max(value.extract()?),
        "key" => options.key(key(value)?),
        "cipher" => options.cipher(cipher(value)?),
        _ => return Err(PyTypeError::new_err("Store.open() has none of that name")),
    })
}

/// Refuses a cipher without a key: the file would not be encrypted.
fn check_cipher(py: Python<'_>, has_key: bool, has_cipher: bool) -> PyResult<()> {
    if has_cipher && !has_key {
        return Err(invalid(py, "a cipher is given, but no key: without one nothing is encrypted"));
    }
    Ok(())
}

/// The value of an enum's member, or the text itself.
fn word(given: &Bound<'_, PyAny>) -> PyResult<String> {
    given.getattr("value").unwrap_or_else(|_| given.clone()).extract()
}

fn durability(given: &Bound<'_, PyAny>) -> PyResult<Durability> {
    match word(given)?.as_str() {
        "strict" => Ok(Durability::Strict),
        "consistent" => Ok(Durability::Consistent),
        "process" => Ok(Durability::Process),
        other => Err(invalid(given.py(), format!("{other:?} is no durability: strict, consistent, process"))),
    }
}

fn cipher(given: &Bound<'_, PyAny>) -> PyResult<Cipher> {
    match word(given)?.as_str() {
        "aegis" => Ok(Cipher::Aegis),
        "sqlcipher" => Ok(Cipher::SqlCipher),
        other => Err(invalid(given.py(), format!("{other:?} is no cipher: aegis, sqlcipher"))),
    }
}

/// 32 bytes are a raw key, and text is a passphrase.
fn key(given: &Bound<'_, PyAny>) -> PyResult<EncryptionKey> {
    if let Ok(bytes) = given.cast::<PyBytes>() {
        let bytes: Option<[u8; 32]> = bytes.as_bytes().try_into().ok();
        return bytes
            .map(EncryptionKey::raw)
            .ok_or_else(|| invalid(given.py(), "a raw key has 32 bytes; a passphrase is text"));
    }
    given.extract::<String>().map(EncryptionKey::passphrase)
}

fn keyed(
    py: Python<'_>,
    given: Option<&Bound<'_, PyAny>>,
    with: Option<&Bound<'_, PyAny>>,
) -> PyResult<Options> {
    let mut options = Options::new();
    check_cipher(py, given.is_some(), with.is_some())?;
    if let Some(given) = given {
        options = options.key(key(given)?);
    }
    if let Some(with) = with {
        options = options.cipher(cipher(with)?);
    }
    Ok(options)
}

/// Writes a file again, under another key, another cipher, or none. No store may have the file open.
#[pyfunction]
#[pyo3(signature = (path, *, key = None, cipher = None, new_key = None, new_cipher = None))]
pub fn change_key(
    py: Python<'_>,
    path: PathBuf,
    key: Option<&Bound<'_, PyAny>>,
    cipher: Option<&Bound<'_, PyAny>>,
    new_key: Option<&Bound<'_, PyAny>>,
    new_cipher: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let (old, new) = (keyed(py, key, cipher)?, keyed(py, new_key, new_cipher)?);
    without_lock(py, || touchstone_store::Store::change_key(path, old, new))
}

/// Saves the readable part of a damaged file into a new one.
#[pyfunction]
#[pyo3(signature = (damaged, new, *, key = None, cipher = None))]
pub fn salvage(
    py: Python<'_>,
    damaged: PathBuf,
    new: PathBuf,
    key: Option<&Bound<'_, PyAny>>,
    cipher: Option<&Bound<'_, PyAny>>,
) -> PyResult<SalvageReport> {
    let options = keyed(py, key, cipher)?;
    let report = without_lock(py, || touchstone_store::Store::salvage(damaged, options, new))?;
    let tables = report.tables().iter().map(|table| {
        let made = SalvagedTable {
            name: table.name.clone(),
            rows: table.rows,
            rows_lost: table.rows_lost,
            rows_refused: table.rows_refused,
            pages_lost: table.pages_lost,
            rows_found: table.rows_found,
            rows_doubtful: table.rows_doubtful,
        };
        Py::new(py, made)
    });
    Ok(SalvageReport {
        tables: tables.collect::<PyResult<_>>()?,
        not_made: report.not_made().to_vec(),
        log_lost: report.log_lost(),
        rows: report.rows(),
        is_complete: report.is_complete(),
    })
}

/// The result of a check.
#[pyclass(frozen, get_all, module = "touchstone_store")]
pub struct CheckReport {
    is_whole: bool,
    problems: Vec<String>,
    records: u64,
}

#[pymethods]
impl CheckReport {
    fn __repr__(&self) -> String {
        format!("<CheckReport: {} records, {} problems>", self.records, self.problems.len())
    }
}

pub fn problems(report: &touchstone_store::CheckReport) -> CheckReport {
    CheckReport {
        is_whole: report.is_whole(),
        problems: report.problems().iter().map(ToString::to_string).collect(),
        records: report.records(),
    }
}

/// The result of a salvage.
#[pyclass(frozen, get_all, module = "touchstone_store")]
pub struct SalvageReport {
    tables: Vec<Py<SalvagedTable>>,
    not_made: Vec<String>,
    log_lost: bool,
    rows: u64,
    is_complete: bool,
}

#[pymethods]
impl SalvageReport {
    fn __repr__(&self) -> String {
        let complete = if self.is_complete { "complete" } else { "not complete" };
        format!("<SalvageReport: {} rows of {} tables, {complete}>", self.rows, self.tables.len())
    }
}

/// The result of a salvage for one table.
#[pyclass(frozen, get_all, module = "touchstone_store")]
pub struct SalvagedTable {
    name: String,
    rows: u64,
    rows_lost: u64,
    rows_refused: u64,
    pages_lost: u64,
    rows_found: u64,
    rows_doubtful: u64,
}

#[pymethods]
impl SalvagedTable {
    fn __repr__(&self) -> String {
        format!("<SalvagedTable {}: {} rows>", self.name, self.rows)
    }
}
