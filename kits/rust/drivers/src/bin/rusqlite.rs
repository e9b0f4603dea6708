//! rusqlite, as its users write it: statements from the connection's cache, rows mapped to structs by column,
//! writers that begin with `immediate`, and the library's own busy timeout of five seconds. An object's images are one
//! text in JSON.

use drivers::sqlite::{self, Checkpointer, Error, Watch};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Statement, Transaction, TransactionBehavior};
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{
    Colour, Content, Doc, Document, Driver, Kit, Moments, Open, Plan, Position, RecordKind, Row, Settings,
    Store, Subscription, Verb,
};

fn main() -> ExitCode {
    let about = sqlite::about("rusqlite", env!("VERSION_RUSQLITE"));
    Kit::<Rusqlite>::new(about).rows().documents().docs().main()
}

/// A connection.
pub struct Rusqlite {
    /// Dropped before the connection, which it watches.
    watch: Option<Watch>,
    connection: Connection,
    /// What is said of objects, where those are stored.
    docs: DocSql,
    /// Dropped after the connection, which rings for it.
    checkpointer: Option<Arc<Checkpointer>>,
}

impl Rusqlite {
    fn connect(open: &Open) -> Result<Rusqlite, Error> {
        let connection = Connection::open(sqlite::file(&open.directory))?;
        connection.execute_batch(&sqlite::pragmas(open)?)?;
        let docs = if open.record == RecordKind::Doc { DocSql::new(open.table) } else { DocSql::default() };
        Ok(Rusqlite { watch: None, connection, docs, checkpointer: None })
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
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

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
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

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

/// The statements about one table of objects.
#[derive(Default)]
struct DocSql {
    get: String,
    read_all: String,
    insert: String,
    first: String,
    find: String,
    update: String,
    delete: String,
    window: String,
}

impl DocSql {
    fn new(table: u32) -> DocSql {
        let table = sqlite::table(RecordKind::Doc, table);
        let columns = "title, tag, x, y, z, colour, content_kind, content, priority";
        DocSql {
            get: format!("select {columns} from {table} where title = ?1"),
            read_all: format!("select {columns} from {table}"),
            insert: format!("insert into {table} ({columns}) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
            first: format!("select {columns} from {table} limit 1"),
            find: format!("select {columns} from {table} where priority > ?1"),
            update: format!(
                "update {table} set tag = ?2, x = ?3, y = ?4, z = ?5, colour = ?6, content_kind = ?7, \
                 content = ?8, priority = ?9 where title = ?1"
            ),
            delete: format!("delete from {table} where title = ?1"),
            window: format!(
                "select {columns} from {table} where priority < ?1 and priority >= ?2 order by priority limit ?3"
            ),
        }
    }
}

impl Store<Doc> for Rusqlite {
    const VERBS: &'static [Verb] = &Verb::OF_OBJECTS;
    const TABLES: bool = true;

    fn get(&mut self, title: &String) -> Result<Option<Doc>, Error> {
        let mut statement = self.connection.prepare_cached(&self.docs.get)?;
        Ok(statement.query_row([title], doc).optional()?)
    }

    fn read_all(&mut self) -> Result<Vec<Doc>, Error> {
        docs(&self.connection, &self.docs.read_all)
    }

    fn insert_one(&mut self, record: &Doc) -> Result<(), Error> {
        write(&mut *self.connection.prepare_cached(&self.docs.insert)?, record)?;
        Ok(())
    }

    fn insert_many(&mut self, records: &[&Doc]) -> Result<(), Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut statement = transaction.prepare_cached(&self.docs.insert)?;
        for record in records {
            write(&mut statement, record)?;
        }
        drop(statement);
        Ok(transaction.commit()?)
    }

    fn find(&mut self, above: i64) -> Result<Vec<Doc>, Error> {
        let mut statement = self.connection.prepare_cached(&self.docs.find)?;
        Ok(statement.query_map([above], doc)?.collect::<Result<_, _>>()?)
    }

    fn update_one(&mut self, state: &Doc) -> Result<bool, Error> {
        Ok(write(&mut *self.connection.prepare_cached(&self.docs.update)?, state)? == 1)
    }

    fn update_many(&mut self, states: &[&Doc]) -> Result<Vec<Doc>, Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fetched = docs(&transaction, &self.docs.read_all)?;
        let mut statement = transaction.prepare_cached(&self.docs.update)?;
        for state in states {
            write(&mut statement, state)?;
        }
        drop(statement);
        transaction.commit()?;
        Ok(fetched)
    }

    fn delete_many(&mut self) -> Result<Vec<Doc>, Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fetched = docs(&transaction, &self.docs.read_all)?;
        delete(&transaction, &self.docs.delete, &fetched)?;
        transaction.commit()?;
        Ok(fetched)
    }

    fn first(&mut self) -> Result<Option<Doc>, Error> {
        Ok(self.connection.query_row(&self.docs.first, (), doc).optional()?)
    }
}

/// What the subjects need that keep results fresh beside this library, which has no subscriptions of its own.
#[allow(dead_code, reason = "each of them uses its own part of this")]
impl Rusqlite {
    /// Fetches what a subscription is about, in its order.
    pub fn subscribed(&self, subscription: &Subscription) -> Result<Vec<Doc>, Error> {
        let docs = match subscription {
            Subscription::Object { title } | Subscription::One { title } => {
                let mut statement = self.connection.prepare_cached(&self.docs.get)?;
                statement.query_map([title], doc)?.collect::<Result<_, _>>()?
            }
            Subscription::Window { below, from, limit } => {
                let mut statement = self.connection.prepare_cached(&self.docs.window)?;
                let limit = limit.map_or(-1, i64::from);
                statement.query_map([*below, *from, limit], doc)?.collect::<Result<_, _>>()?
            }
        };
        Ok(docs)
    }

    /// Reads several times from one snapshot.
    pub fn in_one_snapshot<T>(
        &mut self,
        read: impl FnOnce(&mut Rusqlite) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.begin_read()?;
        let read = read(self);
        self.end_read()?;
        read
    }

    /// Writes each new state over the object with its title, in one transaction.
    pub fn change(&mut self, states: &[&Doc], moments: &mut Moments) -> Result<(), Error> {
        self.change_noting(states, moments, |_| ())
    }

    /// As [`change`](Rusqlite::change); `note` is told of each state that there was an object for.
    pub fn change_noting(
        &mut self,
        states: &[&Doc],
        moments: &mut Moments,
        mut note: impl FnMut(&Doc),
    ) -> Result<(), Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut statement = transaction.prepare_cached(&self.docs.update)?;
        for state in states {
            if write(&mut statement, state)? == 1 {
                note(state);
            }
        }
        drop(statement);
        moments.handed_over();
        Ok(transaction.commit()?)
    }
}

fn docs(connection: &Connection, sql: &str) -> Result<Vec<Doc>, Error> {
    Ok(connection.prepare_cached(sql)?.query_map((), doc)?.collect::<Result<_, _>>()?)
}

/// Inserts or updates an object: both take its fields in the same order.
fn write(statement: &mut Statement<'_>, doc: &Doc) -> rusqlite::Result<usize> {
    let images;
    let content = match &doc.content {
        Content::Images(names) => {
            images = serde_json::to_string(names).expect("texts can be written as JSON");
            Some(&images)
        }
        Content::None => None,
        Content::Text(text) => Some(text),
    };
    let Position { x, y, z } = doc.position;
    let numbers = (doc.colour.number(), doc.content.number());
    statement.execute((&doc.title, &doc.tag, x, y, z, numbers.0, numbers.1, content, doc.priority))
}

fn delete(transaction: &Transaction<'_>, sql: &str, docs: &[Doc]) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(sql)?;
    for doc in docs {
        statement.execute([&doc.title])?;
    }
    Ok(())
}

fn doc(row: &rusqlite::Row<'_>) -> rusqlite::Result<Doc> {
    let colour: u8 = row.get(5)?;
    Ok(Doc {
        title: row.get(0)?,
        tag: row.get(1)?,
        position: Position { x: row.get(2)?, y: row.get(3)?, z: row.get(4)? },
        colour: Colour::from_number(colour)
            .ok_or(rusqlite::Error::IntegralValueOutOfRange(5, colour.into()))?,
        content: match row.get(6)? {
            0 => Content::Images(serde_json::from_str(row.get_ref(7)?.as_str()?).map_err(|error| {
                rusqlite::Error::FromSqlConversionFailure(7, Type::Text, Box::new(error))
            })?),
            1 => Content::None,
            2 => Content::Text(row.get(7)?),
            kind => return Err(rusqlite::Error::IntegralValueOutOfRange(6, kind)),
        },
        priority: row.get(8)?,
    })
}
