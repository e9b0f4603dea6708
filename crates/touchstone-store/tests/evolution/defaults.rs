//! Queries on fields that have a default: rows that lack the value are asked as what they are read as.

use super::place;
use touchstone_store::{Condition, Record, Store};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Older {
    #[record(key)]
    id: i64,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "task")]
struct Newer {
    #[record(key)]
    id: i64,
    #[record(default = 3)]
    plain: i64,
    #[record(index, default = 3)]
    indexed: i64,
    #[record(default = "none".to_owned())]
    label: String,
}

fn newer(id: i64, number: i64) -> Newer {
    Newer { id, plain: number, indexed: number, label: format!("label {number}") }
}

/// The keys of what meets the condition, which must be those of the records that are read.
fn found(
    store: &Store,
    condition: fn(NewerColumns) -> Condition<Newer>,
    meets: fn(&Newer) -> bool,
) -> Vec<i64> {
    let keys = |tasks: Vec<Newer>| tasks.into_iter().map(|task| task.id).collect::<Vec<_>>();
    store
        .read(|snapshot| {
            let expected = keys(snapshot.of::<Newer>().all()?.into_iter().filter(meets).collect());
            let by_pages = snapshot.query::<Newer>().filter(condition).all()?;
            // An order that no page has asks for a statement.
            let ordered = snapshot.query::<Newer>().filter(condition).order(|task| task.id.descending());
            let mut by_statement = keys(ordered.all()?);
            by_statement.reverse();
            let mut by_pages = keys(by_pages);
            by_pages.sort_unstable();
            assert_eq!((&by_pages, &by_statement), (&expected, &expected));
            assert_eq!(snapshot.query::<Newer>().filter(condition).count()?, expected.len() as u64);
            Ok(expected)
        })
        .expect("it is asked")
}

/// A condition had seen the NULL of the file where the record had its default: what was read as 3 was not found by 3.
fn every_condition_sees_defaults(store: &Store, ids: &[i64]) {
    let all = || ids.to_vec();
    let without = |left_out: i64| ids.iter().copied().filter(|id| *id != left_out).collect::<Vec<_>>();
    assert_eq!(found(store, |task| task.plain.eq(3), |task| task.plain == 3), without(9));
    assert_eq!(found(store, |task| task.indexed.eq(3), |task| task.indexed == 3), without(9));
    assert_eq!(
        found(store, |task| task.plain.ne(3), |task| task.plain != 3).len(),
        ids.len() - without(9).len()
    );
    assert_eq!(found(store, |task| task.plain.gt(3).not(), |task| task.plain <= 3), without(9));
    assert_eq!(found(store, |task| task.indexed.lt(4), |task| task.indexed < 4), without(9));
    assert_eq!(found(store, |task| task.indexed.between(1, 3), |task| task.indexed <= 3), without(9));
    assert_eq!(found(store, |task| task.plain.between(4, 2).not(), |_| true), all());
    assert_eq!(found(store, |task| task.indexed.is_in([3, 5]), |task| task.indexed == 3), without(9));
    assert_eq!(found(store, |task| task.plain.is_in([4]).not(), |task| task.plain != 4), without(9));
    assert_eq!(found(store, |task| task.label.starts_with("no"), |task| task.label == "none"), without(9));
    assert_eq!(found(store, |task| task.label.contains("on"), |task| task.label == "none"), without(9));
    assert_eq!(found(store, |task| task.label.contains("x").not(), |_| true), all());
    assert_eq!(found(store, |task| task.plain.is_null(), |_| false), []);
    assert_eq!(found(store, |task| task.indexed.is_not_null(), |_| true), all());
    // What is compared with NULL stays unknown.
    assert_eq!(found(store, |task| task.plain.eq(None::<i64>).not(), |_| false), []);
    assert_eq!(found(store, |task| task.plain.is_in([Some(4), None]).not(), |_| false), []);
    let both = |task: NewerColumns| task.plain.eq(3).and(task.indexed.eq(3).or(task.label.eq("x")));
    assert_eq!(found(store, both, |task| task.plain == 3), without(9));
}

#[test]
fn a_condition_sees_the_default_of_a_row_that_lacks_the_value() {
    let place = place();
    place.write(&[Older { id: 1 }, Older { id: 2 }]);
    let store = place.open();
    every_condition_sees_defaults(&store, &[1, 2]);
    store.insert(&newer(9, 4)).expect("the table gets the columns");
    every_condition_sees_defaults(&store, &[1, 2, 9]);
    store.insert(&Older { id: 3 }).expect("the older type writes on");
    every_condition_sees_defaults(&store, &[1, 2, 3, 9]);
    let by_index =
        store.read(|snapshot| snapshot.query::<Newer>().filter(|task| task.indexed.eq(3)).explain());
    let plan = by_index.expect("it is explained").plan.join("\n");
    assert!(plan.contains("task.indexed"), "{plan}");
}

#[test]
fn an_order_sees_the_default_of_a_row_that_lacks_the_value() {
    let place = place();
    place.write(&[Older { id: 1 }, Older { id: 2 }]);
    let store = place.open();
    let order = |store: &Store, descending: bool| {
        let tasks = store.read(|snapshot| {
            let query = snapshot.query::<Newer>();
            let query = if descending {
                query.order(|task| task.indexed.descending())
            } else {
                query.order(|task| task.label.ascending()).order(|task| task.plain.ascending())
            };
            query.filter(|task| task.id.gt(0)).limit(10).all()
        });
        tasks.expect("it is asked").into_iter().map(|task| task.id).collect::<Vec<_>>()
    };
    assert_eq!(order(&store, true), [1, 2]);
    store.insert_all(&[newer(8, 2), newer(9, 4)]).expect("the table gets the columns");
    assert_eq!(order(&store, true), [9, 1, 2, 8]);
    assert_eq!(order(&store, false), [8, 9, 1, 2]);
}

#[test]
fn rows_are_removed_by_the_default_that_they_lack() {
    let place = place();
    place.write(&[Older { id: 1 }, Older { id: 2 }]);
    let store = place.open();
    store.insert(&newer(9, 4)).expect("the table gets the columns");
    let removed = store.write(|transaction| transaction.of::<Newer>().remove_where(|task| task.plain.eq(3)));
    assert_eq!(removed.expect("they are removed"), 2);
    assert_eq!(store.all::<Newer>().expect("it is read"), [newer(9, 4)]);
}
