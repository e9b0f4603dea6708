//! What the page's charts are drawn from: numbers as they stand in the findings, with the labels the tables
//! use.
//!
//! `assets/case-charts.js` and `assets/suite-charts.js` draw each kind; nothing is computed here but the thinning of long timelines.

mod claims;
mod curve;
mod limits;
mod overview;
mod series;
mod single;

pub(super) use super::page::{Chart, rounded};
pub(super) use claims::claims;
pub(super) use curve::curves;
pub(super) use overview::{scales, scaling};

use super::view::{ArmView, CaseView};
use crate::estimate::{ArmStatistics, CaseStatistics};
use crate::record::Record;

/// The charts of a case, those that have something to draw; no timeline has more than `timeline_points`.
pub(super) fn of_case(
    case: &CaseView,
    statistics: &CaseStatistics,
    record: &Record,
    timeline_points: usize,
) -> Vec<Chart> {
    let arms: Vec<(&ArmView, &ArmStatistics)> = case
        .arms_of_interest()
        .into_iter()
        .filter_map(|arm| Some((arm, statistics.arms.iter().find(|measured| measured.arm == arm.name)?)))
        .collect();
    let charts = [
        single::forest(case, &arms),
        single::hits(case, &arms),
        limits::limits(case, &arms, record),
        single::launches(case, &arms),
        single::latency(case, &arms),
        single::stalls(case, &arms, timeline_points),
        series::pace(case, &arms),
        series::heat(case, &arms),
    ];
    charts.into_iter().flatten().collect()
}
