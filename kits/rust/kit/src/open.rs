//! What `open` asks for, with the settings read out by type.

use crate::{Failure, FailureKind, RecordKind, Schema, Setting, Settings, failure};
use std::path::PathBuf;

/// What a driver is asked to open.
#[derive(Clone, Debug)]
pub struct Open {
    /// An existing directory that belongs to this contender alone.
    pub directory: PathBuf,
    /// The record type that it stores.
    pub record: RecordKind,
    /// Its tables and indexes.
    pub schema: Schema,
    /// The table that the handle's verbs are about, from 1. Only a driver that says [`TABLES`](crate::Store::TABLES)
    /// is asked for another than the first.
    pub table: u32,
    /// What is asked for, by neutral name. A driver leaves alone what it has no notion of.
    pub settings: Settings,
}

/// What a service is asked to serve.
#[derive(Clone, Debug)]
pub struct Asked {
    /// An existing directory that belongs to this contender alone.
    pub directory: PathBuf,
    /// What is asked for, by neutral name.
    pub settings: Settings,
}

impl Asked {
    /// The setting as one of `words`, if it is asked for.
    ///
    /// # Errors
    /// When it is asked for with another value.
    pub fn word(&self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, Failure> {
        word(&self.settings, name, words)
    }
}

/// The setting as one of `words`, if it is asked for.
fn word(settings: &Settings, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, Failure> {
    let Some(asked) = settings.get(name) else { return Ok(None) };
    let known = words.iter().find(|word| matches!(asked, Setting::Word(asked) if asked == *word));
    known.map(|word| Some(*word)).ok_or_else(|| {
        let words = words.join(", ");
        failure(FailureKind::Unsupported, format!("setting {name}: `{asked}` is not one of {words}"))
    })
}

impl Open {
    /// The number of the type that the table holds: 1, unless it is a further table of a typed database.
    pub fn type_number(&self) -> u32 {
        if self.schema.typed { self.table } else { 1 }
    }

    /// The setting as a number, if it is asked for.
    ///
    /// # Errors
    /// When it is asked for as a word.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Failure> {
        match self.settings.get(name) {
            None => Ok(None),
            Some(Setting::Number(number)) => Ok(Some(*number)),
            Some(Setting::Word(word)) => {
                Err(failure(FailureKind::Unsupported, format!("setting {name}: `{word}` is not a number")))
            }
        }
    }

    /// The setting as one of `words`, if it is asked for.
    ///
    /// # Errors
    /// When it is asked for with another value.
    pub fn word(&self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, Failure> {
        word(&self.settings, name, words)
    }

    /// Refuses an index on any field but the key, which has one already: for a library that makes none when it is asked,
    /// lest an arm be told to have what it has not.
    ///
    /// # Errors
    /// When there is another.
    pub fn key_alone_is_indexed(&self) -> Result<(), Failure> {
        let key = match self.record {
            RecordKind::Row => "key",
            RecordKind::Document => "id",
            RecordKind::Doc => "title",
        };
        match self.schema.indexes.iter().find(|field| *field != key) {
            None => Ok(()),
            Some(field) => Err(failure(
                FailureKind::Unsupported,
                format!(
                    "index on `{field}`: this library makes none when it is asked, and its `{key}` has one"
                ),
            )),
        }
    }
}
