//! Pages against code: what is generated is fresh, and what is written by hand names what there is.
//!
//! `UPDATE=1 cargo test -p xtask --test fresh` rewrites what is generated.

use clap::CommandFactory as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use touchstone::statistics::{BOOTSTRAP_RESAMPLES, DETECTION_FACTORS, LOOKS, P_LOOK};
use touchstone::suite::{By, Suite};
use touchstone_runner::kits::Project;
use xtask::fields::Types;
use xtask::{Tree, assert_none, markdown, published, table};

/// Where the types of each format are.
const SUITE: [&str; 12] = [
    "crates/touchstone/src/suite.rs",
    "crates/touchstone/src/suite/claim.rs",
    "crates/touchstone/src/suite/load.rs",
    "crates/touchstone/src/suite/order.rs",
    "crates/touchstone/src/suite/refuted.rs",
    "crates/touchstone/src/suite/curve.rs",
    "crates/touchstone/src/suite/row.rs",
    "crates/touchstone/src/suite/rule.rs",
    "crates/touchstone/src/suite/scale.rs",
    "crates/touchstone-protocol/src/message.rs",
    "crates/touchstone-protocol/src/data.rs",
    "crates/touchstone-protocol/src/watch.rs",
];
const KIT: [&str; 1] = ["crates/touchstone/src/kit.rs"];
const RECORD: [&str; 18] = [
    "crates/touchstone/src/plan.rs",
    "crates/touchstone/src/plan/arm.rs",
    "crates/touchstone/src/plan/case.rs",
    "crates/touchstone/src/plan/lane.rs",
    "crates/touchstone/src/plan/order.rs",
    "crates/touchstone/src/plan/overriding.rs",
    "crates/touchstone/src/plan/reduced.rs",
    "crates/touchstone/src/sample.rs",
    "crates/touchstone/src/sample/load.rs",
    "crates/touchstone/src/record.rs",
    "crates/touchstone/src/record/ceiling.rs",
    "crates/touchstone/src/estimate.rs",
    "crates/touchstone/src/estimate/load.rs",
    "crates/touchstone/src/sample/over_time.rs",
    "crates/touchstone/src/estimate/witnessed.rs",
    "crates/touchstone-statistics/src/duel.rs",
    "crates/touchstone-statistics/src/kinds.rs",
    "crates/touchstone-statistics/src/latency.rs",
];
const VERDICT: [&str; 6] = [
    "crates/touchstone/src/verdict.rs",
    "crates/touchstone/src/verdict/claim.rs",
    "crates/touchstone/src/verdict/comparison.rs",
    "crates/touchstone/src/verdict/flag.rs",
    "crates/touchstone/src/verdict/gate.rs",
    "crates/touchstone/src/verdict/gate/counts.rs",
];
/// What a command prints that leaves no record.
const PRINTED: [&str; 1] = ["crates/touchstone-cli/src/command/capacity/searches.rs"];

const LOAD: [&str; 8] = [
    "crates/touchstone-load/src/scenario.rs",
    "crates/touchstone-load/src/scenario/watch.rs",
    "crates/touchstone-load/src/outcome.rs",
    "crates/touchstone-load/src/outcome/watch.rs",
    "crates/touchstone-load/src/memory.rs",
    "crates/touchstone-load/src/search.rs",
    "crates/touchstone-load/src/series.rs",
    "crates/touchstone-load/src/trust.rs",
];
/// Failures have the name of another type of the lab's.
const LOAD_FAILURES: [&str; 1] = ["crates/touchstone-load/src/failure.rs"];

/// Types of those files that are not in the format of the page.
const ELSEWHERE: [(&str, &[&str]); 4] = [
    ("docs/load-format.md", &["Series", "Version"]),
    (
        "docs/suite-format.md",
        &[
            "Schema",
            "Run",
            "Lane",
            "Hello",
            "Clock",
            "Opened",
            "Served",
            "Sample",
            "LaneSample",
            "Delivery",
            "DeliveryDigest",
            "ScaledCase",
            "Bounds",
            "Usage",
            "Plan",
            "Failure",
        ],
    ),
    ("docs/kit-format.md", &["Contender"]),
    (
        "docs/record-format.md",
        &[
            "Schema",
            "Run",
            "Lane",
            "Opened",
            "Served",
            "Sample",
            "Failure",
            "Suite",
            "Dataset",
            "Case",
            "LanePlan",
            "LoadPlan",
            "OrderPlan",
            "WatchPlan",
            "ScaledCase",
            "Bounds",
            "DeliveryDigest",
            "VariedArm",
            "Kit",
            "KitHead",
            "Subject",
            "RecordPage",
            "Profile",
            "Contender",
        ],
    ),
];

fn types(tree: &Tree, files: &[&[&str]]) -> Types {
    let mut types = Types::default();
    files.iter().copied().flatten().for_each(|file| types.add(tree.text(file)));
    types
}

/// The types behind each page of a format. The protocol's come first, so that the plan of a run, which has the name
/// of what a kit explains, is the one on the page.
fn formats(tree: &Tree) -> BTreeMap<&'static str, Types> {
    let all: [&[&str]; 5] = [&SUITE, &KIT, &RECORD, &VERDICT, &PRINTED];
    [
        ("docs/suite-format.md", types(tree, &[&SUITE])),
        ("docs/kit-format.md", types(tree, &[&KIT])),
        ("docs/record-format.md", types(tree, &all)),
        ("docs/load-format.md", types(tree, &[&LOAD, &LOAD_FAILURES])),
    ]
    .into()
}

/// What stands in a generated region; none for a region that is spliced in by hand.
fn generated(tree: &Tree, page: &str, region: &str, formats: &BTreeMap<&str, Types>) -> Option<String> {
    let project = Project::open(Some(&tree.root)).expect("kits are where they are looked for");
    let suites = project.suites(&[]).expect("every suite is one");
    let types = || formats.get(page).unwrap_or_else(|| panic!("{page} is no page of a format"));
    match region.split_once(" of ") {
        None if region == "suites" => Some(table::suites(&suites)),
        None if region == "places" => Some(places()),
        None if region == "columns" => Some(columns()),
        None if region == "factors" => Some(factors()),
        None if region == "subjects" => Some(table::subjects(&project.kits)),
        None if region == "result" || region == "results" => None,
        // `tests/guide.rs` of the sync service makes them.
        None if region == "problems" || region == "limits" => None,
        Some(("sources", name)) => Some(published::sources(suite_named(&suites, name))),
        Some(("claims", name)) => Some(published::claims(suite_named(&suites, name), By::Page)),
        Some(("ours", name)) => Some(published::claims(suite_named(&suites, name), By::Ours)),
        Some(("loads", name)) => Some(published::loads(suite_named(&suites, name))),
        Some(("options", verb)) => Some(options(verb)),
        Some(("fields", name)) => types().fields_table(name),
        Some(("keys", name)) => types().keys_table(name),
        _ => panic!("{page}: nobody makes the region `{region}`"),
    }
}

/// What may stand in a request's texts.
fn places() -> String {
    let head = "| place | gives |\n|---|---|\n".to_owned();
    head + &touchstone_load::template::FIELDS
        .map(|(field, gives)| format!("| `${{{field}}}` | {gives} |\n"))
        .concat()
}

/// What stands in a line of the file of requests.
fn columns() -> String {
    let head = "| column | holds |\n|---|---|\n".to_owned();
    head + &touchstone_load::requests::COLUMNS
        .map(|(column, holds)| format!("| `{column}` | {holds} |\n"))
        .concat()
}

/// By how much a difference must exceed half the interval, after the launches of each look.
fn factors() -> String {
    let head = "| launches | of one kind | of two kinds |\n|---|---|---|\n".to_owned();
    let rows =
        LOOKS.iter().zip(DETECTION_FACTORS).map(|(look, [one, two])| format!("| {look} | {one} | {two} |\n"));
    head + &rows.collect::<String>()
}

fn suite_named<'s>(suites: &'s [Suite], name: &str) -> &'s Suite {
    suites.iter().find(|suite| suite.name == name).unwrap_or_else(|| panic!("there is no suite {name}"))
}

/// A verb's line and its options, from the same text as `--help`.
fn options(verb: &str) -> String {
    let command = touchstone_cli::Cli::command();
    let verb = command.find_subcommand(verb).unwrap_or_else(|| panic!("there is no verb {verb}"));
    let mut text = format!(
        "{}.\n\n| option | means |\n|---|---|\n",
        verb.get_about().expect("a verb says what it does")
    );
    for argument in verb.get_arguments().filter(|argument| argument.get_id() != "help") {
        let value = argument.get_value_names().map_or(String::new(), |names| format!(" {}", names[0]));
        let name = match argument.get_long() {
            Some(long) if argument.get_action().takes_values() => format!("`--{long}{value}`"),
            Some(long) => format!("`--{long}`"),
            None => format!("`{}`", value.trim()),
        };
        let help = argument.get_help().expect("an option says what it means");
        let default = argument.get_default_values().first().filter(|_| argument.get_action().takes_values());
        let default =
            default.map_or(String::new(), |value| format!("; {} unless given", value.to_string_lossy()));
        text.push_str(&format!("| {name} | {help}{default} |\n"));
    }
    if text.ends_with("|---|---|\n") {
        text.split("\n\n").next().unwrap_or_default().to_owned()
    } else {
        text
    }
}

#[test]
fn generated_regions_are_fresh() {
    let tree = Tree::read();
    let formats = formats(&tree);
    let update = std::env::var_os("UPDATE").is_some();
    let mut stale = Vec::new();
    for (path, page) in tree.ending(&[".md"]) {
        let mut fresh = page.to_owned();
        for region in markdown::regions(page) {
            let Some(contents) = generated(&tree, path, &region, &formats) else { continue };
            fresh = markdown::with_region(&fresh, &region, &contents).expect("the region has its end");
        }
        if fresh != page && update {
            fs::write(tree.root.join(path), fresh).expect("the page can be written");
        } else if fresh != page {
            stale.push(format!("{path}: `UPDATE=1 cargo test -p xtask --test fresh` makes it fresh"));
        }
    }
    assert_none("stale pages", &stale);
}

#[test]
fn every_field_of_every_format_stands_on_its_page() {
    let tree = Tree::read();
    for (page, types) in formats(&tree) {
        let elsewhere: BTreeSet<&str> = ELSEWHERE
            .iter()
            .filter(|(known, _)| *known == page)
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        let regions: BTreeSet<String> = markdown::regions(tree.text(page)).into_iter().collect();
        for name in types.names() {
            let shown = ["fields", "keys"].iter().any(|what| regions.contains(&format!("{what} of {name}")));
            assert!(
                shown != elsewhere.contains(name),
                "{page}: {name} must stand on it, or be listed as elsewhere"
            );
        }
    }
}

/// The parser itself says which keys it knows, so none can be forgotten here.
#[test]
fn every_key_that_the_parsers_know_stands_on_its_page() {
    let tree = Tree::read();
    let suite = tree.text("docs/suite-format.md");
    let head = "name = \"x\"\ntitle = \"x\"\nsource = \"x\"\ndevice = \"x\"\n";
    let samples = [
        "zzz = 1".to_owned(),
        format!("{head}[[dataset]]\nzzz = 1"),
        format!("{head}[[case]]\nzzz = 1"),
        format!("{head}[[case]]\nlanes = [{{ zzz = 1 }}]"),
        format!("{head}[[case]]\narms = [{{ zzz = 1 }}]"),
        format!("{head}[[case]]\nload = {{ zzz = 1 }}"),
        format!("{head}[[published_row]]\nzzz = 1"),
        format!("{head}[[published_load]]\nzzz = 1"),
        format!("{head}[[reference]]\nzzz = 1"),
        format!("{head}[[stand_in]]\nzzz = 1"),
        format!("{head}[[claim]]\nzzz = 1"),
        format!("{head}[[claim]]\nfigure = [{{ zzz = 1 }}]"),
        format!("{head}[[claim]]\npairs = [{{ zzz = 1 }}]"),
        format!("{head}[[claim]]\nuntested = {{ zzz = 1 }}"),
        format!("{head}[[claim]]\nrefuted = {{ zzz = 1 }}"),
        format!("{head}[[curve]]\nzzz = 1"),
        format!("{head}[[curve]]\npoint = [{{ zzz = 1 }}]"),
        format!("{head}[[claim]]\n[[claim.test]]\nzzz = 1"),
    ];
    let mut known = 0;
    for sample in samples {
        let error = Suite::parse(&sample, "sample").expect_err("zzz is no key").to_string();
        known += keys_named(&error, suite, "docs/suite-format.md");
    }
    let kit = tree.text("docs/kit-format.md");
    for sample in
        ["zzz = 1", "[kit]\nzzz = 1", "[[subject]]\nzzz = 1", "[[subject]]\n[[subject.profile]]\nzzz = 1"]
    {
        let error = touchstone::kit::Kit::parse(sample, "sample").expect_err("zzz is no key").to_string();
        known += keys_named(&error, kit, "docs/kit-format.md");
    }
    assert!(known > 50, "only {known} keys were found");
}

fn keys_named(error: &str, page: &str, path: &str) -> usize {
    let (_, known) = error.rsplit_once("here are ").unwrap_or_else(|| panic!("no keys in {error}"));
    let keys: Vec<&str> = known.split(", ").collect();
    for key in &keys {
        assert!(page.contains(&format!("| `{key}` |")), "{path} says nothing of the key `{key}`");
    }
    keys.len()
}

#[test]
fn every_verb_and_every_option_stands_on_a_page() {
    let tree = Tree::read();
    let pages: String = tree
        .ending(&[".md"])
        .filter(|(path, _)| path.starts_with("docs/") || *path == "README.md")
        .map(|(_, text)| text)
        .collect();
    let command = touchstone_cli::Cli::command();
    let mut missing = Vec::new();
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        if !pages.contains(&format!("touchstone {}", verb.get_name())) {
            missing.push(format!("`touchstone {}` stands on no page", verb.get_name()));
        }
        for option in verb.get_arguments().filter_map(|argument| argument.get_long()) {
            if !matches!(option, "help" | "version") && !pages.contains(&format!("--{option}")) {
                missing.push(format!("`--{option}` of `touchstone {}` stands on no page", verb.get_name()));
            }
        }
    }
    assert_none("verbs", &missing);
}

#[test]
fn every_measure_outcome_and_flag_stands_in_the_methodology() {
    let tree = Tree::read();
    let page = tree.text("docs/methodology.md");
    let types = types(&tree, &[&SUITE, &RECORD]);
    let worded = ["Measure", "Outcome", "Cache"].iter().flat_map(|name| types.words_of(name));
    let mut missing: Vec<String> = worded.filter(|word| !page.contains(&format!("`{word}`"))).collect();
    let flags = tree.text("crates/touchstone/src/verdict/flag.rs").lines();
    let flags: Vec<&str> =
        flags.filter_map(|line| line.trim().strip_prefix("FlagKind::")?.split('"').nth(1)).collect();
    assert!(flags.len() >= 8, "{flags:?}");
    missing.extend(
        flags.iter().filter(|flag| !page.contains(&format!("| {flag} |"))).map(|flag| (*flag).to_owned()),
    );
    assert_none("methodology", &missing);
}

#[test]
fn every_exit_status_stands_on_its_page() {
    let tree = Tree::read();
    let page = tree.text("docs/exit-codes.md");
    let lines = tree.text("crates/touchstone-cli/src/exit.rs").lines();
    let statuses: Vec<&str> = lines
        .filter_map(|line| line.strip_prefix("pub const ")?.split_once(": u8 = ")?.1.strip_suffix(';'))
        .collect();
    assert!(statuses.len() >= 9, "{statuses:?}");
    for status in statuses {
        assert!(page.contains(&format!("| {status} |")), "docs/exit-codes.md says nothing of {status}");
    }
}

/// Paths that a page names as they will be, not as they are.
const TO_COME: [&str; 2] = ["kits/rust/drivers/src/bin/shelf.rs", "suites/shelf.toml"];

#[test]
fn every_path_that_a_page_names_is_there() {
    let tree = Tree::read();
    let folders = ["crates/", "kits/", "suites/", "protocol/", "docs/"];
    let (mut findings, mut found) = (Vec::new(), 0);
    for (path, text) in
        tree.ending(&[".md"]).filter(|(path, _)| !path.contains('/') || path.starts_with("docs/"))
    {
        for named in markdown::prose(text).split('`').skip(1).step_by(2) {
            let is_path = folders.iter().any(|folder| named.starts_with(folder));
            if !is_path || named.contains(['<', '*', ' ']) || TO_COME.contains(&named) {
                continue;
            }
            found += 1;
            if !tree.root.join(named).exists() {
                findings.push(format!("{path}: there is no {named}"));
            }
        }
    }
    assert!(found > 30, "only {found} paths were found");
    assert_none("paths", &findings);
}

#[test]
fn every_file_of_a_record_stands_on_its_page() {
    let tree = Tree::read();
    let page = tree.text("docs/record-format.md");
    let source = tree.text("crates/touchstone/src/record.rs");
    let names: Vec<&str> = source
        .lines()
        .filter_map(|line| {
            line.trim().strip_prefix("pub const ")?.split_once(": &str = \"")?.1.strip_suffix("\";")
        })
        .collect();
    assert!(names.len() >= 13, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("`{name}")), "docs/record-format.md says nothing of {name}");
    }
}

const FLAG_WITNESSED: &str = "crates/touchstone/src/verdict/flag/witnessed.rs";

/// Numbers that stand in the code as they are searched here, and on the page in words.
const NUMBERS: [(&str, &str, &str); 65] = [
    (
        "crates/touchstone/src/verdict/flag/two_kinds.rs",
        "const LENGTH_MIN: f64 = 0.9;",
        "whose slices last at least 0.9 times as long",
    ),
    (
        "crates/touchstone/src/verdict/flag/two_kinds.rs",
        "const COUNTED_SHARE_MIN: f64 = 0.25;",
        "of arms of which a quarter of the launches or more are of two kinds",
    ),
    (
        "crates/touchstone/src/verdict/flag/two_kinds.rs",
        "const P: f64 = 0.05;",
        "Fisher's exact test, p below 0.05",
    ),
    (
        "crates/touchstone/src/verdict/flag/two_kinds.rs",
        "const SHARE_MIN: f64 = 0.5;",
        "in half of its launches or more",
    ),
    (
        "crates/touchstone/src/estimate/witnessed.rs",
        "const KINDS_FAR_APART: f64 = 1.5;",
        "1.5 times the other's time or more",
    ),
    (
        "crates/touchstone/src/verdict/flag.rs",
        "const PACE_MIN: f64 = 0.5;",
        "less than half of its time in slices",
    ),
    (
        "crates/touchstone/src/estimate/witnessed.rs",
        "const SLICES_LEAST_BESIDE: usize = 16;",
        "beside any of them, at least sixteen",
    ),
    (
        "crates/touchstone/src/estimate/witnessed.rs",
        "const SLICES_LEAST: usize = 8;",
        "in three of four of its slices, at least eight of them",
    ),
    ("crates/touchstone/src/plan/case.rs", "pub const SLICE_MS: u32 = 2;", "2 ms"),
    (
        "crates/touchstone-runner/src/run.rs",
        "let slowest = *counts.iter().min()?;",
        "The smallest of these counts",
    ),
    (
        "crates/touchstone-runner/src/launch/template.rs",
        "limit: context.manners.limit * 10",
        "ten times as long",
    ),
    ("crates/touchstone-runner/src/run.rs", "const WARM_SLICES: u64 = 3;", "three slices"),
    ("crates/touchstone-runner/src/run.rs", "const WARM_MS_CALIBRATED: u64 = 16;", "last 16 ms"),
    ("crates/touchstone-runner/src/run.rs", "Size::Full => 50,", "50 times"),
    ("crates/touchstone-runner/src/run.rs", "Size::Quick => 20,", "20 times in a quick run"),
    ("crates/touchstone-runner/src/run.rs", "const LATENCY_OPERATIONS_MAX: u64 = 20_000;", "20,000"),
    ("crates/touchstone-runner/src/surroundings.rs", "const PADDING_BYTES_MAX: usize = 4096;", "4,095 bytes"),
    ("crates/touchstone/src/plan/supply.rs", "pub const GETS: u64 = 1 << 17;", "131,072"),
    (
        "crates/touchstone/src/plan/supply.rs",
        "Verb::InsertOne | Verb::InsertMany | Verb::UpdateOne | Verb::UpdateMany => 512,",
        "512 inserts or single updates",
    ),
    ("crates/touchstone/src/plan/supply.rs", "Verb::Get => 1 << 16,", "65,536 gets"),
    (
        "crates/touchstone/src/plan/supply.rs",
        "Verb::ReadAll | Verb::Open | Verb::Find | Verb::DeleteMany => 1 << 10,",
        "1,024 reads of everything, finds or opens",
    ),
    ("crates/touchstone/src/plan/supply.rs", "Verb::Deliver => 1 << 8,", "256 transactions with subscribers"),
    ("crates/touchstone/src/plan/supply.rs", "Verb::Subscribe => 1 << 10,", "1,024 subscriptions"),
    ("crates/touchstone/src/plan/supply.rs", "const DELIVERED_OBJECTS: u64 = 4096;", "4,096 objects"),
    ("crates/touchstone-runner/src/recorded.rs", "const COMMITS: u64 = 41;", "41 commits"),
    ("crates/touchstone-runner/src/probe.rs", "pub const PAGE_BYTES: usize = 4096;", "4 KiB"),
    ("crates/touchstone/src/plan/settle.rs", "let full = if case.flushes { 30 } else { 60 };", "60 blocks"),
    ("crates/touchstone/src/plan/settle.rs", "Size::Quick => full / 4,", "a quarter"),
    ("crates/touchstone/src/plan/settle.rs", "const MARGIN: f64 = 0.01;", "1 %"),
    ("crates/touchstone/src/plan/settle.rs", "const MARGIN_OF_FLUSHES: f64 = 0.10;", "10 %"),
    ("crates/touchstone-cli/src/command/gate.rs", "if case.flushes { 0.10 } else { 0.02 }", "2 %"),
    ("crates/touchstone-cli/src/command/choice.rs", "suite::Size::Quick => LOOKS[..2].to_vec(),", "8 and 12"),
    ("crates/touchstone-statistics/src/decision.rs", "pub const P_NULL_ARM: f64 = 0.01;", "0.01"),
    ("crates/touchstone-statistics/src/serial.rs", "pub const SERIAL_CAUTION: f64 = 0.6;", "0.6/√n"),
    ("crates/touchstone-statistics/src/serial.rs", "pub const SERIAL_DOUBT: f64 = 3.5;", "and 3.5/√N"),
    ("crates/touchstone-statistics/src/serial.rs", "pub const SERIAL_HIDDEN: f64 = 4.0;", "1 + 4/n times"),
    ("crates/touchstone-statistics/src/serial.rs", "pub const SERIAL_CAUTION: f64 = 0.6;", "and 0.6/√N"),
    (
        "crates/touchstone-statistics/src/decision.rs",
        "pub const NOISY_SHARE: f64 = 0.75;",
        "0.75 of the margin",
    ),
    (
        "crates/touchstone-statistics/src/serial.rs",
        "pub const SERIAL_CORRELATION_MOST: f64 = 0.9;",
        "0 to 0.9",
    ),
    ("crates/touchstone-statistics/src/kinds.rs", "pub const KINDS_GAP: f64 = 16.0;", "16/n"),
    ("crates/touchstone-statistics/src/kinds.rs", "pub const KINDS_SHARE: usize = 6;", "a sixth"),
    ("crates/touchstone-statistics/src/kinds.rs", "pub const KINDS_APART: f64 = 0.03;", "3 % apart"),
    ("crates/touchstone-statistics/src/decision.rs", "pub const FALSE_DISCOVERY_RATE: f64 = 0.05;", "at 5 %"),
    ("crates/touchstone/src/verdict/doubt.rs", "pub const DRIFT_APART_MOST: f64 = 0.20;", "20 %"),
    ("crates/touchstone-statistics/src/quantile.rs", "pub const MAD_TO_SIGMA: f64 = 1.483;", "1.483"),
    ("crates/touchstone-statistics/src/bootstrap.rs", "pub const BOOTSTRAP_LEVEL: f64 = 0.95;", "95 %"),
    (
        "crates/touchstone/src/estimate/latency.rs",
        "operations(latencies).div_ceil(1000)",
        "longest thousandth",
    ),
    ("crates/touchstone/src/estimate/latency.rs", "const WAKING_NS: u64 = 120_000;", "within 0.12 ms"),
    ("crates/touchstone/src/verdict/flag.rs", "const TICK_SHARE_MIN: f64 = 0.85;", "85 % of the operations"),
    ("crates/touchstone/src/verdict/flag.rs", "const SLICE_NS_MIN: f64 = 1e5;", "less than 0.1 ms"),
    (FLAG_WITNESSED, "const BESIDE_SHARE_MAX: f64 = 0.25;", "a quarter of a slice"),
    (FLAG_WITNESSED, "const BESIDE_NS_MIN: f64 = 2e5;", "a quarter of a slice, 0.2 ms"),
    (FLAG_WITNESSED, "const STATEMENTS_SHARE_MIN: f64 = 0.9;", "fewer than nine of ten of its gets"),
    (FLAG_WITNESSED, "const UPDATES_SHARE_MIN: f64 = 0.95;", "than 95 of 100"),
    (
        "crates/touchstone/src/estimate/witnessed.rs",
        "const MOVING_SHARE: f64 = 0.29;",
        "0.29 of them do not reach",
    ),
    (FLAG_WITNESSED, "const CACHED_TIMES_MIN: f64 = 2.0;", "more than 2 times the data"),
    (FLAG_WITNESSED, "const MISSED_SHARE_MIN: f64 = 0.5;", "less than 0.5 of the values"),
    (
        "crates/touchstone/src/verdict/durability.rs",
        "const FLUSHED_SHARE_MIN: f64 = 0.5;",
        "every second sync of the typical recorded one",
    ),
    (FLAG_WITNESSED, "const BESIDE_SPREADS: f64 = 3.0;", "three times the widest distance"),
    (FLAG_WITNESSED, "const OPENING_BYTES_MIN: f64 = 65_536.0;", "more than 64 KiB"),
    (FLAG_WITNESSED, "const FLOOR_RATIO_MAX: f64 = 1.05;", "more than 1.05"),
    (
        "crates/touchstone/src/verdict/durability.rs",
        "const KEPT_SHARE_MIN: f64 = 0.9;",
        "fewer than 0.9 flushes",
    ),
    (
        "crates/touchstone/src/verdict/durability.rs",
        "const WRITTEN_SHARE_MIN: f64 = 0.25;",
        "a quarter of the typical recorded one",
    ),
    ("crates/touchstone-runner/src/run.rs", "const STRETCH_MAX: u64 = 2;", "to twice at the most"),
    ("crates/touchstone-runner/src/run.rs", "const QUICKEST_SHARE: u64 = 20;", "less than 0.1 ms"),
];

#[test]
fn the_numbers_of_the_methodology_are_those_of_the_code() {
    let tree = Tree::read();
    let page = tree.text("docs/methodology.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let mut findings = Vec::new();
    for (file, code, words) in NUMBERS {
        if !tree.text(file).contains(code) {
            findings.push(format!("{file} no longer says `{code}`: change the page and this table"));
        }
        if !page.contains(words) {
            findings.push(format!("docs/methodology.md does not say `{words}`, as {file} does"));
        }
    }
    let [one, two, three, four] = LOOKS;
    for words in
        [format!("{one}, {two}, {three} and {four}"), format!("p < {P_LOOK}"), thousands(BOOTSTRAP_RESAMPLES)]
    {
        if !page.contains(&words) {
            findings.push(format!("docs/methodology.md does not say `{words}`"));
        }
    }
    assert_none("numbers", &findings);
}

fn thousands(number: usize) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}

#[test]
fn every_word_for_a_verdict_a_claim_a_class_and_the_store_stands_in_the_glossary() {
    let tree = Tree::read();
    let glossary = tree.text("docs/glossary.md");
    let words = [
        "better",
        "worse",
        "equivalent",
        "inconclusive",
        "untrusted",
        "incomparable",
        "holds",
        "refuted",
        "untested",
        "strict",
        "full",
        "consistent",
        "fragile",
        "process",
        "none",
        "subject",
        "profile",
        "contender",
        "driver",
        "kit",
        "capability",
        "floor",
        "dataset",
        "workload",
        "suite",
        "case",
        "arm",
        "launch",
        "block",
        "slice",
        "sample",
        "claim",
        "verdict",
        "margin",
        "null arm",
        "canary",
        "record",
        "environment",
        "template",
        "churn",
        "scale",
        "new state",
        "lane",
        "look",
        "flush probe",
        "red flag",
        "store",
        "column",
        "nested value",
        "collection",
        "snapshot",
        "transaction",
        "log",
        "keeper",
        "group flush",
        "expiry",
        "salvage",
    ];
    let missing = words.iter().filter(|word| !glossary.contains(&format!("**{word}**")));
    assert_none("glossary", &missing.map(|word| format!("`{word}` has no entry")).collect::<Vec<_>>());
}
