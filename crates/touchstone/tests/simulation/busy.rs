//! Reports on a busy machine, where launches of every arm alike are of two kinds of slices: how many honest arms are flagged.

use crate::duels;
use crate::made::{blank, part, plan, slice};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use touchstone::estimate::estimate;
use touchstone::record::Record;
use touchstone::verdict::{FlagKind, judge};

/// The cases of a report, of three arms each.
const CASES: usize = 60;

/// What a neighbour adds to a slice that it has cut off.
const CUT_OFF: f64 = 1.7;

/// A report in which each launch is of two kinds with that probability.
fn busy(share: f64, launches: usize, random: &mut Xoshiro256PlusPlus) -> Record {
    let mut record = blank(plan(CASES));
    for case in record.plan.cases.clone() {
        for (arm, launch) in case.arms.iter().flat_map(|arm| (0..launches).map(move |launch| (arm, launch))) {
            let is_of_two = random.random_bool(share);
            for number in 0..8 {
                let longer = if is_of_two && number % 2 == 0 { CUT_OFF } else { 1.0 };
                record.slices.push(slice(&case.id, launch, &arm.name, 2e6 * longer));
            }
            record.launches.push(part(&case.id, launch, &arm.name));
        }
    }
    record
}

/// Before the number of pairs was looked at, a report had up to eleven such flags. In one of twenty there may be one.
#[test]
fn a_busy_machine_has_hardly_one_honest_arm_of_many_flagged_as_of_two_kinds() {
    let reports = (duels() / 80).max(1);
    for launches in [8, 12, 24] {
        for share in [0.2, 0.5] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(launches as u64);
            let mut flags = 0;
            for _ in 0..reports {
                let record = busy(share, launches, &mut random);
                let judgement = judge(&record.plan, &estimate(&record).cases, &[]);
                flags += judgement.flags.iter().filter(|flag| flag.kind == FlagKind::TwoKinds).count();
            }
            let each = flags as f64 / reports as f64;
            println!(
                "{share} of {launches} launches of two kinds: {each:.2} flags a report of {CASES} cases"
            );
            assert!(each <= 0.2, "{share} of {launches}: {each} flags a report");
        }
    }
}
