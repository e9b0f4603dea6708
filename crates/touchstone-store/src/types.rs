//! Records, their columns and values, and the errors and options of a store: all that the other rooms speak of.

pub(crate) mod cells;
pub(crate) mod depth;
pub mod derived;
pub(crate) mod error;
pub mod nested;
pub(crate) mod options;
pub(crate) mod record;
pub(crate) mod sync;
pub(crate) mod value;
