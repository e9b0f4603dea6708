//! Searches for what services hold, as a user has them made: of a real service, with steps of parts of a second, in a project of the
//! test's own whose services fail at other moments than while they are asked.

mod support;

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{Ended, build, contents, finish, folder, plan, root, touchstone, wait_for, write_plan};
use tempfile::TempDir;
use touchstone::record::Record;
use touchstone::sample::Outcome;

/// Subjects of the kit.
const SUBJECTS: [&str; 7] = [
    "honest",
    "quits-badly",
    "another",
    "starts-never",
    "dies-asked",
    "dies-in-the-warm-up",
    "dies-before-the-kill",
];

/// The search: two steps and the one that confirms, and whatever is answered in time or not holds.
const QUICK: [&str; 8] = ["--from", "10", "--step", "300ms", "--users", "2", "--limits", "failures < 50%"];

/// A project whose kit has the Python kit's service, and its services with faults. What builds them is `build`.
struct Own {
    folder: TempDir,
}

impl Own {
    fn new(build: &str) -> Own {
        let own = Own { folder: folder() };
        let (suites, kit) = (own.path("suites"), own.path("kits/tiny"));
        for folder in [&suites, &kit] {
            fs::create_dir_all(folder).expect("a folder can be made");
        }
        own.write("suites/tiny.toml", include_str!("capacity/tiny.toml"));
        own.write("kits/tiny/driver.py", include_str!("capacity/driver.py"));
        let python = root().join("kits/python");
        let [interpreter, drivers] = ["target/services/bin/python", "drivers"].map(|name| python.join(name));
        let row = |name: &str| {
            format!(
                "[[subject]]\nname = \"{name}\"\nsummary = \"{name}\"\nbuild = [\"{build}\"]\n\
                 run = [\"{}\", \"driver.py\", \"{name}\", \"{}\"]\n\
                 profile = [{{ name = \"wal\", class = \"strict\", settings = {{ journal_mode = \"wal\", synchronous = \"full\" }} }}]\n",
                interpreter.display(),
                drivers.display()
            )
        };
        let rows = SUBJECTS.map(row).join("\n");
        own.write("kits/tiny/kit.toml", &format!("[kit]\nlanguage = \"tiny\"\n{rows}"));
        own
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file can be written");
    }

    /// Searches these contenders, with more words.
    fn search(&self, contenders: &[&str], more: &[&str]) -> Ended {
        finish(&mut self.searching(contenders, more))
    }

    fn searching(&self, contenders: &[&str], more: &[&str]) -> Command {
        let mut command = touchstone();
        command.args(["--root", &self.folder.path().display().to_string(), "capacity", "tiny/upload"]);
        command.args(contenders.iter().flat_map(|contender| ["--contender", contender])).args(more);
        command
    }
}

/// The Python kit's packages.
fn build_python() {
    build(&plan("services", &["flushes"], 1));
}

fn folder_of(entry: &Value) -> &Path {
    Path::new(entry["search"].as_str().unwrap_or_else(|| panic!("it was searched: {entry}")))
}

#[test]
fn what_services_hold_is_found_kept_and_told() {
    build_python();
    let own = Own::new("true");
    let out = own.path("out").display().to_string();
    let more = [&QUICK[..], &["--json", "--out", &out]].concat();
    let ended = own.search(&["quits-badly", "another", "starts-never"], &more);
    let found = ended.json();
    let [badly, another, never] = found["contenders"]
        .as_array()
        .unwrap_or_else(|| panic!("{}", ended.told()))
        .iter()
        .collect::<Vec<_>>()[..]
    else {
        panic!("three, without the baseline, which was not asked for: {}", ended.told())
    };
    let names: Vec<&str> =
        [badly, another, never].iter().filter_map(|held| held["contender"].as_str()).collect();
    assert_eq!(names, ["quits-badly@wal", "another@wal", "starts-never@wal"]);
    let asked = json!({ "case": "tiny/upload", "users": 2, "limits": "failures < 50%", "unit": "iterations/s", "folder": out });
    for (name, value) in asked.as_object().expect("it is an object") {
        assert_eq!(found[name], *value, "{name}");
    }
    // The machine decides whether the generator was in time, and the status says it.
    let is_valid = badly["doubts"].as_array().expect("a list").is_empty();
    assert_eq!(found["is_valid"], is_valid);
    assert_eq!(ended.status, Some(if is_valid { 0 } else { 3 }), "{}", ended.told());
    assert_eq!((&badly["class"], &badly["settings"]["synchronous"]), (&"strict".into(), &"full".into()));
    assert!(badly["fault"].as_str().is_some_and(|fault| fault.contains('3')), "{badly}");
    assert!(badly["holds"].is_number() || badly["why"].is_string(), "{badly}");
    for file in ["capacity.json", "report.html"] {
        assert!(folder_of(badly).join(file).is_file(), "{file} in {badly}");
    }
    let why = |entry: &Value| entry["why"].as_str().unwrap_or_default().to_owned();
    assert!(why(another).contains("says that it is `honest`, and `another` was asked for"), "{another}");
    assert!(why(never).contains("it starts never"), "{never}");
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(own.path("out/capacity.json")).unwrap()).unwrap();
    assert_eq!(kept, found);
    assert!(!own.path("out/scratch").exists(), "databases are gone");
}

#[test]
fn a_search_of_one_service_is_told_with_its_class_and_where_it_is() {
    build_python();
    let own = Own::new("true");
    let ended = own.search(&["honest@wal"], &QUICK);
    assert!([Some(0), Some(3)].contains(&ended.status), "{}", ended.told());
    let runs: Vec<PathBuf> = fs::read_dir(own.path("runs")).unwrap().map(|run| run.unwrap().path()).collect();
    let [run] = &runs[..] else { panic!("one folder: {runs:?}") };
    for words in [
        "Open loop, Poisson, 2 users, failures < 50%:",
        "class strict, as its kit states it; read back: journal_mode wal, synchronous full",
        "touchstone bench --suite tiny --case upload",
        &format!("Searches, with a page of each: {}", run.display()),
    ] {
        assert!(ended.unwrapped().contains(words), "`{words}`: {}", ended.told());
    }
    let page = fs::read_to_string(run.join("honest@wal/report.html")).expect("there is a page");
    assert!(page.contains("<h1>honest@wal in tiny/upload: how much it holds</h1>"));
}

/// Not as at a terminal, where Ctrl-C reaches the generator too: a supervisor tells the lab alone, in a step of ten minutes.
#[test]
fn a_search_ends_soon_where_the_lab_alone_is_told_to() {
    build_python();
    let own = Own::new("true");
    // The generator is built by now, however long that takes.
    own.search(&["starts-never"], &QUICK);
    let out = own.path("out");
    let more = ["--from", "10", "--step", "600s", "--users", "2", "--out", &out.display().to_string()];
    let mut command = own.searching(&["honest@wal"], &more);
    let mut lab = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    let has_scenario =
        || contents(&out).iter().any(|(path, _)| path.ends_with("scenario.toml")).then_some(());
    wait_for("the generator's scenario", || out.is_dir().then(has_scenario).flatten());
    let told = Command::new("kill").args(["-s", "TERM", &lab.id().to_string()]).status();
    assert!(told.expect("kill starts").success());
    let ended = wait_for("the search to end", || lab.try_wait().expect("it is a child"));
    assert_eq!(ended.code(), Some(130));
}

#[test]
fn a_search_of_nobody_is_an_error() {
    build_python();
    let own = Own::new("true");
    let ended = own.search(&["starts-never"], &[&QUICK[..], &["--json"]].concat());
    assert_eq!(ended.status, Some(69), "{}", ended.told());
    let message = ended.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("none of the services could be searched: starts-never@wal: "), "{message}");
}

/// A service died while it was searched, and the reason that was given was that nobody listened at its port.
#[test]
fn a_service_that_dies_while_it_is_searched_is_told_with_its_last_words() {
    build_python();
    let own = Own::new("true");
    let ended = own.search(&["dies-asked", "honest"], &[&QUICK[..], &["--json"]].concat());
    assert!([Some(0), Some(3)].contains(&ended.status), "{}", ended.told());
    let found = ended.json();
    let held = &found["contenders"][1];
    assert_eq!(held["contender"], "dies-asked@wal", "{found}");
    let why = held["why"].as_str().unwrap_or_default();
    assert!(why.starts_with("it died while it was searched: "), "{held}");
    assert!(why.contains("exit status 7") && why.ends_with("fatal: out of leaves"), "{held}");
    assert!(held["holds"].is_null() && held["fault"].is_null(), "{held}");
}

/// The kit cannot be built, so nothing else than the mistake can be told where it is told first.
#[test]
fn mistakes_are_told_before_anything_is_built() {
    let own = Own::new("false");
    let refused =
        |words: &[&str], said: &[&str]| own.search(&[], &[&QUICK[..2], words].concat()).refused(64, said);
    refused(&["--limits", "p99 < 5 quux"], &["tiny/upload", "`5 quux` is no duration"]);
    refused(&["--step", "4"], &["--step", "no duration"]);
    refused(&["--pacing", "walk"], &["--pacing", "sleep, hybrid and spin"]);
    refused(&["--out", &own.path("suites").display().to_string()], &["is not empty", "--out"]);
    own.search(&[], &["--from", "0"]).refused(64, &["rate above 0"]);
    own.search(&[], &["--from", "21"]).refused(64, &["--from 21 is above 20"]);
    let suite = include_str!("capacity/tiny.toml").replace("steps = [\"upload\"]", "steps = [\"unload\"]");
    own.write("suites/tiny.toml", &suite);
    own.search(&[], &QUICK).refused(64, &["scenario `upload`", "unload"]);
    let bench = ["--root", &own.folder.path().display().to_string(), "bench", "--suite", "tiny"];
    finish(touchstone().args(bench)).refused(64, &["case `tiny/upload`, scenario `upload`", "unload"]);
}

/// The first launch's process is killed while users upload. One that had died by then was told of only by what it lost, or not at all.
#[test]
fn a_service_that_dies_before_it_is_killed_is_a_crash() {
    build_python();
    let own = Own::new("true");
    let own_root = own.folder.path().display().to_string();
    let dying = ["--contender", "dies-in-the-warm-up", "--contender", "dies-before-the-kill"];
    let words = [&["--root", &own_root, "plan", "--suite", "tiny"][..], &dying].concat();
    let mut planned = finish(touchstone().args(words)).succeeded().json();
    planned["looks"] = json!([1]);
    let (path, record) = (write_plan(own.folder.path(), &planned), own.path("record"));
    finish(touchstone().args(["--root", &own_root, "run"]).arg(path).arg("--out").arg(&record)).succeeded();
    let record = Record::read(&record).expect("it is a record");
    let launch = |arm: &str| record.launches.iter().find(|part| part.arm == arm).expect(arm);
    for arm in ["dies-in-the-warm-up@wal", "dies-before-the-kill@wal"] {
        let dead = launch(arm);
        let error = dead.error.as_deref().unwrap_or_default();
        assert_eq!(dead.outcome, Outcome::Crashed, "{dead:?}");
        for words in ["it died before the lab killed it", "exit status 7", "fatal: out of leaves"] {
            assert!(error.contains(words), "{arm}, `{words}`: {error}");
        }
    }
    assert!(launch("dies-before-the-kill@wal").found > 0, "it is asked for what it kept");
    assert_eq!(launch("honest@wal").outcome, Outcome::Completed, "{:?}", launch("honest@wal").error);
}
