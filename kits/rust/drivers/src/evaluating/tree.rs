//! The published page's own way: each change is evaluated by each query's tree of conditions, and each query keeps an
//! ordered list of its own, from which what changed is removed, and into which what matches is inserted one by one.

use super::condition::{Condition, condition};
use super::{Changed, Results, certain, limit, same};
use std::collections::HashSet;
use std::sync::Arc;
use touchstone_kit::{Doc, Subscription};

/// The subscribed queries.
#[derive(Default)]
pub struct Queries(Vec<Query>);

struct Query {
    number: usize,
    subscription: Subscription,
    condition: Box<dyn Condition>,
    results: Results,
}

impl Queries {
    /// Follows one more query, whose result is known.
    pub fn begin(&mut self, number: usize, subscription: &Subscription, results: Results) {
        let condition = condition(subscription);
        self.0.push(Query { number, subscription: subscription.clone(), condition, results });
    }

    /// Follows the query that was begun last no more.
    pub fn end(&mut self) {
        self.0.pop();
    }

    /// Whether nothing is followed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Brings every result up to date, and gives those that are other ones. `fetch` fetches one anew.
    ///
    /// # Errors
    /// As `fetch` does.
    pub fn follow<E>(
        &mut self,
        changes: &[Arc<Doc>],
        mut fetch: impl FnMut(&Subscription) -> Result<Results, E>,
        mut give: impl FnMut(Changed),
    ) -> Result<(), E> {
        let touched = Touched::by(changes);
        for query in &mut self.0 {
            if let Some(now) = query.after(changes, &touched, &mut fetch)? {
                let before = std::mem::replace(&mut query.results, Arc::clone(&now));
                give(Changed { number: query.number, before, now });
            }
        }
        Ok(())
    }
}

/// Which objects a transaction changed.
enum Touched<'c> {
    /// So few that looking at each costs less than a hash.
    Few(&'c [Arc<Doc>]),
    Many(HashSet<&'c str>),
}

impl Touched<'_> {
    fn by(changes: &[Arc<Doc>]) -> Touched<'_> {
        if changes.len() <= 4 {
            return Touched::Few(changes);
        }
        Touched::Many(changes.iter().map(|change| change.title.as_str()).collect())
    }

    fn has(&self, doc: &Doc) -> bool {
        match self {
            Touched::Few(changes) => changes.iter().any(|change| change.title == doc.title),
            Touched::Many(titles) => titles.contains(doc.title.as_str()),
        }
    }
}

impl Query {
    /// The result after these changes, where it is another one.
    fn after<E>(
        &self,
        changes: &[Arc<Doc>],
        touched: &Touched<'_>,
        fetch: &mut impl FnMut(&Subscription) -> Result<Results, E>,
    ) -> Result<Option<Results>, E> {
        let matching: Vec<&Arc<Doc>> =
            changes.iter().filter(|change| self.condition.evaluate(change) == Some(true)).collect();
        let first = self.results.iter().position(|doc| touched.has(doc));
        if matching.is_empty() && first.is_none() {
            return Ok(None);
        }
        let (before, rest) = self.results.split_at(first.unwrap_or(self.results.len()));
        let rest = rest.iter().filter(|doc| !touched.has(doc));
        let mut now: Vec<Arc<Doc>> = before.iter().chain(rest).cloned().collect();
        for change in matching {
            let at = now.partition_point(|known| known.priority < change.priority);
            now.insert(at, Arc::clone(change));
        }
        let now = match limit(&self.subscription) {
            Some(limit) => match certain(&self.results, &now, limit) {
                Some(certain) => {
                    now.truncate(certain);
                    Arc::new(now)
                }
                None => fetch(&self.subscription)?,
            },
            None => Arc::new(now),
        };
        Ok((!same(&now, &self.results)).then_some(now))
    }
}
