//! Types that change while their file stays, and files that change while a store has them open.

mod columns;
mod defaults;
mod indexes;
mod key_columns;
mod kinds;
mod others;
#[path = "../place/mod.rs"]
mod place;

use place::{Place, place};
use touchstone_store::{ErrorKind, Record, Result, Store};

impl Place {
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
