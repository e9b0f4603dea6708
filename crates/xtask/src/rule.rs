//! The rules, one file per kind. Each takes a path and a text and gives what it found wrong.

pub mod example;
pub mod header;
pub mod layer;
pub mod lock;
pub mod name;
pub mod path;
pub mod prose;
pub mod purity;
pub mod size;
pub mod subject;
pub mod text;
