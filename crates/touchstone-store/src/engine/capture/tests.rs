//! The hook reports at least the rows that change: the tables before and after are compared.

use super::*;
use crate::types::options::Options;
use proptest::prelude::*;
use rusqlite::types::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A key, written out: `1`, `'a'`, `x'00'`, with commas between.
type Shown = String;

/// The tables for which reports are wanted, with the columns of their keys.
const TABLES: [(&str, &[c_int]); 6] = [
    ("note", &[]),
    ("audit", &[]),
    ("child", &[]),
    // The key is not declared first, nor in the order of its columns.
    ("word", &[3, 1]),
    ("Named", &[0]),
    ("tag", &[0]),
];

const SCHEMA: &str = "
    pragma synchronous = off; pragma journal_mode = memory; pragma foreign_keys = on;
    create table note (id integer primary key, name text unique, size integer, body blob) strict;
    create table audit (near integer as (at + 1), at integer primary key, what text);
    create table child (id integer primary key, note integer references note on delete cascade on update cascade);
    create table word (size integer, number integer, twice integer as (number * 2) virtual, word text, primary key (word, number)) without rowid;
    create table Named (id text primary key not null, size integer, body blob) strict;
    create table tag (id real primary key, size integer) without rowid;
    create table unasked (id integer primary key, size integer);
    create trigger noted after update of size on note begin
        insert into audit (what) values (old.name);
        update word set size = new.size where number = new.id;
    end;
    create trigger emptied after delete on child begin delete from audit; end;";

/// The keys that the hook reported, by table, and the names of tables.
#[derive(Default)]
struct Told {
    tables: Vec<&'static str>,
    named: Vec<String>,
    keys: BTreeSet<(&'static str, Shown)>,
    order: Vec<(&'static str, Operation, Shown)>,
}

impl Sink for Told {
    fn table(&mut self, name: &str) -> Option<TableReport> {
        self.named.push(name.to_owned());
        let (name, key) = TABLES.iter().find(|(known, _)| *known == name)?;
        self.tables.push(name);
        Some(TableReport { table: self.tables.len() - 1, key: Arc::from(*key) })
    }

    fn change(&mut self, change: &HookedRow<'_>) {
        let table = self.tables[change.table];
        let keys: Vec<Shown> = [change.before(), change.after()].into_iter().flatten().map(shown).collect();
        self.order.push((table, change.operation, keys.join(" to ")));
        self.keys.extend(keys.into_iter().map(|key| (table, key)));
    }
}

fn shown(key: Key<'_>) -> Shown {
    if key.change.key.is_empty() {
        return key.number().to_string();
    }
    let parts: Vec<String> = key
        .values()
        .map(|value| match value {
            Raw::Integer(value) => value.to_string(),
            Raw::Real(value) => format!("{value:?}"),
            Raw::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
            Raw::Blob(bytes) => format!("x'{bytes:02x?}'"),
            Raw::Null | Raw::Absent => "null".to_owned(),
        })
        .collect();
    parts.join(", ")
}

struct Place {
    connection: Connection,
    _directory: tempfile::TempDir,
}

fn place() -> Place {
    let directory = tempfile::tempdir().expect("there is room");
    let connection = Connection::open(&directory.path().join("a.db"), &Options::new()).expect("it opens");
    connection.sql().execute_batch(SCHEMA).expect("the schema is made");
    Place { connection, _directory: directory }
}

impl Place {
    /// All rows of these tables, by key.
    fn rows(&self) -> BTreeMap<(&'static str, Shown), Vec<Value>> {
        let mut all = BTreeMap::new();
        for (table, columns) in TABLES {
            let sql = self.connection.sql();
            let numbered = sql.prepare(&format!("select rowid, * from {table}"));
            let mut statement = numbered
                .or_else(|_| sql.prepare(&format!("select null, * from {table}")))
                .expect("it is there");
            let width = statement.column_count();
            let mut rows = statement.query(()).expect("it runs");
            while let Some(row) = rows.next().expect("it runs") {
                let values: Vec<Value> = (0..width).map(|at| row.get_unwrap(at)).collect();
                let keys: Vec<usize> = if columns.is_empty() {
                    vec![0]
                } else {
                    columns.iter().map(|at| *at as usize + 1).collect()
                };
                let key: Vec<String> = keys
                    .iter()
                    .map(|at| match &values[*at] {
                        Value::Integer(value) => value.to_string(),
                        Value::Real(value) => format!("{value:?}"),
                        Value::Text(text) => format!("'{text}'"),
                        other => format!("{other:?}"),
                    })
                    .collect();
                // If a table has a key of its own, the number of a row is not part of the row.
                let from = usize::from(!columns.is_empty());
                all.insert((table, key.join(", ")), values[from..].to_vec());
            }
        }
        all
    }

    /// The keys whose rows are different, new or gone after the work; and the hook's reports.
    fn changed(&self, work: impl FnOnce(&rusqlite::Connection)) -> (BTreeSet<(&'static str, Shown)>, Told) {
        let before = self.rows();
        let told = RefCell::new(Told::default());
        let ((), outcome) = while_captured(&self.connection, &told, || work(self.connection.sql()));
        outcome.expect("all can be told");
        let after = self.rows();
        let keys = before.keys().chain(after.keys());
        let changed = keys.filter(|key| before.get(key) != after.get(key)).cloned().collect();
        (changed, told.into_inner())
    }

    /// Runs SQL, of which statements may fail, and checks that its changes were reported. The reports, in order.
    fn run(&self, statements: &[&str]) -> Vec<(&'static str, Operation, Shown)> {
        let (changed, told) = self.changed(|sql| {
            for statement in statements {
                let _ = sql.execute_batch(statement);
            }
        });
        assert!(
            changed.is_subset(&told.keys),
            "{statements:?} changed {changed:?} and told {:?}",
            told.order
        );
        told.order
    }

    fn prepared(&self, statements: &[&str]) {
        for statement in statements {
            self.connection.sql().execute_batch(statement).expect("it runs");
        }
    }
}

use Operation::{Delete, Insert, Update};

fn told(table: &'static str, operation: Operation, key: &str) -> (&'static str, Operation, Shown) {
    (table, operation, key.to_owned())
}

#[test]
fn rows_are_told_with_the_key_that_they_had_and_the_key_that_they_have() {
    let place = place();
    let order = place.run(&[
        "insert into note (id, name) values (1, 'a')",
        "update note set name = 'b'",
        "update note set name = 'b'",
        "update note set id = 7",
        "delete from note where name = 'b'",
    ]);
    let expected = [(Insert, "1"), (Update, "1 to 1"), (Update, "1 to 1"), (Update, "1 to 7"), (Delete, "7")];
    assert_eq!(order, expected.map(|(operation, key)| told("note", operation, key)));
}

#[test]
fn a_replaced_row_is_told_also_where_another_column_was_in_conflict() {
    let place = place();
    place.prepared(&["insert into note (id, name) values (1, 'a'), (2, 'b')"]);
    let order = place.run(&["replace into note (id, name) values (10, 'b')"]);
    assert_eq!(order, [told("note", Delete, "2"), told("note", Insert, "10")]);
    let order = place.run(&["update or replace note set name = 'b' where id = 1"]);
    assert!(order.contains(&told("note", Delete, "10")), "{order:?}");
}

#[test]
fn every_row_of_a_table_that_is_emptied_is_told() {
    let place = place();
    place.prepared(&[
        "insert into Named (id) values ('a'), ('b')",
        "insert into word (number, word) values (1, 'a')",
    ]);
    assert_eq!(
        place.run(&["delete from Named"]),
        [told("Named", Delete, "'a'"), told("Named", Delete, "'b'")]
    );
    assert_eq!(place.run(&["delete from word"]), [told("word", Delete, "'a', 1")]);
}

/// SQLite decides when it prepares a statement whether rows are deleted one by one.
#[test]
fn a_statement_that_was_prepared_before_tells_every_row_too() {
    let place = place();
    let held = place.connection.prepare("delete from tag").expect("it is one");
    let in_trigger = place.connection.prepare("delete from child").expect("it is one");
    for _ in 0..2 {
        place.prepared(&[
            "insert into tag (id) values (0.5), (2)",
            "insert into note (id) values (1)",
            "insert into child values (1, 1)",
            "insert into audit (at) values (5), (6)",
        ]);
        let (changed, told) = place.changed(|_| held.run().and_then(|()| in_trigger.run()).expect("it runs"));
        assert!(changed.is_subset(&told.keys) && changed.len() == 5, "{changed:?}: {:?}", told.order);
        // Prepares the statements again while no hook is set.
        place.prepared(&[
            "delete from note",
            "drop index if exists other",
            "create index other on tag (size)",
        ]);
    }
}

#[test]
fn what_is_undone_may_be_told_and_what_stays_is() {
    let place = place();
    place.prepared(&["insert into note (id, name) values (22, 'x')"]);
    let order = place.run(&["insert into note (id, name) values (20, 'a'), (21, 'b'), (22, 'c'), (23, 'd')"]);
    assert_eq!(order.len(), 2, "{order:?}");
    let order = place.run(&[
        "begin; savepoint part; insert into note (id) values (30); rollback to part; insert into note (id) values (31); commit",
    ]);
    assert_eq!(order, [told("note", Insert, "30"), told("note", Insert, "31")]);
    let order = place.run(&["insert or fail into note (id) values (40), (22), (41)"]);
    assert_eq!(order, [told("note", Insert, "40")]);
    place.run(&["begin; delete from note; rollback"]);
}

#[test]
fn triggers_and_foreign_keys_tell_their_rows() {
    let place = place();
    place.prepared(&[
        "insert into note (id, name) values (1, 'a'), (2, 'b')",
        "insert into child values (5, 1), (6, 2)",
        "insert into word (number, word) values (1, 'one')",
    ]);
    let order = place.run(&["update note set size = 3 where id = 1"]);
    assert_eq!(
        order,
        [
            told("note", Update, "1 to 1"),
            told("audit", Insert, "1"),
            told("word", Update, "'one', 1 to 'one', 1")
        ]
    );
    let order = place.run(&["update note set id = 9 where id = 1", "delete from note where id = 2"]);
    assert!(order.contains(&told("child", Update, "5 to 5")), "{order:?}");
    assert!(order.contains(&told("child", Delete, "6")), "{order:?}");
    assert!(order.contains(&told("audit", Delete, "1")), "{order:?}");
}

#[test]
fn keys_of_several_columns_and_of_rows_without_numbers_are_told() {
    let place = place();
    let order = place.run(&[
        "insert into word (size, number, word) values (0, 4, 'four'), (0, 5, 'five')",
        "update word set word = 'quatre' where number = 4",
        "update word set number = '6' where number = 5",
        "insert into word (size, number, word) values (1, 6, 'five') on conflict do update set size = excluded.size, word = 5",
        "replace into word (number, word) values (4, 'quatre')",
    ]);
    let keys = [
        (Insert, "'four', 4"),
        (Insert, "'five', 5"),
        (Update, "'four', 4 to 'quatre', 4"),
        (Update, "'five', 5 to 'five', 6"),
        (Update, "'five', 6 to '5', 6"),
        (Delete, "'quatre', 4"),
        (Insert, "'quatre', 4"),
    ];
    assert_eq!(order, keys.map(|(operation, key)| told("word", operation, key)));
    let order = place.run(&["insert into tag (id) values (1), (2.5)", "update tag set id = 3 where id = 1"]);
    let keys = [(Insert, "1.0"), (Insert, "2.5"), (Update, "1.0 to 3.0")];
    assert_eq!(order, keys.map(|(operation, key)| told("tag", operation, key)));
}

#[test]
fn a_numbered_row_is_told_by_its_key() {
    let place = place();
    let order = place.run(&[
        "insert into Named (id, size) values ('a', 1), ('', 2)",
        "insert into named (id, size) values ('a', 3) on conflict (id) do update set size = excluded.size",
        "update Named set id = 'b' where id = 'a'",
        "update Named set rowid = 90 where id = 'b'",
        "alter table Named add column more integer default 7",
        "delete from Named",
    ]);
    let keys = [
        (Insert, "'a'"),
        (Insert, "''"),
        (Update, "'a' to 'a'"),
        (Update, "'a' to 'b'"),
        (Update, "'b' to 'b'"),
        (Delete, "''"),
        (Delete, "'b'"),
    ];
    assert_eq!(order, keys.map(|(operation, key)| told("Named", operation, key)));
}

#[test]
fn rows_that_are_copied_from_a_like_table_are_told() {
    let place = place();
    place.prepared(&[
        "create table from_named (id text primary key not null, size integer, body blob) strict",
        "create table from_tag (id real primary key, size integer) without rowid",
        "insert into from_named values ('a', 1, null), ('b', 2, null)",
        "insert into from_tag values (1, 1), (2, 2)",
    ]);
    let order =
        place.run(&["insert into Named select * from from_named", "insert into tag select * from from_tag"]);
    let keys = [("Named", "'a'"), ("Named", "'b'"), ("tag", "1.0"), ("tag", "2.0")];
    assert_eq!(order, keys.map(|(table, key)| told(table, Insert, key)));
}

#[test]
fn a_blob_that_is_written_in_parts_tells_its_row() {
    let place = place();
    place.prepared(&[
        "insert into note (id, body) values (3, zeroblob(4))",
        "insert into Named (id, body) values ('a', zeroblob(4))",
    ]);
    let (changed, told_rows) = place.changed(|sql| {
        for (table, row) in [(c"note", 3), (c"Named", 1)] {
            let mut blob = ptr::null_mut();
            // SAFETY: the connection is open, and the blob is closed before it.
            let code = unsafe {
                let connection = sql.handle();
                let (main, column) = (c"main".as_ptr(), c"body".as_ptr());
                ffi::sqlite3_blob_open(connection, main, table.as_ptr(), column, row, 1, &raw mut blob);
                let code = ffi::sqlite3_blob_write(blob, c"ab".as_ptr().cast(), 2, 1);
                ffi::sqlite3_blob_close(blob);
                code
            };
            assert_eq!(code, ffi::SQLITE_OK);
        }
    });
    assert_eq!(changed.len(), 2);
    assert_eq!(told_rows.order, [told("note", Update, "3 to 3"), told("Named", Update, "'a' to 'a'")]);
}

#[test]
fn a_table_that_nobody_asked_for_is_named_once_and_other_databases_never() {
    let place = place();
    place.prepared(&[
        "attach ':memory:' as other",
        "create table other.note (id)",
        "create temp table audit (id)",
    ]);
    let (_, told) = place.changed(|sql| {
        let batch = "insert into unasked (size) values (1), (2); insert into main.note (id) values (1); \
            insert into temp.audit values (1); insert into other.note values (1); update unasked set size = 4";
        sql.execute_batch(batch).expect("it runs");
    });
    assert_eq!(told.named, ["unasked", "note"]);
    assert_eq!(told.order.len(), 1);
}

#[test]
fn a_key_that_cannot_be_read_is_no_silence() {
    struct Wrong;
    impl Sink for Wrong {
        fn table(&mut self, _name: &str) -> Option<TableReport> {
            // The table has no such column.
            Some(TableReport { table: 0, key: Arc::from([70]) })
        }
        fn change(&mut self, change: &HookedRow<'_>) {
            assert_eq!(change.after().map(|key| key.values().count()), Some(0));
        }
    }
    let place = place();
    let sql = place.connection.sql();
    let insert = || sql.execute("insert into note (id) values (1)", ());
    let (rows, outcome) = while_captured(&place.connection, &RefCell::new(Wrong), insert);
    assert_eq!(rows, Ok(1), "the statement itself does not fail");
    let error = outcome.expect_err("a row is unknown").to_string();
    assert!(error.starts_with("what changed cannot be followed: "), "{error}");
}

#[test]
fn the_hook_is_gone_after_a_panic_of_the_work_and_of_the_sink() {
    struct Panics(bool);
    impl Sink for Panics {
        fn table(&mut self, _name: &str) -> Option<TableReport> {
            if self.0 { panic!("the sink") } else { None }
        }
        fn change(&mut self, _change: &HookedRow<'_>) {}
    }
    let place = place();
    for is_sinks in [false, true] {
        let sink = RefCell::new(Panics(is_sinks));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            while_captured(&place.connection, &sink, || {
                place.prepared(&["insert into note (size) values (1)"]);
                assert!(is_sinks, "the work");
            })
        }));
        assert!(panicked.is_err());
        assert!(sink.try_borrow_mut().is_ok());
        // A hook that is still set would panic again, or be called with an argument that is gone.
        place.prepared(&["insert into note (size) values (2)"]);
    }
}

#[test]
fn a_scope_within_a_scope_and_a_sink_that_is_in_use_are_no_silence() {
    let place = place();
    let (outer, inner) = (RefCell::new(Told::default()), RefCell::new(Told::default()));
    let insert = || place.prepared(&["insert into note (size) values (1)"]);
    let ((_, within), around) =
        while_captured(&place.connection, &outer, || while_captured(&place.connection, &inner, insert));
    assert!(within.is_err() && around.is_err());
    let ((), outcome) = while_captured(&place.connection, &outer, || {
        let _used = outer.borrow_mut();
        insert();
    });
    assert!(outcome.is_err());
}

#[test]
fn whether_statements_change_other_rows_than_they_name_is_known() {
    let directory = tempfile::tempdir().expect("there is room");
    let connection = Connection::open(&directory.path().join("a.db"), &Options::new()).expect("it opens");
    let after = |sql: &str| {
        connection.sql().execute_batch(sql).expect("it runs");
        has_triggers_or_cascades(&connection).expect("it is read")
    };
    assert!(!after("create table note (id integer primary key, of integer references note)"));
    assert!(!after("create table plain (of integer references note on delete restrict)"));
    assert!(after("create table child (of integer references note on delete set null)"));
    assert!(!after("pragma foreign_keys = off"));
    assert!(!after("pragma foreign_keys = on; drop table child"));
    assert!(after("create temp trigger mine after insert on note begin select 1; end"));
    assert!(!after("drop trigger mine"));
    assert!(after("create trigger mine after insert on note begin select 1; end"));
    assert!(!after("drop trigger mine"));
    assert!(after("create table greedy (id integer primary key, name text unique on conflict replace)"));
    // Regression: after a program's own setting, rows that a constraint replaces were missed.
    assert!(!after("drop table greedy; pragma case_sensitive_like = on"));
    assert!(after("CREATE TABLE greedy (id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT REPLACE)"));
    assert!(!after("drop table greedy"));
    assert!(after("CREATE TABLE child (of INTEGER REFERENCES note ON DELETE CASCADE)"));
}

/// Statements over few keys, so that they collide.
fn statement() -> impl Strategy<Value = String> {
    const INSERTS: &[&str] =
        &["insert", "insert or ignore", "insert or fail", "insert or rollback", "replace"];
    const UPDATES: &[&str] = &["update", "update or replace", "update or ignore", "update or fail"];
    let number = || 0..6_i64;
    let (verb, update) = (|| prop::sample::select(INSERTS), || prop::sample::select(UPDATES));
    let condition = || {
        prop_oneof![
            Just(String::new()),
            number().prop_map(|id| format!(" where id = {id}")),
            number().prop_map(|id| format!(" where size > {id}")),
            number().prop_map(|id| format!(" where rowid = {id}")),
        ]
    };
    let row = move || (number(), number(), number());
    prop_oneof![
        (verb(), prop::collection::vec(row(), 1..4)).prop_map(|(verb, rows)| {
            let rows: Vec<String> = rows.iter().map(|(id, name, size)| format!("({id}, 'n{name}', {size})")).collect();
            format!("{verb} into note (id, name, size) values {}", rows.join(", "))
        }),
        (verb(), row()).prop_map(|(verb, (id, name, size))| format!("{verb} into word (size, number, word) values ({size}, {id}, 'w{name}')")),
        (verb(), row()).prop_map(|(verb, (id, _, size))| format!("{verb} into Named (id, size) values ('k{id}', {size})")),
        (verb(), row()).prop_map(|(verb, (id, _, size))| format!("{verb} into tag values ({id}, {size})")),
        (verb(), row()).prop_map(|(verb, (id, note, _))| format!("{verb} into child values ({id}, {note})")),
        (row(), condition()).prop_map(|((id, _, size), _)| format!("insert into Named (id, size) values ('k{id}', {size}) on conflict do update set size = size + 1, id = 'k{size}'")),
        (update(), number(), condition()).prop_map(|(verb, to, condition)| format!("{verb} note set size = {to}{condition}")),
        (update(), number(), condition()).prop_map(|(verb, to, condition)| format!("{verb} note set id = id + {to} - 2, name = 'n{to}'{condition}")),
        (update(), number(), number()).prop_map(|(verb, to, number)| format!("{verb} word set word = 'w{to}' where number = {number}")),
        (update(), number(), number()).prop_map(|(verb, to, number)| format!("{verb} word set number = number + {to} where word = 'w{number}'")),
        (update(), number(), condition()).prop_map(|(verb, to, condition)| format!("{verb} Named set id = 'k{to}'{condition}")),
        (update(), number(), number()).prop_map(|(verb, to, id)| format!("{verb} tag set id = {to} where id = {id}")),
        condition().prop_map(|condition| format!("delete from note{condition}")),
        prop::sample::select(vec!["word", "Named", "tag", "child", "audit"]).prop_map(|table| format!("delete from {table}")),
        prop::sample::select(vec!["begin", "commit", "rollback", "savepoint part", "rollback to part", "release part"]).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_changes_is_told(
        first in prop::collection::vec(statement(), 0..20),
        then in prop::collection::vec(statement(), 1..12),
    ) {
        let place = place();
        for statement in &first {
            let _ = place.connection.sql().execute_batch(statement);
        }
        let _ = place.connection.sql().execute_batch("commit");
        // Some were prepared before.
        let held: Vec<_> = then.iter().map(|sql| place.connection.prepare(sql).expect("it is one")).collect();
        let (changed, told) = place.changed(|sql| {
            for (at, statement) in then.iter().enumerate() {
                let _ = if at % 2 == 0 { held[at].run().is_ok() } else { sql.execute_batch(statement).is_ok() };
            }
            let _ = sql.execute_batch("commit");
        });
        prop_assert!(changed.is_subset(&told.keys), "{then:?} changed {changed:?} and told {:?}", told.order);
    }
}
