//! The records as a program that stores them declares them. The kit's own types are made of them only off the clock,
//! where a dataset is read and an answer is digested.

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

impl kit::Record for Row {
    type Key = i64;
    const KIND: kit::RecordKind = kit::RecordKind::Row;

    fn key(&self) -> &i64 {
        &self.key
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        kit::Row { key: self.key, value: self.value.clone() }.encode(bytes);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Row> {
        kit::Row::decode(bytes).map(|row| Row { key: row.key, value: row.value })
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

impl kit::Record for Document {
    type Key = String;
    const KIND: kit::RecordKind = kit::RecordKind::Document;

    fn key(&self) -> &String {
        &self.id
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let Document { id, revision, hash, data } = self.clone();
        kit::Document { id, revision, hash, data }.encode(bytes);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Document> {
        let kit::Document { id, revision, hash, data } = kit::Document::decode(bytes)?;
        Some(Document { id, revision, hash, data })
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

impl kit::Record for Doc {
    type Key = String;
    const KIND: kit::RecordKind = kit::RecordKind::Doc;

    fn key(&self) -> &String {
        &self.title
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let Doc { title, tag, position, colour, content, priority } = self.clone();
        let position = kit::Position { x: position.x, y: position.y, z: position.z };
        let colour = colour.into();
        let content = match content {
            Content::Images(images) => kit::Content::Images(images),
            Content::None => kit::Content::None,
            Content::Text(text) => kit::Content::Text(text),
        };
        kit::Doc { title, tag, position, colour, content, priority }.encode(bytes);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Doc> {
        let kit::Doc { title, tag, position, colour, content, priority } = kit::Doc::decode(bytes)?;
        let position = Position { x: position.x, y: position.y, z: position.z };
        let colour = colour.into();
        let content = match content {
            kit::Content::Images(images) => Content::Images(images),
            kit::Content::None => Content::None,
            kit::Content::Text(text) => Content::Text(text),
        };
        Some(Doc { title, tag, position, colour, content, priority })
    }
}
