//! The digest of an answer: CRC-32 over the answered records, encoded as the dataset file encodes them.
//!
//! Not a cryptographic hash: it guards against wrong answers, not against forgers, and CRC-32 is in the
//! standard library of every language a kit is written in.

use crate::Record;
use std::fmt;

/// Digests records in the order they are answered.
#[derive(Clone, Default)]
pub struct Digest {
    hasher: crc32fast::Hasher,
    buffer: Vec<u8>,
    answers: u64,
}

impl Digest {
    /// Adds one answered record.
    pub fn add<R: Record>(&mut self, record: &R) {
        self.buffer.clear();
        record.encode(&mut self.buffer);
        self.hasher.update(&self.buffer);
        self.answers += 1;
    }

    /// Adds what another digested, after all that is there.
    pub fn append(&mut self, other: &Digest) {
        self.hasher.combine(&other.hasher);
        self.answers += other.answers;
    }

    /// The digest of `records` in the order given.
    pub fn of<'r, R: Record + 'r>(records: impl IntoIterator<Item = &'r R>) -> Digest {
        let mut digest = Digest::default();
        for record in records {
            digest.add(record);
        }
        digest
    }

    /// How many records were added.
    pub fn answers(&self) -> u64 {
        self.answers
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.hasher.clone().finalize())
    }
}
