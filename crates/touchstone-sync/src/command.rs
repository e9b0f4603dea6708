//! The command line. Each verb is a file.

mod admin;
mod backup;
mod check;
mod open;
mod owner;
mod postgres;
mod restore;
mod serve;
mod table;
mod token;

use crate::limits::CONNECTIONS;
use crate::storage::Storage;
use crate::storage::embedded::Embedded;
use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use rustix::fs::Mode;
use rustix::process::umask;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use touchstone_store::{Durability, Options, Store};

/// Serves changes to the devices of users: one upload's changes are the other devices' downloads.
#[derive(Debug, Parser)]
#[command(
    name = "touchstone-sync",
    version,
    after_help = "Examples:\n  \
        touchstone-sync token create --user ada         a token, which is shown once\n  \
        touchstone-sync serve                           serves sync.db on 127.0.0.1:8080\n  \
        touchstone-sync serve --listen 0.0.0.0:443 --certificate cert.pem --key key.pem\n  \
        touchstone-sync backup copy.db                  copies the store while it is served\n  \
        touchstone-sync check --store copy.db           whether a store or a copy is whole\n  \
        touchstone-sync token revoke 3f9a0c51d2e4\n  \
        touchstone-sync admin users                     what each user has\n  \
        touchstone-sync openapi                         the OpenAPI document\n\n\
        Exit status: 0 done, 64 makes no sense, 65 no store or a damaged one, 66 no such file, 74 input, output or the database"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    #[command(subcommand)]
    Token(token::Token),
    #[command(subcommand)]
    Admin(admin::Admin),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Check(check::Check),
    /// Print the OpenAPI document
    Openapi,
    /// Print completions for a shell
    #[cfg(feature = "terminal")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// More connections than any server takes.
const CONNECTIONS_MAX: usize = 10_000;

/// How the URL of a PostgreSQL begins.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Where users, devices and versions are kept.
#[derive(Args, Clone, Debug)]
struct Kept {
    /// The file of the store, which `serve` and `token create` make where there is none, or the URL of a PostgreSQL: `postgres://user@host/database`
    #[arg(
        long,
        value_name = "FILE | URL",
        default_value = "sync.db",
        env = "TOUCHSTONE_SYNC_STORE",
        hide_env_values = true
    )]
    store: PathBuf,
    /// Connections to PostgreSQL at most
    #[arg(long, value_name = "NUMBER", default_value_t = CONNECTIONS, hide = cfg!(not(feature = "postgres")), env = "TOUCHSTONE_SYNC_CONNECTIONS")]
    connections: usize,
    /// What an acknowledged upload survives
    #[arg(long, value_name = "CLASS", default_value = "consistent", env = "TOUCHSTONE_SYNC_DURABILITY")]
    durability: Class,
}

/// A durability class of the store.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Class {
    /// A loss of power: each group of uploads is flushed
    Strict,
    /// A crash of the service; after a loss of power the newest uploads may be gone
    Consistent,
}

impl Kept {
    /// Opens what is kept, to serve it.
    async fn serve(&self) -> Result<Arc<dyn Storage>> {
        if let Some(url) = self.url() {
            return self.postgres(url, Some(self.durability)).await;
        }
        let kept = self.clone();
        // It may wait for another service, and be told to end meanwhile.
        let opened = tokio::task::spawn_blocking(move || {
            let store = kept.store(true)?;
            Embedded::to_serve(store).map_err(|error| match error.downcast() {
                Ok(error) => open::told(&kept.not_opened(), &kept.store, &error).into(),
                Err(error) => error.context(kept.not_opened()),
            })
        });
        Ok(Arc::new(opened.await.context("the thread that opens the store was ended")??))
    }

    /// Opens what is kept, beside the service; the store is made where there is none.
    async fn open(&self) -> Result<Arc<dyn Storage>> {
        self.beside(true).await
    }

    /// Opens what is kept, beside the service. Where there is nothing, that is an error: whoever looks makes no store.
    async fn look(&self) -> Result<Arc<dyn Storage>> {
        self.beside(false).await
    }

    async fn beside(&self, create: bool) -> Result<Arc<dyn Storage>> {
        if let Some(url) = self.url() {
            return self.postgres(url, None).await;
        }
        Ok(Arc::new(Embedded::new(self.store(create)?)?))
    }

    async fn postgres(&self, url: &str, served: Option<Class>) -> Result<Arc<dyn Storage>> {
        let connections = self.connections.clamp(1, CONNECTIONS_MAX);
        postgres::open(url, connections, served).await.with_context(|| self.not_opened())
    }

    fn not_opened(&self) -> String {
        format!("cannot open {}", self.shown())
    }

    fn store(&self, create: bool) -> Result<Store> {
        self.check_name()?;
        let durability = match self.durability {
            Class::Strict => Durability::Strict,
            Class::Consistent => Durability::Consistent,
        };
        Ok(open::open(&self.store, Options::new().durability(durability).create(create))?)
    }

    /// The URL, where it is none of a file.
    fn url(&self) -> Option<&str> {
        self.store.to_str().filter(|store| SCHEMES.iter().any(|scheme| store.starts_with(scheme)))
    }

    /// Whether it is a file that is yet to be made.
    fn is_missing_file(&self) -> bool {
        self.url().is_none() && !self.store.exists()
    }

    /// Refuses a database that is copied by its own programs.
    fn check_file(&self) -> Result<()> {
        match self.url() {
            Some(_) => bail!(
                "a PostgreSQL is backed up and restored by its own programs, such as `pg_dump`; this is for the store's file"
            ),
            None => self.check_name(),
        }
    }

    /// Refuses a folder's name, and a URL of something else, without what that may have of a password.
    fn check_name(&self) -> Result<()> {
        if self.store.as_os_str().as_bytes().ends_with(b"/") {
            bail!("`{}` names a folder, and the store is a file", self.store.display());
        }
        match self.store.to_str().and_then(|store| store.split_once("://")) {
            Some((scheme, _)) => {
                bail!("`{scheme}://…` is no store: give a file, or a URL that begins with `{}`", SCHEMES[0])
            }
            None => Ok(()),
        }
    }

    /// What is opened, without what a URL has of a password.
    fn shown(&self) -> String {
        match self.url() {
            Some(url) => {
                let url = url.split('?').next().unwrap_or(url);
                url.rsplit_once('@')
                    .map_or_else(|| url.to_owned(), |(_, place)| format!("postgres://…@{place}"))
            }
            None => self.store.display().to_string(),
        }
    }
}

impl Cli {
    /// Does what the command line says.
    ///
    /// # Errors
    /// As the verb does.
    pub fn run(self) -> Result<()> {
        // What users have stored is for nobody else of the machine, wherever a store or a copy of one is made.
        umask(Mode::RWXG | Mode::RWXO);
        match self.command {
            Command::Serve(serve) => serve.run(),
            Command::Token(token) => token.run(),
            Command::Admin(admin) => admin.run(),
            Command::Backup(backup) => backup.run(),
            Command::Restore(restore) => restore.run(),
            Command::Check(check) => check.run(),
            Command::Openapi => print(crate::http::OPENAPI.trim_end()),
            #[cfg(feature = "terminal")]
            Command::Completions { shell } => {
                clap_complete::generate(
                    shell,
                    &mut <Cli as clap::CommandFactory>::command(),
                    "touchstone-sync",
                    &mut std::io::stdout(),
                );
                Ok(())
            }
        }
    }
}

/// Prints lines to standard output. A reader that has gone away has read enough.
fn print(lines: &str) -> Result<()> {
    match writeln!(std::io::stdout(), "{lines}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot print"),
        _ => Ok(()),
    }
}

/// Runs what waits, on one thread: a verb that asks once needs no more.
fn wait<R>(work: impl Future<Output = Result<R>>) -> Result<R> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
