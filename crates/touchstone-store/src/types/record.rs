//! The description of a type for the store: its table, columns and key. It is derived; nothing here touches a file.

use crate::types::cells::Cells;
use crate::types::value::{Field, Kind, Mismatch, Raw, Value};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

/// A type whose values are rows of a table. Derive it with [`Record`](macro@crate::Record).
///
/// ```
/// use touchstone_store::Record;
///
/// #[derive(Record, Clone, Debug, PartialEq)]
/// struct Task {
///     #[record(key)]
///     id: i64,
///     title: String,
///     #[record(index)]
///     due: Option<i64>,
/// }
///
/// assert_eq!(Task::SHAPE.name, "task");
/// assert_eq!(Task { id: 7, title: "write".into(), due: None }.key(), 7);
/// ```
pub trait Record: Sized + Send + Sync + 'static {
    /// The primary key: the type of the key field, or a tuple of several.
    type Key: Key;
    /// The record borrowed from the file.
    type View<'a>;
    /// The columns by name, for queries.
    type Columns: Copy;
    /// The columns by name, for queries.
    const COLUMNS: Self::Columns;
    /// The table.
    const SHAPE: &'static Shape;

    /// A copy of the primary key.
    ///
    /// ```
    /// # use touchstone_store::Record;
    /// #[derive(Record)]
    /// struct Page {
    ///     #[record(key)]
    ///     book: String,
    ///     #[record(key)]
    ///     number: u32,
    /// }
    ///
    /// let page = Page { book: "Emma".into(), number: 3 };
    /// assert_eq!(page.key(), ("Emma".to_owned(), 3));
    /// ```
    fn key(&self) -> Self::Key;

    /// Which of two records comes first in the order of the key.
    ///
    /// ```
    /// # use touchstone_store::Record;
    /// # #[derive(Record)]
    /// # struct Task { #[record(key)] id: i64, title: String }
    /// let mut tasks = [Task { id: 2, title: "a".into() }, Task { id: 1, title: "b".into() }];
    /// tasks.sort_by(Task::compare_keys);
    /// assert_eq!(tasks[0].id, 1);
    /// ```
    fn compare_keys(&self, other: &Self) -> Ordering;

    /// Appends every field, in the order of the columns.
    ///
    /// ```
    /// # use touchstone_store::{Cells, Record};
    /// # #[derive(Record)]
    /// # struct Task { #[record(key)] id: i64, title: String }
    /// let task = Task { id: 1, title: "write".into() };
    /// let mut cells = Cells::default();
    /// task.write(&mut cells);
    /// ```
    fn write<'a>(&'a self, cells: &mut Cells<'a>);

    /// Appends the fields of the key.
    ///
    /// ```
    /// # use touchstone_store::{Cells, Record};
    /// # #[derive(Record)]
    /// # struct Task { #[record(key)] id: i64, title: String }
    /// let task = Task { id: 1, title: "write".into() };
    /// let mut cells = Cells::default();
    /// task.write_key(&mut cells);
    /// ```
    fn write_key<'a>(&'a self, cells: &mut Cells<'a>);

    /// Reads every field, in the order of the columns.
    ///
    /// ```
    /// # use touchstone_store::{Columns, Mismatch, Raw, Record};
    /// # #[derive(Record, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String }
    /// struct Row(Vec<Raw<'static>>);
    ///
    /// impl Columns<'static> for Row {
    ///     fn next(&mut self) -> Raw<'static> {
    ///         self.0.remove(0)
    ///     }
    /// }
    ///
    /// let mut row = Row(vec![Raw::Integer(1), Raw::Text(b"write")]);
    /// assert_eq!(Task::read(&mut row), Ok(Task { id: 1, title: "write".into() }));
    /// let mut row = Row(vec![Raw::Integer(1), Raw::Null]);
    /// assert_eq!(Task::read(&mut row), Err((1, Mismatch::Missing)));
    /// ```
    ///
    /// # Errors
    /// If a stored value does not fit its field's type; with the column's position and the reason.
    fn read<'a>(columns: &mut impl Columns<'a>) -> Result<Self, (usize, Mismatch)>;

    /// As [`read`](Record::read), without copies.
    ///
    /// ```
    /// # use touchstone_store::{Columns, Raw, Record};
    /// # #[derive(Record)]
    /// # struct Task { #[record(key)] id: i64, title: String }
    /// # struct Row(Vec<Raw<'static>>);
    /// # impl Columns<'static> for Row {
    /// #     fn next(&mut self) -> Raw<'static> {
    /// #         self.0.remove(0)
    /// #     }
    /// # }
    /// let mut row = Row(vec![Raw::Integer(1), Raw::Text(b"write")]);
    /// let title: &'static str = Task::view(&mut row).expect("it is a task").title;
    /// assert_eq!(title, "write");
    /// ```
    ///
    /// # Errors
    /// If a stored value does not fit its field's type; with the column's position and the reason.
    fn view<'a>(columns: &mut impl Columns<'a>) -> Result<Self::View<'a>, (usize, Mismatch)>;

    /// Appends one field: live queries look at a field or two of many records.
    #[doc(hidden)]
    fn write_column<'a>(&'a self, column: usize, cells: &mut Cells<'a>);

    /// The default that NULL in the column stands for, if the field has one; for the derive.
    #[doc(hidden)]
    fn default_of(_column: usize) -> Option<&'static Value> {
        None
    }

    /// Whether the record belongs to the table, for records of types made at run time. The compiler checks all others.
    #[doc(hidden)]
    #[inline]
    fn is_of(&self, _shape: &'static Shape) -> bool {
        true
    }
}

/// The values of a row, in the order of the columns.
///
/// ```
/// use touchstone_store::{Columns, Raw};
///
/// struct Nulls;
///
/// impl<'a> Columns<'a> for Nulls {
///     fn next(&mut self) -> Raw<'a> {
///         Raw::Null
///     }
/// }
///
/// assert_eq!(Nulls.next(), Raw::Null);
/// ```
pub trait Columns<'a> {
    /// The next value.
    ///
    /// ```
    /// # use touchstone_store::{Columns, Raw};
    /// struct Counted(i64);
    ///
    /// impl<'a> Columns<'a> for Counted {
    ///     fn next(&mut self) -> Raw<'a> {
    ///         self.0 += 1;
    ///         Raw::Integer(self.0)
    ///     }
    /// }
    ///
    /// let mut row = Counted(0);
    /// assert_eq!((row.next(), row.next()), (Raw::Integer(1), Raw::Integer(2)));
    /// ```
    fn next(&mut self) -> Raw<'a>;

    /// The table of the row, if it is known; for records of a type made at run time.
    #[doc(hidden)]
    #[inline]
    fn shape(&self) -> Option<&'static Shape> {
        None
    }
}

/// The description of a table, as a type declares it.
///
/// ```
/// use touchstone_store::Record;
///
/// #[derive(Record)]
/// struct Task {
///     #[record(key)]
///     id: i64,
///     title: String,
/// }
///
/// assert_eq!((Task::SHAPE.name, Task::SHAPE.keys), ("task", 1));
/// let columns: Vec<&str> = Task::SHAPE.columns.iter().map(|column| column.name).collect();
/// assert_eq!(columns, ["id", "title"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The table's name.
    pub name: &'static str,
    /// The number of columns in the key: they come first.
    pub keys: usize,
    /// Whether rows are numbered and the key has an index of its own: better for rows of more than some hundred
    /// bytes. Otherwise rows lie in the order of their key. A key of one integer is always the row's number.
    pub numbered: bool,
    /// The columns, those of the key first, then in the order of the fields.
    pub columns: &'static [ColumnShape],
    /// The defaults that NULL stands for, of a type made at run time; other types have [`Record::default_of`].
    #[doc(hidden)]
    pub defaults: Defaults,
}

/// The defaults of a type made at run time, by column.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults(pub(crate) &'static [Option<Value>]);

// A default is never NaN: NaN cannot be stored.
impl Eq for Defaults {}

impl Defaults {
    /// For a type that the program declares.
    #[doc(hidden)]
    pub const NONE: Defaults = Defaults(&[]);

    #[inline]
    pub(crate) fn of(self, column: usize) -> Option<&'static Value> {
        self.0.get(column)?.as_ref()
    }
}

/// The description of a column, as a field declares it.
///
/// ```
/// use touchstone_store::{Index, Kind, Record};
///
/// #[derive(Record)]
/// struct Task {
///     #[record(key)]
///     id: i64,
///     #[record(index, column = "due_at")]
///     due: Option<i64>,
/// }
///
/// let due = Task::SHAPE.columns[1];
/// assert_eq!((due.name, due.kind, due.nullable, due.index), ("due_at", Kind::Integer, true, Index::Plain));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnShape {
    /// The name in the file. It stays when the field is renamed.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// Whether the field's values include NULL.
    pub nullable: bool,
    /// The index on it.
    pub index: Index,
}

/// An index on one column. The first column of a key has none: the key's own index begins with it.
///
/// ```
/// use touchstone_store::{ErrorKind, Record, Store};
///
/// #[derive(Record)]
/// struct Person {
///     #[record(key)]
///     id: i64,
///     #[record(unique)]
///     mail: Option<String>,
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("people.db"))?;
/// store.insert_all(&[Person { id: 1, mail: None }, Person { id: 2, mail: None }])?;
/// store.insert(&Person { id: 3, mail: Some("ada@example.org".into()) })?;
/// let second = store.insert(&Person { id: 4, mail: Some("ada@example.org".into()) });
/// assert_eq!(second.map_err(|error| error.kind()), Err(ErrorKind::Conflict));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// No index.
    None,
    /// An index for queries.
    Plain,
    /// An index that also refuses a second record with the same value. As in SQL, NULLs are never the same.
    Unique,
}

/// A primary key: an integer, `bool`, `String` or `Vec<u8>`, or a tuple of two to four of these. Floats do not compare
/// exactly, and a key is never NULL: so neither a float nor an `Option` is a key.
///
/// ```
/// use touchstone_store::{Key, Record};
///
/// fn newest<T: Record>(records: &[T]) -> Option<T::Key> {
///     records.iter().map(Record::key).max()
/// }
///
/// fn is_key<K: Key>() {}
/// is_key::<i64>();
/// is_key::<(String, u32)>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a primary key",
    note = "a key is an integer, `bool`, `String` or `Vec<u8>`, or up to four fields of these: something that is \
            compared exactly and is never NULL"
)]
pub trait Key: Clone + Ord + 'static {}

/// A value to look up a key by: the key itself, or a borrowed form of it (`str` for `String`).
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// #[derive(Record)]
/// struct Word {
///     #[record(key)]
///     word: String,
///     count: u64,
/// }
///
/// store.insert(&Word { word: "emma".into(), count: 865 })?;
/// // A `&str` finds what has a `String` for its key.
/// assert!(store.get::<Word>("emma")?.is_some());
///
/// #[derive(Record)]
/// struct Entry {
///     #[record(key)]
///     log: String,
///     #[record(key)]
///     number: i64,
/// }
///
/// store.insert(&Entry { log: "log".into(), number: 1 })?;
/// // A key of several fields is a tuple of them, each owned, in the order of the struct.
/// assert!(store.get::<Entry>(&("log".to_owned(), 1))?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait KeyPart {
    /// Appends the key's columns.
    ///
    /// ```
    /// use touchstone_store::{Cells, KeyPart};
    ///
    /// let page = ("Emma".to_owned(), 3_u32);
    /// let mut cells = Cells::default();
    /// page.write_key(&mut cells);
    /// ```
    fn write_key<'a>(&'a self, cells: &mut Cells<'a>);
}

macro_rules! key {
    ($($type:ty),*) => {$(
        impl Key for $type {}
        impl KeyPart for $type {
            #[inline]
            fn write_key<'a>(&'a self, cells: &mut Cells<'a>) {
                self.write(cells);
            }
        }
    )*};
}

key!(i8, i16, i32, i64, u8, u16, u32, u64, isize, usize, bool, String, Vec<u8>);

impl KeyPart for str {
    #[inline]
    fn write_key<'a>(&'a self, cells: &mut Cells<'a>) {
        cells.text(self);
    }
}

impl KeyPart for [u8] {
    #[inline]
    fn write_key<'a>(&'a self, cells: &mut Cells<'a>) {
        cells.blob(self);
    }
}

macro_rules! key_tuple {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Key),*> Key for ($($name,)*) {}
        impl<$($name: KeyPart),*> KeyPart for ($($name,)*) {
            fn write_key<'a>(&'a self, cells: &mut Cells<'a>) {
                $(self.$at.write_key(cells);)*
            }
        }
    };
}

key_tuple!(A 0, B 1);
key_tuple!(A 0, B 1, C 2);
key_tuple!(A 0, B 1, C 2, D 3);

/// A value that identifies a record of `T`: its key, or a borrowed form of the key.
///
/// ```
/// use touchstone_store::{Finds, Record, Result, Store};
///
/// fn has<T: Record>(store: &Store, key: &(impl Finds<T> + ?Sized)) -> Result<bool> {
///     Ok(store.get::<T>(key)?.is_some())
/// }
/// # #[derive(Record)]
/// # struct Task { #[record(key)] id: i64 }
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("tasks.db"))?;
/// assert!(!has::<Task>(&store, &1)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Finds<T: Record>: KeyPart {}
impl<T: Record, Q: KeyPart + ?Sized> Finds<T> for Q where T::Key: Borrow<Q> {}

/// A column of `T` that holds an `F`, to build queries with.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
/// use touchstone_store::Column;
///
/// let due: Column<Task, Option<i64>> = Task::COLUMNS.due;
/// assert_eq!(store.snapshot()?.query::<Task>().filter(|_| due.ge(20)).count()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Column<T, F> {
    pub(crate) at: u16,
    marker: PhantomData<fn() -> (T, F)>,
}

impl<T, F> Clone for Column<T, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, F> Copy for Column<T, F> {}

impl<T: Record, F: Field> fmt::Debug for Column<T, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Column").field(&self.name()).finish()
    }
}

impl<T: Record, F: Field> Column<T, F> {
    /// The column at this position of the shape; for the derive.
    #[doc(hidden)]
    pub const fn at(at: u16) -> Column<T, F> {
        Column { at, marker: PhantomData }
    }

    /// The column's name in the file.
    ///
    /// ```
    /// use touchstone_store::Record;
    ///
    /// #[derive(Record)]
    /// struct Task {
    ///     #[record(key)]
    ///     id: i64,
    ///     #[record(column = "due_at")]
    ///     due: Option<i64>,
    /// }
    ///
    /// assert_eq!(Task::COLUMNS.due.name(), "due_at");
    /// ```
    pub fn name(self) -> &'static str {
        T::SHAPE.columns[usize::from(self.at)].name
    }
}
