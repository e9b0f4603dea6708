//! The records as a program that stores them declares them. They are made of the kit's off the clock, where a dataset is
//! read; what is answered is made the kit's again on it, which moves the fields.

use touchstone_kit as kit;
use touchstone_store::{Nested, Record};

/// The wrapper benchmarks' record.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "benchmark")]
pub struct Row {
    /// Its key.
    #[record(key)]
    pub key: i64,
    /// Its bytes.
    pub value: Vec<u8>,
}

impl kit::Stored for Row {
    type Key = i64;
    type Of = kit::Row;

    fn stored_key(&self) -> &i64 {
        &self.key
    }

    fn from_record(kit::Row { key, value }: kit::Row) -> Row {
        Row { key, value }
    }

    fn into_record(self) -> kit::Row {
        let Row { key, value } = self;
        kit::Row { key, value }
    }
}

/// The document benchmark's record.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "documents")]
pub struct Document {
    /// Its name.
    #[record(key)]
    pub id: String,
    /// Its revision.
    pub revision: i64,
    /// A hash of its data.
    pub hash: Vec<u8>,
    /// The document itself.
    pub data: String,
}

impl kit::Stored for Document {
    type Key = String;
    type Of = kit::Document;

    fn stored_key(&self) -> &String {
        &self.id
    }

    fn from_record(record: kit::Document) -> Document {
        let kit::Document { id, revision, hash, data } = record;
        Document { id, revision, hash, data }
    }

    fn into_record(self) -> kit::Document {
        let Document { id, revision, hash, data } = self;
        kit::Document { id, revision, hash, data }
    }
}

/// The object benchmark's record.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Doc {
    /// Its title.
    #[record(key)]
    pub title: String,
    /// A short text.
    pub tag: String,
    /// Where it is.
    pub position: Position,
    /// One of three.
    pub colour: Colour,
    /// One of three kinds of content.
    pub content: Content,
    /// The field that is searched without an index.
    pub priority: Option<i64>,
}

/// A point in space.
#[derive(Nested, Clone, Debug, PartialEq)]
pub struct Position {
    /// To the right.
    #[tag(1)]
    pub x: f32,
    /// Upwards.
    #[tag(2)]
    pub y: f32,
    /// Towards the viewer.
    #[tag(3)]
    pub z: f32,
}

/// A colour.
#[derive(Nested, Clone, Copy, Debug, PartialEq)]
pub enum Colour {
    /// The first.
    #[tag(0)]
    Red,
    /// The second.
    #[tag(1)]
    Green,
    /// The third.
    #[tag(2)]
    Blue,
}

impl From<Colour> for kit::Colour {
    fn from(colour: Colour) -> kit::Colour {
        match colour {
            Colour::Red => kit::Colour::Red,
            Colour::Green => kit::Colour::Green,
            Colour::Blue => kit::Colour::Blue,
        }
    }
}

impl From<kit::Colour> for Colour {
    fn from(colour: kit::Colour) -> Colour {
        match colour {
            kit::Colour::Red => Colour::Red,
            kit::Colour::Green => Colour::Green,
            kit::Colour::Blue => Colour::Blue,
        }
    }
}

/// What an object contains.
#[derive(Nested, Clone, Debug, PartialEq)]
pub enum Content {
    /// The names of images.
    #[tag(0)]
    Images(#[tag(1)] Vec<String>),
    /// Nothing.
    #[tag(1)]
    None,
    /// A text.
    #[tag(2)]
    Text(#[tag(1)] String),
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
        let colour = colour.into();
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
        let colour = colour.into();
        let content = match content {
            kit::Content::Images(images) => Content::Images(images),
            kit::Content::None => Content::None,
            kit::Content::Text(text) => Content::Text(text),
        };
        Doc { title, tag, position, colour, content, priority }
    }
}
