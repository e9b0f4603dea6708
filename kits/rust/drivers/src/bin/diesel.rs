//! Diesel, as its users write it: tables declared, models derived, queries from the builder, statements cached
//! by the connection. An object's images are one text in JSON. Tables are declared in the program, so there are as many
//! for whole objects as it declares: four, and one for each of the other types.

use diesel::connection::{InstrumentationEvent, SimpleConnection};
use diesel::deserialize::{self, FromSql};
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error as DieselError};
use diesel::row::{Field, NamedRow, Row as AnyRow};
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::{Sqlite, SqliteType};
use drivers::sqlite;
use schema::{benchmark, documents};
use std::borrow::Cow;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use touchstone_kit::{
    Colour, Content, Doc, DocV2, DocV3, DocV4, Document, Driver, Failure, FailureKind, Kit, Open, Operation,
    Plan, Position, RecordKind, Row, Setting, Settings, Store, Verb, failure,
};

fn main() -> ExitCode {
    Kit::<Diesel>::new(sqlite::about("diesel", env!("VERSION_DIESEL")))
        .rows()
        .documents()
        .docs()
        .typed::<DocV2, DocV3, DocV4>()
        .main()
}

mod schema {
    diesel::table! {
        benchmark (key) {
            key -> BigInt,
            value -> Binary,
        }
    }

    diesel::table! {
        documents (id) {
            id -> Text,
            revision -> BigInt,
            hash -> Binary,
            data -> Text,
        }
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = benchmark)]
struct BenchmarkRow {
    key: i64,
    value: Vec<u8>,
}

#[derive(Insertable)]
#[diesel(table_name = benchmark)]
struct NewBenchmarkRow<'r> {
    key: i64,
    value: &'r [u8],
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = documents)]
struct StoredDocument {
    id: String,
    revision: i64,
    hash: Vec<u8>,
    data: String,
}

#[derive(Insertable)]
#[diesel(table_name = documents)]
struct NewDocument<'r> {
    id: &'r str,
    revision: i64,
    hash: &'r [u8],
    data: &'r str,
}

/// Rows of one insert statement: SQLite takes at most 32,766 values in a statement.
const ROWS_PER_INSERT: usize = 1_000;

struct Diesel {
    connection: SqliteConnection,
    /// Which table of objects.
    table: u32,
    /// The statements that ran while being watched.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Driver for Diesel {
    type Error = Error;
    const HOLDS: bool = true;

    fn open(open: &Open) -> Result<Diesel, Error> {
        let file = sqlite::file(&open.directory);
        let mut connection = SqliteConnection::establish(&file.to_string_lossy())
            .map_err(|error| failure(FailureKind::Io, error.to_string()))?;
        connection.batch_execute(&sqlite::pragmas(open)?)?;
        if open.schema.create {
            connection.batch_execute(&sqlite::create(open)?)?;
        }
        if open.record == RecordKind::Doc && open.table > DOC_TABLES {
            let message = format!("table {} was asked for; the program declares {DOC_TABLES}", open.table);
            return Err(failure(FailureKind::Unsupported, message).into());
        }
        Ok(Diesel { connection, table: open.table, seen: Arc::default() })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        sqlite::read_back(false, |pragma| {
            let answer: Option<First> =
                diesel::sql_query(pragma).get_result(&mut self.connection).optional()?;
            Ok(answer.and_then(|First(setting)| setting))
        })
    }

    fn begin_read(&mut self) -> Result<(), Error> {
        Ok(self.connection.batch_execute("begin")?)
    }

    fn end_read(&mut self) -> Result<(), Error> {
        Ok(self.connection.batch_execute("commit")?)
    }

    fn explain(&mut self) -> Result<(), Error> {
        let seen = Arc::clone(&self.seen);
        self.connection.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            if let InstrumentationEvent::StartQuery { query, .. } = event {
                let text = query.to_string();
                let sql = text.split(" -- binds").next().unwrap_or_default().to_owned();
                let mut seen = seen.lock().expect("nobody panics while noting a statement");
                if !seen.contains(&sql) {
                    seen.push(sql);
                }
            }
        });
        Ok(())
    }

    /// Diesel does not hand out its connection to SQLite, so there are no counters.
    fn explained(&mut self) -> Result<Plan, Error> {
        self.connection.set_instrumentation(|_: InstrumentationEvent<'_>| {});
        let seen = std::mem::take(&mut *self.seen.lock().expect("nobody panics while noting a statement"));
        let mut plan = Plan::default();
        for sql in seen.iter().filter(|sql| sql.starts_with("SELECT")) {
            let steps: Vec<Step> =
                diesel::sql_query(format!("explain query plan {sql}")).load(&mut self.connection)?;
            plan.plan.extend(steps.into_iter().map(|step| step.detail));
        }
        Ok(plan)
    }

    fn close(self) -> Result<(), Error> {
        Ok(())
    }
}

impl Store<Row> for Diesel {
    const VERBS: &'static [Verb] = &Verb::OF_MIXED_RECORDS;

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Error> {
        get_row(&mut self.connection, *key)
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Error> {
        let rows = benchmark::table.select(BenchmarkRow::as_select()).load(&mut self.connection)?;
        Ok(rows.into_iter().map(Row::from).collect())
    }

    fn insert_one(&mut self, record: &Row) -> Result<(), Error> {
        diesel::insert_into(benchmark::table)
            .values(NewBenchmarkRow::from(record))
            .execute(&mut self.connection)?;
        Ok(())
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Error> {
        self.connection.immediate_transaction(|connection| {
            for rows in records.chunks(ROWS_PER_INSERT) {
                let rows: Vec<_> = rows.iter().map(|record| NewBenchmarkRow::from(*record)).collect();
                diesel::insert_into(benchmark::table).values(&rows).execute(connection)?;
            }
            Ok(())
        })
    }

    fn mix(&mut self, operations: &[Operation<'_, Row>], found: &mut Vec<Row>) -> Result<u64, Error> {
        if let [operation] = operations {
            return play_row(&mut self.connection, operation, found);
        }
        let all = |connection: &mut SqliteConnection| {
            operations
                .iter()
                .try_fold(0, |updated, operation| Ok(updated + play_row(connection, operation, found)?))
        };
        if operations.iter().any(Operation::writes) {
            self.connection.immediate_transaction(all)
        } else {
            self.connection.transaction(all)
        }
    }

    fn first(&mut self) -> Result<Option<Row>, Error> {
        let row = benchmark::table.select(BenchmarkRow::as_select());
        Ok(row.first(&mut self.connection).optional()?.map(Row::from))
    }
}

fn get_row(connection: &mut SqliteConnection, key: i64) -> Result<Option<Row>, Error> {
    let row = benchmark::table.find(key).select(BenchmarkRow::as_select());
    Ok(row.first(connection).optional()?.map(Row::from))
}

/// Plays one operation of a mixed transaction, and answers how many rows it updated.
fn play_row(
    connection: &mut SqliteConnection,
    operation: &Operation<'_, Row>,
    found: &mut Vec<Row>,
) -> Result<u64, Error> {
    match operation {
        Operation::Get(key) => {
            found.extend(get_row(connection, *key)?);
            Ok(0)
        }
        Operation::Update(state) => {
            let updated = diesel::update(benchmark::table.find(state.key))
                .set(benchmark::value.eq(&state.value))
                .execute(connection)?;
            Ok(updated as u64)
        }
    }
}

impl From<BenchmarkRow> for Row {
    fn from(row: BenchmarkRow) -> Row {
        Row { key: row.key, value: row.value }
    }
}

impl<'r> From<&'r Row> for NewBenchmarkRow<'r> {
    fn from(row: &'r Row) -> NewBenchmarkRow<'r> {
        NewBenchmarkRow { key: row.key, value: &row.value }
    }
}

impl Store<Document> for Diesel {
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

    fn get(&mut self, id: &String) -> Result<Option<Document>, Error> {
        let document = documents::table.find(id).select(StoredDocument::as_select());
        Ok(document.first(&mut self.connection).optional()?.map(Document::from))
    }

    fn read_all(&mut self) -> Result<Vec<Document>, Error> {
        let stored = documents::table.select(StoredDocument::as_select()).load(&mut self.connection)?;
        Ok(stored.into_iter().map(Document::from).collect())
    }

    fn insert_one(&mut self, record: &Document) -> Result<(), Error> {
        diesel::insert_into(documents::table)
            .values(NewDocument::from(record))
            .execute(&mut self.connection)?;
        Ok(())
    }

    fn insert_many(&mut self, records: &[&Document]) -> Result<(), Error> {
        self.connection.immediate_transaction(|connection| {
            for documents in records.chunks(ROWS_PER_INSERT) {
                let documents: Vec<_> = documents.iter().map(|record| NewDocument::from(*record)).collect();
                diesel::insert_into(documents::table).values(&documents).execute(connection)?;
            }
            Ok(())
        })
    }

    fn first(&mut self) -> Result<Option<Document>, Error> {
        let document = documents::table.select(StoredDocument::as_select());
        Ok(document.first(&mut self.connection).optional()?.map(Document::from))
    }
}

impl From<StoredDocument> for Document {
    fn from(stored: StoredDocument) -> Document {
        Document { id: stored.id, revision: stored.revision, hash: stored.hash, data: stored.data }
    }
}

impl<'r> From<&'r Document> for NewDocument<'r> {
    fn from(document: &'r Document) -> NewDocument<'r> {
        let Document { id, revision, hash, data } = document;
        NewDocument { id, revision: *revision, hash, data }
    }
}

/// The queries on a table whose rows are read as `$row`, and written as the `Written` that is in scope.
macro_rules! queries {
    ($table:ident, $object:ty, $row:ty) => {
        pub fn get(connection: &mut SqliteConnection, title: &str) -> Result<Option<$object>, Error> {
            let row: Option<$row> = dsl::$table.find(title).first(connection).optional()?;
            row.map(<$object>::try_from).transpose()
        }

        pub fn read_all(connection: &mut SqliteConnection) -> Result<Vec<$object>, Error> {
            let rows: Vec<$row> = dsl::$table.load(connection)?;
            rows.into_iter().map(<$object>::try_from).collect()
        }

        pub fn find(connection: &mut SqliteConnection, above: i64) -> Result<Vec<$object>, Error> {
            let rows: Vec<$row> = dsl::$table.filter(dsl::priority.gt(above)).load(connection)?;
            rows.into_iter().map(<$object>::try_from).collect()
        }

        pub fn insert_one(connection: &mut SqliteConnection, doc: &$object) -> Result<(), Error> {
            diesel::insert_into(dsl::$table).values(Written::from(doc)).execute(connection)?;
            Ok(())
        }

        pub fn insert_many(connection: &mut SqliteConnection, docs: &[&$object]) -> Result<(), Error> {
            for docs in docs.chunks(ROWS_PER_INSERT) {
                let rows: Vec<_> = docs.iter().map(|doc| Written::from(*doc)).collect();
                diesel::insert_into(dsl::$table).values(&rows).execute(connection)?;
            }
            Ok(())
        }

        pub fn update(connection: &mut SqliteConnection, state: &$object) -> Result<bool, Error> {
            let written = Written::from(state);
            let changed = diesel::update(dsl::$table.find(&state.title)).set(&written).execute(connection)?;
            Ok(changed == 1)
        }

        pub fn delete(connection: &mut SqliteConnection, title: &str) -> Result<(), Error> {
            diesel::delete(dsl::$table.find(title)).execute(connection)?;
            Ok(())
        }

        pub fn first(connection: &mut SqliteConnection) -> Result<Option<$object>, Error> {
            let row: Option<$row> = dsl::$table.first(connection).optional()?;
            row.map(<$object>::try_from).transpose()
        }
    };
}

/// A table of objects with its models and queries, as a program has them for each of its types.
macro_rules! doc_table {
    ($module:ident, $table:ident) => {
        mod $module {
            use super::{Columns, DocRow, Error, ROWS_PER_INSERT};
            use diesel::prelude::*;
            use std::borrow::Cow;
            use touchstone_kit::Doc;

            diesel::table! {
                $table (title) {
                    title -> Text,
                    tag -> Text,
                    x -> Float,
                    y -> Float,
                    z -> Float,
                    colour -> SmallInt,
                    content_kind -> SmallInt,
                    content -> Nullable<Text>,
                    priority -> Nullable<BigInt>,
                }
            }
            use $table::dsl;

            #[derive(Insertable, AsChangeset)]
            #[diesel(table_name = $table, treat_none_as_default_value = false)]
            #[diesel(primary_key(title), treat_none_as_null = true)]
            struct Written<'r> {
                title: &'r str,
                tag: &'r str,
                x: f32,
                y: f32,
                z: f32,
                colour: i16,
                content_kind: i16,
                content: Option<Cow<'r, str>>,
                priority: Option<i64>,
            }

            impl<'r> From<&'r Doc> for Written<'r> {
                fn from(doc: &'r Doc) -> Written<'r> {
                    let Columns { position: [x, y, z], colour, content_kind, content } = Columns::of(doc);
                    let (title, tag, priority) = (&doc.title, &doc.tag, doc.priority);
                    Written { title, tag, x, y, z, colour, content_kind, content, priority }
                }
            }

            queries!($table, Doc, DocRow);
        }
    };
}

doc_table!(doc_1, doc);
doc_table!(doc_2, doc_2);
doc_table!(doc_3, doc_3);
doc_table!(doc_4, doc_4);

const DOC_TABLES: u32 = 4;

/// The second type, which has a table of its own.
mod typed_2 {
    use super::{Colour, DocV2, Error, ROWS_PER_INSERT, damaged};
    use diesel::prelude::*;

    diesel::table! {
        doc_2 (title) {
            title -> Text,
            tag -> Text,
            colour -> SmallInt,
            text -> Nullable<Text>,
            priority -> Nullable<BigInt>,
        }
    }
    use doc_2::dsl;

    #[derive(Insertable, AsChangeset)]
    #[diesel(table_name = doc_2, treat_none_as_default_value = false)]
    #[diesel(primary_key(title), treat_none_as_null = true)]
    struct Written<'r> {
        title: &'r str,
        tag: &'r str,
        colour: i16,
        text: Option<&'r str>,
        priority: Option<i64>,
    }

    #[derive(Queryable)]
    struct Row {
        title: String,
        tag: String,
        colour: i16,
        text: Option<String>,
        priority: Option<i64>,
    }

    impl<'r> From<&'r DocV2> for Written<'r> {
        fn from(doc: &'r DocV2) -> Written<'r> {
            let DocV2 { title, tag, colour, text, priority } = doc;
            let (colour, text) = (colour.number().into(), text.as_deref());
            Written { title, tag, colour, text, priority: *priority }
        }
    }

    impl TryFrom<Row> for DocV2 {
        type Error = Error;

        fn try_from(row: Row) -> Result<DocV2, Error> {
            let Row { title, tag, colour, text, priority } = row;
            let colour = u8::try_from(colour).ok().and_then(Colour::from_number);
            Ok(DocV2 { title, tag, colour: colour.ok_or_else(|| damaged("colour"))?, text, priority })
        }
    }

    queries!(doc_2, DocV2, Row);
}

/// The third and the fourth type: their fields are the same.
macro_rules! table_of_a_text {
    ($module:ident, $table:ident, $object:ident) => {
        mod $module {
            use super::{Error, ROWS_PER_INSERT};
            use diesel::prelude::*;
            use touchstone_kit::$object;

            diesel::table! {
                $table (title) {
                    title -> Text,
                    tag -> Text,
                    text -> Nullable<Text>,
                    priority -> Nullable<BigInt>,
                }
            }
            use $table::dsl;

            #[derive(Insertable, AsChangeset)]
            #[diesel(table_name = $table, treat_none_as_default_value = false)]
            #[diesel(primary_key(title), treat_none_as_null = true)]
            struct Written<'r> {
                title: &'r str,
                tag: &'r str,
                text: Option<&'r str>,
                priority: Option<i64>,
            }

            #[derive(Queryable)]
            struct Row {
                title: String,
                tag: String,
                text: Option<String>,
                priority: Option<i64>,
            }

            impl<'r> From<&'r $object> for Written<'r> {
                fn from(doc: &'r $object) -> Written<'r> {
                    let $object { title, tag, text, priority } = doc;
                    Written { title, tag, text: text.as_deref(), priority: *priority }
                }
            }

            impl TryFrom<Row> for $object {
                type Error = Error;

                fn try_from(row: Row) -> Result<$object, Error> {
                    let Row { title, tag, text, priority } = row;
                    Ok($object { title, tag, text, priority })
                }
            }

            queries!($table, $object, Row);
        }
    };
}

table_of_a_text!(typed_3, doc_3, DocV3);
table_of_a_text!(typed_4, doc_4, DocV4);

/// Calls a function of the table that the handle is about; of a type that has one table, of that.
macro_rules! on_table {
    ([$only:ident], $table:expr, $function:ident($($argument:expr),*)) => {{
        let _ = $table;
        $only::$function($($argument),*)
    }};
    ([$first:ident, $second:ident, $third:ident, $last:ident], $table:expr, $function:ident($($argument:expr),*)) => {
        match $table {
            1 => $first::$function($($argument),*),
            2 => $second::$function($($argument),*),
            3 => $third::$function($($argument),*),
            _ => $last::$function($($argument),*),
        }
    };
}

/// The verbs on a type of object, whose tables are these modules.
macro_rules! verbs {
    ($object:ty, $modules:tt) => {
        impl Store<$object> for Diesel {
            const VERBS: &'static [Verb] = &Verb::OF_OBJECTS;
            const TABLES: bool = true;

            fn get(&mut self, title: &String) -> Result<Option<$object>, Error> {
                on_table!($modules, self.table, get(&mut self.connection, title))
            }

            fn read_all(&mut self) -> Result<Vec<$object>, Error> {
                on_table!($modules, self.table, read_all(&mut self.connection))
            }

            fn insert_one(&mut self, record: &$object) -> Result<(), Error> {
                on_table!($modules, self.table, insert_one(&mut self.connection, record))
            }

            fn insert_many(&mut self, records: &[&$object]) -> Result<(), Error> {
                let table = self.table;
                self.connection.immediate_transaction(|connection| {
                    on_table!($modules, table, insert_many(connection, records))
                })
            }

            fn find(&mut self, above: i64) -> Result<Vec<$object>, Error> {
                on_table!($modules, self.table, find(&mut self.connection, above))
            }

            fn update_one(&mut self, state: &$object) -> Result<bool, Error> {
                on_table!($modules, self.table, update(&mut self.connection, state))
            }

            fn update_many(&mut self, states: &[&$object]) -> Result<Vec<$object>, Error> {
                let table = self.table;
                self.connection.immediate_transaction(|connection| {
                    let fetched = on_table!($modules, table, read_all(connection))?;
                    for state in states {
                        on_table!($modules, table, update(connection, state))?;
                    }
                    Ok(fetched)
                })
            }

            fn delete_many(&mut self) -> Result<Vec<$object>, Error> {
                let table = self.table;
                self.connection.immediate_transaction(|connection| {
                    let fetched = on_table!($modules, table, read_all(connection))?;
                    for doc in &fetched {
                        on_table!($modules, table, delete(connection, &doc.title))?;
                    }
                    Ok(fetched)
                })
            }

            fn first(&mut self) -> Result<Option<$object>, Error> {
                on_table!($modules, self.table, first(&mut self.connection))
            }
        }
    };
}

verbs!(Doc, [doc_1, doc_2, doc_3, doc_4]);
verbs!(DocV2, [typed_2]);
verbs!(DocV3, [typed_3]);
verbs!(DocV4, [typed_4]);

fn damaged(column: &str) -> Error {
    failure(FailureKind::Corrupt, format!("column {column} holds what no object has")).into()
}

/// A row of any table of whole objects, column by column.
#[derive(Queryable)]
struct DocRow {
    title: String,
    tag: String,
    x: f32,
    y: f32,
    z: f32,
    colour: i16,
    content_kind: i16,
    content: Option<String>,
    priority: Option<i64>,
}

impl TryFrom<DocRow> for Doc {
    type Error = Error;

    fn try_from(row: DocRow) -> Result<Doc, Error> {
        let content = match (row.content_kind, row.content) {
            (0, Some(names)) => Content::Images(
                serde_json::from_str(&names).map_err(|error| damaged(&format!("content ({error})")))?,
            ),
            (1, None) => Content::None,
            (2, Some(text)) => Content::Text(text),
            _ => return Err(damaged("content")),
        };
        let colour = u8::try_from(row.colour).ok().and_then(Colour::from_number);
        Ok(Doc {
            title: row.title,
            tag: row.tag,
            position: Position { x: row.x, y: row.y, z: row.z },
            colour: colour.ok_or_else(|| damaged("colour"))?,
            content,
            priority: row.priority,
        })
    }
}

/// The columns of an object that are not its fields as they are.
struct Columns<'r> {
    position: [f32; 3],
    colour: i16,
    content_kind: i16,
    content: Option<Cow<'r, str>>,
}

impl<'r> Columns<'r> {
    fn of(doc: &'r Doc) -> Columns<'r> {
        let Position { x, y, z } = doc.position;
        Columns {
            position: [x, y, z],
            colour: doc.colour.number().into(),
            content_kind: doc.content.number().into(),
            content: match &doc.content {
                Content::Images(names) => {
                    Some(serde_json::to_string(names).expect("texts can be written as JSON").into())
                }
                Content::None => None,
                Content::Text(text) => Some(text.into()),
            },
        }
    }
}

/// The first column of a pragma's answer, whatever its name and type.
struct First(Option<Setting>);

impl QueryableByName<Sqlite> for First {
    fn build<'a>(row: &impl NamedRow<'a, Sqlite>) -> deserialize::Result<First> {
        let field = AnyRow::get(row, 0).ok_or("a pragma answers at least one column")?;
        let Some(value) = field.value() else { return Ok(First(None)) };
        Ok(First(Some(match value.value_type() {
            Some(SqliteType::Long | SqliteType::Integer) => {
                Setting::Number(<i64 as FromSql<BigInt, Sqlite>>::from_sql(value)?)
            }
            _ => Setting::Word(<String as FromSql<Text, Sqlite>>::from_sql(value)?),
        })))
    }
}

#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = Text)]
    detail: String,
}

/// Diesel's own error, or what it has no error for.
enum Error {
    Library(DieselError),
    Kit(Failure),
}

impl From<DieselError> for Error {
    fn from(error: DieselError) -> Error {
        Error::Library(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::Kit(failure)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Kit(failure) => failure,
            Error::Library(error) => failure(kind(&error), error.to_string()),
        }
    }
}

/// Diesel passes on SQLite's message but not its code.
fn kind(error: &DieselError) -> FailureKind {
    let DieselError::DatabaseError(DatabaseErrorKind::Unknown, information) = error else {
        return FailureKind::Other;
    };
    match information.message() {
        "database is locked" | "database table is locked" => FailureKind::Busy,
        "database or disk is full" => FailureKind::Full,
        "disk I/O error" | "unable to open database file" => FailureKind::Io,
        "database disk image is malformed" | "file is not a database" => FailureKind::Corrupt,
        _ => FailureKind::Other,
    }
}
