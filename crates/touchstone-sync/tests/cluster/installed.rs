//! The PostgreSQL that the system's packages install, and the unprivileged user in whose name it runs: it refuses to be the superuser's.
//! The lab's driver has a part of this file.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The user and the group that own nothing, in whose name it runs where whoever starts it is the superuser.
const NOBODY: u32 = 65_534;

/// Where the newest server's programs lie: Debian puts them outside of the path.
pub fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    // Each is named by its version, as 15 or 9.6.
    let version = |programs: &PathBuf| -> Option<u32> {
        programs.parent()?.file_name()?.to_str()?.split('.').next()?.parse().ok()
    };
    found.sort_by_key(version);
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.into_iter().rev().chain(std::env::split_paths(&path)).find(|folder| folder.join("initdb").exists())
}

/// One of its programs, in the name of the user who may run it. With `options` of `setpriv` it is begun by that in any case.
pub fn command(programs: &Path, name: &str, options: &[&str]) -> Command {
    let program = programs.join(name);
    let nobody = NOBODY.to_string();
    let user = ["--reuid", &nobody, "--regid", &nobody, "--clear-groups"];
    let options = if is_root() { [&user, options].concat() } else { options.to_vec() };
    let mut command = Command::new(if options.is_empty() { program.as_path() } else { Path::new("setpriv") });
    if !options.is_empty() {
        command.args(options).arg(program);
    }
    command.current_dir("/");
    command
}

/// Gives a file, and all in it, to that user.
pub fn give(path: &Path) -> io::Result<()> {
    if !is_root() {
        return Ok(());
    }
    lchown(path, Some(NOBODY), Some(NOBODY))?;
    if !path.symlink_metadata()?.is_dir() {
        return Ok(());
    }
    fs::read_dir(path)?.try_for_each(|entry| match give(&entry?.path()) {
        // A server that is ending removes its files meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        given => given,
    })
}

/// Whether whoever runs this is the superuser.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
