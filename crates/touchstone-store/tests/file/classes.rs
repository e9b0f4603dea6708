//! Classes of durability beside each other on one file.

use super::{Task, alone, fill, kind, program, task};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use touchstone_store::{Durability, ErrorKind, Options, Result, Store};

const CLASSES: [Durability; 3] = [Durability::Strict, Durability::Consistent, Durability::Process];

fn open(path: &Path, class: Durability) -> Result<Store> {
    Options::new().durability(class).open(path)
}

fn can_stand_beside(one: Durability, other: Durability) -> bool {
    (one == Durability::Process) == (other == Durability::Process)
}

/// Its commits were copied into the file by the other without a flush: gone after a loss of power, or the file damaged.
#[test]
fn a_class_that_does_not_flush_is_refused_beside_one_that_does() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for first in CLASSES {
        for second in CLASSES {
            for exclusive in [false, true] {
                let path = directory.path().join(format!("{first:?}{second:?}{exclusive}.db"));
                let options = Options::new().exclusive(exclusive);
                let one = options.clone().durability(first).open(&path).expect("it is alone");
                let other = options.clone().durability(second).open(&path);
                let refused = (!can_stand_beside(first, second)).then_some(ErrorKind::Durability);
                assert_eq!(kind(other), refused, "{second:?} beside {first:?}");
                one.insert(&task(1, "it goes on")).expect("it is written");
                drop(one);
                options.durability(second).open(&path).expect("it is alone");
            }
        }
    }
}

#[test]
fn a_store_that_only_reads_stands_beside_every_class() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("tasks.db");
    fill(&path, &Options::new(), 3, "this");
    for first in CLASSES {
        let writer = open(&path, first).expect("it is alone");
        for second in CLASSES {
            let options = Options::new().durability(second).read_only(true);
            let reader = options.open(&path).expect("it only reads");
            assert_eq!(reader.all::<Task>().expect("it is readable").len(), 3);
        }
        writer.put(&task(1, "it goes on")).expect("it is written");
    }
}

/// Another process with the file open, until it is killed.
struct Other {
    child: Child,
    _input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn open(path: &Path, class: Durability) -> Other {
        let mut other = Other::start(path, class);
        assert_eq!(other.hear(), "it is open");
        other
    }

    fn start(path: &Path, class: Durability) -> Other {
        let mut program = program("classes::the_other_process", path.as_os_str());
        program.env(CLASS, format!("{class:?}")).stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = program.spawn().expect("the program starts");
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.expect("it is piped"));
        Other { child, _input: input.expect("it is piped"), output }
    }

    /// What it says of the file.
    fn hear(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).expect("it speaks"), 0, "it ended without a word");
            if line.starts_with("it ") {
                return line.trim_end().to_owned();
            }
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const CLASS: &str = "TOUCHSTONE_TEST_FILE_CLASS";

/// Does nothing in the test's own process.
#[test]
fn the_other_process() {
    let Ok(class) = std::env::var(CLASS) else { return };
    let class = CLASSES.into_iter().find(|known| format!("{known:?}") == class).expect("it is one of them");
    let path = std::env::var_os(super::DIRECTORY).expect("it was told");
    let store = match open(Path::new(&path), class) {
        Ok(store) => store,
        Err(error) => return println!("\nit fails: {:?}", error.kind()),
    };
    store.put(&task(1, "the other's")).expect("it is written");
    println!("\nit is open");
    std::io::stdout().flush().expect("it is heard");
    // Its input ends with the process that started it.
    let _ = std::io::stdin().lines().next();
}

/// The mark of a process that was killed went with it.
#[test]
fn another_process_is_heard_of_as_long_as_it_lives() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for first in CLASSES {
        for second in CLASSES {
            let path = directory.path().join(format!("{first:?}{second:?}.db"));
            let other = Other::open(&path, first);
            let refused = (!can_stand_beside(first, second)).then_some(ErrorKind::Durability);
            assert_eq!(kind(open(&path, second)), refused, "{second:?} beside {first:?}");
            // A store that goes takes no mark along but its own.
            assert_eq!(kind(open(&path, first)), None);
            assert_eq!(kind(open(&path, second)), refused, "{second:?} beside {first:?}");
            drop(other);
            let store = open(&path, second).expect("the other was killed");
            assert_eq!(store.get::<Task>(&1).expect("it is readable"), Some(task(1, "the other's")));
        }
    }
}

/// Of two stores of one process, the first that is closed takes nothing from the mark that the other still needs.
#[test]
fn a_store_that_is_closed_leaves_the_mark_to_those_that_are_open() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for (class, other) in
        [(Durability::Process, Durability::Strict), (Durability::Strict, Durability::Process)]
    {
        let path = directory.path().join(format!("{class:?}.db"));
        let (one, two) = (open(&path, class).expect("it opens"), open(&path, class).expect("it opens"));
        drop(one);
        assert_eq!(Other::start(&path, other).hear(), "it fails: Durability");
        drop(two);
        Other::open(&path, other);
    }
}

#[test]
fn the_marks_of_one_process_are_counted() {
    alone("classes::the_marks_of_one_process_are_counted", |directory| {
        let path = directory.join("tasks.db");
        let (one, two) = (
            open(&path, Durability::Process).expect("it opens"),
            open(&path, Durability::Process).expect("it opens"),
        );
        drop(one);
        assert_eq!(kind(open(&path, Durability::Strict)), Some(ErrorKind::Durability));
        drop(two);
        let strict = open(&path, Durability::Strict).expect("they are closed");
        let refused = open(&path, Durability::Process).expect_err("it is refused").to_string();
        assert!(refused.contains("`Durability::Process`") && refused.contains("read_only"), "{refused}");
        strict.insert(&task(1, "it goes on")).expect("it is written");
    });
}
