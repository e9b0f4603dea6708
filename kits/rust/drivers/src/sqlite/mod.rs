//! What the drivers of SQLite have in common: the schema, the settings and their reading back, what the linked
//! library says about itself, the meaning of its result codes, and how to watch it work.

mod about;
mod checkpointer;
mod error;
mod explain;
mod schema;
mod settings;

pub use about::about;
pub use checkpointer::Checkpointer;
pub use error::{Error, failure_kind};
pub use explain::Watch;
pub use schema::{create, table};
pub use settings::{background, pragmas, query, read_back};

use std::path::{Path, PathBuf};

/// The database file in the directory.
pub fn file(directory: &Path) -> PathBuf {
    directory.join("benchmark.sqlite")
}
