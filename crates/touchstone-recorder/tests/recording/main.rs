//! Records real programs and checks every event and count. The programs are the scenarios of `fixture/`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod costs;
mod ending;
mod events;
mod order;
mod sqlite;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use touchstone_recorder::{Counts, Options, Trace, record, unavailable};

/// Far more than any scenario takes: reached only by a hang.
const LIMIT: Duration = Duration::from_secs(60);

fn fixture(arguments: &[&dyn AsRef<OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recorder-fixture"));
    command.args(arguments.iter().map(|argument| argument.as_ref()));
    command
}

/// Records a scenario that gets the watched directory as its argument, and must succeed.
fn record_scenario(name: &str, directory: &Path) -> Trace {
    let trace = record(fixture(&[&name, &directory]), Options::new(directory), LIMIT).expect("a trace");
    assert!(trace.exit.success(), "{name} ended with {}", trace.exit);
    assert!(!trace.killed);
    trace
}

/// The cost of each step, under the line that ends the step.
fn costs(trace: &Trace) -> Vec<(&str, Counts)> {
    let steps = trace.between_marks().into_iter().filter_map(|step| Some((step.ended_by?, step.counts)));
    // What a scenario does before it says "start" is preparation.
    steps.skip_while(|step| step.0 != "start").skip(1).collect()
}

fn counts(set: impl FnOnce(&mut Counts)) -> Counts {
    let mut counts = Counts::default();
    set(&mut counts);
    counts
}

fn metadata(operations: u64) -> Counts {
    counts(|counts| counts.metadata_operations = operations)
}

fn written(writes: u64, bytes: u64) -> Counts {
    counts(|counts| (counts.writes, counts.bytes_written) = (writes, bytes))
}

#[test]
fn the_recorder_is_available_where_the_tests_run() {
    assert_eq!(unavailable(), None);
}
