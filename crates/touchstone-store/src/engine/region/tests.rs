//! Each table that is read is found, under any name; if a result cannot be followed, the reason is given.

use super::*;
use crate::types::options::Options;

const SCHEMA: &str = "
    create table note (id integer primary key, title text, folder integer, near integer as (id + folder)) strict;
    create table Folder (id integer primary key, name text);
    create table word (word text primary key, n integer) without rowid;
    create table empty (id);
    create index by_title on note (lower(title)) where folder > 1;
    create view titles as select title, folder from note;
    create view named as select titles.title, Folder.name from titles join Folder on Folder.id = titles.folder;
    create view today as select id from note where title = date('now');
    create view random_titles as select title from note order by random();
    create virtual table found using fts5(text);
    create temp table scratch (id);
    create temp view mine as select id from note;
    attach ':memory:' as other;
    create table other.far (id);";

fn connection() -> (Connection, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("there is room");
    let connection = Connection::open(&directory.path().join("a.db"), &Options::new()).expect("it opens");
    connection.sql().execute_batch(SCHEMA).expect("the schema is made");
    (connection, directory)
}

#[test]
fn tables_are_found_however_they_are_named() {
    let (connection, _directory) = connection();
    for (sql, tables) in [
        ("select * from note", "note"),
        ("select count(*) from NOTE", "note"),
        ("select rowid from main.note;  -- that is all", "note"),
        ("select 1 from note where false", "note"),
        ("select near from note where lower(title) = 'a' and folder > 1", "note"),
        ("select f.name from note as n, folder as f where f.id = n.folder", "folder note"),
        ("select n.* from note as n left join word on word.n = n.id", "note word"),
        (
            "select title from note union all select name from Folder except select word from word",
            "folder note word",
        ),
        ("select * from note where folder in (select id from Folder)", "folder note"),
        ("select * from note where folder in empty", "empty note"),
        ("select * from note where exists (select 1 from empty)", "empty note"),
        (
            "select id from note order by (select max(n) from word) limit (select count(*) from empty)",
            "empty note word",
        ),
        ("select (select name from Folder where id = folder) from note", "folder note"),
        ("select count(*) from (select * from word)", "word"),
        ("with recent as (select * from note) select count(*) from recent", "note"),
        ("with recent as materialized (select id from note) select a.id from recent a join recent b", "note"),
        (
            "with recursive up(id) as (select 1 union all select f.id from Folder f, up where f.id = up.id + 1) select * from up",
            "folder",
        ),
        ("select title from titles", "note"),
        ("select count(*) from named", "folder note"),
        ("select title, row_number() over (partition by folder order by id) from note", "note"),
        ("select * from mine", "note"),
        ("select value from note, json_each(note.title)", "note"),
        ("select count(*) from json_each('[]')", ""),
        ("values (1)", ""),
        ("select 1", ""),
        ("select c0 from found_content", "found_content"),
    ] {
        let found = region(&connection, sql).expect("it is one");
        assert_eq!(found.tables.join(" "), tables, "{sql}");
        assert_eq!((found.is_followable, found.why_not), (true, None), "{sql}");
    }
}

#[test]
fn what_else_can_change_a_result_is_told() {
    let (connection, _directory) = connection();
    for (sql, tables, why) in [
        ("select * from note order by random()", "note", "`random`"),
        ("select * from random_titles", "note", "`random`"),
        (
            "select randomblob(3), changes() from note",
            "note",
            "`changes` may answer otherwise each time; `randomblob`",
        ),
        ("select current_timestamp", "", "`current_timestamp`"),
        ("select * from note where title < datetime('now', '-1 day')", "note", "`datetime`"),
        ("select * from note where title = date()", "note", "`date`"),
        ("select strftime('%s') from note", "note", "`strftime`"),
        ("select strftime( '%s, ' /* so */ ) from note", "note", "`strftime`"),
        ("select unixepoch('subsec') from note", "note", "`unixepoch`"),
        ("select * from today", "note", "`date`"),
        ("select * from found where found match 'a'", "", "`found` is a virtual table"),
        ("select count(*) from found, note", "note", "`found` is a virtual table"),
        ("select * from scratch join note", "note", "`scratch` is a temporary table"),
        ("select * from far", "", "`far` is a table of another file"),
        ("select * from sqlite_schema", "", "is SQLite's own"),
        ("select count(*) from sqlite_master", "", "is SQLite's own"),
        ("select count(*) from sqlite_schema", "", "is SQLite's own"),
        ("select * from pragma_table_info('note')", "", "`pragma_table_info` is a table-valued function"),
        ("select count(*) from pragma_table_info('note')", "", "`pragma_table_info` is a table-valued"),
        ("select pgno from sqlite_dbpage", "", "`sqlite_dbpage` is a table-valued function"),
    ] {
        let found = region(&connection, sql).expect("it is one");
        assert_eq!(found.tables.join(" "), tables, "{sql}");
        let told = found.why_not.expect("it cannot be followed");
        assert!(!found.is_followable && told.contains(why), "{sql}: {told}");
    }
}

#[test]
fn functions_that_answer_the_same_are_followed() {
    let (connection, _directory) = connection();
    let sql = "select count(*), sum(id), group_concat(title), max(id), total(id), avg(id), lower(title), length(title), \
        coalesce(title, 'a'), iif(id, 1, 2), abs(id), json_extract(title, '$.a'), title like 'a%', title glob 'a', \
        printf('%d', id), substr(title, 1), hex(title), round(1.5), sqrt(id), typeof(id), quote(id), nullif(id, 1), \
        date(title) as known, datetime(title, '+1 day'), strftime('%Y, %m', title), julianday(title) - julianday('2000-01-01'), \
        unixepoch(title), timediff(title, title), sqlite_version(), likely(id), replace(title, 'a', 'b'), \
        instr(title, 'a'), unicode(title), zeroblob(1), json_group_array(id), char(id), trim(title), min(id, 2) \
        from note group by folder";
    let found = region(&connection, sql).expect("it is one");
    assert_eq!((found.tables.join(" "), found.why_not), ("note".to_owned(), None));
}

#[test]
fn what_is_no_question_is_refused_with_a_remedy() {
    let (connection, _directory) = connection();
    for sql in [
        "delete from note",
        "insert into note (id) values (1) returning id",
        "begin",
        "pragma user_version",
        "pragma user_version = 3",
        "explain select * from note",
        "explain query plan select * from note",
        "attach 'a' as b",
        "create table if not exists note (id)",
        "",
        "-- nothing",
        "select 1; select 2",
    ] {
        let error = region(&connection, sql).expect_err(sql);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{sql}: {error}");
        assert!(error.to_string().contains("a live query is one statement"), "{sql}: {error}");
    }
    let error = region(&connection, "select * from nowhere").expect_err("there is none");
    assert_eq!(
        error.to_string(),
        "preparing `select * from nowhere`: no such table: nowhere (the table of a type is there once a record of it was written)"
    );
    // The connection is as before: its authorizer is gone.
    connection
        .sql()
        .execute_batch("insert into note (id, folder) values (1, 1); begin; commit")
        .expect("it runs");
}

#[test]
fn other_statements_stay_prepared() {
    let (connection, _directory) = connection();
    let mut held = connection.sql().prepare("select count(*) from note").expect("it is one");
    region(&connection, "select * from Folder").expect("it is one");
    assert_eq!(held.query_row((), |row| row.get(0)), Ok(0));
    assert_eq!(held.get_status(rusqlite::StatementStatus::RePrepare), 0);
}
