//! The store: opening, closing, and the calls that are a transaction each.

use crate::declared::declared;
use crate::errors::without_lock;
use crate::feed::Feed;
use crate::maintenance::{CheckReport, options, problems};
use crate::process::Own;
use crate::records::{OpenStore, Place, Target, opened};
use crate::snapshot;
use crate::transaction::Transaction;
use crate::{reads, writes};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// An open store.
#[pyclass(frozen, module = "touchstone_store", weakref)]
pub struct Store {
    place: Place,
    store: OpenStore,
}

reads!(Store);
writes!(Store);

impl Store {
    /// A store that is open.
    pub fn of(store: touchstone_store::Store) -> Store {
        let store = Arc::new(Own::new(RwLock::new(Some(store))));
        Store { place: Place::new(Target::Store(Arc::clone(&store))), store }
    }
}

#[pymethods]
impl Store {
    /// Opens a file, or makes it.
    #[staticmethod]
    #[pyo3(
        signature = (path, **given),
        text_signature = "(path, *, durability=None, exclusive=False, read_only=False, create=True, page_size=None, \
            cache_bytes=None, busy_timeout=None, checkpoint_pages=None, log_bytes_max=None, key=None, cipher=None)"
    )]
    fn open(py: Python<'_>, path: PathBuf, given: Option<&Bound<'_, PyDict>>) -> PyResult<Store> {
        let options = options(py, given)?;
        Ok(Store::of(without_lock(py, || options.open(path))?))
    }

    /// Closes the store, after calls of other threads on it have ended.
    pub fn close(&self, py: Python<'_>) -> PyResult<()> {
        without_lock(py, || {
            if let Some(store) = self.store.here() {
                drop(store.write().unwrap_or_else(PoisonError::into_inner).take());
            }
            Ok(())
        })
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<bool> {
        self.close(py).map(|()| false)
    }

    /// A transaction, for `with`.
    #[pyo3(signature = (*, durable = false))]
    fn transaction(&self, durable: bool) -> Transaction {
        Transaction::new(Arc::clone(&self.store), durable)
    }

    /// Calls the function with a transaction and the other arguments; commits when the function returns.
    #[pyo3(signature = (function, /, *arguments, **named))]
    fn write<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let transaction = Bound::new(function.py(), self.transaction(false))?;
        Transaction::run(&transaction, function, arguments, named)
    }

    /// Makes a function a transaction: a call of it passes one before its own arguments.
    fn transactional<'py>(
        this: &Bound<'py, Self>,
        function: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let module = PyModule::import(this.py(), intern!(this.py(), "touchstone_store._declare"))?;
        module.call_method1(intern!(this.py(), "transactional"), (this, function))
    }

    /// A snapshot, for `with`.
    fn snapshot(&self, py: Python<'_>) -> PyResult<snapshot::Snapshot> {
        let taken = without_lock(py, || opened(&self.store)?.snapshot())?;
        Ok(snapshot::Snapshot::new(Arc::new(Own::new(Mutex::new(Some(taken))))))
    }

    /// A feed for live queries. It keeps the latest results of each, or with `every` each batch, up to that many.
    #[pyo3(signature = (*, every = None, overflow = None))]
    fn feed(&self, py: Python<'_>, every: Option<usize>, overflow: Option<&str>) -> PyResult<Feed> {
        Feed::new(py, &self.store, every, overflow)
    }

    /// Waits until every commit so far has been put into the feeds that it concerns.
    fn wait_delivered(&self, py: Python<'_>) -> PyResult<()> {
        without_lock(py, || opened(&self.store)?.wait_delivered())
    }

    /// The version that the program gave to its data here; 0 if it never gave one.
    fn user_version(&self, py: Python<'_>) -> PyResult<u32> {
        without_lock(py, || opened(&self.store)?.user_version())
    }

    /// Copies the store as it is at one moment, while others write.
    fn backup(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        without_lock(py, || opened(&self.store)?.backup(path))
    }

    /// Checks every page, every index and every reference, and the records of these classes.
    #[pyo3(signature = (*classes))]
    fn check(&self, classes: &Bound<'_, PyTuple>) -> PyResult<CheckReport> {
        let types: Vec<_> =
            classes.iter().map(|class| Ok(declared(&class)?.get().of)).collect::<PyResult<_>>()?;
        without_lock(classes.py(), || {
            let store = opened(&self.store)?;
            let check = types.into_iter().fold(store.check(), |check, of| check.dynamic(of));
            Ok(problems(&check.run()?))
        })
    }

    /// The file's path.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<PathBuf> {
        without_lock(py, || Ok(opened(&self.store)?.path().to_owned()))
    }

    /// Whether other processes are shut out.
    #[getter]
    fn is_exclusive(&self, py: Python<'_>) -> PyResult<bool> {
        without_lock(py, || opened(&self.store)?.is_exclusive())
    }

    /// How often the log was flushed for a commit.
    #[getter]
    fn flushes(&self, py: Python<'_>) -> PyResult<u64> {
        without_lock(py, || Ok(opened(&self.store)?.flushes()))
    }

    /// The failures that a commit survives.
    #[getter]
    fn durability<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let durability = without_lock(py, || Ok(opened(&self.store)?.durability()))?;
        let name = format!("{durability:?}").to_lowercase();
        PyModule::import(py, "touchstone_store._options")?.getattr("Durability")?.call1((name,))
    }

    fn __repr__(&self) -> String {
        match opened(&self.store) {
            Ok(store) => format!("<Store {}>", store.path().display()),
            Err(_) => "<Store, closed>".to_owned(),
        }
    }
}
