//! The path is made absolute, and followed to its file, when the store is opened, and never again.

use super::{Task, alone, fill, names_in, task, ways};
use std::fs;
use touchstone_store::{Durability, Options, Store};

/// Each connection found the relative path anew: the second was of a new, empty file in the other directory.
#[test]
fn a_program_that_changes_its_directory_reads_and_writes_the_same_file() {
    alone("paths::a_program_that_changes_its_directory_reads_and_writes_the_same_file", |directory| {
        for (number, options) in ways().into_iter().enumerate() {
            let (one, other) =
                (directory.join(format!("one{number}")), directory.join(format!("other{number}")));
            fs::create_dir(&one).expect("there is room");
            fs::create_dir(&other).expect("there is room");
            std::env::set_current_dir(&one).expect("it is there");
            let store = options.clone().open("tasks.db").expect("it opens");
            store.insert_all(&[task(0, "here"), task(1, "here"), task(2, "here")]).expect("it is written");
            assert_eq!(store.path(), one.join("tasks.db"));

            std::env::set_current_dir(&other).expect("it is there");
            let snapshots: Vec<_> = (0..17).map(|_| store.snapshot().expect("it is readable")).collect();
            for snapshot in &snapshots {
                assert_eq!(snapshot.of::<Task>().count().expect("it is readable"), 3);
            }
            store.insert(&task(9, "written later")).expect("it is written");
            store.backup(directory.join(format!("copy{number}"))).expect("it is copied");
            assert!(names_in(&other).is_empty());
            drop((snapshots, store));
            let again = options.open(one.join("tasks.db")).expect("it opens");
            assert_eq!(again.all::<Task>().expect("it is readable").len(), 4);
        }
    });
}

/// A record went to the store of the same name in the other directory, and was acknowledged.
#[test]
fn a_store_of_the_same_name_elsewhere_stays_as_it_is() {
    alone("paths::a_store_of_the_same_name_elsewhere_stays_as_it_is", |directory| {
        let (one, other) = (directory.join("one"), directory.join("other"));
        for place in [&one, &other] {
            fs::create_dir(place).expect("there is room");
            fill(&place.join("tasks.db"), &Options::new(), 3, place.to_str().expect("it is text"));
        }
        // Somebody has it open, so that its log is there.
        let neighbour = Store::open(other.join("tasks.db")).expect("it opens");
        neighbour.put(&task(0, "the neighbour's")).expect("it is written");
        std::env::set_current_dir(&one).expect("it is there");
        let store = Store::open("tasks.db").expect("it opens");
        std::env::set_current_dir(&other).expect("it is there");
        store.insert(&task(77, "mine")).expect("it is written");
        assert_eq!(store.get::<Task>(&77).expect("it is readable"), Some(task(77, "mine")));
        assert_eq!(neighbour.get::<Task>(&77).expect("it is readable"), None);
    });
}

/// A link was followed anew by each connection.
#[cfg(unix)]
#[test]
fn a_link_that_leads_elsewhere_later_leads_a_store_nowhere_else() {
    use std::os::unix::fs::symlink;

    let directory = tempfile::tempdir().expect("a directory can be made");
    let [one, other, link] = ["one.db", "other.db", "link.db"].map(|name| directory.path().join(name));
    fill(&one, &Options::new(), 3, "one");
    fill(&other, &Options::new(), 5, "other");
    symlink(&one, &link).expect("links can be made");
    let store = Store::open(&link).expect("it opens");
    assert_eq!(store.path(), link, "the path is as it was given");
    fs::remove_file(&link).expect("it is there");
    symlink(&other, &link).expect("links can be made");

    let (first, second) = (store.snapshot().expect("it reads"), store.snapshot().expect("it reads"));
    for snapshot in [first, second] {
        assert_eq!(snapshot.of::<Task>().count().expect("it is readable"), 3);
    }
    store.insert(&task(9, "to the first")).expect("it is written");
    drop(store);
    assert_eq!(Store::open(&one).expect("it opens").all::<Task>().expect("it is readable").len(), 4);
    assert_eq!(Store::open(&other).expect("it opens").all::<Task>().expect("it is readable").len(), 5);
}

/// Beside the link nobody would look for the log, and a strict store would flush the directory of the link alone.
#[cfg(unix)]
#[test]
fn what_is_beside_the_file_is_not_beside_its_link() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let [real, elsewhere] = ["real", "elsewhere"].map(|name| directory.path().join(name));
    fs::create_dir(&real).expect("there is room");
    fs::create_dir(&elsewhere).expect("there is room");
    let (file, link) = (real.join("tasks.db"), elsewhere.join("tasks.db"));
    std::os::unix::fs::symlink(&file, &link).expect("links can be made");
    // The first opening makes the file, the second finds it.
    for id in 0..2 {
        let store = Options::new().durability(Durability::Strict).open(&link).expect("it opens");
        store.insert(&task(id, "by the link")).expect("it is written");
        assert_eq!(names_in(&elsewhere), [link.as_path()]);
        assert!(real.join("tasks.db-wal").exists());
        let by_name = Store::open(&file).expect("it opens");
        assert_eq!(by_name.get::<Task>(&id).expect("it is readable"), Some(task(id, "by the link")));
    }
    assert_eq!(names_in(&real), [file]);
}
