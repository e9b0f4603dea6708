//! The version that a program gives to its data, for steps that change the data: one number, in a table of its own. The
//! header's field that SQLite calls "user version" is the version of the store's format.

use crate::session::Session;
use crate::store::Store;
use crate::store::snapshot::Snapshot;
use crate::types::error::{Error, ErrorKind, Result};
use crate::writer::session::WriteCall;
use crate::writer::transaction::Transaction;
use rusqlite::OptionalExtension as _;

const TABLE: &str = "touchstone_user_version";

impl Store {
    /// The version that the program gave to its data here: 0 if it never gave one. A transaction
    /// [sets it](Transaction::set_user_version).
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// assert_eq!(store.user_version()?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, or if the stored number is no version (`Mismatch`).
    pub fn user_version(&self) -> Result<u32> {
        self.read(Snapshot::user_version)
    }
}

impl Snapshot {
    /// The version that the program gave to its data here, as [`Store::user_version`].
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// let snapshot = store.snapshot()?;
    /// store.write(|transaction| transaction.set_user_version(1))?;
    /// assert_eq!(snapshot.user_version()?, 0, "as it was when the snapshot was taken");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the snapshot has expired, if the file cannot be read, or if the stored number is no version (`Mismatch`).
    pub fn user_version(&self) -> Result<u32> {
        self.leased().in_transaction(read)
    }
}

impl Transaction<'_> {
    /// The version that the program gave to its data here, as this transaction sees it: 0 if it never gave one.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Task { #[record(key)] id: i64, minutes: i64 }
    /// # store.insert(&Task { id: 1, minutes: 2 })?;
    /// store.write(|transaction| {
    ///     // What were hours are minutes from version 1 on.
    ///     if transaction.user_version()? < 1 {
    ///         transaction.sql(|sql| sql.execute("update task set minutes = minutes * 60", ()))?;
    ///         transaction.set_user_version(1)?;
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(store.get::<Task>(&1)?.map(|task| task.minutes), Some(120));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, or if the stored number is no version (`Mismatch`).
    pub fn user_version(&self) -> Result<u32> {
        self.writer().session.in_transaction(read)
    }

    /// Gives the program's data a version. It is part of the transaction, as the changes of the data are.
    ///
    /// ```
    /// # use touchstone_store::{Error, ErrorKind};
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// store.write(|transaction| transaction.set_user_version(3))?;
    /// let undone: Result<(), Error> = store.write(|transaction| {
    ///     transaction.set_user_version(4)?;
    ///     Err(Error::new(ErrorKind::Invalid, "the step failed"))
    /// });
    /// assert!(undone.is_err());
    /// assert_eq!(store.user_version()?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_user_version(&mut self, version: u32) -> Result<()> {
        self.writer().in_transaction(|call| write(call, version))
    }
}

fn read(session: &Session) -> Result<u32> {
    if !exists(session)? {
        return Ok(0);
    }
    let sql = "select version from main.touchstone_user_version where number = 1";
    let version: Option<i64> = session.connection.sql().query_row(sql, (), |row| row.get(0)).optional()?;
    let version = version.unwrap_or(0);
    u32::try_from(version).map_err(|_| {
        let why = format!("`{TABLE}` says {version}, which is no version (set another)");
        Error::new(ErrorKind::Mismatch, why)
    })
}

fn write(call: WriteCall<'_>, version: u32) -> Result<()> {
    const MAKE: &str = "create table main.touchstone_user_version (number INTEGER PRIMARY KEY, version INTEGER NOT NULL) STRICT";
    const SET: &str = "insert into main.touchstone_user_version (number, version) values (1, ?1) \
        on conflict (number) do update set version = excluded.version";
    let sql = call.session.connection.sql();
    if !exists(call.session)? {
        sql.execute_batch(MAKE)?;
        call.look_again();
    }
    sql.execute(SET, [version])?;
    call.capture.changed(TABLE);
    Ok(())
}

fn exists(session: &Session) -> Result<bool> {
    let sql = "select 1 from main.sqlite_schema where type = 'table' and name = ?1";
    Ok(session.connection.sql().prepare(sql)?.exists([TABLE])?)
}
