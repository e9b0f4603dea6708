//! A process that has as many files open as it may.

use super::{DIRECTORY, Task, fill, task};
use std::fs::File;
use std::path::Path;
use std::process::Command;
use touchstone_store::{ErrorKind, Options, Result, Store};

/// Enough for a test program, and soon used up.
const FILES_MAX: &str = "60";

/// It was told that the file, or its directory, may not be there or may not be written.
#[test]
fn too_many_open_files_are_told_as_that() {
    const NAME: &str = "handles::too_many_open_files_are_told_as_that";
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return story(Path::new(&directory));
    }
    let directory = tempfile::tempdir().expect("a directory can be made");
    let limited = format!("ulimit -n {FILES_MAX} && exec \"$0\" --exact {NAME} --nocapture --test-threads=1");
    let program = std::env::current_exe().expect("the program is known");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(limited).arg(program).env(DIRECTORY, directory.path());
    let played = shell.output().expect("the program starts");
    let told = String::from_utf8_lossy(&played.stderr);
    assert!(played.status.success(), "{}: {told}", played.status);
}

fn story(directory: &Path) {
    let path = directory.join("tasks.db");
    fill(&path, &Options::new(), 3, "this");
    let store = Store::open(&path).expect("it opens");
    store.insert(&task(9, "before")).expect("it is written");
    let mut files: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();

    let is_told = |result: Result<()>| {
        let error = result.expect_err("no file can be opened");
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("as many files open as it may"), "{error}");
    };
    is_told(Store::open(&path).map(drop));
    is_told(Options::new().read_only(true).open(&path).map(drop));
    is_told(Store::open(directory.join("new.db")).map(drop));
    is_told(store.backup(directory.join("copy.db")));
    let mut held = Vec::new();
    is_told((0..17).try_for_each(|_| store.snapshot().map(|snapshot| held.push(snapshot))));
    // The file can be opened, and its log cannot.
    files.pop();
    is_told(Store::open(directory.join("another.db")).map(drop));

    drop((files, held));
    assert_eq!(Store::open(&path).expect("it opens").all::<Task>().expect("it is readable").len(), 4);
}
