//! Where a case asks for less than the full size, whose numbers are the page's: a figure found there is of another question
//! than the published one, and a report says of which. A plan keeps the numbers of the full size, so that one that somebody
//! has edited is told of as it is.

use super::{PlannedCase, PlannedLane};
use serde::{Deserialize, Serialize};
use touchstone_protocol::Verb;

/// A number of a case that its sizes may set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// What is counted.
    pub what: String,
    /// How many of it there are.
    pub count: u64,
}

/// A number of a case that is smaller than in the full size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduced {
    /// What is counted.
    pub what: String,
    /// How many of it there are here.
    pub here: u64,
    /// How many there are in the full size.
    pub full: u64,
}

impl PlannedCase {
    /// What is smaller in it than in the full size.
    pub fn reduced(&self) -> Vec<Reduced> {
        let here = self.quantities();
        let reduced = |full: &Quantity| {
            let here = here.iter().find(|here| here.what == full.what)?.count;
            (here < full.count).then(|| Reduced { what: full.what.clone(), here, full: full.count })
        };
        self.full.iter().filter_map(reduced).collect()
    }

    /// The numbers that its sizes may set; of lanes that count the same, the greatest.
    pub(super) fn quantities(&self) -> Vec<Quantity> {
        let watch = self.watch.iter().flat_map(|watch| {
            [
                ("subscriptions", watch.subscriptions),
                ("objects in a window", watch.width),
                ("watched objects", watch.span),
            ]
        });
        let stored = [
            ("stored records", self.filled),
            ("tables", self.tables.into()),
            ("rounds of churn", self.churn.into()),
        ];
        let load = self
            .load
            .iter()
            .flat_map(|load| [("users", load.users.into()), ("milliseconds of a window", load.window_ms)]);
        let lanes = self.arms.iter().flat_map(|arm| &arm.lanes).flat_map(of_lane);
        let mut quantities: Vec<Quantity> = Vec::new();
        for (what, count) in stored.into_iter().chain(watch).chain(load).chain(lanes) {
            match quantities.iter_mut().find(|known| known.what == what) {
                Some(known) => known.count = known.count.max(count),
                None => quantities.push(Quantity { what: what.into(), count }),
            }
        }
        quantities
    }
}

fn of_lane(lane: &PlannedLane) -> impl Iterator<Item = (&'static str, u64)> {
    let counted = match lane.verb {
        Verb::InsertMany | Verb::UpdateMany => Some("records in a transaction"),
        Verb::InsertOne => Some("commits in a slice"),
        Verb::UpdateOne => Some("updates in a slice"),
        // A slice of more of these asks nothing else.
        _ => None,
    };
    let count = counted.zip(lane.count);
    let changes = lane.changes.map(|changes| ("objects changed in a transaction", changes));
    let lasts = lane.lasts_ms.map(|lasts| ("milliseconds of a lane", lasts));
    count.into_iter().chain(changes).chain(lasts)
}
