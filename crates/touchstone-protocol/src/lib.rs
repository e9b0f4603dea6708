//! Protocol v1 between the lab and a kit, as Rust types.
//!
//! The page `protocol/README.md` is the authority; kits in other languages implement that page and know
//! nothing of this crate. The lab and the Rust kit share these types so that the two cannot drift apart.

mod data;
mod digest;
mod doc;
mod message;
mod settings;
mod typed;
mod watch;

pub use data::{
    DataError, Document, Record, RecordKind, Row, SERIES_DIGITS, SERIES_NS_MAX, SERIES_WINDOW_NS,
    WRITES_STATE, read_dataset, read_operations, write_dataset, write_operations,
};
pub use digest::Digest;
pub use doc::{Colour, Content, Doc, Position};
pub use message::{
    Clock, Delivery, Depth, Failure, FailureKind, Hello, Lane, LaneSample, Opened, Plan, Reply, Request, Run,
    Sample, Schema, Served, Stretch, Usage, Verb,
};
pub use settings::{SETTING_NAMES, Setting, Settings};
pub use typed::{DocV2, DocV3, DocV4, TYPED_TABLES};
pub use watch::{
    DeliveryDigest, Subscription, Watched, read_subscriptions, record_crc32, write_subscriptions,
};

/// The version both sides must name in `hello`.
pub const PROTOCOL_VERSION: u32 = 1;

/// The longest line either side may send, in bytes: a kit that floods its output is stopped here.
pub const LINE_BYTES_MAX: usize = 1 << 20;
