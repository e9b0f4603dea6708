//! Scenarios that are ready to run, and everything that is wrong with others.

use super::*;
use crate::schedule::Share;

const PLAIN: &str = r#"
name = "plain"
host = "http://127.0.0.1:1"
[[phase]]
length = "1s"
rate = 10
[[request]]
name = "get"
path = "/a?b=${user}"
"#;

fn plan(text: &str) -> Result<Plan> {
    Plan::new(Scenario::parse(text, "plain.toml")?, Share::WHOLE)
}

#[test]
fn a_plain_scenario_is_ready() {
    let plan = plan(PLAIN).expect("nothing is wrong with it");
    assert_eq!(
        (plan.users, plan.connections, plan.is_closed, plan.ends_ns()),
        (64, 64, false, 1_000_000_000)
    );
    assert_eq!(plan.requests[0].label, "GET /a");
    assert!(plan.flows.len() == 2 && plan.flows[1].steps.is_empty());
}

/// What is wrong is told with what was meant, as far as that can be known.
#[test]
fn what_makes_no_sense_is_told() {
    let cases = [
        ("length = \"1s\"", "length = \"1\"", "no duration"),
        ("length = \"1s\"", "length = \"0s\"", "length is 0"),
        ("rate = 10", "rate = 0", "rate is 0"),
        ("rate = 10", "rate = -1", "between 0"),
        ("rate = 10", "rate = nan", "between 0"),
        ("rate = 10", "rate = 10\nusers = 3", "an open loop or a closed one"),
        ("rate = 10", "", "neither `rate`"),
        ("rate = 10", "rate_to = 10", "neither `rate`"),
        ("rate = 10", "rate = 10\ncounted = false", "no phase is counted"),
        ("rate = 10", "rte = 10", "unknown field"),
        ("host = \"http://127.0.0.1:1\"", "host = \"127.0.0.1\"", "names no protocol"),
        ("path = \"/a?b=${user}\"", "path = \"a\"", "does not begin with"),
        ("path = \"/a?b=${user}\"", "path = \"/${usr}\"", "did you mean `user`"),
        ("path = \"/a?b=${user}\"", "path = \"/\"\nmethod = \"get\"", "capital letters"),
        ("path = \"/a?b=${user}\"", "path = \"/\"\nstatus = [100]", "between 200 and 999"),
        ("path = \"/a?b=${user}\"", "path = \"/\"\nheaders = { content-length = \"1\" }", "generator's own"),
        ("path = \"/a?b=${user}\"", "path = \"/\"\nheaders = { x = \"a\\nb\" }", "no header"),
        ("path = \"/a?b=${user}\"", "path = \"/\"\nweight = 0", "all weights are 0"),
        ("path = \"/a?b=${user}\"", "path = \"/\"\nweight = -1", "not negative"),
        (
            "path = \"/a?b=${user}\"",
            "path = \"/\"\ncapture = { user = { json = \"/a\" } }",
            "name of a field",
        ),
        (
            "path = \"/a?b=${user}\"",
            "path = \"/\"\ncheck = { rising = { after = \"a\", above = \"b\" } }",
            "no value",
        ),
        ("name = \"plain\"", "name = \"plain\"\nsetup = [\"got\"]", "did you mean `get`"),
        ("name = \"plain\"", "name = \"plain\"\nsetup = [\"get\"]", "nothing is left"),
        ("name = \"plain\"", "name = \"plain\"\nlimits = \"p99 > 1s\"", "no limit"),
        ("[[phase]]", "[load]\nusers = 0\n[[phase]]", "`load.users` is 0"),
        ("[[phase]]", "[load]\nusers = 1\nthreads = 2\n[[phase]]", "cannot be shared out"),
        ("[[phase]]", "[load]\ntimeout = \"0s\"\n[[phase]]", "`load.timeout` is 0"),
        ("[[phase]]", "[load]\nprocessors = [0, 5000]\n[[phase]]", "`load.processors` has 5000"),
        ("[[request]]", "[[flow]]\nname = \"f\"\nsteps = [\"gte\"]\n[[request]]", "did you mean `get`"),
        ("[[request]]", "[[flow]]\nname = \"f\"\nsteps = []\n[[request]]", "has no steps"),
    ];
    for (from, to, part) in cases {
        let text = PLAIN.replace(from, to);
        assert_ne!(text, PLAIN, "{from}");
        let error = plan(&text).expect_err(&text).to_string();
        assert!(error.contains(part), "{to}: {error}");
    }
}

#[test]
fn a_request_that_is_always_the_same_is_written_once() {
    let text = PLAIN.replace("/a?b=${user}", "/a");
    let plan = plan(&text).expect("nothing is wrong with it");
    let fixed =
        String::from_utf8(plan.requests[0].fixed.clone().expect("it has no places")).expect("it is text");
    assert!(fixed.starts_with("GET /a HTTP/1.1\r\nhost: 127.0.0.1:1\r\n"), "{fixed}");
    assert!(fixed.ends_with("\r\n\r\n"), "{fixed}");
}

#[test]
fn a_body_is_sent_with_its_length() {
    let text = PLAIN.replace("path = \"/a?b=${user}\"", "path = \"/\"\nbody = \"${letters 7}\"");
    let plan = plan(&text).expect("nothing is wrong with it");
    let mut user = plan.users_of(Share::WHOLE).swap_remove(3);
    let mut bytes = Vec::new();
    plan.requests[0].write(&mut user, &mut Vec::new(), &mut bytes);
    let text = String::from_utf8(bytes).expect("it is text");
    let (head, body) = text.split_once("\r\n\r\n").expect("it has a head");
    assert!(head.starts_with("POST / HTTP/1.1") && head.contains("\r\ncontent-length: 7"), "{head}");
    assert_eq!(body.len(), 7);
}

#[test]
fn flows_are_chosen_by_their_weights_whatever_the_shard() {
    let flows = "[[flow]]\nname = \"rare\"\nweight = 1\nsteps = [\"get\"]\n[[flow]]\nname = \"often\"\nweight = 3\nsteps = [\"get\"]\n";
    let plan = plan(&PLAIN.replace("[[request]]", &format!("{flows}[[request]]")))
        .expect("nothing is wrong with it");
    let often = (0..10_000).filter(|index| plan.choose(*index) == 1).count();
    assert!((7_300..7_700).contains(&often), "{often}");
}

#[test]
fn every_user_is_in_one_shard() {
    let plan = plan(PLAIN).expect("nothing is wrong with it");
    let mut numbers: Vec<u64> = (0..3)
        .flat_map(|number| (0..2).map(move |part| Share { number, of: 3 }.part(part, 2)))
        .flat_map(|share| plan.users_of(share))
        .map(|user| user.number)
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..64).collect::<Vec<_>>());
}

#[test]
fn the_digest_is_of_what_is_asked_and_not_of_whom() {
    let here = plan(PLAIN).expect("nothing is wrong with it").digest();
    let there =
        plan(&PLAIN.replace("127.0.0.1:1", "127.0.0.1:2")).expect("nothing is wrong with it").digest();
    let other = plan(&PLAIN.replace("rate = 10", "rate = 11")).expect("nothing is wrong with it").digest();
    assert!(here == there && here != other);
}
