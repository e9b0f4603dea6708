//! The kit's table and its drivers are about the same subjects.

use std::fs;
use std::path::Path;

#[test]
fn every_driver_has_its_row_and_every_row_its_driver() {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let table = fs::read_to_string(kit.join("kit.toml")).unwrap();
    let mut drivers: Vec<String> = [
        "drivers/src/bin",
        "cipher/src/bin",
        "native-db/src/bin",
        "pool/src/bin",
        "store/src/bin",
        "store/sync/src/bin",
    ]
    .iter()
    .flat_map(|folder| fs::read_dir(kit.join(folder)).unwrap())
    .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
    .collect();
    let mut rows: Vec<String> = table
        .lines()
        .filter_map(|line| line.strip_prefix("run = [\""))
        .map(|run| run.split('"').next().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect();
    // One program may stand for several subjects.
    drivers.sort();
    rows.sort();
    rows.dedup();
    assert_eq!(rows, drivers);
}
