//! The Rust kit: what every Rust driver shares, so that a driver is nothing but its subject.
//!
//! It speaks protocol v1 on standard input and output, plays the lab's operations against the driver, and is the
//! only code that reads a clock around a subject. It holds no generator, no statistics and no opinion.
//!
//! A driver implements [`Driver`], then [`Store`] for each record type that it can hold, and [`Live`] where its library
//! has subscriptions; its `main` is one line. `drivers/src/bin/` has one file per subject. The least that the kit takes for a driver:
//!
//! ```
//! use std::collections::BTreeMap;
//! use touchstone_kit::{About, Driver, Failure, Kit, Open, Row, Settings, Store, Verb};
//!
//! /// A map of the standard library, which forgets everything when it is closed.
//! struct Map(BTreeMap<i64, Row>);
//!
//! impl Driver for Map {
//!     type Error = Failure;
//!
//!     fn open(_open: &Open) -> Result<Map, Failure> {
//!         Ok(Map(BTreeMap::new()))
//!     }
//!
//!     fn settings(&mut self) -> Result<Settings, Failure> {
//!         Ok(Settings::new())
//!     }
//!
//!     fn close(self) -> Result<(), Failure> {
//!         Ok(())
//!     }
//! }
//!
//! impl Store<Row> for Map {
//!     const VERBS: &'static [Verb] = &[Verb::Get, Verb::InsertOne];
//!
//!     fn get(&mut self, key: &i64) -> Result<Option<Row>, Failure> {
//!         Ok(self.0.get(key).cloned())
//!     }
//!
//!     fn insert_one(&mut self, row: &Row) -> Result<(), Failure> {
//!         self.0.insert(row.key, row.clone());
//!         Ok(())
//!     }
//! }
//!
//! let about = About {
//!     subject: "map".into(),
//!     version: "1".into(),
//!     engine: "none".into(),
//!     engine_source: String::new(),
//!     compile_options: Vec::new(),
//! };
//! let mut replies = Vec::new();
//! // `main` does the same with standard input and output.
//! Kit::<Map>::new(about).rows().serve(&br#"{"request":"hello","protocol":1}"#[..], &mut replies)?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod answers;
mod clock;
mod conversation;
mod database;
mod deliver;
mod driver;
mod lane;
mod line;
mod live;
mod mixed;
mod open;
mod prepared;
mod replies;
mod series;
mod service;
mod session;
mod shelf;
mod stored;
mod stretch;
mod subscribe;
mod usage;

pub use answers::Answers;
pub use clock::Ticks;
pub use driver::{About, Driver, Store};
pub use lane::get_each;
pub use live::{Difference, Live, Moments, Update};
pub use mixed::Operation;
pub use open::{Asked, Open};
pub use service::{Service, ServiceKit};
pub use session::Kit;
pub use stored::Stored;
pub use touchstone_protocol::{
    Colour, Content, Doc, DocV2, DocV3, DocV4, Document, Failure, FailureKind, Plan, Position, Record,
    RecordKind, Row, Schema, Setting, Settings, Subscription, Verb, Watched, read_dataset, write_dataset,
};

/// A failure of that kind, with a message in the subject's words.
pub fn failure(kind: FailureKind, message: impl Into<String>) -> Failure {
    Failure { kind, message: message.into() }
}
