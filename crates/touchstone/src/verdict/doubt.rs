//! What the launches of two arms say against one figure of both: that they drift apart, or that they are of two kinds.

use crate::estimate::{ArmStatistics, log_ratios};
use crate::statistics::{Estimate, Kinds, P_LOOK};

/// How far two arms may drift apart within a launch, as a relative difference, before their ratio says more of the
/// length of the launch than of them.
pub const DRIFT_APART_MOST: f64 = 0.20;

/// Why the ratio of two arms depends on how long they run: one became slower or quicker within its launches and the
/// other did not, beyond [`DRIFT_APART_MOST`] and beyond chance. What both do alike leaves their ratio as it is: working on a
/// file that grows, and, as they are compared launch by launch, a neighbour that came or went meanwhile.
pub(super) fn drift_apart(mine: &ArmStatistics, theirs: &ArmStatistics) -> Option<String> {
    let apart = Estimate::from_launches(&log_ratios(&mine.launches, &theirs.launches, |value| value.drift))?;
    let (my_drift, their_drift) = (mine.drift?, theirs.drift?);
    let is_apart = apart.p < P_LOOK && apart.log_ratio.abs() > DRIFT_APART_MOST.ln_1p();
    let percent = |drift: Estimate| (drift.ratio() - 1.0) * 100.0;
    is_apart.then(|| {
        format!(
            "from the first to the last third of a launch the time of {} changed by {:+.0} %, that of {} by {:+.0} %: their \
             ratio depends on how long they run",
            mine.arm,
            percent(my_drift),
            theirs.arm,
            percent(their_drift)
        )
    })
}

/// Which launches are of two kinds: those of one arm, of both, or else those of their ratio. Where the same launches of both
/// arms are of the second kind, it is the machine that was of two kinds, and their ratio knows nothing of it.
pub(super) fn two_kinds(mine: &ArmStatistics, theirs: &ArmStatistics) -> Vec<String> {
    let of_machine = second_kind(mine).is_some_and(|launches| second_kind(theirs) == Some(launches));
    let of_arms: Vec<String> = [mine, theirs]
        .into_iter()
        .filter(|_| !of_machine)
        .filter_map(|arm| {
            let kinds = arm.kinds?;
            Some(format!(
                "launches of {} are of two kinds: {} took about {} an operation, {} about {}",
                arm.arm,
                kinds.launches_low,
                time(kinds.low),
                kinds.launches_high,
                time(kinds.high)
            ))
        })
        .collect();
    if !of_arms.is_empty() {
        return of_arms;
    }
    let ratios: Vec<f64> = log_ratios(&mine.launches, &theirs.launches, |value| Some(value.operation_ns))
        .into_iter()
        .map(f64::exp)
        .collect();
    let of_ratio = Kinds::of(&ratios).map(|kinds| {
        format!(
            "launches are of two kinds: in {} the time of {} was about {:.3} of that of {}, in {} about {:.3}",
            kinds.launches_low, mine.arm, kinds.low, theirs.arm, kinds.launches_high, kinds.high
        )
    });
    of_ratio.into_iter().collect()
}

/// The launches of the upper group, of an arm whose launches are of two kinds.
fn second_kind(arm: &ArmStatistics) -> Option<Vec<usize>> {
    let kinds = arm.kinds?;
    let between = (kinds.low * kinds.high).sqrt();
    Some(arm.launches.iter().filter(|value| value.operation_ns > between).map(|value| value.launch).collect())
}

/// A time with its unit.
fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}
