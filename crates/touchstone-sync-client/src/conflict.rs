//! Conflicts: this device has edited an object that another one has changed, and the program decides what it becomes.

use crate::local::{self, DisplacedRow, Item, OutgoingRow, UnderRow, waiting};
use crate::push::Sent;
use crate::wire::Version;
use crate::{Replica, Result, Synced};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use touchstone_store::Transaction;

/// Two edits of one object, by this device and by another, that do not know of each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The object.
    pub id: String,
    /// What this device's edit was made on; none where there was no such object.
    pub base: Option<String>,
    /// What this device has made of it; none where it has deleted it.
    pub mine: Option<String>,
    /// What the other device has made of it; none where it has deleted it.
    pub theirs: Option<String>,
}

/// What becomes of an object of which there are two edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// What this device has made of it.
    Mine,
    /// What the other device has made of it.
    Theirs,
    /// Another state, made of both; none deletes the object.
    Merged(Option<String>),
}

/// A state of an object that has lost its place, and is nowhere else any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Displaced {
    /// Another device had made this, and an edit of this device that did not know of it came after it.
    Overwritten {
        /// The object.
        id: String,
        /// Its state; none where the other device had deleted it.
        data: Option<String>,
    },
    /// This device has made this, and the service does not take it.
    Refused {
        /// The object.
        id: String,
        /// Its state; none where it was to be deleted.
        data: Option<String>,
        /// The service's words.
        why: String,
    },
}

impl Replica {
    /// Decides about the objects of an upload that are not at their bases, so that it can be sent again.
    pub(crate) fn decide(&self, current: &[Version], batch: &[Sent], synced: &mut Synced) -> Result<()> {
        for theirs in current {
            let Some(Sent { under, .. }) = batch.iter().find(|sent| sent.edit.object == theirs.id) else {
                continue;
            };
            let Some(item) = self.store().get::<Item>(&*theirs.id)? else { continue };
            let conflict = Conflict {
                id: item.id,
                base: under.base_data.clone(),
                mine: item.data,
                theirs: theirs.data.clone(),
            };
            let resolution = match agreed(&conflict) {
                Some(resolution) => resolution,
                None => {
                    synced.conflicts += 1;
                    self.ask(&conflict)
                }
            };
            let name = local::unique_name()?;
            self.store().write(|transaction| settle(transaction, &conflict, theirs, resolution, name))?;
        }
        Ok(())
    }

    /// Tells the program of what has lost its place. What it is told of is forgotten only then: after a crash it may be told again, and
    /// so it may be where others sync the copy meanwhile. A function that syncs is called no deeper: what comes of that is told after.
    pub(crate) fn tell_displaced(&self) -> Result<()> {
        let Some(tell) = self.on_displaced() else { return Ok(()) };
        let Some(_telling) = Telling::begin(&self.inner.telling) else { return Ok(()) };
        loop {
            let rows = self.store().all::<DisplacedRow>()?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in rows {
                tell(row.clone().into());
                self.store().write(|transaction| forget(transaction, &row))?;
            }
        }
    }
}

impl From<DisplacedRow> for Displaced {
    fn from(DisplacedRow { object: id, data, refusal, .. }: DisplacedRow) -> Displaced {
        match refusal {
            None => Displaced::Overwritten { id, data },
            Some(why) => Displaced::Refused { id, data, why },
        }
    }
}

/// Forgets what was told. Where another has told it too, its number may be that of a later one by now.
fn forget(transaction: &mut Transaction<'_>, told: &DisplacedRow) -> touchstone_store::Result<()> {
    if transaction.get::<DisplacedRow>(&told.number)?.as_ref() == Some(told) {
        transaction.remove::<DisplacedRow>(&told.number)?;
    }
    Ok(())
}

/// A thread that tells the program, until it is dropped.
struct Telling<'t>(&'t Mutex<HashSet<ThreadId>>);

impl Telling<'_> {
    /// None where this thread tells already.
    fn begin(telling: &Mutex<HashSet<ThreadId>>) -> Option<Telling<'_>> {
        let mut threads = telling.lock().unwrap_or_else(PoisonError::into_inner);
        threads.insert(thread::current().id()).then(|| Telling(telling))
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&thread::current().id());
    }
}

/// What needs no decision: both have made the same of it, or the other device has left it as it was.
fn agreed(conflict: &Conflict) -> Option<Resolution> {
    if conflict.mine == conflict.theirs {
        Some(Resolution::Theirs)
    } else {
        (conflict.base == conflict.theirs).then_some(Resolution::Mine)
    }
}

/// One edit, made on theirs, takes the place of all that wait, or none does. Where the object was edited while the program decided,
/// nothing is done: the service refuses again, and the program is asked about what there is then.
fn settle(
    transaction: &mut Transaction<'_>,
    conflict: &Conflict,
    theirs: &Version,
    resolution: Resolution,
    name: String,
) -> touchstone_store::Result<()> {
    let id = &*conflict.id;
    if transaction.get::<Item>(id)?.is_none_or(|item| item.data != conflict.mine) {
        return Ok(());
    }
    let data = match resolution {
        Resolution::Mine => Some(conflict.mine.clone()),
        Resolution::Theirs => None,
        Resolution::Merged(data) => Some(data).filter(|data| *data != theirs.data),
    };
    let mut under = transaction.get::<UnderRow>(id)?.unwrap_or_default();
    under.rise(theirs.revision, theirs.data.clone());
    let waiting = waiting(transaction, id)?;
    for edit in &waiting {
        transaction.remove::<OutgoingRow>(&edit.number)?;
    }
    let (Some(data), Some(first)) = (data, waiting.first()) else {
        transaction.remove::<UnderRow>(id)?;
        return local::show(transaction, id, under.revision, under.data);
    };
    (under.base, under.base_data) = (theirs.revision, theirs.data.clone());
    transaction.put(&under)?;
    transaction.put(&Item { id: id.to_owned(), data: data.clone(), revision: 0 })?;
    // Under another name: what the old one stood for was refused.
    transaction.insert(&OutgoingRow {
        number: first.number,
        object: id.to_owned(),
        data,
        name,
        is_sent: false,
    })
}
