//! Live queries that are asked by the code that they call.

use crate::acting::{Acting, Acts};
use crate::{store, task};
use std::cell::{Cell, RefCell};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;
use touchstone_store::{Error, ErrorKind, Record, Result, Store};

thread_local! {
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// The store that a field's own code asks while it is read.
static ASKS: Mutex<Option<Store>> = Mutex::new(None);
static ANSWERS: Mutex<Vec<ErrorKind>> = Mutex::new(Vec::new());

/// Its reading asks live queries.
#[derive(Clone, Debug, PartialEq)]
struct Curious;

impl Acts for Curious {
    fn reading(_number: i64) {
        let store = ASKS.lock().expect("nobody panics").clone();
        if let Some(store) = store.filter(|_| !ASKED.replace(true)) {
            let asked = [store.wait_delivered().err(), store.feed().err()];
            let kinds = asked.into_iter().flatten().map(|error| error.kind());
            ANSWERS.lock().expect("nobody panics").extend(kinds);
        }
    }
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Question {
    #[record(key)]
    id: i64,
    asks: Acting<Curious>,
}

/// The thread of live queries waited for itself, and a writer within its commit for the thread that waited for it.
#[test]
fn live_queries_that_are_asked_by_what_they_call_are_not_waited_for() -> Result<()> {
    let (directory, store) = store();
    store.insert(&Question { id: 1, asks: Acting::new(1) })?;
    let feed = store.feed()?;
    let all = feed.query::<Question>().watch()?;
    *ASKS.lock().expect("nobody panics") = Some(store.clone());
    // Read by the writer, when it commits, which has asked in vain from then on.
    store.write(|transaction| transaction.sql(|sql| sql.execute("update question set asks = 2", ())))?;
    assert!(ASKED.get());
    assert_eq!(feed.next()?.map(|batch| batch.get(all.id()).is_some()), Some(true));
    // Read by the thread of live queries.
    let other = Store::open(directory.path().join("tasks.db"))?;
    other.write(|transaction| transaction.sql(|sql| sql.execute("update question set asks = 3", ())))?;
    let batch = feed.next()?.expect("the feed goes on");
    let results = batch.get(all.id()).expect("it is concerned").results::<Question>()?;
    assert_eq!(results.first().map(|question| question.asks.0), Some(3));
    ASKS.lock().expect("nobody panics").take();
    assert_eq!(*ANSWERS.lock().expect("nobody panics"), [ErrorKind::Nested; 4]);
    Ok(())
}

thread_local! {
    /// The store that is asked within the commits of both, and the one that is written to meanwhile.
    static BOTH: RefCell<Option<[Store; 2]>> = const { RefCell::new(None) };
    static ANSWER: Cell<Option<ErrorKind>> = const { Cell::new(None) };
}

/// Reading it on the test's thread writes to another store.
#[derive(Clone, Debug, PartialEq)]
struct Passing;

impl Acts for Passing {
    fn reading(_number: i64) {
        if let Some([asked, other]) = BOTH.take() {
            BOTH.set(Some([asked, other.clone()]));
            let written = other.write(|transaction| {
                transaction.sql(|sql| sql.execute("update answer set asks = asks + 1", ()))
            });
            written.expect("it is written");
            BOTH.take();
        }
    }
}

/// Reading it on the test's thread asks the first store.
#[derive(Clone, Debug, PartialEq)]
struct Asking;

impl Acts for Asking {
    fn reading(_number: i64) {
        if let Some([asked, _]) = BOTH.take() {
            ANSWER.set(asked.wait_delivered().map_err(|error| error.kind()).err());
        }
    }
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Passed {
    #[record(key)]
    id: i64,
    asks: Acting<Passing>,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Answer {
    #[record(key)]
    id: i64,
    asks: Acting<Asking>,
}

/// Only the innermost commit was known, and a writer waited for the thread that waited for its other one.
#[test]
fn a_store_that_is_asked_within_a_commit_to_another_is_not_waited_for() -> Result<()> {
    let ((_directory, asked), (_other_directory, other)) = (store(), store());
    asked.insert(&Passed { id: 1, asks: Acting::new(1) })?;
    other.insert(&Answer { id: 1, asks: Acting::new(1) })?;
    let (feed, other_feed) = (asked.feed()?, other.feed()?);
    let _watched = (feed.query::<Passed>().watch()?, other_feed.query::<Answer>().watch()?);
    BOTH.set(Some([asked.clone(), other]));
    asked.write(|transaction| transaction.sql(|sql| sql.execute("update passed set asks = 2", ())))?;
    assert_eq!(ANSWER.get(), Some(ErrorKind::Nested));
    Ok(())
}

/// What a record's own code does once on the live thread: it says that it is there, writes, and tells the outcome.
struct Errand {
    store: Store,
    is_there: Sender<()>,
    outcome: Sender<Option<Error>>,
}

static ERRAND: Mutex<Option<Errand>> = Mutex::new(None);

/// Reading it on the live thread writes.
#[derive(Clone, Debug, PartialEq)]
struct Writing;

impl Acts for Writing {
    fn reading(_number: i64) {
        if thread::current().name() != Some("touchstone-live") {
            return;
        }
        let errand = ERRAND.lock().expect("nobody panics").take();
        if let Some(Errand { store, is_there, outcome }) = errand {
            is_there.send(()).expect("it is awaited");
            outcome.send(store.insert(&task(1, 1, None)).err()).expect("it is awaited");
        }
    }
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Written {
    #[record(key)]
    id: i64,
    writes: Acting<Writing>,
}

/// The outcome of a write on the live thread, while another thread's transaction does what `within` does.
fn write_on_the_live_thread(within: fn(&Store) -> Result<()>) -> Result<Option<Error>> {
    /// Nobody waits so long unless it is forever.
    const LONG: Duration = Duration::from_secs(120);
    let (_directory, store) = store();
    store.insert(&Written { id: 1, writes: Acting::new(1) })?;
    let feed = store.feed()?;
    let ((is_there, arrival), (outcome, outcomes), (ended, end)) = (channel(), channel(), channel());
    *ERRAND.lock().expect("nobody panics") = Some(Errand { store: store.clone(), is_there, outcome });
    thread::spawn(move || {
        let mut watching = None;
        let written = store.write(|_| {
            watching = Some(thread::spawn(move || feed.query::<Written>().watch().map(drop)));
            arrival.recv().expect("the live thread reads the record");
            within(&store)
        });
        let watched = watching.map(|watching| watching.join().expect("it does not panic"));
        ended.send(written.and(watched.unwrap_or(Ok(())))).expect("it is awaited");
    });
    let outcome = outcomes.recv_timeout(LONG).expect("no two threads wait for each other");
    end.recv_timeout(LONG).expect("the transaction goes on")?;
    Ok(outcome)
}

/// Regression: a record's own code, which the live thread called, waited for its turn to write, and the transaction that
/// had the turn waited for the live thread.
#[test]
fn a_write_on_the_live_thread_fails_only_while_a_transaction_waits_for_live_queries() -> Result<()> {
    let waits: [fn(&Store) -> Result<()>; 2] = [Store::wait_delivered, |store| store.feed().map(drop)];
    for wait in waits {
        let error = write_on_the_live_thread(wait)?.expect("each would wait for the other");
        assert_eq!(error.kind(), ErrorKind::Nested);
        assert!(error.to_string().contains("write on another thread"), "{error}");
    }
    assert_eq!(write_on_the_live_thread(|_| Ok(()))?.map(|error| error.to_string()), None);
    Ok(())
}
