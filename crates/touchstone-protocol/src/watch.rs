//! Subscriptions: what is watched, the file in which the lab writes it for every kit, and the digest of what was
//! delivered.

use crate::data::{decode_array, decode_i64, decode_text, encode_bytes};
use crate::{DataError, Record};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::Path;

/// The first bytes of a file of subscriptions: format name and version.
const MAGIC: &[u8; 8] = b"TSSUBS1\n";

/// What kind of thing a subscription watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watched {
    /// One object, by its key.
    Object,
    /// The result of a query for one title, the primary key.
    One,
    /// The ordered result of a query for a range of priorities.
    Window,
}

impl Watched {
    /// Every kind of this version.
    pub const ALL: [Watched; 3] = [Watched::Object, Watched::One, Watched::Window];
}

impl fmt::Display for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Watched::Object => "object",
            Watched::One => "one",
            Watched::Window => "window",
        })
    }
}

/// What a subscriber wants to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subscription {
    /// The object of that title.
    Object {
        /// Its title.
        title: String,
    },
    /// The result of `title == …`.
    One {
        /// The title asked for.
        title: String,
    },
    /// The result of `priority < below and priority >= from`, ordered by priority. No two objects of a database have the
    /// same one.
    Window {
        /// Every priority is below this.
        below: i64,
        /// The least priority.
        from: i64,
        /// How many of the first ones; all where there is none.
        limit: Option<u32>,
    },
}

impl Subscription {
    /// What it watches.
    pub fn watched(&self) -> Watched {
        match self {
            Subscription::Object { .. } => Watched::Object,
            Subscription::One { .. } => Watched::One,
            Subscription::Window { .. } => Watched::Window,
        }
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Subscription::Object { title } | Subscription::One { title } => {
                bytes.push(matches!(self, Subscription::One { .. }).into());
                encode_bytes(title.as_bytes(), bytes);
            }
            Subscription::Window { below, from, limit } => {
                bytes.push(2);
                bytes.extend_from_slice(&below.to_le_bytes());
                bytes.extend_from_slice(&from.to_le_bytes());
                bytes.extend_from_slice(&limit.unwrap_or(0).to_le_bytes());
            }
        }
    }

    fn decode(bytes: &mut &[u8]) -> Option<Subscription> {
        Some(match decode_array(bytes)? {
            [0] => Subscription::Object { title: decode_text(bytes)? },
            [1] => Subscription::One { title: decode_text(bytes)? },
            [2] => Subscription::Window {
                below: decode_i64(bytes)?,
                from: decode_i64(bytes)?,
                limit: Some(u32::from_le_bytes(decode_array(bytes)?)).filter(|limit| *limit > 0),
            },
            _ => return None,
        })
    }
}

/// Writes subscriptions: the magic, the count as u64, then each.
///
/// # Errors
/// When the file cannot be written.
pub fn write_subscriptions(path: &Path, subscriptions: &[Subscription]) -> Result<(), DataError> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(subscriptions.len() as u64).to_le_bytes());
    subscriptions.iter().for_each(|subscription| subscription.encode(&mut bytes));
    Ok(fs::write(path, bytes)?)
}

/// Reads subscriptions whole.
///
/// # Errors
/// When the file cannot be read or is not one of subscriptions.
pub fn read_subscriptions(path: &Path) -> Result<Vec<Subscription>, DataError> {
    let bytes = fs::read(path)?;
    let malformed = |what: &str| DataError::Malformed(format!("{}: {what}", path.display()));
    let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(|| malformed("not a file of subscriptions"))?;
    let count = decode_i64(&mut rest).ok_or_else(|| malformed("ends before its count"))?;
    let mut subscriptions = Vec::with_capacity(count.clamp(0, 1 << 20) as usize);
    for _ in 0..count {
        let subscription = Subscription::decode(&mut rest);
        subscriptions.push(subscription.ok_or_else(|| malformed("holds a damaged subscription"))?);
    }
    if !rest.is_empty() {
        return Err(malformed("goes on after its last subscription"));
    }
    Ok(subscriptions)
}

/// The digest of deliveries: CRC-32 over each one's head and the CRC-32 of each of its records, in order.
///
/// A digest of digests, so that who knows the records need not encode a million of them anew for each transaction.
#[derive(Clone, Default)]
pub struct DeliveryDigest {
    hasher: crc32fast::Hasher,
    deliveries: u64,
}

impl DeliveryDigest {
    /// Adds what one transaction, numbered from 0, delivered to one subscription: the CRC-32 of each record.
    pub fn add(&mut self, transaction: u32, subscription: u32, records: &[u32]) {
        let length = u32::try_from(records.len()).expect("a result has fewer than 2^32 records");
        for number in [transaction, subscription, length].iter().chain(records) {
            self.hasher.update(&number.to_le_bytes());
        }
        self.deliveries += 1;
    }

    /// How many deliveries were added.
    pub fn deliveries(&self) -> u64 {
        self.deliveries
    }
}

impl fmt::Display for DeliveryDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.hasher.clone().finalize())
    }
}

/// The CRC-32 of a record as the dataset file encodes it. `buffer` is room for that.
pub fn record_crc32<R: Record>(record: &R, buffer: &mut Vec<u8>) -> u32 {
    buffer.clear();
    record.encode(buffer);
    crc32fast::hash(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscriptions() -> Vec<Subscription> {
        vec![
            Subscription::Object { title: "title7".into() },
            Subscription::One { title: "größer".into() },
            Subscription::Window { below: -3, from: -1003, limit: None },
            Subscription::Window { below: i64::MAX, from: i64::MIN, limit: Some(10) },
        ]
    }

    #[test]
    fn subscriptions_read_back_as_they_were_written_and_no_cut_does() {
        let path = std::env::temp_dir().join(format!("touchstone-subscriptions-{}", std::process::id()));
        write_subscriptions(&path, &subscriptions()).unwrap();
        assert_eq!(read_subscriptions(&path).unwrap(), subscriptions());
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(matches!(read_subscriptions(&path), Err(DataError::Malformed(_))), "{length} bytes");
        }
        fs::write(&path, [whole, vec![0]].concat()).unwrap();
        assert!(matches!(read_subscriptions(&path), Err(DataError::Malformed(_))));
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn the_digest_tells_transactions_subscriptions_and_orders_apart() {
        let digest = |deliveries: &[(u32, u32, &[u32])]| {
            let mut digest = DeliveryDigest::default();
            for (transaction, subscription, records) in deliveries {
                digest.add(*transaction, *subscription, records);
            }
            (digest.deliveries(), digest.to_string())
        };
        let known = digest(&[(0, 1, &[7, 8]), (1, 1, &[8])]);
        assert_eq!(known.0, 2);
        assert_ne!(known, digest(&[(0, 1, &[8, 7]), (1, 1, &[8])]));
        assert_ne!(known, digest(&[(0, 2, &[7, 8]), (1, 1, &[8])]));
        assert_ne!(known, digest(&[(0, 1, &[7, 8]), (0, 1, &[8])]));
        assert_ne!(known, digest(&[(0, 1, &[7]), (1, 1, &[8, 8])]));
        assert_eq!(DeliveryDigest::default().to_string(), "00000000");
    }
}
