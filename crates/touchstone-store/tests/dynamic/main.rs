//! Types that are made at run time: what they write is what a struct of that shape reads, and the other way round; and
//! what they are given that is not theirs is refused.

use touchstone_store::dynamic::{Dynamic, Field, Key, Type, Value};
use touchstone_store::{Begun, ErrorKind, Kind, Record, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    book: String,
    #[record(key)]
    page: u32,
    #[record(index)]
    weight: f64,
    body: Option<Vec<u8>>,
    #[record(unique)]
    slug: Option<String>,
    #[record(default = 3)]
    stars: i64,
    done: bool,
}

fn note() -> Type {
    let fields = [
        Field::key("book", Kind::Text),
        Field::new("weight", Kind::Real).index(),
        Field::new("body", Kind::Blob).nullable(),
        Field::new("slug", Kind::Text).nullable().unique(),
        Field::key("page", Kind::Integer),
        Field::new("stars", Kind::Integer).default(3),
        Field::new("done", Kind::Integer),
    ];
    Type::new("note", fields).expect("it is a type")
}

fn typed(page: u32) -> Note {
    Note {
        book: format!("book {}", page % 3),
        page,
        weight: f64::from(page) / 2.0,
        body: page.is_multiple_of(2).then(|| vec![1, 2, 3]),
        slug: (!page.is_multiple_of(5)).then(|| format!("slug {page}")),
        stars: i64::from(page % 5),
        done: page.is_multiple_of(7),
    }
}

fn untyped(page: u32) -> Dynamic {
    let Note { book, page, weight, body, slug, stars, done } = typed(page);
    let values = [
        book.into(),
        i64::from(page).into(),
        weight.into(),
        body.into(),
        slug.into(),
        stars.into(),
        done.into(),
    ];
    note().record(values).expect("it is a note")
}

fn open(directory: &tempfile::TempDir) -> Store {
    Store::open(directory.path().join("notes.db")).expect("it opens")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room")
}

fn kind<T>(result: touchstone_store::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn what_the_one_writes_the_other_reads() {
    let directory = folder();
    let store = open(&directory);
    store.insert_all(&(0..40).map(typed).collect::<Vec<_>>()).expect("typed");
    store.dynamic(note()).insert_all(&(40..80).map(untyped).collect::<Vec<_>>()).expect("untyped");
    store.dynamic(note()).insert(&untyped(80)).expect("one by one");
    store.insert(&typed(81)).expect("one by one");
    let mut records = store.all::<Note>().expect("typed");
    records.sort_by_key(|note| note.page);
    assert_eq!(records, (0..82).map(typed).collect::<Vec<_>>());
    let mut records = store.dynamic(note()).all().expect("untyped");
    records.sort_by_key(|note| match note.values()[1] {
        Value::Integer(page) => page,
        _ => unreachable!(),
    });
    assert_eq!(records, (0..82).map(untyped).collect::<Vec<_>>());
    for page in 0..82 {
        let Note { book, page, .. } = typed(page);
        let key = Key::new([book.into(), i64::from(page).into()]);
        assert_eq!(store.dynamic(note()).get(&key).expect("it is read"), Some(untyped(page)));
    }
    let report = store.check().records::<Note>().dynamic(note()).run().expect("it is checked");
    assert_eq!((report.is_whole(), report.records()), (true, 164));
}

#[test]
fn they_find_the_same() {
    let directory = folder();
    let store = open(&directory);
    store.insert_all(&(0..100).map(typed).collect::<Vec<_>>()).expect("typed");
    let column = |name: &str| note().column(name).expect("it has the column");
    let typed_columns = Note::COLUMNS;
    let pairs = [
        (typed_columns.weight.lt(9.0), column("weight").lt(9.0)),
        (typed_columns.weight.ge(9.0), column("weight").ge(9)),
        (typed_columns.stars.eq(3), column("stars").eq(3)),
        (typed_columns.slug.starts_with("slug 1"), column("slug").starts_with("slug 1")),
        (typed_columns.book.contains("1"), column("book").contains("1")),
        (typed_columns.slug.is_null(), Ok(column("slug").is_null())),
        (typed_columns.page.between(3_u32, 30_u32), column("page").between(3, 30)),
        (typed_columns.page.is_in([3_u32, 5]), column("page").is_in([3.into(), 5.into()])),
        (
            typed_columns.done.eq(true).or(typed_columns.body.is_null()).not(),
            column("done").eq(true).map(|done| done.or(column("body").is_null()).not()),
        ),
    ];
    let snapshot = store.snapshot().expect("it is there");
    for (ours, theirs) in pairs {
        let ours = snapshot.query::<Note>().filter(|_| ours).order(|note| note.weight.descending());
        let theirs = theirs.expect("they can be compared");
        let theirs = snapshot.dynamic(note()).query().filter(|()| theirs);
        let theirs = theirs.order(|()| column("weight").descending());
        let pages: Vec<u32> = ours.all().expect("found").iter().map(|note| note.page).collect();
        assert!(!pages.is_empty());
        let found = theirs.all().expect("found");
        assert_eq!(found, pages.into_iter().map(untyped).collect::<Vec<_>>());
    }
}

#[test]
fn defaults_stand_for_what_a_row_lacks() {
    #[derive(Record)]
    #[record(name = "note")]
    struct Before {
        #[record(key)]
        id: i64,
    }
    let directory = folder();
    let store = open(&directory);
    store.insert(&Before { id: 1 }).expect("it is written");
    let now = Type::new(
        "note",
        [
            Field::key("id", Kind::Integer),
            Field::new("stars", Kind::Integer).default(3),
            Field::new("text", Kind::Text).nullable(),
        ],
    )
    .expect("it is a type");
    let expected = now.record([1.into(), 3.into(), Value::Null]).expect("it is one");
    assert_eq!(store.dynamic(now).all().expect("read"), std::slice::from_ref(&expected));
    store.dynamic(now).put(&now.record([2.into(), 1.into(), "two".into()]).expect("it is one")).expect("put");
    let stars = now.column("stars").expect("it has stars");
    let snapshot = store.snapshot().expect("it is there");
    let three = stars.eq(3).expect("a number");
    assert_eq!(
        snapshot.dynamic(now).query().filter(|()| three).all().expect("found"),
        std::slice::from_ref(&expected)
    );
    let first = snapshot.dynamic(now).query().order(|()| stars.descending()).first();
    assert_eq!(first.expect("found"), Some(expected));
    let lacking = Type::new("note", [Field::key("id", Kind::Integer), Field::new("more", Kind::Blob)]);
    let lacking = lacking.expect("it is a type");
    assert_eq!(kind(snapshot.dynamic(lacking).all()), Some(ErrorKind::Mismatch));
}

#[test]
fn a_record_of_another_type_is_refused() {
    let directory = folder();
    let store = open(&directory);
    let one = Type::new("one", [Field::key("id", Kind::Integer)]).expect("it is a type");
    let two = Type::new("two", [Field::key("id", Kind::Integer)]).expect("it is a type");
    let record = two.record([1.into()]).expect("it is one");
    assert_eq!(kind(store.dynamic(one).insert(&record)), Some(ErrorKind::Invalid));
    assert_eq!(kind(store.dynamic(one).put_all([&record])), Some(ErrorKind::Invalid));
    assert_eq!(kind(store.insert(&record)), Some(ErrorKind::Invalid), "it has a type of its own");
    assert_eq!(kind(store.all::<Dynamic>()), Some(ErrorKind::Invalid));
    assert_eq!(
        kind(store.dynamic(one).get(&Key::new([]))).or(Some(ErrorKind::Invalid)),
        Some(ErrorKind::Invalid)
    );
}

#[test]
fn what_is_no_type_is_refused() {
    let key = || Field::key("id", Kind::Integer);
    let wrong: [(&str, Vec<Field>); 12] = [
        ("1st", vec![key()]),
        ("sqlite_x", vec![key()]),
        ("Touchstone", vec![key()]),
        ("a_in_collections", vec![key()]),
        ("none", vec![]),
        ("keyless", vec![Field::new("id", Kind::Integer)]),
        ("twice", vec![key(), Field::new("ID", Kind::Text)]),
        ("hidden", vec![key(), Field::new("rowid", Kind::Text)]),
        ("null", vec![Field::key("id", Kind::Text).nullable()]),
        ("real", vec![Field::key("id", Kind::Real)]),
        ("both", vec![key(), Field::new("stars", Kind::Integer).nullable().default(3)]),
        ("kinds", vec![key(), Field::new("stars", Kind::Integer).default("three")]),
    ];
    for (name, fields) in wrong {
        assert_eq!(kind(Type::new(name, fields)), Some(ErrorKind::Invalid), "{name}");
    }
}

/// The program ended, where a record and a key of another type are refused.
#[test]
fn a_condition_or_an_order_of_another_type_is_refused() {
    let directory = folder();
    let store = open(&directory);
    let other = Type::new("other", [Field::key("page", Kind::Integer)]).expect("it is a type");
    let column = other.column("page").expect("it has one");
    let condition = || column.eq(1).expect("a number");
    let own = || note().column("page").expect("it has one").eq(1).expect("a number");
    // A table that is not there yet is asked no less.
    for is_there in [false, true] {
        if is_there {
            store.dynamic(note()).insert(&untyped(1)).expect("it is written");
        }
        let snapshot = store.snapshot().expect("it is there");
        let feed = store.feed().expect("it begins");
        let query = || snapshot.dynamic(note()).query();
        let refused = [
            query().filter(|()| condition()).count().map(drop),
            query().filter(|()| condition()).all().map(drop),
            query().filter(|()| condition()).first().map(drop),
            query().filter(|()| condition()).rows().map(drop),
            query().filter(|()| condition()).explain().map(drop),
            query().filter(|()| condition()).filter(|()| own()).count().map(drop),
            query().filter(|()| own().or(condition().not())).count().map(drop),
            query().filter(|()| condition().and(own())).count().map(drop),
            query().order(|()| column.ascending()).all().map(drop),
            query().order(|()| column.ascending()).limit(0).each(|_| Ok(true)),
            feed.dynamic(note()).filter(|()| condition()).watch().map(drop),
            feed.dynamic(note()).order(|()| column.descending()).watch().map(drop),
            feed.watch_all([feed.dynamic(note()), feed.dynamic(other)]).map(drop),
            store.write(|transaction| transaction.dynamic(note()).remove_where(|()| condition()).map(drop)),
        ];
        for (number, refused) in refused.into_iter().enumerate() {
            let error = refused.expect_err("it is of another type");
            assert_eq!(error.kind(), ErrorKind::Invalid, "{number}: {error}");
            let words = error.to_string();
            assert!(words.contains("`other`") && words.contains("`note`"), "{number}: {error}");
        }
        assert_eq!(query().filter(|()| own()).count().expect("it is its own"), u64::from(is_there));
    }
}

#[test]
fn collections_hold_them_too() {
    let directory = folder();
    let store = open(&directory);
    store
        .write(|transaction| {
            transaction.dynamic_collection(note(), "attic")?.insert_all(&[untyped(1), untyped(2)])
        })
        .expect("it is written");
    let snapshot = store.snapshot().expect("it is there");
    assert_eq!(
        snapshot.collection::<Note>("attic").expect("it is there").all().expect("read"),
        [typed(1), typed(2)]
    );
    assert_eq!(
        snapshot.dynamic_collection(note(), "attic").expect("it is there").count().expect("counted"),
        2
    );
    assert_eq!(snapshot.dynamic(note()).count().expect("counted"), 0);
}

/// Every way in which a transaction without a closure ends leaves the writer to the next one.
#[test]
fn a_transaction_without_a_closure_is_whole() {
    let directory = folder();
    let store = open(&directory);
    let insert = |begun: &mut Begun, page| begun.with(|transaction| transaction.insert(&typed(page)));
    let pages = || {
        let mut pages: Vec<u32> = store.all::<Note>().expect("read").iter().map(|note| note.page).collect();
        pages.sort_unstable();
        pages
    };
    let mut begun = store.begin().expect("it begins");
    insert(&mut begun, 1).expect("inserted");
    assert_eq!(pages(), [] as [u32; 0], "nothing is seen before the commit");
    begun.commit().expect("committed");
    let mut begun = store.begin().expect("it begins");
    insert(&mut begun, 2).expect("inserted");
    assert_eq!(kind(store.insert(&typed(3))), Some(ErrorKind::Nested));
    drop(begun);
    assert_eq!(pages(), [1]);

    let mut begun = store.begin().expect("it begins");
    let outer = begun.savepoint().expect("it begins");
    insert(&mut begun, 4).expect("inserted");
    let inner = begun.savepoint().expect("it begins");
    insert(&mut begun, 5).expect("inserted");
    begun.undo(inner).expect("undone");
    begun.release(outer).expect("kept");
    let outer = begun.savepoint().expect("it begins");
    let inner = begun.savepoint().expect("it begins");
    insert(&mut begun, 6).expect("inserted");
    begun.release(outer).expect("kept, with what is within");
    assert_eq!(kind(begun.release(inner)), Some(ErrorKind::Invalid), "it has ended already");
    // Another thread goes on with it.
    std::thread::scope(|scope| scope.spawn(move || begun.commit()).join().expect("no panic"))
        .expect("committed");
    assert_eq!(pages(), [1, 4, 6]);

    let mut begun = store.begin().expect("it begins");
    let again = |sql: &rusqlite::Connection| {
        let ended = sql.execute_batch("insert or rollback into note select * from note");
        ended.map(|()| panic!("they are there")).or(Ok(()))
    };
    begun.with(|transaction| transaction.sql(again)).expect("it is raw SQL");
    assert_eq!(kind(begun.savepoint()), Some(ErrorKind::Refused));
    assert_eq!(kind(begun.commit()), Some(ErrorKind::Refused));
    let mut begun = store.begin().expect("it begins");
    begun
        .with(|transaction| {
            transaction.durable();
            transaction.insert(&typed(7))
        })
        .expect("inserted");
    begun.commit().expect("committed");
    assert_eq!((pages(), store.flushes()), (vec![1, 4, 6, 7], 1));
}

/// A part that had ended undid another one, where as many had begun since, and so did a part of another transaction.
#[test]
fn a_part_that_has_ended_is_not_taken_for_another() {
    let (directory, other) = (folder(), folder());
    let (store, other) = (open(&directory), open(&other));
    let (mut begun, mut elsewhere) = (store.begin().expect("begins"), other.begin().expect("begins"));
    let insert = |begun: &mut Begun, page| begun.with(|transaction| transaction.insert(&typed(page)));
    let begin = |begun: &mut Begun| begun.savepoint().expect("it begins");
    let (first, second) = (begin(&mut begun), begin(&mut begun));
    let of_other = [begin(&mut elsewhere), begin(&mut elsewhere)];
    begun.release(first).expect("kept, with what is within");
    insert(&mut begun, 1).expect("inserted");
    let (third, fourth) = (begin(&mut begun), begin(&mut begun));
    insert(&mut begun, 2).expect("inserted");
    for ended in std::iter::once(second).chain(of_other) {
        let refused = begun.undo(ended).expect_err("it has ended already, or is not of this transaction");
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("the savepoint has ended already"), "{refused}");
    }
    begun.release(fourth).expect("kept");
    begun.release(third).expect("kept");
    begun.commit().expect("committed");
    assert_eq!(store.all::<Note>().expect("read").len(), 2);
}

#[test]
fn threads_wait_for_a_transaction_without_a_closure() {
    let directory = folder();
    let store = open(&directory);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = store.clone();
            scope.spawn(move || {
                for at in 0..25 {
                    let mut begun = store.begin().expect("it begins");
                    let count = begun.with(|transaction| transaction.of::<Note>().count()).expect("counted");
                    let page = thread * 25 + at;
                    begun.with(|transaction| transaction.insert(&typed(page))).expect("inserted");
                    let now = begun.with(|transaction| transaction.of::<Note>().count()).expect("counted");
                    assert_eq!(now, count + 1, "nobody else writes");
                    if at % 5 == 0 { drop(begun) } else { begun.commit().expect("committed") }
                }
            });
        }
    });
    assert_eq!(store.all::<Note>().expect("read").len(), 80);
}

/// Whoever went on with it waited for itself, and who had begun it was told that it would.
#[test]
fn a_transaction_without_a_closure_is_of_the_thread_that_uses_it() {
    let directory = folder();
    let store = open(&directory);
    let mut begun = store.begin().expect("it begins");
    let (used, uses) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let of_thread = &store;
        scope.spawn(move || {
            begun.with(|transaction| transaction.insert(&typed(1))).expect("inserted");
            assert_eq!(kind(of_thread.insert(&typed(2))), Some(ErrorKind::Nested));
            used.send(()).expect("it is waited for");
            begun.commit().expect("committed");
        });
        uses.recv().expect("it is used");
        store.insert(&typed(3)).expect("it waits for its turn");
    });
    assert_eq!(store.all::<Note>().expect("read").len(), 2);
}
