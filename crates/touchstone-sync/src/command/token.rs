//! `touchstone-sync token`: makes, lists and revokes tokens. A running service takes notice at once.

use super::table::{Column, table};
use super::{Kept, print, wait};
use crate::clock;
use crate::http::check_name;
use crate::storage::{Error, Listed};
use crate::token;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use std::io;
use std::time::{Duration, UNIX_EPOCH};

/// The first second of the year 10000, since 1970: RFC 3339 writes no year that is later.
const YEAR_10000: i64 = 253_402_300_800;

/// Make, list and revoke tokens
#[derive(Debug, Subcommand)]
pub(super) enum Token {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

/// Make a token of a user, and show it: it is not kept, and not shown again
#[derive(Args, Debug)]
pub(super) struct Create {
    /// The user; one that is not known is made
    #[arg(long)]
    user: String,
    /// For how long it is valid, such as `720h`; without it, until it is revoked
    #[arg(long, value_name = "TIME")]
    expires: Option<humantime::Duration>,
    #[command(flatten)]
    kept: Kept,
}

/// List tokens: names, users, and until when they are valid
#[derive(Args, Debug)]
pub(super) struct List {
    /// Of this user only
    #[arg(long)]
    user: Option<String>,
    /// Print for machines: one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    kept: Kept,
}

/// Revoke a token: no request that begins later is answered
#[derive(Args, Debug)]
pub(super) struct Revoke {
    /// The token's name, as `token list` has it
    name: String,
    #[command(flatten)]
    kept: Kept,
}

impl Token {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Token::Create(create) => wait(create.run()),
            Token::List(list) => wait(list.run()),
            Token::Revoke(revoke) => wait(revoke.run()),
        }
    }
}

impl Create {
    async fn run(self) -> Result<()> {
        check_name("user", &self.user).map_err(|problem| anyhow!("{}", problem.detail()))?;
        let made = clock::seconds();
        let expires =
            self.expires.map(|time| made.saturating_add(i64::try_from(time.as_secs()).unwrap_or(i64::MAX)));
        if expires.is_some_and(|expires| expires <= made || expires >= YEAR_10000) {
            bail!(
                "`--expires` is no time to come before the year 10000: leave it out, or give one such as `720h`"
            );
        }
        let makes_store = self.kept.is_missing_file();
        let storage = self.kept.open().await?;
        let account = storage.user(&self.user).await.map_err(told)?;
        let token = token::Token::make()?;
        storage.keep_token(account, &token.hash(), made, expires).await.map_err(told)?;
        // Beside the token, which programs read: its owner will look for it in `token list`, where the token itself is not.
        eprintln!(
            "touchstone-sync: the token's name is {}: `token revoke` with it ends the token",
            token.hash().name()
        );
        if makes_store {
            // Of a service that runs it is the wrong store, and its owner would only see that the token is refused.
            eprintln!(
                "touchstone-sync: {} was not there, and is a new store now: a service that has another one does not know this token; `--store` says which",
                self.kept.shown()
            );
        }
        print(token.reveal())
    }
}

impl List {
    async fn run(self) -> Result<()> {
        let tokens = self.kept.look().await?.tokens(self.user.as_deref()).await.map_err(told)?;
        if self.json {
            let listed: Vec<_> = tokens
                .iter()
                .map(|token| {
                    serde_json::json!({
                        "name": token.name,
                        "user": token.user,
                        "made": token.made,
                        "expires": token.expires,
                    })
                })
                .collect();
            return print(&serde_json::to_string_pretty(&listed)?);
        }
        let row = |token: &Listed| {
            let until = token.expires.map_or(Ok("no end".to_owned()), date)?;
            Ok(vec![token.name.clone(), token.user.clone(), date(token.made)?, until])
        };
        let rows = tokens.iter().map(row).collect::<Result<Vec<_>>>()?;
        print(&table(&["token", "user", "made", "valid until"].map(Column::Text), rows.into_iter()))
    }
}

impl Revoke {
    async fn run(self) -> Result<()> {
        match self.kept.look().await?.revoke(&self.name).await.map_err(told)? {
            0 => bail!("there is no token `{}`: `touchstone-sync token list` has all of them", self.name),
            _ => Ok(()),
        }
    }
}

fn date(seconds: i64) -> Result<String> {
    let since = Some(seconds).filter(|since| *since < YEAR_10000).and_then(|since| u64::try_from(since).ok());
    let since = since.context("a token has a date that is none")?;
    Ok(humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(since)).to_string())
}

/// What is no mistake of the command line.
fn passing(words: &'static str) -> anyhow::Error {
    io::Error::other(words).into()
}

/// An error of the storage, for whoever owns it.
pub(super) fn told(error: Error) -> anyhow::Error {
    match error {
        Error::Refused(refusal) => anyhow!("{refusal}"),
        Error::Busy => passing("the store is busy: try again later"),
        Error::Away => passing("the storage cannot be reached now: try again when it is back"),
        Error::Full => passing("the storage has no room to write: free some, and try again"),
        Error::Failed(error) => error,
    }
}
