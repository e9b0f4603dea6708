//! Another key for a file that nobody has open: encrypts it, decrypts it, or encrypts it anew. The file is written a
//! second time beside itself and takes its own place in one step, so at every moment the old one or the new one is there.

use crate::engine::cipher;
use crate::engine::connection::{Connection, Header, open};
use crate::error::{Error, ErrorKind, Result};
use crate::opening::{check, key_error};
use crate::options::{Cipher, Options};
use crate::place::{COMPANIONS, NewFile, companion, sync_directory};
use crate::store::Store;
use rusqlite::OpenFlags;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use zeroize::Zeroizing;

impl Store {
    /// Gives a store that nobody has open another key, another cipher, or none: of `current` and `new` what counts is
    /// [`key`](Options::key), [`cipher`](Options::cipher), and [`page_size`](Options::page_size), which may change too.
    ///
    /// The store is written anew beside itself, so there must be room for it twice. Whenever the machine stops, either
    /// the old file or the new one is there, whole. What the old file held stays on the disk until the file system
    /// writes over it: a store that was plain is not secret from somebody who reads the bare disk.
    ///
    /// ```
    /// use touchstone_store::{EncryptionKey, Options, Record, Store};
    /// # #[derive(Record)]
    /// # struct Note { #[record(key)] id: i64 }
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("notes.db");
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
    /// [`Busy`](ErrorKind::Busy) where the store is open elsewhere, this program included;
    /// [`WrongKey`](ErrorKind::WrongKey), or [`NotEncrypted`](ErrorKind::NotEncrypted), where the file has another key
    /// than `current`; when the file is no store, or cannot be written. The file is then as it was.
    pub fn change_key(path: impl AsRef<Path>, current: Options, new: Options) -> Result<()> {
        let path = path.as_ref();
        change(path, current, new)
            .map_err(|error| error.context(format_args!("changing the key of {}", path.display())))
    }
}

fn change(path: &Path, current: Options, new: Options) -> Result<()> {
    current.check()?;
    new.check()?;
    // A link to the file stays one.
    let path = &fs::canonicalize(path).map_err(|error| Error::io(&error, "looking for", path))?;
    let current = cipher::resolve(path, Options { read_only: false, create: false, ..current })?;
    // Closed after the connection, also after a failure: closing it ends the locks of this process.
    let old;
    let source = seize(path, &current)?;
    let header = source.header()?;
    check(header)?;
    let new = cipher::resolve_new(Options { vfs: current.vfs.clone(), ..new })?;
    // Opened only now: before it was seized, the file may have been another one.
    let opened = File::options().read(true).write(true).open(path);
    old = opened.map_err(|error| Error::io(&error, "opening", path))?;
    let made = NewFile::replacing(path);
    made.create_like(path)?;
    write_anew(&source, made.path(), &new)?;
    verify(made.path(), &new, header)?;
    // The log is gone since the file was seized. What is left is memory that was shared.
    for ending in COMPANIONS {
        let _ = fs::remove_file(companion(path, ending));
    }
    // After a loss of power the old log must not lie beside the new file, whose pages it would be copied over.
    sync_directory(path)?;
    made.replace()?;
    spoil(&old);
    Ok(())
}

/// Makes a file that has no name any more unreadable: somebody may have opened it before, and wait for its lock to
/// write what nobody would find.
#[cfg(unix)]
fn spoil(mut old: &File) {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;
    // It may have another name, which is somebody's copy.
    if old.metadata().is_ok_and(|file| file.nlink() == 0) {
        // Where this fails, he who waits is no worse off than without it.
        let _ = old.write_all(&[0; 100]);
    }
}

/// Elsewhere a file that somebody has open cannot be replaced.
#[cfg(not(unix))]
fn spoil(_old: &File) {}

/// A connection that nobody else can read or write beside, to a file without a log.
fn seize(path: &Path, options: &Options) -> Result<Connection> {
    let options = Options { exclusive: false, ..options.clone() };
    let connection = Connection::open_for_attaching(path, &options)?;
    let elsewhere = |error: Error| match error.kind() {
        ErrorKind::Busy => Error::new(ErrorKind::Busy, "the store is open elsewhere (close it there first)"),
        _ => key_error(error, path, &options),
    };
    // The mode keeps the lock that the transaction takes until the connection is closed.
    let sql = connection.sql();
    let locked = sql.execute_batch("pragma locking_mode = exclusive; begin exclusive; commit");
    locked.map_err(|error| elsewhere(error.into()))?;
    let mode = sql.query_row("pragma journal_mode = delete", (), |row| row.get::<_, String>(0));
    match mode {
        Ok(mode) if mode == "delete" => Ok(connection),
        Ok(_) => Err(Error::new(ErrorKind::Busy, "the store is open elsewhere (close it there first)")),
        Err(error) => Err(elsewhere(error.into())),
    }
}

/// Writes the whole store into a new file under another key.
fn write_anew(source: &Connection, path: &Path, options: &Options) -> Result<()> {
    let sql = source.sql();
    if let Some(bytes) = options.page_size {
        sql.execute_batch(&format!("pragma page_size = {bytes}"))?;
    }
    let target = address(path, options)?;
    sql.execute("vacuum into ?1", [target.as_str()])?;
    Ok(())
}

/// The file as a URI, which is how a `vacuum into` is told a key.
fn address(path: &Path, options: &Options) -> Result<Zeroizing<String>> {
    let Some(name) = path.to_str() else {
        return Err(Error::new(ErrorKind::Invalid, "the file's name is no UTF-8, which this one call needs"));
    };
    // Long enough that no copy of the key is left behind when the text grows.
    let mut uri = Zeroizing::new(String::with_capacity(3 * name.len() + 400));
    uri.push_str("file:");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    let Some(key) = &options.key else {
        uri.push_str("?key=&reserve=0");
        return Ok(uri);
    };
    // The bytes that each page keeps for its nonce and its tag.
    uri.push_str(match options.cipher {
        Cipher::Aegis => "?cipher=aegis&algorithm=aegis-256x2&reserve=64&key=raw%3a",
        Cipher::SqlCipher => "?cipher=sqlcipher&legacy=4&reserve=80&key=raw%3a",
    });
    for byte in &key.engine_bytes()[4..] {
        let _ = write!(uri, "{byte:02x}");
    }
    Ok(uri)
}

/// Whether the new file opens with its key and says of itself what the old one did, before it takes the old one's place.
fn verify(path: &Path, options: &Options, header: Header) -> Result<()> {
    let options = Options { read_only: false, create: false, ..options.clone() };
    let found = Connection::open(path, &options)?.header()?;
    if (found.application, found.version) == (header.application, header.version) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Refused, "the file that was made does not read back (nothing was changed)"))
}

impl Connection {
    /// As [`open`](Connection::open), able to attach files by their URI.
    fn open_for_attaching(path: &Path, options: &Options) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE
            | OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_URI;
        // A name that begins so would be taken for a URI.
        let path = if path.starts_with("file:") { Path::new(".").join(path) } else { path.to_owned() };
        Connection::with(open(&path, flags, options)?, options)
    }
}
