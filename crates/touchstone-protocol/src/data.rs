//! Record types and the files the lab writes for every kit: the dataset, the order of operations, and new states.
//!
//! All are flat little-endian binary, so that a kit in any language reads them in a few lines, off the clock.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The first bytes of a dataset file: format name and version.
const MAGIC: &[u8; 8] = b"TSDATA1\n";

/// Which record type a dataset holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordKind {
    /// [`Row`]
    Row,
    /// [`Document`]
    Document,
    /// [`crate::Doc`]
    Doc,
}

impl fmt::Display for RecordKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            RecordKind::Row => "row",
            RecordKind::Document => "document",
            RecordKind::Doc => "doc",
        })
    }
}

/// What every record type can do: be written to a dataset, read back, and be asked for by key.
///
/// The types of this crate are all there are. They are plain data, so an answer of one of them is whole: a type of a
/// driver's own could put off its work until it is encoded, which nobody times.
///
/// ```compile_fail,E0277
/// use touchstone_protocol::{Record, RecordKind};
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Later(i64);
///
/// impl Record for Later {
///     type Key = i64;
///     const KIND: RecordKind = RecordKind::Row;
///     fn key(&self) -> &i64 {
///         &self.0
///     }
///     fn encode(&self, _bytes: &mut Vec<u8>) {
///         // The query would run here.
///     }
///     fn decode(_bytes: &mut &[u8]) -> Option<Later> {
///         None
///     }
/// }
/// ```
pub trait Record: sealed::Sealed + Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// What a get by key takes.
    type Key: Clone + Ord + fmt::Debug + Send + Sync + 'static;
    /// The type's name on the wire.
    const KIND: RecordKind;
    /// This record's key.
    fn key(&self) -> &Self::Key;
    /// Appends the record's encoding, as in a dataset file.
    fn encode(&self, bytes: &mut Vec<u8>);
    /// Takes one record off the front of `bytes`; `None` where they end too early or are not one.
    fn decode(bytes: &mut &[u8]) -> Option<Self>;
}

/// Closes [`Record`]: nobody outside can name this.
pub(crate) mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for Row {}
impl sealed::Sealed for Document {}

/// The wrapper benchmarks' record: `benchmark(key INTEGER, value BLOB)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The key; datasets number them from 0.
    pub key: i64,
    /// Bytes that do not compress.
    pub value: Vec<u8>,
}

impl Record for Row {
    type Key = i64;
    const KIND: RecordKind = RecordKind::Row;

    fn key(&self) -> &i64 {
        &self.key
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.key.to_le_bytes());
        encode_bytes(&self.value, bytes);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Row> {
        Some(Row { key: decode_i64(bytes)?, value: decode_bytes(bytes)?.to_vec() })
    }
}

/// The document benchmark's record: `documents(id, revision, hash, data)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The document's name, `bench0` and on.
    pub id: String,
    /// Its revision, from 1.
    pub revision: i64,
    /// A hash of its data.
    pub hash: Vec<u8>,
    /// The document itself, as JSON text.
    pub data: String,
}

impl Record for Document {
    type Key = String;
    const KIND: RecordKind = RecordKind::Document;

    fn key(&self) -> &String {
        &self.id
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_bytes(self.id.as_bytes(), bytes);
        bytes.extend_from_slice(&self.revision.to_le_bytes());
        encode_bytes(&self.hash, bytes);
        encode_bytes(self.data.as_bytes(), bytes);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Document> {
        Some(Document {
            id: decode_text(bytes)?,
            revision: decode_i64(bytes)?,
            hash: decode_bytes(bytes)?.to_vec(),
            data: decode_text(bytes)?,
        })
    }
}

/// Why a dataset or operations file could not be read.
#[derive(Debug)]
pub enum DataError {
    /// The file could not be read or written.
    Io(io::Error),
    /// The file is not what its name says; the text tells how.
    Malformed(String),
}

impl fmt::Display for DataError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Io(error) => write!(formatter, "{error}"),
            DataError::Malformed(what) => formatter.write_str(what),
        }
    }
}

impl std::error::Error for DataError {}

impl From<io::Error> for DataError {
    fn from(error: io::Error) -> DataError {
        DataError::Io(error)
    }
}

/// Writes a dataset: the magic, the count as u64, then the records.
///
/// # Errors
/// When the file cannot be written.
pub fn write_dataset<R: Record>(path: &Path, records: &[R]) -> Result<(), DataError> {
    let mut file = BufWriter::new(fs::File::create(path)?);
    file.write_all(MAGIC)?;
    file.write_all(&(records.len() as u64).to_le_bytes())?;
    let mut buffer = Vec::new();
    for record in records {
        buffer.clear();
        record.encode(&mut buffer);
        file.write_all(&buffer)?;
    }
    Ok(file.flush()?)
}

/// Reads a dataset whole.
///
/// # Errors
/// When the file cannot be read, is not a dataset, or holds other records than `R`.
pub fn read_dataset<R: Record>(path: &Path) -> Result<Vec<R>, DataError> {
    let bytes = fs::read(path)?;
    let malformed = |what: &str| DataError::Malformed(format!("{}: {what}", path.display()));
    let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(|| malformed("not a dataset file"))?;
    let count = decode_i64(&mut rest).ok_or_else(|| malformed("ends before its count"))?;
    let mut records = Vec::with_capacity(count.clamp(0, 1 << 24) as usize);
    for _ in 0..count {
        records.push(R::decode(&mut rest).ok_or_else(|| malformed("holds a damaged record"))?);
    }
    if !rest.is_empty() {
        return Err(malformed("goes on after its last record"));
    }
    Ok(records)
}

/// How long a window of a series of latencies lasts, in nanoseconds.
pub const SERIES_WINDOW_NS: u64 = 100_000_000;

/// The digits of a series' histograms, as HdrHistogram counts them: a figure is within 0.1 % of what was measured.
pub const SERIES_DIGITS: u8 = 3;

/// A day, in nanoseconds, the greatest figure of a series: what took longer counts as a day.
pub const SERIES_NS_MAX: u64 = 86_400_000_000_000;

/// Stands in the highest bit of an operation of `mix` that writes a new state; the other bits are the number of that state.
/// Without it they are the number of the record that is got.
pub const WRITES_STATE: u32 = 1 << 31;

/// Writes the order of operations: each a u32, the number of a record in the dataset.
///
/// # Errors
/// When the file cannot be written.
pub fn write_operations(path: &Path, operations: &[u32]) -> Result<(), DataError> {
    let bytes: Vec<u8> = operations.iter().flat_map(|operation| operation.to_le_bytes()).collect();
    Ok(fs::write(path, bytes)?)
}

/// Reads the order of operations.
///
/// # Errors
/// When the file cannot be read or is not a whole number of operations.
pub fn read_operations(path: &Path) -> Result<Vec<u32>, DataError> {
    let bytes = fs::read(path)?;
    let (operations, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(DataError::Malformed(format!("{}: not a whole number of operations", path.display())));
    }
    Ok(operations.iter().map(|operation| u32::from_le_bytes(*operation)).collect())
}

pub(crate) fn encode_bytes(value: &[u8], bytes: &mut Vec<u8>) {
    let length = u32::try_from(value.len()).expect("a field is shorter than 4 GiB");
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(value);
}

pub(crate) fn decode_bytes<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(value)
}

pub(crate) fn decode_text(bytes: &mut &[u8]) -> Option<String> {
    String::from_utf8(decode_bytes(bytes)?.to_vec()).ok()
}

pub(crate) fn decode_i64(bytes: &mut &[u8]) -> Option<i64> {
    Some(i64::from_le_bytes(decode_array(bytes)?))
}

pub(crate) fn decode_array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (array, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_reads_back_as_it_was_written() {
        let path = std::env::temp_dir().join(format!("touchstone-data-{}", std::process::id()));
        let documents = vec![
            Document { id: "bench0".into(), revision: 1, hash: vec![1, 2, 3], data: "{\"é\":1}".into() },
            Document::default(),
        ];
        write_dataset(&path, &documents).unwrap();
        assert_eq!(read_dataset::<Document>(&path).unwrap(), documents);
        assert!(matches!(read_dataset::<Row>(&path), Err(DataError::Malformed(_))));
        fs::write(&path, b"rubbish").unwrap();
        assert!(matches!(read_dataset::<Row>(&path), Err(DataError::Malformed(_))));
        fs::remove_file(&path).unwrap();
    }
}
