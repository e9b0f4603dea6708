//! The claims of a suite in words: the page's, then ours, each with what was published and who was asked.

use super::caution::number_said;
use super::pair::PairView;
use super::published::PublishedView;
use super::tally::tally;
use crate::name::subject_of;
use crate::plan::{Plan, PlannedCase, PlannedSuite, Reduced};
use crate::report::format;
use crate::suite::By;
use crate::verdict::{ClaimOutcome, ClaimStatus, PairOutcome, Side};

/// The claims of a suite that are the page's, or those that are ours.
pub(in crate::report) struct ClaimGroup {
    pub by: By,
    /// `Claims of the page`.
    pub title: &'static str,
    pub tally: String,
    pub claims: Vec<ClaimView>,
}

/// A claim with everything that is said of it.
pub(in crate::report) struct ClaimView {
    /// `suite/claim`.
    pub id: String,
    pub status: ClaimStatus,
    pub by: By,
    pub statement: String,
    pub published: PublishedView,
    /// The first decides.
    pub pairs: Vec<PairView>,
    /// Arms that were not part of the run, and for want of which another pair did not decide.
    pub absent: Vec<String>,
    /// `3,000 of 30,000 tables`.
    pub reduced: Vec<String>,
    /// `blocks 40 (its suite: 15) in get`: numbers that were set otherwise.
    pub overridden: Vec<String>,
    /// Why nothing measured it.
    pub reason: Option<String>,
    /// The arithmetic by which the page's own figures refute it.
    pub by_figures: Option<String>,
}

/// A subject that takes the place of one of the page's libraries.
#[derive(PartialEq, Eq)]
pub(in crate::report) struct StandInView {
    pub library: String,
    pub subject: String,
    /// Whether it is that library itself.
    pub itself: bool,
    pub why: String,
}

/// The claims of a suite in the order of reading: the page's, then ours.
pub(super) fn groups(plan: &Plan, suite: &PlannedSuite, outcomes: &[ClaimOutcome]) -> Vec<ClaimGroup> {
    let group = |(by, title)| {
        Some(ClaimGroup {
            by,
            title,
            tally: tally(by, outcomes.iter().filter(|claim| claim.suite == suite.name))?,
            claims: outcomes
                .iter()
                .filter(|claim| claim.suite == suite.name && claim.by == by)
                .map(|claim| ClaimView {
                    overridden: overridden(plan, suite, claim),
                    ..ClaimView::new(claim, &suite.device)
                })
                .collect(),
        })
    };
    [(By::Page, "Claims of the page"), (By::Ours, "Claims of ours")].into_iter().filter_map(group).collect()
}

/// How many of a suite's claims the run was not about; none where it was about all.
pub(super) fn left_out(suite: &PlannedSuite, outcomes: &[ClaimOutcome]) -> Option<String> {
    let decided = outcomes.iter().filter(|claim| claim.suite == suite.name).count();
    let about = |are: &str| format!("of this suite {are} about what was not in this run");
    match (suite.claims.len() - decided.min(suite.claims.len()), decided) {
        (0, _) => None,
        (1, 0) => Some(format!("The only claim {}", about("is"))),
        (all, 0) => Some(format!("All {} claims {}", format::count(all as u64), about("are"))),
        (1, _) => Some(format!("1 more claim {}", about("is"))),
        (more, _) => Some(format!("{} more claims {}", format::count(more as u64), about("are"))),
    }
}

/// Who of those that were asked takes whose place, and why; each once.
pub(super) fn stand_ins(suite: &PlannedSuite, outcomes: &[ClaimOutcome]) -> Vec<StandInView> {
    let mut known: Vec<StandInView> = Vec::new();
    let mine = outcomes.iter().filter(|claim| claim.suite == suite.name);
    for side in mine.flat_map(|claim| &claim.pairs).flat_map(|pair| &pair.sides) {
        known.extend(stand_in(side).filter(|stand_in| !known.contains(stand_in)));
    }
    known.sort_by(|one, other| one.library.cmp(&other.library));
    known
}

fn stand_in(side: &Side) -> Option<StandInView> {
    let subject = subject_of(&side.arm).to_owned();
    Some(StandInView { library: side.library.clone()?, subject, itself: side.itself, why: side.why.clone()? })
}

fn pairs(pairs: &[PairOutcome]) -> Vec<PairView> {
    let pair = |(place, pair)| PairView::new(pair, pairs.first().filter(|_| place > 0));
    pairs.iter().enumerate().map(pair).collect()
}

fn reduced(reduced: &Reduced) -> String {
    format!("{} of {} {}", format::count(reduced.here), format::count(reduced.full), reduced.what)
}

/// Numbers that were set otherwise in the cases that a claim asks.
fn overridden(plan: &Plan, suite: &PlannedSuite, claim: &ClaimOutcome) -> Vec<String> {
    let tests = suite.claims.iter().filter(|known| known.id == claim.id).flat_map(|known| &known.tests);
    let asked: Vec<&String> =
        tests.flat_map(|test| [Some(&test.case), test.against_case.as_ref()]).flatten().collect();
    let cases = plan.cases.iter().filter(|case| case.suite() == suite.name);
    let is_asked = |case: &&PlannedCase| {
        asked.iter().any(|name| *name == case.name() || Some(*name) == case.scale_of.as_ref())
    };
    let said = |case: &PlannedCase| -> Vec<String> {
        case.overridden.iter().map(|number| format!("{} in {}", number_said(number), case.name())).collect()
    };
    cases.filter(is_asked).flat_map(said).collect()
}

impl ClaimView {
    fn new(claim: &ClaimOutcome, device: &str) -> ClaimView {
        ClaimView {
            id: format!("{}/{}", claim.suite, claim.id),
            status: claim.status,
            by: claim.by,
            statement: claim.statement.clone(),
            published: PublishedView::new(claim, device),
            pairs: pairs(&claim.pairs),
            absent: claim.absent.clone(),
            reduced: claim.reduced.iter().map(reduced).collect(),
            overridden: Vec::new(),
            reason: claim.reason.clone(),
            by_figures: claim.by_figures.clone(),
        }
    }

    /// `fmdb@wal-normal was not in this run, so another pair decides`; none where the claim's first pair does.
    pub(in crate::report) fn absent_said(&self) -> Option<String> {
        let were = if self.absent.len() == 1 { "was" } else { "were" };
        (!self.absent.is_empty()).then(|| {
            format!("{} {were} not in this run, so another pair decides", format::listed(&self.absent))
        })
    }

    /// `smaller here: 3,000 of 30,000 tables`; none where all is as in the full size. What was set otherwise
    /// than the suite does stands there too.
    pub(in crate::report) fn reduced_said(&self) -> Option<String> {
        let reduced =
            (!self.reduced.is_empty()).then(|| format!("smaller here: {}", format::listed(&self.reduced)));
        let overridden = (!self.overridden.is_empty())
            .then(|| format!("set otherwise than the suite does: {}", format::listed(&self.overridden)));
        match (reduced, overridden) {
            (Some(reduced), Some(overridden)) => Some(format!("{reduced}; {overridden}")),
            (one, other) => one.or(other),
        }
    }

    /// The pair that decides; none where nothing measures the claim.
    pub(in crate::report) fn deciding(&self) -> Option<&PairView> {
        self.pairs.first()
    }

    /// The pairs that stand beneath it.
    pub(in crate::report) fn others(&self) -> &[PairView] {
        self.pairs.get(1..).unwrap_or_default()
    }

    /// How many rows a table needs for it.
    pub(in crate::report) fn rows(&self) -> usize {
        self.pairs.iter().map(|pair| pair.tests.len()).sum()
    }

    /// The status, with a word where it is not the page's libraries that answer.
    pub(in crate::report) fn outcome(&self) -> String {
        if self.by_figures.is_some() {
            return format!("{} by the page's own figures", self.status);
        }
        let by_stand_in = self.deciding().is_some_and(|pair| pair.by_stand_in);
        if by_stand_in { format!("{} (stand-in)", self.status) } else { self.status.to_string() }
    }

    /// What was found here, or why nothing was.
    pub(in crate::report) fn here(&self) -> String {
        match (self.deciding(), &self.reason, &self.by_figures) {
            (Some(pair), ..) => pair.found(),
            (None, Some(reason), _) => format!("not measured: {reason}"),
            (None, None, Some(arithmetic)) => format!("by the page's own figures: {arithmetic}"),
            (None, None, None) => format::NONE.into(),
        }
    }

    /// What stands before the published figure: that of another device is only set beside the one here.
    pub(in crate::report) fn published_label(&self) -> &'static str {
        match (self.status, self.by) {
            (ClaimStatus::Elsewhere, _) => "there",
            (_, By::Page) => "published",
            (_, By::Ours) if self.published.is_ours() => "target",
            (_, By::Ours) => "the page's figure",
        }
    }
}
