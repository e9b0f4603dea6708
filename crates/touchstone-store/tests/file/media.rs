//! A file on media that cannot be written to: no call makes anything there, and each says why it cannot go on.
#![cfg(unix)]

use super::{Task, alone, fill, names_in};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use touchstone_store::{ErrorKind, Options};

unsafe extern "C" {
    fn setgid(group: u32) -> i32;
    fn setuid(user: u32) -> i32;
}

/// A user who is nobody, where the tests run as the one who may write everywhere.
fn become_nobody() {
    const NOBODY: u32 = 65_534;
    // SAFETY: they take numbers. Refused, they change nothing, and this user is not privileged.
    unsafe {
        setgid(NOBODY);
        setuid(NOBODY);
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is this user's");
}

/// The log and its index have no place there, also to read.
#[test]
fn a_store_in_a_directory_that_cannot_be_written_says_so() {
    alone("media::a_store_in_a_directory_that_cannot_be_written_says_so", |directory| {
        let media = directory.join("media");
        fs::create_dir(&media).expect("there is room");
        let path = media.join("tasks.db");
        fill(&path, &Options::new(), 3, "this");
        let bytes = fs::read(&path).expect("it is there");
        set_mode(&path, 0o444);
        set_mode(directory, 0o755);
        set_mode(&media, 0o555);
        become_nobody();
        for options in [Options::new().read_only(true), Options::new()] {
            let read = options.open(&path).and_then(|store| store.all::<Task>());
            let error = read.expect_err("there is no room for the log's index");
            assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::ReadOnly), "{error:?}");
            assert!(error.to_string().contains("directory"), "{error}");
        }
        assert_eq!(names_in(&media), [path.as_path()]);
        assert!(fs::read(&path).expect("it is there") == bytes);
        // Who made it removes it: an unprivileged user needs the directory for that.
        let _ = fs::set_permissions(&media, Permissions::from_mode(0o755));
    });
}
