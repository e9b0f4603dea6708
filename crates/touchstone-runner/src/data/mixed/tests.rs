//! Mixed load against a model worked out here: a map of rows, played from the files that kits read.

use crate::data::tests::small;
use crate::data::{CaseData, Datasets};
use crate::random::Seeds;
use std::collections::BTreeMap;
use touchstone::plan::{MIXED, PlannedCase, Start};
use touchstone_protocol::{Digest, Lane, LaneSample, Row, WRITES_STATE, read_dataset, read_operations};

const SUITE: &str = r#"
[[dataset]]
name = "rows"
record = "row"
records = 50
value_bytes = 10
[[case]]
id = "mix"
title = "Mix"
dataset = "rows"
cache = "warm"
lanes = [{ verb = "mix", reads = 70, count = 30 }, { verb = "mix", reads = 70, count = 30, transaction = 4 }]
baseline = "one@plain"
arms = ["one@plain"]
"#;

/// A case's data, and what the model holds of it.
struct Scene {
    case: PlannedCase,
    data: CaseData,
    operations: Vec<u32>,
    states: Vec<Row>,
    rows: BTreeMap<i64, Row>,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn of(suite: &str) -> Scene {
        let case = small::plan(suite, &small::choice()).expect("it can be planned").cases.remove(0);
        let folder = tempfile::tempdir().expect("there is room");
        let seeds = Seeds { seed: 7, salt: 3 };
        let data =
            CaseData::generate(&case, seeds, folder.path(), &mut Datasets::default()).expect("there is room");
        let rows: Vec<Row> = read_dataset(&data.dataset_file()).expect("it was written");
        Scene {
            operations: read_operations(&data.operations_file).expect("it was written"),
            states: read_dataset(&data.states_file().expect("there are states")).expect("it was written"),
            rows: rows.into_iter().map(|row| (row.key, row)).collect(),
            case,
            data,
            _folder: folder,
        }
    }

    fn lanes(&self, operation: u64) -> Vec<Lane> {
        self.case.lanes_at(&self.case.arms[0], Start { operation, state: 0 }, 1)
    }

    /// Plays so many operations of a lane on the model, round and round: what it gets, and how many updates change nothing.
    fn play(&mut self, lane: &Lane, operations: u64) -> (LaneSample, u64) {
        let (mut digest, mut same) = (Digest::default(), 0);
        for place in 0..operations {
            let operation = self.operations[(lane.from + place % lane.count) as usize];
            if operation & WRITES_STATE == 0 {
                digest.add(&self.rows[&i64::from(operation)]);
            } else {
                let state = &self.states[(operation & !WRITES_STATE) as usize];
                same += u64::from(self.rows.insert(state.key, state.clone()).as_ref() == Some(state));
            }
        }
        let answer = LaneSample { answers: operations, digest: digest.to_string(), ..LaneSample::default() };
        (answer, same)
    }
}

#[test]
fn each_lane_must_find_what_it_wrote_itself() {
    let mut scene = Scene::of(SUITE);
    let mut contents = scene.data.contents();
    for slice in 0..40 {
        let lanes = scene.lanes(slice * 30);
        for lane in &lanes {
            let (right, same) = scene.play(lane, 30);
            assert_eq!(same, 0, "an update writes another state than is there");
            assert_eq!(scene.data.wrong(&contents, lane, &lanes, &right), None);
            let short = LaneSample { answers: 29, ..right.clone() };
            assert!(
                scene.data.wrong(&contents, lane, &lanes, &short).is_some_and(|why| why.contains("29 of 30"))
            );
            let other = LaneSample { digest: "00c0ffee".into(), ..right.clone() };
            assert!(
                scene.data.wrong(&contents, lane, &lanes, &other).is_some_and(|why| why.contains("digest"))
            );
            scene.data.play(&mut contents, lane, &right);
        }
    }
    let all = Digest::of(scene.rows.values());
    assert_eq!(scene.data.content(&contents, 1), Some((50, all.to_string())));
}

#[test]
fn lanes_share_no_record_and_mix_as_they_say() {
    let scene = Scene::of(SUITE);
    let key = |operation: &u32| match operation & WRITES_STATE {
        0 => i64::from(*operation),
        _ => scene.states[(operation & !WRITES_STATE) as usize].key,
    };
    let lanes: Vec<&[u32]> = scene.operations.chunks(MIXED as usize).collect();
    assert_eq!(lanes.len(), 2);
    assert!(lanes[0].iter().all(|operation| key(operation) < 25));
    assert!(lanes[1].iter().all(|operation| key(operation) >= 25));
    for lane in lanes {
        let reads = lane.iter().filter(|operation| *operation & WRITES_STATE == 0).count() as u64;
        assert_eq!(reads, MIXED * 70 / 100);
    }
}

#[test]
fn reads_come_first_where_the_case_says_so() {
    let scene = Scene::of(&SUITE.replace("reads = 70", "reads = 70, reads_first = true"));
    let writes = |operation: &u32| operation & WRITES_STATE != 0;
    let first = scene.operations[..MIXED as usize].iter().position(writes).expect("some write");
    assert_eq!(first as u64, MIXED * 70 / 100);
    assert!(scene.operations[first..MIXED as usize].iter().all(writes));
}

#[test]
fn a_lane_by_the_clock_goes_round_and_says_how_far_it_came() {
    let mut scene = Scene::of(&SUITE.replace("count = 30", "lasts_ms = 5"));
    let mut contents = scene.data.contents();
    let lanes = scene.lanes(0);
    // The last is a get in both lanes: without it the digest is another.
    let is_get = |lane: &Lane, place: u64| scene.operations[(lane.from + place) as usize] & WRITES_STATE == 0;
    let rest = (17..).find(|rest| lanes.iter().all(|lane| is_get(lane, rest - 1))).expect("most are gets");
    let played = MIXED * 2 + rest;
    let commits =
        scene.data.commits(&lanes, &vec![LaneSample { played: Some(played), ..LaneSample::default() }; 2]);
    let writing = |operations: &[u32], transaction: usize| {
        let writes = |part: &&[u32]| part.iter().any(|operation| operation & WRITES_STATE != 0);
        operations.chunks(transaction).filter(writes).count() as u64
    };
    let mut expected = 0;
    for (lane, transaction) in lanes.iter().zip([1, 4]) {
        let round = &scene.operations[lane.from as usize..(lane.from + lane.count) as usize];
        expected += writing(round, transaction) * 2 + writing(&round[..rest as usize], transaction);
        let (right, same) = scene.play(lane, played);
        // A flag of the first full record: SQLite wrote a quarter of what it should, for most updates wrote what was there.
        assert!(same <= 3, "{same} updates change nothing; the one of an odd number may, once a round");
        let right = LaneSample { played: Some(played), wall_ns: 1_000_000_000, ..right };
        assert_eq!(scene.data.wrong(&contents, lane, &lanes, &right), None);
        let less = LaneSample { played: Some(played - 1), answers: played - 1, ..right.clone() };
        let missing = LaneSample { played: None, ..right.clone() };
        let sooner = LaneSample { wall_ns: played * 19, ..right.clone() };
        for (wrong, part) in [(less, "digest"), (missing, "how much it played"), (sooner, "that it played")] {
            let why = scene.data.wrong(&contents, lane, &lanes, &wrong).expect("it is wrong");
            assert!(why.contains(part), "{why}");
        }
        scene.data.play(&mut contents, lane, &right);
    }
    // A driver that says so would keep the lab busy for years.
    let endless =
        LaneSample { played: Some(1 << 53), answers: 1 << 53, wall_ns: 1_000, ..LaneSample::default() };
    let mut doubted = contents.clone();
    scene.data.play(&mut doubted, &lanes[0], &endless);
    assert!(!doubted.is_certain());
    assert_eq!(commits, Some(expected));
    let all = Digest::of(scene.rows.values());
    assert_eq!(scene.data.content(&contents, 1), Some((50, all.to_string())));
}

/// A transaction that failed left nobody knows what: nothing is judged after it.
#[test]
fn what_failed_is_counted_and_excuses_no_answer_too_many() {
    let scene = Scene::of(SUITE);
    let mut contents = scene.data.contents();
    let lanes = scene.lanes(0);
    let failed = |answers| LaneSample {
        answers,
        errors: BTreeMap::from([("busy".to_owned(), 4)]),
        digest: "00c0ffee".into(),
        ..LaneSample::default()
    };
    assert_eq!(scene.data.wrong(&contents, &lanes[1], &lanes, &failed(26)), None);
    let why = scene.data.wrong(&contents, &lanes[1], &lanes, &failed(27)).expect("they are too many");
    assert!(why.contains("27 of 30"), "{why}");
    scene.data.play(&mut contents, &lanes[1], &failed(26));
    assert!(!contents.is_certain());
}
