//! A record that live queries hold, with its key as bytes for lookups, and a digest to detect unchanged records. Its
//! positions in results are kept elsewhere.

use crate::session::read;
use crate::types::cells::{Cell, Cells};
use crate::types::error::Result;
use crate::types::record::{Columns, Record, Shape};
use crate::types::value::{Raw, Value};
use foldhash::quality::RandomState;
use smallvec::SmallVec;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, LazyLock};

/// A key's columns, encoded one after the other: equal exactly for equal keys.
pub(crate) type KeyBytes = SmallVec<[u8; 24]>;

/// A random seed for each process: nobody can prepare keys or records that collide.
static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// An encoded key, and its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowKey {
    pub(crate) hash: u64,
    pub(crate) bytes: KeyBytes,
}

impl RowKey {
    /// The key whose columns these are.
    pub(crate) fn of<'a>(columns: impl Iterator<Item = Raw<'a>>) -> RowKey {
        let mut bytes = KeyBytes::new();
        for column in columns {
            encode(column, |part| bytes.extend_from_slice(part));
        }
        RowKey { hash: hash(&bytes), bytes }
    }

    /// Appends the bytes of the key that [`at`](RowKey::at) gives, and returns their hash.
    #[inline]
    pub(crate) fn append(cells: &Cells<'_>, skipped: usize, columns: usize, bytes: &mut Vec<u8>) -> u64 {
        let start = bytes.len();
        for at in skipped..skipped + columns {
            encode(cells.raw(at).unwrap_or(Raw::Null), |part| bytes.extend_from_slice(part));
        }
        hash(&bytes[start..])
    }

    /// The key at the beginning of a row's values, after those that are skipped.
    pub(crate) fn at(cells: &Cells<'_>, skipped: usize, columns: usize) -> RowKey {
        RowKey::of((skipped..skipped + columns).map(|at| cells.raw(at).unwrap_or(Raw::Null)))
    }
}

impl RowKey {
    /// Splits bytes that hold one key after the other, each with this many columns.
    pub(crate) fn many(mut bytes: &[u8], columns: usize) -> Vec<RowKey> {
        let mut keys = Vec::new();
        while !bytes.is_empty() {
            let values: Vec<Value> = (0..columns).map_while(|_| decode(&mut bytes)).collect();
            keys.push(RowKey::of(values.iter().map(Value::raw)));
        }
        keys
    }

    /// The values of the key's columns.
    pub(crate) fn values(&self) -> Vec<Value> {
        let (mut values, mut bytes) = (Vec::new(), self.bytes.as_slice());
        while let Some(value) = decode(&mut bytes) {
            values.push(value);
        }
        values
    }
}

/// A held record.
#[derive(Debug)]
pub(crate) struct Row<T> {
    pub(crate) key: RowKey,
    /// A hash of all values: equal for equal records, and hardly ever for others.
    digest: u64,
    pub(crate) record: T,
}

impl<T: Record> Row<T> {
    /// The row of written values, as it would be read back. The first `skipped` values are not the record's.
    ///
    /// # Errors
    /// If a value does not fit its field's type.
    pub(crate) fn of_cells(
        key: RowKey,
        cells: &Cells<'_>,
        skipped: usize,
        shape: &'static Shape,
    ) -> Result<Arc<Row<T>>> {
        let record = read::<T>(shape, &mut Written { cells, at: skipped, shape })?;
        let digest = digest(cells, skipped);
        Ok(Arc::new(Row { key, digest, record }))
    }

    /// The row of a record that was read from the file.
    pub(crate) fn of_record(record: T, keys: usize) -> Arc<Row<T>> {
        let mut cells = Cells::default();
        record.write(&mut cells);
        let (key, digest) = (RowKey::at(&cells, 0, keys), digest(&cells, 0));
        drop(cells);
        Arc::new(Row { key, digest, record })
    }

    /// Whether both rows have the same values.
    pub(crate) fn is_same(&self, other: &Row<T>) -> bool {
        // Different digests mean different records. Equal ones are verified: no change may be missed, however unlikely.
        self.digest == other.digest && {
            let (mut left, mut right) = (Cells::default(), Cells::default());
            self.record.write(&mut left);
            other.record.write(&mut right);
            let values = |at| (left.raw(at), right.raw(at));
            (0..).map(values).take_while(|pair| *pair != (None, None)).all(|(left, right)| left == right)
        }
    }
}

/// Passes one value of a record to `look`.
#[inline]
pub(crate) fn column<T: Record, R>(record: &T, column: usize, look: impl FnOnce(Raw<'_>) -> R) -> R {
    let mut cells = Cells::default();
    record.write_column(column, &mut cells);
    look(cells.raw(0).unwrap_or(Raw::Null))
}

/// A copy of one value of a record.
pub(crate) fn stored<T: Record>(record: &T, column: usize) -> Value {
    let mut cells = Cells::default();
    record.write_column(column, &mut cells);
    Value::first(&cells)
}

/// Written values, as they would be read back.
struct Written<'c, 'a> {
    cells: &'c Cells<'a>,
    at: usize,
    shape: &'static Shape,
}

impl<'c> Columns<'c> for Written<'c, '_> {
    fn next(&mut self) -> Raw<'c> {
        self.at += 1;
        match self.cells.raw(self.at - 1) {
            Some(Raw::Real(value)) => Raw::Real(one_zero(value)),
            value => value.unwrap_or(Raw::Absent),
        }
    }

    fn shape(&self) -> Option<&'static Shape> {
        Some(self.shape)
    }
}

/// The file has no second zero: -0.0 is read back as 0.0.
fn one_zero(value: f64) -> f64 {
    value + 0.0
}

#[inline]
fn hash(key: &[u8]) -> u64 {
    SEED.hash_one(key)
}

/// Encodes a value: a letter for its kind, and its length if the kind has no fixed one.
#[inline]
fn encode(value: Raw<'_>, mut append: impl FnMut(&[u8])) {
    let mut sized = |kind: u8, bytes: &[u8]| {
        let length = (bytes.len() as u64).to_le_bytes();
        append(&[kind, length[0], length[1], length[2], length[3], length[4]]);
        append(bytes);
    };
    match value {
        Raw::Null | Raw::Absent => append(b"n"),
        Raw::Text(bytes) => sized(b't', bytes),
        Raw::Blob(bytes) => sized(b'b', bytes),
        Raw::Integer(value) => number(b'i', value.to_le_bytes(), append),
        Raw::Real(value) => number(b'r', value.to_bits().to_le_bytes(), append),
    }
}

#[inline]
fn number(kind: u8, bytes: [u8; 8], mut append: impl FnMut(&[u8])) {
    let mut whole = [kind; 9];
    whole[1..].copy_from_slice(&bytes);
    append(&whole);
}

/// Decodes the next value that [`encode`] has encoded.
fn decode(bytes: &mut &[u8]) -> Option<Value> {
    let mut take = |length: usize| {
        let (taken, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some(taken)
    };
    let kind = take(1)?[0];
    Some(match kind {
        b'i' => Value::Integer(i64::from_le_bytes(take(8)?.try_into().ok()?)),
        b'r' => Value::Real(f64::from_bits(u64::from_le_bytes(take(8)?.try_into().ok()?))),
        b't' | b'b' => {
            let mut length = [0; 8];
            length[..5].copy_from_slice(take(5)?);
            let bytes = take(usize::try_from(u64::from_le_bytes(length)).ok()?)?.to_vec();
            if kind == b't' { Value::Text(String::from_utf8(bytes).ok()?) } else { Value::Blob(bytes) }
        }
        _ => Value::Null,
    })
}

fn digest(cells: &Cells<'_>, skipped: usize) -> u64 {
    let mut hasher = SEED.build_hasher();
    for cell in cells.iter().skip(skipped) {
        match cell {
            Cell::Null => hasher.write_u8(0),
            Cell::Integer(value) => hasher.write_i64(*value),
            Cell::Real(value) => hasher.write_u64(one_zero(*value).to_bits()),
            Cell::Text(text) => hash_bytes(&mut hasher, text.as_bytes()),
            Cell::Blob(bytes) => hash_bytes(&mut hasher, bytes),
            Cell::Nested(range) => hash_bytes(&mut hasher, cells.bytes(range)),
        }
    }
    hasher.finish()
}

fn hash_bytes(hasher: &mut impl Hasher, bytes: &[u8]) {
    hasher.write_usize(bytes.len());
    hasher.write(bytes);
}
