//! Whether a folder can be written to: asked before minutes are spent on building, and without leaving anything there.

use crate::error::{Error, ErrorKind, Result};
use std::io::Write;
use std::path::Path;

/// What is written and thrown away, to see whether there is room at all.
const BYTES: usize = 64 << 10;

/// Refuses a folder that cannot be made or written to. `what` is what is to lie there, and `option` gives another one.
///
/// # Errors
/// When it is a file, below one, on a disk that is full or only read, or somebody else's.
pub fn refuse_unwritable(folder: &Path, what: &str, option: &str) -> Result<()> {
    let shown = folder.display();
    let remedy = format!("give another folder with {option}");
    // A folder that a link promises and nobody made is in the way like a file.
    let is_there = |path: &&Path| path.symlink_metadata().is_ok();
    // A relative name has no ancestors above the current folder.
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let Some(there) = whole.ancestors().find(is_there) else { return Ok(()) };
    if !there.is_dir() {
        let message = format!("cannot write {what} {shown}: {} is no folder: {remedy}", there.display());
        return Err(Error::new(ErrorKind::Io, message));
    }
    let written = tempfile::tempfile_in(there).and_then(|mut file| {
        file.write_all(&[0; BYTES])?;
        file.sync_data()
    });
    written.map_err(|error| Error::unwritable(format_args!("cannot write {what} {shown}"), &error, &remedy))
}

#[cfg(test)]
mod tests {
    use super::refuse_unwritable;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_that_can_be_made_is_not_made_yet() {
        let folder = tempfile::tempdir().unwrap();
        refuse_unwritable(&folder.path().join("a/b/c"), "the record", "--out").unwrap();
        refuse_unwritable(folder.path(), "the record", "--out").unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_in_the_way_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        symlink("nowhere", &link).unwrap();
        for (wanted, in_the_way) in
            [(file.clone(), &file), (file.join("below"), &file), (link.join("below"), &link)]
        {
            let error = refuse_unwritable(&wanted, "the record", "--out").unwrap_err().to_string();
            let said = format!("{} is no folder: give another folder with --out", in_the_way.display());
            assert!(error.contains(&said), "{error}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
