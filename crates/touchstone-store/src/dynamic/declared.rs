//! Types made at run time: their declarations, and the checks on them, which are those of the derive.

use super::{Column, Dynamic, Key, Value};
use crate::engine::fork;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::{ColumnShape, Defaults, Index, Shape};
use crate::types::value::Kind;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A type made at run time: a table, its columns and its key. Copies are the same type, and so are two types with the
/// same declaration. A type's declaration is kept until the program ends.
///
/// ```
/// use touchstone_store::Kind;
/// use touchstone_store::dynamic::{Field, Type};
///
/// let word = || Type::new("word", [Field::key("word", Kind::Text)]);
/// assert_eq!(word()?, word()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Type(&'static Shape);

/// A column of a [`Type`].
///
/// ```
/// use touchstone_store::Kind;
/// use touchstone_store::dynamic::{Field, Type};
///
/// let task = Type::new(
///     "task",
///     [
///         Field::key("id", Kind::Integer),
///         Field::new("mail", Kind::Text).nullable().unique(),
///         Field::new("stars", Kind::Integer).index().default(3),
///     ],
/// )?;
/// assert_eq!(task.shape().columns.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Field {
    name: String,
    kind: Kind,
    is_key: bool,
    nullable: bool,
    index: Index,
    default: Option<Value>,
}

impl Field {
    /// A column that is never NULL.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::Field};
    /// let title = Field::new("title", Kind::Text);
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind) -> Field {
        Field { name: name.into(), kind, is_key: false, nullable: false, index: Index::None, default: None }
    }

    /// A column of the key.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::Field};
    /// let id = Field::key("id", Kind::Integer);
    /// ```
    #[must_use]
    pub fn key(name: impl Into<String>, kind: Kind) -> Field {
        Field { is_key: true, ..Field::new(name, kind) }
    }

    /// NULL becomes one of its values.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::Field};
    /// let due = Field::new("due", Kind::Integer).nullable();
    /// ```
    #[must_use]
    pub fn nullable(self) -> Field {
        Field { nullable: true, ..self }
    }

    /// With an index for queries.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::Field};
    /// let due = Field::new("due", Kind::Integer).index();
    /// ```
    #[must_use]
    pub fn index(self) -> Field {
        Field { index: Index::Plain, ..self }
    }

    /// With an index that refuses a second record with the same value.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::Field};
    /// let mail = Field::new("mail", Kind::Text).unique();
    /// ```
    #[must_use]
    pub fn unique(self) -> Field {
        Field { index: Index::Unique, ..self }
    }

    /// With a default, for rows that lack the value.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::Field};
    /// let stars = Field::new("stars", Kind::Integer).default(3);
    /// ```
    #[must_use]
    pub fn default(self, value: impl Into<Value>) -> Field {
        Field { default: Some(value.into()), ..self }
    }

    fn check(&self) -> Result<()> {
        let Field { name, kind, is_key, nullable, default, index: _ } = self;
        if ["rowid", "oid", "_rowid_"].iter().any(|hidden| name.eq_ignore_ascii_case(hidden)) {
            return Err(invalid(format!("the column name `{name}` is SQLite's own for the row's number")));
        }
        if name.to_ascii_lowercase().starts_with("touchstone_") {
            return Err(invalid(format!(
                "the column name `{name}` begins with `touchstone_`, which is reserved"
            )));
        }
        check_plain("column", name)?;
        let wrong = match default {
            _ if *is_key && *nullable => "a key is never NULL: use a value that stands for none",
            _ if *is_key && *kind == Kind::Real => {
                "a key is an integer, text or bytes: a float is not compared exactly"
            }
            Some(_) if *is_key => "a key cannot have a default, every record has one of its own",
            Some(_) if *nullable => {
                "a column that may be NULL cannot have a default: it is NULL where the file has nothing"
            }
            Some(value) if !fits(value, *kind) => "its default is of another kind, or NaN",
            _ => return Ok(()),
        };
        Err(invalid(format!("column `{name}`: {wrong}")))
    }
}

impl Type {
    /// A type whose rows lie in the order of their key.
    ///
    /// ```
    /// # use touchstone_store::{ErrorKind, Kind, dynamic::{Field, Type}};
    /// let word = Type::new("word", [Field::key("word", Kind::Text), Field::new("count", Kind::Integer)])?;
    /// let nameless = Type::new("", [Field::key("word", Kind::Text)]);
    /// assert_eq!(nameless.map_err(|error| error.kind()), Err(ErrorKind::Invalid));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the derive would refuse it: if a name is not made of ASCII letters, digits
    /// and `_`, if two columns have one name, if there is no key, or if a column cannot be a key or have its default.
    pub fn new(name: &str, fields: impl Into<Vec<Field>>) -> Result<Type> {
        Type::make(name, false, fields.into())
    }

    /// A type whose rows are numbered, with the key as an index of its own: better for rows of more than some hundred
    /// bytes.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type}};
    /// let photo = Type::numbered("photo", [Field::key("name", Kind::Text), Field::new("pixels", Kind::Blob)])?;
    /// assert!(photo.shape().numbered);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`new`](Type::new).
    pub fn numbered(name: &str, fields: impl Into<Vec<Field>>) -> Result<Type> {
        Type::make(name, true, fields.into())
    }

    fn make(name: &str, numbered: bool, mut fields: Vec<Field>) -> Result<Type> {
        check(name, &fields).map_err(|error| error.context(format_args!("the type `{name}`")))?;
        // The sort is stable: within the key and outside of it, the order is that of the fields.
        fields.sort_by_key(|field| !field.is_key);
        let keys = fields.iter().filter(|field| field.is_key).count();
        let is_plain = fields.iter().all(|field| field.default.is_none());
        let columns: Vec<ColumnShape> = fields
            .iter()
            .map(|Field { name, kind, nullable, index, .. }| ColumnShape {
                name: kept(name),
                kind: *kind,
                nullable: *nullable,
                index: *index,
            })
            .collect();
        let defaults =
            if is_plain { Vec::new() } else { fields.into_iter().map(|field| field.default).collect() };
        let _alone = fork::alone();
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.iter().find(|shape| {
            (shape.name, shape.keys, shape.numbered) == (name, keys, numbered)
                && shape.columns == columns
                && shape.defaults.0 == defaults
        });
        if let Some(shape) = known {
            return Ok(Type(shape));
        }
        let shape: &'static Shape = Box::leak(Box::new(Shape {
            name: kept(name),
            keys,
            numbered,
            columns: columns.leak(),
            defaults: Defaults(defaults.leak()),
        }));
        made.push(shape);
        Ok(Type(shape))
    }

    pub(crate) fn of(shape: &'static Shape) -> Type {
        Type(shape)
    }

    /// The table.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type}};
    /// let word = Type::new("word", [Field::key("word", Kind::Text), Field::new("count", Kind::Integer)])?;
    /// assert_eq!((word.shape().keys, word.shape().columns[1].name), (1, "count"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn shape(self) -> &'static Shape {
        self.0
    }

    /// The table's name.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type}};
    /// assert_eq!(Type::new("word", [Field::key("word", Kind::Text)])?.name(), "word");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// A column, to build queries with.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic::{Field, Type}};
    /// let word = Type::new("word", [Field::key("word", Kind::Text)])?;
    /// assert!(word.column("word").is_ok());
    /// assert!(word.column("count").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the type has no column of this name.
    pub fn column(self, name: &str) -> Result<Column> {
        let place = self.0.columns.iter().position(|column| column.name == name);
        match place {
            Some(at) => Ok(Column::new(self.0, at)),
            None => Err(invalid(format!("the type `{}` has no column `{name}`", self.0.name))),
        }
    }

    /// A record of these values, in the order of the columns: the key's come first.
    ///
    /// ```
    /// # use touchstone_store::{ErrorKind, Kind, dynamic::{Field, Type}};
    /// let word = Type::new("word", [Field::new("count", Kind::Integer), Field::key("word", Kind::Text)])?;
    /// let emma = word.record(["emma".into(), 865.into()])?;
    /// let wrong = word.record([865.into(), "emma".into()]);
    /// assert_eq!(wrong.map_err(|error| error.kind()), Err(ErrorKind::Invalid));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if there are too many values or too few, or if one does not fit its column.
    pub fn record(self, values: impl Into<Vec<Value>>) -> Result<Dynamic> {
        let values: Vec<Value> = values.into();
        self.check(&values, self.0.columns)?;
        Ok(Dynamic::new(self.0, values.into()))
    }

    /// A key of these values.
    ///
    /// ```
    /// # use touchstone_store::{ErrorKind, Kind, dynamic::{Field, Type}};
    /// let word = Type::new("word", [Field::key("word", Kind::Text), Field::new("count", Kind::Integer)])?;
    /// assert!(word.key(["emma".into()]).is_ok());
    /// assert!(word.key([7.into()]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`record`](Type::record).
    pub fn key(self, values: impl Into<Vec<Value>>) -> Result<Key> {
        let values: Vec<Value> = values.into();
        self.check(&values, &self.0.columns[..self.0.keys])?;
        Ok(Key::new(values))
    }

    fn check(self, values: &[Value], columns: &[ColumnShape]) -> Result<()> {
        if values.len() != columns.len() {
            let (given, wanted) = (values.len(), columns.len());
            return Err(invalid(format!(
                "{given} values were given for {wanted} columns of `{}`",
                self.0.name
            )));
        }
        let fits = |value: &Value, column: &ColumnShape| match value {
            Value::Null => column.nullable,
            value => fits(value, column.kind),
        };
        match values.iter().zip(columns).find(|(value, column)| !fits(value, column)) {
            None => Ok(()),
            Some((value, column)) => Err(unfit(self.0, column, value)),
        }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Type {}

impl fmt::Debug for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Type").field(&self.0.name).finish()
    }
}

/// All types made at run time: a program makes few, and each of them once.
static MADE: Mutex<Vec<&'static Shape>> = Mutex::new(Vec::new());

fn kept(text: &str) -> &'static str {
    Box::leak(text.into())
}

/// Whether a column of this kind can hold the value.
fn fits(value: &Value, kind: Kind) -> bool {
    match value {
        Value::Null => false,
        Value::Integer(_) => kind == Kind::Integer,
        Value::Real(value) => kind == Kind::Real && !value.is_nan(),
        Value::Text(_) => kind == Kind::Text,
        Value::Blob(_) => kind == Kind::Blob,
    }
}

fn check(name: &str, fields: &[Field]) -> Result<()> {
    /// The limit of SQLite's tables.
    const COLUMNS_MAX: usize = 2000;
    /// The limit of the derive.
    const KEYS_MAX: usize = 4;
    let lower = name.to_ascii_lowercase();
    if let Some(prefix) = ["sqlite_", "touchstone"].into_iter().find(|prefix| lower.starts_with(prefix)) {
        return Err(invalid(format!("its name begins with `{prefix}`, which is reserved")));
    }
    if lower.ends_with("_in_collections") {
        return Err(invalid("its name ends with `_in_collections`, as tables of named collections do"));
    }
    check_plain("table", name)?;
    for (at, field) in fields.iter().enumerate() {
        field.check()?;
        if fields[..at].iter().any(|other| other.name.eq_ignore_ascii_case(&field.name)) {
            let name = &field.name;
            return Err(invalid(format!("two columns are named `{name}`, and SQLite ignores case")));
        }
    }
    let mut keys = fields.iter().filter(|field| field.is_key);
    if let Some(Field { name, index, .. }) = keys.next()
        && *index != Index::None
    {
        let why = match (index, keys.next()) {
            (_, None) => "a key needs no index, it has its own",
            (Index::Unique, _) => "the first column of a key cannot be unique: it would be the key alone",
            _ => "the first column of a key needs no index, the key's own begins with it",
        };
        return Err(invalid(format!("column `{name}`: {why}")));
    }
    match fields.iter().filter(|field| field.is_key).count() {
        0 => Err(invalid("it has no key: name the column, or several, that tell one record from another")),
        keys if keys > KEYS_MAX => Err(invalid("a key has at most four columns")),
        _ if fields.len() > COLUMNS_MAX => Err(invalid("a table has at most 2,000 columns")),
        _ => Ok(()),
    }
}

fn check_plain(what: &str, name: &str) -> Result<()> {
    let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_plain {
        return Ok(());
    }
    let why = "is not made of ASCII letters, digits and `_`, or begins with a digit";
    Err(invalid(format!("the {what} name `{name}` {why}")))
}

pub(super) fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, why)
}

#[cold]
pub(super) fn unfit(shape: &Shape, column: &ColumnShape, value: &Value) -> Error {
    let what = match value {
        Value::Null => "NULL",
        Value::Integer(_) => "an integer",
        Value::Real(value) if value.is_nan() => "NaN",
        Value::Real(_) => "a float",
        Value::Text(_) => "text",
        Value::Blob(_) => "bytes",
    };
    let (name, table, kind) = (column.name, shape.name, column.kind.sql());
    invalid(format!("column `{name}` of `{table}` is {kind} and cannot be {what}"))
}
