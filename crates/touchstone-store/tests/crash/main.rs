//! Kills processes that write, and looks at what they left: nothing that was acknowledged is lost, and nothing is half
//! there. Some kills in an ordinary test; `TOUCHSTONE_KILLS=200` does as many for each durability and mode.
//! This is no loss of power: what a process has written, the system still has (`power` is about the rest).

#[path = "../workload/mod.rs"]
mod workload;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};
use touchstone_store::{Durability, Options, Store};
use workload::{Item, KINDS, Random, check_whole, states, step, steps_held};

/// Threads that write at once.
const WRITERS: u64 = 3;
/// What tells the program to be a child: where the file is, how it is opened, and which steps come next.
const CHILD: &str = "TOUCHSTONE_CRASH_CHILD";
/// How often the same file is written again after its writer was killed.
const LIVES: u64 = 4;
const KILLS_USUALLY: u64 = 10;

/// How the killed process had the store open.
#[derive(Clone, Copy, Debug)]
struct Mode {
    durability: Durability,
    exclusive: bool,
    checkpoint_pages: u32,
}

impl Mode {
    fn open(self, path: &Path) -> Store {
        Options::new()
            .durability(self.durability)
            .exclusive(self.exclusive)
            .checkpoint_pages(self.checkpoint_pages)
            .log_bytes_max(u64::from(self.checkpoint_pages) * 64 * 1024)
            // Processes poll for the lock, and one that writes without a pause lets others in only now and then.
            .busy_timeout(Duration::from_secs(120))
            .open(path)
            .expect("the store opens")
    }

    fn to_text(self) -> String {
        let durability = DURABILITIES.iter().position(|durability| *durability == self.durability);
        format!("{} {} {}", durability.unwrap_or(0), u8::from(self.exclusive), self.checkpoint_pages)
    }

    fn from_text(text: &str) -> Mode {
        let numbers: Vec<u32> = text.split(' ').map(|number| number.parse().expect("a number")).collect();
        Mode {
            durability: DURABILITIES[numbers[0] as usize],
            exclusive: numbers[1] == 1,
            checkpoint_pages: numbers[2],
        }
    }
}

const DURABILITIES: [Durability; 3] = [Durability::Strict, Durability::Consistent, Durability::Process];

/// The child: writes until it is killed, and tells of each commit after the store did.
#[test]
fn child() {
    let Ok(order) = std::env::var(CHILD) else { return };
    let mut parts = order.split('|');
    let mut part = || parts.next().expect("the parent gave the order");
    let (path, mode, first, writers) = (part(), Mode::from_text(part()), part(), part());
    let numbers = |text: &str| -> Vec<u64> {
        text.split(' ').map(|number| number.parse().expect("a number")).collect()
    };
    let (first, writers) = (numbers(first), numbers(writers));
    let store = &mode.open(Path::new(path));
    std::thread::scope(|scope| {
        for writer in writers {
            let first = first[writer as usize];
            scope.spawn(move || {
                for number in first.. {
                    if let Err(error) = step(writer, number).run(store) {
                        eprintln!("{error:?}");
                        // The other threads would go on for ever.
                        std::process::exit(1);
                    }
                    // One call of the system, so that no line is half written and none mixes with another.
                    let line = format!("{writer} {number}\n");
                    std::io::stderr().write_all(line.as_bytes()).expect("the parent listens");
                }
            });
        }
        scope.spawn(|| {
            loop {
                store.read(|snapshot| snapshot.of::<Item>().count()).expect("the store is readable");
                std::thread::yield_now();
            }
        });
    });
}

/// Steps that are acknowledged, for each writer.
type Acknowledged = [u64; WRITERS as usize];

/// A child that writes.
struct Writing {
    child: Child,
    acknowledgements: BufReader<ChildStderr>,
}

impl Writing {
    fn begin(path: &Path, mode: Mode, first: &Acknowledged, writers: &[u64]) -> Writing {
        let text = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<String>>().join(" ");
        let order = format!("{}|{}|{}|{}", path.display(), mode.to_text(), text(first), text(writers));
        let mut child = Command::new(std::env::current_exe().expect("the test has a program"))
            .args(["--exact", "child", "--nocapture", "--test-threads", "1"])
            .env(CHILD, order)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the child starts");
        let acknowledgements = BufReader::new(child.stderr.take().expect("it is piped"));
        Writing { child, acknowledgements }
    }

    /// Hears of that many commits, spends some work, kills the child, and hears what it had still told.
    fn kill(mut self, after: u64, work: u64, acknowledged: &mut Acknowledged) -> u64 {
        let mut heard = 0;
        let mut line = String::new();
        while heard < after && self.acknowledgements.read_line(&mut line).expect("the pipe is readable") > 0 {
            note(&line, acknowledged);
            line.clear();
            heard += 1;
        }
        for number in 0..work {
            std::hint::black_box(number);
        }
        self.child.kill().expect("the child can be killed");
        let mut rest = String::new();
        self.acknowledgements.read_to_string(&mut rest).expect("the pipe is readable");
        for line in rest.lines() {
            note(line, acknowledged);
            heard += 1;
        }
        self.child.wait().expect("the child has ended");
        heard
    }
}

impl Drop for Writing {
    /// A child does not outlive a test that fails.
    fn drop(&mut self) {
        // It is dead already where the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Notes an acknowledgement. A child that says anything else has failed.
fn note(line: &str, acknowledged: &mut Acknowledged) {
    let numbers: Option<Vec<u64>> = line.split_whitespace().map(|number| number.parse().ok()).collect();
    let Some([writer, number]) = numbers.as_deref() else { panic!("the child failed: {line}") };
    let next = &mut acknowledged[*writer as usize];
    assert_eq!(*next, *number, "a writer's steps come one after the other");
    *next += 1;
}

fn kills() -> u64 {
    std::env::var("TOUCHSTONE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS_USUALLY)
}

fn kill_often(durability: Durability, exclusive: bool) {
    let (kills, begun) = (kills(), Instant::now());
    let (mut commits, mut in_flight) = (0, 0);
    for file in 0..kills.div_ceil(LIVES) {
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join("crash.db");
        let mut held: Acknowledged = [0; WRITERS as usize];
        for life in 0..LIVES.min(kills - file * LIVES) {
            let seed = file * LIVES + life;
            let mut random = Random::new(seed);
            let checkpoint_pages = [4, 16, 64, 1000][random.below(4) as usize];
            let mode = Mode { durability, exclusive, checkpoint_pages };
            // Every kind of moment: before the first commit, after some, and any amount of work later.
            let after = [0, 3, 30, 300][random.below(4) as usize];
            let (after, bits) = (random.below(after + 1), random.below(23));
            let work = random.below(1 << bits);
            let mut acknowledged = held;
            commits += Writing::begin(&path, mode, &held, &[0, 1, 2]).kill(after, work, &mut acknowledged);
            let store = mode.open(&path);
            let found = states(&store, WRITERS).expect("the store is readable");
            for (writer, state) in found.iter().enumerate() {
                let told = acknowledged[writer];
                let steps = steps_held(writer as u64, state, told, told + 1);
                held[writer] = steps.unwrap_or_else(|why| panic!("kill {seed} of {mode:?}: {why}"));
                in_flight += held[writer] - told;
            }
            check_whole(&store);
        }
    }
    println!(
        "{durability:?}, exclusive: {exclusive}: {kills} kills, {commits} commits acknowledged, {in_flight} more found, {:.1} s",
        begun.elapsed().as_secs_f64()
    );
}

#[test]
fn strict_commits_survive_a_kill() {
    kill_often(Durability::Strict, false);
}

#[test]
fn strict_commits_survive_a_kill_in_exclusive_mode() {
    kill_often(Durability::Strict, true);
}

#[test]
fn consistent_commits_survive_a_kill() {
    kill_often(Durability::Consistent, false);
}

#[test]
fn consistent_commits_survive_a_kill_in_exclusive_mode() {
    kill_often(Durability::Consistent, true);
}

#[test]
fn process_commits_survive_a_kill() {
    kill_often(Durability::Process, false);
}

#[test]
fn process_commits_survive_a_kill_in_exclusive_mode() {
    kill_often(Durability::Process, true);
}

/// One of two processes is killed while both write; the other goes on, and notices nothing. Fewer kills and commits than
/// above, because processes that poll for one lock come to it slowly.
#[test]
fn a_process_goes_on_after_another_was_killed() {
    for seed in 0..kills().div_ceil(5) {
        let mut random = Random::new(seed);
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join("crash.db");
        let mode = Mode { durability: Durability::Consistent, exclusive: false, checkpoint_pages: 16 };
        let mut acknowledged: Acknowledged = [0; WRITERS as usize];
        let killed = Writing::begin(&path, mode, &acknowledged, &[0, 1]);
        let other = Writing::begin(&path, mode, &acknowledged, &[2]);
        killed.kill(random.below(4), random.below(1 << 20), &mut acknowledged);
        let store = mode.open(&path);
        let check = |writers: std::ops::Range<usize>, acknowledged: &Acknowledged| {
            let found = states(&store, WRITERS).expect("the store is readable");
            for writer in writers {
                let told = acknowledged[writer];
                let steps = steps_held(writer as u64, &found[writer], told, told + 1);
                steps.unwrap_or_else(|why| panic!("kill {seed}: {why}"));
            }
        };
        check(0..2, &acknowledged);
        other.kill(random.below(4), random.below(1 << 20), &mut acknowledged);
        check(0..3, &acknowledged);
        check_whole(&store);
    }
}

/// SQLite refused, at once, whoever came while another was making the file.
#[test]
fn several_may_make_the_file_at_once() {
    for _ in 0..kills() {
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join("crash.db");
        let mode = Mode { durability: Durability::Consistent, exclusive: false, checkpoint_pages: 16 };
        let at_once = std::sync::Barrier::new(WRITERS as usize);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (path, at_once) = (&path, &at_once);
                scope.spawn(move || {
                    at_once.wait();
                    let store = mode.open(path);
                    (0..KINDS)
                        .for_each(|number| step(writer, number).run(&store).expect("the step succeeds"));
                });
            }
        });
        let found = states(&mode.open(&path), WRITERS).expect("the store is readable");
        for (writer, state) in found.iter().enumerate() {
            assert_eq!(steps_held(writer as u64, state, KINDS, KINDS), Ok(KINDS));
        }
    }
}
