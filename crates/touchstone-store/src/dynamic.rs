//! Records whose type is known only at run time: for bindings of other languages, for tools, and for programs that load
//! their types from elsewhere. The store's file is the same: a struct of the same shape reads the records written here,
//! and the other way round.
//!
//! ```
//! use touchstone_store::dynamic::{Field, Type, Value};
//! use touchstone_store::{Kind, Record, Store};
//!
//! let task = Type::new(
//!     "task",
//!     [
//!         Field::key("id", Kind::Integer),
//!         Field::new("title", Kind::Text),
//!         Field::new("due", Kind::Integer).nullable().index(),
//!     ],
//! )?;
//!
//! # let directory = tempfile::tempdir()?;
//! # let store = Store::open(directory.path().join("tasks.db"))?;
//! store.dynamic(task).insert(&task.record([1.into(), "write".into(), Value::Null])?)?;
//!
//! let open = task.column("due")?.is_null();
//! let found = store.snapshot()?.dynamic(task).query().filter(|()| open).all()?;
//! assert_eq!(found[0].values()[1], Value::from("write"));
//!
//! #[derive(Record)]
//! struct Task {
//!     #[record(key)]
//!     id: i64,
//!     title: String,
//!     #[record(index)]
//!     due: Option<i64>,
//! }
//! assert_eq!(store.get::<Task>(&1)?.map(|task| task.title), Some("write".into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod column;
mod declared;
mod value;

use crate::live::feed::Feed;
use crate::live::subscription::Subscription;
use crate::query::{Query, Reading};
use crate::session::access::{Access, CollectionRef};
use crate::store::Store;
use crate::store::snapshot::Snapshot;
use crate::types::cells::Cells;
use crate::types::error::Result;
use crate::types::record::{Columns, Finds, KeyPart, Record, Shape};
use crate::types::value::{Mismatch, Raw};
use crate::writer::transaction::Transaction;
use crate::writer::writing::Writing;
pub use column::Column;
pub use declared::{Field, Type};
use smallvec::SmallVec;
use std::cmp::Ordering;
pub use value::{Key, Value};

/// A record of a type made at run time. Make one with [`Type::record`].
///
/// ```
/// use touchstone_store::Kind;
/// use touchstone_store::dynamic::{Field, Type};
///
/// let word = Type::new("word", [Field::key("word", Kind::Text), Field::new("count", Kind::Integer)])?;
/// let emma = word.record(["emma".into(), 865.into()])?;
/// assert_eq!(emma.of().name(), "word");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamic {
    shape: &'static Shape,
    values: Box<[Value]>,
}

impl Dynamic {
    pub(crate) fn new(shape: &'static Shape, values: Box<[Value]>) -> Dynamic {
        Dynamic { shape, values }
    }

    /// Its type.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type}};
    /// let word = Type::new("word", [Field::key("word", Kind::Text)])?;
    /// assert_eq!(word.record(["emma".into()])?.of(), word);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of(&self) -> Type {
        Type::of(self.shape)
    }

    /// Its values, in the order of the type's columns: the key's come first.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type, Value}};
    /// let word = Type::new("word", [Field::key("word", Kind::Text), Field::new("count", Kind::Integer)])?;
    /// assert_eq!(word.record(["emma".into(), 865.into()])?.values()[1], Value::Integer(865));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Its values, owned.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type, Value}};
    /// let word = Type::new("word", [Field::key("word", Kind::Text)])?;
    /// assert_eq!(word.record(["emma".into()])?.into_values(), [Value::Text("emma".into())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn into_values(self) -> Vec<Value> {
        self.values.into_vec()
    }

    fn keys(&self) -> &[Value] {
        &self.values[..self.shape.keys]
    }
}

/// A [`Dynamic`] borrowed from the file: its values in the order of the columns.
///
/// ```
/// # use touchstone_store::{Kind, Raw, dynamic::{Field, Type}};
/// # let (directory, store) = touchstone_store_example::store()?;
/// let word = Type::new("word", [Field::key("word", Kind::Text)])?;
/// store.dynamic(word).insert(&word.record(["emma".into()])?)?;
/// store.snapshot()?.dynamic(word).each_view(|view| {
///     assert_eq!(view.values(), [Raw::Text(b"emma")]);
///     Ok(true)
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct View<'a>(SmallVec<[Raw<'a>; 8]>);

impl<'a> View<'a> {
    /// The values. Texts are UTF-8.
    ///
    /// ```
    /// # use touchstone_store::{Kind, Raw, dynamic::{Field, Type}};
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// # let word = Type::new("word", [Field::key("word", Kind::Text)])?;
    /// # store.dynamic(word).insert(&word.record(["emma".into()])?)?;
    /// let mut bytes = 0;
    /// store.snapshot()?.dynamic(word).each_view(|view| {
    ///     let Raw::Text(text) = view.values()[0] else { return Ok(false) };
    ///     bytes += text.len();
    ///     Ok(true)
    /// })?;
    /// assert_eq!(bytes, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn values(&self) -> &[Raw<'a>] {
        &self.0
    }
}

/// The shape for a call that does not name the type of a [`Dynamic`]: the call fails.
const UNKNOWN: &Shape = &Shape {
    name: "",
    keys: 0,
    numbered: false,
    columns: &[],
    defaults: crate::types::record::Defaults::NONE,
};

impl Record for Dynamic {
    type Key = Key;
    type View<'a> = View<'a>;
    type Columns = ();
    const COLUMNS: () = ();
    const SHAPE: &'static Shape = UNKNOWN;

    fn key(&self) -> Key {
        Key::new(self.keys().to_vec())
    }

    fn compare_keys(&self, other: &Dynamic) -> Ordering {
        value::compare(self.keys(), other.keys())
    }

    #[inline]
    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        self.values.iter().for_each(|value| value.write(cells));
    }

    fn write_key<'a>(&'a self, cells: &mut Cells<'a>) {
        self.keys().iter().for_each(|value| value.write(cells));
    }

    #[inline]
    fn write_column<'a>(&'a self, column: usize, cells: &mut Cells<'a>) {
        if let Some(value) = self.values.get(column) {
            value.write(cells);
        }
    }

    #[inline]
    fn read<'a>(columns: &mut impl Columns<'a>) -> Result<Dynamic, (usize, Mismatch)> {
        let shape = columns.shape().unwrap_or(UNKNOWN);
        let mut values = Vec::with_capacity(shape.columns.len());
        for at in 0..shape.columns.len() {
            values.push(value::owned(value::next(shape, at, columns)?));
        }
        Ok(Dynamic { shape, values: values.into() })
    }

    #[inline]
    fn view<'a>(columns: &mut impl Columns<'a>) -> Result<View<'a>, (usize, Mismatch)> {
        let shape = columns.shape().unwrap_or(UNKNOWN);
        let mut values = SmallVec::with_capacity(shape.columns.len());
        for at in 0..shape.columns.len() {
            values.push(value::next(shape, at, columns)?);
        }
        Ok(View(values))
    }

    #[inline]
    fn is_of(&self, shape: &'static Shape) -> bool {
        std::ptr::eq(self.shape, shape)
    }
}

impl KeyPart for Key {
    fn write_key<'a>(&'a self, cells: &mut Cells<'a>) {
        self.values().iter().for_each(|value| value.write(cells));
    }
}

impl crate::types::record::Key for Key {}

impl Snapshot {
    /// The records of a type made at run time.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type}};
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// let word = Type::new("word", [Field::key("word", Kind::Text)])?;
    /// assert_eq!(store.snapshot()?.dynamic(word).count()?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn dynamic(&self, of: Type) -> Reading<'_, Dynamic> {
        Reading(Access::shaped(self.leased(), CollectionRef::Own, of.shape()))
    }

    /// The records of such a type in a named collection.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type}};
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// let word = Type::new("word", [Field::key("word", Kind::Text)])?;
    /// assert_eq!(store.snapshot()?.dynamic_collection(word, "Emma")?.count()?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a page contradicts itself or its checksum, or if the system fails to read.
    pub fn dynamic_collection(&self, of: Type, name: &str) -> Result<Reading<'_, Dynamic>> {
        Ok(Reading(Access::shaped(self.leased(), self.which(name)?, of.shape())))
    }
}

impl Transaction<'_> {
    /// The records of a type made at run time.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type}};
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// let word = Type::new("word", [Field::key("word", Kind::Text)])?;
    /// store.write(|transaction| transaction.dynamic(word).insert(&word.record(["emma".into()])?))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dynamic(&mut self, of: Type) -> Writing<'_, Dynamic> {
        self.shaped(of.shape())
    }

    /// The records of such a type in a named collection, which is created if there is none.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type}};
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// let word = Type::new("word", [Field::key("word", Kind::Text)])?;
    /// store.write(|transaction| {
    ///     transaction.dynamic_collection(word, "Emma")?.insert(&word.record(["handsome".into()])?)
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a page contradicts itself or its checksum, if the disk is full, or if the system fails to read or write.
    pub fn dynamic_collection(&mut self, of: Type, name: &str) -> Result<Writing<'_, Dynamic>> {
        self.shaped_collection(of.shape(), name)
    }
}

impl Feed {
    /// A query to watch, for records of a type made at run time.
    ///
    /// ```
    /// use touchstone_store::dynamic::{Dynamic, Field, Type};
    /// use touchstone_store::{Kind, Store};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("words.db"))?;
    /// let word = Type::new("word", [Field::key("word", Kind::Text), Field::new("count", Kind::Integer)])?;
    /// let feed = store.feed()?;
    /// let frequent = word.column("count")?.ge(10)?;
    /// let words = feed.dynamic(word).filter(|()| frequent).watch()?;
    /// store.dynamic(word).insert(&word.record(["emma".into(), 865.into()])?)?;
    /// let batch = feed.next()?.expect("the feed goes on");
    /// assert_eq!(batch.get(words.id()).expect("it was changed").results::<Dynamic>()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dynamic(&self, of: Type) -> Query<'_, Dynamic, &Feed> {
        Query::of(self, of.shape())
    }

    /// As [`watch`](Feed::watch), for a type made at run time.
    ///
    /// ```
    /// use touchstone_store::dynamic::{Field, Key, Type};
    /// use touchstone_store::{Kind, Store};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("words.db"))?;
    /// let word = Type::new("word", [Field::key("word", Kind::Text), Field::new("count", Kind::Integer)])?;
    /// let feed = store.feed()?;
    /// let emma = feed.watch_dynamic(word, &Key::from("emma"))?;
    /// assert!(emma.results().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`watch`](Feed::watch).
    pub fn watch_dynamic(&self, of: Type, key: &Key) -> Result<Subscription<Dynamic>> {
        self.watch_key(of.shape(), key)
    }
}

impl Store {
    /// The records of a type made at run time; each call is a transaction of its own.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Key, Type}};
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// let word = Type::new("word", [Field::key("word", Kind::Text)])?;
    /// store.dynamic(word).put(&word.record(["emma".into()])?)?;
    /// assert!(store.dynamic(word).get(&Key::from("emma"))?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn dynamic(&self, of: Type) -> Single<'_> {
        Single { store: self, of }
    }
}

/// A type's records in a store; each call is a transaction of its own: see [`Store::dynamic`].
///
/// ```
/// # use touchstone_store::{Kind, dynamic::{Field, Key, Type}};
/// # let (directory, store) = touchstone_store_example::store()?;
/// let word = Type::new("word", [Field::key("word", Kind::Text), Field::new("count", Kind::Integer)])?;
/// let words = store.dynamic(word);
/// words.insert_all(&[word.record(["emma".into(), 865.into()])?, word.record(["heir".into(), 6.into()])?])?;
/// words.put(&word.record(["heir".into(), 7.into()])?)?;
/// assert!(words.replace(&word.record(["heir".into(), 6.into()])?)?);
/// assert!(words.remove(&Key::from("heir"))?);
/// assert_eq!(words.all()?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Single<'s> {
    store: &'s Store,
    of: Type,
}

impl Single<'_> {
    /// As [`Store::insert`].
    ///
    /// ```
    /// # let (directory, store, word) = touchstone_store_example::words()?;
    /// let emma = word.record(["emma".into(), 865.into()])?;
    /// store.dynamic(word).insert(&emma)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn insert(&self, record: &Dynamic) -> Result<()> {
        self.store.insert_shaped(self.of.shape(), record)
    }

    /// As [`Store::insert_all`].
    ///
    /// ```
    /// # let (directory, store, word) = touchstone_store_example::words()?;
    /// let emma = word.record(["emma".into(), 865.into()])?;
    /// assert_eq!(store.dynamic(word).insert_all([&emma])?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn insert_all<'r>(&self, records: impl IntoIterator<Item = &'r Dynamic>) -> Result<u64> {
        self.store.write(|transaction| transaction.dynamic(self.of).insert_all(records))
    }

    /// As [`Store::put`].
    ///
    /// ```
    /// # let (directory, store, word) = touchstone_store_example::words()?;
    /// let emma = word.record(["emma".into(), 865.into()])?;
    /// store.dynamic(word).put(&emma)?;
    /// store.dynamic(word).put(&emma)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn put(&self, record: &Dynamic) -> Result<()> {
        self.store.put_shaped(self.of.shape(), record)
    }

    /// As [`Store::put_all`].
    ///
    /// ```
    /// # let (directory, store, word) = touchstone_store_example::words()?;
    /// let emma = word.record(["emma".into(), 865.into()])?;
    /// assert_eq!(store.dynamic(word).put_all([&emma, &emma])?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn put_all<'r>(&self, records: impl IntoIterator<Item = &'r Dynamic>) -> Result<u64> {
        self.store.write(|transaction| transaction.dynamic(self.of).put_all(records))
    }

    /// As [`Store::replace`].
    ///
    /// ```
    /// # let (directory, store, word) = touchstone_store_example::words()?;
    /// let emma = word.record(["emma".into(), 865.into()])?;
    /// assert!(!store.dynamic(word).replace(&emma)?, "there is none to replace");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn replace(&self, record: &Dynamic) -> Result<bool> {
        self.store.replace_shaped(self.of.shape(), record)
    }

    /// As [`Store::remove`].
    ///
    /// ```
    /// # use touchstone_store::dynamic::Key;
    /// # let (directory, store, word) = touchstone_store_example::words()?;
    /// assert!(!store.dynamic(word).remove(&Key::from("emma"))?, "there is none to remove");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn remove(&self, key: &(impl Finds<Dynamic> + ?Sized)) -> Result<bool> {
        self.store.remove_shaped(self.of.shape(), key)
    }

    /// As [`Store::get`].
    ///
    /// ```
    /// # use touchstone_store::dynamic::Key;
    /// # let (directory, store, word) = touchstone_store_example::words()?;
    /// assert_eq!(store.dynamic(word).get(&Key::from("emma"))?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn get(&self, key: &(impl Finds<Dynamic> + ?Sized)) -> Result<Option<Dynamic>> {
        self.store.get_shaped(self.of.shape(), key)
    }

    /// As [`Store::all`].
    ///
    /// ```
    /// # let (directory, store, word) = touchstone_store_example::words()?;
    /// assert!(store.dynamic(word).all()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn all(&self) -> Result<Vec<Dynamic>> {
        self.store.read(|snapshot| snapshot.dynamic(self.of).all())
    }
}
