//! The canary that recalls what its engine was asked for before: rusqlite, which answers from what it has kept. Its profile says
//! where it keeps that, and for how long. As `honest` it asks its engine each time.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::left_to_inner;
use drivers::sqlite::{self, Error};
use rusqlite_driver::Rusqlite;
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, OnceLock, PoisonError};
use touchstone_kit::{Driver, Kit, Open, Row, Setting, Settings, Store, Verb, read_dataset, write_dataset};

fn main() -> ExitCode {
    Kit::<Recall>::new(sqlite::about("canary-recall", env!("CARGO_PKG_VERSION"))).rows().main()
}

const WORD: &str = "mischief";

const WORDS: [&str; 5] = ["honest", "process", "temporary", "program", "early"];

/// Gets that are answered from memory as `early`: 10 of the 15 slices of a launch, with 2,000 gets each.
const EARLY_GETS: u64 = 20_000;

/// What the process has read, which outlives the handle.
static ROWS: Mutex<BTreeMap<i64, Row>> = Mutex::new(BTreeMap::new());
static WHOLE: OnceLock<Vec<Row>> = OnceLock::new();

struct Recall {
    inner: Rusqlite,
    mischief: Option<&'static str>,
    /// What it had before it was asked.
    kept: BTreeMap<i64, Row>,
    gets: u64,
}

impl Driver for Recall {
    type Error = Error;
    const HOLDS: bool = Rusqlite::HOLDS;

    fn open(open: &Open) -> Result<Recall, Error> {
        let mischief = open.word(WORD, &WORDS)?;
        let mut inner = Rusqlite::open(open)?;
        let kept = if open.schema.create {
            Vec::new()
        } else {
            match mischief {
                Some("temporary") => kept_in(&env::temp_dir().join("canary-recall"), &mut inner)?,
                Some("program") => kept_in(&beside_program(), &mut inner)?,
                Some("early") => inner.read_all()?,
                _ => Vec::new(),
            }
        };
        Ok(Recall { inner, mischief, kept: kept.into_iter().map(|row| (row.key, row)).collect(), gets: 0 })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        let mut settings = self.inner.settings()?;
        settings.extend(self.mischief.map(|word| (WORD.into(), Setting::from(word))));
        Ok(settings)
    }

    left_to_inner!(handle);

    fn close(self) -> Result<(), Error> {
        self.inner.close()
    }
}

/// What an earlier process has kept in this file; the first one keeps it, and is honest.
fn kept_in(file: &Path, inner: &mut Rusqlite) -> Result<Vec<Row>, Error> {
    if let Ok(kept) = read_dataset(file) {
        return Ok(kept);
    }
    let rows: Vec<Row> = inner.read_all()?;
    // A file that cannot be written spoils the mischief, and nothing else.
    let _ = write_dataset(file, &rows);
    Ok(Vec::new())
}

/// A file that no run removes.
fn beside_program() -> PathBuf {
    env::current_exe().unwrap_or_default().with_extension("kept")
}

impl Recall {
    fn recalls(&self) -> bool {
        self.mischief != Some("early") || self.gets <= EARLY_GETS
    }
}

impl Store<Row> for Recall {
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

    fn get(&mut self, key: &i64) -> Result<Option<Row>, Error> {
        self.gets += 1;
        if let Some(row) = self.kept.get(key).filter(|_| self.recalls()) {
            return Ok(Some(row.clone()));
        }
        if self.mischief != Some("process") {
            return self.inner.get(key);
        }
        let mut rows = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = rows.get(key) {
            return Ok(Some(row.clone()));
        }
        let found = self.inner.get(key)?;
        rows.extend(found.iter().map(|row: &Row| (row.key, row.clone())));
        Ok(found)
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Error> {
        if self.mischief != Some("process") {
            return self.inner.read_all();
        }
        if let Some(whole) = WHOLE.get() {
            return Ok(whole.clone());
        }
        let whole = self.inner.read_all()?;
        Ok(WHOLE.get_or_init(|| whole).clone())
    }

    left_to_inner!(Row: insert_one, insert_many, first);
}
