//! The check of a whole store: silent where nothing is wrong, and each thing that is wrong told by its place.

use std::path::Path;
use touchstone_store::{EncryptionKey, Options, Problem, Record, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    #[record(key)]
    id: i64,
    #[record(index)]
    title: String,
    priority: u8,
}

fn tasks(count: i64) -> Vec<Task> {
    (1..=count).map(|id| Task { id, title: format!("task {id}"), priority: (id % 200) as u8 }).collect()
}

fn filled(path: &Path) -> Store {
    let store = Store::open(path).unwrap();
    store.insert_all(&tasks(2000)).unwrap();
    store.write(|transaction| transaction.collection::<Task>("inbox")?.insert_all(&tasks(10))).unwrap();
    store
}

/// Does what no type does.
fn sql(store: &Store, statements: &str) {
    store.write(|transaction| transaction.sql(|sql| sql.execute_batch(statements))).unwrap();
}

fn problems(store: &Store) -> Vec<String> {
    let report = store.check().records::<Task>().run().unwrap();
    assert_eq!(report.is_whole(), report.problems().is_empty());
    report.problems().iter().map(Problem::to_string).collect()
}

#[test]
fn a_whole_store_has_no_problems() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(&directory.path().join("store.db"));
    let report = store.check().records::<Task>().run().unwrap();
    assert_eq!((report.problems(), report.records()), (&[][..], 2010));
    assert!(Store::open(directory.path().join("empty.db")).unwrap().check().run().unwrap().is_whole());
}

#[test]
fn every_record_that_is_not_the_types_is_told_with_its_key() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(&directory.path().join("store.db"));
    sql(
        &store,
        "update task set priority = 1000 where id in (3, 1999);
         update task set title = null where id = 50;
         update task_in_collections set priority = -1 where id = 2",
    );
    let problems = problems(&store);
    let expected =
        ["record 3 of", "record 50 of", "record 1999 of", "record 2 of `task` in collection \"inbox\""];
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.starts_with(expected), "{problem}");
    }
}

#[test]
fn a_reference_to_nothing_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(&directory.path().join("store.db"));
    sql(
        &store,
        "create table note (task integer references task deferrable initially deferred);
         pragma defer_foreign_keys = on",
    );
    let sql = rusqlite::Connection::open(directory.path().join("store.db")).unwrap();
    sql.execute_batch("pragma foreign_keys = off; insert into note values (1), (77777)").unwrap();
    assert_eq!(problems(&store), ["a row of `note` refers to a row of `task` that is not there"]);
}

/// As of records and pages, a thousand are told, and that there are more.
#[test]
fn references_to_nothing_that_are_not_told_are_not_kept_secret() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    drop(filled(&path));
    let sql = rusqlite::Connection::open(&path).unwrap();
    sql.execute_batch("pragma foreign_keys = off; create table note (task integer references task)").unwrap();
    for (rows, told) in [(1000, 1000), (1, 1001)] {
        let dangling = "with recursive n(n) as (values (1) union all select n + 1 from n where n < ?1)
                        insert into note select 10000 + n from n";
        sql.execute(dangling, [rows]).unwrap();
        let problems = problems(&Store::open(&path).unwrap());
        assert_eq!(problems.len(), told);
        assert_eq!(problems.last().unwrap().ends_with("there are more problems than are told"), told > 1000);
    }
}

#[test]
fn damaged_pages_are_findings_and_no_failure() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    drop(filled(&path));
    let whole = std::fs::read(&path).unwrap();
    for page in 1..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0xff);
        let path = directory.path().join(format!("damaged{page}.db"));
        std::fs::write(&path, damaged).unwrap();
        let store = Options::new().open(&path).unwrap();
        assert!(!problems(&store).is_empty(), "page {}", page + 1);
    }
}

#[test]
fn a_record_missing_from_an_index_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    drop(filled(&path));
    let sql = rusqlite::Connection::open(&path).unwrap();
    // The index is told to be another one than it is.
    sql.execute_batch(
        "pragma writable_schema = on;
         update sqlite_schema set sql = 'create index \"task.title\" on task (id, title)' where name = 'task.title'",
    )
    .unwrap();
    drop(sql);
    assert!(!problems(&Store::open(&path).unwrap()).is_empty());
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Other {
    #[record(key)]
    id: i64,
    small: u8,
}

/// The engine fails every page after one that it cannot decrypt, for as long as the transaction lasts.
#[test]
fn damage_of_one_table_hides_nothing_of_another() {
    for options in [Options::new(), Options::new().key(EncryptionKey::raw([7; 32]))] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let store = options.clone().open(&path).unwrap();
        store.insert_all(&tasks(2000)).unwrap();
        store.insert(&Other { id: 7, small: 1 }).unwrap();
        sql(&store, "update other set small = -1");
        drop(store);
        let mut bytes = std::fs::read(&path).unwrap();
        let leaf = bytes.len() / 4096 / 2;
        bytes[leaf * 4096..(leaf + 1) * 4096].fill(0xff);
        std::fs::write(&path, bytes).unwrap();
        let store = options.open(&path).unwrap();
        let report = store.check().records::<Task>().records::<Other>().run().unwrap();
        let told: Vec<String> = report.problems().iter().map(Problem::to_string).collect();
        assert!(told.last().unwrap().starts_with("record 7 of `other`"), "{told:?}");
        assert!(told.len() > 1, "{told:?}");
        assert_eq!(store.get::<Task>(&1).unwrap().unwrap(), tasks(1)[0], "and the store is read as before");
    }
}
