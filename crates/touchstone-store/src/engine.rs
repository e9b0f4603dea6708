//! SQLite below the types: connections, held statements, batch inserts, tables read page by page, the state of the
//! write-ahead log; and a connection's lease, by which threads take turns with it. Of records it knows columns and shapes
//! only. The `unsafe` code of this crate is here, where `lib.rs` allows it: everything above calls safe functions. One
//! exception stands with its reason in `types/value.rs`, which is below.
//!
//! Whatever is made from a connection (statements, pages, the log's file) is dropped before the connection. No type says
//! so: the order of the fields does, in `Connection`, `Session` and `WritePath`.

pub(crate) mod attached;
pub(crate) mod authorizer;
pub(crate) mod bare;
pub(crate) mod batch_insert;
pub(crate) mod busy_handler;
#[cfg(touchstone_canary)]
pub mod canary;
pub(crate) mod capture;
pub(crate) mod cipher;
mod classes;
pub(crate) mod commit_watch;
pub(crate) mod connection;
pub(crate) mod entry;
mod file_id;
pub(crate) mod fork;
pub(crate) mod guard;
pub(crate) mod lease;
pub(crate) mod leased;
pub(crate) mod log;
pub(crate) mod log_file;
pub(crate) mod log_vfs;
pub(crate) mod new_file;
pub(crate) mod noise;
pub(crate) mod page;
pub(crate) mod pager;
pub(crate) mod pin;
pub(crate) mod region;
pub(crate) mod scan;
mod settings;
pub(crate) mod statement;
mod vfs_file;
pub(crate) mod write_back;
