//! The latencies as a log of HdrHistogram's, which its viewers and its other implementations read.

use crate::error::{Error, Result};
use crate::outcome::Outcome;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::time::Duration;

/// A log with one entry for each phase, request and kind of time. Values are nanoseconds.
///
/// # Errors
/// When a name cannot stand in a log.
pub fn histogram_log(outcome: &Outcome) -> Result<Vec<u8>> {
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let wrong = |error: &dyn std::fmt::Debug| {
        Error::input(format!("the log of latencies could not be made: {error:?}"))
    };
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .with_max_value_divisor(1.0)
        .add_comment("Nanoseconds, from the intended start, the sending, and the generator's lateness");
    let mut writer = builder.begin_log_with(&mut log, &mut serializer).map_err(|error| wrong(&error))?;
    for row in &outcome.rows {
        let phase = outcome.phases.iter().find(|phase| phase.name == row.phase);
        let (begins, seconds) = phase.map_or((0.0, 0.0), |phase| (phase.begins, phase.seconds));
        for (kind, latencies) in [("response", &row.response), ("service", &row.service), ("lag", &row.lag)] {
            if latencies.count() == 0 {
                continue;
            }
            let name = format!("{}/{}/{kind}", row.phase, row.request).replace([',', ' ', '\n', '\r'], "_");
            let tag = Tag::new(&name).ok_or_else(|| wrong(&name))?;
            let (begins, lasts) = (Duration::from_secs_f64(begins), Duration::from_secs_f64(seconds));
            writer
                .write_histogram(latencies.histogram(), begins, lasts, Some(tag))
                .map_err(|error| wrong(&error))?;
        }
    }
    Ok(log)
}
