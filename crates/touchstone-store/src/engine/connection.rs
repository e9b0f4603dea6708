//! One connection to the file, with its settings and the statements that begin and end transactions.

use super::bare;
use super::batch_insert::BatchInsert;
use super::busy_handler::BusyHandler;
use super::cipher;
use super::fork::Origin;
use super::guard::{self, Guard, Lent};
use super::log::{LogIndex, LogState, Region};
use super::log_file::LogFile;
use super::pager::{Pages, damaged};
use super::statement::Statement;
use super::vfs_file::call;
use crate::types::error::{Error, Result};
use crate::types::options::{Durability, Options};
use libsqlite3_sys as ffi;
use rusqlite::InterruptHandle;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::ptr;
use std::rc::Rc;

unsafe extern "C" {
    fn touchstone_cache(connection: *mut ffi::sqlite3, kibibytes: c_int);
    fn touchstone_forget_copies(connection: *mut ffi::sqlite3);
    fn touchstone_keep_pages(connection: *mut ffi::sqlite3);
    fn touchstone_has_last_page(connection: *mut ffi::sqlite3) -> c_int;
    fn touchstone_spare_last_page(connection: *mut ffi::sqlite3) -> c_int;
    fn touchstone_release_tables(connection: *mut ffi::sqlite3);
    fn touchstone_is_running(connection: *mut ffi::sqlite3) -> c_int;
    fn touchstone_may_have_triggers(connection: *mut ffi::sqlite3) -> c_int;
    fn touchstone_page_bytes(connection: *mut ffi::sqlite3) -> c_uint;
}

/// Marks the file as a store in its header: "Tous" in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x546f_7573;
/// The version of the format, in the header's field for the user's version.
pub(crate) const FORMAT_VERSION: i32 = 1;

/// An open connection. Its statements are dropped before it.
pub(crate) struct Connection {
    begin: OnceCell<Statement>,
    begin_write: OnceCell<Statement>,
    commit: OnceCell<Statement>,
    cookie: OnceCell<Statement>,
    look: OnceCell<Statement>,
    raw: Own,
    /// The feeds (virtual tables for batch inserts), by how many columns they have. The connection is dropped first.
    feeds: RefCell<HashMap<usize, Rc<BatchInsert>>>,
    /// Dropped after the connection, whose busy handler it is.
    pub(crate) busy_handler: Box<BusyHandler>,
    /// The counter of the WAL hook. Dropped after the connection, which has a pointer to it.
    commits: Box<Cell<u32>>,
    /// Dropped after the connection, whose authorizer uses it.
    pub(super) guard: Box<Guard>,
}

/// SQLite's connection. Only the process that opened it closes it: in a forked child, closing would copy the log into
/// the file and remove it, while the parent uses it.
struct Own {
    raw: ManuallyDrop<rusqlite::Connection>,
    origin: Origin,
}

impl Deref for Own {
    type Target = rusqlite::Connection;

    #[inline]
    fn deref(&self) -> &rusqlite::Connection {
        &self.raw
    }
}

impl DerefMut for Own {
    fn deref_mut(&mut self) -> &mut rusqlite::Connection {
        &mut self.raw
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            return;
        }
        // SAFETY: the connection is taken once, here, and not used afterwards.
        let raw = unsafe { ManuallyDrop::take(&mut self.raw) };
        if let Err((raw, _)) = raw.close() {
            release_forgotten(&raw);
            // This ends the virtual tables, which finalize their own statements. The program has forgotten the others.
            if let Err((raw, _)) = raw.close() {
                finalize_forgotten(&raw);
            }
        }
    }
}

/// Resets the statements and drops the backups that a program has forgotten: both keep the connection from being
/// closed. Releases the virtual tables that such statements hold, which have statements of their own.
#[cold]
fn release_forgotten(raw: &rusqlite::Connection) {
    // SAFETY: the connection is open. Nobody uses a forgotten statement or backup: neither can outlive the value that
    // it was borrowed from, which ends here.
    unsafe {
        touchstone_forget_copies(raw.handle());
        end_statements(raw.handle());
        touchstone_release_tables(raw.handle());
    }
}

/// Finalizes the statements that a program has forgotten.
#[cold]
fn finalize_forgotten(raw: &rusqlite::Connection) {
    // SAFETY: the connection is open. Owners that dropped their statements have finalized them, and virtual tables
    // finalized theirs once no statement held them.
    unsafe {
        loop {
            let statement = ffi::sqlite3_next_stmt(raw.handle(), ptr::null_mut());
            if statement.is_null() {
                return;
            }
            ffi::sqlite3_finalize(statement);
        }
    }
}

/// SQLite's handle of a connection, to stop it from a thread that does not have its session.
#[derive(Clone, Copy)]
pub(crate) struct Stopper(*mut ffi::sqlite3);

// SAFETY: it is used only as `stop` requires.
unsafe impl Send for Stopper {}

impl Stopper {
    /// Ends the running transaction and all statements, which have no more rows.
    ///
    /// # Safety
    /// The connection is open, and no other thread uses it meanwhile.
    pub(crate) unsafe fn stop(self) {
        // SAFETY: the caller's promise. Without a transaction, SQLite refuses the rollback and does nothing.
        unsafe {
            end_statements(self.0);
            ffi::sqlite3_exec(self.0, c"rollback".as_ptr(), None, ptr::null_mut(), ptr::null_mut());
        }
    }
}

/// Resets every statement of the connection: none has more rows.
///
/// # Safety
/// The connection is open, and no other thread uses it meanwhile.
unsafe fn end_statements(connection: *mut ffi::sqlite3) {
    let mut statement = ptr::null_mut();
    loop {
        // SAFETY: the caller's promise.
        unsafe {
            statement = ffi::sqlite3_next_stmt(connection, statement);
            if statement.is_null() {
                return;
            }
            ffi::sqlite3_reset(statement);
        }
    }
}

/// The facts in a file's header that show whether it is a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) application: i32,
    pub(crate) version: i32,
    /// Whether the file has no table. Only valid if the file is no store.
    pub(crate) is_empty: bool,
    /// Whether text is UTF-8, which reads from pages expect.
    pub(crate) is_utf_8: bool,
}

impl Header {
    /// The number of bytes of the first page that hold the header.
    const BYTES: usize = 108;

    pub(crate) fn of(page: &[u8]) -> Option<Header> {
        let word = |at: usize| Some(i32::from_be_bytes(page.get(at..at + 4)?.try_into().ok()?));
        Some(Header {
            application: word(68)?,
            version: word(60)?,
            // The first page is the root of the schema: no cells, no tables.
            is_empty: page.get(103..105)? == [0, 0],
            // No encoding is chosen before the first table, and SQLite looks at two bits.
            is_utf_8: matches!(word(56)? & 3, 0 | 1),
        })
    }
}

impl Connection {
    /// Opens the file and gives the key. Nothing is read yet.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Connection> {
        let raw = bare::open(path, bare::flags(options.read_only, options.create), options)?;
        Connection::with(raw, options)
    }

    /// From now on the connection flushes nothing, if the store's class asks for no flush. One that is not known to be
    /// of such a store flushes: it may be the last on its file, and copy and remove a log that others relied on.
    pub(crate) fn spare_flushes(&self, options: &Options) -> Result<()> {
        if options.durability == Durability::Process {
            self.raw.execute_batch("pragma synchronous = off")?;
        }
        Ok(())
    }

    /// Gives the key and the settings to a connection that has read nothing yet.
    pub(crate) fn with(raw: rusqlite::Connection, options: &Options) -> Result<Connection> {
        let connection = Connection {
            begin: OnceCell::new(),
            begin_write: OnceCell::new(),
            commit: OnceCell::new(),
            cookie: OnceCell::new(),
            look: OnceCell::new(),
            raw: Own { raw: ManuallyDrop::new(raw), origin: Origin::here() },
            feeds: RefCell::default(),
            busy_handler: BusyHandler::new(options.busy_timeout),
            commits: Box::default(),
            guard: Box::default(),
        };
        connection.set_callbacks();
        configure(&connection.raw, options)?;
        if let Some(bytes) = options.cache_bytes {
            connection.cache(bytes);
        }
        Ok(connection)
    }

    /// Sets the busy handler and the WAL hook. A program may have replaced them during a lending. SQLite's automatic
    /// checkpoint is a WAL hook too, and is off from now on: only the checkpoint thread (the keeper) copies the log.
    pub(super) fn set_callbacks(&self) {
        let commits = ptr::from_ref(&*self.commits).cast_mut().cast();
        // SAFETY: one thread has the connection at a time, and the connection is dropped before both arguments.
        unsafe {
            self.busy_handler.teach(self.handle());
            ffi::sqlite3_wal_hook(self.handle(), Some(count), commits);
        }
    }

    /// A statement that is prepared at its first use, and then held.
    #[inline]
    fn held<'s>(&'s self, statement: &'s OnceCell<Statement>, sql: &str) -> Result<&'s Statement> {
        match statement.get() {
            Some(statement) => Ok(statement),
            None => {
                let made = self.prepare(sql)?;
                Ok(statement.get_or_init(|| made))
            }
        }
    }

    #[inline]
    fn cookie(&self) -> Result<&Statement> {
        self.held(&self.cookie, "pragma schema_version")
    }

    /// # Errors
    /// [`Forked`](crate::ErrorKind::Forked) in a child of the process that opened the connection.
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        self.raw.origin.check()
    }

    /// Whether this process opened the connection.
    #[inline]
    pub(crate) fn is_of_here(&self) -> bool {
        self.raw.origin.is_here()
    }

    /// The file's path as the engine gives it: without symbolic links.
    pub(crate) fn path(&self) -> PathBuf {
        // SAFETY: the connection is open, and keeps the name.
        let name = unsafe {
            let name = ffi::sqlite3_db_filename(self.handle(), c"main".as_ptr());
            if name.is_null() { c"" } else { CStr::from_ptr(name) }
        };
        path_of(name)
    }

    /// Whether the file has a write-ahead log (WAL), as far as this connection has read.
    pub(crate) fn has_log(&self) -> bool {
        self.log_state().is_some()
    }

    /// The log's state as the connection has it: after a commit, the state that this commit left, without later ones.
    pub(crate) fn log_state(&self) -> Option<LogState> {
        // SAFETY: the connection is open, and this thread has it.
        unsafe { LogState::of(self.handle()) }
    }

    /// The log's index, once the connection has read from a file with a log; `None` if there is none.
    pub(super) fn log_region(&mut self) -> Option<Region> {
        let file = self.file().ok()?;
        // SAFETY: the connection is open, and this thread alone uses it and its file.
        unsafe { Region::of(file) }
    }

    /// Sets how many bytes of pages the connection keeps in memory.
    pub(crate) fn cache(&self, bytes: u64) {
        let kibibytes = c_int::try_from(bytes.div_ceil(1024)).unwrap_or(c_int::MAX);
        // SAFETY: the connection is open.
        unsafe { touchstone_cache(self.handle(), kibibytes) };
    }

    /// Sets whether closing the connection leaves the log as it is, instead of copying it into the file.
    pub(crate) fn leave_log(&self, leaves: bool) {
        let (leaves, answer): (c_int, *mut c_int) = (c_int::from(leaves), ptr::null_mut());
        // SAFETY: the connection is open.
        unsafe {
            ffi::sqlite3_db_config(self.handle(), ffi::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leaves, answer);
        }
    }

    /// SQLite's own handle.
    #[inline]
    pub(crate) fn handle(&self) -> *mut ffi::sqlite3 {
        // SAFETY: the handle is used like this crate's statements, by the thread that has the connection.
        unsafe { self.raw.handle() }
    }

    /// The connection, for rare requests.
    pub(crate) fn sql(&self) -> &rusqlite::Connection {
        &self.raw
    }

    /// As [`sql`](Connection::sql), for requests that need it exclusively.
    pub(crate) fn sql_mut(&mut self) -> &mut rusqlite::Connection {
        &mut self.raw
    }

    /// Lets a program's own SQL run on the connection until the returned value is dropped.
    pub(crate) fn lend(&self) -> Lent<'_> {
        Lent::new(self)
    }

    /// Makes SQLite refuse to damage a file from within. Statements that were prepared before are prepared again.
    pub(crate) fn defend(&self) {
        // SAFETY: the connection is open.
        unsafe { guard::defend(self.handle()) };
    }

    /// Prepares a statement, which must be dropped before the connection.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement> {
        // SAFETY: the connection is open, and sessions drop their statements first.
        unsafe { Statement::prepare(self.handle(), sql) }
    }

    /// The feed, a virtual table for batch inserts, for tables of that many columns.
    pub(crate) fn feed(&self, width: usize) -> Result<Rc<BatchInsert>> {
        if let Some(feed) = self.feeds.borrow().get(&width) {
            return Ok(Rc::clone(feed));
        }
        // SAFETY: the connection is open, and dropped before its feeds.
        let feed = unsafe { BatchInsert::register(self.handle(), width)? };
        self.feeds.borrow_mut().insert(width, Rc::clone(&feed));
        Ok(feed)
    }

    /// The log, opened for flushes by any thread. It must be dropped before the connection.
    pub(crate) fn log_file(&self) -> Result<LogFile> {
        // SAFETY: the connection is open, and this thread alone uses it; the store's writer is closed after the log.
        unsafe { LogFile::open(self.handle()) }
    }

    /// Reads the file's header, all of it at one moment: another process may be making the file.
    pub(crate) fn header(&self) -> Result<Header> {
        self.begin_read()?;
        let header = self.read_header();
        // Ended by the statement that ends every transaction. It is needed again soon: opening prepares none in vain.
        if self.commit().is_err() {
            self.end();
        }
        header
    }

    fn read_header(&self) -> Result<Header> {
        let mut first = [0; Header::BYTES];
        let pages = self.pages();
        // A new file has no page: its header counts as zeros.
        if pages.count() > 0 {
            pages.copy(1, 0, &mut first)?;
        }
        let Header { application, version, is_utf_8, .. } = Header::of(&first).ok_or_else(|| damaged(1))?;
        Ok(Header {
            application,
            version,
            is_empty: application == 0 && self.has_no_schema()?,
            is_utf_8: if application == 0 { self.is_utf_8()? } else { is_utf_8 },
        })
    }

    fn has_no_schema(&self) -> Result<bool> {
        let count: i64 = self.raw.query_row("select count(*) from sqlite_schema", (), |row| row.get(0))?;
        Ok(count == 0)
    }

    fn is_utf_8(&self) -> Result<bool> {
        let encoding: String = self.raw.query_row("pragma encoding", (), |row| row.get(0))?;
        Ok(encoding == "UTF-8")
    }

    pub(crate) fn pages(&self) -> Pages {
        // SAFETY: the connection is open, and sessions drop all readers of its pages first.
        unsafe { Pages::new(self.handle()) }
    }

    /// Whether the file has a table of that name. Kind and name are compared as SQLite does, also if damage or another
    /// program has changed the type of their values.
    pub(crate) fn has_table(&self, name: &str) -> Result<bool> {
        let sql = "select 1 from sqlite_schema where cast(type as text) = 'table' collate nocase \
                   and cast(name as text) = ?1 collate nocase";
        Ok(self.raw.prepare(sql)?.exists([name])?)
    }

    /// Begins a read transaction; returns the version of the schema in its snapshot.
    #[inline]
    pub(crate) fn begin_read(&self) -> Result<i64> {
        // SAFETY: the connection is open. Within a transaction the call does nothing.
        unsafe { touchstone_keep_pages(self.handle()) };
        self.held(&self.begin, "begin")?.run()?;
        self.cookie().and_then(Statement::integer).inspect_err(|_| self.end())
    }

    /// Begins a write transaction; returns the version of the schema.
    #[inline]
    pub(crate) fn begin_write(&self) -> Result<i64> {
        self.held(&self.begin_write, "begin immediate")?.run()?;
        // SAFETY: the connection is open.
        if unsafe { touchstone_spare_last_page(self.handle()) } != 0 {
            self.end();
            return Err(damaged(u32::MAX));
        }
        self.cookie().and_then(Statement::integer).inspect_err(|_| self.end())
    }

    /// Whether the file or the connection may have triggers, by the schema that the last statement found.
    pub(crate) fn may_have_triggers(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { touchstone_may_have_triggers(self.handle()) != 0 }
    }

    pub(crate) fn schema_version(&self) -> Result<i64> {
        self.cookie()?.integer()
    }

    /// Makes SQLite compare its schema in memory with the file's, after statements that may have failed.
    ///
    /// A failed `alter table` is undone in the file, including the schema's version, but not in memory. There the
    /// schema stays altered until a statement finds another version in the file. If the version has been counted up to
    /// the same number by then, no statement does. So the two are compared at once, while the versions still differ.
    pub(crate) fn verify_schema(&self) -> Result<()> {
        self.held(&self.look, "select 1 from sqlite_schema limit 1")?.run()
    }

    /// Commits, and ends all reads of the transaction.
    #[inline]
    pub(crate) fn commit(&self) -> Result<()> {
        self.end_forgotten();
        self.check_last_page()?;
        self.held(&self.commit, "commit")?.run()?;
        self.detach_all();
        Ok(())
    }

    /// # Errors
    /// [`Damaged`](crate::ErrorKind::Damaged) if damage led to a page that no file has: SQLite cannot commit then.
    #[inline]
    fn check_last_page(&self) -> Result<()> {
        // SAFETY: the connection is open.
        if unsafe { touchstone_has_last_page(self.handle()) } == 0 {
            return Ok(());
        }
        self.end();
        Err(damaged(u32::MAX))
    }

    /// Rolls back the transaction, if there is one.
    pub(crate) fn end(&self) {
        if self.is_of_here() {
            self.end_forgotten();
            if !self.is_idle() {
                // SQLite rolls back some failures by itself. This ends the rest, and cannot be refused.
                let _ = self.raw.execute_batch("rollback");
            }
        }
        self.detach_all();
    }

    /// Resets statements that a program has forgotten (`std::mem::forget`). While one may give more rows, SQLite keeps
    /// its snapshot beyond the end of the transaction: all later ones would read from that snapshot.
    #[inline]
    fn end_forgotten(&self) {
        // SAFETY: the connection is open. The transaction ends, and all its reads end with it.
        unsafe {
            if touchstone_is_running(self.handle()) != 0 {
                end_statements(self.handle());
            }
        }
    }

    /// Detaches files that a program has attached. Later transactions would lock them; only some would see them.
    #[inline]
    fn detach_all(&self) {
        if self.guard.has_attached.get() {
            self.detach();
        }
    }

    /// Whether a program has attached the file to itself: a write by the other name waits for its own transaction's lock.
    #[cold]
    pub(crate) fn has_attached_itself(&self) -> bool {
        const SQL: &str = "select 1 from pragma_database_list as it, pragma_database_list as main \
            where main.name = 'main' and it.name not in ('main', 'temp') and it.file = main.file";
        let raw = &self.raw;
        self.guard.has_attached.get() && raw.prepare(SQL).and_then(|mut is| is.exists(())).unwrap_or(false)
    }

    #[cold]
    fn detach(&self) {
        const NAMES: &str = "select name from pragma_database_list where name not in ('main', 'temp')";
        let names = self.raw.prepare(NAMES).and_then(|mut statement| {
            statement.query_map((), |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
        });
        let detach = |name: &String| self.raw.execute("detach ?1", [name]).is_ok();
        // A file that is still in use is detached at the end of a later transaction.
        self.guard.has_attached.set(!names.is_ok_and(|names| names.iter().all(detach)));
    }

    /// A handle to end the connection's snapshot from a thread that does not have its session.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper(self.handle())
    }

    /// A handle to interrupt the connection's statements from any thread. It may outlive the connection, and does
    /// nothing once that is closed.
    pub(crate) fn interrupter(&self) -> InterruptHandle {
        self.raw.get_interrupt_handle()
    }

    /// The size of a page, after the first read.
    pub(crate) fn page_bytes(&self) -> u64 {
        // SAFETY: the connection is open.
        u64::from(unsafe { touchstone_page_bytes(self.handle()) })
    }

    /// The name of the main file's VFS, as the engine gives it.
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

    /// The main file as SQLite has it open. It lasts as long as the connection.
    fn file(&self) -> Result<*mut ffi::sqlite3_file> {
        let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
        // SAFETY: the connection is open; the call stores the file's pointer.
        let code = unsafe {
            ffi::sqlite3_file_control(
                self.handle(),
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_FILE_POINTER,
                (&raw mut file).cast(),
            )
        };
        if code == ffi::SQLITE_OK && !file.is_null() { Ok(file) } else { Err(unflushed(code)) }
    }

    /// Flushes the file, without its log.
    pub(crate) fn flush_file(&self) -> Result<()> {
        let file = self.file()?;
        // SAFETY: the connection is open, and this thread alone uses it and its file.
        let code = unsafe { call!(file, xSync(ffi::SQLITE_SYNC_FULL) or ffi::SQLITE_OK) };
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(unflushed(code)) }
    }

    /// Marks the whole log as not copied, for all processes that have the file open; whether that was possible. It is
    /// not while a checkpoint runs.
    pub(crate) fn uncopy(&self, index: &LogIndex) -> bool {
        if !self.lock_copying(true) {
            return false;
        }
        index.uncopy();
        self.lock_copying(false);
        true
    }

    /// Takes the lock that a checkpoint holds, or gives it back; whether that was possible. The connection is in no
    /// transaction, and has no other lock of the index.
    pub(crate) fn lock_copying(&self, takes: bool) -> bool {
        /// The lock's place: `WAL_CKPT_LOCK`.
        const COPYING: c_int = 1;
        let what = if takes { ffi::SQLITE_SHM_LOCK } else { ffi::SQLITE_SHM_UNLOCK };
        let Ok(file) = self.file() else { return false };
        // SAFETY: as for a flush.
        let code = unsafe {
            call!(file, xShmLock(COPYING, 1, what | ffi::SQLITE_SHM_EXCLUSIVE) or ffi::SQLITE_BUSY)
        };
        code == ffi::SQLITE_OK
    }

    /// Whether no transaction is open.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_get_autocommit(self.handle()) != 0 }
    }

    /// The number of commits that the connection has written to a log; it wraps. One that changes no page is not written.
    #[inline]
    pub(crate) fn commits(&self) -> u32 {
        self.commits.get()
    }

    /// Whether the last call succeeded.
    #[inline]
    pub(crate) fn is_well(&self) -> bool {
        // SAFETY: the connection is open.
        let code = unsafe { ffi::sqlite3_errcode(self.handle()) };
        matches!(code, ffi::SQLITE_OK | ffi::SQLITE_ROW | ffi::SQLITE_DONE)
    }

    /// Checkpoint: copies as much of the log as it can. Returns the number of frames in the log.
    pub(crate) fn checkpoint(&self, mode: c_int) -> Result<u32> {
        let mut frames = 0;
        // SAFETY: the connection is open and in no transaction.
        let code = unsafe {
            ffi::sqlite3_wal_checkpoint_v2(self.handle(), ptr::null(), mode, &raw mut frames, ptr::null_mut())
        };
        if code != ffi::SQLITE_OK {
            // SAFETY: the connection is open.
            return Err(unsafe { super::statement::failure(self.handle(), code) });
        }
        Ok(u32::try_from(frames).unwrap_or(0))
    }
}

#[cold]
fn unflushed(code: c_int) -> Error {
    // SAFETY: the text for a code is a constant of SQLite's.
    let words = unsafe { CStr::from_ptr(ffi::sqlite3_errstr(code)) };
    Error::sqlite(code, format_args!("flushing the file: {}", words.to_string_lossy()))
}

#[cfg(unix)]
fn path_of(name: &CStr) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()))
}

#[cfg(not(unix))]
fn path_of(name: &CStr) -> PathBuf {
    PathBuf::from(name.to_string_lossy().into_owned())
}

/// The WAL hook. SQLite calls it after each commit that wrote frames, once for each file.
unsafe extern "C" fn count(commits: *mut c_void, _: *mut ffi::sqlite3, _: *const c_char, _: c_int) -> c_int {
    // SAFETY: it is the argument that the hook was set with, which outlives the connection.
    let commits = unsafe { &*commits.cast::<Cell<u32>>().cast_const() };
    commits.set(commits.get().wrapping_add(1));
    ffi::SQLITE_OK
}

/// Sets up a connection before it reads. SQLite's defaults, as built here, are not set again.
fn configure(raw: &rusqlite::Connection, options: &Options) -> Result<()> {
    cipher::unlock(raw, options)?;
    if let Some(bytes) = options.page_size {
        raw.execute_batch(&format!("pragma page_size = {bytes}"))?;
    }
    Ok(())
}
