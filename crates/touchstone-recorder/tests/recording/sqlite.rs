//! SQLite, whose syncs per commit are known: the recorder must find just these.

use std::process::Command;

use touchstone_recorder::{Interval, Options, record};

use crate::LIMIT;

const COMMITS: usize = 10;

/// Single-row inserts, each a transaction of its own, and a line of output after each.
const PROGRAM: &str = "
import sqlite3, sys
journal, synchronous, commits = sys.argv[1], sys.argv[2], int(sys.argv[3])
database = sqlite3.connect('base.db', isolation_level=None)
database.execute('PRAGMA journal_mode=' + journal).fetchall()
database.execute('PRAGMA synchronous=' + synchronous)
database.execute('CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB)')
database.execute('INSERT INTO t VALUES (0, zeroblob(100))')
print('ready', flush=True)
for key in range(1, commits + 1):
    database.execute('INSERT INTO t VALUES (?, zeroblob(100))', (key,))
    print('committed', key, flush=True)
";

fn has_sqlite() -> bool {
    let tried = Command::new("python3").args(["-c", "import sqlite3"]).output();
    let found = tried.is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: there is no python3 with sqlite3 here");
    }
    found
}

/// The syncs of each commit.
fn syncs_per_commit(journal: &str, synchronous: &str) -> Vec<u64> {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("python3");
    command.args(["-c", PROGRAM, journal, synchronous, &COMMITS.to_string()]).current_dir(&directory);
    let trace = record(command, Options::new(directory.path()), LIMIT).unwrap();
    assert!(trace.exit.success());
    assert_eq!(trace.unsupported(), Vec::<&str>::new());
    let expected_mapped: &[&str] = if journal == "WAL" { &["base.db-shm"] } else { &[] };
    assert!(
        trace.mapped_files().iter().map(|path| path.to_str().unwrap()).eq(expected_mapped.iter().copied())
    );
    let is_commit =
        |interval: &&Interval| interval.ended_by.is_some_and(|line| line.starts_with("committed"));
    let intervals = trace.between_marks();
    intervals.iter().filter(is_commit).map(|interval| interval.counts.syncs()).collect()
}

#[test]
fn syncs_per_commit_are_those_of_sqlite() {
    if !has_sqlite() {
        return;
    }
    let known = [
        ("WAL", "FULL", 1),
        ("WAL", "NORMAL", 0),
        ("DELETE", "FULL", 4),
        ("DELETE", "NORMAL", 3),
        ("DELETE", "OFF", 0),
    ];
    for (journal, synchronous, expected) in known {
        let found = syncs_per_commit(journal, synchronous);
        assert_eq!(found, [expected; COMMITS], "{journal} {synchronous}");
    }
}
