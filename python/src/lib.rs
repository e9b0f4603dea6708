//! The native part of the Python package: it converts between Python's objects and the store's values, and releases the
//! interpreter's lock around all work on the file. Code that need not be fast is Python, in `touchstone_store/`.

mod alarm;
mod codec;
mod column;
mod declared;
mod errors;
mod exit;
mod feed;
mod field;
mod maintenance;
mod process;
mod query;
mod records;
mod results;
mod rows;
mod snapshot;
mod sql;
mod store;
mod subscription;
mod sync;
mod transaction;
mod update;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<codec::NestedType>()?;
    module.add_class::<column::Column>()?;
    module.add_class::<column::Condition>()?;
    module.add_class::<column::Order>()?;
    module.add_class::<declared::RecordType>()?;
    module.add_class::<feed::Feed>()?;
    module.add_class::<feed::Listener>()?;
    module.add_class::<query::Explanation>()?;
    module.add_class::<query::Query>()?;
    module.add_class::<records::Collection>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<results::ResultsIterator>()?;
    module.add_class::<rows::RowIterator>()?;
    module.add_class::<snapshot::Snapshot>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<subscription::LiveExplanation>()?;
    module.add_class::<subscription::Subscription>()?;
    module.add_class::<subscription::SubscriptionId>()?;
    module.add_class::<sync::Replica>()?;
    module.add_class::<sync::Watching>()?;
    module.add_class::<transaction::Savepoint>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<update::Batch>()?;
    module.add_class::<update::Update>()?;
    module.add_class::<maintenance::CheckReport>()?;
    module.add_class::<maintenance::SalvageReport>()?;
    module.add_class::<maintenance::SalvagedTable>()?;
    module.add_function(wrap_pyfunction!(maintenance::change_key, module)?)?;
    module.add_function(wrap_pyfunction!(maintenance::salvage, module)?)?;
    module.add_function(wrap_pyfunction!(process::forked, module)?)?;
    module.add_function(wrap_pyfunction!(exit::end, module)?)
}
