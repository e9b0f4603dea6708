//! rusqlite used as a plain wrapper is, after FMDB on the published page: every call prepares its statement anew,
//! arguments are dynamic, columns are asked for by name, transactions begin with `exclusive`, and a database that
//! another handle is writing to is an error at once (a busy timeout of 0, unless one is asked for).

use drivers::sqlite::{self, Error, Watch};
use rusqlite::{Connection, ToSql, TransactionBehavior, params};
use std::process::ExitCode;
use std::time::Duration;
use touchstone_kit::{Document, Driver, Kit, Open, Plan, Row, Settings, Store, Verb};

fn main() -> ExitCode {
    let about = sqlite::about("rusqlite-plain", env!("VERSION_RUSQLITE"));
    Kit::<Plain>::new(about).rows().documents().main()
}

struct Plain {
    /// Dropped before the connection, which it watches.
    watch: Option<Watch>,
    connection: Connection,
}

impl Plain {
    fn select<R>(
        &self,
        sql: &str,
        arguments: &[&dyn ToSql],
        read: fn(&rusqlite::Row<'_>) -> rusqlite::Result<R>,
    ) -> Result<Vec<R>, Error> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(arguments)?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            records.push(read(row)?);
        }
        Ok(records)
    }
}

impl Driver for Plain {
    type Error = Error;
    const HOLDS: bool = true;

    fn open(open: &Open) -> Result<Plain, Error> {
        let connection = Connection::open(sqlite::file(&open.directory))?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.execute_batch(&sqlite::pragmas(open)?)?;
        if open.schema.create {
            connection.execute_batch(&sqlite::create(open)?)?;
        }
        Ok(Plain { watch: None, connection })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        sqlite::read_back(false, |pragma| sqlite::query(&self.connection, pragma))
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

impl Store<Row> for Plain {
    const VERBS: &'static [Verb] = &Verb::ALL;

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Error> {
        Ok(self.select("select * from benchmark where key = ?", &[key], row)?.pop())
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Error> {
        self.select("select * from benchmark", &[], row)
    }

    fn insert_one(&mut self, record: &Row) -> Result<(), Error> {
        insert_row(&self.connection, record)
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
        for record in records {
            insert_row(&transaction, record)?;
        }
        Ok(transaction.commit()?)
    }

    fn first(&mut self) -> Result<Option<Row>, Error> {
        Ok(self.select("select * from benchmark limit 1", &[], row)?.pop())
    }
}

fn insert_row(connection: &Connection, record: &Row) -> Result<(), Error> {
    connection
        .execute("insert into benchmark (key, value) values (?, ?)", params![record.key, record.value])?;
    Ok(())
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row { key: row.get("key")?, value: row.get("value")? })
}

impl Store<Document> for Plain {
    const VERBS: &'static [Verb] = &Verb::ALL;

    fn get(&mut self, id: &String) -> Result<Option<Document>, Error> {
        Ok(self.select("select * from documents where id = ?", &[id], document)?.pop())
    }

    fn read_all(&mut self) -> Result<Vec<Document>, Error> {
        self.select("select * from documents", &[], document)
    }

    fn insert_one(&mut self, record: &Document) -> Result<(), Error> {
        insert_document(&self.connection, record)
    }

    fn insert_many(&mut self, records: &[&Document]) -> Result<(), Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
        for record in records {
            insert_document(&transaction, record)?;
        }
        Ok(transaction.commit()?)
    }

    fn first(&mut self) -> Result<Option<Document>, Error> {
        Ok(self.select("select * from documents limit 1", &[], document)?.pop())
    }
}

fn insert_document(connection: &Connection, record: &Document) -> Result<(), Error> {
    connection.execute(
        "insert into documents (id, revision, hash, data) values (?, ?, ?, ?)",
        params![record.id, record.revision, record.hash, record.data],
    )?;
    Ok(())
}

fn document(row: &rusqlite::Row<'_>) -> rusqlite::Result<Document> {
    Ok(Document {
        id: row.get("id")?,
        revision: row.get("revision")?,
        hash: row.get("hash")?,
        data: row.get("data")?,
    })
}
