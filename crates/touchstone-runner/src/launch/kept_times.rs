//! The times of single operations, which a driver writes down itself: without all of them its record could not be judged.

use super::discard;
use crate::session::{SessionError, SessionResult};
use std::fs;
use std::path::Path;

/// The length of one time in the file.
const TIME_BYTES: u64 = size_of::<u64>() as u64;

/// Refuses, and removes, what is not a file with a time for each operation that was done, and for no more than were asked for.
pub(super) fn check(path: &Path, done: u64, asked: u64) -> SessionResult<()> {
    let file = fs::symlink_metadata(path).ok();
    let bytes = file.as_ref().filter(|file| file.is_file()).map_or(0, fs::Metadata::len);
    let is_readable = file.is_none_or(|file| file.is_file()) && bytes.is_multiple_of(TIME_BYTES);
    if is_readable && (done..=asked).contains(&(bytes / TIME_BYTES)) {
        return Ok(());
    }
    discard(path);
    Err(SessionError::Rubbish(format!(
        "it wrote down the times of {} operations, was asked for {asked}, and says that it did {done}",
        bytes / TIME_BYTES
    )))
}

#[cfg(test)]
mod tests {
    use super::check;
    use std::fs;

    /// Found by an adversary: a driver that kept fewer times than it had done operations left a record that was damaged, and
    /// nothing of a whole run could be judged.
    #[test]
    fn each_operation_has_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times");
        for (bytes, done, is_whole) in
            [(80, 10, true), (80, 9, true), (88, 10, false), (72, 10, false), (76, 9, false)]
        {
            fs::write(&path, vec![0; bytes]).unwrap();
            assert_eq!(check(&path, done, 10).is_ok(), is_whole, "{bytes} bytes");
            assert_eq!(path.exists(), is_whole, "what is refused does not stay in the record");
        }
        let error = check(&path, 9, 10).unwrap_err().to_string();
        assert!(
            error.contains("the times of 0 operations, was asked for 10, and says that it did 9"),
            "{error}"
        );
        check(&path, 0, 10).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        check(&path, 0, 10).unwrap_err();
        assert!(path.symlink_metadata().is_err());
        fs::create_dir_all(path.join("within")).unwrap();
        check(&path, 0, 10).unwrap_err();
        assert!(path.symlink_metadata().is_err(), "a folder would make the whole record unreadable");
    }
}
