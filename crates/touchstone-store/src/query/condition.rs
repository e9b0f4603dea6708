//! Conditions and orders, as trees: built by the methods of columns, whose types the compiler checks.

use super::evaluate::evaluate;
use super::list::List;
use super::sought::Sought;
use crate::cells::Cells;
use crate::derived::Stored;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{Column, Record, Shape};
use crate::value::{Field, Refusal};
use std::fmt;
use std::marker::PhantomData;

/// A condition on records of `T`. It is true, false, or unknown where a NULL is compared, as in SQL. Conditions may lie
/// 500 deep within each other, where those that one word joins lie side by side: a query with a deeper one is refused as
/// [`TooBig`](ErrorKind::TooBig).
///
/// ```
/// # use touchstone_store::{Record, Store};
/// # #[derive(Record, Clone, Debug, PartialEq)]
/// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("tasks.db"))?;
/// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
/// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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
    /// How deep they do.
    depth: u32,
    /// The type, where it is made at run time.
    pub(crate) of: Option<&'static Shape>,
    marker: PhantomData<fn() -> T>,
}

// Written out, because a derive would ask the same of the record.
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
    Compare(usize, Comparison, Stored),
    /// From one end of a range to the other: the value is looked up once.
    Between(usize, End, End),
    In(usize, List),
    IsNull(usize),
    /// With the least text that is greater than everything that begins so, where there is one.
    StartsWith(usize, String, Option<String>),
    Contains(usize, Sought),
    /// Two of them or more, and none of them joined by the same word: a program may join a hundred thousand, and the stack
    /// is only so deep.
    Joined(Word, Vec<Node>),
    Not(Box<Node>),
}

/// An end of a range: how a value compares with it that lies inside.
pub(crate) type End = (Comparison, Stored);

/// What joins conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    And,
    Or,
}

impl Word {
    /// What joins the denials of what this one joins.
    fn other(self) -> Word {
        match self {
            Word::And => Word::Or,
            Word::Or => Word::And,
        }
    }

    /// What all of them are when one of them is.
    pub(crate) fn decisive(self) -> bool {
        self == Word::Or
    }
}

/// How two values are compared.
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
    /// What holds of two values, neither of them NULL, where this does not.
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

/// How deep conditions may lie within each other. SQLite's own limit is twice that.
const DEPTH_MAX: u32 = 500;

/// Why a condition, or an order, cannot be asked: told by the call that would ask it, because what builds a query returns
/// no error.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unasked {
    /// Conditions lie too deep within each other.
    TooDeep,
    /// It is of the second type, which is made at run time, where the first one is asked.
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

/// The value that a condition compares with.
fn value<F: Field>(field: &F) -> Stored {
    /// No integer that SQLite has is greater, and it is none itself.
    const ABOVE: f64 = 9.3e18;
    let mut cells = Cells::default();
    field.write(&mut cells);
    match cells.refused() {
        Some((_, Refusal::Range)) => Stored::Real(ABOVE),
        // As a parameter of SQLite, NaN is NULL. What cannot be stored is like nothing that is.
        _ => Stored::first(&cells),
    }
}

impl Node {
    /// The condition, on a column whose NULL stands for a default: it is then what it is for the default.
    pub(crate) fn with_default(self, column: usize, default: &Stored) -> Node {
        let is_null = Node::IsNull(column);
        match evaluate(&self, &|_| default.raw()) {
            Some(true) => is_null.join(Word::Or, self),
            Some(false) => is_null.negated().join(Word::And, self),
            // It is compared with NULL, and unknown for NULL too.
            None => self,
        }
    }

    /// The range that both of its ends lie in.
    pub(crate) fn between(column: usize, low: Stored, high: Stored) -> Node {
        Node::Between(column, (Comparison::GreaterOrEqual, low), (Comparison::LessOrEqual, high))
    }

    /// The columns that it looks at, in order.
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

    /// True where the condition is false, and unknown where it is unknown. An index leads to the rows of a comparison, and to
    /// none of one that is only denied, so comparisons are turned around.
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
        // Whichever side a program adds to, it adds to the longer one.
        if most.len() < rest.len() {
            std::mem::swap(&mut most, &mut rest);
        }
        most.append(&mut rest);
        Node::Joined(word, most)
    }
}

/// What a column of `F`s can be compared with: an `F`, an `Option` of one (NULL where it is none), and for text a
/// `&str` or a `&String`, for bytes a slice, a reference to an array or to a vector.
///
/// ```
/// # use touchstone_store::{Record, Store};
/// # #[derive(Record, Clone, Debug, PartialEq)]
/// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("tasks.db"))?;
/// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
/// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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
pub struct Compared(pub(crate) Stored);

impl<F: Field> Operand<F> for F {
    fn operand(self) -> Compared {
        Compared(value(&self))
    }
}

impl<F: Field> Operand<F> for Option<F> {
    fn operand(self) -> Compared {
        Compared(self.as_ref().map_or(Stored::Null, value))
    }
}

impl Operand<String> for &str {
    fn operand(self) -> Compared {
        Compared(Stored::Text(self.to_owned()))
    }
}

impl Operand<String> for &String {
    fn operand(self) -> Compared {
        self.as_str().operand()
    }
}

impl Operand<Vec<u8>> for &[u8] {
    fn operand(self) -> Compared {
        Compared(Stored::Blob(self.to_vec()))
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
    /// A condition in which none was joined with another by the program.
    pub(crate) fn of_node(node: Node) -> Condition<T> {
        Condition { node: Ok(node), depth: 0, of: None, marker: PhantomData }
    }

    /// A condition on a type that is made at run time.
    pub(crate) fn of(shape: &'static Shape, node: Node) -> Condition<T> {
        Condition { of: Some(shape), ..Condition::of_node(node) }
    }

    /// The tree.
    ///
    /// # Errors
    /// When conditions lie so deep within each other that a stack might not do to look at them, or are of another type.
    pub(crate) fn node(&self) -> Result<&Node> {
        self.node.as_ref().map_err(|why| why.error())
    }

    /// The condition where that type is asked: none of another type.
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

    /// How deep it is with what joins it to another: what the same word joins lies side by side.
    fn depth_under(&self, word: Word) -> u32 {
        let is_joined_by_it = matches!(&self.node, Ok(Node::Joined(own, _)) if *own == word);
        self.depth + u32::from(!is_joined_by_it)
    }

    fn at_depth(self, depth: u32) -> Condition<T> {
        let node = if depth <= DEPTH_MAX { self.node } else { self.node.and(Err(Unasked::TooDeep)) };
        Condition { node, depth, ..self }
    }

    /// True where both are true, false where one is false.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// let snapshot = store.snapshot()?;
    /// let both = snapshot.query::<Task>().filter(|task| task.id.ge(1).and(task.due.is_null()));
    /// assert_eq!(both.count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn and(self, other: Condition<T>) -> Condition<T> {
        self.join(Word::And, other)
    }

    /// True where one is true, false where both are false.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// let snapshot = store.snapshot()?;
    /// let either = snapshot.query::<Task>().filter(|task| task.id.eq(1).or(task.due.is_null()));
    /// assert_eq!(either.count()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn or(self, other: Condition<T>) -> Condition<T> {
        self.join(Word::Or, other)
    }

    /// True where it is false, and unknown where it is unknown.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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

    /// The value is the other.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.title.eq("rest")).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn eq(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::Equal, other)
    }

    /// The value is not the other.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.lt(21)).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lt(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::Less, other)
    }

    /// The value is less than the other, or the other.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.le(20)).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn le(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::LessOrEqual, other)
    }

    /// The value is greater than the other.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.id.gt(1)).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gt(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::Greater, other)
    }

    /// The value is greater than the other, or the other.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.id.ge(1)).count()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ge(self, other: impl Operand<F::Plain>) -> Condition<T> {
        self.compare(Comparison::GreaterOrEqual, other)
    }

    /// The value lies between the two, or is one of them.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.between(10, 20)).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn between(self, low: impl Operand<F::Plain>, high: impl Operand<F::Plain>) -> Condition<T> {
        self.condition(Node::between(self.place(), low.operand().0, high.operand().0))
    }

    /// The value is one of the others: of at most 32,766, unless the query is run by pages.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.is_null()).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_null(self) -> Condition<T> {
        self.condition(Node::IsNull(self.place()))
    }

    /// The value is not NULL: never unknown.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.due.is_not_null()).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_not_null(self) -> Condition<T> {
        self.is_null().not()
    }

    /// The smallest first, NULLs before all.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// let tasks = store.snapshot()?.query::<Task>().order(|task| task.due.ascending()).all()?;
    /// assert_eq!(tasks[0].due, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ascending(self) -> Order<T> {
        Order::new(self.place(), false, T::default_of(self.place()))
    }

    /// The greatest first, NULLs after all.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
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
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.title.starts_with("wr")).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn starts_with(self, other: impl Into<String>) -> Condition<T> {
        let prefix = other.into();
        let end = after(&prefix);
        self.condition(Node::StartsWith(self.place(), prefix, end))
    }

    /// The text has the other in it, byte for byte.
    ///
    /// ```
    /// # use touchstone_store::{Record, Store};
    /// # #[derive(Record, Clone, Debug, PartialEq)]
    /// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::open(directory.path().join("tasks.db"))?;
    /// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
    /// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
    /// assert_eq!(store.snapshot()?.query::<Task>().filter(|task| task.title.contains("es")).count()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(self, other: impl Into<String>) -> Condition<T> {
        self.condition(Node::Contains(self.place(), Sought::new(other.into())))
    }
}

/// The least text that is greater than everything with the prefix; none where nothing is.
pub(crate) fn after(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        // The greatest character has none after it; surrogates are none.
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
/// # use touchstone_store::{Record, Store};
/// # #[derive(Record, Clone, Debug, PartialEq)]
/// # struct Task { #[record(key)] id: i64, title: String, due: Option<i64> }
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("tasks.db"))?;
/// # store.insert(&Task { id: 1, title: "write".into(), due: Some(20) })?;
/// # store.insert(&Task { id: 2, title: "rest".into(), due: None })?;
/// use touchstone_store::Order;
///
/// let newest_first: Order<Task> = Task::COLUMNS.id.descending();
/// assert_eq!(store.snapshot()?.query::<Task>().order(|_| newest_first).all()?[0].id, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Order<T> {
    pub(crate) column: usize,
    pub(crate) descending: bool,
    /// What NULL stands for.
    pub(crate) default: Option<&'static Stored>,
    /// The type, where it is made at run time.
    pub(crate) of: Option<&'static Shape>,
    marker: PhantomData<fn() -> T>,
}

impl<T> Order<T> {
    pub(crate) fn new(column: usize, descending: bool, default: Option<&'static Stored>) -> Order<T> {
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

/// That two conditions, or a query and what it is asked, are about one type. Of types that the program declares the
/// compiler knows it.
///
/// # Errors
/// When the second is of another type than the first.
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
