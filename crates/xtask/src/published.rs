//! The page of what was published, made from the suites: every claim with its figures, where they are read, and the
//! bounds that follow from them. And the same bounds worked out once more, from the files alone.

use crate::Findings;
use std::fmt::Write as _;
use toml::Value;
use touchstone::report::format;
use touchstone::suite::{Aspect, Bounds, By, Claim, ClaimTest, Figure, Measure, Suite};

/// The claims of a suite, the page's or its authors', as a table in Markdown.
pub fn claims(suite: &Suite, by: By) -> String {
    let mut table =
        String::from("| claim | published, and where | asked here | holds if |\n|---|---|---|---|\n");
    for claim in suite.claims.iter().filter(|claim| claim.by == by) {
        let cells = [
            format!("`{}`: {}", claim.id, claim.statement),
            published(suite, claim),
            asked(suite, claim),
            wanted(claim),
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(table, "| {} |", cells.join(" | "));
    }
    table
}

/// Where the figures of a suite are read, and who stands for whom.
pub fn sources(suite: &Suite) -> String {
    let mut text = format!("{}; measured there on {}.\n\n", suite.source, suite.device);
    for reference in &suite.references {
        let _ = writeln!(text, "- `{}` ({}): {}", reference.id, reference.kind, reference.title);
    }
    for stand_in in &suite.stand_ins {
        let takes = if stand_in.itself { "is" } else { "stands for" };
        let _ = writeln!(text, "- `{}` {takes} {}: {}", stand_in.subject, stand_in.library, stand_in.why);
    }
    text
}

/// The rows of a page's tables of loads, in the layout that a report has them in; a dash where the page has no figure.
pub fn loads(suite: &Suite) -> String {
    let head = ["run", "requests", "failed", "average", "P50", "P95", "P99", "max", "a second"].join(" | ");
    let mut table = format!("| {head} |\n|---|{}\n", "---|".repeat(8));
    for row in &suite.published_loads {
        let endpoint = row.endpoint.as_ref().map_or(String::new(), |endpoint| format!(": `{endpoint}`"));
        let ms = |ms: Option<f64>| ms.map_or("–".into(), |ms| format!("{ms} ms"));
        let cells = [
            format!("`{}`, {}{endpoint}", row.case, row.of),
            format::count(row.requests),
            row.failures.map_or("–".into(), format::count),
            ms(Some(row.average_ms)),
            ms(row.p50_ms),
            ms(row.p95_ms),
            ms(row.p99_ms),
            ms(Some(row.max_ms)),
            row.per_second.map_or("–".into(), |rate| rate.to_string()),
        ];
        let _ = writeln!(table, "| {} |", cells.join(" | "));
    }
    table
}

fn published(suite: &Suite, claim: &Claim) -> String {
    let words = claim.words.iter().map(|words| format!("“{words}”"));
    let figures = claim.figures.iter().map(|figure| worded(suite, claim, figure));
    let all: Vec<String> = words.chain(figures).collect();
    if all.is_empty() { "–".into() } else { all.join("; ") }
}

fn worded(suite: &Suite, claim: &Claim, figure: &Figure) -> String {
    let against = figure.against.map_or(String::new(), |against| format!(" against {}", plain(against)));
    let measure = claim.figures_test().map(|test| test.measure);
    let ratio = figure.against.and(measure).and_then(|measure| figure.ratio(measure));
    let ratio = ratio.map_or(String::new(), |ratio| format!(" = {}×", format::ratio(ratio)));
    let of = figure.of.as_ref().map_or(String::new(), |of| format!(", {of}"));
    let device = figure.device.as_ref().filter(|device| **device != suite.device);
    let device = device.map_or(String::new(), |device| format!(", on {device}"));
    let note = figure.note.as_ref().map_or(String::new(), |note| format!(", {note}"));
    let unit = if figure.unit == "x" { "×".to_owned() } else { format!(" {}", figure.unit) };
    format!("{}{against}{unit}{ratio}{of}{device}{note} (`{}`)", plain(figure.value), figure.source)
}

/// A figure as it was printed, with its thousands apart.
fn plain(value: f64) -> String {
    if value < 1000.0 {
        return format!("{value}");
    }
    let cents = (value * 100.0).round() as u64;
    let whole = format::count(cents / 100);
    if cents.is_multiple_of(100) { whole } else { format!("{whole}.{:02}", cents % 100) }
}

fn asked(suite: &Suite, claim: &Claim) -> String {
    if let Some(refuted) = &claim.refuted {
        let arithmetic = refuted.arithmetic(&suite.published_rows).expect("the suite was checked");
        return format!("nobody: the page's own figures refute it ({arithmetic})");
    }
    if let Some(untested) = &claim.untested {
        return format!("nobody: {}", untested.reason);
    }
    // Of pairs the first at hand decides; of tests that name their arms all must hold.
    let between = if claim.pairs.is_empty() { ", and " } else { ", then " };
    let mut asked: Vec<String> = Vec::new();
    for pair in claim.tests.iter().flat_map(|test| claim.pairs_of(test)) {
        let against = pair.against.as_ref().map_or(String::new(), |against| format!(" against `{against}`"));
        let words = format!("`{}`{against}", pair.arm);
        if !asked.contains(&words) {
            asked.push(words);
        }
    }
    let cases: Vec<String> = cases(claim).into_iter().map(|case| format!("`{case}`")).collect();
    format!("{}; in {}", asked.join(between), cases.join(" and "))
}

fn cases(claim: &Claim) -> Vec<&str> {
    let mut cases: Vec<&str> = Vec::new();
    for case in claim.cases() {
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

fn wanted(claim: &Claim) -> String {
    let mut wanted: Vec<String> = Vec::new();
    for test in &claim.tests {
        let rule = test.rule.map_or(String::new(), |rule| format!("{rule}: "));
        let bounds = claim.bounds(test).into_iter().map(bound).collect::<Vec<_>>().join(", ");
        let what = match (&test.contains, bounds.as_str()) {
            (Some(contains), _) => format!("says \"{contains}\""),
            (None, "") => "the figures stand side by side".into(),
            (None, bounds) => bounds.to_owned(),
        };
        let said = format!("{} {rule}{what}", measured(test));
        if !wanted.contains(&said) {
            wanted.push(said);
        }
    }
    wanted.join("; ")
}

/// What a test measures, with what it leaves out.
fn measured(test: &ClaimTest) -> String {
    let mut words = vec![test.measure.word().to_owned()];
    words.extend(test.part.map(|part| format!("of the {part} alone")));
    words.extend(test.percentile.map(|percentile| format!("p{percentile}")));
    words.extend(test.error.map(|kind| format!("of the kind `{}`", kind.name())));
    words.extend(
        test.slices_over_ms.map(|over| format!("where slices last over {} ms,", format::count(over))),
    );
    words.join(" ")
}

fn bound(bounds: Bounds) -> String {
    let digits = |bound: f64| if bound.fract() == 0.0 { format!("{bound}") } else { format::ratio(bound) };
    let aspect = bounds.aspect.map_or(String::new(), |aspect| format!("{aspect} "));
    match (bounds.at_least, bounds.at_most) {
        (Some(least), Some(most)) => format!("{aspect}{} to {}", digits(least), digits(most)),
        (Some(least), None) => format!("{aspect}at least {}", digits(least)),
        (None, Some(most)) => format!("{aspect}at most {}", digits(most)),
        (None, None) => String::new(),
    }
}

/// What is wrong with the bounds and figures of a suite's file. The bounds are worked out here once more from the
/// figures as they stand in the file, and held against those that the lab tests with.
pub fn check(path: &str, text: &str) -> Findings {
    let file: Value = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => return vec![format!("{path}: {error}")],
    };
    let mut findings = Findings::new();
    for claim in list(&file, "claim") {
        let id = claim.get("id").and_then(Value::as_str).unwrap_or("?");
        let mut wrong = |what: String| findings.push(format!("{path}: claim `{id}`: {what}"));
        if claim.get("by").and_then(Value::as_str) == Some("ours") {
            continue;
        }
        for figure in list(claim, "figure").iter().filter(|figure| figure.get("source").is_none()) {
            wrong(format!("the figure {} has no source", number(figure, "value").unwrap_or(f64::NAN)));
        }
        for test in list(claim, "test") {
            let measure = test.get("measure").and_then(Value::as_str).unwrap_or("?");
            let exact = ["errors", "missing", "hits", "plan"].contains(&measure);
            if !exact && (test.get("at_least").is_some() || test.get("at_most").is_some()) {
                wrong(format!("its test of {measure} has a bound that was set by hand"));
            }
        }
    }
    match Suite::parse(text, path) {
        Err(error) => findings.push(error.to_string()),
        Ok(suite) => {
            let claims = suite.claims.iter().zip(list(&file, "claim"));
            findings.extend(claims.filter_map(|(claim, raw)| other_bounds(path, claim, raw)));
        }
    }
    findings
}

/// What a suite says of its page, in lines: its device, who takes whose place, of each claim of the page what its tests ask, its
/// words, its figures and its pairs, and the rows of the page's tables of loads. Nothing for a suite that has no claim of a page.
pub fn pinned(suite: &str, text: &str) -> Vec<String> {
    let file: Value = toml::from_str(text).expect("a suite is TOML");
    let of_page: Vec<&Value> =
        list(&file, "claim").iter().filter(|claim| word(claim, "by") != Some("ours")).collect();
    if of_page.is_empty() {
        return Vec::new();
    }
    let device = format!("{suite}: measured on {}", word(&file, "device").unwrap_or("-"));
    let places = list(&file, "stand_in").iter().map(|place| format!("{suite}: {}", place_of(place)));
    let claims = of_page.into_iter().flat_map(|claim| lines_of(suite, claim));
    let rows = list(&file, "published_load").iter().map(|row| format!("{suite}/{}", row_of(row)));
    std::iter::once(device).chain(places).chain(claims).chain(rows).collect()
}

/// The figures of a row of a page's table of loads, in the order of its columns.
const COLUMNS: [&str; 8] =
    ["requests", "failures", "average_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms", "per_second"];

/// `oo_upload before, POST /v1/clients: requests 8, average_ms 76.2`; a figure that the page does not have is left out.
fn row_of(row: &Value) -> String {
    let [case, of] = ["case", "of"].map(|key| word(row, key).unwrap_or("-"));
    let endpoint = word(row, "endpoint").map_or(String::new(), |endpoint| format!(", {endpoint}"));
    let figures = COLUMNS.iter().filter_map(|key| Some(format!("{key} {}", number(row, key)?)));
    format!("{case} {of}{endpoint}: {}", figures.collect::<Vec<_>>().join(", "))
}

/// `wcdb is WCDB`, or `store for WCDB`.
fn place_of(stand_in: &Value) -> String {
    let itself = stand_in.get("itself").and_then(Value::as_bool) == Some(true);
    let [subject, library] = ["subject", "library"].map(|key| word(stand_in, key).unwrap_or("-"));
    format!("{subject} {} {library}", if itself { "is" } else { "for" })
}

fn lines_of(suite: &str, claim: &Value) -> Vec<String> {
    let name = format!("{suite}/{}", word(claim, "id").unwrap_or("-"));
    let tests: Vec<String> = list(claim, "test").iter().map(asked_of).collect();
    let refuted = claim.get("refuted").map(refuted_by);
    let tests = if tests.is_empty() { refuted.unwrap_or("untested".into()) } else { tests.join(", ") };
    let words = word(claim, "words").map(|words| format!("{name} says {words:?}"));
    let figures = list(claim, "figure").iter().map(|figure| format!("{name} figure: {}", printed(figure)));
    let pairs = list(claim, "pairs")
        .iter()
        .enumerate()
        .map(|(place, pair)| format!("{name} pair {place}:{}", arms(pair)));
    std::iter::once(format!("{name}: {tests}")).chain(words).chain(figures).chain(pairs).collect()
}

/// `refuted: growth-slows of hit_percent in "1.1 Hit rate by pool"`.
fn refuted_by(refuted: &Value) -> String {
    let [says, column, table] = ["says", "column", "table"].map(|key| word(refuted, key).unwrap_or("-"));
    format!("refuted: {says} of {column} in {table:?}")
}

/// `1157285.0 1214897.0 rows/s (raw), on iMac14,2 of 1,000,000 rows`.
fn printed(figure: &Value) -> String {
    let shown = |key: &str| number(figure, key).map_or("-".into(), |value| format!("{value:?}"));
    let [unit, source] = ["unit", "source"].map(|key| word(figure, key).unwrap_or("-"));
    let device = word(figure, "device").map_or(String::new(), |device| format!(", on {device}"));
    let of = word(figure, "of").map_or(String::new(), |of| format!(", of {of}"));
    format!("{} {} {unit} ({source}){device}{of}", shown("value"), shown("against"))
}

fn word<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// A test in a few words: `rate advantage in write-write over batch-write`.
fn asked_of(test: &Value) -> String {
    let word = |key: &str| word(test, key);
    let mut said = vec![word("measure").unwrap_or("-").to_owned()];
    said.extend(word("part").map(|part| format!("of the {part}")));
    said.extend(word("error").map(|kind| format!("of {kind}")));
    said.extend(word("rule").map(str::to_owned));
    for key in ["at_least", "at_most", "percentile", "slices_over_ms"] {
        said.extend(number(test, key).map(|value| format!("{key} {value:?}")));
    }
    said.extend(word("contains").map(|contains| format!("says {contains:?}")));
    said.push(format!("in {}", word("case").unwrap_or("-")));
    said.extend(word("against_case").map(|case| format!("over {case}")));
    said.join(" ") + &arms(test)
}

/// ` of wcdb@wal-normal against fmdb@wal-normal`; nothing where no arm is named.
fn arms(named: &Value) -> String {
    let arm = |key: &str| word(named, key);
    let against = arm("against").map_or(String::new(), |against| format!(" against {against}"));
    arm("arm").map_or(String::new(), |arm| format!(" of {arm}{against}"))
}

/// A target is the bound itself: a time in ns, which is not to be exceeded, or anything else, which is to be reached.
fn target(figure: &Value) -> Option<(Option<Aspect>, Option<f64>, Option<f64>)> {
    let value = number(figure, "value")?;
    let ns = match word(figure, "unit")? {
        "s" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        "ns" => 1.0,
        _ => return Some((None, Some(value), None)),
    };
    Some((None, None, Some(value * ns)))
}

/// The first bound of a claim that does not follow from its figures.
fn other_bounds(path: &str, claim: &Claim, raw: &Value) -> Option<String> {
    claim.tests.iter().zip(list(raw, "test")).find_map(|(test, raw_test)| {
        let wanted = match raw_test.get("rule")?.as_str()? {
            "advantage" | "cost" => difference(list(raw, "figure").first()?, test.measure.more_is_better())?,
            // A share that is counted is level with the published one, and there is none above 100 %.
            "level" if test.measure == Measure::Hits => {
                let share = number(list(raw, "figure").first()?, "value")?;
                vec![(None, Some(0.9 * share), Some((1.0 / 0.9 * share).min(100.0)))]
            }
            "level" => vec![(None, Some(0.9), Some(1.0 / 0.9))],
            // The tenth root of ten: over a step of ten, the time's exponent may be 10 % from 1.
            "linear" => vec![(None, Some(10_f64.powf(-0.1)), None)],
            "no-better" => vec![(None, None, Some(10_f64.powf(0.1)))],
            "elsewhere" => Vec::new(),
            "target" => vec![target(list(raw, "figure").first()?)?],
            word => vec![if (word == "better") == test.measure.more_is_better() {
                (Some(Aspect::Direction), Some(1.0), None)
            } else {
                (Some(Aspect::Direction), None, Some(1.0))
            }],
        };
        let here: Vec<_> = claim
            .bounds(test)
            .into_iter()
            .map(|known| (known.aspect, known.at_least, known.at_most))
            .collect();
        let same = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => (one - other).abs() < 1e-9,
            (one, other) => one == other,
        };
        let fits = here.len() == wanted.len()
            && here.iter().zip(&wanted).all(|(h, w)| h.0 == w.0 && same(h.1, w.1) && same(h.2, w.2));
        (!fits).then(|| {
            format!(
                "{path}: claim `{}`: tested with {here:?}, where {wanted:?} follows from the page",
                claim.id
            )
        })
    })
}

type Wanted = (Option<Aspect>, Option<f64>, Option<f64>);

/// Half of the difference, by the rule's words: of an advantage x, (1 + x) / 2; of a cost, the same turned round.
fn difference(figure: &Value, of_rates: bool) -> Option<Vec<Wanted>> {
    let value = number(figure, "value")?;
    let unit = figure.get("unit")?.as_str()?;
    let ratio = number(figure, "against").map_or(value, |against| value / against);
    let is_time = ["s", "ms", "us", "ns"].contains(&unit);
    let x = if unit != "x" && is_time == of_rates { 1.0 / ratio } else { ratio };
    let half = |x: f64| (1.0 + x) / 2.0;
    let (direction, size) = (Some(Aspect::Direction), Some(Aspect::Size));
    Some(if x > 1.0 {
        vec![(direction, Some(1.0), None), (size, Some(half(x)), None)]
    } else {
        vec![(direction, None, Some(1.0)), (size, None, Some(1.0 / half(1.0 / x)))]
    })
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn number(value: &Value, key: &str) -> Option<f64> {
    let number = value.get(key)?;
    number.as_float().or(number.as_integer().map(|whole| whole as f64))
}
