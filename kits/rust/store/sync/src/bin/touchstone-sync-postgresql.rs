//! touchstone-sync over PostgreSQL: a server of its own, on a local socket alone, whose data lie in the lab's folder.

use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{About, Asked, Failure, Service, ServiceKit, Setting, Settings};
use touchstone_sync::storage::Storage;
use touchstone_sync::storage::postgres::Postgres;
use touchstone_sync_driver::{Answering, told};

#[path = "../postgresql.rs"]
mod postgresql;

use postgresql::Server;

/// Connections at most, as `touchstone-sync serve` has them.
const CONNECTIONS: usize = 16;

fn main() -> ExitCode {
    let about = About {
        subject: "touchstone-sync-postgresql".into(),
        version: env!("VERSION_TOUCHSTONE_SYNC").into(),
        engine: postgresql::version(),
        engine_source: String::new(),
        compile_options: Vec::new(),
    };
    ServiceKit::<Sync>::new(about).main()
}

struct Sync {
    server: Server,
    answering: Answering,
    strict: bool,
}

impl Service for Sync {
    fn serve(asked: &Asked, listening: TcpListener) -> Result<Sync, Failure> {
        let strict = asked.word("durability", &["strict", "consistent"])? == Some("strict");
        // It is asked for where others store something at a download.
        asked.word("download", &["reads"])?;
        let server = Server::start(&asked.directory)?;
        let url = server.url();
        let storage = async {
            let storage = Postgres::to_serve(&url, CONNECTIONS, strict).await?;
            Ok(Arc::new(storage) as Arc<dyn Storage>)
        };
        Ok(Sync { answering: Answering::begin(listening, storage)?, server, strict })
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        // The service asks for `synchronous_commit` at each connection; these are the server's, without which it would be nothing.
        for (name, wanted) in [("fsync", "on"), ("full_page_writes", "on")] {
            let found = self.server.show(name)?;
            if found != wanted {
                return Err(told(format!("the server's `{name}` is {found}")));
            }
        }
        let durability = if self.strict { "strict" } else { "consistent" };
        Ok(Settings::from([
            ("download".to_owned(), Setting::Word("reads".into())),
            ("durability".to_owned(), Setting::Word(durability.into())),
        ]))
    }

    fn close(self) -> Result<(), Failure> {
        self.answering.end()?;
        self.server.stop()
    }
}
