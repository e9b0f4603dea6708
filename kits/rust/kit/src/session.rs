//! What a driver of a database answers to the lab.

use crate::conversation::{Speaker, converse, say_hello, talk};
use crate::database::Database;
use crate::deliver::Watches;
use crate::lane::Played;
use crate::live::Live;
use crate::prepared::Prepared;
use crate::shelf::{self, Files, Playable, Shelf};
use crate::stretch::{self, Part, keep};
use crate::{About, Driver, Failure, FailureKind, Open, RecordKind, Settings, Store, Stored, Verb, failure};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use touchstone_protocol::{Doc, Document, Lane, Opened, Plan, Reply, Request, Row, Run, Sample, Schema};

/// A driver with the record types that it stores, ready to talk to the lab.
pub struct Kit<D> {
    about: About,
    shelves: Vec<Shelf<D>>,
    prepared: Option<Playable<D>>,
    opened: Option<Database<D>>,
}

impl<D: Driver> Kit<D> {
    /// A driver that stores nothing yet.
    pub fn new(about: About) -> Kit<D> {
        Kit { about, shelves: Vec::new(), prepared: None, opened: None }
    }

    /// Adds the `row` record.
    #[must_use]
    pub fn rows(self) -> Kit<D>
    where
        D: Store<Row>,
    {
        self.records::<Row>()
    }

    /// Adds the `document` record.
    #[must_use]
    pub fn documents(self) -> Kit<D>
    where
        D: Store<Document>,
    {
        self.records::<Document>()
    }

    /// Adds the `doc` record.
    #[must_use]
    pub fn docs(self) -> Kit<D>
    where
        D: Store<Doc>,
    {
        self.records::<Doc>()
    }

    /// Adds a record in a type of the driver's own, for a library whose users declare their types to it. What turns the
    /// kit's record into it runs off the clock, what turns an answer into the kit's record on it: [`Stored`].
    #[must_use]
    pub fn records<R: Stored>(mut self) -> Kit<D>
    where
        D: Store<R>,
    {
        self.shelves.push(Shelf::new::<R>());
        self
    }

    /// As [`records`](Kit::records), of a record that can be watched as well.
    #[must_use]
    pub fn live<R: Stored>(mut self) -> Kit<D>
    where
        D: Live<R>,
    {
        self.shelves.push(Shelf::live::<R>());
        self
    }

    /// Adds the types that tables 2, 3 and 4 of the record added last hold where a database is typed.
    ///
    /// # Panics
    /// When no record was added.
    #[must_use]
    pub fn typed<R2: Stored, R3: Stored, R4: Stored>(mut self) -> Kit<D>
    where
        D: Store<R2> + Store<R3> + Store<R4>,
    {
        let shelf = self.shelves.last_mut().expect("types are those of a record that was added");
        shelf.typed = vec![shelf::read::<D, R2>, shelf::read::<D, R3>, shelf::read::<D, R4>];
        self
    }

    /// Talks to the lab over standard input and output until one of them ends.
    pub fn main(mut self) -> ExitCode {
        keep_freed_memory();
        talk(&mut self)
    }

    /// Answers requests, a line each, until `quit` or the end of the input.
    ///
    /// # Errors
    /// When the input cannot be read or the output cannot be written.
    pub fn serve(mut self, input: impl BufRead, output: impl Write) -> io::Result<()> {
        converse(&mut self, input, output)
    }

    fn hello(&self, protocol: u32) -> Result<Reply, Failure> {
        let mut capabilities = Vec::new();
        for shelf in &self.shelves {
            capabilities.extend(shelf.verbs.iter().map(|verb| format!("{}.{verb}", shelf.record)));
            if D::HOLDS {
                capabilities.push(format!("{}.held", shelf.record));
            }
            if shelf.tables {
                capabilities.push(format!("{}.tables", shelf.record));
            }
            if !shelf.typed.is_empty() {
                capabilities.push(format!("{}.typed", shelf.record));
            }
            if !shelf.watches.is_empty() {
                let both = [Verb::Deliver, Verb::Subscribe];
                capabilities.extend(both.map(|verb| format!("{}.{verb}", shelf.record)));
            }
            let watches = shelf.watches.iter();
            capabilities.extend(watches.map(|watched| format!("{}.watch-{watched}", shelf.record)));
        }
        say_hello(&self.about, protocol, capabilities)
    }

    fn prepare(&mut self, record: RecordKind, files: Files) -> Result<Reply, Failure> {
        self.prepared = None;
        let prepared = self.shelf_of(record)?.prepare(files)?;
        let prepared = self.prepared.insert(prepared);
        let subscriptions = prepared.watches.as_ref().map_or(0, |watches| watches.size());
        Ok(prepared.data.size(subscriptions))
    }

    fn open(
        &mut self,
        directory: PathBuf,
        record: RecordKind,
        schema: Schema,
        settings: Settings,
    ) -> Result<Reply, Failure> {
        self.shelf_of(record)?.require(&schema)?;
        if self.opened.is_some() {
            return Err(failure(FailureKind::Protocol, "a database is open; close it first"));
        }
        let open = Open { directory, record, schema, table: 1, settings };
        let mut handle = D::open(&open).map_err(Into::into)?;
        let settings = handle.settings().map_err(Into::into)?;
        self.opened = Some(Database::new(open, handle));
        Ok(Reply::Open(Opened { settings }))
    }

    fn run(&mut self, run: &Run) -> Result<Sample, Failure> {
        if let [lane @ Lane { verb: Verb::Open, .. }] = run.lanes.as_slice() {
            return self.run_open(lane, run.latency.as_deref());
        }
        if let [lane] = run.lanes.as_slice()
            && lane.verb.watches()
        {
            let latency = run.latency.as_deref();
            return keep(self.play_watching(lane, latency.is_some())?, latency, None);
        }
        let (prepared, database) = self.playing()?;
        let mut parts = parts(prepared, database, &run.lanes)?;
        let latency = run.latency.as_deref();
        keep(stretch::play(&mut parts, &run.lanes, latency.is_some())?, latency, run.series.as_deref())
    }

    /// A lane about subscriptions runs on the session's own handle.
    fn play_watching(&mut self, lane: &Lane, latency: bool) -> Result<Played, Failure> {
        let (watches, handle) = self.watching()?;
        match lane.verb {
            Verb::Subscribe => watches.subscribe(handle, lane, latency),
            _ => watches.deliver(handle, lane),
        }
    }

    /// An `open` lane measures the only handle of a process, so the session's own gives way to it.
    fn run_open(&mut self, lane: &Lane, latency: Option<&Path>) -> Result<Sample, Failure> {
        let open = self.playing()?.1.open.clone();
        self.close()?;
        let sample = self.prepared()?.of(lane.table, &open.schema)?.run_open(&open, lane, latency);
        let handle = D::open(&open).map_err(Into::into)?;
        self.opened = Some(Database::new(open, handle));
        sample
    }

    fn explain(&mut self, lanes: &[Lane]) -> Result<Plan, Failure> {
        if let [lane] = lanes
            && lane.verb.watches()
        {
            self.watching()?.1.explain().map_err(Into::into)?;
            let played = self.play_watching(lane, false);
            let plan = self.watching()?.1.explained().map_err(Into::into)?;
            return played.map(|_| plan);
        }
        let (prepared, database) = self.playing()?;
        stretch::explain(parts(prepared, database, lanes)?, lanes)
    }

    /// Does something off the clock on a handle of that table: the session's own where that is its table.
    fn on_table(
        &mut self,
        table: u32,
        what: impl FnOnce(&dyn Prepared<D>, &mut D) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (prepared, database) = self.playing()?;
        let data = prepared.of(table, &database.open.schema)?;
        let mut handles = database.handles(&[table])?;
        what(data, handles.pop().expect("one was asked for"))
    }

    fn shelf_of(&self, record: RecordKind) -> Result<&Shelf<D>, Failure> {
        self.shelves.iter().find(|shelf| shelf.record == record).ok_or_else(|| {
            failure(FailureKind::Unsupported, format!("{} stores no {record}", self.about.subject))
        })
    }

    fn prepared(&self) -> Result<&Playable<D>, Failure> {
        self.prepared.as_ref().ok_or_else(|| failure(FailureKind::Protocol, "no dataset is prepared"))
    }

    /// The subscriptions and the session's own handle.
    fn watching(&mut self) -> Result<(&mut dyn Watches<D>, &mut D), Failure> {
        self.playing()?;
        let (Some(prepared), Some(database)) = (&mut self.prepared, &mut self.opened) else {
            unreachable!("something is playing")
        };
        let Some(watches) = prepared.watches.as_deref_mut() else {
            return Err(failure(FailureKind::Protocol, "no subscriptions are prepared"));
        };
        Ok((watches, database.own()))
    }

    /// The dataset and the database, which must be of the same record type.
    fn playing(&mut self) -> Result<(&Playable<D>, &mut Database<D>), Failure> {
        let Some(database) = &mut self.opened else {
            return Err(failure(FailureKind::Protocol, "no database is open"));
        };
        match &self.prepared {
            Some(prepared) if prepared.record == database.open.record => Ok((prepared, database)),
            Some(Playable { record, .. }) => {
                let message = format!("the dataset is of {record}, the database of {}", database.open.record);
                Err(failure(FailureKind::Protocol, message))
            }
            None => Err(failure(FailureKind::Protocol, "no dataset is prepared")),
        }
    }
}

impl<D: Driver> Speaker for Kit<D> {
    fn answer(&mut self, request: Request) -> Result<Reply, Failure> {
        match request {
            Request::Hello { protocol } => self.hello(protocol),
            Request::Prepare { record, dataset, operations, states, subscriptions } => {
                self.prepare(record, Files { dataset, operations, states, subscriptions })
            }
            Request::Open { directory, record, schema, settings } => {
                self.open(directory, record, schema, settings)
            }
            Request::Fill { from, count, table } => {
                self.on_table(table, |prepared, handle| prepared.fill(handle, from, count))?;
                Ok(Reply::Fill)
            }
            Request::Churn { from, count, table, times } => {
                self.on_table(table, |prepared, handle| prepared.churn(handle, from, count, times))?;
                Ok(Reply::Churn)
            }
            Request::Watch { count } => {
                let (watches, handle) = self.watching()?;
                watches.watch(handle, count)?;
                Ok(Reply::Watch)
            }
            Request::Run(run) => self.run(&run).map(Reply::Run),
            Request::Explain { lanes } => self.explain(&lanes).map(Reply::Explain),
            Request::Check { table } => {
                let (prepared, database) = self.playing()?;
                let data = prepared.of(table, &database.open.schema)?;
                let mut handle = database.another(table)?;
                let reply = data.check(&mut handle);
                handle.close().map_err(Into::into)?;
                reply
            }
            Request::Serve { .. } => {
                Err(failure(FailureKind::Unsupported, "this subject is no service: it serves nobody"))
            }
            Request::Close => self.close().map(|()| Reply::Close),
            Request::Quit => self.close().map(|()| Reply::Quit),
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.opened.take().map_or(Ok(()), Database::close)
    }
}

/// The work of each lane, with a handle on its table. A lane that the driver cannot do is refused before anything is
/// opened for it.
fn parts<'d, D: Driver>(
    prepared: &'d Playable<D>,
    database: &'d mut Database<D>,
    lanes: &[Lane],
) -> Result<Vec<Part<'d, D>>, Failure> {
    if lanes.is_empty() {
        return Err(failure(FailureKind::Protocol, "a run has at least one lane"));
    }
    let data = lanes.iter().map(|lane| {
        let data = prepared.of(lane.table, &database.open.schema)?;
        data.require(lane).map(|()| data)
    });
    let data = data.collect::<Result<Vec<_>, Failure>>()?;
    let tables: Vec<u32> = lanes.iter().map(|lane| lane.table).collect();
    let handles = database.handles(&tables)?;
    let works = data.into_iter().zip(lanes).map(|(data, lane)| data.gather(lane));
    handles.into_iter().zip(works).map(|(handle, work)| Ok((handle, work?))).collect()
}

/// Has the allocator keep what is freed.
///
/// The kit holds every answer until the clock has stopped, which no user of a library does. Given back to the
/// system, that memory would fault in anew in each slice, and the subject would be charged for the checking.
fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only sets two numbers of the allocator, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
    }
}
