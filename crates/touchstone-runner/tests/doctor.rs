//! The doctor end to end, on whatever machine this is: what is asserted holds on every one, and no time is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use touchstone_runner::ErrorKind;
use touchstone_runner::doctor::{
    Budget, Diagnosis, Examination, Operation, Pattern, Route, SubjectState, examine, subjects,
};
use touchstone_runner::kits::Project;
use touchstone_runner::session::Stop;

const SMALL: Budget = Budget { total: Duration::from_secs(2) };

fn examination<'e>(directory: &'e Path, project: Option<&'e Project>) -> Examination<'e> {
    Examination { directory, project, budget: SMALL, stop: Stop::default() }
}

#[test]
fn every_limit_is_found_and_nothing_is_left_behind() {
    let directory = tempfile::tempdir().unwrap();
    let diagnosis = examine(&examination(directory.path(), None), |_| ()).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    assert!(diagnosis.clock.cost_ns > 0.0 && diagnosis.clock.processor_time_cost_ns > 0.0);
    assert!(diagnosis.clock.resolution_ns > 0);
    let flushes = diagnosis.flushes;
    let quantiles = [
        flushes.latency_ns_min,
        flushes.latency_ns_p50,
        flushes.latency_ns_p90,
        flushes.latency_ns_p99,
        flushes.latency_ns_max,
    ];
    assert!(flushes.flushes > 0 && flushes.flushes_per_s > 0.0 && quantiles[0] > 0.0);
    assert!(quantiles.is_sorted(), "{quantiles:?}");
    assert_eq!(diagnosis.memory.len(), 3);
    for copy in &diagnosis.memory {
        assert!(copy.bytes_per_s.is_some_and(|rate| rate > 0.0) ^ copy.unmeasured.is_some(), "{copy:?}");
    }
    assert!(diagnosis.subjects.is_empty());
    files_are_sane(&diagnosis);
    page_is_sane(&diagnosis);
    let json = serde_json::to_string(&diagnosis).unwrap();
    assert!(serde_json::from_str::<Diagnosis>(&json).is_ok());
    assert!(!json.contains(directory.path().to_str().unwrap()), "{json}");
}

#[test]
fn without_time_there_is_still_something_to_tell() {
    let directory = tempfile::tempdir().unwrap();
    let budget = Budget { total: Duration::ZERO };
    let diagnosis = examine(&Examination { budget, ..examination(directory.path(), None) }, |_| ()).unwrap();
    assert!(diagnosis.flushes.flushes >= 3);
    files_are_sane(&diagnosis);
    page_is_sane(&diagnosis);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

fn files_are_sane(diagnosis: &Diagnosis) {
    let files = &diagnosis.files;
    assert!(files.file_bytes > 0);
    for rate in &files.rates {
        assert!(rate.operations > 0 && rate.operation_ns() > 0.0 && rate.bytes_per_s() > 0.0, "{rate:?}");
        assert_eq!(
            files.rate(rate.route, rate.pattern, rate.operation, rate.block_bytes),
            Some(rate),
            "one of each"
        );
    }
    let ways = |route| files.rates.iter().filter(|rate| rate.route == route).count();
    assert!(files.not_dropped.is_none() || ways(Route::Dropped) == 0);
    assert!(files.not_direct.is_none() || ways(Route::Direct) == 0);
    assert!(
        ways(Route::Cache) <= 12
            && ways(Route::Direct) <= 12
            && ways(Route::Dropped) <= 6
            && ways(Route::Synced) <= 6
    );
    assert!(
        files.rate(Route::Cache, Pattern::Sequential, Operation::Read, 4096).is_some(),
        "there is always time for the cache"
    );
}

fn page_is_sane(diagnosis: &Diagnosis) {
    let page = diagnosis.render(100);
    assert_eq!(page, diagnosis.to_string());
    for section in
        ["Machine", "System", "Storage", "Limits", "Toolchain", "Clock", "Flush", "File", "Memory", "Noise"]
    {
        assert!(page.lines().any(|line| line.starts_with(section)), "{section} in\n{page}");
    }
    for line in page.lines() {
        assert!(line.chars().count() <= 100 && line == line.trim_end(), "{line:?}");
    }
}

#[test]
fn a_directory_that_is_not_there_is_one_clear_error() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let error = examine(&examination(&missing, None), |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    let expected =
        format!("cannot measure {}: it is not there; make it, or name another directory", missing.display());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_directory_that_takes_no_files_is_one_clear_error() {
    // Nobody can make files here, not even root.
    let error = examine(&examination(Path::new("/proc"), None), |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    assert!(error.to_string().starts_with("cannot measure /proc: no file can be made there"), "{error}");
}

#[test]
fn stopping_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(true));
    let stopped = Examination { stop, ..examination(directory.path(), None) };
    let error = examine(&stopped, |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

const KIT: &str = r#"
[kit]
language = "shell"

[[subject]]
name = "speaks"
summary = "introduces itself"
build = ["true"]
run = ["sh", "bin/speaks.sh"]

[[subject]]
name = "unbuilt"
summary = "its program is not there"
build = ["true"]
run = ["bin/unbuilt"]

[[subject]]
name = "mute"
summary = "ends without a word"
build = ["true"]
run = ["sh", "-c", "exit 3"]

[[subject]]
name = "unstartable"
summary = "its program is no program"
build = ["true"]
run = ["bin/speaks.sh"]

[[subject]]
name = "canary"
summary = "misbehaves on purpose"
build = ["true"]
run = ["sh", "bin/speaks.sh"]
canary = true
"#;

const SPEAKS: &str = r#"read request
echo '{"reply":"hello","protocol":1,"kit":"shell 1","subject":"speaks","version":"2.0","engine":"SQLite 3.40.1",
"compile_options":["SECURE_DELETE"],"capabilities":[],"clock":{"name":"c","cost_ns":1.0,"resolution_ns":1}}' | tr -d '\n'
echo
read request
"#;

fn project(root: &Path) -> Project {
    let kit = root.join("kits/shell");
    fs::create_dir_all(kit.join("bin")).unwrap();
    fs::create_dir_all(root.join("suites")).unwrap();
    fs::write(kit.join("kit.toml"), KIT).unwrap();
    fs::write(kit.join("bin/speaks.sh"), SPEAKS).unwrap();
    Project::open(Some(root)).unwrap()
}

#[test]
fn built_drivers_say_what_they_link_and_none_is_built() {
    let root = tempfile::tempdir().unwrap();
    let project = project(&fs::canonicalize(root.path()).unwrap());
    let reports = subjects(&project, Duration::from_secs(30), &Stop::default());
    let names: Vec<&str> = reports.iter().map(|report| report.subject.as_str()).collect();
    assert_eq!(names, ["speaks", "unbuilt", "mute", "unstartable"], "in the kit's order, without canaries");
    let states: BTreeMap<&str, &SubjectState> =
        reports.iter().map(|report| (report.subject.as_str(), &report.state)).collect();
    let SubjectState::Linked { version, engine, compile_options, wal_reset_fix, .. } = states["speaks"]
    else {
        panic!("{:?}", states["speaks"]);
    };
    assert_eq!((version.as_str(), engine.as_str(), *wal_reset_fix), ("2.0", "SQLite 3.40.1", Some(false)));
    assert_eq!(compile_options, &["SECURE_DELETE"]);
    assert_eq!(states["unbuilt"], &SubjectState::NotBuilt);
    let SubjectState::Failed { error } = states["mute"] else { panic!("{:?}", states["mute"]) };
    assert!(error.contains("exit status 3"), "{error}");
    let SubjectState::Failed { error } = states["unstartable"] else { panic!("{:?}", states["unstartable"]) };
    assert!(
        error.starts_with("the driver ended: cannot start kits/shell/bin/speaks.sh"),
        "no path of the user's: {error}"
    );
}

#[test]
fn without_time_no_driver_is_asked() {
    let root = tempfile::tempdir().unwrap();
    let project = project(root.path());
    let reports = subjects(&project, Duration::ZERO, &Stop::default());
    assert_eq!(reports[0].state, SubjectState::NotAsked);
    assert_eq!(reports[1].state, SubjectState::NotBuilt);
}
