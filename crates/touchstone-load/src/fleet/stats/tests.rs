//! What Locust is told, from figures that were made up.

use super::super::message::entry;
use super::*;
use crate::recorder::Recorder;
use crate::scenario::Scenario;

#[test]
fn times_are_rounded_as_locust_rounds_them() {
    // The right column is what Locust's own `bucket_response_time` answers.
    for (ms, expected) in [
        (0.4, 0),
        (0.5, 0),
        (1.5, 2),
        (98.6, 99),
        (99.9, 100),
        (147.0, 150),
        (145.0, 140),
        (999.0, 1_000),
        (3_432.0, 3_400),
        (9_960.0, 10_000),
        (58_760.0, 59_000),
    ] {
        assert_eq!(rounded(ms), expected, "{ms}");
    }
}

fn plan() -> Plan {
    let text = "name = \"t\"\nhost = \"http://127.0.0.1:1\"\nsetup = [\"enter\"]\n\
                [[request]]\nname = \"GET /a\"\npath = \"/a\"\n[[request]]\nname = \"enter\"\npath = \"/enter\"\nbody = \"\"\n";
    Plan::of_fleet(Scenario::parse(text, "t.toml").expect("it is one"), 1).expect("nothing is wrong with it")
}

fn second(at: f64, requests: &[(usize, usize, u64)]) -> Counted {
    let mut recorder = Recorder::new(2, 2);
    for (phase, request, ms) in requests {
        let row = recorder.row(*phase, *request);
        row.response.record(ms * 1_000_000);
        row.received_bytes += 10;
    }
    Counted { at, recorder }
}

fn numbers(value: Option<&Value>) -> Vec<(u64, u64)> {
    let all = value.and_then(Value::as_map).expect("it is a map").iter();
    all.map(|(key, count)| (key.as_u64().expect("whole"), count.as_u64().expect("whole"))).collect()
}

#[test]
fn seconds_are_added_and_requests_are_told_apart() {
    let plan = plan();
    let mut counted = vec![second(100.5, &[(1, 1, 8), (0, 0, 5), (0, 0, 147)]), second(101.5, &[(0, 0, 5)])];
    let row = counted[1].recorder.row(0, 0);
    row.count_failure(Failure::Status, || "status 500: it broke".into());
    let data = Value::Map(stats(Some(&plan), &counted, 99.0));
    let told = entry(&data, "stats").and_then(Value::as_array).expect("they are told");
    let names: Vec<_> = told.iter().map(|told| (entry(told, "method"), entry(told, "name"))).collect();
    let text = |text: &str| Value::from(text);
    let (get, a, post, enter) = (text("GET"), text("/a"), text("POST"), text("enter"));
    assert_eq!(names, [(Some(&get), Some(&a)), (Some(&post), Some(&enter))]);
    assert_eq!(numbers(entry(&told[0], "response_times")), [(5, 2), (150, 1)]);
    assert_eq!(numbers(entry(&told[0], "num_reqs_per_sec")), [(100, 2), (101, 1)]);
    assert_eq!(numbers(entry(&told[0], "num_fail_per_sec")), [(101, 1)]);
    let total = entry(&data, "stats_total").expect("there is one");
    let whole = |key| entry(total, key).and_then(Value::as_u64);
    assert_eq!(
        (whole("num_requests"), whole("num_failures"), whole("total_content_length")),
        (Some(4), Some(1), Some(40))
    );
    assert_eq!(entry(total, "last_request_timestamp"), Some(&Value::from(101.5)));
    let errors = entry(&data, "errors").and_then(Value::as_map).expect("there are some");
    assert_eq!(errors[0].0, text("GET./a.status"));
    assert_eq!(entry(&errors[0].1, "error"), Some(&text("status 500: it broke")));
}

#[test]
fn histograms_go_along_without_loss() {
    let plan = plan();
    let counted = [second(1.0, &[(0, 0, 5), (1, 1, 7)]), second(2.0, &[(0, 0, 9)])];
    let data = Value::Map(stats(Some(&plan), &counted, 0.0));
    let rows = entry(&data, EXACT).and_then(Value::as_array).expect("they go along");
    let read = |row: &Value| {
        let text = entry(row, "response").and_then(Value::as_str).expect("it is a text");
        Latencies::from_bytes(&STANDARD.decode(text).expect("in base 64")).expect("it is a histogram")
    };
    let mut expected = Latencies::default();
    [5_000_000, 9_000_000].into_iter().for_each(|ns| expected.record(ns));
    assert_eq!((rows.len(), read(&rows[0]), read(&rows[1]).count()), (2, expected, 1));
    assert_eq!(entry(&rows[1], "is_setup"), Some(&Value::from(true)));
}

#[test]
fn a_worker_without_a_test_reports_nothing_in_the_same_form() {
    let data = Value::Map(stats(None, &[], 7.0));
    assert_eq!(entry(&data, "stats"), Some(&Value::Array(vec![])));
    let total = entry(&data, "stats_total").expect("there is one");
    assert_eq!(
        (entry(total, "min_response_time"), entry(total, "last_request_timestamp")),
        (Some(&Value::Nil), Some(&Value::Nil))
    );
}
