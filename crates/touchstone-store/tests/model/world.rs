//! A store and its model, side by side: what is done to one is done to the other, and every way to read must agree.

use super::change::{self, Change, Outcome, Rows};
use super::records::{Blob, Every, Mark, Maybe, Numbered, Pair, Plain, Sample};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use touchstone_store::{Error, Reading, Result, Snapshot, Store, Transaction};

/// The names of collections that are used.
pub const COLLECTIONS: [&str; 3] = ["", "inbox", "Inbox"];

/// What one type's records are: those of its own, and by collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept<T: Sample> {
    own: Rows<T>,
    named: BTreeMap<&'static str, Rows<T>>,
}

impl<T: Sample> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { own: BTreeMap::new(), named: BTreeMap::new() }
    }
}

impl<T: Sample> Kept<T> {
    fn rows(&mut self, collection: Option<&'static str>) -> &mut Rows<T> {
        match collection {
            None => &mut self.own,
            Some(name) => self.named.entry(name).or_default(),
        }
    }
}

/// A change and the collection it is made in.
#[derive(Clone, Debug)]
pub struct Act<T> {
    collection: Option<&'static str>,
    change: Change<T>,
}

fn act<T: Sample>() -> BoxedStrategy<Act<T>> {
    let collection =
        prop_oneof![3 => Just(None), 1 => prop::sample::select(COLLECTIONS.to_vec()).prop_map(Some)];
    (collection, change::any_change::<T>())
        .prop_map(|(collection, change)| Act { collection, change })
        .boxed()
}

macro_rules! types {
    ($($field:ident: $type:ident),*) => {
        /// What the store must hold.
        #[derive(Clone, Debug, Default)]
        pub struct Model {
            $($field: Kept<$type>,)*
        }

        /// A change of any type's records.
        #[derive(Clone, Debug)]
        pub enum AnyAct {
            $($type(Act<$type>),)*
        }

        /// Any change of any type's records.
        pub fn any_act() -> BoxedStrategy<AnyAct> {
            prop_oneof![$(act::<$type>().prop_map(AnyAct::$type).boxed()),*].boxed()
        }

        impl AnyAct {
            /// Makes the change within a transaction and in the model, and compares; a failure is no end.
            pub fn within(&self, transaction: &mut Transaction<'_>, model: &mut Model) {
                match self {
                    $(AnyAct::$type(act) => act.within(transaction, &mut model.$field),)*
                }
            }

            /// Makes the change alone, and compares.
            pub fn alone(&self, store: &Store, model: &mut Model) {
                match self {
                    $(AnyAct::$type(act) => act.alone(store, &mut model.$field),)*
                }
            }

            /// Makes the change, which must fail.
            pub fn fails(&self, store: &Store) -> Option<Error> {
                match self {
                    $(AnyAct::$type(act) => act.change.make_alone(store, act.collection).err(),)*
                }
            }
        }

        impl Model {
            /// Whether the snapshot sees this and nothing else.
            pub fn is_seen(&self, snapshot: &Snapshot) -> Result<()> {
                $(seen(&self.$field, snapshot)?;)*
                Ok(())
            }
        }
    };
}

types!(plain: Plain, every: Every, maybe: Maybe, numbered: Numbered, pair: Pair, blob: Blob, mark: Mark);

impl<T: Sample> Act<T>
where
    for<'a> T::View<'a>: Debug,
{
    fn within(&self, transaction: &mut Transaction<'_>, kept: &mut Kept<T>) {
        let made = self.change.make(transaction, self.collection);
        let expected = self.change.apply(kept.rows(self.collection));
        agree(&made, expected, self);
        let rows = kept.rows(self.collection);
        let records = match self.collection {
            None => transaction.of::<T>(),
            Some(name) => transaction.collection::<T>(name).expect("the collection is there"),
        };
        let all = records.all().expect("records are read");
        alike(&sorted(all), &rows.values().cloned().collect::<Vec<_>>());
        assert_eq!(records.count().expect("records are counted"), rows.len() as u64);
        if let Some((key, record)) = rows.iter().next_back() {
            assert_eq!(records.get(key).expect("a record is read").as_ref(), Some(record));
        }
        let met = records.query().filter(|columns| T::condition(columns, 2)).count();
        let expected = rows.values().filter(|record| record.meets(2)).count();
        assert_eq!(met.expect("records are counted"), expected as u64);
    }

    fn alone(&self, store: &Store, kept: &mut Kept<T>) {
        let made = self.change.make_alone(store, self.collection);
        let expected = self.change.apply(kept.rows(self.collection));
        agree(&made, expected, self);
    }
}

fn agree(made: &Result<u64>, expected: Outcome, act: &impl Debug) {
    let made = made.as_ref().map(|count| *count).map_err(Error::kind);
    assert_eq!(made, expected, "the outcome of {act:?}");
}

/// That both are the same; where they are not, the message is shorter than all of them.
fn alike<T: PartialEq + Debug>(found: &[T], expected: &[T]) {
    let differs = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let lengths = (found.len(), expected.len());
    if let Some(at) = differs.or((lengths.0 != lengths.1).then(|| lengths.0.min(lengths.1))) {
        let show = |all: &[T]| format!("{:.300}", format!("{:?}", all.get(at)));
        panic!("{lengths:?} rows, at {at} found {} instead of {}", show(found), show(expected));
    }
}

fn sorted<T: Sample>(mut records: Vec<T>) -> Vec<T> {
    records.sort_by_key(T::key);
    records
}

fn seen<T: Sample>(kept: &Kept<T>, snapshot: &Snapshot) -> Result<()>
where
    for<'a> T::View<'a>: Debug,
{
    same(&kept.own, &snapshot.of::<T>())?;
    for name in COLLECTIONS {
        let empty = Rows::<T>::new();
        same(kept.named.get(name).unwrap_or(&empty), &snapshot.collection::<T>(name)?)?;
    }
    Ok(())
}

/// Whether every way to read gives these rows.
fn same<T: Sample>(rows: &Rows<T>, reading: &Reading<'_, T>) -> Result<()>
where
    for<'a> T::View<'a>: Debug,
{
    let expected: Vec<T> = rows.values().cloned().collect();
    let all = reading.all()?;
    let mut views = Vec::new();
    reading.each_view(|view| {
        // A view is called as its record is, with one word more.
        views.push(format!("{view:?}").replacen("View", "", 1));
        Ok(true)
    })?;
    alike(&views, &all.iter().map(|record| format!("{record:?}")).collect::<Vec<_>>());
    alike(&reading.query().rows()?.collect::<Result<Vec<T>>>()?, &all);
    // Those that are not numbered come in the order of their key.
    alike(&if T::SHAPE.numbered { sorted(all) } else { all }, &expected);
    assert_eq!(reading.count()?, rows.len() as u64);
    for (key, record) in rows {
        assert_eq!(reading.get(key)?.as_ref(), Some(record));
    }
    for parameter in 0..2 {
        let query = || reading.query().filter(|columns| T::condition(columns, parameter));
        let met: Vec<T> = rows.values().filter(|record| record.meets(parameter)).cloned().collect();
        assert_eq!(query().count()?, met.len() as u64);
        alike(&sorted(query().all()?), &met);
    }
    Ok(())
}
