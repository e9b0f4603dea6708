//! A program's own version of its data, which is no field of the file's header.

use super::{Place, ROWS, Task};
use touchstone_store::{Error, ErrorKind, Options, Result, Store, rusqlite};

/// `pragma user_version = …` succeeded, and the store could not be opened any more.
#[test]
fn a_version_is_kept_with_the_data_and_leaves_the_format_alone() -> Result<()> {
    let place = Place::new();
    assert_eq!(place.store.user_version()?, 0);
    place.store.write(|transaction| {
        assert_eq!(transaction.user_version()?, 0);
        transaction.set_user_version(1)?;
        transaction.set_user_version(u32::MAX)?;
        assert_eq!(transaction.user_version()?, u32::MAX);
        Ok(())
    })?;
    let place = place.reopen();
    assert_eq!(place.store.user_version()?, u32::MAX);
    let format = place.store.read(|snapshot| {
        snapshot.sql(|sql| sql.query_row("pragma user_version", (), |row| row.get::<_, i64>(0)))
    })?;
    assert_eq!(format, 1);
    Ok(())
}

#[test]
fn a_version_is_undone_with_its_step() -> Result<()> {
    let place = Place::new();
    let step = |fails: bool| {
        place.store.write(|transaction| {
            let part: Result<(), Error> = transaction.savepoint(|transaction| {
                transaction.set_user_version(2)?;
                transaction.remove::<Task>(&1)?;
                if fails { Err(Error::new(ErrorKind::Invalid, "the step failed")) } else { Ok(()) }
            });
            assert_eq!(part.is_err(), fails);
            transaction.user_version()
        })
    };
    assert_eq!(step(true)?, 0);
    assert_eq!(step(false)?, 2);
    assert_eq!(place.store.read(|snapshot| snapshot.of::<Task>().count())? as i64, ROWS - 1);
    Ok(())
}

#[test]
fn a_version_that_is_watched_is_told() -> Result<()> {
    let place = Place::new();
    place.store.write(|transaction| transaction.set_user_version(1))?;
    let feed = place.store.feed()?;
    let watched = feed.watch_sql("select version from touchstone_user_version", [])?;
    place.store.write(|transaction| transaction.set_user_version(2))?;
    place.store.wait_delivered()?;
    let batch = feed.try_next()?.expect("it was changed");
    let rows = batch.get(watched.id()).expect("it is watched").sql_rows()?;
    assert_eq!(rows.iter().map(<[_]>::to_vec).collect::<Vec<_>>(), [[2_i64.into()]]);
    Ok(())
}

#[test]
fn a_version_goes_with_copies_of_the_file() -> Result<()> {
    let place = Place::new();
    place.store.write(|transaction| transaction.set_user_version(5))?;
    let beside = |name| place.path.with_file_name(name);
    place.store.backup(beside("backup.db"))?;
    assert_eq!(Store::open(beside("backup.db"))?.user_version()?, 5);
    Store::salvage(&place.path, Options::new(), beside("saved.db"))?;
    assert_eq!(Store::open(beside("saved.db"))?.user_version()?, 5);
    Ok(())
}

#[test]
fn what_is_no_version_is_told() {
    let place = Place::new();
    place.store.write(|transaction| transaction.set_user_version(5)).expect("it is written");
    let plain = rusqlite::Connection::open(&place.path).expect("it opens");
    plain.execute("update touchstone_user_version set version = -1", ()).expect("it is written");
    assert_eq!(place.store.user_version().map_err(|error| error.kind()), Err(ErrorKind::Mismatch));
    plain.execute("delete from touchstone_user_version", ()).expect("it is written");
    assert_eq!(place.store.user_version().expect("it is readable"), 0);
}
