//! The store's note of the service's time, by which deletions and names of changes age: the next service goes on from it.

use super::schema::{AppliedRow, DeletionRow, TimeRow};
use crate::clock::ServiceTime;
use touchstone_store::{Result, Store, Transaction};

/// Goes on with the time that is noted.
pub(super) fn begin(store: &Store) -> Result<ServiceTime> {
    store.read(|snapshot| {
        let noted = snapshot.get::<TimeRow>(&0)?.map(|row| row.seconds);
        let name = snapshot.query::<AppliedRow>().order(|row| row.stored.descending()).first()?;
        let deletion = snapshot.query::<DeletionRow>().order(|row| row.stored.descending()).first()?;
        let newest = name.map(|row| row.stored).max(deletion.map(|row| row.stored));
        Ok(ServiceTime::from(noted, newest))
    })
}

/// Notes it. Where two services overlap, the later time stays.
pub(super) fn note(transaction: &mut Transaction<'_>, seconds: i64) -> Result<()> {
    match transaction.get::<TimeRow>(&0)? {
        Some(known) if known.seconds >= seconds => Ok(()),
        _ => transaction.put(&TimeRow { id: 0, seconds }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::VersionRow;
    use super::*;
    use crate::change::{Change, Upload};
    use crate::storage::Storage;
    use crate::storage::embedded::Embedded;

    fn named(id: &str, data: Option<&str>) -> Change {
        Change {
            id: id.into(),
            data: data.map(str::to_owned),
            base: None,
            name: Some(format!("change of {id}")),
        }
    }

    /// As if the wall clock had jumped ahead by years since: all that is stored has the time of before.
    fn set_back(store: &Store, is_noted: bool) {
        let years = 10 * 365 * 86_400;
        let changed = store.write(|transaction| {
            for mut row in transaction.query::<AppliedRow>().all()? {
                row.stored -= years;
                transaction.put(&row)?;
            }
            for mut row in transaction.query::<DeletionRow>().all()? {
                transaction.remove::<DeletionRow>(&(row.stored, row.user, row.revision))?;
                row.stored -= years;
                transaction.put(&row)?;
                let deleted = Some(row.stored);
                transaction
                    .update::<VersionRow>(&(row.user, row.revision), |version| version.deleted = deleted)?;
            }
            match transaction.get::<TimeRow>(&0)? {
                Some(mut row) if is_noted => {
                    row.seconds -= years;
                    transaction.put(&row)
                }
                _ => transaction.remove::<TimeRow>(&0).map(drop),
            }
        });
        changed.unwrap();
    }

    /// Found by an attacker: after a jump of the wall clock by years, once, the service forgot all names at once, and an upload whose answer was
    /// lost was stored twice.
    #[test]
    fn a_wall_clock_that_jumps_makes_nothing_old() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        for is_noted in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path().join("sync.db")).unwrap();
            let upload =
                Upload { changes: vec![named("a", Some("1")), named("b", None)], ..Upload::default() };
            let stored = async |storage: &Embedded| {
                let account = storage.user("ada").await.unwrap();
                let phone = storage.register(account, "phone").await.unwrap();
                storage.upload(phone, upload.clone(), None).await.unwrap()
            };
            runtime.block_on(async {
                let first = Embedded::to_serve(store.clone()).unwrap();
                let told = stored(&first).await;
                drop(first);
                set_back(&store, is_noted);
                let next = Embedded::to_serve(store.clone()).unwrap();
                assert_eq!(next.forget(next.time() - 90 * 86_400).await.unwrap(), 0, "noted: {is_noted}");
                assert_eq!(stored(&next).await, told, "it is not stored twice");
                assert_eq!(next.forget(i64::MAX).await.unwrap(), 3, "two names and a deletion");
            });
        }
    }

    #[test]
    fn the_next_service_goes_on_from_the_later_of_two() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("sync.db")).unwrap();
        for (seconds, noted) in [(7, 7), (5, 7), (9, 9)] {
            store.write(|transaction| note(transaction, seconds)).unwrap();
            assert_eq!(store.get::<TimeRow>(&0).unwrap().map(|row| row.seconds), Some(noted));
        }
    }
}
