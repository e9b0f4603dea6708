//! redb, as its users write it: one table of the record's natural types, a transaction for each call, all handles
//! of a process sharing the one open database.

use redb::{
    Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, Table, TableDefinition,
    TableHandle, WriteTransaction,
};
use std::io::ErrorKind;
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{
    About, Document, Driver, Failure, FailureKind, Kit, Open, Operation, RecordKind, Row, Setting, Settings,
    Store, Verb, failure,
};

fn main() -> ExitCode {
    let about = About {
        subject: "redb".into(),
        version: env!("VERSION_REDB").into(),
        engine: concat!("redb ", env!("VERSION_REDB")).into(),
        engine_source: String::new(),
        compile_options: Vec::new(),
    };
    Kit::<Redb>::new(about).rows().documents().main()
}

type DocumentValue = (i64, &'static [u8], &'static str);

const ROWS: TableDefinition<i64, &[u8]> = TableDefinition::new("benchmark");
const DOCUMENTS: TableDefinition<&str, DocumentValue> = TableDefinition::new("documents");

struct Redb {
    database: Arc<Database>,
    durability: Durability,
    record: RecordKind,
    held: Held,
}

/// The table of a read transaction held open, which it keeps alive.
enum Held {
    None,
    Rows(ReadOnlyTable<i64, &'static [u8]>),
    Documents(ReadOnlyTable<&'static str, DocumentValue>),
}

impl Redb {
    fn begin_write(&self) -> Result<WriteTransaction, Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        Ok(transaction)
    }

    fn row_table(&self) -> Result<ReadOnlyTable<i64, &'static [u8]>, Error> {
        Ok(self.database.begin_read()?.open_table(ROWS)?)
    }

    fn document_table(&self) -> Result<ReadOnlyTable<&'static str, DocumentValue>, Error> {
        Ok(self.database.begin_read()?.open_table(DOCUMENTS)?)
    }

    /// A table exists once it has been opened for writing.
    fn create(&self, tables: u32) -> Result<(), Error> {
        let transaction = self.database.begin_write()?;
        for number in 1..=tables {
            let name = |table: &str| if number == 1 { table.to_owned() } else { format!("{table}_{number}") };
            match self.record {
                RecordKind::Row => {
                    transaction.open_table(TableDefinition::<i64, &[u8]>::new(&name(ROWS.name())))?;
                }
                RecordKind::Document => {
                    transaction
                        .open_table(TableDefinition::<&str, DocumentValue>::new(&name(DOCUMENTS.name())))?;
                }
                // The kit opens nothing for a record without a `Store`.
                RecordKind::Doc => {}
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Driver for Redb {
    type Error = Error;
    const HOLDS: bool = true;

    fn open(open: &Open) -> Result<Redb, Error> {
        open.key_alone_is_indexed()?;
        let durability = match open.word("durability", &["immediate", "none"])? {
            Some("none") => Durability::None,
            _ => Durability::Immediate,
        };
        let mut builder = Database::builder();
        if let Some(bytes) = open.number("cache_size_bytes")? {
            builder.set_cache_size(bytes as usize);
        }
        let file = open.directory.join("benchmark.redb");
        let database = if open.schema.create { builder.create(file)? } else { builder.open(file)? };
        let driver = Redb { database: Arc::new(database), durability, record: open.record, held: Held::None };
        if open.schema.create {
            driver.create(open.schema.tables)?;
        }
        Ok(driver)
    }

    fn another(&self, open: &Open) -> Result<Redb, Error> {
        let database = Arc::clone(&self.database);
        Ok(Redb { database, durability: self.durability, record: open.record, held: Held::None })
    }

    /// The durability is what each commit is given. redb does not tell the size of its cache.
    fn settings(&mut self) -> Result<Settings, Error> {
        let durability = match self.durability {
            Durability::None => "none",
            _ => "immediate",
        };
        Ok(Settings::from([("durability".into(), Setting::from(durability))]))
    }

    fn begin_read(&mut self) -> Result<(), Error> {
        self.held = match self.record {
            RecordKind::Row => Held::Rows(self.row_table()?),
            RecordKind::Document => Held::Documents(self.document_table()?),
            RecordKind::Doc => Held::None,
        };
        Ok(())
    }

    fn end_read(&mut self) -> Result<(), Error> {
        self.held = Held::None;
        Ok(())
    }

    fn close(self) -> Result<(), Error> {
        Ok(())
    }
}

impl Store<Row> for Redb {
    const VERBS: &'static [Verb] = &Verb::OF_MIXED_RECORDS;

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Error> {
        let value = match &self.held {
            Held::Rows(table) => table.get(key)?,
            _ => self.row_table()?.get(key)?,
        };
        Ok(value.map(|value| Row { key: *key, value: value.value().to_vec() }))
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Error> {
        match &self.held {
            Held::Rows(table) => read_rows(table),
            _ => read_rows(&self.row_table()?),
        }
    }

    fn insert_one(&mut self, record: &Row) -> Result<(), Error> {
        self.insert_many(&[record])
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Error> {
        let transaction = self.begin_write()?;
        let mut table = transaction.open_table(ROWS)?;
        for record in records {
            table.insert(record.key, record.value.as_slice())?;
        }
        drop(table);
        Ok(transaction.commit()?)
    }

    fn mix(&mut self, operations: &[Operation<'_, Row>], found: &mut Vec<Row>) -> Result<u64, Error> {
        if !operations.iter().any(Operation::writes) {
            return self.get_rows(operations, found).map(|()| 0);
        }
        let transaction = self.begin_write()?;
        let mut table = transaction.open_table(ROWS)?;
        let mut updated = 0;
        for operation in operations {
            match operation {
                Operation::Get(key) => found.extend(row_of(&table, *key)?),
                Operation::Update(state) => updated += u64::from(replace(&mut table, state)?),
            }
        }
        drop(table);
        transaction.commit()?;
        Ok(updated)
    }

    fn first(&mut self) -> Result<Option<Row>, Error> {
        let table = self.row_table()?;
        let first = table.first()?;
        Ok(first.map(|(key, value)| Row { key: key.value(), value: value.value().to_vec() }))
    }
}

impl Redb {
    /// The gets of a transaction that writes nothing.
    fn get_rows(&self, operations: &[Operation<'_, Row>], found: &mut Vec<Row>) -> Result<(), Error> {
        let table = self.row_table()?;
        for operation in operations {
            if let Operation::Get(key) = operation {
                found.extend(row_of(&table, *key)?);
            }
        }
        Ok(())
    }
}

fn row_of(table: &impl ReadableTable<i64, &'static [u8]>, key: i64) -> Result<Option<Row>, Error> {
    Ok(table.get(key)?.map(|value| Row { key, value: value.value().to_vec() }))
}

/// Writes over the row of that key. An insert stores it where there is none, so that is taken back.
fn replace(table: &mut Table<'_, i64, &'static [u8]>, state: &Row) -> Result<bool, Error> {
    let is_there = table.insert(state.key, state.value.as_slice())?.is_some();
    if !is_there {
        table.remove(state.key)?;
    }
    Ok(is_there)
}

fn read_rows(table: &ReadOnlyTable<i64, &'static [u8]>) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    for entry in table.iter()? {
        let (key, value) = entry?;
        rows.push(Row { key: key.value(), value: value.value().to_vec() });
    }
    Ok(rows)
}

impl Store<Document> for Redb {
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

    fn get(&mut self, id: &String) -> Result<Option<Document>, Error> {
        let value = match &self.held {
            Held::Documents(table) => table.get(id.as_str())?,
            _ => self.document_table()?.get(id.as_str())?,
        };
        Ok(value.map(|value| document(id, value.value())))
    }

    fn read_all(&mut self) -> Result<Vec<Document>, Error> {
        match &self.held {
            Held::Documents(table) => read_documents(table),
            _ => read_documents(&self.document_table()?),
        }
    }

    fn insert_one(&mut self, record: &Document) -> Result<(), Error> {
        self.insert_many(&[record])
    }

    fn insert_many(&mut self, records: &[&Document]) -> Result<(), Error> {
        let transaction = self.begin_write()?;
        let mut table = transaction.open_table(DOCUMENTS)?;
        for record in records {
            let value = (record.revision, record.hash.as_slice(), record.data.as_str());
            table.insert(record.id.as_str(), value)?;
        }
        drop(table);
        Ok(transaction.commit()?)
    }

    fn first(&mut self) -> Result<Option<Document>, Error> {
        let table = self.document_table()?;
        let first = table.first()?;
        Ok(first.map(|(id, value)| document(id.value(), value.value())))
    }
}

fn read_documents(table: &ReadOnlyTable<&'static str, DocumentValue>) -> Result<Vec<Document>, Error> {
    let mut documents = Vec::new();
    for entry in table.iter()? {
        let (id, value) = entry?;
        documents.push(document(id.value(), value.value()));
    }
    Ok(documents)
}

fn document(id: &str, (revision, hash, data): (i64, &[u8], &str)) -> Document {
    Document { id: id.to_owned(), revision, hash: hash.to_vec(), data: data.to_owned() }
}

/// What redb's errors, one type for each kind of call, have in common.
struct Error(Failure);

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error(failure)
    }
}

impl From<Error> for Failure {
    fn from(Error(failure): Error) -> Failure {
        failure
    }
}

impl From<redb::Error> for Error {
    fn from(error: redb::Error) -> Error {
        let kind = match &error {
            redb::Error::Corrupted(_) | redb::Error::UpgradeRequired(_) => FailureKind::Corrupt,
            redb::Error::DatabaseAlreadyOpen => FailureKind::Busy,
            redb::Error::Io(error) if error.kind() == ErrorKind::StorageFull => FailureKind::Full,
            redb::Error::Io(_) | redb::Error::PreviousIo => FailureKind::Io,
            _ => FailureKind::Other,
        };
        Error(failure(kind, error.to_string()))
    }
}

macro_rules! also_from {
    ($($error:ident),+) => {$(
        impl From<redb::$error> for Error {
            fn from(error: redb::$error) -> Error {
                redb::Error::from(error).into()
            }
        }
    )+};
}

also_from!(CommitError, DatabaseError, SetDurabilityError, StorageError, TableError, TransactionError);
