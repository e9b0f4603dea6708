//! A sync service: devices of one user upload changes of objects, and download those of the user's other devices.
//!
//! A [`storage`] keeps users, devices and versions; [`http`] is the service over it. The program `touchstone-sync` serves a file of the
//! reference store.

#![forbid(unsafe_code)]

pub mod change;
pub mod clock;
pub mod command;
pub(crate) mod connection;
pub mod exit;
pub mod http;
pub mod identity;
pub mod limits;
pub(crate) mod patience;
pub(crate) mod presence;
pub mod problem;
pub mod prometheus;
#[cfg(feature = "postgres")]
pub mod reference;
pub mod serve;
pub(crate) mod shares;
pub mod storage;
pub mod tls;
pub mod token;
pub mod upkeep;
