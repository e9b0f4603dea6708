//! The errors and their kinds. A message says what failed, on which input, and the remedy.

use libsqlite3_sys as ffi;
use std::fmt;
use std::path::Path;

/// The kind of a failure, for a program to act on.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// use touchstone_store::ErrorKind;
///
/// let task = Task { id: 1, title: "write".into(), due: None };
/// for _ in 0..2 {
///     match store.insert(&task) {
///         Ok(()) => {}
///         Err(error) if error.kind() == ErrorKind::Conflict => assert!(store.replace(&task)?),
///         Err(error) => return Err(error.into()),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The key or a unique value belongs to another record.
    Conflict,
    /// Another process, or another `Store` of the file, held the write lock for longer than `busy_timeout`; or a feed
    /// was full for that long; or a file whose key is to change is open.
    Busy,
    /// The file is encrypted with another key, or not with this cipher.
    WrongKey,
    /// A key was given for a file that is not encrypted.
    NotEncrypted,
    /// The file exists already, and would be overwritten.
    Exists,
    /// No key was given, and the file is probably encrypted: ask for a key. Its pages look like noise; so may those of
    /// a file that is no store, and then no key opens it.
    Encrypted,
    /// The file is no store: not SQLite's, or another program's.
    Foreign,
    /// The file was written by a newer version of this library.
    Newer,
    /// The file contradicts the type: another kind of column, another key, a stored value that does not fit its field's
    /// type. Or an update of a live query was read as another type than its query's.
    Mismatch,
    /// A page of the file, a row of the store's own tables, or the log is damaged.
    Damaged,
    /// The disk, or the file's limit of pages, is full.
    Full,
    /// The store was opened with `Options::read_only`, or the file or its directory cannot be written, or SQL in a
    /// snapshot writes.
    ReadOnly,
    /// The record, or the query, is beyond SQLite's limits.
    TooBig,
    /// An argument is not valid: a value that no column can hold, such as NaN; an option, a path or a name; a record
    /// whose key was changed; a condition on the columns of another type; a statement that this call does not accept.
    Invalid,
    /// The calling thread is in a transaction of this store already. Or the call comes from code that live queries run,
    /// such as a waker or a record's own: it uses live queries, or it writes while a transaction waits for live queries.
    Nested,
    /// The snapshot has expired: the log reached `log_bytes_max`.
    Expired,
    /// The file or its directory does not exist, or the path is a directory.
    NotFound,
    /// The file, its log or the log's index was deleted, renamed or replaced since the store was opened.
    Replaced,
    /// The file is open with a [`Durability`](crate::Durability) beside which this store cannot keep its promise.
    Durability,
    /// The process that opened the store has forked, and this is the child.
    Forked,
    /// The system failed to open, read or write: because of permissions, perhaps, or of its limit of open files.
    Io,
    /// A flush failed, in this call or an earlier one. The disk may lack the newest commits, and a second flush would not
    /// report it: the store commits nothing more until it is opened again.
    Unflushed,
    /// SQLite refused, for a reason that has no kind of its own. Or the store refused SQL that would have ended its
    /// transaction or changed the file's kind. Or a transaction, a feed or the store itself has ended.
    Refused,
}

/// A failure. [`kind`](Error::kind) is for programs, the message for people.
///
/// ```
/// use touchstone_store::{ErrorKind, Store};
///
/// let error = Store::open("/no/such/directory/file").expect_err("there is no such directory");
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    code: Option<i32>,
}

/// The result of the functions of this crate.
///
/// ```
/// # use touchstone_store::Record;
/// # #[derive(Record)]
/// # struct Task { #[record(key)] id: i64 }
/// fn is_empty(store: &touchstone_store::Store) -> touchstone_store::Result<bool> {
///     Ok(store.read(|snapshot| snapshot.of::<Task>().count())? == 0)
/// }
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure of that kind. Programs may make their own, to abort a transaction with it.
    ///
    /// ```
    /// use touchstone_store::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Invalid, "the title is empty");
    /// assert_eq!(error.to_string(), "the title is empty");
    /// ```
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, message: message.into(), code: None }))
    }

    /// The kind of the failure.
    ///
    /// ```
    /// use touchstone_store::{ErrorKind, Options};
    ///
    /// let error = Options::new().page_size(7).open("tasks.db").expect_err("pages are not so small");
    /// assert_eq!(error.kind(), ErrorKind::Invalid);
    /// ```
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// SQLite's extended result code, if SQLite failed.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let failed = store.write(|transaction| transaction.sql(|sql| sql.execute("no such statement", ())));
    /// // SQLITE_ERROR
    /// assert_eq!(failed.err().and_then(|error| error.sqlite_code()), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sqlite_code(&self) -> Option<i32> {
        self.0.code
    }

    /// The failure, with the operation before its message.
    pub(crate) fn context(mut self, doing: impl fmt::Display) -> Error {
        self.0.message = format!("{doing}: {}", self.0.message);
        self
    }

    /// The failure, with a kind that is more precise than the kind of its code.
    pub(crate) fn of_kind(mut self, kind: ErrorKind) -> Error {
        self.0.kind = kind;
        self
    }

    /// The failure of an extended result code of SQLite, with SQLite's own message.
    #[cold]
    pub(crate) fn sqlite(code: i32, message: impl fmt::Display) -> Error {
        let (kind, remedy) = classify(code);
        let words = message.to_string();
        let remedy = if remedy.is_empty() { remedy_of(&words) } else { remedy };
        Error(Box::new(Inner { kind, message: format!("{words}{remedy}"), code: Some(code) }))
    }

    /// The failure, with a message that is clearer than SQLite's.
    pub(crate) fn saying(mut self, message: impl Into<String>) -> Error {
        self.0.message = message.into();
        self
    }

    /// Whether a statement was interrupted by another thread.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.0.code == Some(ffi::SQLITE_INTERRUPT)
    }

    /// The failure of a read from a table of the store's own. A value that the table's types forbid is damage.
    pub(crate) fn of_own_table(table: &str) -> impl Fn(rusqlite::Error) -> Error {
        use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
        move |error| match error {
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) => {
                let remedy = "restore a backup, or save what is readable with `Store::salvage`";
                Error::new(ErrorKind::Damaged, format!("a row of `{table}` is damaged: {error} ({remedy})"))
            }
            error => Error::from(error),
        }
    }

    pub(crate) fn io(error: &std::io::Error, doing: impl fmt::Display, path: &Path) -> Error {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                ErrorKind::ReadOnly
            }
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => ErrorKind::Full,
            _ => ErrorKind::Io,
        };
        let remedy = if is_of_too_many_files(error) { TOO_MANY_FILES } else { "" };
        Error::new(kind, format!("{doing} {}: {error}{remedy}", path.display()))
    }
}

/// The kind of an extended result code, and its remedy.
fn classify(code: i32) -> (ErrorKind, &'static str) {
    match code {
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            return (ErrorKind::Conflict, " (to replace the record, put it instead of inserting it)");
        }
        ffi::SQLITE_CONSTRAINT_UNIQUE => {
            return (ErrorKind::Conflict, " (another record has this value: change the one or the other)");
        }
        ffi::SQLITE_READONLY_DIRECTORY => {
            let remedy = " (the log lies beside the file: the directory must be writable, also to read)";
            return (ErrorKind::ReadOnly, remedy);
        }
        ffi::SQLITE_CONSTRAINT_DATATYPE => return (ErrorKind::Mismatch, ""),
        ffi::SQLITE_IOERR_FSYNC => return (ErrorKind::Unflushed, remedy_of_io(code)),
        ffi::SQLITE_IOERR_NOMEM => return (ErrorKind::Io, " (the process is short of memory)"),
        _ => {}
    }
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => (
            ErrorKind::Busy,
            " (another process is writing, or another `Store` of this one; wait longer with `Options::busy_timeout`)",
        ),
        // A better message for the store's own file is given when the file is opened.
        ffi::SQLITE_NOTADB => (
            ErrorKind::Foreign,
            " (it is no SQLite file, or is encrypted with another key: for a file that SQL attaches, `attach … as … key …` tells the key)",
        ),
        ffi::SQLITE_CORRUPT => {
            (ErrorKind::Damaged, " (restore a backup, or save what is readable with `Store::salvage`)")
        }
        ffi::SQLITE_FULL => (ErrorKind::Full, " (free some space; of what failed nothing was kept)"),
        ffi::SQLITE_READONLY | ffi::SQLITE_PERM => (
            ErrorKind::ReadOnly,
            " (look at the permissions of the file, and at how its file system is mounted)",
        ),
        ffi::SQLITE_TOOBIG => {
            (ErrorKind::TooBig, " (a value may have a billion bytes, all of a row together)")
        }
        ffi::SQLITE_CANTOPEN if may_not_open_more() => (ErrorKind::Io, TOO_MANY_FILES),
        ffi::SQLITE_CANTOPEN => (ErrorKind::Io, " (is it there, and may it and its directory be written?)"),
        ffi::SQLITE_IOERR => (ErrorKind::Io, remedy_of_io(code)),
        ffi::SQLITE_INTERRUPT => {
            let remedy = " (the program interrupted the connection, through a handle or a hook that it took within `sql`: try again)";
            (ErrorKind::Refused, remedy)
        }
        ffi::SQLITE_MISMATCH => (ErrorKind::Mismatch, ""),
        _ => (ErrorKind::Refused, ""),
    }
}

/// The operation in which the system failed, and the remedy.
fn remedy_of_io(code: i32) -> &'static str {
    match code {
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_FSTAT => {
            " (the system failed to read the file: look at the disk; where it has lost something, restore a backup)"
        }
        ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_TRUNCATE | ffi::SQLITE_IOERR_DELETE => {
            " (the system failed to write: look at the disk and its quota, and try again)"
        }
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC | ffi::SQLITE_IOERR_CLOSE => {
            " (the system failed to flush: look at the disk, and open the store anew)"
        }
        ffi::SQLITE_IOERR_LOCK
        | ffi::SQLITE_IOERR_UNLOCK
        | ffi::SQLITE_IOERR_RDLOCK
        | ffi::SQLITE_IOERR_BLOCKED
        | ffi::SQLITE_IOERR_CHECKRESERVEDLOCK => {
            " (the system gave no lock: a file system that is a network's may have none)"
        }
        ffi::SQLITE_IOERR_SHMOPEN
        | ffi::SQLITE_IOERR_SHMSIZE
        | ffi::SQLITE_IOERR_SHMMAP
        | ffi::SQLITE_IOERR_SHMLOCK
        | ffi::SQLITE_IOERR_MMAP => {
            " (the system did not map the log's index, which lies beside the file: is there room, and can the file system share memory?)"
        }
        _ => " (the system failed: its own log of errors says more)",
    }
}

/// The remedy for a failure that SQLite reports by its message alone.
fn remedy_of(words: &str) -> &'static str {
    /// SQLite's words where a trigger or a view of the file names the table of a batch (`BatchInsert::name`): on a
    /// connection that has the table, and on one that does not.
    const OWN_TABLE: [&str; 2] =
        ["unsafe use of virtual table \"touchstone_feed_", "no such table: main.touchstone_feed_"];
    if OWN_TABLE.iter().any(|start| words.starts_with(start)) {
        return " (it is the store's own, and a trigger or a view of the file names it: drop that trigger or view)";
    }
    if words.starts_with("no such table: ") {
        return " (the table of a type is there once a record of it was written)";
    }
    // SQLite says by itself if the name may be a text in the wrong quotes.
    let is_no_column = words.starts_with("no such column: ") && !words.contains("single-quotes");
    if is_no_column || words.contains(" has no column named ") {
        return " (the column of an added field is there once a record of the newer type was written)";
    }
    if words.starts_with("cannot VACUUM ") {
        return " (`Store::change_key` from a key to the same writes the file anew, without what is free)";
    }
    ""
}

const TOO_MANY_FILES: &str =
    " (the process has as many files open as it may: close some, or raise its limit, as `ulimit -n` does)";

/// Whether an error of the system says that the process, or the machine, has too many files open.
fn is_of_too_many_files(error: &std::io::Error) -> bool {
    /// ENFILE and EMFILE, which have these numbers on every Unix.
    const NUMBERS: [i32; 2] = [23, 24];
    cfg!(unix) && error.raw_os_error().is_some_and(|number| NUMBERS.contains(&number))
}

/// Whether the process may open no more files: SQLite reports only that it cannot open a file. The probe opens a
/// directory and no file of a store, because closing that would release the store's locks.
#[cold]
fn may_not_open_more() -> bool {
    std::fs::File::open("/").is_err_and(|error| is_of_too_many_files(&error))
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.0.kind, self.0.message)
    }
}

impl std::error::Error for Error {}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        match &error {
            rusqlite::Error::SqliteFailure(failure, message) => {
                let words = message.clone().unwrap_or_else(|| failure.to_string());
                Error::sqlite(failure.extended_code, words)
            }
            rusqlite::Error::SqlInputError { error: failure, msg, .. } => {
                Error::sqlite(failure.extended_code, msg)
            }
            _ => Error::new(ErrorKind::Refused, error.to_string()),
        }
    }
}
