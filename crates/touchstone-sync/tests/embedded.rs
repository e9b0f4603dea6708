//! The embedded storage keeps the rules of every storage, and its own.

#[macro_use]
mod rules;

use proptest::test_runner::{Config, TestRunner};
use rules::model::{asked, does_as_the_model};
use rules::{Shared, device, follow, set, stored};
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use touchstone_store::{Durability, Options, Store};
use touchstone_sync::storage::Error;
use touchstone_sync::storage::embedded::Embedded;

fn open(path: &Path, durability: Durability) -> Shared {
    let store = Options::new().durability(durability).open(path).unwrap();
    Arc::new(Embedded::new(store).unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

/// A rule, of a new store of each class.
fn kept<F: Future<Output = ()>>(rule: impl Fn(Shared) -> F) {
    for durability in [Durability::Consistent, Durability::Strict] {
        let folder = tempfile::tempdir().unwrap();
        runtime().block_on(rule(open(&folder.path().join("sync.db"), durability)));
    }
}

every_rule_is_kept!();

#[test]
fn requests_in_any_order_are_answered_as_the_model_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (runtime, storage) = (runtime(), open(&folder.path().join("sync.db"), Durability::Consistent));
    let users = std::cell::Cell::new(0);
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let tested = TestRunner::new(config).run(&asked(), |asked| {
        users.set(users.get() + 1);
        runtime.block_on(does_as_the_model(&storage, &users.get().to_string(), &asked));
        Ok(())
    });
    tested.unwrap();
}

#[test]
fn a_store_that_is_opened_again_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sync.db");
    let runtime = runtime();
    for round in 0..3_u64 {
        let storage = open(&path, Durability::Consistent);
        runtime.block_on(async {
            let phone = device(&storage, "ada", "phone").await;
            assert_eq!(stored(&storage, phone, [set("a", &round.to_string())]).await.revisions, [round + 1]);
            assert_eq!(follow(&storage, phone, 0, 10).await.0.len(), 1);
        });
    }
}

/// Another one who writes, so that uploads wait.
struct Other {
    go_on: mpsc::Sender<()>,
    writing: JoinHandle<touchstone_store::Result<()>>,
}

impl Other {
    fn writes(store: Store) -> Other {
        let (began, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let writing = std::thread::spawn(move || {
            store.write(|_| {
                began.send(()).unwrap();
                may_go_on.recv().unwrap();
                Ok(())
            })
        });
        has_begun.recv().unwrap();
        Other { go_on, writing }
    }

    fn ends(self) {
        self.go_on.send(()).unwrap();
        self.writing.join().unwrap().unwrap();
    }
}

#[test]
fn an_upload_that_waits_keeps_its_room_when_nobody_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Options::new().open(folder.path().join("sync.db")).unwrap();
    let storage: Shared = Arc::new(Embedded::new(store.clone()).unwrap());
    runtime().block_on(async {
        let phone = device(&storage, "ada", "phone").await;
        let other = Other::writes(store);
        let room = Arc::new(Semaphore::new(1));
        let taken = Arc::clone(&room).try_acquire_owned().unwrap();
        let upload = storage.upload(phone, rules::upload([set("a", "1")]), Some(taken.into()));
        assert!(timeout(Duration::ZERO, upload).await.is_err(), "another one writes");
        assert_eq!(room.available_permits(), 0, "its data are in memory still");
        other.ends();
        drop(room.acquire().await.unwrap());
    });
}

/// Found by an attacker: 1,100 uploads of one user were all that waited, and everybody's next one came after them.
#[test]
fn uploads_of_one_user_leave_room_for_those_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = Options::new().open(folder.path().join("s.db")).unwrap();
    let storage: Shared = Arc::new(Embedded::new(store.clone()).unwrap());
    runtime().block_on(async {
        let (ada, bob) = (device(&storage, "ada", "phone").await, device(&storage, "bob", "phone").await);
        let other = Other::writes(store);
        let mut waiting = Vec::new();
        for number in 0..512 {
            let upload = rules::upload([set(&format!("{number}"), "1")]);
            let mut upload = storage.upload(ada, upload, None);
            assert!(timeout(Duration::ZERO, &mut upload).await.is_err(), "another one writes");
            waiting.push(upload);
        }
        let refused = storage.upload(ada, rules::upload([set("more", "1")]), None).await;
        assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
        let mut of_bob = storage.upload(bob, rules::upload([set("a", "1")]), None);
        assert!(timeout(Duration::ZERO, &mut of_bob).await.is_err());
        // Nobody waits any more for the last of hers.
        drop(waiting.pop());
        other.ends();
        of_bob.await.unwrap();
        for (number, upload) in (1..).zip(waiting) {
            assert_eq!(upload.await.unwrap().revisions, [number]);
        }
        assert_eq!(storage.standing(ada.account()).await.unwrap().revision, 511);
    });
}
