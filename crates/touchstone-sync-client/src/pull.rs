//! Fetches what other devices have changed: page by page after a cursor, or everything. An object with edits that wait shows these,
//! and what was fetched lies under them.

use crate::local::{self, Item, StateRow, UnderRow};
use crate::service::Asked;
use crate::wire::{Everything, Version};
use crate::{Replica, Result, Synced};
use std::collections::HashMap;
use touchstone_store::Transaction;

impl Replica {
    /// Fetches page after page. A page and the cursor behind it are one transaction.
    pub(crate) fn pull(&self, synced: &mut Synced) -> Asked<()> {
        loop {
            let state = self.state()?;
            let page = self.client().download(state.cursor, state.history.as_deref().unwrap_or_default())?;
            self.store().write(|transaction| {
                for version in &page.changes {
                    take(transaction, version)?;
                }
                transaction.update::<StateRow>(&0, |state| state.cursor = page.cursor)
            })?;
            synced.fetched += page.changes.len() as u64;
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Puts everything in the place of what is here, but for edits that wait.
    pub(crate) fn fetch_everything(&self, synced: &mut Synced) -> Asked<()> {
        let everything = self.client().everything()?;
        synced.fetched += everything.changes.len() as u64;
        self.store().write(|transaction| replace_all(transaction, everything))?;
        Ok(())
    }

    /// Everything is fetched next. Where revisions here are of no history that the service has, they are not compared with its.
    pub(crate) fn begin_anew(&self, is_same_history: bool) -> Result<()> {
        self.store().write(|transaction| {
            transaction.update::<StateRow>(&0, |state| {
                (state.cursor, state.is_whole) = (0, false);
                if !is_same_history {
                    state.history = None;
                }
            })
        })?;
        Ok(())
    }
}

/// A version of another device is shown, or lies under the edits that wait.
fn take(transaction: &mut Transaction<'_>, version: &Version) -> touchstone_store::Result<()> {
    let Version { id, revision, data } = version;
    match transaction.get::<UnderRow>(&**id)? {
        Some(mut under) => {
            under.rise(*revision, data.clone());
            transaction.put(&under)
        }
        None => local::show(transaction, id, *revision, data.clone()),
    }
}

fn replace_all(transaction: &mut Transaction<'_>, everything: Everything) -> touchstone_store::Result<()> {
    let state = transaction.get::<StateRow>(&0)?.expect("it is made when the copy is opened");
    let is_same_history = state.history.as_ref() == Some(&everything.history);
    let versions: HashMap<&str, &Version> =
        everything.changes.iter().map(|version| (version.id.as_str(), version)).collect();
    for item in transaction.of::<Item>().all()? {
        let is_edited = transaction.get::<UnderRow>(&*item.id)?.is_some();
        if !is_edited && !versions.contains_key(item.id.as_str()) {
            transaction.remove::<Item>(&*item.id)?;
        }
    }
    for mut under in transaction.of::<UnderRow>().all()? {
        let version = versions.get(under.object.as_str());
        (under.revision, under.data) =
            version.map_or((0, None), |version| (version.revision, version.data.clone()));
        if !is_same_history {
            // What was edited is known again by what it says. Else it is as if this device knew of no version.
            under.base = if under.base_data == under.data { under.revision } else { 0 };
        }
        transaction.put(&under)?;
    }
    for version in everything.changes.iter() {
        if transaction.get::<UnderRow>(&*version.id)?.is_none() {
            local::show(transaction, &version.id, version.revision, version.data.clone())?;
        }
    }
    let (cursor, history) = (everything.cursor, Some(everything.history));
    transaction.put(&StateRow { cursor, history, is_whole: true, ..state })
}
