//! A header of the log's index that its writer left half written: it died between the two copies.
#![cfg(target_os = "linux")]

use crate::{Task, store, task};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use touchstone_store::Result;

/// The bytes of one copy of the header, and where it has the word that counts commits.
const COPY_BYTES: usize = 48;
const CHANGE: u64 = 8;
/// Longer than anybody waits for what comes.
const LONG: Duration = Duration::from_secs(60);

/// Who listens for others looked again and again, took a whole processor for it, and told nobody, until the program read.
#[test]
fn a_half_written_header_is_mended_without_anybody_asking() -> Result<()> {
    let (_directory, store) = store();
    store.insert(&task(1, 1, None))?;
    let feed = store.feed()?;
    let all = feed.query::<Task>().watch()?;
    let name = format!("{}-shm", store.path().display());
    let index = OpenOptions::new().read(true).write(true).open(name).expect("it is there");
    let copies = || {
        let mut copies = [0; 2 * COPY_BYTES];
        index.read_exact_at(&mut copies, 0).expect("it is readable");
        copies
    };
    let is_whole = || {
        let copies = copies();
        copies[..COPY_BYTES] == copies[COPY_BYTES..]
    };
    assert!(is_whole());
    // The first copy is written last: it is that of the commit before.
    let mut change = [0; 4];
    index.read_exact_at(&mut change, CHANGE).expect("it is readable");
    let before = u32::from_ne_bytes(change).wrapping_sub(1);
    index.write_all_at(&before.to_ne_bytes(), CHANGE).expect("it is written");
    let end = Instant::now() + LONG;
    while !is_whole() {
        assert!(Instant::now() < end, "nobody has read");
        std::thread::yield_now();
    }
    store.insert(&task(2, 1, None))?;
    store.wait_delivered()?;
    let mut last = None;
    while let Some(batch) = feed.try_next()? {
        last = batch.get(all.id()).and_then(|update| update.results::<Task>().ok());
    }
    assert_eq!(last.expect("it is told").len(), 2);
    // Closing any file of its own would end the locks that this process has on the index.
    std::mem::forget(index);
    Ok(())
}
