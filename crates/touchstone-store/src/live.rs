//! Live queries: results that follow what is committed. A commit is handed to a thread of its own, which changes the
//! ordered sets that queries share, and gives each feed one batch of what changed. The crate's `ARCHITECTURE.md` draws
//! the way of an update, and has the decisions behind it.

pub(crate) mod batch;
pub(crate) mod capture;
mod changes;
pub(crate) mod commit;
mod cover;
pub(crate) mod delta;
pub(crate) mod explain;
mod family;
pub(crate) mod feed;
mod held;
mod interest;
#[cfg(all(test, shuttle))]
mod interest_models;
pub(crate) mod link;
mod load;
mod mailbox;
#[cfg(all(test, shuttle))]
mod mailbox_models;
pub(crate) mod observed;
mod order;
mod outbox;
mod plan;
mod residual;
pub(crate) mod results;
mod round;
#[cfg(all(test, shuttle))]
mod round_models;
mod row;
mod set;
mod sql;
pub(crate) mod sql_rows;
mod stab;
pub(crate) mod subscription;
mod tally;
mod thread;
pub(crate) mod update;
mod watch;
mod watched;
