//! Opens the file and checks that it is a store, its key and its version. Makes a new file a store, even beside other
//! processes that make the same file.

use crate::engine::cipher;
use crate::engine::connection::{APPLICATION_ID, Connection, FORMAT_VERSION, Header};
use crate::engine::new_file::companion;
use crate::engine::pin::Pin;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::Options;
use libsqlite3_sys as ffi;
use std::fs::File;
use std::io::Read as _;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The absolute path: the program may change its working directory while the store is open.
///
/// # Errors
/// If the system does not report the working directory.
pub(crate) fn absolute(given: &Path) -> Result<PathBuf> {
    // These paths name no file; SQLite has the better error for them.
    if given.as_os_str().is_empty() || given.as_os_str() == ":memory:" {
        return Ok(given.to_owned());
    }
    path::absolute(given).map_err(|error| Error::io(&error, "finding the directory of", given))
}

/// Opens the file, which is made if there is none, and pins it. Returns the options with the key derived, the pin and
/// the first connection.
///
/// # Errors
/// As [`Store::open`](crate::Store::open).
pub(crate) fn open(path: &Path, options: Options) -> Result<(Options, Arc<Pin>, Connection)> {
    let about = |error: Error| error.context(format_args!("opening {}", path.display()));
    let mut tries = MAKE_TRIES;
    loop {
        tries -= 1;
        let (resolved, mut connection, header) = unlock(path, options.clone())?;
        check(header).map_err(about)?;
        let is_made = resolved.read_only || (header.application != 0 && connection.has_log());
        match if is_made { Ok(()) } else { make(&connection, header, &resolved) } {
            Ok(()) => {
                let pin = Pin::new(&mut connection, &resolved).map_err(about)?;
                connection.spare_flushes(&resolved).map_err(about)?;
                return Ok((resolved, pin, connection));
            }
            // Another process has made the file since this one looked, perhaps with another salt.
            Err(error) if header.application == 0 && tries > 0 && is_overtaken(&error) => {}
            Err(error) => return Err(about(error)),
        }
    }
}

pub(crate) fn check(header: Header) -> Result<()> {
    if header.is_empty && header.application == 0 && header.is_utf_8 {
        return Ok(());
    }
    if header.application != APPLICATION_ID {
        let why = "it is a SQLite file, but no store (copy its rows into a store of its own: see the guide)";
        return Err(Error::new(ErrorKind::Foreign, why));
    }
    if !header.is_utf_8 {
        return Err(Error::new(ErrorKind::Foreign, "its text is in UTF-16, which a store cannot read"));
    }
    if header.version > FORMAT_VERSION {
        let message = format!(
            "it is of format {}, and this library knows formats up to {FORMAT_VERSION} (use a newer version of touchstone-store)",
            header.version
        );
        return Err(Error::new(ErrorKind::Newer, message));
    }
    Ok(())
}

/// Makes a new file a store with a write-ahead log, or gives a store its log back if another program has changed the
/// journal mode. SQLite does not wait for processes that make the same file, so this does.
fn make(connection: &Connection, mut header: Header, options: &Options) -> Result<()> {
    const PAUSE: Duration = Duration::from_millis(1);
    let end = Instant::now() + options.busy_timeout;
    loop {
        match make_once(connection, header) {
            Err(error) if error.kind() == ErrorKind::Busy && Instant::now() < end => {
                connection.end();
                thread::sleep(PAUSE);
                header = connection.header()?;
                check(header)?;
            }
            made => return made,
        }
    }
}

fn make_once(connection: &Connection, header: Header) -> Result<()> {
    let sql = connection.sql();
    // Before there is a log, SQLite mends a torn page from a journal, which must be on the disk before the page is
    // written. On Apple's systems a plain flush may end in the disk's own cache: hence full flushes.
    sql.execute_batch("pragma fullfsync = on")?;
    let made = make_whole(connection, header);
    sql.execute_batch("pragma fullfsync = off")?;
    made
}

fn make_whole(connection: &Connection, header: Header) -> Result<()> {
    let sql = connection.sql();
    // The statement runs to its end, because only there the change is committed, or fails.
    let mut statement = sql.prepare("pragma journal_mode = wal")?;
    let modes = statement.query_map((), |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    if modes == ["memory"] {
        let why = "a store lies in a file, and this names none (for a test, take a temporary directory)";
        return Err(Error::new(ErrorKind::Invalid, why));
    }
    if modes != ["wal"] {
        let message = format!(
            "the file's journal is `{}` and cannot be a log (is the file system a network's?)",
            modes.join(", ")
        );
        return Err(Error::new(ErrorKind::Refused, message));
    }
    if header.application == 0 {
        sql.execute_batch(&format!(
            "begin immediate; pragma application_id = {APPLICATION_ID}; pragma user_version = {FORMAT_VERSION}; commit"
        ))?;
    }
    // The log's index exists once a connection has read with the log.
    connection.schema_version().map(drop)
}

/// The version that every log's header names.
const LOG_VERSION: u32 = 3_007_000;

/// How often opening a new file is tried, if other processes make it at the same time.
const MAKE_TRIES: u32 = 8;

/// Whether a file could not be made because another process is making it.
fn is_overtaken(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Foreign | ErrorKind::Busy)
}

/// The first connection, with the file's header, read under its key.
fn unlock(path: &Path, options: Options) -> Result<(Options, Connection, Header)> {
    // Two processes may make an encrypted file at once. The second one chose a salt while the file was empty, then
    // finds another salt in it, and looks again.
    let may_be_new = options.key.is_some() && std::fs::metadata(path).map_or(true, |file| file.len() == 0);
    let mut tries = if may_be_new { 2 } else { 1 };
    loop {
        tries -= 1;
        check_not_emptied(path)?;
        let resolved = cipher::resolve(path, options.clone())?;
        let opened = Connection::open(path, &resolved).and_then(|connection| {
            // Before any statement is prepared: it would have to be prepared again.
            connection.defend();
            let header = connection.header()?;
            Ok((connection, header))
        });
        match opened {
            Ok((connection, header)) => return Ok((resolved, connection, header)),
            Err(error) => {
                let error = key_error(log_error(error, path), path, &options);
                if error.kind() != ErrorKind::WrongKey || tries == 0 {
                    return Err(error.context(format_args!("opening {}", path.display())));
                }
            }
        }
    }
}

/// Checks that a file without a byte is a new one. If a log with commits lies beside it, the file was cut off, and
/// SQLite would delete the log.
///
/// # Errors
/// If the file was cut off ([`Damaged`](ErrorKind::Damaged)).
pub(crate) fn check_not_emptied(path: &Path) -> Result<()> {
    let bytes =
        |path: &Path| std::fs::metadata(path).ok().filter(|file| file.is_file()).map(|file| file.len());
    if bytes(path) != Some(0) {
        return Ok(());
    }
    // The log lies beside the file, not beside a link to it.
    let Ok(file) = path.canonicalize() else { return Ok(()) };
    let log = companion(&file, "-wal");
    // Another process that makes the file writes the first page before the log, so the log's length is read first.
    let is_emptied = bytes(&log).is_some_and(|bytes| bytes > 0) && bytes(&file) == Some(0);
    if !is_emptied {
        return Ok(());
    }
    let message = format!(
        "{} is empty, and the log beside it is not: the file was cut off (restore a backup; to begin anew, remove {} first)",
        path.display(),
        log.display()
    );
    Err(Error::new(ErrorKind::Damaged, message))
}

/// A log of a version that no SQLite has written is damaged, but SQLite reports a file that it cannot open.
fn log_error(error: Error, path: &Path) -> Error {
    let cannot_open = error.sqlite_code().is_some_and(|code| code & 0xff == ffi::SQLITE_CANTOPEN);
    let mut start = [0; 8];
    let log = companion(path, "-wal");
    let is_read = || File::open(log).and_then(|mut log| log.read_exact(&mut start)).is_ok();
    if !cannot_open || !is_read() {
        return error;
    }
    let version = u32::from_be_bytes([start[4], start[5], start[6], start[7]]);
    if version == LOG_VERSION {
        return error;
    }
    let message = format!(
        "the log beside the file is of version {version}, and SQLite knows {LOG_VERSION} only (restore a backup)"
    );
    Error::new(ErrorKind::Damaged, message)
}

/// Replaces the error "not a database" by its likely reason: with a key, the file is not encrypted or the key is
/// another; without one, the file may be encrypted.
pub(crate) fn key_error(error: Error, path: &Path, options: &Options) -> Error {
    if error.kind() != ErrorKind::Foreign {
        return error;
    }
    match (&options.key, cipher::is_plain(path, options)) {
        (Some(_), true) => {
            let why = "a key was given, but the file is not encrypted (open it without, or encrypt it: `Store::change_key`)";
            Error::new(ErrorKind::NotEncrypted, why)
        }
        (Some(_), false) => Error::new(ErrorKind::WrongKey, "the key, or the cipher, is not the file's"),
        (None, false) if cipher::may_be_encrypted(path, options) => {
            let why = "it is no plain SQLite file: it is encrypted, or no store at all (if it is, give its key: `Options::key`)";
            Error::new(ErrorKind::Encrypted, why)
        }
        (None, _) => Error::new(ErrorKind::Foreign, "it is no SQLite file, and no encrypted store either"),
    }
}
