//! Whether a published claim holds here: each of its tests against its bounds.

use super::comparison::{incomplete, obstacles};
use crate::estimate::{ArmStatistics, CaseStatistics, LaunchValue, paired};
use crate::plan::{Plan, PlannedCase};
use crate::statistics::Estimate;
use crate::suite::{Claim, ClaimTest, Measure};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A claim, decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimOutcome {
    /// The suite.
    pub suite: String,
    /// The claim's name in it.
    pub id: String,
    /// What is claimed.
    pub statement: String,
    /// The published figure.
    pub published: String,
    /// The same as a number, where it is one.
    pub published_value: Option<f64>,
    /// What is decided.
    pub status: ClaimStatus,
    /// Its tests.
    pub tests: Vec<TestOutcome>,
}

/// One test of a claim, decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestOutcome {
    /// What was measured, in words.
    pub what: String,
    /// What is decided.
    pub status: ClaimStatus,
    /// What was measured.
    pub value: Option<f64>,
    /// Its interval; an end is missing where there were too few launches to bound it.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The least that holds.
    pub at_least: Option<f64>,
    /// The most that holds.
    pub at_most: Option<f64>,
    /// In what unit the figures are: `x` for ratios.
    pub unit: String,
    /// Why it is untested or inconclusive, what the plan said, or between which scales the figure is.
    pub note: Option<String>,
}

/// What is said of a claim; the order is that in which tests outweigh each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimStatus {
    /// The whole interval lies within the bounds.
    Holds,
    /// The interval reaches across a bound.
    Inconclusive,
    /// It was not run, or could not be compared.
    Untested,
    /// The whole interval lies outside the bounds.
    Refuted,
}

impl fmt::Display for ClaimStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            ClaimStatus::Holds => "holds",
            ClaimStatus::Inconclusive => "inconclusive",
            ClaimStatus::Untested => "untested",
            ClaimStatus::Refuted => "refuted",
        })
    }
}

/// Decides every claim of every planned suite.
pub(super) fn outcomes(plan: &Plan, statistics: &[CaseStatistics]) -> Vec<ClaimOutcome> {
    let judged = |suite: &str, claim: &Claim| {
        let evidence = Evidence { plan, statistics, suite };
        let tests: Vec<TestOutcome> = claim.tests.iter().map(|test| evidence.outcome(test)).collect();
        ClaimOutcome {
            suite: suite.to_owned(),
            id: claim.id.clone(),
            statement: claim.statement.clone(),
            published: claim.published.clone(),
            published_value: claim.published_value,
            status: tests.iter().map(|test| test.status).max().unwrap_or(ClaimStatus::Untested),
            tests,
        }
    };
    plan.suites.iter().flat_map(|suite| suite.claims.iter().map(|claim| judged(&suite.name, claim))).collect()
}

/// What a suite's claims are tested on.
struct Evidence<'e> {
    plan: &'e Plan,
    statistics: &'e [CaseStatistics],
    suite: &'e str,
}

/// A measured figure with its interval.
struct Figure {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Figure {
    fn exact(value: f64) -> Figure {
        Figure { value, low: Some(value), high: Some(value) }
    }

    fn of(estimate: &Estimate) -> Figure {
        let (low, high) = estimate.ratio_interval().unzip();
        Figure { value: estimate.ratio(), low, high }
    }

    /// The least of two. An end that is missing is as far away as can be.
    fn least(self, other: Figure) -> Figure {
        let low = self.low.zip(other.low).map(|(mine, theirs)| mine.min(theirs));
        let high = match (self.high, other.high) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        Figure { value: self.value.min(other.value), low, high }
    }

    fn inverted(self) -> Figure {
        let invert = |end: Option<f64>| end.map(|end| 1.0 / end);
        Figure { value: 1.0 / self.value, low: invert(self.high), high: invert(self.low) }
    }
}

impl Evidence<'_> {
    fn outcome(&self, test: &ClaimTest) -> TestOutcome {
        let mut outcome = TestOutcome {
            what: describe(test),
            status: ClaimStatus::Untested,
            value: None,
            low: None,
            high: None,
            at_least: test.at_least,
            at_most: test.at_most,
            unit: unit(test).into(),
            note: None,
        };
        match self.measure(test) {
            Err(note) => outcome.note = Some(note),
            Ok(Measured::Plan { found, said }) => {
                outcome.status = if found { ClaimStatus::Holds } else { ClaimStatus::Refuted };
                outcome.note = Some(said);
            }
            Ok(Measured::Figure(figure, said)) => {
                outcome.note = said;
                outcome.status = within(&figure, test);
                outcome.value = Some(figure.value);
                outcome.low = figure.low;
                outcome.high = figure.high;
            }
        }
        outcome
    }

    fn measure(&self, test: &ClaimTest) -> Result<Measured, String> {
        if test.measure == Measure::Scaling {
            return self.scaling(test);
        }
        let arm = self.arm(&test.case, &test.arm)?;
        if let Some(obstacle) = incomplete(arm).first() {
            return Err(obstacle.clone());
        }
        match test.measure {
            Measure::Errors => return Ok(Measured::exact(arm.errors.values().sum::<u64>() as f64)),
            Measure::Missing => return Ok(Measured::exact(arm.missing as f64)),
            Measure::Plan => {
                let said = arm.plan.join("; ");
                let wanted = test.contains.as_deref().unwrap_or_default();
                return Ok(Measured::Plan {
                    found: said.contains(wanted),
                    said: format!("the plan says: {said}"),
                });
            }
            Measure::Rate | Measure::Latency | Measure::Stall | Measure::Scaling => {}
        }
        if let Some(obstacle) = obstacles(arm).first() {
            return Err(obstacle.clone());
        }
        let value = |launch: &LaunchValue| match test.measure {
            Measure::Stall => launch.stall_ns,
            Measure::Latency => launch.latency_ns_mean,
            _ => launch.of(test.part),
        };
        let estimate = match &test.against {
            Some(against) => {
                let against = self.arm(test.against_case.as_ref().unwrap_or(&test.case), against)?;
                if let Some(obstacle) = obstacles(against).first() {
                    return Err(obstacle.clone());
                }
                paired(&arm.launches, &against.launches, value)
            }
            None => {
                let logs: Vec<f64> = arm.launches.iter().filter_map(value).map(f64::ln).collect();
                Estimate::from_launches(&logs)
            }
        };
        let figure = self.figure(estimate)?;
        let figure = match (test.measure, &test.against) {
            (Measure::Rate, Some(_)) => figure.inverted(),
            (Measure::Rate, None) => {
                let rate = figure.inverted();
                let second = |per_ns: f64| per_ns * 1e9;
                Figure { value: second(rate.value), low: rate.low.map(second), high: rate.high.map(second) }
            }
            _ => figure,
        };
        Ok(Measured::Figure(figure, None))
    }

    /// Rates at each scale over those at the one before: the least of them. It lies between the least of the lower ends
    /// and the least of the upper ends, so that no step of which little is known hides behind one that is well known.
    fn scaling(&self, test: &ClaimTest) -> Result<Measured, String> {
        let scale_of = Some(&test.case);
        let mut scales: Vec<&PlannedCase> = self
            .plan
            .cases
            .iter()
            .filter(|case| case.suite() == self.suite && case.scale_of.as_ref() == scale_of)
            .collect();
        scales.sort_by_key(|case| case.scale);
        let mut least: Option<(Figure, String)> = None;
        for pair in scales.windows(2) {
            let [small, large] = [pair[0], pair[1]].map(|case| self.arm(case.name(), &test.arm));
            let (small, large) = (small?, large?);
            for arm in [small, large] {
                if let Some(obstacle) = incomplete(arm).first().or(obstacles(arm).first()) {
                    return Err(obstacle.clone());
                }
            }
            let times = paired(&large.launches, &small.launches, |launch| Some(launch.operation_ns));
            let figure = self.figure(times)?.inverted();
            let [from, to] = [pair[0], pair[1]].map(|case| case.scale.unwrap_or(case.dataset.records));
            let said = format!("from {from} to {to} {}", pair[0].scaled);
            least = Some(match least {
                Some((known, _)) if figure.value < known.value => (figure.least(known), said),
                Some((known, said)) => (known.least(figure), said),
                None => (figure, said),
            });
        }
        let (figure, said) = least.ok_or("fewer than two of its scales were run")?;
        Ok(Measured::Figure(figure, Some(said)))
    }

    /// The figure of an estimate that has the launches of the first look behind it.
    fn figure(&self, estimate: Option<Estimate>) -> Result<Figure, String> {
        let estimate = estimate.ok_or("there is no launch that all of them completed")?;
        let first_look = self.plan.looks.first().copied().unwrap_or_default();
        if estimate.launches < first_look {
            return Err(format!("only {} of the {first_look} launches of the first look", estimate.launches));
        }
        Ok(Figure::of(&estimate))
    }

    fn arm(&self, case: &str, arm: &str) -> Result<&ArmStatistics, String> {
        let id = format!("{}/{case}", self.suite);
        let case = self.statistics.iter().find(|known| known.case == id).ok_or("its case was not run")?;
        let found = case.arms.iter().find(|known| known.arm == arm).ok_or("its contender was not run")?;
        if found.outcomes.is_empty() { Err("its contender was not run".into()) } else { Ok(found) }
    }
}

enum Measured {
    /// With what is to be said of it, if anything.
    Figure(Figure, Option<String>),
    Plan {
        found: bool,
        said: String,
    },
}

impl Measured {
    fn exact(value: f64) -> Measured {
        Measured::Figure(Figure::exact(value), None)
    }
}

fn within(figure: &Figure, test: &ClaimTest) -> ClaimStatus {
    let (least, most) = (test.at_least.unwrap_or(f64::NEG_INFINITY), test.at_most.unwrap_or(f64::INFINITY));
    let (low, high) = (figure.low.unwrap_or(f64::NEG_INFINITY), figure.high.unwrap_or(f64::INFINITY));
    if low >= least && high <= most {
        ClaimStatus::Holds
    } else if high < least || low > most {
        ClaimStatus::Refuted
    } else {
        ClaimStatus::Inconclusive
    }
}

fn unit(test: &ClaimTest) -> &'static str {
    match (test.measure, &test.against) {
        (Measure::Rate | Measure::Latency | Measure::Stall, Some(_)) | (Measure::Scaling, _) => "x",
        (Measure::Rate, None) => "/s",
        (Measure::Latency | Measure::Stall, None) => "ns",
        (Measure::Errors, _) => "failed operations",
        (Measure::Missing, _) => "missing records",
        (Measure::Plan, _) => "",
    }
}

fn describe(test: &ClaimTest) -> String {
    let of = |case: &str, arm: &str| format!("{arm} in {case}");
    let mine = of(&test.case, &test.arm);
    let what = match test.measure {
        Measure::Rate => match test.part {
            Some(part) => &format!("rate, of the {part} alone,"),
            None => "rate",
        },
        Measure::Scaling => {
            return format!("least rate of {mine} at a scale over the next smaller one");
        }
        Measure::Latency => "mean latency",
        Measure::Stall => "longest operations (mean of the longest in a thousand)",
        Measure::Errors => "failed operations",
        Measure::Missing => "missing records",
        Measure::Plan => {
            return format!("query plan of {mine} says \"{}\"", test.contains.as_deref().unwrap_or(""));
        }
    };
    match &test.against {
        None => format!("{what} of {mine}"),
        Some(against) if test.against_case.is_none() => {
            format!("{what} of {} over {}", test.arm, of(&test.case, against))
        }
        Some(against) => {
            format!(
                "{what} of {mine} over {}",
                of(test.against_case.as_deref().unwrap_or(&test.case), against)
            )
        }
    }
}
