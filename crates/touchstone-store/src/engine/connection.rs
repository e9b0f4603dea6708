//! One connection to the file, configured, with the statements that begin and end transactions.

use super::scan::Pages;
use super::statement::Statement;
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Cipher, Durability, Options};
use libsqlite3_sys as ffi;
use rusqlite::OpenFlags;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr;

/// Says in the file's header whose it is: "Tous" in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x546f_7573;
/// The version of the format, in the header's place for the user's.
pub(crate) const FORMAT_VERSION: i32 = 1;

/// An open connection. Statements are dropped before it.
pub(crate) struct Connection {
    begin: Statement,
    begin_write: Statement,
    commit: Statement,
    rollback: Statement,
    cookie: Statement,
    raw: rusqlite::Connection,
}

/// What the first page of a file says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) application: i32,
    pub(crate) version: i32,
    pub(crate) has_log: bool,
    pub(crate) is_empty: bool,
    /// Whether text is stored as it is read from pages.
    pub(crate) is_utf_8: bool,
}

impl Header {
    fn of(page: &[u8]) -> Option<Header> {
        let word = |at: usize| Some(i32::from_be_bytes(page.get(at..at + 4)?.try_into().ok()?));
        Some(Header {
            application: word(68)?,
            version: word(60)?,
            has_log: page.get(18..20)? == [2, 2],
            // The first page is the root of the schema: no cells, no tables.
            is_empty: page.get(103..105)? == [0, 0],
            // None is chosen before the first table.
            is_utf_8: matches!(word(56)?, 0 | 1),
        })
    }
}

impl Connection {
    /// Opens the file and gives the key; reads nothing yet.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
        flags |= match (options.read_only, options.create) {
            (true, _) => OpenFlags::SQLITE_OPEN_READ_ONLY,
            (false, true) => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            (false, false) => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let raw = open(path, flags, options)
            .map_err(|error| error.context(format_args!("opening {}", path.display())))?;
        configure(&raw, options)?;
        // SAFETY: the connection is open, and every statement of the structure is dropped before it.
        unsafe {
            let handle = raw.handle();
            Ok(Connection {
                begin: Statement::prepare(handle, "begin")?,
                begin_write: Statement::prepare(handle, "begin immediate")?,
                commit: Statement::prepare(handle, "commit")?,
                rollback: Statement::prepare(handle, "rollback")?,
                cookie: Statement::prepare(handle, "pragma schema_version")?,
                raw,
            })
        }
    }

    /// SQLite's own handle.
    #[inline]
    pub(crate) fn handle(&self) -> *mut ffi::sqlite3 {
        // SAFETY: the handle is used as this crate's statements do, by the thread that has the connection.
        unsafe { self.raw.handle() }
    }

    /// The connection, for what is asked rarely.
    pub(crate) fn sql(&self) -> &rusqlite::Connection {
        &self.raw
    }

    /// Prepares a statement, which must be dropped before the connection.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement> {
        // SAFETY: the connection is open, and sessions drop what they prepared first.
        unsafe { Statement::prepare(self.handle(), sql) }
    }

    /// Reads the first page, through the pager.
    pub(crate) fn header(&self) -> Result<Header> {
        let result = self.pages().and_then(|pages| pages.first(Header::of));
        match result {
            Ok(Some(header)) => Ok(header),
            // A file without a page is one that is being made.
            Ok(None) => {
                Ok(Header { application: 0, version: 0, has_log: false, is_empty: true, is_utf_8: true })
            }
            Err(error) if error.sqlite_code().is_none() && error.kind() == ErrorKind::Damaged => {
                Ok(Header { application: 0, version: 0, has_log: false, is_empty: true, is_utf_8: true })
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn pages(&self) -> Result<Pages> {
        // SAFETY: the connection is open, and sessions drop what they prepared first.
        unsafe { Pages::new(self.handle()) }
    }

    /// Begins to read, and tells the schema's version that the snapshot has.
    #[inline]
    pub(crate) fn begin_read(&self) -> Result<i64> {
        self.begin.run()?;
        self.cookie.integer().inspect_err(|_| self.end())
    }

    /// Begins to write, and tells the schema's version.
    #[inline]
    pub(crate) fn begin_write(&self) -> Result<i64> {
        self.begin_write.run()?;
        self.cookie.integer().inspect_err(|_| self.end())
    }

    /// The schema's version now.
    pub(crate) fn schema_version(&self) -> Result<i64> {
        self.cookie.integer()
    }

    #[inline]
    pub(crate) fn commit(&self) -> Result<()> {
        self.commit.run()
    }

    /// Ends whatever transaction there is, keeping nothing.
    pub(crate) fn end(&self) {
        if !self.is_idle() {
            // SQLite rolls some failures back by itself; what is left is rolled back here, which cannot be refused.
            let _ = self.rollback.run();
        }
    }

    /// Ends whatever is running: statements too, which have no more rows.
    pub(crate) fn stop(&self) {
        let mut statement = ptr::null_mut();
        loop {
            // SAFETY: the connection is open, and the caller alone uses it.
            unsafe {
                statement = ffi::sqlite3_next_stmt(self.handle(), statement);
                if statement.is_null() {
                    break;
                }
                ffi::sqlite3_reset(statement);
            }
        }
        self.end();
    }

    /// The size of a page.
    pub(crate) fn page_bytes(&self) -> u64 {
        u64::from(self.raw.pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0)).unwrap_or(4096))
    }

    /// The name of the VFS that the main file is reached through, as the engine tells it.
    pub(crate) fn vfs_name(&self) -> String {
        let mut name: *mut c_char = ptr::null_mut();
        // SAFETY: the connection is open; the engine allocates the name, and it is freed once.
        unsafe {
            ffi::sqlite3_file_control(
                self.handle(),
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_VFSNAME,
                (&raw mut name).cast(),
            );
            if name.is_null() {
                return String::new();
            }
            let text = CStr::from_ptr(name).to_string_lossy().into_owned();
            ffi::sqlite3_free(name.cast());
            text
        }
    }

    /// Whether no transaction is open.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_get_autocommit(self.handle()) != 0 }
    }

    /// Copies what it can of the log into the file: how many pages the log has, and how many of them are copied.
    pub(crate) fn checkpoint(&self, mode: c_int) -> Result<(u32, u32)> {
        let (mut log, mut copied) = (0, 0);
        // SAFETY: the connection is open and in no transaction.
        let code = unsafe {
            ffi::sqlite3_wal_checkpoint_v2(self.handle(), ptr::null(), mode, &raw mut log, &raw mut copied)
        };
        if code != ffi::SQLITE_OK {
            // SAFETY: the connection is open.
            return Err(unsafe { super::statement::failure(self.handle(), code) });
        }
        Ok((u32::try_from(log).unwrap_or(0), u32::try_from(copied).unwrap_or(0)))
    }
}

fn open(path: &Path, flags: OpenFlags, options: &Options) -> Result<rusqlite::Connection> {
    let vfs = match (&options.vfs, options.exclusive) {
        (Some(name), _) => Some(name.as_str()),
        (None, true) => Some("multipleciphers-unix-excl"),
        (None, false) => None,
    };
    Ok(match vfs {
        Some(name) => {
            let name = CString::new(name)
                .map_err(|_| Error::new(ErrorKind::Invalid, "the VFS's name has a zero"))?;
            rusqlite::Connection::open_with_flags_and_vfs(path, flags, name.as_c_str())?
        }
        None => rusqlite::Connection::open_with_flags(path, flags)?,
    })
}

/// What a connection is told before it reads. What is SQLite's default, as built here, is not told again.
fn configure(raw: &rusqlite::Connection, options: &Options) -> Result<()> {
    if let Some(key) = &options.key {
        let scheme = match options.cipher {
            Cipher::Aegis => "pragma cipher = 'aegis'",
            Cipher::SqlCipher => "pragma cipher = 'sqlcipher'; pragma legacy = 4",
        };
        raw.execute_batch(&format!("{scheme}; pragma key = {}", key.quoted(options.cipher)))?;
    }
    raw.busy_timeout(options.busy_timeout)?;
    // SAFETY: the connection is open. Only the keeper's thread copies the log.
    unsafe { ffi::sqlite3_wal_autocheckpoint(raw.handle(), 0) };
    if let Some(bytes) = options.page_size {
        raw.execute_batch(&format!("pragma page_size = {bytes}"))?;
    }
    if let Some(bytes) = options.cache_bytes {
        raw.execute_batch(&format!("pragma cache_size = -{}", bytes.div_ceil(1024)))?;
    }
    if options.durability == Durability::Process {
        raw.execute_batch("pragma synchronous = off")?;
    }
    Ok(())
}
