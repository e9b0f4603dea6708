//! A copy of an open store, as of one moment, while other threads and processes write.

use crate::engine::connection::Connection;
use crate::engine::new_file::NewFile;
use crate::session::Session;
use crate::store::Store;
use crate::store::snapshot::Snapshot;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::Options;
use rusqlite::backup::{Backup, StepResult};
use std::path::Path;

/// Pages that are copied between two checks whether the snapshot has expired.
const STEP_PAGES: i32 = 1024;

impl Store {
    /// Copies the store into a new file, as it is at this moment: writers go on meanwhile, and their commits are not in
    /// the copy. The copy is encrypted as the store is, with the same key. The file is there when this returns, and
    /// survives a loss of power; after a failure no file is there.
    ///
    /// The copy has no write-ahead log until it is opened to be written. Until then
    /// [`read_only`](Options::read_only) reads it from a read-only file system too, and leaves no file beside it. The first store
    /// that opens it to write waits until nobody reads it.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record)]
    /// # struct Note { #[record(key)] id: i64 }
    /// # let directory = tempfile::tempdir()?;
    /// let store = Store::open(directory.path().join("notes.db"))?;
    /// store.insert(&Note { id: 1 })?;
    /// store.backup(directory.path().join("notes.backup"))?;
    ///
    /// let copy = Store::open(directory.path().join("notes.backup"))?;
    /// assert_eq!(copy.all::<Note>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Exists`](ErrorKind::Exists) if a file is there that is not empty. If the store cannot be read, the copy cannot
    /// be written, or the snapshot [expires](ErrorKind::Expired): the log reached `log_bytes_max`.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let about = |error: Error| error.context(format_args!("backing up to {}", path.display()));
        // The snapshot comes first, because it reports a store whose file is gone.
        let snapshot = self.snapshot().map_err(about)?;
        let made = NewFile::beside(path).map_err(about)?;
        made.create_like(self.path()).map_err(about)?;
        self.copy_to(&snapshot, made.path()).map_err(about)?;
        drop(snapshot);
        made.place().map_err(about)
    }

    fn copy_to(&self, snapshot: &Snapshot, path: &Path) -> Result<()> {
        let page_bytes = snapshot.leased().call(|session| Ok(session.connection.page_bytes()))?;
        let options = Options {
            read_only: false,
            create: false,
            // The engine copies encrypted pages only between files whose pages are of one size.
            page_size: u32::try_from(page_bytes).ok(),
            ..self.options().clone()
        };
        let mut copy = Connection::open(path, &options)?;
        // No program uses the copy before it is whole, so nothing of it must survive a failure.
        copy.sql().execute_batch(
            "pragma locking_mode = exclusive; pragma journal_mode = off; pragma synchronous = off",
        )?;
        snapshot.leased().in_transaction(|session| copy_all(session, &mut copy))?;
        // The pages that were copied say that there is a log, and SQLite reads such a file only where it can make files beside it.
        let mode: String = copy.sql().query_row("pragma journal_mode = delete", (), |row| row.get(0))?;
        match mode.as_str() {
            "delete" => Ok(()),
            mode => Err(Error::new(ErrorKind::Refused, format!("the copy keeps its journal mode, `{mode}`"))),
        }
    }
}

/// Copies the whole snapshot of the session.
fn copy_all(session: &Session, copy: &mut Connection) -> Result<()> {
    let backup = Backup::new(session.connection.sql(), copy.sql_mut())?;
    loop {
        // Between two steps the keeper may ask the call to end, because the snapshot is to expire.
        session.may_go_on()?;
        match backup.step(STEP_PAGES)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => return Err(Error::new(ErrorKind::Busy, "the store's file was locked meanwhile")),
        }
    }
}
