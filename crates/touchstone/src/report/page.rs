//! What the project's pages are made of, for those that are written elsewhere too: the style, the scripts, and figures
//! that they draw. A page carries all of it inside, and loads nothing.

use askama::Template;
use serde::Serialize;

/// The look of a page: one column, in light, in dark and on paper.
pub const STYLE: &str = include_str!("../../assets/report.css");

/// What charts are drawn with, in this order: D3, Observable Plot, what all charts share, and what draws the figures of
/// a page.
///
/// A page's own script comes after them. It says which function draws which kind, in a constant `charts`, and calls
/// `drawCharts`, `redrawOnResize` and `prepareForPrint`.
pub const SCRIPTS: [&str; 4] = [
    include_str!("../../assets/vendor/d3-7.9.2.min.js"),
    include_str!("../../assets/vendor/plot-0.6.17.min.js"),
    include_str!("../../assets/chart-parts.js"),
    include_str!("../../assets/figures.js"),
];

/// One figure of a page. Shown, it is HTML: a place for the chart, its data, and how to read it.
#[derive(Debug, Template)]
#[template(path = "report/chart.html")]
pub struct Chart {
    /// What draws it, by name.
    kind: &'static str,
    /// What it shows, for those who cannot see it.
    label: String,
    /// How to read it.
    caption: String,
    /// What it is drawn from, safe within a `<script>`.
    json: String,
}

impl Chart {
    /// A chart of this kind, of these data.
    ///
    /// # Panics
    /// When the data are something else than numbers, text and lists.
    pub fn new(kind: &'static str, label: String, caption: String, data: &impl Serialize) -> Chart {
        let json = serde_json::to_string(data).expect("chart data are numbers, text and lists");
        // No `<` reaches the page, so nothing in the data can end the script element or open a comment in it.
        Chart { kind, label, caption, json: json.replace('<', "\\u003c") }
    }

    /// What draws it, by name.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// What it is drawn from, as it stands in the page.
    pub fn json(&self) -> &str {
        &self.json
    }
}

/// Four significant digits: what a chart can show, in a fraction of the bytes.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    // A power of ten below 1 is no exact number: multiplied by its inverse, a whole number stays one.
    let power = 10_f64.powi(digits.abs());
    if digits >= 0 { (value * power).round() / power } else { (value / power).round() * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_stay_and_are_short() {
        let short = |value: f64| format!("{}", rounded(value));
        assert_eq!(
            [short(502_234_567.0), short(0.123456), short(9.9999e7)],
            ["502200000", "0.1235", "100000000"]
        );
        assert_eq!([short(0.0), short(-1234.5), short(7.0)], ["0", "-1235", "7"]);
    }
}
