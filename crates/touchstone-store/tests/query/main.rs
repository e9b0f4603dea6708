//! Queries, against SQLite's own answer to SQL that the test renders itself, and against an evaluation of the model.
//! `TOUCHSTONE_CASES` is how many cases there are, `TOUCHSTONE_SEED` which.

mod ask;
mod edges;
mod prepared;

use ask::{Ask, Name, Rendered, any_ask, any_orders, bytes, integer, order_of, real, text};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use rusqlite::types::Value;
use std::cell::Cell;
use tempfile::TempDir;
use touchstone_store::{Error, ErrorKind, Query, Reading, Record, Result, Snapshot, Store};

const CASES: u32 = 120;

#[derive(Record, Clone, Debug, PartialEq)]
struct Row {
    #[record(key)]
    id: i64,
    #[record(index)]
    small: Option<i64>,
    large: i64,
    real: Option<f64>,
    #[record(index)]
    text: Option<String>,
    word: String,
    bytes: Option<Vec<u8>>,
}

/// A query as the test has it.
#[derive(Clone, Debug)]
struct Question {
    ask: Option<Ask>,
    orders: Vec<(Name, bool)>,
    limit: Option<u64>,
    offset: Option<u64>,
}

fn row() -> impl Strategy<Value = Row> {
    (option::of(integer()), integer(), option::of(real()), option::of(text()), text(), option::of(bytes()))
        .prop_map(|(small, large, real, text, word, bytes)| Row {
            id: 0,
            small,
            large,
            real,
            text,
            word,
            bytes,
        })
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    (vec(row(), 0..25), any::<bool>()).prop_map(|(mut rows, extremes)| {
        for (row, id) in rows.iter_mut().zip(-3..) {
            row.id = id;
        }
        if let (true, [first, .., last]) = (extremes, &mut *rows) {
            (first.id, last.id) = (i64::MIN, i64::MAX);
        }
        rows
    })
}

fn question() -> impl Strategy<Value = Question> {
    let limit = prop::sample::select(vec![
        None,
        None,
        Some(0),
        Some(1),
        Some(3),
        Some(i64::MAX as u64),
        Some(u64::MAX),
    ]);
    let offset = prop::sample::select(vec![None, None, None, Some(0), Some(2), Some(1000), Some(u64::MAX)]);
    (option::weighted(0.9, any_ask()), any_orders(), limit, offset)
        .prop_map(|(ask, orders, limit, offset)| Question { ask, orders, limit, offset })
}

impl Question {
    fn query<'s>(&self, reading: &Reading<'s, Row>) -> Query<'s, Row> {
        let mut query = reading.query();
        if let Some(ask) = &self.ask {
            query = query.filter(|columns| ask.condition(columns));
        }
        for (name, descending) in &self.orders {
            query = query.order(|columns| name.order(*descending, columns));
        }
        if let Some(limit) = self.limit {
            query = query.limit(limit);
        }
        if let Some(offset) = self.offset {
            query = query.offset(offset);
        }
        query
    }

    /// The keys that SQLite answers with; all that meet the condition, without the limit, where there is no order.
    fn by_sqlite(&self, snapshot: &Snapshot) -> Result<Vec<i64>> {
        let mut rendered = Rendered { sql: "select id from row where ".into(), values: Vec::new() };
        match &self.ask {
            Some(ask) => ask.render(&mut rendered),
            None => rendered.sql += "true",
        }
        let terms: Vec<String> = self
            .orders
            .iter()
            .map(|(name, descending)| format!("{}{}", name.sql(), if *descending { " desc" } else { "" }))
            .chain(["id".to_owned()])
            .collect();
        rendered.sql += &format!(" order by {}", terms.join(", "));
        if !self.orders.is_empty() {
            let clamped = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
            rendered.sql += " limit ? offset ?";
            rendered.values.push(self.limit.map_or(Value::Integer(-1), clamped));
            rendered.values.push(clamped(self.offset.unwrap_or(0)));
        }
        snapshot.sql(|sql| {
            let mut statement = sql.prepare(&rendered.sql)?;
            let ids = statement.query_map(rusqlite::params_from_iter(rendered.values), |row| row.get(0))?;
            ids.collect()
        })
    }

    /// The rows of the model that meet the condition, in the order.
    fn by_model(&self, rows: &[Row]) -> Vec<Row> {
        let meets = |row: &&Row| self.ask.as_ref().is_none_or(|ask| ask.holds(row) == Some(true));
        let mut found: Vec<Row> = rows.iter().filter(meets).cloned().collect();
        found.sort_by(|left, right| {
            let orders =
                self.orders.iter().map(|(name, descending)| order_of(*name, *descending, left, right));
            orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then).then(left.id.cmp(&right.id))
        });
        found
    }

    fn within(&self, found: &[Row]) -> Vec<Row> {
        let number = |number: Option<u64>, none| {
            number.map_or(none, |number| usize::try_from(number).unwrap_or(usize::MAX))
        };
        found.iter().skip(number(self.offset, 0)).take(number(self.limit, usize::MAX)).cloned().collect()
    }
}

/// Every way to ask, compared.
fn compare(question: &Question, reading: &Reading<'_, Row>, meeting: &[Row]) -> Result<bool> {
    let expected = question.within(meeting);
    let by_pages = question.query(reading).explain()?.by_pages;
    let mut all = question.query(reading).all()?;
    let rows: Vec<Row> = question.query(reading).rows()?.collect::<Result<_>>()?;
    assert_eq!(rows, all);
    let mut each = Vec::new();
    question.query(reading).each(|row| {
        each.push(row);
        Ok(true)
    })?;
    assert_eq!(each, all);
    assert_eq!(question.query(reading).count()?, expected.len() as u64);
    assert_eq!(question.query(reading).first()?, all.first().cloned());
    if question.orders.is_empty() && !by_pages {
        // Any of those that meet the condition, in any order, but none of them twice.
        assert_eq!(all.len(), expected.len());
        all.sort_by_key(|row| row.id);
        all.dedup();
        assert_eq!(all.len(), expected.len());
        assert!(all.iter().all(|row| meeting.contains(row)));
    } else {
        assert_eq!(all, expected);
    }
    Ok(by_pages)
}

fn removed(question: &Question, store: &Store, meeting: &[Row], rows: &[Row]) {
    let Some(ask) = &question.ask else { return };
    let result: Result<()> = store.write(|transaction| {
        let mut writing = transaction.of::<Row>();
        assert_eq!(writing.remove_where(|columns| ask.condition(columns))?, meeting.len() as u64);
        let left: Vec<Row> = rows.iter().filter(|row| !meeting.contains(row)).cloned().collect();
        assert_eq!(writing.all()?, left);
        Err(Error::new(ErrorKind::Invalid, "the next question is about all of them"))
    });
    assert_eq!(result.expect_err("nothing is removed").kind(), ErrorKind::Invalid);
}

fn opened() -> (TempDir, Store) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let store = Store::open(directory.path().join("query.db")).expect("the store opens");
    (directory, store)
}

#[test]
fn answers_are_those_of_sqlite_and_of_the_model() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let cases = number("TOUCHSTONE_CASES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(CASES);
    let rng_seed = RngSeed::Fixed(number("TOUCHSTONE_SEED").unwrap_or(1));
    let config = ProptestConfig { failure_persistence: None, rng_seed, ..ProptestConfig::with_cases(cases) };
    let (by_pages, by_statement) = (Cell::new(0), Cell::new(0));
    let tried = TestRunner::new(config).run(&(rows(), vec(question(), 1..12)), |(mut rows, questions)| {
        let (_directory, store) = opened();
        let write = |transaction: &mut touchstone_store::Transaction<'_>| {
            transaction.insert_all(&rows)?;
            transaction.collection::<Row>("other")?.insert_all(rows.iter().rev().skip(1))?;
            transaction.collection::<Row>("rows")?.insert_all(&rows)
        };
        store.write(write).expect("they go in");
        rows.sort_by_key(|row| row.id);
        for question in &questions {
            let meeting = question.by_model(&rows);
            let compared = store.read(|snapshot| {
                let ids: Vec<i64> = meeting.iter().map(|row| row.id).collect();
                let by_sqlite = question.by_sqlite(snapshot)?;
                let by_model: Vec<i64> = question.within(&meeting).iter().map(|row| row.id).collect();
                assert_eq!(by_sqlite, if question.orders.is_empty() { ids } else { by_model });
                assert!(!compare(question, &snapshot.collection::<Row>("rows")?, &meeting)?);
                compare(question, &snapshot.of::<Row>(), &meeting)
            });
            let path = if compared.expect("it is answered") { &by_pages } else { &by_statement };
            path.set(path.get() + 1);
            removed(question, &store, &meeting, &rows);
        }
        Ok(())
    });
    if let Err(why) = tried {
        panic!("{why}");
    }
    let (by_pages, by_statement) = (by_pages.get(), by_statement.get());
    assert!(by_pages > cases && by_statement > cases, "both ways are used: {by_pages}, {by_statement}");
}
