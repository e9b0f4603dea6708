//! An open database: the session's own handle, and those that further lanes need.

use crate::{Driver, Failure, Open};

/// The handles on one database.
pub(crate) struct Database<D> {
    /// As asked, except that there is nothing left to create.
    pub(crate) open: Open,
    /// The first is the session's own and plays the first lane.
    handles: Vec<D>,
}

impl<D: Driver> Database<D> {
    /// The database that `handle` was opened on.
    pub(crate) fn new(mut open: Open, handle: D) -> Database<D> {
        open.schema.create = false;
        Database { open, handles: vec![handle] }
    }

    /// The session's own handle.
    pub(crate) fn own(&mut self) -> &mut D {
        &mut self.handles[0]
    }

    /// A new handle.
    pub(crate) fn another(&self) -> Result<D, Failure> {
        self.handles[0].another(&self.open).map_err(Into::into)
    }

    /// `count` handles; those that further lanes need are opened once and kept, so that their caches stay warm
    /// from slice to slice as the first one's do.
    pub(crate) fn handles(&mut self, count: usize) -> Result<&mut [D], Failure> {
        while self.handles.len() < count {
            self.handles.push(self.another()?);
        }
        Ok(&mut self.handles[..count])
    }

    /// Closes every handle, the session's own last, whatever becomes of one; tells the first failure.
    pub(crate) fn close(self) -> Result<(), Failure> {
        let mut closed = Ok(());
        for handle in self.handles.into_iter().rev() {
            closed = closed.and(handle.close().map_err(Into::into));
        }
        closed
    }
}
