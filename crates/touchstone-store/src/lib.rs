//! Typed records on SQLite: plain structs are rows, queries are Rust, and the file is one that every SQLite tool opens.
//!
//! It is for programs that keep their own data: applications, services on one machine, devices. A type is declared
//! once; its table, its indexes and its columns follow from it, and from its later versions.
//!
//! ```
//! use touchstone_store::{Record, Store};
//!
//! #[derive(Record, Clone, Debug, PartialEq)]
//! struct Task {
//!     #[record(key)]
//!     id: i64,
//!     title: String,
//!     #[record(index)]
//!     due: Option<i64>,
//! }
//!
//! # let (directory, path) = touchstone_store_example::path()?;
//! let store = Store::open(&path)?;
//! store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
//!
//! // A transaction is committed when its closure returns, and undone when it fails or panics.
//! store.write(|transaction| {
//!     transaction.insert(&Task { id: 2, title: "read".into(), due: Some(10) })?;
//!     transaction.update::<Task>(&1, |task| task.title = "write well".into())
//! })?;
//!
//! // What a snapshot sees was committed at one moment. The compiler knows the columns and their types.
//! let next = store.read(|snapshot| {
//!     snapshot.query::<Task>().filter(|task| task.due.lt(30)).order(|task| task.due.ascending()).first()
//! })?;
//! assert_eq!(next.map(|task| task.title), Some("read".into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - **Strict serialisability.** Transactions come one after the other, in the order of their commits, also among
//!   threads and processes. A read that begins after a commit has returned sees that commit.
//! - **Snapshots.** Readers never wait for a writer, nor a writer for readers. A snapshot sees one moment for as long
//!   as it is held. If the log would grow without bound for it, it ends with [`Expired`](ErrorKind::Expired), in the
//!   middle of a statement if need be, and never shows any other moment. A process that only reads ends its own
//!   snapshots when other processes commit so much.
//! - **Durability by name.** Each store, or each transaction, names the failures that its commits survive:
//!
//!   | class | a commit that has returned survives | and costs |
//!   |---|---|---|
//!   | [`Strict`](Durability::Strict) | a loss of power | a flush of the log, which commits that wait together share |
//!   | [`Consistent`](Durability::Consistent), the default | a crash of the process; after a loss of power the store is whole, the newest commits may be gone | a write into the log |
//!   | [`Process`](Durability::Process) | a crash of the process; after a loss of power the file may be damaged | the same, and never a flush |
//!
//!   [`Transaction::durable`] makes one commit wait for the flush, and with it all before it.
//! - **All or nothing.** A transaction that fails, panics or is cut off leaves nothing behind.
//! - **Types that change.** A field is added, dropped or renamed without a migration: no row is rewritten, and the
//!   newer program reads the rows of an older one. A stored value that does not fit its field's type is refused with
//!   [`Mismatch`](ErrorKind::Mismatch), and never guessed.
//! - **Live queries.** A [`Feed`] reports how the results of queries change: after each commit that changes a result,
//!   in the order of the commits, with one batch for all changes of a transaction, at one version. Changes that are
//!   undone are not reported, and no change is reported twice; between the first result of a subscription and its first
//!   update nothing is missing. Writers wait for no receiver, unless a feed asks for it, and for a receiver that does
//!   not fetch its batches the feed keeps no more than its mode allows. Commits of other processes are followed, too.
//! - **Errors to act on.** Each [`Error`] has a [kind](ErrorKind) for the program, and a message that says what failed,
//!   on which input, and the remedy. A damaged file is an error, not a panic.
//! - **A file that is yours.** It is a SQLite database with ordinary tables. With an [`EncryptionKey`] every page is
//!   encrypted and authenticated, the log's too; [`Cipher::SqlCipher`] writes files that `SQLCipher` reads.
//!
//! # What it is not
//!
//! - No server, and no store of several machines. The file lies on a local disk: a log in shared memory, as SQLite's
//!   is, works on no network file system.
//! - No object-relational mapper. There are no relations, no lazy fields and no sessions: a record is exactly its
//!   struct, and a reference is a key. Joins and sums are [SQL](Snapshot::sql) on the same snapshot.
//! - Not for many writers at once. One transaction writes at a time, and the others wait in their order.
//! - Not asynchronous. Calls block, mostly for microseconds; an asynchronous program calls them on a thread that may
//!   block. A wait without a limit is a future: [the next batch of a feed](Feed::next_async), on any runtime.
//!
//! # Where to find things
//!
//! | you want to | look at |
//! |---|---|
//! | declare a stored type | [`Record`](macro@Record), [`Nested`](macro@Nested) for values within a column, [`Field`] for columns of your own types |
//! | open a file | [`Store::open`], [`Options`], [`Durability`], [`EncryptionKey`], [`Cipher`] |
//! | write one record | [`Store::insert`], [`Store::put`], [`Store::replace`], [`Store::remove`] |
//! | write several, or read and write | [`Store::write`], [`Store::try_write`], [`Transaction`], [`Writing`] |
//! | read | [`Store::get`], [`Store::read`], [`Snapshot`], [`Reading`], [`Version`] |
//! | ask | [`Query`], [`Column`], [`Condition`], [`Order`], [`Rows`], [`Explanation`] |
//! | follow a result | [`Store::feed`], [`Feed`], [`Mode`], [`Subscription`], [`CountSubscription`], [`SqlSubscription`], [`LiveExplanation`] |
//! | see the changes | [`Batch`], [`Update`], [`Results`], [`Difference`], [`Delta`], [`SqlRows`] |
//! | keep many lists of one type | [`Transaction::collection`], [`Snapshot::collection`] |
//! | keep it safe | [`Store::backup`], [`Store::check`], [`Store::salvage`], [`Store::change_key`] |
//! | use SQL of your own | [`Transaction::sql`], [`Snapshot::sql`] |
//! | handle failures | [`Error`], [`ErrorKind`] |
//!
//! The guide, `docs/guide-store.md` in the repository, explains all of it, and how to move a program here from rusqlite
//! and from an object-relational mapper; `docs/guide-live.md` explains live queries. Programs that run are in
//! `examples/`: `todo`, `bank`, `live`, `together`, `notes_encrypted` and `from_rusqlite`.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![deny(unsafe_code)]

extern crate self as touchstone_store;

pub mod dynamic;
#[allow(unsafe_code, reason = "a wall around the danger: `unsafe` is there, and nowhere above")]
mod engine;
mod live;
mod query;
mod session;
mod store;
mod table;
mod types;
mod upkeep;
mod writer;

#[cfg(touchstone_canary)]
#[doc(hidden)]
pub use engine::canary;
pub use live::batch::{Batch, Updates};
pub use live::delta::Delta;
pub use live::explain::{LiveExplanation, Structure};
pub use live::feed::{Feed, Listener, Mode, Overflow};
pub use live::results::{Difference, Records, Results, Shared};
pub use live::sql_rows::SqlRows;
pub use live::subscription::{CountSubscription, SqlSubscription, Subscription};
pub use live::update::{SubscriptionId, Update};
pub use query::{Condition, Explanation, Operand, Order, Query, Reading, Rows};
/// The SQLite binding whose connection [`Transaction::sql`] and [`Snapshot::sql`] lend, in the version that fits.
pub use rusqlite;
pub use store::Store;
pub use store::begun::{Begun, Savepoint};
pub use store::snapshot::{Snapshot, Version};
/// Implements [`trait@Nested`] and [`Field`] for a struct or an enum.
///
/// ```
/// use touchstone_store::{Nested, Record, Store};
///
/// #[derive(Nested, Clone, Debug, PartialEq)]
/// enum Contact {
///     #[tag(1)]
///     Mail {
///         #[tag(1)]
///         address: String,
///     },
///     #[tag(2)]
///     Nobody,
/// }
///
/// #[derive(Record, Clone, Debug, PartialEq)]
/// struct Person {
///     #[record(key)]
///     id: i64,
///     contacts: Vec<Contact>,
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("people.db"))?;
/// let ada = Person { id: 1, contacts: vec![Contact::Mail { address: "ada@example.org".into() }, Contact::Nobody] };
/// store.insert(&ada)?;
/// assert_eq!(store.get::<Person>(&1)?, Some(ada));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
pub use touchstone_store_derive::Nested;
/// Implements [`trait@Record`] for a struct: its table, its columns, its key.
///
/// ```
/// use touchstone_store::{Record, Store};
///
/// #[derive(Record, Clone, Debug, PartialEq)]
/// #[record(name = "entries")]
/// struct Entry {
///     #[record(key)]
///     book: String,
///     #[record(key)]
///     line: u32,
///     #[record(column = "text")]
///     words: String,
///     #[record(index)]
///     written: i64,
///     #[record(default = 3)]
///     stars: u8,
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("books.db"))?;
/// let entry = Entry { book: "log".into(), line: 1, words: "began".into(), written: 20, stars: 5 };
/// store.insert(&entry)?;
/// assert_eq!(store.get::<Entry>(&("log".to_owned(), 1))?, Some(entry));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
pub use touchstone_store_derive::Record;
pub use types::cells::Cells;
#[doc(hidden)]
pub use types::derived;
pub use types::error::{Error, ErrorKind, Result};
pub use types::nested;
pub use types::nested::Nested;
pub use types::options::{Cipher, Durability, EncryptionKey, Options};
pub use types::record::{Column, ColumnShape, Columns, Finds, Index, Key, KeyPart, Record, Shape};
pub use types::value::{Field, Kind, Mismatch, Raw, Refusal};
pub use upkeep::check::{Check, CheckReport, Problem};
pub use upkeep::salvage::{SalvageReport, SalvagedTable};
pub use writer::transaction::Transaction;
pub use writer::writing::Writing;
