//! Saves the readable part of a damaged store into a new one. The damaged file is copied first and never written to.
//! The copy is read page by page, without SQLite's trust in the links between pages; unreadable parts are skipped and
//! counted. The program's types are not needed: rows are saved as they lie.

mod damaged;
mod orphan;
mod rebuild;
mod row;

use crate::engine::cipher;
use crate::engine::connection::APPLICATION_ID;
use crate::engine::new_file::{COMPANIONS, NewFile, companion};
use crate::session::opening::check;
use crate::store::Store;
use crate::types::error::{Error, Result};
use crate::types::options::Options;
use damaged::Damaged;
use rebuild::Rebuilt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The rows that a salvage saved, and its losses.
///
/// ```
/// # use touchstone_store::{Options, Record, Store};
/// # #[derive(Record)]
/// # struct Note { #[record(key)] id: i64, text: String }
/// # let directory = tempfile::tempdir()?;
/// # let (damaged, saved) = (directory.path().join("damaged.db"), directory.path().join("saved.db"));
/// # let store = Store::open(&damaged)?;
/// # store.insert_all(&[1, 2, 3].map(|id| Note { id, text: "text".repeat(id as usize * 300) }))?;
/// # drop(store);
/// # let mut bytes = std::fs::read(&damaged)?;
/// # let at = bytes.len() - 4096;
/// # bytes[at..].fill(0xff);
/// # std::fs::write(&damaged, bytes)?;
/// let report = Store::salvage(&damaged, Options::new(), &saved)?;
/// if !report.is_complete() {
///     for table in report.tables() {
///         println!("{}: {} rows saved, {} pages lost", table.name, table.rows, table.pages_lost);
///     }
/// }
/// assert!(!report.is_complete());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SalvageReport {
    tables: Vec<SalvagedTable>,
    not_made: Vec<String>,
    log_lost: bool,
}

/// The rows that a salvage saved of one table, and its losses. See [`SalvageReport`] for how to get one.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
/// # drop(store);
/// # let (damaged, saved) = (directory.path().join("tasks.db"), directory.path().join("saved.db"));
/// let report = Store::salvage(&damaged, touchstone_store::Options::new(), &saved)?;
/// let table = report.tables().iter().find(|table| table.name == "task").expect("there is one");
/// assert_eq!((table.rows, table.rows_lost, table.pages_lost), (2, 0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedTable {
    /// The table's name. The list of tables is one too, `sqlite_schema`: a lost row of it is a whole lost table.
    pub name: String,
    /// Rows that are in the new store.
    pub rows: u64,
    /// Rows that could not be read. Rows of lost pages are not among them: their number is unknown.
    pub rows_lost: u64,
    /// Rows that were read, and that the new table refused: another row with the same key, or the same value of a
    /// unique index, was there already, or a value does not fit its column.
    pub rows_refused: u64,
    /// Pages that could not be read, with all rows on them and all pages below them.
    pub pages_lost: u64,
    /// Rows among those saved from pages to which no other page led any more.
    pub rows_found: u64,
    /// Rows among those saved with a long value that has only zeros from some page to its end: the value may be so, or
    /// these pages may be lost. In an encrypted store there are none.
    pub rows_doubtful: u64,
}

impl SalvageReport {
    /// Every table that was there, in the order of the file.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// # drop(store);
    /// # let (damaged, saved) = (directory.path().join("tasks.db"), directory.path().join("saved.db"));
    /// let report = Store::salvage(&damaged, touchstone_store::Options::new(), &saved)?;
    /// assert!(report.tables().iter().any(|table| table.name == "task" && table.rows == 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tables(&self) -> &[SalvagedTable] {
        &self.tables
    }

    /// Names of tables, indexes, views and triggers that could not be made again.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// # drop(store);
    /// # let (damaged, saved) = (directory.path().join("tasks.db"), directory.path().join("saved.db"));
    /// let report = Store::salvage(&damaged, touchstone_store::Options::new(), &saved)?;
    /// assert!(report.not_made().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn not_made(&self) -> &[String] {
        &self.not_made
    }

    /// Whether the newest commits, which were still in the log, could not be read.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// # drop(store);
    /// # let (damaged, saved) = (directory.path().join("tasks.db"), directory.path().join("saved.db"));
    /// let report = Store::salvage(&damaged, touchstone_store::Options::new(), &saved)?;
    /// assert!(!report.log_lost());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn log_lost(&self) -> bool {
        self.log_lost
    }

    /// Rows that are in the new store, of all tables.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// # drop(store);
    /// # let (damaged, saved) = (directory.path().join("tasks.db"), directory.path().join("saved.db"));
    /// let report = Store::salvage(&damaged, touchstone_store::Options::new(), &saved)?;
    /// assert_eq!(report.rows(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    /// Whether nothing was lost, as far as can be known.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// # drop(store);
    /// # let (damaged, saved) = (directory.path().join("tasks.db"), directory.path().join("saved.db"));
    /// let report = Store::salvage(&damaged, touchstone_store::Options::new(), &saved)?;
    /// assert!(report.is_complete());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let whole = |table: &SalvagedTable| {
            let lost = (table.rows_lost, table.rows_refused, table.pages_lost);
            lost == (0, 0, 0) && (table.rows_found, table.rows_doubtful) == (0, 0)
        };
        self.tables.iter().all(whole) && self.not_made.is_empty() && !self.log_lost
    }
}

impl Store {
    /// Saves the readable part of a damaged store into a new one, under the same key. Nothing is written to the damaged
    /// file. In the new file's folder there must be room for it twice.
    ///
    /// No store may have the damaged file open; this is not checked. If a program writes meanwhile, the file and its
    /// log are copied at different moments. The new store may then have a part of a transaction and lack the rest, and
    /// the report still says that it [is complete](SalvageReport::is_complete).
    ///
    /// A flipped bit inside a value is not noticed, except in an encrypted store, whose every page is authenticated:
    /// there each saved row is as it was written. [`Store::check`] reports rows of the new store whose values do not
    /// fit their fields' types.
    ///
    /// ```
    /// # use touchstone_store::{Options, Record, Store};
    /// # #[derive(Record)]
    /// # struct Note { #[record(key)] id: i64 }
    /// # let directory = tempfile::tempdir()?;
    /// # let damaged = directory.path().join("damaged.db");
    /// # let store = Store::open(&damaged)?;
    /// # store.insert(&Note { id: 1 })?;
    /// # drop(store);
    /// let saved = directory.path().join("saved.db");
    /// let report = Store::salvage(&damaged, Options::new(), &saved)?;
    /// println!("{} rows saved, complete: {}", report.rows(), report.is_complete());
    /// assert_eq!(Store::open(&saved)?.all::<Note>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Exists`](crate::ErrorKind::Exists) if the new file is there already; [`WrongKey`](crate::ErrorKind::WrongKey),
    /// [`Encrypted`](crate::ErrorKind::Encrypted) or [`Foreign`](crate::ErrorKind::Foreign) if the first page cannot be
    /// read, by damage or for lack of the right key; [`Damaged`](crate::ErrorKind::Damaged) if no table is known. No
    /// new file is left.
    pub fn salvage(
        damaged: impl AsRef<Path>,
        options: Options,
        new: impl AsRef<Path>,
    ) -> Result<SalvageReport> {
        let (damaged, new) = (damaged.as_ref(), new.as_ref());
        salvage(damaged, options, new)
            .map_err(|error| error.context(format_args!("salvaging {}", damaged.display())))
    }
}

fn salvage(damaged: &Path, options: Options, new: &Path) -> Result<SalvageReport> {
    options.check()?;
    let made = NewFile::beside(new)?;
    let scratch = Scratch::copy(damaged, made.damaged(), &options)?;
    let here = Options { read_only: false, create: false, exclusive: false, vfs: None, ..options.clone() };
    let mut source = Damaged::open(scratch.path(), &cipher::resolve(scratch.path(), here)?)?;
    let header = source.header();
    // Another application id may be damage. So the format's version is checked only if the id is the store's.
    if header.application == APPLICATION_ID {
        check(header)?;
    }
    let mut report = SalvageReport { log_lost: source.log_is_lost(), ..SalvageReport::default() };
    let schema = source.schema(&mut report)?;
    let there = Options {
        read_only: false,
        create: false,
        page_size: options.page_size.or_else(|| u32::try_from(source.page_bytes()).ok()),
        ..cipher::resolve_new(options)?
    };
    made.create_like(damaged)?;
    let mut rebuilt = Rebuilt::new(made.path(), &there)?;
    rebuilt.fill(&schema, &mut source, &mut report)?;
    rebuilt.finish()?;
    made.place()?;
    Ok(report)
}

/// A copy of a damaged file with its log, to work on. Dropping it removes the copy.
struct Scratch {
    folder: PathBuf,
    file: PathBuf,
}

impl Scratch {
    fn copy(damaged: &Path, folder: PathBuf, options: &Options) -> Result<Scratch> {
        create_private(&folder).map_err(|error| Error::io(&error, "making", &folder))?;
        let scratch = Scratch { file: folder.join("damaged"), folder };
        cipher::copy(damaged, &scratch.file, options)?;
        // The log's index is not copied: SQLite rebuilds it from the log.
        for ending in COMPANIONS.iter().filter(|ending| **ending != "-shm") {
            let (from, to) = (companion(damaged, ending), companion(&scratch.file, ending));
            match fs::copy(&from, to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io(&error, "copying", &from));
                }
                _ => {}
            }
        }
        Ok(scratch)
    }

    fn path(&self) -> &Path {
        &self.file
    }
}

/// Makes a folder that only this user can open: the damaged file may be private, and its copy is no more public.
fn create_private(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        fs::DirBuilder::new().mode(0o700).create(folder)
    }
    #[cfg(not(unix))]
    fs::create_dir(folder)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A copy that cannot be removed has a name that says what it is.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// Regression: a user who may not read the damaged file could read its copy while it was salvaged.
    #[test]
    fn the_copy_of_a_private_file_is_private() {
        let directory = tempfile::tempdir().expect("there is room");
        let damaged = directory.path().join("damaged.db");
        fs::write(&damaged, "secret").expect("there is room");
        fs::set_permissions(&damaged, fs::Permissions::from_mode(0o600)).expect("it is there");
        let scratch = Scratch::copy(&damaged, directory.path().join("copy"), &Options::new());
        let scratch = scratch.expect("there is room");
        let mode = fs::metadata(&scratch.folder).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
}
