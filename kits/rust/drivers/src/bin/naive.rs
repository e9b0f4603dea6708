//! The published page's own strategy, beside rusqlite: every change is evaluated against every subscription by walking
//! the tree of its predicate in three-valued logic, and each subscription keeps an ordered list of its own, from which
//! what changed is removed, and into which what matches is inserted one by one.
//!
//! Observed objects are found by their titles, as the page's store finds them by their row numbers. It differs from the
//! page's store where that is wrong: a result with a limit is fetched anew when records that were beyond its end may
//! have come into it.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::difference::{Step, steps};
use drivers::sqlite::{self, Error};
use drivers::watching::{Strategy, Watching};
use rusqlite_driver::Rusqlite;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{Difference, Doc, Kit, Moments, Subscription, Update};

fn main() -> ExitCode {
    let about = sqlite::about("naive", env!("VERSION_RUSQLITE"));
    Kit::<Watching<Rusqlite, Naive>>::new(about).rows().documents().live::<Doc>().main()
}

/// A field of an object.
#[derive(Clone, Copy, Debug)]
enum Field {
    Title,
    Priority,
}

/// A predicate as a query builder makes it.
#[derive(Debug)]
enum Predicate {
    And(Box<Predicate>, Box<Predicate>),
    Equal(Box<Operand>, Box<Operand>),
    Less(Box<Operand>, Box<Operand>),
    AtLeast(Box<Operand>, Box<Operand>),
}

/// What is compared.
#[derive(Debug)]
enum Operand {
    Field(Field),
    Integer(i64),
    Text(String),
}

impl Operand {
    fn field(field: Field) -> Box<Operand> {
        Box::new(Operand::Field(field))
    }

    /// What it compares as with another; none where either is missing.
    fn compared(&self, other: &Operand, doc: &Doc) -> Option<Ordering> {
        match (self.of(doc), other.of(doc)) {
            (Seen::Integer(mine), Seen::Integer(theirs)) => Some(mine.cmp(&theirs)),
            (Seen::Text(mine), Seen::Text(theirs)) => Some(mine.cmp(theirs)),
            _ => None,
        }
    }

    fn of<'d>(&'d self, doc: &'d Doc) -> Seen<'d> {
        match self {
            Operand::Field(Field::Title) => Seen::Text(&doc.title),
            Operand::Field(Field::Priority) => doc.priority.map_or(Seen::Null, Seen::Integer),
            Operand::Integer(number) => Seen::Integer(*number),
            Operand::Text(text) => Seen::Text(text),
        }
    }
}

/// A value that is looked at in its place.
enum Seen<'d> {
    Null,
    Integer(i64),
    Text(&'d str),
}

impl Predicate {
    /// True, false, or neither where a value is missing.
    fn evaluate(&self, doc: &Doc) -> Option<bool> {
        match self {
            Predicate::And(one, other) => match (one.evaluate(doc), other.evaluate(doc)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Predicate::Equal(one, other) => one.compared(other, doc).map(Ordering::is_eq),
            Predicate::Less(one, other) => one.compared(other, doc).map(Ordering::is_lt),
            Predicate::AtLeast(one, other) => one.compared(other, doc).map(Ordering::is_ge),
        }
    }

    fn of(subscription: &Subscription) -> Predicate {
        match subscription {
            Subscription::Object { title } | Subscription::One { title } => {
                Predicate::Equal(Operand::field(Field::Title), Box::new(Operand::Text(title.clone())))
            }
            Subscription::Window { below, from, .. } => {
                let bound = |bound: &i64| Box::new(Operand::Integer(*bound));
                Predicate::And(
                    Box::new(Predicate::Less(Operand::field(Field::Priority), bound(below))),
                    Box::new(Predicate::AtLeast(Operand::field(Field::Priority), bound(from))),
                )
            }
        }
    }
}

/// A result as a subscriber has it.
type Results = Arc<Vec<Arc<Doc>>>;

/// A subscribed query.
struct Watched {
    number: usize,
    subscription: Subscription,
    predicate: Predicate,
    results: Results,
}

/// Every subscription, and what the last transaction wrote.
#[derive(Default)]
struct Naive {
    queries: Vec<Watched>,
    /// The observers of each title, with what they have.
    objects: HashMap<String, Vec<(usize, Results)>>,
    changes: Vec<Arc<Doc>>,
}

impl Strategy<Rusqlite> for Naive {
    type Update = Given;

    fn watch(&mut self, inner: &mut Rusqlite, subscriptions: &[Subscription]) -> Result<(), Error> {
        *self = Naive::default();
        for (number, subscription) in subscriptions.iter().enumerate() {
            let results = fetch(inner, subscription)?;
            match subscription {
                Subscription::Object { title } => {
                    self.objects.entry(title.clone()).or_default().push((number, results));
                }
                _ => self.queries.push(Watched {
                    number,
                    subscription: subscription.clone(),
                    predicate: Predicate::of(subscription),
                    results,
                }),
            }
        }
        Ok(())
    }

    fn change(&mut self, inner: &mut Rusqlite, states: &[&Doc], moments: &mut Moments) -> Result<(), Error> {
        if self.queries.is_empty() && self.objects.is_empty() {
            return inner.change(states, moments);
        }
        inner.change_noting(states, moments, |state| self.changes.push(Arc::new(state.clone())))
    }

    fn receive(&mut self, inner: &mut Rusqlite, updates: &mut Vec<Given>) -> Result<(), Error> {
        let changes = std::mem::take(&mut self.changes);
        for change in &changes {
            for (number, has) in self.objects.get_mut(&change.title).into_iter().flatten() {
                if has.first() != Some(change) {
                    let before = std::mem::replace(has, Arc::new(vec![Arc::clone(change)]));
                    updates.push(Given { number: *number, before, now: Arc::clone(has) });
                }
            }
        }
        let changed = Changed::of(&changes);
        for query in &mut self.queries {
            if let Some(now) = query.after(inner, &changes, &changed)? {
                let before = std::mem::replace(&mut query.results, now);
                updates.push(Given { number: query.number, before, now: Arc::clone(&query.results) });
            }
        }
        Ok(())
    }

    fn fetch(&mut self, inner: &mut Rusqlite, subscription: &Subscription) -> Result<Vec<Doc>, Error> {
        inner.subscribed(subscription)
    }
}

/// Which objects a transaction changed.
enum Changed<'c> {
    /// So few that looking at each costs less than a hash.
    Few(&'c [Arc<Doc>]),
    Many(HashSet<&'c str>),
}

impl Changed<'_> {
    fn of(changes: &[Arc<Doc>]) -> Changed<'_> {
        if changes.len() <= 4 {
            return Changed::Few(changes);
        }
        Changed::Many(changes.iter().map(|change| change.title.as_str()).collect())
    }

    fn has(&self, doc: &Doc) -> bool {
        match self {
            Changed::Few(changes) => changes.iter().any(|change| change.title == doc.title),
            Changed::Many(titles) => titles.contains(doc.title.as_str()),
        }
    }
}

impl Watched {
    /// The result after these changes, where it is another one.
    fn after(
        &self,
        inner: &mut Rusqlite,
        changes: &[Arc<Doc>],
        changed: &Changed<'_>,
    ) -> Result<Option<Results>, Error> {
        let matching: Vec<&Arc<Doc>> =
            changes.iter().filter(|change| self.predicate.evaluate(change) == Some(true)).collect();
        let mut now: Vec<Arc<Doc>> = self.results.iter().filter(|doc| !changed.has(doc)).cloned().collect();
        if matching.is_empty() && now.len() == self.results.len() {
            return Ok(None);
        }
        for change in matching {
            insert_sorted(&mut now, change);
        }
        let now = match self.limit() {
            Some(limit) => self.limited(inner, now, limit)?,
            None => Arc::new(now),
        };
        Ok((now != self.results).then_some(now))
    }

    fn limit(&self) -> Option<usize> {
        match &self.subscription {
            Subscription::Window { limit, .. } => limit.map(|limit| limit as usize),
            _ => None,
        }
    }

    /// Of what is beyond the end of a full result nobody knows anything, so only what is before that end is certain.
    fn limited(&self, inner: &mut Rusqlite, mut now: Vec<Arc<Doc>>, limit: usize) -> Result<Results, Error> {
        let end = self.results.last().filter(|_| self.results.len() == limit);
        let certain = match end {
            Some(end) => now.partition_point(|doc| doc.priority <= end.priority),
            None => now.len(),
        };
        if end.is_some() && certain < limit {
            return fetch(inner, &self.subscription);
        }
        now.truncate(limit);
        Ok(Arc::new(now))
    }
}

fn insert_sorted(results: &mut Vec<Arc<Doc>>, doc: &Arc<Doc>) {
    let at = results.partition_point(|known| known.priority < doc.priority);
    results.insert(at, Arc::clone(doc));
}

fn fetch(inner: &mut Rusqlite, subscription: &Subscription) -> Result<Results, Error> {
    Ok(Arc::new(inner.subscribed(subscription)?.into_iter().map(Arc::new).collect()))
}

/// A result, and the one before it.
struct Given {
    number: usize,
    before: Results,
    now: Results,
}

impl Update<Doc> for Given {
    type Copy = Vec<Arc<Doc>>;
    /// Records that are there now are told by their places.
    type Diff = (Vec<Step>, Results);

    fn subscription(&self) -> usize {
        self.number
    }

    fn sum(&self) -> i64 {
        self.now.iter().filter_map(|doc| doc.priority).sum()
    }

    fn copy(&self) -> Vec<Arc<Doc>> {
        self.now.to_vec()
    }

    fn diff(&self) -> (Vec<Step>, Results) {
        let before = self.before.iter().map(AsRef::as_ref);
        (steps(before, self.now.iter().map(AsRef::as_ref)), Arc::clone(&self.now))
    }

    fn records(&self) -> impl Iterator<Item = &Doc> {
        self.now.iter().map(AsRef::as_ref)
    }

    fn copied(copy: &Vec<Arc<Doc>>) -> impl Iterator<Item = &Doc> {
        copy.iter().map(AsRef::as_ref)
    }

    fn differences((steps, now): (Vec<Step>, Results)) -> Vec<Difference<Doc>> {
        let record = |at: u32| Doc::clone(&now[at as usize]);
        let difference = |step| match step {
            Step::Removed(at) => Difference::Removed { at: at as usize },
            Step::Inserted(at) => Difference::Inserted { at: at as usize, record: record(at) },
            Step::Changed(at) => Difference::Changed { at: at as usize, record: record(at) },
        };
        steps.into_iter().map(difference).collect()
    }
}
