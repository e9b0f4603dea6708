//! rusqlite used as a plain wrapper is, after FMDB on the published page: rows are read by column number into values on
//! the heap, from which the object is made; every call prepares its statement anew, except within a batch, whose
//! statements are kept (`statement_cache`); arguments are dynamic; transactions begin with `exclusive`; and who finds
//! the database locked waits for two seconds before it gives up, unless another `busy_timeout_ms` is asked for.
//!
//! Documents are read as the code of the couch page reads them: prepare, map by column number, collect every revision.

use drivers::sqlite::{self, Error, Watch};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, Statement, ToSql, Transaction, TransactionBehavior, params};
use std::process::ExitCode;
use std::time::Duration;
use touchstone_kit::{
    Colour, Content, Doc, Document, Driver, Kit, Open, Plan, Position, Row, Setting, Settings, Store, Verb,
};

/// As long as FMDB tries again when a database is locked.
const PATIENCE: Duration = Duration::from_secs(2);
const STATEMENT_CACHES: [&str; 2] = ["batch", "none"];
/// More statements than any transaction here has.
const KEPT_STATEMENTS: usize = 16;

fn main() -> ExitCode {
    let about = sqlite::about("rusqlite-plain", env!("VERSION_RUSQLITE"));
    Kit::<Plain>::new(about).rows().documents().docs().main()
}

struct Plain {
    /// Dropped before the connection, which it watches.
    watch: Option<Watch>,
    connection: Connection,
    /// The table's name.
    table: String,
    /// Which statements are kept, one of [`STATEMENT_CACHES`].
    statement_cache: &'static str,
}

/// Reads rows by a statement prepared for them.
fn select<R>(
    connection: &Connection,
    sql: &str,
    arguments: &[&dyn ToSql],
    read: fn(&rusqlite::Row<'_>) -> rusqlite::Result<R>,
) -> Result<Vec<R>, Error> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(arguments)?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(read(row)?);
    }
    Ok(records)
}

/// Runs a batch in a transaction of its own. Statements that it prepares with `prepare_cached` are looked up by their
/// text for every record, as FMDB does, and prepared anew where `statement_cache` is `none`.
fn batch<T>(
    connection: &mut Connection,
    run: impl FnOnce(&Transaction<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    let done = run(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

impl Driver for Plain {
    type Error = Error;
    const HOLDS: bool = true;

    fn open(open: &Open) -> Result<Plain, Error> {
        let statement_cache = open.word("statement_cache", &STATEMENT_CACHES)?.unwrap_or("batch");
        let connection = Connection::open(sqlite::file(&open.directory))?;
        connection.busy_timeout(PATIENCE)?;
        connection.set_prepared_statement_cache_capacity(if statement_cache == "batch" {
            KEPT_STATEMENTS
        } else {
            0
        });
        connection.execute_batch(&sqlite::pragmas(open)?)?;
        if open.schema.create {
            connection.execute_batch(&sqlite::create(open)?)?;
        }
        let table = sqlite::table(open.record, open.table);
        Ok(Plain { watch: None, connection, table, statement_cache })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        let mut settings = sqlite::read_back(false, |pragma| sqlite::query(&self.connection, pragma))?;
        settings.insert("statement_cache".into(), Setting::from(self.statement_cache));
        Ok(settings)
    }

    fn begin_read(&mut self) -> Result<(), Error> {
        Ok(self.connection.execute_batch("begin")?)
    }

    fn end_read(&mut self) -> Result<(), Error> {
        Ok(self.connection.execute_batch("commit")?)
    }

    fn explain(&mut self) -> Result<(), Error> {
        // SAFETY: the connection is open and idle, and the watch is dropped before it.
        self.watch = Some(unsafe { Watch::start(self.connection.handle()) });
        Ok(())
    }

    fn explained(&mut self) -> Result<Plan, Error> {
        Ok(self.watch.take().map(Watch::finish).unwrap_or_default())
    }

    fn close(self) -> Result<(), Error> {
        drop(self.watch);
        Ok(self.connection.close().map_err(|(_, error)| error)?)
    }
}

/// A column as a value on the heap, as FMDB hands out texts and data. A number too, which its `objectForColumnIndex:` does
/// and its `longLongIntForColumnIndex:` does not: that stands for the object of a row, which FMDB's users allocate. Not
/// inlined, so that the optimizer cannot see the allocation and leave it out.
#[inline(never)]
fn object(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Box<Value>> {
    Ok(Box::new(row.get(column)?))
}

fn integer(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<i64> {
    match *object(row, column)? {
        Value::Integer(number) => Ok(number),
        other => Err(unexpected(column, &other)),
    }
}

fn real(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<f32> {
    match *object(row, column)? {
        Value::Real(number) => Ok(number as f32),
        other => Err(unexpected(column, &other)),
    }
}

fn text(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<String> {
    match *object(row, column)? {
        Value::Text(text) => Ok(text),
        other => Err(unexpected(column, &other)),
    }
}

fn data(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    match *object(row, column)? {
        Value::Blob(bytes) => Ok(bytes),
        other => Err(unexpected(column, &other)),
    }
}

fn unexpected(column: usize, value: &Value) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(column, format!("column {column}"), value.data_type())
}

const INSERT_ROW: &str = "insert into benchmark (key, value) values (?, ?)";

impl Store<Row> for Plain {
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Error> {
        Ok(select(&self.connection, "select key, value from benchmark where key = ?", &[key], row)?.pop())
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Error> {
        select(&self.connection, "select key, value from benchmark", &[], row)
    }

    fn insert_one(&mut self, record: &Row) -> Result<(), Error> {
        self.connection.execute(INSERT_ROW, params![record.key, record.value])?;
        Ok(())
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Error> {
        batch(&mut self.connection, |transaction| {
            for record in records {
                transaction.prepare_cached(INSERT_ROW)?.execute(params![record.key, record.value])?;
            }
            Ok(())
        })
    }

    fn first(&mut self) -> Result<Option<Row>, Error> {
        Ok(select(&self.connection, "select key, value from benchmark limit 1", &[], row)?.pop())
    }
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row { key: integer(row, 0)?, value: data(row, 1)? })
}

const INSERT_DOCUMENT: &str = "insert into documents (id, revision, hash, data) values (?, ?, ?, ?)";

impl Plain {
    fn documents(&self, sql: &str, arguments: &[&dyn ToSql]) -> Result<Vec<Document>, Error> {
        let mut statement = self.connection.prepare(sql)?;
        Ok(statement.query_map(arguments, document)?.collect::<Result<_, _>>()?)
    }
}

impl Store<Document> for Plain {
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

    fn get(&mut self, id: &String) -> Result<Option<Document>, Error> {
        let mut revisions =
            self.documents("select id, revision, hash, data from documents where id = ?", &[id])?;
        Ok(revisions.pop())
    }

    fn read_all(&mut self) -> Result<Vec<Document>, Error> {
        self.documents("select id, revision, hash, data from documents", &[])
    }

    fn insert_one(&mut self, record: &Document) -> Result<(), Error> {
        self.connection
            .execute(INSERT_DOCUMENT, params![record.id, record.revision, record.hash, record.data])?;
        Ok(())
    }

    fn insert_many(&mut self, records: &[&Document]) -> Result<(), Error> {
        batch(&mut self.connection, |transaction| {
            for record in records {
                let arguments = params![record.id, record.revision, record.hash, record.data];
                transaction.prepare_cached(INSERT_DOCUMENT)?.execute(arguments)?;
            }
            Ok(())
        })
    }

    fn first(&mut self) -> Result<Option<Document>, Error> {
        Ok(self.documents("select id, revision, hash, data from documents limit 1", &[])?.pop())
    }
}

fn document(row: &rusqlite::Row<'_>) -> rusqlite::Result<Document> {
    Ok(Document { id: row.get(0)?, revision: row.get(1)?, hash: row.get(2)?, data: row.get(3)? })
}

impl Store<Doc> for Plain {
    const VERBS: &'static [Verb] = &Verb::OF_OBJECTS;
    const TABLES: bool = true;

    fn get(&mut self, title: &String) -> Result<Option<Doc>, Error> {
        Ok(select(&self.connection, &format!("select * from {} where title = ?", self.table), &[title], doc)?
            .pop())
    }

    fn read_all(&mut self) -> Result<Vec<Doc>, Error> {
        select(&self.connection, &format!("select * from {}", self.table), &[], doc)
    }

    fn insert_one(&mut self, record: &Doc) -> Result<(), Error> {
        write(&mut self.connection.prepare(&insert_doc(&self.table))?, record)?;
        Ok(())
    }

    fn insert_many(&mut self, records: &[&Doc]) -> Result<(), Error> {
        let insert = insert_doc(&self.table);
        batch(&mut self.connection, |transaction| {
            for record in records {
                write(&mut *transaction.prepare_cached(&insert)?, record)?;
            }
            Ok(())
        })
    }

    fn find(&mut self, above: i64) -> Result<Vec<Doc>, Error> {
        select(&self.connection, &format!("select * from {} where priority > ?", self.table), &[&above], doc)
    }

    fn update_one(&mut self, state: &Doc) -> Result<bool, Error> {
        Ok(write(&mut self.connection.prepare(&update_doc(&self.table))?, state)? == 1)
    }

    fn update_many(&mut self, states: &[&Doc]) -> Result<Vec<Doc>, Error> {
        let (select_all, update) = (select_docs(&self.table), update_doc(&self.table));
        batch(&mut self.connection, |transaction| {
            let fetched = select(transaction, &select_all, &[], doc)?;
            for state in states {
                write(&mut *transaction.prepare_cached(&update)?, state)?;
            }
            Ok(fetched)
        })
    }

    fn delete_many(&mut self) -> Result<Vec<Doc>, Error> {
        let select_all = select_docs(&self.table);
        let delete = format!("delete from {} where title = ?", self.table);
        batch(&mut self.connection, |transaction| {
            let fetched = select(transaction, &select_all, &[], doc)?;
            for record in &fetched {
                transaction.prepare_cached(&delete)?.execute(params![record.title])?;
            }
            Ok(fetched)
        })
    }

    fn first(&mut self) -> Result<Option<Doc>, Error> {
        Ok(select(&self.connection, &format!("select * from {} limit 1", self.table), &[], doc)?.pop())
    }
}

fn select_docs(table: &str) -> String {
    format!("select * from {table}")
}

fn insert_doc(table: &str) -> String {
    let columns = "tag, x, y, z, colour, content_kind, content, priority, title";
    format!("insert into {table} ({columns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)")
}

fn update_doc(table: &str) -> String {
    format!(
        "update {table} set tag = ?, x = ?, y = ?, z = ?, colour = ?, content_kind = ?, content = ?, \
         priority = ? where title = ?"
    )
}

/// Inserts or updates an object: both take its fields in the same order.
fn write(statement: &mut Statement<'_>, doc: &Doc) -> rusqlite::Result<usize> {
    let content = match &doc.content {
        Content::Images(names) => Some(serde_json::to_string(names).expect("texts can be written as JSON")),
        Content::None => None,
        Content::Text(text) => Some(text.clone()),
    };
    let Position { x, y, z } = doc.position;
    let (colour, kind) = (doc.colour.number(), doc.content.number());
    statement.execute(params![doc.tag, x, y, z, colour, kind, content, doc.priority, doc.title])
}

fn doc(row: &rusqlite::Row<'_>) -> rusqlite::Result<Doc> {
    let colour = integer(row, 5)?;
    Ok(Doc {
        title: text(row, 0)?,
        tag: text(row, 1)?,
        position: Position { x: real(row, 2)?, y: real(row, 3)?, z: real(row, 4)? },
        colour: u8::try_from(colour)
            .ok()
            .and_then(Colour::from_number)
            .ok_or(rusqlite::Error::IntegralValueOutOfRange(5, colour))?,
        content: match integer(row, 6)? {
            0 => Content::Images(serde_json::from_str(&text(row, 7)?).map_err(|error| {
                rusqlite::Error::FromSqlConversionFailure(7, Type::Text, Box::new(error))
            })?),
            1 => Content::None,
            2 => Content::Text(text(row, 7)?),
            kind => return Err(rusqlite::Error::IntegralValueOutOfRange(6, kind)),
        },
        priority: match *object(row, 8)? {
            Value::Null => None,
            Value::Integer(priority) => Some(priority),
            other => return Err(unexpected(8, &other)),
        },
    })
}
