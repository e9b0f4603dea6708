//! What a type says of itself to be stored: its table, its columns, its key. Derived; nothing here touches a file.

use crate::cells::Cells;
use crate::value::{Field, Kind, Mismatch, Raw};
use std::borrow::Borrow;
use std::cmp::Ordering;
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
pub trait Record: Sized + Send + 'static {
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
    fn key(&self) -> Self::Key;

    /// Which of two records comes first in the order of the key.
    fn compare_keys(&self, other: &Self) -> Ordering;

    /// Appends every field, in the order of the columns.
    fn write<'a>(&'a self, cells: &mut Cells<'a>);

    /// Appends the fields of the key.
    fn write_key<'a>(&'a self, cells: &mut Cells<'a>);

    /// Takes every field, in the order of the columns.
    ///
    /// # Errors
    /// When a value of the file is none of its field's: the column's place, and why.
    fn read<'a>(columns: &mut impl Columns<'a>) -> Result<Self, (usize, Mismatch)>;

    /// As [`read`](Record::read), without copies.
    ///
    /// # Errors
    /// When a value of the file is none of its field's: the column's place, and why.
    fn view<'a>(columns: &mut impl Columns<'a>) -> Result<Self::View<'a>, (usize, Mismatch)>;
}

/// The values of a row, in the order of the columns.
pub trait Columns<'a> {
    /// The next value.
    fn next(&mut self) -> Raw<'a>;
}

/// A table, as a type declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The table's name.
    pub name: &'static str,
    /// How many columns are the key: they come first.
    pub keys: usize,
    /// Whether rows are numbered and the key has an index of its own: better for rows of more than some hundred
    /// bytes. Otherwise rows lie in the order of their key. A key of one integer is always the row's number.
    pub numbered: bool,
    /// The columns, those of the key first, then in the order of the fields.
    pub columns: &'static [ColumnShape],
}

/// A column, as a field declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnShape {
    /// The name in the file. It stays when the field is renamed.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether NULL is one of the field's values.
    pub nullable: bool,
    /// The index on it.
    pub index: Index,
}

/// An index on one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// No index.
    None,
    /// An index for queries.
    Plain,
    /// An index that also refuses a second record with the same value. As in SQL, NULLs are never the same.
    Unique,
}

/// A primary key: an integer, text, bytes, or a tuple of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a primary key",
    note = "a key is an integer, `bool`, `String` or `Vec<u8>`, or up to four fields of these: something that is \
            compared exactly and is never NULL"
)]
pub trait Key: Clone + Ord + 'static {}

/// Something that a key can be looked up by: the key itself, or what it borrows as (`str` for `String`).
pub trait KeyPart {
    /// Appends the key's columns.
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

/// What finds a record of `T`: its key, or what the key borrows as.
pub trait Finds<T: Record>: KeyPart {}
impl<T: Record, Q: KeyPart + ?Sized> Finds<T> for Q where T::Key: Borrow<Q> {}

/// A column of `T` that holds an `F`, to build queries with.
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

impl<T: Record, F: Field> Column<T, F> {
    /// The column at that place of the shape; for the derive.
    #[doc(hidden)]
    pub const fn at(at: u16) -> Column<T, F> {
        Column { at, marker: PhantomData }
    }

    /// The column's name in the file.
    pub fn name(self) -> &'static str {
        T::SHAPE.columns[usize::from(self.at)].name
    }
}
