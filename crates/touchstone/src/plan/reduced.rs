//! Where the quick size asks for less than the full one, whose numbers are the page's: a figure found there is of another
//! question than the published one, and a report says of which.

use super::{PlannedCase, PlannedLane};
use serde::{Deserialize, Serialize};
use touchstone_protocol::Verb;

/// A number of the case that is smaller here than in the full size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduced {
    /// What is counted.
    pub what: String,
    /// How many of it there are here.
    pub here: u64,
    /// How many there are in the full size.
    pub full: u64,
}

/// What is smaller in `here` than in `full`, the same case in the full size; each once.
pub(super) fn reductions(here: &PlannedCase, full: &PlannedCase) -> Vec<Reduced> {
    let mut found: Vec<Reduced> = Vec::new();
    for ((what, here), (_, full)) in quantities(here).into_iter().zip(quantities(full)) {
        let reduced = Reduced { what, here, full };
        if here < full && !found.contains(&reduced) {
            found.push(reduced);
        }
    }
    found
}

/// The numbers of a case that its sizes may set, in the same order for both sizes.
fn quantities(case: &PlannedCase) -> Vec<(String, u64)> {
    let mut quantities =
        vec![("stored records".into(), case.filled), ("tables".into(), u64::from(case.tables))];
    let watch = case.watch.iter();
    quantities.extend(watch.clone().map(|watch| ("subscriptions".into(), watch.subscriptions)));
    quantities.extend(watch.map(|watch| ("objects in a window".into(), watch.width)));
    let lanes = case.arms.iter().flat_map(|arm| &arm.lanes);
    quantities.extend(lanes.flat_map(of_lane));
    quantities
}

fn of_lane(lane: &PlannedLane) -> impl Iterator<Item = (String, u64)> {
    let counted = match lane.verb {
        Verb::InsertMany | Verb::UpdateMany => Some("records in a transaction"),
        Verb::InsertOne => Some("commits in a slice"),
        Verb::UpdateOne => Some("updates in a slice"),
        // A slice of more of these asks nothing else.
        _ => None,
    };
    let count = counted.and_then(|what| Some((what.to_owned(), lane.count?)));
    let changes = lane.changes.map(|changes| ("objects changed in a transaction".to_owned(), changes));
    count.into_iter().chain(changes)
}
