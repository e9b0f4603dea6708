//! The rounds of live queries: each takes all work from the inbox and does it. The live thread does rounds. So does, in
//! its place, a thread that would otherwise wait until the live thread has woken up.

use super::link::{Shared, Within, Work};
use super::thread::{Live, panicked};
use crate::types::depth;
use crate::types::error::{Error, Result};
use crate::types::sync::{Arc, Mutex, ROUND, lock};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The rounds, and the state that they work on. The inbox ensures that one thread at a time does a round.
pub(crate) struct Rounds {
    shared: Arc<Shared>,
    /// `None` once the rounds have ended.
    live: Mutex<Option<Live>, ROUND>,
}

impl Rounds {
    pub(crate) fn new(shared: &Arc<Shared>, live: Live) -> Rounds {
        Rounds { shared: Arc::clone(shared), live: Mutex::new(Some(live)) }
    }

    /// Does rounds, as the live thread, until the store is closed.
    pub(crate) fn run(&self) {
        let _within = Within::of(&self.shared);
        while let Some(work) = self.shared.wait() {
            if self.round(work).is_err() {
                return;
            }
        }
        self.end(None);
    }

    /// Does all present work: in the live thread's place, if that is idle. Waking the live thread, and then this one,
    /// would take longer than the work.
    ///
    /// # Errors
    /// If the store is closed; if this is the live thread, or one that it waits for; if a record's own code panics.
    pub(crate) fn finish(&self) -> Result<()> {
        self.shared.check_can_wait()?;
        let taken = if depth::is_within() { None } else { self.shared.take_in_place()? };
        let Some(work) = taken else { return self.shared.ask(|_| Ok(())) };
        let _within = Within::of(&self.shared);
        self.round(work)
    }

    /// # Errors
    /// If a record's own code panics: this was the last round.
    fn round(&self, work: Work) -> Result<()> {
        let worked = catch_unwind(AssertUnwindSafe(|| {
            if let Some(live) = lock(&self.live).as_mut() {
                live.round(work);
            }
        }));
        if worked.is_err() {
            self.end(Some(&panicked()));
            return Err(panicked());
        }
        self.shared.leave();
        Ok(())
    }

    fn end(&self, error: Option<&Error>) {
        // Taken before other threads learn of the end: the thread that takes it determines how the feeds end.
        let live = lock(&self.live).take();
        let left = self.shared.end();
        // Freeing a record runs its own code, which may panic again: feeds must end all the same, and the caller go on.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if let Some(live) = live {
                live.end(error);
            }
        }));
        let _ = catch_unwind(AssertUnwindSafe(|| drop(left)));
    }
}

#[cfg(test)]
mod tests {
    use crate::{ErrorKind, Feed, Record, Store};
    use std::cell::{Cell, RefCell};
    use std::panic::resume_unwind;

    thread_local! {
        /// The number of records that still panic when this thread frees them.
        static PANICS: Cell<u32> = const { Cell::new(0) };
        static WERE_FREED: Cell<usize> = const { Cell::new(0) };
        /// Runs before the first of them panics.
        static BEFORE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    }

    /// A record that counts its drops, and panics in them if the thread is armed.
    #[derive(Record)]
    struct Bomb {
        #[record(key)]
        id: i64,
        number: i64,
    }

    impl Drop for Bomb {
        fn drop(&mut self) {
            WERE_FREED.set(WERE_FREED.get() + 1);
            if PANICS.get() > 0 && !std::thread::panicking() {
                PANICS.set(PANICS.get() - 1);
                if let Some(before) = BEFORE.take() {
                    before();
                }
                resume_unwind(Box::new("on purpose"));
            }
        }
    }

    fn update(store: &Store, number: i64) {
        let updated = store
            .write(|transaction| transaction.sql(|sql| sql.execute("update bomb set number = ?1", [number])));
        updated.expect("it is written");
    }

    /// A store with a watched bomb.
    fn watched() -> (tempfile::TempDir, Store, Feed, crate::Subscription<Bomb>) {
        let directory = tempfile::tempdir().expect("there is room");
        let store = Store::open(directory.path().join("bombs.db")).expect("it opens");
        store.insert(&Bomb { id: 1, number: 0 }).expect("it is written");
        let feed = store.feed().expect("the threads start");
        let all = feed.query::<Bomb>().watch().expect("it is readable");
        (directory, store, feed, all)
    }

    /// Writes and waits for delivery, with no receiver, until this thread has done a round and `is_over` returns true.
    fn wait_in_place(store: &Store, panics: u32, mut is_over: impl FnMut(crate::Result<()>) -> bool) {
        const TRIES: i64 = 100_000;
        for number in 1..TRIES {
            update(store, number);
            WERE_FREED.set(0);
            PANICS.set(panics);
            let waited = store.wait_delivered();
            PANICS.set(0);
            if is_over(waited) {
                return;
            }
        }
        panic!("the live thread was always quicker");
    }

    #[test]
    fn whoever_waits_does_the_round_while_the_live_thread_wakes_up() {
        let (_directory, store, feed, all) = watched();
        let mut rounds = 0;
        wait_in_place(&store, 0, |waited| {
            waited.expect("nothing is armed");
            rounds += usize::from(WERE_FREED.get() > 0);
            rounds == 10
        });
        let batch = feed.try_next().expect("the feed is well").expect("all of it was told");
        assert!(batch.get(all.id()).is_some());
    }

    /// A round of this thread panics, `panics` times, after `before` has run: then the feeds have ended with an error.
    fn ends_the_feeds(panics: u32, before: impl Fn(&Store)) {
        let (_directory, store, feed, _all) = watched();
        before(&store);
        wait_in_place(&store, panics, |waited| match waited {
            Ok(()) => false,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Refused);
                true
            }
        });
        // Earlier batches are still there.
        let end = loop {
            match feed.next() {
                Ok(Some(_)) => {}
                end => break end.map(drop),
            }
        };
        assert_eq!(end.map_err(|error| error.kind()), Err(ErrorKind::Refused));
        assert_eq!(store.readers().held(), 0);
        assert!(!store.observed().is_any());
        assert_eq!(store.wait_delivered().map_err(|error| error.kind()), Err(ErrorKind::Refused));
        store.insert(&Bomb { id: 3, number: 0 }).expect("it is written");
    }

    /// Regression: the live thread was often first to end the feeds, and did so without an error. The panic must be
    /// reported like one on the live thread, and must not unwind the waiting thread.
    #[test]
    fn a_record_that_panics_while_its_thread_waits_ends_the_feeds() {
        (0..20).for_each(|_| ends_the_feeds(1, |_| {}));
    }

    /// Regression: records of later commits are freed with the rest, and their panic left through `wait_delivered`.
    #[test]
    fn records_that_are_left_may_panic_as_well() {
        let commit_meanwhile = |store: &Store| {
            let store = store.clone();
            BEFORE.set(Some(Box::new(move || {
                let writer =
                    std::thread::spawn(move || (1000..1100).for_each(|number| update(&store, number)));
                writer.join().expect("it does not panic");
            })));
        };
        (0..20).for_each(|_| ends_the_feeds(u32::MAX, commit_meanwhile));
    }
}
