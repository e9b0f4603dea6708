//! Pages of versions after cursors.

use super::batch::{Batch, Parameters, places};
use super::rights::{Grounds, Rights, has_right};
use super::{PAGE_BYTES, number, signed, version};
use crate::change::{Download, Page, Version};
use crate::storage::{Client, Refusal, check_cursor, page_of};
use tokio_postgres::Row;

/// Versions that are looked at for one page where the device's own are left out, of which a device may have a million: no request takes the
/// database for longer. The page may then be empty and have more behind it.
pub(crate) const PASSED_OVER: i64 = 10_000;

/// A page that is asked for.
pub(super) struct Asked {
    pub(super) client: Client,
    pub(super) download: Download,
    pub(super) grounds: Grounds,
}

/// Downloads of devices. One statement, and so one moment: whether a device that is remembered still has its right, each user's standing,
/// and versions up to a number and to the bytes of a page. There is no answer for a device that has lost its right.
pub(super) enum Pages {}

impl Batch for Pages {
    type Asked = Asked;
    type Answer = Option<Result<Page, Refusal>>;

    const SQL: &str = concat!(
        "select asked.place, known.revision, known.horizon, known.history, rest.id, rest.revision, rest.data, rest.found, \
            bound.last \
        from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], \
            $8::text[], $9::bigint[], $10::bytea[], $11::bigint[]) \
            as asked (place, user_id, after, left_out, most, name, number, hash, now) \
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
        ) rest on true \
        where ",
        has_right!()
    );
    /// So many pages, each full, are in memory at once.
    const MOST: usize = 16;

    fn parameters(asked: &[Asked]) -> Parameters<'_> {
        let column = |of: fn(&Asked) -> i64| -> Vec<i64> { asked.iter().map(of).collect() };
        let users = column(|asked| signed(asked.client.account.user));
        let cursors = column(|asked| signed(asked.download.cursor));
        // No device has the number -1: then nobody's are left out.
        let left_out = column(|asked| if asked.download.others { signed(asked.client.device) } else { -1 });
        // One more than is given tells whether there are more.
        let most = column(|asked| i64::from(asked.download.limit) + 1);
        let mut parameters: Parameters<'_> = vec![
            Box::new(places(asked)),
            Box::new(users),
            Box::new(cursors),
            Box::new(left_out),
            Box::new(most),
            Box::new(PAGE_BYTES),
            Box::new(PASSED_OVER),
        ];
        parameters.extend(Rights::of(asked.iter().map(|asked| (asked.client, &asked.grounds))).parameters());
        parameters
    }

    fn answer(asked: &Asked, rows: &[Row]) -> Self::Answer {
        let Some(first) = rows.first() else {
            return asked.grounds.is_none().then_some(Err(Refusal::UnknownUser));
        };
        Some(page(&asked.download, first, rows))
    }
}

fn page(download: &Download, first: &Row, rows: &[Row]) -> Result<Page, Refusal> {
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
