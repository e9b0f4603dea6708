//! A driver with subscriptions that its library does not have: every verb is the inner driver's own, and a strategy
//! stands for what an application, or a layer of one, does to keep its results fresh.

use touchstone_kit::{
    Doc, Driver, Failure, Live, Moments, Open, Operation, Plan, Record, Settings, Store, Subscription,
    Update, Verb, Watched,
};

/// What a strategy is asked for on opening, which most have no notion of.
pub trait Configured: Default + Send + 'static {
    /// A strategy with nothing watched.
    ///
    /// # Errors
    /// When a setting has a value that it does not know.
    fn open(open: &Open) -> Result<Self, Failure> {
        let _ = open;
        Ok(Self::default())
    }

    /// The settings that took effect, beside the driver's own.
    fn settings(&self) -> Settings {
        Settings::new()
    }
}

/// How results are kept fresh beside a driver `I`: the methods of [`Live`], with the driver at hand.
pub trait Strategy<I: Store<Doc>>: Configured {
    /// What a subscriber is given.
    type Update: Update<Doc>;

    /// As [`Live::First`].
    type First;

    /// As [`Live::watch`].
    ///
    /// # Errors
    /// As the library does.
    fn watch(&mut self, inner: &mut I, subscriptions: &[Subscription]) -> Result<(), I::Error>;

    /// As [`Live::subscribe`].
    ///
    /// # Errors
    /// As the library does.
    fn subscribe(&mut self, inner: &mut I, subscription: &Subscription) -> Result<Self::First, I::Error>;

    /// As [`Live::unsubscribe`].
    fn unsubscribe(&mut self);

    /// As [`Live::first_records`].
    fn first_records(first: &Self::First) -> impl Iterator<Item = &Doc>;

    /// As [`Live::change`].
    ///
    /// # Errors
    /// As the library does.
    fn change(&mut self, inner: &mut I, states: &[&Doc], moments: &mut Moments) -> Result<(), I::Error>;

    /// As [`Live::receive`].
    ///
    /// # Errors
    /// As the library does.
    fn receive(&mut self, inner: &mut I, updates: &mut Vec<Self::Update>) -> Result<(), I::Error>;

    /// As [`Live::fetch`].
    ///
    /// # Errors
    /// As the library does.
    fn fetch(&mut self, inner: &mut I, subscription: &Subscription) -> Result<Vec<Doc>, I::Error>;
}

/// A driver and a strategy.
pub struct Watching<I, S> {
    inner: I,
    strategy: S,
}

impl<I: Driver, S: Configured> Driver for Watching<I, S> {
    type Error = I::Error;
    const HOLDS: bool = I::HOLDS;

    fn open(open: &Open) -> Result<Watching<I, S>, I::Error> {
        let strategy = S::open(open)?;
        Ok(Watching { inner: I::open(open)?, strategy })
    }

    fn another(&self, open: &Open) -> Result<Watching<I, S>, I::Error> {
        let strategy = S::open(open)?;
        Ok(Watching { inner: self.inner.another(open)?, strategy })
    }

    fn settings(&mut self) -> Result<Settings, I::Error> {
        let mut settings = self.inner.settings()?;
        settings.extend(self.strategy.settings());
        Ok(settings)
    }

    fn begin_read(&mut self) -> Result<(), I::Error> {
        self.inner.begin_read()
    }

    fn end_read(&mut self) -> Result<(), I::Error> {
        self.inner.end_read()
    }

    fn explain(&mut self) -> Result<(), I::Error> {
        self.inner.explain()
    }

    fn explained(&mut self) -> Result<Plan, I::Error> {
        self.inner.explained()
    }

    fn close(self) -> Result<(), I::Error> {
        drop(self.strategy);
        self.inner.close()
    }
}

impl<I: Store<R>, S: Configured, R: Record> Store<R> for Watching<I, S> {
    const VERBS: &'static [Verb] = I::VERBS;
    const TABLES: bool = I::TABLES;

    fn get(&mut self, key: &R::Key) -> Result<Option<R>, I::Error> {
        self.inner.get(key)
    }

    fn read_all(&mut self) -> Result<Vec<R>, I::Error> {
        self.inner.read_all()
    }

    fn insert_one(&mut self, record: &R) -> Result<(), I::Error> {
        self.inner.insert_one(record)
    }

    fn insert_many(&mut self, records: &[&R]) -> Result<(), I::Error> {
        self.inner.insert_many(records)
    }

    fn find(&mut self, above: i64) -> Result<Vec<R>, I::Error> {
        self.inner.find(above)
    }

    fn update_one(&mut self, state: &R) -> Result<bool, I::Error> {
        self.inner.update_one(state)
    }

    fn update_many(&mut self, states: &[&R]) -> Result<Vec<R>, I::Error> {
        self.inner.update_many(states)
    }

    fn delete_many(&mut self) -> Result<Vec<R>, I::Error> {
        self.inner.delete_many()
    }

    fn mix(&mut self, operations: &[Operation<'_, R>], found: &mut Vec<R>) -> Result<u64, I::Error> {
        self.inner.mix(operations, found)
    }

    fn first(&mut self) -> Result<Option<R>, I::Error> {
        self.inner.first()
    }
}

impl<I: Store<Doc>, S: Strategy<I>> Live<Doc> for Watching<I, S> {
    const WATCHES: &'static [Watched] = &Watched::ALL;
    type Update = S::Update;
    type First = S::First;

    fn watch(&mut self, subscriptions: &[Subscription]) -> Result<(), I::Error> {
        self.strategy.watch(&mut self.inner, subscriptions)
    }

    fn subscribe(&mut self, subscription: &Subscription) -> Result<S::First, I::Error> {
        self.strategy.subscribe(&mut self.inner, subscription)
    }

    fn unsubscribe(&mut self) -> Result<(), I::Error> {
        self.strategy.unsubscribe();
        Ok(())
    }

    fn first_records(first: &S::First) -> impl Iterator<Item = &Doc> {
        S::first_records(first)
    }

    fn change(&mut self, states: &[&Doc], moments: &mut Moments) -> Result<(), I::Error> {
        self.strategy.change(&mut self.inner, states, moments)
    }

    fn receive(&mut self, updates: &mut Vec<S::Update>) -> Result<(), I::Error> {
        self.strategy.receive(&mut self.inner, updates)
    }

    fn fetch(&mut self, subscription: &Subscription) -> Result<Vec<Doc>, I::Error> {
        self.strategy.fetch(&mut self.inner, subscription)
    }
}
