//! A snapshot that the live thread reads. Dropping it returns it to the readers, also if a record's own code panics:
//! until then the keeper watches it for expiry.

use crate::session::leased::Leased;
use crate::session::readers::{Hold, Readers};
use crate::types::error::Result;
use crate::types::sync::Arc;
use std::ops::Deref;

/// The snapshot.
pub(super) struct Held {
    readers: Arc<Readers>,
    /// `None` once it is returned.
    leased: Option<Box<Leased>>,
}

impl Held {
    /// Takes a snapshot of the current state.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn begin(readers: &Arc<Readers>) -> Result<Held> {
        // The keeper runs already: the first feed has started it.
        let leased = readers.hold(Hold::Long).0?;
        Ok(Held { readers: Arc::clone(readers), leased: Some(leased) })
    }
}

impl Deref for Held {
    type Target = Leased;

    fn deref(&self) -> &Leased {
        self.leased.as_ref().expect("it goes back when it is dropped")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(leased) = self.leased.take() {
            // Nothing is left open, so the keeper need not watch the connection.
            leased.parked.set(None);
            let _ = self.readers.put(leased);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{ErrorKind, Record, Store};
    use std::panic::resume_unwind;
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_ARMED: AtomicBool = AtomicBool::new(false);

    /// A record that panics when the live thread frees it, once.
    #[derive(Record)]
    struct Bomb {
        #[record(key)]
        id: i64,
    }

    impl Drop for Bomb {
        fn drop(&mut self) {
            let is_live = std::thread::current().name() == Some("touchstone-live");
            if is_live && IS_ARMED.swap(false, Ordering::Relaxed) {
                resume_unwind(Box::new("on purpose"));
            }
        }
    }

    /// Regression: the snapshot counted as held as long as the store was open, and the keeper watched it; and writers
    /// gathered changes for a thread that had ended.
    #[test]
    fn a_record_that_panics_on_the_live_thread_leaves_nothing_held_or_watched() {
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join("bombs.db");
        let (store, other) = (Store::open(&path).expect("it opens"), Store::open(&path).expect("it opens"));
        store.insert(&Bomb { id: 1 }).expect("it is written");
        let feed = store.feed().expect("the threads start");
        let _watched = feed.watch::<Bomb>(&1).expect("it is readable");
        IS_ARMED.store(true, Ordering::Relaxed);
        // The live thread reads the row again, and frees it because it has not changed.
        other.insert(&Bomb { id: 2 }).expect("it is written");
        let told = feed.next().map(drop).expect_err("the thread has panicked");
        assert_eq!(told.kind(), ErrorKind::Refused);
        assert_eq!(store.readers().held(), 0);
        assert!(!store.observed().is_any());
        store.insert(&Bomb { id: 3 }).expect("it is written");
    }
}
