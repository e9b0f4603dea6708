//! Every verb of every driver, once, through the whole pipeline: the suite `smoke` as a user would run it.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use support::{Judged, contents, copy, finish, folder, plan, run_plan, shared_folder, touchstone};
use touchstone::plan::PlannedCase;
use touchstone::record::{Record, Status, file};
use touchstone::sample::{Outcome, Phase, Slice};
use touchstone::verdict::ClaimStatus;

/// The exit status of what the user got wrong.
const USAGE: i32 = 64;

/// Launches of each case: two, so that pairs of launches are told apart.
const LAUNCHES: usize = 2;

/// The suite, run once for all tests.
static SMOKE: LazyLock<Judged> = LazyLock::new(|| {
    let (ended, record) = run_plan(&shared_folder(), &plan("smoke", &[], LAUNCHES), &[]);
    let ended = ended.succeeded();
    assert_eq!(ended.stdout.trim_end(), record.display().to_string());
    Judged::read(&record)
});

fn cases() -> impl Iterator<Item = &'static PlannedCase> {
    SMOKE.record.plan.cases.iter()
}

/// Where a slice stands in its launch: arms that agree here were asked the same.
fn place(case: &PlannedCase, slice: &Slice) -> (usize, String, u32, bool) {
    let second_half = slice.phase == Phase::Measure && slice.position as usize >= case.arms.len();
    let number = if slice.phase == Phase::Measure { slice.block } else { slice.position };
    (slice.launch, format!("{:?}", slice.phase), number, second_half)
}

fn slices(case: &PlannedCase) -> impl Iterator<Item = &'static Slice> {
    SMOKE.record.slices.iter().filter(move |slice| slice.case == case.id)
}

#[test]
fn every_arm_of_every_case_completes_every_launch() {
    for case in cases() {
        for arm in &case.arms {
            let parts = SMOKE.launches(&case.id, &arm.name);
            let launches: Vec<usize> = parts.iter().map(|part| part.launch).collect();
            assert_eq!(launches, Vec::from_iter(0..LAUNCHES), "{} in {}", arm.name, case.id);
            for part in parts {
                assert_eq!((part.outcome, &part.error), (Outcome::Completed, &None), "{part:?}");
            }
        }
    }
}

#[test]
fn no_answer_is_wrong_and_every_planned_slice_was_played() {
    for case in cases() {
        for arm in &case.arms {
            let mine: Vec<&Slice> = slices(case).filter(|slice| slice.arm == arm.name).collect();
            let measured = mine.iter().filter(|slice| slice.phase == Phase::Measure).count();
            assert_eq!(measured, LAUNCHES * case.blocks as usize * 2, "{} in {}", arm.name, case.id);
            for slice in mine {
                assert_eq!(slice.wrong, None, "{} in {}", arm.name, case.id);
                assert!(slice.operations > 0 && slice.wall_ns > 0, "{slice:?}");
            }
        }
    }
}

/// Cases whose answers are records.
const COMPARED: [&str; 9] = [
    "read",
    "read-evicted",
    "get",
    "get-held",
    "object-get-30",
    "object-get-90",
    "object-find",
    "object-update",
    "object-delete",
];

#[test]
fn all_contenders_give_the_same_answers_to_the_same_questions() {
    let mut compared = 0;
    for case in cases().filter(|case| COMPARED.contains(&name(case))) {
        let mut answers: BTreeMap<_, BTreeSet<(&str, u64, &str)>> = BTreeMap::new();
        for slice in slices(case) {
            let lane = &slice.lanes[0];
            assert_ne!(lane.digest, "00000000", "an answer of nothing: {slice:?}");
            answers.entry(place(case, slice)).or_default().insert((&slice.arm, lane.answers, &lane.digest));
        }
        for (place, of_arms) in answers {
            let arms: BTreeSet<&str> = of_arms.iter().map(|(arm, _, _)| *arm).collect();
            let different: BTreeSet<(u64, &str)> =
                of_arms.iter().map(|(_, n, digest)| (*n, *digest)).collect();
            assert_eq!(arms.len(), case.arms.len(), "{} {place:?}", case.id);
            assert_eq!(different.len(), 1, "{} {place:?}: {of_arms:?}", case.id);
            compared += 1;
        }
    }
    assert!(compared >= 50, "only {compared} slices were compared");
}

#[test]
fn gets_ask_for_something_else_in_every_slice() {
    let case = cases().find(|case| name(case) == "get").unwrap();
    let first = slices(case).filter(|slice| slice.arm == case.baseline && slice.launch == 0);
    let digests: Vec<&str> = first.map(|slice| slice.lanes[0].digest.as_str()).collect();
    let different: BTreeSet<&&str> = digests.iter().collect();
    assert_eq!(different.len(), digests.len(), "{digests:?}");
}

#[test]
fn a_plan_run_again_with_its_salt_asks_and_answers_the_same() {
    let folder = folder();
    let salt = SMOKE.record.manifest.salt.to_string();
    let (ended, record) =
        run_plan(folder.path(), &plan("smoke", &["get-held"], 1), &["--salt", salt.as_str()]);
    ended.succeeded();
    let again = Record::read(&record).unwrap();
    let answers = |record: &Record| -> BTreeMap<_, Vec<String>> {
        let case = record.plan.case("smoke/get-held").unwrap();
        let slices = record.slices.iter().filter(|slice| slice.case == case.id && slice.launch == 0);
        let answer = |slice: &Slice| {
            let digests = slice.lanes.iter().map(|lane| lane.digest.clone()).collect();
            ((place(case, slice), slice.arm.clone(), slice.position), digests)
        };
        slices.map(answer).collect()
    };
    assert_eq!(answers(&again), answers(&SMOKE.record));
}

#[test]
fn every_block_is_an_order_and_its_mirror() {
    for case in cases() {
        let mut blocks: BTreeMap<(usize, u32), Vec<(u32, &str)>> = BTreeMap::new();
        for slice in slices(case).filter(|slice| slice.phase == Phase::Measure) {
            blocks.entry((slice.launch, slice.block)).or_default().push((slice.position, &slice.arm));
        }
        assert_eq!(blocks.len(), LAUNCHES * case.blocks as usize);
        for (block, played) in blocks {
            let positions: Vec<u32> = played.iter().map(|(position, _)| *position).collect();
            assert_eq!(positions, Vec::from_iter(0..case.arms.len() as u32 * 2), "{} {block:?}", case.id);
            let order: Vec<&str> = played.iter().map(|(_, arm)| *arm).collect();
            let mirrored: Vec<&str> = order.iter().rev().copied().collect();
            assert_eq!(order, mirrored, "{} {block:?}", case.id);
        }
    }
}

#[test]
fn what_was_acknowledged_is_there_in_the_end() {
    let mut written = 0;
    for part in &SMOKE.record.launches {
        assert_eq!(part.expected, part.found, "{part:?}");
        let case = SMOKE.record.plan.case(&part.case).unwrap();
        let arm = case.arm(&part.arm).unwrap();
        let deletes = arm.lanes.iter().any(|lane| lane.verb.name() == "delete-many");
        let right = if arm.lanes.iter().any(|lane| lane.verb.inserts()) {
            part.found > case.filled
        } else if deletes {
            part.found < case.filled
        } else {
            part.found == case.filled
        };
        assert!(right, "{part:?}");
        written += u32::from(arm.writes());
    }
    assert!(written > 0);
}

#[test]
fn every_arm_of_a_case_with_a_floor_has_its_share_of_it() {
    let with_floor: Vec<&PlannedCase> = cases().filter(|case| case.floor.is_some()).collect();
    assert!(with_floor.len() >= 3);
    for case in with_floor {
        for arm in &case.arms {
            let share = SMOKE.arm(&case.id, &arm.name).floor_share;
            assert!(share.is_some_and(|share| share > 0.0), "{} in {}: {share:?}", arm.name, case.id);
            if Some(&arm.name) == case.floor.as_ref() {
                assert_eq!(share, Some(1.0), "the floor is all of itself");
            }
        }
    }
}

#[test]
fn every_setting_asked_for_took_effect() {
    // Libraries that have none, or do not tell them.
    const WITHOUT: [&str; 1] = ["objectbox"];
    for case in cases() {
        for arm in &case.arms {
            let settings = &SMOKE.arm(&case.id, &arm.name).settings;
            assert_eq!(
                settings.is_empty(),
                WITHOUT.contains(&arm.contender.subject.as_str()),
                "{} in {}",
                arm.name,
                case.id
            );
            for setting in settings {
                assert!(setting.honoured, "{} in {}: {setting:?}", arm.name, case.id);
            }
            for asked in arm.profile_settings.keys() {
                let read_back = settings.iter().find(|setting| setting.name == *asked);
                assert!(
                    read_back.is_some_and(|setting| setting.effective.is_some()),
                    "{asked} of {}",
                    arm.name
                );
            }
        }
    }
}

#[test]
fn every_contender_on_sqlite_says_how_it_does_a_slice() {
    assert!(cases().any(|case| case.restore), "a database that is put back has to be put back for this too");
    for case in
        cases().filter(|case| !["open", "deliver", "deliver-limit", "subscribe"].contains(&name(case)))
    {
        let elsewhere = ["redb", "objectbox"];
        for arm in case.arms.iter().filter(|arm| !elsewhere.contains(&arm.contender.subject.as_str())) {
            let measured = SMOKE.arm(&case.id, &arm.name);
            // An insert of given values has no plan in SQLite.
            let inserts = arm.lanes.iter().all(|lane| lane.verb.inserts());
            // Diesel hands out no connection, and so only the plans of what it is seen to select.
            let unseen = arm.contender.subject == "diesel" && name(case) == "object-update-one";
            let untold = inserts || unseen;
            assert_eq!(measured.plan.is_empty(), untold, "{} in {}: {:?}", arm.name, case.id, measured.plan);
            assert!(!measured.plan.concat().contains("not explained"), "{:?}", measured.plan);
            // Nor does diesel hand out its statements, and the store tells a plan without having run it.
            let uncounted = ["diesel", "store"].contains(&arm.contender.subject.as_str());
            let counted = uncounted || !measured.counters.is_empty();
            assert!(counted, "{} in {}", arm.name, case.id);
        }
    }
}

#[test]
fn arms_share_one_processor_where_none_needs_more() {
    assert!(cases().any(PlannedCase::is_confined) && !cases().all(PlannedCase::is_confined));
    for part in &SMOKE.record.launches {
        let case = SMOKE.record.plan.case(&part.case).unwrap();
        assert_eq!(part.processor.is_some(), case.is_confined(), "{part:?}");
        assert!(!case.is_confined() || part.threads == Some(1), "its profile tells of no threads: {part:?}");
        let same = SMOKE.record.launches.iter().filter(|other| {
            (&other.case, other.launch, other.processor) == (&part.case, part.launch, part.processor)
        });
        assert_eq!(same.count(), case.arms.len(), "all arms of a launch are on the same: {part:?}");
    }
}

#[test]
fn every_subject_introduces_itself_with_its_engine_and_its_program() {
    let met: BTreeSet<&str> =
        SMOKE.record.subjects.iter().map(|met| met.contender.subject.as_str()).collect();
    let planned: BTreeSet<&str> =
        cases().flat_map(|case| &case.arms).map(|arm| arm.contender.subject.as_str()).collect();
    assert_eq!(met, planned);
    for met in &SMOKE.record.subjects {
        assert_eq!(met.hello.subject, met.contender.subject);
        assert!(!met.hello.engine.is_empty() && !met.hello.version.is_empty(), "{met:?}");
        assert_eq!(met.program_crc32.len(), 8, "{met:?}");
    }
}

#[test]
fn the_suites_own_claim_is_decided() {
    let claim = SMOKE.judgement.claims.iter().find(|claim| claim.id == "plan").unwrap();
    assert_eq!(claim.status, ClaimStatus::Holds, "{claim:?}");
}

#[test]
fn too_few_launches_are_never_a_verdict() {
    for comparison in &SMOKE.judgement.comparisons {
        assert_eq!(comparison.verdict.to_string(), "inconclusive", "{comparison:?}");
        assert_eq!(comparison.launches, LAUNCHES, "{comparison:?}");
        assert!(comparison.time_ratio.is_some(), "{comparison:?}");
    }
}

#[test]
fn a_run_leaves_a_whole_record_and_nothing_else() {
    assert_eq!(SMOKE.record.manifest.status, Status::Complete);
    assert_eq!(SMOKE.record.manifest.reason, None);
    let mut expected = vec![
        file::MANIFEST,
        file::PLAN,
        file::ENVIRONMENT,
        file::SAMPLES,
        file::LAUNCHES,
        file::SUBJECTS,
        file::PROBES,
        file::NOISE,
        file::SYNCS,
        file::LATENCY,
        file::STATISTICS,
        file::VERDICT,
    ];
    expected.sort_unstable();
    let folder = folder();
    let record = copied_record(folder.path());
    let _ = fs::remove_file(record.join(file::REPORT));
    assert_eq!(names(&record), expected);
}

#[test]
fn judging_again_gives_the_same_bytes() {
    let folder = folder();
    let record = copied_record(folder.path());
    let judged = |record: &Path| -> [Vec<u8>; 2] {
        [file::STATISTICS, file::VERDICT].map(|name| fs::read(record.join(name)).unwrap())
    };
    let by_the_run = judged(&record);
    for name in [file::STATISTICS, file::VERDICT] {
        fs::remove_file(record.join(name)).unwrap();
    }
    for _ in 0..2 {
        finish(touchstone().arg("judge").arg(&record)).succeeded();
        assert!(judged(&record) == by_the_run, "judging is a pure function of the samples");
    }
}

#[test]
fn judging_changes_nothing_of_what_was_measured() {
    let folder = folder();
    let record = copied_record(folder.path());
    let before = contents(&record);
    finish(touchstone().arg("judge").arg(&record)).succeeded();
    finish(touchstone().arg("report").arg(&record)).succeeded();
    let mut after = contents(&record);
    after.retain(|(path, _)| !path.ends_with(file::REPORT));
    let mut before = before;
    before.retain(|(path, _)| !path.ends_with(file::REPORT));
    assert!(before == after);
}

#[test]
fn a_report_is_one_page_that_names_every_case() {
    let folder = folder();
    let record = copied_record(folder.path());
    let told = finish(touchstone().arg("report").arg(&record)).succeeded();
    assert_eq!(told.stdout.trim_end(), record.join(file::REPORT).display().to_string());
    let page = fs::read_to_string(record.join(file::REPORT)).unwrap();
    for case in cases() {
        assert!(page.contains(&case.title), "{} is not in the page", case.title);
    }
}

#[test]
fn judge_prints_a_summary_and_report_everything() {
    let folder = folder();
    let record = copied_record(folder.path());
    let judge = finish(touchstone().arg("judge").arg(&record)).succeeded();
    let report = finish(touchstone().arg("report").arg("--text").arg(&record)).succeeded();
    assert!(judge.stdout.lines().count() < report.stdout.lines().count());
    for case in cases() {
        let name = case.id.split_once('/').unwrap().1;
        assert!(judge.stdout.contains(&format!("  {name}, ")), "{name} is not in the summary");
        assert!(report.stdout.contains(&case.title), "{} is not in the text", case.title);
    }
}

#[test]
fn the_claims_can_be_pasted_as_tables() {
    let told = finish(touchstone().args(["report", "--markdown"]).arg(&SMOKE.folder)).succeeded();
    for claim in &SMOKE.judgement.claims {
        let row = told.stdout.lines().find(|line| line.contains(&claim.statement));
        assert!(row.is_some_and(|row| row.contains(&format!("| {} |", claim.status))), "{}", told.told());
    }
}

#[test]
fn a_claim_is_pasted_alone_and_an_unknown_one_is_refused_with_those_there_are() {
    let paste = |claim: &str| {
        finish(touchstone().args(["report", "--markdown", "--claim", claim]).arg(&SMOKE.folder))
    };
    let told = paste("smoke/plan").succeeded();
    assert_eq!(told.stdout.lines().filter(|line| line.starts_with("| `")).count(), 1, "{}", told.told());
    paste("smoke/plane")
        .refused(USAGE, &["`smoke/plane`", "did you mean `smoke/plan`? There are smoke/plan, smoke/scaling"]);
    let alone = finish(touchstone().args(["report", "--claim", "smoke/plan"]).arg(&SMOKE.folder));
    alone.refused(USAGE, &["--markdown"]);
}

#[test]
fn json_of_judge_and_report_is_the_verdict_on_disk() {
    let folder = folder();
    let record = copied_record(folder.path());
    let on_disk: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(record.join(file::VERDICT)).unwrap()).unwrap();
    for verb in ["judge", "report"] {
        let told = finish(touchstone().args(["--json", verb]).arg(&record)).succeeded();
        assert_eq!(told.json(), on_disk, "{verb}");
    }
}

#[test]
fn bench_plans_runs_judges_and_reports_in_one_go() {
    let folder = folder();
    let record = folder.path().join("record");
    let bench = ["--json", "bench", "--suite", "smoke", "--case", "get-held", "--contender", "redb", "--out"];
    let told = finish(touchstone().args(bench).arg(&record)).succeeded().json();
    let judged = Judged::read(&record);
    assert_eq!(told["record"], record.display().to_string());
    assert_eq!(told["report"], record.join(file::REPORT).display().to_string());
    assert!(record.join(file::REPORT).exists());
    assert_eq!(told["judgement"], serde_json::to_value(&judged.judgement).unwrap());
    assert_eq!(told["statistics"], serde_json::to_value(&judged.statistics).unwrap());
    let arms: Vec<&str> = judged.statistics.cases[0].arms.iter().map(|arm| arm.arm.as_str()).collect();
    assert_eq!(arms, ["rusqlite@wal-normal", "redb@immediate"], "the baseline and who was asked for");
    let launches = judged.arm("smoke/get-held", "redb@immediate").launches.len();
    assert!(launches == 8 || launches == 12, "{launches} launches are no look");
}

#[test]
fn bench_prints_a_summary_and_where_things_are() {
    let folder = folder();
    let record = folder.path().join("record");
    let bench = ["bench", "--suite", "smoke", "--case", "get-held", "--contender", "rusqlite", "--out"];
    let told = finish(touchstone().args(bench).arg(&record)).succeeded().stdout;
    assert!(told.contains("  get-held, against rusqlite@wal-normal"), "{told}");
    assert!(told.contains(&format!("Report: {}", record.join(file::REPORT).display())), "{told}");
    assert!(told.contains(&format!("Record: {}", record.display())), "{told}");
}

#[test]
fn bench_tells_of_each_suite_before_the_next_and_ends_with_the_gist() {
    let folder = folder();
    let record = folder.path().join("record");
    let mut command = touchstone();
    command.args([
        "bench",
        "--suite",
        "smoke",
        "--suite",
        "calibrate",
        "--case",
        "smoke/get-held",
        "--case",
        "calibrate/read",
    ]);
    let ended = finish(command.arg("--out").arg(&record)).succeeded();
    let heads: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("Touchstone: ")).collect();
    assert_eq!(heads.len(), 3, "each suite, and the whole: {}", ended.told());
    assert_eq!(heads[2], "Touchstone: smoke and calibrate");
    let place =
        |wanted: &str| ended.stdout.find(wanted).unwrap_or_else(|| panic!("{wanted}: {}", ended.told()));
    assert!(place("  get-held, against") < place("Report: ") && place("  read, against") < place("Report: "));
    let judged = Judged::read(&record);
    assert_eq!(judged.record.manifest.status, Status::Complete);
    assert_eq!(judged.record.plan.suites.len(), 2, "one record for all");
    assert!(record.join(file::REPORT).exists() && !record.join("scratch").exists());
}

#[test]
fn run_says_where_the_record_is_as_json_too() {
    let folder = folder();
    let (ended, record) = run_plan(folder.path(), &plan("smoke", &["get-held"], 1), &["--json"]);
    assert_eq!(ended.succeeded().json()["record"], record.display().to_string());
}

#[test]
fn a_root_may_be_relative() {
    let folder = folder();
    let root = support::root();
    let plan = support::write_plan(folder.path(), &plan("smoke", &["get-held"], 1));
    let record = folder.path().join("record");
    let mut command = touchstone();
    command.current_dir(root.parent().unwrap()).arg("--root").arg(root.file_name().unwrap());
    finish(command.arg("run").arg(plan).arg("--out").arg(&record)).succeeded();
    let judged = Judged::read(&record);
    assert!(judged.record.launches.iter().all(|part| part.outcome == Outcome::Completed));
}

#[test]
fn a_folder_for_scratch_keeps_what_was_in_it() {
    let folder = folder();
    let scratch = folder.path().join("disk");
    fs::create_dir(&scratch).unwrap();
    fs::write(scratch.join("precious"), "mine").unwrap();
    let disk = scratch.to_str().unwrap();
    let (ended, record) = run_plan(folder.path(), &plan("smoke", &["get-held"], 1), &["--scratch", disk]);
    ended.succeeded();
    assert_eq!(names(&scratch), ["precious"], "the databases are gone, the user's files are not");
    assert_eq!(fs::read_to_string(scratch.join("precious")).unwrap(), "mine");
    assert!(!record.join("scratch").exists());
}

#[test]
fn counts_that_the_plan_leaves_open_are_calibrated_and_have_latencies() {
    let mut plan = plan("calibrate", &["get"], 1);
    plan["cases"][0]["blocks"] = 1.into();
    let folder = folder();
    let (ended, record) = run_plan(folder.path(), &plan, &[]);
    ended.succeeded();
    let judged = Judged::read(&record);
    let counts: BTreeSet<u64> = judged.record.launches.iter().map(|part| part.calibrated).collect();
    assert_eq!(counts.len(), 1, "the same count for all");
    assert!(counts.iter().all(|count| *count > 1), "{counts:?}");
    for arm in &judged.statistics.cases[0].arms {
        let latency = arm.latency.as_ref().expect("every operation was timed");
        assert_eq!(latency.operations, judged.record.latencies.values().next().unwrap().len() as u64);
        assert!(latency.operations >= 1_000, "{}", latency.operations);
    }
}

/// The shared record, to be changed.
fn copied_record(folder: &Path) -> std::path::PathBuf {
    let record = folder.join("record");
    copy(&SMOKE.folder, &record);
    record
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

fn name(case: &PlannedCase) -> &str {
    case.id.split('/').next_back().unwrap_or_default()
}
