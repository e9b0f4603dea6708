//! Claims that the page's own figures refute: what was claimed of a column of its tables, and the arithmetic that shows otherwise. An outcome
//! cannot be written by hand: where the figures do not refute the claim, the suite is refused.

use super::published_flag::Printed;
use super::{PublishedRow, is_blank};
use serde::{Deserialize, Serialize};

/// What a page says of a column of one of its tables, and what its rows do not bear out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refuted {
    /// The case that it would be about.
    pub case: String,
    /// The page's table.
    pub table: String,
    /// The column.
    pub column: Column,
    /// What is claimed of it.
    pub says: Said,
}

/// A column of the page's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// Operations a second.
    PerSecond,
    /// Of 100 accesses, how many found their page.
    HitPercent,
}

/// What is claimed of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// Its growth slows: from each row to the next, which is of the same multiple, it grows by a smaller one than before.
    GrowthSlows,
}

impl Column {
    fn of(self, row: &PublishedRow) -> Option<f64> {
        match self {
            Column::PerSecond => row.per_second,
            Column::HitPercent => row.hit_percent,
        }
    }
}

/// From one row to the next.
struct Step {
    from: u64,
    to: u64,
    /// All that the printed figures leave open.
    grown: Printed,
    printed: f64,
}

impl Refuted {
    /// The arithmetic by which the page's rows refute what is said of them.
    ///
    /// # Errors
    /// When they do not, or there are not the rows for it.
    pub fn arithmetic(&self, rows: &[PublishedRow]) -> Result<String, String> {
        if is_blank(&self.table) {
            return Err("the `table` that it is `refuted` by is empty".into());
        }
        match self.says {
            Said::GrowthSlows => self.growth(rows),
        }
    }

    fn growth(&self, rows: &[PublishedRow]) -> Result<String, String> {
        let steps = self.steps(rows)?;
        let rises = steps.windows(2).find(|pair| pair[1].grown.is_above(pair[0].grown));
        let Some([before, after]) = rises else {
            return Err(format!(
                "the rows of `{}` do not refute that growth slows: no step is certainly greater than the one before it, so test it",
                self.table
            ));
        };
        let all: Vec<String> = steps.iter().map(|step| format!("{:.2}", step.printed)).collect();
        let times = steps[0].to / steps[0].from;
        Ok(format!(
            "from {} to {}, each step of {times} times as many, it grows {} times: from {} to {} more than from {} to {}",
            steps[0].from,
            steps[steps.len() - 1].to,
            all.join(", "),
            after.from,
            after.to,
            before.from,
            before.to
        ))
    }

    /// The steps between the table's rows, all of one multiple.
    fn steps(&self, rows: &[PublishedRow]) -> Result<Vec<Step>, String> {
        let mut points: Vec<(u64, f64)> = Vec::new();
        for row in rows.iter().filter(|row| row.table == self.table) {
            let number = row
                .of
                .split_whitespace()
                .next()
                .and_then(|word| word.parse().ok())
                .filter(|number| *number > 0);
            let value = self.column.of(row).filter(|value| *value > 0.0);
            match (number, value) {
                (Some(number), Some(value)) => points.push((number, value)),
                _ => {
                    return Err(format!(
                        "row `{}` of `{}` begins with no number, or its figure is none above 0: growth cannot be worked out",
                        row.of, self.table
                    ));
                }
            }
        }
        let is_even = |points: &[(u64, f64)]| {
            points
                .windows(3)
                .all(|three| three[1].0 * three[1].0 == three[0].0 * three[2].0 && three[1].0 > three[0].0)
        };
        if points.len() < 3 || !is_even(&points) || !points[1].0.is_multiple_of(points[0].0) {
            return Err(format!(
                "growth is worked out of three rows or more, each of the same multiple of the one before, and `{}` has others",
                self.table
            ));
        }
        let step = |pair: &[(u64, f64)]| Step {
            from: pair[0].0,
            to: pair[1].0,
            grown: Printed::of(pair[1].1).over(Printed::of(pair[0].1)),
            printed: pair[1].1 / pair[0].1,
        };
        Ok(points.windows(2).map(step).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(hits: &[(&str, f64)]) -> Vec<PublishedRow> {
        let row = |(of, percent): &(&str, f64)| PublishedRow {
            table: "1.1".into(),
            of: (*of).into(),
            hit_percent: Some(*percent),
            ..PublishedRow::default()
        };
        hits.iter().map(row).collect()
    }

    fn said(hits: &[(&str, f64)]) -> Result<String, String> {
        let refuted = Refuted {
            case: "a".into(),
            table: "1.1".into(),
            column: Column::HitPercent,
            says: Said::GrowthSlows,
        };
        refuted.arithmetic(&rows(hits))
    }

    #[test]
    fn growth_that_quickens_refutes_that_it_slows() {
        let page = [("32 pages", 3.11), ("64 pages", 6.25), ("128 pages", 12.29), ("256 pages", 24.77)];
        assert_eq!(
            said(&page).unwrap(),
            "from 32 to 256, each step of 2 times as many, it grows 2.01, 1.97, 2.02 times: from 128 to 256 more than from 64 to 128"
        );
    }

    #[test]
    fn growth_that_slows_or_that_rounding_leaves_open_refutes_nothing() {
        let slows = said(&[("32", 3.0), ("64", 5.0), ("128", 7.0)]).unwrap_err();
        assert!(slows.contains("do not refute"), "{slows}");
        let open = said(&[("1", 1.0), ("2", 2.0), ("4", 4.1)]).unwrap_err();
        assert!(open.contains("do not refute"), "{open}");
    }

    #[test]
    fn rows_that_are_no_steps_are_refused() {
        for hits in [
            vec![("32", 3.0), ("64", 5.0)],
            vec![("32", 3.0), ("64", 5.0), ("100", 9.0)],
            vec![("many", 3.0), ("64", 5.0), ("128", 9.0)],
            vec![("32", 0.0), ("64", 5.0), ("128", 9.0)],
        ] {
            assert!(said(&hits).is_err(), "{hits:?}");
        }
    }
}
