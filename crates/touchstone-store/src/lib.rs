//! Typed records on SQLite.

extern crate self as touchstone_store;

mod cells;
#[doc(hidden)]
pub mod derived;
#[doc(hidden)]
pub mod nested;
mod record;
mod value;

pub use cells::Cells;
pub use nested::Nested;
pub use record::{Column, ColumnShape, Columns, Finds, Index, Key, KeyPart, Record, Shape};
pub use touchstone_store_derive::{Nested, Record};
pub use value::{Field, Kind, Mismatch, Raw, Refusal};
