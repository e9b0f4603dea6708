//! What a user's devices must be given: every acknowledged change exactly once, in the order of revisions, and nothing else.

use super::api::Change;
use std::collections::{BTreeMap, BTreeSet};

/// What a user has uploaded.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// Objects whose storing was acknowledged.
    acknowledged: BTreeSet<String>,
    /// Objects that were sent, and whose storing nobody knows of.
    possible: BTreeSet<String>,
}

impl Held {
    /// An upload was acknowledged.
    pub(super) fn acknowledge(&mut self, id: String) {
        self.acknowledged.insert(id);
    }

    /// An upload failed, or nobody heard what became of it: it may be there or not.
    pub(super) fn doubt(&mut self, id: String) {
        self.possible.insert(id);
    }

    /// How many are acknowledged.
    pub(super) fn count(&self) -> u64 {
        self.acknowledged.len() as u64
    }

    /// What is wrong with everything that a device was given; and how many of the acknowledged are among it.
    pub(super) fn judge(&self, user: &str, given: &[Change]) -> (u64, Option<String>) {
        let mut times: BTreeMap<&str, u64> = BTreeMap::new();
        for change in given {
            *times.entry(&change.id).or_default() += 1;
        }
        let found = self.acknowledged.iter().filter(|id| times.contains_key(id.as_str())).count() as u64;
        (found, self.wrong(user, given, &times))
    }

    fn wrong(&self, user: &str, given: &[Change], times: &BTreeMap<&str, u64>) -> Option<String> {
        if let Some(pair) = given.windows(2).find(|pair| pair[1].revision <= pair[0].revision) {
            let [before, after] = [&pair[0], &pair[1]].map(|change| (&change.id, change.revision));
            return Some(format!(
                "revisions of {user} do not rise: `{}` has {}, and `{}` after it {}",
                before.0, before.1, after.0, after.1
            ));
        }
        if let Some((id, times)) = times.iter().find(|(_, times)| **times > 1) {
            return Some(format!("a device of {user} was given `{id}` {times} times"));
        }
        let mut lost = self.acknowledged.iter().filter(|id| !times.contains_key(id.as_str()));
        if let Some(first) = lost.next() {
            let number = lost.count() + 1;
            return Some(format!(
                "{number} of {} acknowledged changes of {user} are in no download, the first of them `{first}`",
                self.acknowledged.len()
            ));
        }
        let known = |id: &String| self.acknowledged.contains(id) || self.possible.contains(id);
        if let Some(change) = given.iter().find(|change| !known(&change.id)) {
            return Some(format!(
                "a device of {user} was given `{}`, which {user} never uploaded",
                change.id
            ));
        }
        let other = given.iter().find(|change| change.id != change.data.split(' ').next().unwrap_or(""));
        other.map(|change| format!("`{}` of {user} has other data than was uploaded", change.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(id: &str, revision: u64) -> Change {
        Change { id: id.into(), revision, data: format!("{id} abc") }
    }

    fn held() -> Held {
        let mut held = Held::default();
        ["a", "b", "c"].iter().for_each(|id| held.acknowledge((*id).to_owned()));
        held.doubt("d".into());
        held
    }

    fn wrong(given: &[Change]) -> String {
        held().judge("user-0", given).1.unwrap_or_default()
    }

    #[test]
    fn every_acknowledged_change_once_is_right_and_a_doubtful_one_may_be_there() {
        let mut given = vec![change("a", 1), change("b", 2), change("c", 7)];
        assert_eq!(held().judge("user-0", &given), (3, None));
        given.push(change("d", 8));
        assert_eq!(held().judge("user-0", &given), (3, None));
    }

    #[test]
    fn what_is_lost_repeated_strange_or_changed_is_told() {
        assert!(wrong(&[change("a", 1), change("c", 3)]).contains("1 of 3 acknowledged changes of user-0"));
        let twice = [change("a", 1), change("b", 2), change("c", 3), change("a", 4)];
        assert!(wrong(&twice).contains("was given `a` 2 times"));
        let tied = [change("a", 1), change("b", 1), change("c", 2)];
        assert!(wrong(&tied).contains("do not rise"));
        let strange = [change("a", 1), change("b", 2), change("c", 3), change("x", 4)];
        assert!(wrong(&strange).contains("never uploaded"));
        let mut changed = [change("a", 1), change("b", 2), change("c", 3)];
        changed[1].data = "a abc".into();
        assert!(wrong(&changed).contains("`b` of user-0 has other data"));
    }
}
