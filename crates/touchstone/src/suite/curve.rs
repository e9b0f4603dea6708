//! Curves: cases that ask one question at growing numbers of something, to be drawn together.

use super::{Suite, is_blank};
use crate::name::unique;
use crate::written::{Item, Mistake};
use serde::{Deserialize, Serialize};

/// Cases that are points of one chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// What it shows, in a line.
    pub title: String,
    /// What is drawn of each case.
    pub shows: Shown,
    /// What there is more and more of: `pages of the pool`.
    pub along: String,
    /// Whether that are threads, so that the number of cores is marked; not, unless said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub threads: bool,
    /// The cases, in the order of their numbers.
    #[serde(rename = "point")]
    pub points: Vec<CurvePoint>,
}

/// What a curve shows of its cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// Of the pages that were asked for, how many percent were found; with the best that is possible.
    Hits,
    /// Operations a second.
    Rate,
}

/// A case of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurvePoint {
    /// How many of it there are.
    pub at: u64,
    /// In which case.
    pub case: String,
}

impl Suite {
    /// Each curve has a name of its own, and points, in order, of cases that there are.
    pub(super) fn check_curves(&self) -> Result<(), Mistake> {
        unique("curve", self.curves.iter().map(|curve| &curve.title))?;
        for curve in &self.curves {
            let item = || Item::new("curve", &[("title", &curve.title)]);
            self.check_curve(curve)
                .map_err(|message| Mistake::of(item(), format!("curve `{}`: {message}", curve.title)))?;
        }
        Ok(())
    }

    fn check_curve(&self, curve: &Curve) -> Result<(), String> {
        if is_blank(&curve.title) || is_blank(&curve.along) {
            return Err("its `title` or its `along` is empty".into());
        }
        let ascends = curve.points.is_sorted_by(|one, other| one.at < other.at);
        if curve.points.len() < 2 || curve.points[0].at == 0 || !ascends {
            return Err("its points are two or more, `at` ascending, from 1".into());
        }
        for (place, point) in curve.points.iter().enumerate() {
            if curve.points[..place].iter().any(|known| known.case == point.case) {
                return Err(format!("case `{}` stands at two of its points: leave one out", point.case));
            }
            let case = self.case(&point.case)?;
            if curve.shows == Shown::Hits && !case.gets_alone() {
                return Err(format!(
                    "`shows = \"hits\"` is of gets, and case `{}` does something else: name a case whose lanes get alone, or say \
                     `shows = \"rate\"`",
                    point.case
                ));
            }
        }
        Ok(())
    }
}
