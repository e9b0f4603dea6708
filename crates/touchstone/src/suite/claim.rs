//! What is claimed: by the page or by the suite's author, with the published figures, the subjects that take the place
//! of the page's libraries, and what would show that the claim holds here.

use super::{Bounds, Case, Published, Refuted, Rule, Scaled, Size, Suite};
use crate::written::{Item, Mistake};
use serde::{Deserialize, Serialize};
use std::fmt;
use touchstone_protocol::{FailureKind, Verb};

/// The percentiles that a claim can be about: those of a summary of latencies but the maximum, which no interval bounds.
pub const CLAIMED_PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// A place where the page's figures are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Its name in the suite.
    pub id: String,
    /// Of which kind it is.
    pub kind: ReferenceKind,
    /// Where it is found.
    pub title: String,
}

/// How a figure reached the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceKind {
    /// Printed in the page's text or tables.
    Page,
    /// Printed on, or read off, one of its charts.
    Chart,
    /// In the raw data that the page refers to.
    RawData,
    /// Worked out from the page's other figures.
    WorkedOut,
    /// On no page: a target of the suite's author, of a claim that is `by = "ours"`.
    Ours,
}

impl fmt::Display for ReferenceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            ReferenceKind::Page => "page",
            ReferenceKind::Chart => "chart",
            ReferenceKind::RawData => "raw data",
            ReferenceKind::WorkedOut => "worked out",
            ReferenceKind::Ours => "ours",
        })
    }
}

/// A subject that takes the place of one of the page's libraries, or is that library itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandIn {
    /// The page's library.
    pub library: String,
    /// Who takes its place.
    pub subject: String,
    /// Whether it is that library, and takes nobody's place; not, unless said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub itself: bool,
    /// Why this one.
    pub why: String,
}

/// A statement and what would show that it holds here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name, unique in the suite.
    pub id: String,
    /// Whose claim it is: the page's, unless said.
    #[serde(default)]
    pub by: By,
    /// What is claimed, in words.
    pub statement: String,
    /// The page's own words for it, where they say more than the figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// The published figures: the first is the one that bounds follow from, others are of other devices or sizes.
    #[serde(default, rename = "figure", skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// Who is asked, in this order: the first pair that is at hand decides, the others stand beneath it. Left out
    /// where the tests name their arms themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Pair>,
    /// What is measured; all of them must hold.
    #[serde(default, rename = "test", skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<ClaimTest>,
    /// Why nothing measures it, instead of tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<Untested>,
    /// What of it the page's own figures refute, instead of tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuted: Option<Refuted>,
}

/// Whose claim it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The published page makes it.
    #[default]
    Page,
    /// The suite's authors make it; the page does not.
    Ours,
}

/// A published figure, or two that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The reference it is read in.
    pub source: String,
    /// What it was measured on; the suite's device, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// What it is of, where the claim does not say: `2 x 1,000,000 rows`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The figure of the claim's arm.
    pub value: f64,
    /// The figure of what that is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<f64>,
    /// The unit of both: a rate such as `rows/s`, a time (`s`, `ms`, `us` or `ns`), or `x` for a ratio.
    pub unit: String,
    /// What else is printed with it, such as an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Figure {
    /// The figure as the number that a test of `measure` finds: a ratio of rates for the measures of rates, of times
    /// for the others; none where only one figure was published.
    pub fn ratio(&self, measure: Measure) -> Option<f64> {
        if self.unit == RATIO && self.against.is_none() {
            return Some(self.value);
        }
        let ratio = self.value / self.against?;
        let is_rate = self.unit.ends_with(PER_SECOND);
        Some(if is_rate == measure.more_is_better() || self.unit == RATIO { ratio } else { 1.0 / ratio })
    }
}

impl Figure {
    /// What a target asks of a measure: at least a rate or a share, at most a time, in nanoseconds. None of a figure that is of
    /// another kind than the measure.
    pub(super) fn target(&self, measure: Measure) -> Option<Bounds> {
        let ns = TIMES.iter().position(|unit| *unit == self.unit).map(|place| NS_OF_TIMES[place]);
        let bounds = match (measure, ns) {
            _ if self.against.is_some() => return None,
            (Measure::Rate, None) if self.unit.ends_with(PER_SECOND) => {
                Bounds { at_least: Some(self.value), ..Bounds::default() }
            }
            (Measure::Hits, None) if self.unit == PERCENT => {
                Bounds { at_least: Some(self.value), ..Bounds::default() }
            }
            (Measure::Latency | Measure::Percentile | Measure::Stall, Some(ns)) => {
                Bounds { at_most: Some(self.value * ns), ..Bounds::default() }
            }
            _ => return None,
        };
        Some(bounds)
    }

    /// Level with a published share: it is counted, and the same on every machine.
    fn level_share(&self) -> Vec<Bounds> {
        let level =
            Rule::Level.bounds(Measure::Hits, None).into_iter().map(|bounds| bounds.times(self.value));
        level.map(|bounds| Bounds { at_most: bounds.at_most.map(|most| most.min(100.0)), ..bounds }).collect()
    }
}

/// The unit of a published share.
pub(super) const PERCENT: &str = "%";
/// The unit of a published ratio.
pub(super) const RATIO: &str = "x";
/// How the unit of a rate ends.
pub(super) const PER_SECOND: &str = "/s";
/// Units of times.
pub(super) const TIMES: [&str; 4] = ["s", "ms", "us", "ns"];
/// What they are in nanoseconds.
const NS_OF_TIMES: [f64; 4] = [1e9, 1e6, 1e3, 1.0];

/// Two arms that are asked whether a claim holds, or one where the claim compares with nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The arm that the claim is about.
    pub arm: String,
    /// The arm that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
}

/// Why nothing measures a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Untested {
    /// The case that it would be about.
    pub case: String,
    /// What is missing.
    pub reason: String,
}

/// One measurable part of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimTest {
    /// What is measured.
    pub measure: Measure,
    /// In which case; one with scales is named with one of them, or for the measure `scaling` without.
    pub case: String,
    /// Of which arm; of the claim's pairs, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Divided by the same measure of this arm, where the test is of a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The case of that arm; the same case unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_case: Option<String>,
    /// How the bounds follow from the published figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// The least that holds, where no rule says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The most that holds, where no rule says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// What the query plan must say, for the measure `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// Which percentile, for the measure `percentile`: 50, 90, 95, 99 or 99.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentile: Option<f64>,
    /// Of the measure `errors`, the only kind that is counted, such as `busy`; all kinds, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureKind>,
    /// Where what is counted is 0, the median slice must last longer than this, in ms: else nothing is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices_over_ms: Option<u64>,
    /// Of the measure `rate`, a part of the transactions of a `deliver` lane instead of what the lane times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// A part of a transaction with subscribers. One follows the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Its statements.
    Write,
    /// The commit.
    Commit,
    /// Until the last subscriber has its update in its hand.
    Delivery,
    /// Until all have done with it what the lane's depth says.
    Depth,
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Part::Write => "write",
            Part::Commit => "commit",
            Part::Delivery => "delivery",
            Part::Depth => "depth",
        })
    }
}

/// What a claim's test measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Operations a second, or the ratio of two: above 1 the arm does more in the same time.
    Rate,
    /// Bytes a second, by the `operation_bytes` of the case: the rate times them, or the ratio of two.
    Throughput,
    /// Operations a second at a scale over those at the next smaller one, of a case with scales: the least of these
    /// ratios, or for the rule `no-better` the greatest. At 1 an operation costs the same however many records, subscriptions or changes there are.
    Scaling,
    /// The mean of a launch's longest operation in a thousand, in ns, or the ratio of two: below 1 the arm stalls
    /// less.
    Stall,
    /// The mean time of an operation with the clock read after every one, in ns, or the ratio of two.
    Latency,
    /// A percentile of those times, over all launches, in ns; or the ratio of two, paired by launch.
    Percentile,
    /// Operations that failed, over the whole run, those of warming up included.
    Errors,
    /// Records handed over and not there at the end of a launch, over all launches. Where the database is put back before
    /// every slice, they are those of a launch's last one.
    Missing,
    /// Of the pages that a slice asked the engine's cache for, how many percent were there, by the engine's own counters.
    Hits,
    /// Whether the query plan says something.
    Plan,
}

impl Measure {
    /// Whether a greater figure is a better one.
    pub fn more_is_better(self) -> bool {
        matches!(self, Measure::Rate | Measure::Throughput | Measure::Scaling)
    }

    /// Its name in a suite.
    pub fn word(self) -> &'static str {
        match self {
            Measure::Rate => "rate",
            Measure::Throughput => "throughput",
            Measure::Scaling => "scaling",
            Measure::Stall => "stall",
            Measure::Latency => "latency",
            Measure::Percentile => "percentile",
            Measure::Errors => "errors",
            Measure::Missing => "missing",
            Measure::Hits => "hits",
            Measure::Plan => "plan",
        }
    }

    /// Whether it is counted or read rather than timed: the same on every machine.
    pub fn is_exact(self) -> bool {
        matches!(self, Measure::Errors | Measure::Missing | Measure::Hits | Measure::Plan)
    }
}

impl Claim {
    /// The test that the figures are of: the first that has a rule, or else the first.
    pub fn figures_test(&self) -> Option<&ClaimTest> {
        self.tests.iter().find(|test| test.rule.is_some()).or(self.tests.first())
    }

    /// The ratio that the bounds of a test follow from: that of the first figure.
    pub fn published_ratio(&self, measure: Measure) -> Option<f64> {
        self.figures.first()?.ratio(measure)
    }

    /// The bounds of one of its tests: those of its rule, or its own.
    pub fn bounds(&self, test: &ClaimTest) -> Vec<Bounds> {
        match test.rule {
            Some(Rule::Level) if test.measure == Measure::Hits => {
                self.figures.first().map_or_else(Vec::new, Figure::level_share)
            }
            Some(Rule::Target) => {
                self.figures.first().and_then(|figure| figure.target(test.measure)).into_iter().collect()
            }
            Some(rule) => rule.bounds(test.measure, self.published_ratio(test.measure)),
            None => vec![Bounds { aspect: None, at_least: test.at_least, at_most: test.at_most }],
        }
    }

    /// The pairs of arms of a test: the claim's, or the one that the test names.
    pub fn pairs_of(&self, test: &ClaimTest) -> Vec<Pair> {
        match &test.arm {
            Some(arm) => vec![Pair { arm: arm.clone(), against: test.against.clone() }],
            None => self.pairs.clone(),
        }
    }

    /// The claim in its suite's file.
    pub(crate) fn item(&self) -> Item {
        Item::new("claim", &[("id", &self.id)])
    }

    /// The cases that it is about.
    pub fn cases(&self) -> impl Iterator<Item = &str> {
        let tested = self.tests.iter().flat_map(|test| [Some(&test.case), test.against_case.as_ref()]);
        let untested = self.untested.as_ref().map(|untested| &untested.case);
        let refuted = self.refuted.as_ref().map(|refuted| &refuted.case);
        tested.chain([untested, refuted]).flatten().map(String::as_str)
    }
}

impl Suite {
    /// What is wrong with the suite's claims: what is published, then the cases and arms that they ask.
    pub(super) fn check_claims(&self) -> Result<(), Mistake> {
        self.published().check()?;
        for claim in &self.claims {
            self.check_cases(claim)
                .map_err(|message| Mistake::of(claim.item(), format!("claim `{}`: {message}", claim.id)))?;
        }
        Ok(())
    }

    fn published(&self) -> Published<'_> {
        Published {
            references: &self.references,
            stand_ins: &self.stand_ins,
            rows: &self.published_rows,
            claims: &self.claims,
        }
    }

    /// Which of the page's libraries the subject of an arm stands for.
    pub fn stand_in(&self, arm: &str) -> Option<&StandIn> {
        self.published().stand_in(arm)
    }

    fn check_cases(&self, claim: &Claim) -> Result<(), String> {
        if let Some(untested) = &claim.untested {
            self.case(&untested.case)?;
        }
        if let Some(refuted) = &claim.refuted {
            self.case(&refuted.case)?;
        }
        for test in &claim.tests {
            claim.pairs_of(test).iter().try_for_each(|pair| self.check_arms(test, pair))?;
            self.check_bytes(test)?;
            self.check_full(claim, test)?;
        }
        Ok(())
    }

    /// Bytes are counted where a case says of how many an operation is.
    fn check_bytes(&self, test: &ClaimTest) -> Result<(), String> {
        if test.measure != Measure::Throughput {
            return Ok(());
        }
        for name in std::iter::once(&test.case).chain(&test.against_case) {
            if self.case(name)?.operation_bytes.is_none() {
                return Err(format!(
                    "measure = \"throughput\" counts bytes, and case `{name}` does not say how many an operation reads or writes: add \
                     `operation_bytes`"
                ));
            }
        }
        Ok(())
    }

    /// The full size has the page's own numbers: what the page says is asked of a case that is in it.
    fn check_full(&self, claim: &Claim, test: &ClaimTest) -> Result<(), String> {
        if claim.by == By::Ours {
            return Ok(());
        }
        let ids = |size: Size, of: &dyn Fn(&&Case) -> bool| -> Vec<String> {
            self.cases.iter().filter(of).flat_map(|case| case.at(size)).map(|case| case.id).collect()
        };
        let asked = match test.measure {
            Measure::Scaling => ids(Size::Quick, &|case| case.id == test.case),
            _ => [Some(&test.case), test.against_case.as_ref()].into_iter().flatten().cloned().collect(),
        };
        let in_full = ids(Size::Full, &|_| true);
        match asked.iter().find(|id| !in_full.contains(id)) {
            None => Ok(()),
            Some(id) => Err(format!(
                "what the page says is asked of `{id}`, a scale that the full size has not: add it to `full`"
            )),
        }
    }

    fn check_arms(&self, test: &ClaimTest, pair: &Pair) -> Result<(), String> {
        if test.measure == Measure::Scaling {
            let Some(case) = self.cases.iter().find(|case| case.id == test.case && case.scales.is_some())
            else {
                return Err(format!(
                    "measure = \"scaling\" needs a case with `scales`, and `{}` is none",
                    test.case
                ));
            };
            let by_ten =
                |scales: &[u64]| scales.windows(2).all(|step| step[0].checked_mul(10) == Some(step[1]));
            let at = |size| case.scales.as_ref().is_none_or(|scales| by_ten(&scales.at(size)));
            if test.rule.is_some() && !(at(Size::Quick) && at(Size::Full)) {
                return Err(format!(
                    "a rule for scaling is of steps of ten, and the scales of `{}` have others",
                    case.id
                ));
            }
            if test.rule.is_some() && case.scaled != Scaled::Records {
                return Err(format!(
                    "a rule for scaling is of what one record costs, and the scales of `{}` are of {}: leave out the \
                     rule, and say `at_least` or `at_most` in a claim that is `by = \"ours\"`",
                    case.id, case.scaled
                ));
            }
            if let Some(verb) = test.rule.and_then(|_| times_no_records(case)) {
                return Err(format!(
                    "a rule for scaling is of what one record costs, and an operation of `{}` is a whole {verb}: leave out \
                     the rule, and say `at_least` or `at_most` in a claim that is `by = \"ours\"`",
                    case.id
                ));
            }
            if pair.against.is_some() || test.against_case.is_some() {
                return Err("measure = \"scaling\" compares an arm with itself: leave out `against` and `against_case`".into());
            }
            return has_arm(case, &pair.arm);
        }
        has_arm(self.case(&test.case)?, &pair.arm)?;
        if pair.against.as_ref() == Some(&pair.arm)
            && test.against_case.as_ref().is_none_or(|case| *case == test.case)
        {
            return Err(format!(
                "`{}` is compared with itself: name another arm, or an `against_case`",
                pair.arm
            ));
        }
        match (&pair.against, &test.against_case) {
            (Some(against), case) => has_arm(self.case(case.as_ref().unwrap_or(&test.case))?, against),
            (None, Some(_)) => Err("`against_case` is the case of the arm that is named `against`".into()),
            (None, None) => Ok(()),
        }
    }

    /// The case of that name, itself or at one of its scales.
    pub(super) fn case(&self, name: &str) -> Result<&Case, String> {
        let is_of = |known: &&Case| known.everywhere().iter().any(|scaled| scaled.id == name);
        self.cases.iter().find(is_of).ok_or_else(|| format!("there is no case `{name}` in this suite"))
    }
}

/// A verb of its lanes whose operations are no records.
fn times_no_records(case: &Case) -> Option<Verb> {
    case.verbs().find(|verb| *verb == Verb::Open || verb.watches())
}

fn has_arm(case: &Case, arm: &str) -> Result<(), String> {
    if case.has_arm(arm) { Ok(()) } else { Err(format!("case `{}` has no arm `{arm}`", case.id)) }
}
