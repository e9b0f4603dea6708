//! Feeds: a program begins live queries at a feed, and receives from it the changes of each transaction; in a thread
//! that waits, in a task of `asyncio`, or in a listener.

use crate::alarm::Alarms;
use crate::declared::declared;
use crate::errors::{invalid, or_raise, without_lock};
use crate::exit;
use crate::process::Own;
use crate::query::{Query, Request};
use crate::records::{OpenStore, Target, lock, opened};
use crate::results::Declared;
use crate::sql;
use crate::subscription::{Held, Known, Subscription};
use crate::update::{Batch, Taken};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use touchstone_store::{Mode, Overflow, Result};

/// How long a wait goes on before it checks for Ctrl-C.
const SLICE: Duration = Duration::from_millis(100);

/// One queue of batches, for any number of subscriptions.
#[pyclass(frozen, weakref, module = "touchstone_store")]
pub struct Feed {
    feed: Own<touchstone_store::Feed>,
    store: OpenStore,
    known: Arc<Own<Known>>,
    alarms: Own<Alarms>,
    listeners: Arc<Own<Listeners>>,
    is_ended: AtomicBool,
}

/// The listeners, as long as the feed is there.
type Listeners = Mutex<Vec<Heard>>;

type Heard = Arc<Own<touchstone_store::Listener>>;

/// The mode of these arguments.
fn mode(py: Python<'_>, every: Option<usize>, overflow: Option<&str>) -> PyResult<Mode> {
    let Some(batches) = every else {
        return match overflow {
            None => Ok(Mode::Latest),
            Some(_) => Err(invalid(py, "a feed of the latest results does not overflow: give `every`, too")),
        };
    };
    if batches == 0 {
        return Err(invalid(py, "a feed keeps at least one batch"));
    }
    let overflow = match overflow.unwrap_or("resync") {
        "block" => Overflow::Block,
        "resync" => Overflow::Resync,
        "end" => Overflow::End,
        other => return Err(invalid(py, format!("{other:?} is no overflow: block, resync, end"))),
    };
    Ok(Mode::Every { batches, overflow })
}

impl Feed {
    pub fn new(
        py: Python<'_>,
        store: &OpenStore,
        every: Option<usize>,
        overflow: Option<&str>,
    ) -> PyResult<Feed> {
        let mode = mode(py, every, overflow)?;
        let feed = without_lock(py, || opened(store)?.feed_with(mode))?;
        Ok(Feed {
            feed: Own::new(feed),
            store: Arc::clone(store),
            known: Arc::default(),
            alarms: Own::default(),
            listeners: Arc::default(),
            is_ended: AtomicBool::new(false),
        })
    }

    /// The class and the request of a query, if this feed can watch it.
    fn asked(&self, query: &Bound<'_, PyAny>) -> PyResult<(Declared, Request)> {
        let py = query.py();
        let Ok(query) = query.cast::<Query>() else {
            let why =
                format!("a query is wanted, as in `store.query(Task)`, and {} was given", query.get_type());
            return Err(PyTypeError::new_err(why));
        };
        let (place, declared, request) = query.get().parts();
        let why = match (&place.target, &place.collection) {
            (Target::Store(store), None) if Arc::ptr_eq(store, &self.store) => {
                return Ok((Arc::new(declared.clone_ref(py)), request.clone()));
            }
            (Target::Store(_), None) => "the query is one of another store than the feed",
            (Target::Store(_), Some(_)) => "what is in a named collection is not watched",
            _ => "a query of the store is watched, as in `store.query(Task)`: this one ends before",
        };
        Err(invalid(py, why))
    }

    fn begin_one(
        &self,
        py: Python<'_>,
        begin: impl FnOnce() -> Result<Held> + Send,
    ) -> PyResult<Subscription> {
        Ok(Subscription::begin(py, &self.known, || Ok(vec![begin()?]))?.remove(0))
    }

    /// Takes a batch if there is one; else the waker is called when there may be one.
    fn poll(&self, waker: &Waker) -> Result<Poll<Option<Taken>>> {
        loop {
            match pin!(self.feed.used()?.next_async()).poll(&mut Context::from_waker(waker)) {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(batch) => match batch? {
                    Some(batch) => {
                        if let Some(taken) = Taken::of(&self.known, batch) {
                            return Ok(Poll::Ready(Some(taken)));
                        }
                    }
                    None => {
                        self.is_ended.store(true, Ordering::Relaxed);
                        return Ok(Poll::Ready(None));
                    }
                },
            }
        }
    }

    /// Waits for a batch, no longer than `time`.
    fn wait(&self, time: Duration) -> Result<Poll<Option<Taken>>> {
        match self.feed.used()?.next_within(time)?.and_then(|batch| Taken::of(&self.known, batch)) {
            Some(taken) => Ok(Poll::Ready(Some(taken))),
            // There is no batch yet, or the feed has ended: `poll` decides.
            None => self.poll(Waker::noop()),
        }
    }

    /// Waits for a batch, in slices; none if the time has passed, or if the feed has ended.
    fn take(&self, py: Python<'_>, time: Option<Duration>) -> PyResult<Option<Batch>> {
        let end = time.and_then(|time| Instant::now().checked_add(time));
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let slice = left.map_or(SLICE, |left| left.min(SLICE));
            match or_raise(py, py.detach(|| exit::outside(|| self.wait(slice))))? {
                Poll::Ready(taken) => return taken.map(|taken| taken.batch(py)).transpose(),
                Poll::Pending => py.check_signals()?,
            }
            if left.is_some_and(|left| left <= slice) {
                return Ok(None);
            }
        }
    }

    fn coroutine<'py>(this: &Bound<'py, Feed>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let module = PyModule::import(this.py(), intern!(this.py(), "touchstone_store._feed"))?;
        module.getattr(name)?.call1((this,))
    }
}

#[pymethods]
impl Feed {
    /// Watches a query.
    fn watch(&self, query: &Bound<'_, PyAny>) -> PyResult<Subscription> {
        let (declared, request) = self.asked(query)?;
        let of = declared.get().of;
        self.begin_one(query.py(), || {
            Ok(Held::Records(request.applied(self.feed.dynamic(of)).watch()?, declared))
        })
    }

    /// Watches the number of records in a query's result.
    fn watch_count(&self, query: &Bound<'_, PyAny>) -> PyResult<Subscription> {
        let (declared, request) = self.asked(query)?;
        let of = declared.get().of;
        self.begin_one(query.py(), || Ok(Held::Count(request.applied(self.feed.dynamic(of)).watch_count()?)))
    }

    /// Watches the record with a key.
    fn watch_one(&self, r#type: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> PyResult<Subscription> {
        let declared = declared(r#type)?;
        let (of, key) = (declared.get().of, declared.get().key(key)?);
        let declared = Arc::new(declared.unbind());
        self.begin_one(r#type.py(), || Ok(Held::Records(self.feed.watch_dynamic(of, &key)?, declared)))
    }

    /// Watches queries of one class, all from one version on: all of them, or none if one fails.
    fn watch_all(&self, queries: &Bound<'_, PyAny>) -> PyResult<Vec<Subscription>> {
        let py = queries.py();
        let asked = queries.try_iter()?.map(|query| self.asked(&query?)).collect::<PyResult<Vec<_>>>()?;
        let Some(of) = asked.first().map(|(declared, _)| declared.get().of) else { return Ok(Vec::new()) };
        if asked.iter().any(|(declared, _)| declared.get().of != of) {
            return Err(invalid(py, "queries that begin together are of one class"));
        }
        let (declared, requests): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
        Subscription::begin(py, &self.known, || {
            let queries = requests.into_iter().map(|request| request.applied(self.feed.dynamic(of)));
            let begun = self.feed.watch_all(queries)?;
            Ok(begun
                .into_iter()
                .zip(declared)
                .map(|(held, declared)| Held::Records(held, declared))
                .collect())
        })
    }

    /// Watches the result of a statement of SQL.
    #[pyo3(signature = (text, parameters = None))]
    fn watch_sql(
        &self,
        py: Python<'_>,
        text: String,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Subscription> {
        if parameters.is_some_and(|given| given.is_instance_of::<PyDict>()) {
            return Err(PyTypeError::new_err("the parameters of a watched statement are given by place"));
        }
        sql::check_text(py, &text)?;
        let parameters = match parameters {
            Some(given) => {
                given.try_iter()?.map(|given| sql::value(&given?)).collect::<PyResult<Vec<_>>>()?
            }
            None => Vec::new(),
        };
        let parameters: Vec<_> = parameters.into_iter().map(sql::of_dynamic).collect();
        self.begin_one(py, || Ok(Held::Sql(self.feed.watch_sql(text, parameters)?)))
    }

    /// Waits for the next batch; `None` if that many seconds have passed, or if the feed has ended.
    #[pyo3(signature = (timeout = None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Batch>> {
        let time = timeout.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|error| invalid(py, format!("timeout: {error}")))?;
        self.take(py, time)
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.take(py, None)
    }

    /// As `next`, for a task of `asyncio`.
    fn anext<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Feed::coroutine(this, "anext")
    }

    fn __aiter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __anext__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Feed::coroutine(this, "step")
    }

    /// A batch; `None` if the feed has ended; or `False`: then `wake` is called on another thread when there may be a
    /// batch.
    fn _poll<'py>(&self, py: Python<'py>, wake: Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
        or_raise(py, self.feed.used())?;
        let waker = self.alarms.waker(wake)?;
        match without_lock(py, || self.poll(&waker))? {
            Poll::Ready(Some(taken)) => Ok(Bound::new(py, taken.batch(py)?)?.into_any()),
            Poll::Ready(None) => Ok(py.None().into_bound(py)),
            Poll::Pending => Ok(PyBool::new(py, false).to_owned().into_any()),
        }
    }

    /// Calls `callback` for each batch, on a thread of its own, until the feed ends or the listener is cancelled.
    fn listen(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<Listener> {
        let raised = Arc::new(OnceLock::new());
        let (known, kept) = (Arc::clone(&self.known), Arc::clone(&raised));
        if !callback.bind(py).is_callable() {
            let why = format!("a function is wanted, and {} was given", callback.bind(py).get_type());
            return Err(PyTypeError::new_err(why));
        }
        let listener = without_lock(py, || {
            let feed = self.feed.used()?.clone();
            let listener = feed.listen(move |batch| call(&known, &callback, &kept, batch))?;
            Ok(Arc::new(Own::new(listener)))
        })?;
        lock(&self.listeners).push(Arc::clone(&listener));
        Ok(Listener { listener, raised, listeners: Arc::downgrade(&self.listeners) })
    }

    /// Ends the feed: pending batches may still be taken.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.feed.here().map(touchstone_store::Feed::close));
    }

    /// Whether the feed has ended, and a call for its next batch has returned so.
    #[getter]
    fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// Ends the feed and its subscriptions.
    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> bool {
        py.detach(|| {
            let Some(feed) = self.feed.here() else { return };
            feed.close();
            let known = std::mem::take(&mut *lock(&self.known));
            for (_, kept) in known.into_values() {
                drop(lock(&kept).take());
            }
        });
        false
    }
}

/// The exception that a callback raised.
type Raised = OnceLock<PyErr>;

fn call(known: &Known, callback: &Py<PyAny>, kept: &Raised, batch: touchstone_store::Batch) {
    let Some(taken) = Taken::of(known, batch) else { return };
    let inside = exit::enter();
    let goes_on = inside.is_some()
        && Python::try_attach(|py| {
            let called = taken.batch(py).and_then(|batch| callback.call1(py, (batch,)));
            let Err(error) = called else { return true };
            let _ = kept.set(error.clone_ref(py));
            error.write_unraisable(py, Some(callback.bind(py)));
            false
        })
        .unwrap_or(false);
    drop(inside);
    if !goes_on {
        // The panic ends the listener; the exception itself was reported above.
        resume_unwind(Box::new("the callback raised an exception"));
    }
}

/// A thread that calls back for each batch of a feed.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Listener {
    listener: Heard,
    raised: Arc<Raised>,
    listeners: Weak<Own<Listeners>>,
}

#[pymethods]
impl Listener {
    /// Ends the listener: after the return no callback runs or starts. Within the callback it returns at once.
    fn cancel(&self, py: Python<'_>) {
        let Some(listener) = self.listener.here() else { return };
        py.detach(|| listener.cancel());
        if let Some(listeners) = self.listeners.upgrade() {
            lock(&listeners).retain(|listener| !Arc::ptr_eq(listener, &self.listener));
        }
    }

    /// The exception with which the callback ended the listener, or `None`.
    #[getter]
    fn error<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.raised.get().map(|error| error.value(py).clone().into_any())
    }
}
