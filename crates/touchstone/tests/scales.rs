//! A case with scales becomes a case for each, and what its lanes leave open is settled from the number of records.

use touchstone::kit::{Kit, Kits};
use touchstone::plan::{Choice, Plan, PlannedCase, Start};
use touchstone::suite::{Case, Size, Suite};
use touchstone_protocol::Verb;

const SUITE: &str = r#"
name = "small"
title = "A small suite"
source = "nowhere"
device = "none"
[[dataset]]
name = "objects"
record = "doc"
records = 40
[[case]]
id = "find"
title = "Find"
dataset = "objects"
scales = { quick = [10, 100], full = [10, 100, 1000] }
lanes = [{ verb = "find" }]
baseline = "one@plain"
arms = ["one@plain"]
[[case]]
id = "insert"
title = "Insert"
dataset = "objects"
filled = 4
tables = 3
restore = true
lanes = [{ verb = "insert-many", table = 1 }, { verb = "insert-many", table = 2 }, { verb = "read-all" }]
baseline = "one@plain"
arms = ["one@plain"]
[[case]]
id = "update"
title = "Update"
dataset = "objects"
filled = 20
blocks = 3
lanes = [{ verb = "update-many" }]
baseline = "one@plain"
arms = ["one@plain"]
"#;

const KIT: &str = r#"
[kit]
language = "rust"
[[subject]]
name = "one"
summary = "One"
build = ["true"]
run = ["one"]
  [[subject.profile]]
  name = "plain"
  class = "strict"
"#;

fn plan(size: Size, cases: &[&str]) -> Plan {
    let kits = Kits { kits: vec![Kit::parse(KIT, "kit.toml").unwrap()] };
    let cases = cases.iter().map(|case| (*case).to_owned()).collect();
    let choice = Choice { cases, contenders: Vec::new(), size, seed: 42, looks: vec![8] };
    Plan::new(&[Suite::parse(SUITE, "small.toml").unwrap()], &kits, &choice).unwrap()
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.cases.iter().map(PlannedCase::name).collect()
}

#[test]
fn a_case_with_scales_is_one_for_each_of_its_size() {
    assert_eq!(ids(&plan(Size::Quick, &[])), ["find-10", "find-100", "insert", "update"]);
    assert_eq!(ids(&plan(Size::Full, &["find"])), ["find-10", "find-100", "find-1000"]);
    assert_eq!(ids(&plan(Size::Full, &["small/find-1000", "insert"])), ["find-1000", "insert"]);
    let plan = plan(Size::Full, &[]);
    let find = plan.case("small/find-1000").unwrap();
    assert_eq!((find.scale_of.as_deref(), find.dataset.records, find.filled), (Some("find"), 1000, 1000));
    assert_eq!(find.arms[0].lanes[0].above, Some(250));
    assert_eq!(plan.case("small/insert").unwrap().scale_of, None);
}

#[test]
fn a_case_is_named_by_itself_or_by_one_of_its_scales() {
    let find = || Suite::parse(SUITE, "small.toml").unwrap().cases.remove(0);
    let scales =
        |case: Case| -> Vec<String> { case.at(Size::Quick).into_iter().map(|case| case.id).collect() };
    assert_eq!(find().named("find").map(scales).unwrap(), ["find-10", "find-100"]);
    assert_eq!(find().named("find-1000").map(scales).unwrap(), ["find-1000"]);
    assert!(find().named("find-7").is_none());
}

#[test]
fn lanes_share_what_is_left_to_insert_and_tables_what_is_stored() {
    let plan = plan(Size::Quick, &["insert"]);
    let insert = &plan.cases[0];
    let lanes = insert.arms[0].lanes_at(Start { operation: 7, state: 3 }, 1);
    let asked: Vec<(Verb, u64, u64, u32)> =
        lanes.iter().map(|lane| (lane.verb, lane.from, lane.count, lane.table)).collect();
    assert_eq!(
        asked,
        [(Verb::InsertMany, 7, 18, 1), (Verb::InsertMany, 25, 18, 2), (Verb::ReadAll, 43, 1, 1)]
    );
    // The third table is there, but no lane uses it.
    assert_eq!((insert.tables, insert.tables_used()), (3, 2));
    assert_eq!((insert.share_of(5, 1), insert.share_of(5, 2)), (0..2, 2..5));
    assert_eq!((insert.records_needed(), insert.states_needed()), (40, 0));
}

#[test]
fn updates_use_up_new_states_and_no_records() {
    let plan = plan(Size::Quick, &["update"]);
    let update = &plan.cases[0];
    let arm = &update.arms[0];
    assert_eq!((arm.records_used(1), arm.states_used(1)), (0, 20));
    let lane = &arm.lanes_at(Start { operation: 5, state: 40 }, 1)[0];
    assert_eq!((lane.from, lane.count), (40, 20));
    // Slices of three blocks, and those beside them.
    assert_eq!((update.records_needed(), update.states_needed()), (20, 20 * (6 + 60)));
}
