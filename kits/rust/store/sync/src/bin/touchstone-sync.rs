//! touchstone-sync over its embedded storage.

use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{About, Asked, Failure, Service, ServiceKit, Setting, Settings};
use touchstone_store::{Durability, Options, Store};
use touchstone_sync::storage::Storage;
use touchstone_sync::storage::embedded::Embedded;
use touchstone_sync_driver::{Answering, told};

#[path = "../../../../drivers/src/sqlite/about.rs"]
mod about;

fn main() -> ExitCode {
    let about: About = about::about("touchstone-sync", env!("VERSION_TOUCHSTONE_SYNC"));
    ServiceKit::<Sync>::new(about).main()
}

struct Sync {
    store: Store,
    answering: Answering,
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
        let storage = async { Ok(Arc::new(Embedded::to_serve(store.clone())?) as Arc<dyn Storage>) };
        Ok(Sync { answering: Answering::begin(listening, storage)?, store })
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
        self.answering.end()
    }
}
