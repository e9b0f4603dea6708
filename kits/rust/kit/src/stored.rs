//! What a driver stores: the kit's own records, or types that it declares to its library and that stand for them.
//!
//! An answer is a record of the kit's own before the clock stops. Those are plain data, and no driver can make a type one
//! of them, so nothing of an answer is left to be fetched where nobody times it.

use std::borrow::Cow;
use std::fmt::Debug;
use touchstone_protocol::Record;

/// A type that a driver stores. Every [`Record`] is one; a driver implements this for a type of its own.
pub trait Stored: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// What a get by key takes.
    type Key: Clone + Ord + Debug + Send + Sync + 'static;

    /// The kit's record that it stands for.
    type Of: Record<Key = Self::Key>;

    /// Its key.
    fn stored_key(&self) -> &Self::Key;

    /// Makes it of a record of the dataset. Never timed.
    fn from_record(record: Self::Of) -> Self;

    /// The record that an answer is. Timed, so it moves the fields and copies none.
    fn into_record(self) -> Self::Of;

    /// The records that an answer is. Timed.
    #[inline]
    fn into_records(answer: Vec<Self>) -> Vec<Self::Of> {
        answer.into_iter().map(Self::into_record).collect()
    }

    /// The record that it is, for what the kit looks at off the clock.
    fn as_record(&self) -> Cow<'_, Self::Of> {
        Cow::Owned(self.clone().into_record())
    }
}

impl<R: Record> Stored for R {
    type Key = <R as Record>::Key;
    type Of = R;

    fn stored_key(&self) -> &<R as Record>::Key {
        self.key()
    }

    fn from_record(record: R) -> R {
        record
    }

    #[inline(always)]
    fn into_record(self) -> R {
        self
    }

    #[inline(always)]
    fn into_records(answer: Vec<R>) -> Vec<R> {
        answer
    }

    fn as_record(&self) -> Cow<'_, R> {
        Cow::Borrowed(self)
    }
}
