//! The types that are watched: between them they have every kind of key, column and index, and two share one table.

use super::ask::{Leaf, Operator};
use super::value::{Domain, Random, Row, Value};
use std::rc::Rc;
use touchstone_store::derived;
use touchstone_store::{Column, Condition, Field, Index, KeyPart, Order, Record};

/// What the test knows of a type.
#[derive(Debug)]
pub struct Meta {
    pub table: &'static str,
    pub keys: usize,
    pub columns: Vec<ColumnMeta>,
}

#[derive(Debug)]
pub struct ColumnMeta {
    pub name: &'static str,
    pub domain: Domain,
    pub nullable: bool,
    pub is_unique: bool,
    /// What NULL in the file stands for.
    pub default: Option<Value>,
}

impl Meta {
    pub fn of<T: Sample>() -> Meta {
        let columns = T::SHAPE.columns.iter().zip(T::domains()).enumerate();
        let columns = columns.map(|(at, (shape, domain))| ColumnMeta {
            name: shape.name,
            domain,
            nullable: shape.nullable,
            is_unique: shape.index == Index::Unique,
            default: T::default_of(at).map(stored),
        });
        Meta { table: T::SHAPE.name, keys: T::SHAPE.keys, columns: columns.collect() }
    }

    pub fn key(&self, random: &mut Random) -> Vec<Value> {
        self.columns[..self.keys].iter().map(|column| column.domain.key(random, self.keys)).collect()
    }

    /// A value that the type can read from the column, as the file has it.
    pub fn stored(&self, at: usize, random: &mut Random) -> Value {
        let column = &self.columns[at];
        let may_lack = column.nullable || column.default.is_some();
        if may_lack && random.percent(20) { Value::Null } else { self.value(at, random) }
    }

    /// A value that a record can have.
    pub fn value(&self, at: usize, random: &mut Random) -> Value {
        let column = &self.columns[at];
        if at < self.keys {
            return column.domain.key(random, self.keys);
        }
        // Of values that no two rows may have there are more, so that not every change is refused.
        if column.is_unique {
            return match (column.domain, random.below(3)) {
                (_, 0) if column.nullable => Value::Null,
                (Domain::Integer, _) => Value::Integer(random.within(-20, 60)),
                _ => Value::Text(format!("u{}", random.below(60))),
            };
        }
        if column.nullable && random.percent(20) { Value::Null } else { column.domain.any(random) }
    }

    /// A value to compare the column with, NULL too.
    pub fn compared(&self, at: usize, random: &mut Random) -> Value {
        if random.percent(6) { Value::Null } else { self.value(at, random) }
    }

    pub fn row(&self, random: &mut Random) -> Row {
        Rc::new((0..self.columns.len()).map(|at| self.value(at, random)).collect())
    }
}

fn stored(value: &derived::Value) -> Value {
    match value {
        derived::Value::Null => Value::Null,
        derived::Value::Integer(value) => Value::Integer(*value),
        derived::Value::Real(value) => Value::Real(*value),
        derived::Value::Text(text) => Value::Text(text.clone()),
        derived::Value::Blob(bytes) => Value::Bytes(bytes.clone()),
    }
}

/// What the test asks of a type.
pub trait Sample: Record<Key: KeyPart> + Clone {
    fn domains() -> Vec<Domain>;
    fn row(&self) -> Row;
    fn of(row: &[Value]) -> Self;
    fn leaf(columns: Self::Columns, at: usize, leaf: &Leaf) -> Condition<Self>;
    fn order(columns: Self::Columns, at: usize, descending: bool) -> Order<Self>;
}

/// A type of a field, and how its values are the test's.
pub trait Holds: Field<Plain: Operates> {
    const DOMAIN: Domain;
    fn to_value(&self) -> Value;
    fn of_value(value: &Value) -> Self;
    /// Conditions that only texts have.
    fn text_leaf<T: Record>(_column: Column<T, Self>, leaf: &Leaf) -> Condition<T> {
        unreachable!("{leaf:?} is asked of no text")
    }
}

/// A type that columns are compared with.
pub trait Operates: Field {
    fn operand(value: &Value) -> Option<Self>;
}

macro_rules! holds {
    ($type:ty, $domain:ident, |$held:ident| $to:expr, $pattern:pat => $of:expr $(, $text:tt)?) => {
        impl Operates for $type {
            fn operand(value: &Value) -> Option<Self> {
                if let $pattern = value { Some($of) } else { None }
            }
        }

        impl Holds for $type {
            const DOMAIN: Domain = Domain::$domain;
            fn to_value(&self) -> Value {
                let $held = self;
                $to
            }
            fn of_value(value: &Value) -> Self {
                Self::operand(value).unwrap_or_else(|| panic!("{value:?} is none of {}", stringify!($type)))
            }
            $(holds!($text);)?
        }

        impl Holds for Option<$type> {
            const DOMAIN: Domain = Domain::$domain;
            fn to_value(&self) -> Value {
                self.as_ref().map_or(Value::Null, Holds::to_value)
            }
            fn of_value(value: &Value) -> Self {
                (!value.is_null()).then(|| <$type>::of_value(value))
            }
            $(holds!($text);)?
        }
    };
    (text) => {
        fn text_leaf<T: Record>(column: Column<T, Self>, leaf: &Leaf) -> Condition<T> {
            match leaf {
                Leaf::StartsWith(prefix) => column.starts_with(prefix.as_str()),
                Leaf::Contains(part) => column.contains(part.as_str()),
                other => unreachable!("{other:?} is asked of every column"),
            }
        }
    };
}

holds!(i64, Integer, |held| Value::Integer(*held), Value::Integer(value) => *value);
holds!(bool, Bool, |held| Value::Integer(i64::from(*held)), Value::Integer(value) => *value != 0);
holds!(f64, Real, |held| Value::Real(*held), Value::Real(value) => *value);
holds!(String, Text, |held| Value::Text(held.clone()), Value::Text(text) => text.clone(), text);
holds!(Vec<u8>, Bytes, |held| Value::Bytes(held.clone()), Value::Bytes(bytes) => bytes.clone());

fn leaf_of<T: Record, F: Holds>(column: Column<T, F>, leaf: &Leaf) -> Condition<T> {
    let operand = F::Plain::operand;
    match leaf {
        Leaf::Compare(operator, value) => match operator {
            Operator::Equal => column.eq(operand(value)),
            Operator::NotEqual => column.ne(operand(value)),
            Operator::Less => column.lt(operand(value)),
            Operator::LessOrEqual => column.le(operand(value)),
            Operator::Greater => column.gt(operand(value)),
            Operator::GreaterOrEqual => column.ge(operand(value)),
        },
        Leaf::Between(low, high) => column.between(operand(low), operand(high)),
        Leaf::In(values) => column.is_in(values.iter().map(operand)),
        Leaf::IsNull => column.is_null(),
        Leaf::IsNotNull => column.is_not_null(),
        Leaf::StartsWith(_) | Leaf::Contains(_) => F::text_leaf(column, leaf),
    }
}

fn order_of<T: Record, F: Field>(column: Column<T, F>, descending: bool) -> Order<T> {
    if descending { column.descending() } else { column.ascending() }
}

macro_rules! sample {
    ($type:ident: $($field:ident: $holds:ty),*) => {
        impl Sample for $type {
            fn domains() -> Vec<Domain> {
                vec![$(<$holds as Holds>::DOMAIN),*]
            }

            fn row(&self) -> Row {
                Rc::new(vec![$(Holds::to_value(&self.$field)),*])
            }

            fn of(row: &[Value]) -> Self {
                let mut values = row.iter();
                $(let $field = Holds::of_value(values.next().expect("a value for each column"));)*
                $type { $($field),* }
            }

            fn leaf(columns: Self::Columns, at: usize, leaf: &Leaf) -> Condition<Self> {
                let conditions: &[&dyn Fn() -> Condition<Self>] = &[$(&|| leaf_of(columns.$field, leaf)),*];
                conditions[at]()
            }

            fn order(columns: Self::Columns, at: usize, descending: bool) -> Order<Self> {
                [$(order_of(columns.$field, descending)),*][at]
            }
        }
    };
}

/// A key that is the row's number, an index, and a unique one.
#[derive(Record, Clone, Debug)]
pub struct Plain {
    #[record(key)]
    id: i64,
    #[record(index)]
    rank: Option<i64>,
    #[record(unique)]
    tag: Option<String>,
    real: f64,
    flag: bool,
    note: String,
    bytes: Vec<u8>,
    wide: Option<f64>,
}

sample!(Plain: id: i64, rank: Option<i64>, tag: Option<String>, real: f64, flag: bool, note: String, bytes: Vec<u8>, wide: Option<f64>);

/// Rows in the order of a text.
#[derive(Record, Clone, Debug)]
pub struct Worded {
    #[record(key)]
    name: String,
    #[record(index)]
    size: i64,
    score: Option<f64>,
    mark: Option<bool>,
    #[record(index)]
    text: Option<String>,
}

sample!(Worded: name: String, size: i64, score: Option<f64>, mark: Option<bool>, text: Option<String>);

/// A key of three columns.
#[derive(Record, Clone, Debug)]
pub struct Triple {
    #[record(key)]
    book: String,
    #[record(key)]
    page: i64,
    #[record(key)]
    side: bool,
    #[record(unique)]
    number: Option<i64>,
    body: Option<Vec<u8>>,
    weight: f64,
}

sample!(Triple: book: String, page: i64, side: bool, number: Option<i64>, body: Option<Vec<u8>>, weight: f64);

/// Numbered rows with a key of bytes.
#[derive(Record, Clone, Debug)]
#[record(numbered)]
pub struct Numbered {
    #[record(key)]
    hash: Vec<u8>,
    #[record(key)]
    part: i64,
    #[record(index)]
    size: i64,
    note: Option<String>,
    flag: bool,
}

sample!(Numbered: hash: Vec<u8>, part: i64, size: i64, note: Option<String>, flag: bool);

/// What lacks a value in the file has its default here.
#[derive(Record, Clone, Debug)]
#[record(name = "both")]
pub struct Full {
    #[record(key)]
    id: i64,
    #[record(index)]
    rank: Option<i64>,
    #[record(default = 3)]
    count: i64,
    #[record(index, default = "ab".to_owned())]
    label: String,
    #[record(default = 0.25)]
    weight: f64,
    #[record(default = true)]
    flag: bool,
}

sample!(Full: id: i64, rank: Option<i64>, count: i64, label: String, weight: f64, flag: bool);

/// The same table, of which this type knows less.
#[derive(Record, Clone, Debug)]
#[record(name = "both")]
pub struct Slim {
    #[record(key)]
    id: i64,
    rank: Option<i64>,
    label: Option<String>,
}

sample!(Slim: id: i64, rank: Option<i64>, label: Option<String>);

/// What may refer to another table's rows.
#[derive(Record, Clone, Debug)]
pub struct Child {
    #[record(key)]
    id: i64,
    #[record(index)]
    parent: Option<i64>,
    text: String,
}

sample!(Child: id: i64, parent: Option<i64>, text: String);

/// Nothing but a key.
#[derive(Record, Clone, Debug)]
pub struct Mark {
    #[record(key)]
    name: String,
    #[record(key)]
    number: i64,
}

sample!(Mark: name: String, number: i64);
