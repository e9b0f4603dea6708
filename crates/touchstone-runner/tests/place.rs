//! Places: copies of a template that are put back exactly, and files that are really dropped from memory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;
use touchstone_runner::place::Place;

/// A folder on the disk that cargo builds on: memory has no page cache to drop from.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The files of a place by name, with their contents.
fn files(place: &Place) -> Vec<(String, Vec<u8>)> {
    let read =
        |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(place.path()).unwrap().flatten().map(read).collect();
    files.sort();
    files
}

fn template(folder: &Path) -> Place {
    let template = Place::new(folder.join("template")).unwrap();
    fs::write(template.path().join("benchmark.sqlite"), "as it was").unwrap();
    fs::write(template.path().join("benchmark.sqlite-wal"), "").unwrap();
    template
}

#[test]
fn a_restored_place_holds_what_its_template_holds_and_nothing_else() {
    let folder = folder();
    let template = template(folder.path());
    let place = Place::new(folder.path().join("a/place")).unwrap();
    place.restore(&template).unwrap();
    assert_eq!(files(&place), files(&template));
    fs::write(place.path().join("benchmark.sqlite"), "changed, and longer than before").unwrap();
    fs::write(place.path().join("benchmark.sqlite-journal"), "a journal to roll back").unwrap();
    fs::remove_file(place.path().join("benchmark.sqlite-wal")).unwrap();
    place.restore(&template).unwrap();
    assert_eq!(files(&place), files(&template));
    assert_eq!(files(&template)[0].1, b"as it was", "a copy is no link: the template stays");
}

#[test]
fn restoring_a_place_does_not_write_through_its_links() {
    let folder = folder();
    let template = template(folder.path());
    let place = Place::new(folder.path().join("place")).unwrap();
    let precious = folder.path().join("precious");
    fs::write(&precious, "mine").unwrap();
    symlink(&precious, place.path().join("benchmark.sqlite")).unwrap();
    place.restore(&template).unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    assert_eq!(files(&place), files(&template));
}

#[test]
fn a_place_tells_the_bytes_of_its_files() {
    let folder = folder();
    let template = template(folder.path());
    let bytes: Vec<(String, u64)> = template.file_bytes().into_iter().collect();
    assert_eq!(bytes, [("benchmark.sqlite".to_owned(), 9), ("benchmark.sqlite-wal".to_owned(), 0)]);
}

#[test]
fn a_place_is_gone_when_it_is_dropped() {
    let folder = folder();
    let place = Place::new(folder.path().join("place")).unwrap();
    fs::write(place.path().join("benchmark.sqlite"), "x").unwrap();
    let path = place.path().to_owned();
    drop(place);
    assert!(!path.exists() && folder.path().exists());
}

#[test]
fn a_place_that_cannot_be_made_is_named() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = Place::new(folder.path().join("file/below")).unwrap_err();
    assert_eq!(error.kind(), touchstone_runner::ErrorKind::Io);
    assert!(error.to_string().contains("file/below"), "{error}");
}

#[test]
fn evicted_files_come_from_the_disk_again_and_are_unchanged() {
    let folder = folder();
    let place = Place::new(folder.path().join("place")).unwrap();
    let path = place.path().join("benchmark.sqlite");
    let content: Vec<u8> = (0..1_u32 << 20).map(|number| ((number * 7) >> 3) as u8).collect();
    fs::write(&path, &content).unwrap();
    let Some(cached) = bytes_from_disk_for(&path) else {
        eprintln!("nothing is proved: this system does not tell what a thread reads from the disk");
        return;
    };
    assert_eq!(cached, 0, "what was just written is in memory");
    place.evict().unwrap();
    let evicted = bytes_from_disk_for(&path).unwrap();
    assert!(evicted >= content.len() as u64, "only {evicted} bytes came from the disk");
    assert_eq!(bytes_from_disk_for(&path), Some(0), "and then they are in memory again");
    assert!(fs::read(&path).unwrap() == content);
}

/// The bytes that this thread has the disk read when it reads a file.
fn bytes_from_disk_for(path: &Path) -> Option<u64> {
    let read_bytes = || {
        let counted = fs::read_to_string("/proc/thread-self/io").ok()?;
        counted.lines().find_map(|line| line.strip_prefix("read_bytes: "))?.parse::<u64>().ok()
    };
    let before = read_bytes()?;
    fs::read(path).unwrap();
    Some(read_bytes()? - before)
}
