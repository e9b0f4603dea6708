//! Bare connections, without a key and without settings: how a path, the options and the name of a VFS lead to one.

use super::log_vfs::{self, NoVfs};
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::Options;
use libsqlite3_sys as ffi;
use rusqlite::OpenFlags;
use std::ffi::CString;
use std::path::Path;

/// The flags to open a file with.
pub(super) fn flags(read_only: bool, create: bool) -> OpenFlags {
    let shared = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    shared
        | match (read_only, create) {
            (true, _) => OpenFlags::SQLITE_OPEN_READ_ONLY,
            (false, true) => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            (false, false) => OpenFlags::SQLITE_OPEN_READ_WRITE,
        }
}

/// A connection without a key and without settings.
pub(crate) fn open(path: &Path, flags: OpenFlags, options: &Options) -> Result<rusqlite::Connection> {
    let name = vfs_name(options)?;
    // To read only, the system opens even a directory, and fails later, when it is read.
    if flags.contains(OpenFlags::SQLITE_OPEN_READ_ONLY) && path.is_dir() {
        return Err(is_directory());
    }
    rusqlite::Connection::open_with_flags_and_vfs(path, flags, name.as_c_str())
        .map_err(|error| unopened(Error::from(error), path, options))
}

/// SQLite has one code for a file that does not exist and for one that the system does not open or make.
fn unopened(error: Error, path: &Path, options: &Options) -> Error {
    if error.sqlite_code().is_none_or(|code| code & 0xff != ffi::SQLITE_CANTOPEN) {
        return error;
    }
    if path.is_dir() {
        return is_directory();
    }
    let parent =
        path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    let could_be_made = options.create && !options.read_only && parent.is_some_and(Path::is_dir);
    if path.exists() || could_be_made { error } else { error.of_kind(ErrorKind::NotFound) }
}

#[cold]
fn is_directory() -> Error {
    Error::new(ErrorKind::NotFound, "it is a directory, and no file (name a file in it)")
}

/// SQLite's own VFSes: the one that is shared with other processes, and the one that excludes them, if there is one.
#[cfg(unix)]
const SYSTEMS: [&str; 2] = ["unix", "unix-excl"];
#[cfg(not(unix))]
const SYSTEMS: [&str; 2] = ["win32", "win32"];

/// The VFS of the engine's ciphers, over the one that gathers writes to the log, over the system's.
fn vfs_name(options: &Options) -> Result<CString> {
    /// The engine's prefix for the name of a VFS, for one that encrypts.
    const CIPHERS: &str = "multipleciphers-";
    let system = match (&options.vfs, options.exclusive) {
        (Some(name), _) => name.strip_prefix(CIPHERS).unwrap_or(name),
        (None, exclusive) => SYSTEMS[usize::from(exclusive)],
    };
    let refused = |why: NoVfs| {
        let message = match why {
            NoVfs::Unknown => {
                format!("there is no VFS with the name `{system}` (register it, and keep it registered)")
            }
            NoVfs::Replaced => format!(
                "the VFS `{system}` is another than when a store was first opened through that name (give each a name of its own)"
            ),
        };
        Error::new(ErrorKind::Invalid, message)
    };
    let name = CString::new(system).map_err(|_| refused(NoVfs::Unknown))?;
    let over = log_vfs::over(&name).map_err(refused)?;
    CString::new([CIPHERS.as_bytes(), over.as_bytes()].concat()).map_err(|_| refused(NoVfs::Unknown))
}
