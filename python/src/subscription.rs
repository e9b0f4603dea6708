//! Subscriptions: the queries that a feed watches, and how it follows them.

use crate::column::of_item;
use crate::errors::{invalid, without_lock};
use crate::process::Own;
use crate::records::lock;
use crate::results::{Declared, Results};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use touchstone_store::dynamic::Dynamic;
use touchstone_store::{CountSubscription, Error, ErrorKind, Result, SqlSubscription, Structure};

/// The kind of a subscription's updates.
#[derive(Clone)]
pub enum Watched {
    Records(Declared),
    Count,
    Sql,
}

/// A feed's subscriptions: they last until they are cancelled, whether the program keeps them or not. A thread that
/// begins one holds this lock, so that no update of it is received before it is known; and never the interpreter's lock
/// as well.
pub type Known = Mutex<HashMap<touchstone_store::SubscriptionId, (Watched, Kept)>>;

/// None after it was cancelled.
type Kept = Arc<Own<Mutex<Option<Held>>>>;

/// Identifies a subscription: no two of a store have the same.
#[pyclass(frozen, eq, ord, hash, module = "touchstone_store")]
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub touchstone_store::SubscriptionId);

#[pymethods]
impl SubscriptionId {
    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A watched query, until it is cancelled, or the feed is gone.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Subscription {
    pub id: touchstone_store::SubscriptionId,
    kept: Kept,
    known: Weak<Own<Known>>,
}

pub enum Held {
    Records(touchstone_store::Subscription<Dynamic>, Declared),
    Count(CountSubscription),
    Sql(SqlSubscription),
}

impl Held {
    fn id(&self) -> touchstone_store::SubscriptionId {
        match self {
            Held::Records(held, _) => held.id(),
            Held::Count(held) => held.id(),
            Held::Sql(held) => held.id(),
        }
    }

    fn watched(&self) -> Watched {
        match self {
            Held::Records(_, declared) => Watched::Records(Arc::clone(declared)),
            Held::Count(_) => Watched::Count,
            Held::Sql(_) => Watched::Sql,
        }
    }
}

impl Subscription {
    /// Begins subscriptions, without the interpreter's lock.
    pub fn begin(
        py: Python<'_>,
        known: &Arc<Own<Known>>,
        begin: impl FnOnce() -> Result<Vec<Held>> + Send,
    ) -> PyResult<Vec<Subscription>> {
        without_lock(py, || {
            let mut by_id = lock(known.used()?);
            let subscription = |held: Held| {
                let (id, watched, kept) =
                    (held.id(), held.watched(), Arc::new(Own::new(Mutex::new(Some(held)))));
                by_id.insert(id, (watched, Arc::clone(&kept)));
                Subscription { id, kept, known: Arc::downgrade(known) }
            };
            Ok(begin()?.into_iter().map(subscription).collect())
        })
    }

    fn with<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Held) -> Result<R> + Send) -> PyResult<R> {
        without_lock(py, || match &mut *lock(self.kept.used()?) {
            Some(held) => work(held),
            None => Err(Error::new(ErrorKind::Invalid, "the subscription was cancelled")),
        })
    }

    fn end(&self) {
        // After this drop no update of the subscription is given, so its entry is removed.
        let Some(kept) = self.kept.here() else { return };
        drop(lock(kept).take());
        if let Some(known) = self.known.upgrade() {
            lock(&known).remove(&self.id);
        }
    }
}

impl Drop for Subscription {
    /// The program can no longer ask for the subscription's first rows: they are freed.
    fn drop(&mut self) {
        let Some(kept) = self.kept.here() else { return };
        if let Some(Held::Records(held, _)) = &mut *lock(kept) {
            drop(held.take_results());
        }
    }
}

#[pymethods]
impl Subscription {
    /// Identifies the subscription in its updates.
    #[getter]
    fn id(&self) -> SubscriptionId {
        SubscriptionId(self.id)
    }

    /// The rows at its beginning: updates give the later changes.
    #[getter]
    fn rows(&self, py: Python<'_>) -> PyResult<Results> {
        self.found(py, false)
    }

    /// The rows at its beginning, which it then frees: a long subscription need not keep them.
    fn take_rows(&self, py: Python<'_>) -> PyResult<Results> {
        self.found(py, true)
    }

    /// The number of rows at its beginning.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |held| {
            Ok(match held {
                Held::Records(held, _) => held.results().len() as u64,
                Held::Count(held) => held.count(),
                Held::Sql(held) => held.rows().len() as u64,
            })
        })
    }

    /// How the feed follows the subscription.
    fn explain(&self, py: Python<'_>) -> PyResult<LiveExplanation> {
        let told = self.with(py, |held| match held {
            Held::Records(held, _) => held.explain(),
            Held::Count(held) => held.explain(),
            Held::Sql(held) => held.explain(),
        })?;
        Ok(LiveExplanation::of(told))
    }

    /// Ends the subscription: no batch that is taken later has an update of it.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.end());
    }

    /// `Subscription[Task]` in an annotation, as type checkers know it.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_item(class, item)
    }

    fn __repr__(&self) -> String {
        format!("<Subscription {:?}>", self.id)
    }
}

impl Subscription {
    fn found(&self, py: Python<'_>, takes: bool) -> PyResult<Results> {
        let found = self.with(py, |held| {
            Ok(match held {
                Held::Records(held, declared) => {
                    let records = if takes { held.take_results() } else { held.results().clone() };
                    Some(Results::of_records(records, declared))
                }
                Held::Sql(held) => Some(Results::of_sql(held.rows())),
                Held::Count(_) => None,
            })
        })?;
        found.ok_or_else(|| invalid(py, "only the number of rows is watched: `count` has it"))
    }
}

/// How a feed follows a subscription, and what that costs.
#[pyclass(frozen, get_all, module = "touchstone_store")]
pub struct LiveExplanation {
    structure: &'static str,
    order: Vec<String>,
    evaluates: bool,
    sharing: usize,
    rows: usize,
    bytes: usize,
    tables: Vec<String>,
    why_always: Option<String>,
    text: String,
}

impl LiveExplanation {
    fn of(told: touchstone_store::LiveExplanation) -> LiveExplanation {
        let structure = match told.structure {
            Structure::Key => "key",
            Structure::Window => "window",
            Structure::Number => "number",
            Structure::Refetch => "refetch",
            _ => "other",
        };
        LiveExplanation {
            structure,
            text: told.to_string(),
            order: told.order,
            evaluates: told.evaluates,
            sharing: told.sharing,
            rows: told.rows,
            bytes: told.bytes,
            tables: told.tables,
            why_always: told.why_always,
        }
    }
}

#[pymethods]
impl LiveExplanation {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<LiveExplanation: {}>", self.text)
    }
}
