//! touchstone-store, as its users write it: declared types, one store for all threads, a call for each verb.

use objects::Object;
use records::{Doc, Document, Row};
use std::process::ExitCode;
use touchstone_kit::{
    Driver, Failure, FailureKind, Kit, Open, Operation, Plan, RecordKind, Setting, Settings, Verb, failure,
};
use touchstone_store::{
    Cipher, Durability, EncryptionKey, ErrorKind, Options, Reading, Record, Snapshot, Transaction, Writing,
};
use typed::{DocV2, DocV3, DocV4};

#[path = "../../../drivers/src/sqlite/about.rs"]
mod about;
#[path = "../live.rs"]
mod live;
#[path = "../objects.rs"]
mod objects;
#[path = "../records.rs"]
mod records;
#[path = "../typed.rs"]
mod typed;

fn main() -> ExitCode {
    let about = about::about("store", env!("VERSION_TOUCHSTONE_STORE"));
    Kit::<Driven>::new(about)
        .records::<Row>()
        .records::<Document>()
        .live::<Doc>()
        .typed::<DocV2, DocV3, DocV4>()
        .main()
}

/// The columns of a type.
type Columns<T> = <T as Record>::Columns;

/// A handle on the store: clones share it, which is how its users give it to threads.
pub struct Driven {
    store: touchstone_store::Store,
    record: RecordKind,
    /// Which of the types of objects it is about.
    type_number: u32,
    /// The collection of this handle, where it is not the type's own.
    collection: Option<String>,
    held: Option<Snapshot>,
    feed: Option<live::Feed>,
    played: Played,
}

/// How the verb that was played last finds its records.
#[derive(Clone, Copy)]
pub enum Played {
    /// It finds none, as an insert does.
    None,
    /// By their keys.
    Keys,
    /// All of them.
    All,
    /// Those of a priority above this.
    Above(i64),
}

impl Driven {
    fn read<T: Record, R>(
        &self,
        read: impl FnOnce(Reading<'_, T>) -> touchstone_store::Result<R>,
    ) -> Result<R, Error> {
        let records = |snapshot: &Snapshot| match &self.collection {
            Some(name) => read(snapshot.collection(name)?),
            None => read(snapshot.of()),
        };
        Ok(match &self.held {
            Some(snapshot) => records(snapshot)?,
            None => self.store.read(records)?,
        })
    }

    fn write<T: Record, R>(
        &self,
        write: impl FnOnce(Writing<'_, T>) -> touchstone_store::Result<R>,
    ) -> Result<R, Error> {
        Ok(self.store.write(|transaction| match &self.collection {
            Some(name) => write(transaction.collection(name)?),
            None => write(transaction.of()),
        })?)
    }

    fn create(&self, open: &Open) -> Result<(), Error> {
        Ok(self.store.write(|transaction| {
            for table in 1..=open.schema.tables {
                let open = Open { table, ..open.clone() };
                match (open.record, open.type_number()) {
                    (RecordKind::Row, _) => make::<Row>(transaction, &open)?,
                    (RecordKind::Document, _) => make::<Document>(transaction, &open)?,
                    (RecordKind::Doc, 2) => make::<DocV2>(transaction, &open)?,
                    (RecordKind::Doc, 3) => make::<DocV3>(transaction, &open)?,
                    (RecordKind::Doc, 4) => make::<DocV4>(transaction, &open)?,
                    (RecordKind::Doc, _) => make::<Doc>(transaction, &open)?,
                }
            }
            Ok(())
        })?)
    }
}

/// A table is made with its first record; a collection when it is named.
fn make<T: Record>(transaction: &mut Transaction<'_>, open: &Open) -> touchstone_store::Result<()> {
    let none: [&T; 0] = [];
    match collection(open) {
        Some(name) => transaction.collection::<T>(&name)?.insert_all(none)?,
        None => transaction.insert_all(none)?,
    };
    Ok(())
}

/// Tables after the first are collections of the same type, unless they have types of their own.
fn collection(open: &Open) -> Option<String> {
    (open.table > 1 && !open.schema.typed).then(|| format!("collection {}", open.table))
}

fn options(open: &Open) -> Result<Options, Error> {
    let mut options = Options::new().create(open.schema.create);
    options = options.durability(match open.word("durability", &["strict", "consistent", "process"])? {
        Some("strict") => Durability::Strict,
        Some("process") => Durability::Process,
        _ => Durability::Consistent,
    });
    options = options.exclusive(open.word("exclusive", &["no", "yes"])? == Some("yes"));
    if let Some(bytes) = open.number("page_size_bytes")? {
        options = options.page_size(u32::try_from(bytes).unwrap_or(0));
    }
    if let Some(bytes) = open.number("cache_size_bytes")? {
        options = options.cache_bytes(u64::try_from(bytes).unwrap_or(0));
    }
    match open.word("cipher", &["none", "aegis", "sqlcipher-4"])? {
        Some("aegis") => options = options.key(EncryptionKey::raw([7; 32])).cipher(Cipher::Aegis),
        Some("sqlcipher-4") => options = options.key(EncryptionKey::raw([7; 32])).cipher(Cipher::SqlCipher),
        _ => {}
    }
    Ok(options)
}

impl Driver for Driven {
    type Error = Error;
    const HOLDS: bool = true;

    fn open(open: &Open) -> Result<Driven, Error> {
        open.key_alone_is_indexed()?;
        let store = options(open)?.open(open.directory.join("benchmark.sqlite"))?;
        let driven = Driven {
            store,
            record: open.record,
            type_number: open.type_number(),
            collection: collection(open),
            held: None,
            feed: None,
            played: Played::None,
        };
        if open.schema.create {
            driven.create(open)?;
        }
        Ok(driven)
    }

    fn another(&self, open: &Open) -> Result<Driven, Error> {
        Ok(Driven {
            store: self.store.clone(),
            record: open.record,
            type_number: open.type_number(),
            collection: collection(open),
            held: None,
            feed: None,
            played: Played::None,
        })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        let durability = match self.store.durability() {
            Durability::Strict => "strict",
            Durability::Consistent => "consistent",
            Durability::Process => "process",
        };
        let exclusive = if self.store.is_exclusive()? { "yes" } else { "no" };
        let mut settings = Settings::from([
            ("durability".into(), Setting::from(durability)),
            ("exclusive".into(), Setting::from(exclusive)),
            // Commits never copy the log: the store has a thread for it.
            ("checkpoint".into(), Setting::from("background")),
        ]);
        // A snapshot that a program holds has a thread look after it.
        settings.extend(self.store.read(|snapshot| snapshot.sql(pragmas))?);
        Ok(settings)
    }

    fn begin_read(&mut self) -> Result<(), Error> {
        self.held = Some(self.store.snapshot()?);
        Ok(())
    }

    fn end_read(&mut self) -> Result<(), Error> {
        self.held = None;
        Ok(())
    }

    /// How the last verb finds its records: the store holds the statement of a get, and reads a whole table by its pages;
    /// it tells of the queries that are the same.
    fn explained(&mut self) -> Result<Plan, Error> {
        let explanation = match (self.record, self.played) {
            (_, Played::None) => return Ok(Plan::default()),
            (RecordKind::Row, Played::Keys) => {
                self.read(|rows| rows.query().filter(|row: Columns<Row>| row.key.eq(0)).explain())
            }
            (RecordKind::Row, _) => self.read(|rows: Reading<'_, Row>| rows.query().explain()),
            (RecordKind::Document, Played::Keys) => self.read(|documents| {
                documents.query().filter(|document: Columns<Document>| document.id.eq("")).explain()
            }),
            (RecordKind::Document, _) => {
                self.read(|documents: Reading<'_, Document>| documents.query().explain())
            }
            (RecordKind::Doc, played) => match self.type_number {
                2 => DocV2::explain(self, played),
                3 => DocV3::explain(self, played),
                4 => DocV4::explain(self, played),
                _ => Doc::explain(self, played),
            },
        }?;
        Ok(Plan { plan: explanation.plan, ..Plan::default() })
    }

    fn close(self) -> Result<(), Error> {
        Ok(())
    }
}

/// What the engine says of itself. A page has bytes reserved only where it is encrypted.
fn pragmas(connection: &rusqlite::Connection) -> rusqlite::Result<Settings> {
    let number = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, i64>(0));
    let page_size_bytes = number("pragma page_size")?;
    let cache = number("pragma cache_size")?;
    let is_plain = number("select substr(data, 21, 1) = x'00' from sqlite_dbpage where pgno = 1")? == 1;
    let cipher: String = connection.query_row("pragma cipher", (), |row| row.get(0))?;
    let cipher = match (is_plain, cipher.as_str()) {
        (true, _) => "none",
        (false, "sqlcipher") => "sqlcipher-4",
        (false, _) => "aegis",
    };
    let journal: String = connection.query_row("pragma journal_mode", (), |row| row.get(0))?;
    Ok(Settings::from([
        ("journal_mode".into(), Setting::Word(journal)),
        ("page_size_bytes".into(), Setting::Number(page_size_bytes)),
        (
            "cache_size_bytes".into(),
            Setting::Number(if cache < 0 { -cache * 1024 } else { cache * page_size_bytes }),
        ),
        ("cipher".into(), Setting::from(cipher)),
    ]))
}

impl touchstone_kit::Store<Row> for Driven {
    const VERBS: &'static [Verb] = &Verb::OF_MIXED_RECORDS;
    const TABLES: bool = true;

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Error> {
        self.played = Played::Keys;
        match (&self.held, &self.collection) {
            (None, None) => Ok(self.store.get(key)?),
            _ => self.read(|records| records.get(key)),
        }
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Error> {
        self.played = Played::All;
        self.read(|records| records.all())
    }

    fn insert_one(&mut self, record: &Row) -> Result<(), Error> {
        self.played = Played::None;
        match self.collection {
            None => Ok(self.store.insert(record)?),
            Some(_) => self.write(|mut records| records.insert(record)),
        }
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Error> {
        self.played = Played::None;
        self.write(|mut table| table.insert_all(records.iter().copied()).map(drop))
    }

    fn mix(&mut self, operations: &[Operation<'_, Row>], found: &mut Vec<Row>) -> Result<u64, Error> {
        self.played = Played::Keys;
        match operations {
            [Operation::Get(key)] => {
                found.extend(touchstone_kit::Store::<Row>::get(self, key)?);
                Ok(0)
            }
            [Operation::Update(state)] if self.collection.is_none() => {
                Ok(u64::from(self.store.replace(*state)?))
            }
            _ if operations.iter().any(Operation::writes) => {
                self.write(|mut rows| play_rows(&mut rows, operations, found))
            }
            _ => self.read(|rows: Reading<'_, Row>| {
                for operation in operations {
                    if let Operation::Get(key) = operation {
                        found.extend(rows.get(key)?);
                    }
                }
                Ok(0)
            }),
        }
    }

    fn first(&mut self) -> Result<Option<Row>, Error> {
        self.read(|records| records.query().first())
    }
}

/// Plays a mixed transaction that writes, and answers how many rows it updated.
fn play_rows(
    rows: &mut Writing<'_, Row>,
    operations: &[Operation<'_, Row>],
    found: &mut Vec<Row>,
) -> touchstone_store::Result<u64> {
    let mut updated = 0;
    for operation in operations {
        match operation {
            Operation::Get(key) => found.extend(rows.get(key)?),
            Operation::Update(state) => updated += u64::from(rows.replace(*state)?),
        }
    }
    Ok(updated)
}

impl touchstone_kit::Store<Document> for Driven {
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;
    const TABLES: bool = true;

    fn get(&mut self, key: &String) -> Result<Option<Document>, Error> {
        self.played = Played::Keys;
        match (&self.held, &self.collection) {
            (None, None) => Ok(self.store.get(key)?),
            _ => self.read(|records| records.get(key)),
        }
    }

    fn read_all(&mut self) -> Result<Vec<Document>, Error> {
        self.played = Played::All;
        self.read(|records| records.all())
    }

    fn insert_one(&mut self, record: &Document) -> Result<(), Error> {
        self.played = Played::None;
        match self.collection {
            None => Ok(self.store.insert(record)?),
            Some(_) => self.write(|mut records| records.insert(record)),
        }
    }

    fn insert_many(&mut self, records: &[&Document]) -> Result<(), Error> {
        self.played = Played::None;
        self.write(|mut table| table.insert_all(records.iter().copied()).map(drop))
    }

    fn first(&mut self) -> Result<Option<Document>, Error> {
        self.read(|records| records.query().first())
    }
}

/// The store's error, or what it has no error for.
pub enum Error {
    /// The store's own.
    Store(touchstone_store::Error),
    /// What it has no error for.
    Kit(Failure),
}

impl From<touchstone_store::Error> for Error {
    fn from(error: touchstone_store::Error) -> Error {
        Error::Store(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::Kit(failure)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let error = match error {
            Error::Kit(failure) => return failure,
            Error::Store(error) => error,
        };
        let kind = match error.kind() {
            ErrorKind::Busy => FailureKind::Busy,
            ErrorKind::Full => FailureKind::Full,
            ErrorKind::Io | ErrorKind::Unflushed | ErrorKind::ReadOnly | ErrorKind::NotFound => {
                FailureKind::Io
            }
            ErrorKind::Damaged | ErrorKind::Foreign | ErrorKind::WrongKey | ErrorKind::Encrypted => {
                FailureKind::Corrupt
            }
            _ => FailureKind::Other,
        };
        failure(kind, error.to_string())
    }
}
