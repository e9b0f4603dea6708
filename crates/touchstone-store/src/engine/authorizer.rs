//! SQLite's questions to an authorizer while it prepares a statement: whether each of its actions is allowed.

use libsqlite3_sys as ffi;
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_void};

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
