//! The batches of a feed, and the updates in them.

use crate::column::of_item;
use crate::errors::{or_raise, raised, without_lock};
use crate::records::lock;
use crate::results::{Declared, Results, object, tuple};
use crate::subscription::{Known, Subscription, SubscriptionId, Watched};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};
use touchstone_store::dynamic::Dynamic;
use touchstone_store::{Difference, Result};

/// The changes of one transaction for a feed's subscriptions.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Batch {
    version: u64,
    is_resync: bool,
    updates: Vec<Py<Update>>,
}

/// A batch before its Python objects are made.
pub struct Taken {
    version: u64,
    is_resync: bool,
    updates: Vec<(touchstone_store::Update, Watched)>,
}

impl Taken {
    /// None if all subscriptions of the batch were cancelled since it was put.
    pub fn of(known: &Known, batch: touchstone_store::Batch) -> Option<Taken> {
        let (version, is_resync) = (batch.version(), batch.is_resync());
        let known = lock(known);
        let with_kind = |update: touchstone_store::Update| {
            let (watched, _) = known.get(&update.id())?;
            Some((update, watched.clone()))
        };
        let updates: Vec<_> = batch.into_iter().filter_map(with_kind).collect();
        (!updates.is_empty()).then_some(Taken { version, is_resync, updates })
    }

    pub fn batch(self, py: Python<'_>) -> PyResult<Batch> {
        let updates =
            self.updates.into_iter().map(|(update, watched)| Py::new(py, Update { update, watched }));
        Ok(Batch {
            version: self.version,
            is_resync: self.is_resync,
            updates: updates.collect::<PyResult<_>>()?,
        })
    }
}

#[pymethods]
impl Batch {
    /// The version of the commit whose results the batch has.
    #[getter]
    fn version(&self) -> u64 {
        self.version
    }

    /// Whether the batch stands for several transactions, because they could not be followed, or kept, one by one.
    #[getter]
    fn resync(&self) -> bool {
        self.is_resync
    }

    /// The update of one subscription, or `None` if its result has not changed.
    fn of(&self, py: Python<'_>, subscription: &Subscription) -> Option<Py<Update>> {
        let found = self.updates.iter().find(|update| update.get().update.id() == subscription.id);
        found.map(|update| update.clone_ref(py))
    }

    fn __len__(&self) -> usize {
        self.updates.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let updates = PyTuple::new(py, &self.updates)?;
        Ok(updates.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("<Batch of version {}: {} updates>", self.version, self.updates.len())
    }
}

/// The change of one subscription's result.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Update {
    update: touchstone_store::Update,
    watched: Watched,
}

/// A class of `_feed.py`.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    PyModule::import(py, intern!(py, "touchstone_store._feed"))?.getattr(name)
}

impl Update {
    /// The rows of the update, if it has records.
    fn records(
        &self,
        py: Python<'_>,
        of: impl Fn(&touchstone_store::Update) -> Result<touchstone_store::Results<Dynamic>>,
    ) -> PyResult<Results> {
        match &self.watched {
            Watched::Records(declared) => Ok(Results::of_records(or_raise(py, of(&self.update))?, declared)),
            Watched::Count | Watched::Sql => Err(raised(
                py,
                &of(&self.update).map(|_| ()).err().unwrap_or_else(|| {
                    touchstone_store::Error::new(touchstone_store::ErrorKind::Invalid, "it has no records")
                }),
            )),
        }
    }

    fn is_sql(&self) -> bool {
        matches!(self.watched, Watched::Sql)
    }

    /// The rows of a statement that were removed and inserted, with their places.
    fn sql_steps(&self, py: Python<'_>) -> PyResult<Steps> {
        let before = or_raise(py, self.update.sql_rows_before())?;
        let after = or_raise(py, self.update.sql_rows())?;
        let (gone, come) = py.detach(|| after.diff(before));
        let row = |rows: &touchstone_store::SqlRows, at| match rows.get(at) {
            Some(row) => Ok((at, tuple(py, row)?.unbind())),
            None => Ok((at, py.None())),
        };
        Ok(Steps {
            removed: gone.map(|at| row(before, at)).collect::<PyResult<_>>()?,
            inserted: come.map(|at| row(after, at)).collect::<PyResult<_>>()?,
        })
    }

    fn declared(&self, py: Python<'_>) -> PyResult<&Declared> {
        match &self.watched {
            Watched::Records(declared) => Ok(declared),
            Watched::Count | Watched::Sql => Err(crate::errors::mismatch(
                py,
                "only the number of rows is watched: `count` of the update has it",
            )),
        }
    }
}

/// Rows and their places.
struct Steps {
    removed: Vec<(usize, Py<PyAny>)>,
    inserted: Vec<(usize, Py<PyAny>)>,
}

#[pymethods]
impl Update {
    /// The subscription's id.
    #[getter]
    fn id(&self) -> SubscriptionId {
        SubscriptionId(self.update.id())
    }

    /// The version of the commit whose result this is.
    #[getter]
    fn version(&self) -> u64 {
        self.update.version()
    }

    /// Whether the result was read again, because its changes could not be followed.
    #[getter]
    fn resync(&self) -> bool {
        self.update.is_resync()
    }

    /// Why the result could not be read, or `None`. With an error the rows are old.
    #[getter]
    fn error<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.update.error().map(|error| raised(py, error).into_value(py).into_bound(py).into_any())
    }

    /// The rows now.
    #[getter]
    fn rows(&self, py: Python<'_>) -> PyResult<Results> {
        if self.is_sql() {
            return or_raise(py, self.update.sql_rows()).map(Results::of_sql);
        }
        self.records(py, |update| update.results())
    }

    /// The rows that the feed's receiver had before: with the last update that it took, or at the beginning.
    #[getter]
    fn before(&self, py: Python<'_>) -> PyResult<Results> {
        if self.is_sql() {
            return or_raise(py, self.update.sql_rows_before()).map(Results::of_sql);
        }
        self.records(py, |update| update.before())
    }

    /// How many rows there are now.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        match &self.watched {
            Watched::Count => or_raise(py, self.update.count()),
            Watched::Records(_) | Watched::Sql => Ok(self.rows(py)?.len() as u64),
        }
    }

    /// The steps that make the rows of the rows before, in order.
    fn diff<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (removed, inserted) = (class(py, "Removed")?, class(py, "Inserted")?);
        let list = PyList::empty(py);
        if self.is_sql() {
            let steps = self.sql_steps(py)?;
            for (at, _) in steps.removed {
                list.append(removed.call1((at,))?)?;
            }
            for (at, row) in steps.inserted {
                list.append(inserted.call1((at, row))?)?;
            }
            return Ok(list);
        }
        let steps = without_lock(py, || self.update.diff::<Dynamic>())?;
        let (changed, declared) = (class(py, "Changed")?, self.declared(py)?);
        for step in steps {
            list.append(match step {
                Difference::Removed { at } => removed.call1((at,))?,
                Difference::Inserted { at, record } => {
                    inserted.call1((at, object(py, &record, declared)?))?
                }
                Difference::Changed { old_at, at, record } => {
                    changed.call1((old_at, at, object(py, &record, declared)?))?
                }
            })?;
        }
        Ok(list)
    }

    /// The rows that left the result, and those that came into it, without places.
    #[getter]
    fn delta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (removed, inserted) = (PyList::empty(py), PyList::empty(py));
        if self.is_sql() {
            let steps = self.sql_steps(py)?;
            steps.removed.into_iter().try_for_each(|(_, row)| removed.append(row))?;
            steps.inserted.into_iter().try_for_each(|(_, row)| inserted.append(row))?;
        } else {
            let delta = without_lock(py, || self.update.delta::<Dynamic>())?;
            let declared = self.declared(py)?;
            delta.removed().try_for_each(|record| removed.append(object(py, record, declared)?))?;
            delta.inserted().try_for_each(|record| inserted.append(object(py, record, declared)?))?;
        }
        class(py, "Delta")?.call1((removed, inserted))
    }

    /// `Update[Task]` in an annotation, as type checkers know it.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_item(class, item)
    }

    fn __repr__(&self) -> String {
        format!("<Update of {:?}, version {}>", self.update.id(), self.update.version())
    }
}
