//! SQLite below the types: connections, held statements, batch inserts, tables read page by page, the state of the
//! write-ahead log. Of records it knows columns and shapes only. Most `unsafe` code of this crate is here.

pub(crate) mod attached;
mod authorizer;
pub(crate) mod bare;
pub(crate) mod bell;
pub(crate) mod capture;
pub(crate) mod cipher;
mod classes;
pub(crate) mod connection;
pub(crate) mod entry;
pub(crate) mod feed;
mod file_id;
pub(crate) mod fork;
pub(crate) mod guard;
pub(crate) mod log;
pub(crate) mod log_file;
pub(crate) mod log_vfs;
pub(crate) mod noise;
pub(crate) mod page;
pub(crate) mod pager;
pub(crate) mod patience;
pub(crate) mod pin;
pub(crate) mod region;
pub(crate) mod scan;
mod settings;
pub(crate) mod statement;
mod vfs_file;
