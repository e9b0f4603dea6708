//! What the events tell: which file, where, and with which bytes.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use touchstone_recorder::{EventKind, FileId, Options, SyncKind, Trace, record};

use crate::{LIMIT, fixture, record_scenario};

/// File, offset and length of every write.
fn writes(trace: &Trace) -> Vec<(&Path, u64, u64)> {
    let writes = trace.events.iter().filter_map(|event| match event.kind {
        EventKind::Write { file, offset, length, .. } => {
            Some((trace.file(file).path.as_path(), offset, length))
        }
        _ => None,
    });
    writes.collect()
}

#[test]
fn a_write_tells_its_offset_however_it_was_made() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("writes", directory.path());
    let places: Vec<(u64, u64)> = writes(&trace).iter().map(|write| (write.1, write.2)).collect();
    let expected = [(4096, 100), (0, 10), (10, 20), (30, 11), (512, 16), (1024, 16), (0, 7), (0, 7)];
    assert_eq!(places, expected);
}

#[test]
fn an_append_tells_where_it_went() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("appends", directory.path());
    let (log, one) = (Path::new("log"), Path::new("one"));
    assert_eq!(writes(&trace), [(log, 0, 5), (log, 5, 3), (log, 8, 2), (one, 0, 1)]);
}

#[test]
fn kept_bytes_rebuild_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::new(directory.path());
    options.keep_bytes = true;
    let trace = record(fixture(&[&"writes", &directory.path()]), options, LIMIT).unwrap();

    let mut rebuilt = Vec::new();
    for event in &trace.events {
        if let EventKind::Write { offset, bytes: Some(bytes), .. } = &event.kind {
            let offset = *offset as usize;
            rebuilt.resize(rebuilt.len().max(offset + bytes.len()), 0);
            rebuilt[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
    }
    assert!(rebuilt == std::fs::read(directory.path().join("data")).unwrap());
}

#[test]
fn bytes_that_come_from_another_file_are_recorded_as_writes() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::new(directory.path());
    options.keep_bytes = true;
    let trace = record(fixture(&[&"transfers", &directory.path()]), options, LIMIT).unwrap();
    let found: Vec<(u64, &[u8])> = trace
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Write { offset, bytes: Some(bytes), .. } => Some((*offset, bytes.as_slice())),
            _ => None,
        })
        .collect();
    assert_eq!(found, [(0, &b"0123456789"[..]), (0, b"0123"), (100, b"456"), (4, b"789")]);
}

/// SQLite's rollback journal is a new file for each commit, but ext4 gives it the same inode number every time. The
/// events must not mix these files up, or syncing one would cover writes to another.
#[test]
fn a_new_file_is_a_new_file_even_with_an_old_inode_number() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("reuse", directory.path());
    let file = |file: FileId| trace.file(file);
    let ids: Vec<FileId> = trace
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Write { file, .. } => Some(file),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 4);
    for (place, id) in ids.iter().enumerate() {
        assert!(!ids[..place].contains(id), "{ids:?}");
        assert!(file(*id).created);
    }
    let linked = trace.events.iter().find_map(|event| match &event.kind {
        EventKind::Link { file, path } => Some((*file, path.as_path())),
        _ => None,
    });
    assert_eq!(linked, Some((ids[3], Path::new("named"))), "the unnamed file is known when it gets a name");
}

#[test]
fn names_are_told_from_the_files_that_bear_them() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("names", directory.path());
    let renames: Vec<_> = trace
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Rename { file, from, to, replaced, exchange } => {
                let name = |id: FileId| trace.file(id).path.to_str().unwrap();
                let path = |path: &Option<std::path::PathBuf>| path.clone().unwrap().into_os_string();
                Some((name(*file), path(from), path(to), replaced.map(name), *exchange))
            }
            _ => None,
        })
        .collect();
    let expected = [
        ("sub/a", "sub/a".into(), "b".into(), None, false),
        ("e", "e".into(), "b".into(), Some("sub/a"), false),
        ("e", "b".into(), "c".into(), Some("sub/a"), true),
    ];
    assert_eq!(renames, expected);
    let gone: Vec<_> = trace
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Unlink { file, path } => Some((trace.file(*file).path.as_path(), path.as_path())),
            _ => None,
        })
        .collect();
    let expected = [("d", "d"), ("sub/a", "b"), ("sub", "sub")];
    assert_eq!(gone, expected.map(|(file, path)| (Path::new(file), Path::new(path))));
}

#[test]
fn msync_tells_the_range_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record_scenario("mapping", directory.path());
    let syncs: Vec<SyncKind> = trace
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Sync { kind, .. } => Some(kind),
            _ => None,
        })
        .collect();
    assert_eq!(syncs, [SyncKind::Msync { offset: 4096, length: 8192 }]);
}

#[test]
fn a_file_that_was_there_before_says_so() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("one"), b"old").unwrap();
    let trace = record_scenario("append-one", directory.path());
    assert_eq!(writes(&trace), [(Path::new("one"), 3, 1)]);
    let old = trace.files.iter().find(|file| file.path == Path::new("one")).unwrap();
    assert!(!old.created);
    assert_eq!(trace.counts().metadata_operations, 0);
}

#[test]
fn interfaces_that_cannot_be_followed_are_refused_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record(fixture(&[&"refused"]), Options::new(directory.path()), LIMIT).unwrap();
    let refused = format!("Err(Some({}))", libc::ENOSYS);
    assert!(trace.marks().eq([format!("io_uring {refused}"), format!("io_setup {refused}")]));
    assert_eq!(trace.unsupported().len(), 2);
}

/// A path that the subject may not follow is one that the recorder, as the same user, may not follow either. Its call
/// fails by itself; the recording must go on.
#[test]
fn a_path_that_may_not_be_followed_does_not_end_the_recording() {
    if rerun_unprivileged("events::a_path_that_may_not_be_followed_does_not_end_the_recording") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let set_mode = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let locked = directory.path().join("locked");
    std::fs::create_dir_all(locked.join("deeper")).unwrap();
    symlink("locked/deeper/file", directory.path().join("link")).unwrap();
    set_mode(&locked, 0);
    let script = "
        for path in locked/file locked/deeper/file link; do
            (echo lost > $path) 2> /dev/null || echo refused
        done
        mv locked/file locked/other 2> /dev/null
        rm -f locked/file 2> /dev/null
        echo kept > free";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).current_dir(&directory);
    let trace = record(command, Options::new(directory.path()), LIMIT);
    set_mode(&locked, 0o700);
    let trace = trace.unwrap();
    assert!(trace.marks().eq(["refused"; 3]));
    assert_eq!(writes(&trace), [(Path::new("free"), 0, 5)]);
}

/// For root no path is locked, so root has the test run once more, by a user with no rights. Whether it did.
fn rerun_unprivileged(test: &str) -> bool {
    const NOBODY: u32 = 65534;
    // SAFETY: takes nothing, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return false;
    }
    // The temporary directory may be root's own, so the other user gets one below it.
    let temporary = tempfile::tempdir().unwrap();
    std::fs::set_permissions(temporary.path(), Permissions::from_mode(0o777)).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact"]).env("TMPDIR", temporary.path());
    match command.uid(NOBODY).gid(NOBODY).status() {
        Ok(status) => assert!(status.success(), "see above"),
        Err(error) => println!("skipped: another user cannot run this test: {error}"),
    }
    true
}
