//! The project's own sync service as its users run it, but for tokens: the lab's devices have none.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use touchstone_kit::{Failure, FailureKind, failure};
use touchstone_sync::http::App;
use touchstone_sync::identity::Open;
use touchstone_sync::limits::Limits;
use touchstone_sync::serve::{Signals, serve};
use touchstone_sync::storage::Storage;

/// A service that answers in threads of its own.
pub struct Answering {
    app: App,
    threads: JoinHandle<anyhow::Result<()>>,
}

impl Answering {
    /// Opens a storage, and answers whoever connects. Whoever connects before waits in the socket's queue.
    ///
    /// # Errors
    /// When the storage cannot be opened, or there are no threads.
    pub fn begin(
        listening: TcpListener,
        storage: impl Future<Output = anyhow::Result<Arc<dyn Storage>>>,
    ) -> Result<Answering, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(told)?;
        let storage = runtime.block_on(storage).map_err(|error| told(format!("{error:#}")))?;
        let app = App::new(Arc::clone(&storage), Arc::new(Open::of(storage)), Limits::default());
        let served = app.clone();
        let threads = std::thread::spawn(move || {
            runtime.block_on(async { serve(served, listening, None, Signals::catch()?).await })
        });
        Ok(Answering { app, threads })
    }

    /// Answers what was asked, and ends.
    ///
    /// # Errors
    /// When it did not answer to the end.
    pub fn end(self) -> Result<(), Failure> {
        self.app.end();
        let ended = self.threads.join().map_err(|_| failure(FailureKind::Other, "the service panicked"))?;
        ended.map_err(told)
    }
}

/// A failure in the words of its cause.
pub fn told(error: impl std::fmt::Display) -> Failure {
    failure(FailureKind::Other, error.to_string())
}
