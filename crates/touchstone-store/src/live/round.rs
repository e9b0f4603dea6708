//! The rounds of live queries: in each, what there is to do is taken out of the inbox and done. The live thread does them,
//! or a thread in its place that would else wait until the live thread has woken up.

use super::link::{Shared, Within, Work};
use super::thread::{Live, panicked};
use crate::depth;
use crate::error::{Error, Result};
use crate::sync::{Arc, Mutex, lock};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the rounds are done with. One thread at a time has the round: the inbox says whether one does.
pub(crate) struct Rounds {
    shared: Arc<Shared>,
    /// None once the rounds have ended.
    live: Mutex<Option<Live>>,
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

    /// Does everything that there is to do now: in the place of the live thread, where that does nothing. Its waking up, and
    /// that of whoever waits for it, would take longer than the work.
    ///
    /// # Errors
    /// When the store is closed, or this thread is the live one, or one that it waits for; when a record's own code panics.
    pub(crate) fn finish(&self) -> Result<()> {
        self.shared.check_can_wait()?;
        let taken = if depth::is_within() { None } else { self.shared.take_in_place()? };
        let Some(work) = taken else { return self.shared.ask(|_| Ok(())) };
        let _within = Within::of(&self.shared);
        self.round(work)
    }

    /// # Errors
    /// When a record's own code panics: it was the last round.
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
        // Before the others hear of it: who takes it says how the feeds end.
        let live = lock(&self.live).take();
        let left = self.shared.end();
        // Freeing records is their own code, which may panic again: no feed waits for it, and nobody else is hit by it.
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
        /// How many records panic yet when this thread frees them.
        static PANICS: Cell<u32> = const { Cell::new(0) };
        static WERE_FREED: Cell<usize> = const { Cell::new(0) };
        /// What is done before the first of them does.
        static BEFORE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    }

    /// A record that counts where it is freed, and panics there if the thread is armed.
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

    /// A store with a bomb that is watched.
    fn watched() -> (tempfile::TempDir, Store, Feed, crate::Subscription<Bomb>) {
        let directory = tempfile::tempdir().expect("there is room");
        let store = Store::open(directory.path().join("bombs.db")).expect("it opens");
        store.insert(&Bomb { id: 1, number: 0 }).expect("it is written");
        let feed = store.feed().expect("the threads start");
        let all = feed.query::<Bomb>().watch().expect("it is readable");
        (directory, store, feed, all)
    }

    /// Waits for updates, which nobody takes, until a round was done by this thread and `is_over` says so.
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

    /// A round of this thread panics, so many times, after something was done; then the feeds have ended with an error.
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
        // What was told before is there still.
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

    /// The panic is told as one of the live thread is, and is not the waiting thread's own. The live thread was often first to end
    /// the feeds, and then without an error.
    #[test]
    fn a_record_that_panics_while_its_thread_waits_ends_the_feeds() {
        (0..20).for_each(|_| ends_the_feeds(1, |_| {}));
    }

    /// What was committed meanwhile is freed with the rest, and its panic left through `wait_delivered`.
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
