//! A figure of a claim with its interval, and on which side of the bounds it lies.

use super::claim::ClaimStatus;
use super::comparison::resembling;
use crate::statistics::Estimate;
use crate::suite::{Aspect, Bounds};

/// A measured figure with its interval.
#[derive(Clone, Copy)]
pub(super) struct Figure {
    pub(super) value: f64,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

/// A figure that decides.
pub(super) struct Found {
    pub(super) figure: Figure,
    pub(super) said: Option<String>,
    /// Of noisy launches; it decides only what it decides there too.
    pub(super) noisy: Option<Noisy>,
    /// Of launches that resemble their neighbours.
    pub(super) independent: Option<Independent>,
}

/// A figure as it would be if launches did not resemble their neighbours, and the estimate whose interval is wider because they do.
#[derive(Clone, Copy)]
pub(super) struct Independent {
    figure: Figure,
    estimate: Estimate,
}

/// A figure as it is where launches are as correlated as this.
pub(super) struct Noisy {
    pub(super) correlated: Figure,
    pub(super) correlation: f64,
}

impl Found {
    pub(super) fn new(figure: Figure, said: Option<String>) -> Found {
        Found { figure, said, noisy: None, independent: None }
    }

    /// The least of two steps, or the greatest, with the words of that one. It lies between the least of the lower ends and the least
    /// of the upper ends, so that no step of which little is known hides behind one that is well known.
    pub(super) fn further(self, other: Found, step: Step) -> Found {
        let of = |found: &Found| found.noisy.as_ref().map_or(found.figure, |noisy| noisy.correlated);
        let correlated = of(&self).further(of(&other), step);
        let correlation =
            self.noisy.iter().chain(&other.noisy).map(|noisy| noisy.correlation).reduce(f64::max);
        let noisy = correlation.map(|correlation| Noisy { correlated, correlation });
        let independent = Independent::further([&self, &other], step);
        let is_other = other.figure.is_further(&self.figure, step);
        Found {
            figure: self.figure.further(other.figure, step),
            said: if is_other { other.said } else { self.said },
            noisy,
            independent,
        }
    }
}

impl Noisy {
    pub(super) fn each(self, change: impl Fn(Figure) -> Figure) -> Noisy {
        Noisy { correlated: change(self.correlated), ..self }
    }

    /// Why what was decided is withheld, where it is.
    pub(super) fn takes_back(&self, decided: ClaimStatus, bounds: Bounds) -> Option<String> {
        let is_decided = matches!(decided, ClaimStatus::Holds | ClaimStatus::Refuted);
        (is_decided && self.correlated.within(bounds) != decided).then(|| {
            format!(
                "{decided} is withheld: launches may resemble their neighbours, and with the serial correlation of {:.1} that is \
                 allowed for, the interval of so noisy a figure reaches the bound",
                self.correlation
            )
        })
    }
}

impl Independent {
    /// None where the interval is no wider than that of independent launches.
    pub(super) fn of(estimate: &Estimate) -> Option<Independent> {
        let figure = Figure::of(&estimate.as_if_independent());
        (estimate.widening() > 1.0).then_some(Independent { figure, estimate: *estimate })
    }

    pub(super) fn each(self, change: impl Fn(Figure) -> Figure) -> Independent {
        Independent { figure: change(self.figure), ..self }
    }

    /// That of two steps, with the estimate of the one that resembles its neighbours more.
    fn further(found: [&Found; 2], step: Step) -> Option<Independent> {
        let [mine, theirs] = found.map(|found| found.independent.map_or(found.figure, |known| known.figure));
        let widening = |known: &Independent| known.estimate.widening();
        let widest = found.into_iter().filter_map(|found| found.independent);
        let widest = widest.max_by(|one, other| widening(one).total_cmp(&widening(other)))?;
        Some(Independent { figure: mine.further(theirs, step), ..widest })
    }

    /// Why nothing is decided, where that is because launches resemble their neighbours.
    pub(super) fn would_decide(&self, decided: ClaimStatus, bounds: Bounds) -> Option<String> {
        let would_be = self.figure.within(bounds);
        (would_be != decided && decided == ClaimStatus::Inconclusive)
            .then(|| resembling(&self.estimate, would_be))
    }
}

/// Which of several steps a scaling figure is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Least,
    Greatest,
}

impl Figure {
    pub(super) fn exact(value: f64) -> Figure {
        Figure { value, low: Some(value), high: Some(value) }
    }

    pub(super) fn of(estimate: &Estimate) -> Figure {
        let (low, high) = estimate.ratio_interval().unzip();
        Figure { value: estimate.ratio(), low, high }
    }

    pub(super) fn each(self, change: impl Fn(f64) -> f64) -> Figure {
        Figure { value: change(self.value), low: self.low.map(&change), high: self.high.map(&change) }
    }

    pub(super) fn inverted(self) -> Figure {
        let Figure { value, low, high } = self.each(|end| 1.0 / end);
        Figure { value, low: high, high: low }
    }

    fn is_further(&self, known: &Figure, step: Step) -> bool {
        match step {
            Step::Least => self.value < known.value,
            Step::Greatest => self.value > known.value,
        }
    }

    /// The least of two, or the greatest. An end that is missing is as far away as can be.
    fn further(self, other: Figure, step: Step) -> Figure {
        if step == Step::Greatest {
            return self.inverted().further(other.inverted(), Step::Least).inverted();
        }
        let low = self.low.zip(other.low).map(|(mine, theirs)| mine.min(theirs));
        let high = match (self.high, other.high) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        Figure { value: self.value.min(other.value), low, high }
    }

    pub(super) fn within(&self, bounds: Bounds) -> ClaimStatus {
        let least = bounds.at_least.unwrap_or(f64::NEG_INFINITY);
        let most = bounds.at_most.unwrap_or(f64::INFINITY);
        let (low, high) = (self.low.unwrap_or(f64::NEG_INFINITY), self.high.unwrap_or(f64::INFINITY));
        // Beyond 1 is beyond it: what is exactly as good is neither better nor worse.
        let at_one = bounds.aspect == Some(Aspect::Direction) && (low == 1.0 || high == 1.0);
        if low >= least && high <= most && !at_one {
            ClaimStatus::Holds
        } else if high < least || low > most {
            ClaimStatus::Refuted
        } else {
            ClaimStatus::Inconclusive
        }
    }

    /// A difference may also be found greater than it was published: of a cost, that is no good news.
    pub(super) fn beyond(&self, published: f64, holds: bool) -> Option<String> {
        let beyond = match published > 1.0 {
            true => self.low.is_some_and(|low| low > published),
            false => self.high.is_some_and(|high| high < published),
        };
        // Half of it is enough for the size to hold, which is not to say that all of it was found.
        let short = match published > 1.0 {
            true => self.high.is_some_and(|high| high < published),
            false => self.low.is_some_and(|low| low > published),
        };
        match (beyond, short) {
            (true, _) => Some("the difference is greater here than published".into()),
            (_, true) if holds => Some("the difference is smaller here than published".into()),
            _ => None,
        }
    }
}
