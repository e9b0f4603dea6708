//! Conditions and orders on columns of types made at run time. Building them checks at run time the types that the
//! compiler checks for declared types.

use super::declared::{invalid, unfit};
use super::{Dynamic, Value};
use crate::query::condition::{Comparison, Node, after};
use crate::query::list::List;
use crate::query::sought::Sought;
use crate::query::{Condition, Order};
use crate::types::error::Result;
use crate::types::record::Shape;
use crate::types::value::Kind;
use std::fmt;

/// A column of a type made at run time: see [`Type::column`](super::Type::column). It compares with values of its kind;
/// integers and real numbers compare with each other.
///
/// ```
/// use touchstone_store::dynamic::{Field, Type, Value};
/// use touchstone_store::{Kind, Store};
///
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("words.db"))?;
/// let word = Type::new("word", [Field::key("word", Kind::Text), Field::new("count", Kind::Integer).nullable()])?;
/// for (text, count) in [("emma", Some(865)), ("heir", Some(6)), ("zeugma", None)] {
///     store.dynamic(word).insert(&word.record([text.into(), count.into()])?)?;
/// }
/// let (text, count) = (word.column("word")?, word.column("count")?);
/// let found = |condition| store.read(|snapshot| snapshot.dynamic(word).query().filter(|()| condition).count());
/// assert_eq!(found(count.eq(6)?)?, 1);
/// assert_eq!(found(count.ne(6)?)?, 1);
/// assert_eq!(found(count.lt(865)?)?, 1);
/// assert_eq!(found(count.le(865)?)?, 2);
/// assert_eq!(found(count.gt(5.5)?)?, 2);
/// assert_eq!(found(count.ge(865)?)?, 1);
/// assert_eq!(found(count.between(6, 865)?)?, 2);
/// assert_eq!(found(text.is_in(["emma".into(), "knightley".into()])?)?, 1);
/// assert_eq!(found(text.starts_with("ze")?)?, 1);
/// assert_eq!(found(text.contains("m")?)?, 2);
/// assert_eq!(found(count.is_null())?, 1);
/// assert_eq!(found(count.is_null().not())?, 2);
/// assert!(count.eq("six").is_err());
///
/// let last = store.snapshot()?.dynamic(word).query().order(|()| text.descending()).first()?;
/// assert_eq!(last.map(|word| word.values()[0].clone()), Some(Value::from("zeugma")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Column {
    shape: &'static Shape,
    at: usize,
}

impl fmt::Debug for Column {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Column").field(&self.name()).finish()
    }
}

impl Column {
    pub(super) fn new(shape: &'static Shape, at: usize) -> Column {
        Column { shape, at }
    }

    /// The column's name in the file.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// assert_eq!(word.column("word")?.name(), "word");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        self.shape.columns[self.at].name
    }

    fn condition(self, node: Node) -> Condition<Dynamic> {
        let node = match self.shape.defaults.of(self.at) {
            Some(default) => node.with_default(self.at, default),
            None => node,
        };
        Condition::of(self.shape, node)
    }

    /// The value, if it compares with the column's: SQLite would convert numbers to text, or text to numbers.
    fn operand(self, value: impl Into<Value>) -> Result<Value> {
        let (value, column) = (value.into(), &self.shape.columns[self.at]);
        let is_number = matches!(column.kind, Kind::Integer | Kind::Real);
        let fits = match &value {
            // As a parameter of SQLite, NaN is NULL.
            Value::Real(real) if real.is_nan() && is_number => return Ok(Value::Null),
            Value::Null => true,
            Value::Integer(_) | Value::Real(_) => is_number,
            Value::Text(_) => column.kind == Kind::Text,
            Value::Blob(_) => column.kind == Kind::Blob,
        };
        if fits { Ok(value) } else { Err(unfit(self.shape, column, &value)) }
    }

    fn compare(self, comparison: Comparison, value: impl Into<Value>) -> Result<Condition<Dynamic>> {
        Ok(self.condition(Node::Compare(self.at, comparison, self.operand(value)?)))
    }

    /// The value equals the other.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let six = word.column("count")?.eq(6)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the two cannot be compared.
    pub fn eq(self, other: impl Into<Value>) -> Result<Condition<Dynamic>> {
        self.compare(Comparison::Equal, other)
    }

    /// The value differs from the other.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let others = word.column("count")?.ne(6)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`eq`](Column::eq).
    pub fn ne(self, other: impl Into<Value>) -> Result<Condition<Dynamic>> {
        self.compare(Comparison::NotEqual, other)
    }

    /// The value is less than the other.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let rare = word.column("count")?.lt(6)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`eq`](Column::eq).
    pub fn lt(self, other: impl Into<Value>) -> Result<Condition<Dynamic>> {
        self.compare(Comparison::Less, other)
    }

    /// The value is less than the other, or equal.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let rare = word.column("count")?.le(6)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`eq`](Column::eq).
    pub fn le(self, other: impl Into<Value>) -> Result<Condition<Dynamic>> {
        self.compare(Comparison::LessOrEqual, other)
    }

    /// The value is greater than the other.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let frequent = word.column("count")?.gt(5.5)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`eq`](Column::eq).
    pub fn gt(self, other: impl Into<Value>) -> Result<Condition<Dynamic>> {
        self.compare(Comparison::Greater, other)
    }

    /// The value is greater than the other, or equal.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let frequent = word.column("count")?.ge(6)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`eq`](Column::eq).
    pub fn ge(self, other: impl Into<Value>) -> Result<Condition<Dynamic>> {
        self.compare(Comparison::GreaterOrEqual, other)
    }

    /// The value lies between the two, both included.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let some = word.column("count")?.between(6, 865)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`eq`](Column::eq).
    pub fn between(self, low: impl Into<Value>, high: impl Into<Value>) -> Result<Condition<Dynamic>> {
        Ok(self.condition(Node::between(self.at, self.operand(low)?, self.operand(high)?)))
    }

    /// The value is one of the others.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let two = word.column("count")?.is_in([6.into(), 865.into()])?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`eq`](Column::eq).
    pub fn is_in(self, others: impl IntoIterator<Item = Value>) -> Result<Condition<Dynamic>> {
        let others: Result<List> = others.into_iter().map(|other| self.operand(other)).collect();
        Ok(self.condition(Node::In(self.at, others?)))
    }

    /// The value is NULL.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let none = word.column("count")?.is_null();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_null(self) -> Condition<Dynamic> {
        self.condition(Node::IsNull(self.at))
    }

    /// The text begins with this prefix.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let begins = word.column("word")?.starts_with("em")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the column does not hold text.
    pub fn starts_with(self, prefix: impl Into<String>) -> Result<Condition<Dynamic>> {
        self.check_text()?;
        let prefix = prefix.into();
        let end = after(&prefix);
        Ok(self.condition(Node::StartsWith(self.at, prefix, end)))
    }

    /// The text contains this part.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let has = word.column("word")?.contains("mm")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`starts_with`](Column::starts_with).
    pub fn contains(self, part: impl Into<String>) -> Result<Condition<Dynamic>> {
        self.check_text()?;
        Ok(self.condition(Node::Contains(self.at, Sought::new(part.into()))))
    }

    fn check_text(self) -> Result<()> {
        if self.shape.columns[self.at].kind == Kind::Text {
            return Ok(());
        }
        Err(invalid(format!("column `{}` of `{}` holds no text", self.name(), self.shape.name)))
    }

    /// The least value first; NULLs are less than all others.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let order = word.column("count")?.ascending();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn ascending(self) -> Order<Dynamic> {
        self.order(false)
    }

    /// The greatest value first.
    ///
    /// ```
    /// # let word = touchstone_store_example::word()?;
    /// let order = word.column("count")?.descending();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn descending(self) -> Order<Dynamic> {
        self.order(true)
    }

    fn order(self, descending: bool) -> Order<Dynamic> {
        let mut order = Order::new(self.at, descending, self.shape.defaults.of(self.at));
        order.of = Some(self.shape);
        order
    }
}
