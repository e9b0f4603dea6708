//! What a subscriber is given: one update for each subscription that a transaction changed.

use super::family::{Step, Watch};
use super::mailbox::Supersede;
use super::results::{Difference, Results};
use super::row::Row;
use super::sql::SqlRows;
use crate::error::Error;
use crate::record::Record;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A value of a type that only the subscriber knows.
pub(crate) type Unknown = Arc<dyn Any + Send + Sync>;

/// Which subscription an update is of. No two of a store are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub(crate) u64);

/// What happened to the result of one subscription.
pub struct Update {
    pub(crate) id: SubscriptionId,
    pub(crate) version: u64,
    pub(crate) what: What,
    pub(crate) is_resync: bool,
}

/// What happened.
pub(crate) enum What {
    /// The window's `Watch`, the set's `Step`, and the earliest step that the receiver has not seen, if that is another.
    Window {
        watch: Unknown,
        step: Unknown,
        older: Option<Unknown>,
    },
    /// The record's rows, where there were any.
    Record {
        before: Option<Unknown>,
        after: Option<Unknown>,
    },
    Count {
        before: u64,
        after: u64,
    },
    Sql {
        before: SqlRows,
        after: SqlRows,
    },
    Failed(Error),
}

impl fmt::Debug for Update {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Update");
        shown.field("id", &self.id).field("version", &self.version).field("is_resync", &self.is_resync);
        match &self.what {
            What::Count { after, .. } => shown.field("count", after),
            What::Failed(error) => shown.field("error", error),
            What::Window { .. } | What::Record { .. } | What::Sql { .. } => &mut shown,
        };
        shown.finish_non_exhaustive()
    }
}

impl Update {
    /// Whose update it is.
    #[must_use]
    pub fn id(&self) -> SubscriptionId {
        self.id
    }

    /// The commit after which the result is so.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether the result was read anew, because what changed it could not be followed: see
    /// [`Batch::is_resync`](crate::Batch::is_resync).
    #[must_use]
    pub fn is_resync(&self) -> bool {
        self.is_resync
    }

    /// The records now. None where only their number is watched, where they are of another type, and where the result
    /// could not be followed.
    #[must_use]
    pub fn results<T: Record>(&self) -> Option<Results<T>> {
        match &self.what {
            What::Window { watch, step, .. } => {
                let (watch, step) = (watch.downcast_ref::<Watch<T>>()?, step.downcast_ref::<Step<T>>()?);
                Some(Results::of_window(watch, step.after.clone(), self.version))
            }
            What::Record { after, .. } => record(after.as_ref(), self.version),
            What::Count { .. } | What::Sql { .. } | What::Failed(_) => None,
        }
    }

    /// The records as this feed's receiver had them before the update.
    #[must_use]
    pub fn before<T: Record>(&self) -> Option<Results<T>> {
        match &self.what {
            What::Window { watch, step, older } => {
                let step = older.as_ref().unwrap_or(step);
                let (watch, step) = (watch.downcast_ref::<Watch<T>>()?, step.downcast_ref::<Step<T>>()?);
                Some(Results::of_window(watch, step.before.clone(), self.version.saturating_sub(1)))
            }
            What::Record { before, .. } => record(before.as_ref(), self.version.saturating_sub(1)),
            What::Count { .. } | What::Sql { .. } | What::Failed(_) => None,
        }
    }

    /// What makes the records of those that the receiver had before.
    #[must_use]
    pub fn diff<T: Record>(&self) -> Option<Vec<Difference<T>>> {
        Some(self.results::<T>()?.diff(&self.before::<T>()?))
    }

    /// The records that came and went, without their places: what the whole set's update has in the window, where that
    /// is enough, and otherwise what a [diff](Update::diff) finds.
    #[must_use]
    pub fn delta<T: Record>(&self) -> Option<Delta<T>> {
        if let What::Window { watch, step, older: None } = &self.what {
            let watch = Arc::clone(watch).downcast::<Watch<T>>().ok()?;
            if watch.is_whole() {
                return Some(Delta(Changed::Step(watch, Arc::clone(step).downcast::<Step<T>>().ok()?)));
            }
        }
        Some(Delta(Changed::Diff(self.before::<T>()?, self.diff::<T>()?)))
    }

    /// How many records there are now.
    #[must_use]
    pub fn count<T: Record>(&self) -> Option<u64> {
        match &self.what {
            What::Count { after, .. } => Some(*after),
            _ => self.results::<T>().map(|results| results.len() as u64),
        }
    }

    /// What a watched statement gives now.
    #[must_use]
    pub fn sql_rows(&self) -> Option<&SqlRows> {
        match &self.what {
            What::Sql { after, .. } => Some(after),
            _ => None,
        }
    }

    /// What the statement gave before, as this feed's receiver had it.
    #[must_use]
    pub fn sql_rows_before(&self) -> Option<&SqlRows> {
        match &self.what {
            What::Sql { before, .. } => Some(before),
            _ => None,
        }
    }

    /// Why the result cannot be followed, where it cannot. A later update says when it can be again.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match &self.what {
            What::Failed(error) => Some(error),
            _ => None,
        }
    }
}

/// The results of a key. A key without a record has no type either.
fn record<T: Record>(row: Option<&Unknown>, version: u64) -> Option<Results<T>> {
    let row = match row {
        Some(row) => Some(Arc::clone(row).downcast::<Row<T>>().ok()?),
        None => None,
    };
    Some(Results::of_record(row, version))
}

/// The records that came into a result, and those that left it.
pub struct Delta<T>(Changed<T>);

enum Changed<T> {
    Step(Arc<Watch<T>>, Arc<Step<T>>),
    Diff(Results<T>, Vec<Difference<T>>),
}

impl<T: Record> Delta<T> {
    /// The records that left their places, as they were: gone, moved or changed.
    pub fn removed(&self) -> impl Iterator<Item = &T> {
        let (entries, before, differences) = match &self.0 {
            Changed::Step(watch, step) => (watch.touched(&step.removed), None, [].as_slice()),
            Changed::Diff(before, differences) => ([].as_slice(), Some(before), differences.as_slice()),
        };
        let found = differences.iter().filter_map(move |difference| match difference {
            Difference::Removed { at } | Difference::Changed { old_at: at, .. } => before?.get(*at),
            Difference::Inserted { .. } => None,
        });
        entries.iter().map(|entry| &entry.row.record).chain(found)
    }

    /// The records that came to their places, as they are: new, moved or changed.
    pub fn inserted(&self) -> impl Iterator<Item = &T> {
        let (entries, differences) = match &self.0 {
            Changed::Step(watch, step) => (watch.touched(&step.inserted), [].as_slice()),
            Changed::Diff(_, differences) => ([].as_slice(), differences.as_slice()),
        };
        let found = differences.iter().filter_map(|difference| match difference {
            Difference::Inserted { record, .. } | Difference::Changed { record, .. } => Some(&**record),
            Difference::Removed { .. } => None,
        });
        entries.iter().map(|entry| &entry.row.record).chain(found)
    }
}

impl Supersede for Update {
    fn supersede(&mut self, older: &mut Update) {
        self.is_resync |= older.is_resync;
        match (&mut self.what, &mut older.what) {
            (What::Window { older: earliest, .. }, What::Window { step, older, .. }) => {
                *earliest = Some(older.take().unwrap_or_else(|| Arc::clone(step)));
            }
            (What::Record { before, .. }, What::Record { before: earliest, .. }) => *before = earliest.take(),
            (What::Count { before, .. }, What::Count { before: earliest, .. }) => *before = *earliest,
            (What::Sql { before, .. }, What::Sql { before: earliest, .. }) => {
                std::mem::swap(before, earliest)
            }
            _ => {}
        }
    }
}
