//! A call to a file of a VFS, which need not have every method.

/// Calls a file's method with these values. Where the file has it not, the value behind `or` comes in its place.
///
/// # Safety
/// The file is open, or has no methods; the values are what the method takes.
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
