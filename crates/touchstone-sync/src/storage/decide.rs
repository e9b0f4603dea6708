//! What an upload comes to: which of its changes were applied before, which revisions the others are given, which versions they take
//! the place of, or why nothing of it is stored. The rules stand here alone; a storage looks things up, and writes what is decided.

use super::Refusal;
use crate::change::{Change, Upload, Uploaded, Version};
use crate::shares::AnswerRoom;
use std::collections::HashMap;

/// Bytes of the versions that an answer to an upload gives back at most.
pub(crate) const GIVEN_BACK_BYTES_MAX: usize = 4 << 20;

/// What a storage has of a user, as it is within the transaction of a device's upload.
pub(super) trait Lookup {
    /// How it fails.
    type Error;

    /// What was done for the device's change of this name.
    fn applied(&self, name: &str) -> Result<Option<Applied>, Self::Error>;

    /// The revision of an object.
    fn revision(&self, object: &str) -> Result<Option<u64>, Self::Error>;

    /// The version of an object, which has this revision.
    fn version(&self, object: &str, revision: u64) -> Result<Version, Self::Error>;

    /// The same, unless the device that asks has made it.
    fn version_of_others(&self, object: &str, revision: u64) -> Result<Option<Version>, Self::Error>;
}

/// What was done for a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Applied {
    /// The revision that it was given.
    pub(super) revision: u64,
    /// What it has overwritten, unseen.
    pub(super) overwritten: Option<Version>,
}

/// What is done for one change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    applied: Applied,
    /// Whether it was done before.
    is_repeated: bool,
    /// The revision of the version whose place it takes.
    replaces: Option<u64>,
}

/// A change that is to be written.
pub(super) struct Write<'d> {
    /// The change.
    pub(super) change: &'d Change,
    /// What is to be remembered of it, where it has a name.
    pub(super) applied: &'d Applied,
    /// The revision of the version whose place it takes.
    pub(super) replaces: Option<u64>,
}

/// What is done for an upload.
#[derive(Debug)]
pub(super) struct Decided {
    steps: Vec<Step>,
    /// The user's last revision after them.
    pub(super) revision: u64,
}

/// Decides an upload of a device, where `revision` is the user's last one. Room for what is given back is taken before anything is written.
pub(super) fn decide<L: Lookup>(
    lookup: &L,
    upload: &Upload,
    revision: u64,
    room: &AnswerRoom,
) -> Result<Result<Decided, Refusal>, L::Error> {
    let mut decided = Decided { steps: Vec::new(), revision };
    let mut current = Vec::new();
    // Nothing more is looked up where it is too much, or has no room: what is given back is in memory.
    let (mut given_back, mut gives_back, has_room) = (0, false, room.has_room());
    // What the upload itself has made of objects and of names. Nobody is asked for a base that is the upload's own.
    let (mut made, mut named) = (HashMap::new(), HashMap::new());
    for change in &upload.changes {
        if given_back > GIVEN_BACK_BYTES_MAX || gives_back && !has_room {
            break;
        }
        if let Some(applied) = repeated(lookup, change, &named)? {
            given_back += bytes_of(applied.overwritten.as_ref());
            gives_back |= applied.overwritten.is_some();
            decided.steps.push(Step { applied, is_repeated: true, replaces: None });
            continue;
        }
        let own = made.get(change.id.as_str()).copied();
        let replaces = if own.is_some() { own } else { lookup.revision(&change.id)? };
        let stored = replaces.unwrap_or(0);
        let mut overwritten = None;
        if own.is_none() && change.base.is_some_and(|base| base != stored) {
            let version = current_version(lookup, &change.id, replaces)?;
            given_back += bytes_of(Some(&version));
            gives_back = true;
            current.push(version);
        } else if own.is_none() && change.base.is_none() && stored > upload.seen {
            overwritten = lookup.version_of_others(&change.id, stored)?;
            given_back += bytes_of(overwritten.as_ref());
            gives_back |= overwritten.is_some();
        }
        decided.revision += 1;
        let applied = Applied { revision: decided.revision, overwritten };
        made.insert(change.id.as_str(), decided.revision);
        named.extend(change.name.as_deref().map(|name| (name, applied.clone())));
        decided.steps.push(Step { applied, is_repeated: false, replaces });
    }
    let told = || decided.overwritten().chain(&current).map(Version::bytes_of_json).sum();
    Ok(if given_back > GIVEN_BACK_BYTES_MAX {
        Err(Refusal::TooMuch { most: GIVEN_BACK_BYTES_MAX })
    } else if gives_back && !(has_room && room.take(told())) {
        Err(Refusal::Unread { looked_at: given_back })
    } else if current.is_empty() {
        Ok(decided)
    } else {
        Err(Refusal::Conflict { current })
    })
}

/// Bytes of the versions that an answer to an upload gives back, or that were looked at for it.
pub(super) fn given_back(answer: Result<&Uploaded, &Refusal>) -> usize {
    let versions: &[Version] = match answer {
        Ok(uploaded) => &uploaded.overwritten,
        Err(Refusal::Conflict { current }) => current,
        Err(Refusal::Unread { looked_at }) => return *looked_at,
        Err(_) => &[],
    };
    versions.iter().map(with_name).sum()
}

/// Bytes of a version with its object's name.
fn with_name(version: &Version) -> usize {
    version.id.len() + bytes_of(Some(version))
}

/// Bytes of a version that is given back.
fn bytes_of(version: Option<&Version>) -> usize {
    version.and_then(|version| version.data.as_ref()).map_or(0, String::len)
}

/// What was done already for the device's change of that name, by this upload too.
fn repeated<L: Lookup>(
    lookup: &L,
    change: &Change,
    named: &HashMap<&str, Applied>,
) -> Result<Option<Applied>, L::Error> {
    let Some(name) = &change.name else { return Ok(None) };
    match named.get(name.as_str()) {
        // What it has overwritten is told with the first of the two.
        Some(applied) => Ok(Some(Applied { overwritten: None, ..applied.clone() })),
        None => lookup.applied(name),
    }
}

/// What an object is now; revision 0 where it is not known.
fn current_version<L: Lookup>(lookup: &L, object: &str, revision: Option<u64>) -> Result<Version, L::Error> {
    match revision {
        Some(revision) => Ok(lookup.version(object, revision)?),
        None => Ok(Version { id: object.to_owned(), revision: 0, data: None }),
    }
}

impl Decided {
    /// The changes that are to be written, in their order.
    pub(super) fn writes<'d>(&'d self, upload: &'d Upload) -> impl Iterator<Item = Write<'d>> {
        let steps = upload.changes.iter().zip(&self.steps).filter(|(_, step)| !step.is_repeated);
        steps.map(|(change, step)| Write { change, applied: &step.applied, replaces: step.replaces })
    }

    /// The versions that are given back.
    fn overwritten(&self) -> impl Iterator<Item = &Version> {
        self.steps.iter().filter_map(|step| step.applied.overwritten.as_ref())
    }

    /// Bytes of the versions that are given back.
    #[cfg(feature = "postgres")]
    pub(super) fn given_back(&self) -> usize {
        self.overwritten().map(with_name).sum()
    }

    /// What the device is told.
    pub(super) fn told(self) -> Uploaded {
        let revisions = self.steps.iter().map(|step| step.applied.revision).collect();
        let overwritten = self.steps.into_iter().filter_map(|step| step.applied.overwritten).collect();
        Uploaded { revisions, overwritten }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::Shares;
    use crate::storage::Account;
    use std::convert::Infallible;

    /// One object, which another device has deleted.
    struct Deleted;

    impl Lookup for Deleted {
        type Error = Infallible;

        fn applied(&self, _: &str) -> Result<Option<Applied>, Infallible> {
            Ok(None)
        }

        fn revision(&self, _: &str) -> Result<Option<u64>, Infallible> {
            Ok(Some(1))
        }

        fn version(&self, object: &str, revision: u64) -> Result<Version, Infallible> {
            Ok(Version { id: object.to_owned(), revision, data: None })
        }

        fn version_of_others(&self, object: &str, revision: u64) -> Result<Option<Version>, Infallible> {
            self.version(object, revision).map(Some)
        }
    }

    /// Found by a reviewer: versions of deleted objects have names alone, and were given back without room.
    #[test]
    fn versions_without_data_take_room_too() {
        let change = Change { id: "list".into(), data: None, base: None, name: None };
        let upload = |base| Upload { changes: vec![Change { base, ..change.clone() }], ..Upload::default() };
        let room = |most| AnswerRoom::of(Shares::default(), Account::numbered(1), most, most);
        let decided = |base, room: &AnswerRoom| {
            let Ok(decided) = decide(&Deleted, &upload(base), 1, room);
            decided.map(|decided| decided.revision)
        };
        let refused = Err(Refusal::Unread { looked_at: 0 });
        assert_eq!((decided(None, &room(0)), decided(Some(7), &room(0))), (refused.clone(), refused));
        assert_eq!(decided(Some(1), &room(0)), Ok(2), "nothing is given back");
        let (first, second) = (room(1), room(1));
        assert_eq!(decided(None, &first), Ok(2));
        assert_eq!(decided(None, &first), Ok(2), "what it has is no other's");
        assert!(matches!(decided(Some(7), &second), Err(Refusal::Conflict { .. })));
        assert!(first.taken(10).is_some() && second.taken(10).is_some());
    }
}
