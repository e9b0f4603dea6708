//! Work on whole files: backup, check, change of key, salvage, and the version number of a program's own.

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod rekey;
pub(crate) mod salvage;
pub(crate) mod user_version;
