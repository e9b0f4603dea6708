//! As good as looking at every query after every change can be: objects have row numbers, conditions are flat, what
//! changed is scanned as columns of what it was and of what it is, and matches are merged into a result in one go.
//!
//! There is no structure in which a query would be found by a value; that is what other strategies have.

use super::columns::{Columns, Condition};
use super::{Changed, Results, certain, limit, same};
use std::collections::HashMap;
use std::sync::Arc;
use touchstone_kit::{Doc, Subscription};

/// The subscribed queries, and the objects that they have met.
#[derive(Default)]
pub struct Queries {
    /// Apart from all else of the queries, so that a scan of them reads nothing else.
    conditions: Vec<Condition>,
    queries: Vec<Query>,
    objects: Objects,
    /// What the changed objects were and are, for the conditions; empty but for their memory between transactions.
    were: Columns,
    are: Columns,
}

struct Query {
    number: usize,
    subscription: Subscription,
    results: Results,
    /// The row of each object of the result.
    rows: Vec<u32>,
}

/// Every object that was in a result or changed, by its row number.
#[derive(Default)]
struct Objects {
    rows: HashMap<String, u32>,
    /// The priority of each, as far as it is known: in no result is an object that has none here.
    priorities: Vec<Option<i64>>,
    /// Which are changed by the transaction that is followed.
    changed: Vec<bool>,
}

impl Objects {
    fn row(&mut self, title: &str) -> u32 {
        if let Some(row) = self.rows.get(title) {
            return *row;
        }
        let row = self.priorities.len() as u32;
        self.rows.insert(title.to_owned(), row);
        self.priorities.push(None);
        self.changed.push(false);
        row
    }

    /// The row of an object that is in a result.
    fn met(&mut self, doc: &Doc) -> u32 {
        let row = self.row(&doc.title);
        self.priorities[row as usize] = doc.priority;
        row
    }
}

impl Queries {
    /// Follows one more query, whose result is known.
    pub fn begin(&mut self, number: usize, subscription: &Subscription, results: Results) {
        let objects = &mut self.objects;
        self.conditions.push(Condition::of(subscription, |title| objects.row(title)));
        let rows = results.iter().map(|doc| objects.met(doc)).collect();
        self.queries.push(Query { number, subscription: subscription.clone(), results, rows });
    }

    /// Follows the query that was begun last no more.
    pub fn end(&mut self) {
        self.conditions.pop();
        self.queries.pop();
    }

    /// Whether nothing is followed.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Brings every result up to date, and gives those that are other ones. `fetch` fetches one anew.
    ///
    /// # Errors
    /// As `fetch` does.
    pub fn follow<E>(
        &mut self,
        changes: &[Arc<Doc>],
        fetch: impl FnMut(&Subscription) -> Result<Results, E>,
        give: impl FnMut(Changed),
    ) -> Result<(), E> {
        if self.is_empty() {
            return Ok(());
        }
        let rows = self.take_in(changes);
        let followed = self.scan(changes, &rows, fetch, give);
        rows.iter().for_each(|row| self.objects.changed[*row as usize] = false);
        followed
    }

    fn scan<E>(
        &mut self,
        changes: &[Arc<Doc>],
        rows: &[u32],
        mut fetch: impl FnMut(&Subscription) -> Result<Results, E>,
        mut give: impl FnMut(Changed),
    ) -> Result<(), E> {
        let mut matching = Vec::new();
        for (condition, query) in self.conditions.iter().zip(&mut self.queries) {
            matching.clear();
            self.are.matching(condition, &mut matching);
            if matching.is_empty() && !self.were.any(condition) {
                continue;
            }
            let mut matched: Vec<(u32, &Arc<Doc>)> =
                matching.iter().map(|at| (rows[*at as usize], &changes[*at as usize])).collect();
            matched.sort_unstable_by_key(|(_, doc)| doc.priority);
            if let Some(before) = query.merge(&matched, &mut self.objects, &mut fetch)? {
                give(Changed { number: query.number, before, now: Arc::clone(&query.results) });
            }
        }
        Ok(())
    }

    /// Puts what the changed objects were and are into columns, and gives the row of each.
    fn take_in(&mut self, changes: &[Arc<Doc>]) -> Vec<u32> {
        self.were.clear();
        self.are.clear();
        let mut take = |change: &Arc<Doc>| {
            let row = self.objects.row(&change.title);
            self.were.add(row, self.objects.priorities[row as usize]);
            self.are.add(row, change.priority);
            self.objects.priorities[row as usize] = change.priority;
            self.objects.changed[row as usize] = true;
            row
        };
        changes.iter().map(&mut take).collect()
    }
}

impl Query {
    /// Takes what changed out of the result and what matches into it. Where the result is another one then, the one
    /// before.
    fn merge<E>(
        &mut self,
        matched: &[(u32, &Arc<Doc>)],
        objects: &mut Objects,
        fetch: &mut impl FnMut(&Subscription) -> Result<Results, E>,
    ) -> Result<Option<Results>, E> {
        let length = self.results.len() + matched.len();
        let (mut now, mut rows) = (Vec::with_capacity(length), Vec::with_capacity(length));
        let mut matched = matched.iter().peekable();
        let mut put = |row: u32, doc: &Arc<Doc>| {
            now.push(Arc::clone(doc));
            rows.push(row);
        };
        let kept = self.rows.iter().zip(self.results.iter());
        for (row, doc) in kept.filter(|(row, _)| !objects.changed[**row as usize]) {
            while let Some((row, before)) = matched.next_if(|(_, other)| other.priority < doc.priority) {
                put(*row, before);
            }
            put(*row, doc);
        }
        matched.for_each(|(row, doc)| put(*row, doc));
        let mut now = Arc::new(now);
        if let Some(limit) = limit(&self.subscription) {
            match certain(&self.results, &now, limit) {
                Some(certain) => {
                    Arc::make_mut(&mut now).truncate(certain);
                    rows.truncate(certain);
                }
                None => {
                    now = fetch(&self.subscription)?;
                    rows = now.iter().map(|doc| objects.met(doc)).collect();
                }
            }
        }
        if same(&now, &self.results) {
            return Ok(None);
        }
        self.rows = rows;
        Ok(Some(std::mem::replace(&mut self.results, now)))
    }
}
