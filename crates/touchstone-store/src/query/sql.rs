//! A query as a statement of SQL. Its values are parameters, so that a program's query is prepared once.

use super::Request;
use super::condition::{Comparison, Node, Word};
use super::hull::hull;
use crate::engine::connection::Connection;
use crate::table::{Section, Table};
use crate::types::cells::Cells;
use crate::types::error::Result;
use crate::types::record::{Index, Record};
use crate::types::value::Value;
use std::fmt::Write as _;

/// A statement and its parameters, which borrow from the query.
pub(crate) struct Sql<'q> {
    pub(crate) text: String,
    pub(crate) parameters: Cells<'q>,
    next: i32,
    /// The operator for equality.
    equal: &'static str,
}

impl<'q> Sql<'q> {
    fn new(table: &Section, words: &[&str]) -> Sql<'q> {
        /// Most statements fit in this length.
        const LENGTH: usize = 256;
        let mut parameters = Cells::default();
        table.begin_row(&mut parameters);
        let text = String::with_capacity(LENGTH);
        let mut sql = Sql { text, parameters, next: table.first(), equal: " = " };
        sql.say(words);
        sql
    }

    /// The records of a query.
    pub(crate) fn select<T: Record>(
        connection: &Connection,
        table: &Section,
        request: &'q Request<T>,
    ) -> Result<Sql<'q>> {
        let mut sql = Sql::new(table, &["select ", table.selection(), " from ", table.quoted()]);
        if !request.order.is_empty()
            && request.condition.is_some()
            && !table.is_planned_by_values(connection)?
        {
            // With an order, SQLite looks at the values of equalities and prepares the statement again for each new
            // value. It does not look behind a unary plus.
            sql.equal = " = +";
        }
        sql.condition(table, request.node()?);
        sql.order(table, request)?;
        sql.limit(request);
        Ok(sql)
    }

    /// The number of records of a query.
    pub(crate) fn count<T: Record>(table: &Section, request: &'q Request<T>) -> Result<Sql<'q>> {
        // SQLite produces the rows of a subquery one by one before it counts them.
        let is_cut = request.limit.is_some() || request.offset > 0;
        let (before, after) = if is_cut { ("(select 1 from ", ")") } else { ("", "") };
        let mut sql = Sql::new(table, &["select count(*) from ", before, table.quoted()]);
        sql.condition(table, request.node()?);
        sql.limit(request);
        sql.say(&[after]);
        Ok(sql)
    }

    /// The deletion of a query's records.
    pub(crate) fn delete(table: &Section, condition: &'q Node) -> Sql<'q> {
        let mut sql = Sql::new(table, &["delete from ", table.quoted()]);
        sql.condition(table, Some(condition));
        sql
    }

    fn condition(&mut self, table: &Table, node: Option<&'q Node>) {
        let within = table.within();
        match node {
            None if within.is_empty() => {}
            None => self.say(&[" where ", &within, "true"]),
            Some(node) => {
                self.say(&[" where ", &within]);
                self.node(table, node);
                if let Some((column, comparison, value)) = hull(node) {
                    self.say(&[" and "]);
                    self.compare(table, column, comparison, value);
                }
            }
        }
    }

    fn node(&mut self, table: &Table, node: &'q Node) {
        match node {
            Node::Compare(column, comparison, value) => self.compare(table, *column, *comparison, value),
            Node::Between(column, (above, low), (below, high)) => {
                self.say(&["("]);
                self.compare(table, *column, *above, low);
                self.say(&[" and "]);
                self.compare(table, *column, *below, high);
                self.say(&[")"]);
            }
            Node::In(column, values) => {
                self.say(&[table.expression(*column), " in ("]);
                for (at, value) in values.values().iter().enumerate() {
                    self.say(&[if at == 0 { "" } else { ", " }]);
                    self.value(value);
                }
                self.say(&[")"]);
            }
            Node::IsNull(column) => self.say(&[table.expression(*column), " is null"]),
            Node::StartsWith(column, prefix, end) => {
                self.prefix(table.expression(*column), prefix, end.as_deref());
            }
            Node::Contains(column, part) => {
                self.say(&["(instr(", table.expression(*column), ", "]);
                self.parameter(|cells| cells.text(part.text()));
                self.say(&[") > 0)"]);
            }
            Node::Joined(word, nodes) => self.joined(table, *word, nodes),
            Node::Not(inner) => {
                self.say(&["(not "]);
                self.node(table, inner);
                self.say(&[")"]);
            }
        }
    }

    fn compare(&mut self, table: &Table, column: usize, comparison: Comparison, value: &'q Value) {
        let operator = match comparison {
            Comparison::Equal => self.equal,
            other => operator(other),
        };
        self.say(&[table.expression(column), operator]);
        self.value(value);
    }

    /// As a balanced tree: SQLite refuses one that is a thousand deep.
    fn joined(&mut self, table: &Table, word: Word, nodes: &'q [Node]) {
        if let [node] = nodes {
            return self.node(table, node);
        }
        let (left, right) = nodes.split_at(nodes.len() / 2);
        self.say(&["("]);
        self.joined(table, word, left);
        self.say(&[match word {
            Word::And => " and ",
            Word::Or => " or ",
        }]);
        self.joined(table, word, right);
        self.say(&[")"]);
    }

    /// As a range, so that an index can serve it.
    fn prefix(&mut self, expression: &str, prefix: &'q str, end: Option<&'q str>) {
        self.say(&["(", expression, " >= "]);
        self.parameter(|cells| cells.text(prefix));
        if let Some(end) = end {
            self.say(&[" and ", expression, " < "]);
            self.parameter(|cells| cells.text(end));
        }
        self.say(&[")"]);
    }

    fn say(&mut self, words: &[&str]) {
        words.iter().for_each(|word| self.text.push_str(word));
    }

    fn value(&mut self, value: &'q Value) {
        self.parameter(|cells| value.write(cells));
    }

    fn parameter(&mut self, add: impl FnOnce(&mut Cells<'q>)) {
        let _ = write!(self.text, "?{}", self.next);
        add(&mut self.parameters);
        self.next += 1;
    }

    /// The key ends each order, so that there is one. Where a column of it stands there twice, SQLite sorts rows that come in their order. It is
    /// to do so where the condition names a column with an index: without that sort, SQLite takes a walk in the key's order for the cheaper way,
    /// however few rows the index finds.
    fn order<T: Record>(&mut self, table: &Table, request: &'q Request<T>) -> Result<()> {
        for (at, order) in request.order.iter().enumerate() {
            self.say(&[if at == 0 { " order by " } else { ", " }]);
            let expression = table.expression(order.column);
            match order.default {
                Some(default) => {
                    self.say(&["ifnull(", expression, ", "]);
                    self.value(default);
                    self.say(&[")"]);
                }
                None => self.say(&[expression]),
            }
            self.say(&[if order.descending { " desc" } else { "" }]);
        }
        if request.order.is_empty() {
            return Ok(());
        }
        let (keys, columns) = (table.shape.keys, table.shape.columns);
        let indexed = |column: &usize| *column >= keys && columns[*column].index != Index::None;
        let is_by_index = request.node()?.is_some_and(|node| node.columns().iter().any(indexed));
        let is_wanted = |key: &usize| is_by_index || request.order.iter().all(|order| order.column != *key);
        (0..keys).filter(is_wanted).for_each(|key| self.say(&[", ", table.expression(key)]));
        Ok(())
    }

    fn limit<T>(&mut self, request: &Request<T>) {
        if request.limit.is_none() && request.offset == 0 {
            return;
        }
        let limit = request.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let offset = i64::try_from(request.offset).unwrap_or(i64::MAX);
        self.say(&[" limit "]);
        self.parameter(|cells| cells.integer(limit));
        self.say(&[" offset "]);
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
