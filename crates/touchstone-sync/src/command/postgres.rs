//! How a command opens a PostgreSQL, where the program is built with it.

use super::Class;
use crate::storage::Storage;
use anyhow::Result;
use std::sync::Arc;

/// Opens it, to serve it in a class, or beside the service.
#[cfg(feature = "postgres")]
pub(super) async fn open(url: &str, connections: usize, served: Option<Class>) -> Result<Arc<dyn Storage>> {
    use crate::storage::postgres::Postgres;
    let opened = match served {
        Some(class) => Postgres::to_serve(url, connections, matches!(class, Class::Strict)).await?,
        None => Postgres::connect(url, connections).await?,
    };
    Ok(Arc::new(opened))
}

/// Says that the program is built without it.
#[cfg(not(feature = "postgres"))]
pub(super) async fn open(_: &str, _: usize, _: Option<Class>) -> Result<Arc<dyn Storage>> {
    anyhow::bail!("this program was built without PostgreSQL: `make sync` builds one with it")
}
