//! Slices of two kinds, told where the machine is not to blame: arms whose slices last as long are asked whether theirs are of two
//! kinds as often.

use super::{FlagKind, Raised};
use crate::estimate::{ArmStatistics, CaseStatistics};
use crate::plan::Plan;
use crate::statistics::more_often;
use crate::verdict::{correction, judged_together};
use std::collections::BTreeMap;

/// The share of launches whose slices are of two kinds from which they are no accident.
const SHARE_MIN: f64 = 0.5;

/// The share from which an arm counts among those that chance may make so: fewer would be those alone which it has made so already.
const COUNTED_SHARE_MIN: f64 = 0.25;

/// How rarely chance alone may make any arm of a suite be of two kinds by so much more often than another.
const P: f64 = 0.05;

/// A neighbour cuts off who works on when its turn is over, and spares who was done just before: on a busy machine slices of 2.4 ms
/// were of two kinds in 67 to 92 % of launches, and those of 2.2 ms in none.
const LENGTH_MIN: f64 = 0.9;

/// How many pairs of arms chance may make differ so, in all cases that are judged together; by that family's name.
pub(super) struct Pairs(BTreeMap<String, usize>);

impl Pairs {
    pub(super) fn of(plan: &Plan, statistics: &[CaseStatistics]) -> Pairs {
        let correction = correction(plan);
        let mut pairs = BTreeMap::new();
        for case in statistics {
            let may_be = |arm: &&ArmStatistics| {
                arm.witnessed.two_kinds_share.is_some_and(|share| share >= COUNTED_SHARE_MIN)
            };
            let counted: usize =
                case.arms.iter().filter(may_be).map(|arm| witnesses(case, arm).count()).sum();
            *pairs.entry(judged_together(correction, &case.case).to_owned()).or_default() += counted;
        }
        Pairs(pairs)
    }

    fn beside(&self, plan: &Plan, case: &CaseStatistics) -> usize {
        self.0.get(judged_together(correction(plan), &case.case)).copied().unwrap_or(1).max(1)
    }
}

/// The median is a slice of the one kind, and what the other kind did not do there may have been done here. Where every other
/// arm's launches are so nearly as often, it is the machine that was of two kinds; one calm arm shows that it was not, unless its
/// slices are so short that a neighbour spares them.
pub(super) fn two_kinds(plan: &Plan, pairs: &Pairs, case: &CaseStatistics, arm: &ArmStatistics) -> Raised {
    let share = suspected(arm)?;
    let (mine, launches) = counted(arm, share);
    let is_alone = !others(case, arm).any(|other| other.witnessed.two_kinds_share.is_some());
    let p_most = P / pairs.beside(plan, case) as f64;
    let is_more_often = |(theirs, of): (u64, u64)| more_often(mine, launches, theirs, of) < p_most;
    (is_alone || witnesses(case, arm).any(is_more_often)).then(|| {
        let evidence = format!(
            "in {:.0} % of its launches some slices take one and a half times the time of the others or more, and none lies between",
            share * 100.0
        );
        (FlagKind::TwoKinds, evidence)
    })
}

/// The share of an arm's launches that are of two kinds, where that is often.
fn suspected(arm: &ArmStatistics) -> Option<f64> {
    arm.witnessed.two_kinds_share.filter(|share| *share >= SHARE_MIN)
}

fn others<'c>(case: &'c CaseStatistics, arm: &'c ArmStatistics) -> impl Iterator<Item = &'c ArmStatistics> {
    case.arms.iter().filter(|other| other.arm != arm.arm)
}

/// Of each other arm whose slices last as long, how many of its launches are of two kinds, and how many there are.
fn witnesses<'c>(
    case: &'c CaseStatistics,
    arm: &'c ArmStatistics,
) -> impl Iterator<Item = (u64, u64)> + use<'c> {
    let as_long = move |other: &&ArmStatistics| {
        let least = arm.slice_ns.map(|mine| mine * LENGTH_MIN);
        other.slice_ns.zip(least).is_some_and(|(theirs, least)| theirs >= least)
    };
    let witnesses = others(case, arm).filter(as_long);
    witnesses.filter_map(|other| Some(counted(other, other.witnessed.two_kinds_share?)))
}

fn counted(arm: &ArmStatistics, share: f64) -> (u64, u64) {
    let launches = arm.launches.len() as u64;
    ((share * launches as f64).round() as u64, launches)
}
