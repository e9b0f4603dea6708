//! Which users are watched: one entry for each, however many streams watch, which ends with the last of them.

use super::{Account, Watch};
use std::collections::{HashMap, hash_map};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The users that are watched, each with what a storage keeps as long as that is so.
pub(super) struct Registry<K> {
    users: Users<K>,
}

type Users<K> = Arc<Mutex<HashMap<u64, Entry<K>>>>;

struct Entry<K> {
    revisions: watch::Sender<u64>,
    streams: usize,
    /// Which entry of the user it is: after an end there may be another one.
    mark: Arc<()>,
    kept: K,
}

/// One stream of a user.
struct Stream<K> {
    user: u64,
    /// That of its entry.
    mark: Arc<()>,
    users: Users<K>,
}

impl<K: Send + 'static> Registry<K> {
    pub(super) fn new() -> Registry<K> {
        Registry { users: Arc::default() }
    }

    /// Adds a stream. Where it is the user's first, `begin` says the last revision and what is kept. No user is told anything
    /// meanwhile, so no revision is missed that comes after the one which `begin` says.
    pub(super) fn join<E>(
        &self,
        account: Account,
        begin: impl FnOnce() -> Result<(u64, K), E>,
    ) -> Result<Watch, E> {
        let user = account.user;
        let mut users = lock(&self.users);
        let entry = match users.entry(user) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(free) => {
                let (revision, kept) = begin()?;
                free.insert(Entry {
                    revisions: watch::Sender::new(revision),
                    streams: 0,
                    mark: Arc::default(),
                    kept,
                })
            }
        };
        entry.streams += 1;
        let revisions = entry.revisions.subscribe();
        let stream = Stream { user, mark: Arc::clone(&entry.mark), users: Arc::clone(&self.users) };
        Ok(Watch { revisions, kept: Arc::new(stream) })
    }

    /// Tells whoever watches a user that its last revision is this one. One that has been told already, or is older, is nothing new.
    pub(super) fn tell(&self, user: u64, revision: u64) {
        if let Some(entry) = lock(&self.users).get(&user) {
            entry.revisions.send_if_modified(|last| {
                let has_risen = revision > *last;
                *last = revision.max(*last);
                has_risen
            });
        }
    }

    /// Ends every stream: nobody is told anything any more.
    pub(super) fn end(&self) {
        let ended = std::mem::take(&mut *lock(&self.users));
        drop(ended);
    }

    /// Those that are watched now.
    pub(super) fn users(&self) -> Vec<u64> {
        lock(&self.users).keys().copied().collect()
    }
}

impl<K> Clone for Registry<K> {
    fn clone(&self) -> Registry<K> {
        Registry { users: Arc::clone(&self.users) }
    }
}

impl<K> Drop for Stream<K> {
    fn drop(&mut self) {
        let mut users = lock(&self.users);
        let known = users.get_mut(&self.user).filter(|entry| Arc::ptr_eq(&entry.mark, &self.mark));
        let Some(entry) = known else { return };
        entry.streams -= 1;
        if entry.streams == 0 {
            let ended = users.remove(&self.user);
            // What is kept may take a lock of the storage when it ends.
            drop(users);
            drop(ended.map(|entry| entry.kept));
        }
    }
}

fn lock<K>(users: &Mutex<HashMap<u64, Entry<K>>>) -> MutexGuard<'_, HashMap<u64, Entry<K>>> {
    users.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says that it has ended.
    struct Kept(Arc<Mutex<u32>>);

    impl Drop for Kept {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }

    #[test]
    fn an_entry_lasts_until_its_last_stream_and_tells_what_is_newer() {
        let (registry, account) = (Registry::new(), Account { user: 7 });
        let ended = Arc::<Mutex<u32>>::default();
        let begin = || Ok::<_, ()>((3, Kept(Arc::clone(&ended))));
        let one = registry.join(account, begin).unwrap();
        let other = registry.join(account, || Err("it is there already")).unwrap();
        assert_eq!((*one.revisions.borrow(), registry.users()), (3, vec![7]));
        registry.tell(7, 5);
        registry.tell(7, 4);
        registry.tell(8, 9);
        assert_eq!((*one.revisions.borrow(), *other.revisions.borrow()), (5, 5));
        drop(one);
        assert_eq!(*ended.lock().unwrap(), 0);
        drop(other);
        assert_eq!((*ended.lock().unwrap(), registry.users()), (1, vec![]));
        assert!(registry.join(account, || Err::<(u64, Kept), _>(())).is_err());
        assert!(registry.users().is_empty(), "one that did not begin is none");
    }

    #[test]
    fn a_stream_of_before_an_end_takes_nothing_from_one_of_after_it() {
        let (registry, account) = (Registry::new(), Account { user: 7 });
        let begin = || Ok::<_, ()>((3, ()));
        let old = [(); 2].map(|()| registry.join(account, begin).unwrap());
        registry.end();
        let new = registry.join(account, begin).unwrap();
        drop(old);
        registry.tell(7, 5);
        assert_eq!((*new.revisions.borrow(), registry.users()), (5, vec![7]));
        drop(new);
        assert!(registry.users().is_empty());
    }
}
