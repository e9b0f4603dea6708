//! That marks, threads and processes fall into one order.

use std::io::{BufRead, BufReader, Write};

use touchstone_recorder::{EventKind, Options, Recording, SyncKind, Trace};

use crate::{LIMIT, costs, counts, fixture, record_scenario};

/// The skeleton of a trace: one word per event.
fn words(trace: &Trace) -> Vec<String> {
    let word = |kind: &EventKind| match kind {
        EventKind::Mark { lines } => lines.concat(),
        EventKind::Write { length, .. } => format!("write {length}"),
        EventKind::Sync { kind: SyncKind::Fdatasync, .. } => "fdatasync".to_string(),
        EventKind::Create { path, .. } => format!("create {}", path.display()),
        other => format!("{other:?}"),
    };
    trace.events.iter().map(|event| word(&event.kind)).collect()
}

#[test]
fn replies_stand_among_the_calls_that_they_acknowledge() {
    let directory = tempfile::tempdir().unwrap();
    let command = fixture(&[&"replies", &directory.path()]);
    let mut recording = Recording::start(command, Options::new(directory.path())).unwrap();
    let mut input = recording.take_stdin().unwrap();
    let mut output = BufReader::new(recording.take_stdout().unwrap()).lines();
    assert_eq!(output.next().unwrap().unwrap(), "ready");
    for line in ["a", "bc", "def"] {
        writeln!(input, "{line}").unwrap();
        assert_eq!(output.next().unwrap().unwrap(), format!("committed {line}"));
    }
    drop(input);
    let trace = recording.finish(LIMIT).unwrap();
    assert!(trace.exit.success());
    let expected = [
        "create log",
        "ready",
        "write 1",
        "fdatasync",
        "committed a",
        "write 2",
        "fdatasync",
        "committed bc",
        "write 3",
        "fdatasync",
        "committed def",
    ];
    assert_eq!(words(&trace), expected);
    assert!(trace.between_marks()[1..4].iter().all(|interval| interval.counts.syncs() == 1));
}

#[test]
fn threads_are_recorded_to_the_last_call() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("threads", directory.path());
    let expected = counts(|counts| {
        (counts.writes, counts.bytes_written) = (100, 6400);
        counts.fdatasyncs = 100;
        counts.metadata_operations = 4;
    });
    assert_eq!(costs(&trace), [("done", expected)]);
    for (index, event) in trace.events.iter().enumerate() {
        assert!(event.began <= index, "a call begins before it returns");
    }
}

#[test]
fn each_thread_keeps_its_own_order() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("threads", directory.path());
    let mut written = vec![0; trace.files.len()];
    let mut synced = vec![0; trace.files.len()];
    for event in &trace.events {
        match event.kind {
            EventKind::Write { file, offset, .. } => {
                assert_eq!(offset, written[file.index()]);
                assert_eq!(synced[file.index()], offset, "each write is synced before the next");
                written[file.index()] += 64;
            }
            EventKind::Sync { file, .. } => synced[file.index()] = written[file.index()],
            _ => {}
        }
    }
}

#[test]
fn children_are_recorded_with_their_parent() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("children", directory.path());
    let expected = ["start", "create one", "write 1", "append one", "write 1", "append one", "done"];
    assert_eq!(words(&trace), expected);
}

#[test]
fn a_process_that_becomes_another_program_is_recorded_on() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("execute-from-thread", directory.path());
    assert_eq!(words(&trace), ["start", "create one", "write 1", "append one"]);
}

#[test]
fn two_recordings_at_once_do_not_disturb_each_other() {
    std::thread::scope(|scope| {
        let recorded = || {
            let directory = tempfile::tempdir().unwrap();
            costs(&record_scenario("threads", directory.path()))[0].1
        };
        let others: Vec<_> = (0..3).map(|_| scope.spawn(recorded)).collect();
        let here = recorded();
        assert!(others.into_iter().all(|other| other.join().unwrap() == here));
    });
}
