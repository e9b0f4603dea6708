//! What the service does besides answering: it forgets what is old.

use crate::http::App;
use crate::storage::Storage;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How often deletions are looked for that are old enough.
const FORGET_EVERY: Duration = Duration::from_secs(3600);

/// How often users are let go of that ask no more.
const TRIM_EVERY: Duration = Duration::from_secs(60);

/// Forgets, again and again, deletions and names of changes that were stored longer ago than this, by the service's own time. Another service may be
/// behind that time by as long as it is between two of its notes, which are made here: what it has stored has its time too.
pub async fn forget(storage: Arc<dyn Storage>, after: Duration) {
    let after = i64::try_from(after.saturating_add(FORGET_EVERY).as_secs()).unwrap_or(i64::MAX);
    loop {
        match storage.forget(storage.time().saturating_sub(after)).await {
            Ok(0) => {}
            Ok(number) => tracing::info!(number, "forgot deletions and names of changes"),
            Err(error) => tracing::warn!("old deletions cannot be forgotten now: {error:?}"),
        }
        sleep(FORGET_EVERY).await;
    }
}

/// Lets go, again and again, of what is known of users that ask no more.
pub async fn trim(app: App) {
    loop {
        sleep(TRIM_EVERY).await;
        app.trim();
    }
}
