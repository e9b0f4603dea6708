//! Statements of all sorts, in transactions and on snapshots: each is refused with a remedy or does what it says, and typed
//! reads and writes, other connections and a new opening find the store as good as before.

use super::{Place, ROWS, Task, task};
use touchstone_store::{ErrorKind, Result};

/// What is refused, wherever it is run, and a word of what to do instead.
const REFUSED: [(&str, &str); 52] = [
    ("commit", "`Store::write`"),
    ("rollback", "`Transaction::savepoint`"),
    ("commit; begin immediate", "`commit`"),
    ("end; begin", "`commit`"),
    ("begin", "`begin`"),
    ("pragma locking_mode=exclusive", "`Options::exclusive`"),
    (
        "pragma main.locking_mode=exclusive; insert into task(id,title) values(5000,'q'); commit; begin",
        "exclusive",
    ),
    ("pragma journal_mode=delete", "log"),
    ("pragma journal_mode=off", "`Options::checkpoint_pages`"),
    ("commit; pragma journal_mode=delete", "`commit`"),
    ("commit; pragma journal_mode=off; begin immediate", "`commit`"),
    ("pragma synchronous=off", "`Options::durability`"),
    ("pragma synchronous=extra", "`Options::durability`"),
    ("pragma wal_autocheckpoint=1", "`Options::checkpoint_pages`"),
    ("pragma wal_checkpoint", "copies it by itself"),
    ("pragma wal_checkpoint(truncate)", "copies it by itself"),
    ("commit; pragma wal_checkpoint(truncate); begin immediate", "`commit`"),
    ("pragma journal_size_limit=0", "log"),
    ("pragma query_only=1", "`Store::write`"),
    ("pragma query_only=off; insert into task(id,title) values(7777,'sneaked in')", "`Store::write`"),
    (
        "pragma query_only=off; rollback; begin immediate; insert into task(id,title) values(7778,'q')",
        "query_only",
    ),
    ("pragma writable_schema=1; update sqlite_schema set rootpage=99 where name='task'", "`alter`"),
    ("pragma writable_schema=1; delete from sqlite_schema", "`drop`"),
    ("pragma schema_version=1000", "`create`"),
    ("pragma user_version=99", "`Transaction::set_user_version`"),
    ("PRAGMA main.User_Version(99)", "`Transaction::set_user_version`"),
    ("pragma application_id=0", "leave it as it is"),
    ("pragma mmap_size=100000000", "`Options::cache_bytes`"),
    ("pragma max_page_count=3", "all later transactions"),
    ("pragma cache_size=1", "`Options::cache_bytes`"),
    ("pragma cache_spill=off", "`Options::cache_bytes`"),
    ("pragma page_size=512", "`Options::page_size`"),
    ("pragma auto_vacuum=1", "when the file is made"),
    ("pragma hard_heap_limit=2000000", "the whole process's"),
    ("pragma soft_heap_limit=1000", "the whole process's"),
    ("pragma temp_store_directory='/nonexistent'", "the whole process's"),
    ("pragma data_store_directory='/x'", "the whole process's"),
    ("commit; detach main; begin", "`commit`"),
    ("pragma busy_timeout=1", "`Options::busy_timeout`"),
    ("pragma encoding='UTF-16'", "UTF-8"),
    ("attach ':memory:' as m; commit; begin; drop table if exists m.x", "`commit`"),
    ("commit; vacuum; begin immediate", "`commit`"),
    ("pragma rekey='abc'", "`Store::change_key`"),
    ("pragma key='abc'", "`Options::key`"),
    ("pragma hexkey='abcd'", "`Options::key`"),
    ("pragma cipher='rc4'", "`Options::key`"),
    ("select sqlite3mc_config('cipher', 'rc4')", "`Options::cipher`"),
    ("create virtual table if not exists dbp using sqlite_dbpage", "`insert`, `update` and `delete`"),
    ("update sqlite_dbpage set data=zeroblob(4096) where pgno=2", "`insert`, `update` and `delete`"),
    ("delete from sqlite_dbpage where pgno=2", "`insert`, `update` and `delete`"),
    ("create virtual table z using touchstone_feed_3", "the store's own"),
    ("savepoint touchstone_part", "another name"),
];

/// What is not the guard's: SQLite refuses some of it, and some does what it says.
const OTHERS: [&str; 37] = [
    "savepoint x",
    "release x",
    "savepoint x; insert into task(id,title) values(50000,'q'); rollback to x; release x",
    "select * from touchstone_feed_3",
    "drop table task",
    "alter table task rename to other",
    "alter table task drop column due",
    "detach main",
    "create temp trigger tt after insert on main.task begin insert into task(id,title) select c0+1000,c1 from touchstone_feed_3; end",
    "create temp table task(id integer primary key, title text, due integer)",
    "pragma read_uncommitted=1",
    "pragma recursive_triggers=1",
    "pragma foreign_keys=off",
    "pragma count_changes=1",
    "pragma reverse_unordered_selects=1",
    "pragma secure_delete=on",
    "pragma cell_size_check=on",
    "pragma trusted_schema=off",
    "pragma ignore_check_constraints=1",
    "pragma optimize",
    "pragma incremental_vacuum",
    "analyze",
    "reindex",
    "vacuum",
    "create table sqlite_x(a)",
    "pragma case_sensitive_like=1",
    "pragma lock_status",
    "pragma shrink_memory",
    "insert into touchstone_feed_3 values(1,2,3)",
    "attach ':memory:' as m",
    "attach ':memory:' as m; create table m.task(id integer primary key); pragma m.user_version=7",
    "insert or rollback into task(id,title) values(1,'there')",
    "update sqlite_schema set rootpage=99 where name='task'",
    "delete from sqlite_schema",
    "select sqlite3mc_version()",
    "with recursive n(n) as (select 1 union all select n + 1 from n where n < 9) select sum(n) from n",
    "create table t(a); insert into t values (1); update t set a = 2; delete from t; drop table t",
];

/// What is read stays allowed.
const READ: [&str; 8] = [
    "pragma user_version",
    "pragma application_id",
    "pragma journal_mode",
    "pragma locking_mode",
    "pragma schema_version",
    "pragma query_only",
    "select * from pragma_user_version",
    "select count(*) from sqlite_dbpage",
];

#[test]
fn what_ends_the_transaction_or_ruins_the_file_is_refused_with_a_remedy() {
    for in_transaction in [true, false] {
        for (sql, remedy) in REFUSED {
            let place = Place::new();
            let error = attempt(&place, sql, in_transaction).expect_err(sql);
            assert_eq!(error.kind(), ErrorKind::Refused, "{sql}: {error}");
            assert!(error.to_string().contains(remedy), "{sql}: {error}");
            assert_eq!(place.store.count(), ROWS, "{sql}");
            is_well(place, sql);
        }
    }
}

#[test]
fn the_store_works_on_after_any_statement() {
    for in_transaction in [true, false] {
        for sql in OTHERS {
            let place = Place::new();
            let _ = attempt(&place, sql, in_transaction);
            is_well(place, sql);
        }
    }
}

#[test]
fn settings_can_be_read() {
    let place = Place::new();
    for sql in READ {
        place.write(sql).expect(sql);
        place.read(sql).expect(sql);
    }
}

/// Regression: a trigger could name the table by which the store inserts a batch. A single insert, which ran the trigger,
/// failed until the store had inserted a batch, and the error named the remedy for a type's table.
#[test]
fn a_trigger_or_a_view_of_the_file_does_not_name_the_store_s_own_table() {
    let is_refused = |result: Result<()>| {
        let error = result.expect_err("the table is the store's own");
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        let words = ["touchstone_feed_3", "drop that trigger or view"];
        assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
    };
    let place = Place::new();
    let sql = "create table taken (id, title);
        create trigger takes after insert on task begin insert into taken select c0, c1 from touchstone_feed_3; end;
        create view seen as select c0 from touchstone_feed_3";
    place.write(sql).expect("SQLite looks at the names when they are used");
    let many: Vec<Task> = (1000..1005).map(task).collect();
    is_refused(place.store.insert_all(&many).map(drop));
    is_refused(place.store.insert(&task(1000)));
    is_refused(place.write("select * from seen"));
    is_refused(place.read("select * from seen"));
    // No connection has the table yet.
    let place = place.reopen();
    is_refused(place.store.insert(&task(1000)));
    assert_eq!(place.store.count(), ROWS);
    place.write("drop trigger takes; drop view seen; drop table taken").expect("they are dropped");
    place.store.insert_all(&many).expect("nothing names the table any more");
    place.write("delete from task where id >= 1000").expect("they are there");
    is_well(place, sql);
}

/// What is refused of the store's own file is another file's to say.
#[test]
fn an_attached_file_has_a_version_of_its_own() {
    let place = Place::new();
    let sql = "attach ':memory:' as m; pragma m.user_version = 7; pragma m.application_id = 7";
    place.write(sql).expect("it is not the store's file");
    is_well(place, sql);
}

fn attempt(place: &Place, sql: &str, in_transaction: bool) -> Result<()> {
    if in_transaction { place.write(sql) } else { place.read(sql) }
}

trait Counts {
    fn count(&self) -> i64;
}

impl Counts for touchstone_store::Store {
    fn count(&self) -> i64 {
        let count = self.read(|snapshot| snapshot.of::<Task>().count()).expect("it is readable");
        i64::try_from(count).expect("it is small")
    }
}

/// That typed reads and writes find what they should, on each connection, and after the file was opened anew.
fn is_well(place: Place, sql: &str) {
    let before = place.store.count();
    check(&place, sql, before, 10_000);
    let place = place.reopen();
    check(&place, sql, before + 1, 20_000);
    let report = place.store.check().records::<Task>().run().expect("it is readable");
    assert!(report.is_whole(), "{sql}: {:?}", report.problems());
}

fn check(place: &Place, sql: &str, before: i64, id: i64) {
    let store = &place.store;
    let held = store.snapshot().expect(sql);
    store.insert(&task(id)).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(store.get::<Task>(&id).expect(sql), Some(task(id)), "{sql}");
    store.write(|transaction| transaction.put(&Task { due: None, ..task(id) })).expect(sql);
    let changed = store.write(|transaction| transaction.update::<Task>(&id, |task| task.due = Some(7)));
    assert!(changed.expect(sql), "{sql}");
    assert_eq!(store.get::<Task>(&id).expect(sql).and_then(|task| task.due), Some(7), "{sql}");
    assert_eq!(store.count(), before + 1, "{sql}");
    assert_eq!(store.all::<Task>().expect(sql).len() as i64, before + 1, "{sql}");
    let found = store.snapshot().expect(sql).query::<Task>().filter(|task| task.due.ge(0)).all().expect(sql);
    assert!(found.iter().any(|task| task.id == id), "{sql}");
    let seen = held.of::<Task>().count().expect(sql) as i64;
    assert_eq!(seen, before, "{sql}: what was held sees what it saw");
}
