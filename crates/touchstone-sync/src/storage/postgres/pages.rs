//! Pages of versions after cursors.

use super::batch::{Batch, Parameters, places};
use super::{PAGE_BYTES, number, signed, version};
use crate::change::{Download, Page, Version};
use crate::storage::{Client, Refusal, check_cursor, page_of};
use tokio_postgres::Row;

/// Versions that are looked at for one page where the device's own are left out, of which a device may have a million: no request takes the
/// database for longer. The page may then be empty and have more behind it.
pub(crate) const PASSED_OVER: i64 = 10_000;

/// Downloads of devices. One statement, and so one moment: each user's standing, and versions up to a number and to the bytes of a page.
pub(super) enum Pages {}

impl Batch for Pages {
    type Asked = (Client, Download);
    type Answer = Result<Page, Refusal>;

    const SQL: &str = "select asked.place, known.revision, known.horizon, known.history, rest.id, rest.revision, rest.data, rest.found, \
            bound.last \
        from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) as asked (place, user_id, after, left_out, most) \
        join lateral (select revision, horizon, history from sync_user where id = asked.user_id limit 1) known on true \
        left join lateral (select revision as last from sync_object \
            where asked.left_out >= 0 and known.revision - asked.after > $7::bigint \
            and user_id = asked.user_id and revision > asked.after order by revision offset $7::bigint - 1 limit 1) bound on true \
        left join lateral ( \
            select id, revision, data, found from ( \
                select id, revision, data, count(*) over () as found, row_number() over (order by revision) as place, \
                sum(coalesce(length(data), 0)) over (order by revision) - coalesce(length(data), 0) as before \
                from (select id, revision, data from sync_object \
                    where user_id = asked.user_id and revision > asked.after \
                    and (bound.last is null or revision <= bound.last) and device <> asked.left_out \
                    order by revision limit asked.most) page \
            ) measured where place < asked.most and before < $6::bigint \
        ) rest on true";
    /// So many pages, each full, are in memory at once.
    const MOST: usize = 16;

    fn parameters(asked: &[(Client, Download)]) -> Parameters<'_> {
        let column = |of: fn(&(Client, Download)) -> i64| -> Vec<i64> { asked.iter().map(of).collect() };
        let users = column(|(client, _)| signed(client.account.user));
        let cursors = column(|(_, download)| signed(download.cursor));
        // No device has the number -1: then nobody's are left out.
        let left_out = column(|(client, download)| if download.others { signed(client.device) } else { -1 });
        // One more than is given tells whether there are more.
        let most = column(|(_, download)| i64::from(download.limit) + 1);
        vec![
            Box::new(places(asked)),
            Box::new(users),
            Box::new(cursors),
            Box::new(left_out),
            Box::new(most),
            Box::new(PAGE_BYTES),
            Box::new(PASSED_OVER),
        ]
    }

    fn answer((_, download): &(Client, Download), rows: &[Row]) -> Result<Page, Refusal> {
        let first = rows.first().ok_or(Refusal::UnknownUser)?;
        let (revision, horizon) = (number(first.get(1)), number(first.get(2)));
        check_cursor(download, revision, horizon, first.get(3))?;
        // A user without versions has one row, without any.
        let is_one = |row: &&Row| row.get::<_, Option<&str>>(4).is_some();
        let mut versions: Vec<Version> = rows.iter().filter(is_one).map(|row| version(row, 4)).collect();
        versions.sort_unstable_by_key(|version| version.revision);
        let found = first.get::<_, Option<i64>>(7).map_or(0, number);
        let more = found > versions.len() as u64;
        match first.get::<_, Option<i64>>(8) {
            // What lies behind was not looked at.
            Some(last) if !more => Ok(Page { versions, cursor: number(last), more: true }),
            _ => Ok(page_of(versions, more, download, revision)),
        }
    }
}
