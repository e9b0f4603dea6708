//! Settings of a connection that a program's own SQL may change for itself. They are restored when the lending ends, so
//! that the next user finds the connection unchanged. The guard refuses settings that cannot be restored.

use super::authorizer::Act;
use libsqlite3_sys as ffi;
use std::cell::Cell;
use std::ffi::CString;
use std::ptr;

/// The pragmas, with their values on a connection of the store. `temp_store` is not one of them: temporary tables are
/// in memory with any value.
const SETTINGS: [(&str, &str); 17] = [
    ("analysis_limit", "0"),
    ("automatic_index", "on"),
    ("case_sensitive_like", "off"),
    ("cell_size_check", "off"),
    ("count_changes", "off"),
    ("empty_result_callbacks", "off"),
    // SQLite changes it only once the transaction has ended.
    ("foreign_keys", "on"),
    ("full_column_names", "off"),
    ("ignore_check_constraints", "off"),
    ("legacy_alter_table", "off"),
    ("read_uncommitted", "off"),
    ("recursive_triggers", "off"),
    ("reverse_unordered_selects", "off"),
    ("secure_delete", "off"),
    ("short_column_names", "on"),
    ("threads", "0"),
    ("trusted_schema", "on"),
];

/// Which settings a program may have changed.
#[derive(Default)]
pub(super) struct ChangedSettings(Cell<u32>);

impl ChangedSettings {
    /// Notes the setting that a permitted statement changes.
    pub(super) fn note(&self, act: &Act<'_>) {
        let is_it = |(name, _): &(&str, &str)| act.sets(name);
        if let Some(at) = SETTINGS.iter().position(is_it) {
            self.0.set(self.0.get() | 1 << at);
        }
    }

    /// Restores changed settings. One that cannot be restored now is tried again after the next lending.
    ///
    /// # Safety
    /// The connection is open, and no authorizer is set.
    #[inline]
    pub(super) unsafe fn put_back(&self, connection: *mut ffi::sqlite3) {
        if self.0.get() != 0 {
            // SAFETY: the caller's promise.
            unsafe { self.put_all_back(connection) };
        }
    }

    /// # Safety
    /// As for [`put_back`](ChangedSettings::put_back).
    #[cold]
    unsafe fn put_all_back(&self, connection: *mut ffi::sqlite3) {
        let changed = self.0.get();
        for (at, (name, value)) in SETTINGS.iter().enumerate().filter(|(at, _)| changed & 1 << at != 0) {
            let sql = CString::new(format!("pragma {name} = {value}")).expect("no name has a zero");
            // SAFETY: the caller's promise.
            let code = unsafe {
                ffi::sqlite3_exec(connection, sql.as_ptr(), None, ptr::null_mut(), ptr::null_mut())
            };
            if code == ffi::SQLITE_OK {
                self.0.set(self.0.get() & !(1 << at));
            }
        }
    }
}
