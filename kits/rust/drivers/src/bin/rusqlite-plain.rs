//! rusqlite used as a plain wrapper is, after FMDB on the published page: every call prepares its statement anew,
//! arguments are dynamic, columns are asked for by name, transactions begin with `exclusive`, and a database that
//! another handle is writing to is an error at once (a busy timeout of 0, unless one is asked for).

use drivers::sqlite::{self, Error, Watch};
use rusqlite::types::Type;
use rusqlite::{Connection, ToSql, TransactionBehavior, params};
use std::process::ExitCode;
use std::time::Duration;
use touchstone_kit::{
    Colour, Content, Doc, Document, Driver, Kit, Open, Plan, Position, Row, Settings, Store, Verb,
};

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
        Ok(Plain { watch: None, connection, table: sqlite::table(open.record, open.table) })
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
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

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
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

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

impl Store<Doc> for Plain {
    const VERBS: &'static [Verb] = &Verb::OF_OBJECTS;
    const TABLES: bool = true;

    fn get(&mut self, title: &String) -> Result<Option<Doc>, Error> {
        Ok(self.select(&format!("select * from {} where title = ?", self.table), &[title], doc)?.pop())
    }

    fn read_all(&mut self) -> Result<Vec<Doc>, Error> {
        self.select(&format!("select * from {}", self.table), &[], doc)
    }

    fn insert_one(&mut self, record: &Doc) -> Result<(), Error> {
        insert_doc(&self.connection, &self.table, record)
    }

    fn insert_many(&mut self, records: &[&Doc]) -> Result<(), Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
        for record in records {
            insert_doc(&transaction, &self.table, record)?;
        }
        Ok(transaction.commit()?)
    }

    fn find(&mut self, above: i64) -> Result<Vec<Doc>, Error> {
        self.select(&format!("select * from {} where priority > ?", self.table), &[&above], doc)
    }

    fn update_one(&mut self, state: &Doc) -> Result<bool, Error> {
        update_doc(&self.connection, &self.table, state)
    }

    fn update_many(&mut self, states: &[&Doc]) -> Result<Vec<Doc>, Error> {
        self.connection.execute_batch("begin exclusive")?;
        let updated = self.read_all_docs().and_then(|fetched| {
            for state in states {
                update_doc(&self.connection, &self.table, state)?;
            }
            Ok(fetched)
        });
        self.end(updated)
    }

    fn delete_many(&mut self) -> Result<Vec<Doc>, Error> {
        self.connection.execute_batch("begin exclusive")?;
        let deleted = self.read_all_docs().and_then(|fetched| {
            for record in &fetched {
                let sql = format!("delete from {} where title = ?", self.table);
                self.connection.execute(&sql, params![record.title])?;
            }
            Ok(fetched)
        });
        self.end(deleted)
    }

    fn first(&mut self) -> Result<Option<Doc>, Error> {
        Ok(self.select(&format!("select * from {} limit 1", self.table), &[], doc)?.pop())
    }
}

impl Plain {
    fn read_all_docs(&self) -> Result<Vec<Doc>, Error> {
        self.select(&format!("select * from {}", self.table), &[], doc)
    }

    /// Commits what went well, and takes back what did not.
    fn end<T>(&self, done: Result<T, Error>) -> Result<T, Error> {
        self.connection.execute_batch(if done.is_ok() { "commit" } else { "rollback" })?;
        done
    }
}

fn insert_doc(connection: &Connection, table: &str, doc: &Doc) -> Result<(), Error> {
    let columns = "tag, x, y, z, colour, content_kind, content, priority, title";
    let sql = format!("insert into {table} ({columns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    write(connection, &sql, doc)?;
    Ok(())
}

fn update_doc(connection: &Connection, table: &str, doc: &Doc) -> Result<bool, Error> {
    let sql = format!(
        "update {table} set tag = ?, x = ?, y = ?, z = ?, colour = ?, content_kind = ?, content = ?, \
         priority = ? where title = ?"
    );
    Ok(write(connection, &sql, doc)? == 1)
}

/// Inserts or updates an object: both take its fields in the same order.
fn write(connection: &Connection, sql: &str, doc: &Doc) -> rusqlite::Result<usize> {
    let content = match &doc.content {
        Content::Images(names) => Some(serde_json::to_string(names).expect("texts can be written as JSON")),
        Content::None => None,
        Content::Text(text) => Some(text.clone()),
    };
    let Position { x, y, z } = doc.position;
    let (colour, kind) = (doc.colour.number(), doc.content.number());
    connection.execute(sql, params![doc.tag, x, y, z, colour, kind, content, doc.priority, doc.title])
}

fn doc(row: &rusqlite::Row<'_>) -> rusqlite::Result<Doc> {
    let colour: u8 = row.get("colour")?;
    Ok(Doc {
        title: row.get("title")?,
        tag: row.get("tag")?,
        position: Position { x: row.get("x")?, y: row.get("y")?, z: row.get("z")? },
        colour: Colour::from_number(colour)
            .ok_or(rusqlite::Error::IntegralValueOutOfRange(5, colour.into()))?,
        content: match row.get("content_kind")? {
            0 => {
                let images: String = row.get("content")?;
                Content::Images(serde_json::from_str(&images).map_err(|error| {
                    rusqlite::Error::FromSqlConversionFailure(7, Type::Text, Box::new(error))
                })?)
            }
            1 => Content::None,
            2 => Content::Text(row.get("content")?),
            kind => return Err(rusqlite::Error::IntegralValueOutOfRange(6, kind)),
        },
        priority: row.get("priority")?,
    })
}
