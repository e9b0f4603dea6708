//! Batches keep the keys that their records have.

use touchstone_store::{Record, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Row {
    #[record(key)]
    id: i64,
}

/// The number of a row that goes on from the greatest is left out, for SQLite to find. Of an empty table the greatest
/// was taken for 0, also after a row below it: the row 1 that came next got the number that follows that row's.
#[test]
fn numbers_below_one_in_an_empty_table_do_not_change_those_above() {
    let ends = [i64::MIN, i64::MIN + 1, -2, -1, 0, 1, 2, 3, i64::MAX - 1, i64::MAX];
    let directory = tempfile::tempdir().expect("there is room");
    let store = Store::open(directory.path().join("rows.db")).expect("it opens");
    let all = 0..ends.len();
    let pairs = all.clone().flat_map(|first| (first..ends.len()).map(move |second| (first, second)));
    for (first, second) in pairs {
        for third in second..ends.len() {
            let mut ids = vec![ends[first], ends[second], ends[third]];
            ids.dedup();
            (0..ids.len()).for_each(|split| check(&store, &ids, split));
        }
    }
}

/// Writes the rows in two batches, each from its end.
fn check(store: &Store, ids: &[i64], split: usize) {
    store
        .write(|transaction| {
            transaction.of::<Row>().clear()?;
            for part in [&ids[..split], &ids[split..]] {
                let rows: Vec<Row> = part.iter().rev().map(|id| Row { id: *id }).collect();
                if split.is_multiple_of(2) {
                    transaction.insert_all(&rows)?
                } else {
                    transaction.put_all(&rows)?
                };
            }
            Ok(())
        })
        .expect("it is written");
    let found: Vec<i64> = store.all::<Row>().expect("it is readable").iter().map(|row| row.id).collect();
    assert_eq!(found, ids, "{split} first");
}
