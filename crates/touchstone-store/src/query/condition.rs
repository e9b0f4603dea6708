//! Conditions and orders, as trees. The methods of columns build them, and the compiler checks their types.

use super::evaluate::evaluate;
use super::list::List;
use super::sought::Sought;
use crate::types::cells::Cells;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::{Column, Record, Shape};
use crate::types::value::{Field, Refusal, Value};
use std::fmt;
use std::marker::PhantomData;

/// A condition on records of `T`. It is true, false or, if NULL is compared, unknown, as in SQL. Conditions may be
/// nested 500 deep, and those that one word joins count as one level: a query with a deeper condition is refused as
/// [`TooBig`](ErrorKind::TooBig).
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
/// use touchstone_store::Condition;
///
/// fn is_urgent(task: <Task as Record>::Columns) -> Condition<Task> {
///     task.due.lt(30).or(task.title.starts_with("!"))
/// }
///
/// assert_eq!(store.snapshot()?.query::<Task>().filter(is_urgent).count()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Condition<T> {
    node: Result<Node, Unasked>,
    /// How deep the condition is nested.
    depth: u32,
    /// The type, if it is made at run time.
    pub(crate) of: Option<&'static Shape>,
    marker: PhantomData<fn() -> T>,
}

// Written out, because a derive would demand that the record can be cloned.
impl<T> Clone for Condition<T> {
    fn clone(&self) -> Condition<T> {
        Condition { node: self.node.clone(), ..*self }
    }
}

impl<T> fmt::Debug for Condition<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Ok(node) => formatter.debug_tuple("Condition").field(node).finish(),
            Err(why) => formatter.debug_tuple("Condition").field(why).finish(),
        }
    }
}

/// A condition's tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Compare(usize, Comparison, Value),
    /// Both comparisons of a range in one: the value is looked up once.
    Between(usize, End, End),
    In(usize, List),
    IsNull(usize),
    /// The prefix, and the least text that is greater than all texts with the prefix, if there is one.
    StartsWith(usize, String, Option<String>),
    Contains(usize, Sought),
    /// Two conditions or more, none of them joined by the same word. A program may join a hundred thousand: a flat list
    /// keeps the recursion from overflowing the stack.
    Joined(Word, Vec<Node>),
    Not(Box<Node>),
}

/// An end of a range: how a value inside the range compares with it.
pub(crate) type End = (Comparison, Value);

/// A word that joins conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    And,
    Or,
}

impl Word {
    /// The word that joins the negated conditions: De Morgan's law.
    fn other(self) -> Word {
        match self {
            Word::And => Word::Or,
            Word::Or => Word::And,
        }
    }

    /// The value of a single condition that decides the value of the whole.
    pub(crate) fn decisive(self) -> bool {
        self == Word::Or
    }
}

/// A comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison that is true of two values, neither of them NULL, exactly if this one is false.
    fn negated(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::Less => Comparison::GreaterOrEqual,
            Comparison::LessOrEqual => Comparison::Greater,
            Comparison::Greater => Comparison::LessOrEqual,
            Comparison::GreaterOrEqual => Comparison::Less,
        }
    }
}

/// How deep conditions may be nested. SQLite's own limit is twice that.
const DEPTH_MAX: u32 = 500;

/// Why a condition, or an order, is refused. The call that runs the query reports it, because the methods that build a
/// query return no errors.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unasked {
    /// Conditions are nested too deep.
    TooDeep,
    /// The condition or order is of the second type, which is made at run time; the query is for the first.
    OtherType(&'static Shape, &'static Shape),
}

impl Unasked {
    #[cold]
    pub(crate) fn error(self) -> Error {
        match self {
            Unasked::TooDeep => {
                let message = format!("conditions lie more than {DEPTH_MAX} deep within each other");
                Error::new(ErrorKind::TooBig, message)
            }
            Unasked::OtherType(asked, given) if asked.name == given.name => {
                let name = asked.name;
                let why =
                    "has the columns of another type of that name (take them from the type that is asked)";
                Error::new(ErrorKind::Invalid, format!("a condition or an order of `{name}` {why}"))
            }
            Unasked::OtherType(asked, given) => {
                let (asked, given) = (asked.name, given.name);
                let message = format!(
                    "a condition or an order of `{given}` was given where `{asked}` is asked (take the columns from `{asked}`)"
                );
                Error::new(ErrorKind::Invalid, message)
            }
        }
    }
}

/// The value to compare with.
fn value<F: Field>(field: &F) -> Value {
    /// A number greater than every integer of SQLite.
    const ABOVE: f64 = 9.3e18;
    let mut cells = Cells::default();
    field.write(&mut cells);
    match cells.refused() {
        Some((_, Refusal::Range)) => Value::Real(ABOVE),
        // A parameter of NaN is NULL to SQLite. A value that cannot be stored equals no stored value.
        _ => Value::first(&cells),
    }
}

impl Node {
    /// The condition for a column in which NULL stands for a default: its value for NULL is that for the default.
    pub(crate) fn with_default(self, column: usize, default: &Value) -> Node {
        let is_null = Node::IsNull(column);
        match evaluate(&self, &|_| default.raw()) {
            Some(true) => is_null.join(Word::Or, self),
            Some(false) => is_null.negated().join(Word::And, self),
            // The condition compares with NULL, and so is unknown for NULL as well.
            None => self,
        }
    }

    /// The range between two values, both included.
    pub(crate) fn between(column: usize, low: Value, high: Value) -> Node {
        Node::Between(column, (Comparison::GreaterOrEqual, low), (Comparison::LessOrEqual, high))
    }

    /// The columns that the condition names, in order.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.collect_columns(&mut columns);
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    fn collect_columns(&self, columns: &mut Vec<usize>) {
        match self {
            Node::Compare(column, ..)
            | Node::Between(column, ..)
            | Node::In(column, _)
            | Node::IsNull(column)
            | Node::StartsWith(column, ..)
            | Node::Contains(column, _) => columns.push(*column),
            Node::Joined(_, nodes) => nodes.iter().for_each(|node| node.collect_columns(columns)),
            Node::Not(node) => node.collect_columns(columns),
        }
    }

    /// True if the condition is false, and unknown if it is unknown. Comparisons are turned around: an index serves a
    /// comparison, but not the negation of one.
    pub(crate) fn negated(self) -> Node {
        match self {
            Node::Compare(column, comparison, value) => Node::Compare(column, comparison.negated(), value),
            Node::Joined(word, nodes) => {
                Node::Joined(word.other(), nodes.into_iter().map(Node::negated).collect())
            }
            Node::Not(node) => *node,
            node => Node::Not(Box::new(node)),
        }
    }

    fn join(self, word: Word, other: Node) -> Node {
        let parts = |node| match node {
            Node::Joined(joined, nodes) if joined == word => nodes,
            node => vec![node],
        };
        let (mut most, mut rest) = (parts(self), parts(other));
        // Appends the shorter list to the longer one, whichever side a program extends.
        if most.len() < rest.len() {
            std::mem::swap(&mut most, &mut rest);
        }
        most.append(&mut rest);
        Node::Joined(word, most)
    }
}

/// A value to compare a column of `F`s with: an `F`, an `Option<F>` (`None` is NULL); for text also `&str` and
/// `&String`; for bytes a slice, or a reference to an array or to a vector.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
/// let (text, owned, none) = ("rest", String::from("rest"), None::<i64>);
/// let snapshot = store.snapshot()?;
/// let count = |condition| snapshot.query::<Task>().filter(|_| condition).count();
/// let task = Task::COLUMNS;
/// assert_eq!(count(task.title.eq(text))?, 1);
/// assert_eq!(count(task.title.eq(&owned))?, 1);
/// assert_eq!(count(task.title.eq(owned))?, 1);
/// assert_eq!(count(task.due.eq(20))?, 1);
/// // Nothing equals NULL; `is_null` asks for it.
/// assert_eq!(count(task.due.eq(none))?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Operand<F> {
    #[doc(hidden)]
    fn operand(self) -> Compared;
}

/// A value to compare with.
#[doc(hidden)]
pub struct Compared(pub(crate) Value);

impl<F: Field> Operand<F> for F {
    fn operand(self) -> Compared {
        Compared(value(&self))
    }
}

impl<F: Field> Operand<F> for Option<F> {
    fn operand(self) -> Compared {
        Compared(self.as_ref().map_or(Value::Null, value))
    }
}

impl Operand<String> for &str {
    fn operand(self) -> Compared {
        Compared(Value::Text(self.to_owned()))
    }
}

impl Operand<String> for &String {
    fn operand(self) -> Compared {
        self.as_str().operand()
    }
}

impl Operand<Vec<u8>> for &[u8] {
    fn operand(self) -> Compared {
        Compared(Value::Blob(self.to_vec()))
    }
}

impl<const N: usize> Operand<Vec<u8>> for &[u8; N] {
    fn operand(self) -> Compared {
        self.as_slice().operand()
    }
}

impl Operand<Vec<u8>> for &Vec<u8> {
    fn operand(self) -> Compared {
        self.as_slice().operand()
    }
}

impl<T> Condition<T> {
    /// A condition that the program has not joined with others.
    pub(crate) fn of_node(node: Node) -> Condition<T> {
        Condition { node: Ok(node), depth: 0, of: None, marker: PhantomData }
    }

    /// A condition on a type made at run time.
    pub(crate) fn of(shape: &'static Shape, node: Node) -> Condition<T> {
        Condition { of: Some(shape), ..Condition::of_node(node) }
    }

    /// The tree.
    ///
    /// # Errors
    /// If conditions are nested so deep that a walk could overflow the stack, or are of another type.
    pub(crate) fn node(&self) -> Result<&Node> {
        self.node.as_ref().map_err(|why| why.error())
    }

    /// The condition for a query of the type `asked`. A condition of another type becomes an error.
    pub(crate) fn about(self, asked: &'static Shape) -> Condition<T> {
        match check_same(Some(asked), self.of) {
            Ok(()) => self,
            Err(why) => Condition { node: Err(why), ..self },
        }
    }

    fn join(self, word: Word, other: Condition<T>) -> Condition<T> {
        let is_same = check_same(self.of, other.of);
        let depth = self.depth_under(word).max(other.depth_under(word));
        let node = match (is_same, self.node, other.node) {
            (Ok(()), Ok(left), Ok(right)) => Ok(left.join(word, right)),
            (Err(why), ..) | (_, Err(why), _) | (_, _, Err(why)) => Err(why),
        };
        Condition { node, depth: 0, of: self.of, marker: PhantomData }.at_depth(depth)
    }

    /// The depth of the condition inside a join by `word`: a join by the same word is merged and adds no level.
    fn depth_under(&self, word: Word) -> u32 {
        let is_joined_by_it = matches!(&self.node, Ok(Node::Joined(own, _)) if *own == word);
        self.depth + u32::from(!is_joined_by_it)
    }

    fn at_depth(self, depth: u32) -> Condition<T> {
        let node = if depth <= DEPTH_MAX { self.node } else { self.node.and(Err(Unasked::TooDeep)) };
        Condition { node, depth, ..self }
    }

    /// True if both are true, false if one is false.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let snapshot = store.snapshot()?;
    /// let both = snapshot.query::<Task>().filter(|task| task.id.ge(1).and(task.due.is_null()));
    /// assert_eq!(both.count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn and(self, other: Condition<T>) -> Condition<T> {
        self.join(Word::And, other)
    }

    /// True if one is true, false if both are false.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let snapshot = store.snapshot()?;
    /// let either = snapshot.query::<Task>().filter(|task| task.id.eq(1).or(task.due.is_null()));
    /// assert_eq!(either.count()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn or(self, other: Condition<T>) -> Condition<T> {
        self.join(Word::Or, other)
    }

    /// True if the condition is false, and unknown if it is unknown.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let snapshot = store.snapshot()?;
    /// let others = snapshot.query::<Task>().filter(|task| task.title.contains("rest").not());
    /// assert_eq!(others.count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "it reads like `and` and `or`, which are no operators either"
    )]
    pub fn not(self) -> Condition<T> {
        let depth = self.depth + 1;
        Condition { node: self.node.map(Node::negated), ..self }.at_depth(depth)
    }
}

impl<T: Record, F: Field> Column<T, F> {
    fn place(self) -> usize {
        usize::from(self.at)
    }

    /// A condition on this column.
    fn condition(self, node: Node) -> Condition<T> {
        Condition::of_node(match T::default_of(self.place()) {
            Some(default) => node.with_default(self.place(), default),
            None => node,
        })
    }

    fn compare(self, comparison: Comparison, other: impl Operand<F::Plain>) -> Condition<T> {
        self.condition(Node::Compare(self.place(), comparison, other.operand().0))
    }

    /// The value equals the other.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.title.eq("rest")).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn eq(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::Equal, other)
    }

    /// The value differs from the other.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let snapshot = store.snapshot()?;
    /// assert_eq!(snapshot.query::<Task>().filter(|task| task.title.ne("rest")).count()?, 1);
    /// // A date that is NULL is not known to be another one.
    /// assert_eq!(snapshot.query::<Task>().filter(|task| task.due.ne(7)).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ne(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::NotEqual, other)
    }

    /// The value is less than the other.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.lt(21)).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lt(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::Less, other)
    }

    /// The value is less than the other, or equal.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.le(20)).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn le(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::LessOrEqual, other)
    }

    /// The value is greater than the other.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.id.gt(1)).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gt(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::Greater, other)
    }

    /// The value is greater than the other, or equal.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.id.ge(1)).count()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ge(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::GreaterOrEqual, other)
    }

    /// The value lies between the two, both included.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.between(10, 20)).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn between(self, low: impl Operand<F::Plain>, high: impl Operand<F::Plain>) -> Condition<T> {
        self.condition(Node::between(self.place(), low.operand().0, high.operand().0))
    }

    /// The value is one of the others: at most 32,766 of them, unless the query is run by pages.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let wanted = ["rest", "sleep"];
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.title.is_in(wanted)).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_in<O: Operand<F::Plain>>(self, others: impl IntoIterator<Item = O>) -> Condition<T> {
        let others = others.into_iter().map(|other| other.operand().0).collect();
        self.condition(Node::In(self.place(), others))
    }

    /// The value is NULL: never unknown.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.is_null()).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_null(self) -> Condition<T> {
        self.condition(Node::IsNull(self.place()))
    }

    /// The value is not NULL: never unknown.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.is_not_null()).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_not_null(self) -> Condition<T> {
        self.is_null().not()
    }

    /// The smallest first; NULL comes before all values.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let tasks = store.snapshot()?.query::<Task>().order(|task| task.due.ascending()).all()?;
    /// assert_eq!(tasks[0].due, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ascending(self) -> Order<T> {
        Order::new(self.place(), false, T::default_of(self.place()))
    }

    /// The greatest first; NULL comes after all values.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let tasks = store.snapshot()?.query::<Task>().order(|task| task.due.descending()).all()?;
    /// assert_eq!(tasks[0].due, Some(20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn descending(self) -> Order<T> {
        Order::new(self.place(), true, T::default_of(self.place()))
    }
}

impl<T: Record, F: Field<Plain = String>> Column<T, F> {
    /// The text begins with the other, byte for byte.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.title.starts_with("wr")).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn starts_with(self, other: impl Into<String>) -> Condition<T> {
        let prefix = other.into();
        let end = after(&prefix);
        self.condition(Node::StartsWith(self.place(), prefix, end))
    }

    /// The text contains the other, byte for byte.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.title.contains("es")).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(self, other: impl Into<String>) -> Condition<T> {
        self.condition(Node::Contains(self.place(), Sought::new(other.into())))
    }
}

/// The least text that is greater than all texts with the prefix, if there is one.
pub(crate) fn after(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        // The greatest character has no successor; surrogates are not characters.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// An order of records of `T`.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
/// use touchstone_store::Order;
///
/// let newest_first: Order<Task> = Task::COLUMNS.id.descending();
/// assert_eq!(store.snapshot()?.query::<Task>().order(|_| newest_first).all()?[0].id, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Order<T> {
    pub(crate) column: usize,
    pub(crate) descending: bool,
    /// The default that NULL stands for.
    pub(crate) default: Option<&'static Value>,
    /// The type, if it is made at run time.
    pub(crate) of: Option<&'static Shape>,
    marker: PhantomData<fn() -> T>,
}

impl<T> Order<T> {
    pub(crate) fn new(column: usize, descending: bool, default: Option<&'static Value>) -> Order<T> {
        Order { column, descending, default, of: None, marker: PhantomData }
    }
}

impl<T> Clone for Order<T> {
    fn clone(&self) -> Order<T> {
        *self
    }
}

impl<T> Copy for Order<T> {}

impl<T> fmt::Debug for Order<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (column, descending) = (self.column, self.descending);
        formatter.debug_struct("Order").field("column", &column).field("descending", &descending).finish()
    }
}

/// Checks that two conditions, or a query and a condition or an order, are of one type. For declared types the compiler
/// has checked it.
///
/// # Errors
/// If the second is of another type than the first.
pub(crate) fn check_same(
    asked: Option<&'static Shape>,
    given: Option<&'static Shape>,
) -> Result<(), Unasked> {
    match (asked, given) {
        (Some(asked), Some(given)) if !std::ptr::eq(asked, given) && asked != given => {
            Err(Unasked::OtherType(asked, given))
        }
        _ => Ok(()),
    }
}
