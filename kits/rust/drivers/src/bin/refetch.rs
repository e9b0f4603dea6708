//! Results kept fresh by fetching them anew: after every commit that touched the table, each subscription's prepared
//! statement runs again, all in one read transaction on the writer's connection, and whoever's result is another than
//! before is given it. This is what GRDB, Room, SQLDelight and others do that know of a change by its table; like GRDB's
//! `removeDuplicates`, it keeps the last result to tell whether there is anything to say.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
pub mod rusqlite_driver;

use drivers::difference::{Step, steps};
use drivers::sqlite::{self, Error};
use drivers::watching::{Configured, Strategy, Watching};
use rusqlite_driver::Rusqlite;
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{Difference, Doc, Kit, Moments, Subscription, Update};

fn main() -> ExitCode {
    let about = sqlite::about("refetch", env!("VERSION_RUSQLITE"));
    Kit::<Watching<Rusqlite, Refetch>>::new(about).rows().documents().live::<Doc>().main()
}

/// Every subscription with its last result.
#[derive(Default)]
pub struct Refetch {
    watched: Vec<(Subscription, Arc<Vec<Doc>>)>,
    touched: bool,
}

impl Configured for Refetch {}

impl Strategy<Rusqlite> for Refetch {
    type Update = Fetched;
    type First = Arc<Vec<Doc>>;

    fn watch(&mut self, inner: &mut Rusqlite, subscriptions: &[Subscription]) -> Result<(), Error> {
        let first = |subscription: &Subscription| {
            Ok((subscription.clone(), Arc::new(inner.subscribed(subscription)?)))
        };
        self.watched = subscriptions.iter().map(first).collect::<Result<_, Error>>()?;
        Ok(())
    }

    fn subscribe(
        &mut self,
        inner: &mut Rusqlite,
        subscription: &Subscription,
    ) -> Result<Arc<Vec<Doc>>, Error> {
        let first = Arc::new(inner.subscribed(subscription)?);
        self.watched.push((subscription.clone(), Arc::clone(&first)));
        Ok(first)
    }

    fn unsubscribe(&mut self) {
        self.watched.pop();
    }

    fn first_records(first: &Arc<Vec<Doc>>) -> impl Iterator<Item = &Doc> {
        first.iter()
    }

    fn change(&mut self, inner: &mut Rusqlite, states: &[&Doc], moments: &mut Moments) -> Result<(), Error> {
        self.touched = true;
        inner.change(states, moments)
    }

    fn receive(&mut self, inner: &mut Rusqlite, updates: &mut Vec<Fetched>) -> Result<(), Error> {
        if !std::mem::take(&mut self.touched) || self.watched.is_empty() {
            return Ok(());
        }
        inner.in_one_snapshot(|inner| {
            for (number, (subscription, last)) in self.watched.iter_mut().enumerate() {
                let fresh = inner.subscribed(subscription)?;
                if fresh != **last {
                    let before = std::mem::replace(last, Arc::new(fresh));
                    updates.push(Fetched { number, before, now: Arc::clone(last) });
                }
            }
            Ok(())
        })
    }

    fn fetch(&mut self, inner: &mut Rusqlite, subscription: &Subscription) -> Result<Vec<Doc>, Error> {
        inner.subscribed(subscription)
    }
}

/// A result, and the one before it.
pub struct Fetched {
    /// Whose it is.
    pub number: usize,
    /// What the subscriber had.
    pub before: Arc<Vec<Doc>>,
    /// What it has now.
    pub now: Arc<Vec<Doc>>,
}

impl Update<Doc> for Fetched {
    type Copy = Vec<Doc>;
    /// Records that are there now are told by their places.
    type Diff = (Vec<Step>, Arc<Vec<Doc>>);

    fn subscription(&self) -> usize {
        self.number
    }

    fn sum(&self) -> i64 {
        self.now.iter().filter_map(|doc| doc.priority).sum()
    }

    fn copy(&self) -> Vec<Doc> {
        self.now.to_vec()
    }

    fn diff(&self) -> (Vec<Step>, Arc<Vec<Doc>>) {
        (steps(self.before.iter(), self.now.iter()), Arc::clone(&self.now))
    }

    fn records(&self) -> impl Iterator<Item = &Doc> {
        self.now.iter()
    }

    fn copied(copy: &Vec<Doc>) -> impl Iterator<Item = &Doc> {
        copy.iter()
    }

    fn differences((steps, now): (Vec<Step>, Arc<Vec<Doc>>)) -> Vec<Difference<Doc>> {
        let difference = |step| match step {
            Step::Removed(at) => Difference::Removed { at: at as usize },
            Step::Inserted(at) => Difference::Inserted { at: at as usize, record: now[at as usize].clone() },
            Step::Changed(at) => Difference::Changed { at: at as usize, record: now[at as usize].clone() },
        };
        steps.into_iter().map(difference).collect()
    }
}
