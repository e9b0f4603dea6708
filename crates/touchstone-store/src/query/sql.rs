//! A query as a statement of SQL, with its values as parameters, so that a program's query is prepared once.

use super::Request;
use super::condition::{Comparison, Node, Order, Word};
use super::hull::hull;
use crate::cells::Cells;
use crate::derived::Stored;
use crate::error::Result;
use crate::record::Record;
use crate::table::{Section, Table};
use std::fmt::Write as _;

/// A statement and its parameters, which borrow from the query.
pub(crate) struct Sql<'q> {
    pub(crate) text: String,
    pub(crate) parameters: Cells<'q>,
    next: i32,
}

impl<'q> Sql<'q> {
    fn new(table: &Section, text: String) -> Sql<'q> {
        let mut parameters = Cells::default();
        table.begin_row(&mut parameters);
        Sql { text, parameters, next: table.first() }
    }

    /// The records of a query.
    pub(crate) fn select<T: Record>(table: &Section, request: &'q Request<T>) -> Result<Sql<'q>> {
        let mut sql = Sql::new(table, format!("select {} from {}", table.selection(), table.quoted()));
        sql.condition(table, request.node()?);
        sql.order(table, &request.order);
        sql.limit(request);
        Ok(sql)
    }

    /// How many records a query has.
    pub(crate) fn count<T: Record>(table: &Section, request: &'q Request<T>) -> Result<Sql<'q>> {
        // Rows of a query within are made one by one, and counted after.
        let is_cut = request.limit.is_some() || request.offset > 0;
        let (before, after) = if is_cut { ("(select 1 from ", ")") } else { ("", "") };
        let mut sql = Sql::new(table, format!("select count(*) from {before}{}", table.quoted()));
        sql.condition(table, request.node()?);
        sql.limit(request);
        sql.text.push_str(after);
        Ok(sql)
    }

    /// The deletion of a query's records.
    pub(crate) fn delete(table: &Section, condition: &'q Node) -> Sql<'q> {
        let mut sql = Sql::new(table, format!("delete from {}", table.quoted()));
        sql.condition(table, Some(condition));
        sql
    }

    fn condition(&mut self, table: &Table, node: Option<&'q Node>) {
        let within = table.within();
        match node {
            None if within.is_empty() => {}
            None => self.text.push_str(&format!(" where {within}true")),
            Some(node) => {
                self.text.push_str(&format!(" where {within}"));
                self.node(table, node);
                if let Some((column, comparison, value)) = hull(node) {
                    self.text.push_str(" and ");
                    self.compare(table, column, comparison, value);
                }
            }
        }
    }

    fn node(&mut self, table: &Table, node: &'q Node) {
        match node {
            Node::Compare(column, comparison, value) => self.compare(table, *column, *comparison, value),
            Node::Between(column, low, high) => {
                let expression = table.expression(*column);
                let _ = write!(self.text, "({expression} >= ");
                self.value(low);
                let _ = write!(self.text, " and {expression} <= ");
                self.value(high);
                self.text.push(')');
            }
            Node::In(column, values) => {
                let _ = write!(self.text, "{} in (", table.expression(*column));
                for (at, value) in values.values().iter().enumerate() {
                    self.text.push_str(if at == 0 { "" } else { ", " });
                    self.value(value);
                }
                self.text.push(')');
            }
            Node::IsNull(column) => {
                let _ = write!(self.text, "{} is null", table.expression(*column));
            }
            Node::StartsWith(column, prefix, end) => {
                self.prefix(&table.expression(*column), prefix, end.as_deref());
            }
            Node::Contains(column, part) => {
                let _ = write!(self.text, "(instr({}, ?{}) > 0)", table.expression(*column), self.next);
                self.parameter(|cells| cells.text(part.text()));
            }
            Node::Joined(word, nodes) => self.joined(table, *word, nodes),
            Node::Not(inner) => {
                self.text.push_str("(not ");
                self.node(table, inner);
                self.text.push(')');
            }
        }
    }

    fn compare(&mut self, table: &Table, column: usize, comparison: Comparison, value: &'q Stored) {
        self.text.push_str(&table.expression(column));
        self.text.push_str(operator(comparison));
        self.value(value);
    }

    /// As a tree of halves: SQLite refuses one that is a thousand deep.
    fn joined(&mut self, table: &Table, word: Word, nodes: &'q [Node]) {
        if let [node] = nodes {
            return self.node(table, node);
        }
        let (left, right) = nodes.split_at(nodes.len() / 2);
        self.text.push('(');
        self.joined(table, word, left);
        self.text.push_str(match word {
            Word::And => " and ",
            Word::Or => " or ",
        });
        self.joined(table, word, right);
        self.text.push(')');
    }

    /// As a range, so that an index serves.
    fn prefix(&mut self, expression: &str, prefix: &'q str, end: Option<&'q str>) {
        let _ = write!(self.text, "({expression} >= ?{}", self.next);
        self.parameter(|cells| cells.text(prefix));
        if let Some(end) = end {
            let _ = write!(self.text, " and {expression} < ?{}", self.next);
            self.parameter(|cells| cells.text(end));
        }
        self.text.push(')');
    }

    fn value(&mut self, value: &'q Stored) {
        let _ = write!(self.text, "?{}", self.next);
        self.parameter(|cells| value.write(cells));
    }

    fn parameter(&mut self, add: impl FnOnce(&mut Cells<'q>)) {
        add(&mut self.parameters);
        self.next += 1;
    }

    fn order<T: Record>(&mut self, table: &Table, order: &[Order<T>]) {
        if order.is_empty() {
            return;
        }
        self.text.push_str(" order by ");
        for order in order {
            let expression = table.expression(order.column);
            match order.default {
                Some(default) => {
                    let _ = write!(self.text, "ifnull({expression}, ");
                    self.value(default);
                    self.text.push(')');
                }
                None => self.text.push_str(&expression),
            }
            self.text.push_str(if order.descending { " desc, " } else { ", " });
        }
        let keys: Vec<String> = (0..table.shape.keys).map(|at| table.expression(at)).collect();
        self.text.push_str(&keys.join(", "));
    }

    fn limit<T>(&mut self, request: &Request<T>) {
        if request.limit.is_none() && request.offset == 0 {
            return;
        }
        let limit = request.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let offset = i64::try_from(request.offset).unwrap_or(i64::MAX);
        let _ = write!(self.text, " limit ?{} offset ?{}", self.next, self.next + 1);
        self.parameter(|cells| cells.integer(limit));
        self.parameter(|cells| cells.integer(offset));
    }
}

fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => " = ",
        Comparison::NotEqual => " <> ",
        Comparison::Less => " < ",
        Comparison::LessOrEqual => " <= ",
        Comparison::Greater => " > ",
        Comparison::GreaterOrEqual => " >= ",
    }
}
