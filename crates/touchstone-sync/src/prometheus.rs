//! Metrics, told to whoever collects them, where the program is built with that.

#[cfg(feature = "prometheus")]
pub use with::Metrics;
#[cfg(feature = "prometheus")]
pub(crate) use with::{answered, grouped, streams, under_way};
#[cfg(not(feature = "prometheus"))]
pub use without::Metrics;
#[cfg(not(feature = "prometheus"))]
pub(crate) use without::{answered, grouped, streams, under_way};

/// What is known of a request that was answered: its method, its path as the router has it, and its status.
pub(crate) type Labels<'a> = [(&'static str, &'a str); 3];

#[cfg(feature = "prometheus")]
mod with {
    use super::Labels;
    use anyhow::{Context, Result};
    use axum::Router;
    use axum::routing::get;
    use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
    use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
    use std::net::TcpListener;
    use std::time::Duration;
    use tokio::time::sleep;

    /// How often what was measured is summed up, so that it takes no more and more memory while nobody collects it.
    const SUM_EVERY: Duration = Duration::from_secs(5);

    const REQUESTS: &str = "touchstone_sync_requests_total";
    const REQUEST_SECONDS: &str = "touchstone_sync_request_seconds";
    const UNDER_WAY: &str = "touchstone_sync_requests_under_way";
    const STREAMS: &str = "touchstone_sync_streams";
    const GROUP_UPLOADS: &str = "touchstone_sync_group_uploads";

    /// Bounds of the histogram of answers, in seconds.
    const SECONDS: [f64; 12] =
        [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];

    /// Bounds of the histogram of groups, in uploads.
    const UPLOADS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

    /// Counts a request that was answered, and how long that took.
    pub(crate) fn answered(labels: Labels<'_>, took: Duration) {
        let labels = labels.map(|(name, value)| (name, value.to_owned()));
        counter!(REQUESTS, &labels).increment(1);
        histogram!(REQUEST_SECONDS, &labels).record(took);
    }

    /// Counts requests that are not answered yet: one more, or one fewer.
    pub(crate) fn under_way(change: f64) {
        gauge!(UNDER_WAY).increment(change);
    }

    /// Counts streams that are open: one more, or one fewer.
    pub(crate) fn streams(change: f64) {
        gauge!(STREAMS).increment(change);
    }

    /// Counts the uploads of a transaction.
    pub(crate) fn grouped(uploads: usize) {
        histogram!(GROUP_UPLOADS).record(u32::try_from(uploads).unwrap_or(u32::MAX));
    }

    /// What the process counts and measures.
    #[derive(Debug)]
    pub struct Metrics {
        handle: PrometheusHandle,
    }

    impl Metrics {
        /// Counts and measures from now on.
        ///
        /// # Errors
        /// When the process counts already.
        pub fn measure() -> Result<Metrics> {
            let named = |name: &str| Matcher::Full(name.to_owned());
            let builder = PrometheusBuilder::new().set_buckets_for_metric(named(REQUEST_SECONDS), &SECONDS);
            let builder =
                builder.and_then(|builder| builder.set_buckets_for_metric(named(GROUP_UPLOADS), &UPLOADS));
            let builder = builder.context("the histograms' bounds make no sense")?;
            let handle = builder.install_recorder().context("the process has metrics already")?;
            describe_counter!(REQUESTS, "Requests that were answered, by method, path and status");
            describe_histogram!(REQUEST_SECONDS, Unit::Seconds, "How long answers took");
            describe_gauge!(UNDER_WAY, "Requests that are not answered yet");
            describe_gauge!(STREAMS, "Streams of `watch` that are open");
            describe_histogram!(GROUP_UPLOADS, "Uploads of a transaction");
            // They are told from the beginning.
            under_way(0.0);
            streams(0.0);
            Ok(Metrics { handle })
        }

        /// Tells them at `/metrics` of an address of its own, which clients need not reach.
        ///
        /// # Errors
        /// When the socket cannot be used.
        pub async fn tell(self, listening: TcpListener) -> Result<()> {
            let Metrics { handle } = self;
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
    }
}

#[cfg(not(feature = "prometheus"))]
mod without {
    use super::Labels;
    use anyhow::{Result, bail};
    use std::net::TcpListener;
    use std::time::Duration;

    pub(crate) fn answered(_: Labels<'_>, _: Duration) {}

    pub(crate) fn under_way(_: f64) {}

    pub(crate) fn streams(_: f64) {}

    pub(crate) fn grouped(_: usize) {}

    /// What the process counts and measures: nothing, for the program is built without metrics.
    #[derive(Debug)]
    pub enum Metrics {}

    impl Metrics {
        /// Says that the program is built without metrics.
        ///
        /// # Errors
        /// Always.
        pub fn measure() -> Result<Metrics> {
            bail!("this program was built without metrics: `make sync` builds one with them")
        }

        /// Does nothing, for there are none.
        ///
        /// # Errors
        /// Never.
        pub async fn tell(self, _: TcpListener) -> Result<()> {
            match self {}
        }
    }
}
