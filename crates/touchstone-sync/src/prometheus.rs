//! Metrics, told to whoever collects them, where the program is built with that.

#[cfg(feature = "prometheus")]
pub use with::Metrics;
#[cfg(not(feature = "prometheus"))]
pub use without::Metrics;

#[cfg(feature = "prometheus")]
mod with {
    use anyhow::{Context, Result};
    use axum::Router;
    use axum::routing::get;
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
    use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
    use std::net::TcpListener;
    use std::time::Duration;
    use tokio::time::sleep;

    /// How often what was measured is summed up, so that it takes no more and more memory while nobody collects it.
    const SUM_EVERY: Duration = Duration::from_secs(5);

    /// Bounds of the histogram of answers, in seconds.
    const SECONDS: [f64; 12] =
        [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];

    /// Bounds of the histogram of groups, in uploads.
    const UPLOADS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

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
            let builder = PrometheusBuilder::new()
                .set_buckets_for_metric(named("touchstone_sync_request_seconds"), &SECONDS);
            let builder = builder.and_then(|builder| {
                builder.set_buckets_for_metric(named("touchstone_sync_group_uploads"), &UPLOADS)
            });
            let builder = builder.context("the histograms' bounds make no sense")?;
            let handle = builder.install_recorder().context("the process has metrics already")?;
            describe_counter!(
                "touchstone_sync_requests_total",
                "Requests that were answered, by method, path and status"
            );
            describe_histogram!("touchstone_sync_request_seconds", Unit::Seconds, "How long answers took");
            describe_gauge!("touchstone_sync_requests_under_way", "Requests that are not answered yet");
            describe_histogram!("touchstone_sync_group_uploads", "Uploads of a transaction");
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
    use anyhow::{Result, bail};
    use std::net::TcpListener;

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
