//! What the tests of the whole pipeline share: the real program with the real kits, folders that go away, records to
//! look into, and waiting for something to happen instead of sleeping.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use touchstone::estimate::{ArmStatistics, Statistics};
use touchstone::plan::Plan;
use touchstone::record::{Record, file, read_json};
use touchstone::sample::{Launch, SyncCount};
use touchstone::verdict::{Comparison, Judgement};
use touchstone_runner::kits::Project;

/// Far more than anything here takes: reached only by what never happens.
const DEADLINE: Duration = Duration::from_secs(120);

/// How often is looked for what is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project is there")
}

/// The command, in the project's folder.
pub fn touchstone() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone"));
    // A panic is to be seen as one.
    command.current_dir(root()).stdin(Stdio::null()).env("RUST_BACKTRACE", "1");
    command
}

/// Runs the command with these arguments to its end.
pub fn run<A: AsRef<OsStr>>(arguments: &[A]) -> Ended {
    finish(touchstone().args(arguments))
}

/// Runs a command to its end.
pub fn finish(command: &mut Command) -> Ended {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    Ended::of(format!("{command:?}"), output.expect("the program starts"))
}

/// How a command ended, and what it said.
pub struct Ended {
    pub command: String,
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn of(command: String, output: Output) -> Ended {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it speaks UTF-8");
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Ended { command, status: output.status.code(), stdout, stderr }
    }

    /// It ended well.
    #[track_caller]
    pub fn succeeded(self) -> Ended {
        assert_eq!(self.status, Some(0), "{}", self.told());
        self.assert_calm();
        self
    }

    /// It ended with this status and one error that says all of `words`; nothing went to standard output.
    #[track_caller]
    pub fn refused(&self, status: i32, words: &[&str]) {
        assert_eq!(self.status, Some(status), "{}", self.told());
        self.assert_calm();
        assert_eq!(self.stdout, "", "an error leaves standard output alone: {}", self.told());
        let begins = |line: &&str| line.starts_with("touchstone: ") || line.starts_with("error: ");
        assert_eq!(self.stderr.lines().filter(begins).count(), 1, "one error: {}", self.told());
        for wanted in words {
            assert!(self.stderr.contains(wanted), "it must say `{wanted}`: {}", self.told());
        }
    }

    /// Nothing panicked.
    #[track_caller]
    pub fn assert_calm(&self) {
        for wrong in ["panicked", "stack backtrace", "RUST_BACKTRACE", "unwrap()"] {
            assert!(!self.stderr.contains(wrong) && !self.stdout.contains(wrong), "{}", self.told());
        }
    }

    /// The one JSON document on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.told()))
    }

    /// Standard output without its line ends, which depend on how long the paths in it are.
    pub fn unwrapped(&self) -> String {
        self.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Everything it said, for a failed assertion.
    pub fn told(&self) -> String {
        format!("{} ended with {:?}\n{}\n{}", self.command, self.status, self.stdout, self.stderr)
    }
}

/// An empty folder on the disk that cargo builds on; gone when dropped.
pub fn folder() -> TempDir {
    let parent = env!("CARGO_TARGET_TMPDIR");
    tempfile::Builder::new()
        .prefix("touchstone-")
        .tempdir_in(parent)
        .expect("cargo made its folder for tests")
}

/// A folder for what the tests of this program share. It outlives them, so the next test program removes it.
pub fn shared_folder() -> PathBuf {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let prefix = "shared-by-";
    for entry in fs::read_dir(parent).expect("cargo made its folder for tests").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(prefix).and_then(|rest| rest.split('-').next());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            // Another test program may be as quick to remove it.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let prefix = format!("{prefix}{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).expect("it can be made").keep()
}

/// The plan of a suite, cut to these cases (all, for none) and looked at after `launches` launches.
pub fn plan(suite: &str, cases: &[&str], launches: usize) -> Value {
    let mut arguments = vec!["plan", "--suite", suite];
    arguments.extend(cases.iter().flat_map(|case| ["--case", case]));
    let mut plan = run(&arguments).succeeded().json();
    plan["looks"] = serde_json::json!([launches]);
    plan
}

/// The arms of a planned case.
pub fn arms<'p>(plan: &'p mut Value, case: &str) -> &'p mut Vec<Value> {
    let cases = plan["cases"].as_array_mut().expect("a plan has cases");
    let case = cases.iter_mut().find(|known| known["id"] == case).unwrap_or_else(|| panic!("no case {case}"));
    case["arms"].as_array_mut().expect("a case has arms")
}

/// Keeps a plan where `touchstone run` can read it.
pub fn write_plan(folder: &Path, plan: &Value) -> PathBuf {
    let path = folder.join("plan.json");
    fs::write(&path, plan.to_string()).expect("the plan can be written");
    path
}

/// Builds every driver of a plan that a kit has.
pub fn build(plan: &Value) {
    let plan = Plan::parse(&plan.to_string(), "the plan").expect("it is a plan");
    let project = Project::open(Some(&root())).expect("the project is there");
    let plan = project.at_hand(&plan).expect("what others are compared with can be built");
    project.build(&plan, &AtomicBool::new(false), |_| ()).expect("its drivers can be built");
}

/// `touchstone run` of a plan, with its record in `folder/record`.
pub fn run_plan(folder: &Path, plan: &Value, more: &[&str]) -> (Ended, PathBuf) {
    let record = folder.join("record");
    let path = write_plan(folder, plan);
    let ended = finish(touchstone().arg("run").arg(path).arg("--out").arg(&record).args(more));
    (ended, record)
}

/// A judged record.
pub struct Judged {
    pub folder: PathBuf,
    pub record: Record,
    pub statistics: Statistics,
    pub judgement: Judgement,
}

impl Judged {
    #[track_caller]
    pub fn read(folder: &Path) -> Judged {
        Judged {
            folder: folder.to_owned(),
            record: Record::read(folder).expect("the record can be read"),
            statistics: read_json(&folder.join(file::STATISTICS)).expect("it was judged"),
            judgement: read_json(&folder.join(file::VERDICT)).expect("it was judged"),
        }
    }

    /// An arm's parts in the launches of a case.
    pub fn launches(&self, case: &str, arm: &str) -> Vec<&Launch> {
        let parts: Vec<&Launch> =
            self.record.launches.iter().filter(|part| part.case == case && part.arm == arm).collect();
        assert!(!parts.is_empty(), "{arm} has no launch of {case}");
        parts
    }

    pub fn arm(&self, case: &str, arm: &str) -> &ArmStatistics {
        let found = self.statistics.cases.iter().find(|known| known.case == case);
        let found = found.and_then(|known| known.arms.iter().find(|known| known.arm == arm));
        found.unwrap_or_else(|| panic!("no {arm} in {case}"))
    }

    pub fn comparison(&self, case: &str, arm: &str) -> &Comparison {
        let found = self.judgement.comparisons.iter().find(|known| known.case == case && known.arm == arm);
        found.unwrap_or_else(|| panic!("{arm} is not compared in {case}"))
    }

    pub fn syncs(&self, case: &str, arm: &str) -> &SyncCount {
        let found = self.record.syncs.iter().find(|known| known.case == case && known.arm == arm);
        found.unwrap_or_else(|| panic!("the syncs of {arm} in {case} were not counted"))
    }
}

/// Waits until `look` finds something, however long that takes.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        // Between two looks the processor belongs to whom the test waits for.
        std::thread::park_timeout(LOOK_EVERY);
    }
}

/// The files below a folder with their contents, to see whether anything changed. What a program that works there has removed between the
/// listing and the look is passed over.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let listed = there(fs::read_dir(&folder)).into_iter().flatten().flatten();
        for path in listed.map(|entry| entry.path()) {
            if path.is_dir() {
                found.push((path.clone(), Vec::new()));
                folders.push(path);
            } else if let Some(contents) = there(fs::read(&path)) {
                found.push((path, contents));
            }
        }
    }
    found.sort();
    found
}

/// What was read, unless it is not there any more.
fn there<T>(read: std::io::Result<T>) -> Option<T> {
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        read => Some(read.expect("it can be read")),
    }
}

/// Lets a record say that it is partial.
pub fn call_partial(record: &Path) {
    let path = record.join(file::MANIFEST);
    let mut manifest: Value = read_json(&path).expect("it has a manifest");
    manifest["status"] = "partial".into();
    fs::write(path, manifest.to_string()).expect("it can be written");
}

/// Copies a folder with everything in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("the folder can be read").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("the file can be copied");
        }
    }
}
