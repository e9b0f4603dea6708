//! Copies that are kept in step with the sync service. The client library does the work; this file converts its answers
//! to Python's objects, and passes it a program's functions.
//!
//! If a function raises an exception, the sync that has called it ends, as by a panic: nothing is lost, and the
//! exception is raised in the thread that has begun the sync, or that waits for the watch.

use crate::errors;
use crate::exit;
use crate::maintenance::options;
use crate::process::Own;
use crate::records::lock;
use crate::store::Store;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::any::Any;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use touchstone_sync_client::{
    Conflict, Displaced, Error, ErrorKind, Event, Options, Resolution, Result, Retry, Service, Synced,
};

/// How long a wait goes on before it checks for Ctrl-C.
const SLICE: Duration = Duration::from_millis(100);

/// A user's objects on this device.
#[pyclass(frozen, weakref, module = "touchstone_store.sync")]
pub struct Replica {
    replica: Own<Mutex<Option<touchstone_sync_client::Replica>>>,
    /// The same object for every call: a feed watches only queries of its own store object.
    store: Py<Store>,
}

/// A class of `touchstone_store.sync`.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    PyModule::import(py, intern!(py, "touchstone_store.sync"))?.getattr(name)
}

/// The exception of an error: a class for each kind; an error of the store has the store's exception.
fn raised(py: Python<'_>, error: &Error) -> PyErr {
    if let Some(of_store) = error.store() {
        return errors::raised(py, of_store);
    }
    let name = match error.kind() {
        ErrorKind::Away => "AwayError",
        ErrorKind::Unauthenticated => "UnauthenticatedError",
        ErrorKind::Refused => "RefusedError",
        ErrorKind::OtherUser => "OtherUserError",
        ErrorKind::Answer => "AnswerError",
        ErrorKind::Edit => "EditError",
        ErrorKind::Setting => "SettingError",
        _ => "SyncError",
    };
    let retry_after = error.retry_after().map(|time| time.as_secs_f64());
    let made = class(py, name).and_then(|class| class.call1((error.to_string(), retry_after)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Runs `work`, which may wait, without the interpreter's lock. Raises an exception of the program's own function.
fn outside<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let done = py.detach(|| exit::outside(|| catch_unwind(AssertUnwindSafe(work))));
    match done {
        Ok(done) => done.map_err(|error| raised(py, &error)),
        Err(panic) => {
            drop(RAISED.take());
            Err(exception(panic))
        }
    }
}

/// Runs `work`, which may take minutes. Only the main thread handles signals: there another thread does the work, and
/// the main thread checks for Ctrl-C meanwhile.
fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let threading = PyModule::import(py, intern!(py, "threading"))?;
    let main = threading.call_method0(intern!(py, "main_thread"))?;
    if !main.is(&threading.call_method0(intern!(py, "current_thread"))?) {
        return outside(py, work);
    }
    let (tell, mut told) = mpsc::channel();
    let work = move || drop(tell.send(catch_unwind(AssertUnwindSafe(work))));
    thread::Builder::new().name("sync".into()).spawn(work)?;
    loop {
        let told = &mut told;
        match py.detach(move || exit::outside(move || told.recv_timeout(SLICE))) {
            Ok(Ok(done)) => return done.map_err(|error| raised(py, &error)),
            Ok(Err(panic)) => return Err(exception(panic)),
            Err(_) => py.check_signals()?,
        }
    }
}

fn exception(panic: Box<dyn Any + Send>) -> PyErr {
    panic.downcast::<PyErr>().map_or_else(|panic| resume_unwind(panic), |error| *error)
}

thread_local! {
    /// What a function of the program has raised last on this thread: of a panic a watch tells no more than that there was one.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Calls the program's function. An exception of it, and the interpreter's end, is a panic.
fn call<R>(work: impl FnOnce(Python<'_>) -> PyResult<R>) -> R {
    let inside = exit::enter();
    let noted = |py: Python<'_>| {
        let done = work(py);
        if let Err(error) = &done {
            RAISED.set(Some(error.clone_ref(py)));
        }
        done
    };
    let called = inside.is_some().then(|| Python::try_attach(noted)).flatten();
    drop(inside);
    match called {
        Some(Ok(value)) => value,
        Some(Err(error)) => resume_unwind(Box::new(error)),
        None => resume_unwind(Box::new("the interpreter has ended")),
    }
}

fn synced<'py>(py: Python<'py>, synced: &Synced) -> PyResult<Bound<'py, PyAny>> {
    let Synced { sent, fetched, conflicts, overwritten, refused, .. } = synced;
    class(py, "Synced")?.call1((sent, fetched, conflicts, overwritten, refused))
}

/// Asks the program how to resolve a conflict.
fn decided(py: Python<'_>, decide: &Py<PyAny>, conflict: &Conflict) -> PyResult<Resolution> {
    let Conflict { id, base, mine, theirs } = conflict;
    let asked = class(py, "Conflict")?.call1((id, base, mine, theirs))?;
    let answer = decide.bind(py).call1((asked,))?;
    let keep = class(py, "Keep")?;
    if answer.is(&keep.getattr("MINE")?) {
        return Ok(Resolution::Mine);
    }
    if answer.is(&keep.getattr("THEIRS")?) {
        return Ok(Resolution::Theirs);
    }
    if answer.is_instance(&class(py, "Merged")?)? {
        return Ok(Resolution::Merged(answer.getattr("data")?.extract()?));
    }
    let why = format!(
        "a conflict is answered with Keep.MINE, Keep.THEIRS or Merged(data), and {} was returned",
        answer.get_type()
    );
    Err(PyTypeError::new_err(why))
}

fn displaced<'py>(py: Python<'py>, displaced: Displaced) -> PyResult<Bound<'py, PyAny>> {
    match displaced {
        Displaced::Overwritten { id, data } => class(py, "Overwritten")?.call1((id, data)),
        Displaced::Refused { id, data, why } => class(py, "Refused")?.call1((id, data, why)),
        other => Err(PyTypeError::new_err(format!("this version of the package does not know {other:?}"))),
    }
}

/// The data that the program's function returns for an object.
fn changed(py: Python<'_>, change: &Py<PyAny>, data: Option<&str>) -> PyResult<Option<String>> {
    let made = change.bind(py).call1((data,))?;
    made.extract().map_err(|_| {
        let why =
            format!("an update makes a text of an object, or None, and {} was returned", made.get_type());
        PyTypeError::new_err(why)
    })
}

/// The function, or an error if it is not callable.
fn callable(py: Python<'_>, function: Option<Py<PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    function.as_ref().map_or(Ok(()), |function| check_callable(py, function))?;
    Ok(function)
}

fn check_callable(py: Python<'_>, function: &Py<PyAny>) -> PyResult<()> {
    match function.bind(py).is_callable() {
        true => Ok(()),
        false => {
            let why = format!("a function is wanted, and {} was given", function.bind(py).get_type());
            Err(PyTypeError::new_err(why))
        }
    }
}

impl Replica {
    /// The copy, unless it is closed or belongs to another process.
    fn used(&self, py: Python<'_>) -> PyResult<touchstone_sync_client::Replica> {
        let replica = errors::or_raise(py, self.replica.used())?;
        let replica = py.detach(|| lock(replica).clone());
        replica.ok_or_else(|| errors::invalid(py, "the copy is closed"))
    }
}

#[pymethods]
impl Replica {
    /// Opens the copy in a file, which is made if there is none.
    #[staticmethod]
    #[pyo3(
        signature = (
            path, url, token, *, device = "device", trusting = None, attempts = None, on_conflict = None, on_displaced = None, **store
        ),
        text_signature = "(path, url, token, *, device='device', trusting=None, attempts=None, on_conflict=None, on_displaced=None, **store)"
    )]
    #[allow(clippy::too_many_arguments, reason = "they are named where it is called")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        url: &str,
        token: &str,
        device: &str,
        trusting: Option<Vec<u8>>,
        attempts: Option<u32>,
        on_conflict: Option<Py<PyAny>>,
        on_displaced: Option<Py<PyAny>>,
        store: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Replica> {
        let mut retry = Retry::default();
        retry.attempts = attempts.unwrap_or(retry.attempts);
        let service = Service::new(url, token);
        let service = match trusting {
            Some(authorities) => service.trusting(authorities),
            None => service,
        };
        let mut opening = Options::new(service).device(device).retry(retry).store(options(py, store)?);
        if let Some(decide) = callable(py, on_conflict)? {
            opening = opening.on_conflict(move |conflict| call(|py| decided(py, &decide, conflict)));
        }
        if let Some(tell) = callable(py, on_displaced)? {
            opening = opening
                .on_displaced(move |what| call(|py| tell.bind(py).call1((displaced(py, what)?,)).map(drop)));
        }
        let replica = outside(py, || opening.open(path))?;
        let store = Py::new(py, Store::of(replica.store().clone()))?;
        Ok(Replica { replica: Own::new(Mutex::new(Some(replica))), store })
    }

    /// Closes the copy and its store, after calls of other threads on them have ended.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.replica.here().map(|replica| drop(lock(replica).take())));
        self.store.get().close(py)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<bool> {
        self.close(py).map(|()| false)
    }

    /// The store of the copy, for queries and live queries of `Item`s and for records of the program's own.
    #[getter]
    fn store(&self, py: Python<'_>) -> Py<Store> {
        self.store.clone_ref(py)
    }

    /// An object's data; `None` if there is no such object.
    fn get(&self, py: Python<'_>, id: &str) -> PyResult<Option<String>> {
        let replica = self.used(py)?;
        outside(py, || replica.get(id))
    }

    /// Every object and its data, by name.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let replica = self.used(py)?;
        let all = PyDict::new(py);
        for item in outside(py, || replica.list())? {
            all.set_item(item.id, item.data)?;
        }
        Ok(all)
    }

    /// Makes an object, or gives it another state: here at once, and at the service with the next sync.
    fn put(&self, py: Python<'_>, id: &str, data: &str) -> PyResult<()> {
        let replica = self.used(py)?;
        outside(py, || replica.put(id, data))
    }

    /// Changes an object's data to the result of the function, and returns it; `None` is no object. No other change
    /// comes between. If the function raises an exception, nothing changes and the exception is raised.
    fn update(&self, py: Python<'_>, id: &str, change: Py<PyAny>) -> PyResult<Option<String>> {
        let replica = self.used(py)?;
        check_callable(py, &change)?;
        outside(py, || replica.update(id, |data| call(|py| changed(py, &change, data))))
    }

    /// Deletes an object: here at once, and at the service with the next sync.
    fn delete(&self, py: Python<'_>, id: &str) -> PyResult<()> {
        let replica = self.used(py)?;
        outside(py, || replica.delete(id))
    }

    /// How many edits the service has not stored yet.
    fn pending(&self, py: Python<'_>) -> PyResult<u64> {
        let replica = self.used(py)?;
        outside(py, || replica.pending())
    }

    /// Sends pending edits, and fetches the changes of other devices. Ctrl-C ends the wait for this; a request that is
    /// under way still completes.
    fn sync<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let replica = self.used(py)?;
        let done = interruptible(py, move || replica.sync())?;
        synced(py, &done)
    }

    /// Keeps the copy in step on a thread of its own, which calls the function with each sync's result or error.
    #[pyo3(signature = (told = None))]
    fn watch(&self, py: Python<'_>, told: Option<Py<PyAny>>) -> PyResult<Watching> {
        let (replica, told) = (self.used(py)?, callable(py, told)?);
        let waiters: Arc<AtomicUsize> = Arc::default();
        let waited = Arc::clone(&waiters);
        let tell = move |event: Event| {
            if told.is_some() || matches!(event, Event::Ended(_)) {
                call(|py| tell_event(py, told.as_ref(), &event, &waited));
            }
        };
        let watching = outside(py, || replica.watch(tell))?;
        Ok(Watching { state: Own::new(Mutex::new(State::Runs(watching))), waiters })
    }
}

/// Tells the watch's function. What nobody would be told of before somebody waits, who may never come, is reported: what has ended a watch without
/// a function, and what its function raises.
fn tell_event(
    py: Python<'_>,
    told: Option<&Py<PyAny>>,
    event: &Event,
    waiters: &AtomicUsize,
) -> PyResult<()> {
    let ended = match event {
        Event::Ended(error) => Some(ended_by(py, error)),
        _ => None,
    };
    let is_awaited = || waiters.load(Ordering::SeqCst) > 0;
    let Some(told) = told else {
        if let Some(ended) = ended.filter(|_| !is_awaited()) {
            ended.write_unraisable(py, None);
        }
        return Ok(());
    };
    let event = match (event, ended) {
        (_, Some(ended)) => class(py, "Ended")?.call1((ended.into_value(py),))?,
        (Event::Synced(done), None) => synced(py, done)?,
        (Event::Away(error), None) => raised(py, error).into_value(py).into_bound(py).into_any(),
        _ => return Ok(()),
    };
    let done = told.bind(py).call1((event,)).map(drop);
    if let Err(error) = &done
        && !is_awaited()
    {
        error.clone_ref(py).write_unraisable(py, Some(told.bind(py)));
    }
    done
}

/// What has ended a watch, as whoever waits for it is told: of a panic, the exception that it was made of.
fn ended_by(py: Python<'_>, error: &Error) -> PyErr {
    let of_program = RAISED.take().filter(|_| error.kind() == ErrorKind::Program);
    of_program.unwrap_or_else(|| raised(py, error))
}

/// A watch: it goes on until it is stopped or dropped.
#[pyclass(frozen, weakref, module = "touchstone_store.sync")]
pub struct Watching {
    state: Own<Mutex<State>>,
    /// The number of threads that wait for its end.
    waiters: Arc<AtomicUsize>,
}

/// Whether a watch goes on, or the error that has ended it, which is raised in every thread that waits.
enum State {
    Runs(touchstone_sync_client::Watching),
    Over(Option<End>),
}

enum End {
    Failed(Error),
    Raised(PyErr),
}

/// A thread waits, until this is dropped.
struct Waiting<'w>(&'w AtomicUsize);

impl<'w> Waiting<'w> {
    fn begin(waiters: &'w AtomicUsize) -> Waiting<'w> {
        waiters.fetch_add(1, Ordering::SeqCst);
        Waiting(waiters)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl State {
    fn is_over(&self) -> bool {
        match self {
            State::Runs(watching) => watching.is_over(),
            State::Over(_) => true,
        }
    }

    /// Whether the watch's own function is calling.
    fn is_own(&self) -> bool {
        matches!(self, State::Runs(watching) if watching.is_own())
    }

    fn end(&self) {
        if let State::Runs(watching) = self {
            watching.end();
        }
    }

    /// Stores the end of a watch that is over.
    fn settle(&mut self) {
        if matches!(self, State::Over(_)) {
            return;
        }
        if let State::Runs(watching) = mem::replace(self, State::Over(None)) {
            let end = match catch_unwind(AssertUnwindSafe(|| watching.wait())) {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(End::Failed(error)),
                Err(panic) => Some(End::Raised(exception(panic))),
            };
            *self = State::Over(end);
        }
    }

    fn raise(&self, py: Python<'_>) -> PyResult<()> {
        match self {
            State::Runs(_) | State::Over(None) => Ok(()),
            State::Over(Some(End::Failed(error))) => Err(raised(py, error)),
            State::Over(Some(End::Raised(error))) => Err(error.clone_ref(py)),
        }
    }
}

#[pymethods]
impl Watching {
    /// Ends the watch, after a request that is under way has been answered. Raises the error that had ended it before.
    /// A call by the watch's own function does not wait.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(state) = self.state.here() {
            lock(state).end();
        }
        self.wait(py)
    }

    /// Waits until an error that does not pass, and raises it. A call by the watch's own function is as `stop`.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let Some(state) = self.state.here() else { return Ok(()) };
        if lock(state).is_own() {
            lock(state).end();
            return Ok(());
        }
        let waiting = Waiting::begin(&self.waiters);
        let mut pause = Duration::from_millis(1);
        while !lock(state).is_over() {
            py.check_signals()?;
            py.detach(|| exit::outside(|| thread::sleep(pause)));
            pause = (pause * 2).min(SLICE);
        }
        py.detach(|| exit::outside(|| lock(state).settle()));
        drop(waiting);
        lock(state).raise(py)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<bool> {
        self.stop(py).map(|()| false)
    }
}
