//! Rows that go on in other pages: no more of these are read than what was asked for lies in. The pages are counted, as
//! SQLite's pager was asked for them.

use libsqlite3_sys as ffi;
use touchstone_store::{Record, Result, Snapshot, Store};

#[path = "place/mod.rs"]
mod place;

const ROWS: i64 = 20;
/// A body goes on in so many pages of 4,096 bytes.
const BODY_PAGES: usize = 25;

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "attachment")]
struct Attachment {
    #[record(key)]
    id: i64,
    name: String,
    size: i64,
    body: Vec<u8>,
    note: Option<String>,
}

/// The same table, without what is large.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "attachment")]
struct AttachmentInfo {
    #[record(key)]
    id: i64,
    name: String,
    size: i64,
}

/// The same table in another order, and without its last column.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "attachment")]
struct AttachmentSize {
    #[record(key)]
    id: i64,
    size: i64,
    name: String,
}

fn attachments() -> Vec<Attachment> {
    (0..ROWS)
        .map(|id| Attachment {
            id,
            name: format!("photo {id}"),
            size: id % 5,
            body: vec![7; BODY_PAGES * 4092],
            note: (id == 3).then(|| "the cake".to_owned()),
        })
        .collect()
}

/// How many pages the pager was asked for so far.
fn pages(snapshot: &Snapshot) -> usize {
    let count = |what| {
        snapshot.sql(|sql| {
            let (mut now, mut most) = (0, 0);
            // SAFETY: the connection is open, and the two numbers are there.
            let code = unsafe { ffi::sqlite3_db_status(sql.handle(), what, &raw mut now, &raw mut most, 0) };
            assert_eq!(code, ffi::SQLITE_OK);
            Ok(usize::try_from(now).expect("it is a count"))
        })
    };
    let asked = [ffi::SQLITE_DBSTATUS_CACHE_HIT, ffi::SQLITE_DBSTATUS_CACHE_MISS].map(count);
    asked.into_iter().map(|count| count.expect("the snapshot is read")).sum()
}

/// How many pages it takes to read something, when the table is known already.
fn pages_of<R>(snapshot: &Snapshot, read: impl Fn(&Snapshot) -> Result<R>) -> usize {
    read(snapshot).expect("it is read");
    let before = pages(snapshot);
    read(snapshot).expect("it is read again");
    let after = pages(snapshot);
    let nothing = pages(snapshot) - after;
    after - before - nothing
}

#[test]
fn a_projection_reads_no_page_that_it_was_not_asked_for() {
    let place = place::place();
    let store = place.open();
    store.insert_all(&attachments()).expect("they go in");
    let snapshot = store.snapshot().expect("it is taken");
    let of_all = pages_of(&snapshot, |snapshot| snapshot.of::<Attachment>().all());
    let bodies = usize::try_from(ROWS).expect("they are few") * BODY_PAGES;
    assert!((bodies..bodies + 20).contains(&of_all), "{of_all} pages, and {bodies} of them are bodies");
    let few = |what: &str, pages: usize| assert!(pages < 20, "{what}: {pages} pages of {of_all}");
    few("all of a projection", pages_of(&snapshot, |snapshot| snapshot.of::<AttachmentInfo>().all()));
    few("of another order", pages_of(&snapshot, |snapshot| snapshot.of::<AttachmentSize>().all()));
    few("views", pages_of(&snapshot, |snapshot| snapshot.of::<AttachmentInfo>().each_view(|_| Ok(true))));
    few(
        "rows",
        pages_of(&snapshot, |snapshot| {
            snapshot.query::<AttachmentInfo>().rows()?.collect::<Result<Vec<_>>>()
        }),
    );
    few(
        "a filter",
        pages_of(&snapshot, |snapshot| snapshot.query::<AttachmentInfo>().filter(|row| row.size.eq(2)).all()),
    );
}

#[test]
fn a_row_that_is_not_wanted_is_read_no_further_than_its_condition() {
    let place = place::place();
    let store = place.open();
    store.insert_all(&attachments()).expect("they go in");
    let snapshot = store.snapshot().expect("it is taken");
    let one = pages_of(&snapshot, |snapshot| {
        snapshot.query::<Attachment>().filter(|row| row.name.eq("photo 7")).all()
    });
    assert!(
        (BODY_PAGES..BODY_PAGES + 20).contains(&one),
        "{one} pages, and {BODY_PAGES} of them are the body"
    );
    let none =
        pages_of(&snapshot, |snapshot| snapshot.query::<Attachment>().filter(|row| row.size.gt(2)).count());
    assert!(none < 20, "{none} pages to count by a number");
}

/// What lies before the end of a long row is what it was, whichever columns a type asks for.
#[test]
fn what_is_read_of_a_long_row_is_what_was_written() {
    let place = place::place();
    let store = place.open();
    store.insert_all(&attachments()).expect("they go in");
    assert_eq!(store.all::<Attachment>().expect("they are read"), attachments());
    let infos: Vec<AttachmentInfo> = attachments()
        .into_iter()
        .map(|Attachment { id, name, size, .. }| AttachmentInfo { id, name, size })
        .collect();
    assert_eq!(store.all::<AttachmentInfo>().expect("they are read"), infos);
    let sizes = store.all::<AttachmentSize>().expect("they are read");
    assert!(sizes.iter().zip(&infos).all(|(one, other)| (one.size, &one.name) == (other.size, &other.name)));
    let noted = by_note(&store, "the cake");
    assert_eq!(noted, attachments()[3..4], "a condition on what lies after the body");
}

fn by_note(store: &Store, note: &str) -> Vec<Attachment> {
    let noted = store.read(|snapshot| snapshot.query::<Attachment>().filter(|row| row.note.eq(note)).all());
    noted.expect("they are read")
}
