//! A condition as the test has it: made into the store's own, rendered as SQL without the store's help, and evaluated
//! on the model.

use super::{Row, RowColumns};
use proptest::collection::vec;
use proptest::prelude::*;
use rusqlite::types::Value;
use std::cmp::Ordering;
use touchstone_store::{Condition, Order};

/// A column of the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Name {
    Id,
    Small,
    Large,
    Real,
    Text,
    Word,
    Bytes,
}

#[derive(Clone, Copy, Debug)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Debug)]
pub enum Ask {
    Compare(Name, Operator, Value),
    Between(Name, Value, Value),
    In(Name, Vec<Value>),
    IsNull(Name),
    IsNotNull(Name),
    StartsWith(Name, String),
    Contains(Name, String),
    And(Box<Ask>, Box<Ask>),
    Or(Box<Ask>, Box<Ask>),
    Not(Box<Ask>),
}

/// SQL with its parameters.
#[derive(Default)]
pub struct Rendered {
    pub sql: String,
    pub values: Vec<Value>,
}

pub fn text() -> impl Strategy<Value = String> {
    let fixed = [
        "",
        "a",
        "ab",
        "abc",
        "b",
        "A",
        "\0",
        "a\0b",
        "é",
        "e\u{301}",
        "\u{d7ff}",
        "\u{e000}",
        "\u{10ffff}",
        "\u{10ffff}a",
        "%",
        "_",
        "'",
    ];
    prop_oneof![4 => prop::sample::select(fixed.to_vec()).prop_map(str::to_owned), 1 => "[ab\0é]{0,4}"]
}

pub fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![6 => -3i64..6, 1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX, 1 << 53, (1 << 53) + 1])]
}

pub fn real() -> impl Strategy<Value = f64> {
    let fixed = vec![
        0.0,
        -0.0,
        1.0,
        1.5,
        -2.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
        9_007_199_254_740_992.0,
        9.3e18,
    ];
    prop::sample::select(fixed)
}

pub fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(prop::sample::select(vec![0u8, 1, 255]), 0..3)
}

fn name() -> impl Strategy<Value = Name> {
    prop::sample::select(vec![
        Name::Id,
        Name::Small,
        Name::Large,
        Name::Real,
        Name::Text,
        Name::Word,
        Name::Bytes,
    ])
}

/// A value to compare the column with; NULL too.
fn value(name: Name) -> BoxedStrategy<Value> {
    let value = match name {
        Name::Id | Name::Small | Name::Large => integer().prop_map(Value::Integer).boxed(),
        Name::Real => real().prop_map(Value::Real).boxed(),
        Name::Text | Name::Word => text().prop_map(Value::Text).boxed(),
        Name::Bytes => bytes().prop_map(Value::Blob).boxed(),
    };
    prop_oneof![9 => value, 1 => Just(Value::Null)].boxed()
}

fn operator() -> impl Strategy<Value = Operator> {
    prop::sample::select(vec![
        Operator::Equal,
        Operator::NotEqual,
        Operator::Less,
        Operator::LessOrEqual,
        Operator::Greater,
        Operator::GreaterOrEqual,
    ])
}

/// The page after a key, and what is nearly one: the store looks for its rows in a range.
fn page() -> BoxedStrategy<Ask> {
    let part =
        |name, value| operator().prop_map(move |operator| Ask::Compare(name, operator, Value::clone(&value)));
    let same = name().prop_flat_map(|name| (Just(name), value(name)));
    same.prop_flat_map(move |(name, value)| {
        (part(name, value.clone()), part(name, value), leaf(), any::<bool>())
    })
    .prop_map(|(later, equal, rest, swapped)| {
        let same = Ask::And(rest.into(), equal.into());
        if swapped { Ask::Or(same.into(), later.into()) } else { Ask::Or(later.into(), same.into()) }
    })
    .boxed()
}

fn leaf() -> BoxedStrategy<Ask> {
    let compare = (name(), operator()).prop_flat_map(|(name, operator)| {
        value(name).prop_map(move |value| Ask::Compare(name, operator, value))
    });
    let between = name().prop_flat_map(|name| {
        (value(name), value(name)).prop_map(move |(low, high)| Ask::Between(name, low, high))
    });
    let is_in =
        name().prop_flat_map(|name| vec(value(name), 0..4).prop_map(move |values| Ask::In(name, values)));
    let of_text = prop::sample::select(vec![Name::Text, Name::Word]);
    prop_oneof![
        6 => compare,
        2 => between,
        2 => is_in,
        1 => name().prop_map(Ask::IsNull),
        1 => name().prop_map(Ask::IsNotNull),
        2 => (of_text.clone(), text()).prop_map(|(name, text)| Ask::StartsWith(name, text)),
        2 => (of_text, text()).prop_map(|(name, text)| Ask::Contains(name, text)),
    ]
    .boxed()
}

pub fn any_ask() -> BoxedStrategy<Ask> {
    prop_oneof![5 => leaf(), 1 => page()]
        .prop_recursive(4, 12, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(left, right)| Ask::And(left.into(), right.into())),
                (inner.clone(), inner.clone()).prop_map(|(left, right)| Ask::Or(left.into(), right.into())),
                inner.prop_map(|inner| Ask::Not(inner.into())),
            ]
        })
        .boxed()
}

pub fn any_orders() -> impl Strategy<Value = Vec<(Name, bool)>> {
    prop_oneof![2 => Just(Vec::new()), 1 => Just(vec![(Name::Id, false)]), 2 => vec((name(), any::<bool>()), 1..3)]
}

impl Name {
    pub fn sql(self) -> &'static str {
        match self {
            Name::Id => "id",
            Name::Small => "small",
            Name::Large => "large",
            Name::Real => "real",
            Name::Text => "text",
            Name::Word => "word",
            Name::Bytes => "bytes",
        }
    }

    pub fn order(self, descending: bool, columns: RowColumns) -> Order<Row> {
        macro_rules! order {
            ($column:expr) => {
                if descending { $column.descending() } else { $column.ascending() }
            };
        }
        match self {
            Name::Id => order!(columns.id),
            Name::Small => order!(columns.small),
            Name::Large => order!(columns.large),
            Name::Real => order!(columns.real),
            Name::Text => order!(columns.text),
            Name::Word => order!(columns.word),
            Name::Bytes => order!(columns.bytes),
        }
    }

    /// What the row has there, as the file does.
    pub fn of(self, row: &Row) -> Value {
        let nullable = |value: Option<Value>| value.unwrap_or(Value::Null);
        match self {
            Name::Id => Value::Integer(row.id),
            Name::Small => nullable(row.small.map(Value::Integer)),
            Name::Large => Value::Integer(row.large),
            Name::Real => nullable(row.real.map(Value::Real)),
            Name::Text => nullable(row.text.clone().map(Value::Text)),
            Name::Word => Value::Text(row.word.clone()),
            Name::Bytes => nullable(row.bytes.clone().map(Value::Blob)),
        }
    }
}

fn integer_of(value: &Value) -> Option<i64> {
    if let Value::Integer(value) = value { Some(*value) } else { None }
}

fn real_of(value: &Value) -> Option<f64> {
    if let Value::Real(value) = value { Some(*value) } else { None }
}

fn text_of(value: &Value) -> Option<String> {
    if let Value::Text(value) = value { Some(value.clone()) } else { None }
}

fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    if let Value::Blob(value) = value { Some(value.clone()) } else { None }
}

/// Calls a method of the column, with its values in the column's type.
macro_rules! typed {
    ($name:expr, $columns:expr, |$column:ident, $of:ident| $call:expr) => {
        match $name {
            Name::Id => {
                let ($column, $of) = ($columns.id, integer_of);
                $call
            }
            Name::Small => {
                let ($column, $of) = ($columns.small, integer_of);
                $call
            }
            Name::Large => {
                let ($column, $of) = ($columns.large, integer_of);
                $call
            }
            Name::Real => {
                let ($column, $of) = ($columns.real, real_of);
                $call
            }
            Name::Text => {
                let ($column, $of) = ($columns.text, text_of);
                $call
            }
            Name::Word => {
                let ($column, $of) = ($columns.word, text_of);
                $call
            }
            Name::Bytes => {
                let ($column, $of) = ($columns.bytes, bytes_of);
                $call
            }
        }
    };
}

impl Ask {
    /// As the store takes it.
    pub fn condition(&self, columns: RowColumns) -> Condition<Row> {
        match self {
            Ask::Compare(name, operator, value) => typed!(name, columns, |column, of| match operator {
                Operator::Equal => column.eq(of(value)),
                Operator::NotEqual => column.ne(of(value)),
                Operator::Less => column.lt(of(value)),
                Operator::LessOrEqual => column.le(of(value)),
                Operator::Greater => column.gt(of(value)),
                Operator::GreaterOrEqual => column.ge(of(value)),
            }),
            Ask::Between(name, low, high) => {
                typed!(name, columns, |column, of| column.between(of(low), of(high)))
            }
            Ask::In(name, values) => typed!(name, columns, |column, of| column.is_in(values.iter().map(of))),
            Ask::IsNull(name) => typed!(name, columns, |column, _of| column.is_null()),
            Ask::IsNotNull(name) => typed!(name, columns, |column, _of| column.is_not_null()),
            Ask::StartsWith(Name::Text, prefix) => columns.text.starts_with(prefix.as_str()),
            Ask::StartsWith(_, prefix) => columns.word.starts_with(prefix.as_str()),
            Ask::Contains(Name::Text, part) => columns.text.contains(part.as_str()),
            Ask::Contains(_, part) => columns.word.contains(part.as_str()),
            Ask::And(left, right) => left.condition(columns).and(right.condition(columns)),
            Ask::Or(left, right) => left.condition(columns).or(right.condition(columns)),
            Ask::Not(inner) => inner.condition(columns).not(),
        }
    }

    /// As SQLite takes it.
    pub fn render(&self, to: &mut Rendered) {
        match self {
            Ask::Compare(name, operator, value) => {
                to.sql += &format!("({} {} ?)", name.sql(), operator.sql());
                to.values.push(value.clone());
            }
            Ask::Between(name, low, high) => {
                to.sql += &format!("({} between ? and ?)", name.sql());
                to.values.extend([low.clone(), high.clone()]);
            }
            Ask::In(name, values) => {
                to.sql += &format!("({} in ({}))", name.sql(), vec!["?"; values.len()].join(","));
                to.values.extend(values.iter().cloned());
            }
            Ask::IsNull(name) => to.sql += &format!("({} is null)", name.sql()),
            Ask::IsNotNull(name) => to.sql += &format!("({} is not null)", name.sql()),
            Ask::StartsWith(name, prefix) => {
                // By its hexadecimal digits, of which NULL has none.
                let (name, digits) = (name.sql(), 2 * prefix.len());
                to.sql += &format!("iif({name} is null, null, substr(hex({name}), 1, {digits}) = hex(?))");
                to.values.push(Value::Text(prefix.clone()));
            }
            Ask::Contains(name, part) => {
                to.sql += &format!("(instr(cast({} as blob), ?) > 0)", name.sql());
                to.values.push(Value::Blob(part.as_bytes().to_vec()));
            }
            Ask::And(left, right) | Ask::Or(left, right) => {
                to.sql.push('(');
                left.render(to);
                to.sql += if matches!(self, Ask::And(..)) { " and " } else { " or " };
                right.render(to);
                to.sql.push(')');
            }
            Ask::Not(inner) => {
                to.sql += "(not ";
                inner.render(to);
                to.sql.push(')');
            }
        }
    }

    /// In the logic of three values.
    pub fn holds(&self, row: &Row) -> Option<bool> {
        match self {
            Ask::Compare(name, operator, value) => {
                compare(&name.of(row), value).map(|order| operator.takes(order))
            }
            Ask::Between(name, low, high) => {
                let value = name.of(row);
                let above = compare(&value, low).map(Ordering::is_ge);
                not(or(not(above), not(compare(&value, high).map(Ordering::is_le))))
            }
            Ask::In(name, values) => {
                let found = values.iter().map(|value| compare(&name.of(row), value).map(Ordering::is_eq));
                found.reduce(or).unwrap_or(Some(false))
            }
            Ask::IsNull(name) => Some(name.of(row) == Value::Null),
            Ask::IsNotNull(name) => Some(name.of(row) != Value::Null),
            Ask::StartsWith(name, prefix) => text_of(&name.of(row)).map(|text| text.starts_with(prefix)),
            Ask::Contains(name, part) => text_of(&name.of(row)).map(|text| text.contains(part)),
            Ask::And(left, right) => not(or(not(left.holds(row)), not(right.holds(row)))),
            Ask::Or(left, right) => or(left.holds(row), right.holds(row)),
            Ask::Not(inner) => not(inner.holds(row)),
        }
    }
}

impl Operator {
    fn sql(self) -> &'static str {
        match self {
            Operator::Equal => "=",
            Operator::NotEqual => "<>",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
        }
    }

    fn takes(self, order: Ordering) -> bool {
        match self {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
        }
    }
}

fn not(known: Option<bool>) -> Option<bool> {
    known.map(|known| !known)
}

fn or(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    if left == Some(true) || right == Some(true) { Some(true) } else { Some(left? || right?) }
}

/// Two values of one column; unknown where one is NULL.
fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Some(left.cmp(right)),
        (Value::Real(left), Value::Real(right)) => left.partial_cmp(right),
        (Value::Text(left), Value::Text(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Value::Blob(left), Value::Blob(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// How two rows are ordered, NULL before all.
pub fn order_of(name: Name, descending: bool, left: &Row, right: &Row) -> Ordering {
    let (left, right) = (name.of(left), name.of(right));
    let order = compare(&left, &right).unwrap_or_else(|| (left != Value::Null).cmp(&(right != Value::Null)));
    if descending { order.reverse() } else { order }
}
