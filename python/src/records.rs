//! Operations on records, in all their places: in a store, each call a transaction of its own; in a transaction; in a
//! snapshot; in a named collection of one of these.

use crate::column::{Condition, of_item};
use crate::declared::{RecordType, declared};
use crate::errors::{invalid, refused, without_lock};
use crate::process::Own;
use crate::query::Query;
use crate::rows::Rows;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyType};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use touchstone_store::dynamic::{Dynamic, Key, Type};
use touchstone_store::{Begun, Error, ErrorKind, Reading, Result, Snapshot, Store, Writing};

/// The store; none after it is closed.
pub type OpenStore = Arc<Own<RwLock<Option<Store>>>>;
/// The snapshot; none after it has ended.
pub type OpenSnapshot = Arc<Own<Mutex<Option<Snapshot>>>>;
/// The transaction; none before it begins and after it has ended.
pub type OpenTransaction = Arc<Own<Mutex<Option<Begun>>>>;

/// The store, snapshot or transaction of the records.
#[derive(Clone)]
pub enum Target {
    Store(OpenStore),
    Snapshot(OpenSnapshot),
    Transaction(OpenTransaction),
}

/// The place of a class's records: a target, and a named collection of it or none.
#[derive(Clone)]
pub struct Place {
    pub target: Target,
    pub collection: Option<String>,
}

/// Ignores that a thread has panicked with the lock: the store undoes its transaction.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The store, if it is open.
pub fn opened(store: &OpenStore) -> Result<Store> {
    let store = store.used()?.read().unwrap_or_else(PoisonError::into_inner);
    store.clone().ok_or_else(|| Error::new(ErrorKind::Invalid, "the store is closed"))
}

pub fn ended(what: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("the {what} has ended, or has not begun: use it within `with`"))
}

impl Place {
    pub fn new(target: Target) -> Place {
        Place { target, collection: None }
    }

    /// Reads, without the interpreter's lock. A thread that holds an object's lock never waits for the interpreter's.
    pub fn read<R: Send>(
        &self,
        py: Python<'_>,
        of: Type,
        work: impl FnOnce(&Reading<'_, Dynamic>) -> Result<R> + Send,
    ) -> PyResult<R> {
        without_lock(py, || match &self.target {
            Target::Store(store) => opened(store)?.read(|snapshot| self.read_snapshot(snapshot, of, work)),
            Target::Snapshot(snapshot) => match &*lock(snapshot.used()?) {
                Some(snapshot) => self.read_snapshot(snapshot, of, work),
                None => Err(ended("snapshot")),
            },
            Target::Transaction(transaction) => {
                self.write_begun(&mut lock(transaction.used()?), of, |records| work(records.reading()))
            }
        })
    }

    fn read_snapshot<R>(
        &self,
        snapshot: &Snapshot,
        of: Type,
        work: impl FnOnce(&Reading<'_, Dynamic>) -> Result<R>,
    ) -> Result<R> {
        match &self.collection {
            Some(name) => work(&snapshot.dynamic_collection(of, name)?),
            None => work(&snapshot.dynamic(of)),
        }
    }

    /// Writes, as [`read`](Place::read) reads.
    pub fn write<R: Send>(
        &self,
        py: Python<'_>,
        of: Type,
        work: impl FnOnce(&mut Writing<'_, Dynamic>) -> Result<R> + Send,
    ) -> PyResult<R> {
        without_lock(py, || match &self.target {
            Target::Store(store) => opened(store)?.write(|transaction| match &self.collection {
                Some(name) => work(&mut transaction.dynamic_collection(of, name)?),
                None => work(&mut transaction.dynamic(of)),
            }),
            Target::Snapshot(_) => Err(Error::new(ErrorKind::ReadOnly, "a snapshot is only read")),
            Target::Transaction(transaction) => self.write_begun(&mut lock(transaction.used()?), of, work),
        })
    }

    fn write_begun<R>(
        &self,
        begun: &mut Option<Begun>,
        of: Type,
        work: impl FnOnce(&mut Writing<'_, Dynamic>) -> Result<R>,
    ) -> Result<R> {
        let begun = begun.as_mut().ok_or_else(|| ended("transaction"))?;
        begun.with(|transaction| match &self.collection {
            Some(name) => work(&mut transaction.dynamic_collection(of, name)?),
            None => work(&mut transaction.dynamic(of)),
        })
    }

    /// The store, if each call is one statement there.
    fn single(&self) -> Option<&OpenStore> {
        match (&self.target, &self.collection) {
            (Target::Store(store), None) => Some(store),
            _ => None,
        }
    }

    pub fn insert(&self, object: &Bound<'_, PyAny>, of: &RecordType) -> PyResult<()> {
        let (py, record, of) = (object.py(), of.record(object)?, of.of);
        match self.single() {
            Some(store) => without_lock(py, || opened(store)?.dynamic(of).insert(&record)),
            None => self.write(py, of, |records| records.insert(&record)),
        }
    }

    pub fn put(&self, object: &Bound<'_, PyAny>, of: &RecordType) -> PyResult<()> {
        let (py, record, of) = (object.py(), of.record(object)?, of.of);
        match self.single() {
            Some(store) => without_lock(py, || opened(store)?.dynamic(of).put(&record)),
            None => self.write(py, of, |records| records.put(&record)),
        }
    }

    pub fn replace(&self, object: &Bound<'_, PyAny>, of: &RecordType) -> PyResult<bool> {
        let (py, record, of) = (object.py(), of.record(object)?, of.of);
        match self.single() {
            Some(store) => without_lock(py, || opened(store)?.dynamic(of).replace(&record)),
            None => self.write(py, of, |records| records.replace(&record)),
        }
    }

    pub fn remove(&self, key: &Bound<'_, PyAny>, of: &RecordType) -> PyResult<bool> {
        let (py, key, of) = (key.py(), of.key(key)?, of.of);
        match self.single() {
            Some(store) => without_lock(py, || opened(store)?.dynamic(of).remove(&key)),
            None => self.write(py, of, |records| records.remove(&key)),
        }
    }

    fn find(&self, py: Python<'_>, key: &Key, of: Type) -> PyResult<Option<Dynamic>> {
        match self.single() {
            Some(store) => without_lock(py, || opened(store)?.dynamic(of).get(key)),
            None => self.read(py, of, |records| records.get(key)),
        }
    }

    pub fn get<'py>(&self, key: &Bound<'py, PyAny>, of: &RecordType) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.find(key.py(), &of.key(key)?, of.of)?;
        found.map(|record| of.object(key.py(), record.values().iter().map(|value| value.raw()))).transpose()
    }

    pub fn all<'py>(&self, py: Python<'py>, of: &RecordType) -> PyResult<Bound<'py, PyList>> {
        let rows = self.read(py, of.of, |records| {
            let mut rows = Rows::default();
            records.each_view(|view| {
                rows.push(&view);
                Ok(true)
            })?;
            Ok(rows)
        })?;
        rows.objects(py, of)
    }

    /// Runs `work`, which writes the objects' records, all of one class; returns how many it wrote.
    pub fn batch(
        &self,
        objects: &Bound<'_, PyAny>,
        work: impl FnOnce(&mut Writing<'_, Dynamic>, &[Dynamic]) -> Result<u64> + Send,
    ) -> PyResult<u64> {
        let py = objects.py();
        let mut records = Vec::with_capacity(objects.len().unwrap_or(0));
        let mut of: Option<Bound<'_, RecordType>> = None;
        for object in objects.try_iter()? {
            let object = object?;
            let of = match &of {
                Some(of) => of,
                None => of.insert(declared(object.get_type().as_any())?),
            };
            records.push(of.get().record(&object)?);
        }
        match of {
            Some(of) => self.write(py, of.get().of, |writing| work(writing, &records)),
            None => Ok(0),
        }
    }

    /// Changes the record with that key; returns whether there was one. `change` may return another object.
    pub fn update(
        &self,
        key: &Bound<'_, PyAny>,
        of: &RecordType,
        change: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let py = key.py();
        let key = of.key(key)?;
        let begun = match &self.target {
            Target::Store(store) => Some(begin(py, store)?),
            _ => None,
        };
        let place = match &begun {
            Some(begun) => Place { target: Target::Transaction(Arc::clone(begun)), ..self.clone() },
            None => self.clone(),
        };
        let Some(record) = place.find(py, &key, of.of)? else { return Ok(false) };
        let object = of.object(py, record.values().iter().map(|value| value.raw()))?;
        let changed = change.call1((&object,))?;
        let record = of.record(if changed.is_none() { &object } else { &changed })?;
        if record.values()[..of.keys] != *key.values() {
            let why = format!(
                "the key of a record of `{}` was changed: remove it and insert another",
                of.of.name()
            );
            return Err(refused(py, ErrorKind::Invalid, why));
        }
        place.write(py, of.of, |records| records.put(&record))?;
        if let Some(begun) = begun {
            commit(py, &begun)?;
        }
        Ok(true)
    }

    pub fn remove_where(&self, py: Python<'_>, of: &RecordType, condition: &Condition) -> PyResult<u64> {
        check_condition(py, of.of, condition)?;
        let condition = condition.condition.clone();
        self.write(py, of.of, |records| records.remove_where(|()| condition))
    }
}

pub fn check_condition(py: Python<'_>, of: Type, condition: &Condition) -> PyResult<()> {
    if condition.of == of {
        return Ok(());
    }
    Err(invalid(py, format!("a condition on {} is none on {}", condition.of.name(), of.name())))
}

/// Begins a transaction.
pub fn begin(py: Python<'_>, store: &OpenStore) -> PyResult<OpenTransaction> {
    without_lock(py, || Ok(Arc::new(Own::new(Mutex::new(Some(opened(store)?.begin()?))))))
}

pub fn commit(py: Python<'_>, transaction: &OpenTransaction) -> PyResult<()> {
    without_lock(py, || match lock(transaction.used()?).take() {
        Some(begun) => begun.commit(),
        None => Err(ended("transaction")),
    })
}

/// One class's records in a named collection.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Collection {
    place: Place,
    declared: Py<RecordType>,
}

impl Collection {
    pub fn new(target: &Target, class: &Bound<'_, PyAny>, name: String) -> PyResult<Collection> {
        let place = Place { target: target.clone(), collection: Some(name) };
        Ok(Collection { place, declared: declared(class)?.unbind() })
    }
}

#[pymethods]
impl Collection {
    /// The record with that key, or `None`.
    fn get<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.place.get(key, self.declared.get())
    }

    /// Every record.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.place.all(py, self.declared.get())
    }

    /// How many records there are.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.place.read(py, self.declared.get().of, |records| records.count())
    }

    /// A query of the records.
    fn query(&self, py: Python<'_>) -> Query {
        Query::new(self.place.clone(), self.declared.clone_ref(py))
    }

    /// Inserts a record.
    fn insert(&self, record: &Bound<'_, PyAny>) -> PyResult<()> {
        self.place.insert(record, self.declared.get())
    }

    /// Inserts all the records, or none of them; returns how many there were.
    fn insert_all(&self, records: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.place.batch(records, |writing, records| writing.insert_all(records))
    }

    /// Inserts a record, or replaces the one with its key.
    fn put(&self, record: &Bound<'_, PyAny>) -> PyResult<()> {
        self.place.put(record, self.declared.get())
    }

    /// Inserts or replaces all the records, or none of them; returns how many there were.
    fn put_all(&self, records: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.place.batch(records, |writing, records| writing.put_all(records))
    }

    /// Replaces the record with that key; returns whether there was one.
    fn replace(&self, record: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.place.replace(record, self.declared.get())
    }

    /// Replaces the records with these keys; returns how many of them there were.
    fn replace_all(&self, records: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.place.batch(records, |writing, records| writing.replace_all(records))
    }

    /// Changes the record with that key; returns whether there was one.
    fn update(&self, key: &Bound<'_, PyAny>, change: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.place.update(key, self.declared.get(), change)
    }

    /// Removes the record with that key; returns whether there was one.
    fn remove(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.place.remove(key, self.declared.get())
    }

    /// Removes the records for which the condition is true; returns how many there were.
    fn remove_where(&self, py: Python<'_>, condition: &Condition) -> PyResult<u64> {
        self.place.remove_where(py, self.declared.get(), condition)
    }

    /// `Collection[Task]` in an annotation, as type checkers know it.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_item(class, item)
    }

    fn __repr__(&self) -> String {
        let name = self.place.collection.as_deref().unwrap_or_default();
        format!("<Collection {name:?} of {}>", self.declared.get().of.name())
    }

    /// Removes every record; returns how many there were.
    fn clear(&self, py: Python<'_>) -> PyResult<u64> {
        self.place.write(py, self.declared.get().of, |records| records.clear())
    }
}

/// The methods of every class that reads records, with the class of the records as an argument.
#[macro_export]
macro_rules! reads {
    ($class:ty) => {
        #[pymethods]
        impl $class {
            /// The record with that key, or `None`.
            fn get<'py>(
                &self,
                r#type: &Bound<'py, PyAny>,
                key: &Bound<'py, PyAny>,
            ) -> PyResult<Option<Bound<'py, PyAny>>> {
                self.place.get(key, $crate::declared::declared(r#type)?.get())
            }

            /// Every record of a class.
            fn all<'py>(&self, r#type: &Bound<'py, PyAny>) -> PyResult<Bound<'py, pyo3::types::PyList>> {
                self.place.all(r#type.py(), $crate::declared::declared(r#type)?.get())
            }

            /// How many records of a class there are.
            fn count(&self, r#type: &Bound<'_, PyAny>) -> PyResult<u64> {
                let of = $crate::declared::declared(r#type)?.get().of;
                self.place.read(r#type.py(), of, |records| records.count())
            }

            /// A query of a class's records.
            fn query(&self, r#type: &Bound<'_, PyAny>) -> PyResult<$crate::query::Query> {
                let declared = $crate::declared::declared(r#type)?.unbind();
                Ok($crate::query::Query::new(self.place.clone(), declared))
            }

            /// The records of a class in the collection of that name.
            fn collection(
                &self,
                r#type: &Bound<'_, PyAny>,
                name: String,
            ) -> PyResult<$crate::records::Collection> {
                $crate::records::Collection::new(&self.place.target, r#type, name)
            }

            /// The rows of SQL that only reads.
            #[pyo3(signature = (text, parameters = None))]
            fn sql<'py>(
                &self,
                py: Python<'py>,
                text: &str,
                parameters: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, pyo3::types::PyList>> {
                $crate::sql::rows(py, &self.place.target, text, parameters)
            }
        }
    };
}

/// The methods of every class that writes records.
#[macro_export]
macro_rules! writes {
    ($class:ty) => {
        #[pymethods]
        impl $class {
            /// Inserts a record.
            fn insert(&self, record: &Bound<'_, PyAny>) -> PyResult<()> {
                self.place.insert(record, $crate::declared::declared(record.get_type().as_any())?.get())
            }

            /// Inserts all the records, or none of them; returns how many there were.
            fn insert_all(&self, records: &Bound<'_, PyAny>) -> PyResult<u64> {
                self.place.batch(records, |writing, records| writing.insert_all(records))
            }

            /// Inserts a record, or replaces the one with its key.
            fn put(&self, record: &Bound<'_, PyAny>) -> PyResult<()> {
                self.place.put(record, $crate::declared::declared(record.get_type().as_any())?.get())
            }

            /// Inserts or replaces all the records, or none of them; returns how many there were.
            fn put_all(&self, records: &Bound<'_, PyAny>) -> PyResult<u64> {
                self.place.batch(records, |writing, records| writing.put_all(records))
            }

            /// Replaces the record with that key; returns whether there was one.
            fn replace(&self, record: &Bound<'_, PyAny>) -> PyResult<bool> {
                self.place.replace(record, $crate::declared::declared(record.get_type().as_any())?.get())
            }

            /// Replaces the records with these keys; returns how many of them there were.
            fn replace_all(&self, records: &Bound<'_, PyAny>) -> PyResult<u64> {
                self.place.batch(records, |writing, records| writing.replace_all(records))
            }

            /// Changes the record with that key; returns whether there was one.
            fn update(
                &self,
                r#type: &Bound<'_, PyAny>,
                key: &Bound<'_, PyAny>,
                change: &Bound<'_, PyAny>,
            ) -> PyResult<bool> {
                self.place.update(key, $crate::declared::declared(r#type)?.get(), change)
            }

            /// Removes the record with that key; returns whether there was one.
            fn remove(&self, r#type: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
                self.place.remove(key, $crate::declared::declared(r#type)?.get())
            }

            /// Removes the records for which the condition is true; returns how many there were.
            fn remove_where(
                &self,
                r#type: &Bound<'_, PyAny>,
                condition: &$crate::column::Condition,
            ) -> PyResult<u64> {
                self.place.remove_where(r#type.py(), $crate::declared::declared(r#type)?.get(), condition)
            }

            /// Removes every record of a class; returns how many there were.
            fn clear(&self, r#type: &Bound<'_, PyAny>) -> PyResult<u64> {
                let of = $crate::declared::declared(r#type)?.get().of;
                self.place.write(r#type.py(), of, |records| records.clear())
            }

            /// Runs SQL that writes; returns how many rows it changed.
            #[pyo3(signature = (text, parameters = None))]
            fn execute(
                &self,
                py: Python<'_>,
                text: &str,
                parameters: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<usize> {
                $crate::sql::execute(py, &self.place.target, text, parameters)
            }
        }
    };
}
