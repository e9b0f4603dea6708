//! How many claims hold, are refuted and so on, in a line; of the page's and of ours apart.

use super::pair;
use crate::report::format;
use crate::suite::By;
use crate::verdict::{ClaimOutcome, ClaimStatus};

/// How a status is counted: of one, and of many.
const COUNTED: [(ClaimStatus, &str, &str); 5] = [
    (ClaimStatus::Holds, "holds", "hold"),
    (ClaimStatus::Refuted, "is refuted", "are refuted"),
    (ClaimStatus::Inconclusive, "is inconclusive", "are inconclusive"),
    (ClaimStatus::Untested, "is untested", "are untested"),
    (
        ClaimStatus::Elsewhere,
        "is another device's figure, beside the one here",
        "are another device's figures, beside those here",
    ),
];

/// How a published size is counted.
const SIZES: [(ClaimStatus, &str, &str); 4] = [
    (ClaimStatus::Holds, "is found", "are found"),
    (ClaimStatus::Refuted, "is not found", "are not found"),
    (ClaimStatus::Inconclusive, "is open", "are open"),
    (ClaimStatus::Untested, "is untested", "are untested"),
];

/// `13 claims of the page: 9 hold, 2 are refuted and 2 are inconclusive; of 8 published sizes 5 are found, 2 are not
/// found and 1 is open`; none where there are no such claims.
pub(super) fn tally<'c>(by: By, claims: impl Iterator<Item = &'c ClaimOutcome>) -> Option<String> {
    let claims: Vec<&ClaimOutcome> = claims.filter(|claim| claim.by == by).collect();
    let whose = match by {
        By::Page => "of the page",
        By::Ours => "of ours",
    };
    if claims.is_empty() {
        return None;
    }
    let statuses: Vec<ClaimStatus> = claims.iter().map(|claim| claim.status).collect();
    let sizes: Vec<ClaimStatus> = claims.iter().filter_map(|claim| claim.size).collect();
    let number = format::counted(claims.len() as u64, "claim", "claims");
    let (said, sizes) = (counted(&statuses, &COUNTED), sizes_said(by, &sizes));
    let by_figures = by_figures_said(&claims);
    Some(format!("{number} {whose}: {said}{by_figures}{sizes}{}", stand_ins_said(&claims)))
}

/// `, 1 of those refuted by the page's own figures`.
fn by_figures_said(claims: &[&ClaimOutcome]) -> String {
    match claims.iter().filter(|claim| claim.by_figures.is_some()).count() {
        0 => String::new(),
        some => format!(" ({} refuted by the page's own figures)", format::count(some as u64)),
    }
}

/// `; 9 claims answered by stand-ins`.
fn stand_ins_said(claims: &[&ClaimOutcome]) -> String {
    let by_stand_in = |claim: &&&ClaimOutcome| claim.pairs.first().is_some_and(pair::by_stand_in);
    match claims.iter().filter(by_stand_in).count() {
        0 => String::new(),
        all if all == claims.len() => "; all answered by stand-ins of the page's libraries".into(),
        some => {
            let some = format::counted(some as u64, "claim", "claims");
            format!("; {some} answered by stand-ins of the page's libraries")
        }
    }
}

fn sizes_said(by: By, sizes: &[ClaimStatus]) -> String {
    let published = if by == By::Page { "published " } else { "" };
    match sizes {
        [] => String::new(),
        [only] => {
            let known = SIZES.iter().find(|(status, ..)| status == only);
            format!("; the one {published}size {}", known.map_or("is open", |(_, one, _)| one))
        }
        all => {
            format!("; of {} {published}sizes {}", format::count(all.len() as u64), counted(all, &SIZES))
        }
    }
}

fn counted(statuses: &[ClaimStatus], words: &[(ClaimStatus, &str, &str)]) -> String {
    let parts: Vec<String> = words
        .iter()
        .map(|(status, one, many)| (statuses.iter().filter(|known| *known == status).count(), one, many))
        .filter(|(number, ..)| *number > 0)
        .map(|(number, one, many)| format::counted(number as u64, one, many))
        .collect();
    format::listed(&parts)
}
