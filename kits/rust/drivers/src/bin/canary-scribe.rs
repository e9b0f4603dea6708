//! The canary with a scribe: rusqlite, whose inserts another process makes when it is told that no more will come, by a close
//! or by the end of the driver.

#[expect(dead_code, reason = "its main is not this program's")]
#[path = "rusqlite.rs"]
mod rusqlite_driver;

use drivers::left_to_inner;
use drivers::sqlite::{self, Error};
use rusqlite::Connection;
use rusqlite_driver::Rusqlite;
use std::env;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use touchstone_kit::{Driver, FailureKind, Kit, Open, Row, Settings, Store, Verb, failure};

fn main() -> ExitCode {
    if let Some(database) = env::args_os().nth(1) {
        return match write_at_end(Path::new(&database)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("the scribe wrote nothing: {error}");
                ExitCode::FAILURE
            }
        };
    }
    Kit::<Dictating>::new(sqlite::about("canary-scribe", env!("CARGO_PKG_VERSION"))).rows().main()
}

/// The scribe: a key and a value in hexadecimal are a row, each in a line.
fn write_at_end(database: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let lines = io::stdin().lock().lines().collect::<io::Result<Vec<String>>>()?;
    let mut connection = Connection::open(database)?;
    let transaction = connection.transaction()?;
    for row in lines.chunks_exact(2) {
        transaction.execute(
            "insert into benchmark (key, value) values (?1, unhex(?2))",
            (row[0].parse::<i64>()?, &row[1]),
        )?;
    }
    Ok(transaction.commit()?)
}

struct Dictating {
    inner: Rusqlite,
    scribe: Option<Child>,
}

impl Driver for Dictating {
    type Error = Error;
    const HOLDS: bool = Rusqlite::HOLDS;

    fn open(open: &Open) -> Result<Dictating, Error> {
        let inner = Rusqlite::open(open)?;
        let scribe = if open.schema.create { None } else { Some(scribe(open)?) };
        Ok(Dictating { inner, scribe })
    }

    fn settings(&mut self) -> Result<Settings, Error> {
        self.inner.settings()
    }

    left_to_inner!(handle);

    fn close(mut self) -> Result<(), Error> {
        if let Some(mut scribe) = self.scribe.take() {
            drop(scribe.stdin.take());
            scribe.wait().map_err(|error| failure(FailureKind::Io, error.to_string()))?;
        }
        self.inner.close()
    }
}

fn scribe(open: &Open) -> Result<Child, Error> {
    let started = env::current_exe()
        .and_then(|own| Command::new(own).arg(sqlite::file(&open.directory)).stdin(Stdio::piped()).spawn());
    Ok(started.map_err(|error| failure(FailureKind::Io, error.to_string()))?)
}

impl Store<Row> for Dictating {
    const VERBS: &'static [Verb] = &Verb::OF_RECORDS;

    fn insert_one(&mut self, row: &Row) -> Result<(), Error> {
        let Some(mut scribe) = self.scribe.as_ref().and_then(|scribe| scribe.stdin.as_ref()) else {
            return self.inner.insert_one(row);
        };
        let hex: String = row.value.iter().map(|byte| format!("{byte:02x}")).collect();
        let told = writeln!(scribe, "{}\n{hex}", row.key);
        Ok(told.map_err(|error| failure(FailureKind::Io, error.to_string()))?)
    }

    left_to_inner!(Row: get, read_all, insert_many, first);
}
