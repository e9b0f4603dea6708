//! A run that is stopped or killed, at any point, leaves a record that can be read, and no process and no folder.

mod support;

use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use support::{Judged, finish, folder, plan, root, touchstone, wait_for, write_plan};
use tempfile::TempDir;
use touchstone::record::{Record, Status, file};

const INTERRUPTED: i32 = 130;
const SIGKILL: i32 = 9;

/// What every process of a lab under test has in its environment, so that none can hide.
const MARK: &str = "TOUCHSTONE_TEST_MARK";

/// A lab at work.
struct Lab {
    child: Child,
    mark: String,
    folder: TempDir,
}

impl Lab {
    /// Starts `touchstone run` of a plan.
    fn run(plan: &Value, more: &[&str]) -> Lab {
        let folder = folder();
        let plan = write_plan(folder.path(), plan);
        let mut command = touchstone();
        command.arg("run").arg(plan).args(more);
        Lab::start(command, folder)
    }

    fn start(mut command: Command, folder: TempDir) -> Lab {
        static LABS: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), LABS.fetch_add(1, Ordering::Relaxed));
        command.arg("--out").arg(folder.path().join("record")).env(MARK, &mark);
        // A file, because a process that is left behind would hold a pipe open for ever.
        let [said, answer] =
            ["said", "answer"].map(|name| fs::File::create(folder.path().join(name)).unwrap());
        let child = command.stdout(answer).stderr(said).spawn().expect("the program starts");
        Lab { child, mark, folder }
    }

    fn record(&self) -> PathBuf {
        self.folder.path().join("record")
    }

    /// Waits until a file of the record has this many lines.
    #[track_caller]
    fn wait_for_lines(&mut self, name: &str, lines: usize) {
        let path = self.record().join(name);
        wait_for(&format!("{lines} lines in {name}"), || {
            if let Some(status) = self.child.try_wait().unwrap() {
                let said = fs::read_to_string(self.folder.path().join("said")).unwrap();
                panic!("the lab ended before {lines} lines in {name}, {status}: {said}");
            }
            let text = fs::read_to_string(&path).ok()?;
            (text.lines().count() >= lines).then_some(())
        });
    }

    /// Waits until the canary that hangs does so: it waits for a futex, and not for a request any more.
    #[track_caller]
    fn wait_for_the_hang(&self) {
        let futex = if cfg!(target_arch = "x86_64") { "202 " } else { "98 " };
        wait_for("the hang", || {
            self.drivers().into_iter().filter(|(_, name)| name == "canary-hang").find_map(|(process, _)| {
                let call = fs::read_to_string(format!("/proc/{process}/syscall")).ok()?;
                call.starts_with(futex).then_some(())
            })
        });
    }

    /// Waits until a driver is traced: nothing else tells the pass that counts syncs from the others.
    #[track_caller]
    fn wait_for_the_recorded_pass(&self) {
        wait_for("the recorded pass", || {
            self.drivers().into_iter().find_map(|(process, _)| {
                let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
                (!status.contains("TracerPid:\t0\n")).then_some(())
            })
        });
    }

    /// The lab's living processes and their programs, itself apart. One that nobody has reaped is not alive.
    fn drivers(&self) -> Vec<(u32, String)> {
        let wanted = format!("{MARK}={}", self.mark);
        let program = |process: fs::DirEntry| {
            let id: u32 = process.file_name().to_str()?.parse().ok()?;
            let environment = fs::read(process.path().join("environ")).ok()?;
            let marked = environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes());
            let program = fs::read_link(process.path().join("exe")).ok()?;
            let name = program.file_name().unwrap().to_string_lossy().into_owned();
            (marked && id != self.child.id()).then_some((id, name))
        };
        fs::read_dir("/proc").unwrap().flatten().filter_map(program).collect()
    }

    /// Until no signal is left to be heard.
    fn wait_for_the_signal(&self) {
        wait_for("a signal to be heard", || {
            let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
            status.contains("ShdPnd:\t0000000000000000").then_some(())
        });
    }

    fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status();
        assert!(kill.expect("there is a kill").success());
    }

    /// Waits for the lab's end and gives its status and what it said on standard error.
    fn wait(&mut self) -> (std::process::ExitStatus, String) {
        let status = wait_for("the lab's end", || self.child.try_wait().unwrap());
        let said = fs::read_to_string(self.folder.path().join("said")).unwrap();
        assert!(!said.contains("panicked"), "{said}");
        (status, said)
    }

    #[track_caller]
    fn assert_no_driver_is_left(&self) {
        // The kernel may still be about to end those whose lab was killed.
        wait_for("the end of every driver", || self.drivers().is_empty().then_some(()));
    }

    /// It was asked to stop, and its record is judged and has its page already.
    #[track_caller]
    fn assert_interrupted_having_reported(&mut self) {
        let (status, said) = self.wait();
        assert_eq!(status.code(), Some(INTERRUPTED), "{said}");
        let record = self.record();
        let judged = Judged::read(&record);
        assert_eq!(judged.record.manifest.status, Status::Partial);
        let page = fs::read_to_string(record.join(file::REPORT)).expect("it has its page");
        assert!(page.contains("the run was stopped"), "the page says why it ends here");
        assert!(!record.join("scratch").exists(), "the databases are gone");
        self.assert_no_driver_is_left();
    }

    /// It was asked to stop and did: status, record, page.
    #[track_caller]
    fn assert_interrupted(&mut self) -> Record {
        let (status, said) = self.wait();
        assert_eq!(status.code(), Some(INTERRUPTED), "{said}");
        let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("touchstone: ")).collect();
        assert_eq!(errors, ["touchstone: the run was stopped"], "{said}");
        let record = self.record();
        assert!(said.contains(&format!("the record so far is in {}", record.display())), "{said}");
        self.assert_no_driver_is_left();
        assert!(!record.join("scratch").exists(), "the databases are gone");
        let read = Record::read(&record).expect("it can be read");
        assert_eq!(read.manifest.status, Status::Partial);
        assert_eq!(read.manifest.reason.as_deref(), Some("the run was stopped"));
        assert_says_partial(&record, "the run was stopped");
        read
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Only where an assertion failed is it still there.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The record can be judged, and the summary and the page say that it is not whole, and why.
#[track_caller]
fn assert_says_partial(record: &Path, why: &str) {
    let summary = finish(touchstone().arg("judge").arg(record)).succeeded().unwrapped();
    assert!(summary.contains(why), "{summary}");
    finish(touchstone().arg("report").arg(record)).succeeded();
    let page = fs::read_to_string(record.join(file::REPORT)).unwrap();
    assert!(page.contains(why), "the page says why");
    for told in [summary, page] {
        assert!(told.to_lowercase().contains("partial"), "it says that it is partial");
    }
}

/// A plan that takes longer than any test waits.
fn endless() -> Value {
    let plan = plan("smoke", &[], 1_000);
    // What the tests wait for begins after the builds, which may take longer on a new machine.
    support::build(&plan);
    plan
}

/// A plan whose one arm never answers.
fn hanging() -> Value {
    let mut plan = plan("canaries", &["hang"], 1);
    plan["cases"][0]["baseline"] = "canary-hang@default".into();
    support::arms(&mut plan, "canaries/hang").retain(|arm| arm["name"] == "canary-hang@default");
    plan
}

#[test]
fn ctrl_c_in_the_middle_of_a_run_leaves_a_partial_record_and_nothing_else() {
    let mut lab = Lab::run(&endless(), &[]);
    lab.wait_for_lines(file::LAUNCHES, 10);
    wait_for("a driver at work", || (!lab.drivers().is_empty()).then_some(()));
    lab.signal("INT");
    let record = lab.assert_interrupted();
    assert!(record.launches.len() >= 10, "what was measured is kept");
    let judged = Judged::read(&lab.record());
    assert!(
        judged.statistics.cases.iter().any(|case| case.arms.iter().any(|arm| arm.operation_ns.is_some()))
    );
}

/// Found by an adversary: a driver's child that left its group went on living after the run.
#[test]
fn a_run_leaves_no_process_that_left_its_drivers_group() {
    // In the first two launches it says last how it does a slice, and closes its database, with which it ends its child.
    let mut plan = plan("liars", &["confined"], 3);
    let kept = ["rusqlite@wal-full", "canary-liar@child"].map(Value::from);
    support::arms(&mut plan, "liars/confined").retain(|arm| kept.contains(&arm["name"]));
    let mut lab = Lab::run(&plan, &[]);
    let (status, said) = lab.wait();
    assert!(status.success(), "{said}");
    let launches = Record::read(&lab.record()).unwrap().launches;
    assert!(launches.iter().any(|part| part.children == Some(1)), "it had one: {launches:?}");
    assert_eq!(lab.drivers(), []);
}

#[test]
fn a_bench_that_is_stopped_judges_and_reports_what_was_done() {
    endless();
    let mut command = touchstone();
    command.args(["bench", "--suite", "smoke", "--suite", "canaries", "--size", "full"]);
    let mut lab = Lab::start(command, folder());
    lab.wait_for_lines(file::LAUNCHES, 10);
    lab.signal("INT");
    lab.assert_interrupted_having_reported();
}

#[test]
fn ctrl_c_of_a_calibration_says_how_much_it_has_found_until_then() {
    support::build(&plan("calibrate", &["get", "slow"], 1));
    let folder = folder();
    let mut command = touchstone();
    command.args(["calibrate", "--comparisons", "1", "--power", "1", "--json"]);
    let mut lab = Lab::start(command, folder);
    // Two launches of both cases, with two arms each: no case can be over.
    lab.wait_for_lines(file::LAUNCHES, 2 * 4);
    lab.signal("INT");
    lab.assert_interrupted();
    let answer = fs::read_to_string(lab.folder.path().join("answer")).unwrap();
    let answer: Value = serde_json::from_str(&answer).expect("one JSON document");
    assert_eq!(answer["bearing"]["stopped"], true);
    assert_eq!(answer["bearing"]["answer"], "too-little", "nothing has come to its first look");
    assert_eq!(answer["comparisons"].as_array().map(Vec::len), Some(0), "{answer}");
    let text = finish(touchstone().arg("judge").arg(lab.record())).succeeded();
    assert!(!text.stdout.contains("Benjamini"), "each stands alone: {}", text.told());
}

#[test]
fn a_request_to_terminate_is_as_good_as_ctrl_c() {
    let mut lab = Lab::run(&endless(), &[]);
    lab.wait_for_lines(file::LAUNCHES, 1);
    lab.signal("TERM");
    lab.assert_interrupted();
}

#[test]
fn ctrl_c_while_databases_are_made_leaves_a_partial_record_too() {
    let mut lab = Lab::run(&endless(), &[]);
    let scratch = lab.record().join("scratch");
    let is_folder = |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.path().is_dir());
    wait_for("the first database", || fs::read_dir(&scratch).ok()?.any(is_folder).then_some(()));
    lab.signal("INT");
    lab.assert_interrupted();
}

#[test]
fn ctrl_c_does_not_wait_for_a_subject_that_hangs() {
    // The limit is ten times what the test waits for anything.
    let mut lab = Lab::run(&hanging(), &["--limit", "1200"]);
    lab.wait_for_the_hang();
    lab.signal("INT");
    lab.assert_interrupted();
}

#[test]
fn ctrl_c_while_syncs_are_counted_leaves_no_recorded_driver() {
    let mut lab = Lab::run(&plan("canaries", &["syncs"], 1), &[]);
    lab.wait_for_the_recorded_pass();
    lab.signal("INT");
    let record = lab.assert_interrupted();
    assert!(record.launches.len() >= 7, "the launches were over");
    assert!(record.syncs.len() < 7, "the counting was not");
}

#[test]
fn ctrl_c_before_the_run_begins_leaves_nothing() {
    let (folder, mut lab) = stopped_while_building("kill -s INT $PPID; exit 1");
    let (status, said) = lab.wait();
    assert_eq!(status.code(), Some(INTERRUPTED), "a build that fails of Ctrl-C is no failed build: {said}");
    assert!(said.contains("touchstone: stopped before the run began"), "{said}");
    assert!(!lab.record().exists());
    drop(folder);
}

#[test]
fn a_second_ctrl_c_ends_the_lab_at_once() {
    // The build does not end when it is asked to, and waits for an input that never comes. The lab waits for the build.
    let (folder, mut lab) =
        stopped_while_building("trap '' TERM; echo $$ > build.pid; kill -s INT $PPID; exec cat build.fifo");
    let pid = folder.path().join("project/kits/rust/build.pid");
    let build = wait_for("the build", || fs::read_to_string(&pid).ok().filter(|text| text.ends_with('\n')));
    lab.wait_for_the_signal();
    wait_for("the build to wait", || {
        let name = fs::read_to_string(format!("/proc/{}/comm", build.trim())).ok()?;
        (name.trim() == "cat").then_some(())
    });
    assert_eq!(lab.child.try_wait().unwrap(), None, "the first waits for the build's end");
    lab.signal("INT");
    let status = wait_for("the lab's end", || lab.child.try_wait().unwrap());
    assert_eq!(status.code(), Some(INTERRUPTED));
    assert!(!lab.record().exists());
    let kill = Command::new("kill").arg(build.trim()).status().unwrap();
    assert!(kill.success(), "a build that does not end is left to itself");
}

#[test]
fn ctrl_c_begins_no_more_builds() {
    let (folder, mut lab) = stopped_while_building("echo $$ >> begun; exec cat build.fifo");
    let kit = folder.path().join("project/kits/rust");
    let begun = || fs::read_to_string(kit.join("begun")).map_or(0, |begun| begun.lines().count());
    wait_for("the first of three builds", || (begun() == 1).then_some(()));
    lab.signal("INT");
    lab.wait_for_the_signal();
    // Each build that waits is let go. One may begin while the lab hears of it.
    let status = wait_for("the lab's end", || {
        // Opened for both, it waits for no reader.
        drop(OpenOptions::new().read(true).write(true).open(kit.join("build.fifo")));
        lab.child.try_wait().unwrap()
    });
    assert_eq!(status.code(), Some(INTERRUPTED));
    assert!(begun() < 3, "{}", begun());
    assert!(!lab.record().exists());
}

/// A lab whose first build is this script.
fn stopped_while_building(script: &str) -> (TempDir, Lab) {
    let folder = folder();
    let project = folder.path().join("project");
    let kit = project.join("kits/rust");
    fs::create_dir_all(&kit).unwrap();
    fs::create_dir_all(project.join("suites")).unwrap();
    fs::copy(root().join("suites/smoke.toml"), project.join("suites/smoke.toml")).unwrap();
    assert!(Command::new("mkfifo").arg(kit.join("build.fifo")).status().unwrap().success());
    let table = fs::read_to_string(root().join("kits/rust/kit.toml")).unwrap();
    let build = format!("build = [\"sh\", \"-c\", \"{script}\"]");
    let lines = table.lines().map(|line| if line.starts_with("build = ") { &build } else { line });
    fs::write(kit.join("kit.toml"), lines.collect::<Vec<_>>().join("\n")).unwrap();
    let mut command = touchstone();
    command.arg("--root").arg(&project).args(["bench", "--suite", "smoke", "--case", "get-held"]);
    let record = support::folder();
    let lab = Lab::start(command, record);
    (folder, lab)
}

#[test]
fn a_lab_killed_in_the_middle_of_a_run_takes_its_drivers_with_it() {
    let mut lab = Lab::run(&endless(), &[]);
    lab.wait_for_lines(file::LAUNCHES, 10);
    wait_for("a driver at work", || (!lab.drivers().is_empty()).then_some(()));
    lab.signal("KILL");
    let (status, _) = lab.wait();
    assert_eq!(status.signal(), Some(SIGKILL));
    lab.assert_no_driver_is_left();
    let record = Record::read(&lab.record()).expect("it can be read");
    assert_eq!(record.manifest.status, Status::Running, "it had no time to say more");
    assert!(record.launches.len() >= 10);
    finish(touchstone().arg("judge").arg(lab.record())).succeeded();
    let told = finish(touchstone().args(["report", "--text"]).arg(lab.record())).succeeded().unwrapped();
    assert!(told.contains("still running, or killed"), "{told}");
}

#[test]
fn what_a_killed_lab_left_is_removed_by_the_next_and_a_living_ones_is_not() {
    let mut lab = Lab::run(&endless(), &[]);
    lab.wait_for_lines(file::LAUNCHES, 1);
    let runs = lab.folder.path().to_owned();
    let small = write_plan(&runs, &plan("smoke", &["get-held"], 1));
    let next = |name: &str| {
        let mut command = touchstone();
        command.arg("run").arg(&small).arg("--out").arg(runs.join(name));
        finish(&mut command).succeeded()
    };
    let scratch = lab.record().join("scratch");
    assert!(!next("while-it-lives").stderr.contains("removed"));
    assert!(scratch.exists(), "a living run keeps its own");
    lab.signal("KILL");
    lab.wait();
    assert!(scratch.exists(), "it had no time to remove it");
    let said = next("after-it").stderr;
    let note = format!("removed the scratch folder of a run that was killed: {}", scratch.display());
    assert_eq!(said.lines().filter(|line| *line == note).count(), 1, "{said}");
    assert!(!scratch.exists() && lab.record().join(file::SAMPLES).exists());
}

#[test]
fn two_labs_on_one_machine_are_told_of_each_other() {
    let temporary = folder();
    let own = folder();
    let plan_path = write_plan(own.path(), &endless());
    let mut command = touchstone();
    command.arg("run").arg(plan_path).env("TMPDIR", temporary.path());
    let mut lab = Lab::start(command, own);
    lab.wait_for_lines(file::LAUNCHES, 1);
    let small = folder();
    let path = write_plan(small.path(), &plan("smoke", &["get-held"], 1));
    let run = |name: &str| {
        let record = small.path().join(name);
        let mut command = touchstone();
        command.arg("run").arg(&path).arg("--out").arg(&record).env("TMPDIR", temporary.path());
        let said = finish(&mut command).succeeded().stderr;
        (said, finish(touchstone().args(["report", "--text"]).arg(&record)).succeeded().unwrapped())
    };
    let (said, told) = run("beside");
    let process = format!("(process {})", lab.child.id());
    assert!(
        said.contains("warning: another bench measures on this machine already") && said.contains(&process),
        "{said}"
    );
    assert!(told.contains("CAUTION: another bench measured") && told.contains(&process), "{told}");
    lab.signal("INT");
    let record = lab.assert_interrupted();
    assert_eq!(record.manifest.beside.len(), 1, "who came later disturbed it as well");
    let (said, told) = run("alone");
    assert!(!said.contains("warning") && !told.contains("CAUTION: another"), "{said}{told}");
}

#[test]
fn a_lab_killed_beside_a_subject_that_hangs_takes_it_along() {
    let mut lab = Lab::run(&hanging(), &["--limit", "1200"]);
    lab.wait_for_the_hang();
    lab.signal("KILL");
    lab.wait();
    lab.assert_no_driver_is_left();
    finish(touchstone().arg("judge").arg(lab.record())).succeeded();
}

#[test]
fn a_lab_killed_while_syncs_are_counted_takes_the_recorded_driver_along() {
    // A driver that hangs would not notice by itself that nobody speaks to it any more. This one hangs when traced.
    let scripts = folder();
    let drivers = root().join("kits/rust/target/release");
    let (honest, hanging) = (drivers.join("rusqlite"), drivers.join("canary-hang"));
    let traced = format!(
        "#!/bin/sh\nif grep -q 'TracerPid:.0$' /proc/self/status; then exec {}; else exec {}; fi\n",
        honest.display(),
        hanging.display()
    );
    let script = scripts.path().join("driver");
    fs::write(&script, traced).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    support::build(&plan("canaries", &["hang"], 1));
    let mut plan = plan("canaries", &["syncs"], 1);
    let baseline = plan["cases"][0]["baseline"].clone();
    let arms = support::arms(&mut plan, "canaries/syncs");
    arms.retain(|arm| arm["name"] == baseline);
    arms[0]["program"] = script.to_str().unwrap().into();
    let mut lab = Lab::run(&plan, &["--limit", "1200"]);
    lab.wait_for_lines(file::LAUNCHES, 1);
    lab.wait_for_the_recorded_pass();
    lab.wait_for_the_hang();
    lab.signal("KILL");
    lab.wait();
    lab.assert_no_driver_is_left();
    finish(touchstone().arg("judge").arg(lab.record())).succeeded();
}
