//! The published page's own strategy, beside rusqlite: every change is evaluated against every subscription, and each
//! subscription keeps an ordered list of its own.
//!
//! The setting `evaluator` says how: `tree`, the page's own way, walks the tree of each query's conditions in three-valued
//! logic; `flat` is the better scan that the page expects more of. Observed objects are found by their titles in both, as
//! the page's store finds them by their row numbers. It differs from the page's store where that is wrong: a result with a
//! limit is fetched anew when records that were beyond its end may have come into it.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::difference::{Step, steps};
use drivers::evaluating::{Changed, Results, flat, tree};
use drivers::sqlite::{self, Error};
use drivers::watching::{Configured, Strategy, Watching};
use rusqlite_driver::Rusqlite;
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{Difference, Doc, Failure, Kit, Moments, Open, Setting, Settings, Subscription, Update};

fn main() -> ExitCode {
    let about = sqlite::about("naive", env!("VERSION_RUSQLITE"));
    Kit::<Watching<Rusqlite, Naive>>::new(about).rows().documents().live::<Doc>().main()
}

const EVALUATOR: &str = "evaluator";

/// Every subscription, and what the last transaction wrote.
#[derive(Default)]
struct Naive {
    queries: Queries,
    observers: Observers,
    changes: Vec<Arc<Doc>>,
    /// The subscription that was begun beside those that are watched.
    begun: Option<Subscription>,
}

/// The subscribed queries, as the setting says.
enum Queries {
    Tree(tree::Queries),
    Flat(Box<flat::Queries>),
}

/// The observers of each title, with what they have.
type Observers = HashMap<String, Vec<(usize, Results)>>;

impl Default for Queries {
    fn default() -> Queries {
        Queries::Tree(tree::Queries::default())
    }
}

impl Queries {
    /// None yet, to be evaluated as these are.
    fn none(&self) -> Queries {
        match self {
            Queries::Tree(_) => Queries::Tree(tree::Queries::default()),
            Queries::Flat(_) => Queries::Flat(Box::default()),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Queries::Tree(queries) => queries.is_empty(),
            Queries::Flat(queries) => queries.is_empty(),
        }
    }

    fn begin(&mut self, number: usize, subscription: &Subscription, results: Results) {
        match self {
            Queries::Tree(queries) => queries.begin(number, subscription, results),
            Queries::Flat(queries) => queries.begin(number, subscription, results),
        }
    }

    fn end(&mut self) {
        match self {
            Queries::Tree(queries) => queries.end(),
            Queries::Flat(queries) => queries.end(),
        }
    }
}

impl Configured for Naive {
    fn open(open: &Open) -> Result<Naive, Failure> {
        let queries = match open.word(EVALUATOR, &["tree", "flat"])? {
            Some("flat") => Queries::Flat(Box::default()),
            _ => Queries::default(),
        };
        Ok(Naive { queries, ..Naive::default() })
    }

    fn settings(&self) -> Settings {
        let evaluator = match self.queries {
            Queries::Tree(_) => "tree",
            Queries::Flat(_) => "flat",
        };
        Settings::from([(EVALUATOR.into(), Setting::from(evaluator))])
    }
}

impl Naive {
    fn begin(&mut self, number: usize, subscription: &Subscription, results: Results) {
        match subscription {
            Subscription::Object { title } => {
                self.observers.entry(title.clone()).or_default().push((number, results));
            }
            _ => self.queries.begin(number, subscription, results),
        }
    }
}

impl Strategy<Rusqlite> for Naive {
    type Update = Given;
    type First = Results;

    fn watch(&mut self, inner: &mut Rusqlite, subscriptions: &[Subscription]) -> Result<(), Error> {
        *self = Naive { queries: self.queries.none(), ..Naive::default() };
        for (number, subscription) in subscriptions.iter().enumerate() {
            let results = fetch(inner, subscription)?;
            self.begin(number, subscription, results);
        }
        Ok(())
    }

    fn subscribe(&mut self, inner: &mut Rusqlite, subscription: &Subscription) -> Result<Results, Error> {
        let first = fetch(inner, subscription)?;
        // It ends before the next transaction, so that nobody asks for its number.
        self.begin(usize::MAX, subscription, Arc::clone(&first));
        self.begun = Some(subscription.clone());
        Ok(first)
    }

    fn unsubscribe(&mut self) {
        match self.begun.take() {
            Some(Subscription::Object { title }) => {
                let observers = self.observers.get_mut(&title);
                if observers.is_some_and(|observers| observers.pop().is_some() && observers.is_empty()) {
                    self.observers.remove(&title);
                }
            }
            Some(_) => self.queries.end(),
            None => {}
        }
    }

    fn first_records(first: &Results) -> impl Iterator<Item = &Doc> {
        first.iter().map(AsRef::as_ref)
    }

    fn change(&mut self, inner: &mut Rusqlite, states: &[&Doc], moments: &mut Moments) -> Result<(), Error> {
        if self.queries.is_empty() && self.observers.is_empty() {
            return inner.change(states, moments);
        }
        // Of a transaction that failed nobody is told.
        self.changes.clear();
        inner.change_noting(states, moments, |state| self.changes.push(Arc::new(state.clone())))
    }

    fn receive(&mut self, inner: &mut Rusqlite, updates: &mut Vec<Given>) -> Result<(), Error> {
        let changes = std::mem::take(&mut self.changes);
        for change in &changes {
            for (number, has) in self.observers.get_mut(&change.title).into_iter().flatten() {
                if has.first() != Some(change) {
                    let before = std::mem::replace(has, Arc::new(vec![Arc::clone(change)]));
                    updates.push(Given(Changed { number: *number, before, now: Arc::clone(has) }));
                }
            }
        }
        let fetch = |subscription: &Subscription| fetch(inner, subscription);
        let give = |changed| updates.push(Given(changed));
        match &mut self.queries {
            Queries::Tree(queries) => queries.follow(&changes, fetch, give),
            Queries::Flat(queries) => queries.follow(&changes, fetch, give),
        }
    }

    fn fetch(&mut self, inner: &mut Rusqlite, subscription: &Subscription) -> Result<Vec<Doc>, Error> {
        inner.subscribed(subscription)
    }
}

fn fetch(inner: &mut Rusqlite, subscription: &Subscription) -> Result<Results, Error> {
    Ok(Arc::new(inner.subscribed(subscription)?.into_iter().map(Arc::new).collect()))
}

/// A result, and the one before it.
struct Given(Changed);

impl Update<Doc> for Given {
    type Copy = Vec<Arc<Doc>>;
    /// Records that are there now are told by their places.
    type Diff = (Vec<Step>, Results);

    fn subscription(&self) -> usize {
        self.0.number
    }

    fn sum(&self) -> i64 {
        self.0.now.iter().filter_map(|doc| doc.priority).sum()
    }

    fn copy(&self) -> Vec<Arc<Doc>> {
        self.0.now.to_vec()
    }

    fn diff(&self) -> (Vec<Step>, Results) {
        let before = self.0.before.iter().map(AsRef::as_ref);
        (steps(before, self.0.now.iter().map(AsRef::as_ref)), Arc::clone(&self.0.now))
    }

    fn records(&self) -> impl Iterator<Item = &Doc> {
        self.0.now.iter().map(AsRef::as_ref)
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
