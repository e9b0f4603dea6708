//! Mistakes on purpose, which prove that a sanitizer's build detects mistakes: in the library, in the engine's C unit,
//! and between the two. `make sanitize` makes each of them first, and trusts no build that misses one. This file is not
//! part of the store: it is compiled with `--cfg touchstone_canary` only.

use std::ffi::c_int;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, mpsc};
use std::thread;

unsafe extern "C" {
    fn touchstone_canary_beyond(length: c_int) -> c_int;
    fn touchstone_canary_freed(length: c_int) -> c_int;
    fn touchstone_canary_raced(number: *mut c_int);
}

const LENGTH: u8 = 24;
const TIMES: u32 = 1000;

/// Makes the mistake of that name; false if there is none.
#[must_use]
pub fn make(mistake: &str) -> bool {
    match mistake {
        "library reads beyond" => use_up(library_beyond()),
        "library reads what is freed" => use_up(library_freed()),
        // SAFETY: there is none, and the sanitizer has to report that.
        "engine reads beyond" => use_up(unsafe { touchstone_canary_beyond(LENGTH.into()) }),
        // SAFETY: as above.
        "engine reads what is freed" => use_up(unsafe { touchstone_canary_freed(LENGTH.into()) }),
        "library races" => race(library_raced, library_raced),
        "engine races" => race(engine_raced, engine_raced),
        "library and engine race" => race(library_raced, engine_raced),
        "nothing" => take_turns(),
        _ => return false,
    }
    true
}

fn use_up<T>(value: T) {
    black_box(value);
}

#[inline(never)]
fn library_beyond() -> u8 {
    let block = black_box(vec![LENGTH; LENGTH.into()]);
    // SAFETY: there is none, and the sanitizer has to report that.
    unsafe { block.as_ptr().add(block.len()).read_volatile() }
}

#[inline(never)]
fn library_freed() -> u8 {
    let block = black_box(vec![LENGTH; LENGTH.into()]);
    let place = block.as_ptr();
    drop(block);
    // SAFETY: there is none, and the sanitizer has to report that.
    unsafe { place.read_volatile() }
}

/// A number that two threads use at once.
#[derive(Clone, Copy)]
struct Shared(*mut c_int);

// SAFETY: there is none, and the sanitizer has to report that.
unsafe impl Send for Shared {}

#[inline(never)]
fn library_raced(number: Shared) {
    // SAFETY: as above.
    unsafe { number.0.write_volatile(number.0.read_volatile() + 1) }
}

fn engine_raced(number: Shared) {
    // SAFETY: as above.
    unsafe { touchstone_canary_raced(number.0) }
}

/// Two threads that access the number at the same time, again and again, without synchronization. Both are still
/// running at each access, because a sanitizer may forget the accesses of a thread that has ended.
fn race(one: fn(Shared), other: fn(Shared)) {
    let mut number: c_int = 0;
    let (shared, arrived) = (Shared(&raw mut number), AtomicU32::new(0));
    let run = |work: fn(Shared), shared: Shared| {
        for meeting in 1..=TIMES {
            arrived.fetch_add(1, Ordering::Relaxed);
            while arrived.load(Ordering::Relaxed) < 2 * meeting {
                thread::yield_now();
            }
            work(shared);
        }
    };
    thread::scope(|scope| {
        for work in [one, other] {
            scope.spawn(move || run(work, shared));
        }
    });
    black_box(number);
}

/// No mistake: threads that synchronize through the standard library. A build whose standard library is not
/// instrumented reports a race here, and would report one everywhere.
fn take_turns() {
    let (guarded, bell) = (Mutex::new((0_u32, String::new())), Condvar::new());
    let (sender, receiver) = mpsc::channel::<Vec<u32>>();
    thread::scope(|scope| {
        for own in 0..4 {
            let (guarded, bell, sender) = (&guarded, &bell, sender.clone());
            scope.spawn(move || {
                for _ in 0..TIMES {
                    let mut turn = guarded.lock().expect("nobody panics");
                    while turn.0 % 4 != own {
                        turn = bell.wait(turn).expect("nobody panics");
                    }
                    turn.0 += 1;
                    turn.1.push('.');
                    bell.notify_all();
                }
                sender.send(vec![own; TIMES as usize]).expect("it is received");
            });
        }
        drop(sender);
    });
    let counted = receiver.iter().map(|numbers| numbers.len()).sum::<usize>();
    assert_eq!(guarded.into_inner().expect("nobody panics").1.len(), counted);
}
