//! Two processes of which one could not flush what it had copied: the other copies all of the log again, before it begins anew over what
//! may be the only copy.

use super::{FILE, LOG, memory};
use crate::process::{Other, again, say};
use crate::shim::{Call, Fault, Shim};
use crate::workload::{KINDS, State, check_whole, states, step, steps_held};
use std::io::BufRead;
use std::path::Path;
use touchstone_store::{ErrorKind, Options, Store};

/// The variable that tells the other process its file.
const PLACE: &str = "TOUCHSTONE_FAILING_FILE";
/// The step of the other process that is refused: those before it are acknowledged.
const REFUSED: &str = "refused ";
/// Steps that are tried until something happens that another thread does.
const MANY: u64 = 100_000;
/// The frames of the log that are copied, in its index: `nBackfill`, behind two copies of the header.
const COPIED: std::ops::Range<usize> = 96..100;

fn copied_frames(file: &Path) -> u32 {
    let index = std::fs::read(file.with_file_name(format!("{FILE}-shm"))).expect("it is there");
    u32::from_ne_bytes(index[COPIED].try_into().expect("it is a word"))
}

/// The header of the log, which is another one when the log begins anew.
fn log_header(file: &Path) -> Vec<u8> {
    let log = std::fs::read(file.with_file_name(LOG)).expect("it is there");
    log.into_iter().take(32).collect()
}

/// What the writer's steps have left: as many as that were acknowledged.
fn held(writer: usize, found: &[State], steps: u64) {
    let held = steps_held(writer as u64, &found[writer], steps, steps);
    held.unwrap_or_else(|why| panic!("writer {writer}, {steps} steps: {why}"));
}

/// The process whose flush fails. A snapshot keeps its keeper from copying all of the log, so that what is copied is not flushed yet.
#[test]
fn the_other_process() {
    let Ok(path) = std::env::var(PLACE) else { return };
    let shim = Shim::register(false, true);
    let options = Options::new().vfs(shim.name()).checkpoint_pages(u32::MAX);
    let reader = options.clone().open(&path).expect("the store opens");
    let write = |store: &Store, numbers: std::ops::Range<u64>| {
        numbers.for_each(|number| step(0, number).run(store).expect("it is written"));
    };
    write(&reader, 0..KINDS);
    let snapshot = reader.snapshot().expect("it is readable");
    write(&reader, KINDS..2 * KINDS);
    // The log is not long enough for writers to wait: before they do, the keeper flushes the file by itself.
    let writer = options.checkpoint_pages(8).open(&path).expect("the store opens again");
    write(&writer, 2 * KINDS..2 * KINDS + 1);
    say("copying");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("it is told to go on");
    drop((snapshot, reader));
    shim.fail(Fault { calls: &[Call::Sync], file: FILE, after: 0, lasting: false, full: false });
    let refused =
        (2 * KINDS + 1..MANY).find_map(|number| Some((number, step(0, number).run(&writer).err()?)));
    assert_eq!(shim.heal(), 1, "no flush of the file was tried");
    let (refused, error) = refused.expect("a store that cannot flush goes on");
    assert_eq!(error.kind(), ErrorKind::Unflushed, "{error:?}");
    say("failed");
    line.clear();
    std::io::stdin().lock().read_line(&mut line).expect("it is told to end");
    say(&format!("{REFUSED}{refused}"));
}

/// Puts back what the file was when it was last flushed, as a system does that drops what it could not write.
fn lose_what_was_not_flushed(file: &Path, flushed: &[u8]) {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().write(true).open(file).expect("it is there");
    file.write_all(flushed).expect("there is room");
    file.set_len(flushed.len() as u64).expect("it is cut off");
}

#[test]
fn what_one_process_could_not_flush_another_copies_again() {
    let directory = memory();
    let path = directory.path().join(FILE);
    drop(Store::open(&path).expect("the store opens"));
    // This process has no store open while it opens and closes the file itself: that would give up SQLite's locks on it.
    let flushed = std::fs::read(&path).expect("it is there");
    let mut other = Other::start(again("processes::the_other_process").env(PLACE, &path));
    other.hear("copying");
    while copied_frames(&path) == 0 {
        std::thread::yield_now();
    }
    other.tell("go on");
    other.hear("failed");
    assert_eq!(copied_frames(&path), 0, "what could not be flushed counts as copied");
    lose_what_was_not_flushed(&path, &flushed);

    let store = Options::new().checkpoint_pages(1).open(&path).expect("the store opens");
    let header = log_header(&path);
    let steps = (0..MANY).find(|number| {
        step(1, *number).run(&store).expect("this process goes on");
        log_header(&path) != header
    });
    let steps = steps.expect("the log begins anew") + 1;
    drop(store);
    other.tell("end");
    let rest = other.end();
    let refused = rest.lines().find_map(|line| line.strip_prefix(REFUSED)).expect("it says which");
    let store = Store::open(&path).expect("the store opens");
    let found = states(&store, 2).expect("it is readable");
    held(0, &found, refused.parse().expect("it is a number"));
    held(1, &found, steps);
    check_whole(&store);
}
