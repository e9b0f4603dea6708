//! Whether the database answers. Anybody may ask that, without a token and however often.

use super::batch::{Batch, Parameters, places};
use tokio_postgres::Row;

/// Looks at the database. All that wait share one.
pub(super) enum Health {}

impl Batch for Health {
    type Asked = ();
    type Answer = ();

    const SQL: &str = "select asked.place from unnest($1::bigint[]) as asked (place) \
        cross join (select count(*) from (select id from sync_user limit 1) known) read";
    const MOST: usize = 1024;

    fn parameters(asked: &[()]) -> Parameters<'_> {
        vec![Box::new(places(asked))]
    }

    fn answer(_: (), _: &[Row]) {}
}
