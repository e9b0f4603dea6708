//! The commands of the pages do what these say: from nothing to a change that is shared, and what its owner does with a service.

mod support;

use serde_json::json;
use std::path::Path;
use std::process::Command;
use support::{Service, place, program};

/// What the guide's fenced blocks hold, of those that begin with `text`.
fn blocks(guide: &str) -> Vec<&str> {
    guide.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

fn page(name: &str) -> String {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(pages.join(name)).unwrap()
}

#[test]
fn a_change_is_shared_by_the_guides_own_commands() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("not tested: curl is not installed");
        return;
    }
    let guide = page("guide-sync.md");
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

#[test]
fn the_owners_commands_are_as_the_page_has_them() {
    let page = page("deploy-sync.md");
    let (folder, store) = place();
    let service = Service::start(&store, &[]);
    let token = service.token("ada");
    let phone = service.device(&token, "phone");
    phone.post("/v1/sync/delta", &json!({"changes": [{"id": "task/7", "data": "milk"}]}));
    // That of a certificate is run by the client's tests.
    let commands: String =
        blocks(&page).into_iter().filter(|block| block.starts_with("touchstone-sync ")).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_touchstone-sync")).parent().unwrap();
    let path = std::env::join_paths(
        [program.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let run = Command::new("bash")
        .args(["-e", "-u", "-c", &commands])
        .env("PATH", path.unwrap())
        .env("TOUCHSTONE_SYNC_STORE", &store)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.lines().any(|line| line.split_whitespace().eq(["ada", "1", "1", "0", "4", "1"])), "{said}");
    drop(service);
    let restored = Service::start(&folder.path().join("restored.db"), &[]);
    let phone = restored.device(&token, "phone");
    assert_eq!(phone.get("/v1/sync/full").1["changes"][0]["data"], "milk");
}

/// Options of `serve` that the page names are options of `serve`.
#[test]
fn the_page_names_options_that_there_are() {
    let help = program().args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let page = page("deploy-sync.md");
    let decide = page.split("## What to decide").nth(1).unwrap().split("\n## ").next().unwrap();
    let named: Vec<&str> = decide.split('`').filter(|word| word.starts_with("--")).collect();
    assert!(named.len() > 5);
    for option in named {
        let option = option.split(' ').next().unwrap();
        assert!(help.contains(option), "{option}");
    }
}

#[test]
fn the_unit_of_systemd_makes_sense_to_it() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/touchstone-sync.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    let (folder, _) = place();
    let here = folder.path().join("touchstone-sync.service");
    let installed = unit.replace("/usr/local/bin/touchstone-sync", env!("CARGO_BIN_EXE_touchstone-sync"));
    std::fs::write(&here, installed).unwrap();
    let Ok(run) = Command::new("systemd-analyze").arg("verify").arg("--man=no").arg(&here).output() else {
        eprintln!("not tested: systemd-analyze is not installed");
        return;
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
