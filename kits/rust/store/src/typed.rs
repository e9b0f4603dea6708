//! The types of object that further tables of a typed database hold, as a program that stores them declares them.

use crate::records::Colour;
use touchstone_kit as kit;
use touchstone_store::Record;

/// What table 2 holds.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct DocV2 {
    /// Its title.
    #[record(key)]
    pub title: String,
    /// A short text.
    pub tag: String,
    /// One of three.
    pub colour: Colour,
    /// A text that may be missing.
    pub text: Option<String>,
    /// The field that is searched without an index.
    pub priority: Option<i64>,
}

/// What table 3 holds.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct DocV3 {
    /// Its title.
    #[record(key)]
    pub title: String,
    /// A short text.
    pub tag: String,
    /// A text that may be missing.
    pub text: Option<String>,
    /// The field that is searched without an index.
    pub priority: Option<i64>,
}

/// What table 4 holds.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct DocV4 {
    /// Its title.
    #[record(key)]
    pub title: String,
    /// A short text.
    pub tag: String,
    /// A text that may be missing.
    pub text: Option<String>,
    /// The field that is searched without an index.
    pub priority: Option<i64>,
}

/// A type with the same fields as the kit's of that name.
macro_rules! record {
    ($type:ident { $($field:ident),* }) => {
        impl kit::Stored for $type {
            type Key = String;
            type Of = kit::$type;

            fn stored_key(&self) -> &String {
                &self.title
            }

            fn from_record(record: kit::$type) -> $type {
                let kit::$type { $($field),* } = record;
                $type { $($field: $field.into()),* }
            }

            fn into_record(self) -> kit::$type {
                let $type { $($field),* } = self;
                kit::$type { $($field: $field.into()),* }
            }
        }
    };
}

record!(DocV2 { title, tag, colour, text, priority });
record!(DocV3 { title, tag, text, priority });
record!(DocV4 { title, tag, text, priority });
