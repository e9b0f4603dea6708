//! What the samples say of one test of a claim: the figure with its interval, and on which side of the bounds it lies.

use super::claim::{ClaimStatus, TestOutcome};
use super::comparison::{cache_difference, class_difference, incomplete, not_honoured, obstacles};
use super::doubt::drift_apart;
use super::figure::{Figure, Found, Independent, Noisy, Step};
use super::gate::null_arm;
use super::resembling::allowed_for_figure;
use super::worded::{describe, question, unit};
use crate::count::count;
use crate::estimate::{ArmStatistics, CaseStatistics, LaunchValue, paired};
use crate::plan::{Plan, PlannedArm, PlannedCase, Reduced};
use crate::sample::NOT_EXPLAINED;
use crate::statistics::{Estimate, is_noisy};
use crate::suite::{Aspect, Bounds, Claim, ClaimTest, Measure, Pair, Rule, Scaled};

/// What a suite's claims are tested on.
pub(super) struct Evidence<'e> {
    pub(super) plan: &'e Plan,
    pub(super) statistics: &'e [CaseStatistics],
    pub(super) suite: &'e str,
}

/// A step of a claim about scales, and why it decides nothing.
struct Stepped {
    found: Found,
    withheld: Option<String>,
}

/// What a test found, with what is to be said of it.
enum Measured {
    Figure(Found),
    /// One that decides nothing, and why.
    Withheld(Figure, String),
    Plan {
        found: bool,
        said: String,
    },
}

impl TestOutcome {
    /// `published` is the ratio that the page has, where the test is about its size.
    fn decide(&mut self, found: Found, bounds: Bounds, published: Option<f64>) {
        let decided = found.figure.within(bounds);
        let taken_back = found.noisy.as_ref().and_then(|noisy| noisy.takes_back(decided, bounds));
        let would_be = || found.independent.and_then(|known| known.would_decide(decided, bounds));
        let withheld = taken_back.or_else(would_be);
        self.status = if withheld.is_some() { ClaimStatus::Inconclusive } else { decided };
        // What is withheld of a figure is not said of its size either.
        let figure = found.noisy.map_or(found.figure, |noisy| noisy.correlated);
        let holds = self.status == ClaimStatus::Holds;
        let beyond = published.and_then(|published| figure.beyond(published, holds));
        self.tell(found.figure, found.said.into_iter().chain(beyond).chain(withheld));
    }

    fn tell(&mut self, figure: Figure, notes: impl Iterator<Item = String>) {
        let notes: Vec<String> = notes.collect();
        self.note = (!notes.is_empty()).then(|| notes.join("; "));
        self.show(figure);
    }

    fn show(&mut self, figure: Figure) {
        self.value = Some(figure.value);
        self.low = figure.low;
        self.high = figure.high;
    }
}

impl Evidence<'_> {
    /// A test's outcome for a pair of arms: one, or direction and size.
    pub(super) fn outcomes(&self, claim: &Claim, test: &ClaimTest, pair: &Pair) -> Vec<TestOutcome> {
        let published = claim.published_ratio(test.measure);
        let bounds = claim.bounds(test);
        // A figure of another device has no bounds, and is shown all the same.
        let bounds = if bounds.is_empty() { vec![Bounds::default()] } else { bounds };
        bounds.into_iter().map(|bounds| self.outcome(test, pair, bounds, published)).collect()
    }

    fn outcome(&self, test: &ClaimTest, pair: &Pair, bounds: Bounds, published: Option<f64>) -> TestOutcome {
        let mut outcome = TestOutcome {
            arm: pair.arm.clone(),
            against: pair.against.clone(),
            what: describe(test, pair),
            question: question(test),
            aspect: bounds.aspect,
            status: ClaimStatus::Untested,
            value: None,
            low: None,
            high: None,
            at_least: bounds.at_least,
            at_most: bounds.at_most,
            unit: unit(test, pair),
            note: None,
        };
        let is_elsewhere = test.rule == Some(Rule::Elsewhere);
        match self.measure(test, pair) {
            Err(note) => outcome.note = Some(note),
            Ok(Measured::Plan { found, said }) => {
                outcome.status = if found { ClaimStatus::Holds } else { ClaimStatus::Refuted };
                outcome.note = Some(said);
            }
            Ok(Measured::Withheld(figure, why)) => {
                outcome.status =
                    if is_elsewhere { ClaimStatus::Elsewhere } else { ClaimStatus::Inconclusive };
                outcome.tell(figure, std::iter::once(why));
            }
            Ok(Measured::Figure(found)) if is_elsewhere => {
                outcome.status = ClaimStatus::Elsewhere;
                outcome.tell(found.figure, found.said.into_iter());
            }
            Ok(Measured::Figure(found)) => {
                let of_size = bounds.aspect == Some(Aspect::Size);
                outcome.decide(found, bounds, published.filter(|_| of_size));
            }
        }
        outcome
    }

    fn measure(&self, test: &ClaimTest, pair: &Pair) -> Result<Measured, String> {
        if test.measure == Measure::Scaling {
            let step = if test.rule == Some(Rule::NoBetter) { Step::Greatest } else { Step::Least };
            return self.scaling(test, pair, step);
        }
        let arm = self.arm(&test.case, &pair.arm)?;
        if test.measure.is_exact() {
            return self.exact(test, arm);
        }
        self.without_obstacle(&test.case, arm)?;
        match &pair.against {
            Some(against) => self.ratio(test, arm, against),
            None => self.absolute(test, arm),
        }
    }

    /// What is counted or read. Failed operations are no obstacle to counting them; settings that did not take effect are.
    fn exact(&self, test: &ClaimTest, arm: &ArmStatistics) -> Result<Measured, String> {
        if let Some(obstacle) = incomplete(arm).into_iter().chain(not_honoured(arm)).next() {
            return Err(obstacle);
        }
        let unchecked = self.case(&test.case).is_some_and(|case| case.unchecked);
        match test.measure {
            Measure::Plan => plan(test, arm),
            Measure::Hits => {
                let hits = arm.hit_percent().ok_or("its contender counts no hits and misses of a cache")?;
                Ok(Measured::Figure(Found::new(Figure::exact(hits), None)))
            }
            Measure::Missing if unchecked => Err("its case leaves answers unchecked".into()),
            _ => {
                self.after_first_look(arm.outcomes.values().sum())?;
                let counted = counted(test, arm);
                lasting(test, arm, counted)?;
                Ok(Measured::Figure(Found::new(Figure::exact(counted as f64), others_counted(test, arm))))
            }
        }
    }

    /// The ratio of two arms.
    fn ratio(&self, test: &ClaimTest, arm: &ArmStatistics, against: &str) -> Result<Measured, String> {
        let case = against_case(test);
        let against = self.arm(case, against)?;
        self.without_obstacle(case, against)?;
        if let Some(difference) = cache_difference(arm, against) {
            return Err(difference);
        }
        kept(test, arm)?;
        kept(test, against)?;
        let estimate = paired(&arm.launches, &against.launches, |launch| value(test, launch));
        let bytes = self.bytes(test, &test.case)? / self.bytes(test, case)?;
        let ratio = |figure: Figure| match test.measure.more_is_better() {
            true => figure.inverted().each(|ratio| ratio * bytes),
            false => figure,
        };
        let figure = ratio(self.figure(estimate)?);
        // Latencies are of a stretch of their own, whose drift nobody measures.
        if let Some(why) = drift_apart(arm, against).filter(|_| is_of_slices(test)) {
            return Ok(Measured::Withheld(figure, why));
        }
        let planned =
            [(test.case.as_str(), arm), (case, against)].map(|(case, arm)| self.planned(case, &arm.arm));
        let classes = match planned {
            [Some(mine), Some(theirs)] => class_difference(mine, theirs),
            _ => None,
        };
        let marked: Vec<String> = classes
            .into_iter()
            .chain(self.confinement_difference(&test.case, case))
            .chain(self.start_difference([(&test.case, arm), (case, against)]))
            .collect();
        let marked = (!marked.is_empty()).then(|| marked.join("; "));
        let margin = planned[0]
            .zip(planned[1])
            .and_then(|(mine, theirs)| Some(self.case(&test.case)?.margin_of(mine, theirs)));
        let noisy = self.noisy(&test.case, estimate, margin).map(|noisy| noisy.each(ratio));
        let independent = independent(estimate).map(|known| known.each(ratio));
        Ok(Measured::Figure(Found { figure, said: marked, noisy, independent }))
    }

    /// An operation is quicker on a processor that is kept busy: two cases of which one is confined are not quite alike.
    fn confinement_difference(&self, case: &str, other: &str) -> Option<String> {
        let confined = [case, other].map(|case| self.case(case).map(PlannedCase::is_confined));
        (confined[0] != confined[1])
            .then(|| "one of the two cases is confined to one processor, and the other is not".into())
    }

    /// What the caches hold, what the file's pages held before, and whether it is put back are of the case, not of an arm.
    fn start_difference(&self, asked: [(&str, &ArmStatistics); 2]) -> Option<String> {
        let [mine, theirs] = asked.map(|(case, _)| self.case(case));
        let (mine, theirs) = mine.zip(theirs).filter(|(mine, theirs)| mine.id != theirs.id)?;
        let setting = |name: &str| {
            let [mine, theirs] = asked.map(|(case, arm)| self.planned(case, &arm.arm)?.settings.get(name));
            mine != theirs
        };
        let differing = [
            ("cache", mine.cache != theirs.cache),
            ("restore", mine.restore != theirs.restore),
            ("churn", mine.churn != theirs.churn),
            ("cache_size_bytes", setting("cache_size_bytes")),
            ("page_size_bytes", setting("page_size_bytes")),
        ];
        let names: Vec<&str> =
            differing.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect();
        (!names.is_empty()).then(|| format!("the two cases start unlike: in {}", names.join(" and ")))
    }

    /// The figure of one arm, in its own unit.
    fn absolute(&self, test: &ClaimTest, arm: &ArmStatistics) -> Result<Measured, String> {
        if let Some(percentile) = test.percentile {
            kept(test, arm)?;
            self.after_first_look(arm.launches.iter().filter_map(|launch| value(test, launch)).count())?;
            let latency = arm.latency.as_ref().ok_or("no latencies were kept")?;
            let known = latency.percentiles.iter().find(|known| known.percentile == percentile);
            let known = known.ok_or("that percentile was not kept")?;
            let (low, high) = known.interval_ns.map(|(low, high)| (low as f64, high as f64)).unzip();
            return Ok(Measured::Figure(Found::new(
                Figure { value: known.latency_ns as f64, low, high },
                None,
            )));
        }
        kept(test, arm)?;
        let logs: Vec<f64> =
            arm.launches.iter().filter_map(|launch| value(test, launch)).map(f64::ln).collect();
        let estimate = Estimate::from_launches(&logs);
        let bytes = self.bytes(test, &test.case)?;
        let in_unit = |figure: Figure| match test.measure.more_is_better() {
            true => figure.inverted().each(|per_ns| per_ns * 1e9 * bytes),
            false => figure,
        };
        let figure = in_unit(self.figure(estimate)?);
        let independent = independent(estimate).map(|known| known.each(in_unit));
        Ok(Measured::Figure(Found { independent, ..Found::new(figure, None) }))
    }

    /// How many bytes an operation of a case counts for, where bytes are counted; 1 where operations are.
    fn bytes(&self, test: &ClaimTest, case: &str) -> Result<f64, String> {
        if test.measure != Measure::Throughput {
            return Ok(1.0);
        }
        let bytes = self.case(case).and_then(|case| case.operation_bytes);
        bytes
            .map(|bytes| bytes as f64)
            .ok_or_else(|| format!("`{case}` does not say how many bytes an operation is"))
    }

    /// The figure of an estimate as it is where launches are correlated, if they are noisy.
    fn noisy(&self, case: &str, estimate: Option<Estimate>, margin: Option<f64>) -> Option<Noisy> {
        let (estimate, margin) = estimate.zip(margin).filter(|(known, margin)| is_noisy(known, *margin))?;
        let case = format!("{}/{case}", self.suite);
        let correlation = allowed_for_figure(self.plan, self.statistics, &case, (estimate, margin));
        Some(Noisy { correlated: Figure::of(&estimate.at_correlation(correlation)), correlation })
    }

    /// Rates at each scale over those at the one before: the least of them, or the greatest.
    fn scaling(&self, test: &ClaimTest, pair: &Pair, further: Step) -> Result<Measured, String> {
        self.without_gap(&test.case)?;
        let scales = self.scales(&test.case);
        let steps = scales.windows(2).map(|scales| self.step(test, &pair.arm, [scales[0], scales[1]]));
        let steps: Vec<Stepped> = steps.collect::<Result<_, _>>()?;
        let withheld = steps.iter().find_map(|step| step.withheld.clone());
        let found = steps.into_iter().map(|step| step.found);
        let found = found.reduce(|known, other| known.further(other, further));
        let found = found.ok_or("fewer than two of its scales were run")?;
        Ok(match withheld {
            Some(why) => Measured::Withheld(found.figure, why),
            None => Measured::Figure(found),
        })
    }

    /// From one scale to the next.
    fn step(&self, test: &ClaimTest, arm: &str, scales: [&PlannedCase; 2]) -> Result<Stepped, String> {
        let [small, large] = scales.map(|case| self.arm(case.name(), arm));
        let (small, large) = (small?, large?);
        self.without_obstacle(scales[0].name(), small)?;
        self.without_obstacle(scales[1].name(), large)?;
        if let Some(difference) = cache_difference(small, large) {
            return Err(format!("between its scales, {difference}"));
        }
        if test.rule.is_some() && scales[0].scaled != Scaled::Records {
            return Err(format!(
                "its scales are of {}, and the bound is of what one record costs",
                scales[0].scaled
            ));
        }
        let scale = |case: &PlannedCase| case.scale.unwrap_or(case.dataset.records);
        if test.rule.is_some() && scale(scales[0]).checked_mul(10) != Some(scale(scales[1])) {
            return Err(
                "a scale between two of its scales was not run, and the bound is of a step of ten".into()
            );
        }
        let times = paired(&large.launches, &small.launches, |launch| Some(launch.operation_ns));
        let figure = self.figure(times)?.inverted();
        let margin = scales[1].arm(arm).map(|planned| scales[1].margin_of(planned, planned));
        let noisy = self.noisy(scales[1].name(), times, margin).map(|noisy| noisy.each(Figure::inverted));
        let [from, to] = scales.map(|case| count(scale(case)));
        let said = format!("from {from} to {to} {}", scales[0].scaled);
        let independent = independent(times).map(|known| known.each(Figure::inverted));
        let withheld = drift_apart(large, small).map(|why| format!("{said}: {why}"));
        Ok(Stepped { found: Found { figure, said: Some(said), noisy, independent }, withheld })
    }

    /// Whether every scale of its size is in the plan: a step that is left out could be the one that refutes.
    fn without_gap(&self, case: &str) -> Result<(), String> {
        let cases = self.scales(case);
        let is_planned = |scale: &u64| cases.iter().any(|case| case.scale == Some(*scale));
        match cases.iter().flat_map(|case| &case.scales).find(|scale| !is_planned(scale)) {
            None => Ok(()),
            Some(missing) => {
                Err(format!("its scale of {} was not run, and every step decides", count(*missing)))
            }
        }
    }

    /// The planned cases that are scales of this one, ascending.
    fn scales(&self, case: &str) -> Vec<&PlannedCase> {
        let mine = |planned: &&PlannedCase| {
            planned.suite() == self.suite && planned.scale_of.as_deref() == Some(case)
        };
        let mut scales: Vec<&PlannedCase> = self.plan.cases.iter().filter(mine).collect();
        scales.sort_by_key(|case| case.scale);
        scales
    }

    /// The figure of an estimate that has the launches of the first look behind it.
    fn figure(&self, estimate: Option<Estimate>) -> Result<Figure, String> {
        let estimate = estimate.ok_or("there is no launch that all of them completed")?;
        self.after_first_look(estimate.launches)?;
        Ok(Figure::of(&estimate))
    }

    fn after_first_look(&self, launches: usize) -> Result<(), String> {
        let first_look = self.plan.looks.first().copied().unwrap_or_default();
        if launches >= first_look {
            return Ok(());
        }
        Err(format!("only {launches} of the {first_look} launches of the first look"))
    }

    /// What keeps an arm from being compared, and so a claim from being decided.
    fn without_obstacle(&self, case: &str, arm: &ArmStatistics) -> Result<(), String> {
        let id = format!("{}/{case}", self.suite);
        let planned = self.plan.case(&id).and_then(|case| Some((case, case.arm(&arm.arm)?)));
        if let Some((case, planned)) = planned
            && let Some(obstacle) = obstacles(case, planned, arm).into_iter().next()
        {
            return Err(obstacle);
        }
        match null_arm(self.plan, self.statistics, &id) {
            Some((_, why)) => Err(why),
            None => Ok(()),
        }
    }

    fn arm(&self, case: &str, arm: &str) -> Result<&ArmStatistics, String> {
        let id = format!("{}/{case}", self.suite);
        let case = self.statistics.iter().find(|known| known.case == id).ok_or("its case was not run")?;
        let found = case.arm(arm).ok_or("its contender was not run")?;
        if found.outcomes.is_empty() { Err("its contender was not run".into()) } else { Ok(found) }
    }

    /// The planned case of that name in the suite.
    fn case(&self, case: &str) -> Option<&PlannedCase> {
        self.plan.case(&format!("{}/{case}", self.suite))
    }

    fn planned(&self, case: &str, arm: &str) -> Option<&PlannedArm> {
        self.case(case)?.arm(arm)
    }

    /// Whether a case of that name is planned, itself or at one of its scales.
    pub(super) fn is_planned(&self, case: &str) -> bool {
        self.case(case).is_some() || !self.scales(case).is_empty()
    }

    /// What is smaller in a case than in the full size; of one that has scales, in all of them, and how far they reach.
    pub(super) fn reduced(&self, case: &str) -> Vec<Reduced> {
        if let Some(case) = self.case(case) {
            return case.reduced();
        }
        let scales = self.scales(case);
        let reach = scales.last().and_then(|largest| {
            let (here, full) = (largest.scale?, largest.full_scale?);
            (here < full).then(|| Reduced {
                what: format!("{} at the largest scale", largest.scaled),
                here,
                full,
            })
        });
        reach.into_iter().chain(scales.iter().flat_map(|case| case.reduced())).collect()
    }

    /// Whether what a test asks of these arms was planned.
    pub(super) fn is_at_hand(&self, test: &ClaimTest, pair: &Pair) -> bool {
        self.absent(test, pair).is_empty()
    }

    /// Which of these arms were not planned where a test asks them.
    pub(super) fn absent(&self, test: &ClaimTest, pair: &Pair) -> Vec<String> {
        let plays = |case: &str, arm: &str| match test.measure {
            Measure::Scaling => self.scales(case).iter().any(|scale| scale.arm(arm).is_some()),
            _ => self.planned(case, arm).is_some(),
        };
        let against = pair.against.iter().map(|against| (against_case(test), against));
        let asked = std::iter::once((test.case.as_str(), &pair.arm)).chain(against);
        asked.filter(|(case, arm)| !plays(case, arm)).map(|(_, arm)| arm.clone()).collect()
    }

    /// The cases and arms whose flags are doubts about a test, by the ids of the cases.
    pub(super) fn doubted(&self, test: &ClaimTest, pair: &Pair) -> Vec<(String, String)> {
        let id = |case: &str| format!("{}/{case}", self.suite);
        if test.measure == Measure::Scaling {
            let scales = self.scales(&test.case);
            return scales.iter().map(|case| (case.id.clone(), pair.arm.clone())).collect();
        }
        let against = pair.against.iter().map(|against| (id(against_case(test)), against.clone()));
        std::iter::once((id(&test.case), pair.arm.clone())).chain(against).collect()
    }
}

fn independent(estimate: Option<Estimate>) -> Option<Independent> {
    estimate.as_ref().and_then(Independent::of)
}

/// Whether it is of the time of slices, of whose drift the lab knows.
fn is_of_slices(test: &ClaimTest) -> bool {
    matches!(test.measure, Measure::Rate | Measure::Throughput)
}

/// Whether the launches of an arm have what a test takes from them: latencies and parts are not kept of every case.
fn kept(test: &ClaimTest, arm: &ArmStatistics) -> Result<(), String> {
    if arm.launches.is_empty() || arm.launches.iter().any(|launch| value(test, launch).is_some()) {
        return Ok(());
    }
    Err(match test.part {
        Some(part) => format!("no time of the {part} was kept of {}", arm.arm),
        None => format!("no latencies were kept of {}", arm.arm),
    })
}

/// How many records were missing, or how many operations failed, of the kind that the test is about.
fn counted(test: &ClaimTest, arm: &ArmStatistics) -> u64 {
    match (test.measure, test.error) {
        (Measure::Missing, _) => arm.missing,
        (_, Some(kind)) => arm.errors.get(kind.name()).copied().unwrap_or(0),
        (_, None) => arm.errors.values().copied().fold(0, u64::saturating_add),
    }
}

/// What failed besides, where the test is about one kind.
fn others_counted(test: &ClaimTest, arm: &ArmStatistics) -> Option<String> {
    let kind = test.error?.name();
    let others: Vec<String> = arm
        .errors
        .iter()
        .filter(|(other, number)| *other != kind && **number > 0)
        .map(|(other, number)| format!("{} failed as `{other}`", count(*number)))
        .collect();
    (!others.is_empty()).then(|| others.join(", "))
}

/// Whether slices last as long as the claim is about. Where something was counted, they lasted long enough for it.
fn lasting(test: &ClaimTest, arm: &ArmStatistics, counted: u64) -> Result<(), String> {
    match (test.slices_over_ms, arm.slice_ns) {
        (Some(over), Some(slice_ns)) if counted == 0 && slice_ns <= over as f64 * 1e6 => Err(format!(
            "the claim is about slices of more than {} ms, and here they took {:.0} ms",
            count(over),
            slice_ns / 1e6
        )),
        _ => Ok(()),
    }
}

/// Whether a query plan says what it must.
fn plan(test: &ClaimTest, arm: &ArmStatistics) -> Result<Measured, String> {
    if let Some(failed) = arm.plan.iter().find(|line| line.starts_with(NOT_EXPLAINED)) {
        return Err(failed.clone());
    }
    if arm.plan.is_empty() {
        return Err("its contender explained no plan".into());
    }
    let said = arm.plan.join("; ");
    let wanted = test.contains.as_deref().unwrap_or_default();
    Ok(Measured::Plan { found: said.contains(wanted), said: format!("the plan says: {said}") })
}

/// What a test of a ratio or a figure takes from each launch.
fn value(test: &ClaimTest, launch: &LaunchValue) -> Option<f64> {
    match test.measure {
        Measure::Stall => launch.stall_ns,
        Measure::Latency => launch.latency_ns_mean,
        Measure::Percentile => launch.percentile_ns(test.percentile?),
        _ => launch.of(test.part),
    }
}

fn against_case(test: &ClaimTest) -> &str {
    test.against_case.as_ref().unwrap_or(&test.case)
}
