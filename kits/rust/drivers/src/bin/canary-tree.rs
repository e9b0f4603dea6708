//! The canary that keeps its files in folders in folders, which are empty as long as it is, and does nothing wrong: what
//! the lab copies must be the whole tree. With the argument `link` it leaves a symbolic link there too, which the lab
//! does not copy.

use drivers::canary::{self, Canary, Mischief};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;
use touchstone_kit::Kit;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("link") => Kit::<Canary<Link>>::new(canary::about("canary-link")).rows().documents().main(),
        _ => Kit::<Canary<Tree>>::new(canary::about("canary-tree")).rows().documents().main(),
    }
}

const FOLDERS: &[&str] = &["shelves/left/top", "shelves/left/bottom", "shelves/right"];

#[derive(Default)]
struct Tree;

impl Mischief for Tree {
    const FOLDERS: &'static [&'static str] = FOLDERS;
}

#[derive(Default)]
struct Link;

impl Mischief for Link {
    const FOLDERS: &'static [&'static str] = FOLDERS;

    fn closed(&self, directory: &Path) -> io::Result<()> {
        match symlink("left", directory.join("shelves/current")) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    }
}
