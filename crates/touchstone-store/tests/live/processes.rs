//! Two processes: the test's own program is the other one, told by a variable what to do.

use crate::logged::Watcher;
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
    let logging = Options::new().log_changes(true).checkpoint_pages(3).open(path).expect("it opens");
    let silent = Store::open(path).expect("it opens");
    let plain = rusqlite::Connection::open(path).expect("it opens");
    let say = |what: &str| say(&format!("done {what}"));
    for what in std::io::stdin().lines().map_while(|line| line.ok()) {
        let (word, number) = what.split_once(' ').expect("a word and a number");
        let number: i64 = number.parse().expect("it is a number");
        let record = task(number, number % 3, Some(number));
        match word {
            "logged" => logging.put(&record).expect("it is written"),
            "silent" => silent.put(&record).expect("it is written"),
            "many" => {
                let many: Vec<_> = (0..number).map(|id| task(id, id % 7, Some(-id))).collect();
                logging.put_all(&many).expect("it is written");
            }
            "plain" => plain.execute("update task set due = ?1", [number]).map(drop).expect("it is written"),
            "held" => {
                let _unreached: Result<()> = logging.write(|transaction| {
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
fn another_process_is_followed_row_by_row_where_it_logs() -> Result<()> {
    let place = place();
    let mut watcher = Watcher::begin(place.open())?;
    let mut other = Other::start(&place.path);
    for number in 0..60 {
        other.does(&format!("logged {number}"));
        if number % 20 == 7 {
            watcher.is_even()?;
            other.does("many 3000");
        }
        // Several at once are a resync, and one is none.
        let resyncs = watcher.resyncs;
        if number % 3 != 0 {
            watcher.is_even()?;
        }
        assert!(watcher.resyncs == resyncs || number % 3 == 1, "of {} batches", watcher.batches);
    }
    watcher.is_even()?;
    let resyncs = watcher.resyncs;
    other.does("silent 61");
    watcher.is_even()?;
    assert!(watcher.resyncs > resyncs);
    for round in 0..10 {
        other.does(&format!("logged {}", 70 + round));
        other.does(&format!("plain {round}"));
        other.does(&format!("logged {}", 80 + round));
        watcher.is_even()?;
    }
    Ok(())
}

#[test]
fn a_process_that_is_killed_within_a_transaction_has_logged_nothing() -> Result<()> {
    let place = place();
    let mut watcher = Watcher::begin(place.open())?;
    let mut other = Other::start(&place.path);
    other.does("logged 7");
    watcher.is_even()?;
    other.does("held 8");
    drop(other);
    watcher.is_even()?;
    let mut other = Other::start(&place.path);
    other.does("logged 9");
    watcher.is_even()?;
    assert!(watcher.store.get::<crate::Task>(&8)?.is_none());
    assert_eq!((watcher.batches, watcher.resyncs), (2, 0));
    Ok(())
}
