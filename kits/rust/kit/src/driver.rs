//! What a driver implements: [`Driver`] for the database, [`Store`] for each record type that it can hold.

use crate::lane::get_each;
use crate::{Answers, Failure, FailureKind, Open, Operation, Plan, Settings, Stored, Ticks, Verb, failure};

/// Who a driver is, as it says on `hello`.
#[derive(Clone, Debug)]
pub struct About {
    /// The subject, as in the kit's table.
    pub subject: String,
    /// The subject's version.
    pub version: String,
    /// The database library really linked, with its version: ask the library, not the manifest.
    pub engine: String,
    /// The engine's own source identification, where it has one.
    pub engine_source: String,
    /// How the engine was compiled, in its own words.
    pub compile_options: Vec<String>,
}

/// A handle on an open database, as the library's users have one.
///
/// Only [`open`](Driver::open), [`settings`](Driver::settings) and [`close`](Driver::close) must be written: a
/// driver that leaves the rest out lacks a capability, which is not an error.
pub trait Driver: Sized + Send + 'static {
    /// The library's own error, so that verbs can be written with `?`; it must also carry the kit's
    /// [`Failure`] for what the library has no error for. A driver may use [`Failure`] itself.
    type Error: From<Failure> + Into<Failure>;

    /// Whether [`begin_read`](Driver::begin_read) and [`end_read`](Driver::end_read) do anything.
    const HOLDS: bool = false;

    /// Opens the database in the directory, configured as asked; first makes it if `schema.create` says so.
    ///
    /// # Errors
    /// When the library refuses, or a setting has a value that it does not know.
    fn open(open: &Open) -> Result<Self, Self::Error>;

    /// A second handle on the same database, the way the library's users get one. `open` is what the first was
    /// opened with, except that nothing is to be created and that it may be about another table.
    ///
    /// # Errors
    /// When the library refuses.
    fn another(&self, open: &Open) -> Result<Self, Self::Error> {
        Self::open(open)
    }

    /// The settings that took effect, read back from the engine.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn settings(&mut self) -> Result<Settings, Self::Error>;

    /// Begins a read transaction and holds it over the verbs that follow.
    ///
    /// # Errors
    /// When the library refuses; by default always.
    fn begin_read(&mut self) -> Result<(), Self::Error> {
        Err(failure(FailureKind::Unsupported, "the driver holds no read transactions").into())
    }

    /// Ends the read transaction held.
    ///
    /// # Errors
    /// When the library refuses; by default always.
    fn end_read(&mut self) -> Result<(), Self::Error> {
        Err(failure(FailureKind::Unsupported, "the driver holds no read transactions").into())
    }

    /// Starts to watch what the engine does on this handle. What follows is never timed.
    ///
    /// # Errors
    /// When the library refuses.
    fn explain(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Stops to watch, and tells the query plan and the engine's counters since.
    ///
    /// # Errors
    /// When the library refuses.
    fn explained(&mut self) -> Result<Plan, Self::Error> {
        Ok(Plan::default())
    }

    /// Closes the handle.
    ///
    /// # Errors
    /// When the library reports that closing failed.
    fn close(self) -> Result<(), Self::Error>;
}

/// The verbs on one record type. Each is one call of the library's natural model, never a shortcut that its
/// users would not write.
pub trait Store<R: Stored>: Driver {
    /// The verbs that the driver implements.
    const VERBS: &'static [Verb];

    /// Whether a handle can be about another table than the first: [`Open::table`]. Where such a table has a type of its
    /// own, [`Kit::typed`](crate::Kit::typed) says so instead.
    const TABLES: bool = false;

    /// Gets one record by key into an object of its own.
    ///
    /// # Errors
    /// As the library does.
    fn get(&mut self, key: &R::Key) -> Result<Option<R>, Self::Error> {
        let _ = key;
        Err(missing(Verb::Get).into())
    }

    /// Reads every record into objects.
    ///
    /// # Errors
    /// As the library does.
    fn read_all(&mut self) -> Result<Vec<R>, Self::Error> {
        Err(missing(Verb::ReadAll).into())
    }

    /// Inserts one record in a commit of its own.
    ///
    /// # Errors
    /// As the library does.
    fn insert_one(&mut self, record: &R) -> Result<(), Self::Error> {
        let _ = record;
        Err(missing(Verb::InsertOne).into())
    }

    /// Inserts the records in one commit: all or none.
    ///
    /// # Errors
    /// As the library does.
    fn insert_many(&mut self, records: &[&R]) -> Result<(), Self::Error> {
        let _ = records;
        Err(missing(Verb::InsertMany).into())
    }

    /// Finds every record whose priority is greater than `above`, into objects. A missing priority is not above
    /// anything. The field has no index.
    ///
    /// # Errors
    /// As the library does.
    fn find(&mut self, above: i64) -> Result<Vec<R>, Self::Error> {
        let _ = above;
        Err(missing(Verb::Find).into())
    }

    /// Writes a whole new state over the record with its key, in a commit of its own. False where there is none to
    /// write over.
    ///
    /// # Errors
    /// As the library does.
    fn update_one(&mut self, state: &R) -> Result<bool, Self::Error> {
        let _ = state;
        Err(missing(Verb::UpdateOne).into())
    }

    /// In one transaction: fetches every record into an object, then writes each new state, whole, over the record
    /// with its key. Answers the objects as they were fetched, in any order. All states are written or none.
    ///
    /// # Errors
    /// As the library does.
    fn update_many(&mut self, states: &[&R]) -> Result<Vec<R>, Self::Error> {
        let _ = states;
        Err(missing(Verb::UpdateMany).into())
    }

    /// In one transaction: fetches every record into an object, then deletes each by its key. Answers the objects as
    /// they were fetched, in any order.
    ///
    /// # Errors
    /// As the library does.
    fn delete_many(&mut self) -> Result<Vec<R>, Self::Error> {
        Err(missing(Verb::DeleteMany).into())
    }

    /// Plays the operations in one transaction, in their order: a get puts its record into `found`, where there is one, and an
    /// update writes a whole new state over the record with its key. Answers how many updates had a record to write over. A
    /// transaction of one operation is what the library's users write for one, and is theirs to play without its statements.
    ///
    /// # Errors
    /// As the library does. Then nothing of the transaction is kept.
    fn mix(&mut self, operations: &[Operation<'_, R>], found: &mut Vec<R>) -> Result<u64, Self::Error> {
        let _ = (operations, found);
        Err(missing(Verb::Mix).into())
    }

    /// Answers a first query after opening: any one record of the first table, the same one as long as nothing is stored,
    /// or none from an empty table.
    ///
    /// # Errors
    /// As the library does.
    fn first(&mut self) -> Result<Option<R>, Self::Error> {
        Err(missing(Verb::Open).into())
    }

    /// Gets each key's record: the timed loop itself. It is here only for a canary that proves with a loop
    /// written by hand what the kit's costs; a driver leaves it alone.
    #[inline(always)]
    fn get_each<T: Ticks>(&mut self, keys: &[R::Key], answers: &mut Answers<R>, ticks: &mut T) {
        get_each(self, keys, answers, ticks);
    }
}

fn missing(verb: Verb) -> Failure {
    failure(FailureKind::Unsupported, format!("the driver does not implement {verb}"))
}
