//! The object benchmark's record: a title for its key, numbers, an enum, a union and an integer that may be missing.

use crate::data::{decode_array, decode_bytes, decode_i64, decode_text, encode_bytes};
use crate::{Record, RecordKind};

/// An object as a program has it: the object benchmark's record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doc {
    /// Its name, `title0` and on, and its key.
    pub title: String,
    /// A short text.
    pub tag: String,
    /// Where it is.
    pub position: Position,
    /// One of three.
    pub colour: Colour,
    /// One of three kinds of content.
    pub content: Content,
    /// The field that is searched without an index; it may be missing.
    pub priority: Option<i64>,
}

/// A point in space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// To the right.
    pub x: f32,
    /// Upwards.
    pub y: f32,
    /// Towards the viewer.
    pub z: f32,
}

/// A colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// Number 0.
    #[default]
    Red,
    /// Number 1.
    Green,
    /// Number 2.
    Blue,
}

impl Colour {
    /// The colour's number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The colour of that number, if there is one.
    pub fn from_number(number: u8) -> Option<Colour> {
        [Colour::Red, Colour::Green, Colour::Blue].get(usize::from(number)).copied()
    }
}

/// What an object contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// The names of images. Number 0.
    Images(Vec<String>),
    /// Nothing. Number 1.
    #[default]
    None,
    /// A text. Number 2.
    Text(String),
}

impl Content {
    /// The number of the content's kind.
    pub fn number(&self) -> u8 {
        match self {
            Content::Images(_) => 0,
            Content::None => 1,
            Content::Text(_) => 2,
        }
    }
}

impl crate::data::sealed::Sealed for Doc {}

impl Record for Doc {
    type Key = String;
    const KIND: RecordKind = RecordKind::Doc;

    fn key(&self) -> &String {
        &self.title
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_bytes(self.title.as_bytes(), bytes);
        encode_bytes(self.tag.as_bytes(), bytes);
        for coordinate in [self.position.x, self.position.y, self.position.z] {
            bytes.extend_from_slice(&coordinate.to_le_bytes());
        }
        bytes.push(self.colour.number());
        bytes.push(self.content.number());
        match &self.content {
            Content::Images(images) => {
                let count = u32::try_from(images.len()).expect("an object has fewer than 2^32 images");
                bytes.extend_from_slice(&count.to_le_bytes());
                images.iter().for_each(|image| encode_bytes(image.as_bytes(), bytes));
            }
            Content::None => {}
            Content::Text(text) => encode_bytes(text.as_bytes(), bytes),
        }
        bytes.push(self.priority.is_some().into());
        if let Some(priority) = self.priority {
            bytes.extend_from_slice(&priority.to_le_bytes());
        }
    }

    fn decode(bytes: &mut &[u8]) -> Option<Doc> {
        let (title, tag) = (decode_text(bytes)?, decode_text(bytes)?);
        let mut coordinate = || Some(f32::from_le_bytes(decode_array(bytes)?));
        let position = Position { x: coordinate()?, y: coordinate()?, z: coordinate()? };
        let [colour, content] = decode_array(bytes)?;
        let content = match content {
            0 => {
                let count = u32::from_le_bytes(decode_array(bytes)?);
                Content::Images((0..count).map(|_| decode_text(bytes)).collect::<Option<_>>()?)
            }
            1 => Content::None,
            2 => Content::Text(String::from_utf8(decode_bytes(bytes)?.to_vec()).ok()?),
            _ => return None,
        };
        let priority = match decode_array(bytes)? {
            [0] => None,
            [1] => Some(decode_i64(bytes)?),
            _ => return None,
        };
        Some(Doc { title, tag, position, colour: Colour::from_number(colour)?, content, priority })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs() -> [Doc; 3] {
        let images = Doc {
            title: "title0".into(),
            tag: "tag0".into(),
            position: Position { x: 0.1, y: -2.5, z: f32::MIN_POSITIVE },
            colour: Colour::Red,
            content: Content::Images(vec!["größer".into(), String::new()]),
            priority: Some(-5000),
        };
        let text = Doc { colour: Colour::Blue, content: Content::Text("text2".into()), ..Doc::default() };
        [images, Doc { colour: Colour::Green, ..Doc::default() }, text]
    }

    #[test]
    fn every_content_reads_back_as_it_was_written() {
        let mut bytes = Vec::new();
        docs().iter().for_each(|doc| doc.encode(&mut bytes));
        let mut rest = bytes.as_slice();
        for doc in docs() {
            assert_eq!(Doc::decode(&mut rest), Some(doc));
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn no_cut_and_no_unknown_number_reads_as_an_object() {
        for doc in docs() {
            let mut whole = Vec::new();
            doc.encode(&mut whole);
            for length in 0..whole.len() {
                assert_eq!(Doc::decode(&mut &whole[..length]), None, "{length} bytes of {doc:?}");
            }
        }
        let mut bytes = Vec::new();
        Doc::default().encode(&mut bytes);
        // Two empty texts of 4 bytes and three coordinates stand before the numbers of colour and content.
        for (place, number) in [(20, 3), (21, 3), (22, 2)] {
            let mut wrong = bytes.clone();
            wrong[place] = number;
            assert_eq!(Doc::decode(&mut wrong.as_slice()), None, "{number} at {place}");
        }
    }
}
