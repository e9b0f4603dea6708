//! A query: a place, a class, conditions and an order. Each step makes another query, and only asking for records
//! reads.

use crate::column::{Column, Condition, Order, of_item};
use crate::declared::RecordType;
use crate::errors::invalid;
use crate::records::{Place, check_condition};
use crate::rows::{RowIterator, Rows};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};
use touchstone_store::Reading;
use touchstone_store::dynamic::{Dynamic, Type};

/// A query of a class's records.
#[pyclass(frozen, module = "touchstone_store")]
pub struct Query {
    place: Place,
    declared: Py<RecordType>,
    request: Request,
}

/// The conditions, order and limits of a query.
#[derive(Clone, Default)]
pub struct Request {
    condition: Option<touchstone_store::Condition<Dynamic>>,
    order: Vec<touchstone_store::Order<Dynamic>>,
    limit: Option<u64>,
    offset: u64,
}

/// How a query is run.
#[pyclass(frozen, get_all, module = "touchstone_store")]
pub struct Explanation {
    by_pages: bool,
    sql: Option<String>,
    plan: Vec<String>,
}

impl Request {
    fn of<'r>(self, reading: &Reading<'r, Dynamic>) -> touchstone_store::Query<'r, Dynamic> {
        self.applied(reading.query())
    }

    /// Applies the request to a query of all records.
    pub fn applied<'s, S>(
        self,
        mut query: touchstone_store::Query<'s, Dynamic, S>,
    ) -> touchstone_store::Query<'s, Dynamic, S> {
        if let Some(condition) = self.condition {
            query = query.filter(|()| condition);
        }
        for order in self.order {
            query = query.order(|()| order);
        }
        if let Some(limit) = self.limit {
            query = query.limit(limit);
        }
        query.offset(self.offset)
    }
}

impl Query {
    pub fn new(place: Place, declared: Py<RecordType>) -> Query {
        Query { place, declared, request: Request::default() }
    }

    /// Where the query reads, its class, and its request.
    pub fn parts(&self) -> (&Place, &Py<RecordType>, &Request) {
        (&self.place, &self.declared, &self.request)
    }

    fn of(&self) -> Type {
        self.declared.get().of
    }

    fn with(&self, py: Python<'_>, request: Request) -> Query {
        Query { place: self.place.clone(), declared: self.declared.clone_ref(py), request }
    }

    fn rows(&self, py: Python<'_>, request: Request) -> PyResult<Rows> {
        self.place.read(py, self.of(), |records| {
            let mut rows = Rows::default();
            request.of(records).each_view(|view| {
                rows.push(&view);
                Ok(true)
            })?;
            Ok(rows)
        })
    }
}

#[pymethods]
impl Query {
    /// Keeps the records for which all these conditions are true.
    #[pyo3(signature = (*conditions))]
    fn filter(&self, conditions: &Bound<'_, PyTuple>) -> PyResult<Query> {
        let py = conditions.py();
        let mut request = self.request.clone();
        for condition in conditions.iter() {
            let Ok(condition) = condition.cast::<Condition>() else {
                return Err(PyTypeError::new_err(format!(
                    "a condition is wanted, and {} was given: compare a field of the class, as in `Task.due < 30`",
                    condition.get_type()
                )));
            };
            check_condition(py, self.of(), condition.get())?;
            let condition = condition.get().condition.clone();
            request.condition = Some(match request.condition.take() {
                Some(before) => before.and(condition),
                None => condition,
            });
        }
        Ok(self.with(py, request))
    }

    /// Orders the records: by each of these in turn, and by the key among equal ones.
    #[pyo3(signature = (*orders))]
    fn order_by(&self, orders: &Bound<'_, PyTuple>) -> PyResult<Query> {
        let py = orders.py();
        let mut request = self.request.clone();
        for order in orders.iter() {
            let (of, order) = if let Ok(column) = order.cast::<Column>() {
                (column.get().of(), column.get().ascending())
            } else if let Ok(order) = order.cast::<Order>() {
                (order.get().of, order.get().order)
            } else {
                let why = "an order is wanted, as in `Task.due.desc()`, or a field of the class";
                return Err(PyTypeError::new_err(why));
            };
            if of != self.of() {
                return Err(invalid(
                    py,
                    format!("an order of {} is none of {}", of.name(), self.of().name()),
                ));
            }
            request.order.push(order);
        }
        Ok(self.with(py, request))
    }

    /// At most that many records.
    fn limit(&self, py: Python<'_>, records: u64) -> Query {
        self.with(py, Request { limit: Some(records), ..self.request.clone() })
    }

    /// Leaves out that many records first.
    fn offset(&self, py: Python<'_>, records: u64) -> Query {
        self.with(py, Request { offset: records, ..self.request.clone() })
    }

    /// The records.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.rows(py, self.request.clone())?.objects(py, self.declared.get())
    }

    /// The first record, or `None`.
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut request = self.request.clone();
        request.limit = Some(request.limit.map_or(1, |limit| limit.min(1)));
        self.rows(py, request)?.objects(py, self.declared.get())?.iter().next().map(Ok).transpose()
    }

    /// How many records there are.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let request = self.request.clone();
        self.place.read(py, self.of(), |records| request.of(records).count())
    }

    /// How the query is run.
    fn explain(&self, py: Python<'_>) -> PyResult<Explanation> {
        let request = self.request.clone();
        let told = self.place.read(py, self.of(), |records| request.of(records).explain())?;
        Ok(Explanation { by_pages: told.by_pages, sql: told.sql, plan: told.plan })
    }

    /// The records one by one. All rows are read when the iteration begins; each becomes an object when the iteration
    /// reaches it.
    fn __iter__(&self, py: Python<'_>) -> PyResult<RowIterator> {
        Ok(RowIterator::new(self.rows(py, self.request.clone())?, self.declared.clone_ref(py)))
    }

    /// `Query[Task]` in an annotation, as type checkers know it.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_item(class, item)
    }

    fn __repr__(&self) -> String {
        format!("<Query of {}>", self.of().name())
    }
}

#[pymethods]
impl Explanation {
    fn __repr__(&self) -> String {
        format!("Explanation(by_pages={}, plan={:?})", self.by_pages, self.plan)
    }
}
