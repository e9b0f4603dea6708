//! What the service's owner asks: what each user has, and what room the file takes. In SQL, as sums of whole tables are no question of
//! typed records.

use super::schema::{
    AppliedRow, DeletionRow, DeviceRow, LifeRow, ObjectRow, TimeRow, TokenRow, UserRow, VersionRow,
};
use crate::storage::{Room, Usage};
use std::collections::BTreeMap;
use touchstone_store::rusqlite::{self, Connection, Row};
use touchstone_store::{CheckReport, Result, Snapshot, Store};

/// Of each user that has versions: how many have data, how many have none, and bytes of the data.
const SUMS: &str = "\
    select user, count(data), count(*) - count(data), coalesce(sum(length(cast(data as blob))), 0)
    from version group by user";

/// Bytes of the file, and of its free pages.
const PAGES: &str = "\
    select pages.page_count * size.page_size, free.freelist_count * size.page_size
    from pragma_page_count() pages, pragma_page_size() size, pragma_freelist_count() free";

/// Reads every page and every row.
pub(super) fn check(store: &Store) -> Result<CheckReport> {
    let check = store.check().records::<UserRow>().records::<DeviceRow>().records::<ObjectRow>();
    let check = check.records::<VersionRow>().records::<DeletionRow>().records::<AppliedRow>();
    check.records::<LifeRow>().records::<TimeRow>().records::<TokenRow>().run()
}

/// What each user has, by name.
pub(super) fn usage(snapshot: &Snapshot) -> Result<Vec<Usage>> {
    // There is no table of a type of which no record was ever written.
    let sums = match snapshot.query::<VersionRow>().first()? {
        Some(_) => snapshot.sql(sums)?,
        None => BTreeMap::new(),
    };
    let users = snapshot.query::<UserRow>().order(|user| user.name.ascending()).all()?;
    let usage = |user: UserRow| {
        let [objects, deletions, bytes] = sums.get(&user.id).copied().unwrap_or_default();
        Usage { user: user.name, devices: user.devices, objects, deletions, bytes, revision: user.revision }
    };
    Ok(users.into_iter().map(usage).collect())
}

fn sums(sql: &Connection) -> rusqlite::Result<BTreeMap<u64, [u64; 3]>> {
    let sums = |row: &Row<'_>| Ok((number(row, 0)?, [number(row, 1)?, number(row, 2)?, number(row, 3)?]));
    sql.prepare(SUMS)?.query_map((), sums)?.collect()
}

/// The file's bytes, those of them that are free, and the bytes of the log beside it.
pub(super) fn room(snapshot: &Snapshot) -> Result<Vec<Room>> {
    let (file, free, path) = snapshot.sql(|sql| {
        let pages = sql.query_row(PAGES, (), |row| Ok((number(row, 0)?, number(row, 1)?)))?;
        Ok((pages.0, pages.1, sql.path().map(str::to_owned)))
    })?;
    let log = path.and_then(|path| std::fs::metadata(path + "-wal").ok()).map_or(0, |log| log.len());
    let parts = [("in use", file.saturating_sub(free)), ("free, for what comes later", free), ("log", log)];
    Ok(parts.map(|(part, bytes)| Room { part: part.to_owned(), bytes }).into())
}

/// A number that is never negative.
fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get(at).map(i64::unsigned_abs)
}
