//! A transaction, from `with store.transaction()`: committed at the end of the block, and undone if an exception leaves
//! it.

use crate::errors::{invalid, without_lock};
use crate::records::{OpenStore, OpenTransaction, Place, Target, commit, ended, lock, opened};
use crate::{reads, writes};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Mutex;

/// A transaction: all of it is committed, or nothing.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Transaction {
    place: Place,
    store: OpenStore,
    transaction: OpenTransaction,
    durable: bool,
}

impl Transaction {
    pub fn new(store: OpenStore, durable: bool) -> Transaction {
        let transaction = OpenTransaction::default();
        Transaction {
            place: Place::new(Target::Transaction(transaction.clone())),
            store,
            transaction,
            durable,
        }
    }

    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        without_lock(py, || {
            let mut begun = opened(&self.store)?.begin()?;
            if self.durable {
                begun.with(|transaction| transaction.durable());
            }
            *lock(self.transaction.used()?) = Some(begun);
            Ok(())
        })
    }

    fn undo(&self, py: Python<'_>) {
        py.detach(|| self.transaction.here().map(|transaction| drop(lock(transaction).take())));
    }

    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut touchstone_store::Transaction<'_>) -> touchstone_store::Result<R> + Send,
    ) -> PyResult<R> {
        without_lock(py, || match &mut *lock(self.transaction.used()?) {
            Some(begun) => begun.with(work),
            None => Err(ended("transaction")),
        })
    }

    /// Calls a function with the transaction, and commits when it returns.
    pub fn run<'py>(
        this: &Bound<'py, Transaction>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, transaction) = (this.py(), this.get());
        transaction.begin(py)?;
        let mut all = vec![this.clone().into_any()];
        all.extend(arguments.iter());
        match function.call(PyTuple::new(py, all)?, named) {
            Ok(result) => commit(py, &transaction.transaction).map(|()| result),
            Err(error) => {
                transaction.undo(py);
                Err(error)
            }
        }
    }
}

reads!(Transaction);
writes!(Transaction);

#[pymethods]
impl Transaction {
    /// Makes the commit wait for a flush: it survives a loss of power, and with it every commit before it.
    fn durable(&self, py: Python<'_>) -> PyResult<()> {
        without_lock(py, || match &mut *lock(self.transaction.used()?) {
            Some(begun) => {
                begun.with(|transaction| transaction.durable());
                Ok(())
            }
            None => Err(ended("transaction")),
        })
    }

    /// The version that the program gave to its data here; 0 if it never gave one.
    fn user_version(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |transaction| transaction.user_version())
    }

    /// Gives the program's data a version.
    fn set_user_version(&self, py: Python<'_>, version: u32) -> PyResult<()> {
        self.with(py, |transaction| transaction.set_user_version(version))
    }

    /// A part of the transaction that is undone alone if an exception leaves its block.
    fn savepoint(&self) -> Savepoint {
        Savepoint { transaction: self.transaction.clone(), savepoint: Mutex::default() }
    }

    fn __enter__(this: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        // Another thread may have this lock for as long as its statement runs, so it is taken without the interpreter's
        // lock.
        let transaction = &this.get().transaction;
        if without_lock(this.py(), || Ok(lock(transaction.used()?).is_some()))? {
            return Err(invalid(
                this.py(),
                "the transaction has begun already: `savepoint` begins a part of it",
            ));
        }
        this.get().begin(this.py())?;
        Ok(this)
    }

    #[pyo3(signature = (exception, *_more))]
    fn __exit__(&self, exception: &Bound<'_, PyAny>, _more: &Bound<'_, PyTuple>) -> PyResult<bool> {
        if exception.is_none() {
            commit(exception.py(), &self.transaction)?;
        } else {
            self.undo(exception.py());
        }
        Ok(false)
    }
}

/// A part of a transaction.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Savepoint {
    transaction: OpenTransaction,
    savepoint: Mutex<Option<touchstone_store::Savepoint>>,
}

#[pymethods]
impl Savepoint {
    fn __enter__(this: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let part = this.get();
        without_lock(this.py(), || match &mut *lock(part.transaction.used()?) {
            Some(begun) => {
                *lock(&part.savepoint) = Some(begun.savepoint()?);
                Ok(())
            }
            None => Err(ended("transaction")),
        })?;
        Ok(this)
    }

    #[pyo3(signature = (exception, *_more))]
    fn __exit__(&self, exception: &Bound<'_, PyAny>, _more: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let keep = exception.is_none();
        without_lock(exception.py(), || {
            let mut transaction = lock(self.transaction.used()?);
            let (Some(begun), Some(savepoint)) = (&mut *transaction, lock(&self.savepoint).take()) else {
                return Err(ended("savepoint"));
            };
            if keep { begun.release(savepoint) } else { begun.undo(savepoint) }
        })?;
        Ok(false)
    }
}
