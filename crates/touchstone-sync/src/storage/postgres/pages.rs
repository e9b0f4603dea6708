//! Pages of versions after cursors. Most are small, and of versions that are not far behind: a quick statement reads those. It tells the others, which a
//! second statement reads. That one sums the bytes of versions, and looks for the end of those it may pass over, which takes the database
//! twice the time for a small page.

use super::batch::{Batch, Batcher, Parameters, places};
use super::lease::Pool;
use super::rights::{Grounds, Rights, has_right};
use super::{ANSWERS_WITHIN, CONNECTION_WITHIN, PAGE_BYTES, number, signed, silent, version};
use crate::change::{Download, Page, Version};
use crate::storage::{Account, Client, PASSED_OVER, Refusal, Result, check_cursor, page_of};
use tokio::time::timeout;
use tokio_postgres::Row;

/// A page that is asked for.
pub(super) struct Asked {
    pub(super) client: Client,
    pub(super) download: Download,
    pub(super) grounds: Grounds,
}

/// So many pages, each full, are in memory at once.
const PAGES: usize = 16;

/// The answer to a download: its page, or why it is refused. None for a device that has lost its right.
type Answer = Option<std::result::Result<Page, Refusal>>;

/// Answers downloads.
#[derive(Clone)]
pub(super) struct Pages {
    small: Batcher<Small>,
    others: Batcher<Others>,
}

impl Pages {
    pub(super) fn start(pool: &Pool, connections: usize) -> Pages {
        Pages { small: Batcher::start(pool, connections), others: Batcher::start(pool, connections) }
    }

    /// The page that is asked for.
    pub(super) async fn read(&self, asked: Asked) -> Result<Answer> {
        let read = async {
            match self.small.ask(asked).await? {
                Read::Whole(answer) => Ok(answer),
                Read::Not(asked) => self.others.ask(asked).await,
            }
        };
        // Both together take no longer than one may.
        timeout(CONNECTION_WITHIN + ANSWERS_WITHIN, read).await.unwrap_or_else(|_| Err(silent()))
    }
}

/// The questions, with the standing of each user; but not of a device that is remembered and has lost its right.
macro_rules! asked {
    ($columns:literal, $versions:literal) => {
        concat!(
            "select asked.place, known.revision, known.horizon, known.history, rest.id, rest.revision, ",
            $columns,
            " from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], \
                $8::text[], $9::bigint[], $10::bytea[], $11::bigint[]) \
                as asked (place, user_id, after, left_out, most, name, number, hash, now) \
            join lateral (select revision, horizon, history from sync_user where id = asked.user_id limit 1) known on true ",
            $versions,
            " where ",
            has_right!()
        )
    };
}

/// What the quick statement says of a page.
enum Read {
    /// The whole answer.
    Whole(Answer),
    /// The page is one of the others.
    Not(Asked),
}

/// Pages of which no version is larger than its share of a page's bytes, and none may be passed over that is far behind. Like [`Others`] the
/// statement is one moment: whether a device that is remembered still has its right, each user's standing, and versions.
enum Small {}

impl Batch for Small {
    type Asked = Asked;
    type Answer = Read;

    const SQL: &str = asked!(
        "case when length(rest.data) <= $6::bigint / asked.most then rest.data end, length(rest.data) > $6::bigint / asked.most",
        "left join lateral (select id, revision, data from sync_object \
            where user_id = asked.user_id and revision > asked.after and device <> asked.left_out order by revision \
            limit case when asked.left_out < 0 or known.revision - asked.after <= $7::bigint then asked.most else 0 end) rest on true"
    );
    const MOST: usize = PAGES;

    fn parameters(asked: &[Asked]) -> Parameters<'_> {
        parameters(asked)
    }

    fn account(asked: &Asked) -> Option<Account> {
        Some(asked.client.account)
    }

    fn answer(asked: Asked, rows: &[Row]) -> Read {
        let Some(first) = rows.first() else { return Read::Whole(without_rows(&asked)) };
        let download = &asked.download;
        let behind = number(first.get(1)).saturating_sub(download.cursor);
        let is_far = download.others && behind > PASSED_OVER;
        let has_large = rows.iter().any(|row| row.get::<_, Option<bool>>(7) == Some(true));
        if is_far || has_large {
            return Read::Not(asked);
        }
        Read::Whole(Some(checked(download, first).map(|revision| {
            let mut versions = versions(rows);
            let more = versions.len() > download.limit as usize;
            versions.truncate(download.limit as usize);
            page_of(versions, more, None, download, revision)
        })))
    }
}

/// Pages of whatever size: versions up to a number and to the bytes of a page.
enum Others {}

impl Batch for Others {
    type Asked = Asked;
    type Answer = Answer;

    const SQL: &str = asked!(
        "rest.data, rest.found, bound.last",
        "left join lateral (select revision as last from sync_object \
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
        ) rest on true"
    );
    const MOST: usize = PAGES;

    fn parameters(asked: &[Asked]) -> Parameters<'_> {
        parameters(asked)
    }

    fn account(asked: &Asked) -> Option<Account> {
        Some(asked.client.account)
    }

    fn answer(asked: Asked, rows: &[Row]) -> Answer {
        let Some(first) = rows.first() else { return without_rows(&asked) };
        let download = &asked.download;
        Some(checked(download, first).map(|revision| {
            let versions = versions(rows);
            let found = first.get::<_, Option<i64>>(7).map_or(0, number);
            let more = found > versions.len() as u64;
            let looked_at = first.get::<_, Option<i64>>(8).map(number);
            page_of(versions, more, looked_at, download, revision)
        }))
    }
}

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
        Box::new(signed(PASSED_OVER)),
    ];
    parameters.extend(Rights::of(asked.iter().map(|asked| (asked.client, &asked.grounds))).parameters());
    parameters
}

/// There is no user, or the device has lost its right.
fn without_rows(asked: &Asked) -> Answer {
    asked.grounds.is_none().then_some(Err(Refusal::UnknownUser))
}

/// The user's last revision, where the cursor is one of its history.
fn checked(download: &Download, first: &Row) -> std::result::Result<u64, Refusal> {
    let (revision, horizon) = (number(first.get(1)), number(first.get(2)));
    check_cursor(download, revision, horizon, first.get(3))?;
    Ok(revision)
}

/// In the order of their revisions. A user without versions has one row, without any.
fn versions(rows: &[Row]) -> Vec<Version> {
    let is_one = |row: &&Row| row.get::<_, Option<&str>>(4).is_some();
    let mut versions: Vec<Version> = rows.iter().filter(is_one).map(|row| version(row, 4)).collect();
    versions.sort_unstable_by_key(|version| version.revision);
    versions
}
