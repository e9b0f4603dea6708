//! Calls to a file of a VFS, which may lack methods.

/// Calls a file's method with these values. If the file lacks it, the result is the value behind `or`.
///
/// # Safety
/// The file is open, or has no methods; the values are those that the method takes.
macro_rules! call {
    ($file:expr, $method:ident($($value:expr),*) or $missing:expr) => {{
        let file: *mut libsqlite3_sys::sqlite3_file = $file;
        match (*file).pMethods.as_ref().and_then(|methods| methods.$method) {
            Some(method) => method(file, $($value),*),
            None => $missing,
        }
    }};
}
pub(super) use call;
