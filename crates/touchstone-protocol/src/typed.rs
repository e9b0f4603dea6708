//! The types of object that tables 2, 3 and 4 of a typed database hold: those of the published page, which have fewer
//! fields than a [`Doc`] each, and a text that may be missing in the place of a content.
//!
//! Each is made of a `Doc` that a dataset has, and in an answer it is a `Doc` again, whose other fields are red, in no
//! other place than 0, and empty.

use crate::{Colour, Content, Doc, Record, RecordKind};

/// How many tables have a type of their own, the first one included.
pub const TYPED_TABLES: u32 = 4;

/// What table 2 holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocV2 {
    /// Its key.
    pub title: String,
    /// A short text.
    pub tag: String,
    /// One of three.
    pub colour: Colour,
    /// A text that may be missing.
    pub text: Option<String>,
    /// The field that is searched without an index; it may be missing.
    pub priority: Option<i64>,
}

/// What table 3 holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocV3 {
    /// Its key.
    pub title: String,
    /// A short text.
    pub tag: String,
    /// A text that may be missing.
    pub text: Option<String>,
    /// The field that is searched without an index; it may be missing.
    pub priority: Option<i64>,
}

/// What table 4 holds: the fields of a [`DocV3`], and another type all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocV4 {
    /// Its key.
    pub title: String,
    /// A short text.
    pub tag: String,
    /// A text that may be missing.
    pub text: Option<String>,
    /// The field that is searched without an index; it may be missing.
    pub priority: Option<i64>,
}

impl Doc {
    /// What table `table` of a typed database keeps of the object.
    pub fn kept_in(self, table: u32) -> Doc {
        match table {
            2 => DocV2::from(self).into(),
            3 => DocV3::from(self).into(),
            4 => DocV4::from(self).into(),
            _ => self,
        }
    }
}

fn text(content: Content) -> Option<String> {
    match content {
        Content::Text(text) => Some(text),
        Content::Images(_) | Content::None => None,
    }
}

fn content(text: Option<String>) -> Content {
    text.map_or(Content::None, Content::Text)
}

/// A type with fields of a `Doc` under their own names, and a text.
macro_rules! narrower {
    ($type:ident { $($field:ident),* }) => {
        impl From<Doc> for $type {
            fn from(doc: Doc) -> $type {
                $type { $($field: doc.$field,)* text: text(doc.content) }
            }
        }

        impl From<$type> for Doc {
            fn from(narrow: $type) -> Doc {
                Doc { $($field: narrow.$field,)* content: content(narrow.text), ..Doc::default() }
            }
        }

        impl crate::data::sealed::Sealed for $type {}

        impl Record for $type {
            type Key = String;
            const KIND: RecordKind = RecordKind::Doc;

            fn key(&self) -> &String {
                &self.title
            }

            fn encode(&self, bytes: &mut Vec<u8>) {
                Doc::from(self.clone()).encode(bytes);
            }

            fn decode(bytes: &mut &[u8]) -> Option<$type> {
                Doc::decode(bytes).map($type::from)
            }
        }
    };
}

narrower!(DocV2 { title, tag, colour, priority });
narrower!(DocV3 { title, tag, priority });
narrower!(DocV4 { title, tag, priority });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Position;

    fn doc(content: Content) -> Doc {
        Doc {
            title: "title7".into(),
            tag: "tag7".into(),
            position: Position { x: 1.0, y: 2.0, z: 3.0 },
            colour: Colour::Blue,
            content,
            priority: Some(-7),
        }
    }

    #[test]
    fn a_table_keeps_the_fields_of_its_type_and_no_others() {
        let text = doc(Content::Text("text7".into()));
        assert_eq!(text.clone().kept_in(1), text);
        let second = Doc { position: Position::default(), ..text.clone() };
        assert_eq!(text.clone().kept_in(2), second);
        for table in [3, 4] {
            assert_eq!(text.clone().kept_in(table), Doc { colour: Colour::Red, ..second.clone() });
        }
        let images = doc(Content::Images(vec!["image7".into()]));
        for table in [2, 3, 4] {
            assert_eq!(images.clone().kept_in(table).content, Content::None);
        }
    }

    #[test]
    fn a_narrower_object_is_read_of_a_whole_one_and_written_as_what_was_kept() {
        let whole = doc(Content::Text("text7".into()));
        let (mut bytes, mut kept) = (Vec::new(), Vec::new());
        whole.encode(&mut bytes);
        let mut rest = bytes.as_slice();
        DocV2::decode(&mut rest).unwrap().encode(&mut kept);
        assert!(rest.is_empty());
        assert_eq!(Doc::decode(&mut kept.as_slice()), Some(whole.kept_in(2)));
    }
}
