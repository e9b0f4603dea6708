//! rusqlite, as its users write it: statements from the connection's cache, rows mapped to structs by column,
//! writers that begin with `immediate`, and the library's own busy timeout of five seconds. An object's images are one
//! text in JSON.

use drivers::sqlite::{self, Checkpointer, Error, Watch};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Statement, Transaction, TransactionBehavior};
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{
    Colour, Content, Doc, DocV2, DocV3, DocV4, Document, Driver, Kit, Moments, Open, Operation, Plan,
    Position, Record, RecordKind, Row, Settings, Store, Subscription, Verb,
};

fn main() -> ExitCode {
    let about = sqlite::about("rusqlite", env!("VERSION_RUSQLITE"));
    Kit::<Rusqlite>::new(about).rows().documents().docs().typed::<DocV2, DocV3, DocV4>().main()
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
        let docs = match (open.record, open.type_number()) {
            (RecordKind::Row | RecordKind::Document, _) => DocSql::default(),
            (RecordKind::Doc, 2) => DocSql::of::<DocV2>(open.table),
            (RecordKind::Doc, 3) => DocSql::of::<DocV3>(open.table),
            (RecordKind::Doc, 4) => DocSql::of::<DocV4>(open.table),
            (RecordKind::Doc, _) => DocSql::of::<Doc>(open.table),
        };
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
    const VERBS: &'static [Verb] = &Verb::OF_MIXED_RECORDS;

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Error> {
        get_row(&self.connection, *key)
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

    fn mix(&mut self, operations: &[Operation<'_, Row>], found: &mut Vec<Row>) -> Result<u64, Error> {
        if let [operation] = operations {
            return play_row(&self.connection, operation, found);
        }
        let writes = operations.iter().any(Operation::writes);
        let behavior = if writes { TransactionBehavior::Immediate } else { TransactionBehavior::Deferred };
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        let mut updated = 0;
        for operation in operations {
            updated += play_row(&transaction, operation, found)?;
        }
        transaction.commit()?;
        Ok(updated)
    }

    fn first(&mut self) -> Result<Option<Row>, Error> {
        Ok(self.connection.query_row("select key, value from benchmark limit 1", (), row).optional()?)
    }
}

fn get_row(connection: &Connection, key: i64) -> Result<Option<Row>, Error> {
    let mut statement = connection.prepare_cached("select key, value from benchmark where key = ?1")?;
    Ok(statement.query_row([key], row).optional()?)
}

/// Plays one operation of a mixed transaction, and answers how many rows it updated.
fn play_row(
    connection: &Connection,
    operation: &Operation<'_, Row>,
    found: &mut Vec<Row>,
) -> Result<u64, Error> {
    match operation {
        Operation::Get(key) => {
            found.extend(get_row(connection, *key)?);
            Ok(0)
        }
        Operation::Update(state) => {
            let mut statement =
                connection.prepare_cached("update benchmark set value = ?2 where key = ?1")?;
            Ok(statement.execute((state.key, &state.value))? as u64)
        }
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
    fn of<R: Object>(table: u32) -> DocSql {
        let table = sqlite::table(RecordKind::Doc, table);
        let places = (1..=R::COLUMNS.len()).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
        let set = R::COLUMNS.iter().zip(1..).skip(1).map(|(column, number)| format!("{column} = ?{number}"));
        let (set, columns) = (set.collect::<Vec<_>>().join(", "), R::COLUMNS.join(", "));
        DocSql {
            get: format!("select {columns} from {table} where title = ?1"),
            read_all: format!("select {columns} from {table}"),
            insert: format!("insert into {table} ({columns}) values ({places})"),
            first: format!("select {columns} from {table} limit 1"),
            find: format!("select {columns} from {table} where priority > ?1"),
            update: format!("update {table} set {set} where title = ?1"),
            delete: format!("delete from {table} where title = ?1"),
            window: format!(
                "select {columns} from {table} where priority < ?1 and priority >= ?2 order by priority limit ?3"
            ),
        }
    }
}

/// A type of object, and how it lies in its table.
pub trait Object: Record<Key = String> {
    /// Its columns, the key first.
    const COLUMNS: &'static [&'static str];

    /// Inserts or updates an object: both take its columns in the same order.
    ///
    /// # Errors
    /// As the library does.
    fn write(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize>;

    /// The object of a row.
    ///
    /// # Errors
    /// As the library does, and when a column holds what no object has.
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self>;
}

impl<R: Object> Store<R> for Rusqlite {
    const VERBS: &'static [Verb] = &Verb::OF_OBJECTS;
    const TABLES: bool = true;

    fn get(&mut self, title: &String) -> Result<Option<R>, Error> {
        let mut statement = self.connection.prepare_cached(&self.docs.get)?;
        Ok(statement.query_row([title], R::read).optional()?)
    }

    fn read_all(&mut self) -> Result<Vec<R>, Error> {
        docs(&self.connection, &self.docs.read_all)
    }

    fn insert_one(&mut self, record: &R) -> Result<(), Error> {
        record.write(&mut *self.connection.prepare_cached(&self.docs.insert)?)?;
        Ok(())
    }

    fn insert_many(&mut self, records: &[&R]) -> Result<(), Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut statement = transaction.prepare_cached(&self.docs.insert)?;
        for record in records {
            record.write(&mut statement)?;
        }
        drop(statement);
        Ok(transaction.commit()?)
    }

    fn find(&mut self, above: i64) -> Result<Vec<R>, Error> {
        let mut statement = self.connection.prepare_cached(&self.docs.find)?;
        Ok(statement.query_map([above], R::read)?.collect::<Result<_, _>>()?)
    }

    fn update_one(&mut self, state: &R) -> Result<bool, Error> {
        Ok(state.write(&mut *self.connection.prepare_cached(&self.docs.update)?)? == 1)
    }

    fn update_many(&mut self, states: &[&R]) -> Result<Vec<R>, Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fetched = docs(&transaction, &self.docs.read_all)?;
        let mut statement = transaction.prepare_cached(&self.docs.update)?;
        for state in states {
            state.write(&mut statement)?;
        }
        drop(statement);
        transaction.commit()?;
        Ok(fetched)
    }

    fn delete_many(&mut self) -> Result<Vec<R>, Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fetched = docs(&transaction, &self.docs.read_all)?;
        delete(&transaction, &self.docs.delete, &fetched)?;
        transaction.commit()?;
        Ok(fetched)
    }

    fn first(&mut self) -> Result<Option<R>, Error> {
        Ok(self.connection.query_row(&self.docs.first, (), R::read).optional()?)
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
                statement.query_map([title], Doc::read)?.collect::<Result<_, _>>()?
            }
            Subscription::Window { below, from, limit } => {
                let mut statement = self.connection.prepare_cached(&self.docs.window)?;
                let limit = limit.map_or(-1, i64::from);
                statement.query_map([*below, *from, limit], Doc::read)?.collect::<Result<_, _>>()?
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
            if state.write(&mut statement)? == 1 {
                note(state);
            }
        }
        drop(statement);
        moments.handed_over();
        Ok(transaction.commit()?)
    }
}

fn docs<R: Object>(connection: &Connection, sql: &str) -> Result<Vec<R>, Error> {
    Ok(connection.prepare_cached(sql)?.query_map((), R::read)?.collect::<Result<_, _>>()?)
}

fn delete<R: Object>(transaction: &Transaction<'_>, sql: &str, docs: &[R]) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(sql)?;
    for doc in docs {
        statement.execute([doc.key()])?;
    }
    Ok(())
}

impl Object for Doc {
    const COLUMNS: &'static [&'static str] =
        &["title", "tag", "x", "y", "z", "colour", "content_kind", "content", "priority"];

    fn write(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        let images;
        let content = match &self.content {
            Content::Images(names) => {
                images = serde_json::to_string(names).expect("texts can be written as JSON");
                Some(&images)
            }
            Content::None => None,
            Content::Text(text) => Some(text),
        };
        let Position { x, y, z } = self.position;
        let numbers = (self.colour.number(), self.content.number());
        statement.execute((&self.title, &self.tag, x, y, z, numbers.0, numbers.1, content, self.priority))
    }

    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Doc> {
        Ok(Doc {
            title: row.get(0)?,
            tag: row.get(1)?,
            position: Position { x: row.get(2)?, y: row.get(3)?, z: row.get(4)? },
            colour: colour(row, 5)?,
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
}

fn colour(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Colour> {
    let number: u8 = row.get(column)?;
    Colour::from_number(number).ok_or(rusqlite::Error::IntegralValueOutOfRange(column, number.into()))
}

impl Object for DocV2 {
    const COLUMNS: &'static [&'static str] = &["title", "tag", "colour", "text", "priority"];

    fn write(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        let colour = self.colour.number();
        statement.execute((&self.title, &self.tag, colour, &self.text, self.priority))
    }

    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<DocV2> {
        Ok(DocV2 {
            title: row.get(0)?,
            tag: row.get(1)?,
            colour: colour(row, 2)?,
            text: row.get(3)?,
            priority: row.get(4)?,
        })
    }
}

/// Two types have the same columns.
macro_rules! object_of_a_text {
    ($type:ident) => {
        impl Object for $type {
            const COLUMNS: &'static [&'static str] = &["title", "tag", "text", "priority"];

            fn write(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
                statement.execute((&self.title, &self.tag, &self.text, self.priority))
            }

            fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<$type> {
                let (title, tag, text, priority) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                Ok($type { title, tag, text, priority })
            }
        }
    };
}

object_of_a_text!(DocV3);
object_of_a_text!(DocV4);
