//! Gives a file that no connection has open a key, another key, or none. The file is written a second time beside
//! itself, and replaced in one step: at every moment the old file or the new one is there.

use crate::engine::bare::open;
use crate::engine::connection::{Connection, Header};
use crate::engine::new_file::{COMPANIONS, NewFile, companion, sync_directory};
use crate::engine::{attached, cipher};
use crate::session::opening::{check, check_not_emptied, key_error};
use crate::store::Store;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::Options;
use rusqlite::OpenFlags;
use std::fs::{self, File};
use std::path::Path;

impl Store {
    /// Gives a store that no connection has open another key, another cipher, or none. Only these options of `current`
    /// and `new` count: [`key`](Options::key), [`cipher`](Options::cipher), and [`page_size`](Options::page_size),
    /// which may change if the store has no key yet.
    ///
    /// The store is written a second time beside itself, so there must be room for it twice. The new file has the
    /// permissions of the old one, and its owner if this process may give files away. Whenever the machine stops,
    /// either the old file or the new one is there, whole. The content of the old file stays on the disk until the file
    /// system writes over it: a store that was plain is not secret from anybody with access to the bare disk. No
    /// message contains a key, and none is left in this process's memory but in the options.
    ///
    /// ```
    /// use touchstone_store::{EncryptionKey, Options, Record, Store};
    /// # #[derive(Record)]
    /// # struct Note { #[record(key)] id: i64 }
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Store::open(&path)?;
    /// store.insert(&Note { id: 1 })?;
    /// drop(store);
    ///
    /// let encrypted = Options::new().key(EncryptionKey::raw([7; 32]));
    /// Store::change_key(&path, Options::new(), encrypted.clone())?;
    /// assert!(Store::open(&path).is_err());
    /// assert_eq!(encrypted.open(&path)?.all::<Note>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Busy`](ErrorKind::Busy) if the store is open elsewhere, this program included;
    /// [`WrongKey`](ErrorKind::WrongKey), or [`NotEncrypted`](ErrorKind::NotEncrypted), if the file has another key
    /// than `current`; [`Invalid`](ErrorKind::Invalid) if the pages of an encrypted store are to have another size; if
    /// the file is no store, or cannot be written. The file is then as it was.
    pub fn change_key(path: impl AsRef<Path>, current: Options, new: Options) -> Result<()> {
        let path = path.as_ref();
        change(path, current, new)
            .map_err(|error| error.context(format_args!("changing the key of {}", path.display())))
    }
}

fn change(path: &Path, current: Options, new: Options) -> Result<()> {
    current.check()?;
    new.check()?;
    // A symbolic link to the file stays one.
    let path = &fs::canonicalize(path).map_err(|error| Error::io(&error, "looking for", path))?;
    check_not_emptied(path)?;
    let current = cipher::resolve(path, Options { read_only: false, create: false, ..current })?;
    // Declared before the connection, so closed after it, also on failure: closing it ends the locks of this process.
    let old;
    let (source, header) = seize(path, &current)?;
    check_page_size(&source, &current, &new)?;
    let new = cipher::resolve_new(Options { vfs: current.vfs.clone(), ..new })?;
    // Opened only now: before `seize` the path may have led to another file.
    let opened = File::options().read(true).write(true).open(path);
    old = opened.map_err(|error| Error::io(&error, "opening", path))?;
    let made = NewFile::replacing(path);
    made.create_in_place_of(path)?;
    write_anew(path, &current, made.path(), &new)?;
    verify(made.path(), &new, header)?;
    // The log is gone since `seize`; its index may be left.
    for ending in COMPANIONS {
        let _ = fs::remove_file(companion(path, ending));
    }
    // After a loss of power the old log must not lie beside the new file: a recovery would copy it over the new pages.
    sync_directory(path)?;
    made.replace()?;
    spoil(&old);
    Ok(())
}

/// Makes a file that has no name any more unreadable: a process that opened it before may wait for its lock, and would
/// write commits that no reader ever finds.
#[cfg(unix)]
fn spoil(mut old: &File) {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;
    // A file with another name, a hard link, is still in use, and is left as it is.
    if old.metadata().is_ok_and(|file| file.nlink() == 0) {
        // If this fails, the waiting process is no worse off than without it.
        let _ = old.write_all(&[0; 100]);
    }
}

/// On other systems a file that a process has open cannot be replaced.
#[cfg(not(unix))]
fn spoil(_old: &File) {}

/// A connection with an exclusive lock, to a store whose log is removed; and the store's header. A file that is no
/// store, or that a newer library has made, keeps its log: nothing is changed before that is known.
fn seize(path: &Path, options: &Options) -> Result<(Connection, Header)> {
    let options = Options { exclusive: false, ..options.clone() };
    let connection = Connection::open(path, &options)?;
    let elsewhere = |error: Error| match error.kind() {
        ErrorKind::Busy => Error::new(ErrorKind::Busy, "the store is open elsewhere (close it there first)"),
        _ => key_error(error, path, &options),
    };
    // With this mode the connection keeps the transaction's lock until it is closed. Without a log a torn page is put back from a
    // journal, which must be on the disk before: a flush that the disk's own memory holds back does not do.
    let sql = connection.sql();
    let locked =
        sql.execute_batch("pragma fullfsync = on; pragma locking_mode = exclusive; begin exclusive; commit");
    locked.map_err(|error| elsewhere(error.into()))?;
    let header = connection.header().map_err(elsewhere)?;
    check(header)?;
    let mode = sql.query_row("pragma journal_mode = delete", (), |row| row.get::<_, String>(0));
    match mode {
        Ok(mode) if mode == "delete" => Ok((connection, header)),
        Ok(_) => Err(Error::new(ErrorKind::Busy, "the store is open elsewhere (close it there first)")),
        Err(error) => Err(elsewhere(error.into())),
    }
}

/// Writes the whole store into a new file under another key, while it is seized. The connection opens the new file with
/// its key before SQL names that file, so no message of SQLite can contain a key.
fn write_anew(path: &Path, current: &Options, made: &Path, new: &Options) -> Result<()> {
    let keyed = Connection::open_for_attaching(made, new)?;
    attached::attach_unlocked(&keyed, path, current)?;
    attached::copy_anew(&keyed, made, new)
}

/// The engine copies encrypted pages only into pages of the same size, and silently ignores a request for another size.
fn check_page_size(source: &Connection, current: &Options, new: &Options) -> Result<()> {
    let now = source.page_bytes();
    match new.page_size {
        Some(bytes) if current.key.is_some() && u64::from(bytes) != now => {
            let remedy = "ask for that size, or take the key away first and give the new one then";
            let message = format!("pages of an encrypted store stay as they are, of {now} bytes ({remedy})");
            Err(Error::new(ErrorKind::Invalid, message))
        }
        _ => Ok(()),
    }
}

/// Checks, before the new file replaces the old one, that it opens with its key and has the old one's header.
fn verify(path: &Path, options: &Options, header: Header) -> Result<()> {
    let options = Options { read_only: false, create: false, ..options.clone() };
    let found = Connection::open(path, &options)?.header()?;
    if (found.application, found.version) == (header.application, header.version) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Refused, "the file that was made does not read back (nothing was changed)"))
}

impl Connection {
    /// As [`open`](Connection::open), for a connection that can attach files by their URI.
    fn open_for_attaching(path: &Path, options: &Options) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE
            | OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_URI;
        // SQLite would take a path that begins with `file:` for a URI.
        let path = if path.starts_with("file:") { Path::new(".").join(path) } else { path.to_owned() };
        Connection::with(open(&path, flags, options)?, options)
    }
}
