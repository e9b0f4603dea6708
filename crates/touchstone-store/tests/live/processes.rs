//! Two processes: the test's own program is the other one, told by a variable what to do.

use crate::others::Watcher;
use crate::place::place;
use crate::process::{self, again, say};
use crate::task;
use std::path::Path;
use touchstone_store::{Options, Result, Store};

const FILE: &str = "TOUCHSTONE_TEST_LIVE_FILE";

/// The other process, which has two stores, and does what each line says.
struct Other(process::Other);

impl Other {
    fn start(path: &Path) -> Other {
        Other(process::Other::start(again("processes::the_other_process").env(FILE, path)))
    }

    /// Lets it do something, and waits until it is done.
    fn does(&mut self, what: &str) {
        self.0.tell(what);
        self.0.hear(&format!("done {what}"));
    }
}

/// Does nothing in the test's own process.
#[test]
fn the_other_process() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let path = Path::new(&path);
    let first = Options::new().checkpoint_pages(3).open(path).expect("it opens");
    let second = Store::open(path).expect("it opens");
    let plain = rusqlite::Connection::open(path).expect("it opens");
    let say = |what: &str| say(&format!("done {what}"));
    for what in std::io::stdin().lines().map_while(|line| line.ok()) {
        let (word, number) = what.split_once(' ').expect("a word and a number");
        let number: i64 = number.parse().expect("it is a number");
        let record = task(number, number % 3, Some(number));
        match word {
            "first" => first.put(&record).expect("it is written"),
            "second" => second.put(&record).expect("it is written"),
            "many" => {
                let many: Vec<_> = (0..number).map(|id| task(id, id % 7, Some(-id))).collect();
                first.put_all(&many).expect("it is written");
            }
            "plain" => plain.execute("update task set due = ?1", [number]).map(drop).expect("it is written"),
            "held" => {
                let _unreached: Result<()> = first.write(|transaction| {
                    transaction.put(&record)?;
                    let many: Vec<_> = (0..20_000).map(|id| task(id, 1, None)).collect();
                    transaction.put_all(&many)?;
                    say(&what);
                    loop {
                        std::thread::park();
                    }
                });
            }
            other => panic!("there is no `{other}`"),
        }
        say(&what);
    }
}

#[test]
fn whatever_another_process_commits_is_read_anew() -> Result<()> {
    let place = place();
    let mut watcher = Watcher::begin(place.open())?;
    let mut other = Other::start(&place.path);
    for number in 0..60 {
        other.does(&format!("first {number}"));
        if number % 20 == 7 {
            watcher.is_even()?;
            other.does("many 3000");
        }
        if number % 3 != 0 {
            watcher.is_even()?;
        }
    }
    other.does("second 61");
    watcher.is_even()?;
    assert_eq!(watcher.batches, watcher.resyncs);
    for round in 0..10 {
        other.does(&format!("first {}", 70 + round));
        other.does(&format!("plain {round}"));
        watcher.store.put(&task(90 + round, 2, None))?;
        other.does(&format!("second {}", 80 + round));
        watcher.is_even()?;
    }
    let resyncs = watcher.resyncs;
    watcher.store.put(&task(7, 2, None))?;
    watcher.is_even()?;
    assert_eq!(watcher.resyncs, resyncs, "its own commit is followed");
    Ok(())
}

#[test]
fn a_process_that_is_killed_within_a_transaction_has_told_nothing() -> Result<()> {
    let place = place();
    let mut watcher = Watcher::begin(place.open())?;
    let mut other = Other::start(&place.path);
    other.does("first 7");
    watcher.is_even()?;
    other.does("held 8");
    drop(other);
    watcher.is_even()?;
    let mut other = Other::start(&place.path);
    other.does("first 9");
    watcher.is_even()?;
    assert!(watcher.store.get::<crate::Task>(&8)?.is_none());
    assert_eq!((watcher.batches, watcher.resyncs), (2, 2));
    Ok(())
}
