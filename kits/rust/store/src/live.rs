//! The store's own subscriptions: one feed for all, which gives the newest results.

use crate::records::Doc;
use crate::{Driven, Error};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;
use touchstone_kit::{Difference, Live, Moments, Subscription, Update, Watched};
use touchstone_store as store;

/// The feed, what is watched by it, and which subscription is which.
pub struct Feed {
    feed: store::Feed,
    _watched: Vec<store::Subscription<Doc>>,
    /// The one that was begun beside those that are watched.
    begun: Option<store::Subscription<Doc>>,
    numbers: Arc<HashMap<store::SubscriptionId, usize>>,
}

impl Live<Doc> for Driven {
    const WATCHES: &'static [Watched] = &[Watched::Object, Watched::One, Watched::Window];
    type Update = Delivered;
    type First = store::Results<Doc>;

    fn watch(&mut self, subscriptions: &[Subscription]) -> Result<(), Error> {
        self.feed = None;
        let feed = self.store.feed()?;
        let is_object = |subscription: &&Subscription| matches!(subscription, Subscription::Object { .. });
        let watched = if subscriptions.iter().all(|subscription| is_object(&subscription)) {
            let objects = subscriptions.iter().filter_map(|subscription| match subscription {
                Subscription::Object { title } => Some(feed.watch::<Doc>(title.as_str())),
                _ => None,
            });
            objects.collect::<Result<_, _>>()?
        } else {
            feed.watch_all(subscriptions.iter().map(|subscription| asked(feed.query(), subscription)))?
        };
        let numbers = watched.iter().map(store::Subscription::id).zip(0..).collect();
        self.feed = Some(Feed { feed, _watched: watched, begun: None, numbers: Arc::new(numbers) });
        Ok(())
    }

    fn subscribe(&mut self, subscription: &Subscription) -> Result<store::Results<Doc>, Error> {
        if self.feed.is_none() {
            self.watch(&[])?;
        }
        let Some(Feed { feed, begun, .. }) = &mut self.feed else { unreachable!("it was just made") };
        let watched = match subscription {
            Subscription::Object { title } => feed.watch::<Doc>(title.as_str())?,
            _ => asked(feed.query(), subscription).watch()?,
        };
        Ok(begun.insert(watched).take_results())
    }

    fn unsubscribe(&mut self) -> Result<(), Error> {
        if let Some(begun) = self.feed.as_mut().and_then(|feed| feed.begun.take()) {
            begun.cancel();
        }
        Ok(())
    }

    fn first_records(first: &store::Results<Doc>) -> impl Iterator<Item = &Doc> {
        first.iter()
    }

    fn change(&mut self, states: &[&Doc], moments: &mut Moments) -> Result<(), Error> {
        Ok(self.store.write(|transaction| {
            transaction.replace_all(states.iter().copied())?;
            moments.handed_over();
            Ok(())
        })?)
    }

    fn receive(&mut self, updates: &mut Vec<Delivered>) -> Result<(), Error> {
        let Some(Feed { feed, numbers, .. }) = &self.feed else { return Ok(()) };
        self.store.wait_delivered()?;
        while let Some(batch) = feed.try_next()? {
            let delivered =
                |update| Delivered { update, results: OnceCell::new(), numbers: Arc::clone(numbers) };
            updates.extend(batch.into_iter().map(delivered));
        }
        Ok(())
    }

    fn fetch(&mut self, subscription: &Subscription) -> Result<Vec<Doc>, Error> {
        Ok(self.store.read(|snapshot| asked(snapshot.query(), subscription).all())?)
    }
}

/// What a subscription asks, of whichever answers.
fn asked<'s, S>(query: store::Query<'s, Doc, S>, subscription: &Subscription) -> store::Query<'s, Doc, S> {
    match subscription {
        Subscription::Object { title } | Subscription::One { title } => {
            query.filter(|doc| doc.title.eq(title))
        }
        Subscription::Window { below, from, limit } => {
            let window = query
                .filter(|doc| doc.priority.lt(*below).and(doc.priority.ge(*from)))
                .order(|doc| doc.priority.ascending());
            match limit {
                Some(limit) => window.limit(u64::from(*limit)),
                None => window,
            }
        }
    }
}

/// An update, and whose it is.
pub struct Delivered {
    update: store::Update,
    results: OnceCell<store::Results<Doc>>,
    numbers: Arc<HashMap<store::SubscriptionId, usize>>,
}

impl Delivered {
    /// The records, from when they are first asked for.
    fn results(&self) -> &store::Results<Doc> {
        let results = || self.update.results().expect("every subscription is to objects, which can be read");
        self.results.get_or_init(results)
    }
}

impl Update<Doc> for Delivered {
    type Copy = Vec<store::Shared<Doc>>;
    type Diff = Vec<store::Difference<Doc>>;

    fn subscription(&self) -> usize {
        self.numbers.get(&self.update.id()).copied().unwrap_or(usize::MAX)
    }

    fn sum(&self) -> i64 {
        self.results().iter().filter_map(|doc| doc.priority).sum()
    }

    fn copy(&self) -> Vec<store::Shared<Doc>> {
        self.results().to_vec()
    }

    fn diff(&self) -> Vec<store::Difference<Doc>> {
        self.update.diff().expect("every subscription is to objects, which can be read")
    }

    fn records(&self) -> impl Iterator<Item = &Doc> {
        self.results().iter()
    }

    fn copied(copy: &Vec<store::Shared<Doc>>) -> impl Iterator<Item = &Doc> {
        copy.iter().map(|doc| &**doc)
    }

    fn differences(diff: Vec<store::Difference<Doc>>) -> Vec<Difference<Doc>> {
        let difference = |difference| match difference {
            store::Difference::Removed { at } => Difference::Removed { at },
            store::Difference::Inserted { at, record } => {
                Difference::Inserted { at, record: Doc::clone(&record) }
            }
            store::Difference::Changed { at, record, .. } => {
                Difference::Changed { at, record: Doc::clone(&record) }
            }
        };
        diff.into_iter().map(difference).collect()
    }
}
