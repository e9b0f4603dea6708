//! SQLite's questions to an authorizer while it prepares a statement: whether each of its actions is allowed.

use super::connection::Connection;
use libsqlite3_sys as ffi;
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// The callback. Its values: its own argument, the action, two texts about it, the database, and the view or trigger
/// that it is part of.
pub(super) type Authorizer = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    *const c_char,
    *const c_char,
    *const c_char,
    *const c_char,
) -> c_int;

/// One action of a statement.
pub(super) struct Act<'a> {
    pub(super) action: c_int,
    pub(super) first: Option<Cow<'a, str>>,
    pub(super) second: Option<Cow<'a, str>>,
    pub(super) database: Option<Cow<'a, str>>,
}

impl Act<'_> {
    /// # Safety
    /// The texts are those that SQLite passes to an authorizer, and exist as long as this.
    pub(super) unsafe fn new(
        action: c_int,
        first: *const c_char,
        second: *const c_char,
        database: *const c_char,
    ) -> Self {
        let text = |text: *const c_char| {
            // SAFETY: the caller's promise. SQLite passes texts that end with a zero, or null.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
        };
        Act { action, first: text(first), second: text(second), database: text(database) }
    }

    /// Whether the action sets this pragma. Without a value it only asks for it.
    pub(super) fn sets(&self, pragma: &str) -> bool {
        let is_it = self.first.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(pragma));
        self.action == ffi::SQLITE_PRAGMA && self.second.is_some() && is_it
    }
}

/// Runs `work`, in which no statement may read rows: `create table … as select`, which no schema has, might never end.
/// Afterwards the connection has no authorizer: no program's SQL may be running on it.
pub(crate) fn only_declaring<R>(connection: &Connection, work: impl FnOnce() -> R) -> R {
    let handle = connection.handle();
    // SAFETY: the connection is open, and the callback takes nothing from it.
    unsafe { ffi::sqlite3_set_authorizer(handle, Some(only_declares), ptr::null_mut()) };
    let result = work();
    // SAFETY: as above.
    unsafe { ffi::sqlite3_set_authorizer(handle, None, ptr::null_mut()) };
    result
}

unsafe extern "C" fn only_declares(
    _none: *mut c_void,
    action: c_int,
    _first: *const c_char,
    _second: *const c_char,
    _database: *const c_char,
    _within: *const c_char,
) -> c_int {
    if action == ffi::SQLITE_SELECT { ffi::SQLITE_DENY } else { ffi::SQLITE_OK }
}
