//! An open database: the session's own handle, and those that further lanes need.

use crate::{Driver, Failure, Open};

/// The handles on one database.
pub(crate) struct Database<D> {
    /// As asked, except that there is nothing left to create.
    pub(crate) open: Open,
    /// Each with the table that it is about. The first is the session's own, on the first table.
    handles: Vec<(u32, D)>,
}

impl<D: Driver> Database<D> {
    /// The database that `handle` was opened on.
    pub(crate) fn new(mut open: Open, handle: D) -> Database<D> {
        open.schema.create = false;
        Database { handles: vec![(open.table, handle)], open }
    }

    /// The session's own handle.
    pub(crate) fn own(&mut self) -> &mut D {
        &mut self.handles[0].1
    }

    /// A new handle, on that table.
    pub(crate) fn another(&self, table: u32) -> Result<D, Failure> {
        let open = Open { table, ..self.open.clone() };
        self.handles[0].1.another(&open).map_err(Into::into)
    }

    /// A handle for each lane, on its table; those that further lanes need are opened once and kept, so that their
    /// caches stay warm from slice to slice as the first one's do.
    pub(crate) fn handles(&mut self, tables: &[u32]) -> Result<Vec<&mut D>, Failure> {
        let mut places: Vec<usize> = Vec::new();
        for table in tables {
            let idle = |(place, (known, _)): (usize, &(u32, D))| {
                (known == table && !places.contains(&place)).then_some(place)
            };
            let place = self.handles.iter().enumerate().find_map(idle);
            places.push(match place {
                Some(place) => place,
                None => {
                    self.handles.push((*table, self.another(*table)?));
                    self.handles.len() - 1
                }
            });
        }
        let mut handles: Vec<Option<&mut D>> =
            self.handles.iter_mut().map(|(_, handle)| Some(handle)).collect();
        Ok(places.iter().filter_map(|place| handles[*place].take()).collect())
    }

    /// Closes every handle, the session's own last, whatever becomes of one; tells the first failure.
    pub(crate) fn close(self) -> Result<(), Failure> {
        let mut closed = Ok(());
        for (_, handle) in self.handles.into_iter().rev() {
            closed = closed.and(handle.close().map_err(Into::into));
        }
        closed
    }
}
