//! Places: copies of a template that are put back exactly, and files that are really dropped from memory.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use tempfile::TempDir;
use touchstone_runner::place::Place;

/// A folder on the disk that cargo builds on: memory has no page cache to drop from.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// What lies in a place and in its folders by path, files with their contents.
fn files(place: &Place) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![place.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(place.path()).unwrap().to_str().unwrap().to_owned();
            if entry.file_type().unwrap().is_dir() {
                found.push((format!("{name}/"), Vec::new()));
                folders.push(path);
            } else {
                found.push((name, fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
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

/// A template with folders in folders, one of them empty.
fn tree(folder: &Path) -> Place {
    let tree = template(folder);
    fs::create_dir_all(tree.path().join("keyspaces/rows/tables")).unwrap();
    fs::create_dir_all(tree.path().join("journals")).unwrap();
    fs::write(tree.path().join("keyspaces/rows/tables/0"), "a table").unwrap();
    fs::write(tree.path().join("keyspaces/rows/manifest"), "one table").unwrap();
    tree
}

#[test]
fn a_tree_of_folders_is_restored_whole_and_nothing_else_stays() {
    let folder = folder();
    let template = tree(folder.path());
    let place = Place::new(folder.path().join("place")).unwrap();
    place.restore(&template).unwrap();
    assert_eq!(files(&place), files(&template));
    assert!(files(&place).contains(&("journals/".into(), Vec::new())), "an empty folder is one too");
    fs::write(place.path().join("keyspaces/rows/tables/0"), "changed").unwrap();
    fs::create_dir_all(place.path().join("journals/new")).unwrap();
    fs::write(place.path().join("journals/new/1"), "a journal").unwrap();
    fs::remove_file(place.path().join("keyspaces/rows/manifest")).unwrap();
    place.restore(&template).unwrap();
    assert_eq!(files(&place), files(&template));
}

#[test]
fn a_copied_folder_is_as_private_as_the_one_it_was_copied_from() {
    let folder = folder();
    let template = tree(folder.path());
    fs::set_permissions(template.path().join("journals"), fs::Permissions::from_mode(0o700)).unwrap();
    let place = Place::new(folder.path().join("place")).unwrap();
    place.restore(&template).unwrap();
    let mode = fs::metadata(place.path().join("journals")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_link_to_a_folder_goes_and_what_it_leads_to_stays() {
    let folder = folder();
    let template = tree(folder.path());
    let place = Place::new(folder.path().join("place")).unwrap();
    fs::create_dir(folder.path().join("precious")).unwrap();
    fs::write(folder.path().join("precious/file"), "mine").unwrap();
    symlink(folder.path().join("precious"), place.path().join("journals")).unwrap();
    place.restore(&template).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("precious/file")).unwrap(), "mine");
    assert_eq!(files(&place), files(&template));
}

#[test]
fn what_is_no_file_is_told_and_neither_copied_nor_evicted() {
    let folder = folder();
    let template = tree(folder.path());
    assert_eq!(template.strange().unwrap(), None);
    symlink("rows", template.path().join("keyspaces/current")).unwrap();
    let strange = template.strange().unwrap().unwrap();
    assert_eq!(
        strange,
        "`keyspaces/current` in its database cannot be copied: it is a symbolic link; a closed database must be plain \
         files, in folders or not"
    );
    let place = Place::new(folder.path().join("place")).unwrap();
    for refused in [place.restore(&template), template.evict()] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("keyspaces/current") && error.contains("symbolic link"), "{error}");
    }
    let socket = Place::new(folder.path().join("other")).unwrap();
    let _bound = UnixListener::bind(socket.path().join("lock")).unwrap();
    assert!(socket.strange().unwrap().unwrap().contains("it is a socket"));
}

#[test]
fn a_place_tells_the_bytes_of_files_in_folders_by_their_paths() {
    let folder = folder();
    let bytes: Vec<(String, u64)> = tree(folder.path()).file_bytes().into_iter().collect();
    let expected = [
        ("benchmark.sqlite", 9),
        ("benchmark.sqlite-wal", 0),
        ("keyspaces/rows/manifest", 9),
        ("keyspaces/rows/tables/0", 7),
    ];
    assert_eq!(bytes, expected.map(|(path, bytes)| (path.to_owned(), bytes)));
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
    let path = place.path().join("keyspaces/rows/benchmark");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
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
