//! Typed records on SQLite.

extern crate self as touchstone_store;

mod access;
mod alarm;
mod backup;
mod cells;
mod check;
#[doc(hidden)]
pub mod derived;
mod engine;
mod error;
mod flush;
#[cfg(all(test, shuttle))]
mod hand_off;
mod keeper;
mod lease;
#[doc(hidden)]
pub mod nested;
mod options;
mod place;
mod query;
mod readers;
mod record;
mod rekey;
mod salvage;
mod session;
mod snapshot;
mod store;
mod sync;
mod table;
mod transaction;
mod turn;
mod value;

pub use cells::Cells;
pub use check::{Check, CheckReport, Problem};
pub use error::{Error, ErrorKind, Result};
pub use nested::Nested;
pub use options::{Cipher, Durability, EncryptionKey, Options};
pub use query::{Condition, Explanation, Operand, Order, Query, Rows};
pub use record::{Column, ColumnShape, Columns, Finds, Index, Key, KeyPart, Record, Shape};
pub use salvage::{SalvageReport, SalvagedTable};
pub use snapshot::{Reading, Snapshot, Version};
pub use store::Store;
pub use touchstone_store_derive::{Nested, Record};
pub use transaction::{Transaction, Writing};
pub use value::{Field, Kind, Mismatch, Raw, Refusal};
