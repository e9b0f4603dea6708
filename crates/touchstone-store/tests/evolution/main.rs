//! Types that change while their file stays, and files that change while a store has them open.

mod columns;
mod defaults;
mod indexes;
mod kinds;
mod others;

use std::path::PathBuf;
use tempfile::TempDir;
use touchstone_store::{ErrorKind, Record, Result, Store};

/// A place for one file, which goes with the test.
struct Place {
    _directory: TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("evolution.db");
    Place { _directory: directory, path }
}

impl Place {
    fn open(&self) -> Store {
        Store::open(&self.path).expect("the store opens")
    }

    /// The file as any other program opens it.
    fn plain(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.path).expect("the file opens")
    }

    /// Writes the records, and closes the store.
    fn write<T: Record>(&self, records: &[T]) {
        self.open().insert_all(records).expect("the records are written");
    }
}

/// Every way to read all records of a type, which must agree.
fn everywhere<T: Record + PartialEq + std::fmt::Debug>(store: &Store) -> Result<Vec<T>>
where
    T::Key: touchstone_store::KeyPart,
{
    store.read(|snapshot| {
        let all = snapshot.of::<T>().all()?;
        let iterated: Vec<T> = snapshot.query::<T>().rows()?.collect::<Result<_>>()?;
        assert_eq!(all, iterated);
        for record in &all {
            let got = snapshot.get::<T>(&record.key())?;
            assert_eq!(got.as_ref(), Some(record), "a row's pages and its statement agree");
        }
        assert_eq!(snapshot.of::<T>().count()?, all.len() as u64);
        let mut seen = 0;
        snapshot.of::<T>().each_view(|_| {
            seen += 1;
            Ok(true)
        })?;
        assert_eq!(seen, all.len());
        Ok(all)
    })
}

fn kind<R>(result: Result<R>) -> ErrorKind {
    result.map(|_| ()).expect_err("this must fail").kind()
}
