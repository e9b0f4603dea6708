//! Whatever a user gets wrong has one clear error that names what, which and the remedy, and leaves nothing behind.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use support::{
    Ended, call_partial, contents, copy, finish, folder, plan, root, run, run_plan, shared_folder,
    touchstone, write_plan,
};
use touchstone::estimate::STATISTICS_VERSION;
use touchstone::plan::PLAN_VERSION;
use touchstone::record::file;
use touchstone::verdict::VERDICT_VERSION;

const USAGE: i32 = 64;
const UNAVAILABLE: i32 = 69;
const IO: i32 = 74;

/// A small record, run and judged once for all tests.
static RECORD: LazyLock<PathBuf> = LazyLock::new(|| {
    let (ended, record) = run_plan(&shared_folder(), &plan("smoke", &["get-held"], 1), &[]);
    ended.succeeded();
    record
});

/// The shared record, to be spoilt.
fn record(folder: &Path) -> PathBuf {
    let record = folder.join("record");
    copy(&RECORD, &record);
    record
}

/// What `touchstone plan` says to the suite `smoke` with one thing changed.
fn smoke_with(from: &str, to: &str) -> Ended {
    let folder = folder();
    let text = fs::read_to_string(root().join("suites/smoke.toml")).unwrap();
    assert!(text.contains(from), "the suite has no `{from}` to change");
    let path = folder.path().join("smoke.toml");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
    finish(touchstone().args(["plan", "--suite"]).arg(path))
}

/// A project whose kit is the real one with every line that begins with `key` put otherwise.
fn project_with(folder: &Path, key: &str, line: &str) -> PathBuf {
    let project = folder.join("project");
    for part in ["suites", "kits/rust"] {
        fs::create_dir_all(project.join(part)).unwrap();
    }
    fs::copy(root().join("suites/smoke.toml"), project.join("suites/smoke.toml")).unwrap();
    let kit = fs::read_to_string(root().join("kits/rust/kit.toml")).unwrap();
    let lines = kit.lines().map(|old| if old.starts_with(key) { line } else { old });
    fs::write(project.join("kits/rust/kit.toml"), lines.collect::<Vec<_>>().join("\n")).unwrap();
    project
}

fn bench_in(project: &Path, record: &Path) -> Ended {
    let bench = ["bench", "--suite", "smoke", "--case", "get-held", "--out"];
    finish(touchstone().arg("--root").arg(project).args(bench).arg(record))
}

#[test]
fn an_unknown_suite_is_named_with_those_there_are() {
    run(&["plan", "--suite", "smok"])
        .refused(USAGE, &["`smok`", "did you mean `smoke`? There are", "couch", "wcdb"]);
    run(&["bench", "--suite", "smok"]).refused(USAGE, &["`smok`"]);
    run(&["plan", "--suite", "smoke", "--suite", "smoke"]).refused(USAGE, &["suite `smoke` stands twice"]);
}

#[test]
fn a_suite_file_that_is_not_there_is_named() {
    run(&["plan", "--suite", "no/such.toml"]).refused(USAGE, &["no/such.toml", "is missing"]);
}

#[test]
fn an_unknown_case_is_named_with_those_there_are() {
    let ended = run(&["plan", "--suite", "smoke", "--case", "nope"]);
    ended.refused(USAGE, &["no case `nope`", "there are", "smoke/get-held", "smoke/read"]);
    for (wanted, meant) in [("get-hled", "`get-held`?"), ("smoke/raed", "`smoke/read`?")] {
        run(&["plan", "--suite", "smoke", "--case", wanted]).refused(USAGE, &[wanted, "did you mean", meant]);
    }
}

#[test]
fn an_unknown_contender_is_named_with_those_that_are_there() {
    let ended = run(&["plan", "--suite", "smoke", "--contender", "nobody"]);
    ended.refused(USAGE, &["`nobody`", "they have", "redb@immediate, "]);
    for (wanted, meant) in [("rusqlit", "`rusqlite`?"), ("redb@imediate", "`redb@immediate`?")] {
        let ended = run(&["plan", "--suite", "smoke", "--contender", wanted]);
        ended.refused(USAGE, &[wanted, "did you mean", meant, "They have"]);
    }
}

#[test]
fn an_unchanged_suite_is_fine() {
    smoke_with("smoke", "smoke").succeeded();
}

#[test]
fn a_suite_whose_file_has_another_name_is_refused_with_the_remedy() {
    let ended = smoke_with("name = \"smoke\"", "name = \"mine\"");
    ended.refused(USAGE, &["smoke.toml", "its name is `mine`", "write name = \"smoke\"", "mine.toml"]);
}

#[test]
fn an_unknown_key_in_a_suite_is_named_with_its_place() {
    smoke_with("blocks = 2", "blocs = 2").refused(USAGE, &["smoke.toml", "blocs", "line "]);
}

#[test]
fn an_unknown_verb_in_a_suite_is_named_with_those_there_are() {
    smoke_with("\"read-all\"", "\"read-most\"")
        .refused(USAGE, &["smoke.toml", "read-most", "read-all", "insert-one"]);
}

#[test]
fn a_setting_in_a_suite_that_is_nearly_anothers_name_is_a_typing_error() {
    let [from, to] =
        ["journal_mode", "jurnal_mode"].map(|name| format!("blocks = 2\nsettings = {{ {name} = \"wal\" }}"));
    smoke_with("blocks = 2", &from).succeeded();
    smoke_with("blocks = 2", &to).refused(USAGE, &["`jurnal_mode`", "did you mean `journal_mode`?"]);
    smoke_with("blocks = 2", "blocks = 2\nsettings = { own_notion = 1 }").succeeded();
}

#[test]
fn an_unknown_subject_in_a_suite_is_named_with_those_there_are() {
    let ended = smoke_with("\"redb@immediate\"", "\"nobody@immediate\"");
    ended.refused(USAGE, &["case `smoke/read`", "`nobody`", "there are", "rusqlite", "diesel"]);
}

#[test]
fn an_unknown_profile_in_a_suite_is_named_with_those_there_are() {
    let ended = smoke_with("\"redb@immediate\"", "\"redb@sometimes\"");
    ended.refused(USAGE, &["`redb@sometimes`", "no profile `sometimes`", "immediate, none"]);
}

#[test]
fn a_contender_without_a_profile_says_how_to_write_one() {
    smoke_with("\"redb@immediate\"", "\"redb\"")
        .refused(USAGE, &["`redb` is not a contender", "subject@profile"]);
}

#[test]
fn two_claims_with_one_id_are_refused() {
    let text = fs::read_to_string(root().join("suites/smoke.toml")).unwrap();
    let claim = &text[text.find("[[claim]]").unwrap()..];
    let ended = smoke_with("[[claim]]", &format!("{claim}\n[[claim]]"));
    ended.refused(USAGE, &["smoke.toml", "claim `plan` stands twice", "rename one"]);
}

#[test]
fn a_claim_about_what_is_not_there_is_refused() {
    smoke_with("case = \"get\"", "case = \"got\"").refused(USAGE, &["claim `plan`", "no case `got`"]);
}

#[test]
fn a_plan_of_another_version_says_how_to_make_one_anew() {
    let folder = folder();
    let mut plan = plan("smoke", &["get-held"], 1);
    plan["plan_version"] = 99.into();
    let (ended, record) = run_plan(folder.path(), &plan, &[]);
    ended.refused(USAGE, &["plan.json", "version 99", "touchstone plan"]);
    assert!(!record.exists());
}

#[test]
fn what_is_no_plan_is_refused() {
    let folder = folder();
    let (ended, record) = run_plan(folder.path(), &serde_json::json!({"plan_version": PLAN_VERSION}), &[]);
    ended.refused(USAGE, &["plan.json", "not a plan", "is missing"]);
    assert!(!record.exists());
    let path = folder.path().join("plan.json");
    fs::write(&path, "rubbish").unwrap();
    finish(touchstone().arg("run").arg(&path)).refused(USAGE, &["plan.json", "not a plan"]);
}

#[test]
fn a_plan_that_is_not_there_is_named() {
    run(&["run", "no/such/plan.json"])
        .refused(USAGE, &["cannot read the plan no/such/plan.json", "No such file"]);
}

#[test]
fn a_plan_for_a_subject_that_no_kit_has_is_refused() {
    let folder = folder();
    let mut plan = plan("smoke", &["get-held"], 1);
    let arms = support::arms(&mut plan, "smoke/get-held");
    let mut nobody = arms[0].clone();
    nobody["contender"] = "nobody@default".into();
    nobody["name"] = "nobody@default".into();
    arms.push(nobody);
    let (ended, record) = run_plan(folder.path(), &plan, &[]);
    ended.refused(UNAVAILABLE, &["no kit has a subject `nobody`"]);
    assert!(!record.exists());
}

#[test]
fn a_root_without_kits_says_what_to_give() {
    let folder = folder();
    for verb in [&["list"][..], &["bench"], &["plan", "--suite", "smoke"]] {
        let ended = finish(touchstone().arg("--root").arg(folder.path()).args(verb));
        ended.refused(UNAVAILABLE, &["no kits here", "--root", folder.path().to_str().unwrap()]);
    }
    finish(touchstone().args(["--root", "no/such/folder", "list"])).refused(UNAVAILABLE, &["no/such/folder"]);
    let outside = finish(touchstone().current_dir("/").arg("list"));
    outside.refused(UNAVAILABLE, &["no kits/ and suites/ at or above /", "--root"]);
}

#[test]
fn a_missing_build_tool_is_named_with_what_it_builds() {
    let folder = folder();
    let project = project_with(folder.path(), "build = ", "build = [\"no-such-compiler\", \"--fast\"]");
    let record = folder.path().join("record");
    let ended = bench_in(&project, &record);
    ended.refused(UNAVAILABLE, &["`no-such-compiler`", "which builds redb", "install it"]);
    assert!(!record.exists());
}

#[test]
fn a_failing_build_shows_the_tools_own_words() {
    let folder = folder();
    let build = "build = [\"sh\", \"-c\", \"echo 'error[E1]: the widget is upside down' >&2; exit 3\"]";
    let project = project_with(folder.path(), "build = ", build);
    let record = folder.path().join("record");
    let ended = bench_in(&project, &record);
    ended.refused(UNAVAILABLE, &["cannot build redb", "the widget is upside down", "kits/rust"]);
    assert!(!record.exists());
}

#[test]
fn a_kit_with_an_unknown_key_is_named_with_its_place() {
    let folder = folder();
    let project = project_with(folder.path(), "floor = true", "flour = true");
    bench_in(&project, &folder.path().join("record")).refused(USAGE, &["kit.toml", "flour", "line "]);
}

#[test]
fn a_folder_without_a_record_is_named() {
    let folder = folder();
    for verb in ["judge", "report"] {
        let ended = finish(touchstone().arg(verb).arg(folder.path()));
        ended.refused(USAGE, &[folder.path().to_str().unwrap(), "no record here", "record.json"]);
    }
    assert_eq!(contents(folder.path()), []);
}

#[test]
fn a_record_of_a_version_to_come_is_refused_and_left_alone() {
    let folder = folder();
    let record = record(folder.path());
    let manifest = fs::read_to_string(record.join(file::MANIFEST)).unwrap();
    let newer = manifest.replacen("\"record_version\": 1", "\"record_version\": 99", 1);
    assert_ne!(manifest, newer);
    fs::write(record.join(file::MANIFEST), newer).unwrap();
    let before = contents(&record);
    for verb in ["judge", "report"] {
        let ended = finish(touchstone().arg(verb).arg(&record));
        ended.refused(USAGE, &["record version 99", "newer touchstone"]);
    }
    assert!(contents(&record) == before);
}

#[test]
fn a_damaged_record_names_the_file_and_the_line_and_is_left_alone() {
    let folder = folder();
    let record = record(folder.path());
    let samples = fs::read_to_string(record.join(file::SAMPLES)).unwrap();
    let mut lines: Vec<&str> = samples.lines().collect();
    lines[2] = &lines[2][..20];
    fs::write(record.join(file::SAMPLES), lines.join("\n") + "\n").unwrap();
    let before = contents(&record);
    for verb in ["judge", "report"] {
        let ended = finish(touchstone().arg(verb).arg(&record));
        ended.refused(USAGE, &["samples.jsonl", "line 3", "damaged"]);
    }
    assert!(contents(&record) == before);
}

#[test]
fn a_record_with_a_file_missing_names_it() {
    let folder = folder();
    let record = record(folder.path());
    fs::remove_file(record.join(file::ENVIRONMENT)).unwrap();
    finish(touchstone().arg("judge").arg(&record))
        .refused(USAGE, &["environment.json", "damaged record", "not there"]);
}

#[test]
fn a_last_line_that_was_cut_off_is_left_out_of_a_partial_record_and_is_damage_in_a_complete_one() {
    let folder = folder();
    let record = record(folder.path());
    let samples = fs::read_to_string(record.join(file::SAMPLES)).unwrap();
    fs::write(record.join(file::SAMPLES), &samples[..samples.len() - 10]).unwrap();
    let ended = finish(touchstone().arg("judge").arg(&record));
    ended.refused(USAGE, &["samples.jsonl", "damaged record", "is cut off"]);
    call_partial(&record);
    finish(touchstone().arg("judge").arg(&record)).succeeded();
}

#[test]
fn a_record_that_is_not_judged_yet_says_how_to_judge_it() {
    for missing in [file::VERDICT, file::STATISTICS] {
        let folder = folder();
        let record = record(folder.path());
        fs::remove_file(record.join(missing)).unwrap();
        let ended = finish(touchstone().arg("report").arg(&record));
        ended.refused(USAGE, &["is not judged yet", "touchstone judge"]);
        finish(touchstone().arg("judge").arg(&record)).succeeded();
        finish(touchstone().arg("report").arg(&record)).succeeded();
    }
}

#[test]
fn a_verdict_that_is_damaged_is_not_called_missing() {
    let folder = folder();
    let record = record(folder.path());
    fs::write(record.join(file::VERDICT), "{\"verdict_ver").unwrap();
    let ended = finish(touchstone().arg("report").arg(&record));
    ended.refused(USAGE, &["verdict.json", "damaged"]);
    assert!(!ended.stderr.contains("not judged yet"), "{}", ended.told());
}

#[test]
fn what_a_newer_version_judged_is_refused_until_it_is_judged_again() {
    for (name, key, version, what) in [
        (file::STATISTICS, "statistics_version", STATISTICS_VERSION, "statistics version 99"),
        (file::VERDICT, "verdict_version", VERDICT_VERSION, "verdict version 99"),
    ] {
        let folder = folder();
        let record = record(folder.path());
        let text = fs::read_to_string(record.join(name)).unwrap();
        let from = format!("\"{key}\": {version}");
        assert!(text.contains(&from), "{name} says its version");
        fs::write(record.join(name), text.replacen(&from, &format!("\"{key}\": 99"), 1)).unwrap();
        let ended = finish(touchstone().arg("report").arg(&record));
        ended.refused(USAGE, &[name, what, "newer touchstone"]);
        finish(touchstone().arg("judge").arg(&record)).succeeded();
        finish(touchstone().arg("report").arg(&record)).succeeded();
    }
}

#[test]
fn a_folder_that_holds_a_record_is_never_written_to() {
    let folder = folder();
    let record = record(folder.path());
    let before = contents(&record);
    let (ended, _) = run_plan(folder.path(), &plan("smoke", &["get-held"], 1), &[]);
    ended.refused(USAGE, &["holds a record already", "--out", record.to_str().unwrap()]);
    assert!(contents(&record) == before, "the old record is as it was");
}

#[test]
fn a_folder_with_anything_in_it_is_never_written_to() {
    let folder = folder();
    let record = folder.path().join("record");
    fs::create_dir_all(record.join("scratch")).unwrap();
    fs::write(record.join("scratch/precious"), "mine").unwrap();
    let before = contents(&record);
    let (ended, _) = run_plan(folder.path(), &plan("smoke", &["get-held"], 1), &[]);
    ended.refused(USAGE, &["is not empty", "--out"]);
    assert!(contents(&record) == before);
}

#[test]
fn scratch_in_memory_is_refused_where_commits_are_to_reach_a_disk() {
    let memory = Path::new("/dev/shm");
    assert!(
        !touchstone_runner::environment::reaches_disk(memory),
        "this system has no memory disk at /dev/shm"
    );
    let scratch = memory.join(format!("touchstone-test-{}", std::process::id()));
    let folder = folder();
    let record = folder.path().join("record");
    let bench = ["bench", "--suite", "wcdb", "--case", "sync-write", "--scratch"];
    let ended = finish(touchstone().args(bench).arg(&scratch).arg("--out").arg(&record));
    ended.refused(USAGE, &["/dev/shm", "is memory", "wcdb/sync-write", "--scratch"]);
    assert!(!record.exists() && !scratch.exists(), "nothing was begun");
}

#[test]
fn scratch_in_memory_is_fine_where_no_commit_is_to_reach_a_disk() {
    let folder = folder();
    let plan = plan("smoke", &["get-held"], 1);
    run_plan(folder.path(), &plan, &["--scratch", "/dev/shm"]).0.succeeded();
}

#[test]
fn a_place_that_takes_no_files_is_named() {
    let folder = folder();
    let plan = write_plan(folder.path(), &plan("smoke", &["get-held"], 1));
    let file = folder.path().join("a-file");
    fs::write(&file, "").unwrap();
    let before = contents(folder.path());
    for option in ["--out", "--scratch"] {
        let record = folder.path().join(format!("record{option}"));
        let mut command = touchstone();
        command.arg("run").arg(&plan).arg(option).arg(file.join("below"));
        if option == "--scratch" {
            command.arg("--out").arg(&record);
        }
        let ended = finish(&mut command);
        ended.refused(IO, &["a-file/below", "a-file is no folder", "give another folder with", option]);
        assert!(!ended.stderr.contains("building"), "it is told before anything is built: {}", ended.told());
    }
    let ended = finish(touchstone().arg("run").arg(&plan).arg("--out").arg(&file));
    ended.refused(IO, &["a-file is no folder", "--out"]);
    assert!(contents(folder.path()) == before);
}

#[test]
fn a_limit_is_a_number_of_seconds_above_zero() {
    for limit in ["0", "-1", "soon", "nan", "inf"] {
        let ended = run(&["bench", "--suite", "smoke", &format!("--limit={limit}")]);
        ended.refused(USAGE, &["--limit", "seconds above 0"]);
    }
}

#[test]
fn a_margin_is_a_share() {
    for margin in ["7", "0", "-0.1", "1", "nan"] {
        let gate = ["gate", "--case", "smoke/get", "--baseline", "rusqlite@wal-normal"];
        let margin = format!("--margin={margin}");
        let ended = run(&[&gate[..], &["--candidate", "rusqlite@wal-full", &margin]].concat());
        ended.refused(USAGE, &["--margin", "between 0 and 1", "0.02"]);
    }
}

#[test]
fn a_gate_without_a_candidate_says_what_to_give() {
    let ended = run(&["gate", "--case", "smoke/get", "--baseline", "rusqlite@wal-normal"]);
    ended.refused(USAGE, &["nothing to judge", "--candidate", "--candidate-program"]);
}

#[test]
fn a_gate_on_what_is_not_there_is_refused() {
    let gate = |case: &str, candidate: &str| {
        run(&["gate", "--case", case, "--baseline", "rusqlite@wal-normal", "--candidate", candidate])
    };
    gate("get", "rusqlite@wal-full").refused(USAGE, &["`get` is not a case", "suite/case"]);
    gate("smok/get", "rusqlite@wal-full").refused(USAGE, &["`smok`", "`smoke`?"]);
    gate("plantodo/oo_upload-forms", "rusqlite@wal-full").refused(USAGE, &["full size only", "another case"]);
    gate("smoke/got", "rusqlite@wal-full").refused(USAGE, &["`got`", "`get`? There are", "get-held"]);
    gate("smoke/get", "rusqlite").refused(USAGE, &["`rusqlite` is not a contender", "subject@profile"]);
    let twice = ["--case", "smoke/get", "--candidate", "rusqlite@wal-full"];
    run(&[&["gate", "--case", "smoke/get", "--baseline", "rusqlite@wal-normal"][..], &twice].concat())
        .refused(USAGE, &["case `smoke/get` stands twice"]);
    gate("smoke/get", "nobody@x").refused(USAGE, &["`nobody`", "there are"]);
    let asked = ["gate", "--case", "smoke/get", "--baseline", "rusqlite@wal-normal", "--candidate-program"];
    for (program, why) in [
        ("no/such", "No such file"),
        ("/etc", "no file"),
        ("/dev/null", "no file"),
        ("/etc/passwd", "no program"),
    ] {
        run(&[&asked[..], &[program]].concat()).refused(USAGE, &["no driver program", program, why]);
    }
}

#[test]
fn what_is_no_command_is_refused() {
    run(&["measure"]).refused(USAGE, &["measure", "--help"]);
    run(&["bench", "--quickly"]).refused(USAGE, &["--quickly", "--help"]);
    run(&["bench", "--size", "huge"]).refused(USAGE, &["huge", "quick", "full"]);
    for looks in ["0", "5", "all"] {
        run(&["bench", "--looks", looks]).refused(USAGE, &["--looks", looks]);
    }
    run(&["run"]).refused(USAGE, &["<PLAN>"]);
}

#[test]
fn where_json_was_asked_an_error_is_json_too() {
    let cases: [(&[&str], i32, &str, &str); 4] = [
        (&["plan", "--json", "--suite", "smok"], USAGE, "usage", "did you mean `smoke`?"),
        (&["bench", "--json", "--quickly"], USAGE, "usage", "unexpected argument '--quickly'"),
        (&["--json", "bench", "--looks", "9"], USAGE, "usage", "invalid value '9'"),
        (&["list", "--json", "--root", "/no/such"], UNAVAILABLE, "unavailable", "/no/such"),
    ];
    for (arguments, status, kind, words) in cases {
        let ended = run(arguments);
        assert_eq!(ended.status, Some(status), "{}", ended.told());
        let error = &ended.json()["error"];
        assert_eq!((&error["kind"], &error["exit"]), (&kind.into(), &status.into()), "{}", ended.told());
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(words) && !message.contains("Usage"), "{}", ended.told());
        assert!(!message.starts_with("error") && !message.contains('\n'), "{}", ended.told());
        assert!(!ended.stderr.is_empty(), "people are told as well");
    }
    assert!(run(&["bench", "--json", "--help"]).succeeded().stdout.contains("Usage"), "help is no error");
}

/// A project of services whose suite has a scenario that leads nowhere. Its kit is never built.
fn unloaded(folder: &Path) {
    let suite = include_str!("capacity/tiny.toml").replace("steps = [\"upload\"]", "steps = [\"unload\"]");
    let row = |name: &str| {
        format!(
            "[[subject]]\nname = \"{name}\"\nsummary = \"{name}\"\nbuild = [\"false\"]\nrun = [\"false\"]\n\
             profile = [{{ name = \"wal\", class = \"strict\", settings = {{ journal_mode = \"wal\", synchronous = \"full\" }} }}]\n"
        )
    };
    let subjects: BTreeSet<&str> = suite.split('"').filter_map(|word| word.strip_suffix("@wal")).collect();
    let rows: String = subjects.into_iter().map(row).collect();
    for (path, text) in
        [("suites/tiny.toml", suite), ("kits/tiny/kit.toml", format!("[kit]\nlanguage = \"tiny\"\n{rows}"))]
    {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A mistake in a scenario was told by `bench` alone, and a plan of it was kept as a good one.
#[test]
fn a_plan_of_a_scenario_that_leads_nowhere_is_refused() {
    let folder = folder();
    unloaded(folder.path());
    // The generator is built where it is missing: a plan builds nothing.
    run(&["load", "--help"]).succeeded();
    let root = folder.path().display().to_string();
    let out = folder.path().join("plan.json");
    let plan = ["--root", &root, "plan", "--suite", "tiny", "--out", &out.display().to_string()];
    run(&plan).refused(USAGE, &["case `tiny/upload`, scenario `upload`", "no request `unload`"]);
    assert!(!out.exists());
    // Without the generator, far from its sources, a plan is made and says what was not looked at.
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = elsewhere.path().join("touchstone");
    fs::copy(env!("CARGO_BIN_EXE_touchstone"), &alone).unwrap();
    let planned =
        finish(std::process::Command::new(&alone).current_dir(elsewhere.path()).args(plan)).succeeded();
    assert!(planned.stderr.contains("the scenario of one case was not checked"), "{}", planned.told());
    assert!(planned.stderr.contains("touchstone-load is not built") && out.exists(), "{}", planned.told());
}
