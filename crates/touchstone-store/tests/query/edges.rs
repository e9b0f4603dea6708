//! Edges that random questions seldom meet.

use super::{Row, opened};
use touchstone_store::{Condition, ErrorKind, Record, Result, Snapshot, Store};

fn row(id: i64) -> Row {
    Row { id, small: Some(id), large: id, real: None, text: None, word: format!("w{id}"), bytes: None }
}

fn filled() -> (tempfile::TempDir, Store) {
    let (directory, store) = opened();
    store.insert_all(&(0..50).map(row).collect::<Vec<_>>()).expect("they go in");
    (directory, store)
}

/// By pages and by the statement that an index asks for.
fn counts(store: &Store, condition: impl Fn(bool) -> Condition<Row>) -> Vec<Result<u64>> {
    [false, true]
        .map(|indexed| store.read(|snapshot| snapshot.query::<Row>().filter(|_| condition(indexed)).count()))
        .into()
}

#[test]
fn numbers_beyond_sqlites_compare_as_what_they_are() {
    #[derive(Record)]
    struct Wide {
        #[record(key)]
        id: i64,
        plain: u64,
        #[record(index)]
        indexed: Option<u64>,
    }
    let (_directory, store) = opened();
    let largest = i64::MAX as u64;
    store
        .insert_all(&[
            Wide { id: 1, plain: largest, indexed: Some(largest) },
            Wide { id: 2, plain: 0, indexed: None },
        ])
        .expect("they go in");
    let count = |condition: fn(WideColumns) -> Condition<Wide>| {
        store.read(|snapshot| snapshot.query::<Wide>().filter(condition).count()).expect("it is counted")
    };
    assert_eq!(count(|wide| wide.plain.lt(u64::MAX)), 2);
    assert_eq!(count(|wide| wide.plain.ge(u64::MAX)), 0);
    assert_eq!(count(|wide| wide.plain.eq(u64::MAX)), 0);
    assert_eq!(count(|wide| wide.plain.ne(u64::MAX)), 2);
    assert_eq!(count(|wide| wide.plain.is_in([u64::MAX, i64::MAX as u64])), 1);
    assert_eq!(count(|wide| wide.indexed.lt(u64::MAX)), 1);
    assert_eq!(count(|wide| wide.indexed.gt(u64::MAX)), 0);
    assert_eq!(count(|wide| wide.indexed.is_in([u64::MAX])), 0);
    assert_eq!(count(|wide| wide.indexed.between(0, u64::MAX)), 1);
    assert_eq!(count(|wide| wide.indexed.ne(Some(u64::MAX))), 1);
}

#[test]
fn nan_compares_as_unknown() {
    let (_directory, store) = opened();
    store.insert(&Row { real: Some(1.0), ..row(1) }).expect("it goes in");
    let count = |condition: fn(super::RowColumns) -> Condition<Row>| {
        let found = store.read(|snapshot| snapshot.query::<Row>().filter(condition).count());
        (
            found.expect("it is counted"),
            store
                .read(|snapshot| {
                    snapshot.query::<Row>().filter(condition).order(|row| row.word.descending()).all()
                })
                .expect("it is read")
                .len(),
        )
    };
    assert_eq!(count(|row| row.real.eq(f64::NAN)), (0, 0));
    assert_eq!(count(|row| row.real.ne(f64::NAN)), (0, 0));
    assert_eq!(count(|row| row.real.lt(f64::NAN).not()), (0, 0));
    assert_eq!(count(|row| row.real.is_in([f64::NAN, 1.0])), (1, 1));
}

#[test]
fn values_are_compared_with_what_a_program_has_of_them() {
    let (_directory, store) = opened();
    store.insert(&Row { text: Some("ab".into()), bytes: Some(b"ab".into()), ..row(1) }).expect("it goes in");
    let count = |condition: Condition<Row>| {
        store.read(|snapshot| snapshot.query::<Row>().filter(|_| condition).count()).expect("it is counted")
    };
    let (columns, text, bytes) = (Row::COLUMNS, String::from("ab"), b"ab".to_vec());
    assert_eq!(count(columns.text.eq(&text).and(columns.text.is_in([&text]))), 1);
    assert_eq!(count(columns.bytes.eq(b"ab").and(columns.bytes.eq(&bytes))), 1);
    assert_eq!(count(columns.bytes.between(&bytes[..1], b"abc").and(columns.text.ge("aa"))), 1);
}

/// An answer, or a typed error: SQLite has limits that pages have not. Conditions that were joined twenty thousand times
/// had no room on a thread's stack.
#[test]
fn long_lists_and_deep_conditions_are_answered_or_refused() {
    let (_directory, store) = filled();
    for length in [100i64, 40_000] {
        for found in counts(&store, |indexed| {
            if indexed { Row::COLUMNS.small.is_in(0..length) } else { Row::COLUMNS.large.is_in(0..length) }
        }) {
            match found {
                Ok(found) => assert_eq!(found, 50),
                Err(error) => assert_eq!((error.kind(), length), (ErrorKind::TooBig, 40_000)),
            }
        }
    }
    for (length, turned) in [(50, false), (20_000, false), (20_000, true), (200_000, false)] {
        for found in counts(&store, |indexed| {
            let one = |at| if indexed { Row::COLUMNS.small.eq(at) } else { Row::COLUMNS.large.eq(at) };
            let join = |joined: Condition<Row>, at| {
                if turned { one(at).or(joined) } else { joined.or(one(at)) }
            };
            (1..length).fold(one(0), join).and(Row::COLUMNS.word.ne("w7"))
        }) {
            match found {
                Ok(found) => assert_eq!(found, 49),
                Err(error) => assert_eq!((error.kind(), length), (ErrorKind::TooBig, 200_000)),
            }
        }
    }
    assert_eq!(store.all::<Row>().expect("the store goes on").len(), 50);
}

/// Conditions that lay five thousand deep within each other had no room on the stack, and the program ended.
#[test]
fn conditions_lie_only_so_deep_within_each_other() {
    let (_directory, store) = filled();
    let nested = |depth: i64, indexed: bool| {
        let one = |at| if indexed { Row::COLUMNS.small.eq(at) } else { Row::COLUMNS.large.eq(at) };
        (0..depth / 2).fold(one(0), |inner, at| inner.or(one(at % 50)).not())
    };
    let expected = |depth: i64| {
        let holds = |row: &i64| (0..depth / 2).fold(*row == 0, |inner, at| !(inner || *row == at % 50));
        (0..50).filter(holds).count() as u64
    };
    let feed = store.feed().expect("it begins");
    for depth in [2, 250, 500] {
        for found in counts(&store, |indexed| nested(depth, indexed)) {
            assert_eq!(found.expect("it is not too deep"), expected(depth), "{depth}");
        }
        let watched = feed.query::<Row>().filter(|_| nested(depth, false)).watch_count();
        assert_eq!(watched.expect("it is watched").count(), expected(depth));
    }
    for depth in [502, 5_000, 1_000_000] {
        let mut refused: Vec<Result<u64>> = counts(&store, |indexed| nested(depth, indexed));
        let query = || feed.query::<Row>().filter(|_| nested(depth, false));
        refused.push(query().watch().map(|_| 0));
        refused.push(feed.watch_all([query()]).map(|_| 0));
        refused.push(store.write(|transaction| {
            transaction.of::<Row>().remove_where(|row| nested(depth, false).and(row.id.gt(0)))
        }));
        for result in refused {
            let error = result.expect_err("it is too deep");
            assert_eq!(error.kind(), ErrorKind::TooBig);
            assert!(error.to_string().contains("500 deep"), "{error}");
        }
    }
}

#[test]
fn a_visit_may_stop_fail_and_ask_again() {
    let (_directory, store) = filled();
    for descending in [false, true] {
        let mut seen = 0;
        let result = store.read(|snapshot| {
            let query = snapshot.query::<Row>();
            let query = if descending { query.order(|row| row.id.descending()) } else { query };
            query.each(|row| {
                seen += 1;
                assert_eq!(snapshot.get::<Row>(&row.id)?, Some(row.clone()));
                assert_eq!(snapshot.query::<Row>().filter(|columns| columns.large.eq(row.large)).count()?, 1);
                assert_eq!(snapshot.query::<Row>().rows()?.count(), 50);
                if seen == 20 {
                    return Err(touchstone_store::Error::new(ErrorKind::Invalid, "enough"));
                }
                Ok(true)
            })
        });
        assert_eq!((result.expect_err("it failed").kind(), seen), (ErrorKind::Invalid, 20));
        let rows = store.read(|snapshot| Ok(snapshot.query::<Row>().rows()?.take(3).count()));
        assert_eq!(rows.expect("they are read"), 3);
    }
}

/// The message was the statement, with a hundred thousand parameters.
#[test]
fn a_query_beyond_sqlites_limits_is_too_big_and_says_so_in_short() {
    let (_directory, store) = filled();
    let many = |store: &Store| {
        store.read(|snapshot| snapshot.query::<Row>().filter(|row| row.id.is_in(0..100_000)).all())
    };
    let deep = |store: &Store| {
        let id = Row::COLUMNS.id;
        let condition = (1..40_000).fold(id.eq(0), |condition, other| condition.or(id.eq(other)));
        store.read(|snapshot| snapshot.query::<Row>().filter(|_| condition).all())
    };
    for error in [many(&store), deep(&store)].map(|result| result.expect_err("it is too big")) {
        assert_eq!(error.kind(), ErrorKind::TooBig);
        assert!(error.to_string().len() < 600, "{error}");
    }
    let most = store.read(|snapshot| snapshot.query::<Row>().filter(|row| row.id.is_in(0..32_766)).count());
    assert_eq!(most.expect("it is asked"), 50);
    let by_pages =
        store.read(|snapshot| snapshot.query::<Row>().filter(|row| row.large.is_in(0..100_000)).count());
    assert_eq!(by_pages.expect("it is asked"), 50);
}

/// A list was walked for each row: this took a billion comparisons.
#[test]
fn a_long_list_is_looked_up_on_pages_and_in_live_queries() {
    const ROWS: i64 = 20_000;
    let (_directory, store) = opened();
    store.insert_all(&(0..ROWS).map(row).collect::<Vec<_>>()).expect("they go in");
    let every_third = || (0..2 * ROWS).filter(|at| at % 3 == 0).map(|at| format!("w{at}"));
    let expected: Vec<i64> = (0..ROWS).filter(|id| id % 3 == 0).collect();
    let ids = |rows: Vec<Row>| rows.iter().map(|row| row.id).collect::<Vec<_>>();
    let query =
        |snapshot: &Snapshot| snapshot.query::<Row>().filter(|row| row.word.is_in(every_third())).all();
    let explained = store.read(|snapshot| {
        snapshot.query::<Row>().filter(|row| row.word.is_in(every_third().take(9))).explain()
    });
    assert!(explained.expect("it is explained").by_pages);
    assert_eq!(ids(store.read(query).expect("they are read")), expected);
    let feed = store.feed().expect("it is there");
    let watched =
        feed.query::<Row>().filter(|row| row.word.is_in(every_third())).watch().expect("it is watched");
    assert_eq!(watched.results().len(), expected.len());
    store.put(&Row { word: "w1".into(), ..row(0) }).expect("it goes in");
    let batch = feed.next().expect("it is told").expect("the feed goes on");
    let results = batch.get(watched.id()).expect("it was changed").results::<Row>().expect("they are rows");
    assert_eq!(results.len(), expected.len() - 1);
}

/// A derive had asked of the record what it asked of the condition, so that of a plain record none could be cloned.
#[test]
fn conditions_are_cloned_and_shown_whatever_the_record_is() {
    #[derive(Record)]
    struct Plain {
        #[record(key)]
        id: i64,
    }
    let column = Plain::COLUMNS.id;
    let condition = column.eq(1).clone();
    assert_eq!(format!("{column:?}"), "Column(\"id\")");
    assert_eq!(format!("{condition:?}"), "Condition(Compare(0, Equal, Integer(1)))");
    assert_eq!(format!("{:?}", column.descending()), "Order { column: 0, descending: true }");
    let (_directory, store) = filled();
    assert!(format!("{store:?}").starts_with("Store { path: "), "{store:?}");
    let snapshot = store.snapshot().expect("it is readable");
    assert_eq!(snapshot.query::<Plain>().filter(|_| condition).count().expect("it is asked"), 0);
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Due {
    #[record(key)]
    id: i64,
    #[record(index)]
    due: i64,
    word: String,
}

fn dues() -> (tempfile::TempDir, Store) {
    let (directory, store) = opened();
    let due = |id| Due { id, due: id % 700 / 3, word: format!("a word of some length {id}") };
    store.insert_all(&(0..5_000).map(due).collect::<Vec<_>>()).expect("they go in");
    (directory, store)
}

/// The page after the last row that was shown was looked for among all rows.
#[test]
fn an_index_leads_to_the_page_after_a_key() {
    let (_directory, store) = dues();
    let snapshot = store.snapshot().expect("it is readable");
    let page = |after: &Due| {
        let (due, id) = (after.due, after.id);
        let query = snapshot.query::<Due>().order(|row| row.due.ascending()).limit(300);
        query.filter(move |row| row.due.gt(due).or(row.due.eq(due).and(row.id.gt(id))))
    };
    let mut all = snapshot.of::<Due>().all().expect("they are read");
    all.sort_by_key(|row| (row.due, row.id));
    let mut shown = vec![all[0].clone()];
    while let next @ [_, ..] = page(&shown[shown.len() - 1]).all().expect("it is read").as_slice() {
        shown.extend_from_slice(next);
    }
    assert_eq!(shown, all);
    let plan = page(&all[0]).explain().expect("it is explained").plan;
    assert_eq!(plan, ["SEARCH due USING INDEX due.due (due>?)"]);
}

/// What is denied was looked for among all rows, although an index leads to it.
#[test]
fn an_index_leads_to_what_a_denied_comparison_leaves() {
    let (_directory, store) = dues();
    let snapshot = store.snapshot().expect("it is readable");
    let query = || snapshot.query::<Due>().filter(|row| row.due.ge(10).or(row.due.lt(5)).not());
    assert_eq!(query().count().expect("it is counted"), query().all().expect("they are read").len() as u64);
    let is_so = |row: &Due| (5..10).contains(&row.due);
    let all = snapshot.of::<Due>().all().expect("they are read");
    assert_eq!(query().count().expect("it is counted"), all.iter().filter(|row| is_so(row)).count() as u64);
    let plan = query().explain().expect("it is explained").plan;
    assert_eq!(plan, ["SEARCH due USING INDEX due.due (due>? AND due<?)"]);
}

/// SQLite sorts what comes in its order where a column of the key is twice in it.
#[test]
fn rows_that_come_in_the_order_of_their_key_are_not_sorted() {
    #[derive(Record, Clone, Debug, PartialEq)]
    struct Version {
        #[record(key)]
        user: u64,
        #[record(key)]
        revision: u64,
        data: u64,
    }
    #[derive(Record)]
    struct Named {
        #[record(key)]
        name: String,
        #[record(index)]
        due: u64,
        data: u64,
    }
    let (_directory, store) = opened();
    let versions = (0..40).map(|at| Version { user: at % 4, revision: at / 4, data: at }).collect::<Vec<_>>();
    store.insert_all(&versions).expect("they go in");
    store.insert(&Named { name: "one".into(), due: 1, data: 1 }).expect("it goes in");
    let snapshot = store.snapshot().expect("it is readable");
    let later = || snapshot.query::<Version>().filter(|row| row.user.eq(2).and(row.revision.gt(6)));
    let up = || later().order(|row| row.revision.ascending()).limit(9);
    let down = || later().order(|row| row.revision.descending()).order(|row| row.user.ascending());
    let found = [7, 8, 9].map(|revision| Version { user: 2, revision, data: 4 * revision + 2 });
    assert_eq!(up().all().expect("they are read"), found);
    assert!(down().all().expect("they are read").iter().rev().eq(&found));
    let named = snapshot.query::<Named>().order(|row| row.name.descending());
    for explained in [up().explain(), down().explain(), named.explain()] {
        let explained = explained.expect("it is explained");
        assert!(explained.plan.iter().all(|line| !line.contains("ORDER BY")), "{explained:?}");
    }
    // The few rows that an index finds are sorted: a walk in the key's order, which SQLite takes else, passes all others.
    let due = snapshot.query::<Named>().filter(|row| row.due.gt(38)).order(|row| row.name.ascending());
    let sql = due.explain().expect("it is explained").sql.expect("a statement is run");
    assert!(sql.ends_with(r#"order by "name", "name""#), "{sql}");
}

/// In trees of either kind, and of several levels.
#[test]
fn rows_that_are_left_out_first_are_passed_over() {
    #[derive(Record, Clone, Debug, PartialEq)]
    struct Worded {
        #[record(key)]
        word: String,
    }
    let (_directory, store) = dues();
    let words: Vec<Worded> =
        (0..5_000).map(|at| Worded { word: format!("{at:04} {}", "word ".repeat(8)) }).collect();
    store.insert_all(&words).expect("they go in");
    let snapshot = store.snapshot().expect("it is readable");
    let dues = snapshot.of::<Due>().all().expect("they are read");
    for offset in [0, 1, 31, 100, 2_500, 4_999, 5_000, 5_001, u64::MAX] {
        let first = usize::try_from(offset).expect("it is a size").min(5_000);
        let by_number = || snapshot.query::<Due>().offset(offset);
        assert_eq!(by_number().all().expect("they are read"), dues[first..], "{offset}");
        let rows: Result<Vec<Due>> = by_number().limit(100).rows().expect("it begins").collect();
        assert_eq!(rows.expect("they are read"), dues[first..5_000.min(first + 100)], "{offset}");
        assert!(by_number().explain().expect("it is explained").by_pages);
        assert_eq!(
            snapshot.query::<Worded>().offset(offset).all().expect("they are read"),
            words[first..],
            "{offset}"
        );
    }
}
