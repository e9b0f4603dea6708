//! An entry of the change log, decoded from CBOR (RFC 8949): a map from each table's name to the keys of its changed
//! rows. Integer keys are delta-encoded, and a run of consecutive keys is run-length-encoded as
//! `{delta: keys after the first}`. Any other key is an array of its columns. Null instead of the keys: any row of the
//! table may have changed; null instead of the map: any row of any table.

use super::gathering::KEYS_MAX;
use crate::engine::log::{LogPlace, LogState};
use crate::value::{Raw, Stored};
use minicbor::Decoder;
use minicbor::data::Type;

/// The entry of one transaction.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) number: i64,
    /// The log index's count of commits before the commit, and after it.
    pub(crate) follows: u32,
    pub(crate) counted: u32,
    /// The state of the log before the commit, if the entry has it.
    pub(crate) place: Option<LogPlace>,
    /// None if anything may have changed.
    pub(crate) changes: Option<Vec<Changed>>,
}

/// The changed rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Changed {
    pub(crate) table: String,
    pub(crate) keys: Keys,
}

/// The keys of changed rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Keys {
    /// Any row may have changed.
    All,
    /// The rows with these keys; a key is its columns.
    These(Vec<Vec<Stored>>),
}

impl Entry {
    /// The entry of a row of the table. A row that is no entry follows no commit, and any row may have changed in it.
    pub(crate) fn of(
        number: Raw<'_>,
        follows: Raw<'_>,
        counted: Raw<'_>,
        place: Raw<'_>,
        changes: Raw<'_>,
    ) -> Entry {
        let integer = |raw| if let Raw::Integer(value) = raw { Some(value) } else { None };
        let count = |raw| integer(raw).and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
        let blob = |raw| if let Raw::Blob(bytes) = raw { Some(bytes) } else { None };
        Entry {
            number: integer(number).unwrap_or(0),
            follows: count(follows),
            counted: count(counted),
            place: blob(place).and_then(place_of),
            changes: blob(changes).and_then(|bytes| changes_of(bytes).ok().flatten()),
        }
    }
}

impl Entry {
    /// Whether the entry's commit is the next commit after that state.
    pub(crate) fn is_after(&self, state: LogState) -> bool {
        let is_there = || self.place.is_some_and(|place| state.is_at(place));
        self.follows == state.change() && (super::is_lasting(self.follows) || is_there())
    }
}

/// The state of the log as in the index, in the processor's byte order.
pub(crate) fn place_bytes(place: LogPlace) -> [u8; 24] {
    let mut bytes = [0; 24];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(place) {
        *bytes = word.to_ne_bytes();
    }
    bytes
}

fn place_of(bytes: &[u8]) -> Option<LogPlace> {
    let (words, rest) = bytes.as_chunks::<8>();
    let words: &[[u8; 8]; 3] = words.try_into().ok().filter(|_| rest.is_empty())?;
    Some(words.map(u64::from_ne_bytes))
}

type Decoded<T> = Result<T, minicbor::decode::Error>;

/// The changed rows; none if any row may have changed.
pub(crate) fn changes_of(bytes: &[u8]) -> Decoded<Option<Vec<Changed>>> {
    let mut decoder = Decoder::new(bytes);
    if decoder.datatype()? == Type::Null {
        return Ok(None);
    }
    let length = decoder.map()?.ok_or_else(|| minicbor::decode::Error::message("a length is missing"))?;
    let mut changes = Vec::new();
    for _ in 0..length {
        let table = decoder.str()?.to_owned();
        changes.push(Changed { table, keys: keys(&mut decoder)? });
    }
    Ok(Some(changes))
}

fn keys(decoder: &mut Decoder<'_>) -> Decoded<Keys> {
    if decoder.datatype()? == Type::Null {
        decoder.null()?;
        return Ok(Keys::All);
    }
    let (mut keys, mut last) = (Vec::new(), 0_i64);
    for _ in 0..decoder.array()?.unwrap_or(0) {
        if decoder.datatype()? == Type::Array {
            let columns = decoder.array()?.unwrap_or(0);
            keys.push((0..columns).map(|_| column(decoder)).collect::<Decoded<_>>()?);
            continue;
        }
        let is_run = decoder.datatype()? == Type::Map && decoder.map()? == Some(1);
        // The difference of two 64-bit numbers may exceed 64 bits, so it is computed modulo 2⁶⁴.
        last = last.wrapping_add(decoder.i64()?);
        keys.push(vec![Stored::Integer(last)]);
        let more = if is_run { decoder.u64()? } else { 0 };
        for _ in 0..more {
            if keys.len() >= KEYS_MAX {
                return Err(minicbor::decode::Error::message("there are more keys than are told"));
            }
            last = last.wrapping_add(1);
            keys.push(vec![Stored::Integer(last)]);
        }
    }
    Ok(Keys::These(keys))
}

fn column(decoder: &mut Decoder<'_>) -> Decoded<Stored> {
    Ok(match decoder.datatype()? {
        Type::Null => {
            decoder.null()?;
            Stored::Null
        }
        Type::F64 => Stored::Real(decoder.f64()?),
        Type::String => Stored::Text(decoder.str()?.to_owned()),
        Type::Bytes => Stored::Blob(decoder.bytes()?.to_vec()),
        _ => Stored::Integer(decoder.i64()?),
    })
}
