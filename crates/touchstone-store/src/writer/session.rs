//! The writer's session: a session with the gathering of its transaction's changes. A reader's session has none, so
//! reading knows nothing of live queries. As with a [`Leased`] session, one thread uses it at a time.

use crate::live::capture::Capture;
use crate::session::leased::Leased;
use crate::session::{COLLECTIONS, Session};
use crate::table::Section;
use crate::types::error::{Error, Result};
use crate::types::record::Shape;

/// The store's one session that writes. Its connection is closed before the gathering is dropped.
pub(crate) struct WriteSession {
    pub(crate) session: Leased,
    /// The changes of the transaction under way to rows that live queries watch.
    pub(crate) capture: Capture,
}

/// A call of the writer's session that is under way.
#[derive(Clone, Copy)]
pub(crate) struct WriteCall<'w> {
    pub(crate) session: &'w Session,
    pub(crate) capture: &'w Capture,
}

impl WriteSession {
    /// A call of the owner, as [`Leased::call`].
    ///
    /// # Errors
    /// If the process that opened the store has forked and this is the child; or as `work` does.
    #[inline]
    pub(crate) fn call<R>(&self, work: impl FnOnce(WriteCall<'_>) -> Result<R>) -> Result<R> {
        self.session.call(|session| work(WriteCall { session, capture: &self.capture }))
    }

    /// The session for the commit protocol and for savepoints. Unlike [`call`](WriteSession::call), this does not check
    /// for a fork and does not explain errors. The callers do both.
    #[inline]
    pub(crate) fn in_commit(&self) -> WriteCall<'_> {
        WriteCall { session: self.session.unleased(), capture: &self.capture }
    }

    /// A call within the owner's transaction, which must still be there.
    ///
    /// # Errors
    /// As for [`call`](WriteSession::call); if the transaction has ended.
    #[inline]
    pub(crate) fn in_transaction<R>(&self, work: impl FnOnce(WriteCall<'_>) -> Result<R>) -> Result<R> {
        self.session.in_transaction(|session| work(WriteCall { session, capture: &self.capture }))
    }
}

impl WriteCall<'_> {
    /// The table of a type. It is made if the file has none, and completed if columns or indexes are missing.
    pub(crate) fn writable_table(self, shape: &'static Shape, collection: Option<i64>) -> Result<Section> {
        let table = self.session.table(shape, collection)?;
        if table.writable.get() {
            return Ok(table);
        }
        let sql = self.session.connection.sql();
        let made = table.make_sql().iter().try_for_each(|making| sql.execute_batch(making));
        // Even after a failure: the parts that were made before it stay until the transaction is undone.
        self.look_again();
        made.map_err(|error| {
            Error::from(error).context(format_args!("making the table of `{}`", shape.name))
        })?;
        let table = self.session.table(shape, collection)?;
        table.writable.set(true);
        Ok(table)
    }

    /// The type's own table, if this session has written to it: then one statement can be a transaction of its own.
    #[inline]
    pub(crate) fn ready_table(self, shape: &'static Shape) -> Option<Section> {
        self.session.table(shape, None).ok().filter(|table| table.writable.get())
    }

    /// The number of a named collection, which is made if there is none.
    pub(crate) fn writable_collection(self, name: &str) -> Result<i64> {
        if let Some(number) = self.session.collection(name)? {
            return Ok(number);
        }
        let sql = self.session.connection.sql();
        sql.execute_batch(
            "create table if not exists main.touchstone_collections (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT",
        )?;
        sql.execute("insert into main.touchstone_collections (name) values (?1)", [name])?;
        let number = sql.last_insert_rowid();
        self.capture.changed(COLLECTIONS);
        self.session.note_collection(name, number);
        Ok(number)
    }

    /// Checks whether SQL has changed the schema.
    pub(crate) fn look_again(self) {
        if !self.session.look_again() {
            self.forget_undone();
        }
    }

    /// Forgets facts from a rolled-back transaction, or a part of one, that the schema's version does not cover: the
    /// numbers of collections, and whether there are triggers.
    pub(crate) fn forget_undone(self) {
        self.session.forget_undone();
        self.capture.forget_acting();
    }

    /// Forgets everything known of the file's tables.
    pub(crate) fn forget(self) {
        self.session.forget();
        self.forget_undone();
    }

    /// Rolls the transaction back, and forgets tables that may have been made in it.
    pub(crate) fn abandon(self) {
        self.session.connection.end();
        self.forget();
    }
}
