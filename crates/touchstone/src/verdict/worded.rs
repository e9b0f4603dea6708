//! A test of a claim in words: what it measures, of which arms, in which unit.

use crate::suite::{ClaimTest, Measure, Pair};

/// The unit of what a test measures.
pub(super) fn unit(test: &ClaimTest, pair: &Pair) -> String {
    match (test.measure, &pair.against) {
        (Measure::Scaling, _) => "x".into(),
        (
            Measure::Rate | Measure::Throughput | Measure::Latency | Measure::Percentile | Measure::Stall,
            Some(_),
        ) => "x".into(),
        (Measure::Rate, None) => "/s".into(),
        (Measure::Throughput, None) => "bytes/s".into(),
        (Measure::Latency | Measure::Percentile | Measure::Stall, None) => "ns".into(),
        (Measure::Errors | Measure::Missing, _) => measured(test),
        (Measure::Hits, _) => "%".into(),
        (Measure::Plan, _) => String::new(),
    }
}

/// What a test measures, in words, without its arms.
fn measured(test: &ClaimTest) -> String {
    match test.measure {
        Measure::Rate => match test.part {
            Some(part) => format!("rate of the {part} alone"),
            None => "rate".into(),
        },
        Measure::Throughput => "bytes a second".into(),
        Measure::Scaling => "rate at a scale over the next smaller one".into(),
        Measure::Latency => "mean latency".into(),
        Measure::Percentile => format!("p{} of latency", test.percentile.unwrap_or_default()),
        Measure::Stall => "longest operations (mean of the longest in a thousand)".into(),
        Measure::Errors => match test.error {
            Some(kind) => format!("operations that failed as `{}`", kind.name()),
            None => "failed operations".into(),
        },
        Measure::Missing => "missing records".into(),
        Measure::Hits => "pages found in the cache".into(),
        Measure::Plan => format!("query plan says \"{}\"", test.contains.as_deref().unwrap_or_default()),
    }
}

/// What a test asks, without its arms.
pub(super) fn question(test: &ClaimTest) -> String {
    let over = test.against_case.as_ref().map_or(String::new(), |case| format!(" over {case}"));
    format!("{} in {}{over}", measured(test), test.case)
}

/// What a test asks of a pair of arms.
pub(super) fn describe(test: &ClaimTest, pair: &Pair) -> String {
    let over = match (&pair.against, &test.against_case) {
        (None, _) => String::new(),
        (Some(against), None) => format!(" over {against}"),
        (Some(against), Some(case)) => {
            return format!("{}: {} in {} over {against} in {case}", measured(test), pair.arm, test.case);
        }
    };
    format!("{}: {}{over} in {}", measured(test), pair.arm, test.case)
}
