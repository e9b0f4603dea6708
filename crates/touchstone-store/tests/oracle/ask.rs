//! Questions as the test has them: made into the store's own, rendered as SQL without the store's help, and answered from
//! the rows in SQL's logic of three values.

use super::record::{Meta, Sample};
use super::value::{Random, Row, Value, by_key, compare, order};
use rusqlite::types::Value as SqlValue;
use std::cmp::Ordering;
use touchstone_store::{Condition, Query};

#[derive(Clone, Copy, Debug)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

const OPERATORS: [Operator; 6] = [
    Operator::Equal,
    Operator::NotEqual,
    Operator::Less,
    Operator::LessOrEqual,
    Operator::Greater,
    Operator::GreaterOrEqual,
];

/// What is asked of one column.
#[derive(Clone, Debug)]
pub enum Leaf {
    Compare(Operator, Value),
    Between(Value, Value),
    In(Vec<Value>),
    IsNull,
    IsNotNull,
    StartsWith(String),
    Contains(String),
}

#[derive(Clone, Debug)]
pub enum Ask {
    Column(usize, Leaf),
    And(Box<Ask>, Box<Ask>),
    Or(Box<Ask>, Box<Ask>),
    Not(Box<Ask>),
}

/// A query as the test has it.
#[derive(Clone, Debug, Default)]
pub struct Question {
    pub ask: Option<Ask>,
    /// Columns, and whether from the greatest value on.
    pub orders: Vec<(usize, bool)>,
    pub limit: Option<u64>,
    pub offset: Option<u64>,
}

/// What is watched.
#[derive(Clone, Debug)]
pub enum Target {
    Query(Question),
    Count(Question),
    Key(Vec<Value>),
}

/// A shape of query that many have: they differ in what they compare with.
#[derive(Clone, Debug)]
pub struct Family {
    equal: Option<usize>,
    range: usize,
    other: Option<Ask>,
    orders: Vec<(usize, bool)>,
}

impl Family {
    pub fn any(meta: &Meta, random: &mut Random) -> Family {
        let range = random.below(meta.columns.len());
        let mut orders = vec![(range, random.percent(50))];
        if random.percent(30) {
            orders.push((random.below(meta.columns.len()), random.percent(50)));
        }
        Family {
            equal: random.percent(30).then(|| random.below(meta.columns.len())),
            range,
            other: random.percent(30).then(|| Ask::any(meta, 1, random)),
            orders,
        }
    }

    pub fn question(&self, meta: &Meta, random: &mut Random) -> Question {
        let value = |column: usize, random: &mut Random| meta.compared(column, random);
        let range = self.range;
        let mut ask = match random.below(5) {
            0 => Ask::Column(range, Leaf::Compare(Operator::GreaterOrEqual, value(range, random))),
            1 => Ask::Column(range, Leaf::Compare(Operator::Less, value(range, random))),
            2 => Ask::Column(range, Leaf::Between(value(range, random), value(range, random))),
            _ => {
                let low = *random.pick(&[Operator::Greater, Operator::GreaterOrEqual]);
                let high = *random.pick(&[Operator::Less, Operator::LessOrEqual]);
                let low = Ask::Column(range, Leaf::Compare(low, value(range, random)));
                let high = Ask::Column(range, Leaf::Compare(high, value(range, random)));
                Ask::And(low.into(), high.into())
            }
        };
        if let Some(equal) = self.equal {
            let equal = Ask::Column(equal, Leaf::Compare(Operator::Equal, value(equal, random)));
            ask = if random.percent(50) {
                Ask::And(equal.into(), ask.into())
            } else {
                Ask::And(ask.into(), equal.into())
            };
        }
        if let Some(other) = &self.other {
            ask = Ask::And(ask.into(), other.clone().into());
        }
        let (limit, offset) = page(random);
        Question { ask: Some(ask), orders: self.orders.clone(), limit, offset }
    }
}

fn page(random: &mut Random) -> (Option<u64>, Option<u64>) {
    let limit = match random.below(12) {
        0 => Some(0),
        1 => Some(u64::MAX),
        2..=5 => Some(random.below(7) as u64 + 1),
        6 | 7 => Some(random.below(90) as u64 + 1),
        _ => None,
    };
    let offset = match random.below(12) {
        0 => Some(1000),
        1 => Some(u64::MAX),
        2..=4 => Some(random.below(5) as u64),
        _ => None,
    };
    (limit, offset)
}

impl Target {
    pub fn any(meta: &Meta, families: &[Family], random: &mut Random) -> Target {
        if random.percent(10) {
            return Target::Key(meta.key(random));
        }
        let question = if random.percent(45) {
            random.pick(families).question(meta, random)
        } else {
            Question::any(meta, random)
        };
        if random.percent(15) { Target::Count(question) } else { Target::Query(question) }
    }

    /// Whether the answer is not one: rows are left out, and nobody has said which come first.
    pub fn is_loose(&self) -> bool {
        match self {
            Target::Query(question) => question.orders.is_empty() && question.has_page(),
            Target::Count(_) | Target::Key(_) => false,
        }
    }

    /// Whether the order of the answer is given.
    pub fn is_ordered(&self) -> bool {
        match self {
            Target::Query(question) => !question.orders.is_empty(),
            Target::Count(_) | Target::Key(_) => true,
        }
    }

    /// The answer, of rows in the order of their key. Of a loose one, everything that it may be of.
    pub fn answer(&self, meta: &Meta, rows: &[Row]) -> Vec<Row> {
        match self {
            Target::Query(question) if self.is_loose() => question.meeting(meta, rows),
            Target::Query(question) | Target::Count(question) => question.page(question.meeting(meta, rows)),
            Target::Key(key) => rows.iter().filter(|row| row[..key.len()] == key[..]).cloned().collect(),
        }
    }
}

impl Question {
    pub fn any(meta: &Meta, random: &mut Random) -> Question {
        let ask = random.percent(92).then(|| Ask::any(meta, 3, random));
        let orders =
            (0..random.below(4)).map(|_| (random.below(meta.columns.len()), random.percent(50))).collect();
        let (limit, offset) = if random.percent(50) { page(random) } else { (None, None) };
        Question { ask, orders, limit, offset }
    }

    pub fn has_page(&self) -> bool {
        self.limit.is_some() || self.offset.is_some_and(|offset| offset > 0)
    }

    fn meeting(&self, meta: &Meta, rows: &[Row]) -> Vec<Row> {
        let meets = |row: &&Row| self.ask.as_ref().is_none_or(|ask| ask.holds(row) == Some(true));
        let mut found: Vec<Row> = rows.iter().filter(meets).cloned().collect();
        if !self.orders.is_empty() {
            found.sort_by(|left, right| {
                let orders = self.orders.iter().map(|(column, descending)| {
                    let order = order(&left[*column], &right[*column]);
                    if *descending { order.reverse() } else { order }
                });
                orders.fold(Ordering::Equal, Ordering::then).then_with(|| by_key(meta.keys, left, right))
            });
        }
        found
    }

    /// How many rows are left out, and how many there are at most.
    pub fn bounds(&self) -> (usize, usize) {
        let number = |number: Option<u64>, none| {
            number.map_or(none, |number| usize::try_from(number).unwrap_or(usize::MAX))
        };
        (number(self.offset, 0), number(self.limit, usize::MAX))
    }

    fn page(&self, found: Vec<Row>) -> Vec<Row> {
        let (offset, limit) = self.bounds();
        found.into_iter().skip(offset).take(limit).collect()
    }

    /// As the store takes it.
    pub fn of<'s, T: Sample, S>(&self, mut query: Query<'s, T, S>) -> Query<'s, T, S> {
        query = match &self.ask {
            // What is filtered twice must meet both.
            Some(Ask::And(left, right)) if self.orders.len() != 1 => {
                query.filter(|columns| left.condition(columns)).filter(|columns| right.condition(columns))
            }
            Some(ask) => query.filter(|columns| ask.condition(columns)),
            None => query,
        };
        for (column, descending) in &self.orders {
            query = query.order(|columns| T::order(columns, *column, *descending));
        }
        if let Some(limit) = self.limit {
            query = query.limit(limit);
        }
        if let Some(offset) = self.offset {
            query = query.offset(offset);
        }
        query
    }

    /// As SQLite takes it.
    pub fn render(&self, meta: &Meta) -> (String, Vec<SqlValue>) {
        let mut rendered = Rendered { meta, sql: String::new(), values: Vec::new() };
        rendered.sql += "select ";
        for column in 0..meta.columns.len() {
            rendered.sql += if column == 0 { "" } else { ", " };
            rendered.column(column);
        }
        rendered.sql += &format!(" from \"{}\" where ", meta.table);
        match &self.ask {
            Some(ask) => rendered.ask(ask),
            None => rendered.sql += "true",
        }
        rendered.sql += " order by ";
        for (column, descending) in &self.orders {
            rendered.column(*column);
            rendered.sql += if *descending { " desc, " } else { ", " };
        }
        for column in 0..meta.keys {
            rendered.sql += if column == 0 { "" } else { ", " };
            rendered.column(column);
        }
        let clamped = |number: u64| SqlValue::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        rendered.sql += " limit ? offset ?";
        rendered.values.push(self.limit.map_or(SqlValue::Integer(-1), clamped));
        rendered.values.push(clamped(self.offset.unwrap_or(0)));
        (rendered.sql, rendered.values)
    }
}

impl Ask {
    pub fn any(meta: &Meta, depth: usize, random: &mut Random) -> Ask {
        if depth == 0 || random.percent(30) {
            let column = random.below(meta.columns.len());
            return Ask::Column(column, Leaf::any(meta, column, random));
        }
        let mut inner = || Box::new(Ask::any(meta, depth - 1, random));
        let (left, right) = (inner(), inner());
        match random.below(5) {
            0 | 1 => Ask::And(left, right),
            2 | 3 => Ask::Or(left, right),
            _ => Ask::Not(left),
        }
    }

    /// As the store takes it.
    pub fn condition<T: Sample>(&self, columns: T::Columns) -> Condition<T> {
        match self {
            Ask::Column(column, leaf) => T::leaf(columns, *column, leaf),
            Ask::And(left, right) => left.condition::<T>(columns).and(right.condition(columns)),
            Ask::Or(left, right) => left.condition::<T>(columns).or(right.condition(columns)),
            Ask::Not(inner) => inner.condition::<T>(columns).not(),
        }
    }

    /// In the logic of three values.
    pub fn holds(&self, row: &Row) -> Option<bool> {
        match self {
            Ask::Column(column, leaf) => leaf.holds(&row[*column]),
            Ask::And(left, right) => match (left.holds(row), right.holds(row)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Ask::Or(left, right) => match (left.holds(row), right.holds(row)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Ask::Not(inner) => inner.holds(row).map(|known| !known),
        }
    }
}

impl Leaf {
    fn any(meta: &Meta, column: usize, random: &mut Random) -> Leaf {
        let is_text = meta.columns[column].domain == super::value::Domain::Text;
        match random.below(16) {
            0 => Leaf::IsNull,
            1 => Leaf::IsNotNull,
            2 | 3 => Leaf::Between(meta.compared(column, random), meta.compared(column, random)),
            4 | 5 => Leaf::In((0..random.below(4)).map(|_| meta.compared(column, random)).collect()),
            6 | 7 if is_text => Leaf::StartsWith(text(meta, column, random)),
            8 | 9 if is_text => Leaf::Contains(text(meta, column, random)),
            _ => Leaf::Compare(*random.pick(&OPERATORS), meta.compared(column, random)),
        }
    }

    fn holds(&self, value: &Value) -> Option<bool> {
        match self {
            Leaf::Compare(operator, other) => compare(value, other).map(|order| operator.takes(order)),
            Leaf::Between(low, high) => {
                match (compare(value, low).map(Ordering::is_ge), compare(value, high).map(Ordering::is_le)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                }
            }
            Leaf::In(others) => {
                let found = others.iter().map(|other| compare(value, other).map(Ordering::is_eq));
                let (mut is_known, mut is_in) = (true, false);
                for equal in found {
                    is_in |= equal == Some(true);
                    is_known &= equal.is_some();
                }
                if is_in { Some(true) } else { is_known.then_some(false) }
            }
            Leaf::IsNull => Some(value.is_null()),
            Leaf::IsNotNull => Some(!value.is_null()),
            Leaf::StartsWith(prefix) => value.text().map(|text| text.starts_with(prefix.as_str())),
            Leaf::Contains(part) => value.text().map(|text| text.contains(part.as_str())),
        }
    }
}

/// A text that some have in them.
fn text(meta: &Meta, column: usize, random: &mut Random) -> String {
    let text = meta.compared(column, random).text().unwrap_or("a").to_owned();
    let kept = random.below(3) + 1;
    if random.percent(50) { text.chars().take(kept).collect() } else { text }
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

/// SQL with its parameters.
struct Rendered<'m> {
    meta: &'m Meta,
    sql: String,
    values: Vec<SqlValue>,
}

impl Rendered<'_> {
    fn value(&mut self, value: &Value) {
        self.sql.push('?');
        self.values.push(value.to_sql());
    }

    /// The column, or what NULL in it stands for.
    fn column(&mut self, at: usize) {
        let column = &self.meta.columns[at];
        match &column.default {
            Some(default) => {
                self.sql += &format!("ifnull(\"{}\", ", column.name);
                self.value(default);
                self.sql.push(')');
            }
            None => self.sql += &format!("\"{}\"", column.name),
        }
    }

    fn ask(&mut self, ask: &Ask) {
        self.sql.push('(');
        match ask {
            Ask::Column(column, leaf) => self.leaf(*column, leaf),
            Ask::And(left, right) | Ask::Or(left, right) => {
                self.ask(left);
                self.sql += if matches!(ask, Ask::And(..)) { " and " } else { " or " };
                self.ask(right);
            }
            Ask::Not(inner) => {
                self.sql += "not ";
                self.ask(inner);
            }
        }
        self.sql.push(')');
    }

    fn leaf(&mut self, column: usize, leaf: &Leaf) {
        match leaf {
            Leaf::Compare(operator, value) => {
                self.column(column);
                self.sql += operator.sql();
                self.value(value);
            }
            Leaf::Between(low, high) => {
                self.column(column);
                self.sql += " between ";
                self.value(low);
                self.sql += " and ";
                self.value(high);
            }
            Leaf::In(values) => {
                self.column(column);
                self.sql += " in (";
                for (at, value) in values.iter().enumerate() {
                    self.sql += if at == 0 { "" } else { ", " };
                    self.value(value);
                }
                self.sql.push(')');
            }
            Leaf::IsNull | Leaf::IsNotNull => {
                self.column(column);
                self.sql += if matches!(leaf, Leaf::IsNull) { " is null" } else { " is not null" };
            }
            Leaf::StartsWith(prefix) => {
                // By its hexadecimal digits, of which NULL has none.
                self.sql += "iif(";
                self.column(column);
                self.sql += " is null, null, substr(hex(";
                self.column(column);
                self.sql += &format!("), 1, {}) = hex(", 2 * prefix.len());
                self.value(&Value::Text(prefix.clone()));
                self.sql += "))";
            }
            Leaf::Contains(part) => {
                self.sql += "instr(cast(";
                self.column(column);
                self.sql += " as blob), ";
                self.value(&Value::Bytes(part.as_bytes().to_vec()));
                self.sql += ") > 0";
            }
        }
    }
}
