//! One type behind an interface that is the same for all: to read it, to change it, to watch it.

use super::ask::{Ask, Question, Target};
use super::record::{Meta, Sample};
use super::value::{Row, Value, by_key};
use std::marker::PhantomData;
use touchstone_store::{
    CountSubscription, Difference, Feed, Result, Results, Snapshot, Store, Subscription, SubscriptionId,
    Transaction, Update,
};

/// What is done to one type's records by the store's own calls.
#[derive(Clone, Debug)]
pub enum Change {
    Insert(Row),
    Put(Row),
    Replace(Row),
    Remove(Row),
    /// Everything but the key becomes another record's.
    Update(Row, Row),
    InsertAll(Vec<Row>),
    PutAll(Vec<Row>),
    ReplaceAll(Vec<Row>),
    RemoveWhere(Ask),
    Clear,
}

pub trait Kit: Send + Sync {
    fn meta(&self) -> &Meta;
    /// All records, in the order of their keys.
    fn read(&self, snapshot: &Snapshot) -> Result<Vec<Row>>;
    fn ask(&self, snapshot: &Snapshot, question: &Question) -> Result<Vec<Row>>;
    fn count(&self, snapshot: &Snapshot, question: &Question) -> Result<u64>;
    fn make(&self, transaction: &mut Transaction<'_>, change: &Change) -> Result<()>;
    fn make_alone(&self, store: &Store, change: &Change) -> Result<()>;
    fn watch(&self, feed: &Feed, target: &Target) -> Result<Box<dyn Watch>>;
    fn watch_all(&self, feed: &Feed, questions: &[&Question]) -> Result<Vec<Box<dyn Watch>>>;
}

/// A subscription whose type is not known.
pub trait Watch: Send {
    fn id(&self) -> SubscriptionId;
    fn initial(&self) -> Vec<Row>;
    fn told(&self, update: &Update) -> Option<Told>;
    fn cancel(self: Box<Self>);
}

/// What an update says, all of it.
pub struct Told {
    pub results: Vec<Row>,
    pub before: Vec<Row>,
    /// What the diff makes of the rows before.
    pub patched: Vec<Row>,
    pub removed: Vec<Row>,
    pub inserted: Vec<Row>,
    pub count: Option<u64>,
}

pub struct KitOf<T> {
    meta: Meta,
    marker: PhantomData<T>,
}

impl<T: Sample> KitOf<T> {
    pub fn boxed() -> Box<dyn Kit> {
        Box::new(KitOf::<T> { meta: Meta::of::<T>(), marker: PhantomData })
    }
}

fn records<T: Sample>(rows: &[Row]) -> Vec<T> {
    rows.iter().map(|row| T::of(row)).collect()
}

fn rows<T: Sample>(results: &Results<T>) -> Vec<Row> {
    let rows: Vec<Row> = results.iter().map(Sample::row).collect();
    assert_eq!(rows.len(), results.len());
    rows
}

impl<T: Sample> Kit for KitOf<T> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&self, snapshot: &Snapshot) -> Result<Vec<Row>> {
        let mut rows: Vec<Row> = snapshot.of::<T>().all()?.iter().map(Sample::row).collect();
        rows.sort_by(|left, right| by_key(self.meta.keys, left, right));
        Ok(rows)
    }

    fn ask(&self, snapshot: &Snapshot, question: &Question) -> Result<Vec<Row>> {
        Ok(question.of(snapshot.query::<T>()).all()?.iter().map(Sample::row).collect())
    }

    fn count(&self, snapshot: &Snapshot, question: &Question) -> Result<u64> {
        question.of(snapshot.query::<T>()).count()
    }

    fn make(&self, transaction: &mut Transaction<'_>, change: &Change) -> Result<()> {
        let mut writing = transaction.of::<T>();
        match change {
            Change::Insert(row) => writing.insert(&T::of(row)),
            Change::Put(row) => writing.put(&T::of(row)),
            Change::Replace(row) => writing.replace(&T::of(row)).map(drop),
            Change::Remove(row) => writing.remove(&T::of(row).key()).map(drop),
            Change::Update(row, other) => {
                let mut becomes = other.to_vec();
                becomes[..self.meta.keys].clone_from_slice(&row[..self.meta.keys]);
                writing.update(&T::of(row).key(), |record| *record = T::of(&becomes)).map(drop)
            }
            Change::InsertAll(rows) => writing.insert_all(&records::<T>(rows)).map(drop),
            Change::PutAll(rows) => writing.put_all(&records::<T>(rows)).map(drop),
            Change::ReplaceAll(rows) => writing.replace_all(&records::<T>(rows)).map(drop),
            Change::RemoveWhere(ask) => writing.remove_where(|columns| ask.condition(columns)).map(drop),
            Change::Clear => writing.clear().map(drop),
        }
    }

    fn make_alone(&self, store: &Store, change: &Change) -> Result<()> {
        match change {
            Change::Insert(row) => store.insert(&T::of(row)),
            Change::Put(row) => store.put(&T::of(row)),
            Change::Replace(row) => store.replace(&T::of(row)).map(drop),
            Change::Remove(row) => store.remove::<T>(&T::of(row).key()).map(drop),
            Change::InsertAll(rows) => store.insert_all(&records::<T>(rows)).map(drop),
            Change::PutAll(rows) => store.put_all(&records::<T>(rows)).map(drop),
            change => store.write(|transaction| self.make(transaction, change)),
        }
    }

    fn watch(&self, feed: &Feed, target: &Target) -> Result<Box<dyn Watch>> {
        Ok(match target {
            Target::Query(question) => Box::new(question.of(feed.query::<T>()).watch()?),
            Target::Count(question) => Box::new(question.of(feed.query::<T>()).watch_count()?),
            Target::Key(key) => {
                let mut row: Vec<Value> = self.meta.columns.iter().map(|_| Value::Null).collect();
                row[..key.len()].clone_from_slice(key);
                Box::new(feed.watch::<T>(&self.key(&row))?)
            }
        })
    }

    fn watch_all(&self, feed: &Feed, questions: &[&Question]) -> Result<Vec<Box<dyn Watch>>> {
        let queries = questions.iter().map(|question| question.of(feed.query::<T>()));
        let subscriptions = feed.watch_all(queries)?;
        Ok(subscriptions
            .into_iter()
            .map(|subscription| -> Box<dyn Watch> { Box::new(subscription) })
            .collect())
    }
}

impl<T: Sample> KitOf<T> {
    /// The key of a record of which nothing else is known.
    fn key(&self, row: &[Value]) -> T::Key {
        let filled: Vec<Value> = row
            .iter()
            .zip(&self.meta.columns)
            .enumerate()
            .map(
                |(at, (value, column))| {
                    if at < self.meta.keys { value.clone() } else { column.domain.least() }
                },
            )
            .collect();
        T::of(&filled).key()
    }
}

impl<T: Sample> Watch for Subscription<T> {
    fn id(&self) -> SubscriptionId {
        Subscription::id(self)
    }

    fn initial(&self) -> Vec<Row> {
        rows(self.results())
    }

    fn told(&self, update: &Update) -> Option<Told> {
        assert!(update.count().is_err() && update.sql_rows().is_err(), "records are no number");
        let (results, before, delta) =
            (update.results::<T>().ok()?, update.before::<T>().ok()?, update.delta::<T>().ok()?);
        let (results, before) = (rows(&results), rows(&before));
        let patched = patched(&before, &update.diff::<T>().ok()?, results.len());
        let removed = delta.removed().map(Sample::row).collect();
        let inserted = delta.inserted().map(Sample::row).collect();
        Some(Told { results, before, patched, removed, inserted, count: None })
    }

    fn cancel(self: Box<Self>) {
        Subscription::cancel(*self);
    }
}

impl Watch for CountSubscription {
    fn id(&self) -> SubscriptionId {
        CountSubscription::id(self)
    }

    /// Of what is counted only the number matters.
    fn initial(&self) -> Vec<Row> {
        vec![Row::default(); usize::try_from(self.count()).expect("there are few")]
    }

    fn told(&self, update: &Update) -> Option<Told> {
        let none = Vec::new;
        Some(Told {
            results: none(),
            before: none(),
            patched: none(),
            removed: none(),
            inserted: none(),
            count: Some(update.count().ok()?),
        })
    }

    fn cancel(self: Box<Self>) {
        CountSubscription::cancel(*self);
    }
}

/// Does what the differences say: places of what goes are among the older rows, of what comes among the newer ones.
fn patched<T: Sample>(before: &[Row], differences: &[Difference<T>], len: usize) -> Vec<Row> {
    let mut kept: Vec<Option<&Row>> = before.iter().map(Some).collect();
    let mut patched: Vec<Option<Row>> = vec![None; len];
    let mut last = None;
    for difference in differences {
        let (from, to) = match difference {
            Difference::Removed { at } => (Some(*at), None),
            Difference::Inserted { at, record } => (None, Some((*at, record))),
            Difference::Changed { old_at, at, record } => (Some(*old_at), Some((*at, record))),
        };
        if let Some(at) = from {
            assert!(kept[at].take().is_some(), "a place is left once");
        }
        if let Some((at, record)) = to {
            assert!(last < Some(at), "what comes does so in order");
            last = Some(at);
            assert!(patched[at].replace(record.row()).is_none(), "a place is taken once");
        }
    }
    let mut stay = kept.into_iter().flatten();
    for place in patched.iter_mut().filter(|place| place.is_none()) {
        *place = stay.next().cloned();
    }
    assert!(stay.next().is_none(), "what stays has a place");
    patched.into_iter().map(|place| place.expect("every place has a record")).collect()
}
