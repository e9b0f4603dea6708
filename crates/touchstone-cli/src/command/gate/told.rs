//! A gate in words.

use crate::command::measure::Judged;
use std::fmt::Write as _;
use touchstone::verdict::{Comparison, CountDifference, Flag, Gate, Verdict};

/// Where both sides are one program. An A/A gate is as good a question as any, if it was meant.
const SAME_PROGRAM: &str = "warning: the candidate is the baseline's own program in the same profile, so that no change was \
                            judged: was it built, and is it the program that was given?";

pub(super) fn describe(decided: &Gate, judged: &Judged) -> String {
    let mut text = String::new();
    for comparison in &decided.comparisons {
        text.push_str(&compared(comparison));
    }
    for count in &decided.counts {
        text.push_str(&counted(count));
    }
    for flag in &decided.flags {
        text.push_str(&flagged(flag));
    }
    if decided.same_program {
        let _ = writeln!(text, "{SAME_PROGRAM}");
    }
    let _ = writeln!(text, "gate: {}\nRecord: {}", decided.status, judged.folder.display());
    text
}

fn compared(comparison: &Comparison) -> String {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let mut text = format!("{}: {} is {}", comparison.case, comparison.arm, comparison.verdict);
    if let (Some(ratio), Some(low), Some(high)) =
        (comparison.time_ratio, comparison.time_ratio_low, comparison.time_ratio_high)
    {
        let _ = write!(
            text,
            ": {:+.2} % time [{:+.2}, {:+.2}], {} launches, margin {:.0} %",
            percent(ratio),
            percent(low),
            percent(high),
            comparison.launches,
            comparison.margin * 100.0
        );
    }
    text.push('\n');
    let undecided = comparison.verdict == Verdict::Inconclusive;
    if let Some(smallest) = comparison.smallest_detectable.filter(|_| undecided) {
        let launches = comparison.launches;
        let smallest = smallest * 100.0;
        let _ =
            writeln!(text, "  the smallest difference that {launches} launches can show is {smallest:.1} %");
    }
    for reason in &comparison.reasons {
        let _ = writeln!(text, "  {reason}");
    }
    text
}

fn counted(count: &CountDifference) -> String {
    let told = if count.decides {
        ""
    } else {
        " (which does not decide: an arm has threads of its own, and no two recordings of it count the same)"
    };
    format!("{}: {}: {} before, {} now{told}\n", count.case, count.what, count.baseline, count.candidate)
}

/// A flag may be about a whole case, and one about a library is about all of them.
fn flagged(flag: &Flag) -> String {
    let about: Vec<&str> =
        [flag.case.as_str(), flag.arm.as_str()].into_iter().filter(|name| !name.is_empty()).collect();
    format!("{}: flagged, {}: {}\n", about.join(": "), flag.kind, flag.evidence)
}
