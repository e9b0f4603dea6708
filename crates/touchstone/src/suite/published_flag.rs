//! Red flags of published figures, by their own arithmetic: nothing is run. A printed number is taken for all that are
//! printed so: 258.04 for any from 258.035 to 258.045.

use super::{PublishedRow, Suite};
use crate::count::count;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Mul;

/// A doubt about rows of the page's tables, which follows from what they print.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedFlag {
    /// What kind of doubt.
    pub kind: PublishedFlagKind,
    /// The reference whose rows they are; empty for rows of loads.
    pub source: String,
    /// What it means, for all rows together.
    pub meaning: String,
    /// The arithmetic, row by row.
    pub rows: Vec<FlaggedRow>,
}

/// A row that is doubtful, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlaggedRow {
    /// The page's table.
    pub table: String,
    /// What the row is of.
    pub of: String,
    /// The figures behind it.
    pub arithmetic: String,
}

/// The doubts that published figures can give cause for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedFlagKind {
    /// Every rate is a number of operations over whole milliseconds.
    WholeMilliseconds,
    /// Every percentile is a whole number of milliseconds, which are much of what they tell.
    WholeLatencies,
    /// It did not last as long as is said.
    OtherDuration,
    /// An average of 0.
    AverageOfZero,
    /// An average that leaves most of the time out.
    AverageTooSmall,
    /// An average in which more operations were under way than there were threads.
    AverageTooGreat,
    /// A percentile or an average that others of the row rule out.
    ImpossiblePercentile,
    /// Bytes a second that are not operations a second.
    OtherThroughput,
    /// More bytes a second than memory is copied here.
    BeyondMemory,
}

impl fmt::Display for PublishedFlagKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            PublishedFlagKind::WholeMilliseconds => "durations in whole milliseconds",
            PublishedFlagKind::WholeLatencies => "latencies in whole milliseconds",
            PublishedFlagKind::OtherDuration => "another duration",
            PublishedFlagKind::AverageOfZero => "an average of 0",
            PublishedFlagKind::AverageTooSmall => "average too small",
            PublishedFlagKind::AverageTooGreat => "average too great",
            PublishedFlagKind::ImpossiblePercentile => "impossible percentile",
            PublishedFlagKind::OtherThroughput => "another throughput",
            PublishedFlagKind::BeyondMemory => "beyond memory",
        })
    }
}

impl PublishedFlagKind {
    /// What it means, for whoever reads the page.
    fn meaning(self) -> &'static str {
        match self {
            PublishedFlagKind::WholeMilliseconds => {
                "the clock was read in whole milliseconds: a run of few of them is known no better than to one of them"
            }
            PublishedFlagKind::WholeLatencies => {
                "latencies were read in whole milliseconds: nothing finer can be told apart"
            }
            PublishedFlagKind::OtherDuration => "rate and count give another time than the page says",
            PublishedFlagKind::AverageOfZero => {
                "the clock that latencies were read with is too coarse for them"
            }
            PublishedFlagKind::AverageTooSmall => {
                "the threads were busy with operations for a small part of the time, or their latencies were not measured"
            }
            PublishedFlagKind::AverageTooGreat => {
                "more operations were under way than there were threads: rate and average are of different measurements"
            }
            PublishedFlagKind::ImpossiblePercentile => "no set of latencies has these figures",
            PublishedFlagKind::OtherThroughput => "operations times their bytes give another throughput",
            PublishedFlagKind::BeyondMemory => {
                "no disk was waited for: it is more than this machine copies in memory"
            }
        }
    }
}

/// A number as it is printed: all that it may stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Printed {
    low: f64,
    high: f64,
}

impl Printed {
    pub(super) fn of(value: f64) -> Printed {
        let text = value.to_string();
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
        Printed { low: (value - half).max(0.0), high: value + half }
    }

    /// A percentile: tools round them to two digits or so, and zeros at the end may be no figures.
    fn of_percentile(value: f64) -> Printed {
        let text = value.to_string();
        let zeros = if text.contains('.') { 0 } else { text.len() - text.trim_end_matches('0').len() };
        let printed = Printed::of(value);
        let half = 0.5 * 10_f64.powi(i32::try_from(zeros).unwrap_or(0));
        if value == 0.0 {
            printed
        } else {
            Printed { low: printed.low.min(value - half), high: printed.high.max(value + half) }
        }
    }

    /// A number over it.
    fn under(self, number: f64) -> Printed {
        Printed { low: number / self.high, high: number / self.low }
    }

    /// One over another.
    pub(super) fn over(self, other: Printed) -> Printed {
        Printed { low: self.low / other.high, high: self.high / other.low }
    }

    /// Whether it is greater, whatever both stand for.
    pub(super) fn is_above(self, other: Printed) -> bool {
        self.low > other.high
    }

    fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    fn width(self) -> f64 {
        self.high - self.low
    }

    /// Whether a whole number is among them.
    fn has_whole(self) -> bool {
        self.high.floor() >= self.low
    }

    /// Whether it differs from a number by more than a share of that.
    fn is_other_than(self, number: f64, share: f64) -> bool {
        self.low > number * (1.0 + share) || self.high < number * (1.0 - share)
    }
}

impl Mul<f64> for Printed {
    type Output = Printed;

    fn mul(self, factor: f64) -> Printed {
        Printed { low: self.low * factor, high: self.high * factor }
    }
}

/// What of a row is doubtful by itself.
type RowRule = fn(&PublishedRow) -> Option<(PublishedFlagKind, String)>;

const ROW_RULES: [RowRule; 4] = [other_duration, average, percentiles, other_throughput];

impl Suite {
    /// What the figures of the page's tables give cause to doubt. `memory` is how many bytes this machine copies in memory in
    /// a second, where that was measured.
    #[must_use]
    pub fn published_flags(&self, memory: Option<f64>) -> Vec<PublishedFlag> {
        flags_of_rows(&self.all_rows(), memory)
    }
}

/// The same, of rows.
pub(crate) fn flags_of_rows(rows: &[PublishedRow], memory: Option<f64>) -> Vec<PublishedFlag> {
    let mut by_source: BTreeMap<String, Vec<PublishedRow>> = BTreeMap::new();
    for row in rows {
        by_source.entry(row.source.clone()).or_default().push(row.clone());
    }
    by_source.iter().flat_map(|(source, rows)| flags_of(source, rows, memory)).collect()
}

fn flags_of(source: &str, rows: &[PublishedRow], memory: Option<f64>) -> Vec<PublishedFlag> {
    let mut found: BTreeMap<PublishedFlagKind, Vec<FlaggedRow>> = BTreeMap::new();
    let mut add = |row: &PublishedRow, kind, arithmetic| {
        let flagged = FlaggedRow { table: row.table.clone(), of: row.of.clone(), arithmetic };
        found.entry(kind).or_default().push(flagged);
    };
    for row in rows {
        let own = ROW_RULES.iter().filter_map(|rule| rule(row));
        let beyond = memory.and_then(|memory| beyond_memory(row, memory));
        own.chain(beyond).for_each(|(kind, arithmetic)| add(row, kind, arithmetic));
    }
    for (row, arithmetic) in whole_durations(rows) {
        add(row, PublishedFlagKind::WholeMilliseconds, arithmetic);
    }
    for (row, arithmetic) in whole_latencies(rows) {
        add(row, PublishedFlagKind::WholeLatencies, arithmetic);
    }
    let flag = |(kind, rows): (PublishedFlagKind, _)| {
        let meaning = kind.meaning().to_owned();
        PublishedFlag { kind, source: source.to_owned(), meaning, rows }
    };
    found.into_iter().map(flag).collect()
}

/// The rows of a source whose durations are whole milliseconds, where chance does not explain that so many are.
///
/// A duration that a printed rate leaves open by w ms has a whole number in it by chance with a probability of w at the most.
/// That at least k of n have is no more probable than the sum, over every k of them, of the products of these. Below one in a
/// million it was the clock.
fn whole_durations(rows: &[PublishedRow]) -> Vec<(&PublishedRow, String)> {
    const CHANCE_MAX: f64 = 1e-6;
    let timed = |row: &PublishedRow| Some((row.operations?, row.per_second?));
    let duration = |(operations, rate): (u64, f64)| Printed::of(rate).under(operations as f64 * 1e3);
    let durations: Vec<_> =
        rows.iter().filter_map(|row| timed(row).map(|timed| (row, timed, duration(timed)))).collect();
    let chances: Vec<f64> = durations.iter().map(|(.., ms)| ms.width().min(1.0)).collect();
    let whole: Vec<_> = durations.into_iter().filter(|(.., ms)| ms.has_whole()).collect();
    if whole.is_empty() || chance_of(whole.len(), &chances) > CHANCE_MAX {
        return Vec::new();
    }
    let arithmetic = |(operations, rate), ms: Printed| {
        let percent = 100.0 / ms.middle();
        let known = if percent >= 1.0 {
            format!(": a whole millisecond is {percent:.0} % of it")
        } else {
            String::new()
        };
        format!(
            "{} at {}/s last {} ms{known}",
            count(operations),
            plain(rate),
            count(ms.middle().round() as u64)
        )
    };
    whole.into_iter().map(|(row, timed, ms)| (row, arithmetic(timed, ms))).collect()
}

/// The most that the probability can be that at least so many of independent events happen.
fn chance_of(many: usize, chances: &[f64]) -> f64 {
    // The sum, over every set of so many, of the products of their chances: the coefficient of the product of (1 + chance x).
    let mut coefficients = vec![0.0; many + 1];
    coefficients[0] = 1.0;
    for chance in chances {
        for place in (1..=many).rev() {
            coefficients[place] += chance * coefficients[place - 1];
        }
    }
    coefficients[many].min(1.0)
}

/// The rows of a source whose percentiles are whole milliseconds, where all of the source's are and there are enough of them,
/// and a millisecond is much of them.
fn whole_latencies(rows: &[PublishedRow]) -> Vec<(&PublishedRow, String)> {
    const PERCENTILES_MIN: usize = 8;
    /// A millisecond is more than a twentieth of a percentile below this.
    const COARSE_BELOW_MS: f64 = 20.0;
    let percentiles = |row: &PublishedRow| -> Vec<f64> {
        [row.p50_ms, row.p95_ms, row.p99_ms].into_iter().flatten().filter(|ms| *ms > 0.0).collect()
    };
    let all: Vec<f64> = rows.iter().flat_map(percentiles).collect();
    if all.len() < PERCENTILES_MIN || all.iter().any(|ms| ms.fract() != 0.0) {
        return Vec::new();
    }
    let coarse = |row| {
        let own = percentiles(row);
        let shortest = own.iter().copied().reduce(f64::min).filter(|ms| *ms < COARSE_BELOW_MS)?;
        let told = own.iter().map(f64::to_string).collect::<Vec<_>>().join(" and ");
        Some((row, format!("{told} ms, where a millisecond is {:.0} % of the least", 100.0 / shortest)))
    };
    rows.iter().filter_map(coarse).collect()
}

/// Rate and count say how long it lasted.
fn other_duration(row: &PublishedRow) -> Option<(PublishedFlagKind, String)> {
    /// Pages round: `one minute` may be 60.4 s.
    const SHARE: f64 = 0.02;
    let (operations, rate, said) = (row.operations?, row.per_second?, row.seconds?);
    let lasted = Printed::of(rate).under(operations as f64);
    lasted.is_other_than(said, SHARE).then(|| {
        let (operations, rate, lasted) = (count(operations), plain(rate), lasted.middle());
        let arithmetic = format!("{operations} at {rate}/s last {lasted:.1} s, not {} s", plain(said));
        (PublishedFlagKind::OtherDuration, arithmetic)
    })
}

/// Of a closed loop, rate times average is how many operations were under way: at most a thread each (Little's law).
fn average(row: &PublishedRow) -> Option<(PublishedFlagKind, String)> {
    /// Below this share of the threads, what took the time is not in the average.
    const SHARE_MIN: f64 = 0.1;
    let (threads, rate, average) = (f64::from(row.threads?), row.per_second?, row.average_ms?);
    let longest_ms = threads * 1e3 / rate;
    if average == 0.0 {
        let arithmetic = format!("0 ms, where {}/s leave {} ms", plain(rate), digits(longest_ms));
        return Some((PublishedFlagKind::AverageOfZero, arithmetic));
    }
    let (under_way, exact) = (Printed::of(average) * (rate / 1e3), average * rate / 1e3);
    let of_threads = if threads > 1.0 { format!("of {threads} threads") } else { "of one thread".into() };
    let arithmetic = format!(
        "{} ms at {}/s keep {} {of_threads} busy: it leaves {} ms",
        plain(average),
        plain(rate),
        digits(exact),
        digits(longest_ms)
    );
    if under_way.low > threads {
        return Some((PublishedFlagKind::AverageTooGreat, arithmetic));
    }
    (under_way.high < threads * SHARE_MIN).then_some((PublishedFlagKind::AverageTooSmall, arithmetic))
}

/// What of average, percentiles and maximum no set of latencies can have together.
fn percentiles(row: &PublishedRow) -> Option<(PublishedFlagKind, String)> {
    let told = [(0.5, row.p50_ms), (0.95, row.p95_ms), (0.99, row.p99_ms), (1.0, row.max_ms)];
    let told: Vec<(f64, f64)> = told.into_iter().filter_map(|(share, ms)| Some((share, ms?))).collect();
    let printed_of = |(share, ms): &(f64, f64)| {
        if *share < 1.0 { Printed::of_percentile(*ms) } else { Printed::of(*ms) }
    };
    let fallen = told.windows(2).find(|pair| printed_of(&pair[0]).low > printed_of(&pair[1]).high);
    if let Some([(share, ms), (next, next_ms)]) = fallen {
        let (share, next) = (named(*share), named(*next));
        let arithmetic = format!("{share} of {} ms is above {next} of {} ms", plain(*ms), plain(*next_ms));
        return Some((PublishedFlagKind::ImpossiblePercentile, arithmetic));
    }
    let average = row.average_ms?;
    let printed = Printed::of(average);
    // All beyond a percentile take at least as long, the others no less than nothing.
    let least = |told: &(f64, f64)| (1.0 - told.0) * printed_of(told).low;
    let makes = |told: &(f64, f64), bound: &str, ms: f64| {
        let (percentile, of, ms) = (named(told.0), plain(told.1), digits(ms));
        let arithmetic =
            format!("{percentile} of {of} ms makes the average {bound} {ms} ms, not {} ms", plain(average));
        Some((PublishedFlagKind::ImpossiblePercentile, arithmetic))
    };
    if let Some(told) = told.iter().find(|told| least(told) > printed.high) {
        return makes(told, "at least", least(told));
    }
    // Those up to a percentile take no longer than it, the others no longer than the longest.
    let max = Printed::of(row.max_ms?).high;
    let most = |told: &(f64, f64)| told.0 * printed_of(told).high + (1.0 - told.0) * max;
    let told = told.iter().find(|told| most(told) < printed.low)?;
    makes(told, "at most", most(told))
}

/// Operations a second, times the bytes of each.
fn other_throughput(row: &PublishedRow) -> Option<(PublishedFlagKind, String)> {
    const SHARE: f64 = 0.01;
    let (rate, bytes, told) = (row.per_second?, row.operation_bytes?, row.mib_per_second?);
    let (mib, mb) = (rate * bytes as f64 / f64::from(1 << 20), rate * bytes as f64 / 1e6);
    let printed = Printed::of(told);
    (printed.is_other_than(mib, SHARE) && printed.is_other_than(mb, SHARE)).then(|| {
        let arithmetic =
            format!("{}/s of {} bytes are {mib:.2} MiB/s, not {}", plain(rate), count(bytes), plain(told));
        (PublishedFlagKind::OtherThroughput, arithmetic)
    })
}

/// More than this machine copies in memory.
fn beyond_memory(row: &PublishedRow, memory: f64) -> Option<(PublishedFlagKind, String)> {
    let told = row.mib_per_second?;
    let memory = memory / f64::from(1 << 20) * f64::from(row.threads.unwrap_or(1));
    (Printed::of(told).low > memory).then(|| {
        let arithmetic = format!("{} MiB/s, where this machine copies {memory:.0} MiB/s", plain(told));
        (PublishedFlagKind::BeyondMemory, arithmetic)
    })
}

fn named(share: f64) -> String {
    if share == 1.0 { "a maximum".into() } else { format!("a P{:.0}", share * 100.0) }
}

/// As the page prints it, with thousands apart.
fn plain(value: f64) -> String {
    let text = value.to_string();
    match text.split_once('.') {
        Some((_, decimals)) => format!("{}.{decimals}", count(value.trunc() as u64)),
        None => count(value as u64),
    }
}

/// Two significant digits, or what is before the point.
fn digits(value: f64) -> String {
    if value <= 0.0 {
        return "0".into();
    }
    let decimals = (1.0 - value.log10().floor()).max(0.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests;
