//! What a closed SQLite database says of itself, in the head of its file: its page size, whether it has a log, and that it is not
//! encrypted.
//!
//! A driver tells the settings that took effect, and could tell what it was asked for. These the lab can read itself.
//! A file of another library, or an encrypted one, has no such head, and nothing is said of it.

use std::cmp::Reverse;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use touchstone_protocol::{Setting, Settings};

/// How every SQLite file begins that is not encrypted.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Where the size of a page stands, two bytes of which the first is the higher; 1 is for 65,536, which they cannot hold.
const PAGE_SIZE_AT: usize = 16;

/// Where the versions of the file stand that are needed to write and to read it.
const VERSIONS_AT: usize = 18;

/// Where the first page says what kind of page it is, and what it may be. Of an encrypted file that begins in the clear, as
/// SQLCipher's may, this byte is encrypted.
const PAGE_KIND_AT: usize = 100;
const PAGE_KINDS: [u8; 2] = [5, 13];

/// Both versions of a file with a log.
const WAL_VERSION: u8 = 2;

/// What the head of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    page_size_bytes: i64,
    has_log: bool,
    is_clear: bool,
}

impl Header {
    fn read(path: &Path) -> Option<Header> {
        let mut head = [0; PAGE_KIND_AT + 1];
        File::open(path).ok()?.read_exact(&mut head).ok()?;
        Header::of(&head)
    }

    fn of(head: &[u8; PAGE_KIND_AT + 1]) -> Option<Header> {
        if !head.starts_with(MAGIC) {
            return None;
        }
        let size = u16::from_be_bytes([head[PAGE_SIZE_AT], head[PAGE_SIZE_AT + 1]]);
        let has_log = head[VERSIONS_AT..VERSIONS_AT + 2] == [WAL_VERSION; 2];
        let is_clear = PAGE_KINDS.contains(&head[PAGE_KIND_AT]);
        Some(Header { page_size_bytes: if size == 1 { 1 << 16 } else { i64::from(size) }, has_log, is_clear })
    }

    /// Whether the page size that was told is that of the file.
    fn has_page_size(self, told: &Setting) -> bool {
        *told == Setting::Number(self.page_size_bytes)
    }

    /// Whether the journal that was told can be that of the file: of those without a log it does not tell which.
    fn has_journal(self, told: &Setting) -> bool {
        (*told == Setting::from("wal")) == self.has_log
    }
}

/// Of the settings that a driver told, those of which the files of its closed database say otherwise, with what they say.
/// Where there are several, one that says the same is enough.
fn contradicted<'p>(files: impl Iterator<Item = &'p Path>, told: &Settings) -> Settings {
    let mut files: Vec<&Path> = files.collect();
    // The largest first: a file in the clear beside an encrypted database says nothing of that.
    files.sort_by_key(|file| Reverse(file.metadata().map_or(0, |known| known.len())));
    let is_clear = files.first().and_then(|file| Header::read(file)).is_some_and(|header| header.is_clear);
    let headers: Vec<Header> = files.into_iter().filter_map(Header::read).collect();
    let mut contradicted = Settings::new();
    let Some(first) = headers.first() else { return contradicted };
    let mut compare = |name: &str, agrees: fn(Header, &Setting) -> bool, said: String| {
        if told.get(name).is_some_and(|told| !headers.iter().any(|header| agrees(*header, told))) {
            let said = format!("{said} (as its file's header says)");
            contradicted.insert(name.to_owned(), Setting::Word(said));
        }
    };
    compare("page_size_bytes", Header::has_page_size, first.page_size_bytes.to_string());
    let journal = if first.has_log { "wal" } else { "a rollback journal or none" };
    compare("journal_mode", Header::has_journal, journal.to_owned());
    if is_clear {
        compare("cipher", |_, told| *told == Setting::from("none"), "none".to_owned());
    }
    contradicted
}

/// The same of the files in a folder, by their names there.
pub(crate) fn contradicted_in<'f>(
    folder: &Path,
    files: impl IntoIterator<Item = &'f String>,
    told: &Settings,
) -> Settings {
    let paths: Vec<PathBuf> = files.into_iter().map(|file| folder.join(file)).collect();
    contradicted(paths.iter().map(PathBuf::as_path), told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// The first bytes of a file with this page size and these versions.
    fn head(page_size: [u8; 2], version: u8) -> Vec<u8> {
        [&MAGIC[..], &page_size, &[version; 2], &[64; 80], &[13]].concat()
    }

    fn contradictions(files: &[&[u8]], told: &[(&str, Setting)]) -> Vec<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            (0..files.len()).map(|number| folder.path().join(number.to_string())).collect();
        paths.iter().zip(files).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
        let told = told.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let said = contradicted(paths.iter().map(PathBuf::as_path), &told);
        said.into_iter().map(|(name, value)| (name, value.to_string())).collect()
    }

    fn told(page_size: i64, journal: &str) -> [(&'static str, Setting); 2] {
        [("page_size_bytes", page_size.into()), ("journal_mode", journal.into())]
    }

    #[test]
    fn what_the_file_says_too_is_not_contradicted() {
        assert_eq!(contradictions(&[&head([0x10, 0], 2)], &told(4096, "wal")), []);
        for journal in ["delete", "truncate", "persist", "memory", "off"] {
            assert_eq!(contradictions(&[&head([0, 1], 1)], &told(65_536, journal)), []);
        }
    }

    #[test]
    fn a_driver_that_repeats_what_it_was_asked_for_is_contradicted() {
        let page_size = ("page_size_bytes".to_owned(), "4096 (as its file's header says)".to_owned());
        assert_eq!(
            contradictions(&[&head([0x10, 0], 2)], &told(16_384, "wal")),
            std::slice::from_ref(&page_size)
        );
        let journal = |said: &str| ("journal_mode".to_owned(), format!("{said} (as its file's header says)"));
        let none = journal("a rollback journal or none");
        assert_eq!(contradictions(&[&head([0x10, 0], 1)], &told(4096, "wal")), std::slice::from_ref(&none));
        assert_eq!(contradictions(&[&head([0x10, 0], 2)], &told(4096, "delete")), [journal("wal")]);
        assert_eq!(contradictions(&[&head([0x10, 0], 1)], &told(512, "wal")), [none, page_size]);
    }

    /// Found by an adversary: a SQLite without a codec takes a key and ignores it, and was better than one that encrypts.
    #[test]
    fn a_file_in_the_clear_contradicts_every_cipher() {
        let clear = head([0x10, 0], 2);
        let said = ("cipher".to_owned(), "none (as its file's header says)".to_owned());
        assert_eq!(contradictions(&[&clear], &[("cipher", "sqlcipher-4".into())]), [said]);
        assert_eq!(contradictions(&[&clear], &[("cipher", "none".into())]), []);
        let encrypted: Vec<u8> = (1..100).map(|byte: u8| byte.wrapping_mul(7)).collect();
        assert_eq!(contradictions(&[&encrypted], &[("cipher", "sqlcipher-4".into())]), []);
        let larger = encrypted.repeat(2);
        let beside: [&[u8]; 2] = [&clear, &larger];
        assert_eq!(
            contradictions(&beside, &[("cipher", "sqlcipher-4".into())]),
            [],
            "a file of notes in the clear"
        );
        let begins_clear = [&clear[..clear.len() - 1], &[171]].concat();
        assert_eq!(contradictions(&[&begins_clear], &[("cipher", "sqlcipher-4".into())]), []);
    }

    #[test]
    fn nothing_is_said_of_what_was_not_told_or_of_files_without_such_a_head() {
        assert_eq!(contradictions(&[&head([0x10, 0], 2)], &[]), []);
        let encrypted: Vec<u8> = (1..100).map(|byte: u8| byte.wrapping_mul(7)).collect();
        for file in [&encrypted[..], b"", b"SQLite format 3\0"] {
            assert_eq!(contradictions(&[file], &told(16_384, "wal")), []);
        }
        assert_eq!(contradictions(&[], &told(16_384, "wal")), []);
    }

    #[test]
    fn of_several_files_one_that_agrees_is_enough() {
        let files = [head([0x02, 0], 1), head([0x40, 0], 2)];
        assert_eq!(contradictions(&[&files[0], &files[1]], &told(16_384, "wal")), []);
        assert_eq!(contradictions(&[&files[0]], &told(16_384, "wal")).len(), 2);
    }
}
