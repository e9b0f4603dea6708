//! What canaries without a database share: records in memory, kept in flat files while closed, and a hook for the
//! mischief that each is built for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use touchstone_kit::{
    About, Document, Driver, Failure, FailureKind, Open, Record, Row, Settings, Store, Verb, failure,
    read_dataset, write_dataset,
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
    /// Before each get and each insert of one record.
    fn before(&mut self) {}

    /// To the answer of each get.
    fn answered<R: Record>(&mut self, answer: R) -> R {
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
        let memory = Memory { rows: load(&directory)?, documents: load(&directory)?, directory };
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
        save(&memory.directory, &memory.rows)?;
        save(&memory.directory, &memory.documents)
    }
}

impl<M: Mischief, R: Kept> Store<R> for Canary<M> {
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

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

    fn first(&mut self) -> Result<Option<R>, Failure> {
        Ok(R::kept(&mut self.memory()).values().next().cloned())
    }
}

fn file<R: Record>(directory: &Path) -> PathBuf {
    directory.join(format!("{}.tsdata", R::KIND))
}

/// The records in the flat file, or none where there is no file yet.
fn load<R: Record>(directory: &Path) -> Result<BTreeMap<R::Key, R>, Failure> {
    let file = file::<R>(directory);
    if !file.exists() {
        return Ok(BTreeMap::new());
    }
    let records: Vec<R> = read_dataset(&file).map_err(|error| failure(FailureKind::Io, error.to_string()))?;
    Ok(records.into_iter().map(|record| (record.key().clone(), record)).collect())
}

fn save<R: Record>(directory: &Path, records: &BTreeMap<R::Key, R>) -> Result<(), Failure> {
    let records: Vec<R> = records.values().cloned().collect();
    write_dataset(&file::<R>(directory), &records)
        .map_err(|error| failure(FailureKind::Io, error.to_string()))
}
