//! What a reader must know before he believes anything in a record: it was not made as the methodology says.

use crate::plan::{Overridden, Plan, PlannedCase};
use crate::record::{Manifest, Record};
use crate::report::format;
use crate::statistics::LOOKS;

/// Cautions for the head of a report; none for most records.
pub(super) fn cautions(record: &Record) -> Vec<String> {
    let mut cautions: Vec<String> = beside(&record.manifest).into_iter().collect();
    cautions.extend(strange_looks(&record.plan.looks));
    cautions.extend(overridden(&record.plan));
    cautions
}

/// `numbers of the suites were set otherwise: couch/get has blocks 40 (its suite: 15)`.
fn overridden(plan: &Plan) -> Option<String> {
    let of_case = |case: &PlannedCase| {
        let said: Vec<String> = case.overridden.iter().map(number_said).collect();
        (!said.is_empty()).then(|| format!("{} has {}", case.id, format::listed(&said)))
    };
    let said: Vec<String> = plan.cases.iter().filter_map(of_case).collect();
    (!said.is_empty()).then(|| format!("numbers of the suites were set otherwise: {}", said.join("; ")))
}

/// `blocks 40 (its suite: 15)`.
pub(super) fn number_said(overridden: &Overridden) -> String {
    let suite = overridden.suite.map_or("left open".into(), format::count);
    format!("{} {} (its suite: {suite})", overridden.number, format::count(overridden.here))
}

fn beside(manifest: &Manifest) -> Option<String> {
    let processes: Vec<String> = manifest.beside.iter().map(u32::to_string).collect();
    let said = |one: &str, of: &str| {
        format!(
            "{one} measured on this machine at the same time ({of} {}), and disturbed this one",
            format::listed(&processes)
        )
    };
    match processes.len() {
        0 => None,
        1 => Some(said("another bench", "process")),
        _ => Some(said("other benches", "processes")),
    }
}

/// A plan may have been edited. Error rates were worked out for these looks, and for the first of them.
fn strange_looks(looks: &[usize]) -> Option<String> {
    (!LOOKS.starts_with(looks)).then(|| {
        format!(
            "the plan's looks, after {}, are not the procedure's, which are after {}: looking at other times makes \
             more false verdicts than the methodology says",
            listed(looks),
            listed(&LOOKS)
        )
    })
}

fn listed(looks: &[usize]) -> String {
    let looks: Vec<String> = looks.iter().map(usize::to_string).collect();
    format::listed(&looks)
}

#[cfg(test)]
mod tests {
    use super::strange_looks;
    use crate::statistics::LOOKS;

    #[test]
    fn looks_that_an_option_can_make_need_no_caution() {
        for number in 1..=LOOKS.len() {
            assert_eq!(strange_looks(&LOOKS[..number]), None);
        }
    }

    #[test]
    fn other_looks_are_told() {
        let each: Vec<usize> = (1..=12).collect();
        for looks in [&each[..], &[12], &[8, 16], &[8, 12, 16, 24, 32], &[7, 12]] {
            let said = strange_looks(looks).expect("it is told");
            assert!(said.contains("8, 12, 16 and 24"), "{said}");
        }
    }
}
