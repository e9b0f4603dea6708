//! The rounds of live queries: in each, what there is to do is taken out of the inbox and done. The live thread does them,
//! or a thread in its place that would else wait until the live thread has woken up.

use super::link::{Shared, Within, Work};
use super::thread::{Live, panicked};
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
        let Some(work) = self.shared.take_in_place()? else { return self.shared.ask(|_| Ok(())) };
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
        self.shared.end();
        let live = lock(&self.live).take();
        if let Some(live) = live {
            live.end(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{ErrorKind, Record, Store};
    use std::cell::Cell;
    use std::panic::resume_unwind;

    thread_local! {
        static IS_ARMED: Cell<bool> = const { Cell::new(false) };
        static WERE_FREED: Cell<usize> = const { Cell::new(0) };
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
            if IS_ARMED.replace(false) {
                resume_unwind(Box::new("on purpose"));
            }
        }
    }

    /// Waits for updates, which nobody takes, until a round was done by this thread and `is_over` says so.
    fn wait_in_place(store: &Store, is_armed: bool, mut is_over: impl FnMut(crate::Result<()>) -> bool) {
        const TRIES: i64 = 100_000;
        for number in 0..TRIES {
            let written = store.write(|transaction| {
                transaction.sql(|sql| sql.execute("update bomb set number = ?1", [number]))
            });
            written.expect("it is written");
            WERE_FREED.set(0);
            IS_ARMED.set(is_armed);
            let waited = store.wait_delivered();
            IS_ARMED.set(false);
            if is_over(waited) {
                return;
            }
        }
        panic!("the live thread was always quicker");
    }

    #[test]
    fn whoever_waits_does_the_round_while_the_live_thread_wakes_up() {
        let directory = tempfile::tempdir().expect("there is room");
        let store = Store::open(directory.path().join("bombs.db")).expect("it opens");
        store.insert(&Bomb { id: 1, number: 0 }).expect("it is written");
        let feed = store.feed().expect("the threads start");
        let all = feed.query::<Bomb>().watch().expect("it is readable");
        let mut rounds = 0;
        wait_in_place(&store, false, |waited| {
            waited.expect("nothing is armed");
            rounds += usize::from(WERE_FREED.get() > 0);
            rounds == 10
        });
        let batch = feed.try_next().expect("the feed is well").expect("all of it was told");
        assert!(batch.get(all.id()).is_some());
    }

    /// The panic is told as one of the live thread is, and is not the waiting thread's own.
    #[test]
    fn a_record_that_panics_while_its_thread_waits_ends_the_feeds() {
        let directory = tempfile::tempdir().expect("there is room");
        let store = Store::open(directory.path().join("bombs.db")).expect("it opens");
        store.insert(&Bomb { id: 1, number: 0 }).expect("it is written");
        let feed = store.feed().expect("the threads start");
        let _all = feed.query::<Bomb>().watch().expect("it is readable");
        wait_in_place(&store, true, |waited| match waited {
            Ok(()) => false,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Refused);
                true
            }
        });
        let told = feed.next().map(drop).expect_err("a round has panicked");
        assert_eq!(told.kind(), ErrorKind::Refused);
        assert_eq!(store.readers().held(), 0);
        assert!(!store.observed().is_any());
        assert_eq!(store.wait_delivered().map_err(|error| error.kind()), Err(ErrorKind::Refused));
        store.insert(&Bomb { id: 3, number: 0 }).expect("it is written");
    }
}
