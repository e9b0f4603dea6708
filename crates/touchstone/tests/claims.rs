//! Claims: what is decided of them: direction and size apart, pairs of arms, figures of another device, and the obstacles
//! that keep a claim from being decided.

mod claimed;
mod made;
mod small;

use claimed::{ADVANTAGE, CASES, COUNTED, ELSEWHERE, EXACT, GROWTH, PERCENTILE, SHARE, THROUGHPUT};
use made::{blank, part, slice};
use std::collections::BTreeMap;
use touchstone::estimate::estimate;
use touchstone::kit::DurabilityClass;
use touchstone::plan::{Choice, Plan};
use touchstone::record::Record;
use touchstone::report::{Findings, html, markdown, terminal};
use touchstone::sample::{NOT_EXPLAINED, Phase};
use touchstone::suite::{Aspect, By, CLAIMED_PERCENTILES, Size};
use touchstone::verdict::{ClaimOutcome, ClaimStatus, judge};
use touchstone_protocol::{LaneSample, Verb};

/// A record in which reading takes so long, of eight launches that differ by a thousandth.
fn record(claim: &str, one_ns: f64, two_ns: f64) -> Record {
    let plan = small::plan(&[CASES, claim].concat(), &small::choice()).unwrap();
    let mut record = blank(plan);
    for launch in 0..8 {
        for (arm, ns, turn) in [("one@plain", one_ns, 3), ("two@plain", two_ns, 5)] {
            let wobble = 1.0 + 0.001 * (launch * turn % 8) as f64;
            record.slices.push(slice("small/read", launch, arm, ns * wobble));
            record.launches.push(part("small/read", launch, arm));
        }
    }
    record
}

fn outcomes(record: &Record) -> Vec<ClaimOutcome> {
    judge(&record.plan, &estimate(record).cases, &[]).claims
}

fn outcome(claim: &str, one_ns: f64, two_ns: f64) -> ClaimOutcome {
    outcomes(&record(claim, one_ns, two_ns)).remove(0)
}

#[test]
fn better_by_less_than_half_of_what_was_published_is_no_refutation() {
    let verdict = |two_ns: f64| {
        let outcome = outcome(ADVANTAGE, 1e6, two_ns);
        (outcome.status, outcome.size)
    };
    assert_eq!(verdict(2.0e6), (ClaimStatus::Holds, Some(ClaimStatus::Holds)));
    assert_eq!(verdict(1.5e6), (ClaimStatus::Holds, Some(ClaimStatus::Inconclusive)));
    assert_eq!(verdict(1.2e6), (ClaimStatus::Holds, Some(ClaimStatus::Refuted)));
    assert_eq!(verdict(1.0e6), (ClaimStatus::Inconclusive, Some(ClaimStatus::Refuted)));
    assert_eq!(verdict(0.8e6), (ClaimStatus::Refuted, Some(ClaimStatus::Refuted)));
}

/// What is counted is the same on every machine, so a published share is held against the one here: within 10 %.
#[test]
fn a_share_of_hits_is_held_against_the_published_one() {
    let found = |hits: i64, claim: &str| {
        let mut record = record(claim, 1e6, 1e6);
        for part in record.launches.iter_mut().filter(|_| hits >= 0) {
            part.counters =
                BTreeMap::from([("cache_hits".into(), hits), ("cache_misses".into(), 1000 - hits)]);
        }
        outcomes(&record).remove(0).status
    };
    assert_eq!(found(250, SHARE), ClaimStatus::Holds);
    assert_eq!(found(226, SHARE), ClaimStatus::Holds);
    assert_eq!(found(224, SHARE), ClaimStatus::Refuted);
    assert_eq!(found(277, SHARE), ClaimStatus::Holds);
    assert_eq!(found(279, SHARE), ClaimStatus::Refuted);
    assert_eq!(found(-1, SHARE), ClaimStatus::Untested, "nobody counted");
    let never = SHARE
        .replace("rule = \"level\"", "at_most = 0")
        .replace("figure = [{ source = \"page\", value = 25.0, unit = \"%\" }]", "words = \"never\"");
    assert_eq!(found(0, &never), ClaimStatus::Holds);
    assert_eq!(found(1, &never), ClaimStatus::Refuted);
}

/// Bytes a second are operations a second times their bytes: of pages four times as large, read half as often, twice as many.
#[test]
fn larger_pages_move_more_bytes_though_fewer_of_them_are_read() {
    let found = |large_ns: f64| {
        let cases = CASES.replacen(
            "lanes = [{ verb = \"read-all\" }]",
            "operation_bytes = 16384\nlanes = [{ verb = \"read-all\" }]",
            1,
        );
        let plan = small::plan(&[&cases, THROUGHPUT].concat(), &small::choice()).unwrap();
        let mut record = blank(plan);
        for launch in 0..8 {
            let wobble = 1.0 + 0.001 * (launch * 3 % 8) as f64;
            for (case, ns) in [("small/read", large_ns), ("small/read-small", 1e6)] {
                record.slices.push(slice(case, launch, "one@plain", ns * wobble));
                record.launches.push(part(case, launch, "one@plain"));
            }
        }
        outcomes(&record).remove(0)
    };
    let twice = found(2e6);
    assert_eq!((twice.status, twice.size), (ClaimStatus::Holds, Some(ClaimStatus::Holds)));
    let test = &twice.pairs[0].tests[0];
    assert!(test.value.is_some_and(|ratio| (ratio - 2.0).abs() < 1e-9), "{test:?}");
    assert_eq!(test.question, "bytes a second in read over read-small");
    assert_eq!(twice.figures[0].ratio, Some(2.0));
    assert_eq!(found(5e6).status, ClaimStatus::Refuted, "four times the bytes in five times the time");
}

/// Nothing is run for it: the outcome is the page's own arithmetic, wherever claims are told.
#[test]
fn a_claim_that_the_pages_figures_refute_says_so_with_the_arithmetic() {
    let record = record(GROWTH, 1e6, 1e6);
    let statistics = estimate(&record).cases;
    let judgement = judge(&record.plan, &statistics, &[]);
    let claim = &judgement.claims[0];
    assert_eq!((claim.status, claim.pairs.len(), &claim.reason), (ClaimStatus::Refuted, 0, &None));
    let findings = Findings { record: &record, statistics: &statistics, judgement: &judgement };
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [terminal(&findings, false), markdown(&findings, &[]).unwrap(), html(&findings).unwrap()] {
        let text = words(text).replace("&#39;", "'");
        assert!(text.contains("by the page's own figures"), "{text}");
        assert!(text.contains("it grows 1.99, 3.99 times: from 2 to 4 more than from 1 to 2"), "{text}");
        assert!(
            text.contains("1 is refuted") || text.contains("1 claim of the page: it is refuted"),
            "{text}"
        );
    }
    let old: ClaimOutcome = serde_json::from_value({
        let mut value = serde_json::to_value(claim).unwrap();
        value.as_object_mut().unwrap().remove("by_figures");
        value
    })
    .expect("an outcome from before there was such a thing is read");
    assert_eq!(old.by_figures, None);
}

/// A user read that a service serves three times as much, and nowhere beside it that less is promised of its commits.
#[test]
fn classes_of_two_profiles_stand_beside_a_claim_about_a_service() {
    let told = |is_service: bool| {
        let mut record = record(ADVANTAGE, 1e6, 3e6);
        let classes = [DurabilityClass::Consistent, DurabilityClass::Full];
        for (arm, class) in record.plan.cases[0].arms.iter_mut().zip(classes) {
            (arm.contender.subject, arm.class, arm.serves) = ("one".into(), class, is_service);
            arm.lanes[0].verb = Verb::InsertOne;
        }
        let statistics = estimate(&record).cases;
        let judgement = judge(&record.plan, &statistics, &[]);
        terminal(&Findings { record: &record, statistics: &statistics, judgement: &judgement }, false)
    };
    let said = "classes differ: one@plain is consistent, two@plain is full";
    assert!(told(true).contains(said), "{}", told(true));
    assert!(!told(false).contains(said), "of a library the promise is the question");
}

#[test]
fn what_is_published_stands_beside_what_was_found() {
    let outcome = outcome(ADVANTAGE, 1e6, 3e6);
    let figure = &outcome.figures[0];
    assert_eq!(
        (figure.ratio, figure.source.as_str(), figure.device.as_str()),
        (Some(2.0), "page: its only table", "none")
    );
    let [direction, size] = outcome.pairs[0].tests.as_slice() else { panic!("{outcome:?}") };
    assert_eq!((direction.aspect, direction.at_least), (Some(Aspect::Direction), Some(1.0)));
    assert_eq!((size.aspect, size.at_least), (Some(Aspect::Size), Some(1.5)));
    assert_eq!(size.note.as_deref(), Some("the difference is greater here than published"));
    let libraries: Vec<_> = outcome.pairs[0].sides.iter().map(|side| side.library.as_deref()).collect();
    assert_eq!((libraries, outcome.by), (vec![Some("Alpha"), Some("Beta")], By::Page));
}

#[test]
fn a_cost_is_asked_for_the_other_way_round() {
    let cost = ADVANTAGE
        .replace("value = 4.0, against = 2.0", "value = 2.0, against = 4.0")
        .replace("\"advantage\"", "\"cost\"");
    let verdict = |one_ns: f64| {
        let outcome = outcome(&cost, one_ns, 1e6);
        (outcome.status, outcome.size)
    };
    assert_eq!(verdict(2.0e6), (ClaimStatus::Holds, Some(ClaimStatus::Holds)));
    assert_eq!(verdict(1.3e6), (ClaimStatus::Holds, Some(ClaimStatus::Refuted)));
    assert_eq!(verdict(0.5e6), (ClaimStatus::Refuted, Some(ClaimStatus::Refuted)));
}

/// Of two times the ratio is that of the rates.
#[test]
fn a_time_that_is_half_is_an_advantage_of_two() {
    let times = ADVANTAGE.replace(
        "value = 4.0, against = 2.0, unit = \"rows/s\"",
        "value = 1.5, against = 3.0, unit = \"ms\"",
    );
    assert_eq!(outcome(&times, 1e6, 3e6).figures[0].ratio, Some(2.0));
}

/// Of latencies the ratio is that of times.
#[test]
fn a_rate_that_is_double_is_half_the_latency() {
    let latency = ADVANTAGE.replace("measure = \"rate\"", "measure = \"latency\"");
    assert_eq!(outcome(&latency, 1e6, 3e6).figures[0].ratio, Some(0.5));
}

#[test]
fn a_plan_that_nobody_explained_decides_nothing() {
    let outcome = outcome(EXACT, 1e6, 1e6);
    assert_eq!(outcome.status, ClaimStatus::Untested);
}

#[test]
fn a_figure_of_another_device_neither_holds_nor_is_refuted() {
    for one_ns in [1e3, 1e9] {
        let outcome = outcome(ELSEWHERE, one_ns, 1e6);
        assert_eq!((outcome.status, outcome.size), (ClaimStatus::Elsewhere, None));
        let test = &outcome.pairs[0].tests[0];
        assert_eq!((test.at_least, test.at_most, test.unit.as_str()), (None, None, "/s"));
        assert!(test.value.is_some());
    }
}

#[test]
fn the_first_pair_at_hand_decides_and_the_others_stand_beneath() {
    let pairs =
        ADVANTAGE.replace("pairs = [", "pairs = [{ arm = \"one@plain#again\", against = \"two@plain\" }, ");
    let mut record = record(&pairs, 1e6, 1.2e6);
    let outcome = outcomes(&record).remove(0);
    let arms = |outcome: &ClaimOutcome| -> Vec<String> {
        outcome.pairs.iter().map(|pair| pair.sides[0].arm.clone()).collect()
    };
    assert_eq!(arms(&outcome), ["one@plain#again", "one@plain"]);
    // It was planned and not run: the others do not take its place.
    assert_eq!((outcome.status, outcome.pairs[1].status), (ClaimStatus::Untested, ClaimStatus::Holds));
    record.plan.cases[0].arms.retain(|arm| arm.name != "one@plain#again");
    let outcome = outcomes(&record).remove(0);
    assert_eq!((arms(&outcome), outcome.status), (vec!["one@plain".to_owned()], ClaimStatus::Holds));
    assert_eq!(outcome.absent, ["one@plain#again"], "who was not there is named, and only that one");
}

#[test]
fn what_the_quick_size_makes_smaller_stands_beside_the_claim() {
    let smaller =
        [CASES, ADVANTAGE].concat().replacen("records = 10\n", "records = { quick = 10, full = 3000 }\n", 1);
    let reduced = |size: Size| {
        let plan = small::plan(&smaller, &Choice { size, ..small::choice() }).unwrap();
        let reduced = outcomes(&blank(plan)).remove(0).reduced;
        reduced.iter().map(|reduced| (reduced.what.clone(), reduced.here, reduced.full)).collect::<Vec<_>>()
    };
    assert_eq!(reduced(Size::Quick), [("stored records".to_owned(), 10, 3000)]);
    assert_eq!(reduced(Size::Full), []);
}

#[test]
fn two_cases_of_which_one_is_confined_are_told() {
    let across = [ADVANTAGE, "against_case = \"write\"\n"].concat();
    let notes = |threads: bool| {
        let mut record = record(&across, 1e6, 2e6);
        for launch in 0..8 {
            record.slices.push(slice("small/write", launch, "two@plain", 2e6));
            record.launches.push(part("small/write", launch, "two@plain"));
        }
        record.plan.cases[1].arms[1].threads = threads;
        outcomes(&record).remove(0).pairs[0].tests[0].note.clone()
    };
    // They start unlike in any case: one is reopened, the other is warm.
    assert_eq!(notes(false).as_deref(), Some("the two cases start unlike: in cache"));
    assert!(notes(true).is_some_and(|note| note.contains("confined to one processor")));
}

/// Found by an adversary: operations failed before the slices that are compared, and "no error" held.
#[test]
fn what_fails_while_a_subject_warms_up_has_failed() {
    let mut record = record(COUNTED, 1e6, 1e6);
    assert_eq!(outcomes(&record)[0].status, ClaimStatus::Holds);
    let mut warm = slice("small/read", 0, "one@plain", 1e6);
    warm.phase = Phase::Warm;
    warm.lanes = vec![LaneSample {
        wall_ns: 1,
        answers: 0,
        digest: String::new(),
        errors: BTreeMap::from([("busy".to_owned(), 3)]),
        delivery: None,
        played: None,
    }];
    record.slices.push(warm);
    let outcome = outcomes(&record).remove(0);
    assert_eq!((outcome.status, outcome.pairs[0].tests[0].value), (ClaimStatus::Refuted, Some(3.0)));
}

/// Found by an adversary: counts of one launch, of settings that did not take effect, and of unchecked answers decided.
#[test]
fn a_count_is_decided_on_what_was_asked_for_alone() {
    let notes = |change: &dyn Fn(&mut Record)| {
        let mut record = record(COUNTED, 1e6, 1e6);
        change(&mut record);
        let outcome = outcomes(&record).remove(0);
        let note = outcome.pairs[0].tests.iter().find_map(|test| test.note.clone()).unwrap_or_default();
        (outcome.status, note)
    };
    let (status, note) = notes(&|record| record.launches.retain(|launch| launch.launch == 0));
    assert!(status == ClaimStatus::Untested && note.contains("1 of the 8 launches"), "{note}");
    let (status, note) = notes(&|record| {
        record.plan.cases[0].arms[0].settings.insert("journal_mode".into(), "wal".into());
        for launch in record.launches.iter_mut().filter(|launch| launch.arm == "one@plain") {
            let mode = if launch.launch == 5 { "off" } else { "wal" };
            launch.settings.insert("journal_mode".into(), mode.into());
        }
    });
    assert!(
        status == ClaimStatus::Untested && note.contains("off took effect"),
        "a later launch counts: {note}"
    );
    let (status, note) = notes(&|record| record.plan.cases[0].unchecked = true);
    assert!(status == ClaimStatus::Untested && note.contains("unchecked"), "{note}");
}

/// Found by an adversary: an error message that named an index was taken for a plan that uses it.
#[test]
fn a_plan_that_could_not_be_had_decides_nothing() {
    let mut record = record(EXACT, 1e6, 1e6);
    for launch in &mut record.launches {
        launch.plan = vec![format!("{NOT_EXPLAINED} busy: SEARCH benchmark was locked")];
    }
    let outcome = outcomes(&record).remove(0);
    assert_eq!(outcome.status, ClaimStatus::Untested);
    assert!(outcome.pairs[0].tests[0].note.as_deref().unwrap().contains("locked"), "{outcome:?}");
}

/// Found by a user: FMDB waits for two seconds, and "returns SQLITE_BUSY" was refuted on slices of 0.2 s.
#[test]
fn a_claim_about_long_slices_is_not_decided_on_short_ones() {
    let busy = COUNTED.replacen("at_most = 0", "at_least = 1\nslices_over_ms = 5", 1);
    let status = |ns: f64| outcome(&busy, ns, 1e6).status;
    assert_eq!((status(4e6), status(6e6)), (ClaimStatus::Untested, ClaimStatus::Refuted));
}

/// Found by an adversary: one full disk was counted as the lock that another writer held.
#[test]
fn a_claim_about_one_kind_of_error_counts_no_other() {
    let busy = COUNTED.replacen("at_most = 0", "error = \"busy\"\nat_least = 1\nslices_over_ms = 5", 1);
    let status = |kind: &str, number: u64, ns: f64| {
        let mut record = record(&busy, ns, 1e6);
        record.slices[0].lanes =
            vec![LaneSample { errors: BTreeMap::from([(kind.to_owned(), number)]), ..LaneSample::default() }];
        outcomes(&record).remove(0).pairs[0].tests[0].status
    };
    assert_eq!(status("busy", 1, 1e6), ClaimStatus::Holds);
    let plain = outcome(&busy, 6e6, 1e6).pairs.remove(0).tests.remove(0);
    assert_eq!((plain.unit.as_str(), plain.note), ("operations that failed as `busy`", None));
    assert_eq!(status("full", 1, 1e6), ClaimStatus::Untested);
    assert_eq!(status("busy", 0, 1e6), ClaimStatus::Untested);
    assert_eq!(status("full", 1, 6e6), ClaimStatus::Refuted);
}

/// Found by an adversary: tests that name their arms may compare with nothing, and the first of them hid the others.
#[test]
fn the_sides_of_a_claim_are_those_of_a_test_that_compares() {
    let named = ADVANTAGE
        .replace("pairs = [{ arm = \"one@plain\", against = \"two@plain\" }]\n", "by = \"ours\"\n")
        .replace("rule = \"advantage\"", "rule = \"better\"")
        .replace("value = 4.0, against = 2.0", "value = 4.0")
        .replace("case = \"read\"", "case = \"read\"\narm = \"one@plain\"\nagainst = \"two@plain\"");
    let counted = "[[claim.test]]\nmeasure = \"errors\"\ncase = \"read\"\narm = \"one@plain\"\nat_most = 0\n";
    let outcome =
        outcome(&named.replacen("[[claim.test]]", &[counted, "[[claim.test]]"].concat(), 1), 1e6, 3e6);
    let sides = &outcome.pairs[0].sides;
    let arms: Vec<&str> = sides.iter().map(|side| side.arm.as_str()).collect();
    assert_eq!((outcome.status, arms), (ClaimStatus::Holds, vec!["one@plain", "two@plain"]));
    assert!(sides.iter().all(|side| side.library.is_none()), "in a claim of ours nobody stands for anybody");
}

/// What the terminal says, in one line.
fn told(record: &Record) -> String {
    let statistics = estimate(record);
    let judgement = judge(&record.plan, &statistics.cases, &[]);
    let findings = Findings { record, statistics: &statistics.cases, judgement: &judgement };
    terminal(&findings, false).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Found in a review: beneath the pair that decides, a figure of another test stood under the name of the first.
#[test]
fn of_several_tests_each_pair_names_the_one_that_decides() {
    let all = COUNTED.replace("arm = \"one@plain\"\n", "").replace(
        "by = \"ours\"",
        "by = \"ours\"\npairs = [{ arm = \"one@plain\" }, { arm = \"two@plain\" }]",
    );
    let mut record = record(&all, 1e6, 1e6);
    let launch = record.launches.iter_mut().find(|launch| launch.arm == "two@plain").unwrap();
    launch.expected += 3;
    let said = told(&record);
    let first = "here: 0 failed operations, wanted at most 0 (1 of 2 tests: failed operations in read)";
    assert!(said.contains(first), "{said}");
    let beneath = "also two@plain, 3 missing records (1 of 2 tests: missing records in read): refuted";
    assert!(said.contains(beneath), "{said}");
}

/// Found by an adversary: of tests that name their arms, a figure stood beside the arms of another test.
#[test]
fn a_figure_is_told_with_the_arms_of_its_own_test() {
    let test = |against: &str, least: f64| {
        format!(
            "[[claim.test]]\nmeasure = \"rate\"\ncase = \"read\"\narm = \"one@plain\"\nagainst = \"{against}\"\n\
             at_least = {least}\n"
        )
    };
    let goals = "[[claim]]\nid = \"claimed\"\nby = \"ours\"\nstatement = \"Better than both\"\n".to_owned()
        + &test("two@plain", 2.0)
        + &test("one@plain#again", 50.0);
    let mut record = record(&goals, 1e6, 3e6);
    for launch in 0..8 {
        record.slices.push(slice("small/read", launch, "one@plain#again", 9e6 + launch as f64));
        record.launches.push(part("small/read", launch, "one@plain#again"));
    }
    let said = told(&record);
    let asked = "asked: one@plain against two@plain, and one@plain against one@plain#again; rate in read";
    assert!(said.contains(asked), "{said}");
    assert!(
        said.contains("wanted at least 50× (1 of 2 tests: rate: one@plain over one@plain#again in read)"),
        "{said}"
    );
}

/// Found by an adversary: only the page in the browser told what is printed with a figure of another size.
#[test]
fn what_is_printed_with_a_figure_stands_beside_it() {
    let other = "source = \"page\", of = \"more rows\", value = 3.0, against = 2.0, unit = \"rows/s\", note = \"a slip\"";
    let noted = ADVANTAGE.replace("unit = \"rows/s\" }]", &format!("unit = \"rows/s\" }}, {{ {other} }}]"));
    let said = told(&record(&noted, 1e6, 3e6));
    assert!(said.contains("more rows: 1.500×, a slip"), "{said}");
}

/// Found in a review: one test was drawn over the range and beside the published figure of another.
#[test]
fn the_chart_of_claims_is_of_those_that_are_one_ratio() {
    let page = |claim: &str| {
        let record = record(claim, 1e6, 3e6);
        let statistics = estimate(&record);
        let judgement = judge(&record.plan, &statistics.cases, &[]);
        html(&Findings { record: &record, statistics: &statistics.cases, judgement: &judgement }).unwrap()
    };
    let drawn = page(ADVANTAGE);
    let row = drawn.split("\"rows\":[{\"statement\":\"Alpha").nth(1).expect("the claim is drawn");
    for said in [
        "\"published\":2.0",
        "\"direction\":{\"at_least\":1.0,\"at_most\":null}",
        "\"size\":{\"at_least\":1.5,\"at_most\":null}",
        "\"pairs\":[{\"status\":\"holds\"",
    ] {
        assert!(row.contains(said), "{said} in {}", &row[..400.min(row.len())]);
    }
    let ratio = "[[claim.test]]\nmeasure = \"latency\"\ncase = \"read\"\nat_most = 2.0\n";
    let both =
        ADVANTAGE.replace("words", "by = \"ours\"\nwords").replace("rule = \"advantage\"", "at_least = 2");
    assert!(!page(&[&both, ratio].concat()).contains("\"statement\":\"Alpha"));
}

/// Found by an adversary: the null arm was asked about only where it made a comparison untrusted.
#[test]
fn a_null_arm_that_moved_keeps_a_claim_from_being_decided() {
    let mut record = record(ADVANTAGE, 1e6, 2e6);
    let again = record.plan.cases[0].arms.iter_mut().find(|arm| arm.name == "one@plain#again").unwrap();
    again.null_arm = true;
    for launch in 0..8 {
        record.slices.push(slice("small/read", launch, "one@plain#again", 6e6 + launch as f64));
        record.launches.push(part("small/read", launch, "one@plain#again"));
    }
    let outcome = outcomes(&record).remove(0);
    assert_eq!(outcome.status, ClaimStatus::Untested);
    assert!(outcome.pairs[0].tests[0].note.as_deref().unwrap().contains("the null arm"), "{outcome:?}");
}

/// Found by an adversary: the reason given was that no launch had completed.
#[test]
fn a_latency_that_was_not_kept_is_said_to_be_missing() {
    let outcome = outcome(PERCENTILE, 1e6, 1e6);
    for test in &outcome.pairs[0].tests {
        assert!(test.note.as_deref().unwrap().contains("no latencies were kept"), "{test:?}");
    }
}

#[test]
fn suites_of_which_no_case_was_chosen_are_not_in_the_plan() {
    let suites = [small::suite(CASES).unwrap(), {
        let mut other = small::suite(&CASES.replace("\"write\"", "\"other\"")).unwrap();
        other.name = "another".into();
        other
    }];
    let choice = Choice { cases: vec!["write".into()], ..small::choice() };
    let plan = Plan::new(&suites, &small::kits(), &choice).unwrap();
    assert_eq!(plan.suites.iter().map(|suite| suite.name.as_str()).collect::<Vec<_>>(), ["small"]);
}

#[test]
fn claims_of_what_was_not_planned_are_left_out() {
    let text =
        [CASES, ADVANTAGE, &ADVANTAGE.replace("\"read\"", "\"write\"").replace("\"claimed\"", "\"other\"")]
            .concat();
    let ids = |choice: &Choice| -> Vec<String> {
        let plan: Plan = small::plan(&text, choice).unwrap();
        outcomes(&blank(plan)).into_iter().map(|claim| claim.id).collect()
    };
    assert_eq!(ids(&small::choice()), ["claimed", "other"]);
    assert_eq!(ids(&Choice { cases: vec!["write".into()], ..small::choice() }), ["other"]);
    assert!(ids(&Choice { contenders: vec!["two".into()], ..small::choice() }).is_empty());
}

#[test]
fn a_claim_that_nothing_measures_says_why() {
    let untested = "[[claim]]\nid = \"claimed\"\nstatement = \"It halves the damage\"\nwords = \"by 50 %\"\n\
                    untested = { case = \"read\", reason = \"no power is cut\" }\n";
    let outcome = outcome(untested, 1e6, 1e6);
    assert_eq!((outcome.status, outcome.reason.as_deref()), (ClaimStatus::Untested, Some("no power is cut")));
}

/// Found in a review: a comparison was incomparable, and the claim on the same two arms held.
#[test]
fn what_keeps_a_comparison_from_being_made_keeps_a_claim_from_being_decided() {
    let mut record = record(ADVANTAGE, 1e6, 2e6);
    let cache = |bytes: i64| BTreeMap::from([("cache_size_bytes".to_owned(), bytes.into())]);
    for launch in &mut record.launches {
        launch.settings = cache(if launch.arm == "one@plain" { 1 << 20 } else { 1 << 30 });
    }
    let outcome = outcomes(&record).remove(0);
    assert_eq!(outcome.status, ClaimStatus::Untested);
    assert!(outcome.pairs[0].tests[0].note.as_deref().unwrap().contains("cache bytes differ"), "{outcome:?}");
}

#[test]
fn doubts_stand_beside_the_claims_that_they_touch() {
    let mut record = record(ADVANTAGE, 1e6, 2e6);
    for slice in record.slices.iter_mut().filter(|slice| slice.arm == "two@plain") {
        slice.cpu_ns = slice.wall_ns / 100;
        slice.usage.voluntary_switches = 1;
    }
    let flags = outcomes(&record).remove(0).pairs.remove(0).flags;
    let kinds: Vec<String> = flags.iter().map(|flag| format!("{} {}", flag.kind, flag.arm)).collect();
    assert_eq!(kinds, ["slept two@plain"]);
}

#[test]
fn a_percentile_is_that_of_the_operations_and_not_their_mean() {
    let mut record = record(PERCENTILE, 1e6, 2e6);
    for launch in 0..8 {
        // One read of 50 takes ten milliseconds: the mean is 0.3 ms, the 99th percentile is not.
        let one: Vec<u64> = (0..500).map(|read| if read % 50 == 0 { 10_000_000 } else { 100_000 }).collect();
        let two = vec![200_000; 500];
        for (arm, latencies) in [("one@plain", one), ("two@plain", two)] {
            record.latencies.insert(("small/read".into(), arm.into(), launch), latencies);
        }
    }
    let outcome = outcomes(&record).remove(0);
    let [absolute, ratio] = outcome.pairs[0].tests.as_slice() else { panic!("{outcome:?}") };
    assert_eq!((absolute.status, absolute.unit.as_str()), (ClaimStatus::Refuted, "ns"));
    assert!((9.9e6..1.01e7).contains(&absolute.value.unwrap()), "{absolute:?}");
    assert_eq!(ratio.status, ClaimStatus::Holds);
    assert!((0.49..0.51).contains(&ratio.value.unwrap()), "{ratio:?}");
    // Found by an adversary: launches were counted that had kept no latencies.
    record.latencies.retain(|(_, _, launch), _| *launch < 2);
    let outcome = outcomes(&record).remove(0);
    let note = outcome.pairs[0].tests[0].note.as_deref().unwrap();
    assert!(note.contains("only 2 of the 8 launches"), "{note}");
}

#[test]
fn every_percentile_of_a_claim_is_kept() {
    for percentile in CLAIMED_PERCENTILES {
        assert!(touchstone::statistics::PERCENTILES.contains(&percentile), "{percentile}");
    }
}
