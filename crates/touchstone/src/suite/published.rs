//! What is wrong with claims, their figures, sources and stand-ins, whatever the cases are: of those of a suite, and of those
//! of a plan, which people edit.

use super::claim::{PER_SECOND, PERCENT, RATIO, TIMES};
use super::{
    By, CLAIMED_PERCENTILES, Claim, ClaimTest, Figure, Measure, Pair, PublishedRow, Reference, ReferenceKind,
    Refuted, Rule, StandIn,
};
use crate::name::{subject_of, there_are, unique};
use crate::written::Mistake;
use std::ops::RangeInclusive;

/// Figures beyond these are slips of the pen, and ratios of them are no numbers.
const SANE: RangeInclusive<f64> = 1e-15..=1e15;

/// What a suite, or a plan of it, says of its page.
#[derive(Clone, Copy)]
pub(crate) struct Published<'p> {
    pub(crate) references: &'p [Reference],
    pub(crate) stand_ins: &'p [StandIn],
    pub(crate) rows: &'p [PublishedRow],
    pub(crate) claims: &'p [Claim],
}

impl<'p> Published<'p> {
    /// What is wrong with it.
    pub(crate) fn check(self) -> Result<(), Mistake> {
        unique("reference", self.references.iter().map(|reference| &reference.id))?;
        unique("stand_in", self.stand_ins.iter().map(|stand_in| &stand_in.subject))?;
        unique("claim", self.claims.iter().map(|claim| &claim.id))?;
        if let Some(untitled) = self.references.iter().find(|reference| is_blank(&reference.title)) {
            return Err(format!("reference `{}`: its `title` is empty", untitled.id).into());
        }
        if let Some(unsaid) =
            self.stand_ins.iter().find(|known| is_blank(&known.library) || is_blank(&known.why))
        {
            return Err(format!("stand_in `{}`: its `library` or its `why` is empty", unsaid.subject).into());
        }
        for claim in self.claims {
            self.check_claim(claim)
                .map_err(|message| Mistake::of(claim.item(), format!("claim `{}`: {message}", claim.id)))?;
        }
        Ok(())
    }

    /// Which of the page's libraries the subject of an arm stands for.
    pub(crate) fn stand_in(self, arm: &str) -> Option<&'p StandIn> {
        self.stand_ins.iter().find(|stand_in| stand_in.subject == subject_of(arm))
    }

    fn check_claim(self, claim: &Claim) -> Result<(), String> {
        claim.check()?;
        claim.figures.iter().try_for_each(|figure| self.check_source(claim, figure))?;
        if let Some(refuted) = &claim.refuted {
            return self.check_refuted(claim, refuted);
        }
        if let Some(untested) = &claim.untested {
            if is_blank(&untested.reason) {
                return Err("the `reason` why it is `untested` is empty".into());
            }
            if !claim.tests.is_empty() || !claim.pairs.is_empty() {
                return Err(
                    "`untested` says why nothing is measured: leave out `pairs` and [[claim.test]]".into()
                );
            }
            return Ok(());
        }
        if claim.tests.is_empty() {
            return Err("it has no [[claim.test]], so nothing could show whether it holds; or say why it is `untested`".into());
        }
        check_pairs(&claim.pairs)?;
        if claim.by == By::Ours {
            return Ok(());
        }
        self.check_libraries(claim)?;
        check_named_arms(claim)?;
        self.check_places(claim)
    }

    /// A claim is refuted by figures that refute it, and by nothing else besides.
    fn check_refuted(self, claim: &Claim, refuted: &Refuted) -> Result<(), String> {
        if !claim.tests.is_empty()
            || !claim.pairs.is_empty()
            || claim.untested.is_some()
            || claim.by == By::Ours
        {
            return Err("`refuted` is of a claim of the page that its own figures refute: leave out `pairs`, `untested` and [[claim.test]]"
                .into());
        }
        refuted.arithmetic(self.rows).map(|_| ())
    }

    fn check_source(self, claim: &Claim, figure: &Figure) -> Result<(), String> {
        let (value, source) = (figure.value, &figure.source);
        match self.references.iter().find(|reference| reference.id == *source) {
            None => {
                let known = there_are(source, self.references.iter().map(|reference| &reference.id));
                Err(format!(
                    "its figure {value} has the source `{source}`, and there is no such [[reference]]: {known}"
                ))
            }
            Some(known) if known.kind == ReferenceKind::Ours && claim.by == By::Page => Err(format!(
                "its figure {value} has the source `{source}`, which is of kind \"ours\", and the claim is the page's: name the \
                 reference where the page has the figure, or say `by = \"ours\"`"
            )),
            Some(_) => Ok(()),
        }
    }

    /// Pairs answer one question where the same library stands on the same side of each.
    fn check_libraries(self, claim: &Claim) -> Result<(), String> {
        let library = |arm: &str| self.stand_in(arm).map(|stand_in| stand_in.library.as_str());
        let sides = |pair: &Pair| (library(&pair.arm), pair.against.as_deref().map(library));
        let Some(first) = claim.pairs.first() else { return Ok(()) };
        match claim.pairs.iter().find(|pair| sides(pair) != sides(first)) {
            None => Ok(()),
            Some(other) => Err(format!(
                "the pairs of `{}` and `{}` stand for different libraries, and one claim asks of one: make a claim of each (which \
                 subject stands for which library is said by [[stand_in]])",
                first.arm, other.arm
            )),
        }
    }

    /// A claim of the page is asked of subjects that take some library's place.
    fn check_places(self, claim: &Claim) -> Result<(), String> {
        let pairs = claim.tests.iter().flat_map(|test| claim.pairs_of(test));
        let mut arms = pairs.flat_map(|pair| [Some(pair.arm), pair.against]).flatten();
        match arms.find(|arm| self.stand_in(arm).is_none()) {
            None => Ok(()),
            Some(arm) => Err(format!(
                "it asks `{arm}`, which takes the place of none of the page's libraries: name one in a [[stand_in]]"
            )),
        }
    }
}

/// Pairs answer one question, whoever is asked: all of them compare or none does, and none is another one turned round.
fn check_pairs(pairs: &[Pair]) -> Result<(), String> {
    for (place, pair) in pairs.iter().enumerate() {
        let before = &pairs[..place];
        let is_turned = |known: &Pair| {
            known.against.as_ref() == Some(&pair.arm) && pair.against.as_ref() == Some(&known.arm)
        };
        if before.contains(pair) {
            return Err(format!("the pair of `{}` stands twice: leave one out", pair.arm));
        }
        if before.iter().any(is_turned) {
            return Err(format!("the pair of `{}` is another one turned round: leave one out", pair.arm));
        }
        if before.iter().any(|known| known.against.is_some() != pair.against.is_some()) {
            return Err(
                "some of its pairs compare two arms, and others are one arm: make two claims of them".into(),
            );
        }
    }
    Ok(())
}

/// All tests of a claim decide together, so those of a page's claim are of one arm.
fn check_named_arms(claim: &Claim) -> Result<(), String> {
    let mut named = claim.tests.iter().filter_map(|test| test.arm.as_ref());
    let Some(first) = named.next() else { return Ok(()) };
    match named.find(|arm| *arm != first) {
        None => Ok(()),
        Some(other) => Err(format!("its tests are of `{first}` and of `{other}`: make two claims of them")),
    }
}

/// Whether it has no letter and no figure.
pub(crate) fn is_blank(text: &str) -> bool {
    !text.chars().any(char::is_alphanumeric)
}

impl Figure {
    /// What is wrong with it, leaving its source aside.
    fn check(&self) -> Result<(), String> {
        let unit = self.unit.as_str();
        if ![RATIO, PERCENT].contains(&unit) && !unit.ends_with(PER_SECOND) && !TIMES.contains(&unit) {
            return Err(format!(
                "its figure {} has the unit `{unit}`: write a rate such as `rows/s`, a time in {}, `%` for a share, or `x` for a ratio",
                self.value,
                TIMES.join(", ")
            ));
        }
        if [&self.of, &self.device, &self.note].into_iter().flatten().any(|text| is_blank(text)) {
            return Err(format!("its figure {} has an empty `of`, `device` or `note`", self.value));
        }
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        if !is_positive(self.value) || !self.against.is_none_or(is_positive) {
            let wrong = self.against.filter(|_| is_positive(self.value)).unwrap_or(self.value);
            return Err(format!("its figure {wrong} is no positive number"));
        }
        let ratio = self.against.map(|against| self.value / against);
        let all = [Some(self.value), self.against, ratio];
        if let Some(beyond) = all.into_iter().flatten().find(|value| !SANE.contains(value)) {
            return Err(format!(
                "its figure {beyond:e} is beyond what anybody measures: write it in another unit"
            ));
        }
        Ok(())
    }
}

impl Claim {
    /// What is wrong with it whatever suite it is of: its figures, its words, and what its tests ask for.
    fn check(&self) -> Result<(), String> {
        if is_blank(&self.statement) {
            return Err("its `statement` is empty".into());
        }
        if self.words.as_deref().is_some_and(is_blank) {
            return Err("its `words` are empty".into());
        }
        if self.by == By::Page && self.figures.is_empty() && self.words.is_none() {
            return Err("a claim of the page needs a [[claim.figure]] or the page's own `words`; say `by = \"ours\"` where \
                        the page does not make it"
                .into());
        }
        self.figures.iter().try_for_each(Figure::check)?;
        if self.figures.first().is_some_and(|first| first.device.is_some()) {
            return Err("its first figure, which bounds follow from, has a `device` of its own: put the one of the page's own \
                        device first"
                .into());
        }
        for test in &self.tests {
            if test.arm.is_some() != self.pairs.is_empty() {
                return Err("its arms are named by `pairs`, or by each test's `arm`: one of both".into());
            }
            if test.against.is_some() && test.arm.is_none() {
                return Err("`against` goes with a test's `arm`; of pairs, each names its own".into());
            }
            test.check_keys()?;
            check_bounds(self, test)?;
            check_exact(self, test)?;
        }
        self.check_beside_figure()
    }

    /// A published ratio stands beside something that is timed, and what is held against a figure is one test.
    fn check_beside_figure(&self) -> Result<(), String> {
        let is_timed = |test: &ClaimTest| !test.measure.is_exact();
        let ratio = self.figures.iter().find(|figure| figure.ratio(Measure::Rate).is_some());
        if let Some(figure) = ratio.filter(|_| !self.tests.is_empty() && !self.tests.iter().any(is_timed)) {
            return Err(format!(
                "its figure {} is a ratio, and none of its tests times anything: test a rate, or leave out the figure",
                figure.value
            ));
        }
        let stands_alone = |test: &ClaimTest| match self.by {
            By::Page => is_timed(test),
            By::Ours => test.rule.is_some_and(Rule::is_of_a_figure),
        };
        if self.tests.len() > 1 && self.tests.iter().any(stands_alone) {
            return Err("a timed test of a page's claim has no other test beside it, nor has one with rule = \"advantage\", \
                        \"cost\", \"target\" or \"elsewhere\", so that the published figure stands beside one: make a claim of each"
                .into());
        }
        Ok(())
    }
}

impl ClaimTest {
    /// Keys that go with one measure only, and values with which nothing could fail.
    fn check_keys(&self) -> Result<(), String> {
        if self.contains.as_deref().is_some_and(is_blank) {
            return Err(
                "`contains` is empty, and every plan says that: name a word of the plan, such as SEARCH"
                    .into(),
            );
        }
        if self.at_least.is_some_and(|least| least <= 0.0) && self.at_most.is_none() {
            return Err(
                "nothing that is counted or timed is below 0: `at_least` needs a greater bound".into()
            );
        }
        if self.measure == Measure::Plan && (self.at_least.is_some() || self.at_most.is_some()) {
            return Err("a plan has no bounds: leave out `at_least` and `at_most`".into());
        }
        let goes = |key: &str, measure: &str| {
            Err(format!("`{key}` goes with measure = \"{measure}\", and only with it"))
        };
        if self.part.is_some() && self.measure != Measure::Rate {
            return goes("part", "rate");
        }
        if self.error.is_some() && self.measure != Measure::Errors {
            return goes("error", "errors");
        }
        if self.slices_over_ms.is_some() && !matches!(self.measure, Measure::Errors | Measure::Missing) {
            return goes("slices_over_ms", "errors\" or \"missing");
        }
        if (self.measure == Measure::Plan) != self.contains.is_some() {
            return goes("contains", "plan");
        }
        if (self.measure == Measure::Percentile) != self.percentile.is_some() {
            return goes("percentile", "percentile");
        }
        match self.percentile.filter(|percentile| !CLAIMED_PERCENTILES.contains(percentile)) {
            Some(other) => {
                let kept = CLAIMED_PERCENTILES.map(|percentile| percentile.to_string()).join(", ");
                Err(format!("`percentile = {other}` is not kept: the percentiles are {kept}"))
            }
            None => Ok(()),
        }
    }
}

/// What is counted or read is of one arm, and a page's claim of it says none or some, whatever the number.
fn check_exact(claim: &Claim, test: &ClaimTest) -> Result<(), String> {
    if !test.measure.is_exact() {
        return Ok(());
    }
    if claim.pairs_of(test).iter().any(|pair| pair.against.is_some()) {
        return Err(format!(
            "measure = \"{}\" is of one arm and compares with nothing: leave out `against`",
            test.measure.word()
        ));
    }
    let bounds = (test.at_least, test.at_most);
    let is_none_or_some = matches!(bounds, (None, Some(most)) if most == 0.0)
        || matches!(bounds, (Some(least), None) if least == 1.0);
    let is_of_rule = test.measure == Measure::Plan || test.rule.is_some();
    if claim.by == By::Page && !is_of_rule && !is_none_or_some {
        return Err("of what is counted a page's claim has `at_most = 0` or `at_least = 1`; other bounds are `by = \"ours\"`".into());
    }
    Ok(())
}

/// A claim of the page has the bounds of a rule, or is exact; a claim of the suite's authors may have its own.
fn check_bounds(claim: &Claim, test: &ClaimTest) -> Result<(), String> {
    let own = [test.at_least, test.at_most];
    if own.into_iter().flatten().any(|bound| !bound.is_finite() || bound.abs() > *SANE.end()) {
        return Err(
            "`at_least` and `at_most` are finite numbers, and none beyond what anybody measures".into()
        );
    }
    if let (Some(least), Some(most)) = (test.at_least, test.at_most)
        && least > most
    {
        return Err(format!("nothing is at least {least} and at most {most}"));
    }
    let has_own = own.into_iter().any(|bound| bound.is_some());
    match test.rule {
        Some(Rule::Level) if test.measure == Measure::Hits && !has_own => check_share(claim),
        Some(Rule::Target) if !has_own => check_target(claim, test),
        Some(_) if has_own || test.measure.is_exact() => {
            Err("a `rule` sets the bounds of what is timed: leave out `at_least` and `at_most`, or the rule".into())
        }
        Some(rule) => check_rule(claim, test, rule),
        None if claim.by == By::Page && !test.measure.is_exact() => Err(
            "a claim of the page has no bounds of its own: name the `rule` that they follow from, or say `by = \"ours\"`".into(),
        ),
        None if !has_own && test.measure != Measure::Plan => {
            Err("a test needs a `rule`, or `at_least` or `at_most`".into())
        }
        None if is_of_elsewhere(claim, test) => Err(
            "its figure is of another device and no bound for one arm here: compare with another arm, leave out the figure, use \
             rule = \"elsewhere\" where one figure alone was published, or rule = \"target\", without `at_least` and `at_most`, where the \
             figure is a target"
                .into(),
        ),
        None => Ok(()),
    }
}

/// A share that is counted here is held against the published one.
fn check_share(claim: &Claim) -> Result<(), String> {
    match claim.figures.first() {
        Some(figure) if figure.unit == PERCENT && figure.against.is_none() => Ok(()),
        _ => Err("measure = \"hits\" with rule = \"level\" is held against a published share: its first [[claim.figure]] needs the \
                  unit \"%\", and no `against`"
            .into()),
    }
}

/// A target is a figure of the kind that is measured, and compares with nothing.
fn check_target(claim: &Claim, test: &ClaimTest) -> Result<(), String> {
    let compares = claim.pairs_of(test).iter().any(|pair| pair.against.is_some());
    let figure = claim.figures.first().filter(|figure| figure.against.is_none() && !compares);
    let Some(figure) = figure else {
        return Err(
            "rule = \"target\" holds one arm against one figure: it needs a first [[claim.figure]] without `against`, and no arm to \
                    be `against`"
                .into(),
        );
    };
    match figure.target(test.measure) {
        None => Err(format!(
            "rule = \"target\" needs a figure of the kind that is measured: measure = \"{}\" has no target in `{}` (a rate has one in \
             what ends with `/s`, hits in `%`, latencies and stalls in a time)",
            test.measure.word(),
            figure.unit
        )),
        Some(_) if figure.unit == PERCENT && figure.value > 100.0 => {
            Err(format!("its target is {} %, and no share is above 100 %", figure.value))
        }
        Some(_) => Ok(()),
    }
}

/// Whether a bound of the suite's own for one arm stands beside a figure of the page's device. A ratio is of no device.
fn is_of_elsewhere(claim: &Claim, test: &ClaimTest) -> bool {
    let absolute = !test.measure.is_exact() && test.measure != Measure::Scaling;
    let compares = claim.pairs_of(test).iter().any(|pair| pair.against.is_some());
    absolute && !compares && claim.figures.iter().any(|figure| figure.unit != RATIO)
}

fn check_rule(claim: &Claim, test: &ClaimTest, rule: Rule) -> Result<(), String> {
    if matches!(rule, Rule::Linear | Rule::NoBetter) != (test.measure == Measure::Scaling) {
        return Err(
            "rule = \"linear\" or \"no-better\" goes with measure = \"scaling\", and only with it".into()
        );
    }
    let compares = claim.pairs_of(test).iter().all(|pair| pair.against.is_some());
    match rule {
        Rule::Linear | Rule::NoBetter => Ok(()),
        Rule::Elsewhere if compares => {
            Err("rule = \"elsewhere\" is for a figure of another device that is compared with nothing here: leave out `against`".into())
        }
        Rule::Elsewhere if claim.figures.is_empty() => {
            Err("rule = \"elsewhere\" sets a published figure beside the one here: it needs a [[claim.figure]]".into())
        }
        Rule::Elsewhere if claim.published_ratio(test.measure).is_some() => {
            Err("rule = \"elsewhere\" is for an absolute figure, and its first figure is a ratio, which can be tested".into())
        }
        Rule::Elsewhere if claim.figures.first().is_some_and(|figure| figure.unit.ends_with(PER_SECOND) != test.measure.more_is_better()) => {
            Err("rule = \"elsewhere\" sets two figures of one kind side by side: a rate beside a rate (`/s`), a time beside a time".into())
        }
        Rule::Elsewhere => Ok(()),
        Rule::Better | Rule::Worse if claim.published_ratio(test.measure).is_some() => Err(format!(
            "rule = \"{rule}\" asks for the direction alone, and its first figure is a ratio: use `advantage` or `cost`"
        )),
        _ if !compares => Err(format!(
            "rule = \"{rule}\" is of a ratio: name the arm that it is `against`, or use rule = \"elsewhere\" for a figure of \
             another device"
        )),
        _ => rule.check_ratio(test.measure, claim.published_ratio(test.measure)),
    }
}
