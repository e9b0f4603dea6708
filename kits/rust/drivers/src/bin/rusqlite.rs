//! rusqlite, as its users write it: statements from the connection's cache, rows mapped to structs by column,
//! writers that begin with `immediate`, and the library's own busy timeout of five seconds.

use drivers::sqlite::{self, Checkpointer, Error, Watch};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{Document, Driver, Kit, Open, Plan, Row, Settings, Store, Verb};

fn main() -> ExitCode {
    Kit::<Rusqlite>::new(sqlite::about("rusqlite", env!("VERSION_RUSQLITE"))).rows().documents().main()
}

/// A connection.
pub struct Rusqlite {
    /// Dropped before the connection, which it watches.
    watch: Option<Watch>,
    connection: Connection,
    /// Dropped after the connection, which rings for it.
    checkpointer: Option<Arc<Checkpointer>>,
}

impl Rusqlite {
    fn connect(open: &Open) -> Result<Rusqlite, Error> {
        let connection = Connection::open(sqlite::file(&open.directory))?;
        connection.execute_batch(&sqlite::pragmas(open)?)?;
        Ok(Rusqlite { watch: None, connection, checkpointer: None })
    }

    fn attended(mut self, checkpointer: Arc<Checkpointer>) -> Rusqlite {
        // SAFETY: the connection is open, and dropped before the checkpointer.
        unsafe { checkpointer.attend(self.connection.handle()) };
        self.checkpointer = Some(checkpointer);
        self
    }
}

impl Driver for Rusqlite {
    type Error = Error;
    const HOLDS: bool = true;

    fn open(open: &Open) -> Result<Rusqlite, Error> {
        let driver = Rusqlite::connect(open)?;
        if open.schema.create {
            driver.connection.execute_batch(&sqlite::create(open)?)?;
        }
        if sqlite::background(open)? {
            let checkpointer = Checkpointer::start(&sqlite::file(&open.directory))?;
            return Ok(driver.attended(Arc::new(checkpointer)));
        }
        Ok(driver)
    }

    fn another(&self, open: &Open) -> Result<Rusqlite, Error> {
        let driver = Rusqlite::connect(open)?;
        Ok(match &self.checkpointer {
            Some(checkpointer) => driver.attended(Arc::clone(checkpointer)),
            None => driver,
        })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        sqlite::read_back(self.checkpointer.is_some(), |pragma| sqlite::query(&self.connection, pragma))
    }

    fn begin_read(&mut self) -> Result<(), Error> {
        Ok(self.connection.execute_batch("begin")?)
    }

    fn end_read(&mut self) -> Result<(), Error> {
        Ok(self.connection.execute_batch("commit")?)
    }

    fn explain(&mut self) -> Result<(), Error> {
        // SAFETY: the connection is open and idle, and the watch ends before it is closed.
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

impl Store<Row> for Rusqlite {
    const VERBS: &'static [Verb] = &Verb::ALL;

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Error> {
        let mut statement =
            self.connection.prepare_cached("select key, value from benchmark where key = ?1")?;
        Ok(statement.query_row([key], row).optional()?)
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Error> {
        let mut statement = self.connection.prepare_cached("select key, value from benchmark")?;
        Ok(statement.query_map((), row)?.collect::<Result<_, _>>()?)
    }

    fn insert_one(&mut self, record: &Row) -> Result<(), Error> {
        let mut statement =
            self.connection.prepare_cached("insert into benchmark (key, value) values (?1, ?2)")?;
        statement.execute((record.key, &record.value))?;
        Ok(())
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut statement =
            transaction.prepare_cached("insert into benchmark (key, value) values (?1, ?2)")?;
        for record in records {
            statement.execute((record.key, &record.value))?;
        }
        drop(statement);
        Ok(transaction.commit()?)
    }

    fn first(&mut self) -> Result<Option<Row>, Error> {
        Ok(self.connection.query_row("select key, value from benchmark limit 1", (), row).optional()?)
    }
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row { key: row.get(0)?, value: row.get(1)? })
}

const INSERT_DOCUMENT: &str = "insert into documents (id, revision, hash, data) values (?1, ?2, ?3, ?4)";

impl Store<Document> for Rusqlite {
    const VERBS: &'static [Verb] = &Verb::ALL;

    fn get(&mut self, id: &String) -> Result<Option<Document>, Error> {
        let mut statement =
            self.connection.prepare_cached("select id, revision, hash, data from documents where id = ?1")?;
        Ok(statement.query_row([id], document).optional()?)
    }

    fn read_all(&mut self) -> Result<Vec<Document>, Error> {
        let mut statement =
            self.connection.prepare_cached("select id, revision, hash, data from documents")?;
        Ok(statement.query_map((), document)?.collect::<Result<_, _>>()?)
    }

    fn insert_one(&mut self, record: &Document) -> Result<(), Error> {
        let mut statement = self.connection.prepare_cached(INSERT_DOCUMENT)?;
        statement.execute((&record.id, record.revision, &record.hash, &record.data))?;
        Ok(())
    }

    fn insert_many(&mut self, records: &[&Document]) -> Result<(), Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut statement = transaction.prepare_cached(INSERT_DOCUMENT)?;
        for record in records {
            statement.execute((&record.id, record.revision, &record.hash, &record.data))?;
        }
        drop(statement);
        Ok(transaction.commit()?)
    }

    fn first(&mut self) -> Result<Option<Document>, Error> {
        let sql = "select id, revision, hash, data from documents limit 1";
        Ok(self.connection.query_row(sql, (), document).optional()?)
    }
}

fn document(row: &rusqlite::Row<'_>) -> rusqlite::Result<Document> {
    Ok(Document { id: row.get(0)?, revision: row.get(1)?, hash: row.get(2)?, data: row.get(3)? })
}
