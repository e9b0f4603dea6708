//! The command line itself: help, completions, manual page, listings, and good manners in a pipeline.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use support::{Ended, finish, folder, plan, root, run, run_plan, touchstone, write_plan};

const VERBS: [&str; 11] =
    ["bench", "plan", "run", "judge", "report", "list", "doctor", "calibrate", "gate", "completions", "man"];

const ESCAPE: char = '\u{1b}';

#[test]
fn help_of_every_verb_says_what_it_does_and_gives_an_example() {
    for verb in VERBS {
        let help = run(&[verb, "--help"]).succeeded();
        assert_eq!(help.stderr, "", "{verb}");
        for wanted in ["Usage: touchstone", "Options:", "Example", "--root", "--json"] {
            assert!(help.stdout.contains(wanted), "help of {verb} must say `{wanted}`:\n{}", help.stdout);
        }
        let first = help.stdout.lines().next().unwrap();
        assert!(first.len() > 20 && !first.ends_with('.'), "{verb}: {first}");
    }
}

#[test]
fn help_of_the_whole_names_every_verb_and_where_statuses_are_explained() {
    let help = run(&["--help"]).succeeded().stdout;
    for verb in VERBS {
        assert!(
            help.lines().any(|line| line.trim_start().starts_with(&format!("{verb} "))),
            "{verb}:\n{help}"
        );
    }
    assert!(help.contains("docs/exit-codes.md") && root().join("docs/exit-codes.md").exists());
}

#[test]
fn every_option_of_a_run_is_in_its_help() {
    let measuring = ["--out", "--scratch", "--limit"];
    for verb in ["bench", "run", "gate", "calibrate"] {
        let help = run(&[verb, "--help"]).succeeded().stdout;
        for option in measuring {
            assert!(help.contains(option), "{verb} {option}:\n{help}");
        }
    }
    let gate = run(&["gate", "--help"]).succeeded().stdout;
    for wanted in
        ["0 pass, 1 worse, 2 inconclusive, 3 untrusted, 4 incomparable", "--margin", "--candidate-program"]
    {
        assert!(gate.contains(wanted), "{gate}");
    }
}

#[test]
fn the_version_is_told() {
    let told = run(&["--version"]).succeeded().stdout;
    assert_eq!(told, format!("touchstone {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let told = run(&["completions", shell]).succeeded().stdout;
        for verb in VERBS {
            assert!(told.contains(verb), "{verb} for {shell}");
        }
    }
    run(&["completions", "tcsh"]).refused(64, &["tcsh", "bash"]);
}

#[test]
fn completions_for_bash_are_understood_by_bash() {
    let script = run(&["completions", "bash"]).succeeded().stdout;
    let check = format!("{script}\ncomplete -p touchstone");
    let ended = finish(Command::new("bash").args(["--norc", "-c", &check])).succeeded();
    assert!(ended.stdout.contains("touchstone"), "{}", ended.told());
}

#[test]
fn the_manual_page_renders_and_holds_every_verb() {
    let page = run(&["man"]).succeeded().stdout;
    assert!(page.contains(".TH touchstone 1"), "it is a manual page");
    assert_eq!(page.lines().filter(|line| *line == ".SH OPTIONS").count(), 1, "those of every verb");
    let folder = folder();
    let path = folder.path().join("touchstone.1");
    fs::write(&path, &page).unwrap();
    for verb in VERBS {
        let section = format!("{} OPTIONS", verb.to_uppercase());
        assert!(page.contains(&section), "{section} is not in the page");
    }
    let groff = Command::new("groff").args(["-man", "-Tutf8", "-ww", "-P-cbou"]).arg(&path).output();
    let Ok(groff) = groff else { return };
    let rendered = Ended::of("groff".into(), groff).succeeded();
    assert_eq!(rendered.stderr, "", "groff complains of nothing");
    for wanted in ["NAME", "SYNOPSIS", "GATE OPTIONS", "--candidate-program"] {
        assert!(rendered.stdout.contains(wanted), "{wanted}:\n{}", rendered.stdout);
    }
}

#[test]
fn the_list_is_all_there_as_text_and_as_json() {
    let text = run(&["list"]).succeeded().stdout;
    let json = run(&["list", "--json"]).succeeded().json();
    let names = |key: &str| -> BTreeSet<String> {
        json[key].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    let suites = names("suites");
    assert!(suites.contains("wcdb") && suites.contains("couch"), "{suites:?}");
    for internal in ["smoke", "calibrate", "canaries"] {
        assert!(!suites.contains(internal), "{internal} is the lab's own");
    }
    for suite in json["suites"].as_array().unwrap() {
        let (cases, claims) = (suite["cases"].as_array().unwrap(), suite["claims"].as_array().unwrap());
        assert!(!cases.is_empty() && !claims.is_empty(), "{suite}");
        for row in cases.iter().chain(claims) {
            assert!(text.contains(row["id"].as_str().unwrap()), "{row} is not in the text");
        }
        let by: Vec<&str> = claims.iter().map(|claim| claim["by"].as_str().unwrap()).collect();
        assert!(
            by.is_sorted_by(|one, other| one == other || *one == "page"),
            "the page's come first: {by:?}"
        );
    }
    assert!(text.contains("  Claims of the page:\n") && text.contains("  Claims of ours:\n"), "{text}");
    for subject in names("subjects") {
        assert!(text.contains(&subject), "{subject} is not in the text");
    }
}

/// Its last line said that there was nothing to check: that of the last suite, which has no rows.
#[test]
fn a_check_of_the_suites_ends_with_what_it_comes_to() {
    let told = run(&["list", "--check"]).succeeded().stdout;
    let checked = run(&["list", "--check", "--json"]).succeeded().json();
    let (with, without): (Vec<&serde_json::Value>, Vec<_>) =
        checked["suites"].as_array().unwrap().iter().partition(|suite| suite["rows"] != 0);
    let first = told.lines().next().unwrap();
    assert!(first.starts_with("No rows of a page's tables") && without.len() > 1, "{told}");
    assert!(without.iter().all(|suite| first.contains(suite["name"].as_str().unwrap())), "{told}");
    let parts: Vec<&str> = told.split("\nSuite ").skip(1).collect();
    assert_eq!(parts.len(), with.len(), "{told}");
    for (part, suite) in parts.iter().zip(with) {
        let rows =
            suite["flags"].as_array().unwrap().iter().flat_map(|flag| flag["rows"].as_array().unwrap());
        let doubtful: BTreeSet<String> = rows.map(|row| format!("{}: {}", row["table"], row["of"])).collect();
        let last = part.trim_end().lines().last().unwrap();
        let some = if doubtful.is_empty() { "none".into() } else { doubtful.len().to_string() };
        assert!(last.contains(&format!("{some} of {} rows", suite["rows"])), "{last}: {suite}");
        assert!(part.starts_with(suite["name"].as_str().unwrap()), "{part}");
    }
}

#[test]
fn a_check_says_of_a_suite_what_planning_it_would() {
    let folder = folder();
    let path = folder.path().join("smoke.toml");
    let text = fs::read_to_string(root().join("suites/smoke.toml")).unwrap();
    fs::write(&path, text.replacen("blocks = 2", "blocks = { quick = 2, full = 0 }", 1)).unwrap();
    let ended = finish(touchstone().args(["list", "--check", "--suite"]).arg(&path));
    ended.refused(64, &["smoke.toml, line ", "case `smoke/", "at least one block"]);
}

#[test]
fn a_plan_made_again_from_the_same_seed_is_the_same() {
    let made = |seed: &str| run(&["plan", "--suite", "smoke", "--seed", seed]).succeeded().stdout;
    let first = made("7");
    assert_eq!(made("7"), first);
    assert_ne!(made("8"), first);
    let folder = folder();
    let path = folder.path().join("plan.json");
    let plan = ["plan", "--suite", "smoke", "--seed", "7", "--out"];
    let out = finish(touchstone().args(plan).arg(&path)).succeeded();
    assert_eq!(fs::read_to_string(&path).unwrap(), first);
    // As `run` and `report` name what they wrote.
    assert_eq!(out.stdout, format!("{}\n", path.display()));
    let told = finish(touchstone().args(plan).arg(&path).arg("--json")).succeeded().json();
    assert_eq!(told, serde_json::json!({ "plan": path }));
}

#[test]
fn a_plan_takes_what_was_chosen_with_its_baseline_and_its_floor() {
    let chosen = ["plan", "--suite", "smoke", "--case", "read", "--contender", "redb", "--size", "full"];
    let plan = run(&chosen).succeeded().json();
    let cases = plan["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 1);
    let arms: Vec<&str> =
        cases[0]["arms"].as_array().unwrap().iter().map(|arm| arm["name"].as_str().unwrap()).collect();
    assert_eq!(arms, ["sqlite-c@wal-normal", "rusqlite@wal-normal", "redb@immediate"]);
    assert_eq!(plan["looks"], serde_json::json!([8, 12, 16, 24]));
}

#[test]
fn a_plan_has_as_many_looks_as_were_asked_for_or_those_of_its_size() {
    let looks = |options: &[&str]| {
        let plan = run(&[&["plan", "--suite", "smoke", "--case", "read"], options].concat());
        plan.succeeded().json()["looks"].clone()
    };
    assert_eq!(looks(&[]), serde_json::json!([8, 12]));
    assert_eq!(looks(&["--looks", "1", "--size", "full"]), serde_json::json!([8]));
    assert_eq!(looks(&["--looks", "4"]), serde_json::json!([8, 12, 16, 24]));
}

#[test]
fn a_number_that_is_set_otherwise_stands_in_the_plan_beside_the_suites_own() {
    let plan = |options: &[&str]| run(&[&["plan", "--suite", "couch"], options].concat()).succeeded().json();
    let case = |plan: &serde_json::Value, id: &str| {
        let cases = plan["cases"].as_array().unwrap();
        cases.iter().find(|case| case["id"] == id).unwrap_or_else(|| panic!("no case {id}")).clone()
    };
    let (own, set) = (plan(&[]), plan(&["--set", "couch/get.blocks=40", "--set", "couch/get.records=1_200"]));
    let (before, after) = (case(&own, "couch/get"), case(&set, "couch/get"));
    assert_eq!((&after["blocks"], &after["dataset"]["records"]), (&40.into(), &1200.into()));
    // The suite leaves its blocks open.
    let told = serde_json::json!([
        { "number": "blocks", "here": 40, "suite": null },
        { "number": "records", "here": 1200, "suite": before["dataset"]["records"] },
    ]);
    assert_eq!(after["overridden"], told);
    assert_eq!(
        case(&own, "couch/get-random"),
        case(&set, "couch/get-random"),
        "other cases are as they were"
    );
}

#[test]
fn a_number_that_is_not_there_cannot_be_set() {
    for (set, words) in [
        ("couch/get.blcks=40", &["no case has a number `blcks`", "did you mean `blocks`?"][..]),
        ("couch/gte.blocks=40", &["no case `gte`", "did you mean `get`?"]),
        ("cuoch/get.blocks=40", &["no suite `cuoch`", "did you mean `couch`?"]),
        ("couch/get.blocks", &["SUITE/CASE.NUMBER=VALUE", "couch/get.blocks=40"]),
        ("couch/get.blocks=many", &["`many` is no whole number"]),
        ("couch/get.width=3", &["the case watches nothing"]),
        ("couch/get.blocks=0", &["at least one block"]),
    ] {
        run(&["plan", "--suite", "couch", "--set", set]).refused(64, words);
    }
    let scaled = ["plan", "--suite", "dflat", "--set", "dflat/insert.records=50"];
    run(&scaled).refused(64, &["dflat/insert.records=50", "each of its scales sets its own"]);
    let objects = ["plan", "--suite", "dflat", "--set", "dflat/insert-threads.value_bytes=50"];
    run(&objects).refused(64, &["objects have no values of a given size"]);
    let twice = ["plan", "--suite", "couch", "--set", "couch/get.blocks=4", "--set", "couch/get.blocks=5"];
    run(&twice).refused(64, &["it is set twice"]);
}

#[test]
fn a_report_says_which_numbers_were_set_otherwise() {
    let folder = folder();
    let record = folder.path().join("record");
    let bench =
        ["bench", "--suite", "smoke", "--case", "get-held", "--set", "smoke/get-held.blocks=3", "--out"];
    finish(touchstone().args(bench).arg(&record)).succeeded();
    let told = finish(touchstone().args(["report", "--text"]).arg(&record)).succeeded().unwrapped();
    let caution =
        "CAUTION: numbers of the suites were set otherwise: smoke/get-held has blocks 3 (its suite: 2)";
    assert!(told.contains(caution), "{told}");
}

#[test]
fn nothing_in_a_pipe_is_coloured() {
    let folder = folder();
    let (ended, record) = run_plan(folder.path(), &plan("smoke", &["get-held"], 1), &[]);
    ended.succeeded();
    let record = record.to_str().unwrap();
    for arguments in
        [&["judge", record][..], &["report", "--text", record], &["list"], &["--help"], &["nonsense"]]
    {
        for no_colour in [None, Some("1")] {
            let mut command = touchstone();
            command.args(arguments).env("TERM", "xterm-256color").env_remove("NO_COLOR");
            let ended = finish(command.envs(no_colour.map(|value| ("NO_COLOR", value))));
            assert!(!ended.stdout.contains(ESCAPE) && !ended.stderr.contains(ESCAPE), "{}", ended.told());
        }
    }
}

#[test]
fn a_terminal_is_coloured_unless_no_color_is_set() {
    let folder = folder();
    let (ended, record) = run_plan(folder.path(), &plan("smoke", &["get-held"], 1), &[]);
    ended.succeeded();
    let on_a_terminal = |no_colour: &str| {
        let judge = format!("{} judge {}", env!("CARGO_BIN_EXE_touchstone"), record.display());
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &judge, "/dev/null"]).stdin(Stdio::null());
        finish(script.env("TERM", "xterm-256color").env("NO_COLOR", no_colour)).succeeded().stdout
    };
    // An empty NO_COLOR is none: https://no-color.org.
    assert!(on_a_terminal("").contains(ESCAPE), "a terminal is coloured");
    assert!(!on_a_terminal("1").contains(ESCAPE), "unless nobody wants it");
}

#[test]
fn text_is_as_wide_as_the_terminal_and_in_a_pipe_as_it_always_was() {
    let folder = folder();
    let (ended, record) = run_plan(folder.path(), &plan("smoke", &["get-held"], 1), &[]);
    ended.succeeded();
    let widest = |text: &str| text.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
    for verb in ["judge", "report --text"] {
        let command = format!("{} {verb} {}", env!("CARGO_BIN_EXE_touchstone"), record.display());
        let piped = finish(Command::new("sh").args(["-c", &command])).succeeded().stdout;
        assert!((60..=100).contains(&widest(&piped)), "{piped}");
        for columns in [30, 60] {
            let on_terminal = format!("stty cols {columns} rows 24; {command}");
            let mut script = Command::new("script");
            script.args(["--quiet", "--return", "--command", &on_terminal, "/dev/null"]).stdin(Stdio::null());
            let told = finish(script.env("NO_COLOR", "1")).succeeded().stdout;
            assert!(widest(&told) <= columns, "{columns} columns: {told}");
            let words = |text: &str| text.split_whitespace().collect::<String>();
            let sentence = |text: &str| words(text).contains("lookedatafter1launch");
            assert!(sentence(&told) && sentence(&piped), "nothing of the head is lost: {told}");
        }
    }
}

/// Runs the command with a reader of its output that goes away after `lines` lines.
fn with_a_reader_of(lines: usize, arguments: &[&str]) -> Ended {
    let head = format!("\"$@\" | head -n {lines} > /dev/null; exit ${{PIPESTATUS[0]}}");
    let mut bash = Command::new("bash");
    bash.args(["-c", &head, "bash", env!("CARGO_BIN_EXE_touchstone")]).args(arguments).current_dir(root());
    finish(bash.env("RUST_BACKTRACE", "1"))
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for arguments in [
        &["list"][..],
        &["list", "--json"],
        &["plan", "--suite", "wcdb"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
    ] {
        for lines in [0, 1] {
            let ended = with_a_reader_of(lines, arguments).succeeded();
            assert_eq!(ended.stderr, "", "{arguments:?}");
        }
    }
}

#[test]
fn a_run_goes_on_when_nobody_listens_any_more() {
    let folder = folder();
    let plan = write_plan(folder.path(), &plan("smoke", &["get-held"], 1));
    let record = folder.path().join("record");
    let mut command = touchstone();
    command.arg("run").arg(plan).arg("--out").arg(&record).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stderr.take());
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "the record matters more than who watches");
    assert_eq!(Path::new(told.trim_end()), record);
}

#[test]
fn an_error_that_nobody_hears_still_has_its_status() {
    let mut child = touchstone().args(["judge", "no/such/record"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(64), "{status}");
}

#[test]
fn the_project_is_found_from_any_folder_in_it() {
    let at_the_top = run(&["list", "--json"]).succeeded().stdout;
    let below = finish(touchstone().current_dir(root().join("kits/rust")).args(["list", "--json"]));
    assert_eq!(below.succeeded().stdout, at_the_top);
    let named = finish(touchstone().current_dir("/").arg("--root").arg(root()).args(["list", "--json"]));
    assert_eq!(named.succeeded().stdout, at_the_top);
}

#[test]
fn calibrating_counts_how_often_identical_contenders_are_told_apart() {
    let folder = folder();
    let record = folder.path().join("record");
    let calibrate = ["--json", "calibrate", "--comparisons", "1", "--power", "0", "--out"];
    let told = finish(touchstone().args(calibrate).arg(&record)).succeeded().json();
    assert_eq!(told["identical"]["comparisons"], 1);
    assert_eq!(told["bearing"]["stopped"], false);
    let answer = told["bearing"]["answer"].as_str().unwrap();
    assert!(["too-little", "contended"].contains(&answer), "one comparison is too few: {told}");
    assert_eq!(told["canary"]["comparisons"], 0);
    let comparisons = told["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 1);
    assert_eq!(comparisons[0]["arm"], "rusqlite@wal-normal#null");
    let told_apart = ["better", "worse"].contains(&comparisons[0]["verdict"].as_str().unwrap());
    assert_eq!(told["identical"]["false_verdicts"], u64::from(told_apart));
}
