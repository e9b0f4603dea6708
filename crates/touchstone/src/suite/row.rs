//! Rows of the page's own tables: what the page printed of one of its measurements.

use super::{PublishedLoad, Suite, is_blank};
use crate::written::{Item, Mistake};
use serde::{Deserialize, Serialize};

/// A row of one of the page's tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// The reference it is read in.
    pub source: String,
    /// The page's table, as the page numbers and names it.
    pub table: String,
    /// What the row is of, unique in its table.
    pub of: String,
    /// The case that asks the same here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The arm of it whose figures stand beside the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// How many threads asked, each as soon as it was answered; where the page says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// How many operations it was, by all threads together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// How long the page says that it lasted, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Operations a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// Bytes that an operation reads or writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_bytes: Option<u64>,
    /// Mebibytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mib_per_second: Option<f64>,
    /// The average time of an operation, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_ms: Option<f64>,
    /// The time that half of them did not exceed, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// The time that 95 of 100 did not exceed, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<f64>,
    /// The time that 99 of 100 did not exceed, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// The longest, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ms: Option<f64>,
    /// Of 100 accesses, how many found their page in the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_percent: Option<f64>,
}

impl PublishedRow {
    /// What is wrong with it, leaving its source aside.
    pub(super) fn check(&self) -> Result<(), String> {
        if is_blank(&self.table) || is_blank(&self.of) {
            return Err("its `table` or its `of` is empty".into());
        }
        let times = [self.average_ms, self.p50_ms, self.p95_ms, self.p99_ms, self.max_ms];
        let is_number = |value: f64| value.is_finite() && value >= 0.0;
        if let Some(wrong) = times.into_iter().flatten().find(|value| !is_number(*value)) {
            return Err(format!("its time of {wrong} ms is none: write 0 or more"));
        }
        let rates = [self.per_second, self.mib_per_second, self.seconds];
        if let Some(wrong) = rates.into_iter().flatten().find(|value| !is_number(*value) || *value == 0.0) {
            return Err(format!(
                "{wrong} is no rate and no time that a page can have measured: write more than 0"
            ));
        }
        if self.threads == Some(0) || self.operations == Some(0) || self.operation_bytes == Some(0) {
            return Err("0 threads, operations or bytes are no measurement: leave the key out where the page does not say".into());
        }
        if self.hit_percent.is_some_and(|percent| !(0.0..=100.0).contains(&percent)) {
            return Err("its `hit_percent` is not between 0 and 100".into());
        }
        if times.into_iter().chain(rates).chain([self.hit_percent]).flatten().next().is_none() {
            return Err("it has no figure: write what the page prints, such as `per_second` or `average_ms`, or leave the row out".into());
        }
        Ok(())
    }
}

impl From<&PublishedLoad> for PublishedRow {
    /// Its users may pause between their requests, so it says nothing of threads; and the page's whole run is its source.
    fn from(load: &PublishedLoad) -> PublishedRow {
        let endpoint = load.endpoint.as_deref().unwrap_or("all requests");
        PublishedRow {
            table: load.case.clone(),
            of: format!("{endpoint}, {}", load.of),
            operations: Some(load.requests),
            per_second: load.per_second,
            average_ms: Some(load.average_ms),
            p50_ms: load.p50_ms,
            p95_ms: load.p95_ms,
            p99_ms: load.p99_ms,
            max_ms: Some(load.max_ms),
            ..PublishedRow::default()
        }
    }
}

impl Suite {
    /// Every row of the page's tables, loads included.
    pub(super) fn all_rows(&self) -> Vec<PublishedRow> {
        let loads = self.published_loads.iter().map(PublishedRow::from);
        self.published_rows.iter().cloned().chain(loads).collect()
    }

    /// The case and the arm that ask the same as a row are there.
    fn check_answer(&self, row: &PublishedRow) -> Result<(), String> {
        let (Some(name), Some(arm)) = (&row.case, &row.arm) else {
            return match (&row.case, &row.arm) {
                (None, None) => Ok(()),
                _ => Err("its `case` and its `arm` say together what asks the same here: name both, or none"
                    .into()),
            };
        };
        let case = self.case(name)?;
        if case.has_arm(arm) { Ok(()) } else { Err(format!("case `{name}` has no arm `{arm}`")) }
    }

    /// Each row has a source, and a name of its own.
    pub(super) fn check_published_rows(&self) -> Result<(), Mistake> {
        for (place, row) in self.published_rows.iter().enumerate() {
            let item = || Item::new("published_row", &[("of", &row.of), ("table", &row.table)]);
            self.check_published_row(row, &self.published_rows[..place]).map_err(|message| {
                Mistake::of(item(), format!("published_row `{}` of `{}`: {message}", row.of, row.table))
            })?;
        }
        Ok(())
    }

    fn check_published_row(&self, row: &PublishedRow, before: &[PublishedRow]) -> Result<(), String> {
        row.check()?;
        if !self.references.iter().any(|reference| reference.id == row.source) {
            return Err(format!("there is no [[reference]] `{}`", row.source));
        }
        self.check_answer(row)?;
        if before.iter().any(|known| known.table == row.table && known.of == row.of) {
            return Err("it stands twice; leave one out".into());
        }
        Ok(())
    }
}
