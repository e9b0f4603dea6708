//! What is said beneath a case: why verdicts are what they are, what went missing.

use super::case::{ArmView, Standing};
use crate::estimate::ArmStatistics;
use crate::report::format;
use crate::verdict::{Comparison, Verdict};

/// A line beneath a case.
pub(in crate::report) struct Note {
    pub text: String,
    /// It is only about canaries, which may be hidden.
    pub canary: bool,
    /// Why an arm was not compared with the baseline.
    pub obstacle: bool,
}

/// Every reason once, with the arms it holds for; then what went missing, and what inconclusive arms could
/// have seen.
pub(super) fn notes(comparisons: &[&Comparison], arms: &[ArmView], measured: &[ArmStatistics]) -> Vec<Note> {
    let begun: Vec<&Comparison> = comparisons
        .iter()
        .copied()
        .filter(|comparison| {
            arms.iter().any(|arm| arm.name == comparison.arm && arm.standing != Standing::NotRun)
        })
        .collect();
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for comparison in &begun {
        for reason in &comparison.reasons {
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, about)) => about.push(&comparison.arm),
                None => reasons.push((reason, vec![&comparison.arm])),
            }
        }
    }
    let incomparable =
        |arm: &&str| begun.iter().any(|known| known.arm == *arm && known.verdict == Verdict::Incomparable);
    let worded = reasons.into_iter().map(|(reason, about)| Note {
        text: worded(reason, &about, &begun),
        canary: about.iter().all(|arm| is_canary(arms, arm)),
        obstacle: about.iter().any(incomparable),
    });
    let undecided = begun.iter().filter_map(|comparison| {
        let canary = is_canary(arms, &comparison.arm);
        Some(Note { text: undecided(comparison)?, canary, obstacle: false })
    });
    let mut notes: Vec<Note> = worded.chain(losses(measured, arms)).chain(undecided).collect();
    notes.sort_by_key(|note| note.canary);
    notes
}

/// What became of the records of an arm that lost some; its errors, by kind, stand among the reasons.
fn losses(measured: &[ArmStatistics], arms: &[ArmView]) -> Vec<Note> {
    let losing = measured.iter().filter(|arm| arm.missing > 0);
    losing
        .map(|arm| Note {
            text: format!(
                "{}: {} found in the end, {} missing",
                arm.arm,
                format::counted(arm.found, "record", "records"),
                format::count(arm.missing)
            ),
            canary: is_canary(arms, &arm.arm),
            obstacle: false,
        })
        .collect()
}

/// Many reasons name their arm; the others get the arms they hold for.
fn worded(reason: &str, about: &[&str], begun: &[&Comparison]) -> String {
    let says_who = begun.iter().any(|known| reason.contains(&known.arm) || reason.contains(&known.against));
    if says_who {
        reason.to_owned()
    } else if about.len() > 1 && about.len() == begun.len() {
        format!("all: {reason}")
    } else {
        format!("{}: {reason}", format::listed(about))
    }
}

fn undecided(comparison: &Comparison) -> Option<String> {
    let seen = comparison.smallest_detectable.filter(|_| comparison.verdict == Verdict::Inconclusive)?;
    Some(format!(
        "{}: the smallest difference that {} can show is {}",
        comparison.arm,
        format::counted(comparison.launches as u64, "launch", "launches"),
        format::percent(seen)
    ))
}

fn is_canary(arms: &[ArmView], name: &str) -> bool {
    arms.iter().any(|arm| arm.name == name && arm.canary)
}
