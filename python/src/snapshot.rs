//! A snapshot, from `with store.snapshot()`.

use crate::errors::without_lock;
use crate::reads;
use crate::records::{OpenSnapshot, Place, Target, ended, lock};
use pyo3::prelude::*;
use pyo3::types::PyAny;

/// The store as it was when the snapshot was taken.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Snapshot {
    place: Place,
    snapshot: OpenSnapshot,
}

impl Snapshot {
    pub fn new(snapshot: OpenSnapshot) -> Snapshot {
        Snapshot { place: Place::new(Target::Snapshot(snapshot.clone())), snapshot }
    }
}

reads!(Snapshot);

#[pymethods]
impl Snapshot {
    /// A number that identifies the state that the snapshot sees; `None` in the rare case that the state is not known.
    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let version = without_lock(py, || match &*lock(self.snapshot.used()?) {
            Some(snapshot) => Ok(snapshot.version()),
            None => Err(ended("snapshot")),
        })?;
        Ok(version.map(|version| {
            let mut hasher = DefaultHasher::new();
            version.hash(&mut hasher);
            hasher.finish()
        }))
    }

    /// The version that the program gave to its data here; 0 if it never gave one.
    fn user_version(&self, py: Python<'_>) -> PyResult<u32> {
        without_lock(py, || match &*lock(self.snapshot.used()?) {
            Some(snapshot) => snapshot.user_version(),
            None => Err(ended("snapshot")),
        })
    }

    /// Ends the snapshot, so that the log need not be kept for it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        without_lock(py, || {
            if let Some(snapshot) = self.snapshot.here() {
                drop(lock(snapshot).take());
            }
            Ok(())
        })
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.close(py).map(|()| false)
    }
}
