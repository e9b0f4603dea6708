//! Whether a claim holds here: each of its pairs of arms, the first of which decides, against the bounds of its tests.

use super::evidence::Evidence;
use super::flag::Flag;
use crate::estimate::CaseStatistics;
use crate::name::subject_of;
use crate::plan::{Plan, PlannedSuite, Reduced};
use crate::suite::{Aspect, By, Claim, ClaimTest, Pair};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A claim, decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimOutcome {
    /// The suite.
    pub suite: String,
    /// The claim's name in it.
    pub id: String,
    /// Whose claim it is.
    pub by: By,
    /// What is claimed.
    pub statement: String,
    /// The page's own words.
    pub words: Option<String>,
    /// The published figures.
    pub figures: Vec<PublishedFigure>,
    /// What is decided: that of the first pair, leaving size aside.
    pub status: ClaimStatus,
    /// What is decided of the size of a published difference, where one was published.
    pub size: Option<ClaimStatus>,
    /// Who was asked; the first decides.
    pub pairs: Vec<PairOutcome>,
    /// The arms without which an earlier pair could not decide: they were not part of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// What was smaller in its cases than in the full size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reduced: Vec<Reduced>,
    /// Why nothing measured it.
    pub reason: Option<String>,
    /// The arithmetic by which the page's own figures refute it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_figures: Option<String>,
}

/// A published figure with its source and its device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// Where it is read: of which kind that is, and its title.
    pub source: String,
    /// The same, of which kind alone.
    pub source_kind: String,
    /// What it was measured on.
    pub device: String,
    /// What it is of, where the claim does not say.
    pub of: Option<String>,
    /// The figure of the claim's arm.
    pub value: f64,
    /// The figure of what that is compared with.
    pub against: Option<f64>,
    /// The unit of both.
    pub unit: String,
    /// The same as the number that the first test with a rule finds, or else the first, where it is one.
    pub ratio: Option<f64>,
    /// What else is printed with it.
    pub note: Option<String>,
}

/// What two arms say of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairOutcome {
    /// The arm that the claim is about, and what that is compared with.
    pub sides: Vec<Side>,
    /// What is decided, leaving size aside.
    pub status: ClaimStatus,
    /// What is decided of the size.
    pub size: Option<ClaimStatus>,
    /// What was measured.
    pub tests: Vec<TestOutcome>,
    /// Doubts about what was measured.
    pub flags: Vec<Flag>,
}

/// One side of a claim: an arm, and the library of the page whose place it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// The arm.
    pub arm: String,
    /// The page's library, of a claim of the page.
    pub library: Option<String>,
    /// Whether it is that library itself.
    pub itself: bool,
    /// Why this subject takes its place.
    pub why: Option<String>,
}

/// One test of a claim, decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestOutcome {
    /// The arm that was asked.
    #[serde(default)]
    pub arm: String,
    /// The arm that it was compared with.
    #[serde(default)]
    pub against: Option<String>,
    /// What was measured, in words.
    pub what: String,
    /// The same without the arms: `rate in open-1 over open-many`.
    pub question: String,
    /// Which question it answers, where there are two.
    pub aspect: Option<Aspect>,
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
    /// A figure of another device, set beside the one here.
    Elsewhere,
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
            ClaimStatus::Elsewhere => "elsewhere",
            ClaimStatus::Holds => "holds",
            ClaimStatus::Inconclusive => "inconclusive",
            ClaimStatus::Untested => "untested",
            ClaimStatus::Refuted => "refuted",
        })
    }
}

/// Decides every claim that the planned cases and arms are about.
pub(super) fn outcomes(plan: &Plan, statistics: &[CaseStatistics], flags: &[Flag]) -> Vec<ClaimOutcome> {
    let of_suite = |suite: &PlannedSuite| {
        let evidence = Evidence { plan, statistics, suite: &suite.name };
        let judge = Judge { suite, evidence, flags };
        suite.claims.iter().filter_map(|claim| judge.outcome(claim)).collect::<Vec<_>>()
    };
    plan.suites.iter().flat_map(of_suite).collect()
}

/// Decides the claims of one suite.
struct Judge<'j> {
    suite: &'j PlannedSuite,
    evidence: Evidence<'j>,
    flags: &'j [Flag],
}

impl Judge<'_> {
    /// None where no case or no arm of it was planned.
    fn outcome(&self, claim: &Claim) -> Option<ClaimOutcome> {
        let unasked = claim.untested.as_ref().map(|untested| &untested.case);
        let unasked = unasked.or(claim.refuted.as_ref().map(|refuted| &refuted.case));
        let pairs = match unasked {
            Some(case) => {
                self.evidence.is_planned(case).then_some(())?;
                Vec::new()
            }
            None => self.pairs(claim),
        };
        let deciding = pairs.first();
        if deciding.is_none() && unasked.is_none() {
            return None;
        }
        // A plan whose rows do not refute the claim was refused when it was read.
        let by_figures =
            claim.refuted.as_ref().and_then(|refuted| refuted.arithmetic(&self.suite.published_rows).ok());
        let without_test = if by_figures.is_some() { ClaimStatus::Refuted } else { ClaimStatus::Untested };
        Some(ClaimOutcome {
            suite: self.suite.name.clone(),
            id: claim.id.clone(),
            by: claim.by,
            statement: claim.statement.clone(),
            words: claim.words.clone(),
            figures: self.figures(claim),
            status: deciding.map_or(without_test, |pair| pair.status),
            size: deciding.and_then(|pair| pair.size),
            pairs,
            absent: self.absent(claim),
            reduced: self.reduced(claim),
            reason: claim.untested.as_ref().map(|untested| untested.reason.clone()),
            by_figures,
        })
    }

    fn figures(&self, claim: &Claim) -> Vec<PublishedFigure> {
        let figures = claim.figures.iter().filter_map(|figure| {
            let reference = self.suite.references.iter().find(|known| known.id == figure.source)?;
            Some(PublishedFigure {
                source: format!("{}: {}", reference.kind, reference.title),
                source_kind: reference.kind.to_string(),
                device: figure.device.clone().unwrap_or_else(|| self.suite.device.clone()),
                of: figure.of.clone(),
                value: figure.value,
                against: figure.against,
                unit: figure.unit.clone(),
                ratio: claim.figures_test().and_then(|test| figure.ratio(test.measure)),
                note: figure.note.clone(),
            })
        });
        figures.collect()
    }

    /// The pairs that are at hand, in the claim's order; a claim whose tests name their arms has one, of all tests.
    fn pairs(&self, claim: &Claim) -> Vec<PairOutcome> {
        if claim.pairs.is_empty() {
            let tests: Vec<(&ClaimTest, Pair)> = claim
                .tests
                .iter()
                .flat_map(|test| claim.pairs_of(test).into_iter().map(move |pair| (test, pair)))
                .collect();
            let at_hand = tests.iter().any(|(test, pair)| self.evidence.is_at_hand(test, pair));
            return if at_hand { vec![self.pair(claim, &tests)] } else { Vec::new() };
        }
        let with_tests =
            |pair: &Pair| claim.tests.iter().map(|test| (test, pair.clone())).collect::<Vec<_>>();
        let pairs = claim.pairs.iter().map(with_tests);
        pairs
            .filter(|tests| tests.iter().any(|(test, pair)| self.evidence.is_at_hand(test, pair)))
            .map(|tests| self.pair(claim, &tests))
            .collect()
    }

    /// The arms for want of which the pairs before the first that is at hand are not, each once.
    fn absent(&self, claim: &Claim) -> Vec<String> {
        let lacks = |pair: &Pair| -> Vec<String> {
            let lacks = claim.tests.iter().map(|test| self.evidence.absent(test, pair));
            if lacks.clone().any(|lacks| lacks.is_empty()) { Vec::new() } else { lacks.flatten().collect() }
        };
        let mut absent: Vec<String> = Vec::new();
        for arm in claim.pairs.iter().map(lacks).take_while(|lacks| !lacks.is_empty()).flatten() {
            if !absent.contains(&arm) {
                absent.push(arm);
            }
        }
        absent
    }

    /// What is smaller in the cases that are asked, each once.
    fn reduced(&self, claim: &Claim) -> Vec<Reduced> {
        let mut reduced: Vec<Reduced> = Vec::new();
        if claim.untested.is_some() || claim.refuted.is_some() {
            return reduced;
        }
        for found in claim.cases().flat_map(|case| self.evidence.reduced(case)) {
            if !reduced.contains(&found) {
                reduced.push(found);
            }
        }
        reduced
    }

    fn pair(&self, claim: &Claim, asked: &[(&ClaimTest, Pair)]) -> PairOutcome {
        let tests: Vec<TestOutcome> =
            asked.iter().flat_map(|(test, pair)| self.evidence.outcomes(claim, test, pair)).collect();
        let worst = |of_size: bool| {
            let asked = tests.iter().filter(|test| (test.aspect == Some(Aspect::Size)) == of_size);
            asked.map(|test| test.status).max()
        };
        let mut flags: Vec<Flag> = Vec::new();
        for (test, pair) in asked {
            let about = self.evidence.doubted(test, pair);
            let is_doubt = |flag: &&Flag| {
                flag.kind.bears_on(test.measure) && about.iter().any(|(case, arm)| flag.is_about(case, arm))
            };
            for flag in self.flags.iter().filter(is_doubt) {
                if !flags.contains(flag) {
                    flags.push(flag.clone());
                }
            }
        }
        // Of tests that name their arms some may compare with nothing: the sides are those of one that does.
        let compared = asked.iter().find(|(_, pair)| pair.against.is_some());
        PairOutcome {
            sides: compared.or(asked.first()).map_or(Vec::new(), |(_, pair)| self.sides(claim, pair)),
            status: worst(false).unwrap_or(ClaimStatus::Untested),
            size: worst(true),
            tests,
            flags,
        }
    }

    /// A claim of ours is of whom it names: nobody stands in for anybody.
    fn sides(&self, claim: &Claim, pair: &Pair) -> Vec<Side> {
        let side = |arm: &String| {
            let stand_in = match claim.by {
                By::Page => self.suite.stand_ins.iter().find(|known| known.subject == subject_of(arm)),
                By::Ours => None,
            };
            Side {
                arm: arm.clone(),
                library: stand_in.map(|stand_in| stand_in.library.clone()),
                itself: stand_in.is_some_and(|stand_in| stand_in.itself),
                why: stand_in.map(|stand_in| stand_in.why.clone()),
            }
        };
        std::iter::once(&pair.arm).chain(&pair.against).map(side).collect()
    }
}
