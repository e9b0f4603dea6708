//! The canary that lies: rusqlite, which does less than it says, in the way that its profile names. As `honest` it does
//! what it says. The lab must tell each of these by what it sees, for the driver's own words are those of an honest one.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::left_to_inner;
use drivers::sqlite::{self, Error};
use rusqlite_driver::Rusqlite;
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use touchstone_kit::{Driver, Kit, Open, Row, Setting, Settings, Store, Verb};

fn main() -> ExitCode {
    Kit::<Liar>::new(sqlite::about("canary-liar", env!("CARGO_PKG_VERSION"))).rows().main()
}

/// What it does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mischief {
    /// Nothing.
    Honest,
    /// Nothing: it keeps its promise, and has a temporary file in each commit.
    Spills,
    /// Nothing that is seen: as an engine with a log of records does, it keeps those, and its pages wait for a checkpoint.
    Redo,
    /// Nothing: its first commit makes a log of 1 MiB, over which later ones write.
    Preallocates,
    /// Nothing: one commit of forty is a checkpoint as well, which syncs 64 files.
    Shards,
    /// Acknowledges first; a thread syncs later.
    Later,
    /// Syncs when it is closed.
    AtClose,
    /// Syncs a file in which nothing changed.
    Clean,
    /// Syncs a file without bytes.
    Empty,
    /// Syncs a file into which it wrote a byte.
    Byte,
    /// Starts to write the log, and awaits no flush.
    Range,
    /// Asks another connection for `synchronous = full`, and reads it back there.
    Elsewhere,
    /// Keeps its promise while it is traced.
    Traced,
    /// Keeps its promise while it is traced and in each third slice, where it asks for four flushes a commit.
    Thirds,
    /// Keeps its promise while its environment is not padded: once only launches were padded.
    Padded,
    /// Promises no flush, and while it is not traced writes the rows of [`GATHERED`] commits with the last of them.
    Gathers,
    /// Promises no flush, and writes the rows of [`BEHIND`] commits with the last of them, also while it is traced.
    Behind,
    /// Keeps records in its process's memory.
    Never,
    /// Keeps records in memory and writes them when it is closed.
    WritesAtClose,
    /// Answers from what it has read once.
    Memo,
    /// Answers gets of some of its keys from what it has read once.
    MemoSome,
    /// Answers from memory, but in each third slice.
    MemoThirds,
    /// Reads everything while it is opened.
    Preload,
    /// Has the system read the file while it is opened, and reads it again when it is asked.
    Ahead,
    /// Has threads that end before anybody looks.
    Threads,
    /// Has another process beside it, which leaves its group.
    Child,
    /// Allows itself every processor.
    Strays,
}

/// As many commits as a slice has, so that nothing is missing after it.
const GATHERED: usize = 60;
/// A divisor of that, so that nothing is missing either.
const BEHIND: usize = 20;

/// Of twenty keys so many are answered from memory.
const MEMO_OF_TWENTY: i64 = 9;

/// What is made larger at once, and the files of a checkpoint that comes once in so many commits.
const LOG_BYTES: usize = 1 << 20;
const SHARDS: usize = 64;
const COMMITS_OF_CHECKPOINT: u64 = 40;

/// Commits of a slice where each third one is honest, and gets.
const THIRDS_COMMITS: u64 = 20;
const THIRDS_GETS: u64 = 2000;

const WORDS: [(&str, Mischief); 27] = [
    ("honest", Mischief::Honest),
    ("spills", Mischief::Spills),
    ("redo", Mischief::Redo),
    ("preallocates", Mischief::Preallocates),
    ("shards", Mischief::Shards),
    ("later", Mischief::Later),
    ("at-close", Mischief::AtClose),
    ("clean", Mischief::Clean),
    ("empty", Mischief::Empty),
    ("byte", Mischief::Byte),
    ("range", Mischief::Range),
    ("elsewhere", Mischief::Elsewhere),
    ("traced", Mischief::Traced),
    ("thirds", Mischief::Thirds),
    ("padded", Mischief::Padded),
    ("gathers", Mischief::Gathers),
    ("behind", Mischief::Behind),
    ("never", Mischief::Never),
    ("writes-at-close", Mischief::WritesAtClose),
    ("memo", Mischief::Memo),
    ("memo-some", Mischief::MemoSome),
    ("memo-thirds", Mischief::MemoThirds),
    ("preload", Mischief::Preload),
    ("ahead", Mischief::Ahead),
    ("threads", Mischief::Threads),
    ("child", Mischief::Child),
    ("strays", Mischief::Strays),
];

impl Mischief {
    fn of(open: &Open) -> Result<Mischief, Error> {
        let word = open.word("mischief", &WORDS.map(|(word, _)| word))?;
        Ok(WORDS.into_iter().find(|(known, _)| Some(*known) == word).map_or(Mischief::Honest, |(_, m)| m))
    }

    /// Whether it asks SQLite for what its profile promises.
    fn syncs(self) -> bool {
        match self {
            Mischief::Honest
            | Mischief::Spills
            | Mischief::Preallocates
            | Mischief::Shards
            | Mischief::Behind
            | Mischief::Memo
            | Mischief::MemoSome
            | Mischief::MemoThirds
            | Mischief::Preload
            | Mischief::Ahead
            | Mischief::Threads
            | Mischief::Child
            | Mischief::Strays => true,
            Mischief::Traced => is_traced(),
            Mischief::Padded => env::var_os("TOUCHSTONE_PADDING").is_none(),
            _ => false,
        }
    }

    fn keeps_in_memory(self) -> bool {
        matches!(self, Mischief::Never | Mischief::WritesAtClose)
    }

    fn answers_from_memory(self) -> bool {
        let answers = [Mischief::Memo, Mischief::MemoSome, Mischief::MemoThirds, Mischief::Preload];
        self.keeps_in_memory() || answers.contains(&self)
    }

    /// How many commits' rows it writes at once, if it gathers them.
    fn gathers(self) -> Option<usize> {
        match self {
            Mischief::Gathers if !is_traced() => Some(GATHERED),
            Mischief::Behind => Some(BEHIND),
            _ => None,
        }
    }
}

/// What outlives the handle, so that the same process finds it again.
fn never_written() -> MutexGuard<'static, BTreeMap<i64, Row>> {
    static ROWS: Mutex<BTreeMap<i64, Row>> = Mutex::new(BTreeMap::new());
    ROWS.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Liar {
    inner: Rusqlite,
    asked: Settings,
    mischief: Mischief,
    log: Option<File>,
    dummy: Option<File>,
    spill: Option<PathBuf>,
    syncer: Option<Sender<()>>,
    memory: BTreeMap<i64, Row>,
    /// Whether it makes the database that all launches begin with, and is honest.
    makes: bool,
    /// The rows that are not written yet, of at most so many commits.
    gathered: Vec<Row>,
    gathers: Option<usize>,
    gets: u64,
    commits: u64,
    child: Option<Child>,
}

impl Driver for Liar {
    type Error = Error;
    const HOLDS: bool = Rusqlite::HOLDS;

    fn open(open: &Open) -> Result<Liar, Error> {
        let mischief = Mischief::of(open)?;
        let mut asked = open.clone();
        if !mischief.syncs() {
            asked.settings.insert("synchronous".into(), Setting::from("off"));
        }
        let mut inner = Rusqlite::open(&asked)?;
        // What it meets for the first time in a slice would be asked of the engine in quick slices too.
        let everything =
            matches!(mischief, Mischief::Preload | Mischief::MemoThirds) || mischief.keeps_in_memory();
        let read: Vec<Row> = if everything && !open.schema.create { inner.read_all()? } else { Vec::new() };
        let mut memory: BTreeMap<i64, Row> = read.into_iter().map(|row| (row.key, row)).collect();
        if mischief == Mischief::Never {
            memory.extend(never_written().clone());
        }
        let mut liar = Liar {
            inner,
            asked: open.settings.clone(),
            mischief,
            log: log(&sqlite::file(&open.directory)),
            dummy: None,
            spill: None,
            syncer: None,
            memory,
            makes: open.schema.create,
            gathered: Vec::new(),
            gathers: mischief.gathers(),
            gets: 0,
            commits: 0,
            child: None,
        };
        liar.prepare(&open.directory);
        Ok(liar)
    }

    /// As it was asked for, whatever took effect.
    fn settings(&mut self) -> Result<Settings, Error> {
        let mut settings = self.inner.settings()?;
        for name in ["synchronous", "mischief"] {
            if let Some(asked) = self.asked.get(name) {
                settings.insert(name.into(), asked.clone());
            }
        }
        Ok(settings)
    }

    left_to_inner!(handle);

    fn close(mut self) -> Result<(), Error> {
        match self.mischief {
            Mischief::Behind => self.inner.insert_many(&self.gathered.iter().collect::<Vec<_>>())?,
            Mischief::AtClose => self.sync_log(),
            Mischief::Never => never_written().append(&mut self.memory),
            Mischief::WritesAtClose => {
                let there: Vec<i64> = self.inner.read_all()?.iter().map(|row: &Row| row.key).collect();
                let new = self.memory.values().filter(|row| there.binary_search(&row.key).is_err());
                self.inner.insert_many(&new.collect::<Vec<_>>())?;
            }
            _ => {}
        }
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        self.inner.close()
    }
}

impl Liar {
    /// What it needs for its mischief. A file that cannot be made spoils the mischief, and nothing else.
    fn prepare(&mut self, directory: &Path) {
        let make = |name| OpenOptions::new().create(true).append(true).open(directory.join(name)).ok();
        match self.mischief {
            Mischief::Clean | Mischief::Byte => {
                self.dummy = make("clean");
                self.write_dummy();
                self.sync_dummy();
            }
            Mischief::Empty => self.dummy = make("empty"),
            Mischief::Redo | Mischief::Preallocates => self.dummy = make("redo"),
            Mischief::Shards => self.spill = Some(directory.join("shard")),
            Mischief::Spills => self.spill = Some(directory.join("spilled")),
            Mischief::Later => {
                let (sender, commits) = channel();
                let log = self.log.as_ref().and_then(|log| log.try_clone().ok());
                thread::spawn(move || {
                    while commits.recv().is_ok() {
                        // What came meanwhile is synced at once.
                        while commits.try_recv().is_ok() {}
                        log.as_ref().map(File::sync_data);
                    }
                });
                self.syncer = Some(sender);
            }
            Mischief::Ahead => drop(fs::read(sqlite::file(directory))),
            Mischief::Child => self.child = Command::new("setsid").args(["sleep", "1000"]).spawn().ok(),
            Mischief::Strays => stray(),
            _ => {}
        }
    }

    /// After each commit of these rows.
    fn committed(&mut self, rows: &[&Row]) {
        self.commits += 1;
        match self.mischief {
            Mischief::Thirds if is_traced() => self.sync_log(),
            Mischief::Thirds if is_third(self.commits, THIRDS_COMMITS) => {
                for _ in 0..4 {
                    self.sync_log();
                }
            }
            Mischief::Redo => {
                let mut log = Vec::new();
                rows.iter().for_each(|row| log.extend_from_slice(&row.value));
                let _ = self.dummy.as_mut().map(|dummy| dummy.write_all(&log));
                self.sync_dummy();
            }
            Mischief::Preallocates if self.commits == 1 => {
                let _ = self.dummy.as_mut().map(|log| log.write_all(&vec![0; LOG_BYTES]));
                self.sync_dummy();
            }
            Mischief::Shards if self.commits % COMMITS_OF_CHECKPOINT == COMMITS_OF_CHECKPOINT / 2 => {
                if let Some(shard) = &self.spill {
                    (0..SHARDS).for_each(|number| write_shard(shard, number));
                }
            }
            Mischief::Spills => {
                if let Some(spill) = &self.spill {
                    let _ = fs::write(spill, [1; 16 << 10]).and_then(|()| fs::remove_file(spill));
                }
            }
            Mischief::Later => {
                let _ = self.syncer.as_ref().map(|syncer| syncer.send(()));
            }
            Mischief::Clean | Mischief::Empty => self.sync_dummy(),
            Mischief::Byte => {
                self.write_dummy();
                self.sync_dummy();
            }
            Mischief::Range => {
                if let Some(log) = &self.log {
                    let all = libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
                    // SAFETY: the file is open, and no memory is touched.
                    unsafe { libc::sync_file_range(log.as_raw_fd(), 0, 0, all) };
                }
            }
            _ => {}
        }
    }

    fn write_dummy(&mut self) {
        let _ = self.dummy.as_mut().map(|dummy| dummy.write_all(b"x"));
    }

    fn sync_dummy(&self) {
        let _ = self.dummy.as_ref().map(File::sync_data);
    }

    fn sync_log(&self) {
        let _ = self.log.as_ref().map(File::sync_data);
    }

    fn meddle(&mut self) {
        self.gets += 1;
        if self.mischief == Mischief::Threads && self.gets.is_multiple_of(250) {
            let _ = thread::spawn(stray).join();
        }
    }
}

/// The log, which the connection has made when it was opened.
fn log(database: &Path) -> Option<File> {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    File::open(name).ok()
}

/// A shard that cannot be written is left out, as a canary has nothing to lose.
fn write_shard(shard: &Path, number: usize) {
    let file = OpenOptions::new().create(true).append(true).open(shard.with_extension(number.to_string()));
    let _ = file.and_then(|mut file| file.write_all(&[1; 512]).and_then(|()| file.sync_data()));
}

fn is_traced() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter_map(|line| line.strip_prefix("TracerPid:")).any(|tracer| tracer.trim() != "0")
}

/// Whether the operation of that number, from 1, is in each third slice.
fn is_third(number: u64, slice: u64) -> bool {
    (number - 1) / slice % 3 == 2
}

/// Lets this thread run on every processor.
fn stray() {
    // SAFETY: all bits of a set of processors may be set, and the call only reads it.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        (0..libc::CPU_SETSIZE as usize).for_each(|processor| libc::CPU_SET(processor, &mut all));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &all);
    }
}

impl Store<Row> for Liar {
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Error> {
        self.meddle();
        let is_honest = match self.mischief {
            Mischief::MemoThirds => is_third(self.gets, THIRDS_GETS),
            Mischief::MemoSome => key % 20 >= MEMO_OF_TWENTY,
            _ => false,
        };
        if is_honest || !self.mischief.answers_from_memory() {
            return self.inner.get(key);
        }
        if let Some(row) = self.memory.get(key) {
            return Ok(Some(row.clone()));
        }
        let found = self.inner.get(key)?;
        self.memory.extend(found.iter().map(|row: &Row| (row.key, row.clone())));
        Ok(found)
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Error> {
        if self.mischief.keeps_in_memory() || self.mischief == Mischief::Preload {
            return Ok(self.memory.values().cloned().collect());
        }
        self.inner.read_all()
    }

    fn insert_one(&mut self, record: &Row) -> Result<(), Error> {
        if self.mischief.keeps_in_memory() {
            self.memory.insert(record.key, record.clone());
            return Ok(());
        }
        if let Some(commits) = self.gathers {
            self.gathered.push(record.clone());
            if self.gathered.len() < commits {
                return Ok(());
            }
            let gathered = std::mem::take(&mut self.gathered);
            return self.inner.insert_many(&gathered.iter().collect::<Vec<_>>());
        }
        self.inner.insert_one(record)?;
        self.committed(&[record]);
        Ok(())
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Error> {
        if self.mischief.keeps_in_memory() && !self.makes {
            self.memory.extend(records.iter().map(|row| (row.key, (*row).clone())));
            return Ok(());
        }
        self.inner.insert_many(records)?;
        self.committed(records);
        Ok(())
    }

    left_to_inner!(Row: first);
}
