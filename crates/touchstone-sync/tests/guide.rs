//! The commands of the guide do what it says: from nothing to a change that is shared.

mod support;

use std::path::Path;
use std::process::Command;
use support::{Service, place};

/// What the guide's fenced blocks hold, of those that begin with `text`.
fn blocks(guide: &str) -> Vec<&str> {
    guide.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn a_change_is_shared_by_the_guides_own_commands() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("not tested: curl is not installed");
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide-sync.md");
    let guide = std::fs::read_to_string(page).unwrap();
    let [commands, printed] = blocks(&guide)[..2] else {
        panic!("the guide has its commands and what they print")
    };
    let (_folder, store) = place();
    let service = Service::start(&store, &[]);
    let commands = commands.replace("target/deploy/touchstone-sync", env!("CARGO_BIN_EXE_touchstone-sync"));
    let commands = commands.replace("http://127.0.0.1:8080", &service.address);
    let run = Command::new("bash")
        .args(["-e", "-c", &commands])
        .env("TOUCHSTONE_SYNC_STORE", &store)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert_eq!(said.lines().last(), printed.lines().next(), "{said}{}", String::from_utf8_lossy(&run.stderr));
}
