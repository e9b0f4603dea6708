//! What a user's devices must be given: every acknowledged change exactly once, in the order of revisions, with the data that was
//! uploaded, and nothing else. It is compared while it comes, page by page, so that a service which says more and more is found out
//! by the first change that nobody uploaded.

use super::api::Change;
use super::template;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a user has uploaded.
#[derive(Clone, Debug)]
pub(super) struct Held {
    user: usize,
    /// Changes of the template, and bytes of each.
    seeds: u64,
    seed_bytes: u64,
    /// What the lab has uploaded itself: data by object.
    own: BTreeMap<String, String>,
    /// What the users of each window have uploaded.
    windows: Vec<Uploaded>,
}

/// A user's uploads of a window.
#[derive(Clone, Debug)]
struct Uploaded {
    /// Changes of each upload.
    changes: u64,
    /// What stands in each change's data behind its object's name.
    text: Arc<str>,
    /// By iteration.
    fates: Vec<Fate>,
}

/// What became of an upload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    /// It was never sent.
    #[default]
    Unsent,
    /// It failed, or nobody heard what became of it: it may be there or not.
    Possible,
    /// It must be there.
    Acknowledged,
}

/// The name of an object in the scenario's words `${run}-${user}-${iteration}-${item}`.
#[derive(Clone, Copy)]
struct Named {
    window: usize,
    iteration: usize,
    item: u64,
}

impl Held {
    /// A user of a template.
    pub(super) fn new(user: usize, seeds: u64, seed_bytes: u64) -> Held {
        Held { user, seeds, seed_bytes, own: BTreeMap::new(), windows: Vec::new() }
    }

    /// Another window, in which users upload so many changes at once.
    pub(super) fn begin_window(&mut self, changes: u64, text: &Arc<str>) {
        self.windows.push(Uploaded { changes, text: Arc::clone(text), fates: Vec::new() });
    }

    /// An upload of the last window has ended.
    pub(super) fn note(&mut self, iteration: usize, is_acknowledged: bool) {
        let Some(window) = self.windows.last_mut() else { return };
        if window.fates.len() <= iteration {
            window.fates.resize(iteration + 1, Fate::Unsent);
        }
        let fate = &mut window.fates[iteration];
        *fate = match (*fate, is_acknowledged) {
            (Fate::Acknowledged, _) | (_, true) => Fate::Acknowledged,
            _ => Fate::Possible,
        };
    }

    /// The lab's own upload was acknowledged.
    pub(super) fn acknowledge(&mut self, id: String, data: String) {
        self.own.insert(id, data);
    }

    /// How many changes must be there.
    pub(super) fn count(&self) -> u64 {
        let acknowledged = |window: &Uploaded| {
            let uploads = window.fates.iter().filter(|fate| **fate == Fate::Acknowledged).count() as u64;
            uploads * window.changes
        };
        self.seeds + self.own.len() as u64 + self.windows.iter().map(acknowledged).sum::<u64>()
    }

    /// How many changes there can be.
    pub(super) fn most(&self) -> u64 {
        let sent = |window: &Uploaded| window.fates.len() as u64 * window.changes;
        self.seeds + self.own.len() as u64 + self.windows.iter().map(sent).sum::<u64>()
    }

    /// Begins to compare what a device is given from the first change on.
    pub(super) fn check(&self) -> Check<'_> {
        Check {
            held: self,
            before: None,
            seeds: 0,
            own: BTreeSet::new(),
            windows: self.windows.iter().map(|window| vec![0; window.fates.len()]).collect(),
            found: 0,
        }
    }

    fn user(&self) -> String {
        template::user(self.user)
    }

    /// Which upload of this user an object is of; none of another user's, or of none.
    fn named(&self, id: &str) -> Option<Named> {
        let mut words = id.strip_prefix('w')?.split('-');
        let mut number = || -> Option<u64> {
            let word = words.next()?;
            let number = word.parse().ok()?;
            // Another spelling of a number names another object.
            (word == format!("{number}")).then_some(number)
        };
        let (window, user, iteration, item) = (number()?, number()?, number()?, number()?);
        (words.next().is_none() && user == self.user as u64).then_some(Named {
            window: window as usize,
            iteration: iteration as usize,
            item,
        })
    }
}

/// What a device was given so far.
pub(super) struct Check<'h> {
    held: &'h Held,
    /// The last object, and its revision.
    before: Option<(String, u64)>,
    seeds: u64,
    own: BTreeSet<&'h str>,
    /// By window and iteration: how many changes of an upload.
    windows: Vec<Vec<u64>>,
    /// How many of those that must be there.
    found: u64,
}

impl<'h> Check<'h> {
    /// The next change that the device was given.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn take(&mut self, change: &Change) -> Result<(), String> {
        let Change { id, revision, data } = change;
        let user = self.held.user();
        if let Some((before, last)) = self.before.as_ref().filter(|(_, last)| revision <= last) {
            return Err(format!(
                "revisions of {user} do not rise: `{before}` has {last}, and `{id}` after it {revision}"
            ));
        }
        let other = format!("`{id}` of {user} has other data than was uploaded");
        let is_right = if let Some((own, stored)) = self.held.own.get_key_value(id) {
            if !self.own.insert(own) {
                return Err(again(&user, id));
            }
            self.found += 1;
            stored == data
        } else if let Some(seed) = id.strip_prefix(&format!("seed-{}-", self.held.user)) {
            self.take_seed(seed, id)? == *data
        } else {
            self.take_uploaded(id)?.is_some_and(|text| {
                data.strip_prefix(id.as_str()).and_then(|rest| rest.strip_prefix(' ')) == Some(text)
            })
        };
        self.before = Some((id.clone(), *revision));
        if is_right { Ok(()) } else { Err(other) }
    }

    /// The data of a seed, which must be the next of the template.
    fn take_seed(&mut self, number: &str, id: &str) -> Result<String, String> {
        let user = self.held.user();
        let number: Option<u64> = number.parse().ok().filter(|number| *number < self.held.seeds);
        let number = number.ok_or_else(|| never(&user, id))?;
        if number < self.seeds {
            return Err(again(&user, id));
        }
        if number > self.seeds {
            return Err(without(&user, id, &template::seed(self.held.user, self.seeds)));
        }
        self.seeds += 1;
        self.found += 1;
        Ok(template::change(id, self.held.seed_bytes).1)
    }

    /// What stands behind the name in the data of a change of a window's upload, which must be the next of its upload.
    fn take_uploaded(&mut self, id: &str) -> Result<Option<&'h str>, String> {
        let user = self.held.user();
        let sent = self.held.named(id).and_then(|named| {
            let window = self.held.windows.get(named.window)?;
            let fate = window.fates.get(named.iteration).filter(|fate| **fate != Fate::Unsent)?;
            (named.item < window.changes).then_some((named, window, *fate))
        });
        let (named, window, fate) = sent.ok_or_else(|| never(&user, id))?;
        let seen = &mut self.windows[named.window][named.iteration];
        if named.item < *seen {
            return Err(again(&user, id));
        }
        if named.item > *seen {
            return Err(without(&user, id, &self.held.object(named.window, named.iteration, *seen)));
        }
        *seen += 1;
        self.found += u64::from(fate == Fate::Acknowledged);
        Ok(Some(&window.text))
    }

    /// How many were there of those that must be.
    pub(super) fn found(&self) -> u64 {
        self.found
    }

    /// The device was given all that there is.
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn end(&self) -> Result<(), String> {
        let user = self.held.user();
        let lost = self.held.count() - self.found;
        if lost > 0 {
            let first = self.first_lost().unwrap_or_default();
            return Err(format!(
                "{lost} of {} acknowledged changes of {user} are in no download, the first of them `{first}`",
                self.held.count()
            ));
        }
        for (window, seen) in self.windows.iter().enumerate() {
            let changes = self.held.windows[window].changes;
            if let Some(iteration) = seen.iter().position(|seen| *seen > 0 && *seen < changes) {
                let [stored, missing] = [seen[iteration] - 1, seen[iteration]]
                    .map(|item| self.held.object(window, iteration, item));
                return Err(format!(
                    "of an upload of {user} that failed, `{stored}` is stored and `{missing}` is not: the protocol says all or none"
                ));
            }
        }
        Ok(())
    }

    fn first_lost(&self) -> Option<String> {
        if self.seeds < self.held.seeds {
            return Some(template::seed(self.held.user, self.seeds));
        }
        if let Some(own) = self.held.own.keys().find(|id| !self.own.contains(id.as_str())) {
            return Some(own.clone());
        }
        self.held.windows.iter().enumerate().find_map(|(number, window)| {
            let is_lost = |(iteration, fate): &(usize, &Fate)| {
                **fate == Fate::Acknowledged && self.windows[number][*iteration] < window.changes
            };
            let (iteration, _) = window.fates.iter().enumerate().find(is_lost)?;
            Some(self.held.object(number, iteration, self.windows[number][iteration]))
        })
    }
}

impl Held {
    fn object(&self, window: usize, iteration: usize, item: u64) -> String {
        format!("w{window}-{}-{iteration}-{item}", self.user)
    }
}

fn again(user: &str, id: &str) -> String {
    format!("a device of {user} was given `{id}` again")
}

fn never(user: &str, id: &str) -> String {
    format!("a device of {user} was given `{id}`, which {user} never uploaded")
}

fn without(user: &str, id: &str, missing: &str) -> String {
    format!("a device of {user} was given `{id}` and not `{missing}`, which was stored before it")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED_BYTES: u64 = 20;

    fn change(id: &str, revision: u64) -> Change {
        let data = match id.split_once('-') {
            Some(("seed", _)) => template::change(id, SEED_BYTES).1,
            Some(("lab", _)) => "lab".into(),
            _ => format!("{id} abc"),
        };
        Change { id: id.into(), revision, data }
    }

    /// User 1: two seeds; of a window's uploads of two changes the first was acknowledged and the second failed; one of the lab's.
    fn held() -> Held {
        let mut held = Held::new(1, 2, SEED_BYTES);
        held.begin_window(2, &Arc::from("abc"));
        held.note(0, true);
        held.note(1, false);
        held.acknowledge("lab-1".into(), "lab".into());
        held
    }

    const ALL: [&str; 5] = ["seed-1-0", "seed-1-1", "w0-1-0-0", "w0-1-0-1", "lab-1"];

    fn judged(given: &[Change]) -> Result<u64, String> {
        let held = held();
        let mut check = held.check();
        for change in given {
            check.take(change)?;
        }
        check.end().map(|()| check.found())
    }

    fn given(ids: &[&str]) -> Vec<Change> {
        ids.iter().enumerate().map(|(at, id)| change(id, at as u64 * 2 + 1)).collect()
    }

    fn wrong(given: &[Change]) -> String {
        judged(given).expect_err("it is wrong")
    }

    #[test]
    fn every_acknowledged_change_once_is_right_and_a_doubtful_upload_may_be_there() {
        assert_eq!(judged(&given(&ALL)), Ok(5));
        let mut with_doubtful = ALL.to_vec();
        with_doubtful.extend(["w0-1-1-0", "w0-1-1-1"]);
        assert_eq!(judged(&given(&with_doubtful)), Ok(5));
    }

    #[test]
    fn whatever_is_lost_is_told_by_its_name() {
        for missing in 0..ALL.len() {
            let mut ids = ALL.to_vec();
            let lost = ids.remove(missing);
            let why = wrong(&given(&ids));
            assert!(why.contains(&format!("`{lost}`")), "without {lost}: {why}");
        }
        assert!(
            wrong(&given(&ALL[..4])).contains("1 of 5 acknowledged changes of user-1 are in no download")
        );
    }

    #[test]
    fn an_upload_that_failed_is_there_wholly_or_not_at_all() {
        let mut ids = ALL.to_vec();
        ids.push("w0-1-1-0");
        assert!(wrong(&given(&ids)).contains("`w0-1-1-0` is stored and `w0-1-1-1` is not"));
    }

    #[test]
    fn every_change_a_second_time_is_told() {
        for again in ALL {
            let mut ids = ALL.to_vec();
            ids.push(again);
            assert!(wrong(&given(&ids)).contains(&format!("was given `{again}` again")));
        }
    }

    #[test]
    fn the_changes_of_others_and_of_nobody_are_told() {
        for strange in
            ["x", "seed-0-0", "seed-1-2", "w0-0-0-0", "w0-1-2-0", "w0-1-0-2", "w1-1-0-0", "w0-1-00-0"]
        {
            let mut ids = ALL.to_vec();
            ids.push(strange);
            assert!(wrong(&given(&ids)).contains("never uploaded"), "{strange}");
        }
    }

    #[test]
    fn revisions_that_do_not_rise_and_other_data_are_told() {
        let mut tied = given(&ALL);
        tied[2].revision = tied[1].revision;
        assert!(wrong(&tied).contains("do not rise"));
        for at in 0..ALL.len() {
            let mut changed = given(&ALL);
            changed[at].data.push('d');
            assert!(wrong(&changed).contains(&format!("`{}` of user-1 has other data", ALL[at])));
            changed[at].data = ALL[at].into();
            assert!(wrong(&changed).contains("has other data"));
        }
    }

    #[test]
    fn what_was_acknowledged_in_a_window_and_what_is_in_doubt_are_of_that_window() {
        let mut held = held();
        held.begin_window(2, &Arc::from("abc"));
        held.note(0, true);
        held.note(0, false);
        held.note(1, false);
        assert_eq!(held.count(), 7);
        let mut check = held.check();
        for id in ALL.iter().chain(&["w1-1-0-0", "w1-1-0-1", "w1-1-1-0", "w1-1-1-1"]) {
            let revision = check.before.as_ref().map_or(1, |(_, last)| last + 1);
            assert_eq!(check.take(&change(id, revision)), Ok(()));
        }
        assert_eq!((check.end(), check.found()), (Ok(()), 7));
    }
}
