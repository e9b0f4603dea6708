//! The canary that subscribers should not trust: `refetch`, but its updates are too few, too many, given twice, those of
//! the transaction before, or in the wrong order; or its copies and differences are not those of its results. First
//! results lack a record, have one twice, or are in the wrong order as well. One also
//! answers fresh fetches with what it gave, so that only the lab can tell. With no mischief it is honest.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "refetch.rs"]
mod refetch_driver;

use drivers::difference::Step;
use drivers::sqlite::{self, Error};
use drivers::watching::Watching;
use refetch_driver::rusqlite_driver::Rusqlite;
use refetch_driver::{Fetched, Refetch};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{
    Difference, Doc, Driver, Kit, Live, Moments, Open, Setting, Settings, Store, Subscription, Update, Verb,
    Watched,
};

fn main() -> ExitCode {
    let about = sqlite::about("canary-deliver", env!("CARGO_PKG_VERSION"));
    Kit::<Untrue>::new(about).live::<Doc>().main()
}

const MISCHIEF: &str = "mischief";
const KINDS: [&str; 9] = ["none", "few", "many", "twice", "stale", "order", "copy", "diff", "conspire"];

struct Untrue {
    inner: Watching<Rusqlite, Refetch>,
    mischief: &'static str,
    subscriptions: Vec<Subscription>,
    /// What was given last, by subscription.
    given: BTreeMap<usize, Arc<Vec<Doc>>>,
}

impl Driver for Untrue {
    type Error = Error;

    fn open(open: &Open) -> Result<Untrue, Error> {
        Ok(Untrue {
            inner: Watching::open(open)?,
            mischief: open.word(MISCHIEF, &KINDS)?.unwrap_or("none"),
            subscriptions: Vec::new(),
            given: BTreeMap::new(),
        })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        let mut settings = self.inner.settings()?;
        settings.insert(MISCHIEF.into(), Setting::from(self.mischief));
        Ok(settings)
    }

    fn close(self) -> Result<(), Error> {
        self.inner.close()
    }
}

impl Store<Doc> for Untrue {
    const VERBS: &'static [Verb] = &[Verb::ReadAll, Verb::InsertMany];

    fn read_all(&mut self) -> Result<Vec<Doc>, Error> {
        self.inner.read_all()
    }

    fn insert_many(&mut self, records: &[&Doc]) -> Result<(), Error> {
        self.inner.insert_many(records)
    }
}

impl Live<Doc> for Untrue {
    const WATCHES: &'static [Watched] = &Watched::ALL;
    type Update = Bent;
    type First = Vec<Doc>;

    fn watch(&mut self, subscriptions: &[Subscription]) -> Result<(), Error> {
        self.subscriptions = subscriptions.to_vec();
        self.given.clear();
        self.inner.watch(subscriptions)
    }

    fn subscribe(&mut self, subscription: &Subscription) -> Result<Vec<Doc>, Error> {
        let mut first = self.inner.subscribe(subscription)?.to_vec();
        match self.mischief {
            "few" => drop(first.pop()),
            "twice" => first.extend_from_within(..1),
            "order" => first.reverse(),
            _ => {}
        }
        Ok(first)
    }

    fn unsubscribe(&mut self) -> Result<(), Error> {
        self.inner.unsubscribe()
    }

    fn first_records(first: &Vec<Doc>) -> impl Iterator<Item = &Doc> {
        first.iter()
    }

    fn change(&mut self, states: &[&Doc], moments: &mut Moments) -> Result<(), Error> {
        self.inner.change(states, moments)
    }

    fn receive(&mut self, updates: &mut Vec<Bent>) -> Result<(), Error> {
        let mut fetched = Vec::new();
        self.inner.receive(&mut fetched)?;
        match self.mischief {
            "few" => drop(fetched.pop()),
            "many" => fetched.extend(self.unaffected(&fetched)?),
            "twice" => {
                let again = fetched.first().map(|first| given(first.number, &first.before, &first.now));
                fetched.extend(again);
            }
            "stale" | "conspire" => {
                fetched.iter_mut().for_each(|update| update.now = Arc::clone(&update.before));
            }
            "order" => fetched.iter_mut().for_each(|update| Arc::make_mut(&mut update.now).reverse()),
            _ => {}
        }
        self.given.extend(fetched.iter().map(|update| (update.number, Arc::clone(&update.now))));
        updates.extend(fetched.into_iter().map(|inner| Bent { inner, mischief: self.mischief }));
        Ok(())
    }

    fn fetch(&mut self, subscription: &Subscription) -> Result<Vec<Doc>, Error> {
        let number = self.subscriptions.iter().position(|known| known == subscription);
        let given = number.and_then(|number| self.given.get(&number));
        match given.filter(|_| self.mischief == "conspire") {
            Some(given) => Ok(given.to_vec()),
            None => self.inner.fetch(subscription),
        }
    }
}

impl Untrue {
    /// An update for the first subscription that is owed none, with the result that it has.
    fn unaffected(&mut self, fetched: &[Fetched]) -> Result<Option<Fetched>, Error> {
        let affected: BTreeSet<usize> = fetched.iter().map(|update| update.number).collect();
        let Some(number) = (0..self.subscriptions.len()).find(|number| !affected.contains(number)) else {
            return Ok(None);
        };
        let now = Arc::new(self.inner.fetch(&self.subscriptions[number])?);
        Ok(Some(given(number, &now, &now)))
    }
}

fn given(number: usize, before: &Arc<Vec<Doc>>, now: &Arc<Vec<Doc>>) -> Fetched {
    Fetched { number, before: Arc::clone(before), now: Arc::clone(now) }
}

/// An update of which copy or differences may not be true.
struct Bent {
    inner: Fetched,
    mischief: &'static str,
}

impl Update<Doc> for Bent {
    type Copy = Vec<Doc>;
    type Diff = (Vec<Step>, Arc<Vec<Doc>>);

    fn subscription(&self) -> usize {
        self.inner.subscription()
    }

    fn sum(&self) -> i64 {
        self.inner.sum()
    }

    fn copy(&self) -> Vec<Doc> {
        let mut copy = self.inner.copy();
        if self.mischief == "copy" {
            copy.pop();
        }
        copy
    }

    fn diff(&self) -> (Vec<Step>, Arc<Vec<Doc>>) {
        let (mut steps, now) = self.inner.diff();
        if self.mischief == "diff" {
            steps.pop();
        }
        (steps, now)
    }

    fn records(&self) -> impl Iterator<Item = &Doc> {
        self.inner.records()
    }

    fn copied(copy: &Vec<Doc>) -> impl Iterator<Item = &Doc> {
        Fetched::copied(copy)
    }

    fn differences(diff: (Vec<Step>, Arc<Vec<Doc>>)) -> Vec<Difference<Doc>> {
        Fetched::differences(diff)
    }
}
