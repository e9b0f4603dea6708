//! The examples, run: each ends well, and prints what it says it does.

mod built;

use built::example;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What an example prints.
fn printed(name: &str) -> String {
    let output = Command::new(example(name)).output().expect("it is there");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn the_to_do_list_reads_what_its_first_version_wrote() {
    let printed = printed("todo");
    assert!(printed.contains("The first version wrote 3 tasks."), "{printed}");
    assert!(printed.contains("\"Write the guide\", priority 3."), "{printed}");
    assert!(printed.contains("Write the guide (priority 3, 1 of 2 steps)"), "{printed}");
    assert!(printed.contains("USING INDEX"), "{printed}");
    assert!(printed.ends_with("List elsewhere: 0 tasks\n"), "{printed}");
}

#[test]
fn the_bank_loses_no_money() {
    let printed = printed("bank");
    assert!(printed.contains("Refused: account 0 has 100 only."), "{printed}");
    assert!(printed.contains("Refused: there is no account 99."), "{printed}");
    assert!(printed.ends_with("In the end there are 800.\n"), "{printed}");
}

#[test]
fn encrypted_notes_open_with_their_key_only() {
    let printed = printed("notes_encrypted");
    assert!(printed.contains("no file holds its words."), "{printed}");
    assert!(printed.contains("the key, or the cipher, is not the file's"), "{printed}");
    assert!(printed.ends_with("all of it is there.\n"), "{printed}");
}

#[test]
fn a_file_of_rusqlite_becomes_a_store() {
    let printed = printed("from_rusqlite");
    assert!(printed.contains("a SQLite file, but no store"), "{printed}");
    assert!(printed.contains("2500 tasks were copied."), "{printed}");
    assert!(printed.ends_with("8 of them are due before 10.\n"), "{printed}");
}

#[test]
fn the_board_follows_what_two_threads_write() {
    let printed = printed("live");
    assert!(printed.contains("WINDOW OF SET BY due"), "{printed}");
    assert!(printed.contains("REFETCH AND DIFF WHEN task CHANGES"), "{printed}");
    assert!(
        printed.contains("4 tasks. Next:\n- Write to Jane, Ada\n- Water the plants, Ada\n- Go home, Emma\n"),
        "{printed}"
    );
    assert!(printed.ends_with("Ada has work for 6040 minutes.\nEmma has work for 1 minutes.\n"), "{printed}");
}

/// A process that keeps the to-do list, and whoever talks to it.
struct Talk {
    process: Child,
    says: ChildStdin,
    hears: BufReader<ChildStdout>,
}

impl Talk {
    fn about(path: &std::path::Path) -> Talk {
        let mut command = Command::new(example("together"));
        command.arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("it is there");
        let says = process.stdin.take().expect("it is piped");
        let hears = BufReader::new(process.stdout.take().expect("it is piped"));
        Talk { process, says, hears }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.says, "{line}").expect("it listens");
    }

    /// Reads until the list is that.
    fn hears(&mut self, tasks: &[&str]) {
        let expected = [
            &[format!("to do: {}", tasks.len())],
            &*tasks.iter().map(|task| format!("  {task}")).collect::<Vec<_>>(),
        ]
        .concat();
        let mut heard: Vec<String> = Vec::new();
        while !heard.ends_with(&expected) {
            let mut line = String::new();
            let length = self.hears.read_line(&mut line).expect("it prints text");
            assert!(length > 0, "it ended, and said {heard:?}");
            heard.push(line.trim_end().to_owned());
        }
    }
}

#[test]
fn two_processes_change_and_watch_one_to_do_list() {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("tasks.db");
    let mut one = Talk::about(&path);
    one.hears(&[]);
    one.say("add write the guide");
    one.hears(&["1 write the guide"]);
    let mut other = Talk::about(&path);
    other.hears(&["1 write the guide"]);
    other.say("add read it");
    one.hears(&["1 write the guide", "2 read it"]);
    other.hears(&["1 write the guide", "2 read it"]);
    one.say("done 1");
    other.hears(&["2 read it"]);
    other.say("drop 2");
    one.hears(&[]);
    for mut talk in [one, other] {
        talk.say("quit");
        assert!(talk.process.wait().expect("it was started").success());
    }
}
