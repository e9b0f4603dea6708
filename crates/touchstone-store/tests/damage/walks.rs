//! Trees and rows that SQLite finds corrupt on its way, or would walk for ever.

use crate::file::{File, PAGE};
use touchstone_store::{ErrorKind, Record, Result, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    #[record(key)]
    id: i64,
    title: Option<String>,
    rank: Option<i64>,
}

fn task(id: i64) -> Task {
    Task { id, title: Some(format!("task {id}")), rank: Some(300 + id % 7) }
}

fn tasks(count: i64) -> Vec<Task> {
    (0..count).map(task).collect()
}

/// How many rows SQLite's own statement sees, with the values of these columns; none where it calls the table corrupt.
fn by_sql(store: &Store, sql: &str) -> Option<usize> {
    let count = store.read(|snapshot| {
        snapshot.sql(|connection| {
            let mut statement = connection.prepare(sql)?;
            let width = statement.column_count();
            let mut rows = statement.query(())?;
            let mut count = 0;
            while let Some(row) = rows.next()? {
                (0..width).try_for_each(|at| row.get_ref(at).map(drop))?;
                count += 1;
            }
            Ok(count)
        })
    });
    match count {
        Ok(count) => Some(count),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
            None
        }
    }
}

/// That both say so: the statement, and every way to read the pages.
fn is_damaged(store: &Store) {
    assert_eq!(by_sql(store, "select * from task not indexed"), None);
    all_are_damaged(store);
}

fn all_are_damaged(store: &Store) {
    let is_damaged = |result: Result<usize>| assert_eq!(result.unwrap_err().kind(), ErrorKind::Damaged);
    is_damaged(store.all::<Task>().map(|all| all.len()));
    store
        .read(|snapshot| {
            let query = || snapshot.query::<Task>();
            is_damaged(snapshot.of::<Task>().each_view(|_| Ok(true)).map(|()| 0));
            is_damaged(query().rows()?.collect::<Result<Vec<_>>>().map(|all| all.len()));
            is_damaged(query().filter(|task| task.rank.ne(1)).all().map(|all| all.len()));
            is_damaged(query().filter(|task| task.title.contains("no such")).count().map(|_| 0));
            Ok(())
        })
        .expect("the snapshot is read");
}

/// 272 of 300 rows were an answer.
#[test]
fn a_page_without_cells_is_none_of_a_table_with_rows() {
    let mut file = File::of(&tasks(300));
    let leaf = file.of_kind(0x0d)[2];
    assert!(file.cells(leaf) > 3);
    file.page(leaf)[3..5].fill(0);
    is_damaged(&file.open());
}

/// An inner root without cells was followed to its last child, and the rest was lost without a word.
#[test]
fn a_root_without_cells_that_leads_to_a_child_is_damaged() {
    let mut file = File::of(&tasks(300));
    let root = file.root("task");
    assert_eq!(file.page(root)[0], 0x05);
    file.page(root)[3..5].fill(0);
    is_damaged(&file.open());
}

/// Rows of a table without numbers begin elsewhere: what was read was of other bytes.
#[test]
fn a_page_of_a_table_without_numbers_is_none_of_one_with_numbers() {
    for id in 1..9 {
        let mut file = File::of(&[task(id)]);
        let root = file.root("task");
        assert_eq!(file.page(root)[0], 0x0d);
        file.page(root)[0] = 0x0a;
        is_damaged(&file.open());
    }
}

#[test]
fn the_root_of_a_table_without_rows_has_no_cells() {
    let mut file = File::of(&tasks(1));
    let root = file.root("task");
    file.page(root)[3..5].fill(0);
    let store = file.open();
    assert_eq!(store.all::<Task>().expect("it is empty"), []);
    assert_eq!(by_sql(&store, "select * from task not indexed"), Some(0));
}

/// Cells that lie over each other were counted as many rows: no page has room for so many.
#[test]
fn a_page_with_more_cells_than_fit_is_damaged() {
    const CELLS: u8 = 100;
    let mut file = File::of(&tasks(1));
    let root = file.root("task");
    let page = file.page(root);
    let pointer = [page[8], page[9]];
    for cell in 0..usize::from(CELLS) {
        page[8 + 2 * cell..10 + 2 * cell].copy_from_slice(&pointer);
    }
    page[4] = CELLS;
    is_damaged(&file.open());
}

/// SQLite walks 20 levels, and 40 were walked here.
#[test]
fn a_tree_that_is_deeper_than_any_is_damaged() {
    const LEVELS: usize = 25;
    let mut file = File::of(&tasks(3000));
    let leaves = file.of_kind(0x0d);
    let mut last = leaves[0];
    for inner in &leaves[1..LEVELS] {
        // One cell, of a child and a bound, and the child after it.
        let mut page = [0; PAGE];
        page[..8].copy_from_slice(&[0x05, 0, 0, 0, 1, 1, 0xf0, 0]);
        page[8..12].copy_from_slice(&u32::try_from(last).expect("it is small").to_be_bytes());
        page[12..14].copy_from_slice(&0x1f0u16.to_be_bytes());
        page[0x1f0..0x1f4].copy_from_slice(&u32::try_from(leaves[0]).expect("it is small").to_be_bytes());
        file.page(*inner).copy_from_slice(&page);
        last = *inner;
    }
    let root = file.root("task");
    let page = file.page(last).to_vec();
    file.page(root).copy_from_slice(&page);
    is_damaged(&file.open());
}

/// A small file could have ten billion rows, which filled the memory.
#[test]
fn a_walk_ends_when_it_has_seen_as_many_pages_as_there_are() {
    let mut file = File::of(&tasks(20_000));
    let root = file.root("task");
    let inner: Vec<usize> = file.of_kind(0x05).into_iter().filter(|inner| *inner != root).collect();
    let leaf = file.of_kind(0x0d)[0];
    let wide = file.page(inner[0]).to_vec();
    assert!(file.cells(inner[0]) > 20);
    for number in &inner[..3] {
        file.page(*number).copy_from_slice(&wide);
    }
    for (from, to) in [(root, inner[0]), (inner[0], inner[1]), (inner[1], inner[2]), (inner[2], leaf)] {
        file.lead(from, to);
    }
    let rows_max = file.pages() * file.cells(leaf);
    let store = file.open();
    let mut rows = 0;
    let walked = store.read(|snapshot| {
        snapshot.of::<Task>().each_view(|_| {
            rows += 1;
            assert!(rows <= rows_max, "no file of {} pages has so many rows", file.pages());
            Ok(true)
        })
    });
    assert_eq!(walked.unwrap_err().kind(), ErrorKind::Damaged);
    all_are_damaged(&store);
}

/// A row of a few hundred kilobytes in a file of a few pages was read around a circle. SQLite reads it, too.
#[test]
fn a_row_that_is_longer_than_its_file_is_damaged() {
    let long = Task { title: Some("x".repeat(400_000)), ..task(1) };
    let mut file = File::of(&[long]);
    let root = file.root("task");
    assert_eq!((file.page(root)[0], root), (0x0d, 2));
    // The chain's first page leads to itself, and the others are gone.
    file.bytes.truncate(3 * PAGE);
    file.page(3)[..4].copy_from_slice(&3u32.to_be_bytes());
    file.bytes[28..32].copy_from_slice(&3u32.to_be_bytes());
    let error = file.open().all::<Task>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
}

/// A row without any value was read as one whose columns were all added later.
#[test]
fn a_row_without_values_is_damaged() {
    let mut file = File::of(&[task(1)]);
    // The length, the row's number, and the header: three types.
    let cell = file.find(b"task 1") - 6;
    assert_eq!(file.bytes[cell + 1..cell + 4], [1, 4, 0]);
    (file.bytes[cell], file.bytes[cell + 2]) = (1, 1);
    is_damaged(&file.open());
}

/// A condition on the last column did not see that the row goes on after it, and said that it is none of those sought.
#[test]
fn a_condition_on_the_last_value_sees_what_follows_it() {
    let mut file = File::of(&[task(1), task(2)]);
    let cell = file.find(b"task 2") - 6;
    assert_eq!(file.bytes[cell + 1..cell + 4], [2, 4, 0]);
    file.bytes[cell] += 1;
    let store = file.open();
    assert_eq!(by_sql(&store, "select id from task not indexed where rank = 4"), None);
    let counted = store.read(|snapshot| snapshot.query::<Task>().filter(|task| task.rank.eq(4)).count());
    assert_eq!(counted.unwrap_err().kind(), ErrorKind::Damaged);
}
