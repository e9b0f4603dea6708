//! Bad input gets one clear error that names what failed, on which input, and the remedy.

mod small;

use small::{KIT, choice, kits, suite};
use touchstone::kit::{Kit, Kits};
use touchstone::plan::{Choice, MIXED, Plan, Start};
use touchstone::record::Record;
use touchstone::suite::Trace;

const SUITE: &str = r#"
[[dataset]]
name = "rows"
record = "row"
records = 10
value_bytes = 10
[[case]]
id = "read"
title = "Read"
dataset = "rows"
lanes = [{ verb = "read-all" }]
baseline = "one@plain"
arms = ["one@plain", "two@plain"]
[[claim]]
id = "claimed"
statement = "Two reads more"
by = "ours"
[[claim.test]]
measure = "rate"
case = "read"
arm = "two@plain"
against = "one@plain"
at_least = 2
"#;

/// The error of the suite with one thing changed, or of planning it.
fn error_with(from: &str, to: &str) -> String {
    assert!(SUITE.contains(from), "the suite has no `{from}` to change");
    small::plan(&SUITE.replacen(from, to, 1), &choice()).expect_err("the change is wrong").to_string()
}

#[track_caller]
fn assert_says(error: &str, wanted: &[&str]) {
    for words in wanted {
        assert!(error.contains(words), "the error must say `{words}`:\n{error}");
    }
}

#[test]
fn the_unchanged_suite_is_fine() {
    let plan = small::plan(SUITE, &choice()).unwrap();
    assert_eq!(plan.cases[0].arms.len(), 2);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(Plan::parse(&text, "plan.json").unwrap(), plan);
}

#[test]
fn an_unknown_key_is_named_with_its_place() {
    assert_says(&error_with("title = \"Read\"", "titel = \"Read\""), &["small.toml", "titel", "line 13"]);
}

/// A mistake in a number of two sizes was told in no words of the file, or as a type of the program.
#[test]
fn a_value_of_the_wrong_kind_is_told_with_what_is_wanted() {
    for (from, to, wanted) in [
        (
            "records = 10",
            "records = \"ten\"",
            "(`records = \"ten\"`): the text \"ten\" stands where a whole number",
        ),
        (
            "records = 10",
            "records = { quik = 1, full = 2 }",
            "there is no key `quik` here: did you mean `quick`?",
        ),
        ("records = 10", "records = { quick = 1 }", "(`records = { quick = 1 }`): the key `full` is missing"),
        ("arms = [\"one@plain\"", "arms = [{ contender = \"one@plain\" }", "the key `variant` is missing"),
        (
            "lanes = [{ verb = \"read-all\" }]",
            "lanes = { verb = \"read-all\" }",
            "a table stands where a list is wanted",
        ),
        ("dataset = \"rows\"", "dataset = 3", "(`dataset = 3`): the number 3 stands where a text is wanted"),
        ("title = \"Read\"", "title = Read", "this is no TOML"),
    ] {
        let error = error_with(from, to);
        assert_says(&error, &["small.toml, line ", wanted]);
        for word in ["invalid type", "expected a", "variant of", "unknown", "TOML parse error"] {
            assert!(!error.contains(word), "{error}");
        }
    }
}

/// What is wrong with a number of a case was told without the file, and what is wrong with a name without the line.
#[test]
fn what_is_wrong_with_an_item_is_told_with_its_place_in_the_file() {
    for (from, to, wanted) in [
        (
            "baseline =",
            "blocks = 0\nbaseline =",
            "small.toml, line 12: case `small/read`: it needs at least one",
        ),
        (
            "\"two@plain\"]",
            "\"two@plain\", \"two@fancy\"]",
            "small.toml, line 12: case `small/read`: contender `two@f",
        ),
        (
            "dataset = \"rows\"",
            "dataset = \"columns\"",
            "small.toml, line 12: case `read`: there is no dataset",
        ),
        (
            "baseline =",
            "settings = { sychronous = \"full\" }\nbaseline =",
            "small.toml, line 12: suite `small` asks for",
        ),
        ("value_bytes = 10\n", "", "small.toml, line 7: dataset `rows`: a row needs"),
        ("at_least = 2", "", "small.toml, line 19: claim `claimed`: a test needs"),
        (
            "case = \"read\"\narm",
            "case = \"red\"\narm",
            "small.toml, line 19: claim `claimed`: there is no case",
        ),
    ] {
        assert_says(&error_with(from, to), &[wanted]);
    }
    let curve = "[[curve]]\ntitle = \"growth\"\nshows = \"rate\"\nalong = \"rows\"\npoint = [{ at = 1, case = \"read\" }]\n[[claim]]";
    assert_says(
        &error_with("[[claim]]", curve),
        &["small.toml, line 19: curve `growth`: its points are two"],
    );
    let row = "[[published_row]]\nsource = \"a\"\ntable = \"1\"\nof = \"2\"\nper_second = 1\n[[claim]]";
    assert_says(
        &error_with("[[claim]]", row),
        &["small.toml, line 21: published_row `2` of `1`: there is no"],
    );
    // A case at its scales is one in the file.
    let error = small::plan(&OBJECTS.replace("tables = 2", "tables = 0"), &choice()).unwrap_err().to_string();
    assert_says(&error, &["small.toml, line 11: case `small/delete-10`: it needs"]);
}

/// A setting that no driver takes was told by each driver of the run, after all of them had been built.
#[test]
fn a_setting_that_is_no_number_of_what_it_says_is_refused_when_it_is_planned() {
    for (setting, wanted) in [
        ("pool_pages = 0", "`pool_pages` is 0: write 1 or more"),
        ("pool_pages = \"many\"", "`pool_pages` is the text \"many\": write a whole number"),
        ("page_size_bytes = -1", "`page_size_bytes` is -1: write 0 or more"),
    ] {
        let error = error_with("baseline =", &format!("settings = {{ {setting} }}\nbaseline ="));
        assert_says(
            &error,
            &["small.toml, line 12: case `small/read`: arm `one@plain`: its setting", wanted],
        );
    }
    let none = SUITE.replace("baseline =", "settings = { cache_size_bytes = 0, pool_pages = 1 }\nbaseline =");
    small::plan(&none, &choice()).unwrap();
}

/// The same of what a subject cannot do, and of a value that its pages have no room for.
#[test]
fn what_the_kit_says_that_a_subject_cannot_do_is_refused_when_it_is_planned() {
    let named = "run = [\"one\"]\n";
    let told =
        "capabilities = [\"row.get\", \"row.read-all\"]\npage = { bytes = 4096, overhead_bytes = 16 }\n";
    let kits =
        Kits { kits: vec![Kit::parse(&KIT.replace(named, &[named, told].concat()), "kit.toml").unwrap()] };
    let planned = |pairs: &[(&str, &str)]| {
        let text = pairs.iter().fold(SUITE.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
        Plan::new(&[suite(&text).unwrap()], &kits, &choice()).map(|_| ()).map_err(|error| error.to_string())
    };
    let place = "small.toml, line 12: case `small/read`: arm `one@plain`: ";
    let larger = ("baseline =", "settings = { page_size_bytes = 8192 }\nbaseline =");
    let filling = ("value_bytes = 10", "value_bytes = 4080");
    let beyond = ("value_bytes = 10", "value_bytes = 4081");
    for fine in [&[][..], &[filling], &[beyond, larger]] {
        planned(fine).unwrap();
    }
    assert_says(
        &planned(&[beyond]).unwrap_err(),
        &[
            place,
            "pages of 4096 bytes have room for values of 4080",
            "`rows` have 4081",
            "lower `value_bytes`",
        ],
    );
    let mix = ("{ verb = \"read-all\" }", "{ verb = \"mix\", reads = 50, count = 10 }");
    let held = ("{ verb = \"read-all\" }", "{ verb = \"read-all\", held = true }");
    for (change, capability) in [(mix, "row.mix"), (held, "row.held")] {
        let wanted = format!("it is asked for {capability}, and can do row.get, row.read-all: ask another");
        assert_says(&planned(&[change]).unwrap_err(), &[place, &wanted]);
    }
}

#[test]
fn a_row_of_a_page_without_a_figure_is_refused() {
    let reference = "[[reference]]\nid = \"a\"\nkind = \"page\"\ntitle = \"its tables\"\n";
    let row =
        format!("{reference}[[published_row]]\nsource = \"a\"\ntable = \"1\"\nof = \"2\"\noperations = 9\n");
    let error = error_with("[[claim]]", &format!("{row}[[claim]]"));
    assert_says(&error, &["small.toml, line 25: published_row `2` of `1`: it has no figure", "`per_second`"]);
    let printed = SUITE.replace("[[claim]]", &format!("{row}p99_ms = 3\n[[claim]]"));
    small::plan(&printed, &choice()).unwrap();
}

/// Nothing was drawn of it, and nobody was told.
#[test]
fn a_curve_of_hits_is_of_cases_that_get() {
    let curve = |shows: &str| {
        let points = "point = [{ at = 1, case = \"read\" }, { at = 2, case = \"again\" }]";
        format!("[[curve]]\ntitle = \"growth\"\nshows = \"{shows}\"\nalong = \"rows\"\n{points}\n[[claim]]")
    };
    let (first, last) = (SUITE.find("[[case]]").unwrap(), SUITE.find("[[claim]]").unwrap());
    let again = SUITE[first..last].replace("\"read\"", "\"again\"");
    let suite = |verb: &str, shows: &str| {
        let claims = [again.as_str(), &curve(shows)].concat();
        SUITE.replacen("[[claim]]", &claims, 1).replace("verb = \"read-all\"", &format!("verb = {verb}"))
    };
    for (verb, shows) in [("\"get\"", "hits"), ("\"mix\", reads = 50, count = 10", "rate")] {
        small::plan(&suite(verb, shows), &choice()).unwrap();
    }
    let error =
        small::plan(&suite("\"mix\", reads = 50, count = 10", "hits"), &choice()).unwrap_err().to_string();
    assert_says(
        &error,
        &["small.toml, line 26: curve `growth`", "is of gets, and case `read`", "`shows = \"rate\"`"],
    );
}

#[test]
fn an_unknown_verb_is_named_with_those_there_are() {
    assert_says(
        &error_with("read-all", "read-most"),
        &["small.toml", "read-most", "read-all", "insert-many"],
    );
}

/// The durability of a library was not looked at where its row said how long a flush takes, and nothing took that long.
#[test]
fn flushes_of_a_librarys_are_as_long_as_the_disk_makes_them() {
    let arms = "arms = [\"one@plain\", \"two@plain\"";
    let error = error_with(
        arms,
        &format!("{arms}, {{ contender = \"two@plain\", variant = \"slow\", flush_us = 500 }}"),
    );
    assert_says(&error, &["case `small/read`", "two@plain#slow", "`flush_us`", "no `load`", "leave it out"]);
}

/// A case of services, whose users upload.
const SERVED: &str = r#"
[[dataset]]
name = "seeds"
record = "row"
records = 1
value_bytes = 10
[[scenario]]
name = "upload"
[scenario.fragment.changes]
count = 3
separator = ","
text = '{"id":"${run}-${user}-${iteration}-${item}","data":"${run}-${user}-${iteration}-${item} ${text}"}'
[[scenario.request]]
name = "send"
path = "/v1/sync/delta"
headers = { x-client = "device-${user}" }
body = '{"changes":[${changes}]}'
[[scenario.request]]
name = "fetch"
path = "/v1/sync/delta?cursor=0"
[[scenario.flow]]
name = "send"
steps = ["send", "fetch"]
[[case]]
id = "served"
title = "Users upload"
dataset = "seeds"
load = { scenario = "upload", users = 2, window_ms = 100, warm_ms = 100 }
baseline = "one@plain"
arms = ["one@plain", "two@plain"]
"#;

/// Found by a user: what the lab cannot follow made an honest service look like one that loses changes.
#[test]
fn a_scenario_whose_uploads_nobody_could_follow_is_refused() {
    small::plan(SERVED, &choice()).unwrap();
    let path = "path = \"/v1/sync/delta\"\n";
    for (from, to, wanted) in [
        ("name = \"send\"", "name = \"send, quickly\"", ["`send, quickly`", "a comma"]),
        (path, "path = \"/v1/sync/delta?quick=1\"\n", ["`send`", "an upload's path is /v1/sync/delta alone"]),
        ("[${changes}]", "[]", ["`send`", "its `body` is '{\"changes\":[${changes}]}'"]),
        ("count = 3", "", ["`send`", "no fragment `changes`"]),
        ("\"id\":\"${run}-", "\"id\":\"a-", ["`send`", "the `text` of the fragment `changes` is not"]),
        (" ${text}", " ${letters 9}", ["`send`", "knows what must come back"]),
        ("x-client = \"device-${user}\"", "x-client = \"device-0\"", ["`send`", "its header `x-client` is"]),
        ("name = \"send\"\npath", "name = \"send\"\nstatus = [503]\npath", ["`send`", "no `status`"]),
        (
            "[[scenario.flow]]\nname = \"send\"\nsteps = [\"send\", \"fetch\"]\n",
            "",
            ["no `[[flow]]`", "by flows"],
        ),
        ("separator = \",\"", "separator = \" \"", ["`send`", "the `separator` of the fragment `changes`"]),
    ] {
        assert!(SERVED.contains(from), "the suite has no `{from}` to change");
        let changed = SERVED.replacen(from, to, 1);
        let error = small::plan(&changed, &choice()).expect_err("the change is wrong").to_string();
        assert_says(&error, &["case `small/served`", "scenario `upload`"]);
        assert_says(&error, &wanted);
    }
}

#[test]
fn an_unknown_dataset_is_named() {
    assert_says(
        &error_with("dataset = \"rows\"", "dataset = \"columns\""),
        &["case `read`", "no dataset `columns`"],
    );
}

#[test]
fn an_unknown_subject_is_named_with_those_there_are() {
    let error = error_with("\"one@plain\", \"two@plain\"]", "\"one@plain\", \"two@plain\", \"three@plain\"]");
    assert_says(&error, &["case `small/read`", "`three`", "one, two"]);
}

#[test]
fn an_unknown_profile_is_named_with_those_there_are() {
    let error = error_with("\"one@plain\", \"two@plain\"]", "\"one@plain\", \"two@plain\", \"two@fancy\"]");
    assert_says(&error, &["`two@fancy`", "no profile `fancy`", "there are plain"]);
}

#[test]
fn a_contender_without_a_profile_says_how_to_write_one() {
    let error = error_with("\"one@plain\", \"two@plain\"]", "\"one\", \"two@plain\"]");
    assert_says(&error, &["`one` is not a contender", "subject@profile"]);
}

#[test]
fn two_claims_with_one_id_are_refused() {
    let claim = &SUITE[SUITE.find("[[claim]]").unwrap()..];
    let error = suite(&format!("{SUITE}{claim}")).unwrap_err().to_string();
    assert_says(&error, &["small.toml", "claim `claimed` stands twice"]);
}

#[test]
fn a_claim_about_a_case_that_is_not_there_is_refused() {
    assert_says(&error_with("case = \"read\"", "case = \"write\""), &["claim `claimed`", "no case `write`"]);
}

#[test]
fn a_claim_about_an_arm_that_does_not_play_is_refused() {
    assert_says(
        &error_with("arm = \"two@plain\"", "arm = \"six@plain\""),
        &["claim `claimed`", "no arm `six@plain`"],
    );
}

#[test]
fn a_claim_without_bounds_is_refused() {
    assert_says(&error_with("at_least = 2", ""), &["claim `claimed`", "at_least", "at_most"]);
}

#[test]
fn a_baseline_that_is_no_arm_is_refused() {
    assert_says(
        &error_with("baseline = \"one@plain\"", "baseline = \"six@plain\""),
        &["baseline `six@plain`"],
    );
}

#[test]
fn a_record_that_gets_ask_for_alone_must_be_there_and_asked_for() {
    let lanes = "lanes = [{ verb = \"read-all\" }]";
    let gets = |record: u64, filled: u64| {
        format!("get_record = {record}\nfilled = {filled}\nlanes = [{{ verb = \"get\" }}]")
    };
    assert_says(
        &error_with(lanes, &format!("get_record = 1\n{lanes}")),
        &["`get_record`", "no lane of it gets"],
    );
    assert_says(&error_with(lanes, &gets(10, 10)), &["`get_record` is 10", "numbered 0 to 9"]);
    assert_says(&error_with(lanes, &gets(9, 5)), &["`get_record` is 9", "numbered 0 to 4"]);
    small::plan(&SUITE.replace(lanes, &gets(9, 10)), &choice()).unwrap();
}

#[test]
fn an_order_of_gets_is_of_gets_alone_and_of_what_is_stored() {
    let lanes = "lanes = [{ verb = \"read-all\" }]";
    let ordered = |order: &str, rest: &str| {
        format!("order = {{ {order} }}\nlanes = [{{ verb = \"get\", count = 30 }}]\n{rest}")
    };
    let says = |change: String, wanted: &[&str]| assert_says(&error_with(lanes, &change), wanted);
    says(format!("order = {{ kind = \"near\" }}\n{lanes}"), &["`order`", "something else"]);
    says(ordered("kind = \"nearby\"", ""), &["nearby", "near"]);
    says(ordered("kind = \"near\", among = 11", ""), &["among 11 records", "name 1 to 10"]);
    says(ordered("kind = \"near\", among = 0", ""), &["among 0 records"]);
    says(ordered("kind = \"near\"", "get_record = 3"), &["`order` and `get_record`"]);
    says(ordered("kind = \"near\"", "").replace(", count = 30", ""), &["need a `count`"]);
    let after = "kind = \"near\", after = [{ kind = \"cyclic\", among = 5 }]";
    says(ordered(after, "cache = \"warm\""), &["leave out `cache = \"warm\"`"]);
    says(ordered(after, "").replace("30", "70000"), &["140000 gets", "at most 131072"]);
    says(ordered("kind = \"trace\"", ""), &["`trace` needs the `file`"]);
    says(ordered("kind = \"near\", file = \"a.trace\"", ""), &["`near` has no `file`"]);
    let recorded_before = "kind = \"near\", after = [{ kind = \"trace\", among = 5 }]";
    says(ordered(recorded_before, ""), &["comes before a slice is no `trace`"]);
    let plan = small::plan(&SUITE.replace(lanes, &ordered(after, "")), &choice()).unwrap();
    let case = &plan.cases[0];
    assert_eq!((case.operations_before(), case.gets_of_slice()), (30, 30));
    assert_eq!(case.order.as_ref().map(|order| order.among), Some(10), "all that are stored");
}

/// The traces are read beside the suite, so that a plan has them: it may be read again, and edited.
#[test]
fn a_trace_is_in_the_plan_and_fits_what_is_stored_and_asked() {
    let order = "order = { kind = \"trace\", file = \"a.trace\" }";
    let lanes = "lanes = [{ verb = \"get\", count = 4 }]";
    let text = SUITE.replace("lanes = [{ verb = \"read-all\" }]", &format!("{order}\n{lanes}"));
    let planned = |trace: &str| {
        let mut suite = suite(&text).unwrap();
        suite.cases[0].order.as_mut().unwrap().record(Trace::parse(trace).unwrap());
        Plan::new(&[suite], &kits(), &choice())
    };
    let head = "touchstone-trace 1\npages";
    let plan = planned(&format!("{head} 10\ngets 5\n9 0 9 9 1\n")).unwrap();
    let written = serde_json::to_string(&plan).unwrap();
    assert!(written.contains("\"recorded\":\"9 0 9 9 1\""), "{written}");
    assert_eq!(Plan::parse(&written, "plan.json").unwrap(), plan);
    let refused =
        |trace: String, wanted: &[&str]| assert_says(&planned(&trace).unwrap_err().to_string(), wanted);
    refused(format!("{head} 11\ngets 4\n0 0 0 0\n"), &["case `", "a.trace is of 11 pages", "has 10 records"]);
    refused(format!("{head} 10\ngets 3\n0 0 0\n"), &["a.trace has 3 gets", "asks for 4", "lower"]);
    let edited =
        |from: &str, to: &str| Plan::parse(&written.replace(from, to), "plan.json").unwrap_err().to_string();
    assert_says(&edited("9 0 9 9 1", "9 0 10 9 1"), &["asks for page 10 of 10"]);
    assert_says(&edited("9 0 9 9 1", "9 0 x 9 1"), &["`x` is no number"]);
}

#[test]
fn a_slice_takes_a_time_that_something_is_fitted_to() {
    let lanes = "lanes = [{ verb = \"read-all\" }]";
    let says = |written: &str, wanted: &[&str]| assert_says(&error_with(lanes, written), wanted);
    says(&format!("{lanes}\nslice_ms = 0"), &["slice_ms is 0", "1 to 1000 ms"]);
    says(&format!("{lanes}\nslice_ms = 1001"), &["slice_ms is 1001"]);
    says(
        "lanes = [{ verb = \"read-all\", count = 3 }]\nslice_ms = 40",
        &["slice_ms says nothing", "`count`"],
    );
}

#[test]
fn mixed_load_is_of_rows_and_alike_in_all_lanes() {
    let lanes = "lanes = [{ verb = \"read-all\" }]";
    let says = |mix: &str, wanted: &[&str]| {
        assert_says(&error_with(lanes, &format!("lanes = [{mix}]")), wanted);
    };
    says("{ verb = \"mix\" }", &["needs `reads`", "0 to 100"]);
    says("{ verb = \"mix\", reads = 101 }", &["needs `reads`"]);
    says("{ verb = \"mix\", reads = 70, transaction = 0 }", &["`transaction`", "1 to 4096"]);
    says("{ verb = \"mix\", reads = 70, transaction = 5000 }", &["1 to 4096"]);
    says("{ verb = \"mix\", reads = 70, count = 70000 }", &["count of 70000", "at most 65536"]);
    says("{ verb = \"mix\", reads = 70, lasts_ms = 0 }", &["lasts 0 ms"]);
    says("{ verb = \"mix\", reads = 70, lasts_ms = 9, count = 5 }", &["`lasts_ms` and `count`"]);
    says("{ verb = \"mix\", reads = 70, table = 2 }", &["table 2"]);
    says("{ verb = \"mix\", reads = 70 }, { verb = \"get\" }", &["mix", "get"]);
    says("{ verb = \"mix\", reads = 70 }, { verb = \"mix\", reads = 50 }", &["the same for all"]);
    says("{ verb = \"read-all\", reads = 70 }", &["go with mix", "read-all"]);
    let eleven = ["{ verb = \"mix\", reads = 70 }"; 11].join(", ");
    says(&eleven, &["11 mix lanes", "10 stored records"]);
    let mix = "lanes = [{ verb = \"mix\", reads = 70 }]";
    let says = |rest: &str, wanted: &[&str]| {
        assert_says(&error_with(lanes, &format!("{mix}\n{rest}")), wanted);
    };
    says("get_record = 3", &["no lane of it gets"]);
    says("order = { kind = \"near\" }", &["`order`", "something else"]);
    says("cache = \"evicted\"", &["leave out `cache = \"evicted\"`"]);
    let document = SUITE.replace("record = \"row\"", "record = \"document\"").replace(lanes, mix);
    let error = small::plan(&document, &choice()).expect_err("no document is mixed").to_string();
    assert_says(&error, &["needs a dataset of `row`", "is of document"]);
}

#[test]
fn mixed_load_takes_whole_transactions_and_each_lane_has_records_of_its_own() {
    let lanes = "lanes = [{ verb = \"read-all\" }]";
    let mix = "{ verb = \"mix\", reads = 70, transaction = 4 }";
    let suite = SUITE.replace(lanes, &format!("lanes = [{mix}, {mix}, {mix}]"));
    let plan = small::plan(&suite, &choice()).expect("it can be planned");
    let case = &plan.cases[0];
    assert_eq!([0, 1, 2].map(|place| case.mixed_records(place)), [0..3, 3..6, 6..10]);
    assert_eq!(case.states_needed(), 20);
    let start = Start { operation: 8, state: 0 };
    let asked: Vec<(u64, u64)> =
        case.lanes_at(&case.arms[0], start, 9).iter().map(|lane| (lane.from, lane.count)).collect();
    assert_eq!(asked, [(8, 12), (MIXED + 8, 12), (2 * MIXED + 8, 12)]);
    let each = case.arms[0].lanes[0].writing_transactions();
    assert!((each - (1.0 - 0.7_f64.powi(4)) / 4.0).abs() < 1e-12);
}

#[test]
fn documents_with_no_bytes_are_those_of_the_page_without_saying_so() {
    let documents = SUITE.replace("record = \"row\"", "record = \"document\"");
    let error = small::plan(&documents.replace("value_bytes = 10", "value_bytes = 0"), &choice());
    assert_says(&error.unwrap_err().to_string(), &["dataset `rows`", "leave out `value_bytes`"]);
    let plan = small::plan(&documents.replace("value_bytes = 10\n", ""), &choice()).unwrap();
    assert_eq!(plan.cases[0].dataset.value_bytes, 0);
}

#[test]
fn a_batch_without_a_count_is_refused() {
    assert_says(&error_with("read-all", "insert-many"), &["insert-many", "count"]);
}

#[test]
fn a_choice_of_what_is_not_there_is_refused() {
    let case = Choice { cases: vec!["small/write".into()], ..choice() };
    let error = small::plan(SUITE, &case).unwrap_err().to_string();
    assert_says(&error, &["no case `small/write`", "small/read"]);
    // Found by an adversary: another case had the contender, and the baseline of this one was planned alone.
    let other = SUITE.replacen(
        "[[claim]]",
        "[[case]]\nid = \"alone\"\ntitle = \"Alone\"\ndataset = \"rows\"\nlanes = [{ verb = \"read-all\" }]\n\
         baseline = \"one@plain\"\narms = [\"one@plain\"]\n[[claim]]",
        1,
    );
    let elsewhere = Choice { cases: vec!["alone".into()], contenders: vec!["two".into()], ..choice() };
    assert_says(&small::plan(&other, &elsewhere).unwrap_err().to_string(), &["`two`", "they have one@plain"]);
    // Not asked for by name, it is left out: nothing of it was asked for.
    let by_contender = Choice { contenders: vec!["two".into()], ..choice() };
    let cases = small::plan(&other, &by_contender).unwrap().cases;
    assert!(!cases.is_empty() && cases.iter().all(|case| case.id != "small/alone"), "{cases:?}");
    let contender = Choice { contenders: vec!["six".into()], ..choice() };
    assert_says(&small::plan(SUITE, &contender).unwrap_err().to_string(), &["`six`", "they have one@plain"]);
}

#[test]
fn a_kit_with_an_unknown_key_or_a_subject_twice_is_refused() {
    let error = Kit::parse(&KIT.replacen("summary", "sumary", 1), "kit.toml").unwrap_err().to_string();
    assert_says(&error, &["kit.toml, line ", "there is no key `sumary` here: did you mean `summary`?"]);
    let error = Kit::parse(&KIT.replacen("\"two\"", "\"one\"", 1), "kit.toml").unwrap_err().to_string();
    assert_says(&error, &["kit.toml", "subject `one` stands twice"]);
}

/// The error of the suite's plan with one value changed by hand.
fn edited(pointer: &str, value: serde_json::Value) -> String {
    let mut plan = serde_json::to_value(small::plan(SUITE, &choice()).unwrap()).unwrap();
    *plan.pointer_mut(pointer).expect("the plan has such a value") = value;
    Plan::parse(&plan.to_string(), "plan.json").expect_err("the change is wrong").to_string()
}

#[test]
fn an_edited_plan_that_could_never_run_is_refused_with_the_place() {
    let lane = "/cases/0/arms/0/lanes/0";
    let insert = serde_json::json!({"verb": "insert-many", "count": 1u64 << 40, "held": false});
    for (pointer, value, wanted) in [
        ("/looks", serde_json::json!([]), "`looks`"),
        ("/looks", serde_json::json!([12, 8]), "ascending"),
        ("/family", 0.into(), "`family`"),
        ("/cases/0/id", "read".into(), "suite/case"),
        ("/cases/0/id", "small/../../evil".into(), "`../../evil` is not a name"),
        ("/cases/0/id", "large/read".into(), "no suite `large`"),
        ("/cases/0/margin", (-1.0).into(), "margin -1"),
        ("/cases/0/blocks", 0.into(), "at least one block"),
        ("/cases/0/baseline", "six@plain".into(), "baseline `six@plain`"),
        ("/cases/0/floor", "six@plain".into(), "floor `six@plain`"),
        ("/cases/0/filled", 11.into(), "filled with 11 records, but dataset `rows` has 10"),
        ("/cases/0/dataset/name", "a/b".into(), "dataset: `a/b` is not a name"),
        ("/cases/0/dataset/value_bytes", (1u64 << 40).into(), "over 16 GiB"),
        ("/cases/0/arms/1/name", "one@plain".into(), "arm `one@plain` stands twice"),
        ("/cases/0/arms/1/name", "../two".into(), "`../two` is not a name"),
        ("/cases/0/arms/0/lanes", serde_json::json!([]), "no lanes"),
        (lane, serde_json::json!({"verb": "get", "count": 200_000, "held": false}), "at most 131072"),
        (lane, serde_json::json!({"verb": "read-all", "count": 0, "held": false}), "count of 0"),
        (lane, serde_json::json!({"verb": "insert-many", "count": null, "held": false}), "needs `count`"),
        (lane, insert, "over 16 GiB"),
        (lane, serde_json::json!({"verb": "find", "count": 1, "held": false}), "needs `above`"),
        (
            lane,
            serde_json::json!({"verb": "find", "count": 1, "held": false, "above": 3}),
            "needs a dataset of `doc`, and `rows` is of row",
        ),
        (
            lane,
            serde_json::json!({"verb": "read-all", "count": 1, "held": false, "table": 2}),
            "on table 2; `tables` numbers them 1 to 1",
        ),
        ("/cases/0/churn", 1.into(), "nothing deletes a row"),
    ] {
        assert_says(&edited(pointer, value), &["plan.json", wanted]);
    }
}

/// Found by an adversary: a canary, and answers that nobody checked, decided what a page says.
#[test]
fn no_claim_of_a_page_is_decided_by_a_canary_or_on_unchecked_answers() {
    let stand_in = |subject: &str| {
        format!("[[stand_in]]\nlibrary = \"{subject}\"\nsubject = \"{subject}\"\nwhy = \"the only one\"\n")
    };
    let places = ["one", "two"].map(stand_in).concat();
    let of_the_page = SUITE
        .replace("by = \"ours\"", "words = \"more\"")
        .replace("at_least = 2", "rule = \"better\"")
        .replace("[[dataset]]", &format!("{places}[[dataset]]"));
    let plan = serde_json::to_value(small::plan(&of_the_page, &choice()).unwrap()).unwrap();
    let parsed = |pointer: &str, by: &str| {
        let mut plan = plan.clone();
        plan["suites"][0]["claims"][0]["by"] = by.into();
        let place = plan.pointer_mut(pointer).and_then(serde_json::Value::as_object_mut).unwrap();
        place.insert(if pointer.contains("arms") { "canary" } else { "unchecked" }.into(), true.into());
        Plan::parse(&plan.to_string(), "plan.json").map(|_| ()).map_err(|error| error.to_string())
    };
    for (pointer, wanted) in [
        ("/cases/0", "its case `read` leaves answers unchecked"),
        ("/cases/0/arms/0", "asks `one@plain`, a canary"),
        ("/cases/0/arms/1", "asks `two@plain`, a canary"),
    ] {
        assert_says(&parsed(pointer, "page").unwrap_err(), &["plan.json", "`claimed` of the page", wanted]);
    }
    let suite = of_the_page.replace("baseline =", "unchecked = true\nbaseline =");
    let error = small::plan(&suite, &choice()).unwrap_err().to_string();
    assert_says(&error, &["claim `claimed` of the page", "unchecked"]);
    let ours = SUITE.replace("baseline =", "unchecked = true\nbaseline =");
    small::plan(&ours, &choice()).unwrap();
}

/// The suite with objects and a case at two scales.
const OBJECTS: &str = r#"
[[dataset]]
name = "objects"
record = "doc"
records = 10
[[case]]
id = "delete"
title = "Delete"
dataset = "objects"
scales = [10, 100]
tables = 2
restore = true
lanes = [{ verb = "delete-many" }]
baseline = "one@plain"
arms = ["one@plain", "two@plain"]
[[claim]]
id = "scales"
statement = "Deleting scales"
by = "ours"
[[claim.test]]
measure = "scaling"
case = "delete"
arm = "one@plain"
at_least = 0.5
"#;

#[test]
fn objects_and_scales_that_make_no_sense_are_refused_with_the_remedy() {
    small::plan(OBJECTS, &choice()).unwrap();
    for (old, new, wanted) in [
        (
            "records = 10\n",
            "records = 10\nvalue_bytes = 5\n",
            "dataset `objects`: a doc has fields of its own",
        ),
        ("record = \"doc\"", "record = \"row\"", "dataset `objects`: a row needs `value_bytes`"),
        ("scales = [10, 100]", "scales = []", "at least one, ascending"),
        ("scales = [10, 100]", "scales = [100, 10]", "at least one, ascending"),
        ("scales = [10, 100]", "", "\"scaling\" needs a case with `scales`, and `delete` is none"),
        ("case = \"delete\"\narm", "case = \"delete-10\"\narm", "needs a case with `scales`"),
        ("arm = \"one@plain\"", "arm = \"six@plain\"", "no arm `six@plain`"),
        ("at_least = 0.5", "", "`at_least` or `at_most`"),
        ("at_least = 0.5", "at_least = 0.5\nagainst = \"two@plain\"", "leave out `against`"),
        ("measure = \"scaling\"", "measure = \"rate\"", "no case `delete`"),
        ("restore = true", "", "say `restore = true`"),
        ("\"delete-many\"", "\"delete-many\", count = 2", "count of 1"),
        ("\"delete-many\"", "\"delete-many\", table = 3", "`tables` numbers them 1 to 2"),
        ("{ verb = \"delete-many\" }", "{ verb = \"update-one\", table = 2 }", "lanes on table 1 only"),
        (
            "lanes = [{ verb = \"delete-many\" }",
            "filled = 0\nlanes = [{ verb = \"update-one\" }",
            "0 are stored at each of them",
        ),
        ("\"delete-many\"", "\"update-many\", count = 11", "more objects than the 10 stored"),
        ("\"delete-many\"", "\"insert-many\"", "needs `count`"),
    ] {
        assert_eq!(OBJECTS.matches(old).count(), 1, "{old}");
        let error = small::plan(&OBJECTS.replace(old, new), &choice()).expect_err(new).to_string();
        assert_says(&error, &["small", wanted]);
    }
    let unknown = Choice { cases: vec!["small/delete-1000".into()], ..choice() };
    let error = small::plan(OBJECTS, &unknown).unwrap_err().to_string();
    assert_says(&error, &["no case `small/delete-1000`", "small/delete-10, small/delete-100"]);
}

#[test]
fn scales_churn_and_tables_beyond_all_bounds_are_refused() {
    let lanes = "tables = 2\nrestore = true\nlanes = [{ verb = \"delete-many\" }]";
    let on_table = |tables: &str, table: &str| {
        format!("tables = {tables}\nrestore = true\nlanes = [{{ verb = \"delete-many\", table = {table} }}]")
    };
    for (old, new, wanted) in [
        ("scales = [10, 100]", "scales = [10, 10]".to_owned(), "ascending"),
        ("scales = [10, 100]", "scales = [0, 10]".into(), "from 1"),
        ("scales = [10, 100]", format!("scales = [10, {}]", i64::MAX), "over 16 GiB"),
        ("scales = [10, 100]", "scales = \"all\"".into(), "one each for `quick` and `full`"),
        ("scales = [10, 100]", "scales = { quick = [10] }".into(), "the key `full` is missing"),
        ("tables = 2", "tables = 2\nchurn = -1".into(), "one each for `quick` and `full`"),
        ("tables = 2", "tables = 2\nchurn = 1001".into(), "`churn` of 1001 is over 1000"),
        ("tables = 2", "tables = 2\ntyped = true".into(), "dataset of `doc` and `tables = 4`"),
        (lanes, on_table("2", "0"), "on table 0; `tables` numbers them 1 to 2"),
        (lanes, on_table("4000000000", "4000000000"), "over 16 GiB"),
        (
            lanes,
            format!("{}, {{ verb = \"find\" }}]", on_table("20", "20").trim_end_matches(']')),
            "`filled` is 10, and table 1 has no share",
        ),
    ] {
        assert_eq!(OBJECTS.matches(old).count(), 1, "{old}");
        let error = small::plan(&OBJECTS.replace(old, &new), &choice()).expect_err(&new).to_string();
        assert_says(&error, &["small", wanted]);
    }
}

/// Found in a review: such lanes were played, and a right answer or a right database called wrong.
#[test]
fn lanes_of_which_nobody_could_say_what_is_right_are_refused() {
    for (lanes, wanted) in [
        ("{ verb = \"delete-many\" }, { verb = \"delete-many\" }", "beside one that does delete-many"),
        (
            "{ verb = \"delete-many\" }, { verb = \"insert-many\", count = 1 }",
            "beside one that does insert-many",
        ),
        ("{ verb = \"update-one\" }, { verb = \"update-one\" }", "its update-one lane is beside"),
        (
            "{ verb = \"update-many\", count = 5 }, { verb = \"update-one\" }",
            "its update-many lane is beside",
        ),
        ("{ verb = \"find\" }, { verb = \"update-one\" }", "its find lane is beside"),
        ("{ verb = \"read-all\" }, { verb = \"insert-one\" }", "its read-all lane is beside"),
        ("{ verb = \"get\" }, { verb = \"update-many\" }", "its get lane is beside"),
        ("{ verb = \"get\" }, { verb = \"insert-one\", table = 2 }", "make two cases of them"),
        ("{ verb = \"get\" }, { verb = \"get\", table = 2 }", "on table 1 only"),
        ("{ verb = \"update-one\", held = true }", "`held` holds a read transaction open"),
    ] {
        let suite = OBJECTS.replace("{ verb = \"delete-many\" }", lanes);
        let error = small::plan(&suite, &choice()).expect_err(lanes).to_string();
        assert_says(&error, &["case `small/delete-10`", wanted]);
    }
    for lanes in [
        "{ verb = \"delete-many\" }, { verb = \"read-all\" }, { verb = \"find\" }, { verb = \"get\", table = 1 }",
        "{ verb = \"update-many\" }, { verb = \"find\", held = true }",
    ] {
        // A get goes beside a delete where that is on another table.
        let lanes = lanes.replacen("\"delete-many\"", "\"delete-many\", table = 2", 1);
        small::plan(&OBJECTS.replace("{ verb = \"delete-many\" }", &lanes), &choice()).unwrap();
    }
}

#[test]
fn one_suite_planned_twice_is_refused() {
    let suite = suite(SUITE).unwrap();
    let error = Plan::new(&[suite.clone(), suite], &kits(), &choice()).unwrap_err().to_string();
    assert_says(&error, &["suite `small` stands twice"]);
}

#[test]
fn a_suite_filled_with_more_than_its_dataset_is_refused() {
    let error = error_with("lanes = [", "filled = 11\nlanes = [");
    assert_says(&error, &["case `small/read`", "filled with 11", "has 10"]);
}

#[test]
fn a_plan_of_another_version_says_what_to_do() {
    let error = Plan::parse("{\"plan_version\": 99}", "plan.json").unwrap_err().to_string();
    assert_says(&error, &["plan.json", "version 99", "touchstone plan"]);
    assert_says(&Plan::parse("rubbish", "plan.json").unwrap_err().to_string(), &["plan.json", "not a plan"]);
}

#[test]
fn an_unreadable_record_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let error = |folder: &std::path::Path| Record::read(folder).unwrap_err().to_string();
    assert_says(&error(folder.path()), &["no record here", "record.json"]);
    std::fs::write(folder.path().join("record.json"), "{\"record_version\": 2}").unwrap();
    assert_says(&error(folder.path()), &["record version 2", "newer touchstone"]);
    std::fs::write(folder.path().join("record.json"), "{\"record_ver").unwrap();
    assert_says(&error(folder.path()), &["record.json", "damaged record"]);
}

const WATCHED: &str = r#"
[[dataset]]
name = "spread"
record = "doc"
records = 10
spacing = 4
[[case]]
id = "watch"
title = "Watch"
dataset = "spread"
watch = { watched = "window", subscriptions = 3, width = 2 }
lanes = [{ verb = "deliver", changes = 2 }]
baseline = "one@plain"
arms = ["one@plain"]
"#;

#[test]
fn what_cannot_be_watched_or_delivered_is_refused() {
    small::plan(WATCHED, &choice()).unwrap();
    let cases = [
        ("spacing = 4", "spacing = 0", "at least 1"),
        ("spacing = 4\n", "", "with a `spacing`"),
        ("spacing = 4", "spacing = 1", "say `spacing = 4`"),
        (", width = 2", "", "has a `width`"),
        ("\"window\"", "\"one\"", "has a `width`"),
        ("width = 2", "width = 2, span = 11", "at most all"),
        ("width = 2", "width = 2, stride = 5", "reach over more than the 10"),
        ("width = 2", "width = 2, limit = 0", "a `limit` is at least 1"),
        ("subscriptions = 3", "subscriptions = 2000000", "at most 1048576 subscriptions"),
        ("changes = 2", "changes = 11", "change 11 of 10 objects"),
        ("changes = 2", "changes = 2, unwatched = true", "change 2 of 0 objects"),
        ("changes = 2", "changes = 2, table = 2", "on table 1"),
        ("changes = 2 }", "changes = 2 }, { verb = \"find\" }", "runs alone"),
        ("verb = \"deliver\", changes = 2", "verb = \"subscribe\", depth = \"diff\"", "go with deliver"),
        ("verb = \"deliver\", changes = 2", "verb = \"subscribe\", held = true", "runs alone"),
        ("verb = \"deliver\", changes = 2", "verb = \"find\", depth = \"diff\"", "go with deliver"),
        ("watch = { watched = \"window\", subscriptions = 3, width = 2 }\n", "", "needs a `watch`"),
        ("title = \"Watch\"", "title = \"Watch\"\nscaled = \"changes\"", "there are none"),
        ("changes = 2", "changes = 2, depth = \"deep\"", "`deep` is not possible here"),
    ];
    for (from, to, wanted) in cases {
        assert!(WATCHED.contains(from), "the suite has no `{from}` to change");
        let error = small::plan(&WATCHED.replacen(from, to, 1), &choice()).expect_err(to).to_string();
        assert_says(&error, &[wanted]);
    }
    let begun = WATCHED.replacen("verb = \"deliver\", changes = 2", "verb = \"subscribe\"", 1);
    let plan = small::plan(&begun, &choice()).unwrap();
    assert_eq!(plan.cases[0].watched_before(&plan.cases[0].arms[0]), Some(0), "nobody watches besides");
    let nothing = begun.replacen("subscriptions = 3", "subscriptions = 0", 1);
    assert_says(&small::plan(&nothing, &choice()).unwrap_err().to_string(), &["one of 0 subscriptions"]);
}
