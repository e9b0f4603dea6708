//! Cuts the power at moments of a recorded run, and looks at what the disk then has: a strict store has every commit
//! that it acknowledged; a consistent one is whole, has every commit before one that was made durable, and never a
//! commit without those before it. `TOUCHSTONE_CUTS=1000` cuts as often for each test. The disk is a model (see
//! `shim/disk.rs`): what a real one does beyond it is not tested here.

mod refused;
#[path = "../shim/mod.rs"]
mod shim;
#[path = "../workload/mod.rs"]
mod workload;

use shim::disk::{Disk, Unsynced};
use shim::{Event, Shim};
use touchstone_store::{Cipher, Durability, EncryptionKey, Options, Store};
use workload::{Call, Random, check_whole, states, step, steps_held};

/// Threads that write at once.
const WRITERS: u64 = 3;
/// Steps of each.
const STEPS: u64 = 96;
const CUTS_USUALLY: u64 = 25;
/// Of how many steps of a consistent store one is durable.
const DURABLE: u64 = 16;
const FILE: &str = "power.db";
/// How often each moment of the making of a file is cut, for writes are torn otherwise each time.
const TORN_OTHERWISE: u64 = 24;
/// Steps of a store whose key is changed then.
const STEPS_BEFORE: u64 = 8;

/// A number for each writer.
type Counts = [u64; WRITERS as usize];

/// Writes with several threads, through a VFS that writes everything down.
fn record(options: &Options, exclusive: bool) -> Vec<Event> {
    let shim = Shim::register(exclusive, true);
    shim.record();
    let directory = tempfile::tempdir().expect("there is room");
    // The log is copied often, and begins anew often.
    let options = options.clone().checkpoint_pages(8).log_bytes_max(100_000).vfs(shim.name());
    let store = options.open(directory.path().join(FILE)).expect("the store opens");
    write(&store, shim);
    drop(store);
    shim.take_events()
}

fn write(store: &Store, shim: &Shim) {
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for number in 0..STEPS {
                    let step = step(writer, number);
                    let durable = number % DURABLE == 1;
                    shim.note(Event::Begin { writer, number });
                    let result = if durable { step.run_durably(store) } else { step.run(store) };
                    result.expect("the step succeeds");
                    shim.note(Event::Acknowledge { writer, number, durable });
                }
            });
        }
    });
}

/// What is known of the writers at a moment.
#[derive(Default)]
struct Known {
    begun: Counts,
    acknowledged: Counts,
    /// What no loss of power takes away.
    safe: Counts,
    /// For each writer's steps, what was acknowledged to everybody when it began.
    before: [Vec<Counts>; WRITERS as usize],
}

impl Known {
    fn advance(&mut self, event: &Event, strict: bool) {
        match *event {
            Event::Begin { writer, number } => {
                self.begun[writer as usize] = number + 1;
                self.before[writer as usize].push(self.acknowledged);
            }
            Event::Acknowledge { writer, number, durable } => {
                let at = writer as usize;
                self.acknowledged[at] = number + 1;
                if strict || durable {
                    for (safe, before) in self.safe.iter_mut().zip(self.before[at][number as usize]) {
                        *safe = before.max(*safe);
                    }
                    self.safe[at] = number + 1;
                }
            }
            _ => {}
        }
    }

    /// Fails unless the store holds what it must, whole steps only, and none without those before it.
    fn check(&self, store: &Store, about: &str) {
        let found = states(store, WRITERS).expect("the store is readable");
        let mut held: Counts = [0; WRITERS as usize];
        for (at, state) in found.iter().enumerate() {
            let steps = steps_held(at as u64, state, self.safe[at], self.begun[at]);
            held[at] = steps.unwrap_or_else(|why| panic!("{about}: {why}"));
        }
        for (writer, steps) in held.into_iter().enumerate() {
            let Some(last) = steps.checked_sub(1) else { continue };
            for (other, needed) in self.before[writer][last as usize].into_iter().enumerate() {
                let mut has = held[other];
                // Steps that change nothing are not to be seen.
                while has < needed && step(other as u64, has).call == Call::Undone {
                    has += 1;
                }
                assert!(has >= needed, "{about}: {writer} has {steps} steps, {other} {has} and not {needed}");
            }
        }
    }
}

fn cut_often(options: &Options, exclusive: bool, durability: Durability) {
    let options = options.clone().durability(durability).exclusive(exclusive);
    let events = record(&options, exclusive);
    let asked = std::env::var("TOUCHSTONE_CUTS").ok().and_then(|cuts| cuts.parse().ok());
    let mut random = Random::new(events.len() as u64);
    let cuts = moments(&events, asked.unwrap_or(CUTS_USUALLY), &mut random);
    let (mut disk, mut known) = (Disk::default(), Known::default());
    let mut cuts_left = cuts.iter().peekable();
    for (number, event) in events.iter().enumerate() {
        disk.advance(event);
        known.advance(event, durability == Durability::Strict);
        if cuts_left.next_if(|cut| **cut == number).is_none() {
            continue;
        }
        for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Some, Unsynced::Torn] {
            let directory = memory();
            disk.save(directory.path(), unsynced, &mut random);
            let about = format!("event {number} of {}, {unsynced:?}", events.len());
            let store = options.clone().open(directory.path().join(FILE));
            let store = store.unwrap_or_else(|error| panic!("{about}: {error}"));
            known.check(&store, &about);
            check_whole(&store);
        }
    }
    let syncs = |name: &str| {
        let is_sync = |event: &&Event| matches!(event, Event::Sync { file, .. } if file == name);
        events.iter().filter(is_sync).count()
    };
    let (log, main) = (syncs(&format!("{FILE}-wal")), syncs(FILE));
    assert!(main > 1, "the log was copied");
    println!(
        "{durability:?}, exclusive: {exclusive}: {} cuts of 4 kinds, {} events, {log} syncs of the log, {main} of the file",
        cuts.len(),
        events.len()
    );
}

/// A directory in memory, where there is one: what was saved from the cut needs no disk any more.
fn memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("there is room")
}

/// Moments to cut at: any, and right after an acknowledgement.
fn moments(events: &[Event], cuts: u64, random: &mut Random) -> Vec<usize> {
    let is_acknowledgement = |number: &usize| matches!(events[*number], Event::Acknowledge { .. });
    let acknowledged: Vec<usize> = (0..events.len()).filter(is_acknowledgement).collect();
    let mut moments: Vec<usize> = (0..cuts)
        .map(|cut| match cut % 2 {
            0 => random.below(events.len() as u64) as usize,
            _ => acknowledged[random.below(acknowledged.len() as u64) as usize],
        })
        .collect();
    moments.sort_unstable();
    moments.dedup();
    moments
}

/// Cuts the power at every moment of the making of a file: what is there then is opened, or made again.
fn cut_while_it_is_made(options: &Options) {
    let shim = Shim::register(false, true);
    shim.record();
    let directory = tempfile::tempdir().expect("there is room");
    let place = directory.path().join(FILE);
    drop(options.clone().vfs(shim.name()).open(place).expect("the store opens"));
    let events = shim.take_events();
    let (mut disk, mut random) = (Disk::default(), Random::new(events.len() as u64));
    for (number, event) in events.iter().enumerate() {
        disk.advance(event);
        for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Some, Unsynced::Torn] {
            for _ in 0..TORN_OTHERWISE {
                let directory = memory();
                disk.save(directory.path(), unsynced, &mut random);
                let store = options.clone().open(directory.path().join(FILE));
                let store = store.unwrap_or_else(|error| {
                    panic!("event {number} of {}, {unsynced:?}: {error}", events.len())
                });
                check_whole(&store);
            }
        }
    }
}

/// Found by many cuts: on a disk with a memory of its own the file's first page was torn, and its journal not there yet. The file was
/// called another program's, or its key wrong.
#[test]
fn a_file_that_was_being_made_at_a_loss_of_power_is_made_again() {
    let encrypted = Options::new().key(EncryptionKey::raw([7; 32]));
    for options in [Options::new(), encrypted.clone(), encrypted.cipher(Cipher::SqlCipher)] {
        cut_while_it_is_made(&options);
    }
}

/// Cuts the power at every moment of a change of the key, up to the one where the new file takes the old one's place: the old one is
/// there, with every step.
fn cut_while_its_key_is_changed(old: &Options, new: &Options) {
    let shim = Shim::register(false, true);
    shim.record();
    let directory = tempfile::tempdir().expect("there is room");
    let place = directory.path().join(FILE);
    let store = old.clone().vfs(shim.name()).open(&place).expect("the store opens");
    (0..STEPS_BEFORE).for_each(|number| step(0, number).run(&store).expect("the step succeeds"));
    drop(store);
    let before = shim.take_events();
    shim.record();
    Store::change_key(&place, old.clone().vfs(shim.name()), new.clone()).expect("the key is changed");
    let events = shim.take_events();
    let mut disk = Disk::default();
    before.iter().for_each(|event| disk.advance(event));
    let mut random = Random::new(events.len() as u64);
    let any_of_it = [(Unsynced::Some, TORN_OTHERWISE / 3), (Unsynced::Torn, TORN_OTHERWISE / 3)];
    for (number, event) in events.iter().enumerate() {
        let event = match event {
            // It counts from the beginning of its recording.
            Event::Sync { file, covers } => Event::Sync { file: file.clone(), covers: before.len() + covers },
            other => other.clone(),
        };
        disk.advance(&event);
        let all_or_nothing = [(Unsynced::Lost, 1), (Unsynced::Kept, 1)];
        for (unsynced, times) in all_or_nothing.into_iter().chain(any_of_it) {
            for _ in 0..times {
                let directory = memory();
                disk.save(directory.path(), unsynced, &mut random);
                let about = format!("event {number} of {}, {unsynced:?}", events.len());
                let store = old.clone().create(false).open(directory.path().join(FILE));
                let store = store.unwrap_or_else(|error| panic!("{about}: {error}"));
                let found = states(&store, 1).expect("the store is readable");
                let held = steps_held(0, &found[0], STEPS_BEFORE, STEPS_BEFORE);
                held.unwrap_or_else(|why| panic!("{about}: {why}"));
                check_whole(&store);
            }
        }
    }
}

/// The old file leaves its log by a change of its first page, which no log has: on a disk with a memory of its own that page was torn, and
/// its journal not there yet. The file was called no store, or its key wrong.
#[test]
fn a_file_whose_key_was_being_changed_at_a_loss_of_power_is_there() {
    let plain = Options::new();
    let encrypted = Options::new().key(EncryptionKey::raw([7; 32]));
    cut_while_its_key_is_changed(&plain, &encrypted);
    cut_while_its_key_is_changed(&encrypted, &plain);
    let other = encrypted.clone().key(EncryptionKey::raw([8; 32])).cipher(Cipher::SqlCipher);
    cut_while_its_key_is_changed(&other, &encrypted);
}

#[test]
fn strict_commits_survive_a_loss_of_power() {
    cut_often(&Options::new(), false, Durability::Strict);
}

#[test]
fn strict_commits_survive_a_loss_of_power_in_exclusive_mode() {
    cut_often(&Options::new(), true, Durability::Strict);
}

/// Pages that leave the cache are in the log before their transaction is, and may be written there again.
#[test]
fn strict_commits_larger_than_the_cache_survive_a_loss_of_power() {
    cut_often(&Options::new().page_size(512).cache_bytes(8192), false, Durability::Strict);
}

#[test]
fn encrypted_strict_commits_survive_a_loss_of_power() {
    cut_often(&Options::new().key(EncryptionKey::raw([7; 32])), false, Durability::Strict);
}

#[test]
fn strict_commits_of_sqlcipher_survive_a_loss_of_power() {
    let options = Options::new().key(EncryptionKey::raw([7; 32])).cipher(Cipher::SqlCipher);
    cut_often(&options, false, Durability::Strict);
}

#[test]
fn a_consistent_store_is_whole_after_a_loss_of_power() {
    cut_often(&Options::new(), false, Durability::Consistent);
}

#[test]
fn a_consistent_store_is_whole_after_a_loss_of_power_in_exclusive_mode() {
    cut_often(&Options::new(), true, Durability::Consistent);
}
