//! Hands the drivers the versions in the lock file, so that `hello` tells what is really linked.
//!
//! `VERSION_REDB` is the version of `redb`, and so on for every package locked once.

use std::path::Path;
use std::{env, fs};

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let lock = Path::new(&manifest)
        .ancestors()
        .map(|folder| folder.join("Cargo.lock"))
        .find(|lock| lock.exists())
        .expect("the workspace's lock file is committed");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(&lock).expect("the lock file can be read");
    for package in text.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let start = format!("{name} = \"");
            package.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'))
        };
        if let (Some(name), Some(version)) = (field("name"), field("version")) {
            println!("cargo::rustc-env=VERSION_{}={version}", name.replace('-', "_").to_uppercase());
        }
    }
}
