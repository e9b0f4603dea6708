//! How recordings end: by themselves, by signals, by force; and that nothing is left.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use touchstone_recorder::{ErrorKind, Options, Recording, Trace, record};

use crate::{LIMIT, fixture};

/// The ids of the processes that introduced themselves in a line of output.
fn processes<'line>(lines: impl Iterator<Item = &'line str>) -> Vec<u32> {
    lines.filter_map(|line| line.strip_prefix("process ")?.parse().ok()).collect()
}

/// Whether a process runs. One that is dead and only waits for its parent to ask does not.
fn is_running(process: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, Some('Z' | 'X'))
}

fn recorded(arguments: &[&dyn AsRef<std::ffi::OsStr>], limit: Duration) -> Trace {
    let directory = tempfile::tempdir().unwrap();
    record(fixture(arguments), Options::new(directory.path()), limit).unwrap()
}

#[test]
fn the_exit_code_is_reported() {
    let trace = recorded(&[&"exit", &"3"], LIMIT);
    assert_eq!(trace.exit.code(), Some(3));
    assert!(!trace.killed);
}

#[test]
fn signals_reach_the_program_and_the_last_one_is_reported() {
    let trace = recorded(&[&"signal"], LIMIT);
    assert!(trace.marks().eq(["handled"]));
    assert_eq!(trace.exit.signal(), Some(libc::SIGTERM));
    assert!(!trace.killed);
}

#[test]
fn a_program_that_hangs_is_killed_when_its_time_is_up() {
    let trace = recorded(&[&"hang"], Duration::from_millis(200));
    assert!(trace.killed);
    assert_eq!(trace.exit.signal(), Some(libc::SIGKILL));
}

#[test]
fn a_killed_recording_leaves_no_process() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording =
        Recording::start(fixture(&[&"hang-with-child"]), Options::new(directory.path())).unwrap();
    let output = BufReader::new(recording.take_stdout().unwrap());
    let lines: Vec<String> = output.lines().take(2).map(Result::unwrap).collect();
    let processes = processes(lines.iter().map(String::as_str));
    assert_eq!(processes.len(), 2);
    assert!(processes.iter().all(|&process| is_running(process)));

    recording.kill();
    let trace = recording.finish(LIMIT).unwrap();
    assert!(trace.killed);
    assert!(!processes.iter().any(|&process| is_running(process)), "{processes:?}");
}

#[test]
fn a_dropped_recording_leaves_no_process() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording =
        Recording::start(fixture(&[&"hang-with-child"]), Options::new(directory.path())).unwrap();
    let output = BufReader::new(recording.take_stdout().unwrap());
    let lines: Vec<String> = output.lines().take(2).map(Result::unwrap).collect();
    drop(recording);
    let processes = processes(lines.iter().map(String::as_str));
    assert_eq!(processes.len(), 2);
    assert!(!processes.iter().any(|&process| is_running(process)), "{processes:?}");
}

#[test]
fn what_outlives_the_program_is_killed_with_the_recording() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording =
        Recording::start(fixture(&[&"leave-orphan"]), Options::new(directory.path())).unwrap();
    // Read to the end: the pipe is closed only when the orphan, which holds it too, is dead.
    let output = BufReader::new(recording.take_stdout().unwrap());
    let lines: Vec<String> = output.lines().map(Result::unwrap).collect();
    let trace = recording.finish(LIMIT).unwrap();
    assert!(trace.exit.success(), "the program itself was not killed");
    assert!(!trace.killed);
    let orphans = processes(lines.iter().map(String::as_str));
    assert!(!orphans.is_empty());
    assert!(!orphans.iter().any(|&process| is_running(process)), "{orphans:?}");
}

#[test]
fn a_stopped_program_can_be_killed() {
    let trace = recorded(&[&"stop"], Duration::from_millis(200));
    assert_eq!(trace.marks().count(), 1, "it stays stopped");
    assert!(trace.killed);
}

#[test]
fn a_program_can_be_killed_while_another_thread_waits_for_its_reply() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::start(fixture(&[&"hang"]), Options::new(directory.path())).unwrap();
    let killer = recording.killer();
    let mut output = BufReader::new(recording.take_stdout().unwrap()).lines();
    output.next().unwrap().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| output.next().is_none());
        killer.kill();
        assert!(waiting.join().unwrap(), "the output has ended");
    });
    assert!(recording.finish(LIMIT).unwrap().killed);
    killer.kill();
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let command = Command::new("/no/such/program");
        let error = Recording::start(command, Options::new(directory.path())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Start);
        assert!(error.to_string().contains("/no/such/program"), "{error}");
    }
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let error = Recording::start(fixture(&[&"hang"]), Options::new("/no/such/directory")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Directory);
}

#[test]
fn a_program_that_ends_at_once_is_recorded_every_time() {
    for _ in 0..50 {
        assert!(recorded(&[&"exit", &"0"], LIMIT).exit.success());
    }
}
