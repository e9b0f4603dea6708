//! `touchstone-sync admin`: what is kept, for the service's owner.

use super::open;
use super::owner::Owner;
use super::table::{Column, table};
use super::token::told;
use super::{Kept, print, wait};
use crate::storage::{Room, Usage};
use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use touchstone_store::{Options, Store};

/// Look at users, devices and room, and make the file smaller
#[derive(Debug, Subcommand)]
pub(super) enum Admin {
    Users(Users),
    Devices(Devices),
    Size(Size),
    Compact(Compact),
}

/// List users: their devices, objects, remembered deletions, bytes of data and last revision. It reads every object
#[derive(Args, Debug)]
pub(super) struct Users {
    #[command(flatten)]
    printed: Printed,
    #[command(flatten)]
    kept: Kept,
}

/// List the devices of a user. How far each is, the running service knows: `GET /v1/devices`, and the page at `/`
#[derive(Args, Debug)]
pub(super) struct Devices {
    /// The user
    #[arg(long)]
    user: String,
    #[command(flatten)]
    printed: Printed,
    #[command(flatten)]
    kept: Kept,
}

/// Tell what room is taken
#[derive(Args, Debug)]
pub(super) struct Size {
    #[command(flatten)]
    printed: Printed,
    #[command(flatten)]
    kept: Kept,
}

/// Write the store's file anew, without what is free in it. End the service first; the disk needs room for a second copy
#[derive(Args, Debug)]
pub(super) struct Compact {
    #[command(flatten)]
    kept: Kept,
}

/// How a list is printed.
#[derive(Args, Debug)]
struct Printed {
    /// Print for machines: one JSON document
    #[arg(long)]
    json: bool,
}

impl Printed {
    /// Prints rows; `cells` are those of a row.
    fn rows<R: Serialize>(
        &self,
        rows: &[R],
        columns: &[Column],
        cells: impl Fn(&R) -> Vec<String>,
    ) -> Result<()> {
        if self.json {
            return print(&serde_json::to_string_pretty(rows)?);
        }
        print(&table(columns, rows.iter().map(cells)))
    }
}

impl Admin {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Admin::Users(users) => wait(users.run()),
            Admin::Devices(devices) => wait(devices.run()),
            Admin::Size(size) => wait(size.run()),
            Admin::Compact(compact) => compact.run(),
        }
    }
}

impl Users {
    async fn run(self) -> Result<()> {
        let users = self.kept.look().await?.usage().await.map_err(told)?;
        let [user, numbers @ ..] = ["user", "devices", "objects", "deletions", "bytes", "revision"];
        let columns = [&[Column::Text(user)][..], &numbers.map(Column::Number)].concat();
        self.printed.rows(&users, &columns, |usage: &Usage| {
            let numbers = [usage.devices, usage.objects, usage.deletions, usage.bytes, usage.revision];
            [usage.user.clone()].into_iter().chain(numbers.map(|number| number.to_string())).collect()
        })
    }
}

impl Devices {
    async fn run(self) -> Result<()> {
        let storage = self.kept.look().await?;
        let account = storage.user_named(&self.user).await.map_err(told)?;
        let account = account.ok_or_else(|| {
            anyhow!("there is no user `{}`: `touchstone-sync admin users` has all of them", self.user)
        })?;
        let devices = storage.devices(account).await.map_err(told)?;
        let names: Vec<String> = devices.into_iter().map(|device| device.name).collect();
        self.printed.rows(&names, &[Column::Text("device")], |name| vec![name.clone()])
    }
}

impl Size {
    async fn run(self) -> Result<()> {
        let room = self.kept.look().await?.room().await.map_err(told)?;
        let columns = [Column::Text(""), Column::Number("bytes")];
        self.printed.rows(&room, &columns, |room: &Room| vec![room.part.clone(), room.bytes.to_string()])
    }
}

impl Compact {
    fn run(self) -> Result<()> {
        if self.kept.url().is_some() {
            bail!(
                "a PostgreSQL is compacted by its own programs, such as `vacuumdb`; this is for the store's file"
            );
        }
        // A file that is not there is told as such.
        drop(self.kept.store(false)?);
        let store = &self.kept.store;
        let owner = Owner::of(store);
        let what = || format!("cannot write {} anew: end the service first", store.display());
        let written = Store::change_key(store, Options::new(), Options::new());
        written.map_err(|error| open::told(&what(), store, &error))?;
        if let Some(owner) = owner {
            owner.check(store, "the file before it");
        }
        Ok(())
    }
}
