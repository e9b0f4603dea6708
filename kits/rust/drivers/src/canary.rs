//! What canaries without a database share: records in memory, kept in files while closed, and a hook for the mischief
//! that each is built for.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use touchstone_kit::{
    About, Document, Driver, Failure, FailureKind, Open, Operation, Record, Row, Settings, Store, Verb,
    failure, read_dataset, write_dataset,
};

/// A canary's `hello`.
pub fn about(subject: &str) -> About {
    About {
        subject: subject.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        engine: "none".into(),
        engine_source: String::new(),
        compile_options: Vec::new(),
    }
}

/// What a canary does wrong. Reading everything and inserting many stay innocent, so that the lab can fill and
/// check it.
pub trait Mischief: Default + Send + 'static {
    /// The folders that its files lie in while it is closed, by their paths in the database's own: that itself, unless
    /// said. Records are dealt out to them.
    const FOLDERS: &'static [&'static str] = &[""];

    /// After its files are written.
    ///
    /// # Errors
    /// When the mischief fails.
    fn closed(&self, directory: &Path) -> io::Result<()> {
        let _ = directory;
        Ok(())
    }

    /// Before each get and each insert of one record.
    fn before(&mut self) {}

    /// Before each update.
    fn before_update(&mut self) {
        self.before();
    }

    /// To the answer of each get.
    fn answered<R: Record>(&mut self, answer: R) -> R {
        answer
    }

    /// To the answer of the first query after opening.
    fn first<R: Record>(&mut self, answer: Option<R>) -> Option<R> {
        answer
    }
}

/// A driver over memory, right but for its mischief.
pub struct Canary<M> {
    memory: Arc<Mutex<Memory>>,
    mischief: M,
}

/// The records of a database.
pub struct Memory {
    directory: PathBuf,
    folders: Vec<PathBuf>,
    rows: BTreeMap<i64, Row>,
    documents: BTreeMap<String, Document>,
}

/// A record type that [`Memory`] can hold.
pub trait Kept: Record {
    /// Where it holds them.
    fn kept(memory: &mut Memory) -> &mut BTreeMap<Self::Key, Self>;
}

impl Kept for Row {
    fn kept(memory: &mut Memory) -> &mut BTreeMap<i64, Row> {
        &mut memory.rows
    }
}

impl Kept for Document {
    fn kept(memory: &mut Memory) -> &mut BTreeMap<String, Document> {
        &mut memory.documents
    }
}

impl<M> Canary<M> {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("no canary panics while it holds the memory")
    }
}

impl<M: Mischief> Driver for Canary<M> {
    type Error = Failure;

    fn open(open: &Open) -> Result<Canary<M>, Failure> {
        let directory = open.directory.clone();
        let folders: Vec<PathBuf> = M::FOLDERS.iter().map(|folder| directory.join(folder)).collect();
        for folder in folders.iter().filter(|_| open.schema.create) {
            fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        }
        let memory = Memory { rows: load(&folders)?, documents: load(&folders)?, directory, folders };
        Ok(Canary { memory: Arc::new(Mutex::new(memory)), mischief: M::default() })
    }

    fn another(&self, _open: &Open) -> Result<Canary<M>, Failure> {
        Ok(Canary { memory: Arc::clone(&self.memory), mischief: M::default() })
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        Ok(Settings::new())
    }

    fn close(self) -> Result<(), Failure> {
        let memory = self.memory();
        save(&memory.folders, &memory.rows)?;
        save(&memory.folders, &memory.documents)?;
        self.mischief.closed(&memory.directory).map_err(|error| failed(&memory.directory, error))
    }
}

impl<M: Mischief, R: Kept> Store<R> for Canary<M> {
    const VERBS: &'static [Verb] = &Verb::OF_MIXED_RECORDS;

    fn get(&mut self, key: &R::Key) -> Result<Option<R>, Failure> {
        self.mischief.before();
        let found = R::kept(&mut self.memory()).get(key).cloned();
        Ok(found.map(|record| self.mischief.answered(record)))
    }

    fn read_all(&mut self) -> Result<Vec<R>, Failure> {
        Ok(R::kept(&mut self.memory()).values().cloned().collect())
    }

    fn insert_one(&mut self, record: &R) -> Result<(), Failure> {
        self.mischief.before();
        self.insert_many(&[record])
    }

    fn insert_many(&mut self, records: &[&R]) -> Result<(), Failure> {
        let records = records.iter().map(|record| (record.key().clone(), (*record).clone()));
        R::kept(&mut self.memory()).extend(records);
        Ok(())
    }

    fn mix(&mut self, operations: &[Operation<'_, R>], found: &mut Vec<R>) -> Result<u64, Failure> {
        let mut updated = 0;
        for operation in operations {
            match operation {
                Operation::Get(key) => found.extend(self.get(key)?),
                Operation::Update(state) => {
                    self.mischief.before_update();
                    let mut memory = self.memory();
                    let Some(kept) = R::kept(&mut memory).get_mut(state.key()) else { continue };
                    kept.clone_from(state);
                    updated += 1;
                }
            }
        }
        Ok(updated)
    }

    fn first(&mut self) -> Result<Option<R>, Failure> {
        let first = R::kept(&mut self.memory()).values().next().cloned();
        Ok(self.mischief.first(first))
    }
}

fn file<R: Record>(folder: &Path) -> PathBuf {
    folder.join(format!("{}.tsdata", R::KIND))
}

fn failed(path: &Path, error: impl Display) -> Failure {
    failure(FailureKind::Io, format!("{}: {error}", path.display()))
}

/// The records in the folders' files, or none where there is no file yet. A folder that is not there was lost.
fn load<R: Record>(folders: &[PathBuf]) -> Result<BTreeMap<R::Key, R>, Failure> {
    let mut loaded = BTreeMap::new();
    for folder in folders {
        fs::metadata(folder).map_err(|error| failed(folder, error))?;
        let file = file::<R>(folder);
        if !file.exists() {
            continue;
        }
        let records: Vec<R> = read_dataset(&file).map_err(|error| failed(&file, error))?;
        loaded.extend(records.into_iter().map(|record| (record.key().clone(), record)));
    }
    Ok(loaded)
}

/// Deals the records out. Nothing is deleted from a canary, so a folder without records never had a file.
fn save<R: Record>(folders: &[PathBuf], records: &BTreeMap<R::Key, R>) -> Result<(), Failure> {
    for (number, folder) in folders.iter().enumerate() {
        let dealt: Vec<R> = records.values().skip(number).step_by(folders.len()).cloned().collect();
        if dealt.is_empty() {
            continue;
        }
        let file = file::<R>(folder);
        write_dataset(&file, &dealt).map_err(|error| failed(&file, error))?;
    }
    Ok(())
}
