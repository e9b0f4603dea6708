//! What the service does besides answering: it forgets what is old, and tells its metrics to whoever collects them.

use crate::http::App;
use crate::storage::Storage;
use anyhow::{Context, Result};
use axum::Router;
use axum::routing::get;
use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How often deletions are looked for that are old enough.
const FORGET_EVERY: Duration = Duration::from_secs(3600);

/// How often users are let go of that ask no more.
const TRIM_EVERY: Duration = Duration::from_secs(60);

/// How often what was measured is summed up, so that it takes no more and more memory while nobody collects it.
const SUM_EVERY: Duration = Duration::from_secs(5);

/// Bounds of the histogram of answers, in seconds.
const SECONDS: [f64; 12] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];

/// Bounds of the histogram of groups, in uploads.
const UPLOADS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// Forgets, again and again, deletions and names of changes that were stored longer ago than this, by the service's own time.
pub async fn forget(storage: Arc<dyn Storage>, after: Duration) {
    let after = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
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

/// Counts and measures from now on.
///
/// # Errors
/// When the process counts already.
pub fn measure() -> Result<PrometheusHandle> {
    let named = |name: &str| Matcher::Full(name.to_owned());
    let builder =
        PrometheusBuilder::new().set_buckets_for_metric(named("touchstone_sync_request_seconds"), &SECONDS);
    let builder = builder
        .and_then(|builder| builder.set_buckets_for_metric(named("touchstone_sync_group_uploads"), &UPLOADS));
    let builder = builder.context("the histograms' bounds make no sense")?;
    let handle = builder.install_recorder().context("the process has metrics already")?;
    describe_counter!(
        "touchstone_sync_requests_total",
        "Requests that were answered, by method, path and status"
    );
    describe_histogram!("touchstone_sync_request_seconds", Unit::Seconds, "How long answers took");
    describe_gauge!("touchstone_sync_requests_under_way", "Requests that are not answered yet");
    describe_histogram!("touchstone_sync_group_uploads", "Uploads of a transaction");
    Ok(handle)
}

/// Tells metrics at `/metrics` of an address of its own, which clients need not reach.
///
/// # Errors
/// When the socket cannot be used.
pub async fn tell(handle: PrometheusHandle, listening: TcpListener) -> Result<()> {
    listening.set_nonblocking(true).context("the socket for metrics cannot be used")?;
    let summed = handle.clone();
    tokio::spawn(async move {
        loop {
            sleep(SUM_EVERY).await;
            summed.run_upkeep();
        }
    });
    let router = Router::new().route("/metrics", get(move || async move { handle.render() }));
    Ok(axum::serve(tokio::net::TcpListener::from_std(listening)?, router).await?)
}
