//! What the page's charts are drawn from: numbers as they stand in the findings, with the labels the tables
//! use.
//!
//! `assets/case-charts.js` and `assets/suite-charts.js` draw each kind; nothing is computed here but the thinning of long timelines.

mod claims;
mod overview;
mod single;

pub(super) use claims::claims;
pub(super) use overview::{scales, scaling};

use super::view::{ArmView, CaseView};
use crate::estimate::{ArmStatistics, CaseStatistics};
use serde::Serialize;

/// One figure of the page.
pub(super) struct Chart {
    /// What draws it, by name.
    pub kind: &'static str,
    /// What it shows, for those who cannot see it.
    pub label: String,
    /// How to read it.
    pub caption: String,
    /// What it is drawn from, safe within a `<script>`.
    pub json: String,
}

impl Chart {
    fn new(kind: &'static str, label: String, caption: String, data: &impl Serialize) -> Chart {
        let json = serde_json::to_string(data).expect("chart data are numbers, text and lists");
        // No `<` reaches the page, so nothing in the data can end the script element or open a comment in it.
        Chart { kind, label, caption, json: json.replace('<', "\\u003c") }
    }
}

/// The charts of a case, those that have something to draw; no timeline has more than `timeline_points`.
pub(super) fn of_case(case: &CaseView, statistics: &CaseStatistics, timeline_points: usize) -> Vec<Chart> {
    let arms: Vec<(&ArmView, &ArmStatistics)> = case
        .arms_of_interest()
        .into_iter()
        .filter_map(|arm| Some((arm, statistics.arms.iter().find(|measured| measured.arm == arm.name)?)))
        .collect();
    let charts = [
        single::forest(case, &arms),
        single::launches(case, &arms),
        single::latency(case, &arms),
        single::stalls(case, &arms, timeline_points),
    ];
    charts.into_iter().flatten().collect()
}

/// Four significant digits: what a chart can show, in a fraction of the bytes.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let power = 10_f64.powi(3 - value.abs().log10().floor() as i32);
    (value * power).round() / power
}
