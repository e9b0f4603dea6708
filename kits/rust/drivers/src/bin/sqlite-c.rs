//! SQLite through its C interface with as little between as possible: the floor for every wrapper.
//!
//! Each statement is prepared when first used and then held; bindings point at the caller's memory and are never
//! cleared; each column is copied once, into the object that is answered. The images of an object are one blob: of each
//! its length and its name.

use drivers::sqlite::{self, Checkpointer, Watch, failure_kind};
use libsqlite3_sys as ffi;
use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;
use std::ptr;
use std::sync::Arc;
use touchstone_kit::{
    Colour, Content, Doc, DocV2, DocV3, DocV4, Document, Driver, Failure, FailureKind, Kit, Open, Operation,
    Plan, Position, Record, RecordKind, Row, Setting, Settings, Store, Verb, failure,
};

fn main() -> ExitCode {
    let version = sqlite::about("sqlite-c", "").engine.replace("SQLite ", "");
    Kit::<SqliteC>::new(sqlite::about("sqlite-c", &version))
        .rows()
        .documents()
        .docs()
        .typed::<DocV2, DocV3, DocV4>()
        .main()
}

/// A connection and its statements.
pub struct SqliteC {
    pub(crate) get: Statement,
    read_all: Statement,
    insert: Statement,
    first: Statement,
    find: Statement,
    update: Statement,
    delete: Statement,
    /// The blob of images that is being bound.
    images: Vec<u8>,
    begin: Statement,
    begin_immediate: Statement,
    commit: Statement,
    watch: Option<Watch>,
    pub(crate) db: Database,
    /// Dropped after the connection, which rings for it.
    checkpointer: Option<Arc<Checkpointer>>,
}

impl SqliteC {
    fn connect(open: &Open) -> Result<SqliteC, Failure> {
        let db = Database::open(&sqlite::file(&open.directory))?;
        db.execute(&sqlite::pragmas(open)?)?;
        let sql = match (open.record, open.type_number()) {
            (RecordKind::Row, _) => Row::sql(open.table)?,
            (RecordKind::Document, _) => Document::sql(open.table)?,
            (RecordKind::Doc, 2) => DocV2::sql(open.table)?,
            (RecordKind::Doc, 3) => DocV3::sql(open.table)?,
            (RecordKind::Doc, 4) => DocV4::sql(open.table)?,
            (RecordKind::Doc, _) => Doc::sql(open.table)?,
        };
        let [get, read_all, insert, first, find, update, delete] =
            sql.each_ref().map(|sql| Statement::new(sql));
        Ok(SqliteC {
            get,
            read_all,
            insert,
            first,
            find,
            update,
            delete,
            images: Vec::new(),
            begin: Statement::new(c"begin"),
            begin_immediate: Statement::new(c"begin immediate"),
            commit: Statement::new(c"commit"),
            watch: None,
            db,
            checkpointer: None,
        })
    }

    fn attended(mut self, checkpointer: Arc<Checkpointer>) -> SqliteC {
        // SAFETY: the connection is open, and dropped before the checkpointer.
        unsafe { checkpointer.attend(self.db.0) };
        self.checkpointer = Some(checkpointer);
        self
    }
}

impl Driver for SqliteC {
    type Error = Failure;
    const HOLDS: bool = true;

    fn open(open: &Open) -> Result<SqliteC, Failure> {
        let driver = SqliteC::connect(open)?;
        if open.schema.create {
            driver.db.execute(&sqlite::create(open)?)?;
        }
        if sqlite::background(open)? {
            let checkpointer = Checkpointer::start(&sqlite::file(&open.directory))?;
            return Ok(driver.attended(Arc::new(checkpointer)));
        }
        Ok(driver)
    }

    fn another(&self, open: &Open) -> Result<SqliteC, Failure> {
        let driver = SqliteC::connect(open)?;
        Ok(match &self.checkpointer {
            Some(checkpointer) => driver.attended(Arc::clone(checkpointer)),
            None => driver,
        })
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        sqlite::read_back(self.checkpointer.is_some(), |pragma| self.db.setting(pragma))
    }

    fn begin_read(&mut self) -> Result<(), Failure> {
        self.begin.run(&self.db)
    }

    fn end_read(&mut self) -> Result<(), Failure> {
        self.commit.run(&self.db)
    }

    fn explain(&mut self) -> Result<(), Failure> {
        // SAFETY: the connection is open and idle, and the watch is dropped before it.
        self.watch = Some(unsafe { Watch::start(self.db.0) });
        Ok(())
    }

    fn explained(&mut self) -> Result<Plan, Failure> {
        Ok(self.watch.take().map(Watch::finish).unwrap_or_default())
    }

    fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<R: Columns> Store<R> for SqliteC {
    const VERBS: &'static [Verb] = R::VERBS;
    const TABLES: bool = R::TABLES;

    #[inline(always)]
    fn get(&mut self, key: &R::Key) -> Result<Option<R>, Failure> {
        self.get.prepare(&self.db)?;
        R::bind_key(key, &self.get);
        let found = if self.get.step(&self.db)? { R::read(&self.get).map(Some) } else { Ok(None) };
        self.get.reset();
        found
    }

    fn read_all(&mut self) -> Result<Vec<R>, Failure> {
        self.read_all.prepare(&self.db)?;
        rows(&self.read_all, &self.db)
    }

    fn insert_one(&mut self, record: &R) -> Result<(), Failure> {
        self.insert.prepare(&self.db)?;
        record.bind(&self.insert, &mut self.images);
        self.insert.step(&self.db)?;
        self.insert.reset();
        Ok(())
    }

    fn insert_many(&mut self, records: &[&R]) -> Result<(), Failure> {
        self.transaction(true, |driver| records.iter().try_for_each(|record| driver.insert_one(*record)))
    }

    fn find(&mut self, above: i64) -> Result<Vec<R>, Failure> {
        self.find.prepare(&self.db)?;
        self.find.bind_integer(1, above);
        rows(&self.find, &self.db)
    }

    fn update_one(&mut self, state: &R) -> Result<bool, Failure> {
        self.update.prepare(&self.db)?;
        state.bind(&self.update, &mut self.images);
        self.update.step(&self.db)?;
        self.update.reset();
        Ok(self.db.changes() == 1)
    }

    fn update_many(&mut self, states: &[&R]) -> Result<Vec<R>, Failure> {
        self.transaction(true, |driver| {
            let fetched = driver.read_all()?;
            for state in states {
                driver.update_one(*state)?;
            }
            Ok(fetched)
        })
    }

    fn delete_many(&mut self) -> Result<Vec<R>, Failure> {
        self.transaction(true, |driver| {
            let fetched: Vec<R> = driver.read_all()?;
            driver.delete.prepare(&driver.db)?;
            for record in &fetched {
                R::bind_key(record.key(), &driver.delete);
                driver.delete.step(&driver.db)?;
                driver.delete.reset();
            }
            Ok(fetched)
        })
    }

    fn mix(&mut self, operations: &[Operation<'_, R>], found: &mut Vec<R>) -> Result<u64, Failure> {
        if let [operation] = operations {
            return self.play(operation, found);
        }
        let writes = operations.iter().any(Operation::writes);
        self.transaction(writes, |driver| {
            operations.iter().try_fold(0, |updated, operation| Ok(updated + driver.play(operation, found)?))
        })
    }

    fn first(&mut self) -> Result<Option<R>, Failure> {
        self.first.prepare(&self.db)?;
        let found = if self.first.step(&self.db)? { R::read(&self.first).map(Some) } else { Ok(None) };
        self.first.reset();
        found
    }
}

impl SqliteC {
    /// Does `work` in a transaction, which may write from its start or not at all.
    fn transaction<T>(
        &mut self,
        writes: bool,
        work: impl FnOnce(&mut SqliteC) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let begin = if writes { &mut self.begin_immediate } else { &mut self.begin };
        begin.run(&self.db)?;
        match work(self).and_then(|done| self.commit.run(&self.db).map(|()| done)) {
            Ok(done) => Ok(done),
            Err(failure) => {
                self.db.execute("rollback").unwrap_or(());
                Err(failure)
            }
        }
    }
}

impl SqliteC {
    /// Plays one operation of a mixed transaction, and answers how many records it updated.
    fn play<R: Columns>(&mut self, operation: &Operation<'_, R>, found: &mut Vec<R>) -> Result<u64, Failure> {
        match operation {
            Operation::Get(key) => {
                found.extend(Store::<R>::get(self, key)?);
                Ok(0)
            }
            Operation::Update(state) => Ok(u64::from(self.update_one(*state)?)),
        }
    }
}

/// Copies every row of a statement that is prepared and bound.
fn rows<R: Columns>(statement: &Statement, db: &Database) -> Result<Vec<R>, Failure> {
    let mut records = Vec::new();
    while statement.step(db)? {
        match R::read(statement) {
            Ok(record) => records.push(record),
            Err(failure) => {
                statement.reset();
                return Err(failure);
            }
        }
    }
    statement.reset();
    Ok(records)
}

/// How a record type lies in its table.
pub trait Columns: Record {
    /// What can be done with it.
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;
    /// Whether there are statements for other tables than the first.
    const TABLES: bool = false;
    /// Get by key, read everything, insert, read any one; then, empty where the verbs have no use for them: find,
    /// update with the arguments of an insert, delete by key.
    ///
    /// # Errors
    /// Never, for no name holds a zero byte.
    fn sql(table: u32) -> Result<[CString; 7], Failure>;
    /// Binds the key of a get.
    fn bind_key(key: &Self::Key, statement: &Statement);
    /// Binds every column of an insert.
    fn bind(&self, statement: &Statement, images: &mut Vec<u8>);
    /// Copies the columns of the row that the statement stands on.
    ///
    /// # Errors
    /// When a text is not UTF-8.
    fn read(statement: &Statement) -> Result<Self, Failure>;
}

impl Columns for Row {
    const VERBS: &'static [Verb] = &Verb::OF_MIXED_RECORDS;

    fn sql(_table: u32) -> Result<[CString; 7], Failure> {
        Ok([
            c"select key, value from benchmark where key = ?1",
            c"select key, value from benchmark",
            c"insert into benchmark (key, value) values (?1, ?2)",
            c"select key, value from benchmark limit 1",
            c"",
            c"update benchmark set value = ?2 where key = ?1",
            c"",
        ]
        .map(CStr::to_owned))
    }

    #[inline(always)]
    fn bind_key(key: &i64, statement: &Statement) {
        statement.bind_integer(1, *key);
    }

    #[inline(always)]
    fn bind(&self, statement: &Statement, _images: &mut Vec<u8>) {
        statement.bind_integer(1, self.key);
        statement.bind_blob(2, &self.value);
    }

    #[inline(always)]
    fn read(statement: &Statement) -> Result<Row, Failure> {
        Ok(Row { key: statement.integer(0), value: statement.blob(1).to_vec() })
    }
}

impl Columns for Document {
    fn sql(_table: u32) -> Result<[CString; 7], Failure> {
        Ok([
            c"select id, revision, hash, data from documents where id = ?1",
            c"select id, revision, hash, data from documents",
            c"insert into documents (id, revision, hash, data) values (?1, ?2, ?3, ?4)",
            c"select id, revision, hash, data from documents limit 1",
            c"",
            c"",
            c"",
        ]
        .map(CStr::to_owned))
    }

    #[inline(always)]
    fn bind_key(id: &String, statement: &Statement) {
        statement.bind_text(1, id);
    }

    #[inline(always)]
    fn bind(&self, statement: &Statement, _images: &mut Vec<u8>) {
        statement.bind_text(1, &self.id);
        statement.bind_integer(2, self.revision);
        statement.bind_blob(3, &self.hash);
        statement.bind_text(4, &self.data);
    }

    #[inline(always)]
    fn read(statement: &Statement) -> Result<Document, Failure> {
        Ok(Document {
            id: statement.text(0)?.to_owned(),
            revision: statement.integer(1),
            hash: statement.blob(2).to_vec(),
            data: statement.text(3)?.to_owned(),
        })
    }
}

impl Columns for Doc {
    const VERBS: &'static [Verb] = &Verb::OF_OBJECTS;
    const TABLES: bool = true;

    fn sql(table: u32) -> Result<[CString; 7], Failure> {
        object_sql(table, &["title", "tag", "x", "y", "z", "colour", "content_kind", "content", "priority"])
    }

    #[inline(always)]
    fn bind_key(title: &String, statement: &Statement) {
        statement.bind_text(1, title);
    }

    #[inline(always)]
    fn bind(&self, statement: &Statement, images: &mut Vec<u8>) {
        statement.bind_text(1, &self.title);
        statement.bind_text(2, &self.tag);
        statement.bind_real(3, self.position.x);
        statement.bind_real(4, self.position.y);
        statement.bind_real(5, self.position.z);
        statement.bind_integer(6, self.colour.number().into());
        statement.bind_integer(7, self.content.number().into());
        match &self.content {
            Content::Images(names) => {
                images.clear();
                for name in names {
                    match u8::try_from(name.len()) {
                        Ok(length) if length < LONG_NAME => images.push(length),
                        _ => {
                            images.push(LONG_NAME);
                            images.extend_from_slice(&(name.len() as u32).to_le_bytes());
                        }
                    }
                    images.extend_from_slice(name.as_bytes());
                }
                statement.bind_blob(8, images);
            }
            Content::None => statement.bind_null(8),
            Content::Text(text) => statement.bind_text(8, text),
        }
        bind_priority(statement, 9, self.priority);
    }

    #[inline(always)]
    fn read(statement: &Statement) -> Result<Doc, Failure> {
        Ok(Doc {
            title: statement.text(0)?.to_owned(),
            tag: statement.text(1)?.to_owned(),
            position: Position { x: statement.real(2), y: statement.real(3), z: statement.real(4) },
            colour: colour(statement, 5)?,
            content: match u8::try_from(statement.integer(6)).ok() {
                Some(0) => Content::Images(images(statement.blob(7)).ok_or_else(|| damaged("content"))?),
                Some(1) => Content::None,
                Some(2) => Content::Text(statement.text(7)?.to_owned()),
                _ => return Err(damaged("content_kind")),
            },
            priority: priority(statement, 8),
        })
    }
}

/// The statements about a table of objects with these columns, the key first.
fn object_sql(table: u32, columns: &[&str]) -> Result<[CString; 7], Failure> {
    let table = sqlite::table(RecordKind::Doc, table);
    let places = (1..=columns.len()).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
    let set = columns.iter().zip(1..).skip(1).map(|(column, number)| format!("{column} = ?{number}"));
    let (set, columns) = (set.collect::<Vec<_>>().join(", "), columns.join(", "));
    let [get, read_all, insert, first, find, update, delete] = [
        format!("select {columns} from {table} where title = ?1"),
        format!("select {columns} from {table}"),
        format!("insert into {table} ({columns}) values ({places})"),
        format!("select {columns} from {table} limit 1"),
        format!("select {columns} from {table} where priority > ?1"),
        format!("update {table} set {set} where title = ?1"),
        format!("delete from {table} where title = ?1"),
    ]
    .map(statement_text);
    Ok([get?, read_all?, insert?, first?, find?, update?, delete?])
}

impl Columns for DocV2 {
    const VERBS: &'static [Verb] = &Verb::OF_OBJECTS;
    const TABLES: bool = true;

    fn sql(table: u32) -> Result<[CString; 7], Failure> {
        object_sql(table, &["title", "tag", "colour", "text", "priority"])
    }

    #[inline(always)]
    fn bind_key(title: &String, statement: &Statement) {
        statement.bind_text(1, title);
    }

    #[inline(always)]
    fn bind(&self, statement: &Statement, _images: &mut Vec<u8>) {
        statement.bind_text(1, &self.title);
        statement.bind_text(2, &self.tag);
        statement.bind_integer(3, self.colour.number().into());
        bind_text(statement, 4, self.text.as_deref());
        bind_priority(statement, 5, self.priority);
    }

    #[inline(always)]
    fn read(statement: &Statement) -> Result<DocV2, Failure> {
        Ok(DocV2 {
            title: statement.text(0)?.to_owned(),
            tag: statement.text(1)?.to_owned(),
            colour: colour(statement, 2)?,
            text: text(statement, 3)?,
            priority: priority(statement, 4),
        })
    }
}

/// Two types have the same columns.
macro_rules! columns_of_a_text {
    ($type:ident) => {
        impl Columns for $type {
            const VERBS: &'static [Verb] = &Verb::OF_OBJECTS;
            const TABLES: bool = true;

            fn sql(table: u32) -> Result<[CString; 7], Failure> {
                object_sql(table, &["title", "tag", "text", "priority"])
            }

            #[inline(always)]
            fn bind_key(title: &String, statement: &Statement) {
                statement.bind_text(1, title);
            }

            #[inline(always)]
            fn bind(&self, statement: &Statement, _images: &mut Vec<u8>) {
                statement.bind_text(1, &self.title);
                statement.bind_text(2, &self.tag);
                bind_text(statement, 3, self.text.as_deref());
                bind_priority(statement, 4, self.priority);
            }

            #[inline(always)]
            fn read(statement: &Statement) -> Result<$type, Failure> {
                Ok($type {
                    title: statement.text(0)?.to_owned(),
                    tag: statement.text(1)?.to_owned(),
                    text: text(statement, 2)?,
                    priority: priority(statement, 3),
                })
            }
        }
    };
}

columns_of_a_text!(DocV3);
columns_of_a_text!(DocV4);

#[inline(always)]
fn bind_text(statement: &Statement, place: c_int, text: Option<&str>) {
    match text {
        Some(text) => statement.bind_text(place, text),
        None => statement.bind_null(place),
    }
}

#[inline(always)]
fn bind_priority(statement: &Statement, place: c_int, priority: Option<i64>) {
    match priority {
        Some(priority) => statement.bind_integer(place, priority),
        None => statement.bind_null(place),
    }
}

#[inline(always)]
fn colour(statement: &Statement, column: c_int) -> Result<Colour, Failure> {
    let number = u8::try_from(statement.integer(column)).ok();
    number.and_then(Colour::from_number).ok_or_else(|| damaged("colour"))
}

#[inline(always)]
fn text(statement: &Statement, column: c_int) -> Result<Option<String>, Failure> {
    if statement.is_null(column) { Ok(None) } else { Ok(Some(statement.text(column)?.to_owned())) }
}

#[inline(always)]
fn priority(statement: &Statement, column: c_int) -> Option<i64> {
    if statement.is_null(column) { None } else { Some(statement.integer(column)) }
}

/// Stands in a blob of images before a length of four bytes; a length below it is one byte.
const LONG_NAME: u8 = 255;

/// The names in a blob of images; none where it is not one.
fn images(mut blob: &[u8]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    while let Some((length, mut rest)) = blob.split_first() {
        let mut length = usize::from(*length);
        if length == usize::from(LONG_NAME) {
            let (long, after) = rest.split_first_chunk::<4>()?;
            (length, rest) = (u32::from_le_bytes(*long) as usize, after);
        }
        let (name, rest) = rest.split_at_checked(length)?;
        names.push(std::str::from_utf8(name).ok()?.to_owned());
        blob = rest;
    }
    Some(names)
}

#[cold]
fn damaged(column: &str) -> Failure {
    failure(FailureKind::Corrupt, format!("column {column} holds what no object has"))
}

fn statement_text(sql: String) -> Result<CString, Failure> {
    CString::new(sql).map_err(|error| failure(FailureKind::Other, error.to_string()))
}

/// An open connection.
pub(crate) struct Database(*mut ffi::sqlite3);

// SAFETY: SQLite is built to be used from any thread, and this connection by one at a time.
unsafe impl Send for Database {}

impl Database {
    fn open(file: &Path) -> Result<Database, Failure> {
        let path = CString::new(file.as_os_str().as_bytes())
            .map_err(|error| failure(FailureKind::Other, error.to_string()))?;
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_NOMUTEX;
        let mut db = ptr::null_mut();
        // SAFETY: `path` is a C string, and `db` takes the connection even if opening fails.
        let code = unsafe { ffi::sqlite3_open_v2(path.as_ptr(), &mut db, flags, ptr::null()) };
        let db = Database(db);
        db.check(code)?;
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_busy_timeout(db.0, 5_000) };
        Ok(db)
    }

    fn check(&self, code: c_int) -> Result<(), Failure> {
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(self.failure(code)) }
    }

    #[cold]
    fn failure(&self, code: c_int) -> Failure {
        // SAFETY: SQLite returns a C string for every connection, a null one too.
        let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.0)) };
        failure(failure_kind(code), message.to_string_lossy())
    }

    /// Rows that the last statement changed.
    fn changes(&self) -> c_int {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_changes(self.0) }
    }

    fn execute(&self, sql: &str) -> Result<(), Failure> {
        let sql = CString::new(sql).map_err(|error| failure(FailureKind::Other, error.to_string()))?;
        // SAFETY: the connection is open and `sql` is a C string.
        self.check(unsafe { ffi::sqlite3_exec(self.0, sql.as_ptr(), None, ptr::null_mut(), ptr::null_mut()) })
    }

    fn setting(&self, pragma: &str) -> Result<Option<Setting>, Failure> {
        let sql = CString::new(pragma).map_err(|error| failure(FailureKind::Other, error.to_string()))?;
        let mut statement = Statement::new(&sql);
        statement.prepare(self)?;
        Ok(if statement.step(self)? { Some(Setting::from(statement.text(0)?)) } else { None })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: the connection was opened here and its statements, dropped before it, are finalized.
        let code = unsafe { ffi::sqlite3_close(self.0) };
        assert_eq!(code, ffi::SQLITE_OK, "a connection without statements closes");
    }
}

/// A statement that is prepared when first used, and then held.
pub struct Statement {
    sql: CString,
    pub(crate) handle: *mut ffi::sqlite3_stmt,
}

// SAFETY: as for its connection, with which it moves.
unsafe impl Send for Statement {}

impl Statement {
    fn new(sql: &CStr) -> Statement {
        Statement { sql: sql.to_owned(), handle: ptr::null_mut() }
    }

    #[inline(always)]
    pub(crate) fn prepare(&mut self, db: &Database) -> Result<(), Failure> {
        if self.handle.is_null() {
            let flags = ffi::SQLITE_PREPARE_PERSISTENT;
            // SAFETY: the connection is open and the text is a C string.
            db.check(unsafe {
                ffi::sqlite3_prepare_v3(db.0, self.sql.as_ptr(), -1, flags, &mut self.handle, ptr::null_mut())
            })?;
        }
        Ok(())
    }

    fn run(&mut self, db: &Database) -> Result<(), Failure> {
        self.prepare(db)?;
        self.step(db)?;
        self.reset();
        Ok(())
    }

    /// Goes to the next row; false at the end. A statement that failed is reset.
    #[inline(always)]
    fn step(&self, db: &Database) -> Result<bool, Failure> {
        // SAFETY: the statement is prepared.
        match unsafe { ffi::sqlite3_step(self.handle) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => {
                let failure = db.failure(code);
                self.reset();
                Err(failure)
            }
        }
    }

    #[inline(always)]
    fn reset(&self) {
        // SAFETY: the statement is prepared. The code only repeats what the last step returned.
        unsafe { ffi::sqlite3_reset(self.handle) };
    }

    #[inline(always)]
    fn bind_integer(&self, index: c_int, number: i64) {
        // SAFETY: the statement is prepared and not under way; a wrong index would be an error code.
        unsafe { ffi::sqlite3_bind_int64(self.handle, index, number) };
    }

    #[inline(always)]
    fn bind_real(&self, index: c_int, number: f32) {
        // SAFETY: as for integers.
        unsafe { ffi::sqlite3_bind_double(self.handle, index, number.into()) };
    }

    #[inline(always)]
    fn bind_null(&self, index: c_int) {
        // SAFETY: as for integers.
        unsafe { ffi::sqlite3_bind_null(self.handle, index) };
    }

    /// The bytes must stay where they are until the statement is reset; until it is bound anew nobody looks.
    #[inline(always)]
    fn bind_blob(&self, index: c_int, bytes: &[u8]) {
        let length = bytes.len() as c_int;
        // SAFETY: as for integers; the caller keeps the bytes in place while the statement is under way.
        unsafe {
            ffi::sqlite3_bind_blob(self.handle, index, bytes.as_ptr().cast(), length, ffi::SQLITE_STATIC())
        };
    }

    /// As for bytes.
    #[inline(always)]
    fn bind_text(&self, index: c_int, text: &str) {
        let length = text.len() as c_int;
        // SAFETY: as for bytes.
        unsafe {
            ffi::sqlite3_bind_text(self.handle, index, text.as_ptr().cast(), length, ffi::SQLITE_STATIC())
        };
    }

    #[inline(always)]
    fn integer(&self, column: c_int) -> i64 {
        // SAFETY: the statement stands on a row.
        unsafe { ffi::sqlite3_column_int64(self.handle, column) }
    }

    #[inline(always)]
    fn real(&self, column: c_int) -> f32 {
        // SAFETY: the statement stands on a row.
        unsafe { ffi::sqlite3_column_double(self.handle, column) as f32 }
    }

    #[inline(always)]
    fn is_null(&self, column: c_int) -> bool {
        // SAFETY: the statement stands on a row.
        unsafe { ffi::sqlite3_column_type(self.handle, column) == ffi::SQLITE_NULL }
    }

    #[inline(always)]
    fn blob(&self, column: c_int) -> &[u8] {
        // SAFETY: the statement stands on a row; the bytes are valid until it moves on, which needs no reference
        // to it, so every caller copies them at once. An empty blob is a null pointer.
        unsafe {
            let bytes = ffi::sqlite3_column_blob(self.handle, column);
            let length = ffi::sqlite3_column_bytes(self.handle, column);
            if bytes.is_null() { &[] } else { std::slice::from_raw_parts(bytes.cast(), length as usize) }
        }
    }

    #[inline(always)]
    fn text(&self, column: c_int) -> Result<&str, Failure> {
        // SAFETY: as for bytes.
        let bytes = unsafe {
            let bytes = ffi::sqlite3_column_text(self.handle, column);
            let length = ffi::sqlite3_column_bytes(self.handle, column);
            if bytes.is_null() { &[] } else { std::slice::from_raw_parts(bytes, length as usize) }
        };
        std::str::from_utf8(bytes).map_err(|error| failure(FailureKind::Corrupt, error.to_string()))
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the statement is prepared or null; its connection is still open.
        unsafe { ffi::sqlite3_finalize(self.handle) };
    }
}
