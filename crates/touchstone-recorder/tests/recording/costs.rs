//! What each step of a scenario costs.

use std::process::Command;

use touchstone_recorder::{Counts, Options, record};

use crate::{LIMIT, costs, counts, fixture, metadata, record_scenario, written};

/// As `assert_eq!`, but shows only the first step that differs.
fn assert_steps(found: &[(&str, Counts)], expected: &[(&str, Counts)]) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

fn durable(writes: u64, bytes: u64) -> Counts {
    counts(|counts| {
        (counts.writes, counts.bytes_written) = (writes, bytes);
        counts.synchronous_writes = writes;
    })
}

#[test]
fn every_way_of_writing_is_counted_with_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("writes", directory.path());
    assert_steps(
        &costs(&trace),
        &[
            ("create", metadata(1)),
            ("pwrite", written(1, 100)),
            ("write twice", written(2, 30)),
            ("writev", written(1, 11)),
            ("pwritev", written(1, 16)),
            ("pwritev2 durable", durable(1, 16)),
            ("O_DSYNC", durable(1, 7)),
            ("O_DSYNC duplicate", durable(1, 7)),
            ("failed write", Counts::default()),
        ],
    );
    assert_eq!(trace.unsupported(), Vec::<&str>::new());
}

#[test]
fn every_way_of_syncing_is_counted_under_its_kind() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("syncs", directory.path());
    assert_steps(
        &costs(&trace),
        &[
            ("fsync", counts(|counts| counts.fsyncs = 1)),
            ("fdatasync twice", counts(|counts| counts.fdatasyncs = 2)),
            ("directory", counts(|counts| counts.directory_syncs = 1)),
            ("range", counts(|counts| counts.range_syncs = 1)),
            ("file system", counts(|counts| counts.file_system_syncs = 1)),
            ("failed", Counts::default()),
        ],
    );
    assert_eq!(trace.counts().syncs(), 5, "sync_file_range promises nothing and is left out");
}

#[test]
fn changes_of_names_and_sizes_are_metadata_operations() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("names", directory.path());
    assert_steps(
        &costs(&trace),
        &[
            ("mkdir", metadata(1)),
            ("create", metadata(1)),
            ("rename", metadata(1)),
            ("link", metadata(1)),
            ("symlink", metadata(1)),
            ("create and replace", metadata(2)),
            ("exchange", metadata(1)),
            ("ftruncate, and once more", metadata(1)),
            ("truncating open through a symlink", metadata(1)),
            ("fallocate", metadata(1)),
            ("unlink twice", metadata(2)),
            ("rmdir", metadata(1)),
            ("nothing", Counts::default()),
        ],
    );
}

#[test]
fn a_shared_mapping_is_noted_and_its_msync_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("mapping", directory.path());
    assert_steps(
        &costs(&trace),
        &[
            ("private", Counts::default()),
            ("shared", Counts::default()),
            ("msync", counts(|counts| counts.msyncs = 1)),
            ("msync without waiting", Counts::default()),
        ],
    );
    assert_eq!(trace.mapped_files(), ["base.mdb"]);
}

#[test]
fn what_happens_outside_the_directory_is_not_counted() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let command = fixture(&[&"elsewhere", &directory.path(), &other.path()]);
    let options = Options::new(directory.path());
    let trace = record(command, options, LIMIT).unwrap();
    assert!(trace.exit.success());
    assert_steps(
        &costs(&trace),
        &[
            ("other directory", Counts::default()),
            ("moved in", metadata(1)),
            ("written", written(1, 7)),
            ("moved out", metadata(1)),
        ],
    );
}

#[test]
fn the_interval_after_the_last_mark_is_kept_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo first; printf x > file"]).current_dir(&directory);
    let options = Options::new(directory.path());
    let trace = record(command, options, LIMIT).unwrap();
    let intervals = trace.between_marks();
    assert_eq!(intervals.len(), 2);
    assert_eq!(intervals[1].ended_by, None);
    assert_eq!(intervals[1].counts.bytes_written, 1);
}
