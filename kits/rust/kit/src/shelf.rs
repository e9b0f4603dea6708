//! A record type that a driver stores, and what was prepared of it: in the type that the first table holds, and in those
//! of further tables where they have types of their own.

use crate::deliver::{Watches, Watching};
use crate::live::Live;
use crate::prepared::{Dataset, Prepared};
use crate::{Failure, FailureKind, RecordKind, Schema, Store, Stored, Verb, Watched, failure};
use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;
use touchstone_protocol::Record;

/// A record type that the driver stores.
pub(crate) struct Shelf<D> {
    pub(crate) record: RecordKind,
    pub(crate) verbs: &'static [Verb],
    pub(crate) tables: bool,
    pub(crate) watches: &'static [Watched],
    /// What reads a dataset into the types of tables 2 and on; empty where those have none of their own.
    pub(crate) typed: Vec<Read<D>>,
    read: Read<D>,
    subscribe: Subscribe<D>,
}

/// Reads the files into a type of the driver.
pub(crate) type Read<D> = fn(&Files) -> Result<Rc<dyn Prepared<D>>, Failure>;

/// Reads the files with their subscriptions.
type Subscribe<D> = fn(&Files, &PathBuf) -> Result<Subscribed<D>, Failure>;

/// Data, and the subscriptions to it.
type Subscribed<D> = (Rc<dyn Prepared<D>>, Box<dyn Watches<D>>);

/// The files of a `prepare`.
pub(crate) struct Files {
    pub(crate) dataset: PathBuf,
    pub(crate) operations: Option<PathBuf>,
    pub(crate) states: Option<PathBuf>,
    pub(crate) subscriptions: Option<PathBuf>,
}

impl<D: 'static> Shelf<D> {
    pub(crate) fn new<R: Stored>() -> Shelf<D>
    where
        D: Store<R>,
    {
        Shelf {
            record: R::Of::KIND,
            verbs: D::VERBS,
            tables: D::TABLES,
            watches: &[],
            typed: Vec::new(),
            read: read::<D, R>,
            subscribe: |_, _| Err(failure(FailureKind::Unsupported, "the driver has no subscriptions")),
        }
    }

    pub(crate) fn live<R: Stored>() -> Shelf<D>
    where
        D: Live<R>,
    {
        Shelf {
            watches: D::WATCHES,
            subscribe: |files, subscriptions| {
                let data = files.read::<R>()?;
                let watching = Watching::read(Rc::clone(&data), subscriptions)?;
                Ok((data, Box::new(watching)))
            },
            ..Shelf::new::<R>()
        }
    }

    pub(crate) fn prepare(&self, files: Files) -> Result<Playable<D>, Failure> {
        let (data, watches) = match &files.subscriptions {
            None => ((self.read)(&files)?, None),
            Some(subscriptions) => {
                let (data, watches) = (self.subscribe)(&files, subscriptions)?;
                (data, Some(watches))
            }
        };
        let typed = self.typed.iter().map(|read| Typed { read: *read, data: OnceCell::new() }).collect();
        Ok(Playable { data, watches, record: self.record, tables: self.tables, typed, files })
    }

    /// Refuses a schema that the driver cannot have.
    pub(crate) fn require(&self, schema: &Schema) -> Result<(), Failure> {
        let tables = 1 + self.typed.len();
        if !schema.typed || (tables > 1 && schema.tables as usize <= tables) {
            return Ok(());
        }
        Err(if tables == 1 {
            failure(FailureKind::Unsupported, format!("the driver has no {}.typed", self.record))
        } else {
            let message = format!("{} typed tables were asked for; there are {tables}", schema.tables);
            failure(FailureKind::Protocol, message)
        })
    }
}

pub(crate) fn read<D: Store<R>, R: Stored>(files: &Files) -> Result<Rc<dyn Prepared<D>>, Failure> {
    Ok(files.read::<R>()?)
}

impl Files {
    fn read<R: Stored>(&self) -> Result<Rc<Dataset<R>>, Failure> {
        let (operations, states) = (self.operations.as_deref(), self.states.as_deref());
        Ok(Rc::new(Dataset::<R>::read(&self.dataset, operations, states)?))
    }
}

/// What was prepared, and the subscriptions to it if there are any.
pub(crate) struct Playable<D> {
    pub(crate) data: Rc<dyn Prepared<D>>,
    pub(crate) watches: Option<Box<dyn Watches<D>>>,
    pub(crate) record: RecordKind,
    tables: bool,
    /// The same data in the types of tables 2 and on.
    typed: Vec<Typed<D>>,
    files: Files,
}

/// The data in the type of a further table: read when that is first asked for.
struct Typed<D> {
    read: Read<D>,
    data: OnceCell<Rc<dyn Prepared<D>>>,
}

impl<D> Playable<D> {
    /// The data in the type that a table of such a database holds. Refuses a table that there is not.
    pub(crate) fn of(&self, table: u32, schema: &Schema) -> Result<&dyn Prepared<D>, Failure> {
        self.require_table(table, schema)?;
        if table == 1 || !schema.typed {
            return Ok(&*self.data);
        }
        let Typed { read, data: known } = &self.typed[table as usize - 2];
        let data = match known.get() {
            Some(data) => data,
            None => {
                let data = read(&self.files)?;
                known.get_or_init(|| data)
            }
        };
        Ok(&**data)
    }

    fn require_table(&self, table: u32, schema: &Schema) -> Result<(), Failure> {
        let further = if schema.typed { !self.typed.is_empty() } else { self.tables };
        match table {
            1 => Ok(()),
            2.. if further && table <= schema.tables => Ok(()),
            _ if further || table == 0 => {
                let tables = schema.tables;
                Err(failure(
                    FailureKind::Protocol,
                    format!("table {table} was asked for; the {tables} of this database are numbered from 1"),
                ))
            }
            _ => Err(failure(
                FailureKind::Unsupported,
                format!("the driver has no {}.tables, so no table {table}", self.record),
            )),
        }
    }
}
