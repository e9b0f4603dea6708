//! The protocol loop: one request, one reply, until standard input ends or the lab says `quit`.

use crate::database::Database;
use crate::deliver::{Watches, Watching};
use crate::line::{Line, read_line};
use crate::live::Live;
use crate::prepared::{Dataset, Prepared, keep};
use crate::{
    About, Driver, Failure, FailureKind, Open, RecordKind, Settings, Store, Verb, Watched, clock, failure,
};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use touchstone_protocol::{
    Doc, Document, Hello, LINE_BYTES_MAX, Lane, Opened, PROTOCOL_VERSION, Plan, Record, Reply, Request, Row,
    Run, Sample, Schema,
};

/// A driver with the record types that it stores, ready to talk to the lab.
pub struct Kit<D> {
    about: About,
    shelves: Vec<Shelf<D>>,
    prepared: Option<(RecordKind, Playable<D>)>,
    opened: Option<Database<D>>,
}

/// A record type that the driver stores.
struct Shelf<D> {
    record: RecordKind,
    verbs: &'static [Verb],
    tables: bool,
    watches: &'static [Watched],
    prepare: fn(&Files) -> Result<Playable<D>, Failure>,
}

/// The files of a `prepare`.
struct Files {
    dataset: PathBuf,
    operations: Option<PathBuf>,
    states: Option<PathBuf>,
    subscriptions: Option<PathBuf>,
}

impl Files {
    fn read<R: Record>(&self) -> Result<Rc<Dataset<R>>, Failure> {
        let (operations, states) = (self.operations.as_deref(), self.states.as_deref());
        Ok(Rc::new(Dataset::<R>::read(&self.dataset, operations, states)?))
    }
}

/// What was prepared, and the subscriptions to it if there are any.
struct Playable<D> {
    data: Rc<dyn Prepared<D>>,
    watches: Option<Box<dyn Watches<D>>>,
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
    /// kit's record into it runs off the clock.
    #[must_use]
    pub fn records<R: Record>(mut self) -> Kit<D>
    where
        D: Store<R>,
    {
        self.shelves.push(Shelf {
            record: R::KIND,
            verbs: D::VERBS,
            tables: D::TABLES,
            watches: &[],
            prepare: |files| match &files.subscriptions {
                None => Ok(Playable { data: files.read::<R>()?, watches: None }),
                Some(_) => Err(failure(FailureKind::Unsupported, "the driver has no subscriptions")),
            },
        });
        self
    }

    /// As [`records`](Kit::records), of a record that can be watched as well.
    #[must_use]
    pub fn live<R: Record>(mut self) -> Kit<D>
    where
        D: Live<R>,
    {
        self = self.records::<R>();
        let shelf = self.shelves.last_mut().expect("it was just added");
        shelf.watches = D::WATCHES;
        shelf.prepare = |files| {
            let data = files.read::<R>()?;
            let watches = match &files.subscriptions {
                None => None,
                Some(file) => {
                    let watching = Watching::read(Rc::clone(&data), file)?;
                    Some(Box::new(watching) as Box<dyn Watches<D>>)
                }
            };
            Ok(Playable { data, watches })
        };
        self
    }

    /// Talks to the lab over standard input and output until one of them ends.
    pub fn main(self) -> ExitCode {
        keep_freed_memory();
        match self.serve(io::stdin().lock(), io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("the lab is gone: {error}");
                ExitCode::FAILURE
            }
        }
    }

    /// Answers requests, a line each, until `quit` or the end of the input.
    ///
    /// # Errors
    /// When the input cannot be read or the output cannot be written.
    pub fn serve(mut self, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let reply = match read_line(&mut input, &mut line)? {
                Line::End => return self.close().map_err(|failure| io::Error::other(failure.message)),
                Line::TooLong => Err(failure(
                    FailureKind::Protocol,
                    format!("a line is longer than {LINE_BYTES_MAX} bytes"),
                )),
                Line::Whole => serde_json::from_slice(&line)
                    .map_err(|error| failure(FailureKind::Protocol, format!("not a request: {error}")))
                    .and_then(|request| self.answer(request)),
            };
            let reply = reply.unwrap_or_else(Reply::Error);
            serde_json::to_writer(&mut output, &reply)?;
            output.write_all(b"\n")?;
            output.flush()?;
            if reply == Reply::Quit {
                return Ok(());
            }
        }
    }

    fn answer(&mut self, request: Request) -> Result<Reply, Failure> {
        match request {
            Request::Hello { protocol } => self.hello(protocol),
            Request::Prepare { record, dataset, operations, states, subscriptions } => {
                self.prepare(record, &Files { dataset, operations, states, subscriptions })
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
                prepared.require_table(table, database.open.schema.tables)?;
                let mut handle = database.another(table)?;
                let reply = prepared.check(&mut handle);
                handle.close().map_err(Into::into)?;
                reply
            }
            Request::Close => self.close().map(|()| Reply::Close),
            Request::Quit => self.close().map(|()| Reply::Quit),
        }
    }

    fn hello(&self, protocol: u32) -> Result<Reply, Failure> {
        if protocol != PROTOCOL_VERSION {
            let message = format!("the lab speaks protocol {protocol}, this kit speaks {PROTOCOL_VERSION}");
            return Err(failure(FailureKind::Protocol, message));
        }
        let mut capabilities = Vec::new();
        for shelf in &self.shelves {
            capabilities.extend(shelf.verbs.iter().map(|verb| format!("{}.{verb}", shelf.record)));
            if D::HOLDS {
                capabilities.push(format!("{}.held", shelf.record));
            }
            if shelf.tables {
                capabilities.push(format!("{}.tables", shelf.record));
            }
            if !shelf.watches.is_empty() {
                capabilities.push(format!("{}.{}", shelf.record, Verb::Deliver));
            }
            let watches = shelf.watches.iter();
            capabilities.extend(watches.map(|watched| format!("{}.watch-{watched}", shelf.record)));
        }
        let about = self.about.clone();
        Ok(Reply::Hello(Hello {
            protocol: PROTOCOL_VERSION,
            kit: concat!("rust ", env!("CARGO_PKG_VERSION")).into(),
            subject: about.subject,
            version: about.version,
            engine: about.engine,
            engine_source: about.engine_source,
            compile_options: about.compile_options,
            capabilities,
            clock: clock::measure(),
        }))
    }

    fn prepare(&mut self, record: RecordKind, files: &Files) -> Result<Reply, Failure> {
        self.prepared = None;
        let prepared = (self.shelf_of(record)?.prepare)(files)?;
        let (_, prepared) = self.prepared.insert((record, prepared));
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
        self.shelf_of(record)?;
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
        if let [lane @ Lane { verb: Verb::Deliver, .. }] = run.lanes.as_slice() {
            let (watches, handle) = self.watching()?;
            return keep(watches.deliver(handle, lane)?, run.latency.as_deref());
        }
        let (prepared, database) = self.playing()?;
        prepared.require(&run.lanes, database.open.schema.tables)?;
        prepared.run(database.handles(&tables(&run.lanes))?, run)
    }

    /// An `open` lane measures the only handle of a process, so the session's own gives way to it.
    fn run_open(&mut self, lane: &Lane, latency: Option<&Path>) -> Result<Sample, Failure> {
        let open = self.playing()?.1.open.clone();
        self.close()?;
        let sample = self.prepared()?.run_open(&open, lane, latency);
        let handle = D::open(&open).map_err(Into::into)?;
        self.opened = Some(Database::new(open, handle));
        sample
    }

    fn explain(&mut self, lanes: &[Lane]) -> Result<Plan, Failure> {
        if let [lane @ Lane { verb: Verb::Deliver, .. }] = lanes {
            let (watches, handle) = self.watching()?;
            handle.explain().map_err(Into::into)?;
            let played = watches.deliver(handle, lane);
            let plan = handle.explained().map_err(Into::into)?;
            return played.map(|_| plan);
        }
        let (prepared, database) = self.playing()?;
        prepared.require(lanes, database.open.schema.tables)?;
        prepared.explain(database.handles(&tables(lanes))?, lanes)
    }

    /// Does something off the clock on a handle of that table: the session's own where that is its table.
    fn on_table(
        &mut self,
        table: u32,
        what: impl FnOnce(&dyn Prepared<D>, &mut D) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (prepared, database) = self.playing()?;
        prepared.require_table(table, database.open.schema.tables)?;
        let mut handles = database.handles(&[table])?;
        what(prepared, handles.pop().expect("one was asked for"))
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.opened.take().map_or(Ok(()), Database::close)
    }

    fn shelf_of(&self, record: RecordKind) -> Result<&Shelf<D>, Failure> {
        self.shelves.iter().find(|shelf| shelf.record == record).ok_or_else(|| {
            failure(FailureKind::Unsupported, format!("{} stores no {record}", self.about.subject))
        })
    }

    fn prepared(&self) -> Result<&dyn Prepared<D>, Failure> {
        match &self.prepared {
            Some((_, prepared)) => Ok(prepared.data.as_ref()),
            None => Err(failure(FailureKind::Protocol, "no dataset is prepared")),
        }
    }

    /// The subscriptions and the session's own handle.
    fn watching(&mut self) -> Result<(&mut dyn Watches<D>, &mut D), Failure> {
        self.playing()?;
        let (Some((_, prepared)), Some(database)) = (&mut self.prepared, &mut self.opened) else {
            unreachable!("something is playing")
        };
        let Some(watches) = prepared.watches.as_deref_mut() else {
            return Err(failure(FailureKind::Protocol, "no subscriptions are prepared"));
        };
        Ok((watches, database.own()))
    }

    /// The dataset and the database, which must be of the same record type.
    fn playing(&mut self) -> Result<(&dyn Prepared<D>, &mut Database<D>), Failure> {
        let Some(database) = &mut self.opened else {
            return Err(failure(FailureKind::Protocol, "no database is open"));
        };
        match &self.prepared {
            Some((record, prepared)) if *record == database.open.record => {
                Ok((prepared.data.as_ref(), database))
            }
            Some((record, _)) => {
                let message = format!("the dataset is of {record}, the database of {}", database.open.record);
                Err(failure(FailureKind::Protocol, message))
            }
            None => Err(failure(FailureKind::Protocol, "no dataset is prepared")),
        }
    }
}

fn tables(lanes: &[Lane]) -> Vec<u32> {
    lanes.iter().map(|lane| lane.table).collect()
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
