//! The one rule for bounds: what must be found here follows from what was published, so that no bound can be fitted to
//! a machine.

use super::Measure;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Level: each of the two has at least this share of the other.
const LEVEL: f64 = 0.9;

/// Linear: the time of ten times as many grows with an exponent within 10 % of 1.
const LINEAR_EXPONENT: f64 = 0.1;

/// How the bounds of a test follow from the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A published advantage: better beyond chance (direction), and at least half of the advantage (size).
    Advantage,
    /// A published cost: worse beyond chance (direction), and at least half of the cost (size).
    Cost,
    /// The page says better and gives no figure: direction alone.
    Better,
    /// The page says worse and gives no figure: direction alone.
    Worse,
    /// Level: neither is more than 10 % below the other.
    Level,
    /// In proportion: over a step of ten, no worse than linear.
    Linear,
    /// No surprise: over a step of ten, no better than linear.
    NoBetter,
    /// A figure of another device, beside the figure here: never holds and is never refuted.
    Elsewhere,
    /// A target that the page sets for itself, whatever the device: at least that rate or share, at most that time.
    Target,
}

/// The two questions about a published advantage or cost, which are answered apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// On which side of 1 the ratio lies: beyond it, not at it.
    Direction,
    /// How much of the published difference is found.
    Size,
}

impl fmt::Display for Aspect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Aspect::Direction => "direction",
            Aspect::Size => "size",
        })
    }
}

/// What must be found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Of which question, where there are two.
    pub aspect: Option<Aspect>,
    /// The least that holds.
    pub at_least: Option<f64>,
    /// The most that holds.
    pub at_most: Option<f64>,
}

impl Bounds {
    fn at_least(aspect: Aspect, bound: f64) -> Bounds {
        Bounds { aspect: Some(aspect), at_least: Some(bound), at_most: None }
    }

    /// The same of a multiple.
    pub(super) fn times(self, factor: f64) -> Bounds {
        let each = |bound: Option<f64>| bound.map(|bound| bound * factor);
        Bounds { at_least: each(self.at_least), at_most: each(self.at_most), ..self }
    }

    fn at_most(aspect: Aspect, bound: f64) -> Bounds {
        Bounds { aspect: Some(aspect), at_least: None, at_most: Some(bound) }
    }
}

impl Rule {
    /// The bounds of a test of `measure`, where `ratio` was published: direction first, then size.
    pub fn bounds(self, measure: Measure, ratio: Option<f64>) -> Vec<Bounds> {
        match self {
            Rule::Advantage | Rule::Cost => ratio.map_or(Vec::new(), difference),
            Rule::Better | Rule::Worse if (self == Rule::Better) == measure.more_is_better() => {
                vec![Bounds::at_least(Aspect::Direction, 1.0)]
            }
            Rule::Better | Rule::Worse => vec![Bounds::at_most(Aspect::Direction, 1.0)],
            Rule::Level => vec![Bounds { aspect: None, at_least: Some(LEVEL), at_most: Some(1.0 / LEVEL) }],
            Rule::Linear => vec![Bounds { at_least: Some(1.0 / linear_step()), ..Bounds::default() }],
            Rule::NoBetter => vec![Bounds { at_most: Some(linear_step()), ..Bounds::default() }],
            Rule::Elsewhere | Rule::Target => Vec::new(),
        }
    }

    /// Whether a published figure takes part in it: bounds follow from the figure, or it stands beside what is found.
    pub(super) fn is_of_a_figure(self) -> bool {
        matches!(self, Rule::Advantage | Rule::Cost | Rule::Elsewhere | Rule::Target)
    }

    /// What is wrong with a published ratio for this rule.
    pub(super) fn check_ratio(self, measure: Measure, ratio: Option<f64>) -> Result<(), String> {
        let word = match self {
            Rule::Advantage => "an advantage",
            Rule::Cost => "a cost",
            Rule::Level if ratio.is_some_and(|ratio| !(LEVEL..=1.0 / LEVEL).contains(&ratio)) => {
                return Err("rule = \"level\", and its first figure is a ratio beyond 10 %: use `advantage` or `cost`".into());
            }
            _ => return Ok(()),
        };
        let Some(ratio) = ratio else {
            return Err(format!(
                "rule = \"{self}\" takes its bounds from the published ratio: its first [[claim.figure]] needs `value` and \
                 `against`, or a `value` in the unit \"x\""
            ));
        };
        if ((ratio > 1.0) == measure.more_is_better()) != (self == Rule::Advantage) || ratio == 1.0 {
            return Err(format!(
                "its first figure is {ratio:.3} times the other one, which is not {word} of the arm: use the other one of `advantage` and \
                 `cost`, or swap the arms"
            ));
        }
        Ok(())
    }
}

/// How far the rate may move over a step of ten.
fn linear_step() -> f64 {
    10_f64.powf(LINEAR_EXPONENT)
}

/// A difference is found in size where half of it is: of 2.84 times, 1.92; of a quarter's loss, the same turned round.
fn difference(ratio: f64) -> Vec<Bounds> {
    if ratio > 1.0 {
        let half = f64::midpoint(1.0, ratio);
        vec![Bounds::at_least(Aspect::Direction, 1.0), Bounds::at_least(Aspect::Size, half)]
    } else {
        let half = 1.0 / f64::midpoint(1.0, 1.0 / ratio);
        vec![Bounds::at_most(Aspect::Direction, 1.0), Bounds::at_most(Aspect::Size, half)]
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Rule::Advantage => "advantage",
            Rule::Cost => "cost",
            Rule::Better => "better",
            Rule::Worse => "worse",
            Rule::Level => "level",
            Rule::Linear => "linear",
            Rule::NoBetter => "no-better",
            Rule::Elsewhere => "elsewhere",
            Rule::Target => "target",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(rule: Rule, measure: Measure, ratio: f64) -> Vec<(Option<f64>, Option<f64>)> {
        let bounds = rule.bounds(measure, Some(ratio));
        bounds.into_iter().map(|bounds| (bounds.at_least, bounds.at_most)).collect()
    }

    #[test]
    fn half_of_an_advantage_or_a_cost_is_asked_for() {
        assert_eq!(ends(Rule::Advantage, Measure::Rate, 2.0), [(Some(1.0), None), (Some(1.5), None)]);
        assert_eq!(ends(Rule::Cost, Measure::Rate, 0.5), [(None, Some(1.0)), (None, Some(1.0 / 1.5))]);
        assert_eq!(ends(Rule::Advantage, Measure::Stall, 0.5), [(None, Some(1.0)), (None, Some(1.0 / 1.5))]);
    }

    #[test]
    fn a_word_without_a_figure_is_a_direction() {
        assert_eq!(ends(Rule::Better, Measure::Rate, 0.0), [(Some(1.0), None)]);
        assert_eq!(ends(Rule::Better, Measure::Stall, 0.0), [(None, Some(1.0))]);
        assert_eq!(ends(Rule::Worse, Measure::Rate, 0.0), [(None, Some(1.0))]);
        assert_eq!(ends(Rule::Level, Measure::Rate, 0.0), [(Some(0.9), Some(1.0 / 0.9))]);
    }

    #[test]
    fn a_figure_on_the_wrong_side_of_1_is_refused() {
        let says = |rule: Rule, ratio| rule.check_ratio(Measure::Rate, ratio).unwrap_err();
        assert!(says(Rule::Advantage, Some(0.9)).contains("not an advantage"));
        assert!(says(Rule::Cost, Some(1.1)).contains("not a cost"));
        assert!(says(Rule::Cost, None).contains("`against`"));
        assert!(Rule::Level.check_ratio(Measure::Rate, None).is_ok());
    }
}
