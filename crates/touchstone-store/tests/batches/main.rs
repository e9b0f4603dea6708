//! Batches keep the keys that their records have, and what is written meets the triggers that it should.

use touchstone_store::{ErrorKind, Record, Store};

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

#[derive(Record, Clone, Debug, PartialEq)]
struct Person {
    #[record(key)]
    id: i64,
    #[record(unique)]
    mail: Option<String>,
    height: f64,
}

fn person(id: i64, mail: &str) -> Person {
    Person { id, mail: Some(mail.into()), height: 1.5 }
}

/// A record that was refused was told by its place among the sorted ones, and one that conflicted not at all.
#[test]
fn a_failure_names_the_record_that_it_is_about() {
    let directory = tempfile::tempdir().expect("there is room");
    let store = Store::open(directory.path().join("people.db")).expect("it opens");
    store.insert(&person(5, "ada")).expect("it goes in");
    let refused = Person { height: f64::NAN, ..person(3, "eve") };
    let error = store.put_all(&[person(9, "bob"), refused, person(1, "joe")]).expect_err("it has a NaN");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().starts_with("person 3: field `height`"), "{error}");
    let batch = [person(9, "bob"), person(4, "ada"), person(1, "joe")];
    let error = store.put_all(&batch).expect_err("somebody has that address");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().starts_with("person 4: "), "{error}");
    assert!(error.to_string().contains("person.mail"), "{error}");
    let named = store.write(|transaction| transaction.collection::<Person>("a")?.insert_all(&batch[..2]));
    assert_eq!(named.expect("there is nobody else"), 2);
    let named = store.write(|transaction| transaction.collection::<Person>("a")?.insert_all(&batch[1..]));
    let error = named.expect_err("there is one of them");
    assert!(error.to_string().starts_with("person 4: "), "{error}");
}

/// Those that were there already were not counted where a type is nothing but its key, and were where it is more.
#[test]
fn a_batch_counts_what_it_was_given() {
    #[derive(Record)]
    struct Word {
        #[record(key)]
        text: String,
    }
    let directory = tempfile::tempdir().expect("there is room");
    let store = Store::open(directory.path().join("words.db")).expect("it opens");
    let words = ["b", "a", "b"].map(|text| Word { text: text.into() });
    assert_eq!(store.put_all(&words).expect("they go in"), 3);
    assert_eq!(store.put_all(&words).expect("they are there"), 3);
    assert_eq!(store.put_all(&[person(1, "a"), person(1, "b")]).expect("they go in"), 2);
    assert_eq!(store.insert_all(&[person(2, "a")]).expect("it goes in"), 1);
    let replaced = store.write(|transaction| transaction.replace_all(&words[1..]));
    assert_eq!(replaced.expect("they are there"), 2);
}

/// Of the table of people, without the index.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "person")]
struct Someone {
    #[record(key)]
    id: i64,
    mail: String,
}

fn someone(id: i64) -> Someone {
    Someone { id, mail: id.to_string() }
}

/// The number that goes on from the greatest was left out for SQLite to find, which found another where a trigger, or a
/// conflict that is ignored, left a row out, or added some: records got keys that were others'.
#[test]
fn what_the_file_does_by_itself_changes_no_keys() {
    const DOINGS: [&str; 4] = [
        "create trigger quiet before insert on person when new.mail = '3' begin select raise(ignore); end",
        "create trigger more after insert on person when new.mail <> 'more' begin \
            insert into person values (new.id + 1000, 'more'); end",
        "create temp trigger fewer after insert on person when new.mail = '3' begin \
            delete from person where id = 3; end",
        "drop table person; create table person (id integer primary key, mail text unique on conflict ignore) strict; \
            insert into person values (-7, '3')",
    ];
    for (does, puts) in DOINGS.iter().flat_map(|does| [(does, false), (does, true)]) {
        let directory = tempfile::tempdir().expect("there is room");
        let store = Store::open(directory.path().join("people.db")).expect("it opens");
        store.insert(&someone(-1)).expect("it is written");
        let done = store.write(|transaction| {
            transaction.sql(|sql| sql.execute_batch(does))?;
            let people: Vec<Someone> = (0..9).map(someone).collect();
            if puts { transaction.put_all(&people) } else { transaction.insert_all(&people) }
        });
        done.expect("it is written");
        let found = store.all::<Someone>().expect("it is readable");
        let given: Vec<Someone> = (0..9).filter(|id| *id != 3).map(someone).collect();
        assert!(given.iter().all(|given| found.contains(given)), "{does}: {found:?}");
    }
}

/// A record that is changed was put over itself: the triggers of inserts ran, too.
#[test]
fn an_update_runs_no_trigger_of_inserts() {
    let directory = tempfile::tempdir().expect("there is room");
    let store = Store::open(directory.path().join("people.db")).expect("it opens");
    store.insert(&person(1, "1")).expect("it goes in");
    let triggers = "create table log (what text);
        create trigger inserted before insert on person begin insert into log values ('insert'); end;
        create trigger updated before update on person begin insert into log values ('update'); end;";
    let told = store.write(|transaction| {
        transaction.sql(|sql| sql.execute_batch(triggers))?;
        assert!(transaction.update::<Person>(&1, |person| person.height = 1.75)?);
        transaction
            .sql(|sql| sql.query_row("select group_concat(what) from log", (), |row| row.get::<_, String>(0)))
    });
    assert_eq!(told.expect("it is written"), "update");
    let person = store.get::<Person>(&1).expect("it is readable").expect("it is there");
    assert_eq!((person.mail.as_deref(), person.height), (Some("1"), 1.75));
}
