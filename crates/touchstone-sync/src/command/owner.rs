//! Whose the store's file is that a command has written: whoever has started the command, and the service may be another user, who could not
//! open it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Who has a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    user: u32,
    group: u32,
}

impl Owner {
    /// None of what is not there.
    pub(super) fn of(path: &Path) -> Option<Owner> {
        let file = fs::metadata(path).ok()?;
        Some(Owner { user: file.uid(), group: file.gid() })
    }

    /// Says so where the store is another user's than `what` is.
    pub(super) fn check(self, store: &Path, what: &str) {
        let Some(now) = Owner::of(store).filter(|now| now.user != self.user) else { return };
        let (store, Owner { user, group }) = (store.display(), self);
        eprintln!(
            "touchstone-sync: {store} belongs to the user {}, and {what} to the user {user}: give it to the service's user before the service \
             starts, as with `chown -h {user}:{group} {store}`",
            now.user
        );
    }
}
