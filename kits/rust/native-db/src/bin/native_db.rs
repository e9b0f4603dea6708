//! native_db, as its users write it: declared models, a transaction for each call, and its watchers. It is here for
//! those, so it stores objects only.
//!
//! A watcher is a channel for the events of one key, or of a range of them; no query has one, so only single objects can be
//! watched. Its events go out inside the call that commits, and hold both objects encoded: a subscriber that reads one
//! decodes it.

use native_db::watch::Event;
use native_db::{Builder, Database, Models, ToKey, native_db};
use native_model::{Model, native_model};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::process::ExitCode;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, LazyLock};
use touchstone_kit::{
    self as kit, About, Difference, Driver, Failure, FailureKind, Kit, Live, Moments, Open, Settings, Store,
    Subscription, Update, Verb, Watched, failure,
};

fn main() -> ExitCode {
    let about = About {
        subject: "native_db".into(),
        version: env!("VERSION_NATIVE_DB").into(),
        engine: concat!("redb ", env!("VERSION_REDB")).into(),
        engine_source: String::new(),
        compile_options: Vec::new(),
    };
    Kit::<NativeDb>::new(about).live::<Doc>().main()
}

/// The object benchmark's record.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[native_model(id = 1, version = 1)]
#[native_db]
struct Doc {
    #[primary_key]
    title: String,
    tag: String,
    position: Position,
    colour: Colour,
    content: Content,
    priority: Option<i64>,
}

/// A point in space.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Position {
    x: f32,
    y: f32,
    z: f32,
}

/// A colour.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
enum Colour {
    Red,
    Green,
    Blue,
}

/// What an object contains.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
enum Content {
    Images(Vec<String>),
    None,
    Text(String),
}

impl kit::Stored for Doc {
    type Key = String;
    type Of = kit::Doc;

    fn stored_key(&self) -> &String {
        &self.title
    }

    fn into_record(self) -> kit::Doc {
        let Doc { title, tag, position, colour, content, priority } = self;
        let position = kit::Position { x: position.x, y: position.y, z: position.z };
        let colour = match colour {
            Colour::Red => kit::Colour::Red,
            Colour::Green => kit::Colour::Green,
            Colour::Blue => kit::Colour::Blue,
        };
        let content = match content {
            Content::Images(images) => kit::Content::Images(images),
            Content::None => kit::Content::None,
            Content::Text(text) => kit::Content::Text(text),
        };
        kit::Doc { title, tag, position, colour, content, priority }
    }

    fn from_record(record: kit::Doc) -> Doc {
        let kit::Doc { title, tag, position, colour, content, priority } = record;
        let position = Position { x: position.x, y: position.y, z: position.z };
        let colour = match colour {
            kit::Colour::Red => Colour::Red,
            kit::Colour::Green => Colour::Green,
            kit::Colour::Blue => Colour::Blue,
        };
        let content = match content {
            kit::Content::Images(images) => Content::Images(images),
            kit::Content::None => Content::None,
            kit::Content::Text(text) => Content::Text(text),
        };
        Doc { title, tag, position, colour, content, priority }
    }
}

static MODELS: LazyLock<Models> = LazyLock::new(|| {
    let mut models = Models::new();
    models.define::<Doc>().expect("the model is one");
    models
});

struct NativeDb {
    database: Arc<Database<'static>>,
    watched: Vec<(Receiver<Event>, u64)>,
}

impl Driver for NativeDb {
    type Error = Error;

    fn open(open: &Open) -> Result<NativeDb, Error> {
        open.key_alone_is_indexed()?;
        let mut builder = Builder::new();
        if let Some(bytes) = open.number("cache_size_bytes")? {
            builder.set_cache_size(bytes as usize);
        }
        let file = open.directory.join("benchmark.native_db");
        let database =
            if open.schema.create { builder.create(&MODELS, file)? } else { builder.open(&MODELS, file)? };
        Ok(NativeDb { database: Arc::new(database), watched: Vec::new() })
    }

    fn another(&self, _open: &Open) -> Result<NativeDb, Error> {
        Ok(NativeDb { database: Arc::clone(&self.database), watched: Vec::new() })
    }

    /// It tells of none.
    fn settings(&mut self) -> Result<Settings, Error> {
        Ok(Settings::new())
    }

    fn close(self) -> Result<(), Error> {
        for (_, id) in &self.watched {
            self.database.unwatch(*id)?;
        }
        Ok(())
    }
}

impl Store<Doc> for NativeDb {
    const VERBS: &'static [Verb] = &[Verb::Get, Verb::ReadAll, Verb::InsertOne, Verb::InsertMany];

    fn get(&mut self, title: &String) -> Result<Option<Doc>, Error> {
        Ok(self.database.r_transaction()?.get().primary(title.as_str())?)
    }

    fn read_all(&mut self) -> Result<Vec<Doc>, Error> {
        let transaction = self.database.r_transaction()?;
        Ok(transaction.scan().primary()?.all()?.collect::<Result<_, _>>()?)
    }

    fn insert_one(&mut self, record: &Doc) -> Result<(), Error> {
        self.insert_many(&[record])
    }

    fn insert_many(&mut self, records: &[&Doc]) -> Result<(), Error> {
        let transaction = self.database.rw_transaction()?;
        for record in records {
            transaction.insert(Doc::clone(record))?;
        }
        Ok(transaction.commit()?)
    }
}

impl Live<Doc> for NativeDb {
    const WATCHES: &'static [Watched] = &[Watched::Object];
    type Update = Told;
    type First = Option<Doc>;

    fn watch(&mut self, subscriptions: &[Subscription]) -> Result<(), Error> {
        for (_, id) in self.watched.drain(..) {
            self.database.unwatch(id)?;
        }
        for subscription in subscriptions {
            self.watched.push(self.database.watch().get().primary::<Doc>(title_of(subscription)?)?);
        }
        Ok(())
    }

    /// Who watches an object gets it himself; watched before, so that no change is missed between the two.
    fn subscribe(&mut self, subscription: &Subscription) -> Result<Option<Doc>, Error> {
        let title = title_of(subscription)?;
        self.watched.push(self.database.watch().get().primary::<Doc>(title)?);
        Ok(self.database.r_transaction()?.get().primary(title)?)
    }

    fn unsubscribe(&mut self) -> Result<(), Error> {
        match self.watched.pop() {
            Some((_, id)) => Ok(self.database.unwatch(id).map(drop)?),
            None => Ok(()),
        }
    }

    fn first_records(first: &Option<Doc>) -> impl Iterator<Item = &Doc> {
        first.iter()
    }

    /// An update takes the old object too, as whoever changes it has it.
    fn change(&mut self, states: &[&Doc], moments: &mut Moments) -> Result<(), Error> {
        let transaction = self.database.rw_transaction()?;
        for state in states {
            if let Some(old) = transaction.get().primary::<Doc>(state.title.as_str())? {
                transaction.update(old, Doc::clone(state))?;
            }
        }
        moments.handed_over();
        Ok(transaction.commit()?)
    }

    fn receive(&mut self, updates: &mut Vec<Told>) -> Result<(), Error> {
        for (number, (events, _)) in self.watched.iter().enumerate() {
            updates.extend(events.try_iter().map(|event| Told { number, event, decoded: OnceCell::new() }));
        }
        Ok(())
    }

    fn fetch(&mut self, subscription: &Subscription) -> Result<Vec<Doc>, Error> {
        let title = title_of(subscription)?;
        Ok(self.database.r_transaction()?.get().primary(title)?.into_iter().collect())
    }
}

fn title_of(subscription: &Subscription) -> Result<&str, Failure> {
    match subscription {
        Subscription::Object { title } => Ok(title),
        _ => Err(failure(FailureKind::Unsupported, "it watches no queries")),
    }
}

/// An event of one object.
struct Told {
    number: usize,
    event: Event,
    /// The object that is there now, for the kit.
    decoded: OnceCell<Option<Doc>>,
}

impl Told {
    /// The object that was there and the one that is.
    fn objects(&self) -> (Option<Doc>, Option<Doc>) {
        match &self.event {
            Event::Insert(insert) => (None, insert.inner().ok()),
            Event::Update(update) => (update.inner_old().ok(), update.inner_new().ok()),
            Event::Delete(delete) => (delete.inner().ok(), None),
        }
    }

    fn now(&self) -> Option<Doc> {
        match &self.event {
            Event::Insert(insert) => insert.inner().ok(),
            Event::Update(update) => update.inner_new().ok(),
            Event::Delete(_) => None,
        }
    }
}

impl Update<Doc> for Told {
    type Copy = Option<Doc>;
    type Diff = (Option<Doc>, Option<Doc>);

    fn subscription(&self) -> usize {
        self.number
    }

    fn sum(&self) -> i64 {
        self.now().and_then(|doc| doc.priority).unwrap_or(0)
    }

    fn copy(&self) -> Option<Doc> {
        self.now()
    }

    fn diff(&self) -> (Option<Doc>, Option<Doc>) {
        self.objects()
    }

    fn records(&self) -> impl Iterator<Item = &Doc> {
        self.decoded.get_or_init(|| self.now()).iter()
    }

    fn copied(copy: &Option<Doc>) -> impl Iterator<Item = &Doc> {
        copy.iter()
    }

    fn differences((old, new): (Option<Doc>, Option<Doc>)) -> Vec<Difference<Doc>> {
        match (old, new) {
            (Some(_), Some(record)) => vec![Difference::Changed { at: 0, record }],
            (None, Some(record)) => vec![Difference::Inserted { at: 0, record }],
            (Some(_), None) => vec![Difference::Removed { at: 0 }],
            (None, None) => Vec::new(),
        }
    }
}

/// The library's error, or what it has no error for.
enum Error {
    Library(native_db::db_type::Error),
    Kit(Failure),
}

impl From<native_db::db_type::Error> for Error {
    fn from(error: native_db::db_type::Error) -> Error {
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
            Error::Library(error) => failure(FailureKind::Other, error.to_string()),
        }
    }
}
