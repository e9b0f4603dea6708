//! Claims that make no sense are refused, in suites and in the plans that people edit, with the remedy.

mod claimed;
mod small;

use claimed::{
    ADVANTAGE, CASES, COUNTED, CURVE, ELSEWHERE, EXACT, GROWTH, PERCENTILE, SHARE, TARGET, THROUGHPUT,
};
use touchstone::plan::Plan;

#[test]
fn a_claim_of_the_page_is_asked_of_nobody_that_stands_for_no_library() {
    let nobody = CASES.replace("subject = \"one\"", "subject = \"another\"");
    let error = small::suite(&[&nobody, ELSEWHERE].concat()).unwrap_err().to_string();
    assert!(error.contains("`one@plain`") && error.contains("[[stand_in]]"), "{error}");
    small::suite(&[&nobody, EXACT].concat()).expect("a claim of ours may ask anybody");
    let ours =
        ADVANTAGE.replace("words", "by = \"ours\"\nwords").replace("rule = \"advantage\"", "at_least = 0.5");
    let beside = |pair: &str| {
        small::suite(&[CASES, &ours.replace("pairs = [", &format!("pairs = [{{ {pair} }}, "))].concat())
    };
    beside("arm = \"two@plain\", against = \"one@plain#again\"").expect("nobody takes a library's place");
    // Found by an adversary: a ratio's bound was held against rows per second.
    for (pair, wanted) in [
        ("arm = \"one@plain\"", "make two claims"),
        ("arm = \"two@plain\", against = \"one@plain\"", "turned round"),
    ] {
        let error = beside(pair).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

/// A plan is a file that people edit: what a suite would be refused for is refused there too.
#[test]
fn a_plan_whose_claims_make_no_sense_is_refused() {
    let plan = small::plan(&[CASES, ADVANTAGE].concat(), &small::choice()).unwrap();
    let mut text = serde_json::to_value(&plan).unwrap();
    Plan::parse(&text.to_string(), "plan.json").unwrap();
    let claim = &mut text["suites"][0]["claims"][0];
    claim["test"][0]["rule"] = serde_json::Value::Null;
    claim["test"][0]["at_least"] = 0.1.into();
    let error = Plan::parse(&text.to_string(), "plan.json").unwrap_err().to_string();
    assert!(
        error.contains("plan.json: suite `small`: claim `claimed`") && error.contains("name the `rule`"),
        "{error}"
    );
}

/// Found by an adversary: in an edited plan another contender ran under the name that claims ask for.
#[test]
fn an_arm_of_a_plan_is_named_as_its_contender() {
    let plan = small::plan(&[CASES, ADVANTAGE].concat(), &small::choice()).unwrap();
    let mut text = serde_json::to_value(&plan).unwrap();
    text["cases"][0]["arms"][0]["contender"] = text["cases"][0]["arms"][1]["contender"].clone();
    let error = Plan::parse(&text.to_string(), "plan.json").unwrap_err().to_string();
    assert!(error.contains("its contender is `two@plain`"), "{error}");
}

/// A claim, what is put in the place of what, and what must be said of it.
const NONSENSE: &[(&str, &str, &str, &str)] = &[
    (THROUGHPUT, "against_case = \"read-small\"\nrule", "rule", "is compared with itself"),
    (CURVE, "at = 2", "at = 1", "ascending"),
    (CURVE, "at = 1", "at = 0", "from 1"),
    (CURVE, "case = \"write\"", "case = \"rite\"", "there is no case `rite`"),
    (CURVE, "case = \"write\"", "case = \"read\"", "stands at two of its points"),
    (
        CURVE,
        "[[curve]]\n",
        "[[curve]]\ntitle = \"Reads by something\"\nshows = \"rate\"\nalong = \"things\"\n\
         point = [{ at = 1, case = \"read\" }, { at = 2, case = \"write\" }]\n[[curve]]\n",
        "curve `Reads by something`",
    ),
    (CURVE, "along = \"somethings\"", "along = \" \"", "`along` is empty"),
    (THROUGHPUT, "operation_bytes = 4096\n", "", "add `operation_bytes`"),
    (GROWTH, "hit_percent = 8.01", "hit_percent = 3.98", "do not refute"),
    (GROWTH, "table = \"Hits\"\ncolumn", "table = \"Misses\"\ncolumn", "three rows or more"),
    (GROWTH, "case = \"read\"\ntable", "case = \"reed\"\ntable", "there is no case `reed`"),
    (
        GROWTH,
        "words = \"growth slows\"",
        "words = \"growth slows\"\nuntested = { case = \"read\", reason = \"none\" }",
        "leave out",
    ),
    (GROWTH, "of = \"1 page\"", "of = \"1 page\"\ncase = \"read\"", "name both, or none"),
    (
        GROWTH,
        "of = \"1 page\"",
        "of = \"1 page\"\ncase = \"read\"\narm = \"three@plain\"",
        "has no arm `three@plain`",
    ),
    (ADVANTAGE, "source = \"page\"", "source = \"hearsay\"", "no such [[reference]]"),
    (ADVANTAGE, "source = \"page\"", "source = \"pag\"", "did you mean `page`?"),
    (ADVANTAGE, "source = \"page\"", "source = \"own\"", "which is of kind \"ours\""),
    (TARGET, "value = 75.0", "value = 500.0", "no share is above 100 %"),
    (TARGET, "unit = \"%\"", "unit = \"ms\"", "measure = \"hits\" has no target in `ms`"),
    (TARGET, "value = 75.0", "value = 75.0, against = 50.0", "without `against`"),
    (TARGET, "rule = \"target\"", "rule = \"target\"\nat_least = 75", "leave out `at_least`"),
    (SHARE, "unit = \"%\"", "unit = \"x\"", "is held against a published share"),
    (SHARE, "value = 25.0", "value = 25.0, against = 50.0", "is held against a published share"),
    (SHARE, "rule = \"level\"", "rule = \"better\"", "sets the bounds of what is timed"),
    (SHARE, "rule = \"level\"", "rule = \"level\"\nat_most = 30", "leave out `at_least` and `at_most`"),
    (SHARE, "rule = \"level\"", "at_most = 30", "other bounds are `by = \"ours\"`"),
    (SHARE, "arm = \"one@plain\"", "arm = \"one@plain\"\nagainst = \"two@plain\"", "compares with nothing"),
    (ADVANTAGE, "source = \"page\", ", "", "the key `source` is missing"),
    (ADVANTAGE, "value = 4.0", "value = nan", "no positive number"),
    (ADVANTAGE, "value = 4.0", "value = 1.0", "not an advantage"),
    (ADVANTAGE, ", against = 2.0", "", "needs `value` and `against`"),
    (ADVANTAGE, "rule = \"advantage\"", "at_least = 1.1", "name the `rule`"),
    (ADVANTAGE, "rule = \"advantage\"", "rule = \"advantage\"\nat_least = 1.1", "leave out `at_least`"),
    (ADVANTAGE, "rule = \"advantage\"", "rule = \"elsewhere\"", "leave out `against`"),
    (ADVANTAGE, "rule = \"advantage\"", "rule = \"linear\"", "goes with measure = \"scaling\""),
    (ADVANTAGE, ", against = \"two@plain\"", "", "of a ratio"),
    (ADVANTAGE, "against = \"two@plain\"", "against = \"two@plain#six\"", "no arm `two@plain#six`"),
    (
        ADVANTAGE,
        "pairs = [",
        "pairs = [{ arm = \"two@plain\", against = \"one@plain#again\" }, ",
        "different libraries",
    ),
    (
        ADVANTAGE,
        "pairs = [",
        "pairs = [{ arm = \"one@plain\", against = \"two@plain\" }, ",
        "the pair of `one@plain` stands twice",
    ),
    (ADVANTAGE, "case = \"read\"", "case = \"read\"\narm = \"one@plain\"", "one of both"),
    (ADVANTAGE, "case = \"read\"", "case = \"read\"\npercentile = 50.0", "measure = \"percentile\""),
    (ADVANTAGE, "unit = \"rows/s\"", "unit = \"seconds\"", "has the unit `seconds`"),
    (ADVANTAGE, "against = \"two@plain\"", "against = \"one@plain\"", "compared with itself"),
    (ADVANTAGE, "rule = \"advantage\"", "rule = \"better\"", "use `advantage` or `cost`"),
    (ADVANTAGE, "rule = \"advantage\"", "rule = \"level\"", "beyond 10 %"),
    (ADVANTAGE, "words = \"twice as much\"", "words = \"\"", "`words` are empty"),
    (ADVANTAGE, "twice as much", "\\u001b[2J", "nobody can read"),
    (
        ADVANTAGE,
        "source = \"page\"",
        "source = \"page\", device = \"another\"",
        "the page's own device first",
    ),
    (ADVANTAGE, "value = 4.0", "value = 4e300", "beyond what anybody measures"),
    (ADVANTAGE, "value = 4.0, against = 2.0", "value = 1e12, against = 1e-9", "beyond what anybody measures"),
    (ADVANTAGE, "Alpha reads more than Beta", " ", "`statement` is empty"),
    (ADVANTAGE, "Alpha reads more than Beta", "\\u3164", "nobody can read"),
    (ADVANTAGE, "source = \"page\"", "source = \"page\", of = \"-\"", "an empty `of`"),
    (ADVANTAGE, "twice as much", "\\u200b", "nobody can read"),
    (ADVANTAGE, "case = \"read\"", "case = \"read\"\nerror = \"busy\"", "measure = \"errors\""),
    (
        ADVANTAGE,
        "pairs = [{ arm = \"one@plain\", against = \"two@plain\" }]\n[[claim.test]]",
        "[[claim.test]]\nmeasure = \"errors\"\ncase = \"read\"\narm = \"two@plain\"\nat_most = 0\n[[claim.test]]\narm = \"one@plain\"\nagainst = \"two@plain\"",
        "make a claim of each",
    ),
    (
        COUNTED,
        "by = \"ours\"\nstatement = \"It fails at nothing and keeps all\"\n[[claim.test]]\nmeasure = \"errors\"\ncase = \"read\"\narm = \"one@plain\"",
        "words = \"none\"\nstatement = \"It fails at nothing and keeps all\"\n[[claim.test]]\nmeasure = \"errors\"\ncase = \"read\"\narm = \"two@plain\"",
        "of `two@plain` and of `one@plain`",
    ),
    (
        ELSEWHERE,
        "rule = \"elsewhere\"",
        "rule = \"elsewhere\"\n[[claim.test]]\nmeasure = \"errors\"\ncase = \"read\"\nat_most = 0",
        "make a claim of each",
    ),
    (ADVANTAGE, "against = 2.0", "against = 0", "its figure 0 is no positive number"),
    (ELSEWHERE, "reads/s", "ms", "a rate beside a rate"),
    (ELSEWHERE, "unit = \"reads/s\"", "against = 35.0, unit = \"reads/s\"", "which can be tested"),
    (
        COUNTED,
        "arm = \"one@plain\"\nat_most = 0\n[[claim.test]]\nmeasure = \"missing\"",
        "arm = \"one@plain\"\nagainst = \"two@plain\"\nat_most = 0\n[[claim.test]]\nmeasure = \"missing\"",
        "is of one arm",
    ),
    (
        EXACT,
        "contains = \"SEARCH\"",
        "contains = \"SEARCH\"\nslices_over_ms = 1",
        "`slices_over_ms` goes with",
    ),
    (ELSEWHERE, "figure =", "words = \"w\"\n# figure =", "needs a [[claim.figure]]"),
    (ELSEWHERE, "figure =", "# figure =", "the page's own `words`"),
    (PERCENTILE, "99.0", "98.0", "`percentile = 98` is not kept: the percentiles are 50, "),
    (PERCENTILE, "1000000", "nan", "finite"),
    (PERCENTILE, "1000000", "1e300", "beyond what anybody measures"),
    (
        EXACT,
        "by = \"ours\"",
        "figure = [{ source = \"page\", value = 3.0, unit = \"x\" }]",
        "none of its tests times anything",
    ),
    (PERCENTILE, "at_most = 1000000", "at_most = 1\nat_least = 2", "at least 2 and at most 1"),
    (PERCENTILE, "by = \"ours\"", "", "`words`"),
    (EXACT, "\"SEARCH\"", "\"\"", "every plan says that"),
    (EXACT, "\"SEARCH\"", "\" \"", "every plan says that"),
    (PERCENTILE, "at_most = 0.9", "at_least = -5", "is below 0"),
    (EXACT, "contains = \"SEARCH\"", "contains = \"SEARCH\"\nat_least = 1", "a plan has no bounds"),
    (
        EXACT,
        "\"plan\"\ncase = \"read\"\narm = \"one@plain\"\ncontains = \"SEARCH\"",
        "\"errors\"\ncase = \"read\"\narm = \"one@plain\"\nat_least = 0",
        "is below 0",
    ),
];

/// Found by an adversary: marked as ours, an old device's rate was a bound for this one.
#[test]
fn a_figure_of_another_device_is_no_bound() {
    let ours = ELSEWHERE
        .replace("id = \"claimed\"", "id = \"claimed\"\nby = \"ours\"")
        .replace("rule = \"elsewhere\"", "at_least = 70");
    let error = small::suite(&[CASES, &ours].concat()).unwrap_err().to_string();
    assert!(error.contains("claim `claimed`") && error.contains("\"elsewhere\""), "{error}");
    // Found in a review: with a figure beside it, it was one again.
    let beside = ours.replace("value = 70.0", "value = 70.0, against = 35.0");
    let error = small::suite(&[CASES, &beside].concat()).unwrap_err().to_string();
    assert!(error.contains("\"elsewhere\""), "{error}");
    // A ratio is no figure of a device's own.
    let ratio = ours.replace("value = 70.0, unit = \"reads/s\"", "value = 2.0, unit = \"x\"");
    small::suite(&[CASES, &ratio].concat()).unwrap();
}

#[test]
fn claims_that_make_no_sense_are_refused_with_the_remedy() {
    for (claim, old, new, wanted) in NONSENSE {
        assert_eq!(claim.matches(old).count(), 1, "{old}");
        let error = small::suite(&[CASES, &claim.replace(old, new)].concat()).expect_err(new).to_string();
        assert!(
            error.contains("small.toml") && error.contains(wanted),
            "the error must say `{wanted}`:\n{error}"
        );
    }
}
