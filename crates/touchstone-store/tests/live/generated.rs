//! Tables with columns that SQLite computes, before those that a type has: SQL that changes rows is followed by the right
//! columns.

use crate::place::place;
use touchstone_store::{Batch, Feed, Record, Result, Store, Subscription};

#[derive(Record, Clone, Debug, PartialEq)]
struct Gadget {
    #[record(key)]
    id: i64,
    price: i64,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Part {
    #[record(key)]
    name: String,
    price: i64,
}

/// Both tables have a column that is stored, or not, before the ones that matter.
fn make(kind: &str) -> String {
    format!(
        "create table gadget (id integer primary key, twice integer generated always as (price * 2) {kind}, price integer not null);
         create table part (twice text generated always as (name || name) {kind}, name text not null primary key, price integer not null)"
    )
}

fn dear(feed: &Feed) -> Result<Subscription<Part>> {
    feed.query::<Part>().filter(|part| part.price.gt(10)).watch()
}

/// What the feed is told next.
fn told(store: &Store, feed: &Feed) -> Result<Batch> {
    store.wait_delivered()?;
    Ok(feed.try_next()?.expect("it is told"))
}

/// How many are dear, as the batch says.
fn dears(batch: &Batch, parts: &Subscription<Part>) -> Result<usize> {
    Ok(batch.get(parts.id()).expect("it is concerned").results::<Part>()?.len())
}

/// Keys were read from the columns before them, so that what SQL had changed was not told, here and to others.
#[test]
fn what_sql_changes_is_told_by_the_columns_of_the_table() -> Result<()> {
    for kind in ["virtual", "stored"] {
        let place = place();
        let store = place.open();
        store.write(|transaction| transaction.sql(|sql| sql.execute_batch(&make(kind))))?;
        let part = |name: &str, price| Part { name: name.into(), price };
        store.insert_all(&[Gadget { id: 1, price: 4 }, Gadget { id: 2, price: 12 }])?;
        store.insert_all(&[part("a", 4), part("b", 12)])?;
        assert_eq!(
            store.all::<Gadget>()?,
            [Gadget { id: 1, price: 4 }, Gadget { id: 2, price: 12 }],
            "{kind}"
        );
        assert_eq!(store.all::<Part>()?, [part("a", 4), part("b", 12)], "{kind}");
        let follower = place.open();
        let (feed, followed) = (store.feed()?, follower.feed()?);
        let number = feed.query::<Gadget>().filter(|gadget| gadget.price.gt(10)).watch_count()?;
        let (parts, followed_parts) = (dear(&feed)?, dear(&followed)?);
        assert_eq!((number.count(), parts.results().len()), (1, 1));
        for (price, expected) in [(6, 0), (16, 2), (3, 0), (11, 2)] {
            store.write(|transaction| {
                transaction.sql(|sql| {
                    sql.execute("update gadget set price = ?1", [price])?;
                    sql.execute("update part set price = ?1", [price])
                })
            })?;
            let batch = told(&store, &feed)?;
            let counted = batch.get(number.id()).expect("it is another number").count()?;
            assert_eq!((counted, dears(&batch, &parts)?), (expected, expected as usize), "{kind} {price}");
            let batch = told(&follower, &followed)?;
            assert_eq!(dears(&batch, &followed_parts)?, expected as usize, "{kind} {price}, followed");
        }
    }
    Ok(())
}
