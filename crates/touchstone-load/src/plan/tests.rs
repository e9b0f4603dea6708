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

/// Makes each of the changes, and looks whether what is told of it has the part.
fn are_told(cases: &[(&str, &str, &str)]) {
    for (from, to, part) in cases {
        let text = PLAIN.replace(from, to);
        assert_ne!(text, PLAIN, "{from}");
        let error = plan(&text).expect_err(&text).to_string();
        assert!(error.contains(part), "{to}: {error}");
    }
}

/// What is wrong is told with what was meant, as far as that can be known.
#[test]
fn what_makes_no_sense_is_told() {
    are_told(&[
        ("length = \"1s\"", "length = \"1\"", "no duration"),
        ("length = \"1s\"", "length = \"0s\"", "length is 0"),
        ("rate = 10", "rate = 0", "rate is 0"),
        ("rate = 10", "rate = -1", "between 0"),
        ("rate = 10", "rate = nan", "between 0"),
        ("rate = 10", "rate = 10\nusers = 3", "an open loop or a closed one"),
        ("rate = 10", "", "neither `rate`"),
        ("rate = 10", "rate_to = 10", "neither `rate`"),
        ("rate = 10", "rate = 10\ncounted = false", "no phase is counted"),
        ("rate = 10", "rte = 10", "there is no key `rte` here: did you mean `rate`?"),
        // Rows are told apart by the names of phases: those of the setup were a part of totals.
        (
            "rate = 10",
            "rate = 10\nname = \"setup\"",
            "the phase `setup` has the name of what users do before",
        ),
        (
            "[[phase]]",
            "[[phase]]\nname = \"2\"\nlength = \"1s\"\nrate = 10\ncounted = false\n[[phase]]",
            "two phases are called `2`: rename one",
        ),
        ("host = \"http://127.0.0.1:1\"", "host = \"127.0.0.1\"", "names no protocol"),
        ("path = \"/a?b=${user}\"", "path = \"a\"", "does not begin with"),
        ("path = \"/a?b=${user}\"", "path = \"/${usr}\"", "did you mean `user`"),
        ("path = \"/a?b=${user}\"", "path = \"/\"\nmethod = \"get\"", "capital letters"),
        (
            "path = \"/a?b=${user}\"",
            "path = \"/\"\ncheck = { contains = [\"a${uuid}\"] }",
            "another each time",
        ),
        ("path = \"/a?b=${user}\"", "path = \"/\"\ncheck = { contains = [\"a${nothing}\"] }", "nothing"),
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
    ]);
}

/// What would take all memory, make two requests of one, or is the wrong way round.
#[test]
fn what_no_run_can_have_is_told_by_its_key() {
    are_told(&[
        ("path = \"/a?b=${user}\"", "path = \"/a b?c=${user}\"", "has the byte 0x20"),
        ("path = \"/a?b=${user}\"", "path = \"/a\\r\\nX: y/${user}\"", "has the byte 0x0d"),
        (
            "path = \"/a?b=${user}\"",
            "path = \"/${integer 1 5}\"\nheaders = { x = \"a\\u0000b\" }",
            "no header",
        ),
        (
            "path = \"/a?b=${user}\"",
            "path = \"/${v}\"\n[values]\nv = \"a\\r\\nX: y\"",
            "`values.v` has the byte 0x0d",
        ),
        (
            "path = \"/a?b=${user}\"",
            "path = \"/\"\nheaders = { x = \"${v}\" }\n[values]\nv = \"a\\nb\"",
            "cannot stand in the header of the request `get`",
        ),
        (
            "path = \"/a?b=${user}\"",
            "path = \"/${f}\"\n[fragment.f]\ncount = 1\ntext = \"a b\"",
            "in itself or in a fragment",
        ),
        (
            "path = \"/a?b=${user}\"",
            "path = \"/\"\n[fragment.f]\ncount = 4000000000\ntext = \"a\"",
            "`fragment.f.count` is 4000000000, and at most 1000000",
        ),
        (
            "path = \"/a?b=${user}\"",
            "path = \"/\"\nbody = \"${f}\"\n[fragment.f]\ncount = 1000000\ntext = \"${letters 1000000}\"",
            "may have 1000000000000 bytes",
        ),
        (
            "path = \"/a?b=${user}\"",
            "path = \"/\"\nbody = \"${f}\"\n[values]\nv = \"0123456789\"\n[fragment.f]\ncount = 1000000\ntext = \"${v}${v}${v}${v}${v}${v}${v}\"",
            "may have 70000000 bytes",
        ),
        (
            "[[phase]]",
            "[capacity]\nwithin = 2\n[[phase]]",
            "`capacity.within` is 2: it is a share from 0.001 to 1",
        ),
        ("[[phase]]", "[capacity]\nwithin = 1e-30\n[[phase]]", "`capacity.within` is 0.000"),
        ("[[phase]]", "[capacity]\nfrom = nan\n[[phase]]", "`capacity.from` is NaN"),
        ("[[phase]]", "[capacity]\nfrom = 9\nto = 8\n[[phase]]", "`capacity.to` is 8"),
        ("[[phase]]", "[capacity]\nstep = \"0s\"\n[[phase]]", "`capacity.step` is 0s"),
        ("[[phase]]", "[load]\nthink = [\"5s\", \"1s\"]\n[[phase]]", "`load.think` goes from 5s to 1s"),
        (
            "[[request]]",
            "[[flow]]\nname = \"f\"\nsteps = [\"get\"]\npause = [\"2s\", \"1s\"]\n[[request]]",
            "`pause` of the flow `f` goes from 2s to 1s",
        ),
    ]);
}

/// 30,000 requests were taken without a word.
#[test]
fn a_scenario_has_no_more_requests_than_can_be_counted() {
    let more = |requests: usize| {
        let request = |number| format!("[[request]]\nname = \"r{number}\"\npath = \"/\"\n");
        PLAIN.to_owned() + &(1..requests).map(request).collect::<String>()
    };
    assert!(plan(&more(1_000)).is_ok());
    let told = plan(&more(1_001)).expect_err("they are too many").to_string();
    assert!(told.contains("there are 1001 requests (`[[request]]`), and at most 1000"), "{told}");
    let threads = more(1_000).replace("[[phase]]", "[load]\nthreads = 6\n[[phase]]");
    let told = plan(&threads).expect_err("they are too many").to_string();
    assert!(told.contains("take 12000 rows") && told.contains("load.threads"), "{told}");
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

/// Regression: shards of two machines whose files of tokens have different places were of different plans.
#[test]
fn the_digest_does_not_say_where_files_of_lines_are() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let digest = |value: &str, file: &str| {
        let path = folder.path().join(file);
        std::fs::write(&path, "a\n".repeat(64)).expect("there is room");
        let text = format!("{PLAIN}[lines]\n{value} = {:?}\n", path.display().to_string());
        plan(&text).expect("nothing is wrong with it").digest()
    };
    assert_eq!(digest("token", "here"), digest("token", "there"));
    assert_ne!(digest("token", "here"), digest("key", "here"));
}

const WATCHED: &str = r#"
name = "watched"
host = "http://127.0.0.1:1"
[[phase]]
length = "1s"
rate = 10
[[request]]
name = "put"
path = "/a"
capture = { revision = { json = "/revision" } }
delivery = { watch = "changes", reaches = "revision" }
[[watch]]
name = "changes"
path = "/events/${user}"
headers = { Accept = "text/event-stream, */*", x-device = "d${user}" }
each = 3
after = '"revision":'
"#;

#[test]
fn a_watch_has_a_request_of_its_own_behind_the_others() {
    let plan = plan(WATCHED).expect("nothing is wrong with it");
    assert_eq!((plan.requests.len(), plan.streams_each(), plan.watches[0].request), (2, 3, 1));
    let delivery = plan.requests[0].delivery.expect("it has one");
    assert_eq!((delivery.watch, plan.value_names()[delivery.reaches].as_str()), (0, "revision"));
    let mut bytes = Vec::new();
    plan.requests[1].write(&mut plan.user_of(Share::WHOLE, 7), &mut Vec::new(), &mut bytes);
    let text = String::from_utf8(bytes).expect("it is text");
    assert!(text.starts_with("GET /events/7 HTTP/1.1\r\naccept: text/event-stream, */*\r\n"), "{text}");
    assert!(
        text.contains("\r\nx-device: d7\r\n") && text.contains("\r\ncache-control: no-store\r\n"),
        "{text}"
    );
    let number = |data: &str| plan.watches[0].number(data.as_bytes());
    assert_eq!((number(r#"[{"revision":7},{"revision": 9},{"revision":8}]"#), number("9")), (Some(9), None));
    assert_eq!(plan.scenario.requests_an_iteration(), 2.0);
}

#[test]
fn a_watch_that_leads_nowhere_is_told() {
    for (from, to, part) in [
        (
            "watch = \"changes\"",
            "watch = \"change\"",
            "`delivery` of the request `put`: there is no watch `change`: did you mean `changes`?",
        ),
        (
            "reaches = \"revision\"",
            "reaches = \"version\"",
            "no value that this request captures: there are revision",
        ),
        ("after = '\"revision\":'", "", "give it `after`"),
        (
            "[[phase]]",
            "setup = [\"put\"]\n[[request]]\nname = \"get\"\npath = \"/\"\n[[phase]]",
            "`delivery` of the request `put`: no iteration asks it",
        ),
        ("each = 3", "each = 0", "`each` of the watch `changes` is 0"),
        ("each = 3", "each = 1000", "64 users hold 64000 streams of events, and at most 60000"),
        ("each = 3", "every = 3", "no key `every`"),
        ("name = \"changes\"", "name = \"put\"", "the watch `put` has a name that stands twice"),
        ("path = \"/events", "path = \"events", "watch `changes`: the path"),
        (
            "host = \"http://",
            "host = \"https://",
            "in HTTP/1.1 without TLS alone, and this is hyper, HTTP/1.1 over TLS",
        ),
        ("[[phase]]", "[load]\nhttp = 2\n[[phase]]", "and this is hyper, HTTP/2"),
    ] {
        let text = WATCHED.replace(from, to);
        assert_ne!(text, WATCHED, "{from}");
        let error = plan(&text).expect_err(&text).to_string();
        assert!(error.contains(part), "{to}: {error}");
    }
    let scenario = Scenario::parse(WATCHED, "watched.toml").expect("it is one");
    let error = Plan::of_fleet(scenario, 0).expect_err("its users come and go").to_string();
    assert!(error.contains("leave `[[watch]]` out"), "{error}");
}

#[test]
fn each_user_begins_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("tokens.txt");
    let said = format!(
        "path = \"/${{token}}\"\n[load]\nusers = 3\n[lines]\ntoken = {:?}",
        path.display().to_string()
    );
    let text = PLAIN.replace("path = \"/a?b=${user}\"", &said);
    let told = |lines: &str| {
        std::fs::write(&path, lines).expect("there is room");
        plan(&text).expect_err(lines).to_string()
    };
    assert!(told("a\nb\n").contains("it has 2 lines, and there are 3 users"));
    assert!(
        told("a\nb c\nd\n")
            .contains("line 2 of `lines.token` has the byte 0x20, which cannot stand in the path")
    );
    std::fs::write(&path, "a\r\nb\nc\nd").expect("there is room");
    let values = |share| -> Vec<Vec<u8>> {
        let plan = plan(&text).expect("nothing is wrong with it");
        plan.users_of(share).into_iter().map(|user| user.values.concat()).collect()
    };
    assert_eq!(values(Share::WHOLE), [b"a", b"b", b"c"]);
    assert_eq!(values(Share { number: 1, of: 2 }), [b"b"]);
    let twice =
        plan(&text.replace("[lines]", "[values]\ntoken = \"t\"\n[lines]")).expect_err("one is too much");
    assert!(twice.to_string().contains("`values.token` says what users begin with too"), "{twice}");
    std::fs::remove_file(&path).expect("it was there");
    assert!(plan(&text).expect_err("it is gone").to_string().contains("it cannot be read"));
}
