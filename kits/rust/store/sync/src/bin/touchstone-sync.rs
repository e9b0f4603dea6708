//! touchstone-sync over its embedded storage, as its users run it, but for tokens: the lab's devices have none.

use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::JoinHandle;
use touchstone_kit::{About, Asked, Failure, FailureKind, Service, ServiceKit, Setting, Settings, failure};
use touchstone_store::{Durability, Options, Store};
use touchstone_sync::http::App;
use touchstone_sync::identity::Open;
use touchstone_sync::limits::Limits;
use touchstone_sync::serve::serve;
use touchstone_sync::storage::Storage;
use touchstone_sync::storage::embedded::Embedded;

#[path = "../../../../drivers/src/sqlite/about.rs"]
mod about;

fn main() -> ExitCode {
    let about: About = about::about("touchstone-sync", env!("VERSION_TOUCHSTONE_SYNC"));
    ServiceKit::<Sync>::new(about).main()
}

struct Sync {
    store: Store,
    app: App,
    answering: JoinHandle<anyhow::Result<()>>,
}

impl Service for Sync {
    fn serve(asked: &Asked, listening: TcpListener) -> Result<Sync, Failure> {
        let durability = match asked.word("durability", &["strict", "consistent"])? {
            Some("strict") => Durability::Strict,
            _ => Durability::Consistent,
        };
        // It is asked for where others store something at a download.
        asked.word("download", &["reads"])?;
        let store =
            Options::new().durability(durability).open(asked.directory.join("sync.db")).map_err(told)?;
        let storage: Arc<dyn Storage> = Arc::new(Embedded::to_serve(store.clone()).map_err(told)?);
        let identity = Arc::new(Open::of(Arc::clone(&storage)));
        let app = App::new(storage, identity, Limits::default());
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(told)?;
        let served = app.clone();
        // Whoever connects before it answers waits in the socket's queue.
        let answering = std::thread::spawn(move || runtime.block_on(serve(served, listening, None)));
        Ok(Sync { store, app, answering })
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        let durability = match self.store.durability() {
            Durability::Strict => "strict",
            Durability::Consistent => "consistent",
            _ => "process",
        };
        let snapshot = self.store.snapshot().map_err(told)?;
        let pragma = |name: &str| {
            snapshot
                .sql(|sql| sql.query_row(&format!("pragma {name}"), (), |row| row.get::<_, String>(0)))
                .map_err(told)
        };
        Ok(Settings::from([
            ("download".to_owned(), Setting::Word("reads".into())),
            ("durability".to_owned(), Setting::Word(durability.into())),
            ("journal_mode".to_owned(), Setting::Word(pragma("journal_mode")?)),
        ]))
    }

    fn close(self) -> Result<(), Failure> {
        self.app.end();
        let ended = self.answering.join().map_err(|_| failure(FailureKind::Other, "the service panicked"))?;
        ended.map_err(told)
    }
}

fn told(error: impl std::fmt::Display) -> Failure {
    failure(FailureKind::Other, error.to_string())
}
