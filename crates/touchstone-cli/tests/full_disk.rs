//! A disk that fills up: under the record it ends the lab with one error and leaves what was measured; under a
//! database it is a result like any other.
//!
//! Small disks are memory mounted in a namespace of the test's own, which needs no privilege. Where a system does not
//! give namespaces to its users, those tests say so and prove nothing; `/dev/full` is everywhere.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{Ended, Judged, build, finish, folder, plan, touchstone, wait_for, write_plan};
use tempfile::TempDir;
use touchstone::record::{Record, Status, file};
use touchstone::sample::Outcome;
use touchstone::verdict::Verdict;

const IO: i32 = 74;

/// What the kernel says.
const FULL: &str = "No space left on device";

/// How a shell says that its namespace may not mount.
const NO_MOUNT: i32 = 99;

/// A run in which one of record and scratch is on a disk of this size, the other on a large one.
struct SmallDisk {
    folder: TempDir,
    ended: Ended,
}

impl SmallDisk {
    /// None where this system mounts nothing for its users.
    fn run(size: &str, plan: &Path, record_on_it: bool) -> Option<SmallDisk> {
        let folder = folder();
        // When the run is over, the user makes room, judges, and takes the record home.
        let script = "mount -t tmpfs -o size=$SIZE none \"$DISK\" || exit 99\n\
            \"$TOUCHSTONE\" run \"$PLAN\" --out \"$RECORD\" --scratch \"$SCRATCH\"; status=$?\n\
            ls \"$SCRATCH\" > \"$HOME_FOLDER/left\"\n\
            mount -o remount,size=64m none \"$DISK\" || exit 99\n\
            [ $status = 0 ] || \"$TOUCHSTONE\" judge \"$RECORD\" > \"$HOME_FOLDER/judged\" 2>&1\n\
            cp -r \"$RECORD\" \"$HOME_FOLDER/record\"\n\
            exit $status\n";
        let [disk, elsewhere, home] = ["disk", "elsewhere", "home"].map(|name| folder.path().join(name));
        for path in [&disk, &elsewhere, &home] {
            fs::create_dir(path).unwrap();
        }
        let (record, scratch) = if record_on_it { (&disk, &elsewhere) } else { (&elsewhere, &disk) };
        let mut shell = Command::new("unshare");
        shell.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).stdin(Stdio::null());
        shell.env("SIZE", size).env("DISK", &disk).env("HOME_FOLDER", &home).env("PLAN", plan);
        shell.env("TOUCHSTONE", env!("CARGO_BIN_EXE_touchstone")).env("RUST_BACKTRACE", "1");
        shell.env("RECORD", record.join("record")).env("SCRATCH", scratch).current_dir(support::root());
        let ended = finish(&mut shell);
        if ended.status == Some(NO_MOUNT) || ended.stderr.starts_with("unshare: ") {
            eprintln!("nothing is proved: this system mounts nothing for its users: {}", ended.stderr);
            return None;
        }
        Some(SmallDisk { folder, ended })
    }

    /// The record, brought home.
    fn record(&self) -> PathBuf {
        self.folder.path().join("home/record")
    }

    #[track_caller]
    fn assert_scratch_is_empty(&self) {
        assert_eq!(fs::read_to_string(self.folder.path().join("home/left")).unwrap(), "");
    }
}

/// A suite of rows that fill a small disk, and of few that do not, planned for one launch.
fn plan_of_rows(folder: &Path, case: &str) -> PathBuf {
    let suite = format!(
        "# A suite for one test.\nname = \"rows\"\ntitle = \"Rows\"\nsource = \"a test\"\ndevice = \"none\"\n\
         [[dataset]]\nname = \"many\"\nrecord = \"row\"\nvalue_bytes = 1000\nrecords = 3000\n\
         [[dataset]]\nname = \"few\"\nrecord = \"row\"\nvalue_bytes = 100\nrecords = 20\n\
         {case}\n\
         [[case]]\nid = \"few\"\ntitle = \"Few\"\ndataset = \"few\"\nlanes = [{{ verb = \"read-all\" }}]\n\
         blocks = 1\nbaseline = \"rusqlite@wal-normal\"\narms = [\"rusqlite@wal-normal\", \"sqlite-c@wal-normal\"]\n"
    );
    let path = folder.join("rows.toml");
    fs::write(&path, suite).unwrap();
    write_plan(folder, &plan(path.to_str().unwrap(), &[], 1))
}

#[test]
fn a_record_that_cannot_be_written_ends_the_lab_and_can_be_read() {
    let folder = folder();
    let plan = plan("smoke", &["write", "read", "open"], 4);
    // What is waited for below is a launch, not the build of an engine.
    build(&plan);
    let plan = write_plan(folder.path(), &plan);
    let record = folder.path().join("record");
    let mut lab = touchstone();
    lab.arg("run").arg(plan).arg("--out").arg(&record).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = lab.spawn().unwrap();
    // The disk fills up in the middle of the run: a file that comes later goes where nothing can be written.
    let launches = record.join(file::LAUNCHES);
    wait_for("a launch", || (!fs::read(&launches).ok()?.is_empty()).then_some(()));
    symlink("/dev/full", record.join(file::SYNCS)).unwrap();
    let ended = Ended::of("touchstone run".into(), child.wait_with_output().unwrap());
    ended.refused(IO, &["cannot write", "syncs.jsonl", FULL, "free some space", "--out", "--scratch"]);
    assert!(!record.join("scratch").exists());
    fs::remove_file(record.join(file::SYNCS)).unwrap();
    let read = Record::read(&record).unwrap();
    assert_eq!(read.manifest.status, Status::Partial);
    assert!(
        read.manifest.reason.as_deref().is_some_and(|reason| reason.contains(FULL)),
        "{:?}",
        read.manifest
    );
    assert!(!read.slices.is_empty() && !read.launches.is_empty());
    let told = finish(touchstone().arg("judge").arg(&record)).succeeded().unwrapped();
    assert!(told.contains("PARTIAL") && told.contains(FULL), "{told}");
}

#[test]
fn a_disk_that_fills_up_under_the_record_ends_the_lab_and_keeps_what_was_measured() {
    let folder = folder();
    let plan = write_plan(folder.path(), &plan("smoke", &["get-held"], 10_000));
    let Some(disk) = SmallDisk::run("160k", &plan, true) else { return };
    disk.ended.refused(IO, &["cannot write", "/disk/record/", FULL, "free some space", "--out"]);
    disk.assert_scratch_is_empty();
    let judged = Judged::read(&disk.record());
    assert_ne!(judged.record.manifest.status, Status::Complete);
    assert!(!judged.record.launches.is_empty(), "whole launches were kept");
    let told = fs::read_to_string(disk.folder.path().join("home/judged")).unwrap();
    assert!(told.contains("PARTIAL"), "{told}");
}

#[test]
fn a_disk_too_small_for_the_plan_is_one_error_and_no_record() {
    let folder = folder();
    let plan = write_plan(folder.path(), &plan("smoke", &["get-held"], 1));
    let Some(disk) = SmallDisk::run("4k", &plan, true) else { return };
    disk.ended.refused(IO, &["cannot write the record", "/disk/record", FULL, "--out"]);
    assert!(!disk.ended.stderr.contains("building"), "{}", disk.ended.told());
    disk.assert_scratch_is_empty();
    let error = Record::read(&disk.record()).unwrap_err().to_string();
    assert!(error.contains("no record here"), "{error}");
}

#[test]
fn a_disk_too_small_for_the_data_ends_the_lab_with_the_remedy() {
    let folder = folder();
    let case = "[[case]]\nid = \"many\"\ntitle = \"Many\"\ndataset = \"many\"\nlanes = [{ verb = \"read-all\" }]\n\
        blocks = 1\nbaseline = \"rusqlite@wal-normal\"\narms = [\"rusqlite@wal-normal\"]";
    let plan = plan_of_rows(folder.path(), case);
    let Some(disk) = SmallDisk::run("2m", &plan, false) else { return };
    disk.ended.refused(IO, &["rows.many.row.", ".dataset", FULL, "free some space", "--scratch"]);
    disk.assert_scratch_is_empty();
    let read = Record::read(&disk.record()).unwrap();
    assert_eq!(read.manifest.status, Status::Partial);
    assert!(
        read.manifest.reason.as_deref().is_some_and(|reason| reason.contains(FULL)),
        "{:?}",
        read.manifest
    );
}

#[test]
fn a_database_that_finds_no_room_is_a_failed_arm_and_the_others_go_on() {
    let folder = folder();
    let case = "[[case]]\nid = \"many\"\ntitle = \"Many\"\ndataset = \"many\"\nlanes = [{ verb = \"read-all\" }]\n\
        blocks = 1\nbaseline = \"rusqlite@wal-normal\"\narms = [\"rusqlite@wal-normal\", \"sqlite-c@wal-normal\"]";
    let plan = plan_of_rows(folder.path(), case);
    let Some(disk) = SmallDisk::run("5m", &plan, false) else { return };
    assert_eq!(disk.ended.status, Some(0), "{}", disk.ended.told());
    disk.ended.assert_calm();
    let judged = Judged::read(&disk.record());
    assert_eq!(judged.record.manifest.status, Status::Complete);
    for arm in ["rusqlite@wal-normal", "sqlite-c@wal-normal"] {
        let part = judged.launches("rows/many", arm)[0];
        assert_eq!(part.outcome, Outcome::Failed, "{part:?}");
        let error = part.error.as_deref().unwrap_or_default();
        assert!(error.contains("while making its database") && error.ends_with("(full)"), "{part:?}");
        assert_eq!(judged.launches("rows/few", arm)[0].outcome, Outcome::Completed);
    }
    let comparison = judged.comparison("rows/many", "sqlite-c@wal-normal");
    assert_eq!(comparison.verdict, Verdict::Incomparable, "{comparison:?}");
    assert!(comparison.reasons.iter().any(|reason| reason.contains("full")), "{comparison:?}");
}

#[test]
fn commits_that_find_no_room_are_counted_and_make_the_arm_incomparable() {
    let folder = folder();
    let case = "[[case]]\nid = \"many\"\ntitle = \"Many\"\ndataset = \"many\"\nfilled = 0\ncache = \"warm\"\n\
        lanes = [{ verb = \"insert-one\", count = 100 }]\nblocks = 10\nbaseline = \"rusqlite@wal-normal\"\n\
        arms = [\"rusqlite@wal-normal\", \"canary-nothing@default\"]";
    let plan = plan_of_rows(folder.path(), case);
    let Some(disk) = SmallDisk::run("11m", &plan, false) else { return };
    assert_eq!(disk.ended.status, Some(0), "{}", disk.ended.told());
    disk.ended.assert_calm();
    let judged = Judged::read(&disk.record());
    let arm = judged.arm("rows/many", "rusqlite@wal-normal");
    assert!(arm.errors.get("full").is_some_and(|failed| *failed > 0), "{:?}", arm.errors);
    assert_eq!(arm.errors.len(), 1, "{:?}", arm.errors);
    assert!(arm.found > 0, "what was committed before is there");
    assert_eq!(arm.missing, arm.errors["full"], "what was refused is not there, and nothing else");
    let comparison = judged.comparison("rows/many", "canary-nothing@default");
    let reasons = comparison.reasons.join("\n");
    assert!(reasons.contains(" full), the first with: "), "{reasons}");
    assert!(reasons.contains("database or disk is full"), "the engine's own words: {reasons}");
    assert_eq!(judged.launches("rows/few", "rusqlite@wal-normal")[0].outcome, Outcome::Completed);
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let output = touchstone().arg("list").stdout(full()).stderr(Stdio::piped()).output().unwrap();
    Ended::of("touchstone list > /dev/full".into(), output).refused(IO, &[FULL]);
}

#[test]
fn a_record_that_can_only_be_read_is_told_how_to_be_judged() {
    let folder = folder();
    let (ended, record) = support::run_plan(folder.path(), &plan("smoke", &["get-held"], 1), &[]);
    ended.succeeded();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let script = "mount -t tmpfs -o size=8m none \"$DISK\" || exit 99\n\
        cp -r \"$RECORD\" \"$DISK/record\"\n\
        mount -o remount,ro none \"$DISK\" || exit 99\n\
        \"$TOUCHSTONE\" report \"$DISK/record\" --text > \"$RECORD/told\" || exit 98\n\
        \"$TOUCHSTONE\" judge \"$DISK/record\"\n";
    let mut shell = Command::new("unshare");
    shell.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).stdin(Stdio::null());
    shell.env("DISK", &disk).env("RECORD", &record).env("TOUCHSTONE", env!("CARGO_BIN_EXE_touchstone"));
    let ended = finish(&mut shell);
    if ended.status == Some(NO_MOUNT) || ended.stderr.starts_with("unshare: ") {
        eprintln!("nothing is proved: this system mounts nothing for its users: {}", ended.stderr);
        return;
    }
    ended.refused(IO, &["cannot write", "statistics.json", "copy the record", "touchstone judge"]);
    assert!(!ended.stderr.contains("--out"), "judge has no --out: {}", ended.told());
    assert!(
        fs::read_to_string(record.join("told")).unwrap().contains("smoke"),
        "what needs no place is told"
    );
}
