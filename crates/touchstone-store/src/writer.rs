//! The write path: the writer's session, the statements that write records, and the commit protocol that every commit
//! goes through.

pub(crate) mod commit;
pub(crate) mod records;
pub(crate) mod session;
pub(crate) mod transaction;
pub(crate) mod writing;
