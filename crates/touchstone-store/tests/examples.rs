//! The examples, run: each ends well, and prints what it says it does.

use std::process::Command;

/// Runs an example. Cargo has built it already where all of the package's tests are run, and else does so now.
fn printed(example: &str) -> String {
    let test = std::env::current_exe().expect("a test is a program");
    // A test lies in `<target>/<profile>/deps`.
    let target = test.ancestors().nth(3).expect("it lies below the target folder");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).arg("run").arg("--target-dir").arg(target);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.args(["--quiet", "--example", example]).output().expect("cargo can be started");
    assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
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
