//! Statements whose names come to mean other tables, and one that has no end.

use crate::{store, task};
use std::sync::mpsc;
use std::time::Duration;
use touchstone_store::{Result, Store};

/// What was read was known by the tables that a view had when it was first watched.
#[test]
fn a_statement_is_followed_where_its_names_come_to_mean_other_tables() -> Result<()> {
    let (directory, store) = store();
    store.insert(&task(1, 1, None))?;
    let sql = |sql: &str| store.write(|transaction| transaction.sql(|given| given.execute_batch(sql)));
    sql("create table other (a); create table third (a); create view seen as select id from task")?;
    let feed = store.feed()?;
    let count = feed.watch_sql("select count(*) from seen", [])?;
    let is_told = |expected: i64| -> Result<()> {
        store.wait_delivered()?;
        let batch = feed.try_next()?.expect("it is told");
        let rows = batch.get(count.id()).expect("it is concerned").sql_rows()?;
        assert_eq!(rows.get(0), Some([expected.into()].as_slice()));
        Ok(())
    };
    sql("drop view seen; create view seen as select a from other")?;
    is_told(0)?;
    sql("insert into other values (1)")?;
    is_told(1)?;
    sql("alter table other rename to another")?;
    sql("insert into another values (1)")?;
    is_told(2)?;
    // Also where another store has done it, and a connection knows the older names.
    let beside = Store::open(directory.path().join("tasks.db"))?;
    beside.write(|transaction| {
        transaction.sql(|given| {
            given.execute_batch(
                "drop view seen; create view seen as select a from third; insert into third values (1)",
            )
        })
    })?;
    let batch = feed.next()?.expect("the feed goes on");
    assert!(batch.get(count.id()).is_some());
    sql("insert into third values (1)")?;
    is_told(2)
}

/// Whoever closed the store waited for the statement, for ever.
#[test]
fn a_statement_without_an_end_does_not_keep_the_store_open() -> Result<()> {
    /// Many times as long as it may take, for a test that is to fail.
    const LONG: Duration = Duration::from_secs(60);
    const AS_FAR_AS: &str = "with recursive counted(n) as (select 1 union all select n + 1 from counted \
        where n < (select max(due) from task)) select max(n) from counted";
    let (_directory, store) = store();
    store.insert(&task(1, 1, Some(5)))?;
    let feed = store.feed()?;
    let count = feed.watch_sql(AS_FAR_AS, [])?;
    store.insert(&task(2, 1, Some(i64::MAX)))?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        drop(store);
        sender.send(()).expect("it is waited for");
    });
    assert!(receiver.recv_timeout(LONG).is_ok(), "it is closed");
    drop(count);
    Ok(())
}
