//! The commands of the pages do what these say: from nothing to a change that is shared, and what its owner does with a service. The guide's tables
//! say what the code does: `UPDATE=1 cargo test -p touchstone-sync --test guide` rewrites them.

mod support;

use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Service, place, program};
use touchstone_sync::reference;

/// What the guide's fenced blocks hold, of those that begin with `text`.
fn blocks(guide: &str) -> Vec<&str> {
    guide.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn page(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// The page with other contents of a region, which lies between two lines of comment.
fn with_region(page: &str, name: &str, contents: &str) -> String {
    let (before, rest) = page.split_once(&format!("<!-- BEGIN: {name} -->\n")).expect("the region begins");
    let end = format!("<!-- END: {name} -->");
    let (_, after) = rest.split_once(&end).expect("the region ends");
    format!("{before}<!-- BEGIN: {name} -->\n\n{}\n\n{end}{after}", contents.trim())
}

#[test]
fn the_guides_tables_of_problems_and_limits_say_what_the_code_does() {
    let guide = page("guide-sync.md");
    let fresh = with_region(&guide, "problems", &reference::problems());
    let fresh = with_region(&fresh, "limits", &reference::limits());
    keep_fresh(&path("guide-sync.md"), &fresh);
}

#[test]
fn the_openapi_document_is_the_one_that_the_code_makes() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/openapi.json");
    keep_fresh(&kept, &touchstone_sync::http::openapi());
}

/// Refuses a file that says something else than the code makes, or writes it, where that is asked for.
fn keep_fresh(path: &Path, fresh: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, fresh).unwrap();
    }
    let is_fresh = std::fs::read_to_string(path).is_ok_and(|kept| kept == fresh);
    let path = path.display();
    assert!(
        is_fresh,
        "{path} is stale: `UPDATE=1 cargo test -p touchstone-sync --test guide` makes it fresh"
    );
}

/// Numbers and times of the code that no client meets, nor an owner: how the work is cut, how often something is looked at, and bytes of secrets.
const NO_LIMITS: [&str; 50] = [
    "AGAIN_AT_FIRST",
    "AGAIN_AT_MOST",
    "AHEAD",
    "ALIVE_EVERY",
    "ALLOWED_FOR",
    "ATTEMPTS",
    "BYTES_BESIDE_TEXT",
    "CONNECTIONS_MAX",
    "DEVICES_AT_HAND",
    "EVERY",
    "FILES_BESIDE_STREAMS",
    "FORGET_EVERY",
    "GROUP",
    "GROUPS",
    "GROUP_BYTES",
    "GROUP_CHANGES",
    "HEADER_BYTES",
    "HELD_FOR",
    "LOCKED_WITHIN",
    "MADE_WITHIN",
    "LOOK_EVERY",
    "MANY",
    "MOST",
    "NAME_BYTES",
    "OPENS_WITHIN",
    "PACKED_FROM",
    "PAGES",
    "PAGE_BYTES",
    "PIECE_BYTES",
    "PLACES",
    "PLACES_OF_USER",
    "PLACE_WITHIN",
    "PROBE",
    "PROBE_BYTES",
    "RANGE",
    "READS",
    "SECRET_BYTES",
    "SILENT_FOR",
    "SLOW_AFTER",
    "STATEMENTS",
    "STREAMS_END_WITHIN",
    "SUM_EVERY",
    "SURVEYS",
    "TOGETHER",
    "TRIED_AFTER",
    "TRIM_EVERY",
    "TURNS",
    "UNSEEN",
    "VERSIONS_AT",
    "YEAR_10000",
];

fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension().and_then(|end| end.to_str()) {
            _ if path.is_dir() => sources(&path, text),
            Some("rs") => text.push_str(&std::fs::read_to_string(path).unwrap()),
            _ => {}
        }
    }
}

/// A limit that is new is in the table, or somebody says that it is none.
#[test]
fn every_number_of_the_code_is_in_the_table_or_no_limit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut text = String::new();
    sources(&folder, &mut text);
    let of_limits = ["usize", "u32", "u64", "i64", "Duration"];
    let numbers = text.lines().filter_map(|line| {
        let (_, constant) = line.split_once("const ")?;
        let (name, rest) = constant.split_once(": ")?;
        of_limits.contains(&rest.split([' ', ';']).next()?).then_some(name)
    });
    let numbers: BTreeSet<&str> = numbers.collect();
    let table = std::fs::read_to_string(folder.join("reference.rs")).unwrap();
    let in_table: BTreeSet<&str> = table.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let none: BTreeSet<&str> = NO_LIMITS.into_iter().collect();
    let nowhere: Vec<_> =
        numbers.iter().filter(|name| !in_table.contains(*name) && !none.contains(*name)).collect();
    assert!(nowhere.is_empty(), "in src/reference.rs or in NO_LIMITS has to be: {nowhere:?}");
    let gone: Vec<_> = none.difference(&numbers).collect();
    assert!(gone.is_empty(), "no number of the code any more: {gone:?}");
}

/// What the table says of options, `serve` says too.
#[test]
fn the_tables_options_are_those_of_serve_with_their_defaults() {
    let help = program().args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let table = reference::limits();
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(" | ").collect()).collect();
    let named: Vec<(&str, &str)> = rows
        .iter()
        .filter(|row| row.len() == 4 && row[2].starts_with("`--"))
        .map(|row| (row[2].trim_matches('`'), row[1]))
        .collect();
    let of_help = |option: &str| {
        let (_, rest) = help.split_once(&format!("{option} <"))?;
        Some(rest.split("\n      --").next().unwrap_or_default().to_owned())
    };
    for (option, most) in &named {
        let said = of_help(option).unwrap_or_else(|| panic!("`serve` has no {option}"));
        let default = said.split_once("[default: ").map(|(_, rest)| rest.split(']').next().unwrap());
        let most = most.replace(',', "");
        match default {
            Some(default) => {
                assert!(most.split(' ').next() == Some(default), "{option}: {most}, and {default} in `serve`")
            }
            None => assert!(!most.contains(char::is_numeric), "{option}: {most}, and nothing in `serve`"),
        }
    }
    let of_numbers = help.lines().filter_map(|line| {
        let (option, value) = line.trim().split_once(" <")?;
        ["NUMBER>", "TIME>"].contains(&value.split(' ').next()?).then_some(option)
    });
    // How many threads answer is no limit.
    let missing: Vec<_> = of_numbers
        .filter(|option| *option != "--threads" && named.iter().all(|(known, _)| known != option))
        .collect();
    assert!(missing.is_empty() && named.len() >= 5, "not in the table: {missing:?}; in it: {named:?}");
}

#[test]
fn a_change_is_shared_by_the_guides_own_commands() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("not tested: curl is not installed");
        return;
    }
    let guide = page("guide-sync.md");
    let [commands, printed, next, printed_next] = blocks(&guide)[..4] else {
        panic!("the guide has its commands and what they print")
    };
    let (_folder, store) = place();
    let service = Service::start(&store, &[]);
    // The last is sent once more, as the page says.
    let commands = [commands, next, next].concat();
    let commands = commands.replace("target/try/touchstone-sync", env!("CARGO_BIN_EXE_touchstone-sync"));
    let commands = commands.replace("http://127.0.0.1:8080", &service.address);
    let run = Command::new("bash")
        .args(["-e", "-c", &commands])
        .env("TOUCHSTONE_SYNC_STORE", &store)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let lines: Vec<&str> = said.lines().collect();
    let last = &lines[lines.len().saturating_sub(3)..];
    let wanted = [printed.trim(), printed_next.trim(), r#"{"revisions":[2,4],"cursor":4}"#];
    assert_eq!(last, wanted, "{said}{}", String::from_utf8_lossy(&run.stderr));
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
